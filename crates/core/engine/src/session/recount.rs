//! A run once more, for who has missed it: what the log has of it, and whether more will come.

use std::sync::Arc;

use vocab::{
    Body, Entry, Fault, FaultKind, ItemEnd, ItemId, KeptReply, NoteEntry, Principal, QueueEntry, Recounted, Reply,
    RunRef, Tag, TurnEntry, TurnId,
};

use super::Session;
use crate::outbox::Outbox;

impl Session {
    pub(super) fn recount(&mut self, outbox: &Arc<Outbox>, tag: Tag, of: RunRef) {
        let by = self.log.commands.acting().cloned();
        self.with_log(outbox, tag, 0, move |_, entries| {
            let found = recounted(&entries, &of, by.as_ref());
            found.map(|run| Reply::Recounted(Box::new(run))).ok_or_else(|| {
                let what = match &of {
                    RunRef::Turn(turn) => format!("no run `{turn}` in this session"),
                    RunRef::Key(key) => format!("no run with the key `{key}` in this session"),
                };
                Fault::new(FaultKind::NotFound, what)
            })
        });
    }
}

/// A key is its sender's own.
fn recounted(entries: &[Arc<Entry>], of: &RunRef, by: Option<&Principal>) -> Option<Recounted> {
    match of {
        RunRef::Turn(turn) => of_turn(entries, turn),
        RunRef::Key(key) => {
            let reply = entries.iter().rev().find_map(|entry| match &entry.body {
                Body::Note(NoteEntry::Keyed(keyed)) if keyed.key == *key && entry.by.as_ref() == by => {
                    Some(&keyed.reply)
                }
                _ => None,
            })?;
            match reply {
                KeptReply::Started { turn } => of_turn(entries, turn),
                KeptReply::Waiting { item, .. } => Some(of_item(entries, item)),
                KeptReply::Done | KeptReply::Interrupted { .. } | KeptReply::Queue(_) => None,
            }
        }
    }
}

fn of_turn(entries: &[Arc<Entry>], turn: &TurnId) -> Option<Recounted> {
    let is_start =
        |entry: &Arc<Entry>| matches!(&entry.body, Body::Turn(TurnEntry::Started { turn: it }) if it == turn);
    let is_end = |entry: &Arc<Entry>| matches!(&entry.body, Body::Turn(TurnEntry::Ended(end)) if end.turn == *turn);
    let run = &entries[entries.iter().rposition(is_start)?..];
    let end = run.iter().position(is_end);
    let run = end.map_or(run, |at| &run[..=at]);
    Some(Recounted { turn: Some(turn.clone()), item: None, ended: end.is_some(), entries: run.to_vec() })
}

/// The turn that took a message is the one that had begun when the message's end was logged.
fn of_item(entries: &[Arc<Entry>], item: &ItemId) -> Recounted {
    let end = entries.iter().enumerate().rev().find_map(|(at, entry)| match &entry.body {
        Body::Queue(QueueEntry::Settled { item: it, end, .. }) if it == item => Some((at, *end)),
        _ => None,
    });
    let unrun = |ended| Recounted { turn: None, item: Some(item.clone()), ended, entries: Vec::new() };
    let Some((at, ItemEnd::Consumed)) = end else { return unrun(end.is_some()) };
    let turn = entries[..at].iter().rev().find_map(|entry| match &entry.body {
        Body::Turn(TurnEntry::Started { turn }) => Some(turn),
        _ => None,
    });
    let run = turn.and_then(|turn| of_turn(entries, turn));
    run.map_or_else(|| unrun(true), |run| Recounted { item: Some(item.clone()), ..run })
}
