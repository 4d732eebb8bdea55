//! A file whose session is here already: which of both logs has more, or whether each went its own way. Pure.

use std::path::Path;
use std::sync::Arc;

use vocab::{
    Answer, AskEnd, AskEntry, Body, CallEnd, CallEntry, CallResult, Entry, FnvSum, ItemEnd, NoteEntry, QueueEntry,
    Scope, SessionId, SettingEntry, Stop, TurnEntry,
};

/// How a file stands to the log that we have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FileStanding {
    /// It says nothing that we do not have.
    Known,
    /// It begins as ours does and goes on behind it.
    Longer,
    /// An earlier copy of it ended in the middle of a turn, which we closed. The file knows how it went on, and nothing else was
    /// done here since.
    Finished,
    Diverged,
}

pub(crate) fn standing(ours: &[Arc<Entry>], theirs: &[Arc<Entry>]) -> FileStanding {
    let same = ours.iter().zip(theirs).take_while(|(ours, theirs)| is_same(ours, theirs)).count();
    match (&ours[same..], &theirs[same..]) {
        (_, []) => FileStanding::Known,
        ([], _) => FileStanding::Longer,
        (rest, _) if rest.iter().all(|entry| is_closing(&entry.body)) && ours.iter().all(|entry| is_of_file(entry)) => {
            FileStanding::Finished
        }
        _ => FileStanding::Diverged,
    }
}

/// What is written without anybody's doing when a log that ends in the middle of something is taken over or read.
fn is_closing(body: &Body) -> bool {
    match body {
        Body::Turn(TurnEntry::Ended(end)) => matches!(end.stop, Stop::Interrupted | Stop::Error),
        Body::Call(CallEntry::Ended { result, .. }) => result.end == CallEnd::Lost,
        Body::Ask(AskEntry::Closed { end, .. }) => *end == AskEnd::Withdrawn,
        Body::Queue(QueueEntry::Settled { end, .. }) => *end == ItemEnd::Dropped,
        Body::Note(NoteEntry::Recovered { .. }) => true,
        _ => false,
    }
}

/// Nobody did it here, and nothing of it can be taken back: a file brings neither.
fn is_of_file(entry: &Entry) -> bool {
    let has_edits = matches!(&entry.body, Body::Call(CallEntry::Ended { result, .. }) if !result.edits.is_empty());
    entry.by.is_none() && !has_edits
}

fn is_same(a: &Entry, b: &Entry) -> bool {
    (a.seq, a.parent, a.at_ms) == (b.seq, b.parent, b.at_ms) && is_same_body(&a.body, &b.body)
}

/// What a file may not decide was changed when it was taken over (`adopt::admitted`), so it says nothing here.
fn is_same_body(a: &Body, b: &Body) -> bool {
    let waits =
        |body: &Body| matches!(body, Body::Queue(QueueEntry::Queued(_)) | Body::Note(NoteEntry::Recovered { .. }));
    let keyed = |body: &Body| matches!(body, Body::Note(NoteEntry::Keyed(_) | NoteEntry::Label { .. }));
    match (a, b) {
        (Body::Opened { .. }, Body::Opened { .. }) => true,
        (Body::Setting(SettingEntry::Model { .. }), Body::Setting(SettingEntry::Model { .. })) => true,
        (
            Body::Call(CallEntry::Ended { turn, result }),
            Body::Call(CallEntry::Ended { turn: other_turn, result: other }),
        ) => {
            let said = |result: &CallResult| CallResult { edits: Vec::new(), ..result.clone() };
            turn == other_turn && said(result) == said(other)
        }
        (Body::Ask(AskEntry::Closed { ask, end: one }), Body::Ask(AskEntry::Closed { ask: other_ask, end: other })) => {
            ask == other_ask && once(one) == once(other)
        }
        _ => a == b || (waits(a) && waits(b)) || (keyed(a) && keyed(b)),
    }
}

/// What is allowed for good here is allowed once where the file is taken over.
fn once(end: &AskEnd) -> AskEnd {
    match end {
        AskEnd::Answered { answer: Answer::Allow(_), by } => {
            AskEnd::Answered { answer: Answer::Allow(Scope::Once), by: by.clone() }
        }
        other => other.clone(),
    }
}

/// The id under which a file's session is kept. One that commands could not name, or that is no id but a word or a path,
/// is not taken from a file; the same file gets the same one again.
pub(crate) fn own_id(named: SessionId, file: &Path) -> SessionId {
    match named.is_plain() {
        true => named,
        false => SessionId::from(format!("file-{:016x}", hash(&[named.as_str(), &place(file)]))),
    }
}

/// The id of a file that has gone its own way.
pub(crate) fn copy_id(id: &SessionId, file: &Path) -> SessionId {
    SessionId::from(format!("{id}-{:08x}", hash(&[&place(file)]) as u32))
}

fn place(file: &Path) -> String {
    file.canonicalize().unwrap_or_else(|_| file.to_owned()).display().to_string()
}

/// Nothing rests on it but that two files seldom share an id, and then their logs are compared.
fn hash(parts: &[&str]) -> u64 {
    let mut sum = FnvSum::default();
    for part in parts {
        sum.take(part.as_bytes());
        sum.take(&[0]);
    }
    sum.value()
}
