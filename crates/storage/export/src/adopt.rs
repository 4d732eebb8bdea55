//! A file that came from elsewhere becomes a session: its text is taken over, its decisions are not.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use vocab::{
    Answer, AskEnd, AskEntry, Body, Border, CallEntry, CallResult, Durability, Entry, Fault, FaultKind, NewSession,
    NoteEntry, QueueEntry, Scope, SessionId, SettingEntry, Stop, Store, TurnEnd, TurnEntry,
};

/// The entries with nothing in them that a file may not decide. Their number and order stay: others point at them. The
/// directory is another machine's as often as not, so one outside of ours becomes ours. What waits to be said is the
/// word of the file's author, not of the user who opens it. So is what was allowed for good, and a turn that the file ends in
/// the middle of is over: nothing goes on because a file says so.
pub(crate) fn admitted(entries: Vec<Arc<Entry>>, border: &dyn Border, file: &Path) -> Vec<Arc<Entry>> {
    let settled = entries.iter().filter_map(|entry| match &entry.body {
        Body::Queue(QueueEntry::Settled { item, .. }) => Some(item.clone()),
        _ => None,
    });
    let settled: HashSet<_> = settled.collect();
    let mut model: Option<Arc<str>> = None;
    let mut judge = |slug: &Arc<str>| {
        if border.admits(file, slug) {
            model = Some(slug.clone());
        }
        model.clone().unwrap_or_else(|| border.own_model())
    };
    let admit = |entry: Arc<Entry>| {
        let body = match &entry.body {
            Body::Opened { workspace, model, mode, forked_from, child_of } => Body::Opened {
                workspace: border.workspace(workspace).unwrap_or_else(|_| border.here().to_owned()),
                model: judge(model),
                mode: *mode,
                forked_from: forked_from.clone(),
                child_of: child_of.clone(),
            },
            Body::Setting(SettingEntry::Model { model }) => Body::Setting(SettingEntry::Model { model: judge(model) }),
            // What the file says it changed would be put "back" by an undo, wherever it says.
            Body::Call(CallEntry::Ended { turn, result }) if !result.edits.is_empty() => {
                let result = CallResult { edits: Vec::new(), ..result.clone() };
                Body::Call(CallEntry::Ended { turn: turn.clone(), result })
            }
            Body::Ask(AskEntry::Closed {
                ask,
                end: AskEnd::Answered { answer: Answer::Allow(Scope::Session), by },
            }) => {
                let end = AskEnd::Answered { answer: Answer::Allow(Scope::Once), by: by.clone() };
                Body::Ask(AskEntry::Closed { ask: ask.clone(), end })
            }
            Body::Queue(QueueEntry::Queued(item)) if !settled.contains(&item.id) => Body::Note(NoteEntry::Recovered {
                text: "a message that waited in the session file was not taken over".into(),
            }),
            // Nobody has sent us the command that it answers.
            Body::Note(NoteEntry::Keyed(_)) => Body::Note(NoteEntry::Label { target: entry.seq, label: None }),
            _ => return entry,
        };
        Arc::new(Entry { body, seq: entry.seq, parent: entry.parent, at_ms: entry.at_ms, by: None })
    };
    let mut admitted: Vec<Arc<Entry>> = entries.into_iter().map(admit).collect();
    admitted.extend(ended(&admitted));
    admitted
}

/// The end of the turn that the file has none for. Its calls get their results when the session is read.
fn ended(entries: &[Arc<Entry>]) -> Option<Arc<Entry>> {
    let last = entries.last()?;
    let turn = entries.iter().rev().find_map(|entry| match &entry.body {
        Body::Turn(TurnEntry::Started { turn }) => Some(Some(turn.clone())),
        Body::Turn(TurnEntry::Ended(_)) => Some(None),
        _ => None,
    })??;
    let usage = vocab::Totals::of(entries).open_usage();
    let end = TurnEnd { turn, stop: Stop::Interrupted, iterations: 0, usage, mutations: Vec::new(), fault: None };
    let body = Body::Turn(TurnEntry::Ended(end));
    Some(Arc::new(Entry { seq: last.seq + 1, parent: last.seq, at_ms: last.at_ms, by: None, body }))
}

/// Makes a session of the entries.
pub(crate) async fn adopt(
    store: &dyn Store,
    file: &Path,
    id: &SessionId,
    entries: Vec<Arc<Entry>>,
) -> Result<(), Fault> {
    let Some(Body::Opened { workspace, model, mode, .. }) = entries.first().map(|entry| &entry.body) else {
        return Err(Fault::new(FaultKind::Store, format!("{} holds no session", file.display())));
    };
    let new = NewSession {
        id: id.clone(),
        workspace: workspace.clone(),
        model: model.clone(),
        mode: *mode,
        at_ms: entries[0].at_ms,
        parent: None,
    };
    let lease = store.create(new);
    let appended = store.append(&lease, entries, Durability::Now).await;
    store.release(lease).await?;
    appended
}
