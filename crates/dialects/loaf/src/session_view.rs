//! One session of this wire: what was said about it so far. It keeps its id while the engine's session behind it can change
//! (a chat is resumed or cleared). Texts stay in the log; here is only what the log has not.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use vocab::{Item, ItemId, Opened, SessionId, State, TurnId, iso8601, parts_text};
use wire::OpenCalls;

use crate::context::{self, FixedContext};
use crate::faults::RpcFault;
use crate::frames::{LoafCall, LoafPen};
use crate::images::{self, LoadedImage};
use crate::messages::{ChatMessage, Gist, Kind, SaidMessage, UiMessage, told};
use crate::models::UsualModel;
use crate::params::Params;
use crate::turn::Turn;

/// Our own remarks that are kept per session; the oldest goes first.
const REMARKS_MAX: usize = 1000;
/// Requests that wait until an earlier one of their session is decided; one more is refused.
pub(crate) const HELD_MAX: usize = 256;

pub(crate) const READY: &str = "ready";

pub(crate) struct SessionView {
    pub(crate) number: u64,
    /// On this wire.
    pub(crate) id: Arc<str>,
    /// The engine's, which is the saved chat.
    pub(crate) session: SessionId,
    created_ms: i64,
    pub(crate) updated_ms: i64,
    pub(crate) state: Arc<State>,
    pub(crate) fixed: FixedContext,
    pub(crate) label: String,
    pub(crate) pending: bool,
    pub(crate) calls: OpenCalls,
    /// A turn that the engine has begun and that has no name on this wire yet.
    pub(crate) coming: Option<TurnId>,
    pub(crate) turn: Option<Turn>,
    /// Whose model gave the last answer.
    pub(crate) provider: Option<&'static str>,
    /// Messages by their numbers on this wire.
    shown: Vec<Shown>,
    remarks: usize,
    /// Steering that was taken in and not used yet.
    pub(crate) steers: Vec<ItemId>,
    /// What waits, by the ids of this wire.
    pub(crate) queued: Vec<Queued>,
    /// To be given to the chat when it begins.
    pub(crate) title: Option<Arc<str>>,
    /// A request is being decided; others wait for it.
    pub(crate) locked: bool,
    pub(crate) held: VecDeque<(LoafCall, Params)>,
    /// What is to be done when the turn has ended and nothing waits any more.
    pub(crate) after: Option<After>,
    /// A compaction runs.
    pub(crate) compacting: bool,
    /// It was asked to stop.
    pub(crate) halting: bool,
    /// The context starts with a summary.
    pub(crate) compacted: bool,
    /// The first entry behind the newest summary.
    pub(crate) anchor: u64,
}

/// What an ending turn makes room for.
pub(crate) struct After {
    pub(crate) call: LoafCall,
    /// Nothing is left of the user either.
    pub(crate) forget_all: bool,
    /// The queue is empty: no other turn begins behind the one that ends.
    pub(crate) emptied: bool,
}

pub(crate) struct Queued {
    pub(crate) item: ItemId,
    pub(crate) turn: Arc<str>,
    pub(crate) images: Vec<LoadedImage>,
}

struct Shown {
    id: u64,
    what: What,
}

enum What {
    Entry { seq: u64, images: Vec<Arc<str>> },
    Remark(Arc<str>),
}

#[derive(Serialize)]
struct Status<'a> {
    session_id: &'a str,
    pending: bool,
    status_label: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_id: Option<&'a str>,
}

#[derive(Serialize)]
struct Appended<'a> {
    session_id: &'a str,
    message: UiMessage<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionState<'a> {
    id: &'a str,
    created_at: String,
    updated_at: String,
    pending: bool,
    status_label: &'a str,
    messages: Vec<UiMessage<'a>>,
    history: Vec<ChatMessage<'a>>,
    queue: Vec<Value>,
    pending_steer_count: usize,
    conversation_provider: Option<&'static str>,
    active_session_id: Option<&'a str>,
    context_token_estimate: u64,
    context_token_source: &'static str,
    context_token_provider: Option<&'static str>,
    context_token_breakdown: context::Breakdown,
}

