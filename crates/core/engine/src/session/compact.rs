//! Compactions: those a call needs first, those somebody asks for, and the one that waits for the running turn.

use std::sync::Arc;

use tokio::time::Instant;
use vocab::{
    Body, BranchEntry, CompactReason, Compaction, CompactionEvent, Event, Fault, FaultKind, ModelEntry, ModelInfo,
    Reply, Requested, Tag,
};

use super::intent::Intent;
use super::{AfterCompact, Session, Work};
use crate::compaction::{self, Compacted, Job, Trace};
use crate::history::History;
use crate::lane::TurnOver;
use crate::outbox::Outbox;
use crate::turn::{Effect, Turn};

/// A compaction that comes after the running turn and before the next one.
pub(super) struct NextCompaction {
    outbox: Arc<Outbox>,
    tag: Tag,
    instructions: Option<Arc<str>>,
}

impl Session {
    /// Starts a compaction that somebody asked for; the reply comes when it is done.
    pub(super) async fn compact(
        &mut self,
        outbox: &Arc<Outbox>,
        tag: Tag,
        instructions: Option<Arc<str>>,
        slash: bool,
    ) -> Result<(), Fault> {
        if self.lane.is_busy() {
            let what = if matches!(self.work, Work::Compact { .. }) { "compaction" } else { "turn" };
            return Err(Fault::new(FaultKind::TurnInProgress, format!("a {what} is already running")));
        }
        self.load().await?;
        let then = AfterCompact::Answer { outbox: outbox.clone(), tag, slash };
        self.start_compaction(CompactReason::Manual, instructions, then).await?;
        self.lane.occupy().expect("it was idle a moment ago");
        Ok(())
    }

    /// As [`Session::compact`], after whatever runs now. One waits at a time.
    pub(super) async fn compact_in_turn(
        &mut self,
        outbox: &Arc<Outbox>,
        tag: Tag,
        instructions: Option<Arc<str>>,
    ) -> Result<(), Fault> {
        if !self.lane.is_busy() {
            return self.compact(outbox, tag, instructions, false).await;
        }
        if self.next_compaction.is_some() {
            return Err(Fault::new(FaultKind::TurnInProgress, "a compaction is already waiting for the running turn"));
        }
        self.next_compaction = Some(NextCompaction { outbox: outbox.clone(), tag, instructions });
        Ok(())
    }

    /// Starts the compaction that waited, once nothing runs any more. The lane was left busy for it.
    pub(super) async fn compact_next(&mut self) {
        if self.turn.is_some() || !matches!(self.work, Work::Nothing) {
            return;
        }
        let Some(NextCompaction { outbox, tag, instructions }) = self.next_compaction.take() else { return };
        self.ledger.answering = Some((outbox.clone(), tag));
        let then = AfterCompact::Answer { outbox: outbox.clone(), tag, slash: false };
        let started = match self.load().await {
            Ok(()) => self.start_compaction(CompactReason::Manual, instructions, then).await,
            Err(fault) => Err(fault),
        };
        self.ledger.answering = None;
        if let Err(fault) = started {
            self.ledger.reply(outbox, Event::Reply { tag, result: Err(fault) });
            self.lane_goes_on(TurnOver::Completed);
        }
    }

    /// The compaction that waits will not come.
    pub(super) fn refuse_next_compaction(&mut self, fault: Fault) {
        if let Some(NextCompaction { outbox, tag, .. }) = self.next_compaction.take() {
            self.ledger.reply(outbox, Event::Reply { tag, result: Err(fault) });
        }
    }

    /// Whether a compaction was started that the next model call has to wait for. With the history loaded.
    pub(super) async fn make_room(&mut self) -> bool {
        let tokens = self.history.as_ref().map_or(0, History::context_tokens);
        let is_due = compaction::is_due(&self.settings.compaction, tokens, self.model.context_window);
        let has_switched = self.has_switched();
        if (is_due || has_switched) && !self.ledger.is_settled() {
            // A summary is made of what is written; an interrupt does not wait for that.
            self.when_written(Intent::Then(Effect::CallModel));
            return true;
        }
        if has_switched
            && self.turn.as_mut().is_some_and(Turn::tries_switch)
            && self.start_compaction(CompactReason::Switch, None, AfterCompact::CallModel).await.is_ok()
        {
            return true;
        }
        is_due && self.start_compaction(CompactReason::Threshold, None, AfterCompact::CallModel).await.is_ok()
    }

    /// Whether the last reply came from another provider's model that somebody had chosen.
    fn has_switched(&self) -> bool {
        let Some(replier) = self.history.as_ref().and_then(History::replier) else { return false };
        let stood_in = self.fallen.is_some() || self.model.fallbacks.contains(replier);
        if !self.settings.compaction.on_switch || stood_in || *replier == self.model.slug {
            return false;
        }
        let resolved = self.shared.ports.provider.resolve(replier);
        resolved.map_or(true, |model| model.provider != self.model.provider)
    }

