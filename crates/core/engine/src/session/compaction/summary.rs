//! Making room: what to keep word for word (pure), and the model call that summarises the rest.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vocab::{
    CallAbout, CallSpec, Chat, Clock, CompactReason, Compaction, CompactionPolicy, Fault, FaultKind, Later, Message,
    ModelEvent, ModelInfo, Part, Provider, Sent, SessionId, Store, SummaryOf, Usage, estimate_tokens,
};

use crate::outbox::OUTBOX_BYTES_MAX;
use crate::session::budget::DayCheck;
use crate::session::model_view::{Branch, BranchMessage, Mark, MarkKind, summary_message};

/// First line of the request for a summary; a scripted model recognises it.
pub(crate) const SUMMARY_REQUEST: &str = "Summarise this conversation";
const SUMMARY_RULES: &str = "so that work can go on without the earlier messages. Keep: what the user wants, decisions and \
their reasons, files read and changed, commands and their outcomes, what is open. Be brief and concrete.";
/// Tokens allowed for a summary.
const SUMMARY_TOKENS_MAX: u64 = 4096;
/// A summary longer than this is cut; a model that talks without end must not fill the context it was to empty.
const SUMMARY_BYTES_MAX: usize = OUTBOX_BYTES_MAX;
/// Share of the window that the text to summarise may take; the oldest messages go first.
const INPUT_PCT: u64 = 60;

/// Index of the first message to keep: a user message, so that the cut falls on a turn border. `None` when nothing
/// lies before it.
pub(crate) fn cut(marks: &[Mark], policy: &CompactionPolicy, window: u64) -> Option<usize> {
    let keep_tokens = u128::from(window) * u128::from(policy.keep_pct) / 100;
    let mut tokens = 0u128;
    let mut at = None;
    for (index, mark) in marks.iter().enumerate().rev() {
        tokens += u128::from(estimate_tokens(mark.bytes));
        if mark.kind != MarkKind::User {
            continue;
        }
        // The newest user message stays whatever its size: it is what the turn is about.
        if at.is_some() && tokens > keep_tokens {
            break;
        }
        at = Some(index);
    }
    at.filter(|index| marks[..*index].iter().any(|mark| mark.kind == MarkKind::Assistant))
}

/// As [`cut`], keeping no more than can stand alone: what was said since the last reply, or else the newest user message and
/// what came of it.
pub(crate) fn cut_close(marks: &[Mark]) -> Option<usize> {
    let is_user = |mark: &Mark| mark.kind == MarkKind::User;
    let replied = marks.iter().rposition(|mark| matches!(mark.kind, MarkKind::Assistant | MarkKind::Result))?;
    let unanswered = marks[replied..].iter().position(is_user).map(|at| replied + at);
    let at = unanswered.or_else(|| marks.iter().rposition(is_user));
    at.filter(|index| marks[..*index].iter().any(|mark| mark.kind == MarkKind::Assistant))
}

/// As [`cut`], for somebody who asks for it where everything would fit: all that was answered goes. `marks.len()` where
/// nothing is left to keep, `None` where nothing was answered yet.
pub(crate) fn cut_whole(marks: &[Mark]) -> Option<usize> {
    let is_reply = |mark: &Mark| matches!(mark.kind, MarkKind::Assistant | MarkKind::Result);
    marks.iter().rposition(is_reply).map(|replied| replied + 1)
}

/// What the summary call needs; owns everything, so that the session goes on listening meanwhile.
pub(crate) struct SummaryJob {
    pub(in crate::session) day: Option<DayCheck>,
    pub(crate) session: SessionId,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) model: ModelInfo,
    pub(crate) reason: CompactReason,
    pub(crate) instructions: Option<Arc<str>>,
    pub(crate) first_kept: u64,
    /// Seq of the newest entry that the summary can know of; what comes later is kept by whoever logs it.
    pub(crate) upto: u64,
    pub(crate) tokens_before: u64,
    pub(crate) messages_before: u64,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) trace: Arc<Trace>,
}

/// What a summary's call has left so far: the job may be dropped at any moment, and what it sent and cost stays true.
#[derive(Default)]
pub(crate) struct Trace(Mutex<SummaryTrace>);

#[derive(Default)]
pub(crate) struct SummaryTrace {
    pub(crate) requests: Vec<SummaryRequest>,
    /// What the provider counted.
    pub(crate) usage: Option<Usage>,
}

