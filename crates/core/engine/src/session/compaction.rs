//! Compactions: those a call needs first, those a peer asks for, and the one that waits for the running turn.

mod summary;

use std::sync::Arc;

use vocab::{
    Body, BranchEntry, CompactReason, Compaction, CompactionEvent, Event, Fault, FaultKind, ModelEntry, ModelInfo,
    Principal, Reply, Requested, Tag,
};

use super::Session;
use super::activity::{AfterCompaction, BeforeCall, CompactionAsker, Summarising};
use super::calls::AfterWrite;
use crate::outbox::Outbox;
use crate::session::queue::TurnOver;
use crate::session::turn::Effect;
use summary::SummaryJob;
pub(crate) use summary::push_summary_of;
pub(super) use summary::{Compacted, Trace};

/// A compaction that comes after the running turn and before the next one.
pub(super) struct NextCompaction {
    pub(super) outbox: Arc<Outbox>,
    pub(super) tag: Tag,
    pub(super) by: Option<Principal>,
    pub(super) instructions: Option<Arc<str>>,
}

impl Session {
    /// Starts a compaction that a peer asked for; the reply comes when it is done.
    pub(super) fn compact(
        &mut self,
        outbox: &Arc<Outbox>,
        tag: Tag,
        instructions: Option<Arc<str>>,
        slash: bool,
    ) -> Result<(), Fault> {
        if self.prompts.queue.is_busy() {
            let what = if self.activity.is_compacting() { "compaction" } else { "turn" };
            return Err(Fault::new(FaultKind::TurnInProgress, format!("a {what} is already running")));
        }
        self.view_ready()?;
        self.jobs.failure()?;
        self.check_budget()?;
        let by = self.log.commands.acting().cloned();
        let then = AfterCompaction::Answer(CompactionAsker { outbox: outbox.clone(), tag, by, slash });
        self.start_compaction(CompactReason::Manual, instructions, then)?;
        self.prompts.queue.occupy().expect("it was idle a moment ago");
        Ok(())
    }

    /// As [`Session::compact`], after whatever runs now. One waits at a time.
    pub(super) fn compact_in_turn(
        &mut self,
        outbox: &Arc<Outbox>,
        tag: Tag,
        instructions: Option<Arc<str>>,
    ) -> Result<(), Fault> {
        if !self.prompts.queue.is_busy() {
            return self.compact(outbox, tag, instructions, false);
        }
        if self.activity.next.is_some() {
            return Err(Fault::new(FaultKind::TurnInProgress, "a compaction is already waiting for the running turn"));
        }
        let by = self.log.commands.acting().cloned();
        self.activity.next = Some(NextCompaction { outbox: outbox.clone(), tag, by, instructions });
        Ok(())
    }

    /// Starts the compaction that waited, once nothing runs any more. The queue was left busy for it.
    pub(super) fn compact_next(&mut self) {
        // What it summarises is written, and in memory; the loop comes back here when that is so.
        if !self.activity.is_compaction_next() || !self.log.is_settled() || !self.view.is_loaded() {
            return;
        }
        let Some(NextCompaction { outbox, tag, by, instructions }) = self.activity.next.take() else { return };
        self.log.look_at_end(&outbox, tag, by.clone());
        let then = AfterCompaction::Answer(CompactionAsker { outbox: outbox.clone(), tag, by, slash: false });
        let started = self.check_budget();
        let started = started.and_then(|()| self.start_compaction(CompactReason::Manual, instructions, then));
        self.log.looked_at();
        if let Err(fault) = started {
            self.log.reply(outbox, Event::Reply { tag, result: Err(fault) });
            self.queue_goes_on(TurnOver::Completed);
        }
    }

    /// The compaction that waits, and that nothing stands before, will not come: the queue was left busy for it.
    pub(super) fn give_up_next_compaction(&mut self, fault: Fault) {
        if self.activity.is_compaction_next() {
            self.refuse_next_compaction(fault);
            self.queue_goes_on(TurnOver::Completed);
        }
    }

