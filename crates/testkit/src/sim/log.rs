//! What must hold in a log once everything has come to rest.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use vocab::{
    AskEntry, AskId, Body, BranchEntry, CallEntry, CallId, CompactReason, Delivery, Delta, Entry, Event, ItemEnd,
    ItemId, ModelEntry, QueueEntry, RetryEvent, SettingEntry, SettleReason, ShellEntry, TurnEntry, TurnId, Usage,
};

use super::Numbers;

#[derive(Default)]
struct Reading {
    open: Option<TurnId>,
    started: HashSet<TurnId>,
    ended: HashSet<TurnId>,
    usage: Usage,
    /// Calls and how many results each has.
    calls: HashMap<(TurnId, CallId), u32>,
    asks: HashMap<AskId, u32>,
    items: HashMap<ItemId, u32>,
    steers: HashSet<ItemId>,
    numbers: Numbers,
}

pub(super) fn check(entries: &[Arc<Entry>], still_waiting: &HashSet<ItemId>) -> Result<Numbers, String> {
    let mut reading = Reading::default();
    for (index, entry) in entries.iter().enumerate() {
        let at = |what: String| format!("entry {}: {what}", entry.seq);
        if entry.seq != index as u64 + 1 || entry.parent >= entry.seq {
            return Err(at(format!("numbered {} with parent {} at place {}", entry.seq, entry.parent, index + 1)));
        }
        reading.take(&entry.body).map_err(at)?;
    }
    if let Some(turn) = &reading.open {
        return Err(format!("turn {turn} never ended"));
    }
    if let Some(((turn, call), n)) = reading.calls.iter().find(|(_, n)| **n != 1) {
        return Err(format!("call {call} of turn {turn} has {n} results"));
    }
    if let Some((ask, n)) = reading.asks.iter().find(|(_, n)| **n != 1) {
        return Err(format!("question {ask} was closed {n} times"));
    }
    for (item, n) in &reading.items {
        let waits = still_waiting.contains(item);
        if *n + u32::from(waits) != 1 {
            return Err(format!("item {item} ended {n} times and waits: {waits}"));
        }
    }
    let mut numbers = reading.numbers;
    numbers.entries = entries.len() as u64;
    numbers.calls = reading.calls.len() as u64;
    numbers.asks = reading.asks.len() as u64;
    numbers.items = reading.items.len() as u64;
    Ok(numbers)
}

impl Reading {
    fn take(&mut self, body: &Body) -> Result<(), String> {
        if let Some(turn) = turn_of(body)
            && self.open.as_ref() != Some(turn)
        {
            return Err(format!("belongs to turn {turn}, but {:?} is running: {body:?}", self.open));
        }
        match body {
            Body::Turn(TurnEntry::Started { turn }) => {
                if let Some(other) = self.open.replace(turn.clone()) {
                    return Err(format!("turn {turn} starts while {other} runs"));
                }
                if !self.started.insert(turn.clone()) {
                    return Err(format!("turn {turn} starts twice"));
                }
                self.usage = Usage::default();
                self.numbers.turns += 1;
            }
            Body::Turn(TurnEntry::Ended(end)) => {
                self.open = None;
                if !self.ended.insert(end.turn.clone()) {
                    return Err(format!("turn {} ends twice", end.turn));
                }
                if end.usage != self.usage {
                    return Err(format!("turn {} used {:?} but its calls {:?}", end.turn, end.usage, self.usage));
                }
            }
            Body::Assistant { turn: Some(turn), message } => {
                self.usage.add(&message.usage);
                for call in message.calls() {
                    if self.calls.insert((turn.clone(), call.id.clone()), 0).is_some() {
                        return Err(format!("call {} is made twice in turn {turn}", call.id));
                    }
                }
            }
            Body::Call(CallEntry::Ended { turn, result }) => {
                match self.calls.get_mut(&(turn.clone(), result.call.clone())) {
                    Some(n) => *n += 1,
                    None => return Err(format!("a result of {}, which nobody called", result.call)),
                }
            }
            Body::Ask(AskEntry::Opened(ask)) if self.asks.insert(ask.id.clone(), 0).is_some() => {
                return Err(format!("question {} is asked twice", ask.id));
            }
            Body::Ask(AskEntry::Closed { ask, .. }) => match self.asks.get_mut(ask) {
                Some(n) => *n += 1,
                None => return Err(format!("question {ask} is closed and was never asked")),
            },
            Body::Queue(QueueEntry::Queued(item)) => {
                if self.items.insert(item.id.clone(), 0).is_some() {
                    return Err(format!("item {} is queued twice", item.id));
                }
                if item.delivery == Delivery::Steer {
                    self.steers.insert(item.id.clone());
                }
            }
            Body::Queue(QueueEntry::Settled { item, end, why }) => {
                match self.items.get_mut(item) {
                    Some(n) => *n += 1,
                    None => return Err(format!("item {item} ends and never waited")),
                }
                // Only the end of its turn drops steering, or the end of its process where that is the rule.
                let is_restarted = *why == Some(SettleReason::Restarted);
                if *end == ItemEnd::Dropped && self.steers.contains(item) && !is_restarted {
                    self.numbers.late_steers += 1;
                    if let Some(turn) = &self.open {
                        return Err(format!("steering {item} is dropped while turn {turn} runs"));
                    }
                }
            }
            Body::Branch(BranchEntry::Compacted(compaction)) => {
                // Who asks for one waits until no turn runs; a turn makes its own.
                if self.open.is_some() == (compaction.reason == CompactReason::Manual) {
                    return Err(format!("{:?} compaction while turn {:?} runs", compaction.reason, self.open));
                }
                self.numbers.compactions += 1;
                self.numbers.switches += u64::from(compaction.reason == CompactReason::Switch);
            }
            Body::Shell(ShellEntry::Ended(shell)) => {
                self.numbers.shells += 1;
                if shell.cancelled != shell.exit_code.is_none() {
                    return Err(format!("a command that was stopped has no exit code, and no other: {shell:?}"));
                }
            }
            Body::Setting(SettingEntry::Todos { .. }) => self.numbers.lists += 1,
            Body::User { from: vocab::UserFrom::Reminder, .. } => self.numbers.reminders += 1,
            Body::Model(ModelEntry::Spent { turn: Some(_), usage, .. }) => self.usage.add(usage),
            Body::Model(ModelEntry::Retrying { .. }) => self.numbers.retries += 1,
            Body::Model(ModelEntry::FellBack(_)) => self.numbers.fallbacks += 1,
            _ => {}
        }
        Ok(())
    }
}

