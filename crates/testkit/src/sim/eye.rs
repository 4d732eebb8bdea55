//! One peer of the simulation: what it sent, what it was told, and whether that fits together.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::Peer;
use vocab::{Body, Command, Entry, Event, ItemId, Reply, Tag, Target, Told, TurnId, Verb};

use super::log::turn_of;
use super::stored;

pub(super) enum Seen {
    Sent { tag: Tag, open: Option<Option<u64>>, leave: bool },
    Told(Told),
}

pub(super) struct Eye {
    pub(super) name: usize,
    pub(super) peer: Option<Peer>,
    pub(super) seen: Vec<Seen>,
    /// It stayed until the engine had come to rest: nothing that is owed to it may be missing.
    pub(super) saw_the_end: bool,
    /// Items waiting when it saw the end.
    pub(super) listed: HashSet<ItemId>,
    tag: u64,
}

impl Eye {
    pub(super) fn new(name: usize, peer: Peer) -> Self {
        Self { name, peer: Some(peer), seen: Vec::new(), saw_the_end: false, listed: HashSet::new(), tag: 0 }
    }

    /// `None` when the engine does not take it now.
    pub(super) fn send(&mut self, verb: Verb) -> Option<Tag> {
        let peer = self.peer.as_ref()?;
        let tag = Tag(self.tag + 1);
        let open = match &verb {
            Verb::Open(open) => Some(open.after),
            _ => None,
        };
        let leave = verb == Verb::Leave;
        peer.try_submit(Command { tag, target: Target::Current, verb }).ok()?;
        self.tag += 1;
        self.seen.push(Seen::Sent { tag, open, leave });
        Some(tag)
    }

    /// Takes what is there.
    pub(super) async fn drain(&mut self) -> Vec<Told> {
        let mut told = Vec::new();
        if let Some(peer) = &self.peer {
            let _ = tokio::time::timeout(std::time::Duration::ZERO, peer.events(&mut told)).await;
        }
        self.seen.extend(told.iter().cloned().map(Seen::Told));
        told
    }

    pub(super) fn result_of(&self, tag: Tag) -> Option<&Result<Reply, vocab::Fault>> {
        self.seen.iter().rev().find_map(|seen| match seen {
            Seen::Told(Told { event: Event::Reply { tag: got, result }, .. }) if *got == tag => Some(result),
            _ => None,
        })
    }

    /// How this turn was told to have ended.
    pub(super) fn turn_end(&self, turn: &TurnId) -> Option<vocab::Stop> {
        self.seen.iter().find_map(|seen| match seen {
            Seen::Told(Told { event: Event::Logged(entry), .. }) => match &entry.body {
                Body::TurnEnded(end) if end.turn == *turn => Some(end.stop),
                _ => None,
            },
            _ => None,
        })
    }

    /// Holds everything told against the log. Returns how many turns were told as lost.
    pub(super) fn check(&self, entries: &[Arc<Entry>]) -> Result<u64, String> {
        let mut view = View { entries, ..View::default() };
        for seen in &self.seen {
            view.take(seen)?;
        }
        for (tag, sent) in &view.sent {
            if sent.replies > 1 || self.saw_the_end && sent.replies == 0 {
                return Err(format!("command {} got {} replies", tag.0, sent.replies));
            }
        }
        for (item, ends) in &view.items {
            let listed = self.listed.contains(item);
            if *ends > 1 || self.saw_the_end && view.never_left && *ends + u32::from(listed) != 1 {
                return Err(format!("item {item} was told to have ended {ends} times; still listed: {listed}"));
            }
        }
        Ok(view.lost)
    }
}

#[derive(Default)]
struct Sent {
    open: Option<Option<u64>>,
    leave: bool,
    replies: u32,
}

/// Where the next log entry has to continue.
#[derive(Clone, Copy, PartialEq, Default)]
enum Place {
    #[default]
    Away,
    /// Live from here on; open questions before that may be shown again first.
    Joined { last_seq: u64 },
    /// This one comes next.
    Next(u64),
}

#[derive(Default)]
struct View<'a> {
    entries: &'a [Arc<Entry>],
    sent: HashMap<Tag, Sent>,
    place: Place,
    never_left: bool,
    items: HashMap<ItemId, u32>,
    ended: HashSet<TurnId>,
    lost_turns: HashSet<TurnId>,
    lost: u64,
    text: String,
    /// The running reply was seen from its start.
    whole: bool,
    /// Not while reading the past: that has the messages, not the deltas they were made of.
    live: bool,
    /// Told to have begun and not yet how it came out.
    retrying: bool,
    compacting: bool,
}

