//! One session as its client sees it.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use acp_types::{Cost, Other, SessionUpdate};
use vocab::{Body, CallId, Entry, ItemId, ModelInfo, Opened, SessionId, State, TurnEnd, TurnEntry, TurnId};
use wire::OpenCalls;

use crate::config::Chosen;
use crate::cost::SessionCost;
use crate::early::EarlyEvents;
use crate::flow::Flow;
use crate::frames::{self, AGENT_MESSAGE, AGENT_THOUGHT, AcpWriter, Chunks};
use crate::opening::Titled;
use crate::untold_calls::UntoldCalls;

pub(crate) struct SessionView {
    pub(crate) session: SessionId,
    pub(crate) cwd: PathBuf,
    pub(crate) chosen: Chosen,
    pub(crate) state: State,
    /// What the client was told that it is called.
    pub(crate) title: Option<String>,
    pub(crate) turn: Option<RunningTurn>,
    pub(crate) open_calls: OpenCalls,
    pub(crate) untold_calls: UntoldCalls,
    /// Prompts of this client by the turns they became.
    pub(crate) prompts: Vec<(TurnId, frames::CallId)>,
    /// Prompts that wait for the turn before them.
    pub(crate) waiting: Vec<(ItemId, frames::CallId)>,
    /// Items whose prompts were told as lost: they do not run when the session is found again.
    pub(crate) lost: Vec<ItemId>,
    pub(crate) cost: SessionCost,
    /// A turn that has ended and is not answered yet.
    pub(crate) over: Option<TurnEnd>,
    /// Compactions so far.
    pub(crate) compactions: u64,
    /// To be answered when what runs has ended.
    pub(crate) closing: Vec<Closing>,
    /// What happens in the session before its client has heard that it is there: told behind that answer, because a client may
    /// drop or refuse what is about a session that it does not know yet, and everything that was before is told first. `None`
    /// from then on.
    pub(crate) early: Option<EarlyEvents>,
    /// How far its client is.
    pub(crate) flow: Flow,
    /// A load that waits for room.
    pub(crate) replaying: Option<Box<Replaying>>,
}

/// What is still to be told of the past, and then.
pub(crate) struct Replaying {
    pub(crate) call: Option<frames::CallId>,
    /// The client has named the session.
    pub(crate) known: bool,
    pub(crate) entries: VecDeque<Arc<Entry>>,
    /// The last entry that is told here.
    pub(crate) upto: u64,
    pub(crate) titled: Titled,
    /// There was no room in between, and what came meanwhile is in the log alone.
    pub(crate) was_held: bool,
}

/// What is said in a reply.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spoken {
    Text,
    Thought,
}

impl Spoken {
    fn tag(self) -> &'static str {
        match self {
            Spoken::Text => AGENT_MESSAGE,
            Spoken::Thought => AGENT_THOUGHT,
        }
    }
}

/// A reply is called by its turn and its number there ([`vocab::next_reply`]): the same live, in every replay and to every client.
pub(crate) fn reply_id(turn: &TurnId, number: u32, what: Spoken) -> String {
    match what {
        Spoken::Text => format!("{turn}-{number}"),
        Spoken::Thought => format!("{turn}-{number}t"),
    }
}

/// What stands for the turn of a reply that has none, such as one that was imported.
pub(crate) fn turn_or_place(turn: Option<&TurnId>, session: &SessionId, seq: u64) -> TurnId {
    turn.cloned().unwrap_or_else(|| TurnId::from(format!("{session}-{seq}")))
}

/// A message of a person is called by its place in the log.
pub(crate) fn user_message_id(session: &SessionId, seq: u64) -> String {
    format!("{session}-{seq}")
}

/// A session that is being left.
#[derive(Clone)]
pub(crate) struct Closing {
    pub(crate) call: frames::CallId,
    pub(crate) delete: bool,
}

pub(crate) struct RunningTurn {
    pub(crate) id: TurnId,
    text: Option<Chunks>,
    thought: Option<Chunks>,
}

impl RunningTurn {
    pub(crate) fn new(id: TurnId) -> Self {
        Self { id, text: None, thought: None }
    }

    /// A message is complete: the next delta begins another.
    pub(crate) fn next_message(&mut self) {
        self.text = None;
        self.thought = None;
    }
}

