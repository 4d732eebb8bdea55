//! Events, in the order of the reference: what their data is, and how their frames are written.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vocab::{Part, SessionId, TurnId};

use crate::cursor::EventCursor;
use crate::results::{Budget, QueueNote, UsageSum};
use crate::shape::{AnyJson, Nullable, ShapeSchema, Shaped};
use crate::{shape, words};

/// Bytes of a tool's output that an event carries.
pub(crate) const OUTPUT_BYTES_MAX: usize = 64 * 1024;

/// One event.
pub struct EventRow {
    pub name: &'static str,
    pub doc: &'static str,
    pub data: fn() -> ShapeSchema,
}

/// Every event that a frame can carry, but those of services.
pub static EVENTS: &[EventRow] = &[
    EventRow { name: "content", doc: "More text of the answer.", data: ContentData::schema },
    EventRow { name: "tool_start", doc: "A tool begins.", data: ToolStartData::schema },
    EventRow { name: "tool_end", doc: "What came of it; one for each start.", data: ToolEndData::schema },
    EventRow {
        name: "thinking",
        doc: "What the model thinks, for subscribers who want it.",
        data: ThinkingData::schema,
    },
    EventRow {
        name: "attachment",
        doc: "An image: a tool made it, or it came with a message.",
        data: AttachmentData::schema,
    },
    EventRow { name: "context_warning", doc: "The context is nearly full.", data: ContextWarningData::schema },
    EventRow { name: "run_state", doc: "How the run goes.", data: RunStateData::schema },
    EventRow { name: "done", doc: "The run is complete.", data: DoneData::schema },
    EventRow { name: "error", doc: "It failed; the error frame follows.", data: ErrorData::schema },
    EventRow { name: "tool_confirm", doc: "May this call run?", data: ToolConfirmData::schema },
    EventRow { name: "tool_confirm_done", doc: "That question is answered.", data: ToolConfirmDoneData::schema },
    EventRow { name: "queued", doc: "A message waits.", data: QueuedData::schema },
    EventRow { name: "session_changed", doc: "Anything else that is in the log.", data: SessionChangedData::schema },
    EventRow {
        name: "lag",
        doc: "From here on something is missing: come back with this cursor.",
        data: LagData::schema,
    },
    EventRow { name: "retract", doc: "The last bytes of text were taken back.", data: RetractData::schema },
];

