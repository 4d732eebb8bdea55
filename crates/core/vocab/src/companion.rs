//! Programs that stand beside every session of this process: extensions. A companion is a peer with more reach: it brings
//! tools and commands, is consulted at fixed points, shows things to people and asks them. What it cannot do is be the
//! one who answers for a user: where only companions are left, nobody is there.

use std::sync::Arc;

use crate::{CallId, HostTool, Json, Part};

/// What a companion brings.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Offers {
    pub tools: Vec<HostTool>,
    pub commands: Vec<CommandInfo>,
    pub hooks: Hooks,
    /// Whether it wants the flow (running text, output of running tools) besides the log.
    pub deltas: bool,
}

/// A slash command that lives with a companion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommandInfo {
    pub name: Arc<str>,
    pub description: Option<Arc<str>>,
    /// Who brought it: shown to people.
    pub source: Arc<str>,
}

/// At which points a companion wants to be consulted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Hooks {
    pub before_turn: bool,
    pub before_call: bool,
    pub after_call: bool,
}

/// One consultation; answered once with the same number, or given up when its time is over.
#[derive(Clone, PartialEq, Debug)]
pub struct Consult {
    pub id: u64,
    pub kind: ConsultKind,
}

#[derive(Clone, PartialEq, Debug)]
pub enum ConsultKind {
    /// A turn begins with this message.
    Turn { parts: Vec<Part> },
    /// The model wants this call.
    Call { call: CallId, tool: Arc<str>, input: Json },
    /// The call has this result.
    Result { call: CallId, tool: Arc<str>, parts: Vec<Part>, is_error: bool },
    /// Somebody typed the companion's command.
    Command { name: Arc<str>, args: Arc<str> },
}

/// What a companion says to a consultation.
#[derive(Clone, PartialEq, Debug)]
pub enum Opinion {
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
    /// It went wrong on the companion's side.
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