impl SessionView {
    pub(crate) fn new(number: u64, id: Arc<str>, opened: &Opened, now_ms: i64) -> Self {
        Self {
            number,
            id,
            session: opened.session.clone(),
            created_ms: now_ms,
            updated_ms: now_ms,
            state: Arc::new(opened.state.clone()),
            fixed: FixedContext::default(),
            label: READY.to_owned(),
            pending: false,
            calls: OpenCalls::default(),
            coming: None,
            turn: None,
            provider: None,
            shown: Vec::new(),
            remarks: 0,
            steers: Vec::new(),
            queued: Vec::new(),
            title: None,
            locked: false,
            held: VecDeque::new(),
            after: None,
            compacting: false,
            halting: false,
            compacted: false,
            anchor: 0,
        }
    }

    /// Another chat behind the same id; nothing of the old one is shown any more.
    pub(crate) fn move_to(&mut self, opened: &Opened) {
        self.session = opened.session.clone();
        self.state = Arc::new(opened.state.clone());
        self.provider = None;
        self.shown.clear();
        self.remarks = 0;
        self.steers.clear();
        self.queued.clear();
        self.compacted = false;
        self.anchor = 0;
    }

    /// An error where the session works for another one's call: nothing is stopped or got ready there for what it will not do.
    pub(crate) fn works_here(&self) -> Result<(), RpcFault> {
        self.state.refuses().map_or(Ok(()), |fault| Err((&fault).into()))
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.turn.is_some() || self.compacting
    }

    // ---- saying -------------------------------------------------------------------------------------------------

    /// Says it whatever was said before.
    pub(crate) fn say_status(&mut self, pen: &mut LoafPen<'_>, pending: bool, label: &str, turn: bool) {
        self.pending = pending;
        label.clone_into(&mut self.label);
        let turn_id = self.turn.as_ref().map(|it| &*it.id).filter(|_| turn);
        pen.event("session.status", Status { session_id: &self.id, pending, status_label: label, turn_id });
    }

    /// Says it when it is news. Of a turn that is being stopped there is none until it has stopped.
    pub(crate) fn status(&mut self, pen: &mut LoafPen<'_>, label: &str) {
        let stopping = self.turn.as_ref().is_some_and(|turn| turn.interrupting);
        if self.label != label && !stopping {
            self.say_status(pen, true, label, false);
        }
    }

    /// A remark of our own; it is shown and is not in the log.
    pub(crate) fn remark(&mut self, pen: &mut LoafPen<'_>, numbers: &mut u64, text: &str) {
        *numbers += 1;
        self.shown.push(Shown { id: *numbers, what: What::Remark(text.into()) });
        self.remarks += 1;
        if self.remarks > REMARKS_MAX
            && let Some(oldest) = self.shown.iter().position(|shown| matches!(shown.what, What::Remark(_)))
        {
            self.shown.remove(oldest);
            self.remarks -= 1;
        }
        let message = UiMessage { id: *numbers, kind: Kind::System, text, images: Vec::new() };
        pen.event("session.message.appended", Appended { session_id: &self.id, message });
    }

    /// A message of the log, made by the entry `seq`.
    pub(crate) fn append(
        &mut self,
        pen: &mut LoafPen<'_>,
        numbers: &mut u64,
        (kind, seq): (Kind, u64),
        text: &str,
        images: &[LoadedImage],
    ) {
        let id = self.number_message(numbers, seq, images);
        let images = images.iter().map(LoadedImage::shown).collect();
        let message = UiMessage { id, kind, text, images };
        pen.event("session.message.appended", Appended { session_id: &self.id, message });
    }

    fn number_message(&mut self, numbers: &mut u64, seq: u64, images: &[LoadedImage]) -> u64 {
        *numbers += 1;
        let images = images.iter().map(|image| image.path.clone()).collect();
        self.shown.push(Shown { id: *numbers, what: What::Entry { seq, images } });
        *numbers
    }