impl View<'_> {
    fn take(&mut self, seen: &Seen) -> Result<(), String> {
        match seen {
            Seen::Sent { tag, open, leave } => {
                self.never_left = if self.sent.is_empty() { true } else { self.never_left && !leave && open.is_none() };
                self.sent.insert(*tag, Sent { open: *open, leave: *leave, replies: 0 });
                Ok(())
            }
            Seen::Told(told) => self.told(&told.event),
        }
    }

    fn told(&mut self, event: &Event) -> Result<(), String> {
        if let Event::Reply { tag, result } = event {
            return self.reply(*tag, result);
        }
        if self.place == Place::Away {
            return Ok(());
        }
        if let Some(turn) = live_turn(event)
            && (self.ended.contains(turn) || self.lost_turns.contains(turn))
        {
            return Err(format!("told of turn {turn} after its end: {event:?}"));
        }
        match event {
            Event::Logged(entry) => self.logged(entry)?,
            Event::Text { delta, .. } => self.text.push_str(delta),
            Event::TurnLost(end) => {
                self.lost += 1;
                if self.ended.contains(&end.turn) || !self.lost_turns.insert(end.turn.clone()) {
                    return Err(format!("turn {} was told to be over twice", end.turn));
                }
                self.text.clear();
                self.whole = true;
                self.retrying = false;
                self.compacting = false;
            }
            Event::ItemEnded { item, .. } => match self.items.get_mut(item) {
                Some(ends) => *ends += 1,
                None => return Err(format!("item {item} ended and was never told to wait")),
            },
            Event::RetryEnded { .. } => self.retrying = false,
            Event::CompactionStarted { .. } if std::mem::replace(&mut self.compacting, true) => {
                return Err("a compaction starts while another runs".into());
            }
            Event::CompactionFailed { .. } => self.compacting = false,
            Event::Live { .. } => {
                self.text.clear();
                self.whole = false;
                self.live = true;
            }
            Event::Gone { .. } => self.place = Place::Away,
            _ => {}
        }
        Ok(())
    }

    fn reply(&mut self, tag: Tag, result: &Result<Reply, vocab::Fault>) -> Result<(), String> {
        let Some(sent) = self.sent.get_mut(&tag) else { return Err(format!("a reply to {}, never sent", tag.0)) };
        sent.replies += 1;
        match (result, sent.open) {
            (Ok(Reply::Opened(opened)), Some(after)) => {
                self.place = match after {
                    Some(after) => Place::Next(after + 1),
                    None => Place::Joined { last_seq: opened.state.last_seq },
                };
                self.text.clear();
                self.whole = false;
                self.live = after.is_none();
                self.ended.clear();
                self.lost_turns.clear();
                self.retrying = false;
                self.compacting = false;
            }
            (Ok(Reply::Waiting { item, .. }), _) => {
                self.items.insert(item.clone(), 0);
            }
            (Ok(_), _) if sent.leave => self.place = Place::Away,
            _ => {}
        }
        Ok(())
    }

    fn logged(&mut self, entry: &Arc<Entry>) -> Result<(), String> {
        let known = self.entries.get(entry.seq as usize - 1);
        if known.is_none_or(|known| stored(known) != stored(entry)) {
            return Err(format!("told entry {} is not what the store has: {entry:?} / {known:?}", entry.seq));
        }
        match self.place {
            Place::Joined { last_seq } if entry.seq <= last_seq => {
                if !matches!(entry.body, Body::AskOpened(_)) {
                    return Err(format!("told entry {} after joining at {last_seq}", entry.seq));
                }
                return Ok(());
            }
            Place::Joined { last_seq } if entry.seq != last_seq + 1 => {
                return Err(format!("joined at {last_seq}, then told entry {}", entry.seq));
            }
            Place::Next(next) if entry.seq != next => {
                return Err(format!("told entry {} where {next} was due", entry.seq));
            }
            Place::Joined { .. } | Place::Next(_) | Place::Away => self.place = Place::Next(entry.seq + 1),
        }
        if let Some(turn) = turn_of(&entry.body).filter(|turn| self.ended.contains(*turn)) {
            return Err(format!("entry {} belongs to turn {turn}, which is over", entry.seq));
        }
        match &entry.body {
            Body::TurnStarted { .. } => {
                self.text.clear();
                self.whole = true;
            }
            Body::Assistant { message, .. } => {
                let said = message.text();
                let fits = if self.whole { said == self.text } else { said.ends_with(&self.text) };
                if !fits && self.live {
                    return Err(format!("deltas {:?} became the message {said:?} (whole: {})", self.text, self.whole));
                }
                self.text.clear();
                self.whole = true;
            }
            Body::Retrying { .. } => self.retrying = self.live,
            Body::Compacted(_) => self.compacting = false,
            Body::TurnEnded(end) => {
                if self.live && (self.retrying || self.compacting) {
                    return Err(format!("turn {} ended in the middle of a retry or a compaction", end.turn));
                }
                self.ended.insert(end.turn.clone());
                if !self.text.is_empty() {
                    return Err(format!("turn {} ended and {:?} is in no message", end.turn, self.text));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn live_turn(event: &Event) -> Option<&TurnId> {
    match event {
        Event::Text { turn, .. }
        | Event::Thinking { turn, .. }
        | Event::CallInput { turn, .. }
        | Event::CallProgress { turn, .. }
        | Event::RetryEnded { turn, .. } => Some(turn),
        _ => None,
    }
}
