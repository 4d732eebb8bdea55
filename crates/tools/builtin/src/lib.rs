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
mod weak_map;
pub mod web_fetch;
pub mod web_search;
pub mod workspace;
mod write_file;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use net::Route;
use vocab::{
    Fault, FileDiff, FileEdit, Gadget, Json, Keyring, Later, Progress, SessionId, Shell, Tool, ToolSpec, Toolbox,
};

pub use agent_files::AgentFiles;
pub use output::{Hunks, hunks};
use weak_map::WeakMap;
use web_fetch::FetchOptions;
use web_search::SearchOptions;
pub use workspace::Workspace;
use workspace::WorkspaceHandle;

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
    /// The shells of the sessions whose tools are open.
    shells: WeakMap<SessionId, shell::SessionShell>,
    /// The directories that sessions work in, by the path that was asked for: one handle for all of them.
    workspaces: WeakMap<PathBuf, WorkspaceHandle>,
    /// Tools that know neither a session nor a directory.
    shared: SharedTools,
}

struct SharedTools {
    todo: Arc<dyn Tool>,
    subagent: Arc<dyn Tool>,
    web_fetch: Arc<dyn Tool>,
    web_search: Option<Arc<dyn Tool>>,
}

impl Builtin {
    pub fn new(options: BuiltinOptions) -> Self {
        let route = &options.route;
        let search = |search: SearchOptions| web_search::tool(SearchOptions { route: route.clone(), ..search });
        let shared = SharedTools {
            todo: Arc::new(todo::Todo::new()),
            subagent: Arc::new(subagent::Subagent::new()),
            web_fetch: web_fetch::tool(FetchOptions { route: route.clone(), ..FetchOptions::default() }),
            web_search: options.search.clone().map(search),
        };
        Self { shared, options, shells: WeakMap::default(), workspaces: WeakMap::default() }
    }

    fn workspace(&self, session: &SessionId, path: &Path) -> Result<Arc<Workspace>, Fault> {
        let handle = match self.workspaces.get(path).filter(|handle| handle.is_at(path)) {
            Some(handle) => handle,
            None => {
                let guard = workspace::Guard {
                    home: self.options.home.clone(),
                    protected: self.options.protected.clone(),
                    secret: self.options.secret_paths.clone(),
                    spill_dir: None,
                };
                let handle = Arc::new(WorkspaceHandle::open(path, guard)?);
                self.workspaces.insert(path.to_owned(), &handle);
                handle
            }
        };
        Ok(Arc::new(Workspace::on(handle, Some(self.spill_dir(session)))))
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
        self.options.spill_dir.join(session.file_stem())
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
            self.shared.todo.clone(),
        ];
        tools.extend(shell::tools_of(&shell));
        tools.push(self.shared.web_fetch.clone());
        let can_search = self.options.search.as_ref().is_some_and(|search| search.key.is_there());
        tools.extend(self.shared.web_search.clone().filter(|_| can_search));
        tools.push(self.shared.subagent.clone());
        self.shells.insert(session.clone(), &shell);
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
        let shell = self.shells.get(session);
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

/// The texts of tools, made once for all sessions of the process.
static SPECS: Mutex<BTreeMap<&'static str, ToolSpec>> = Mutex::new(BTreeMap::new());

/// A tool's description for the model; `schema` is a JSON object in text form.
pub(crate) fn spec(name: &'static str, description: &'static str, schema: &'static str) -> ToolSpec {
    let make = || ToolSpec { name: name.into(), description: description.into(), schema: Json::trusted(schema) };
    SPECS.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_insert_with(make).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_sessions_of_a_directory_have_one_handle_for_as_long_as_it_stands_there() {
        let temp = tempfile::tempdir().unwrap();
        let (here, other) = (temp.path().join("here"), temp.path().join("other"));
        for dir in [&here, &other] {
            std::fs::create_dir(dir).unwrap();
        }
        let builtin = Builtin::new(BuiltinOptions::new(temp.path().join("spill")));
        let open = |session: &str, dir: &Path| builtin.workspace(&session.into(), dir).unwrap();
        let (first, second, third) = (open("a", &here), open("b", &here), open("c", &other));
        assert!(first.shares_handle(&second) && !first.shares_handle(&third));
        assert_ne!(format!("{first:?}"), format!("{second:?}"), "each spills to its own directory");

        std::fs::remove_dir(&here).unwrap();
        assert!(builtin.workspace(&"d".into(), &here).is_err(), "it is gone");
        std::fs::create_dir(&here).unwrap();
        std::fs::write(here.join("new"), "new").unwrap();
        let later = open("e", &here);
        assert!(!later.shares_handle(&first), "another directory stands there now");
        assert!(later.spot("new", workspace::Access::Read, vocab::Required::ReadOnly).is_ok());
        assert!(open("f", &here).shares_handle(&later));

        std::fs::rename(&here, temp.path().join("moved")).unwrap();
        std::os::unix::fs::symlink(temp.path().join("moved"), &here).unwrap();
        let behind = open("g", &here);
        assert!(!behind.shares_handle(&later), "its real path is another one");
        assert_eq!(behind.path(), std::fs::canonicalize(temp.path().join("moved")).unwrap());
    }

    #[test]
    fn texts_of_tools_are_there_once() {
        let temp = tempfile::tempdir().unwrap();
        let builtin = Builtin::new(BuiltinOptions::new(temp.path().join("spill")));
        let open = |session: &str| builtin.open(&session.into(), temp.path()).unwrap();
        for (one, other) in open("a").iter().zip(open("b")) {
            let (one, other) = (one.spec(), other.spec());
            assert!(Arc::ptr_eq(&one.description, &other.description), "{}", one.name);
            assert!(std::ptr::eq(one.schema.as_str(), other.schema.as_str()), "{}", one.name);
        }
    }
}
