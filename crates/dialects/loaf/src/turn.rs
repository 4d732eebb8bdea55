//! A turn on this wire, from `preparing...` to `ready`. The order of its events is fixed; what the engine tells earlier than
//! its place is held back here.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use vocab::{AssistantMessage, Fault, MessageEnd, Stop, TurnEnd, TurnId};

use crate::calls::Round;
use crate::faults;
use crate::frames::{Chunks, LoafPen};
use crate::images::LoadedImage;
use crate::messages::{Kind, NO_TEXT, completed};
use crate::models::UsualModel;
use crate::reasoning::Thought;
use crate::session_view::{READY, SessionView};

/// Text of one turn that is kept for its message; what a runaway model says beyond it was told in chunks.
const ANSWER_BYTES_MAX: usize = 32 * 1024 * 1024;

const OVERFLOW: &str = "the context is too long for the model.";
const DRAFTING: &str = "drafting response...";

pub(crate) struct Turn {
    /// The engine's.
    pub(crate) engine: TurnId,
    /// On this wire.
    pub(crate) id: Arc<str>,
    chunks: Chunks,
    /// The first status of the model's work was said; until then the user's message waits.
    opened: bool,
    opening: Vec<TurnOpening>,
    /// The images of the prompt, which have their names only here.
    images: Vec<LoadedImage>,
    /// Steering has joined and its status was not said yet.
    steered: bool,
    thought: Thought,
    pub(crate) round: Round,
    answer: String,
    pub(crate) interrupting: bool,
}

struct TurnOpening {
    seq: u64,
    text: String,
    images: Vec<LoadedImage>,
}

/// What the events of a turn need besides their session.
pub(crate) struct TurnScene<'a> {
    pub(crate) choice: &'a UsualModel,
    /// Messages of this process so far.
    pub(crate) numbers: &'a mut u64,
    pub(crate) debug: bool,
}

#[derive(Serialize)]
struct Data<'a, D> {
    session_id: &'a str,
    turn_id: &'a str,
    data: D,
}

impl Turn {
    pub(crate) fn new(engine: TurnId, id: Arc<str>, session: &str) -> Self {
        Self {
            engine,
            chunks: Chunks::new(session, &id),
            id,
            opened: false,
            opening: Vec::new(),
            images: Vec::new(),
            steered: false,
            thought: Thought::default(),
            round: Round::default(),
            answer: String::new(),
            interrupting: false,
        }
    }
}

impl SessionView {
    /// The turn has a name; the model's work has not begun.
    pub(crate) fn prepare(&mut self, pen: &mut LoafPen<'_>, scene: &TurnScene<'_>, engine: TurnId, id: Arc<str>) {
        self.turn = Some(Turn::new(engine, id, &self.id));
        self.updated_ms = pen.now_ms;
        self.say_status(pen, true, "preparing...", true);
        self.debug(pen, scene, "turn_started", || json!({}));
    }

    pub(crate) fn give_images(&mut self, images: Vec<LoadedImage>) {
        if let Some(turn) = &mut self.turn {
            turn.images = images;
        }
    }
    /// The images that were given, if there are so many.
    pub(crate) fn take_images(&mut self, count: usize) -> Option<Vec<LoadedImage>> {
        let turn = self.turn.as_mut()?;
        (count > 0 && turn.images.len() == count).then(|| std::mem::take(&mut turn.images))
    }

    /// The user's message, or steering that joins.
    pub(crate) fn heard(
        &mut self,
        pen: &mut LoafPen<'_>,
        scene: &mut TurnScene<'_>,
        (seq, steers): (u64, bool),
        text: String,
        images: Vec<LoadedImage>,
    ) {
        let Some(turn) = &mut self.turn else { return };
        if !turn.opened {
            return turn.opening.push(TurnOpening { seq, text, images });
        }
        turn.steered |= steers;
        self.append(pen, scene.numbers, (Kind::User, seq), &text, &images);
    }

    /// The model is called.
    pub(crate) fn called(&mut self, pen: &mut LoafPen<'_>, scene: &mut TurnScene<'_>) {
        let Some(turn) = &mut self.turn else { return };
        turn.thought = Thought::default();
        if !turn.opened {
            let label = if scene.choice.thinking.is_on() { "thinking..." } else { DRAFTING };
            self.say_status(pen, true, label, true);
            self.open(pen, scene);
            pen.event("session.context.estimate", self.estimate(scene.choice));
        } else if std::mem::take(&mut turn.steered) {
            self.status(pen, "steer applied; continuing...");
        }
        let state = self.state.clone();
        self.debug(
            pen,
            scene,
            "model_request",
            || json!({ "model": state.model, "context_tokens": state.context_tokens, "messages": state.messages }),
        );
    }

