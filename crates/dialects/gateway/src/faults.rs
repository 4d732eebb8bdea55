//! Every way in which something goes wrong, in the numbers of this wire. The codes are a closed set that clients switch on;
//! what is finer is `data.reason`.

use vocab::visible::visible_line;
use vocab::{ChangeOf, CutBy, Fault, FaultKind, LaneNote, SessionId, SettleReason, Stop, TurnEnd};

use crate::end_of_run::EndOfRun;
use crate::events::ErrorData;
use crate::ledger::StopBy;
use crate::own::{Code, GatewayRefusal};
use crate::projection::error_data;
use crate::results::{QueueCode, QueueNote, StopWord};

/// When it is worth while to try again, where nobody can know it: what is busy is so with a run or a process of its own.
pub(crate) const BUSY_MS: u64 = 1000;

/// Characters of a message.
const MESSAGE_CHARS_MAX: usize = 500;

/// Texts of dropped messages in one message.
const DROPPED_SHOWN_MAX: usize = 10;

/// A fault of the engine. `provider`: whose model it was about, where it was about one.
pub(crate) fn refusal(fault: &Fault, provider: Option<&str>) -> GatewayRefusal {
    if fault.is_model_gone() {
        return model_gone(fault);
    }
    let (code, reason) = match fault.kind {
        FaultKind::Invalid => (Code::InvalidRequest, "invalid_request"),
        FaultKind::EmptyPrompt => (Code::InvalidRequest, "empty_message"),
        FaultKind::UnknownModel => (Code::InvalidRequest, "unknown_model"),
        FaultKind::UnknownCommand => (Code::InvalidRequest, "unknown_command"),
        FaultKind::UnknownAsk => (Code::InvalidRequest, "unknown_question"),
        FaultKind::NotFound => (Code::InvalidRequest, "not_found"),
        FaultKind::NothingToDo => (Code::InvalidRequest, "nothing_to_do"),
        FaultKind::Unsupported => (Code::InvalidRequest, "unsupported"),
        FaultKind::KeyTaken => (Code::InvalidRequest, "idempotency_conflict"),
        FaultKind::UnknownSession => (Code::SessionNotFound, "unknown_session"),
        FaultKind::TurnInProgress | FaultKind::WorksForCall => (Code::Busy, "busy"),
        FaultKind::QueueFull => (Code::Busy, "queue"),
        FaultKind::SessionBusy => (Code::Busy, "busy_elsewhere"),
        FaultKind::Cancelled => (Code::Cancelled, "cancelled"),
        FaultKind::ShuttingDown => (Code::Cancelled, "shutdown"),
        FaultKind::Budget => (Code::Internal, "budget"),
        FaultKind::Store => (Code::Internal, "store"),
        FaultKind::Internal => (Code::Internal, "internal"),
        FaultKind::Auth
        | FaultKind::RateLimited
        | FaultKind::ContextOverflow
        | FaultKind::BadRequest
        | FaultKind::Provider
        | FaultKind::StreamCut
        | FaultKind::Network => (Code::Internal, "model_error"),
    };
    let mut refusal = GatewayRefusal::new(code, message(&fault.explained())).because(reason);
    if reason == "model_error" {
        if let Some(status) = fault.status {
            refusal = refusal.with("status", status);
        }
        if let Some(provider) = provider {
            refusal = refusal.with("provider", provider);
        }
        refusal = refusal.with("retryable", is_retryable(fault.kind));
    }
    if code == Code::Busy {
        refusal = refusal.with("retryAfterMs", BUSY_MS);
    }
    refusal
}

/// Why a message was not taken. Its session was there when it was sent: one that is not known is deleted. `by`: who wanted it
/// stopped, if anybody did.
pub(crate) fn not_taken(fault: &Fault, by: StopBy) -> GatewayRefusal {
    match fault.kind {
        // Its images were being made ready, so nothing of it has begun.
        FaultKind::Cancelled => cancelled(by.before_start()),
        FaultKind::UnknownSession => cancelled("session_deleted"),
        _ => refused_change(fault),
    }
}

/// The same of what was to change a session, with the parameter that was refused.
pub(crate) fn refused_change(fault: &Fault) -> GatewayRefusal {
    let refusal = refusal(fault, None);
    match fault.refused.and_then(param) {
        Some(param) => refusal.with("param", param),
        None => refusal,
    }
}

