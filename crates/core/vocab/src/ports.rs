//! The traits behind which all I/O lives. They sit here so that an engine edit leaves their implementers compiled.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;

use crate::{
    Body, CallId, Editor, Entry, Fact, Fault, FaultKind, FileEdit, Finish, Json, Message, Mode, NoteEntry, Part,
    Prices, Required, SessionId, Shell, Subagents, TodoPhase, Usage,
};

pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

// ---- models ---------------------------------------------------------------------------------------------------

#[derive(Clone, PartialEq, Debug)]
pub struct ModelInfo {
    /// What a user types and a peer is shown. `PROVIDER/ID` where there is more than one provider.
    pub slug: Arc<str>,
    /// Whose model it is: the name of a configured server, `openai`, `tour`.
    pub provider: Arc<str>,
    /// The provider's own name for it.
    pub id: Arc<str>,
    /// For people.
    pub name: Arc<str>,
    /// The wire format, as `openai-completions`.
    pub api: Arc<str>,
    pub base_url: Arc<str>,
    pub context_window: u64,
    /// The provider's own limit for one answer, when known.
    pub max_output: Option<u64>,
    pub prices: Option<Prices>,
    pub images: bool,
    pub thinking: bool,
    /// Thinking levels it is known to take, weakest first, and `off` where it can be switched off; `None` = nothing is
    /// known. See [`crate::thinking`].
    pub levels: Option<Arc<[Arc<str>]>>,
    /// Slugs to ask instead, in order, when this one cannot answer.
    pub fallbacks: Arc<[Arc<str>]>,
}

impl ModelInfo {
    /// A model of which only the name and the window are known. It is not taken to lack anything: its server knows
    /// better and says so.
    pub fn named(slug: impl Into<Arc<str>>, context_window: u64) -> Self {
        let slug = slug.into();
        Self {
            provider: "".into(),
            id: slug.clone(),
            name: slug.clone(),
            api: "".into(),
            base_url: "".into(),
            slug,
            context_window,
            max_output: None,
            prices: None,
            images: true,
            thinking: true,
            levels: None,
            fallbacks: Arc::from([]),
        }
    }
}

/// A source of models. Implementations may be composed; the engine holds one.
pub trait Provider: Send + Sync {
    /// What this slug means. Does not touch the network; unknown slugs name what exists.
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault>;
    /// Everything that can be offered; may ask the server.
    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>>;
    /// A conversation with one model. Encodes each message once and keeps the bytes.
    fn chat(&self, model: &ModelInfo) -> Result<Box<dyn Chat>, Fault>;
}

/// A conversation in the provider's own format. The engine pushes each message once; a call adds nothing but the
/// frame around them, so its cost does not grow with history beyond the bytes sent.
pub trait Chat: Send {
    fn push(&mut self, message: &Message);
    /// Forget all messages (compaction, undo); the engine pushes the new ones.
    fn clear(&mut self);
    /// Encoded size of the messages alone, for estimates.
    fn bytes(&self) -> usize;
    /// Dropping the stream closes the connection.
    fn call(&mut self, spec: &CallSpec) -> ModelStream;
    /// Whether it is this client's to say how long a model may be silent, for ever perhaps. Of any other one a call that
    /// says nothing is given up after a while.
    fn keeps_time(&self) -> bool {
        false
    }
}

/// Everything about a model call except its messages.
#[derive(Clone, PartialEq, Debug)]
pub struct CallSpec {
    pub system: Arc<str>,
    pub tools: Arc<[ToolSpec]>,
    pub max_tokens: u64,
    pub thinking: Option<Arc<str>>,
}

pub type ModelStream = Pin<Box<dyn Stream<Item = ModelEvent> + Send>>;

/// What a model call yields. Exactly one of `Finished` and `Failed` comes last.
#[derive(Clone, PartialEq, Debug)]
pub enum ModelEvent {
    /// The request is on its way. Comes first, and again where another one was sent instead.
    Sent {
        sent: Arc<Sent>,
        /// Size of the whole body.
        bytes: u64,
    },
    Text(String),
    Thinking(String),
    /// The provider's signature of the thinking or the call that came last; behind anything else it stands alone.
    Seal(String),
    /// Thinking that came sealed, without words.
    Redacted(String),
    /// A call begins or continues; `index` tells parallel calls apart. `id` and `name` come once, with the start.
    Call {
        index: u32,
        id: Option<String>,
        name: Option<String>,
        input: String,
    },
    Usage(Usage),
    Finished(Finish),
    Failed(ModelFault),
}

