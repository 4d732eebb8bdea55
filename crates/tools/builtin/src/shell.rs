//! The shell tools: `bash`; for what it leaves running `bash_list` and `bash_read`, which only look, and `bash_write`,
//! `bash_resize`, `bash_stop`, which act; and commands of the user's own, which the model neither asked for nor waits for.
//!
//! Each command runs on a [leash](process::leash). All tools of one session share one [`SessionShell`]; when the last of them
//! is dropped, everything that still runs ends. Who may run what is decided elsewhere: [`classify`] and [`disk_check`] only say
//! whether a command line reads and nothing else, and `run` refuses to do more than was granted.

mod args;
mod background;
mod background_state;
mod background_tools;
mod bash;
mod bash_list;
mod bash_read;
mod bash_resize;
mod bash_stop;
mod bash_write;
mod capture;
mod classify;
mod disk_check;
mod editor_terminal;
mod foreground;
pub(crate) mod git_safety;
mod terminal_keys;
pub(crate) mod user_command;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use process::EnvironmentRules;
use process::leash::{Control, LeashError, LeashRequest, OnLeash, PIDS_MAX, Spare};
use vocab::{Fault, Keyring, Tool};

use background::BackgroundRegistry;

use crate::workspace::{Guard, Workspace};

/// What the shell tools of one session need to know.
#[derive(Clone, Debug)]
pub struct ShellOptions {
    /// The binary that becomes the leash when called with [`process::leash::ARG`]. On Linux `/proc/self/exe` stays
    /// right even when the file is replaced under us.
    pub exe: PathBuf,
    /// Where commands start, and the border of what read-only commands may name.
    pub workspace: PathBuf,
    /// Where output too long for the model goes; made (0700) when first needed. Emptying it is the owner's business.
    pub spill_dir: PathBuf,
    /// Names of variables that are passed on although they look like secrets (`SSH_AUTH_SOCK`).
    pub keep_env: Vec<String>,
    /// Values that never reach a command's environment, whatever the variable is called.
    pub secrets: Keyring,
    /// Processes per command; [`PIDS_MAX`] unless told otherwise.
    pub pids_max: u32,
}

impl ShellOptions {
    pub fn new(exe: impl Into<PathBuf>, workspace: impl Into<PathBuf>, spill_dir: impl Into<PathBuf>) -> Self {
        Self {
            exe: exe.into(),
            workspace: workspace.into(),
            spill_dir: spill_dir.into(),
            keep_env: Vec::new(),
            secrets: Keyring::default(),
            pids_max: PIDS_MAX,
        }
    }

    fn environment_rules(&self) -> EnvironmentRules<'_> {
        EnvironmentRules { keep: &self.keep_env, secrets: &self.secrets, workspace: &self.workspace }
    }
}

/// What the tools of one session and its user's own commands share.
pub(crate) struct SessionShell {
    options: ShellOptions,
    /// Where commands run and what those that only read may name.
    workspace: Arc<Workspace>,
    background: Mutex<BackgroundRegistry>,
    /// The leash of the last command, when that left nothing on it: the next one need not wait for a process to start.
    spare: Mutex<Option<Spare>>,
}

impl SessionShell {
    pub(crate) fn new(options: ShellOptions, workspace: Arc<Workspace>) -> Arc<Self> {
        Arc::new(Self { options, workspace, background: Mutex::default(), spare: Mutex::default() })
    }

    fn background(&self) -> std::sync::MutexGuard<'_, BackgroundRegistry> {
        self.background.lock().expect("no code panics while it holds the registry")
    }

    /// Starts a command, on the leash in waiting if there is one.
    async fn hold(&self, request: &LeashRequest, input: bool) -> Result<OnLeash, LeashError> {
        let waiting = self.spare.lock().expect("no code panics while it holds the spare").take();
        let ready = match waiting {
            // Somebody may have killed it while it waited; a fresh one is as good.
            Some(spare) => spare.hold(request, input).await.ok(),
            None => None,
        };
        match ready {
            Some(held) => Ok(held),
            None => Spare::start(&self.options.exe)?.hold(request, input).await,
        }
    }

    /// Keeps a leash that has nothing on it for the next command.
    async fn keep(&self, control: Control) {
        let spare = control.into_spare().await;
        *self.spare.lock().expect("no code panics while it holds the spare") = spare;
    }
}

/// The shell tools of one session, in a workspace of their own.
pub fn tools(options: ShellOptions) -> Result<Vec<Arc<dyn Tool>>, Fault> {
    let guard = Guard { spill_dir: Some(options.spill_dir.clone()), ..Guard::default() };
    let workspace = Workspace::open(&options.workspace, guard)?;
    Ok(tools_of(&SessionShell::new(options, Arc::new(workspace))))
}

/// Tools that share this shell, and keep what they left running alive.
pub(crate) fn tools_of(shell: &Arc<SessionShell>) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(bash::Bash::new(Arc::clone(shell))),
        Arc::new(bash_list::BashList::new(Arc::clone(shell))),
        Arc::new(bash_read::BashRead::new(Arc::clone(shell))),
        Arc::new(bash_write::BashWrite::new(Arc::clone(shell))),
        Arc::new(bash_resize::BashResize::new(Arc::clone(shell))),
        Arc::new(bash_stop::BashStop::new(Arc::clone(shell))),
    ]
}