words! { /// A run goes `start`, then perhaps `cancel_requested`, then one of the other three.
    RunStateWord {
        Start = "start", CancelRequested = "cancel_requested", Complete = "complete", Cancelled = "cancelled", Error = "error",
    }
}
shape! { result
    /// Concatenation of all that are not transient is the run's content.
    ContentData {
        "text" text: String,
        /// Not a part of the answer.
        "transient" transient: Option<bool>,
        /// For subscribers: the rest of a message, which is whole with it.
        "final" is_final: Option<bool>,
    }
}
shape! { result
    /// As `content`, of the model's thinking.
    ThinkingData {
        "text" text: String,
        /// The rest of it, which is whole with it.
        "final" is_final: Option<bool>,
    }
}
shape! { result
    /// A call.
    ToolStartData { "tool" tool: String, "args" args: AnyJson, "callId" call_id: String }
}
shape! { result
    /// What came of a call.
    ToolOutcome { "success" success: bool, "output" output: String, "error" error: Nullable<String> }
}
shape! { result
    /// The end of a call.
    ToolEndData {
        "tool" tool: String,
        "callId" call_id: String,
        "result" result: ToolOutcome,
        "durationMs" duration_ms: u64,
        /// The output is longer than an event carries.
        "truncated" truncated: Option<bool>,
        "fullBytes" full_bytes: Option<u64>,
    }
}
shape! { result
    /// Base64.
    AttachmentData { "mimeType" mime_type: Arc<str>, "data" data: Arc<str>, "filename" filename: Option<String> }
}
words! { /// How full the context is.
    ContextLevel { Warning = "warning", Checkpoint = "checkpoint", Compact = "compact" }
}
shape! { result
    /// What was done about it.
    ContextActions {
        "checkpointSaved" checkpoint_saved: bool,
        "autoCompacted" auto_compacted: bool,
        /// Where it was saved.
        "checkpointNamespace" checkpoint_namespace: Option<Arc<str>>,
    }
}
shape! { result
    /// At most one per run.
    ContextWarningData {
        "level" level: ContextLevel, "message" message: String, "budget" budget: Budget, "actions" actions: ContextActions,
    }
}
shape! { result
    /// When, in milliseconds since 1970.
    RunStateData { "state" state: RunStateWord, "timestamp" timestamp: i64 }
}
shape! { result
    /// Only where the run is complete. Subscribers have had the content.
    DoneData {
        "content" content: Option<Arc<str>>,
        "usage" usage: UsageSum,
        "runId" run_id: Option<String>,
        /// For subscribers: which model spoke last, and how long the run took.
        "model" model: Option<Arc<str>>,
        "durationMs" duration_ms: Option<u64>,
    }
}
shape! { result
    /// The same code as the error frame behind it.
    ErrorData {
        "code" code: i64, "message" message: String, "queue" queue: Option<QueueNote>, "data" data: Option<AnyJson>,
    }
}
shape! { result
    /// Answered by `agent.confirmTool`.
    ToolConfirmData {
        "callId" call_id: String,
        "tool" tool: String,
        "args" args: AnyJson,
        /// What the call needs: `read-only`, `workspace-write` or `danger-full-access`.
        "risk" risk: &'static str,
        /// After this it is a no. Not there where nobody is on the session: then it is kept longer.
        "expiresAt" expires_at: Option<i64>,
        /// One line.
        "summary" summary: String,
        /// All that a person has to see, where the tool says it.
        "preview" preview: Option<Vec<ConfirmFact>>,
        /// The question's own id: models count their calls anew, so a call's does not tell two questions apart.
        "askId" ask_id: String,
        /// Where it is true: the call was begun before a restart, and a yes may run it a second time.
        "mayHaveRun" may_have_run: Option<bool>,
    }
}
shape! { result
    /// One thing about the call.
    ConfirmFact { "label" label: String, "text" text: String }
}
words! { /// How a question ended.
    AskEndWord {
        Allow = "allow", AllowSession = "allow_session", Deny = "deny", Answered = "answered", Withdrawn = "withdrawn",
    }
}
shape! { result
    /// Whoever answered it.
    ToolConfirmDoneData {
        "callId" call_id: String, "decision" decision: AskEndWord, "by" by: Option<String>, "askId" ask_id: String,
    }
}
shape! { result
    /// Its place among those that wait, from 0.
    QueuedData {
        "itemId" item_id: String,
        "position" position: Option<u64>,
        /// How the message begins.
        "text" text: Option<String>,
        /// Whose it is.
        "by" by: Option<String>,
    }
}
words! { /// What an entry of the log is that has no event of its own.
    ChangeKind {
        Opened = "opened", Message = "message", Taken = "taken", Settled = "settled",
        Setting = "setting", Shell = "shell", ShellDone = "shell_done", Call = "call",
        CallDone = "call_done", Ask = "ask", AskDone = "ask_done", Requested = "requested",
        Retrying = "retrying", FellBack = "fell_back", Spent = "spent", Compacted = "compacted",
        Moved = "moved", Restored = "restored", Summary = "summary", Note = "note",
    }
}
shape! { result
    /// `kind` says what.
    SessionChangedData { "kind" kind: ChangeKind, "role" role: Option<&'static str>, "text" text: Option<String>, "detail" detail: Option<AnyJson> }
}
shape! { result
    /// Entries of the log that are not told.
    LagData {
        /// The first of them that was not told whole.
        "from" from: u64,
        /// The newest that is known here; before `from` where none is known to be missing.
        "to" to: u64,
        /// Everything up to here was told, with what there was of a reply.
        "cursor" cursor: String,
    }
}
shape! { result
    /// The reply that this text was of came to nothing.
    RetractData {
        "runId" run_id: Option<String>,
        "bytes" bytes: u64,
        /// Of thinking, for who is told it.
        "thinkingBytes" thinking_bytes: Option<u64>,
    }
}

shape! { result
    /// Where an event of a session stands: what a subscriber's frames have beside `event` and `data`.
    EventPlaceData {
        "seq" seq: u64,
        "cursor" cursor: EventCursor,
        "sessionId" session_id: String,
        "runId" run_id: Option<String>,
        /// When it was stored, in milliseconds since 1970; not there for what is not stored yet.
        "at" at: Option<i64>,
    }
}

/// The frame of an event behind its id.
pub(crate) fn tail(event: &str, data: &impl Serialize) -> Vec<u8> {
    let mut into = head(event);
    let start = into.len();
    if serde_json::to_writer(&mut into, data).is_err() {
        into.truncate(start);
        into.extend_from_slice(b"null");
    }
    into.push(b'}');
    into
}

pub(crate) fn head(event: &str) -> Vec<u8> {
    let mut into = Vec::with_capacity(128);
    into.extend_from_slice(b"\"event\":\"");
    into.extend_from_slice(event.as_bytes());
    into.extend_from_slice(b"\",\"data\":");
    into
}

/// Text, by hand: it comes often.
pub(crate) fn content_tail(gap: bool, text: &str, into: &mut Vec<u8>) {
    words_tail("content", gap, text, into);
}
pub(crate) fn words_tail(event: &str, gap: bool, text: &str, into: &mut Vec<u8>) {
    into.clear();
    into.extend_from_slice(b"\"event\":\"");
    into.extend_from_slice(event.as_bytes());
    into.extend_from_slice(b"\",\"data\":{\"text\":\"");
    if gap {
        into.extend_from_slice(b"\\n\\n");
    }
    wire::escape_plain_into(text, into);
    into.extend_from_slice(b"\"}}");
}

/// By hand as well: every run has two of them.
pub(crate) fn run_state(state: RunStateWord, timestamp: i64) -> Vec<u8> {
    let mut into = head("run_state");
    into.extend_from_slice(b"{\"state\":\"");
    into.extend_from_slice(state.as_str().as_bytes());
    into.extend_from_slice(b"\",\"timestamp\":");
    // Into a buffer that grows: it cannot fail.
    let _ = serde_json::to_writer(&mut into, &timestamp);
    into.extend_from_slice(b"}}");
    into
}

/// Where an event for a subscriber stands.
pub(crate) struct EventPlace<'a> {
    pub(crate) session: &'a SessionId,
    pub(crate) run: Option<&'a TurnId>,
    pub(crate) cursor: EventCursor,
    /// When it was stored.
    pub(crate) at: Option<i64>,
}

