//! One session as this connection sees it: the run, the requests in it, what waits, the open questions, and who listens.

use std::sync::Arc;

use vocab::{AskEntry, AskId, Body, CallId, Entry, Item, ItemId, LaneNote, Position, SessionId, State, Tag, TurnId};

use crate::context::ContextMark;
use crate::events::ContextWarningData;
use crate::heard_reply::HeardReply;
use crate::ledger::RequestId;
use crate::listeners::Listener;
use crate::log_context::{LOOK_BEHIND, LogContext};
use crate::run::GatewayRun;
use crate::{confirm, events};

/// A view that nothing needs is left after this.
pub(crate) const LEAVE_AFTER_MS: u64 = 30_000;
/// So many views that nothing needs are kept for what may come next. With one more, the one that is unused longest is left.
pub(crate) const UNUSED_VIEWS_MAX: usize = 4;
/// Sessions that one connection is on.
pub(crate) const VIEWS_MAX: usize = 1024;

/// A request in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InRun {
    pub(crate) id: RequestId,
    pub(crate) how: How,
    /// The request repeats an earlier message (same key) and joined it once that was known.
    pub(crate) is_repeat: bool,
    /// Its own time was over, and that is why it is cancelled.
    pub(crate) timed_out: bool,
}

/// How the message of a request came into its run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum How {
    Started,
    /// With others; `leader`: the first of them.
    Collected {
        count: usize,
        leader: bool,
    },
    /// Into a run that was under way.
    Steered,
}

/// A request whose message waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct InQueue {
    pub(crate) id: RequestId,
    pub(crate) item: ItemId,
    /// This connection sent it, and is told its end; another one's end is in the log.
    pub(crate) is_own: bool,
    /// The request repeats an earlier message (same key) and joined it once that was known.
    pub(crate) is_repeat: bool,
}

/// Who waits for the end of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct HeldWait {
    pub(crate) id: RequestId,
    pub(crate) of: WaitsFor,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum WaitsFor {
    Turn(TurnId),
    Item(ItemId),
}

/// A question whether a call may run.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct OpenConfirm {
    pub(crate) ask: AskId,
    pub(crate) call: CallId,
    pub(crate) turn: Option<TurnId>,
    /// Its event.
    pub(crate) tail: Vec<u8>,
}

impl OpenConfirm {
    /// Of the entry that opened it, where it is one for this wire.
    pub(crate) fn of(entry: &Entry) -> Option<Self> {
        let Body::Ask(AskEntry::Opened(ask)) = &entry.body else { return None };
        let asked = confirm::asked(ask)?;
        let tail = events::tail("tool_confirm", &confirm::data(ask, &asked, entry.at_ms));
        Some(Self { ask: ask.id.clone(), call: asked.call.clone(), turn: ask.turn.clone(), tail })
    }
}

/// A run that has ended and of which not all was heard, or whose checkpoint is not saved yet.
#[derive(Debug)]
pub(crate) struct EndedRun {
    pub(crate) run: GatewayRun,
    pub(crate) ids: Vec<InRun>,
    pub(crate) held: Vec<HeldWait>,
    pub(crate) context: AboutContext,
}

/// What a run's last frames say of how full the context is.
#[derive(Debug)]
pub(crate) enum AboutContext {
    /// Nobody has looked yet.
    Unknown,
    Nothing,
    Warning(Box<ContextWarningData>),
}

pub(crate) struct SessionView {
    pub(crate) session: SessionId,
    pub(crate) state: Arc<State>,
    pub(crate) at: Position,
    pub(crate) run: Option<GatewayRun>,
    pub(crate) ids: Vec<InRun>,
    pub(crate) waiting: Vec<InQueue>,
    pub(crate) held: Vec<HeldWait>,
    pub(crate) ended: Vec<EndedRun>,
    pub(crate) asks: Vec<OpenConfirm>,
    pub(crate) listeners: Vec<Listener>,
    /// What was heard, for who listens from now on, and behind which entry that began.
    pub(crate) context: LogContext,
    heard_from: u64,
    /// Bytes of text of the running reply.
    pub(crate) reply_bytes: u64,
    /// Of its thinking.
    pub(crate) thought_bytes: u64,
    pub(crate) heard: HeardReply,
    /// This connection is asked before tools run.
    pub(crate) callback: bool,
    /// The engine knows us as one that only listens.
    pub(crate) only_listens: bool,
    pub(crate) warned: ContextMark,
    /// Messages that the lane did not take; their answers follow.
    pub(crate) refused: Vec<(Tag, Box<LaneNote>)>,
    /// Commands without an answer.
    pub(crate) asked: usize,
    pub(crate) unused_since_ms: u64,
    /// How many messages wait.
    pub(crate) depth: usize,
}

