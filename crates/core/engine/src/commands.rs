//! The one table of slash commands: the terminal, every wire and `/help` read it.

use vocab::{Fault, FaultKind, SlashCode, SlashFault, SlashOutcome, SlashReply, SlashRow};

/// What a slash command comes to.
pub(crate) type SlashResult = Result<SlashOutcome, SlashFault>;

/// Who carries a command out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scope {
    /// The session itself.
    Session,
    /// The router in front of it: these change which session the peer is on.
    Router,
}

pub struct SlashCommand {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    pub args: &'static str,
    pub summary: &'static str,
    pub(crate) scope: Scope,
}

const fn command(
    name: &'static str,
    aliases: &'static [&'static str],
    args: &'static str,
    summary: &'static str,
    scope: Scope,
) -> SlashCommand {
    SlashCommand { name, aliases, args, summary, scope }
}

pub const COMMANDS: &[SlashCommand] = &[
    command("help", &["?"], "", "Show what can be typed here.", Scope::Router),
    command("status", &[], "", "Show session, model, mode and workspace.", Scope::Session),
    command("model", &[], "[slug]", "Show or change the model.", Scope::Session),
    command("mode", &["permissions"], "[mode]", "Show or change the permission mode.", Scope::Session),
    command("thinking", &[], "[level]", "Show or change how much the model thinks.", Scope::Session),
    command("context", &[], "", "Show how full the context window is.", Scope::Session),
    command("compact", &[], "[what to keep]", "Summarise older messages to make room.", Scope::Session),
    command("clear", &[], "", "Start over in a new session.", Scope::Router),
    command("tools", &[], "", "List the tools and what they need.", Scope::Session),
    command("gadgets", &[], "[on|off NAME]", "List tool bundles, or switch one.", Scope::Session),
    command("sessions", &[], "", "List saved sessions of this workspace.", Scope::Router),
    command("resume", &[], "id|latest|path", "Go on with a saved session.", Scope::Router),
    command("export", &[], "[file]", "Write the session to a .html, .md or .jsonl file.", Scope::Session),
    command("undo", &[], "[n]", "Take back the last n prompts and what they changed.", Scope::Session),
    command("cost", &["usage", "budget"], "", "Show tokens used by this session.", Scope::Session),
    command("diff", &[], "", "Show what this session changed in files.", Scope::Session),
    command("rename", &[], "TITLE", "Give the session a title.", Scope::Session),
    command("save", &[], "model|mode", "Make the current model or mode your default.", Scope::Session),
    command("version", &[], "", "Show the version.", Scope::Router),
    command("exit", &["quit"], "", "Leave.", Scope::Router),
];

pub(crate) fn find(name: &str) -> Option<&'static SlashCommand> {
    COMMANDS.iter().find(|command| command.name == name || command.aliases.contains(&name))
}

/// An answer to the command of this name.
pub(crate) fn reply(command: &str, result: SlashResult) -> SlashReply {
    SlashReply { command: command.to_owned(), result }
}

pub(crate) fn failed(code: SlashCode, message: impl Into<String>) -> SlashFault {
    SlashFault { code, message: message.into() }
}

pub(crate) fn from_fault(fault: Fault) -> SlashFault {
    let code = match fault.kind {
        FaultKind::TurnInProgress => SlashCode::TurnInProgress,
        FaultKind::WorksForCall => SlashCode::WorksForCall,
        FaultKind::UnknownModel => SlashCode::UnknownModel,
        FaultKind::NotFound | FaultKind::UnknownSession => SlashCode::NotFound,
        FaultKind::NothingToDo => SlashCode::NothingToDo,
        FaultKind::SessionBusy => SlashCode::SessionBusy,
        FaultKind::Cancelled => SlashCode::Cancelled,
        _ => SlashCode::Failed,
    };
    failed(code, fault.explained())
}

pub(crate) fn usage(command: &SlashCommand) -> SlashFault {
    failed(SlashCode::Usage, format!("usage: /{} {}", command.name, command.args))
}

pub(crate) fn unknown(name: &str) -> SlashFault {
    failed(SlashCode::UnknownCommand, format!("unknown command: /{name}"))
}

pub(crate) fn busy() -> SlashFault {
    failed(SlashCode::TurnInProgress, "a turn is running; interrupt it first")
}

/// The table as help shows it.
pub(crate) fn rows() -> Vec<SlashRow> {
    COMMANDS.iter().map(|it| SlashRow { name: it.name, args: it.args, summary: it.summary }).collect()
}