/// An event for a subscriber: what it is, and where it stands.
pub(crate) fn placed(event: &str, data: &[u8], place: &EventPlace<'_>) -> Vec<u8> {
    let mut into = head(event);
    into.extend_from_slice(data);
    place_into(place, &mut into);
    into.push(b'}');
    into
}

/// `,"seq":…,"cursor":…,"sessionId":…,"runId":…,"at":…`
pub(crate) fn place_into(place: &EventPlace<'_>, into: &mut Vec<u8>) {
    let EventPlace { session, run, cursor, at } = place;
    into.extend_from_slice(format!(",\"seq\":{},\"cursor\":\"{cursor}\",\"sessionId\":", cursor.seq).as_bytes());
    wire::escape_into(session.as_str(), into);
    if let Some(run) = run {
        into.extend_from_slice(b",\"runId\":");
        wire::escape_into(run.as_str(), into);
    }
    if let Some(at) = at {
        into.extend_from_slice(format!(",\"at\":{at}").as_bytes());
    }
}

/// What a call gave, as far as a frame carries it.
pub(crate) struct ShownResult {
    pub(crate) outcome: ToolOutcome,
    pub(crate) truncated: Option<bool>,
    pub(crate) full_bytes: Option<u64>,
}

/// What a command's result says beside its text. Of tools that have other details nothing is known.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ShellDetails {
    exit_code: Option<i64>,
    signal: Option<serde_json::Value>,
    timed_out: bool,
    truncated: bool,
    total_bytes: u64,
}