    pub(super) async fn start_compaction(
        &mut self,
        reason: CompactReason,
        instructions: Option<Arc<str>>,
        then: AfterCompact,
    ) -> Result<(), Fault> {
        self.await_commits().await?;
        let history = self.history.as_ref().expect("loaded before anything can be compacted");
        let marks = history.marks();
        if reason == CompactReason::Manual && history.is_compacted() {
            return Err(Fault::new(FaultKind::NothingToDo, "Already compacted"));
        }
        let at = match reason {
            // The other provider's replies are not put before this one word for word, however few they are.
            CompactReason::Switch => compaction::cut_close(marks),
            // Whoever asks for it gets it, however much room there is.
            CompactReason::Manual => compaction::cut(marks, &self.settings.compaction, self.model.context_window)
                .or_else(|| compaction::cut_whole(marks)),
            CompactReason::Threshold | CompactReason::Overflow => {
                compaction::cut(marks, &self.settings.compaction, self.model.context_window)
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
        let model = self.model.slug.clone();
        let job = Job {
            session: self.id.clone(),
            store: self.shared.ports.store.clone(),
            provider: self.shared.ports.provider.clone(),
            model: ModelInfo::clone(&self.model),
            reason,
            instructions,
            // Behind everything there is where nothing is kept.
            first_kept: marks.get(at).map_or(self.ledger.last_seq() + 1, |mark| mark.seq),
            upto: self.ledger.last_seq(),
            tokens_before: history.context_tokens(),
            messages_before: history.messages(),
            clock: self.shared.ports.clock.clone(),
            trace: trace.clone(),
        };
        self.ledger.emit(Event::Compaction(CompactionEvent::Started { reason }));
        self.work = Work::Compact { job: job.run(), reason, model, trace, then, meanwhile: Vec::new() };
        self.moved_at = Instant::now();
        Ok(())
    }

    pub(super) fn compaction_done(&mut self, result: Result<Compacted, Fault>) {
        let Work::Compact { reason, model, trace, then, meanwhile, .. } =
            std::mem::replace(&mut self.work, Work::Nothing)
        else {
            return;
        };
        if let AfterCompact::Answer { outbox, tag, .. } = &then {
            self.ledger.answering = Some((outbox.clone(), *tag));
        }
        self.log_trace(&model, &trace);
        let result = result.map(|mut compacted| {
            compacted.compaction.messages_after += meanwhile.len() as u64;
            compacted.kept.extend(meanwhile);
            self.apply_compaction(compacted)
        });
        if let Err(fault) = &result {
            self.ledger.emit(Event::Compaction(CompactionEvent::Failed { reason, fault: fault.clone() }));
        }
        match then {
            AfterCompact::ResumeTurn => {
                self.with_turn(|turn, fx| turn.compacted(result.map(|_| ()), fx));
            }
            // There is still room, or the history fits as it is; a summary that failed must not fail the turn.
            AfterCompact::CallModel if self.history.is_some() => self.send_request(),
            // The model was switched meanwhile.
            AfterCompact::CallModel => self.load_for_call(),
            AfterCompact::Answer { outbox, tag, slash } => self.compaction_answered(outbox, tag, slash, result),
        }
        self.ledger.answering = None;
    }

    fn compaction_answered(&mut self, outbox: Arc<Outbox>, tag: Tag, slash: bool, result: Result<Compaction, Fault>) {
        self.tell_state();
        let result = match (slash, result) {
            (true, result) => {
                let result = super::slash::compacted(result, &self.state());
                Ok(Reply::Slash(Box::new(crate::commands::reply("compact", result))))
            }
            (false, result) => result.map(|compaction| Reply::Compacted(Box::new(compaction))),
        };
        self.ledger.reply(outbox, Event::Reply { tag, result });
        self.lane_goes_on(TurnOver::Completed);
    }

    /// Stops a running compaction, if there is one, and says so to whoever heard it start.
    pub(super) fn cancel_compaction(&mut self, fault: Fault) {
        if !matches!(self.work, Work::Compact { .. }) {
            return;
        }
        let Work::Compact { reason, model, trace, then, .. } = std::mem::replace(&mut self.work, Work::Nothing) else {
            return;
        };
        self.log_trace(&model, &trace);
        // Whoever stops us does not want us to go on by ourselves.
        self.may_remind = false;
        self.ledger.emit(Event::Compaction(CompactionEvent::Failed { reason, fault: fault.clone() }));
        if let AfterCompact::Answer { outbox, tag, slash } = then {
            self.compaction_answered(outbox, tag, slash, Err(fault));
        }
    }

    /// What the summary's call has sent, and what it cost where no summary came of it.
    fn log_trace(&mut self, model: &Arc<str>, trace: &Trace) {
        let left = trace.take();
        let turn = self.current_turn();
        for request in left.requests {
            let body = Body::Model(ModelEntry::Requested(Requested {
                turn: turn.clone(),
                model: model.clone(),
                summary: Some(request.of),
                sent: Some(request.sent),
                bytes: request.bytes,
            }));
            self.log_at(Some(request.at_ms), body);
        }
        let Some(usage) = left.usage else { return };
        if let Some(turn) = &mut self.turn {
            turn.spend(usage);
        }
        self.log(Body::Model(ModelEntry::Spent { turn, call: None, model: model.clone(), usage }));
    }

    fn apply_compaction(&mut self, compacted: Compacted) -> Compaction {
        let Compacted { mut compaction, kept } = compacted;
        match &mut self.history {
            Some(history) => {
                // What every call sends besides its messages was counted before, and is there afterwards.
                let fixed = compaction.tokens_before.saturating_sub(vocab::estimate_tokens(history.bytes()));
                history.replace(Some(&compaction), kept.iter());
                compaction.tokens_after = fixed + vocab::estimate_tokens(history.bytes());
                history.set_reported(compaction.tokens_after);
            }
            // The model was switched meanwhile: the next load reads the summary from the log.
            None => {
                let bytes: usize = kept.iter().map(|said| compaction::size(&said.message)).sum();
                compaction.tokens_after = vocab::estimate_tokens(compaction.summary.len() + bytes);
            }
        }
        let seq = self.log(Body::Branch(BranchEntry::Compacted(compaction.clone())));
        if let Some(history) = &mut self.history {
            history.compacted(seq);
        }
        compaction
    }
}