impl SummaryTrace {
    /// What the provider counted, and where it did not, what was sent and said by our own count; nothing where it did not answer.
    pub(crate) fn spent(&mut self, is_answered: bool, said_bytes: usize) -> Option<Usage> {
        let sent: u64 = self.requests.last().map_or(0, |request| request.bytes);
        let uncounted = || Usage { estimated: true, ..Usage::default() };
        let usage = self.usage.take().or_else(|| (is_answered && sent > 0).then(uncounted))?;
        let tokens = |bytes: usize| estimate_tokens(bytes);
        Some(usage.completed(tokens(usize::try_from(sent).unwrap_or(usize::MAX)), tokens(said_bytes)))
    }
}

pub(crate) struct SummaryRequest {
    pub(crate) at_ms: i64,
    pub(crate) of: SummaryOf,
    pub(crate) sent: Arc<Sent>,
    pub(crate) bytes: u64,
}

impl Trace {
    fn left(&self) -> MutexGuard<'_, SummaryTrace> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    pub(crate) fn take(&self) -> SummaryTrace {
        std::mem::take(&mut *self.left())
    }
}

/// Puts to a chat what a summary is made of: the earlier summary, the messages, and what is wanted.
pub(crate) fn push_summary_of(chat: &mut dyn Chat, branch: &Branch, of: &SummaryOf) {
    if let Some(earlier) = &branch.compaction {
        chat.push(&Message::User(vec![Part::text(summary_message(&earlier.summary))]));
    }
    for said in branch.messages.iter().filter(|said| said.seq >= of.from && said.seq < of.first_kept) {
        chat.push(&said.message);
    }
    chat.push(&Message::User(vec![Part::text(of.request.clone())]));
}

/// A summary and the messages that stay word for word.
pub(crate) struct Compacted {
    pub(crate) compaction: Compaction,
    pub(crate) kept: Vec<BranchMessage>,
}

impl SummaryJob {
    pub(crate) fn run(self) -> Later<'static, Result<Compacted, Fault>> {
        Box::pin(self.summarise())
    }

    async fn summarise(self) -> Result<Compacted, Fault> {
        if let Some(check) = &self.day {
            check.judge(self.store.usage(check.query()).await)?;
        }
        let window = self.store.window(&self.session, self.upto).await?;
        let branch = Branch::of(&window);
        let budget = input_budget(self.model.context_window);
        let earlier_from = branch.compaction.as_ref().map_or(0, |earlier| earlier.first_kept);
        let old: Vec<&BranchMessage> =
            branch.messages.iter().filter(|said| said.seq >= earlier_from && said.seq < self.first_kept).collect();
        let extra = self.instructions.as_deref().map(|text| format!(" {text}")).unwrap_or_default();
        let of = SummaryOf {
            upto: self.upto,
            from: fitting(&old, budget).first().map_or(self.first_kept, |said| said.seq),
            first_kept: self.first_kept,
            request: format!("{SUMMARY_REQUEST} {SUMMARY_RULES}{extra}").into(),
        };
        let mut chat = self.provider.chat(&self.model)?;
        push_summary_of(&mut *chat, &branch, &of);
        let (summary, usage) = self.ask(chat, &of).await?;
        let kept: Vec<_> = branch.messages.into_iter().filter(|said| said.seq >= self.first_kept).collect();
        let is_result = |said: &&BranchMessage| matches!(said.message, Message::Result(_));
        let messages_after = 1 + kept.iter().filter(|said| !is_result(said)).count() as u64;
        let compaction = Compaction {
            reason: self.reason,
            summary: summary.into(),
            first_kept: self.first_kept,
            tokens_before: self.tokens_before,
            tokens_after: 0,
            messages_before: self.messages_before,
            messages_after,
            usage,
            model: self.model.slug.clone(),
        };
        Ok(Compacted { compaction, kept })
    }

    async fn ask(&self, mut chat: Box<dyn Chat>, of: &SummaryOf) -> Result<(String, Usage), Fault> {
        let spec = CallSpec {
            system: "You summarise conversations between a user and a coding agent.".into(),
            tools: Arc::from([]),
            max_tokens: SUMMARY_TOKENS_MAX.min(self.model.context_window / 4).max(1),
            thinking: None,
        };
        let about = CallAbout { session: self.session.clone(), turn: None, reply: 0, trace: None, child_of: None };
        let mut stream = chat.call_about(&spec, &about);
        let mut summary = String::new();
        while let Some(event) = poll_fn(|context| stream.as_mut().poll_next(context)).await {
            match event {
                ModelEvent::Sent { sent, bytes } => {
                    let request = SummaryRequest { at_ms: self.clock.now_ms(), of: of.clone(), sent, bytes };
                    self.trace.left().requests.push(request);
                }
                ModelEvent::Text(delta) if summary.len() < SUMMARY_BYTES_MAX => summary.push_str(&delta),
                ModelEvent::Usage(counted) => self.trace.left().usage = Some(counted),
                ModelEvent::Failed(failed) => return Err(failed.fault),
                ModelEvent::Finished(_) => break,
                ModelEvent::Text(_)
                | ModelEvent::Thinking(_)
                | ModelEvent::Seal(_)
                | ModelEvent::Redacted(_)
                | ModelEvent::Call { .. } => {}
            }
        }
        if summary.trim().is_empty() {
            return Err(Fault::new(FaultKind::Provider, "the model returned an empty summary"));
        }
        let usage = self.trace.left().spent(true, summary.len()).unwrap_or_default();
        Ok((summary, usage))
    }
}