/// A request to a model, as far as the log has it not already: without secrets and without the messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sent {
    /// The wire format, as in [`ModelInfo::api`].
    pub api: Arc<str>,
    pub url: Arc<str>,
    /// Beyond those that every request has and those that prove who we are.
    pub headers: Vec<(Arc<str>, Arc<str>)>,
    /// How messages are written, for whoever writes them again; the provider's own words.
    pub manner: Arc<str>,
    /// The body before the messages, and behind them.
    pub head: Arc<str>,
    pub tail: Arc<str>,
}

/// A failed model call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelFault {
    pub fault: Fault,
    /// Trying again may help.
    pub retryable: bool,
    /// What the server asked us to wait.
    pub retry_after_ms: Option<u64>,
    pub status: Option<u16>,
}

impl ModelFault {
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        let retryable =
            matches!(kind, FaultKind::RateLimited | FaultKind::Provider | FaultKind::Network | FaultKind::StreamCut);
        Self { fault: Fault::new(kind, message), retryable, retry_after_ms: None, status: None }
    }
}

// ---- tools ----------------------------------------------------------------------------------------------------

#[derive(Clone, PartialEq, Debug)]
pub struct ToolSpec {
    pub name: Arc<str>,
    pub description: Arc<str>,
    /// JSON Schema of the arguments.
    pub schema: Json,
}

/// Opens the tools of a session.
pub trait Toolbox: Send + Sync {
    /// The tools, bound to this session and workspace. Dropping the last of them ends what they left running.
    fn open(&self, session: &SessionId, workspace: &Path) -> Result<Vec<Arc<dyn Tool>>, Fault>;
    /// Switchable bundles of tools.
    fn gadgets(&self) -> Vec<Gadget> {
        Vec::new()
    }
    /// Puts files back to what they were before these edits (given oldest first); returns the paths restored. A file
    /// that somebody changed since is left alone.
    fn restore(&self, workspace: &Path, edits: &[FileEdit]) -> Vec<Arc<str>>;
    /// Runs a command of the user's own in the workspace; no permission is asked and no time is set. Once `stop` is
    /// ready it is ended, and comes out as cancelled with the output so far. Dropping the future ends it too.
    fn shell(
        &self,
        session: &SessionId,
        workspace: &Path,
        command: &str,
        told: Progress,
        stop: Later<'static, ()>,
    ) -> Later<'static, Shell>;
    /// What these edits (oldest first) changed in all, one entry per file that differs.
    fn diff(&self, edits: &[FileEdit]) -> Vec<FileDiff>;
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileDiff {
    pub path: Arc<str>,
    pub added: u64,
    pub removed: u64,
    /// Unified.
    pub patch: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gadget {
    pub name: Arc<str>,
    pub description: Arc<str>,
    /// Added to the system prompt while the gadget is on.
    pub prompt: Option<Arc<str>>,
}

pub trait Tool: Send + Sync {
    /// Canonical name, description for the model, schema.
    fn spec(&self) -> &ToolSpec;
    /// The gadget this tool belongs to.
    fn gadget(&self) -> Option<&str> {
        None
    }
    /// Whether it has children do its work. It is not offered to them.
    fn has_subagents(&self) -> bool {
        false
    }
    /// The least this tool ever needs; shown in tool lists. [`Tool::plan`] judges a call.
    fn required(&self) -> Required;
    /// The most a call of it can need, as far as it is known beforehand; shown beside the least.
    fn most(&self) -> Required {
        self.required()
    }
    /// Checks the arguments and says what the call would need and do, without doing it. The error is written for
    /// the model that reads it.
    fn plan(&self, input: &Json) -> Result<Plan, String>;
    /// Does it. Dropping the future cancels it: no process and no thread keeps working for it.
    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome>;
}

#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    pub required: Required,
    /// What would be changed: a path relative to the workspace, a command. `None` for reading.
    pub mutation: Option<Arc<str>>,
    /// One line for a person.
    pub summary: Arc<str>,
    /// All that a person has to see before they allow it; `None` where that is the whole input.
    pub preview: Option<Arc<[Fact]>>,
}

#[derive(Clone)]
pub struct CallContext {
    pub session: SessionId,
    pub call: CallId,
    /// What was decided. Below `DangerFullAccess` a tool stays inside the workspace whatever its arguments say.
    pub granted: Required,
    pub progress: Progress,
    /// The session's list of tasks as it is now.
    pub todos: Arc<[TodoPhase]>,
    /// A controller that does things for tools, where there is one.
    pub editor_requests: Option<Arc<dyn Editor>>,
    /// Sessions that work for this call; `None` where this session is one itself.
    pub children: Option<Arc<dyn Subagents>>,
}

/// Tells the output so far of a running call. Cheap to call often: only the newest text is kept.
pub type Progress = Arc<dyn Fn(&str) + Send + Sync>;

#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    pub parts: Vec<Part>,
    pub is_error: bool,
    pub edits: Vec<FileEdit>,
    pub details: Option<Json>,
    /// The session's list of tasks from now on.
    pub todos: Option<Vec<TodoPhase>>,
}