/// Unique in its session: models number their calls anew in every turn.
pub(crate) fn call_id(turn: &TurnId, call: &CallId) -> String {
    format!("{turn}-{call}")
}

impl SessionView {
    /// `window`: bytes that its client may be told; `None`: any number.
    pub(crate) fn new(opened: &Opened, window: Option<usize>) -> Self {
        let state = opened.state.clone();
        let chosen = Chosen::of(&state);
        let mut cost = SessionCost::default();
        cost.choose(&chosen.model);
        Self {
            session: opened.session.clone(),
            cwd: state.workspace.clone(),
            chosen,
            title: None,
            // One that another client has begun is watched to its end.
            turn: state.turn.clone().map(RunningTurn::new),
            open_calls: OpenCalls::default(),
            untold_calls: UntoldCalls::behind(opened.present.round.iter()),
            prompts: Vec::new(),
            waiting: Vec::new(),
            lost: Vec::new(),
            cost,
            over: None,
            compactions: 0,
            closing: Vec::new(),
            early: None,
            flow: Flow::new(state.last_seq, window),
            replaying: None,
            state,
        }
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.turn.is_some() || self.has_prompts()
    }

    /// Prompts of its client that have no answer.
    pub(crate) fn has_prompts(&self) -> bool {
        !self.prompts.is_empty() || !self.waiting.is_empty()
    }

    /// Its start was told here, or a prompt waits for its end.
    pub(crate) fn is_running(&self, turn: &TurnId) -> bool {
        self.turn.as_ref().is_some_and(|running| running.id == *turn) || self.prompts.iter().any(|(id, _)| id == turn)
    }

    /// A turn that died with another process was paid before the session was opened here.
    pub(crate) fn counts(&self, body: &Body) -> bool {
        !matches!(body, Body::Turn(TurnEntry::Ended(end)) if !self.is_running(&end.turn))
    }

    /// The model is called: what it says is another message, unless it says the same one again.
    pub(crate) fn reply_begins(&mut self, turn: &TurnId) {
        if let Some(running) = self.turn.as_mut().filter(|running| running.id == *turn) {
            running.next_message();
        }
    }

    /// What a replay tells of calls: a reply comes with all of its own, started or not, and each of them has its end.
    pub(crate) fn calls_replayed(&mut self, entry: &Entry) {
        self.open_calls.logged(entry);
        if let Body::Assistant { turn, message } = &entry.body {
            self.untold_calls.all_told();
            for (turn, call) in turn.iter().flat_map(|turn| message.calls().map(move |call| (turn, call))) {
                self.open_calls.told(turn, &call.id, &call.name, entry.at_ms);
            }
        }
    }

    pub(crate) fn speak(&mut self, pen: &mut AcpWriter<'_>, what: Spoken, turn: &TurnId, text: &str) {
        let (session, number) = (&self.session, self.flow.reply);
        let begin = || Chunks::new(session, what.tag(), &reply_id(turn, number, what));
        match self.turn.as_mut().filter(|running| running.id == *turn) {
            Some(running) => {
                let chunks = if what == Spoken::Text { &mut running.text } else { &mut running.thought };
                chunks.get_or_insert_with(begin).write(pen, text);
            }
            None => begin().write(pen, text),
        }
    }

    /// Tells what it is called from now on.
    pub(crate) fn named(&mut self, pen: &mut AcpWriter<'_>, title: String, at_ms: i64) {
        let update = SessionUpdate::SessionInfoUpdate {
            title: Some(title.clone()),
            updated_at: Some(vocab::iso8601(at_ms)),
            other: Other::new(),
        };
        pen.update(&self.session, update);
        self.title = Some(title);
    }

    /// How full the context is. `listed`: the models that can be chosen.
    pub(crate) fn usage_update(&self, listed: &[ModelInfo]) -> SessionUpdate {
        let cost = self.cost.dollars(&self.chosen.model, listed);
        SessionUpdate::UsageUpdate {
            used: self.state.context_tokens,
            size: self.state.context_window,
            cost: cost.map(|amount| Cost { amount, currency: "USD".into() }),
            other: Other::new(),
        }
    }
}
