//! Programs that stand beside every session of this process: extensions. An extension is a peer with more reach: it brings
//! tools and commands, is asked at fixed points, shows things to people and asks them. What it cannot do is be the
//! one who answers for a user: where only extensions are left, nobody is there.

use std::sync::Arc;

use crate::{CallId, HostTool, Json, Part};

/// What an extension brings.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Offers {
    pub tools: Vec<HostTool>,
    pub commands: Vec<CommandInfo>,
    pub hooks: Hooks,
    /// Whether it wants the flow (running text, output of running tools) besides the log.
    pub deltas: bool,
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
