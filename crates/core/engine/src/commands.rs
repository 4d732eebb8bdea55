//! The one table of slash commands: the terminal, every wire and `/help` read it.

use vocab::{Data, Fault, FaultKind, SlashReply, map};

/// Who carries a command out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scope {
    /// The session itself.
    Session,
    /// The desk in front of it: these change which session the peer is on.
    Desk,
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
    command("help", &["?"], "", "Show what can be typed here.", Scope::Desk),
    command("status", &[], "", "Show session, model, mode and workspace.", Scope::Session),
    command("model", &[], "[slug]", "Show or change the model.", Scope::Session),
    command("mode", &["permissions"], "[mode]", "Show or change the permission mode.", Scope::Session),
    command("thinking", &[], "[level]", "Show or change how much the model thinks.", Scope::Session),
    command("context", &[], "", "Show how full the context window is.", Scope::Session),
    command("compact", &[], "[what to keep]", "Summarise older messages to make room.", Scope::Session),
    command("clear", &[], "", "Start over in a new session.", Scope::Desk),
    command("tools", &[], "", "List the tools and what they need.", Scope::Session),
    command("gadgets", &[], "[on|off NAME]", "List tool bundles, or switch one.", Scope::Session),
    command("sessions", &[], "", "List saved sessions of this workspace.", Scope::Desk),
    command("resume", &[], "id|latest|path", "Go on with a saved session.", Scope::Desk),
    command("export", &[], "[file]", "Write the session to a .html, .md or .jsonl file.", Scope::Session),
    command("undo", &[], "[n]", "Take back the last n prompts and what they changed.", Scope::Session),
    command("cost", &["usage"], "", "Show tokens used by this session.", Scope::Session),
    command("diff", &[], "", "Show what this session changed in files.", Scope::Session),
    command("rename", &[], "TITLE", "Give the session a title.", Scope::Session),
    command("save", &[], "model|mode", "Make the current model or mode your default.", Scope::Session),
    command("version", &[], "", "Show the version.", Scope::Desk),
    command("exit", &["quit"], "", "Leave.", Scope::Desk),
];

pub(crate) fn find(name: &str) -> Option<&'static SlashCommand> {
    COMMANDS.iter().find(|command| command.name == name || command.aliases.contains(&name))
}

/// A success: `data` gets `ok: true` in front.
pub(crate) fn ok(command: &str, text: impl Into<String>, data: Data) -> SlashReply {
    let mut pairs = vec![("ok", Data::Bool(true))];
    if let Data::Map(more) = data {
        pairs.extend(more);
    }
    reply(command, text, Data::Map(pairs))
}

/// A failure is a result too.
pub(crate) fn failed(command: &str, code: &'static str, message: impl Into<String>) -> SlashReply {
    let message = message.into();
    reply(command, message.clone(), map! { "ok" => false, "error" => code, "message" => message })
}

pub(crate) fn from_fault(command: &str, fault: &Fault) -> SlashReply {
    let code = match fault.kind {
        FaultKind::TurnInProgress => "turn_in_progress",
        FaultKind::UnknownModel => "unknown_model",
        FaultKind::NotFound | FaultKind::UnknownSession => "not_found",
        FaultKind::NothingToDo => "nothing_to_do",
        FaultKind::SessionBusy => "session_busy",
        FaultKind::Cancelled => "cancelled",
        _ => "failed",
    };
    failed(command, code, fault.explained())
}

pub(crate) fn usage(command: &SlashCommand) -> SlashReply {
    failed(command.name, "usage", format!("usage: /{} {}", command.name, command.args))
}

pub(crate) fn unknown(name: &str) -> SlashReply {
    let text = format!("unknown command: /{name}");
    let message = format!("{text}; /help lists what there is");
    reply(name, text, map! { "ok" => false, "error" => "unknown_command", "message" => message })
}

pub(crate) fn reply(command: &str, text: impl Into<String>, data: Data) -> SlashReply {
    SlashReply { command: command.to_owned(), text: text.into(), data, moved_to: None, exit: false }
}

pub(crate) fn help() -> SlashReply {
    let names: Vec<String> = COMMANDS.iter().map(|it| format!("/{} {}", it.name, it.args)).collect();
    let width = names.iter().map(String::len).max().unwrap_or(0);
    let lines: Vec<String> =
        COMMANDS.iter().zip(&names).map(|(it, name)| format!("{name:width$}  {}", it.summary)).collect();
    let rows = COMMANDS.iter().map(|it| map! { "name" => it.name, "args" => it.args, "summary" => it.summary });
    ok("help", lines.join("\n"), map! { "commands" => rows.collect::<Vec<Data>>() })
}
