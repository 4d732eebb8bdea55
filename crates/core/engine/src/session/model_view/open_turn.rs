//! The turn that a log ends in the middle of: all that it has to know to go on. Read from the log and from nothing else, so
//! that it goes on the same after a crash, after a power cut and on another machine.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use vocab::{
    Ask, AskEnd, AskEntry, AskId, AskKind, Body, BranchEntry, Call, CallEntry, CallId, CompactReason, Entry, FellBack,
    Finish, ItemEnd, ItemId, MessageEnd, ModelEntry, Part, QueueEntry, TurnEntry, TurnId, Usage,
};

pub(crate) struct OpenTurn {
    pub(crate) id: TurnId,
    pub(crate) stands: Standing,
    /// Calls of the newest reply that have no result, in order. One that was begun has the arguments it was begun with.
    pub(crate) pending: VecDeque<Call>,
    /// Those of them that were begun.
    pub(crate) begun: HashMap<CallId, BegunCall>,
    pub(crate) call_ids: HashSet<CallId>,
    /// Completed tool rounds.
    pub(crate) iterations: u32,
    /// What its replies and its subagents have cost. What a reply cost that was cut off is not known.
    pub(crate) usage: Usage,
    pub(crate) mutations: Vec<(Arc<str>, Arc<str>)>,
    /// Tries of the model call under way that failed.
    pub(crate) retried: u32,
    pub(crate) fell_back: Vec<FellBack>,
    /// Room was made because the context was full; a turn does that once.
    pub(crate) made_room: bool,
    /// It has left another provider's words behind, or tried to.
    pub(crate) tried_switch: bool,
    /// Its first message.
    pub(crate) opening: Vec<Part>,
    /// The newest reply and what the log says of its calls.
    pub(crate) round: Vec<Arc<Entry>>,
    /// The open question whether it may spend more.
    pub(crate) budget_ask: Option<Box<PastAsk>>,
    /// The end of the time that it has.
    pub(crate) until_ms: Option<i64>,
}

/// Where a turn stands by its log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// Its first message is there and nothing else: extensions may not have been heard.
    Start,
    /// The model is asked next.
    Asking,
    /// Messages have joined behind the calls of a reply; the model is asked next, if it may be.
    AfterCalls,
    /// The newest reply has calls. The flag: some of them have results.
    Calls(bool),
    /// The newest reply has none.
    Replied(Finish),
    /// The newest reply was cut short: nothing follows it.
    Cut,
}

/// A call that was begun.
#[derive(Debug)]
pub(crate) struct BegunCall {
    /// The newest question about it.
    pub(crate) ask: Option<Box<PastAsk>>,
}

/// A question, and how it was closed.
#[derive(Debug)]
pub(crate) struct PastAsk {
    pub(crate) entry: Arc<Entry>,
    pub(crate) ask: Ask,
    pub(crate) end: Option<AskEnd>,
}

impl BegunCall {
    /// Whether no question about it is open and no controller was to run it: what becomes of it depends on its tool.
    pub(crate) fn is_to_judge(&self) -> bool {
        let is_judged = |asked: &PastAsk| matches!(asked.ask.kind, AskKind::Permission(_)) && asked.end.is_some();
        self.ask.as_deref().is_none_or(is_judged)
    }
}

impl OpenTurn {
    /// Whether it waits for the answer to this question.
    pub(crate) fn is_asking(&self, id: &AskId) -> bool {
        let mut asked = self.begun.values().filter_map(|begun| begun.ask.as_ref()).chain(&self.budget_ask);
        asked.any(|asked| asked.ask.id == *id)
    }

    /// `None`: every turn has ended, or the last one has no message to go on from.
    pub(crate) fn read(entries: &[Arc<Entry>]) -> Option<Self> {
        let started = entries.iter().rposition(|entry| matches!(entry.body, Body::Turn(TurnEntry::Started { .. })))?;
        let Body::Turn(TurnEntry::Started { turn }) = &entries[started].body else { return None };
        let rest = &entries[started + 1..];
        // One that was cut does not go on, whatever became of its end.
        if rest.iter().any(|entry| matches!(entry.body, Body::Turn(TurnEntry::Cut { .. } | TurnEntry::Ended(_)))) {
            return None;
        }
        let mut reader = Reader::new(turn.clone());
        rest.iter().for_each(|entry| reader.take(entry));
        reader.finish()
    }
}

struct Reader {
    turn: OpenTurn,
    /// The calls of the newest reply.
    calls: Vec<Call>,
    started: HashMap<CallId, Call>,
    done: HashSet<CallId>,
    asks: Vec<PastAsk>,
    has_opening: bool,
    /// Of messages that came meanwhile and wait, the time that they have.
    limits: HashMap<ItemId, Option<i64>>,
}

impl Reader {
    fn new(id: TurnId) -> Self {
        let turn = OpenTurn {
            id,
            stands: Standing::Start,
            pending: VecDeque::new(),
            begun: HashMap::new(),
            call_ids: HashSet::new(),
            iterations: 0,
            usage: Usage::default(),
            mutations: Vec::new(),
            retried: 0,
            fell_back: Vec::new(),
            made_room: false,
            tried_switch: false,
            opening: Vec::new(),
            round: Vec::new(),
            budget_ask: None,
            until_ms: None,
        };
        let (calls, started, done, asks, limits) = Default::default();
        Self { turn, calls, started, done, asks, has_opening: false, limits }
    }

