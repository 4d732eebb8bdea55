//! What an entry looks like on disk: a kind (a column of its own) and a JSON payload, in types that belong to the
//! store. Knows nothing of SQLite.
//!
//! Rules for change: a new optional field may be added (old readers skip it, new readers default it); everything else
//! is a new kind. A kind or a word that this version does not know is reported by name and never taken for damage.

mod asks;
mod content;
mod requests;
mod todos;
mod words;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vocab::{
    AskEntry, AskId, Body, BranchEntry, CallEntry, CallId, ItemId, ModelEntry, NoteEntry, QueueEntry, SessionId,
    SettingEntry, ShellEntry, TurnEntry, TurnId,
};

use asks::{Ask, AskEnd};
use content::{Call, CallResult, Fault, Message, Part, PathText, Usage, into_all};
use requests::{FellBack, Requested, Spent};
use todos::TodoPhase;
use words::{CompactReason, Delivery, ItemEnd, Mode, Stop, UserFrom};

/// Why a record whose checksum is right cannot be read.
#[derive(Debug)]
pub enum Unreadable {
    Kind(String),
    Shape { kind: String, detail: String },
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Kind(kind) => write!(f, "has the kind `{kind}`, which this version does not know"),
            Unreadable::Shape { kind, detail } => {
                write!(f, "is a `{kind}` that this version does not understand ({detail})")
            }
        }
    }
}

// One struct per kind with more than one field, in the order of `vocab::Body`.

#[derive(Serialize, Deserialize)]
struct Opened {
    workspace: PathText,
    model: Arc<str>,
    mode: Mode,
    forked_from: Option<(Arc<str>, u64)>,
    /// Session and call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    child_of: Option<(Arc<str>, Arc<str>)>,
}
#[derive(Serialize, Deserialize)]
struct TurnStarted {
    turn: Arc<str>,
}
#[derive(Serialize, Deserialize)]
struct User {
    turn: Option<Arc<str>>,
    parts: Vec<Part>,
    from: UserFrom,
}
#[derive(Serialize, Deserialize)]
struct Assistant {
    turn: Option<Arc<str>>,
    message: Message,
}
#[derive(Serialize, Deserialize)]
struct CallStarted {
    turn: Arc<str>,
    call: Call,
    tool: Arc<str>,
}
#[derive(Serialize, Deserialize)]
struct CallEnded {
    turn: Arc<str>,
    result: CallResult,
}
#[derive(Serialize, Deserialize)]
struct TurnEnded {
    turn: Arc<str>,
    stop: Stop,
    iterations: u32,
    usage: Usage,
    mutations: Vec<(Arc<str>, Arc<str>)>,
    fault: Option<Fault>,
}
#[derive(Serialize, Deserialize)]
struct AskClosed {
    ask: Arc<str>,
    end: AskEnd,
}
/// Without the sender: a peer does not survive a restart.
#[derive(Serialize, Deserialize)]
struct Queued {
    id: Arc<str>,
    parts: Vec<Part>,
    delivery: Delivery,
    at_ms: i64,
}
#[derive(Serialize, Deserialize)]
struct Settled {
    item: Arc<str>,
    end: ItemEnd,
}
#[derive(Serialize, Deserialize)]
struct Retrying {
    turn: Arc<str>,
    attempt: u32,
    attempts_max: u32,
    wait_ms: u64,
    fault: Fault,
}
#[derive(Serialize, Deserialize)]
struct Compacted {
    reason: CompactReason,
    summary: Arc<str>,
    first_kept: u64,
    tokens_before: u64,
    tokens_after: u64,
    messages_before: u64,
    messages_after: u64,
    usage: Usage,
    #[serde(default)]
    model: Arc<str>,
}
#[derive(Serialize, Deserialize)]
struct Moved {
    to: u64,
}
#[derive(Serialize, Deserialize)]
struct Restored {
    files: Vec<Arc<str>>,
}
#[derive(Serialize, Deserialize)]
struct ShellStarted {
    command: Arc<str>,
    aside: bool,
}
#[derive(Serialize, Deserialize)]
struct Model {
    model: Arc<str>,
}
#[derive(Serialize, Deserialize)]
struct ModeChanged {
    mode: Mode,
}
#[derive(Serialize, Deserialize)]
struct Thinking {
    level: Option<Arc<str>>,
}
#[derive(Serialize, Deserialize)]
struct Gadgets {
    off: Vec<Arc<str>>,
}
#[derive(Serialize, Deserialize)]
struct Title {
    title: Arc<str>,
}
#[derive(Serialize, Deserialize)]
struct Shell {
    command: Arc<str>,
    output: Arc<str>,
    exit_code: Option<i32>,
    cancelled: bool,
    truncated: bool,
    total_lines: u64,
    total_bytes: u64,
    spilled: Option<Arc<str>>,
    aside: bool,
}
#[derive(Serialize, Deserialize)]
struct Todos {
    phases: Vec<TodoPhase>,
}
#[derive(Serialize, Deserialize)]
struct Imported {
    #[serde(default)]
    file: Option<PathText>,
    names: Vec<(u64, Arc<str>)>,
    #[serde(default)]
    raws: Vec<(u64, Arc<str>)>,
}
#[derive(Serialize, Deserialize)]
struct Label {
    target: u64,
    label: Option<Arc<str>>,
}
#[derive(Serialize, Deserialize)]
struct BranchSummary {
    from: Option<u64>,
    summary: Arc<str>,
}
#[derive(Serialize, Deserialize)]
struct Recovered {
    text: Arc<str>,
}