    /// The compaction that waits will not come.
    pub(super) fn refuse_next_compaction(&mut self, fault: Fault) {
        if let Some(NextCompaction { outbox, tag, .. }) = self.activity.next.take() {
            self.log.reply(outbox, Event::Reply { tag, result: Err(fault) });
        }
    }

    /// Whether a compaction was started that the next model call has to wait for. With the history loaded.
    pub(super) fn make_room(&mut self, is_due: bool, has_switched: bool) -> bool {
        if !self.log.is_settled() {
            // A summary is made of what is written; an interrupt does not wait for that.
            self.when_written(AfterWrite::Then(Effect::CallModel));
            return true;
        }
        let then = || AfterCompaction::Turn(BeforeCall::CallModel);
        if has_switched
            && self.activity.with_turn(|turn, _| turn.tries_switch()) == Some(true)
            && self.start_compaction(CompactReason::Switch, None, then()).is_ok()
        {
            return true;
        }
        is_due && self.start_compaction(CompactReason::Threshold, None, then()).is_ok()
    }

    /// With the history loaded and everything written: a summary is made of what the store has.
    pub(super) fn start_compaction(
        &mut self,
        reason: CompactReason,
        instructions: Option<Arc<str>>,
        then: AfterCompaction,
    ) -> Result<(), Fault> {
        let history = self.view.history().expect("loaded before anything can be compacted");
        let marks = history.marks();
        if reason == CompactReason::Manual && history.is_compacted() {
            return Err(Fault::new(FaultKind::NothingToDo, "Already compacted"));
        }
        let at = match reason {
            // The other provider's replies are not put before this one word for word, however few they are.
            CompactReason::Switch => summary::cut_close(marks),
            // A peer that asks for it gets it, however much room there is.
            CompactReason::Manual => {
                summary::cut(marks, &self.settings.compaction, self.settings.asked().context_window)
                    .or_else(|| summary::cut_whole(marks))
            }
            CompactReason::Threshold | CompactReason::Overflow => {
                summary::cut(marks, &self.settings.compaction, self.settings.asked().context_window)
            }
        };
        let Some(at) = at else {
            return Err(match reason {
                CompactReason::Manual => Fault::new(FaultKind::NothingToDo, "Nothing to compact (session too small)"),
                _ => Fault::new(FaultKind::ContextOverflow, "the context is full and there is nothing left to compact")
                    .hint("start a new session, or use a model with a larger context window"),
            });
        };
        let trace: Arc<Trace> = Arc::default();
        let model = self.settings.asked().slug.clone();
        let job = SummaryJob {
            // Within a turn its own call has looked.
            day: if reason == CompactReason::Manual { self.day_check() } else { None },
            session: self.id.clone(),
            store: self.shared.ports.store.clone(),
            provider: self.shared.ports.provider.clone(),
            model: ModelInfo::clone(self.settings.asked()),
            reason,
            instructions,
            // Behind everything there is where nothing is kept.
            first_kept: marks.get(at).map_or(self.log.last_seq() + 1, |mark| mark.seq),
            upto: self.log.last_seq(),
            tokens_before: history.context_tokens(),
            messages_before: history.messages(),
            clock: self.shared.ports.clock.clone(),
            trace: trace.clone(),
        };
        self.log.emit(Event::Compaction(CompactionEvent::Started { reason }));
        let summarising = Summarising { job: job.run(), reason, model, trace, meanwhile: Vec::new() };
        self.activity.compact(summarising, then);
        Ok(())
    }

