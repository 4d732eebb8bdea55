//! Carries out what the turn asks for.

use tokio::time::Duration;
use vocab::{Body, Delta, Event, ItemEnd, RetryEvent, SettingEntry, SettleReason, Stop, TurnEnd, TurnEntry, UserFrom};

use super::Session;
use super::activity::{AfterCompaction, BeforeCall, TurnCut, TurnWaits};
use super::calls::AfterWrite;
use super::fallback::Fallback;
use super::hooks::HookPoint;
use crate::session::queue::TurnOver;
use crate::session::turn::{Effect, SafePoint, Turn};
use crate::turn_places::WaitsSince;

impl Session {
    /// Performs effects until the turn waits for something.
    pub(super) fn settle(&mut self) {
        loop {
            while self.activity.has_effects() {
                let mut effects = self.activity.take_effects();
                for effect in effects.drain(..) {
                    self.perform(effect);
                }
                self.activity.effects_done(effects);
            }
            if self.activity.is_compaction_next() {
                self.compact_next();
            }
            if !self.activity.has_effects() {
                return;
            }
        }
    }

    fn perform(&mut self, effect: Effect) {
        let Some(turn) = self.current_turn() else { return };
        match effect {
            effect @ (Effect::CallModel
            | Effect::SendRequest
            | Effect::Compact(_)
            | Effect::Run { .. }
            | Effect::TryAgain)
                if !self.has_place() =>
            {
                self.await_place(effect)
            }
            effect @ (Effect::Judge(_) | Effect::TakeUp { .. } | Effect::Run { .. })
                if self.mcp.first_call && self.needs_servers(&effect) =>
            {
                self.await_servers(effect)
            }
            Effect::Text(delta) => self.log.emit(Event::Delta(Delta::Text { turn, delta: delta.into() })),
            Effect::Thinking(delta) => self.log.emit(Event::Delta(Delta::Thinking { turn, delta: delta.into() })),
            Effect::Sealed(what) => self.log.emit(Event::Delta(Delta::Sealed { turn, what })),
            Effect::CallInput { index, id, name, delta } => {
                self.log.emit(Event::Delta(Delta::CallInput { turn, index, id, name, delta: delta.into() }));
            }
            Effect::Log(body) => {
                let shows = matches!(body, Body::Setting(SettingEntry::Todos { .. }));
                self.log(body);
                if shows {
                    self.tell_state();
                }
            }
            Effect::CallModel => self.call_model(),
            Effect::SendRequest => self.send_if_allowed(),
            Effect::Judge(call) => self.judge(call),
            Effect::TakeUp { call, begun } => self.take_up(call, begun),
            Effect::Ask(ask) => self.open_permission(ask),
            Effect::Run { call, tool, .. } if self.tools.owner_of(&self.settings, &tool).is_some() => {
                self.delegate(call, tool)
            }
            Effect::Run { call, tool, granted } => self.run_tool(call, &tool, granted),
            Effect::Delegate { call, tool } => self.delegate(call, tool),
            Effect::SafePoint(SafePoint::Start) => {
                self.hear_of_extensions();
                match self.tools.has_extensions() {
                    true => self.hook(HookPoint::Turn { messages: Vec::new() }),
                    false => self.safe_point(SafePoint::Start),
                }
            }
            Effect::SafePoint(point) => self.safe_point(point),
            Effect::WaitRetry { ms } => {
                self.activity.wait(TurnWaits::Retry(Box::pin(tokio::time::sleep(Duration::from_millis(ms)))));
            }
            Effect::TryAgain => self.with_turn(|turn, fx| turn.retry_due(fx)),
            Effect::RetryStarted { attempt } => self.log.emit(Event::Retry(RetryEvent::Started { turn, attempt })),
            Effect::RetryEnded { attempt, ok } => self.log.emit(Event::Retry(RetryEvent::Ended { turn, attempt, ok })),
            Effect::FallBack(fault) => self.fall_back(fault),
            Effect::Compact(reason) if !self.log.is_settled() => {
                self.when_written(AfterWrite::Then(Effect::Compact(reason)));
            }
            // A model switched since the call began has unloaded the history.
            Effect::Compact(reason) if !self.view.is_loaded() => self.load_then(Effect::Compact(reason)),
            Effect::Compact(reason) if self.purse.is_some() && !self.may_spend(Effect::Compact(reason)) => {}
            Effect::Compact(reason) => {
                if let Err(fault) = self.start_compaction(reason, None, AfterCompaction::Turn(BeforeCall::ResumeTurn)) {
                    self.with_turn(|turn, fx| turn.compacted(Err(fault), fx));
                }
            }
            Effect::End(end) => self.end_turn(end),
        }
    }