impl Outcome {
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self { parts: vec![Part::Text(text.into())], is_error: false, edits: Vec::new(), details: None, todos: None }
    }
    pub fn error(text: impl Into<Arc<str>>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }
}

// ---- store ----------------------------------------------------------------------------------------------------

/// Sessions on disk. One writer per session: a lease with an epoch, checked by every append in the same
/// transaction that writes.
pub trait Store: Send + Sync {
    /// Fails fast, and without side effects beyond creating the directory, when nothing could be written.
    fn probe(&self) -> Result<(), Fault>;
    /// A lease on a session that does not exist yet. Touches no disk: the session appears with its first append.
    fn create(&self, new: NewSession) -> Lease;
    /// Takes over an existing session; `SessionBusy` while its owner lives. A damaged end of its log is cut off first.
    fn acquire(&self, session: &SessionId) -> Later<'static, Result<Acquired, Fault>>;
    fn release(&self, lease: Lease) -> Later<'static, Result<(), Fault>>;
    /// Appends in order, all or nothing. The order of calls is the order on disk, whether or not the futures are
    /// polled. `synced` resolves only when the bytes are on the disk; otherwise they are safe from our own death.
    /// After a failure nothing of the batch is there and the same entries may be offered again.
    fn append(&self, lease: &Lease, entries: Vec<Arc<Entry>>, synced: bool) -> Later<'static, Result<(), Fault>>;
    /// Entries with `seq > after`, oldest first. Changes nothing: what is damaged is left out or stood in for, and named
    /// in `recovered`.
    fn read(&self, session: &SessionId, after: u64, limit: usize) -> Later<'static, Result<Page, Fault>>;
    fn summary(&self, session: &SessionId) -> Later<'static, Result<Option<Summary>, Fault>>;
    /// Newest first, without reading any log.
    fn list(&self, query: Query) -> Later<'static, Result<Vec<Summary>, Fault>>;
    /// How many a list without limit and offset would have.
    fn count(&self, query: Query) -> Later<'static, Result<u64, Fault>>;
    /// Together with its children; refused while one of them is open somewhere.
    fn delete(&self, session: &SessionId) -> Later<'static, Result<bool, Fault>>;
    /// Where it all is, for people.
    fn place(&self) -> PathBuf;
    /// The file that follows this session's log, where there is one. It may not exist yet.
    fn file(&self, _session: &SessionId) -> Option<PathBuf> {
        None
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct NewSession {
    pub id: SessionId,
    pub workspace: PathBuf,
    pub model: Arc<str>,
    pub mode: Mode,
    pub at_ms: i64,
    /// What it is said to come from; only a session's own file tells it on.
    pub parent: Option<Arc<str>>,
}

/// The right to append to one session. Older epochs are refused.
#[derive(Clone, Debug)]
pub struct Lease {
    pub session: SessionId,
    pub epoch: u64,
    /// Set until the first append has made the session.
    pub new: Option<Arc<NewSession>>,
}

/// A session that was taken over, as it is under the lease: what was read before somebody had it may be old.
#[derive(Clone, Debug)]
pub struct Acquired {
    pub lease: Lease,
    pub summary: Summary,
    /// What had to be repaired. Said here and nowhere else, so its new owner writes it into the log.
    pub recovered: Option<String>,
}

impl Acquired {
    /// The entry that says what was repaired; the first one under this lease.
    pub fn notice(&self, at_ms: i64) -> Option<Arc<Entry>> {
        let body = Body::Note(NoteEntry::Recovered { text: self.recovered.as_deref()?.into() });
        let last = self.summary.last_seq;
        Some(Arc::new(Entry { seq: last + 1, parent: last, at_ms, body }))
    }
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Page {
    pub entries: Vec<Arc<Entry>>,
    /// What is damaged in this part of the log.
    pub recovered: Option<String>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Summary {
    pub id: SessionId,
    pub workspace: PathBuf,
    pub model: Arc<str>,
    pub mode: Mode,
    pub title: Option<Arc<str>>,
    pub thinking: Option<Arc<str>>,
    /// Start of the first prompt.
    pub preview: Option<Arc<str>>,
    pub created_ms: i64,
    pub updated_ms: i64,
    /// User and assistant messages.
    pub messages: u64,
    pub turns: u64,
    pub last_seq: u64,
    pub usage: Usage,
    /// The session whose call it worked for.
    pub child_of: Option<SessionId>,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Query {
    pub workspace: Option<PathBuf>,
    /// Only ids that start or end with this.
    pub id_part: Option<String>,
    pub non_empty: bool,
    /// Also those that work or worked for a call of another session.
    pub children: bool,
    pub limit: Option<usize>,
    pub offset: usize,
}

// ---- files around a session -----------------------------------------------------------------------------------

/// Sessions as files that people and other programs read.
pub trait Archive: Send + Sync {
    /// Writes the session to `file` (`.html`, `.md` or `.jsonl`), or to a place of its own.
    fn export(&self, session: &SessionId, file: Option<&Path>) -> Later<'static, Result<Exported, Fault>>;
    /// Reads an exported file back and returns the id of the session it became (or already is).
    fn import(&self, file: &Path) -> Later<'static, Result<SessionId, Fault>>;
    /// How a session's own place is written down for people; [`Archive::import`] understands it.
    fn path_of(&self, session: &SessionId) -> PathBuf;
}

/// What a file from elsewhere may decide about a session; everything else in it is only text. Archives ask before a
/// file's word enters the log, so whatever the log says can be believed later.
pub trait Border: Send + Sync {
    /// Whether a session may go on with a model that a file names; otherwise why not.
    fn model(&self, slug: &str) -> Result<(), String>;
    /// The same, and people are told where not.
    fn admits(&self, file: &Path, slug: &str) -> bool {
        let judged = self.model(slug);
        if let Err(why) = &judged {
            let place = file.display();
            self.note(&format!("{place}: the model `{slug}` is not taken from a session file: {why}"));
        }
        judged.is_ok()
    }
    /// Where a session works whose file names this directory, links resolved. Fails where it lies outside of ours.
    fn workspace(&self, named: &Path) -> Result<PathBuf, Fault>;
    /// The model of a session whose file names none that is taken.
    fn own_model(&self) -> Arc<str>;
    /// The directory that we were started in, for a file that names none or another one.
    fn here(&self) -> &Path;
    /// Tells people what was not taken over. Must not block.
    fn note(&self, text: &str);
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exported {
    pub path: PathBuf,
    pub format: &'static str,
    pub bytes: u64,
}

/// What a user wants to be the default from now on.
pub trait Preferences: Send + Sync {
    /// Writes one setting (`model`, `mode`) to the user's configuration; returns the file.
    fn save(&self, key: &str, value: &str) -> Result<PathBuf, Fault>;
}
