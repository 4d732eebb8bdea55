//! Answers of slash commands as text for people: the same words in every dialect that shows them.

use std::sync::Arc;

use vocab::names::ToolNames;
use vocab::visible::headline;
use vocab::{
    BudgetRow, CommandInfo, FileDiff, GadgetRow, Mode, Saved, SlashCode, SlashFault, SlashOutcome, SlashReply,
    SlashRow, State, SyncLevel, ThinkingLevel, ToolRow, Undone, UndoneEnd, UndoneFile, iso8601,
};

/// Commands that are named; of more, only the number is.
const NAMED_MAX: usize = 10;

/// The whole answer, with tools as this dialect spells them.
pub fn text(reply: &SlashReply, names: &ToolNames) -> String {
    match &reply.result {
        Ok(outcome) => outcome_text(outcome, names),
        Err(fault) => fault.message.clone(),
    }
}

/// What went wrong, for a program that shows it alone.
pub fn message(fault: &SlashFault) -> String {
    match fault.code {
        SlashCode::UnknownCommand => format!("{}; /help lists what there is", fault.message),
        _ => fault.message.clone(),
    }
}

fn outcome_text(outcome: &SlashOutcome, names: &ToolNames) -> String {
    match outcome {
        SlashOutcome::Help { commands, extensions } => help(commands, extensions),
        SlashOutcome::Version { version } => format!("tillerman {version}"),
        SlashOutcome::Exit => "bye".to_owned(),
        SlashOutcome::Sessions(list) if list.is_empty() => "no saved sessions here".to_owned(),
        SlashOutcome::Sessions(list) => list.iter().map(session_line).collect::<Vec<_>>().join("\n"),
        SlashOutcome::Cleared { session, .. } => format!("new session {session}"),
        SlashOutcome::Resumed { session, messages, .. } => format!("resumed {session} ({messages} messages)"),
        SlashOutcome::Status { state, sync } => status(state, *sync),
        SlashOutcome::Model { model, previous: Some(previous), models } => {
            // A typo is no error where a server takes any name, so it is at least seen.
            let is_listed = models.is_empty() || models.contains(model);
            let note = if is_listed { "" } else { "\nno list names it; whoever serves it may know it all the same" };
            format!("model: {previous} -> {model}{note}")
        }
        SlashOutcome::Model { model, previous: None, models } => {
            let list = models.iter().map(|slug| format!("\n  {slug}")).collect::<String>();
            format!("model: {model}\navailable:{list}")
        }
        SlashOutcome::Mode { mode, previous: Some(previous) } => {
            format!("mode: {} -> {}", previous.as_str(), mode.as_str())
        }
        SlashOutcome::Mode { mode, previous: None } => {
            format!("mode: {}\navailable: {}", mode.as_str(), Mode::ALL.map(Mode::as_str).join(", "))
        }
        SlashOutcome::Thinking { level, previous, levels } => thinking(level, previous.as_ref(), levels),
        SlashOutcome::Context(it) => format!(
            "context: {} of {} tokens ({:.1} %)\nsystem about {}, tools {}, history {}",
            it.used, it.window, it.percent, it.system, it.tools, it.history,
        ),
        SlashOutcome::Compacted(it) => match &it.nothing {
            Some(why) => why.clone(),
            None => format!("compacted {} messages to {}", it.messages_before, it.messages_after),
        },
        SlashOutcome::Tools(rows) => rows.iter().map(|row| tool_line(row, names)).collect::<Vec<_>>().join("\n"),
        SlashOutcome::Gadgets(rows) if rows.is_empty() => "no gadgets are configured".to_owned(),
        SlashOutcome::Gadgets(rows) => rows.iter().map(gadget_line).collect::<Vec<_>>().join("\n"),
        SlashOutcome::Exported(done) => format!("wrote {} ({} bytes)", done.path.display(), done.bytes),
        SlashOutcome::Undone(undone) => undone_text(undone),
        SlashOutcome::Cost { input_tokens, output_tokens, turns, dollars, limits } => {
            let price = dollars.map(|dollars| format!(", about ${dollars:.4}")).unwrap_or_default();
            let used = format!("{input_tokens} input and {output_tokens} output tokens in {turns} turn(s){price}");
            std::iter::once(used).chain(limits.iter().map(limit_line)).collect::<Vec<_>>().join("\n")
        }
        SlashOutcome::Diff { files, commands } => diff(files, commands),
        SlashOutcome::Renamed { title } => format!("title: {title}"),
        SlashOutcome::Saved { key, value, path } => format!("saved {key} = {value} in {}", path.display()),
    }
}

