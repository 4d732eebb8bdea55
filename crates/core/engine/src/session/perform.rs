//! Carries out what the turn and the lane ask for.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use tokio::time::Duration;
use vocab::{
    Body, Call, Delta, Event, Fault, FaultKind, Gate, IdKind, Item, ItemEnd, Json, ModelEvent, ModelStream, Part,
    PermissionAsk, Plan, QueueEntry, QueueEvent, Reply, Required, RetryEvent, SettingEntry, Stop, TurnEnd, TurnEntry,
    TurnId, UserFrom,
};

use super::activity::{AfterCompaction, BeforeCall, Waiting};
use super::calls::AfterWrite;
use super::fallback::Fallback;
use super::hooks::Point;
use super::{Session, client_failed, guarded};
use crate::outbox::Outbox;
use crate::permission::{self, Decision};
use crate::session::queue::{QueueAct, TurnOver, opening};
use crate::session::turn::{Effect, Rules, SafePoint, Turn, Verdict};

impl Session {
    /// Performs effects until the turn waits for something.
    pub(super) fn settle(&mut self) {
        loop {
            while self.activity.has_effects() {
                for effect in self.activity.take_effects() {
                    self.perform(effect);
                }
            }
            self.compact_next();
            if !self.activity.has_effects() {
                return;
            }
        }
    }

    fn perform(&mut self, effect: Effect) {
        let Some(turn) = self.current_turn() else { return };
        match effect {
            Effect::Text(delta) => self.log.emit(Event::Delta(Delta::Text { turn, delta })),
            Effect::Thinking(delta) => self.log.emit(Event::Delta(Delta::Thinking { turn, delta })),
            Effect::Sealed(what) => self.log.emit(Event::Delta(Delta::Sealed { turn, what })),
            Effect::CallInput { index, id, name, delta } => {
                self.log.emit(Event::Delta(Delta::CallInput { turn, index, id, name, delta }));
            }
            Effect::Log(body) => {
                let shows = matches!(body, Body::Setting(SettingEntry::Todos { .. }));
                self.log(body);
                if shows {
                    self.tell_state();
                }
            }
            Effect::CallModel => self.call_model(),
            Effect::Judge(call) => self.consider(call),
            Effect::Ask(ask) => self.open_permission(ask),
            Effect::Run { call, tool, .. } if self.tools.owner_of(&self.settings, &tool).is_some() => {
                self.delegate(call, tool)
            }
            Effect::Run { call, tool, granted } => self.run_tool(call, &tool, granted),
            Effect::Delegate { call, tool } => self.delegate(call, tool),
            Effect::SafePoint(SafePoint::Start) => self.hook(Point::Turn { messages: Vec::new() }),
            Effect::SafePoint(point) => self.safe_point(point),
            Effect::WaitRetry { ms } => {
                self.activity.wait(Waiting::Retry(Box::pin(tokio::time::sleep(Duration::from_millis(ms)))));
            }
            Effect::RetryStarted { attempt } => self.log.emit(Event::Retry(RetryEvent::Started { turn, attempt })),
            Effect::RetryEnded { attempt, ok } => self.log.emit(Event::Retry(RetryEvent::Ended { turn, attempt, ok })),
            Effect::FallBack(fault) => self.fall_back(fault),
            Effect::Compact(reason) if !self.log.is_settled() => {
                self.when_written(AfterWrite::Then(Effect::Compact(reason)));
            }
            // A model switched since the call began has unloaded the history.
            Effect::Compact(reason) if !self.view.is_loaded() => self.load_then(Effect::Compact(reason)),
            Effect::Compact(reason) => {
                if let Err(fault) = self.start_compaction(reason, None, AfterCompaction::Turn(BeforeCall::ResumeTurn)) {
                    self.with_turn(|turn, fx| turn.compacted(Err(fault), fx));
                }
            }
            Effect::End(end) => self.end_turn(end),
        }
    }

    fn call_model(&mut self) {
        if self.await_servers() || self.await_briefing() {
            return;
        }
        if !self.view.is_loaded() {
            return self.load_then(Effect::CallModel);
        }
        if !self.make_room() {
            self.send_request();
        }
    }