/// What this wire calls it; `None`: it cannot say it.
fn param(change: ChangeOf) -> Option<&'static str> {
    match change {
        ChangeOf::Model => Some("modelTier"),
        ChangeOf::Title => Some("title"),
        ChangeOf::Lane => Some("queue"),
        ChangeOf::Elevation => Some("elevation"),
        ChangeOf::Mode
        | ChangeOf::Thinking
        | ChangeOf::Locale
        | ChangeOf::Todos
        | ChangeOf::Retry
        | ChangeOf::Compaction
        | ChangeOf::Gadget => None,
    }
}

/// Something that needs the model of a session whose model is not here any more. No client has named that model now, so it is
/// no mistake of the request.
fn model_gone(fault: &Fault) -> GatewayRefusal {
    let text = format!("{}; choose another one: sessions.patch with `modelTier`", fault.message);
    let hint =
        "sessions.patch {\"sessionId\",\"modelTier\"}, agent.send with `modelTier`, or the message `/model NAME`";
    GatewayRefusal::internal("model_gone", message(&text)).with("hint", hint)
}

/// One visible line of bounded length.
pub(crate) fn message(text: &str) -> String {
    let start: String = text.chars().take(MESSAGE_CHARS_MAX).collect();
    visible_line(&start).chars().take(MESSAGE_CHARS_MAX).collect()
}

/// The same with what was dropped from a lane behind it, which is bounded itself: ten texts of 120 characters.
pub(crate) fn message_with(message: &str, dropped: &[std::sync::Arc<str>]) -> String {
    let lines: String = dropped.iter().take(DROPPED_SHOWN_MAX).map(|text| format!("; {text}")).collect();
    visible_line(&format!("{message}{lines}"))
}

/// A failure of ours as who is far away may read it. What a model's server says has no path of this machine.
pub(crate) fn outward(refusal: GatewayRefusal) -> GatewayRefusal {
    match (refusal.code, refusal.reason) {
        (Code::Internal, Some("model_error")) => refusal,
        (Code::Internal, _) => GatewayRefusal { message: without_paths(&refusal.message), ..refusal },
        _ => refusal,
    }
}

/// Where something lies on this machine is in the log; who is far away has no use for it.
pub(crate) fn without_paths(text: &str) -> String {
    let is_path = |word: &str| word.trim_start_matches(['`', '"', '\'', '(']).starts_with('/') && word.len() > 1;
    let shown = |word: &str| match is_path(word) {
        true => format!("…{}", if word.ends_with(':') { ":" } else { "" }),
        false => word.to_owned(),
    };
    text.split(' ').map(shown).collect::<Vec<_>>().join(" ")
}

fn is_retryable(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::RateLimited | FaultKind::Provider | FaultKind::StreamCut | FaultKind::Network)
}

/// How a run ended, on this wire.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum RunEnd {
    Complete,
    /// The reason.
    Cancelled(&'static str),
    Failed(GatewayRefusal),
}

pub(crate) fn run_end(end: &TurnEnd, cut: Option<CutBy>, provider: Option<&str>) -> RunEnd {
    match EndOfRun::of(end.stop, cut) {
        EndOfRun::Complete => RunEnd::Complete,
        EndOfRun::Cancelled(reason) => RunEnd::Cancelled(reason),
        EndOfRun::Stalled => RunEnd::Failed(GatewayRefusal::internal(
            "stalled",
            "nothing moved in this run for too long; it was given up",
        )),
        EndOfRun::Failed => {
            let unsaid = if end.stop == Stop::Budget { "a budget is spent" } else { "the run failed" };
            let unsaid = Fault::new(FaultKind::Internal, unsaid);
            RunEnd::Failed(refusal(end.fault.as_ref().unwrap_or(&unsaid), provider))
        }
    }
}

/// Why a good run stopped.
pub(crate) fn stop_word(stop: Stop) -> StopWord {
    match stop {
        Stop::EndTurn => StopWord::EndTurn,
        Stop::MaxTokens => StopWord::MaxTokens,
        Stop::MaxIterations => StopWord::MaxIterations,
        Stop::Refusal => StopWord::Refusal,
        Stop::Interrupted => StopWord::Interrupted,
        Stop::Error => StopWord::Error,
        Stop::Budget => StopWord::Budget,
    }
}