    /// The user's messages, at their place.
    fn open(&mut self, pen: &mut LoafPen<'_>, scene: &mut TurnScene<'_>) {
        let Some(turn) = &mut self.turn else { return };
        turn.opened = true;
        for TurnOpening { seq, text, images } in std::mem::take(&mut turn.opening) {
            self.append(pen, scene.numbers, (Kind::User, seq), &text, &images);
        }
    }

    pub(crate) fn answering(&mut self, pen: &mut LoafPen<'_>, delta: &str) {
        if pen.mute || self.turn.is_none() {
            return;
        }
        self.status(pen, DRAFTING);
        if let Some(turn) = &mut self.turn {
            turn.thought = Thought::default();
            turn.chunks.answer(pen, delta);
        }
    }

    pub(crate) fn thinking(&mut self, pen: &mut LoafPen<'_>, delta: &str) {
        let Some(turn) = self.turn.as_mut().filter(|_| !pen.mute) else { return };
        turn.thought.push(delta);
        if let Some(title) = turn.thought.title(delta) {
            self.status(pen, &format!("thinking: {title}"));
        }
        if let Some(turn) = &mut self.turn {
            turn.chunks.thought(pen, delta, turn.thought.snapshot());
        }
    }

    /// A reply of the model is complete, or cut off.
    pub(crate) fn replied(&mut self, message: &AssistantMessage) {
        let Some(turn) = &mut self.turn else { return };
        let text = message.text();
        let room = ANSWER_BYTES_MAX.saturating_sub(turn.answer.len());
        turn.answer.push_str(&text[..text.floor_char_boundary(room)]);
        // The calls of a reply that was cut off were never made.
        let whole = matches!(message.end, MessageEnd::Finished(_));
        turn.round.begin(message.calls().filter(|_| whole).cloned());
    }

    pub(crate) fn call_started(&mut self, pen: &mut LoafPen<'_>, id: &vocab::CallId) {
        let Some(turn) = &mut self.turn else { return };
        if let Some(data) = turn.round.start(id) {
            pen.event("session.tool.call.started", Data { session_id: &self.id, turn_id: &turn.id, data });
        }
    }

    pub(crate) fn call_ended(&mut self, pen: &mut LoafPen<'_>, result: &vocab::CallResult) {
        // One that never began is told whole all the same.
        self.call_started(pen, &result.call);
        let Some(turn) = &mut self.turn else { return };
        let (session_id, turn_id) = (&*self.id, &*turn.id);
        if let Some(data) = turn.round.complete(result) {
            pen.event("session.tool.call.completed", Data { session_id, turn_id, data });
        }
        if let Some(data) = turn.round.finish() {
            pen.event("session.tool.results", Data { session_id, turn_id, data });
        }
    }

    /// The end: the answer, one terminal event, and `ready`. `seq` is the entry that ends the turn.
    pub(crate) fn finish(&mut self, pen: &mut LoafPen<'_>, scene: &mut TurnScene<'_>, seq: u64, end: &TurnEnd) {
        // Not one that died with another process: the session tells its end just before the new one starts.
        if self.turn.as_ref().is_none_or(|turn| turn.engine != end.turn) {
            return;
        }
        self.open(pen, scene);
        let Some(turn) = &mut self.turn else { return };
        let (turn_id, answer) = (turn.id.clone(), std::mem::take(&mut turn.answer));
        let partial = !answer.trim().is_empty();
        let answer = if partial || !completed(end.stop) { answer.trim() } else { NO_TEXT };
        if !answer.is_empty() {
            self.append(pen, scene.numbers, (Kind::Assistant, seq), answer, &[]);
        }
        if !answer.is_empty() {
            self.provider = scene.choice.provider();
        }
        self.updated_ms = pen.now_ms;
        let (kind, mut last) = match end.stop {
            Stop::Interrupted => {
                let kept = if partial { " partial output kept." } else { "" };
                self.remark(pen, scene.numbers, &format!("response interrupted by user.{kept}"));
                ("session.interrupted", json!({ "partial_output": partial }))
            }
            Stop::Error => {
                let message = end.fault.as_ref().map_or_else(|| "the turn failed".to_owned(), faults::text);
                self.remark(pen, scene.numbers, &format!("inference error: {message}"));
                ("session.error", json!({ "message": message }))
            }
            Stop::EndTurn | Stop::MaxTokens | Stop::MaxIterations | Stop::Refusal | Stop::Budget => {
                if let Some(why) = cut_short(end) {
                    self.remark(pen, scene.numbers, &why);
                }
                ("session.completed", json!({ "answer_length": answer.encode_utf16().count() }))
            }
        };
        pen.event("session.context.estimate", self.estimate(scene.choice));
        self.debug(pen, scene, "turn_ended", || json!({ "iterations": end.iterations, "usage": usage(end) }));
        last["session_id"] = json!(self.id);
        last["turn_id"] = json!(turn_id);
        pen.event(kind, last);
        self.turn = None;
        self.say_status(pen, false, READY, false);
        let late = std::mem::take(&mut self.steers).len();
        if late > 0 {
            let text = format!("{late} steer message(s) were queued too late and not applied.");
            self.remark(pen, scene.numbers, &text);
        }
    }

