//! A client of the Model Context Protocol: starts servers that bring tools to one session, over stdin and stdout or over HTTP,
//! and offers what they bring as [`vocab::Tool`] under the server's own names (`docs/mcp.md`).
//!
//! It knows no dialect, no engine and no leash: how a process is held is the [`Launcher`]'s affair. A server gets no model and no
//! person from us; what it asks for beyond the workspace's place is refused.

mod content;
mod frames;
mod handshake;
mod link;
mod pipe;
mod server;
mod tool;
mod web;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use process::Launcher;
use tokio::task::JoinSet;
use vocab::{Fault, FaultKind, Later, McpServer, McpServers, McpStarted, SessionId, Tool};

pub use content::{IMAGE_BYTES_MAX, STRUCTURED_BYTES_MAX, TEXT_BYTES_MAX};
pub use frames::{PROTOCOL, UNDERSTOOD};
pub use handshake::{PAGES_MAX, TOOLS_MAX};
pub use tool::{DESCRIPTION_CHARS_MAX, SCHEMA_BYTES_MAX};

use frames::Us;
use server::{ServerSetup, ToolServer};
use tool::ServerTool;

/// From the start of a server until its tools are known, and again where it is started anew.
pub const START_LIMIT: Duration = Duration::from_secs(10);
/// One call, from its beginning to its result; then it is cancelled.
pub const CALL_LIMIT: Duration = Duration::from_secs(600);
/// One message of a server's, a line or an event. A longer one fails what waits for it.
pub const MESSAGE_BYTES_MAX: usize = wire::LINE_BYTES_MAX;
/// Servers of one session; more are not started, and that is told.
pub const SERVERS_MAX: usize = 32;

/// Where a server runs.
#[derive(Clone)]
pub(crate) struct ServerPlace {
    workspace: PathBuf,
    env: Vec<(OsString, OsString)>,
}

pub struct McpOptions {
    /// What a server's environment has besides what is given for it; nothing else is inherited.
    pub env: Vec<(OsString, OsString)>,
    /// Told to servers.
    pub version: String,
    pub launcher: Arc<dyn Launcher>,
    /// The user's own, which every session gets.
    pub own: Vec<McpServer>,
}

/// Starts servers that speak the Model Context Protocol.
pub struct Servers {
    options: McpOptions,
}

impl Servers {
    pub fn new(options: McpOptions) -> Self {
        Self { options }
    }
}

impl McpServers for Servers {
    fn start(&self, _: &SessionId, workspace: &Path, servers: Vec<McpServer>) -> Later<'static, Vec<McpStarted>> {
        let setup = Arc::new(ServerSetup {
            launcher: self.options.launcher.clone(),
            place: ServerPlace { workspace: workspace.to_owned(), env: self.options.env.clone() },
            us: Arc::new(Us::new(workspace)),
            version: self.options.version.clone(),
        });
        Box::pin(start_all(setup, servers))
    }

    fn own(&self) -> Vec<McpServer> {
        self.options.own.clone()
    }
}

async fn start_all(setup: Arc<ServerSetup>, servers: Vec<McpServer>) -> Vec<McpStarted> {
    let names: Vec<Arc<str>> = servers.iter().map(|server| server.name.clone()).collect();
    // Dropped, it ends them all.
    let mut starting = JoinSet::new();
    for (at, server) in servers.into_iter().enumerate().take(SERVERS_MAX) {
        let setup = setup.clone();
        starting.spawn(async move { (at, ToolServer::start(server, setup).await) });
    }
    let mut started: Vec<_> = names.iter().map(|_| None).collect();
    while let Some(one) = starting.join_next().await {
        if let Ok((at, result)) = one {
            started[at] = Some(result);
        }
    }
    let offer = |(server, infos): (Arc<ToolServer>, Vec<frames::ToolInfo>)| {
        let tool = |info| Arc::new(ServerTool::new(info, server.clone())) as Arc<dyn Tool>;
        infos.into_iter().map(tool).collect()
    };
    let all = names.into_iter().zip(started);
    all.map(|(name, result)| McpStarted { name, tools: result.unwrap_or_else(|| Err(too_many())).map(offer) }).collect()
}

fn too_many() -> Fault {
    Fault::new(FaultKind::Invalid, format!("{SERVERS_MAX} servers are the limit"))
}
