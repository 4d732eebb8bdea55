//! What a session has spent and what was granted, read from its log and from nothing else: it is the same after a restart.
//!
//! Time is that of a turn at work, from entry to entry: not while a person is asked, and not from the end of one process to
//! the start of the next. What a copy of another log says was spent elsewhere.

use std::sync::Arc;

use vocab::{
    Answer, AskEnd, AskEntry, AskId, AskKind, Body, BranchEntry, Budget, BudgetAsk, BudgetSpan, BudgetUnit, CallEnd,
    CallEntry, Entry, ModelEntry, NoteEntry, Prices, Scope, TurnEntry, Usage, UsageSum, day_of,
};

/// Of one span.
#[derive(Clone, Default, Debug)]
struct Spent {
    models: Vec<(Arc<str>, Usage)>,
    worked_ms: u64,
    rounds: u64,
}

impl Spent {
    fn add(&mut self, model: &Arc<str>, usage: &Usage) {
        match self.models.iter_mut().find(|(known, _)| known == model) {
            Some((_, sum)) => sum.add(usage),
            None => self.models.push((model.clone(), *usage)),
        }
    }
    fn tokens(&self) -> u64 {
        let mut sum = Usage::default();
        self.models.iter().for_each(|(_, usage)| sum.add(usage));
        sum.context()
    }
    /// Of models whose price is known; the others count as nothing.
    fn nanos(&self, prices: &dyn Fn(&str) -> Option<Prices>) -> u64 {
        let cost = |(model, usage): &(Arc<str>, Usage)| prices(model).map_or(0.0, |prices| prices.cost(usage));
        (self.models.iter().map(cost).sum::<f64>() * 1e9).round().max(0.0) as u64
    }
}

/// Somebody has allowed to go on until so much is spent.
#[derive(Clone, Copy, Debug)]
struct Grant {
    span: BudgetSpan,
    unit: BudgetUnit,
    upto: u64,
    /// On which day, where it is about a day.
    day: i64,
}

/// What of a day may be spent.
#[derive(Clone, Copy, Debug)]
pub(in crate::session) struct DayLimit {
    pub(in crate::session) unit: BudgetUnit,
    limit: u64,
    /// With what was granted.
    pub(in crate::session) allowed: u64,
}

impl DayLimit {
    pub(in crate::session) fn reached(&self, used: &UsageSum) -> Option<BudgetAsk> {
        let spent = day_spent(self.unit, used)?;
        let (span, unit, limit) = (BudgetSpan::Day, self.unit, self.limit);
        (spent >= self.allowed).then_some(BudgetAsk { span, unit, limit, spent, more: limit })
    }
}

fn day_spent(unit: BudgetUnit, used: &UsageSum) -> Option<u64> {
    match unit {
        BudgetUnit::Money => Some(used.cost_nanos),
        BudgetUnit::Tokens => Some(used.usage.context()),
        BudgetUnit::Time | BudgetUnit::Rounds => None,
    }
}

#[derive(Clone, Default, Debug)]
pub(in crate::session) struct Spending {
    turn: Spent,
    session: Spent,
    is_turn_open: bool,
    /// When the running turn was heard of last.
    heard_ms: i64,
    /// Open questions to people; meanwhile the turn does not work.
    asked: Vec<(AskId, Option<BudgetAsk>, i64)>,
    grants: Vec<Grant>,
    /// Limits that do not hold in this session any more.
    lifted: Vec<(BudgetSpan, BudgetUnit)>,
    /// What the running turn was not given.
    denied: Option<BudgetAsk>,
}

/// What is needed to say how much is spent, beside the log.
pub(in crate::session) struct Now<'a> {
    pub(in crate::session) at_ms: i64,
    pub(in crate::session) prices: &'a dyn Fn(&str) -> Option<Prices>,
    /// What all sessions have used on the day of `at_ms`, where it is known.
    pub(in crate::session) day: Option<&'a UsageSum>,
}

impl Spending {
    pub(in crate::session) fn of(entries: &[Arc<Entry>]) -> Self {
        let mut spending = Self::default();
        entries.iter().for_each(|entry| spending.follow(entry));
        spending
    }