    /// The turn ends, and what is left of it goes on under another id.
    pub(crate) fn overflowed(&mut self, pen: &mut LoafPen<'_>, scene: &mut TurnScene<'_>, id: Arc<str>) {
        let Some(turn) = &mut self.turn else { return };
        let over = std::mem::replace(&mut turn.id, id.clone());
        turn.chunks = Chunks::new(&self.id, &id);
        turn.opened = false;
        self.remark(pen, scene.numbers, &format!("{OVERFLOW} it is compressed, and the prompt goes on."));
        pen.event("session.error", json!({ "session_id": self.id, "turn_id": over, "message": OVERFLOW }));
        self.say_status(pen, false, READY, false);
        self.say_status(pen, true, "preparing...", true);
    }

    /// A prompt that cannot even be given to the model: the whole sequence at once.
    pub(crate) fn stumble(&mut self, pen: &mut LoafPen<'_>, scene: &mut TurnScene<'_>, id: &Arc<str>, message: &str) {
        let idle = !self.is_busy();
        if idle {
            self.turn = Some(Turn::new(TurnId::from(""), id.clone(), &self.id));
            self.say_status(pen, true, "preparing...", true);
        }
        self.remark(pen, scene.numbers, message);
        pen.event("session.error", json!({ "session_id": self.id, "turn_id": id, "message": message }));
        if idle {
            self.turn = None;
            self.say_status(pen, false, READY, false);
        }
    }

    /// The session is gone: what runs has ended with it.
    pub(crate) fn vanish(&mut self, pen: &mut LoafPen<'_>, scene: &mut TurnScene<'_>, message: &str) {
        let turn = self.turn.take();
        if let Some(turn) = &turn {
            self.remark(pen, scene.numbers, message);
            pen.event("session.error", json!({ "session_id": self.id, "turn_id": turn.id, "message": message }));
        }
        if turn.is_some() || self.compacting {
            self.say_status(pen, false, READY, false);
        }
    }

    /// A failed model call will be tried again.
    pub(crate) fn retrying(&mut self, pen: &mut LoafPen<'_>, attempt: u32, retries_max: u32, fault: &Fault) {
        let what = match fault.kind {
            vocab::FaultKind::RateLimited => "rate limited",
            vocab::FaultKind::Network | vocab::FaultKind::StreamCut => "connection lost",
            _ => "capacity unavailable",
        };
        // The first try counts: the second of eight comes next.
        let (next, of) = (attempt.saturating_add(1), retries_max.saturating_add(1));
        self.status(pen, &format!("{what}; retrying ({next}/{of})..."));
    }

    /// What only `debug.set` makes us tell.
    pub(crate) fn debug(
        &self,
        pen: &mut LoafPen<'_>,
        scene: &TurnScene<'_>,
        stage: &str,
        data: impl FnOnce() -> Value,
    ) {
        if scene.debug {
            let turn_id = self.turn.as_ref().map(|turn| &*turn.id);
            let mut payload = json!({ "session_id": self.id, "stage": stage, "data": data() });
            if let Some(turn_id) = turn_id {
                payload["turn_id"] = json!(turn_id);
            }
            pen.event("session.debug", payload);
        }
    }
}

fn cut_short(end: &TurnEnd) -> Option<Cow<'static, str>> {
    Some(match end.stop {
        Stop::MaxTokens => "response cut short: the output limit was reached.".into(),
        Stop::MaxIterations => {
            "response cut short: the limit of tool rounds was reached. send a message to go on.".into()
        }
        Stop::Refusal => "the model declined to answer.".into(),
        Stop::Budget => {
            let why = end.fault.as_ref().map_or_else(|| "a budget is spent".to_owned(), faults::text);
            format!("response cut short: {why}.").into()
        }
        Stop::EndTurn | Stop::Interrupted | Stop::Error => return None,
    })
}

fn usage(end: &TurnEnd) -> Value {
    let usage = &end.usage;
    json!({
        "input_tokens": usage.input,
        "cache_read_tokens": usage.cache_read,
        "cache_write_tokens": usage.cache_write,
        "output_tokens": usage.output,
    })
}
