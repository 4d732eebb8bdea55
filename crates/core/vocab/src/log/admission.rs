//! What a file may bring into a log: the text of a conversation, and nothing that acts or chooses later. Every kind of entry has
//! its answer here, so that a new one cannot come in unjudged. Pure.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crate::{
    Body, Border, BranchEntry, CallEntry, CallResult, Entry, ItemId, Mode, ModelEntry, NoteEntry, Principal,
    QueueEntry, SettingEntry, Shell, ShellEntry, Stop, Totals, TurnEnd, TurnEntry,
};

/// Stands where a message waited in a file: it is the word of the file's author, not of the user who opens it.
const NOT_SAID: &str = "a message that waited in the session file was not taken over";

/// Who opens a file, and what it may decide. What is read from any file passes here before it enters a log.
#[derive(Clone)]
pub struct Admission<'a> {
    /// Judges models and directories; `None`: they are as the file has them.
    pub border: Option<&'a dyn Border>,
    pub file: &'a Path,
    /// Of a session that begins with the file: today's.
    pub mode: Mode,
    /// Whose doing it is that the file comes in, and when. What is in it is nobody's.
    pub by: Option<(Principal, i64)>,
}

impl Admission<'_> {
    /// The entries of a file, or those that it adds to a log. Their number and order stay, since others point at them; one that
    /// a file may not bring becomes one that says nothing. A turn that they leave open is over: an end for it comes last.
    pub fn of(&self, entries: Vec<Arc<Entry>>) -> Vec<Arc<Entry>> {
        let waiting = waiting(&entries);
        let mut model = None;
        let admit = |entry: Arc<Entry>| {
            let body = match &entry.body {
                Body::Queue(QueueEntry::Queued(item)) if waiting.get(&item.id) == Some(&entry.seq) => {
                    Body::Note(NoteEntry::Recovered { text: NOT_SAID.into() })
                }
                body => self.body(entry.seq, body, &mut model),
            };
            let (by, at_ms) = match &self.by {
                Some((by, at_ms)) if entry.seq == 1 => (Some(by.clone()), *at_ms),
                _ => (None, entry.at_ms),
            };
            Arc::new(Entry { body, by, at_ms, seq: entry.seq, parent: entry.parent })
        };
        let mut admitted: Vec<Arc<Entry>> = entries.into_iter().map(admit).collect();
        admitted.extend(end_of_open_turn(&admitted));
        admitted
    }

    /// `model`: the newest one that was taken from the file.
    fn body(&self, seq: u64, body: &Body, model: &mut Option<Arc<str>>) -> Body {
        match body {
            // The directory is another machine's as often as not, so one outside of ours becomes ours.
            Body::Opened { workspace, model: named, .. } if seq == 1 => Body::Opened {
                workspace: match self.border {
                    Some(border) => border.workspace(workspace).unwrap_or_else(|_| border.here().to_owned()),
                    None => workspace.clone(),
                },
                model: self.model(named, model),
                mode: self.mode,
                forked_from: None,
                child_of: None,
            },
            // What a name stands for where the file comes from, it need not stand for here.
            Body::Setting(SettingEntry::Model { model: named, .. }) => {
                Body::Setting(SettingEntry::Model { model: self.model(named, model), called: None })
            }
            // Which file a session is kept in step with is our own word.
            Body::Note(NoteEntry::Imported { file, .. }) if file.as_deref() == Some(self.file) => body.clone(),
            body => brought_text(body).unwrap_or_else(|| nothing(seq)),
        }
    }

    fn model(&self, named: &Arc<str>, newest: &mut Option<Arc<str>>) -> Arc<str> {
        let Some(border) = self.border else { return named.clone() };
        let own = border.own_model();
        if *named == own || border.admits(self.file, named) {
            *newest = Some(named.clone());
        }
        newest.clone().unwrap_or(own)
    }
}

