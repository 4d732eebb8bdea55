//! One session as its client sees it.

use std::path::PathBuf;

use acp_types::{Cost, Other, SessionUpdate};
use vocab::{Body, CallId, IdKind, Ids, ItemId, ModelInfo, Opened, SessionId, State, TurnEnd, TurnEntry, TurnId};
use wire::OpenCalls;

use crate::config::Chosen;
use crate::cost::SessionCost;
use crate::early::EarlyEvents;
use crate::frames::{self, AGENT_MESSAGE, AGENT_THOUGHT, AcpWriter, Chunks};

pub(crate) struct SessionView {
    pub(crate) session: SessionId,
    pub(crate) cwd: PathBuf,
    pub(crate) chosen: Chosen,
    pub(crate) state: State,
    /// What the client was told that it is called.
    pub(crate) title: Option<String>,
    pub(crate) turn: Option<RunningTurn>,
    pub(crate) open_calls: OpenCalls,
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
    pub(crate) fn new(opened: &Opened) -> Self {
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
            prompts: Vec::new(),
            waiting: Vec::new(),
            lost: Vec::new(),
            cost,
            over: None,
            compactions: 0,
            closing: Vec::new(),
            early: None,
            state,
        }
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.turn.is_some() || !self.prompts.is_empty() || !self.waiting.is_empty()
    }

    /// Its start was told here, or a prompt waits for its end.
    pub(crate) fn is_running(&self, turn: &TurnId) -> bool {
        self.turn.as_ref().is_some_and(|running| running.id == *turn) || self.prompts.iter().any(|(id, _)| id == turn)
    }

    /// A turn that died with another process was paid before the session was opened here.
    pub(crate) fn counts(&self, body: &Body) -> bool {
        !matches!(body, Body::Turn(TurnEntry::Ended(end)) if !self.is_running(&end.turn))
    }

    pub(crate) fn said(&mut self, pen: &mut AcpWriter<'_>, ids: &dyn Ids, delta: &str) {
        let Some(turn) = &mut self.turn else { return };
        let session = &self.session;
        let chunks = turn.text.get_or_insert_with(|| Chunks::new(session, AGENT_MESSAGE, &ids.mint(IdKind::Session)));
        chunks.write(pen, delta);
    }

    pub(crate) fn thought(&mut self, pen: &mut AcpWriter<'_>, ids: &dyn Ids, delta: &str) {
        let Some(turn) = &mut self.turn else { return };
        let session = &self.session;
        let chunks =
            turn.thought.get_or_insert_with(|| Chunks::new(session, AGENT_THOUGHT, &ids.mint(IdKind::Session)));
        chunks.write(pen, delta);
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
