//! A file whose session is here already: which of both logs has more, or whether each went its own way. Pure.

use std::path::Path;
use std::sync::Arc;

use vocab::{
    AskEnd, AskEntry, Body, CallEnd, CallEntry, Entry, FnvSum, ItemEnd, NoteEntry, QueueEntry, SessionId, SettingEntry,
    Stop, TurnEntry, brought_text,
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
        ([], _) if is_of_file(ours) || goes_on_behind(ours, theirs) => FileStanding::Longer,
        ([], _) => FileStanding::Diverged,
        (rest, _) if rest.iter().all(|entry| is_closing(&entry.body)) && is_of_file(ours) => FileStanding::Finished,
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

/// Nobody has done anything here but to open a file, and nothing of it can be taken back: a file brings neither.
fn is_of_file(log: &[Arc<Entry>]) -> bool {
    let has_edits =
        |body: &Body| matches!(body, Body::Call(CallEntry::Ended { result, .. }) if !result.edits.is_empty());
    log.iter().all(|entry| (entry.by.is_none() || entry.seq == 1) && !has_edits(&entry.body))
}

/// Whether what the file has more stands behind everything that counts in our log. A branch that leaves some of it behind is not
/// a file's to take in a session of the user's own.
fn goes_on_behind(ours: &[Arc<Entry>], theirs: &[Arc<Entry>]) -> bool {
    ours.last().is_none_or(|last| vocab::active_path(theirs).iter().any(|entry| entry.seq == last.seq))
}

fn is_same(ours: &Entry, theirs: &Entry) -> bool {
    // The beginning is dated by when the file was opened.
    let is_dated = ours.at_ms == theirs.at_ms || ours.seq == 1;
    (ours.seq, ours.parent) == (theirs.seq, theirs.parent) && is_dated && is_same_body(&ours.body, &theirs.body)
}

/// What a file may not decide was changed when it was taken over ([`vocab::Admission`]), so it says nothing here.
fn is_same_body(ours: &Body, theirs: &Body) -> bool {
    let says_nothing = |body: &Body| matches!(body, Body::Note(NoteEntry::Label { .. } | NoteEntry::Recovered { .. }));
    match (ours, theirs) {
        (Body::Opened { .. }, Body::Opened { .. }) => true,
        (Body::Setting(SettingEntry::Model { .. }), Body::Setting(SettingEntry::Model { .. })) => true,
        _ => match (brought_text(ours), brought_text(theirs)) {
            (None, None) => true,
            (Some(ours), None) => says_nothing(&ours),
            (None, Some(theirs)) => says_nothing(&theirs),
            (ours, theirs) => ours == theirs,
        },
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
