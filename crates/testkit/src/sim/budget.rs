//! Limits of a simulated session, and what its log must say of them. Counted here once more and in another way than the engine
//! does: from the entries, one after the other.

use std::collections::HashMap;
use std::sync::Arc;

use vocab::{
    Answer, AskEnd, AskEntry, AskId, AskKind, Body, BranchEntry, Budget, BudgetAsk, BudgetSpan, BudgetUnit, Entry,
    ModelEntry, Scope, TurnEntry,
};

use super::dice::Dice;

/// Half of the worlds have limits. Dice of its own: what else happens in a world does not depend on it.
pub(super) fn of_seed(seed: u64) -> Budget {
    let mut dice = Dice::new(seed ^ 0x0b0d_6e70);
    let mut budget = Budget::default();
    if dice.chance(50) {
        return budget;
    }
    for (span, unit, limits) in [
        (BudgetSpan::Turn, BudgetUnit::Rounds, [1, 2, 4]),
        (BudgetSpan::Turn, BudgetUnit::Tokens, [20, 200, 2000]),
        (BudgetSpan::Session, BudgetUnit::Rounds, [1, 4, 12]),
        (BudgetSpan::Session, BudgetUnit::Tokens, [50, 500, 5000]),
        (BudgetSpan::Day, BudgetUnit::Tokens, [50, 500, 5000]),
    ] {
        if dice.chance(40) {
            budget.set(span, unit, Some(dice.pick(&limits)));
        }
    }
    budget
}

#[derive(Default)]
struct Counted {
    tokens: u64,
    rounds: u64,
}

#[derive(Default)]
struct Ledger {
    turn: Counted,
    session: Counted,
    open: HashMap<AskId, BudgetAsk>,
    upto: HashMap<(BudgetSpan, BudgetUnit), u64>,
    is_denied: bool,
    asks: u64,
}

/// How many questions there were. No answer of a model came of a call that nobody would have paid for, and a no is the end.
pub(super) fn check(entries: &[Arc<Entry>], budget: &Budget) -> Result<u64, String> {
    let mut ledger = Ledger::default();
    for entry in entries {
        ledger.take(entry, budget).map_err(|what| format!("entry {}: {what}", entry.seq))?;
    }
    Ok(ledger.asks)
}

impl Ledger {
    fn take(&mut self, entry: &Entry, budget: &Budget) -> Result<(), String> {
        match &entry.body {
            Body::Turn(turn) => {
                let begins = matches!(turn, TurnEntry::Started { .. });
                (self.turn, self.is_denied) = (Counted::default(), false);
                // More for a turn ends with it; a limit that was lifted is so for the session.
                self.upto.retain(|(span, _), upto| *span != BudgetSpan::Turn || *upto == u64::MAX);
                if begins && !self.open.is_empty() {
                    return Err("a turn begins beside an open question about a budget".into());
                }
            }
            Body::Assistant { message, .. } => {
                if self.is_denied {
                    return Err("the model was called although somebody had said no".into());
                }
                self.check_limits(budget)?;
                let round = u64::from(message.calls().next().is_some());
                self.spend(message.usage.context(), round);
            }
            Body::Model(ModelEntry::Spent { usage, .. }) => self.spend(usage.context(), 0),
            Body::Branch(BranchEntry::Compacted(it)) => self.spend(it.usage.context(), 0),
            Body::Ask(AskEntry::Opened(ask)) => {
                if let AskKind::Budget(asked) = &ask.kind {
                    self.asks += 1;
                    self.open.insert(ask.id.clone(), asked.clone());
                    if self.open.len() > 1 {
                        return Err("two questions about budgets are open".into());
                    }
                }
            }
            Body::Ask(AskEntry::Closed { ask, end }) => {
                if let Some(asked) = self.open.remove(ask) {
                    self.answered(&asked, end);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn answered(&mut self, asked: &BudgetAsk, end: &AskEnd) {
        let limit = (asked.span, asked.unit);
        match end {
            AskEnd::Withdrawn => {}
            AskEnd::Answered { answer: Answer::Allow(Scope::Session), .. } => {
                self.upto.insert(limit, u64::MAX);
            }
            AskEnd::Answered { answer: Answer::Allow(Scope::Once) | Answer::Confirmed(true), .. } => {
                self.upto.insert(limit, asked.spent + asked.more);
            }
            AskEnd::Answered { .. } => self.is_denied = true,
        }
    }

    fn spend(&mut self, tokens: u64, rounds: u64) {
        for counted in [&mut self.turn, &mut self.session] {
            counted.tokens += tokens;
            counted.rounds += rounds;
        }
    }

    /// When the call began, everything before it in the log was there.
    fn check_limits(&self, budget: &Budget) -> Result<(), String> {
        for (span, unit, limit) in budget.limits() {
            let counted = match span {
                BudgetSpan::Turn => &self.turn,
                BudgetSpan::Session => &self.session,
                // What other days used is not told apart here.
                BudgetSpan::Day => continue,
            };
            let spent = match unit {
                BudgetUnit::Tokens => counted.tokens,
                BudgetUnit::Rounds => counted.rounds,
                BudgetUnit::Money | BudgetUnit::Time => continue,
            };
            let allowed = self.upto.get(&(span, unit)).copied().unwrap_or(limit).max(limit);
            if spent >= allowed {
                return Err(format!("the model was called with {spent} of {allowed} {unit:?} of the {span:?} spent"));
            }
        }
        Ok(())
    }
}
