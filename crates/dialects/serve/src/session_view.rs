//! One session as this wire sees it: whether a turn runs, which questions are open, what was last told about its
//! state. Protocol 1 has one view, protocol 2 one per label.

use std::collections::VecDeque;
use std::sync::Arc;

use vocab::{AskEntry, AskId, Body, CallEntry, Entry, Mode, SessionId, State, Target, TurnEntry, TurnId};
use wire::OpenCalls;

use crate::frames::{Say, SessionMember, StateChanged};

/// Messages that wait for their session to be opened or moved; more are refused with `queue_full`.
pub(crate) const HELD_MAX: usize = 64;

/// `context_pct` has one decimal; half of its step is "not the same number".
const PCT_EPSILON: f64 = 0.05;

pub(crate) struct SessionView {
    /// Never reused, so that a late reply cannot reach the next session of the same label.
    pub(crate) number: u64,
    /// `None` in protocol 1.
    pub(crate) label: Option<Arc<str>>,
    /// `None` until the engine has opened it.
    pub(crate) session: Option<SessionId>,
    shown: Option<ToldState>,
    pub(crate) turns: Turns,
    /// Permission questions that the controller may still answer.
    pub(crate) asks: Vec<AskId>,
    pub(crate) calls: OpenCalls,
    /// Slash commands without a result so far.
    pub(crate) slashes: usize,
    /// Of these, the ones that mean to end the conversation.
    pub(crate) exits: usize,
    pub(crate) held: VecDeque<Say>,
    /// The controller closed this session.
    pub(crate) ending: bool,
}

/// What the controller was last told.
struct ToldState {
    model: Arc<str>,
    mode: Mode,
    context_pct: f64,
    context_window: u64,
    gadgets: Vec<Arc<str>>,
}

impl SessionView {
    /// The permission mode that the controller knows of.
    pub(crate) fn mode(&self) -> Mode {
        self.shown.as_ref().map_or(Mode::Prompt, |shown| shown.mode)
    }
    pub(crate) fn new(number: u64, label: Option<Arc<str>>) -> Self {
        Self {
            number,
            label,
            session: None,
            shown: None,
            turns: Turns::default(),
            asks: Vec::new(),
            calls: OpenCalls::default(),
            slashes: 0,
            exits: 0,
            held: VecDeque::new(),
            ending: false,
        }
    }

