//! What an undo cannot take back and a diff does not show. Only edits of files are kept in the log; what a command did is
//! known to the disk alone, so all that can be told is which ran. Pure.

use std::collections::HashMap;
use std::sync::Arc;

use vocab::{
    Body, Call, CallEnd, CallEntry, CallId, Entry, FileEdit, ShellEntry, Snapshot, TurnId, UndoneEnd, UndoneFile,
};

use crate::session::model_view::active_path;

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

/// What an undo did to the files that these edits changed, each once.
pub(crate) fn undone(edits: &[FileEdit], restored: &[Arc<str>]) -> Vec<UndoneFile> {
    let mut files: Vec<UndoneFile> = Vec::new();
    for edit in edits {
        if files.iter().any(|file| file.path == edit.path) {
            continue;
        }
        // The first edit of a file knows how it was before all of them.
        let end = match (restored.contains(&edit.path), &edit.before) {
            (true, Snapshot::Absent) => UndoneEnd::Removed,
            (true, _) => UndoneEnd::Restored,
            (false, Snapshot::NotKept) => UndoneEnd::NotKept,
            (false, _) => UndoneEnd::ChangedSince,
        };
        files.push(UndoneFile { path: edit.path.clone(), end });
    }
    files
}