impl From<&vocab::Shell> for Shell {
    fn from(it: &vocab::Shell) -> Self {
        Self {
            command: it.command.clone(),
            output: it.output.clone(),
            exit_code: it.exit_code,
            cancelled: it.cancelled,
            truncated: it.truncated,
            total_lines: it.total_lines,
            total_bytes: it.total_bytes,
            spilled: it.spilled.clone(),
            aside: it.aside,
        }
    }
}
impl From<Shell> for vocab::Shell {
    fn from(it: Shell) -> Self {
        Self {
            command: it.command,
            output: it.output,
            exit_code: it.exit_code,
            cancelled: it.cancelled,
            truncated: it.truncated,
            total_lines: it.total_lines,
            total_bytes: it.total_bytes,
            spilled: it.spilled,
            aside: it.aside,
        }
    }
}

/// Appends the payload to `out` and says its kind.
pub fn to_record(body: &Body, out: &mut Vec<u8>) -> &'static str {
    let id = |text: &str| -> Arc<str> { text.into() };
    match body {
        Body::Opened { workspace, model, mode, forked_from, child_of } => {
            let record = Opened {
                workspace: workspace.as_path().into(),
                model: model.clone(),
                mode: (*mode).into(),
                forked_from: forked_from.as_ref().map(|(session, seq)| (id(session.as_str()), *seq)),
                child_of: child_of.as_ref().map(|(session, call)| (id(session.as_str()), id(call.as_str()))),
            };
            put("opened", &record, out)
        }
        Body::Turn(TurnEntry::Started { turn }) => put("turn_started", &TurnStarted { turn: id(turn.as_str()) }, out),
        Body::User { turn, parts, from } => {
            let turn = turn.as_ref().map(|turn| id(turn.as_str()));
            put("user", &User { turn, parts: into_all(parts), from: (*from).into() }, out)
        }
        Body::Assistant { turn, message } => {
            let turn = turn.as_ref().map(|turn| id(turn.as_str()));
            put("assistant", &Assistant { turn, message: message.into() }, out)
        }
        Body::Call(CallEntry::Started { turn, call, tool }) => {
            let record = CallStarted { turn: id(turn.as_str()), call: call.into(), tool: tool.clone() };
            put("call_started", &record, out)
        }
        Body::Call(CallEntry::Ended { turn, result }) => {
            put("call_ended", &CallEnded { turn: id(turn.as_str()), result: result.into() }, out)
        }
        Body::Turn(TurnEntry::Ended(end)) => {
            let record = TurnEnded {
                turn: id(end.turn.as_str()),
                stop: end.stop.into(),
                iterations: end.iterations,
                usage: (&end.usage).into(),
                mutations: end.mutations.clone(),
                fault: end.fault.as_ref().map(Into::into),
            };
            put("turn_ended", &record, out)
        }
        Body::Ask(AskEntry::Opened(ask)) => put("ask_opened", &Ask::from(ask), out),
        Body::Ask(AskEntry::Closed { ask, end }) => {
            put("ask_closed", &AskClosed { ask: id(ask.as_str()), end: end.into() }, out)
        }
        Body::Queue(QueueEntry::Queued(item)) => {
            let (delivery, at_ms) = (item.delivery.into(), item.at_ms);
            put("queued", &Queued { id: id(item.id.as_str()), parts: into_all(&item.parts), delivery, at_ms }, out)
        }
        Body::Queue(QueueEntry::Settled { item, end }) => {
            put("settled", &Settled { item: id(item.as_str()), end: (*end).into() }, out)
        }
        Body::Model(ModelEntry::Requested(it)) => put("requested", &Requested::from(it), out),
        Body::Model(ModelEntry::Retrying { turn, attempt, attempts_max, wait_ms, fault }) => {
            let (turn, fault) = (id(turn.as_str()), fault.into());
            let (attempt, attempts_max, wait_ms) = (*attempt, *attempts_max, *wait_ms);
            put("retrying", &Retrying { turn, attempt, attempts_max, wait_ms, fault }, out)
        }
        Body::Model(ModelEntry::FellBack(it)) => put("fell_back", &FellBack::from(it), out),
        Body::Model(ModelEntry::Spent { turn, call, model, usage }) => {
            let turn = turn.as_ref().map(|turn| id(turn.as_str()));
            let call = call.as_ref().map(|call| id(call.as_str()));
            put("spent", &Spent { turn, call, model: model.clone(), usage: usage.into() }, out)
        }
        Body::Branch(BranchEntry::Compacted(compaction)) => {
            let record = Compacted {
                reason: compaction.reason.into(),
                summary: compaction.summary.clone(),
                first_kept: compaction.first_kept,
                tokens_before: compaction.tokens_before,
                tokens_after: compaction.tokens_after,
                messages_before: compaction.messages_before,
                messages_after: compaction.messages_after,
                usage: (&compaction.usage).into(),
                model: compaction.model.clone(),
            };
            put("compacted", &record, out)
        }
        Body::Branch(BranchEntry::Moved { to }) => put("moved", &Moved { to: *to }, out),
        Body::Branch(BranchEntry::Restored { files }) => put("restored", &Restored { files: files.clone() }, out),
        Body::Setting(SettingEntry::Model { model }) => put("model", &Model { model: model.clone() }, out),
        Body::Setting(SettingEntry::Mode { mode }) => put("mode", &ModeChanged { mode: (*mode).into() }, out),
        Body::Setting(SettingEntry::Thinking { level }) => put("thinking", &Thinking { level: level.clone() }, out),
        Body::Setting(SettingEntry::Gadgets { off }) => put("gadgets", &Gadgets { off: off.clone() }, out),
        Body::Setting(SettingEntry::Title { title }) => put("title", &Title { title: title.clone() }, out),
        Body::Shell(ShellEntry::Started { command, aside }) => {
            put("shell_started", &ShellStarted { command: command.clone(), aside: *aside }, out)
        }
        Body::Shell(ShellEntry::Ended(shell)) => put("shell", &Shell::from(shell), out),
        Body::Setting(SettingEntry::Todos { phases }) => put("todos", &Todos { phases: into_all(phases) }, out),
        Body::Note(NoteEntry::Imported { file, names, raws }) => {
            let file = file.as_deref().map(Into::into);
            let raws = raws.iter().map(|(seq, json)| (*seq, json.as_str().into())).collect();
            put("imported", &Imported { file, names: names.clone(), raws }, out)
        }
        Body::Note(NoteEntry::Label { target, label }) => {
            put("label", &Label { target: *target, label: label.clone() }, out)
        }
        Body::Branch(BranchEntry::Summary { from, summary }) => {
            put("branch_summary", &BranchSummary { from: *from, summary: summary.clone() }, out)
        }
        Body::Note(NoteEntry::Recovered { text }) => put("recovered", &Recovered { text: text.clone() }, out),
    }
}