    /// The `session` member of its frames.
    pub(crate) fn voice(&self) -> SessionMember<'_> {
        self.label.as_deref().map_or(SessionMember::Absent, SessionMember::Label)
    }

    pub(crate) fn target(&self) -> Target {
        match (&self.label, &self.session) {
            (Some(_), Some(session)) => Target::Session(session.clone()),
            (None, _) | (Some(_), None) => Target::Current,
        }
    }

    /// Whether a message must wait. In protocol 2 a session is addressed by its id, which a slash command may be about
    /// to change; in both, nothing may overtake an exit.
    pub(crate) fn must_hold(&self, say: &Say) -> bool {
        if self.session.is_none() {
            return true;
        }
        match say {
            Say::Interrupt {} | Say::PermissionResponse { .. } => false,
            Say::Prompt { .. } | Say::Slash { .. } | Say::Close {} => {
                self.exits > 0 || (self.label.is_some() && self.slashes > 0) || !self.held.is_empty()
            }
        }
    }

    /// Whether everything asked for has been answered.
    pub(crate) fn is_idle(&self) -> bool {
        self.session.is_some() && !self.turns.busy() && self.slashes == 0 && self.held.is_empty()
    }

    /// Whether this is the end of something whose start had no line here: a call that an interrupt kept from starting,
    /// or what a resumed session closes of a turn that died with another process.
    pub(crate) fn missed_start(&self, body: &Body) -> bool {
        match body {
            Body::Call(CallEntry::Ended { turn, result }) => !self.calls.is_open(turn, &result.call),
            Body::Turn(TurnEntry::Ended(end)) => self.turns.current() != Some(&end.turn),
            _ => false,
        }
    }

    pub(crate) fn observe(&mut self, entry: &Entry) {
        self.calls.logged(entry);
        let body = &entry.body;
        if let Body::Turn(TurnEntry::Started { turn }) = body {
            self.turns.started(turn);
        } else if let Body::Turn(TurnEntry::Ended(end)) = body {
            self.turns.ended(&end.turn);
        } else if let Body::Ask(AskEntry::Closed { ask, .. }) = body {
            self.asks.retain(|open| open != ask);
        }
    }

    /// The members that differ from what was told, if any. During a turn the context only ever grows towards what is
    /// told once after `turn_complete`, so it does not count as news before that.
    pub(crate) fn changed<'s>(&self, state: &'s State) -> Option<StateChanged<'s>> {
        let shown = self.shown.as_ref()?;
        let pct = state.context_pct();
        // Another window is another scale, not more context: a new model is told as model and window alone.
        let same_scale = state.context_window == shown.context_window;
        let pct_moved = same_scale && (pct - shown.context_pct).abs() > PCT_EPSILON && !self.turns.running();
        let changed = StateChanged {
            model: (state.model != shown.model).then_some(&*state.model),
            mode: (state.mode != shown.mode).then_some(state.mode.as_str()),
            context_pct: pct_moved.then_some(pct),
            context_window: (state.context_window != shown.context_window).then_some(state.context_window),
            gadgets: (state.gadgets != shown.gadgets).then(|| state.gadgets.iter().map(|name| &**name).collect()),
        };
        let any = changed.model.is_some()
            || changed.mode.is_some()
            || changed.context_pct.is_some()
            || changed.context_window.is_some()
            || changed.gadgets.is_some();
        any.then_some(changed)
    }

    /// Remembers what has just been told.
    pub(crate) fn note(&mut self, state: &State) {
        let context_pct = match &self.shown {
            Some(shown) if self.turns.running() => shown.context_pct,
            Some(_) | None => state.context_pct(),
        };
        self.shown = Some(ToldState {
            model: state.model.clone(),
            mode: state.mode,
            context_pct,
            context_window: state.context_window,
            gadgets: state.gadgets.clone(),
        });
    }
}

/// Whether a turn runs or may still begin. The reply to a prompt and the start of its turn may come in either order.
#[derive(Default)]
pub(crate) struct Turns {
    running: Option<TurnId>,
    /// Prompts without a reply so far.
    unanswered: usize,
    /// Promised by a reply, not started yet.
    promised: Option<TurnId>,
    /// Started while a reply was still on its way; forgotten with the last of these replies.
    early: Vec<TurnId>,
}

impl Turns {
    /// A turn is between its start and its end.
    pub(crate) fn running(&self) -> bool {
        self.running.is_some()
    }
    pub(crate) fn current(&self) -> Option<&TurnId> {
        self.running.as_ref()
    }
    /// A turn runs, or one may yet come of what was sent.
    pub(crate) fn busy(&self) -> bool {
        self.running.is_some() || self.promised.is_some() || self.unanswered > 0
    }
    pub(crate) fn prompted(&mut self) {
        self.unanswered += 1;
    }
    pub(crate) fn answered(&mut self, promise: Option<&TurnId>) {
        self.unanswered = self.unanswered.saturating_sub(1);
        if let Some(turn) = promise
            && !self.early.contains(turn)
        {
            self.promised = Some(turn.clone());
        }
        if self.unanswered == 0 {
            self.early.clear();
        }
    }
    pub(crate) fn started(&mut self, turn: &TurnId) {
        if self.promised.as_ref() == Some(turn) {
            self.promised = None;
        } else if self.unanswered > 0 {
            self.early.push(turn.clone());
        }
        self.running = Some(turn.clone());
    }
    pub(crate) fn ended(&mut self, turn: &TurnId) {
        if self.running.as_ref() == Some(turn) {
            self.running = None;
        }
    }
}