impl SessionView {
    pub(crate) fn new(session: SessionId, state: Arc<State>, at: Position, now_ms: u64) -> Self {
        // A turn that runs already is not heard from its start.
        let run = state.turn.clone().map(|turn| GatewayRun::new(turn, false));
        Self {
            session,
            state,
            at,
            run,
            ids: Vec::new(),
            waiting: Vec::new(),
            held: Vec::new(),
            ended: Vec::new(),
            asks: Vec::new(),
            listeners: Vec::new(),
            context: LogContext::default(),
            heard_from: at.seq,
            reply_bytes: 0,
            thought_bytes: 0,
            heard: HeardReply::default(),
            callback: false,
            only_listens: false,
            warned: ContextMark::default(),
            refused: Vec::new(),
            asked: 0,
            unused_since_ms: now_ms,
            depth: 0,
        }
    }

    /// Something needs the connection to be on this session.
    pub(crate) fn is_used(&self) -> bool {
        self.callback
            || self.asked > 0
            || !self.ids.is_empty()
            || !self.waiting.is_empty()
            || !self.held.is_empty()
            || !self.ended.is_empty()
            || !self.listeners.is_empty()
    }

    /// A run is under way whose start this connection has not heard: what it comes to stands further up in the log.
    pub(crate) fn came_late(&self) -> bool {
        self.run.as_ref().is_some_and(|run| !run.is_over() && !self.context.knows(&run.turn))
    }

    /// Whether as much was heard here before this entry as is read before a page.
    pub(crate) fn has_looked_behind(&self, seq: u64) -> bool {
        self.heard_from == 0 || self.heard_from + LOOK_BEHIND <= seq
    }

    /// The queue, as the engine tells it whole.
    pub(crate) fn queue_is(&mut self, items: &[Item]) {
        self.depth = items.len();
    }

    /// What the lane says of a message that it let go of, where the engine has not said it.
    pub(crate) fn usual_note(&self) -> LaneNote {
        LaneNote { policy: self.state.lane, dropped: 1, texts: Vec::new() }
    }

    /// A turn begins. Requests that are known to be in it stay: a replay tells its start once more.
    pub(crate) fn begin(&mut self, turn: &TurnId) {
        self.run = Some(GatewayRun::new(turn.clone(), true));
        self.no_reply();
    }

    /// Nothing is heard of a reply yet.
    pub(crate) fn no_reply(&mut self) {
        (self.reply_bytes, self.thought_bytes) = (0, 0);
        self.heard.ends();
    }

    /// Whether a run goes on, heard here from its start or not.
    pub(crate) fn is_running(&self) -> bool {
        self.run.as_ref().map_or(self.state.turn.is_some(), |run| !run.is_over())
    }

    /// The run of this turn; one that was not heard from its start where none is known.
    pub(crate) fn run_of(&mut self, turn: &TurnId) -> &mut GatewayRun {
        if self.run.as_ref().is_none_or(|run| run.turn != *turn) {
            self.run = None;
        }
        self.run.get_or_insert_with(|| GatewayRun::new(turn.clone(), false))
    }

    /// How a message came into a run that begins with it. It did not wait, so where others waited it is the last of them.
    pub(crate) fn how_begun(&mut self, turn: &TurnId) -> How {
        match self.run_of(turn).taken.len() {
            count @ 2.. => How::Collected { count, leader: false },
            _ => How::Started,
        }
    }

    /// How a message came into the run that took it.
    pub(crate) fn how(&mut self, turn: &TurnId, item: &ItemId) -> How {
        let run = self.run_of(turn);
        match run.taken.iter().position(|taken| taken == item) {
            Some(place) if run.taken.len() > 1 => How::Collected { count: run.taken.len(), leader: place == 0 },
            Some(_) => How::Started,
            None if run.is_fresh && self.ids.is_empty() => How::Started,
            None => How::Steered,
        }
    }
}