    fn take(&mut self, entry: &Arc<Entry>) {
        match &entry.body {
            Body::Assistant { .. } => self.turn.round = vec![entry.clone()],
            Body::Call(_) => self.turn.round.push(entry.clone()),
            _ => {}
        }
        match &entry.body {
            Body::Turn(TurnEntry::Taken { turn, until_ms, .. }) if *turn == self.turn.id => {
                self.turn.until_ms = *until_ms
            }
            Body::Queue(QueueEntry::Queued(item)) => _ = self.limits.insert(item.id.clone(), item.until_ms),
            // It came into the turn.
            Body::Queue(QueueEntry::Settled { item, end: ItemEnd::Consumed, .. }) => {
                if let Some(until_ms) = self.limits.remove(item) {
                    self.turn.until_ms = self.turn.until_ms.zip(until_ms).map(|(one, other)| one.max(other));
                }
            }
            Body::User { turn: Some(of), parts, .. } if *of == self.turn.id => self.said(parts),
            Body::Assistant { turn: Some(of), message } if *of == self.turn.id => {
                self.turn.iterations += u32::from(!self.calls.is_empty());
                self.turn.usage.add(&message.usage);
                self.turn.retried = 0;
                self.calls = message.calls().cloned().collect();
                self.turn.call_ids.extend(self.calls.iter().map(|call| call.id.clone()));
                self.turn.stands = match &message.end {
                    MessageEnd::Finished(finish @ (Finish::Length | Finish::Refusal)) => Standing::Replied(*finish),
                    MessageEnd::Finished(finish) if self.calls.is_empty() => Standing::Replied(*finish),
                    MessageEnd::Finished(_) => Standing::Calls(false),
                    MessageEnd::Interrupted | MessageEnd::Failed(_) => Standing::Cut,
                };
            }
            Body::Call(CallEntry::Started { turn, call, .. }) if *turn == self.turn.id => {
                self.started.insert(call.id.clone(), call.clone());
            }
            Body::Call(CallEntry::Ended { turn, result }) if *turn == self.turn.id => {
                self.done.insert(result.call.clone());
                let changed = result.mutation.clone().map(|target| (result.tool.clone(), target));
                self.turn.mutations.extend(changed);
                if self.turn.stands == Standing::Calls(false) {
                    self.turn.stands = Standing::Calls(true);
                }
            }
            Body::Ask(AskEntry::Opened(ask)) if ask.turn.as_ref() == Some(&self.turn.id) => {
                self.asks.push(PastAsk { entry: entry.clone(), ask: ask.clone(), end: None });
            }
            Body::Ask(AskEntry::Closed { ask, end }) => {
                if let Some(asked) = self.asks.iter_mut().find(|it| it.ask.id == *ask) {
                    asked.end = Some(end.clone());
                }
            }
            Body::Model(entry) => self.model(entry),
            Body::Branch(BranchEntry::Compacted(compaction)) => {
                self.turn.made_room |= compaction.reason == CompactReason::Overflow;
                self.turn.tried_switch |= compaction.reason == CompactReason::Switch;
            }
            _ => {}
        }
    }

    fn said(&mut self, parts: &[Part]) {
        if !std::mem::replace(&mut self.has_opening, true) {
            self.turn.opening = parts.to_vec();
            return;
        }
        self.turn.stands = match self.turn.stands {
            Standing::Start => Standing::Asking,
            Standing::Calls(_) => Standing::AfterCalls,
            Standing::Replied(_) => Standing::Asking,
            stands => stands,
        };
    }

    fn model(&mut self, entry: &ModelEntry) {
        let is_ours = |turn: &TurnId| *turn == self.turn.id;
        match entry {
            ModelEntry::Requested(it) if it.turn.as_ref().is_some_and(is_ours) => {
                if self.turn.stands == Standing::Start {
                    self.turn.stands = Standing::Asking;
                }
            }
            ModelEntry::Retrying { turn, attempt, .. } if is_ours(turn) => self.turn.retried = *attempt,
            ModelEntry::FellBack(fell) if is_ours(&fell.turn) => {
                self.turn.retried = 0;
                self.turn.fell_back.push(fell.clone());
            }
            ModelEntry::Spent { turn: Some(turn), usage, .. } if is_ours(turn) => self.turn.usage.add(usage),
            ModelEntry::Requested(_)
            | ModelEntry::Retrying { .. }
            | ModelEntry::FellBack(_)
            | ModelEntry::Spent { .. } => {}
        }
    }

    fn finish(self) -> Option<OpenTurn> {
        let Reader { mut turn, calls, mut started, done, asks, has_opening, .. } = self;
        if !has_opening {
            return None;
        }
        if turn.stands == Standing::AfterCalls || turn.stands == Standing::Asking {
            // Whoever joined did so when every call had its result.
            turn.iterations += u32::from(!calls.is_empty());
        } else {
            turn.pending = calls
                .into_iter()
                .filter(|call| !done.contains(&call.id))
                .map(|call| match started.remove(&call.id) {
                    Some(begun) => {
                        turn.begun.insert(call.id, BegunCall { ask: None });
                        begun
                    }
                    None => call,
                })
                .collect();
        }
        for asked in asks {
            let about = match &asked.ask.kind {
                AskKind::Permission(permission) => &permission.call,
                AskKind::HostCall { call, .. } => call,
                AskKind::Budget(_) => {
                    if asked.end.is_none() {
                        turn.budget_ask = Some(Box::new(asked));
                    }
                    continue;
                }
                AskKind::Select { .. } | AskKind::Confirm { .. } | AskKind::Input { .. } | AskKind::Editor { .. } => {
                    continue;
                }
            };
            if let Some(begun) = turn.begun.get_mut(about) {
                begun.ask = Some(Box::new(asked));
            }
        }
        Some(turn)
    }
}

#[cfg(test)]
mod tests;
