//! A new log from the beginning of another. Whatever the cut went through is closed, so that the copy is a log that a
//! session could have left behind: no open turn, no call without a result, no pointer to what is not there.

use std::collections::BTreeMap;
use std::sync::Arc;

use vocab::{
    Body, BranchEntry, CallEnd, CallEntry, CallId, Entry, ModelEntry, NoteEntry, QueueEntry, SessionId, SettingEntry,
    ShellEntry, Stop, Summary, TurnEnd, TurnEntry, TurnId, Usage,
};

use crate::session::turn::{INTERRUPTED, synthetic};

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
        child_of: None,
    };
    let mut copy = Copy::default();
    copy.add(now_ms, opened);
    let end = path.iter().position(|entry| Some(entry.seq) == at).unwrap_or(path.len());
    let mut kept = &path[..end];
    while let Some((last, rest)) = kept.split_last()
        && matches!(
            last.body,
            Body::Turn(TurnEntry::Started { .. } | TurnEntry::Taken { .. })
                | Body::Queue(QueueEntry::Settled { .. })
                | Body::Note(NoteEntry::Keyed(_))
        )
    {
        kept = rest;
    }
    for entry in kept {
        if let Some(body) = copy.body_of(entry) {
            // An undo in the middle of a turn left its end on the other branch.
            if matches!(body, Body::Turn(TurnEntry::Started { .. })) {
                copy.close(entry.at_ms);
            }
            let seq = copy.add(entry.at_ms, body);
            copy.new_seq.insert(entry.seq, seq);
        }
    }
    copy.close(now_ms);
    copy.name_again();
    copy.entries.into_iter().map(Arc::new).collect()
}

#[derive(Default)]
struct Copy {
    entries: Vec<Entry>,
    /// Where the entries of the old log are now.
    new_seq: BTreeMap<u64, u64>,
    open: Option<OpenTurn>,
}

/// The turn that the copy is in the middle of.
struct OpenTurn {
    turn: TurnId,
    calls: Vec<(CallId, Arc<str>)>,
    usage: Usage,
    mutations: Vec<(Arc<str>, Arc<str>)>,
}

impl Copy {
    fn add(&mut self, at_ms: i64, body: Body) -> u64 {
        self.follow(&body);
        let seq = self.entries.len() as u64 + 1;
        self.entries.push(Entry { seq, parent: seq - 1, at_ms, body, by: None });
        seq
    }

    /// What the copy has in this entry's place; `None`: nothing.
    fn body_of(&self, entry: &Entry) -> Option<Body> {
        Some(match &entry.body {
            Body::Opened { .. }
            | Body::Branch(BranchEntry::Moved { .. })
            | Body::Setting(SettingEntry::Title { .. }) => return None,
            // The session that asked a model, ran a command or put files back keeps the record of it.
            Body::Model(ModelEntry::Requested(_))
            | Body::Shell(ShellEntry::Started { .. } | ShellEntry::Called { .. } | ShellEntry::Returned(_))
            | Body::Turn(TurnEntry::Taken { .. })
            | Body::Branch(BranchEntry::Restored { .. }) => return None,
            // What people have waived, they have waived there.
            Body::Setting(SettingEntry::Elevated { .. }) => return None,
            Body::Queue(_) | Body::Ask(_) | Body::Note(NoteEntry::Keyed(_) | NoteEntry::Waived { .. }) => return None,
            Body::Branch(BranchEntry::Compacted(compaction)) => {
                let mut compaction = compaction.clone();
                compaction.first_kept = self.first_kept(compaction.first_kept);
                Body::Branch(BranchEntry::Compacted(compaction))
            }
            Body::Note(NoteEntry::Label { target, label }) => {
                Body::Note(NoteEntry::Label { target: *self.new_seq.get(target)?, label: label.clone() })
            }
            // The branch that was left is in the old log only.
            Body::Branch(BranchEntry::Summary { summary, .. }) => {
                Body::Branch(BranchEntry::Summary { from: None, summary: summary.clone() })
            }
            other => other.clone(),
        })
    }

    /// The copy of this entry, or of the first one behind it that was copied, or the compaction itself.
    fn first_kept(&self, old: u64) -> u64 {
        self.new_seq.range(old..).next().map_or(self.entries.len() as u64 + 1, |(_, new)| *new)
    }

    fn follow(&mut self, body: &Body) {
        match body {
            Body::Turn(TurnEntry::Started { turn }) => {
                let (calls, mutations) = (Vec::new(), Vec::new());
                self.open = Some(OpenTurn { turn: turn.clone(), calls, usage: Usage::default(), mutations });
            }
            Body::Turn(TurnEntry::Ended(_)) => self.open = None,
            Body::Assistant { message, .. } => {
                if let Some(open) = &mut self.open {
                    open.usage.add(&message.usage);
                    open.calls.extend(message.calls().map(|call| (call.id.clone(), call.name.clone())));
                }
            }
            Body::Model(ModelEntry::Spent { turn: Some(_), usage, .. }) => {
                if let Some(open) = &mut self.open {
                    open.usage.add(usage);
                }
            }
            Body::Call(CallEntry::Ended { result, .. }) => {
                if let Some(open) = &mut self.open {
                    open.calls.retain(|(id, _)| *id != result.call);
                    let changed = result.mutation.iter().map(|target| (result.tool.clone(), target.clone()));
                    open.mutations.extend(changed);
                }
            }
            _ => {}
        }
    }

    /// Ends the turn that the cut went through, as an interrupt would have.
    fn close(&mut self, now_ms: i64) {
        let Some(OpenTurn { turn, calls, usage, mutations }) = self.open.take() else { return };
        for (id, name) in calls {
            let tool = vocab::names::canonical(&name).map_or_else(|| name.clone(), Arc::from);
            let result = synthetic(id, tool, CallEnd::Interrupted, INTERRUPTED);
            self.add(now_ms, Body::Call(CallEntry::Ended { turn: turn.clone(), result }));
        }
        let stop = Stop::Interrupted;
        self.add(
            now_ms,
            Body::Turn(TurnEntry::Ended(TurnEnd { turn, stop, iterations: 0, usage, mutations, fault: None })),
        );
    }

    /// Names of another program's file stand before the entries they name, so they are set when all is copied.
    fn name_again(&mut self) {
        for entry in &mut self.entries {
            if let Body::Note(NoteEntry::Imported { file, names, raws }) = &mut entry.body {
                // The copy is not that file's session.
                *file = None;
                names.retain_mut(|(seq, _)| self.new_seq.get(seq).map(|new| *seq = *new).is_some());
                raws.retain_mut(|(seq, _)| self.new_seq.get(seq).map(|new| *seq = *new).is_some());
            }
        }
    }
}