    pub(super) fn safe_point(&mut self, point: SafePoint) {
        if self.stops_at(point) {
            return;
        }
        let goes_on = self.activity.turn().is_some_and(Turn::goes_on);
        if point == SafePoint::BetweenCalls {
            let cut = self.prompts.queue.cuts_batch(goes_on);
            return self.with_turn(|turn, fx| turn.joined(cut, fx));
        }
        let steers = if goes_on { self.prompts.queue.take_steers() } else { self.prompts.queue.take_late_steers() };
        let (items, from) = match point {
            SafePoint::EndOfReply if steers.is_empty() => (self.prompts.queue.take_follow_ups(), UserFrom::FollowUp),
            _ => (steers, UserFrom::Steer),
        };
        let joined = !items.is_empty();
        let turn = self.current_turn();
        if let Some(limits) = &mut self.limits {
            limits.join(&items);
        }
        for (peer, _) in items.iter().filter_map(|item| item.sender) {
            // Once, however often it steers.
            if !self.prompts.turn_from.contains(&peer) {
                self.prompts.turn_from.push(peer);
            }
        }
        for item in items {
            self.settle_item(&item, ItemEnd::Consumed, SettleReason::Ran, turn.as_ref());
            self.log_by(item.by, Body::User { turn: turn.clone(), parts: item.parts, from });
        }
        if joined {
            self.reminders.given = 0;
            self.tell_queue();
        }
        self.with_turn(|turn, fx| turn.joined(joined, fx));
    }

    fn end_turn(&mut self, end: TurnEnd) {
        self.stop_work();
        let over = match end.stop {
            Stop::Interrupted => TurnOver::Interrupted,
            Stop::Error => TurnOver::Failed,
            Stop::EndTurn | Stop::MaxTokens | Stop::MaxIterations | Stop::Refusal | Stop::Budget => TurnOver::Completed,
        };
        let ended_well = end.stop == Stop::EndTurn;
        // One that came to its own end was not cut, whoever tried.
        if let Some(TurnCut { why, by, item }) = self.activity.take_cut()
            && matches!(end.stop, Stop::Interrupted | Stop::Error)
        {
            self.log_by(by, Body::Turn(TurnEntry::Cut { turn: end.turn.clone(), why, item }));
        }
        self.log(Body::Turn(TurnEntry::Ended(end)));
        self.activity.end_turn();
        self.prompts.drawn_since = self.bound().map(|turns| WaitsSince::Here(turns.draw()));
        // The turn is over: the chosen model is asked again.
        if let Some(home) = self.settings.fallback.take().map(Fallback::into_home) {
            self.speak_to(home);
        }
        // What extensions said for one turn goes with it.
        self.extensions.opening.clear();
        self.tools.drop_added();
        self.tell_state();
        self.reminders.is_due = ended_well;
        self.queue_goes_on(over);
    }

    pub(super) fn with_turn(&mut self, step: impl FnOnce(&mut Turn, &mut Vec<Effect>)) {
        self.activity.with_turn(step);
    }

    /// Drops whatever the turn waits for: the model connection closes, the tool's processes end.
    pub(super) fn stop_work(&mut self) {
        match self.activity.stop_waiting() {
            TurnWaits::Tool { since, .. } | TurnWaits::Host { since } => {
                self.with_turn(|turn, _| turn.ran_for(since.elapsed().as_millis() as u64));
                if self.subagents.is_lent {
                    self.charge_subagents();
                }
            }
            TurnWaits::Subagents(_) => self.charge_subagents(),
            TurnWaits::Hook(running_hook) => self.stop_hook(*running_hook),
            TurnWaits::Model(_) => {
                self.estimate_usage();
                if self.purse.is_some() {
                    // Somebody counts.
                    self.with_turn(|turn, _| turn.charge_sent());
                }
            }
            TurnWaits::Nothing
            | TurnWaits::Written { .. }
            | TurnWaits::View { .. }
            | TurnWaits::Retry(_)
            | TurnWaits::Servers { .. }
            | TurnWaits::Briefing(_)
            | TurnWaits::Place { .. }
            | TurnWaits::Day { .. }
            | TurnWaits::Budget { .. }
            | TurnWaits::Compaction(..) => {}
        }
        if !self.approvals.is_empty() {
            self.withdraw_asks();
        }
    }
}
