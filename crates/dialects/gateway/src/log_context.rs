//! What earlier entries of a log say about a later one: which call an open question is about, what a call was to do that never
//! started, and what a run came to.

use std::sync::Arc;

use vocab::{AskEntry, AskId, Body, Call, CallEntry, CallId, CutBy, Entry, Prices, Totals, TurnEnd, TurnEntry, TurnId};

use crate::{confirm, projection};

/// Entries before a page that are looked at for what they say about it. What began earlier is not known.
pub(crate) const LOOK_BEHIND: u64 = 256;

/// What tokens of a model cost, where that is known.
pub type ModelPrices = Arc<dyn Fn(&str) -> Option<Prices> + Send + Sync>;

#[derive(Clone, Default, Debug)]
pub(crate) struct LogContext {
    asked: Vec<(AskId, CallId)>,
    run: Option<RunSoFar>,
    /// The run that was cut, and by what; its end does not say it.
    cut: Option<(TurnId, CutBy)>,
    /// Calls of the newest reply that have not started.
    calls: Vec<Call>,
}

/// A run that was heard from its start.
#[derive(Clone, Debug)]
struct RunSoFar {
    turn: TurnId,
    started_ms: i64,
    totals: Totals,
    model: Option<Arc<str>>,
}

/// What a run came to; nothing of one whose start is not known.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct RunFacts {
    pub(crate) cost_usd: Option<f64>,
    pub(crate) model: Option<Arc<str>>,
    pub(crate) duration_ms: Option<u64>,
}

impl LogContext {
    /// An entry whose events are made now.
    pub(crate) fn follow(&mut self, entry: &Entry) {
        match &entry.body {
            Body::Assistant { message, .. } => self.calls = message.calls().cloned().collect(),
            Body::Call(CallEntry::Started { call, .. }) => self.calls.retain(|it| it.id != call.id),
            _ => {}
        }
        match &entry.body {
            Body::Turn(TurnEntry::Started { turn }) => {
                let (turn, started_ms) = (turn.clone(), entry.at_ms);
                self.run = Some(RunSoFar { turn, started_ms, totals: Totals::default(), model: None });
            }
            Body::Turn(TurnEntry::Cut { turn, why, .. }) => self.cut = Some((turn.clone(), *why)),
            // Who comes in is shown open ones once more.
            Body::Ask(AskEntry::Opened(ask)) if !self.asked.iter().any(|(id, _)| *id == ask.id) => {
                self.asked.extend(confirm::asked(ask).map(|asked| (ask.id.clone(), asked.call.clone())));
            }
            body => {
                let of = projection::turn_of(body);
                if let Some(run) = self.run.as_mut().filter(|run| of == Some(&run.turn)) {
                    run.totals.add(body);
                    if let Body::Assistant { message, .. } = body {
                        run.model = Some(message.model.clone());
                    }
                }
            }
        }
    }

    /// Whether this run was heard from its start.
    pub(crate) fn knows(&self, turn: &TurnId) -> bool {
        self.run.as_ref().is_some_and(|run| run.turn == *turn)
    }

    /// One whose events are not made here.
    pub(crate) fn pass(&mut self, entry: &Entry) {
        self.follow(entry);
        match &entry.body {
            Body::Ask(AskEntry::Closed { ask, .. }) => _ = self.closed(ask),
            Body::Call(CallEntry::Ended { result, .. }) => _ = self.unstarted(&result.call),
            Body::Turn(TurnEntry::Ended(_)) => (self.run, self.cut) = (None, None),
            _ => {}
        }
    }

    /// The call that a question was about which ends here; `None`: of another kind, or its beginning is not known.
    pub(crate) fn closed(&mut self, ask: &AskId) -> Option<CallId> {
        let at = self.asked.iter().position(|(id, _)| id == ask)?;
        Some(self.asked.remove(at).1)
    }

    /// What has cut the run that ends here.
    pub(crate) fn cut(&mut self, end: &TurnEnd) -> Option<CutBy> {
        self.cut.take().filter(|(turn, _)| *turn == end.turn).map(|(_, why)| why)
    }

    /// The call that ends here, where it has not started: what stopped its run kept it from that.
    pub(crate) fn unstarted(&mut self, id: &CallId) -> Option<Call> {
        let at = self.calls.iter().position(|call| call.id == *id)?;
        Some(self.calls.remove(at))
    }

    /// What the run came to that ends here.
    pub(crate) fn ended(&mut self, end: &TurnEnd, at_ms: i64, prices: &ModelPrices) -> RunFacts {
        let Some(run) = self.run.take().filter(|run| run.turn == end.turn) else { return RunFacts::default() };
        RunFacts {
            cost_usd: run.totals.cost(|model| prices(model)),
            model: run.model,
            duration_ms: u64::try_from(at_ms - run.started_ms).ok(),
        }
    }
}