/// What an entry says without anything that a file may not decide; `None`: nothing is left of it.
pub fn brought_text(body: &Body) -> Option<Body> {
    Some(match body {
        Body::User { .. }
        | Body::Assistant { .. }
        | Body::Turn(TurnEntry::Started { .. } | TurnEntry::Cut { .. } | TurnEntry::Ended(_)) => body.clone(),
        Body::Call(CallEntry::Started { .. }) => body.clone(),
        // What the file says it changed would be put "back" by an undo, wherever it says.
        Body::Call(CallEntry::Ended { turn, result }) => {
            let result = CallResult { edits: Vec::new(), ..result.clone() };
            Body::Call(CallEntry::Ended { turn: turn.clone(), result })
        }
        Body::Model(
            ModelEntry::Requested(_) | ModelEntry::Retrying { .. } | ModelEntry::FellBack(_) | ModelEntry::Spent { .. },
        ) => body.clone(),
        Body::Branch(
            BranchEntry::Compacted(_)
            | BranchEntry::Moved { .. }
            | BranchEntry::Restored { .. }
            | BranchEntry::Summary { .. },
        ) => body.clone(),
        // A level of thinking acts on nothing; which model thinks is the border's to say.
        Body::Setting(SettingEntry::Title { .. } | SettingEntry::Thinking { .. } | SettingEntry::Model { .. }) => {
            body.clone()
        }
        // A place on this machine is not the file's to name.
        Body::Shell(ShellEntry::Ended(shell)) => {
            Body::Shell(ShellEntry::Ended(Shell { spilled: None, ..shell.clone() }))
        }
        Body::Note(NoteEntry::Imported { names, raws, .. }) => {
            Body::Note(NoteEntry::Imported { file: None, names: names.clone(), raws: raws.clone() })
        }
        Body::Note(NoteEntry::Label { .. } | NoteEntry::Recovered { .. }) => body.clone(),
        // A second beginning; questions and what was allowed; what waits and what became of it; how the session behaves; tasks
        // that we would remind the model of in our own name; a command that never ended, and a tool that was called by
        // hand; answers to commands that nobody has sent us, and traces of them.
        Body::Opened { .. }
        | Body::Ask(_)
        | Body::Queue(_)
        | Body::Setting(
            SettingEntry::Mode { .. }
            | SettingEntry::Gadgets { .. }
            | SettingEntry::Lane { .. }
            | SettingEntry::Elevated { .. }
            | SettingEntry::Todos { .. },
        )
        | Body::Turn(TurnEntry::Taken { .. })
        | Body::Shell(ShellEntry::Started { .. } | ShellEntry::Called { .. } | ShellEntry::Returned(_))
        | Body::Note(NoteEntry::Keyed(_) | NoteEntry::Waived { .. }) => return None,
    })
}

/// Stands in the place of what a file may not bring.
fn nothing(seq: u64) -> Body {
    Body::Note(NoteEntry::Label { target: seq, label: None })
}

/// The messages that would still wait if the log were gone on with, by the entry that is the newest of each.
fn waiting(entries: &[Arc<Entry>]) -> HashMap<ItemId, u64> {
    let mut waiting = HashMap::new();
    for entry in entries {
        match &entry.body {
            Body::Queue(QueueEntry::Queued(item)) => _ = waiting.insert(item.id.clone(), entry.seq),
            Body::Queue(QueueEntry::Settled { item, .. }) => _ = waiting.remove(item),
            _ => {}
        }
    }
    waiting
}

/// The end of the turn that the file has none for. Its calls get their results when the session is read.
fn end_of_open_turn(entries: &[Arc<Entry>]) -> Option<Arc<Entry>> {
    let last = entries.last()?;
    let turn = entries.iter().rev().find_map(|entry| match &entry.body {
        Body::Turn(TurnEntry::Started { turn }) => Some(Some(turn.clone())),
        Body::Turn(TurnEntry::Ended(_)) => Some(None),
        _ => None,
    })??;
    let usage = Totals::of(entries).open_usage();
    let end = TurnEnd { turn, stop: Stop::Interrupted, iterations: 0, usage, mutations: Vec::new(), fault: None };
    let body = Body::Turn(TurnEntry::Ended(end));
    Some(Arc::new(Entry { seq: last.seq + 1, parent: last.seq, at_ms: last.at_ms, by: None, body }))
}
