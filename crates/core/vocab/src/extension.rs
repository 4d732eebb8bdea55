//! Programs that stand beside every session of this process: extensions. An extension is a peer with more reach: it brings
//! tools and commands, is asked at fixed points, shows things to people and asks them. What it cannot do is be the
//! one who answers for a user: where only extensions are left, nobody is there.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{CallId, HostTool, Json, Part};

/// What an extension brings.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Offers {
    pub tools: Vec<HostTool>,
    pub commands: Vec<CommandInfo>,
    pub hooks: Hooks,
    pub hears: Hears,
    /// Of which turns it wants to be asked about their beginning; without it, of all.
    pub turns: Option<TurnFilter>,
}

/// What an extension is told unasked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Hears {
    /// What it is asked, and nothing else: a session that has nothing to ask costs it nothing.
    Questions,
    /// The log, too.
    #[default]
    Log,
    /// Besides, the flow: running text, output of running tools.
    Flow,
}

/// Whether a turn that begins with these words in this workspace is an extension's business. It is asked in the midst of a
/// session's work, so it must answer at once: it looks at no file.
#[derive(Clone)]
pub struct TurnFilter(Arc<TurnTest>);

type TurnTest = dyn Fn(&Path, &[Part]) -> bool + Send + Sync;

impl TurnFilter {
    pub fn new(concerns: impl Fn(&Path, &[Part]) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(concerns))
    }
    pub fn concerns(&self, workspace: &Path, opening: &[Part]) -> bool {
        (self.0)(workspace, opening)
    }
}

impl PartialEq for TurnFilter {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for TurnFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TurnFilter")
    }
}

/// A slash command that lives with an extension.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommandInfo {
    pub name: Arc<str>,
    pub description: Option<Arc<str>>,
    /// Who brought it: shown to people.
    pub source: Arc<str>,
}

/// At which points an extension wants to be asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Hooks {
    pub before_turn: bool,
    pub before_call: bool,
    pub after_call: bool,
    /// It looks and answers, and does nothing else: it starts no program, changes nothing and tells nobody outside this
    /// process. So it may hear of what is not on the disk yet, as the model does; whoever can act may not.
    pub only_looks: bool,
}

/// One hook call; answered once with the same number, or given up when its time is over.
#[derive(Clone, PartialEq, Debug)]
pub struct HookCall {
    pub id: u64,
    /// Where the session works.
    pub workspace: PathBuf,
    pub kind: HookKind,
}

#[derive(Clone, PartialEq, Debug)]
pub enum HookKind {
    /// A turn begins with this message.
    Turn { parts: Vec<Part> },
    /// The model wants this call.
    Call { call: CallId, tool: Arc<str>, input: Json },
    /// The call has this result.
    Result { call: CallId, tool: Arc<str>, parts: Vec<Part>, is_error: bool },
    /// Somebody typed the extension's command.
    Command { name: Arc<str>, args: Arc<str> },
}

/// What an extension says to a hook call.
#[derive(Clone, PartialEq, Debug)]
pub enum HookVerdict {
    /// Go on as it is; a command was carried out.
    Fine,
    /// The call is not run; the model reads why.
    Veto(Arc<str>),
    /// Other arguments for the call.
    Input(Json),
    /// Another result for the call.
    Result { parts: Vec<Part>, is_error: bool },
    /// More for the model to know in this turn.
    Context { system: Option<Arc<str>>, message: Option<Arc<str>> },
    /// It went wrong on the extension's side.
    Failed(Arc<str>),
}

/// Something for people to see. Not in the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Notice {
    Say {
        text: Arc<str>,
        level: NoticeLevel,
    },
    /// `None` clears it.
    Status {
        key: Arc<str>,
        text: Option<Arc<str>>,
    },
    /// `None` clears it.
    Widget {
        key: Arc<str>,
        lines: Option<Vec<Arc<str>>>,
        below: bool,
    },
    Title {
        text: Arc<str>,
    },
    /// The conversation is to end; a dialect whose controller decides that alone passes it over.
    Exit,
    /// Put into the line that the user is editing.
    EditorText {
        text: Arc<str>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoticeLevel {
    Info,
    Warning,
    Error,
}
