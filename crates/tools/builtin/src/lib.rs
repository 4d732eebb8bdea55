//! The agent's own tools, one per file, each a [`vocab::Tool`]. They know the workspace they are bound to and nothing
//! of sessions, models, dialects or who decides about a call: they say what a call needs, and stay within what was
//! granted.

mod agent_files;
mod apply_patch;
mod args;
mod blocking;
mod controller;
mod edit_file;
mod glob;
mod grep;
mod list_dir;
mod output;
pub mod project;
mod read_file;
mod session_edits;
pub mod shell;
mod subagent;
mod sys;
mod text;
mod todo;
mod walk;
pub mod web_fetch;
pub mod web_search;
pub mod workspace;
mod write_file;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use net::Route;
use vocab::{
    Fault, FileDiff, FileEdit, Gadget, Json, Keyring, Later, Progress, SessionId, Shell, Tool, ToolSpec, Toolbox,
};

pub use agent_files::AgentFiles;
pub use output::{Hunks, hunks};
use web_fetch::FetchOptions;
use web_search::SearchOptions;
pub use workspace::Workspace;

/// What the built-in tools need to know about the machine.
#[derive(Clone, Debug)]
pub struct BuiltinOptions {
    /// Output too long for a result goes to `spill_dir/<session>/`, where the session's tools may read it.
    pub spill_dir: PathBuf,
    /// The user's home; see [`workspace::Guard::home`].
    pub home: Option<PathBuf>,
    /// Paths that only full access may write, such as the data and config directories; see [`workspace::Guard`].
    pub protected: Vec<PathBuf>,
    /// Paths that no tool reads or writes: our own keys and conversations; see [`workspace::Guard`].
    pub secret_paths: Vec<PathBuf>,
    /// The binary that becomes the leash of a command; see [`process::leash`].
    pub exe: PathBuf,
    /// See [`shell::ShellOptions`].
    pub keep_env: Vec<String>,
    pub secrets: Keyring,
    /// `None`, or no key for it: the web is not searched, and no model is told that it could be.
    pub search: Option<SearchOptions>,
    /// How the tools of the web get out of this machine.
    pub route: Route,
}

impl BuiltinOptions {
    pub fn new(spill_dir: impl Into<PathBuf>) -> Self {
        Self {
            spill_dir: spill_dir.into(),
            home: std::env::home_dir(),
            protected: Vec::new(),
            secret_paths: Vec::new(),
            exe: PathBuf::from("/proc/self/exe"),
            keep_env: Vec::new(),
            secrets: Keyring::default(),
            search: None,
            route: Route::default(),
        }
    }
}

/// The built-in tools.
pub struct Builtin {
    options: BuiltinOptions,
    /// The shells of the sessions whose tools are open; those that ended are forgotten when the next one opens.
    shells: Mutex<HashMap<SessionId, Weak<shell::SessionShell>>>,
}

impl Builtin {
    pub fn new(options: BuiltinOptions) -> Self {
        Self { options, shells: Mutex::default() }
    }

    fn shells(&self) -> MutexGuard<'_, HashMap<SessionId, Weak<shell::SessionShell>>> {
        self.shells.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn workspace(&self, session: &SessionId, path: &Path) -> Result<Arc<Workspace>, Fault> {
        let guard = workspace::Guard {
            home: self.options.home.clone(),
            protected: self.options.protected.clone(),
            secret: self.options.secret_paths.clone(),
            spill_dir: Some(self.spill_dir(session)),
        };
        Workspace::open(path, guard).map(Arc::new)
    }

    fn new_shell(&self, session: &SessionId, workspace: &Arc<Workspace>) -> Arc<shell::SessionShell> {
        let options = shell::ShellOptions {
            keep_env: self.options.keep_env.clone(),
            secrets: self.options.secrets.clone(),
            ..shell::ShellOptions::new(&self.options.exe, workspace.path(), self.spill_dir(session))
        };
        shell::SessionShell::new(options, Arc::clone(workspace))
    }

    /// Where one session spills. The id is ours or a peer's, so it must not be able to name another directory.
    fn spill_dir(&self, session: &SessionId) -> PathBuf {
        let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' };
        self.options.spill_dir.join(session.as_str().chars().map(safe).collect::<String>())
    }
}

impl Toolbox for Builtin {
    fn open(&self, session: &SessionId, workspace: &Path) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        let workspace = self.workspace(session, workspace)?;
        let shell = self.new_shell(session, &workspace);
        let mut tools: Vec<Arc<dyn Tool>> = vec![
            Arc::new(read_file::ReadFile::new(workspace.clone())),
            Arc::new(write_file::WriteFile::new(workspace.clone())),
            Arc::new(edit_file::EditFile::new(workspace.clone())),
            Arc::new(apply_patch::ApplyPatch::new(workspace.clone())),
            Arc::new(glob::Glob::new(workspace.clone())),
            Arc::new(grep::Grep::new(workspace.clone())),
            Arc::new(list_dir::ListDir::new(workspace)),
            Arc::new(todo::Todo::new()),
        ];
        tools.extend(shell::tools_of(&shell));
        let route = self.options.route.clone();
        tools.push(web_fetch::tool(FetchOptions { route: route.clone(), ..FetchOptions::default() }));
        let search = self.options.search.as_ref().filter(|search| search.key.is_there());
        tools.extend(search.cloned().map(|search| web_search::tool(SearchOptions { route, ..search })));
        tools.push(Arc::new(subagent::Subagent::new()));
        let mut shells = self.shells();
        shells.retain(|_, shell| shell.strong_count() > 0);
        shells.insert(session.clone(), Arc::downgrade(&shell));
        drop(shells);
        Ok(tools)
    }

    fn gadgets(&self) -> Vec<Gadget> {
        let description = match self.options.search {
            Some(_) => "Search the web and fetch pages from it.".into(),
            None => "Fetch pages from the web.".into(),
        };
        vec![Gadget { name: web_fetch::GADGET.into(), description, prompt: None }]
    }

    fn restore(&self, workspace: &Path, edits: &[FileEdit]) -> Vec<Arc<str>> {
        // For a look at the place alone: nothing is spilled.
        let workspace = self.workspace(&SessionId::from("no-session"), workspace);
        workspace.map(|workspace| session_edits::restore(&workspace, edits)).unwrap_or_default()
    }

    fn shell(
        &self,
        session: &SessionId,
        workspace: &Path,
        command: &str,
        told: Progress,
        stop: Later<'static, ()>,
    ) -> Later<'static, Shell> {
        let shell = self.shells().get(session).and_then(Weak::upgrade);
        // Without open tools nobody could see what the command leaves running: it ends with it.
        let new = || self.workspace(session, workspace).map(|workspace| self.new_shell(session, &workspace));
        match shell.map_or_else(new, Ok) {
            Ok(shell) => {
                Box::pin(shell::user_command::run(shell, workspace.to_owned(), command.to_owned(), told, stop))
            }
            Err(fault) => Box::pin(std::future::ready(shell::user_command::cannot_start(command, &fault.message))),
        }
    }

    fn diff(&self, edits: &[FileEdit]) -> Vec<FileDiff> {
        session_edits::diff(edits)
    }
}

/// A tool's description for the model; `schema` is a JSON object in text form.
pub(crate) fn spec(name: &str, description: &str, schema: &str) -> ToolSpec {
    ToolSpec { name: name.into(), description: description.into(), schema: Json::trusted(schema) }
}