    pub(in crate::session) fn follow(&mut self, entry: &Entry) {
        self.keep_time(entry);
        let is_ours = entry.by.is_some();
        match &entry.body {
            Body::Turn(TurnEntry::Started { .. }) => {
                self.end_turn();
                self.is_turn_open = true;
            }
            Body::Turn(TurnEntry::Ended(_)) => self.end_turn(),
            Body::Assistant { message, .. } if is_ours => {
                self.spend(&message.model, &message.usage);
                let round = u64::from(message.calls().next().is_some());
                self.turn.rounds += round;
                self.session.rounds += round;
            }
            Body::Model(ModelEntry::Spent { model, usage, .. }) if is_ours => self.spend(model, usage),
            Body::Branch(BranchEntry::Compacted(it)) if is_ours => self.spend(&it.model, &it.usage),
            Body::Ask(AskEntry::Opened(ask)) if ask.turn.is_some() => match &ask.kind {
                AskKind::Permission(_) => self.asked.push((ask.id.clone(), None, 0)),
                AskKind::Budget(asked) => {
                    self.asked.push((ask.id.clone(), Some(asked.clone()), day_of(entry.at_ms)));
                }
                // The call runs elsewhere.
                AskKind::HostCall { .. } => {}
                AskKind::Select { .. } | AskKind::Confirm { .. } | AskKind::Input { .. } | AskKind::Editor { .. } => {}
            },
            Body::Ask(AskEntry::Closed { ask, end }) => self.closed(ask, end, is_ours),
            _ => {}
        }
    }

    fn spend(&mut self, model: &Arc<str>, usage: &Usage) {
        self.session.add(model, usage);
        if self.is_turn_open {
            self.turn.add(model, usage);
        }
    }

    /// A grant for a turn ends with it.
    fn end_turn(&mut self) {
        (self.turn, self.denied, self.is_turn_open) = (Spent::default(), None, false);
        self.asked.clear();
        self.grants.retain(|grant| grant.span != BudgetSpan::Turn);
    }

    fn keep_time(&mut self, entry: &Entry) {
        let works = match &entry.body {
            Body::User { .. } | Body::Assistant { .. } | Body::Branch(BranchEntry::Compacted(_)) => true,
            // What a dead process left open ends long after it.
            Body::Call(CallEntry::Ended { result, .. }) => result.end != CallEnd::Lost,
            Body::Call(CallEntry::Started { .. }) => true,
            Body::Ask(AskEntry::Opened(ask)) => ask.turn.is_some(),
            Body::Ask(AskEntry::Closed { ask, .. }) => self.asked.iter().any(|(known, ..)| known == ask),
            Body::Model(it) => match it {
                // They stand where they were made, and may be logged later.
                ModelEntry::Requested(_) => return,
                ModelEntry::Retrying { .. } | ModelEntry::FellBack(_) | ModelEntry::Spent { .. } => true,
            },
            // The turn begins, or goes on in another process.
            Body::Turn(TurnEntry::Started { .. }) | Body::Note(NoteEntry::Recovered { .. }) => false,
            _ => return,
        };
        if works {
            let worked = self.since(entry.at_ms);
            self.turn.worked_ms += worked;
            self.session.worked_ms += worked;
        }
        self.heard_ms = entry.at_ms;
    }

    /// How long the turn has worked since it was heard of.
    fn since(&self, at_ms: i64) -> u64 {
        let works = self.is_turn_open && self.asked.is_empty();
        if works { at_ms.saturating_sub(self.heard_ms).max(0) as u64 } else { 0 }
    }

    fn closed(&mut self, id: &AskId, end: &AskEnd, is_ours: bool) {
        let Some(at) = self.asked.iter().position(|(known, ..)| known == id) else { return };
        let (_, Some(ask), day) = self.asked.remove(at) else { return };
        let AskEnd::Answered { answer, .. } = end else { return };
        match answer {
            // Nobody here has said it.
            Answer::Allow(_) | Answer::Confirmed(true) if !is_ours => {}
            Answer::Allow(Scope::Session) => self.lifted.push((ask.span, ask.unit)),
            Answer::Allow(Scope::Once) | Answer::Confirmed(true) => {
                let upto = ask.spent.saturating_add(ask.more);
                self.grants.retain(|grant| (grant.span, grant.unit) != (ask.span, ask.unit));
                self.grants.push(Grant { span: ask.span, unit: ask.unit, upto, day });
            }
            _ => self.denied = Some(ask),
        }
    }

