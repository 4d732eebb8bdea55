//! The command line of `rpc`: tolerant where a host may pass what only its own agent knows, strict where a wrong value would
//! mean less safety than was asked for. Knows no file and no model.

pub mod table;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::PathBuf;

use dialect_rpc::{Errors, Updates};
use vocab::{Budget, BudgetSpan, BudgetUnit, Mode, OnRestart, Secret, SyncLevel};

use config::agent::LEVELS;
use table::{Flag, Takes};

/// Names of unknown flags that are told; of more only the number.
const UNKNOWN_TOLD_MAX: usize = 20;

/// What a flag is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Means {
    Mode,
    Provider,
    Model,
    Models,
    Thinking,
    ApiKey,
    ListModels,
    SystemPrompt,
    AppendSystemPrompt,
    SessionDir,
    NoSession,
    Continue,
    Session,
    SessionId,
    Name,
    Fork,
    Export,
    Tools,
    ExcludeTools,
    NoTools,
    PermissionMode,
    Extension,
    NoExtensions,
    NoMcp,
    PromptTemplate,
    NoPromptTemplates,
    NoContextFiles,
    Workspace,
    Config,
    Attach,
    LogFrames,
    RpcErrors,
    RpcUpdates,
    Sync,
    OnRestart,
    Budget,
    Help,
    Version,
    /// Nothing here; the word says why.
    Ignored(&'static str),
}

/// Which session was asked for; of several flags the last counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum AskedSession {
    #[default]
    New,
    /// The newest of this directory, or a new one.
    Newest,
    /// A path, an id or the beginning of one.
    Named(String),
}

/// Everything the command line said, by subject.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Flags {
    pub model: ModelFlags,
    pub session: SessionFlags,
    pub tools: ToolFlags,
    pub prompts: PromptFlags,
    pub wire: WireFlags,
    pub workspace: Option<PathBuf>,
    pub config: Option<PathBuf>,
    /// The gateway to go to, in the user's words.
    pub attach: Option<String>,
    pub sync: Option<SyncLevel>,
    pub on_restart: Option<OnRestart>,
    pub budget: Vec<(BudgetSpan, BudgetUnit, u64)>,
    pub help: bool,
    pub version: bool,
    /// A file to be put into a prompt, which this mode has no place for.
    pub at_file: bool,
    /// For stderr, one line each.
    pub notes: Vec<String>,
}

/// Which model answers, and how.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ModelFlags {
    pub provider: Option<String>,
    pub name: Option<String>,
    /// The models that a host goes round.
    pub scope: Vec<String>,
    pub thinking: Option<&'static str>,
    pub api_key: Option<Secret>,
    /// With a word to look for.
    pub list: Option<Option<String>>,
}

impl ModelFlags {
    /// Only then does the command line win over what a resumed session remembers.
    pub fn is_named(&self) -> bool {
        self.name.is_some() || self.provider.is_some()
    }
}

/// Which session, and where its file is.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SessionFlags {
    pub dir: Option<PathBuf>,
    /// Nothing is written down.
    pub none: bool,
    pub asked: AskedSession,
    /// Open or create the session of this very id.
    pub id: Option<String>,
    /// What the session is called from now on.
    pub title: Option<String>,
    pub fork: Option<String>,
    pub export: Option<PathBuf>,
}

/// What the model may use, and who brings it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ToolFlags {
    pub only: Option<Vec<String>>,
    pub without: Vec<String>,
    pub none: bool,
    pub mode: Option<Mode>,
    pub extensions: Vec<PathBuf>,
    pub no_extensions: bool,
    pub no_servers: bool,
}

/// What the model is told before the conversation, and the user's own prompts.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PromptFlags {
    /// Text, or the name of a file with it.
    pub system: Option<String>,
    pub append: Vec<String>,
    pub templates: Vec<PathBuf>,
    pub no_templates: bool,
    pub no_context_files: bool,
}

/// How the dialect speaks, and where a copy of it goes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct WireFlags {
    pub errors: Option<Errors>,
    pub updates: Option<Updates>,
    pub log_frames: Option<PathBuf>,
}

/// A value that cannot be meant; one line for people. Never contains a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrong(pub String);

