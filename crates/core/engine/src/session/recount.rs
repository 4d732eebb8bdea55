//! A run once more, for who has missed it: what the log has of it, and whether more will come.
//!
//! The log is read from its end, in pages, as far back as the run goes: what is asked for is nearly always what happened last.
//! Of what is read only the run is kept.

use std::sync::Arc;

use vocab::{
    Body, Entry, Event, Fault, FaultKind, ItemEnd, ItemId, KeptReply, NoteEntry, Principal, QueueEntry, Recounted,
    Reply, RunRef, SettleReason, Tag, TurnEntry, TurnId,
};

use super::{Session, later};
use crate::outbox::Outbox;

impl Session {
    pub(super) fn recount(&mut self, outbox: &Arc<Outbox>, tag: Tag, of: RunRef) {
        let search = RunSearch::new(of, self.log.commands.acting().cloned());
        if self.log.last_seq() == 0 {
            return self.log.reply(outbox.clone(), Event::Reply { tag, result: search.reply() });
        }
        let (store, id, upto) = (self.shared.ports.store.clone(), self.id.clone(), self.log.last_seq());
        self.job_when_written(outbox, tag, move || later::recounted(store, id, search, upto));
    }
}

/// Finds a run in entries that come in their order, and keeps no other.
#[derive(Clone)]
pub(super) struct RunSearch {
    of: RunRef,
    /// A key is its sender's own.
    by: Option<Principal>,
    /// The last entry that was looked at.
    pub(super) read: u64,
    /// The turn that began last.
    latest: Option<FoundRun>,
    /// The wanted one, where another has begun since.
    wanted: Option<FoundRun>,
    /// What the wanted turn is called, once that is known.
    turn: Option<TurnId>,
    /// The message that the key stands for, and how it ended.
    item: Option<(ItemId, Option<SettledItem>)>,
}

/// How a message ended that waited, and why.
type SettledItem = (ItemEnd, Option<SettleReason>);

#[derive(Clone)]
struct FoundRun {
    turn: TurnId,
    entries: Vec<Arc<Entry>>,
    ended: bool,
}

impl RunSearch {
    fn new(of: RunRef, by: Option<Principal>) -> Self {
        let turn = match &of {
            RunRef::Turn(turn) => Some(turn.clone()),
            RunRef::Key(_) => None,
        };
        Self { of, by, read: 0, latest: None, wanted: None, turn, item: None }
    }

    /// The same search, from behind this entry on.
    pub(super) fn anew(&self, after: u64) -> Self {
        Self { read: after, ..Self::new(self.of.clone(), self.by.clone()) }
    }

    pub(super) fn take(&mut self, entry: &Arc<Entry>) {
        self.read = entry.seq;
        if let Body::Turn(TurnEntry::Started { turn }) = &entry.body {
            let before = self.latest.replace(FoundRun { turn: turn.clone(), entries: Vec::new(), ended: false });
            if before.as_ref().map(|run| &run.turn) == self.turn.as_ref() {
                self.wanted = before.or(self.wanted.take());
            }
        }
        if let Some(run) = self.latest.as_mut().filter(|run| !run.ended) {
            run.entries.push(entry.clone());
            run.ended = matches!(&entry.body, Body::Turn(TurnEntry::Ended(end)) if end.turn == run.turn);
        }
        match (&entry.body, &self.of) {
            (Body::Note(NoteEntry::Keyed(keyed)), RunRef::Key(key)) if keyed.key == *key && entry.by == self.by => {
                (self.turn, self.item, self.wanted) = (None, None, None);
                match &keyed.reply {
                    KeptReply::Started { turn } => self.turn = Some(turn.clone()),
                    KeptReply::Waiting { item, .. } => self.item = Some((item.clone(), None)),
                    KeptReply::Done | KeptReply::Interrupted { .. } | KeptReply::Queue(_) => {}
                }
            }
            (Body::Queue(QueueEntry::Settled { item, end, why }), _) => {
                if let Some(known) = self.item.as_mut().filter(|known| known.0 == *item) {
                    known.1 = Some((*end, *why));
                    // The turn that took it is the one that had begun.
                    let latest = self.latest.as_ref().filter(|_| *end == ItemEnd::Consumed);
                    self.turn = latest.map(|run| run.turn.clone());
                }
            }
            _ => {}
        }
    }

    fn run(&self) -> Option<&FoundRun> {
        let is_it = |run: &&FoundRun| Some(&run.turn) == self.turn.as_ref();
        self.latest.as_ref().filter(is_it).or(self.wanted.as_ref().filter(is_it))
    }

    /// Nothing older could change the answer.
    pub(super) fn is_found(&self) -> bool {
        match &self.item {
            Some((_, Some((ItemEnd::Consumed, _)))) => self.run().is_some(),
            Some(_) => true,
            None => self.run().is_some(),
        }
    }

    pub(super) fn reply(self) -> Result<Reply, Fault> {
        let run = self.run().cloned();
        let item = self.item.as_ref().map(|(item, _)| item.clone());
        let settled = self.item.as_ref().and_then(|(_, end)| end.and_then(|(_, why)| why));
        let found = match (run, self.item) {
            (Some(FoundRun { turn, entries, ended }), _) => {
                Recounted { turn: Some(turn), item, settled, ended, entries }
            }
            (None, Some((_, end))) => {
                Recounted { turn: None, item, settled, ended: end.is_some(), entries: Vec::new() }
            }
            (None, None) => {
                let what = match &self.of {
                    RunRef::Turn(turn) => format!("no run `{turn}` in this session"),
                    RunRef::Key(key) => format!("no run with the key `{key}` in this session"),
                };
                return Err(Fault::new(FaultKind::NotFound, what));
            }
        };
        Ok(Reply::Recounted(Box::new(found)))
    }
}