fn put(kind: &'static str, record: &impl Serialize, out: &mut Vec<u8>) -> &'static str {
    serde_json::to_writer(out, record).expect("memory takes every write, and these types have no map with odd keys");
    kind
}

/// The body behind a kind and its payload.
pub fn from_record(kind: &str, payload: &[u8]) -> Result<Body, Unreadable> {
    let decoded = match kind {
        "opened" => get(payload, |it: Opened| Body::Opened {
            workspace: PathBuf::from(it.workspace),
            model: it.model,
            mode: it.mode.into(),
            forked_from: it.forked_from.map(|(session, seq)| (SessionId::new(session), seq)),
            child_of: it.child_of.map(|(session, call)| (SessionId::new(session), CallId::new(call))),
        }),
        "turn_started" => get(payload, |it: TurnStarted| Body::Turn(TurnEntry::Started { turn: TurnId::new(it.turn) })),
        "user" => get(payload, |it: User| Body::User {
            turn: it.turn.map(TurnId::new),
            parts: into_all(it.parts),
            from: it.from.into(),
        }),
        "assistant" => {
            get(payload, |it: Assistant| Body::Assistant { turn: it.turn.map(TurnId::new), message: it.message.into() })
        }
        "call_started" => get(payload, |it: CallStarted| {
            Body::Call(CallEntry::Started { turn: TurnId::new(it.turn), call: it.call.into(), tool: it.tool })
        }),
        "call_ended" => get(payload, |it: CallEnded| {
            Body::Call(CallEntry::Ended { turn: TurnId::new(it.turn), result: it.result.into() })
        }),
        "turn_ended" => get(payload, |it: TurnEnded| {
            Body::Turn(TurnEntry::Ended(vocab::TurnEnd {
                turn: TurnId::new(it.turn),
                stop: it.stop.into(),
                iterations: it.iterations,
                usage: it.usage.into(),
                mutations: it.mutations,
                fault: it.fault.map(Into::into),
            }))
        }),
        "ask_opened" => get(payload, |it: Ask| Body::Ask(AskEntry::Opened(it.into()))),
        "ask_closed" => {
            get(payload, |it: AskClosed| Body::Ask(AskEntry::Closed { ask: AskId::new(it.ask), end: it.end.into() }))
        }
        "queued" => get(payload, |it: Queued| {
            Body::Queue(QueueEntry::Queued(vocab::Item {
                id: ItemId::new(it.id),
                parts: into_all(it.parts),
                delivery: it.delivery.into(),
                at_ms: it.at_ms,
                sender: None,
            }))
        }),
        "settled" => get(payload, |it: Settled| {
            Body::Queue(QueueEntry::Settled { item: ItemId::new(it.item), end: it.end.into() })
        }),
        "requested" => get(payload, |it: Requested| Body::Model(ModelEntry::Requested(it.into()))),
        "retrying" => get(payload, |it: Retrying| {
            Body::Model(ModelEntry::Retrying {
                turn: TurnId::new(it.turn),
                attempt: it.attempt,
                attempts_max: it.attempts_max,
                wait_ms: it.wait_ms,
                fault: it.fault.into(),
            })
        }),
        "fell_back" => get(payload, |it: FellBack| Body::Model(ModelEntry::FellBack(it.into()))),
        "spent" => get(payload, |it: Spent| {
            Body::Model(ModelEntry::Spent {
                turn: it.turn.map(TurnId::new),
                call: it.call.map(CallId::new),
                model: it.model,
                usage: it.usage.into(),
            })
        }),
        "compacted" => get(payload, |it: Compacted| {
            Body::Branch(BranchEntry::Compacted(vocab::Compaction {
                reason: it.reason.into(),
                summary: it.summary,
                first_kept: it.first_kept,
                tokens_before: it.tokens_before,
                tokens_after: it.tokens_after,
                messages_before: it.messages_before,
                messages_after: it.messages_after,
                usage: it.usage.into(),
                model: it.model,
            }))
        }),
        "moved" => get(payload, |it: Moved| Body::Branch(BranchEntry::Moved { to: it.to })),
        "restored" => get(payload, |it: Restored| Body::Branch(BranchEntry::Restored { files: it.files })),
        "model" => get(payload, |it: Model| Body::Setting(SettingEntry::Model { model: it.model })),
        "mode" => get(payload, |it: ModeChanged| Body::Setting(SettingEntry::Mode { mode: it.mode.into() })),
        "thinking" => get(payload, |it: Thinking| Body::Setting(SettingEntry::Thinking { level: it.level })),
        "gadgets" => get(payload, |it: Gadgets| Body::Setting(SettingEntry::Gadgets { off: it.off })),
        "title" => get(payload, |it: Title| Body::Setting(SettingEntry::Title { title: it.title })),
        "shell_started" => {
            get(payload, |it: ShellStarted| Body::Shell(ShellEntry::Started { command: it.command, aside: it.aside }))
        }
        "shell" => get(payload, |it: Shell| Body::Shell(ShellEntry::Ended(it.into()))),
        "todos" => get(payload, |it: Todos| Body::Setting(SettingEntry::Todos { phases: into_all(it.phases) })),
        "imported" => get(payload, |it: Imported| {
            Body::Note(NoteEntry::Imported {
                file: it.file.map(PathBuf::from),
                names: it.names,
                raws: it.raws.into_iter().map(|(seq, json)| (seq, vocab::Json::trusted(json))).collect(),
            })
        }),
        "label" => get(payload, |it: Label| Body::Note(NoteEntry::Label { target: it.target, label: it.label })),
        "branch_summary" => {
            get(payload, |it: BranchSummary| Body::Branch(BranchEntry::Summary { from: it.from, summary: it.summary }))
        }
        "recovered" => get(payload, |it: Recovered| Body::Note(NoteEntry::Recovered { text: it.text })),
        _ => return Err(Unreadable::Kind(kind.to_owned())),
    };
    decoded.map_err(|error| Unreadable::Shape { kind: kind.to_owned(), detail: error.to_string() })
}

fn get<'a, T: Deserialize<'a>>(payload: &'a [u8], body: impl FnOnce(T) -> Body) -> serde_json::Result<Body> {
    serde_json::from_slice(payload).map(body)
}

/// The checksum of a record. It covers the columns too: a record under a wrong number is as bad as a torn one.
pub fn checksum(seq: u64, parent: u64, at_ms: i64, kind: &[u8], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&seq.to_le_bytes());
    hasher.update(&parent.to_le_bytes());
    hasher.update(&at_ms.to_le_bytes());
    hasher.update(kind);
    hasher.update(&[0]);
    hasher.update(payload);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::suite;

    #[test]
    fn every_body_comes_back_as_it_went_in() {
        let mut kinds = BTreeSet::new();
        for body in suite::bodies() {
            let mut payload = Vec::new();
            let kind = to_record(&body, &mut payload);
            kinds.insert(kind);
            let back = from_record(kind, &payload).unwrap();
            assert_eq!(back, suite::as_stored(&body), "{kind}");
        }
        // Thirty kinds today; `to_record` is exhaustive, so a new variant is missed here only by its example.
        assert_eq!(kinds.len(), 30, "the examples leave a kind out: {kinds:?}");
    }

    #[test]
    fn an_unknown_kind_is_named() {
        let error = from_record("telepathy", b"{}").unwrap_err();
        assert!(error.to_string().contains("`telepathy`"), "{error}");
        let error = from_record("mode", br#"{"mode":"trance"}"#).unwrap_err();
        assert!(error.to_string().contains("trance"), "{error}");
    }

    #[test]
    fn fields_of_a_later_version_are_skipped() {
        let body = from_record("title", br#"{"title":"t","colour":{"r":[1]}}"#).unwrap();
        assert_eq!(body, Body::Setting(SettingEntry::Title { title: "t".into() }));
    }

    #[test]
    fn broken_payloads_are_errors_and_never_panics() {
        for body in suite::bodies() {
            let mut payload = Vec::new();
            let kind = to_record(&body, &mut payload);
            for cut in 0..payload.len() {
                assert!(from_record(kind, &payload[..cut]).is_err(), "{kind} cut at {cut}");
            }
            for at in 0..payload.len() {
                let mut broken = payload.clone();
                broken[at] = 0xff;
                assert!(from_record(kind, &broken).is_err(), "{kind} is not UTF-8 at {at}");
            }
        }
    }

    #[test]
    fn the_checksum_covers_every_column() {
        let good = checksum(1, 2, 3, b"user", b"{}");
        let others = [
            checksum(9, 2, 3, b"user", b"{}"),
            checksum(1, 9, 3, b"user", b"{}"),
            checksum(1, 2, 9, b"user", b"{}"),
            checksum(1, 2, 3, b"usex", b"{}"),
            checksum(1, 2, 3, b"user", b"{]"),
            checksum(1, 2, 3, b"user{", b"}"),
        ];
        assert!(others.iter().all(|other| *other != good));
    }
}