/// Reads the words behind `rpc`, or all words where `--mode rpc` is among them.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Flags, Wrong> {
    let mut words: VecDeque<OsString> = words.into_iter().collect();
    let mut flags = Flags::default();
    let mut unknown: Vec<String> = Vec::new();
    let mut idle_words = 0_usize;
    let mut only_words = false;
    while let Some(word) = words.pop_front() {
        let text = word.to_string_lossy().into_owned();
        if text.len() > 1 && text.starts_with('@') {
            flags.at_file = true;
        } else if only_words || text.len() < 2 || !text.starts_with('-') {
            idle_words += 1;
        } else if text == "--" {
            only_words = true;
        } else {
            let (name, given) = split(&text, &word);
            match table::find(name) {
                Some(flag) => flags.take(name, flag, given, &mut words)?,
                None => {
                    // Its value goes with it: a word that belonged to a flag is nobody's prompt.
                    if given.is_none() && follows(&words) {
                        words.pop_front();
                    }
                    unknown.push(name.to_owned());
                }
            }
        }
    }
    if !unknown.is_empty() {
        let more = unknown.len().saturating_sub(UNKNOWN_TOLD_MAX);
        unknown.truncate(UNKNOWN_TOLD_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        flags.notes.push(format!("unknown flags are skipped: {}{more}", unknown.join(", ")));
    }
    if idle_words > 0 {
        flags.notes.push(format!("{idle_words} words beside the flags are skipped: prompts come over stdin"));
    }
    Ok(flags)
}

/// `--name=value` is a name and a value; `-x=1` is a name.
fn split<'a>(text: &'a str, word: &OsString) -> (&'a str, Option<OsString>) {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    match text.split_once('=') {
        Some((name, _)) if name.starts_with("--") => {
            // From the word itself: a path need not be Unicode.
            let at = word.as_bytes().iter().position(|byte| *byte == b'=').map_or(word.len(), |at| at + 1);
            (name, Some(OsString::from_vec(word.as_bytes()[at..].to_vec())))
        }
        _ => (text, None),
    }
}

/// Whether the next word can be a value that nobody announced.
fn follows(words: &VecDeque<OsString>) -> bool {
    words.front().is_some_and(|next| !next.to_string_lossy().starts_with(['-', '@']))
}

impl Flags {
    fn take(
        &mut self,
        name: &str,
        flag: &Flag,
        given: Option<OsString>,
        words: &mut VecDeque<OsString>,
    ) -> Result<(), Wrong> {
        let value = match (flag.takes, given) {
            (Takes::Nothing, None) => None,
            (Takes::Nothing, Some(given)) => match &*given.to_string_lossy() {
                "true" | "1" | "yes" | "on" | "" => None,
                // Switched off is what it is without the flag.
                "false" | "0" | "no" | "off" => return Ok(()),
                _ => return Err(Wrong(format!("{name} takes no value"))),
            },
            (_, Some(given)) => Some(given),
            (Takes::Maybe, None) => {
                if follows(words) {
                    words.pop_front()
                } else {
                    None
                }
            }
            (Takes::Value, None) => {
                let next = words.front().map(|next| next.to_string_lossy().into_owned());
                let known = |next: &String| table::find(next.split('=').next().unwrap_or(next)).is_some();
                match next.filter(|next| !known(next)) {
                    Some(_) => words.pop_front(),
                    None => return Err(Wrong(format!("{name} wants a value"))),
                }
            }
        };
        self.set(name, flag.means, value)
    }