impl ShellDetails {
    /// Why it failed, where that is not what it printed.
    fn error(&self) -> Option<String> {
        match (self.timed_out, self.exit_code, &self.signal) {
            (true, ..) => Some("timed out".to_owned()),
            (false, Some(code), _) if code != 0 => Some(format!("exit code {code}")),
            (false, _, Some(signal)) => Some(format!("killed by signal {}", signal.to_string().trim_matches('"'))),
            _ => None,
        }
    }
}

pub(crate) fn shown(result: &vocab::CallResult) -> ShownResult {
    let text = result.text();
    let full = text.len();
    let cut = &text[..text.floor_char_boundary(OUTPUT_BYTES_MAX)];
    let details = result.details.as_ref().and_then(|it| serde_json::from_str::<ShellDetails>(it.as_str()).ok());
    let details = details.unwrap_or_default();
    // A tool that has cut its output itself says how much there was.
    let full = if details.truncated { details.total_bytes.max(full as u64) } else { full as u64 };
    let is_cut = details.truncated || cut.len() < text.len();
    let outcome = match (result.is_error, result.end) {
        (false, _) => ToolOutcome { success: true, output: cut.to_owned(), error: Nullable(None) },
        // It ran: what it printed and what went wrong are one text.
        (true, vocab::CallEnd::Ran) => {
            let error = details.error().unwrap_or_else(|| vocab::visible::headline(&text));
            ToolOutcome { success: false, output: cut.to_owned(), error: Nullable(Some(error)) }
        }
        (true, _) => ToolOutcome { success: false, output: String::new(), error: Nullable(Some(cut.to_owned())) },
    };
    ShownResult { outcome, truncated: is_cut.then_some(true), full_bytes: is_cut.then_some(full) }
}

/// The images of a result or a message.
pub(crate) fn attachments(parts: &[Part]) -> impl Iterator<Item = AttachmentData> {
    parts.iter().filter_map(|part| match part {
        Part::Image(image) => {
            Some(AttachmentData { mime_type: image.mime.clone(), data: image.base64.clone(), filename: None })
        }
        Part::Text(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_failed_or_was_cut_says_so_beside_its_output() {
        let told = |text: &str, details: &str| {
            let result = vocab::CallResult {
                call: "c".into(),
                tool: "bash".into(),
                end: vocab::CallEnd::Ran,
                parts: vec![Part::text(text)],
                is_error: true,
                duration_ms: 1,
                mutation: None,
                edits: Vec::new(),
                details: Some(vocab::Json::trusted(details)),
            };
            let shown = shown(&result);
            (shown.outcome.output, shown.outcome.error.0.unwrap(), shown.truncated.zip(shown.full_bytes))
        };
        let failed = r#"{"exitCode":3,"signal":null,"timedOut":false,"truncated":false,"totalBytes":3}"#;
        let want = ("hi\n[exit code 3]".to_owned(), "exit code 3".to_owned(), None);
        assert_eq!(told("hi\n[exit code 3]", failed), want);
        let cut = r#"{"exitCode":null,"signal":9,"timedOut":false,"truncated":true,"totalBytes":200000}"#;
        assert_eq!(told("hi", cut).1, "killed by signal 9");
        assert_eq!(told("hi", cut).2, Some((true, 200_000)));
        let late = r#"{"exitCode":null,"signal":9,"timedOut":true,"truncated":false,"totalBytes":0}"#;
        assert_eq!(told("hi", late).1, "timed out");
        // Other tools say other things of themselves.
        assert_eq!(told("no such file", r#"{"truncated":"yes"}"#).1, "no such file");
        assert_eq!(told("no such file", "[]").1, "no such file");
    }

    #[test]
    fn what_is_written_by_hand_is_what_its_shape_says() {
        for (state, timestamp) in [(RunStateWord::Start, 0), (RunStateWord::CancelRequested, 1_700_000_000_123)] {
            assert_eq!(run_state(state, timestamp), tail("run_state", &RunStateData { state, timestamp }));
        }
        let (mut words, text) = (Vec::new(), "a \"b\"\n".to_owned());
        content_tail(false, &text, &mut words);
        assert_eq!(words, tail("content", &ContentData { text, transient: None, is_final: None }));
    }
}
