//! Prompts, steering and interrupts.

use std::sync::Arc;

use serde_json::json;
use vocab::{Change, Delivery, Fault, FaultKind, IdKind, Part, Reply, SessionVerb, Verb};

use crate::Loaf;
use crate::faults::{self, RpcFault};
use crate::frames::LoafCall;
use crate::images::{self, Input, LoadedImage};
use crate::messages;
use crate::own::{LoafOwn, Out};
use crate::params::Params;
use crate::pending::LoafPending;
use crate::session_view::Queued;

/// A prompt on its way: its images are loaded one after the other, then it is offered to the session.
pub(crate) struct Sending {
    pub(crate) call: LoafCall,
    pub(crate) view: u64,
    text: String,
    inputs: Vec<Input>,
    loaded: Vec<LoadedImage>,
    enqueue: bool,
}

impl Loaf {
    pub(crate) fn send(
        &mut self,
        call: &LoafCall,
        at: usize,
        mut params: Params,
        out: &mut Out,
    ) -> Result<(), RpcFault> {
        let text = params.text_maybe("text")?.unwrap_or_default();
        let enqueue = params.flag_maybe("enqueue")?;
        let inputs = images::read(params.take("images"));
        if text.is_empty() && inputs.is_empty() {
            let message = "session.send requires non-empty text or at least one image";
            return Err(RpcFault::domain("empty_prompt", message));
        }
        self.views[at].works_here()?;
        // The session itself knows best why it takes nothing; no image is read to hear that, and no turn made that fails.
        if self.views[at].is_busy() && !enqueue && (!inputs.is_empty() || self.unready().is_some()) {
            return Err(busy());
        }
        let view = &mut self.views[at];
        view.locked = true;
        let sending = Sending { call: call.clone(), view: view.number, text, inputs, loaded: Vec::new(), enqueue };
        match self.unready() {
            Some(message) => self.stumble(sending, &message, out),
            None => self.load_next(sending, out),
        }
        Ok(())
    }

    /// For a prompt that is accepted: what is refused has no turn.
    fn mint_turn(&self) -> Arc<str> {
        self.options.ids.mint(IdKind::Turn).into()
    }

    /// Why no prompt can be given to a model now.
    fn unready(&self) -> Option<String> {
        match self.choice.provider() {
            None => Some("select a model first before sending a message".to_owned()),
            Some("openrouter") => self.need_openrouter().err().map(|problem| problem.message),
            Some(_) => None,
        }
    }

    fn load_next(&mut self, mut sending: Sending, out: &mut Out) {
        while let Some(input) = sending.inputs.get(sending.loaded.len()) {
            if let Some(name) = input.file().cloned() {
                return self.call(LoafOwn::Image { name }, LoafPending::Image(Box::new(sending)), out);
            }
            match input.decode(self.options.clock.now_ms()) {
                Ok(loaded) => sending.loaded.push(loaded),
                Err(message) => return self.stumble(sending, &message, out),
            }
        }
        self.prompt(sending, out);
    }

    pub(crate) fn image(&mut self, mut sending: Sending, result: Result<LoadedImage, &Fault>, out: &mut Out) {
        match result {
            Ok(image) => {
                let input = &sending.inputs[sending.loaded.len()];
                let loaded = input.loaded(image);
                sending.loaded.push(loaded);
                self.load_next(sending, out);
            }
            Err(fault) => self.stumble(sending, &faults::text(fault), out),
        }
    }

    fn prompt(&mut self, sending: Sending, out: &mut Out) {
        let Some(at) = self.view_at(sending.view) else { return };
        if self.end.ending {
            // Its images came too late: nobody would stop this turn any more.
            self.pen(out).fail(&sending.call, &RpcFault::shutting_down());
            return self.release(at, out);
        }
        if let Some(title) = self.views[at].title.take() {
            self.tell_view(at, Verb::Session(SessionVerb::Set(Change::Title(title))), LoafPending::Nothing, out);
        }
        let text = images::labelled(&sending.text, sending.loaded.len());
        let delivery = if sending.enqueue { Delivery::Enqueue } else { Delivery::RejectIfBusy };
        let verb = Verb::Session(SessionVerb::Prompt { parts: messages::parts(text, &sending.loaded), delivery });
        self.tell_view(at, verb, LoafPending::Send(Box::new(sending)), out);
    }