    /// The call itself, with the history loaded.
    pub(super) fn send_request(&mut self) {
        self.meet_extensions();
        let model = self.settings.asked().slug.clone();
        self.with_turn(|turn, _| turn.answers(model));
        if let Some(turn) = self.current_turn() {
            self.log.emit(Event::Delta(Delta::ModelCalled { turn }));
        }
        let spec = self.tools.spec(&self.settings);
        if let Some(chat) = self.view.chat() {
            match guarded(|| chat.call(spec)) {
                Ok(stream) => self.begin_stream(stream),
                Err(text) => self.model_said(Some(client_failed(&text))),
            }
        }
    }

    /// Takes the first event at once where there is one: what was sent is logged together with what it answers, in one
    /// transaction.
    fn begin_stream(&mut self, mut stream: ModelStream) {
        let mut context = Context::from_waker(Waker::noop());
        // Whoever has nothing yet is asked again by the session's own loop, with a waker that counts.
        let first = match guarded(|| stream.as_mut().poll_next(&mut context)) {
            Ok(Poll::Pending) => None,
            Ok(Poll::Ready(Some(event @ ModelEvent::Sent { .. }))) => {
                self.with_turn(|turn, fx| turn.model_event(event, fx));
                None
            }
            // Everything else comes in its turn.
            Ok(Poll::Ready(event)) => Some(event),
            Err(text) => Some(Some(client_failed(&text))),
        };
        self.activity.wait(Waiting::Model(match first {
            Some(event) => Box::pin(Peeked { event: Some(event), rest: stream }),
            None => stream,
        }));
    }

    pub(super) fn judge(&self, call: &Call) -> Verdict {
        if self.tools.is_hosted(&call.name) {
            // The controller runs it itself and answers for it: there is nobody else to be asked.
            return Verdict::Delegate { tool: call.name.clone() };
        }
        let input = call.input.json();
        let (name, plan) = match self.planned(&call.name, &input) {
            Ok(planned) => planned,
            Err(verdict) => return verdict,
        };
        let active = self.settings.mode;
        let required = match self.settings.gate {
            Gate::Proxy => self.settings.tool_names.told(&name, plan.required),
            Gate::Ladder | Gate::Alone => plan.required,
        };
        let nobody = self.nobody_answers();
        match permission::decide(self.settings.gate, active, plan.required) {
            Decision::Deny(reason) => Verdict::Deny { tool: name, reason },
            Decision::Allow => Verdict::Allow { tool: name, granted: plan.required, mutation: plan.mutation },
            Decision::Ask if self.remembered.allows(&name, plan.required, &Arc::from(input.as_str())) => {
                Verdict::Allow { tool: name, granted: plan.required, mutation: plan.mutation }
            }
            Decision::Ask if nobody => Verdict::Deny { tool: name, reason: self.unasked(plan.required) },
            Decision::Ask => Verdict::Ask {
                ask: PermissionAsk {
                    call: call.id.clone(),
                    tool: name,
                    input,
                    active,
                    required,
                    reason: permission::reason(active, required),
                    summary: plan.summary,
                    preview: plan.preview.map(|facts| self.shared.ports.keyring.scrub_facts(&facts)),
                },
                mutation: plan.mutation,
            },
        }
    }

    /// The tool's own name and what the call needs, as the tool says it; an extension has said it beforehand.
    pub(super) fn planned(&self, name: &str, input: &Json) -> Result<(Arc<str>, Plan), Verdict> {
        if let Some((extension, tool)) = self.tools.of_extensions(&self.settings).find(|(_, tool)| &*tool.name == name)
        {
            let summary: Arc<str> = format!("{} of the extension {}", tool.name, extension.name).into();
            let mutation = (tool.required > Required::ReadOnly).then(|| summary.clone());
            return Ok((tool.name.clone(), Plan { required: tool.required, mutation, summary, preview: None }));
        }
        let Some(tool) = self.tools.find(&self.settings, name) else { return Err(Verdict::Unknown) };
        match guarded(|| tool.plan(input)) {
            Ok(Ok(plan)) => Ok((tool.spec().name.clone(), plan)),
            Ok(Err(detail)) => Err(Verdict::Invalid(detail)),
            Err(text) => Err(Verdict::Invalid(format!("the tool failed: {text}"))),
        }
    }

