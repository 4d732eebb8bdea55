//! Before a model is called, the limits of the session are looked at ([`vocab::Budget`]). Where one is reached, the turn waits
//! for somebody to allow more; where nobody can be asked, or somebody says no, it ends and says which.
//!
//! A call that runs is not cut off, so a limit is overstepped by what one call costs. What a day has used is read from the
//! store, which knows all sessions; calls that other sessions have under way meanwhile are not in it yet.

mod lost;
mod spending;

use std::sync::Arc;

use vocab::{
    Answer, AskEnd, AskEntry, AskKind, Body, BudgetAsk, BudgetRow, BudgetSpan, BudgetUnit, Entry, Event,
    ExtensionEvent, Fault, FaultKind, Later, Notice, NoticeLevel, Reply, Scope, Tag, UsageBy, UsageQuery, UsageSum,
    day_of,
};

use super::activity::TurnWaits;
use super::approvals::OpenAsk;
use super::calls::AfterWrite;
use super::model_view::PastAsk;
use super::turn::{Effect, Turn};
use super::{Session, later};
use crate::outbox::Outbox;
pub(super) use lost::LostSpending;
pub(super) use spending::Spending;
use spending::{DayLimit, Now};

/// What a day has used, as the store said it.
pub(super) type DayUsed = Result<Vec<UsageSum>, Fault>;

/// What a session goes by when it wants to spend.
#[derive(Default)]
pub(super) struct Purse {
    pub(super) spending: Spending,
    /// What was read for the call that comes next.
    day: Option<(i64, UsageSum)>,
    /// The model of which people were told that it has no price.
    unpriced: Option<Arc<str>>,
}

/// The limits of a day, for a call that looks at them itself.
pub(super) struct DayCheck {
    day: i64,
    limits: Vec<DayLimit>,
}

impl DayCheck {
    pub(super) fn query(&self) -> UsageQuery {
        UsageQuery { by: UsageBy::Day, from: self.day, to: self.day, session: None }
    }
    /// A limit that cannot be looked at is not passed over.
    pub(super) fn judge(&self, used: DayUsed) -> Result<(), Fault> {
        let used = all_of(used?);
        let reached = self.limits.iter().find_map(|limit| limit.reached(&used));
        reached.map_or(Ok(()), |ask| Err(spent(&ask, None)))
    }
}

impl Session {
    /// Whether a model may be called for the turn. `false`: `then` comes when it may, or the turn is over.
    pub(super) fn may_spend(&mut self, then: Effect) -> bool {
        self.tell_unpriced();
        let day = day_of(self.shared.ports.clock.now_ms());
        if self.settings.budget.has(BudgetSpan::Day) && self.day_used(day).is_none() {
            self.read_day(day, then);
            return false;
        }
        let reached = self.reached();
        // The next call looks again.
        self.know_day(None);
        self.close_budget_ask(reached.as_ref());
        let Some(ask) = reached else { return true };
        if self.purse.as_ref().is_some_and(|purse| purse.spending.is_denied()) {
            // Somebody has said no, and the process ended before the turn did.
            self.run_out(&ask, None);
            return false;
        }
        if self.is_no_use_asking() {
            self.run_out(&ask, Some("nobody is here who could be asked"));
            return false;
        }
        if self.approvals.budget().is_none() {
            self.open_ask(AskKind::Budget(ask), None, None);
        }
        self.activity.wait(TurnWaits::Budget { then });
        false
    }

    fn day_used(&self, day: i64) -> Option<&UsageSum> {
        let (of, sum) = self.purse.as_ref()?.day.as_ref()?;
        (*of == day).then_some(sum)
    }

    fn know_day(&mut self, used: Option<(i64, UsageSum)>) {
        if let Some(purse) = &mut self.purse {
            purse.day = used;
        }
    }

