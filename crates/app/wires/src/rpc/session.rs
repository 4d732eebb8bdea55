//! Which session a process starts with: from a path, an id, "the newest", a fork. Looks at directories, opens nothing.

use std::path::{Path, PathBuf};

use vocab::{Fault, FaultKind, SessionId, Which};

use config::Env;
use config::agent::{self, AgentSettings};
use rpc_flags::{AskedSession, Flags};

/// The variable that moves session files, in pi.
const SESSION_DIR_ENV: &str = "PI_CODING_AGENT_SESSION_DIR";

/// Characters of an id that somebody chose; a longer one is refused.
const ID_CHARS_MAX: usize = 128;

/// How session files are found; a parameter, because their format is not our business.
pub struct Files {
    /// Where the sessions of a working directory are: of the agent directory and it.
    pub default_dir: fn(&Path, &Path) -> PathBuf,
    pub newest: fn(&Path) -> Option<PathBuf>,
    /// Files of sessions whose id begins so, newest first.
    pub by_id: fn(&Path, &str) -> Vec<PathBuf>,
}

pub const FILES: Files =
    Files { default_dir: session_files::default_dir, newest: session_files::newest, by_id: session_files::by_id };

#[derive(Clone, PartialEq, Debug)]
pub struct SessionPlan {
    pub which: Which,
    /// Go on in a copy of it.
    pub fork: bool,
    /// What it is called from now on.
    pub title: Option<String>,
    /// Where new files go.
    pub dir: PathBuf,
    /// Somebody asked for this directory.
    pub dir_is_fixed: bool,
    /// For stderr.
    pub note: Option<String>,
}

/// Everything that decides it.
pub struct SessionContext<'a> {
    pub env: Env<'a>,
    pub agent_dir: &'a Path,
    pub workspace: &'a Path,
    pub settings: &'a AgentSettings,
    pub files: &'a Files,
}

pub fn plan(flags: &Flags, context: &SessionContext<'_>) -> Result<SessionPlan, Fault> {
    let (dir, dir_is_fixed) = directory(flags, context);
    let title = flags.session.title.as_deref().map(title).transpose()?;
    let mut plan = SessionPlan { which: Which::New, fork: false, title, dir, dir_is_fixed, note: None };
    if let Some(id) = &flags.session.id {
        refuse_beside_id(flags)?;
        let id = valid(id)?;
        plan.which = exact(&id, &plan.dir, context).filter(|_| !flags.session.none).unwrap_or(Which::Named(id));
        return Ok(plan);
    }
    if let Some(text) = &flags.session.fork {
        refuse_beside_fork(flags)?;
        plan.fork = true;
        plan.which = named(text, &mut plan.note, &plan.dir, context);
        return Ok(plan);
    }
    // What is kept in memory only cannot be a session on disk; pi decides it the same way.
    if flags.session.none {
        return Ok(plan);
    }
    plan.which = match &flags.session.asked {
        AskedSession::New => Which::New,
        AskedSession::Newest => newest(&plan.dir, context),
        AskedSession::Named(text) => match text.as_str() {
            "latest" | "last" | "recent" => newest(&plan.dir, context),
            text => named(text, &mut plan.note, &plan.dir, context),
        },
    };
    Ok(plan)
}

fn directory(flags: &Flags, context: &SessionContext<'_>) -> (PathBuf, bool) {
    if let Some(dir) = &flags.session.dir {
        return (expand(&dir.to_string_lossy(), dir, context.env), true);
    }
    let said = context.env(SESSION_DIR_ENV).or_else(|| context.settings.session_dir.clone());
    match said.filter(|dir| !dir.trim().is_empty()) {
        Some(dir) => (agent::expand(dir.trim(), context.env), true),
        None => ((context.files.default_dir)(context.agent_dir, context.workspace), false),
    }
}

/// A path that is no text is taken as it is.
fn expand(text: &str, path: &Path, env: Env<'_>) -> PathBuf {
    match path.to_str() {
        Some(_) => agent::expand(text, env),
        None => std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
    }
}

impl SessionContext<'_> {
    fn env(&self, name: &str) -> Option<String> {
        (self.env)(name)
    }
}

fn newest(dir: &Path, context: &SessionContext<'_>) -> Which {
    (context.files.newest)(dir).map_or(Which::New, Which::Path)
}

/// A path, or an id: in this directory's sessions first, then in everybody's, then in our own store.
fn named(text: &str, note: &mut Option<String>, dir: &Path, context: &SessionContext<'_>) -> Which {
    if text.contains(['/', '\\']) || text.ends_with(".jsonl") {
        return Which::Path(agent::expand(text, context.env));
    }
    let by_id = context.files.by_id;
    if let Some(path) = by_id(dir, text).into_iter().next() {
        return Which::Path(path);
    }
    let others = std::fs::read_dir(context.agent_dir.join("sessions")).into_iter().flatten().filter_map(Result::ok);
    let elsewhere = others
        .map(|entry| entry.path())
        .filter(|path| path != dir)
        .find_map(|path| by_id(&path, text).into_iter().next());
    match elsewhere {
        Some(path) => {
            *note = Some(format!("the session is another directory's: {}", path.display()));
            Which::Path(path)
        }
        None => Which::Id(text.to_owned()),
    }
}

/// The file of that session in its directory; pi may have written it.
fn exact(id: &SessionId, dir: &Path, context: &SessionContext<'_>) -> Option<Which> {
    let whole = |path: &PathBuf| session_files::id_of(path).as_ref() == Some(id);
    (context.files.by_id)(dir, id.as_str()).into_iter().find(whole).map(Which::Path)
}

/// As pi has them, so that an id can be part of a file's name.
fn valid(text: &str) -> Result<SessionId, Fault> {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let outer = |c: char| c.is_ascii_alphanumeric();
    let is_id =
        text.len() <= ID_CHARS_MAX && text.starts_with(outer) && text.ends_with(outer) && text.chars().all(inner);
    match is_id {
        true => Ok(SessionId::from(text)),
        false => Err(Fault::new(
            FaultKind::Invalid,
            format!(
                "Session id must be non-empty, contain only alphanumeric characters, '-', '_', and '.', start and end with an \
                 alphanumeric character, and have {ID_CHARS_MAX} characters at most"
            ),
        )),
    }
}

/// One line without blanks around it.
fn title(text: &str) -> Result<String, Fault> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.is_empty() {
        true => Err(Fault::new(FaultKind::Invalid, "--name requires a non-empty value")),
        false => Ok(words.join(" ")),
    }
}

fn refuse_beside_id(flags: &Flags) -> Result<(), Fault> {
    let other = match (&flags.session.asked, &flags.session.fork) {
        (_, Some(_)) => "--fork",
        (AskedSession::Newest, _) => "--continue",
        (AskedSession::Named(_), _) => "--session",
        (AskedSession::New, None) => return Ok(()),
    };
    Err(Fault::new(FaultKind::Invalid, format!("--session-id cannot be combined with {other}")))
}

fn refuse_beside_fork(flags: &Flags) -> Result<(), Fault> {
    let other = match (&flags.session.asked, flags.session.none) {
        (_, true) => "--no-session",
        (AskedSession::Newest, _) => "--continue",
        (AskedSession::Named(_), _) => "--session",
        (AskedSession::New, false) => return Ok(()),
    };
    Err(Fault::new(FaultKind::Invalid, format!("--fork cannot be combined with {other}")))
}
