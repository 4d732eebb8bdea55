//! Reading the log back, and going on after something broke: a process that died, a write that failed.

use std::future::poll_fn;

use vocab::{Body, Event, Fault, FaultKind, Stop, TurnEnd, Usage};

use super::{Session, Work};
use crate::bill::Bill;
use crate::history::{Branch, History, lost_result};
use crate::lane::TurnOver;

impl Session {
    /// Reads the branch back when it is not in memory, and closes what a dead process left open: each open call gets
    /// a recorded result before the next model request can be made.
    pub(super) async fn load(&mut self) -> Result<(), Fault> {
        if self.history.is_some() {
            return Ok(());
        }
        self.await_commits().await?;
        let mut news = false;
        let mut history = History::new(self.shared.ports.provider.chat(&self.model)?);
        if self.ledger.last_seq() > 0 {
            let mut page = self.shared.ports.store.read(&self.id, 0, usize::MAX).await?;
            // A commit that was said to have failed may be there all the same; the next append takes it away.
            page.entries.retain(|entry| entry.seq <= self.ledger.last_seq());
            let branch = Branch::read(&page.entries);
            if let Some(text) = page.recovered {
                self.ledger.log(Body::Recovered { text: text.into() });
            }
            history.rebuild(&branch, self.current_turn().as_ref());
            if let Some(off) = &branch.gadgets_off
                && self.settings.gadgets_off != *off
            {
                self.settings.gadgets_off = off.clone();
                self.spec = None;
                news = true;
            }
            if let Some(level) = &branch.thinking
                && self.settings.thinking != *level
            {
                self.settings.thinking = level.clone();
                self.spec = None;
                news = true;
            }
            self.logged_thinking = branch.thinking.clone().flatten();
            if *self.todos != *branch.todos {
                self.todos = branch.todos.as_slice().into();
                news = true;
            }
            if self.turn.is_none() {
                // What a failed write had us count is not in the log.
                self.spent = Bill::of(&page.entries).total();
                self.repair(branch);
            }
        }
        self.history = Some(history);
        if news {
            self.tell_state();
        }
        Ok(())
    }

    /// What was repaired before anybody came is the first thing said, to whoever comes first.
    pub(super) fn log_repair(&mut self) {
        if let Some(text) = self.recovered.take() {
            self.log(Body::Recovered { text: text.into() });
        }
    }

    /// Lets go of the encoded history; the numbers that are told about it stay.
    pub(super) fn unload(&mut self) {
        if let Some(history) = self.history.take() {
            self.messages_unloaded = history.messages();
            self.results_unloaded = history.results();
            self.context_unloaded = history.reported_tokens();
        }
    }

    /// What is still on its way to the store may fail; a history read without it would not fit what follows.
    pub(super) async fn await_commits(&mut self) -> Result<(), Fault> {
        while !self.ledger.is_settled() {
            self.ledger.flush();
            if let Err(fault) = poll_fn(|context| self.ledger.poll_commit(context)).await {
                self.store_failed(fault.clone());
                return Err(fault);
            }
        }
        Ok(())
    }

    fn repair(&mut self, branch: Branch) {
        for ask in branch.open_asks {
            if !self.asks.contains_key(&ask.id) {
                self.ledger.log(Body::AskClosed { ask: ask.id, end: vocab::AskEnd::Withdrawn });
            }
        }
        let lost = branch.open_calls.len();
        for (turn, call) in branch.open_calls {
            self.ledger.log(Body::CallEnded { turn, result: lost_result(&call) });
        }
        if let Some(turn) = branch.open_turn {
            self.spent.add(&branch.open_usage);
            let fault = Fault::new(FaultKind::Internal, "the process ended during this turn");
            self.ledger.log(Body::TurnEnded(TurnEnd {
                turn,
                stop: Stop::Error,
                iterations: 0,
                usage: branch.open_usage,
                mutations: Vec::new(),
                fault: Some(fault),
            }));
        }
        if lost > 0 {
            let text = format!("{lost} tool call(s) had no result and were closed with an error");
            self.ledger.log(Body::Recovered { text: text.into() });
        }
        if self.lane.list().len() == 0 {
            let mut waiting = branch.waiting;
            for item in &mut waiting {
                item.sender = self.senders.remove(&item.id);
            }
            self.senders.clear();
            self.queued_in_log.extend(waiting.iter().map(|item| item.id.clone()));
            for item in self.lane.restore(waiting) {
                self.settle_item(&item, vocab::ItemEnd::Dropped);
            }
        }
    }

    /// The log could not be written: the turn ends, nothing after the failure is told, and the next message tries
    /// again from what the store really has.
    pub(super) fn store_failed(&mut self, fault: Fault) {
        let was_running = self.roll_back(&fault);
        if fault.kind == FaultKind::SessionBusy {
            // Somebody else owns the session now.
            return self.cast_off(fault);
        }
        if was_running || self.lane.is_busy() {
            self.lane_goes_on(TurnOver::Failed);
        }
        self.tell_queue();
    }

    /// Back to what the store has. Whether a turn was running.
    pub(super) fn roll_back(&mut self, fault: &Fault) -> bool {
        // What waits is what the log says: an item whose record is lost was refused, one whose end is lost waits on.
        self.senders.extend(self.lane.clear().into_iter().filter_map(|item| Some((item.id, item.sender?))));
        self.queued_in_log.clear();
        self.may_remind = false;
        self.refuse_next_compaction(fault.clone());
        self.cancel_compaction(fault.clone());
        self.work = Work::Nothing;
        self.fx.clear();
        let rolled_back = self.ledger.roll_back(fault);
        // What it stands for may be gone.
        self.last_sent = None;
        self.drop_asks();
        self.forget_context();
        self.senders.extend(rolled_back.senders);
        self.unsettled = rolled_back.unsettled;
        let was_running = self.turn.take().is_some();
        self.return_home();
        self.unload();
        if let Some(reason) = rolled_back.told_compaction {
            self.ledger.emit(Event::CompactionFailed { reason, fault: fault.clone() });
        }
        if let Some(turn) = rolled_back.told_turn {
            self.ledger.emit(Event::TurnLost(TurnEnd {
                turn,
                stop: Stop::Error,
                iterations: 0,
                usage: Usage::default(),
                mutations: Vec::new(),
                fault: Some(fault.clone()),
            }));
        }
        was_running
    }
}