    pub(crate) fn sent(&mut self, sending: Sending, result: &Result<Reply, Fault>, out: &mut Out) {
        let Some(at) = self.view_at(sending.view) else { return };
        if let Some(fault) = result.as_ref().err().filter(|it| it.kind == FaultKind::Invalid)
            && !sending.loaded.is_empty()
        {
            // An image that is none: we do not look inside, the engine does.
            return self.stumble(sending, &faults::text(fault), out);
        }
        let Sending { call, loaded, .. } = sending;
        let mut pen = self.pen(out);
        match result {
            Ok(Reply::Started { turn: engine }) => {
                let turn = self.mint_turn();
                let (view, scene) = self.scene(at);
                view.prepare(&mut pen, &scene, engine.clone(), turn.clone());
                view.give_images(loaded);
                pen.result(&call, accepted(&view.id, &turn, false));
            }
            Ok(Reply::Waiting { item, .. }) => {
                let turn = self.mint_turn();
                let (view, _) = self.scene(at);
                view.queued.push(Queued { item: item.clone(), turn: turn.clone(), images: loaded });
                let label = format!("queued ({})", view.queued.len());
                view.say_status(&mut pen, true, &label, false);
                pen.result(&call, accepted(&view.id, &turn, true));
            }
            Ok(_) => pen.fail(&call, &RpcFault::internal("the engine gave no answer to a prompt")),
            Err(fault) if fault.kind == FaultKind::TurnInProgress => pen.fail(&call, &busy()),
            Err(fault) => pen.fail(&call, &fault.into()),
        }
        self.release(at, out);
    }

    /// A prompt that fails before it begins is accepted and has its whole turn at once.
    fn stumble(&mut self, sending: Sending, message: &str, out: &mut Out) {
        let Some(at) = self.view_at(sending.view) else { return };
        let turn = self.mint_turn();
        let mut pen = self.pen(out);
        let (view, mut scene) = self.scene(at);
        let queued = view.is_busy();
        let answer = accepted(&view.id, &turn, queued);
        if queued {
            // Another turn runs; this one is over before it is heard of.
            pen.result(&sending.call, &answer);
        }
        view.stumble(&mut pen, &mut scene, &turn, message);
        if !queued {
            pen.result(&sending.call, &answer);
        }
        self.release(at, out);
    }

    pub(crate) fn steer(&mut self, call: &LoafCall, at: usize, text: &str, out: &mut Out) {
        let view = &self.views[at];
        if view.turn.is_none() {
            return self.steered(call, at, false, out);
        }
        let verb = Verb::Session(SessionVerb::Prompt { parts: vec![Part::text(text)], delivery: Delivery::Steer });
        let why = LoafPending::Steer { call: call.clone(), view: view.number };
        self.tell_view(at, verb, why, out);
    }

    pub(crate) fn steered(&mut self, call: &LoafCall, at: usize, accepted: bool, out: &mut Out) {
        let session_id = self.views[at].id.clone();
        self.pen(out).result(call, json!({ "session_id": session_id, "accepted": accepted }));
    }

    /// Asks the running turn to stop; `false` when there is none, or it was asked already.
    pub(crate) fn interrupt(&mut self, at: usize, out: &mut Out) -> bool {
        let view = &mut self.views[at];
        let turn = match &mut view.turn {
            Some(turn) if turn.interrupting => return false,
            Some(turn) => {
                turn.interrupting = true;
                Some(turn.engine.clone())
            }
            None if view.compacting && !view.halting => {
                view.halting = true;
                None
            }
            None => return false,
        };
        let mut pen = self.pen(out);
        self.views[at].say_status(&mut pen, true, "interrupting...", false);
        // By its name: a turn that starts meanwhile is not the one that is meant.
        self.tell_view(at, Verb::Session(SessionVerb::Interrupt { turn }), LoafPending::Nothing, out);
        true
    }
}

fn busy() -> RpcFault {
    RpcFault::domain("session_busy", "session is busy; use enqueue=true to queue the prompt")
}

fn accepted(session: &str, turn: &str, queued: bool) -> serde_json::Value {
    json!({ "session_id": session, "turn_id": turn, "accepted": true, "queued": queued })
}