/// `budget turn.usd: $0.25 of $1.00`, and what was granted.
fn limit_line(row: &BudgetRow) -> String {
    let BudgetRow { span, unit, limit, spent, allowed } = row;
    let spent = spent.map_or_else(|| "?".to_owned(), |spent| unit.shown(spent));
    let granted = match allowed {
        None => " (lifted for this session)".to_owned(),
        Some(allowed) if allowed > limit => format!(" (granted: up to {})", unit.shown(*allowed)),
        Some(_) => String::new(),
    };
    format!("budget {}.{}: {spent} of {}{granted}", span.as_str(), unit.as_str(), unit.shown(*limit))
}

fn help(commands: &[SlashRow], extensions: &[CommandInfo]) -> String {
    let names: Vec<String> = commands.iter().map(|it| format!("/{} {}", it.name, it.args)).collect();
    let width = names.iter().map(String::len).max().unwrap_or(0);
    let lines = commands.iter().zip(&names).map(|(it, name)| format!("{name:width$}  {}", it.summary));
    let more =
        extensions.iter().map(|it| format!("/{} - {}", it.name, it.description.as_deref().unwrap_or(&it.source)));
    lines.chain(more).collect::<Vec<_>>().join("\n")
}

fn status(state: &State, sync: SyncLevel) -> String {
    format!(
        "session   {}\nmodel     {}\nmode      {}\nworkspace {}\nturn      {}\nmessages  {}\nsync      {}",
        state.session,
        state.model,
        state.mode.as_str(),
        state.workspace.display(),
        if state.turn.is_some() { "running" } else { "idle" },
        state.messages,
        sync.as_str(),
    )
}

/// How a level is called, also where no peer chose one.
pub fn level_name(level: &ThinkingLevel) -> &str {
    level.as_deref().unwrap_or("the model's own")
}

fn thinking(level: &ThinkingLevel, previous: Option<&ThinkingLevel>, levels: &[Arc<str>]) -> String {
    match previous {
        Some(previous) => format!("thinking: {} -> {}", level_name(previous), level_name(level)),
        None => {
            let names: Vec<&str> = levels.iter().map(|level| &**level).collect();
            format!("thinking: {}\navailable: {}", level_name(level), names.join(", "))
        }
    }
}

fn tool_line(row: &ToolRow, names: &ToolNames) -> String {
    format!("{:20} {}", names.show(&row.name), names.told(&row.name, row.required).as_str())
}

fn gadget_line(row: &GadgetRow) -> String {
    format!("{} {}", if row.is_on { "on " } else { "off" }, row.name)
}

/// What a list shows of a session: its title, else how it began.
pub fn title_of(saved: &Saved) -> String {
    let summary = &saved.summary;
    summary.title.clone().or_else(|| summary.preview.clone()).map(|text| text.to_string()).unwrap_or_default()
}

fn session_line(saved: &Saved) -> String {
    let summary = &saved.summary;
    format!("{}  {}  {:>4}  {}", summary.id, iso8601(summary.updated_ms), summary.messages, title_of(saved))
}

fn undone_text(undone: &Undone) -> String {
    let files: String = undone.files.iter().map(undone_line).collect();
    let commands = ran(&undone.commands, "; what they changed is not taken back");
    let gap = if commands.is_empty() { "" } else { "\n" };
    format!("took back {} message(s){files}{gap}{commands}", undone.messages)
}

fn undone_line(file: &UndoneFile) -> String {
    match file.end {
        UndoneEnd::Removed => format!("\n  removed {}", file.path),
        UndoneEnd::Restored => format!("\n  restored {}", file.path),
        UndoneEnd::NotKept => format!("\n  left {}: it is too large, or no text", file.path),
        UndoneEnd::ChangedSince => format!("\n  left {} as it is: it was changed since", file.path),
    }
}

fn diff(files: &[FileDiff], commands: &[Arc<str>]) -> String {
    let patch: String = files.iter().map(|file| file.patch.as_str()).collect();
    let beyond = ran(commands, "; what they changed is not in here");
    match (patch.is_empty(), beyond.is_empty()) {
        (true, true) => "no changes".to_owned(),
        (true, false) => format!("no changes by the tools that edit files\n{beyond}"),
        (false, true) => patch,
        (false, false) => format!("{patch}\n{beyond}"),
    }
}

/// Commands as lines behind a sentence, or nothing.
fn ran(commands: &[Arc<str>], sentence: &str) -> String {
    let count = match commands.len() {
        0 => return String::new(),
        1 => "1 command".to_owned(),
        count => format!("{count} commands"),
    };
    let lines: String = commands.iter().take(NAMED_MAX).map(|it| format!("\n  $ {}", headline(it))).collect();
    let more = match commands.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!("\n  and {more} more"),
    };
    format!("{count} ran{sentence}:{lines}{more}")
}