    /// Why a call is denied that nobody can be asked about.
    fn unasked(&self, required: Required) -> String {
        if self.log.peers().is_empty() && self.catchers.is_empty() {
            return "denied: nobody is here who could be asked".to_owned();
        }
        let mode = self.settings.mode;
        let why = permission::reason(mode, required).map_or_else(String::new, |reason| format!(": {reason}"));
        format!("denied, because nobody can be asked in permission mode {}{why}", mode.as_str())
    }

    pub(super) fn tell_progress(&mut self, text: &str) {
        if let (Waiting::Tool { call, .. }, Some(turn)) = (self.activity.waiting(), self.current_turn()) {
            let text = self.shared.ports.keyring.scrub_growing(text);
            let event = Event::Delta(Delta::CallProgress { turn, call: call.clone(), parts: vec![Part::text(&*text)] });
            self.log.emit(event);
        }
    }

    pub(super) fn safe_point(&mut self, point: SafePoint) {
        let goes_on = self.activity.turn().is_some_and(Turn::goes_on);
        if point == SafePoint::BetweenCalls {
            let cut = self.queue.cuts_batch(goes_on);
            return self.with_turn(|turn, fx| turn.joined(cut, fx));
        }
        let steers = if goes_on { self.queue.take_steers() } else { self.queue.take_late_steers() };
        let (items, from) = match point {
            SafePoint::EndOfReply if steers.is_empty() => (self.queue.take_follow_ups(), UserFrom::FollowUp),
            _ => (steers, UserFrom::Steer),
        };
        let joined = !items.is_empty();
        let turn = self.current_turn();
        for item in items {
            self.settle_item(&item, ItemEnd::Consumed);
            self.log(Body::User { turn: turn.clone(), parts: item.parts, from });
        }
        if joined {
            self.reminded = 0;
            self.tell_queue();
        }
        self.with_turn(|turn, fx| turn.joined(joined, fx));
    }

    fn end_turn(&mut self, end: TurnEnd) {
        self.stop_work();
        let over = match end.stop {
            Stop::Interrupted => TurnOver::Interrupted,
            Stop::Error => TurnOver::Failed,
            Stop::EndTurn | Stop::MaxTokens | Stop::MaxIterations | Stop::Refusal => TurnOver::Completed,
        };
        let ended_well = end.stop == Stop::EndTurn;
        self.log(Body::Turn(TurnEntry::Ended(end)));
        self.activity.end_turn();
        // The turn is over: the chosen model is asked again.
        if let Some(home) = self.settings.fallback.take().map(Fallback::into_home) {
            self.speak_to(home);
        }
        self.forget_context();
        self.tell_state();
        self.may_remind = ended_well;
        self.lane_goes_on(over);
    }

    /// The lane's next item starts, unless a compaction was asked for first, or the session is ending: then it waits in
    /// the log for the next process.
    pub(super) fn lane_goes_on(&mut self, over: TurnOver) {
        let acts = if self.activity.is_ending() {
            self.queue.close()
        } else if self.activity.next.is_some() {
            self.queue.hand_over(over)
        } else {
            self.queue.turn_ended(over, self.now_ms())
        };
        self.act(acts);
        if !self.queue.is_busy() && std::mem::take(&mut self.may_remind) {
            self.remind();
        }
    }

    /// Once, when a turn has ended and nothing follows by itself: no waiting message, no end of a debounce, no reminder.
    pub(super) fn tell_settled(&mut self) {
        let idle = !self.queue.is_busy() && self.queue.due().is_none();
        let rests = self.activity.turn().is_none() && (idle || self.activity.is_ending());
        if rests && std::mem::take(&mut self.activity.unsettled) {
            self.log.emit(Event::Settled);
        }
    }