/// What is said of a cancelled run or message.
pub(crate) fn cancelled(reason: &'static str) -> GatewayRefusal {
    let message = match reason {
        "preempted" => "a newer message took its place",
        "shutdown" => "the server is shutting down",
        "session_deleted" => "the session was deleted",
        "timeout" => "its time was over",
        "cancelled_before_start" => "it was cancelled before it began",
        _ => "it was cancelled",
    };
    GatewayRefusal::new(Code::Cancelled, message).because(reason)
}

/// How a message that waited ended without a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ItemRefused {
    /// The lane let go of it.
    Dropped {
        superseded: bool,
    },
    Cancelled(&'static str),
}

/// What is said of a message that no run will come of, to who asks for it later or waits for that run: as [`dropped`], but to
/// ask yet again with the same key would change nothing.
pub(crate) fn never_began(why: Option<SettleReason>, lane: &SessionId, note: &LaneNote) -> GatewayRefusal {
    let code = match why.and_then(item_refused) {
        // Nothing took its place: it waited, and the process that it waited in is gone.
        _ if why == Some(SettleReason::Restarted) => return cancelled("cancelled_before_start"),
        Some(ItemRefused::Cancelled(reason)) => return cancelled(reason),
        None => return cancelled("cancelled_before_start"),
        Some(ItemRefused::Dropped { superseded: true }) => QueueCode::Superseded,
        Some(ItemRefused::Dropped { superseded: false }) => QueueCode::Overflow,
    };
    let refusal = match code {
        QueueCode::Superseded => superseded(),
        QueueCode::Overflow => no_room(),
    };
    refusal.with("queue", QueueNote::of(code, lane, note))
}

/// How a message ended that no run took; `None`: a run took it.
pub(crate) fn item_refused(why: SettleReason) -> Option<ItemRefused> {
    match why {
        SettleReason::Ran => None,
        SettleReason::Overflow => Some(ItemRefused::Dropped { superseded: false }),
        SettleReason::Newer | SettleReason::TooLate | SettleReason::NoRoom | SettleReason::Restarted => {
            Some(ItemRefused::Dropped { superseded: true })
        }
        SettleReason::TakenBack | SettleReason::Interrupted => Some(ItemRefused::Cancelled("cancelled_before_start")),
        SettleReason::Deleted => Some(ItemRefused::Cancelled("session_deleted")),
        SettleReason::TimedOut => Some(ItemRefused::Cancelled("timeout")),
    }
}

/// What is said of a message that a lane did not take or keep, as the error frame and as the event before it.
pub(crate) fn dropped(code: QueueCode, lane: &SessionId, note: &LaneNote) -> (GatewayRefusal, ErrorData) {
    let mut refusal = match code {
        QueueCode::Superseded => superseded(),
        QueueCode::Overflow => no_room().with("retryAfterMs", room_after(note.policy.debounce_ms)),
    };
    let note = QueueNote::of(code, lane, note);
    if let Some(texts) = note.summary.as_ref() {
        refusal.message = message_with(&refusal.message, texts);
    }
    let data = ErrorData { queue: Some(note.clone()), ..error_data(&refusal) };
    (refusal.with("queue", &note), data)
}

/// What is said of a message that a lane had no room for.
fn no_room() -> GatewayRefusal {
    GatewayRefusal::new(Code::Busy, "the lane is full").because("queue")
}

/// When there may be room: nothing begins before `debounce_ms` are over.
fn room_after(debounce_ms: u64) -> u64 {
    BUSY_MS.max(debounce_ms)
}