/// Items that wait at the end of a log.
pub(super) fn waiting(entries: &[Arc<Entry>]) -> HashSet<ItemId> {
    let mut waiting = HashSet::new();
    for entry in entries {
        match &entry.body {
            Body::Queue(QueueEntry::Queued(item)) => _ = waiting.insert(item.id.clone()),
            Body::Queue(QueueEntry::Settled { item, .. }) => _ = waiting.remove(item),
            _ => {}
        }
    }
    waiting
}

/// What a whole log has used: every turn, every summary, and what was spent beside them.
pub(super) fn used(entries: &[Arc<Entry>]) -> Usage {
    let mut sum = Usage::default();
    for entry in entries {
        match &entry.body {
            Body::Turn(TurnEntry::Ended(end)) => sum.add(&end.usage),
            Body::Branch(BranchEntry::Compacted(done)) => sum.add(&done.usage),
            Body::Model(ModelEntry::Spent { turn: None, usage, .. }) => sum.add(usage),
            _ => {}
        }
    }
    sum
}

/// The running turn that an entry belongs to.
pub(super) fn turn_of(body: &Body) -> Option<&TurnId> {
    match body {
        Body::User { turn, .. } | Body::Assistant { turn, .. } => turn.as_ref(),
        Body::Call(CallEntry::Started { turn, .. })
        | Body::Call(CallEntry::Ended { turn, .. })
        | Body::Model(ModelEntry::Retrying { turn, .. }) => Some(turn),
        Body::Model(ModelEntry::Requested(it)) => it.turn.as_ref(),
        Body::Model(ModelEntry::FellBack(it)) => Some(&it.turn),
        Body::Model(ModelEntry::Spent { turn, .. }) => turn.as_ref(),
        Body::Turn(TurnEntry::Ended(end)) => Some(&end.turn),
        Body::Ask(AskEntry::Opened(ask)) => ask.turn.as_ref(),
        _ => None,
    }
}

/// The turn that something is told of that is in no log.
pub(super) fn live_turn(event: &Event) -> Option<&TurnId> {
    match event {
        Event::Delta(Delta::Text { turn, .. })
        | Event::Delta(Delta::Thinking { turn, .. })
        | Event::Delta(Delta::CallInput { turn, .. })
        | Event::Delta(Delta::CallProgress { turn, .. })
        | Event::Delta(Delta::Sealed { turn, .. })
        | Event::Delta(Delta::ModelCalled { turn, .. })
        | Event::Retry(RetryEvent::Ended { turn, .. }) => Some(turn),
        _ => None,
    }
}
