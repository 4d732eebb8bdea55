//! One session as its client sees it.

use std::path::PathBuf;

use acp_types::{Cost, Other, SessionUpdate};
use vocab::{CallId, IdKind, Ids, ItemId, Opened, Prices, SessionId, State, TurnEnd, TurnId, Usage};
use wire::OpenCalls;

use crate::config::Chosen;
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
    /// What this session has cost since it was opened here; `None` once something had a price that is not known.
    pub(crate) cost: Option<f64>,
    /// A turn that has ended and is not answered yet.
    pub(crate) over: Option<TurnEnd>,
    /// Compactions so far.
    pub(crate) compactions: u64,
    /// To be answered when what runs has ended.
    pub(crate) closing: Vec<Closing>,
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
    /// What sessions that worked for its calls used; it is charged already, at the prices of their models.
    charged: Usage,
}

impl RunningTurn {
    pub(crate) fn new(id: TurnId) -> Self {
        Self { id, text: None, thought: None, charged: Usage::default() }
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
        Self {
            session: opened.session.clone(),
            cwd: state.workspace.clone(),
            chosen: Chosen::of(&state),
            title: None,
            // One that another client has begun is watched to its end.
            turn: state.turn.clone().map(RunningTurn::new),
            open_calls: OpenCalls::default(),
            prompts: Vec::new(),
            waiting: Vec::new(),
            lost: Vec::new(),
            cost: Some(0.0),
            over: None,
            compactions: 0,
            closing: Vec::new(),
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

    /// At the price of the chosen model.
    pub(crate) fn charge(&mut self, usage: &Usage) {
        self.charge_at(self.chosen.model.prices, usage);
    }

    pub(crate) fn charge_at(&mut self, prices: Option<Prices>, usage: &Usage) {
        let price = prices.map(|prices| prices.cost(usage));
        self.cost = self.cost.zip(price).map(|(sum, more)| sum + more);
    }

    /// A session that worked for a call of the running turn has used this.
    pub(crate) fn charge_child(&mut self, prices: Option<Prices>, usage: &Usage) {
        if let Some(turn) = &mut self.turn {
            turn.charged.add(usage);
            self.charge_at(prices, usage);
        }
    }

    /// The turn has ended, and this is what all of it used.
    pub(crate) fn charge_turn(&mut self, usage: &Usage) {
        let charged = self.turn.as_mut().map(|turn| std::mem::take(&mut turn.charged)).unwrap_or_default();
        self.charge(&usage.less(&charged));
    }

    /// How full the context is.
    pub(crate) fn usage_update(&self) -> SessionUpdate {
        let cost = self.cost.filter(|_| self.chosen.model.prices.is_some());
        SessionUpdate::UsageUpdate {
            used: self.state.context_tokens,
            size: self.state.context_window,
            cost: cost.map(|amount| Cost { amount, currency: "USD".into() }),
            other: Other::new(),
        }
    }
}