    pub(super) fn compaction_done(&mut self, result: Result<Compacted, Fault>) {
        let Some((summarising, then)) = self.activity.end_compaction() else { return };
        let Summarising { reason, model, trace, meanwhile, .. } = summarising;
        if let AfterCompaction::Answer(CompactionAsker { outbox, tag, by, .. }) = &then {
            self.log.look_at_end(outbox, *tag, by.clone());
        }
        self.log_trace(&model, &trace);
        let result = result.map(|mut compacted| {
            compacted.compaction.messages_after += meanwhile.len() as u64;
            compacted.kept.extend(meanwhile);
            self.apply_compaction(compacted)
        });
        if let Err(fault) = &result {
            self.log.emit(Event::Compaction(CompactionEvent::Failed { reason, fault: fault.clone() }));
        }
        match then {
            AfterCompaction::Turn(BeforeCall::ResumeTurn) => {
                self.with_turn(|turn, fx| turn.compacted(result.map(|_| ()), fx));
            }
            // There is still room, or the history fits as it is; a summary that failed must not fail the turn.
            AfterCompaction::Turn(BeforeCall::CallModel) if self.view.is_loaded() => self.send_if_allowed(),
            // The model was switched meanwhile.
            AfterCompaction::Turn(BeforeCall::CallModel) => self.load_then(Effect::CallModel),
            AfterCompaction::Answer(asker) => self.compaction_answered(asker, result),
        }
        self.log.looked_at();
    }

    fn compaction_answered(&mut self, asker: CompactionAsker, result: Result<Compaction, Fault>) {
        let CompactionAsker { outbox, tag, slash, .. } = asker;
        self.tell_state();
        let result = match (slash, result) {
            (true, result) => {
                let result = super::slash::compacted(result, &self.state());
                Ok(Reply::Slash(Box::new(crate::commands::reply("compact", result))))
            }
            (false, result) => result.map(|compaction| Reply::Compacted(Box::new(compaction))),
        };
        self.log.reply(outbox, Event::Reply { tag, result });
        self.queue_goes_on(TurnOver::Completed);
    }

    /// Stops a running compaction, if there is one, and says so to the peers that heard it start.
    pub(super) fn cancel_compaction(&mut self, fault: Fault) {
        let Some((summarising, then)) = self.activity.end_compaction() else { return };
        let Summarising { reason, model, trace, .. } = summarising;
        // What it cost is the asker's, whoever stops it.
        let stopping = self.log.commands.acting().cloned();
        if let AfterCompaction::Answer(asker) = &then {
            self.log.commands.act_for(asker.by.clone());
        }
        self.log_trace(&model, &trace);
        self.log.commands.act_for(stopping);
        // A user who stops us does not want us to go on by ourselves.
        self.reminders.is_due = false;
        self.log.emit(Event::Compaction(CompactionEvent::Failed { reason, fault: fault.clone() }));
        if let AfterCompaction::Answer(asker) = then {
            self.compaction_answered(asker, Err(fault));
        }
    }

    /// What the summary's call has sent, and what it cost where no summary came of it.
    fn log_trace(&mut self, model: &Arc<str>, trace: &Trace) {
        let mut left = trace.take();
        let spent = left.spent(false, 0);
        let turn = self.current_turn();
        for request in left.requests {
            let body = Body::Model(ModelEntry::Requested(Requested {
                turn: turn.clone(),
                model: model.clone(),
                summary: Some(request.of),
                sent: Some(request.sent),
                bytes: request.bytes,
            }));
            self.log_at(request.at_ms, body);
        }
        let Some(usage) = spent else { return };
        self.with_turn(|turn, _| turn.spend(usage));
        self.log(Body::Model(ModelEntry::Spent { turn, call: None, model: model.clone(), usage }));
    }

    fn apply_compaction(&mut self, compacted: Compacted) -> Compaction {
        let Compacted { mut compaction, kept } = compacted;
        match self.view.history_mut() {
            Some(history) => {
                // What every call sends besides its messages was counted before, and is there afterwards.
                let fixed = compaction.tokens_before.saturating_sub(vocab::estimate_tokens(history.bytes()));
                history.replace(Some(&compaction), kept.iter());
                compaction.tokens_after = fixed + vocab::estimate_tokens(history.bytes());
                history.set_reported(compaction.tokens_after);
            }
            // The model was switched meanwhile: the next load reads the summary from the log.
            None => {
                let bytes: usize = kept.iter().map(|said| summary::size(&said.message)).sum();
                compaction.tokens_after = vocab::estimate_tokens(compaction.summary.len() + bytes);
            }
        }
        let seq = self.log(Body::Branch(BranchEntry::Compacted(compaction.clone()))).seq;
        if let Some(history) = self.view.history_mut() {
            history.compacted(seq);
        }
        compaction
    }
}
