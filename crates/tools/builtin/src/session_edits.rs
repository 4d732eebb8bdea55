//! What a session changed in files, taken together: for `/diff` and `/undo`. Works on the edits in the log, not on tools.

use std::collections::HashMap;
use std::sync::Arc;

use vocab::{FileDiff, FileEdit, Required, Snapshot};

use crate::output;
use crate::workspace::{Access, Workspace, replace};

/// One file over a whole session: how it was first found and how it was last left.
struct Span<'a> {
    path: &'a Arc<str>,
    first: &'a Snapshot,
    last: &'a Snapshot,
}

/// In the order in which the files were first touched.
fn spans(edits: &[FileEdit]) -> Vec<Span<'_>> {
    let mut index: HashMap<&str, usize> = HashMap::new();
    let mut spans: Vec<Span<'_>> = Vec::new();
    for edit in edits {
        match index.get(&*edit.path) {
            Some(&at) => spans[at].last = &edit.after,
            None => {
                index.insert(&edit.path, spans.len());
                spans.push(Span { path: &edit.path, first: &edit.before, last: &edit.after });
            }
        }
    }
    spans
}

fn bytes(snapshot: &Snapshot) -> Option<Option<&[u8]>> {
    match snapshot {
        Snapshot::Absent => Some(None),
        Snapshot::Text(text) => Some(Some(text.as_bytes())),
        Snapshot::NotKept => None,
    }
}

pub(crate) fn diff(edits: &[FileEdit]) -> Vec<FileDiff> {
    let changed = spans(edits).into_iter().filter(|span| span.first != span.last || *span.first == Snapshot::NotKept);
    changed
        .map(|span| {
            let diff = match (bytes(span.first), bytes(span.last)) {
                (Some(before), Some(after)) => output::unified(span.path, before, after),
                _ => None,
            };
            diff.unwrap_or_else(|| FileDiff {
                path: span.path.clone(),
                added: 0,
                removed: 0,
                patch: format!("{} changed (too large or not text: no diff)\n", span.path),
            })
        })
        .collect()
}

/// Puts each file back to how it was first found, if it is still as it was last left: what somebody did to it since is
/// worth more than an undo.
pub(crate) fn restore(workspace: &Workspace, edits: &[FileEdit]) -> Vec<Arc<str>> {
    let restored = spans(edits).into_iter().filter(|span| restore_one(workspace, span).unwrap_or(false));
    restored.map(|span| span.path.clone()).collect()
}

fn restore_one(workspace: &Workspace, span: &Span<'_>) -> Result<bool, String> {
    let (Some(before), Some(after)) = (bytes(span.first), bytes(span.last)) else { return Ok(false) };
    // An edit is logged by where the file really was. A name that leads elsewhere by now, through a link that was put in
    // its way, is not that file.
    let place = workspace.place(span.path)?;
    if place.shown() != **span.path {
        return Ok(false);
    }
    // The edit was allowed when it was made; taking it back needs no more.
    let spot = workspace.spot(span.path, Access::Write, Required::DangerFullAccess)?;
    let (now, facts) = match spot.read_all(vocab::SNAPSHOT_BYTES_MAX as u64 + 1) {
        Ok((bytes, facts)) => (Some(bytes), Some(facts)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => (None, None),
        Err(error) => return Err(error.to_string()),
    };
    if now.as_deref() != after || before == after {
        return Ok(false);
    }
    match before {
        Some(bytes) => replace::stage(&spot, bytes, facts.as_ref()).and_then(replace::Staged::place),
        None => replace::remove(&spot),
    }
    .map_err(|error| error.to_string())?;
    Ok(true)
}