    /// The messages of a chat that was said before get numbers of this process.
    pub(crate) fn adopt(&mut self, numbers: &mut u64, said: &[SaidMessage]) {
        for one in said {
            self.number_message(numbers, one.seq, &one.images);
        }
    }

    /// The newest entry that a message was made of.
    pub(crate) fn newest(&self) -> u64 {
        let seq = |shown: &Shown| match shown.what {
            What::Entry { seq, .. } => seq,
            What::Remark(_) => 0,
        };
        self.shown.iter().map(seq).max().unwrap_or(0)
    }

    // ---- showing ------------------------------------------------------------------------------------------------

    pub(crate) fn estimate(&self, choice: &UsualModel) -> Value {
        let (total, breakdown) = context::estimate(&self.state, self.fixed);
        json!({
            "session_id": self.id,
            "provider": choice.provider(),
            "source": self.source(),
            "total_tokens_estimate": total,
            "breakdown": breakdown,
        })
    }

    fn source(&self) -> &'static str {
        if self.compacted { "compaction" } else { "history" }
    }

    /// The chat has been saved: it has an entry.
    fn is_saved(&self) -> bool {
        self.state.last_seq > 0
    }

    /// Everything; `said` is what the log has, `gist` what stands for the older part of it.
    pub(crate) fn show<'a>(
        &'a self,
        said: &'a [SaidMessage],
        gist: Option<&'a Gist>,
        waiting: &[Item],
        choice: &UsualModel,
    ) -> SessionState<'a> {
        let (total, breakdown) = context::estimate(&self.state, self.fixed);
        SessionState {
            id: &self.id,
            created_at: iso8601(self.created_ms),
            updated_at: iso8601(self.updated_ms),
            pending: self.pending,
            status_label: &self.label,
            messages: self.messages(said),
            history: told(said, gist),
            queue: self.queue(waiting),
            pending_steer_count: self.steers.len(),
            conversation_provider: self.provider,
            active_session_id: self.is_saved().then(|| self.session.as_str()),
            context_token_estimate: total,
            context_token_source: self.source(),
            context_token_provider: choice.provider(),
            context_token_breakdown: breakdown,
        }
    }

    fn messages<'a>(&'a self, said: &'a [SaidMessage]) -> Vec<UiMessage<'a>> {
        let one = |shown: &'a Shown| match &shown.what {
            What::Remark(text) => Some(UiMessage { id: shown.id, kind: Kind::System, text, images: Vec::new() }),
            What::Entry { seq, images } => {
                // Both are in the order of the log.
                let at = said.binary_search_by_key(seq, |said| said.seq).ok()?;
                let said = &said[at];
                let named = said.images.iter().enumerate().map(|(number, image)| {
                    let path = images.get(number).unwrap_or(&image.path).clone();
                    LoadedImage { path, ..image.clone() }.shown()
                });
                Some(UiMessage { id: shown.id, kind: said.kind, text: &said.text, images: named.collect() })
            }
        };
        self.shown.iter().filter_map(one).collect()
    }

    /// What waits for a turn of its own; steering is none of it.
    pub(crate) fn queue(&self, waiting: &[Item]) -> Vec<Value> {
        let own = waiting.iter().filter(|item| item.delivery == vocab::Delivery::Enqueue);
        let one = |item: &Item| {
            let known = self.queued.iter().find(|queued| queued.item == item.id);
            let of_log = images::of_parts(&item.parts, item.at_ms);
            json!({
                "id": known.map_or_else(|| item.id.as_str().into(), |queued| queued.turn.clone()),
                "text": parts_text(&item.parts),
                "images": images::inputs(known.map_or(&of_log, |queued| &queued.images)),
                "enqueuedAt": iso8601(item.at_ms),
            })
        };
        own.map(one).collect()
    }
}
