//! A session as a page to read.

use std::fmt::Write as _;
use std::sync::Arc;

use vocab::{
    Block, Body, BranchEntry, CallEntry, Entry, MessageEnd, ModelEntry, NoteEntry, ShellEntry, Summary, parts_text,
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

fn write_entry(page: &mut String, body: &Body) {
    match body {
        Body::User { parts, .. } => {
            let _ = writeln!(page, "## User\n\n{}\n", parts_text(parts));
        }
        Body::Assistant { message, .. } => {
            let _ = writeln!(page, "## Assistant\n");
            for block in &message.blocks {
                match block {
                    Block::Text(text) => {
                        let _ = writeln!(page, "{text}\n");
                    }
                    Block::Thinking { text, .. } if !text.is_empty() => {
                        let _ = writeln!(page, "> {}\n", text.replace('\n', "\n> "));
                    }
                    Block::Thinking { .. } | Block::Redacted(_) => {}
                    Block::Call(call) => {
                        let _ = writeln!(page, "**{}** `{}`\n", call.name, one_line(call.input.json().as_str()));
                    }
                }
            }
            match &message.end {
                MessageEnd::Finished(_) => {}
                MessageEnd::Interrupted => page.push_str("*(interrupted)*\n\n"),
                MessageEnd::Failed(failed) => {
                    let _ = writeln!(page, "*(failed: {})*\n", failed.fault.message);
                }
            }
        }
        Body::Call(CallEntry::Ended { result, .. }) => {
            let text = result.text();
            let shown: String = text.chars().take(RESULT_CHARS_MAX).collect();
            let more = if shown.len() < text.len() { "\n[...]" } else { "" };
            let fence = "`".repeat(longest_run(&shown).max(2) + 1);
            let _ = writeln!(page, "{fence}text\n{shown}{more}\n{fence}\n");
        }
        Body::Branch(BranchEntry::Compacted(compaction)) => {
            let _ = writeln!(page, "---\n\n*Compacted.* {}\n", compaction.summary);
        }
        Body::Branch(BranchEntry::Moved { to }) => {
            let _ = writeln!(page, "---\n\n*Went back to entry {to}.*\n");
        }
        Body::Shell(ShellEntry::Ended(shell)) => {
            let fence = "`".repeat(longest_run(&shell.output).max(2) + 1);
            let _ = writeln!(page, "## Command\n\n{fence}text\n$ {}\n{}\n{fence}\n", shell.command, shell.output);
        }
        Body::Branch(BranchEntry::Summary { summary, .. }) => {
            let _ = writeln!(page, "---\n\n*Came back from another branch.* {summary}\n");
        }
        Body::Model(ModelEntry::FellBack(it)) => {
            let _ = writeln!(page, "*{} could not answer; {} was asked.*\n", it.from, it.to);
        }
        Body::Note(NoteEntry::Recovered { text }) => {
            let _ = writeln!(page, "*{text}*\n");
        }
        Body::Setting(_)
        | Body::Note(NoteEntry::Imported { .. })
        | Body::Note(NoteEntry::Label { .. })
        | Body::Opened { .. }
        | Body::Turn(_)
        | Body::Call(CallEntry::Started { .. })
        | Body::Ask(_)
        | Body::Queue(_)
        | Body::Model(ModelEntry::Requested(_))
        | Body::Shell(ShellEntry::Started { .. })
        | Body::Branch(BranchEntry::Restored { .. })
        | Body::Model(ModelEntry::Retrying { .. })
        | Body::Model(ModelEntry::Spent { .. }) => {}
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The longest run of backticks, so that a fence can be longer than anything inside it.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}