    fn set(&mut self, name: &str, means: Means, value: Option<OsString>) -> Result<(), Wrong> {
        let text = || -> Result<String, Wrong> {
            let value = value.clone().unwrap_or_default();
            value.into_string().map_err(|_| Wrong(format!("the value of {name} is not Unicode text")))
        };
        let path = || PathBuf::from(value.clone().unwrap_or_default());
        match means {
            Means::Mode => self.mode(&text()?)?,
            Means::Provider => self.model.provider = Some(text()?),
            Means::Model => self.model.name = Some(text()?),
            Means::Models => self.model.scope = list(&text()?),
            Means::Thinking => self.thinking(&text()?),
            Means::ApiKey => self.model.api_key = Secret::new(&text()?),
            Means::ListModels => self.model.list = Some(value.is_some().then(text).transpose()?),
            Means::SystemPrompt => self.prompts.system = Some(text()?),
            Means::AppendSystemPrompt => self.prompts.append.push(text()?),
            Means::SessionDir => self.session.dir = Some(path()),
            Means::NoSession => self.session.none = true,
            Means::Continue => self.session.asked = AskedSession::Newest,
            Means::Session => {
                let named = value.is_some().then(text).transpose()?.filter(|named| !named.is_empty());
                self.session.asked = named.map_or(AskedSession::Newest, AskedSession::Named);
            }
            Means::SessionId => self.session.id = Some(text()?),
            Means::Name => self.session.title = Some(text()?),
            Means::Fork => self.session.fork = Some(text()?),
            Means::Export => self.session.export = Some(path()),
            Means::Tools => self.tools(&list(&text()?))?,
            Means::ExcludeTools => self.tools.without = list(&text()?),
            Means::NoTools => self.tools.none = true,
            Means::PermissionMode => self.tools.mode = Some(permission_mode(name, &text()?)?),
            Means::Extension => self.tools.extensions.push(path()),
            Means::NoExtensions => self.tools.no_extensions = true,
            Means::NoMcp => self.tools.no_servers = true,
            Means::PromptTemplate => self.prompts.templates.push(path()),
            Means::NoPromptTemplates => self.prompts.no_templates = true,
            Means::NoContextFiles => self.prompts.no_context_files = true,
            Means::Workspace => self.workspace = Some(path()),
            Means::Config => self.config = Some(path()),
            Means::Attach => self.attach = Some(text()?),
            Means::LogFrames => self.wire.log_frames = Some(path()),
            Means::RpcErrors => {
                self.wire.errors = Some(one_of(name, &text()?, &[("seed", Errors::Seed), ("pi", Errors::Pi)])?);
            }
            Means::RpcUpdates => {
                self.wire.updates =
                    Some(one_of(name, &text()?, &[("full", Updates::Full), ("delta", Updates::Delta)])?);
            }
            Means::Sync => {
                let levels = [SyncLevel::Turn, SyncLevel::Record, SyncLevel::Off].map(|level| (level.as_str(), level));
                self.sync = Some(one_of(name, &text()?, &levels)?);
            }
            Means::OnRestart => {
                self.on_restart = Some(one_of(name, &text()?, &OnRestart::ALL.map(|rule| (rule.as_str(), rule)))?);
            }
            Means::Budget => {
                self.budget.push(Budget::read_limit(&text()?).map_err(|why| Wrong(format!("{name}: {why}")))?)
            }
            Means::Help => self.help = true,
            Means::Version => self.version = true,
            Means::Ignored(_) => {}
        }
        Ok(())
    }

    /// `--mode rpc` is what brought us here; other commands of ours know `--mode` as the permission mode.
    fn mode(&mut self, text: &str) -> Result<(), Wrong> {
        match Mode::parse(text) {
            _ if text == "rpc" => {}
            Some(mode) => self.tools.mode = Some(mode),
            None => return Err(Wrong(format!("--mode is rpc here, not {text:?}"))),
        }
        Ok(())
    }

    /// A list is everything that is offered. One of `+NAME` and `-NAME` only changes what is: all of ours is there
    /// already, so what counts of it is what goes.
    fn tools(&mut self, names: &[String]) -> Result<(), Wrong> {
        let signed = names.iter().filter(|name| name.starts_with(['+', '-'])).count();
        match signed {
            0 => self.tools.only = Some(names.to_vec()),
            _ if signed == names.len() => {
                self.tools.without.extend(names.iter().filter_map(|name| name.strip_prefix('-')).map(str::to_owned));
            }
            _ => return Err(Wrong("--tools takes names, or names that begin with + or -, not both".to_owned())),
        }
        Ok(())
    }

    /// As in pi, a wrong level costs a line and not the start.
    fn thinking(&mut self, text: &str) {
        match LEVELS.into_iter().find(|level| *level == text) {
            Some(level) => self.model.thinking = Some(level),
            None => self.notes.push(format!("--thinking is one of {}; {text:?} is ignored", LEVELS.join(", "))),
        }
    }
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn permission_mode(name: &str, text: &str) -> Result<Mode, Wrong> {
    one_of(name, text, &Mode::ALL.map(|mode| (mode.as_str(), mode)))
}

fn one_of<T: Copy>(name: &str, text: &str, known: &[(&str, T)]) -> Result<T, Wrong> {
    known.iter().find(|(word, _)| *word == text).map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
        Wrong(format!("{name} is one of {}, not {text:?}", words.join(", ")))
    })
}