    /// For a model call that a peer asks for outside of a turn: it is told at once. A day's limit is looked at by the call
    /// itself ([`Session::day_check`]).
    pub(super) fn check_budget(&self) -> Result<(), Fault> {
        match self.reached().filter(|ask| ask.span != BudgetSpan::Turn) {
            Some(ask) => Err(spent(&ask, None)),
            None => Ok(()),
        }
    }

    /// What such a call is to look at first: what a day has used only the store knows. `None`: nothing.
    pub(super) fn day_check(&self) -> Option<DayCheck> {
        let day = day_of(self.shared.ports.clock.now_ms());
        let limits = self.purse.as_ref()?.spending.day_limits(&self.settings.budget, day);
        (!limits.is_empty()).then_some(DayCheck { day, limits })
    }

    fn with_now<T>(&self, look: impl FnOnce(&Now<'_>) -> T) -> T {
        let provider = &self.shared.ports.provider;
        let at_ms = self.shared.ports.clock.now_ms();
        let prices = |slug: &str| provider.resolve(slug).ok()?.prices;
        look(&Now { at_ms, prices: &prices, day: self.day_used(day_of(at_ms)) })
    }

    fn reached(&self) -> Option<BudgetAsk> {
        let purse = self.purse.as_ref()?;
        self.with_now(|now| purse.spending.reached(&self.settings.budget, now))
    }

    /// What a child of the running call may spend.
    pub(super) fn budget_left(&self) -> vocab::Budget {
        let Some(purse) = &self.purse else { return self.settings.budget };
        self.with_now(|now| purse.spending.left(&self.settings.budget, now))
    }

    /// How the limits stand by a log that was read. `day`: what this day has used.
    pub(super) fn budget_rows(&self, entries: &[Arc<Entry>], day: Option<UsageSum>) -> Vec<BudgetRow> {
        let spending = Spending::of(entries);
        self.with_now(|now| spending.rows(&self.settings.budget, &Now { day: day.as_ref(), ..*now }))
    }

    /// The log, and what this day has used, for somebody who asks how the limits stand.
    pub(super) fn with_day(
        &mut self,
        outbox: &Arc<Outbox>,
        tag: Tag,
        then: impl FnOnce(&mut Session, Vec<Arc<Entry>>, Result<UsageSum, Fault>) -> Result<Reply, Fault> + Send + 'static,
    ) {
        let (store, id) = (self.shared.ports.store.clone(), self.id.clone());
        let used = self.day_query(day_of(self.shared.ports.clock.now_ms()));
        self.job_when_written(outbox, tag, move || later::log_and_day(store.read(&id, 0, usize::MAX), used, then));
    }

    pub(super) fn day_query(&self, day: i64) -> Later<'static, DayUsed> {
        self.shared.ports.store.usage(UsageQuery { by: UsageBy::Day, from: day, to: day, session: None })
    }

    /// What this session has used itself is in the store first.
    fn read_day(&mut self, day: i64, then: Effect) {
        if !self.log.is_settled() {
            return self.when_written(AfterWrite::Then(then));
        }
        let reading = self.day_query(day);
        self.activity.wait(TurnWaits::Day { day, reading, then });
    }

    pub(super) fn day_read(&mut self, sums: DayUsed) {
        let TurnWaits::Day { day, then, .. } = self.activity.stop_waiting() else { return };
        match sums {
            Ok(sums) => {
                self.know_day(Some((day, all_of(sums))));
                self.activity.push_effect(then);
            }
            // A limit that cannot be looked at is not passed over.
            Err(fault) => self.with_turn(|turn, fx| {
                turn.abort(fault, fx);
            }),
        }
    }

    /// A question that is not about what is reached now has no point any more.
    fn close_budget_ask(&mut self, reached: Option<&BudgetAsk>) {
        let Some((id, open)) = self.approvals.budget() else { return };
        if reached.is_none_or(|now| (now.span, now.unit) != (open.span, open.unit)) {
            let id = id.clone();
            self.withdraw_ask(id);
        }
    }

