//! How much a peer that stopped reading has made somebody keep.

use vocab::{Body, CallEntry, Delta, Entry, Event, Part, Reply, ShellEntry, Told};

/// What an event weighs besides its text.
const EVENT_BYTES: usize = 96;

/// What may wait for a peer beside the largest single thing that was said to it: twice the outbox's own bound, because
/// the event that reaches it is taken whole.
const WAITING_BYTES_MAX: usize = 2 * engine::OUTBOX_BYTES_MAX;

pub(super) fn check(told: &[Told]) -> Result<(), String> {
    let weights = || told.iter().map(|told| weigh(&told.event));
    let (all, largest) = (weights().sum::<usize>(), weights().max().unwrap_or(0));
    match all <= WAITING_BYTES_MAX + largest {
        true => Ok(()),
        false => Err(format!("{} events of {all} bytes waited for a reader that had stopped", told.len())),
    }
}

fn weigh(event: &Event) -> usize {
    EVENT_BYTES
        + match event {
            Event::Logged(entry) => of_entry(entry),
            Event::Reply { result: Ok(Reply::Entries(entries)), .. } => entries.iter().map(|it| of_entry(it)).sum(),
            Event::Reply { result: Ok(Reply::Shell(shell)), .. } => shell.output.len(),
            Event::Delta(Delta::Text { delta, .. })
            | Event::Delta(Delta::Thinking { delta, .. })
            | Event::Delta(Delta::CallInput { delta, .. }) => delta.len(),
            _ => 0,
        }
}

fn of_entry(entry: &Entry) -> usize {
    let text = |parts: &[Part]| vocab::parts_text(parts).len();
    EVENT_BYTES
        + match &entry.body {
            Body::User { parts, .. } => text(parts),
            Body::Assistant { message, .. } => message.text().len(),
            Body::Call(CallEntry::Ended { result, .. }) => text(&result.parts),
            Body::Shell(ShellEntry::Ended(shell)) => shell.output.len(),
            _ => 0,
        }
}