/// Bytes of text that a summary may be made of.
fn input_budget(window: u64) -> usize {
    let bytes = u128::from(window) * vocab::CHARS_PER_TOKEN as u128 * u128::from(INPUT_PCT) / 100;
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// The newest messages whose text fits; starts at a user message, because a reply or a result alone is no beginning.
fn fitting<'a>(messages: &'a [&'a BranchMessage], budget: usize) -> &'a [&'a BranchMessage] {
    let mut bytes = 0;
    let mut from = messages.len();
    for (index, said) in messages.iter().enumerate().rev() {
        bytes += size(&said.message);
        if bytes > budget {
            break;
        }
        if matches!(said.message, Message::User(_)) {
            from = index;
        }
    }
    &messages[from..]
}

pub(crate) fn size(message: &Message) -> usize {
    match message {
        Message::User(parts) => vocab::parts_text(parts).len(),
        Message::Assistant(message) => {
            message.text().len() + message.calls().map(|call| call.input.json().as_str().len()).sum::<usize>()
        }
        Message::Result(result) => result.text().len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(kinds: &str) -> Vec<Mark> {
        kinds
            .chars()
            .enumerate()
            .map(|(index, kind)| Mark {
                seq: index as u64 + 1,
                kind: match kind {
                    'u' => MarkKind::User,
                    'a' => MarkKind::Assistant,
                    'r' => MarkKind::Result,
                    _ => MarkKind::Summary,
                },
                bytes: 400,
            })
            .collect()
    }

    #[test]
    fn the_cut_falls_on_a_user_message_that_fits() {
        let policy = CompactionPolicy { keep_pct: 50, ..CompactionPolicy::default() };
        // 100 tokens each; half of a window of 1000 keeps five.
        assert_eq!(cut(&marks("uauaruara"), &policy, 1000), Some(5));
    }

    #[test]
    fn the_newest_user_message_is_kept_whatever_its_size() {
        let policy = CompactionPolicy { keep_pct: 1, ..CompactionPolicy::default() };
        assert_eq!(cut(&marks("uauarar"), &policy, 1000), Some(2));
    }

    #[test]
    fn a_single_turn_cannot_be_compacted() {
        let policy = CompactionPolicy::default();
        assert_eq!(cut(&marks("uarara"), &policy, 1000), None);
        assert_eq!(cut(&marks("u"), &policy, 1000), None);
        assert_eq!(cut(&[], &policy, 1000), None);
    }

    #[test]
    fn a_close_cut_keeps_what_nobody_answered_yet() {
        assert_eq!(cut_close(&marks("uauauu")), Some(4));
        assert_eq!(cut_close(&marks("uauar")), Some(2), "a call's result does not stand alone");
        for nothing in ["", "u", "uar", "su", "sua"] {
            assert_eq!(cut_close(&marks(nothing)), None, "{nothing}");
        }
    }

    #[test]
    fn a_whole_cut_keeps_only_what_nobody_answered() {
        assert_eq!(cut_whole(&marks("ua")), Some(2), "that is behind everything");
        assert_eq!(cut_whole(&marks("uaruau")), Some(5));
        for nothing in ["", "u", "s", "su"] {
            assert_eq!(cut_whole(&marks(nothing)), None, "{nothing}");
        }
    }

    #[test]
    fn a_summary_alone_is_not_compacted_again() {
        assert_eq!(cut(&marks("su"), &CompactionPolicy::default(), 10), None);
    }
}