    /// Before a restart somebody was asked, and is asked still.
    pub(super) fn ask_again(&mut self, asked: PastAsk) {
        let PastAsk { entry, ask, .. } = asked;
        let AskKind::Budget(about) = &ask.kind else { return };
        if !self.is_still_reached(about, day_of(entry.at_ms)) {
            // The limit is gone, or higher now.
            self.log(Body::Ask(AskEntry::Closed { ask: ask.id, end: AskEnd::Withdrawn }));
            return;
        }
        self.approvals.insert(ask.id, OpenAsk { kind: ask.kind, entry, owner: None, dialog: None });
    }

    /// Whether a question of that day is about what would be asked now. What others have used of a day is not known here; it
    /// was so much at least.
    fn is_still_reached(&self, asked: &BudgetAsk, day: i64) -> bool {
        let Some(purse) = &self.purse else { return false };
        match self.reached() {
            Some(now) => (now.span, now.unit) == (asked.span, asked.unit),
            None if asked.span == BudgetSpan::Day && day == day_of(self.shared.ports.clock.now_ms()) => {
                let limits = purse.spending.day_limits(&self.settings.budget, day);
                limits.iter().any(|limit| limit.unit == asked.unit && limit.allowed <= asked.spent)
            }
            None => false,
        }
    }

    /// The answer is in the log, and counts from there.
    pub(super) fn budget_answered(&mut self, ask: &BudgetAsk, answer: &Answer) {
        let is_waiting = |waiting: &TurnWaits| matches!(waiting, TurnWaits::Budget { .. });
        match answer {
            Answer::Allow(Scope::Once | Scope::Session) | Answer::Confirmed(true) => {
                if let Some(TurnWaits::Budget { then }) = self.activity.stop_waiting_if(is_waiting) {
                    self.activity.push_effect(then);
                }
            }
            Answer::Deny(why) => self.run_out(ask, why.as_deref()),
            _ => self.run_out(ask, None),
        }
    }

    /// The turn ends here.
    fn run_out(&mut self, ask: &BudgetAsk, why: Option<&str>) {
        self.stop_work();
        let fault = spent(ask, why);
        self.with_turn(|turn, fx| Turn::run_out(turn, fault, fx));
    }

    /// Money that nobody can count is not limited, and people are to know that.
    fn tell_unpriced(&mut self) {
        let (model, Some(purse)) = (self.settings.asked(), &mut self.purse) else { return };
        let is_known = model.prices.is_some() || purse.unpriced.as_ref() == Some(&model.slug);
        if is_known || !self.settings.budget.counts(BudgetUnit::Money) || self.subagents.child_of.is_some() {
            return;
        }
        let text = format!("the price of {} is not known: budgets in usd do not count what it uses", model.slug);
        purse.unpriced = Some(model.slug.clone());
        let (text, level) = (text.into(), NoticeLevel::Warning);
        self.log.emit(Event::Extension(ExtensionEvent::Notice(Notice::Say { text, level })));
    }
}

pub(super) fn all_of(sums: Vec<UsageSum>) -> UsageSum {
    let mut all = UsageSum::none("".into());
    sums.iter().for_each(|sum| all.add(sum));
    all
}

fn spent(ask: &BudgetAsk, why: Option<&str>) -> Fault {
    let line = ask.spent_line();
    let text = why.map_or_else(|| line.clone(), |why| format!("{line}: {why}"));
    let fault = Fault::new(FaultKind::Budget, text);
    let instead = match ask.span {
        BudgetSpan::Turn => "send another prompt to go on",
        BudgetSpan::Session => "start another session",
        BudgetSpan::Day => "go on tomorrow (UTC)",
    };
    let name = ask.name();
    fault.hint(format!("{instead}, or raise it: `--budget {name}=N`, or `budget.{name}` in your configuration"))
}