    /// What the lane decided. The history is loaded whenever a turn can start.
    pub(super) fn act(&mut self, acts: Vec<QueueAct>) {
        for act in acts {
            match act {
                QueueAct::Start { items, note } => self.start_turn(items, note),
                QueueAct::Waiting { id, position } => self.keep_waiting(&id, position),
                QueueAct::Refuse { item, fault } => {
                    if let Some((outbox, tag)) = self.sender(&item) {
                        self.log.reply(outbox, Event::Reply { tag, result: Err(fault) });
                    }
                }
                QueueAct::Settle { item, end, .. } => self.settle_item(&item, end),
                QueueAct::InterruptTurn => self.interrupt_turn(),
                QueueAct::Changed => self.tell_queue(),
            }
        }
    }

    fn start_turn(&mut self, items: Vec<Item>, note: Option<String>) {
        let turn = TurnId::from(self.shared.ports.ids.mint(IdKind::Turn));
        self.log_settings();
        self.log(Body::Turn(TurnEntry::Started { turn: turn.clone() }));
        for item in &items {
            // Whoever was told that it waits has had the reply; now it learns that the waiting is over.
            if self.queued_in_log.contains(&item.id) {
                self.settle_item(item, ItemEnd::Consumed);
            } else if let Some((outbox, tag)) = self.sender(item) {
                let result = Ok(Reply::Started { turn: turn.clone() });
                self.log.reply(outbox, Event::Reply { tag, result });
            }
        }
        let parts = opening(&items, note.as_deref());
        self.reminded = 0;
        self.meet_extensions();
        if self.wants_to_know_of_turns() {
            self.extensions.opening = parts.clone();
        }
        self.begin_turn(turn, parts, UserFrom::Prompt);
    }

    /// The turn's own message, and then the model. Its start is logged already.
    pub(super) fn begin_turn(&mut self, turn: TurnId, parts: Vec<Part>, from: UserFrom) {
        self.log(Body::User { turn: Some(turn.clone()), parts, from });
        let rules = Rules {
            max_iterations: self.settings.max_iterations,
            retry: self.settings.retry,
            compact_on_overflow: self.settings.compaction.auto,
            read: self.shared.ports.read_object,
        };
        self.activity.begin_turn(Turn::new(turn, self.settings.model.clone(), rules));
        self.expect_first_call();
        self.may_remind = false;
    }

    fn keep_waiting(&mut self, id: &vocab::ItemId, position: usize) {
        let Some(item) = self.queue.list().find(|item| item.id == *id).cloned() else { return };
        self.queued_in_log.insert(id.clone());
        self.log(Body::Queue(QueueEntry::Queued(item.clone())));
        if let Some((outbox, tag)) = self.sender(&item) {
            let result = Ok(Reply::Waiting { item: id.clone(), position });
            self.log.reply(outbox, Event::Reply { tag, result });
        }
    }

    /// Each item's end is told to whoever sent it, once.
    pub(super) fn settle_item(&mut self, item: &Item, end: ItemEnd) {
        if self.queued_in_log.remove(&item.id) {
            self.log(Body::Queue(QueueEntry::Settled { item: item.id.clone(), end }));
        }
        if let Some((outbox, tag)) = self.sender(item) {
            self.log.reply(outbox, Event::Queue(QueueEvent::Ended { tag, item: item.id.clone(), end }));
        }
    }

    fn sender(&self, item: &Item) -> Option<(Arc<Outbox>, vocab::Tag)> {
        let (peer, tag) = item.sender?;
        self.outbox_of(peer).map(|outbox| (outbox.clone(), tag))
    }

    pub(super) fn tell_queue(&mut self) {
        let items = self.queue.list().cloned().collect();
        self.log.emit(Event::Queue(QueueEvent::Waiting(items)));
    }

    pub(super) fn interrupt_turn(&mut self) {
        let cancelled = || Fault::new(FaultKind::Cancelled, "Compaction cancelled");
        self.give_up_next_compaction(cancelled());
        self.cancel_compaction(cancelled());
        if self.close_children() {
            return;
        }
        self.stop_work();
        self.with_turn(|turn, fx| {
            turn.interrupt(fx);
        });
    }
}

/// A stream whose first event was looked at.
struct Peeked {
    event: Option<Option<ModelEvent>>,
    rest: ModelStream,
}

impl Stream for Peeked {
    type Item = ModelEvent;
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ModelEvent>> {
        match self.event.take() {
            Some(event) => Poll::Ready(event),
            None => self.rest.as_mut().poll_next(context),
        }
    }
}
