//! A new log from the beginning of another.

use std::collections::HashMap;
use std::sync::Arc;

use vocab::{Body, Entry, SessionId, Summary};

/// Everything on `path` before the user message `at` (or everything), renumbered without gaps. The turn that `at` began
/// is left out whole, and so are waiting items and questions: they belong to the old session.
pub(crate) fn copy(
    path: &[Arc<Entry>],
    at: Option<u64>,
    from: &SessionId,
    summary: &Summary,
    now_ms: i64,
) -> Vec<Arc<Entry>> {
    let last = path.last().map_or(0, |entry| entry.seq);
    let opened = Body::Opened {
        workspace: summary.workspace.clone(),
        model: summary.model.clone(),
        mode: summary.mode,
        forked_from: Some((from.clone(), at.unwrap_or(last + 1))),
    };
    let mut copied = vec![Arc::new(Entry { seq: 1, parent: 0, at_ms: now_ms, body: opened })];
    let mut new_seq = HashMap::new();
    let end = path.iter().position(|entry| Some(entry.seq) == at).unwrap_or(path.len());
    let mut kept: Vec<&Arc<Entry>> = path[..end].iter().collect();
    while let Some(Body::TurnStarted { .. } | Body::Settled { .. }) = kept.last().map(|entry| &entry.body) {
        kept.pop();
    }
    for entry in kept {
        let body = match &entry.body {
            Body::Opened { .. } | Body::Moved { .. } | Body::Title { .. } => continue,
            Body::Queued(_) | Body::Settled { .. } | Body::AskOpened(_) | Body::AskClosed { .. } => continue,
            Body::Compacted(compaction) => {
                let mut compaction = compaction.clone();
                compaction.first_kept = new_seq.get(&compaction.first_kept).copied().unwrap_or(compaction.first_kept);
                Body::Compacted(compaction)
            }
            Body::BranchSummary { summary, .. } => Body::BranchSummary { from: None, summary: summary.clone() },
            other => other.clone(),
        };
        let seq = copied.len() as u64 + 1;
        new_seq.insert(entry.seq, seq);
        copied.push(Arc::new(Entry { seq, parent: seq - 1, at_ms: entry.at_ms, body }));
    }
    for entry in &mut copied {
        renumber(Arc::make_mut(entry), &new_seq);
    }
    copied
}

/// What points at entries points at the copies; what points at nothing copied is dropped.
fn renumber(entry: &mut Entry, new_seq: &HashMap<u64, u64>) {
    match &mut entry.body {
        Body::Imported { names } => {
            names.retain_mut(|(seq, _)| new_seq.get(seq).map(|new| *seq = *new).is_some());
        }
        Body::Label { target, .. } => *target = new_seq.get(target).copied().unwrap_or(0),
        _ => {}
    }
}
