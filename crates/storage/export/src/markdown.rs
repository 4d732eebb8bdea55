//! A session as a page to read.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use vocab::{
    AssistantMessage, Block, Body, BranchEntry, CallEntry, CallResult, Entry, MessageEnd, ModelEntry, NoteEntry,
    ShellEntry, Summary, parts_text,
};

/// Longer tool output is cut in the page; the session has it whole.
const RESULT_CHARS_MAX: usize = 4000;

pub(super) fn render(summary: &Summary, entries: &[Arc<Entry>]) -> String {
    let mut page = format!("# {}\n\n", one_line(super::title(summary)));
    let _ = writeln!(
        page,
        "- session: `{}`\n- model: `{}`\n- workspace: `{}`",
        summary.id,
        summary.model,
        summary.workspace.display()
    );
    let _ = writeln!(page, "- tokens: {} in, {} out\n", summary.usage.prompt(), summary.usage.output);
    for entry in entries {
        write_entry(&mut page, &entry.body);
    }
    page
}

/// Writing to memory does not fail.
fn write_entry(page: &mut String, body: &Body) {
    let _ = match body {
        Body::User { parts, .. } => writeln!(page, "## User\n\n{}\n", parts_text(parts)),
        Body::Assistant { message, .. } => write_assistant(page, message),
        Body::Call(CallEntry::Ended { result, .. }) | Body::Shell(ShellEntry::Returned(result)) => {
            write_result(page, result)
        }
        Body::Branch(BranchEntry::Compacted(compaction)) => {
            writeln!(page, "---\n\n*Compacted.* {}\n", compaction.summary)
        }
        Body::Branch(BranchEntry::Moved { to }) => writeln!(page, "---\n\n*Went back to entry {to}.*\n"),
        Body::Branch(BranchEntry::Summary { summary, .. }) => {
            writeln!(page, "---\n\n*Came back from another branch.* {summary}\n")
        }
        Body::Shell(ShellEntry::Ended(shell)) => {
            let fence = fence(&shell.output);
            writeln!(page, "## Command\n\n{fence}text\n$ {}\n{}\n{fence}\n", shell.command, shell.output)
        }
        Body::Model(ModelEntry::FellBack(it)) => {
            writeln!(page, "*{} could not answer; {} was asked.*\n", it.from, it.to)
        }
        Body::Note(NoteEntry::Recovered { text }) => writeln!(page, "*{text}*\n"),
        Body::Opened { .. }
        | Body::Turn(_)
        | Body::Call(CallEntry::Started { .. })
        | Body::Ask(_)
        | Body::Queue(_)
        | Body::Model(ModelEntry::Requested(_) | ModelEntry::Retrying { .. } | ModelEntry::Spent { .. })
        | Body::Branch(BranchEntry::Restored { .. })
        | Body::Setting(_)
        | Body::Shell(ShellEntry::Started { .. } | ShellEntry::Called { .. })
        | Body::Note(
            NoteEntry::Imported { .. } | NoteEntry::Label { .. } | NoteEntry::Keyed(_) | NoteEntry::Waived { .. },
        ) => Ok(()),
    };
}

fn write_assistant(page: &mut String, message: &AssistantMessage) -> fmt::Result {
    writeln!(page, "## Assistant\n")?;
    for block in &message.blocks {
        match block {
            Block::Text(text) => writeln!(page, "{text}\n")?,
            Block::Thinking { text, .. } if !text.is_empty() => writeln!(page, "> {}\n", text.replace('\n', "\n> "))?,
            Block::Thinking { .. } | Block::Redacted(_) => {}
            Block::Call(call) => {
                writeln!(page, "**{}** `{}`\n", call.name, one_line(call.input.json().as_str()))?;
            }
        }
    }
    match &message.end {
        MessageEnd::Finished(_) => Ok(()),
        MessageEnd::Interrupted => writeln!(page, "*(interrupted)*\n"),
        MessageEnd::Failed(failed) => writeln!(page, "*(failed: {})*\n", failed.fault.message),
    }
}

fn write_result(page: &mut String, result: &CallResult) -> fmt::Result {
    let text = result.text();
    let shown: String = text.chars().take(RESULT_CHARS_MAX).collect();
    let more = if shown.len() < text.len() { "\n[...]" } else { "" };
    let fence = fence(&shown);
    writeln!(page, "{fence}text\n{shown}{more}\n{fence}\n")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A fence that is longer than any run of backticks inside it.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}
