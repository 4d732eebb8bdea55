//! What an undo cannot take back and a diff does not show. Only edits of files are kept in the log; what a command did is
//! known to nobody but the disk, so all that can be told is which ran. Pure.

use std::collections::HashMap;
use std::sync::Arc;

use vocab::visible::headline;
use vocab::{Body, Call, CallEnd, CallEntry, CallId, Entry, FileEdit, ShellEntry, Snapshot, TurnId};

use crate::session::model_view::active_path;

/// Commands that are named; of more, only the number is.
const NAMED_MAX: usize = 10;

/// Commands on the active branch behind `after` that may have changed files, oldest first. `changes` says what a call that
/// failed or was stopped would have changed: it may have, before that.
pub(crate) fn commands_after(
    entries: &[Arc<Entry>],
    after: u64,
    changes: impl Fn(&Call) -> Option<Arc<str>>,
) -> Vec<Arc<str>> {
    let mut calls: HashMap<(TurnId, CallId), Call> = HashMap::new();
    let mut commands = Vec::new();
    for entry in active_path(entries).iter().filter(|entry| entry.seq > after) {
        match &entry.body {
            Body::Call(CallEntry::Started { turn, call, .. }) => {
                calls.insert((turn.clone(), call.id.clone()), call.clone());
            }
            Body::Call(CallEntry::Ended { turn, result }) if result.edits.is_empty() => {
                let ran = matches!(result.end, CallEnd::Ran | CallEnd::Interrupted | CallEnd::Lost);
                let cut = ran && result.mutation.is_none() && result.is_error;
                let call = calls.get(&(turn.clone(), result.call.clone())).filter(|_| cut);
                commands.extend(result.mutation.clone().or_else(|| changes(call?)));
            }
            Body::Shell(ShellEntry::Ended(shell)) => commands.push(shell.command.clone()),
            _ => {}
        }
    }
    commands
}

/// The commands as lines behind a sentence, or nothing.
pub(crate) fn told(commands: &[Arc<str>], sentence: &str) -> String {
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

/// What an undo did to the files that these edits changed, a line each.
pub(crate) fn undone(edits: &[FileEdit], restored: &[Arc<str>]) -> String {
    let mut seen: Vec<&Arc<str>> = Vec::new();
    let mut lines = String::new();
    for edit in edits {
        if seen.contains(&&edit.path) {
            continue;
        }
        seen.push(&edit.path);
        // The first edit of a file knows how it was before all of them.
        let line = match (restored.contains(&edit.path), &edit.before) {
            (true, Snapshot::Absent) => format!("\n  removed {}", edit.path),
            (true, _) => format!("\n  restored {}", edit.path),
            (false, Snapshot::NotKept) => format!("\n  left {}: it is too large, or no text", edit.path),
            (false, _) => format!("\n  left {} as it is: it was changed since", edit.path),
        };
        lines.push_str(&line);
    }
    lines
}
