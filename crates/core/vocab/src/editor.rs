//! What a controller can do for the tools of its session: show and take text of files that it has open, run commands in a
//! terminal of its own. And programs beside a session that bring tools of their own.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{Fault, FaultKind, Later, Secret, SessionId, Tool};

/// What a peer offers to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EditorOffer {
    pub read_text: bool,
    pub write_text: bool,
    pub terminal: bool,
}

/// Something that a peer is asked to do for a running call. Not in the log: it lives as long as its call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EditorRequest {
    /// Answered once with the same number, or withdrawn.
    pub id: u64,
    /// The call that it is for.
    pub call: crate::CallId,
    pub kind: EditorRequestKind,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EditorRequestKind {
    ReadText {
        path: PathBuf,
    },
    WriteText {
        path: PathBuf,
        content: Arc<str>,
    },
    /// A program in a terminal, to its end.
    Run {
        program: PathBuf,
        args: Vec<Arc<str>>,
        cwd: PathBuf,
        /// Variables on top of the controller's own. No secret is among them.
        env: Vec<(Arc<str>, Arc<str>)>,
        /// More output than this is cut off at its beginning.
        output_bytes_max: u64,
    },
}

/// What came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EditorReply {
    Text(Arc<str>),
    Written,
    Ran {
        output: Arc<str>,
        truncated: bool,
        exit_code: Option<i32>,
        signal: Option<Arc<str>>,
    },
    /// There is no such file.
    NotFound,
    Failed(Arc<str>),
}

/// The way from a tool to the controller that offers services. Dropping a future withdraws its editor_request.
pub trait Editor: Send + Sync {
    fn offered(&self) -> EditorOffer;
    fn run(&self, kind: EditorRequestKind) -> Later<'static, EditorReply>;
}

// ---- files for somebody else's agent ----------------------------------------------------------------------------

/// Text files of one directory, for an agent that is not ours. Who implements it keeps the rules of the workspace; nobody
/// is asked, so what would need a question is refused.
pub trait TextFiles: Send + Sync {
    /// A regular file, for reading.
    fn open(&self, path: &Path) -> Result<Box<dyn Read + Send>, FileRefused>;
    /// Creates or replaces a file, with its directories.
    fn write(&self, path: &Path, content: &str) -> Result<(), FileRefused>;
}

/// Why a file was not read or written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileRefused {
    NotFound,
    /// The path leads out of the directory.
    Outside,
    /// A sentence that names the path.
    Failed(String),
}

// ---- servers of tools -------------------------------------------------------------------------------------------

/// A server that brings tools to one session (MCP).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct McpServer {
    pub name: Arc<str>,
    pub way: McpTransport,
    /// Whether its word counts that a tool only reads. The user says so; a server, and whoever brings one, cannot.
    pub trust_hints: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum McpTransport {
    Process { command: Arc<str>, args: Vec<Arc<str>>, env: Vec<(Arc<str>, Secret)> },
    Http { url: Arc<str>, headers: Vec<(Arc<str>, Secret)> },
}

/// One server that was asked to start.
pub struct McpStarted {
    pub name: Arc<str>,
    /// Its tools, or why there are none. Dropping the last of them ends the server.
    pub tools: Result<Vec<Arc<dyn Tool>>, Fault>,
}

/// Starts servers of tools.
pub trait McpServers: Send + Sync {
    /// Starts them side by side; each has its own time limit, and one that fails costs the others nothing. Dropping the
    /// future ends those that were started.
    fn start(&self, session: &SessionId, workspace: &Path, servers: Vec<McpServer>) -> Later<'static, Vec<McpStarted>>;
    /// The user's own, which every session gets.
    fn own(&self) -> Vec<McpServer> {
        Vec::new()
    }
}

/// Starts none, and says so.
pub struct NoMcp;

impl McpServers for NoMcp {
    fn start(&self, _: &SessionId, _: &Path, servers: Vec<McpServer>) -> Later<'static, Vec<McpStarted>> {
        let refuse = |server: McpServer| {
            let fault = Fault::new(FaultKind::Unsupported, "servers of tools are not started here");
            McpStarted { name: server.name, tools: Err(fault) }
        };
        Box::pin(async move { servers.into_iter().map(refuse).collect() })
    }
}
