//! What was spent when a process died and is not in the log: by the children of a call that has no result, each of which has it
//! in a log of its own, and by a model call that was under way, of which only its size is known. Pure.

use std::sync::Arc;

use vocab::{Body, BranchEntry, CallEntry, CallId, Entry, ModelEntry, TurnEntry, TurnId, Usage, estimate_tokens};

/// Of the turn that a log ends in.
#[derive(Default, Debug)]
pub(in crate::session) struct LostSpending {
    turn: Option<TurnId>,
    started_ms: i64,
    /// Calls that were begun and have no result.
    open: Vec<CallId>,
    /// What the children of its calls have spent by this log, and by their own.
    settled: Vec<CallSpending>,
    found: Vec<CallSpending>,
    /// The model call that nothing came of, and its size.
    asked: Option<(Arc<str>, u64)>,
}

#[derive(Debug)]
struct CallSpending {
    call: CallId,
    model: Arc<str>,
    usage: Usage,
}

fn add(all: &mut Vec<CallSpending>, call: &CallId, model: &Arc<str>, usage: &Usage) {
    match all.iter_mut().find(|known| known.call == *call && known.model == *model) {
        Some(known) => known.usage.add(usage),
        None => all.push(CallSpending { call: call.clone(), model: model.clone(), usage: *usage }),
    }
}

impl LostSpending {
    pub(in crate::session) fn of<'a>(entries: impl Iterator<Item = &'a Arc<Entry>>) -> Self {
        let mut lost = Self::default();
        entries.for_each(|entry| lost.follow(entry));
        lost
    }

    fn follow(&mut self, entry: &Entry) {
        match &entry.body {
            Body::Turn(TurnEntry::Started { turn }) => {
                *self = Self { turn: Some(turn.clone()), started_ms: entry.at_ms, ..Self::default() };
            }
            Body::Turn(TurnEntry::Ended(_)) => *self = Self::default(),
            Body::Call(CallEntry::Started { call, .. }) => self.open.push(call.id.clone()),
            Body::Call(CallEntry::Ended { result, .. }) => self.open.retain(|call| *call != result.call),
            Body::Model(ModelEntry::Spent { call: Some(call), model, usage, .. }) => {
                add(&mut self.settled, call, model, usage);
            }
            Body::Model(ModelEntry::Requested(request)) if request.turn.is_some() && request.summary.is_none() => {
                self.asked = Some((request.model.clone(), request.bytes));
            }
            Body::Model(ModelEntry::Requested(_)) => {}
            Body::Assistant { .. } | Body::Model(_) => self.asked = None,
            _ => {}
        }
    }

    /// Whether children may have spent something.
    pub(in crate::session) fn has_open_calls(&self) -> bool {
        self.turn.is_some() && !self.open.is_empty()
    }

    /// The log of a child of this session. One of an older turn may have worked for a call of the same id.
    pub(in crate::session) fn hear_child(&mut self, entries: &[Arc<Entry>]) {
        let Some(first) = entries.first().filter(|first| first.at_ms >= self.started_ms) else { return };
        let Body::Opened { child_of: Some((_, call)), .. } = &first.body else { return };
        if !self.open.contains(call) {
            return;
        }
        for entry in entries {
            match &entry.body {
                Body::Assistant { message, .. } => add(&mut self.found, call, &message.model, &message.usage),
                Body::Model(ModelEntry::Spent { model, usage, .. }) => add(&mut self.found, call, model, usage),
                Body::Branch(BranchEntry::Compacted(it)) => add(&mut self.found, call, &it.model, &it.usage),
                _ => {}
            }
        }
        // A call of its own that was under way is lost with it.
        if let Some((model, usage)) = Self::of(entries.iter()).request() {
            add(&mut self.found, call, &model, &usage);
        }
    }

    /// What the model call that nothing came of has cost at least: what it was sent.
    fn request(&self) -> Option<(Arc<str>, Usage)> {
        let (model, bytes) = self.asked.as_ref()?;
        let input = estimate_tokens(usize::try_from(*bytes).unwrap_or(usize::MAX));
        Some((model.clone(), Usage { input, estimated: true, ..Usage::default() }))
    }

    /// What the log is to say of it.
    pub(in crate::session) fn entries(&self) -> Vec<ModelEntry> {
        let Some(turn) = &self.turn else { return Vec::new() };
        let spent = |call, model, usage| ModelEntry::Spent { turn: Some(turn.clone()), call, model, usage };
        let of_call = |found: &CallSpending| {
            let is_it = |known: &&CallSpending| known.call == found.call && known.model == found.model;
            let settled = self.settled.iter().find(is_it).map_or_else(Usage::default, |known| known.usage);
            let usage = found.usage.less(&settled);
            (usage.context() > 0).then(|| spent(Some(found.call.clone()), found.model.clone(), usage))
        };
        let request = self.request().map(|(model, usage)| spent(None, model, usage));
        self.found.iter().filter_map(of_call).chain(request).collect()
    }
}