/// What is said of a message that a newer one took the place of. To send it again would only turn that round.
pub(crate) fn superseded() -> GatewayRefusal {
    GatewayRefusal::new(Code::Busy, "a newer message took its place in the lane").because("queue")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_code_of_the_closed_set() {
        let cases = [
            (FaultKind::Invalid, -2, "invalid_request"),
            (FaultKind::EmptyPrompt, -2, "empty_message"),
            (FaultKind::Unsupported, -2, "unsupported"),
            (FaultKind::KeyTaken, -2, "idempotency_conflict"),
            (FaultKind::UnknownSession, 1, "unknown_session"),
            (FaultKind::QueueFull, 3, "queue"),
            (FaultKind::TurnInProgress, 3, "busy"),
            (FaultKind::WorksForCall, 3, "busy"),
            (FaultKind::SessionBusy, 3, "busy_elsewhere"),
            (FaultKind::Cancelled, 4, "cancelled"),
            (FaultKind::ShuttingDown, 4, "shutdown"),
            (FaultKind::Store, 5, "store"),
            (FaultKind::Internal, 5, "internal"),
            (FaultKind::Auth, 5, "model_error"),
            (FaultKind::Network, 5, "model_error"),
        ];
        for (kind, code, reason) in cases {
            let refusal = refusal(&Fault::new(kind, "x"), None);
            assert_eq!((refusal.code.number(), refusal.reason), (code, Some(reason)), "{kind:?}");
        }
    }

    #[test]
    fn who_finds_something_busy_is_told_when_to_come_back() {
        let after = |refusal: GatewayRefusal| refusal.data.map(|data| data.as_str().to_owned());
        for kind in [FaultKind::TurnInProgress, FaultKind::WorksForCall, FaultKind::QueueFull, FaultKind::SessionBusy] {
            let told = after(refusal(&Fault::new(kind, "x"), None));
            assert_eq!(told.as_deref(), Some(r#"{"retryAfterMs":1000}"#), "{kind:?}");
        }
        assert_eq!([0, 60_000].map(room_after), [1000, 60_000]);
        assert_eq!(after(superseded()), None);
    }

    #[test]
    fn a_failure_of_a_model_says_whose_and_whether_to_try_again() {
        let data = |fault: Fault| refusal(&fault, Some("acme")).data.unwrap().as_str().to_owned();
        let answered = Fault::new(FaultKind::Auth, "no").answered(401);
        assert_eq!(data(answered), r#"{"provider":"acme","retryable":false,"status":401}"#);
        // What a text says is for people.
        let silent = Fault::new(FaultKind::Network, "401 HTTP 500: no route");
        assert_eq!(data(silent), r#"{"provider":"acme","retryable":true}"#);
    }

    #[test]
    fn a_message_is_one_visible_line_of_bounded_length() {
        assert_eq!(message("a\n\u{1b}[2J"), "a␊␛[2J");
        assert_eq!(message(&"ü".repeat(10_000)).chars().count(), MESSAGE_CHARS_MAX);
    }

    #[test]
    fn ten_dropped_texts_are_told_whole() {
        let texts: Vec<std::sync::Arc<str>> =
            (0..12).map(|number| format!("{number:02}{}", "ü".repeat(118)).into()).collect();
        let told = message_with("the lane is full", &texts);
        assert!(told.ends_with(&*texts[9]) && !told.contains(&*texts[10]), "{told}");
        assert_eq!(message_with("a", &["b\nc".into()]), "a; b␊c");
    }

    #[test]
    fn no_path_of_this_machine_is_told() {
        let told = without_paths("cannot write to /var/ann/x.db: the disk is full (`/tmp/y`) at 1/2 and / too");
        assert_eq!(told, "cannot write to …: the disk is full … at 1/2 and / too");
    }

    #[test]
    fn what_cut_a_run_says_how_it_ended() {
        let end = |stop, cut| {
            let turn_end = TurnEnd {
                turn: "t".into(),
                stop,
                iterations: 0,
                usage: vocab::Usage::default(),
                mutations: Vec::new(),
                fault: Some(Fault::new(FaultKind::Provider, "HTTP 500")),
            };
            match run_end(&turn_end, cut, None) {
                RunEnd::Complete => "complete",
                RunEnd::Cancelled(reason) => reason,
                RunEnd::Failed(refusal) => refusal.reason.unwrap(),
            }
        };
        let cases = [
            (Stop::EndTurn, None, "complete"),
            (Stop::EndTurn, Some(CutBy::Asked), "complete"),
            (Stop::Refusal, None, "complete"),
            (Stop::Interrupted, None, "cancelled"),
            (Stop::Interrupted, Some(CutBy::Asked), "cancelled"),
            (Stop::Interrupted, Some(CutBy::Newer), "preempted"),
            (Stop::Interrupted, Some(CutBy::Ending), "shutdown"),
            (Stop::Interrupted, Some(CutBy::Deleted), "session_deleted"),
            (Stop::Interrupted, Some(CutBy::TimedOut), "timeout"),
            (Stop::Interrupted, Some(CutBy::Stalled), "stalled"),
            (Stop::Error, Some(CutBy::Stalled), "stalled"),
            (Stop::Error, None, "model_error"),
            (Stop::Budget, None, "model_error"),
        ];
        for (stop, cut, want) in cases {
            assert_eq!(end(stop, cut), want, "{stop:?} {cut:?}");
        }
    }
}
