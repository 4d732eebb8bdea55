//! Extensions: programs of the user's, in any language, that stand beside every session. This crate starts them, speaks
//! JSON-RPC 2.0 with them (one JSON object per line on their stdin and stdout, `docs/extensions.md`) and ends them.
//!
//! It knows no dialect and decides nothing: what an extension may do and how long it may think is the engine's affair
//! (`engine::Extension`). Where an extension crashes, hangs or babbles, it is stopped and the engine is told; nothing
//! else happens. A stopped one is not started again.

mod connection;
mod frames;
mod program;
mod schema;
mod skills_extension;
mod task;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::Engine;
use process::Launcher;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use vocab::Keyring;

pub use schema::schema;
pub use skills_extension::{SkillsExtension, start_skills};

/// Version of the protocol, as told in `initialize`.
pub const PROTOCOL: u32 = 1;
/// How long an extension may take from its start until it is registered; then it is stopped.
pub const START_LIMIT: Duration = Duration::from_secs(5);
/// Extensions of one process; more are not started, and that is told.
pub const EXTENSIONS_MAX: usize = 32;

/// What is started, and where.
pub struct ExtensionOptions {
    pub programs: Vec<PathBuf>,
    /// The working directory of every extension.
    pub workspace: PathBuf,
    /// The whole environment they get; nothing else is inherited.
    pub env: Vec<(OsString, OsString)>,
    /// Masked in what they print.
    pub secrets: Keyring,
    pub version: String,
    pub launcher: Arc<dyn Launcher>,
}

/// The running extensions. Dropped, they are ended without ceremony.
pub struct Extensions {
    ready: oneshot::Receiver<()>,
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

/// Starts all of them side by side. They are registered in the order of the list, whichever is ready first.
pub fn start(engine: &Engine, options: ExtensionOptions) -> Extensions {
    let (stop, stopped) = watch::channel(false);
    let (first, mut before) = oneshot::channel();
    let _ = first.send(());
    let mut tasks = Vec::new();
    for (at, path) in options.programs.iter().enumerate() {
        if at >= EXTENSIONS_MAX {
            let text = format!("not started: {EXTENSIONS_MAX} extensions are the limit");
            engine.trouble(path.display().to_string(), "start", text);
            continue;
        }
        let (done, after) = oneshot::channel();
        let start = task::TaskStart {
            path: path.clone(),
            workspace: options.workspace.clone(),
            env: options.env.clone(),
            secrets: options.secrets.clone(),
            version: options.version.clone(),
            launcher: options.launcher.clone(),
            before: std::mem::replace(&mut before, after),
            done,
            stopped: stopped.clone(),
        };
        tasks.push(tokio::spawn(task::run(engine.clone(), start)));
    }
    Extensions { ready: before, stop, tasks }
}

impl Extensions {
    /// Returns when every extension is registered or has failed, at the latest after [`START_LIMIT`].
    pub async fn ready(&mut self) {
        let _ = tokio::time::timeout(START_LIMIT, &mut self.ready).await;
    }

    /// Asks all of them to end, and makes them.
    pub async fn shutdown(self) {
        let _ = self.stop.send(true);
        for task in self.tasks {
            let _ = task.await;
        }
    }
}
