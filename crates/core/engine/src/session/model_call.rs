//! One call to the model: what has to be there before it, the call itself, and what comes of it.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use vocab::{CallAbout, Delta, Event, FaultKind, ModelEvent, ModelFault, ModelStream};

use super::activity::TurnWaits;
use super::model_view::History;
use super::turn::Effect;
use super::{Session, client_failed, guarded};

impl Session {
    pub(super) fn call_model(&mut self) {
        if std::mem::take(&mut self.mcp.first_call) && self.are_servers_due() {
            return self.await_servers(Effect::CallModel);
        }
        if !self.tools.is_briefed() && self.await_briefing() {
            return;
        }
        if !self.view.is_loaded() {
            return self.load_then(Effect::CallModel);
        }
        if self.purse.is_some() && !self.may_spend(Effect::CallModel) {
            return;
        }
        let (is_due, has_switched) = (self.is_room_due(), self.has_switched());
        if (is_due || has_switched) && self.make_room(is_due, has_switched) {
            return;
        }
        self.send_request();
    }

    /// Servers of tools are starting, or a controller that is about to come in brings some.
    pub(super) fn are_servers_due(&self) -> bool {
        !self.mcp.starting.is_empty() || self.jobs.is_bringing_servers()
    }

    /// Whether the next call should be preceded by a compaction.
    fn is_room_due(&self) -> bool {
        let tokens = self.view.history().map_or(0, History::context_tokens);
        let (policy, window) = (&self.settings.compaction, self.settings.asked().context_window);
        policy.auto && window > 0 && {
            // In 128 bits: a server's count, and a window that the user wrote down, may be any number.
            u128::from(tokens) * 100 >= u128::from(window) * u128::from(policy.threshold_pct)
        }
    }

    /// Whether the last reply came from another provider's model that a peer had chosen.
    fn has_switched(&self) -> bool {
        let Some(replier) = self.view.history().and_then(History::replier) else { return false };
        let stood_in = self.settings.fallback.is_some() || self.settings.asked().fallbacks.contains(replier);
        if !self.settings.compaction.on_switch || stood_in || *replier == self.settings.asked().slug {
            return false;
        }
        let resolved = self.shared.ports.provider.resolve(replier);
        resolved.map_or(true, |model| model.provider != self.settings.asked().provider)
    }

    /// As [`Session::call_model`], after a compaction, which was paid for as well.
    pub(super) fn send_if_allowed(&mut self) {
        if !self.view.is_loaded() {
            return self.load_then(Effect::SendRequest);
        }
        if self.purse.is_none() || self.may_spend(Effect::SendRequest) {
            self.send_request();
        }
    }

    /// The call itself, with the history loaded.
    fn send_request(&mut self) {
        self.hear_of_extensions();
        let model = self.settings.asked().slug.clone();
        self.with_turn(|turn, _| turn.answers(model));
        let mut about = CallAbout {
            session: self.id.clone(),
            turn: None,
            reply: 0,
            trace: self.prompts.turn_trace.clone(),
            child_of: self.subagents.child_of.clone(),
        };
        if let Some(running) = self.activity.turn() {
            let (turn, reply) = (running.id().clone(), self.log.logged().next_reply);
            (about.turn, about.reply) = (Some(turn.clone()), reply);
            self.log.emit(Event::Delta(Delta::ModelCalled { turn, reply }));
        }
        let spec = self.tools.spec(&self.settings);
        if let Some(chat) = self.view.chat() {
            match guarded(|| chat.call_about(spec, &about)) {
                Ok(stream) => self.begin_stream(stream),
                Err(text) => self.model_said(Some(client_failed(&text))),
            }
        }
    }

    /// Takes the first event at once where there is one: what was sent is logged together with what it answers, in one
    /// transaction.
    fn begin_stream(&mut self, mut stream: ModelStream) {
        let mut context = Context::from_waker(Waker::noop());
        // A stream that has nothing yet is asked again by the session's own loop, with a waker that counts.
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
        self.activity.wait(TurnWaits::Model(match first {
            Some(event) => Box::pin(Peeked { event: Some(event), rest: stream }),
            None => stream,
        }));
    }

    pub(super) fn model_said(&mut self, event: Option<ModelEvent>) {
        // A stream that just ends has been cut, whatever its maker meant.
        let event = event.unwrap_or_else(|| {
            ModelEvent::Failed(ModelFault::new(FaultKind::StreamCut, "the model stream ended without a finish"))
        });
        if matches!(event, ModelEvent::Finished(_) | ModelEvent::Failed(_)) {
            self.activity.stop_waiting();
            self.estimate_usage();
        }
        self.with_turn(|turn, fx| turn.model_event(event, fx));
    }

    pub(super) fn estimate_usage(&mut self) {
        let bytes = self.view.bytes() + self.tools.spec_bytes(&self.settings);
        self.with_turn(|turn, _| turn.estimate_prompt(vocab::estimate_tokens(bytes)));
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