    /// What the running turn was not given, of this limit.
    pub(in crate::session) fn is_denied(&self) -> bool {
        self.denied.is_some()
    }

    /// What of `limit` may be spent; `None`: as much as it takes.
    fn allowed(&self, span: BudgetSpan, unit: BudgetUnit, limit: u64, day: i64) -> Option<u64> {
        if self.lifted.contains(&(span, unit)) {
            return None;
        }
        let is_meant =
            |grant: &&Grant| (grant.span, grant.unit) == (span, unit) && (span != BudgetSpan::Day || grant.day == day);
        Some(self.grants.iter().filter(is_meant).map(|grant| grant.upto).fold(limit, u64::max))
    }

    /// `None`: not known.
    fn spent(&self, span: BudgetSpan, unit: BudgetUnit, now: &Now<'_>) -> Option<u64> {
        let spent = match span {
            BudgetSpan::Turn => &self.turn,
            BudgetSpan::Session => &self.session,
            BudgetSpan::Day => return day_spent(unit, now.day?),
        };
        Some(match unit {
            BudgetUnit::Money => spent.nanos(now.prices),
            BudgetUnit::Tokens => spent.tokens(),
            BudgetUnit::Time => spent.worked_ms.saturating_add(self.since(now.at_ms)),
            BudgetUnit::Rounds => spent.rounds,
        })
    }

    /// The first limit that is reached and that nobody has lifted.
    pub(in crate::session) fn reached(&self, budget: &Budget, now: &Now<'_>) -> Option<BudgetAsk> {
        let day = day_of(now.at_ms);
        budget.limits().find_map(|(span, unit, limit)| {
            let allowed = self.allowed(span, unit, limit, day)?;
            let spent = self.spent(span, unit, now)?;
            (spent >= allowed).then_some(BudgetAsk { span, unit, limit, spent, more: limit })
        })
    }

    /// The limits of a day that nobody has lifted.
    pub(in crate::session) fn day_limits(&self, budget: &Budget, day: i64) -> Vec<DayLimit> {
        let of_day = budget.limits().filter(|(span, ..)| *span == BudgetSpan::Day);
        let limit =
            |(span, unit, limit)| self.allowed(span, unit, limit, day).map(|allowed| DayLimit { unit, limit, allowed });
        of_day.filter_map(limit).collect()
    }

    /// How each limit stands.
    pub(in crate::session) fn rows(&self, budget: &Budget, now: &Now<'_>) -> Vec<vocab::BudgetRow> {
        let day = day_of(now.at_ms);
        let row = |(span, unit, limit)| {
            let (spent, allowed) = (self.spent(span, unit, now), self.allowed(span, unit, limit, day));
            vocab::BudgetRow { span, unit, limit, spent, allowed }
        };
        budget.limits().map(row).collect()
    }

    /// What a child may spend: what is left to the turn and the session that it works for. It has nobody to ask.
    pub(in crate::session) fn left(&self, budget: &Budget, now: &Now<'_>) -> Budget {
        let mut left = Budget::default();
        let day = day_of(now.at_ms);
        for (span, unit, limit) in budget.limits() {
            let Some(allowed) = self.allowed(span, unit, limit, day) else { continue };
            match span {
                BudgetSpan::Day => left.set(span, unit, Some(allowed)),
                BudgetSpan::Turn | BudgetSpan::Session => {
                    let rest = allowed.saturating_sub(self.spent(span, unit, now).unwrap_or_default());
                    let least = left.limit(BudgetSpan::Turn, unit).map_or(rest, |other| other.min(rest));
                    left.set(BudgetSpan::Turn, unit, Some(least));
                }
            }
        }
        left
    }
}

#[cfg(test)]
mod tests;
