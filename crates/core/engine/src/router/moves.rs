//! What may change which session a peer is on: opening, moving, forking. Each takes as long as the store does, apart from
//! the router, and says in the end what came of it.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tokio::sync::oneshot;
use vocab::names::ToolNames;
use vocab::{
    Abilities, Body, Durability, Event, Fault, FaultKind, Gate, IdKind, Open, Opened, Principal, Query, Reply, Saved,
    SessionId, SlashFault, SlashOutcome, SlashReply, State, Tag, Target, Told, TurnId, Which,
};

use super::MoveDone;
use crate::commands::{self, SlashResult, from_fault};
use crate::outbox::{DROP_BYTES_MAX, Outbox};
use crate::registry::{Claim, Handle, is_closing};
use crate::session::Mail;
use crate::session::model_view;
use crate::{Shared, Slow};

/// Sessions shown by `/sessions`.
const LISTED_MAX: usize = 100;
/// A session that ends while somebody comes in is opened again; so often, then the peer is told.
const OPEN_TRIES: u32 = 3;

/// What a change works with.
pub(super) struct Visit {
    pub(super) shared: Arc<Shared>,
    pub(super) outbox: Arc<Outbox>,
    pub(super) manners: Manners,
    /// Who wants it.
    pub(super) by: Principal,
}

/// How a peer is, whatever session it is on.
#[derive(Clone, Default)]
pub(super) struct Manners {
    controller: Option<Arc<str>>,
    abilities: Abilities,
    gate: Option<Gate>,
    tool_names: Option<ToolNames>,
}

impl Manners {
    pub(super) fn of(open: &Open) -> Self {
        let (controller, abilities) = (open.controller.clone(), open.abilities.clone());
        Self { controller, abilities, gate: open.gate, tool_names: open.tool_names }
    }
}

/// A peer that goes from one session to another.
pub(super) struct Moved {
    pub(super) target: Target,
    pub(super) tag: Tag,
    pub(super) from: SessionId,
    pub(super) to: Handle,
    /// The new session still speaks to this one.
    pub(super) aside: Arc<Outbox>,
    pub(super) state: State,
    pub(super) reply: SlashReply,
    /// What the new session said first.
    pub(super) shown: Vec<Told>,
}

/// Where a peer came in, through a box of its own.
struct Entered {
    handle: Handle,
    aside: Arc<Outbox>,
    opened: Opened,
    /// The turn that ran when the peer came in. The state is a little newer.
    turn: Option<TurnId>,
    shown: Vec<Told>,
}

fn ended() -> Fault {
    Fault::new(FaultKind::Internal, "the session ended while it was opened")
}

impl Visit {
    pub(super) async fn open(self, tag: Tag, open: Open) -> MoveDone {
        match self.enter(&self.outbox, tag, open, None).await {
            Ok(Some(handle)) => MoveDone::Opened(handle),
            Ok(None) => MoveDone::Told,
            Err(fault) => {
                let event = Event::Reply { tag, result: Err(fault) };
                self.outbox.push(Told::new(SessionId::from(""), event));
                MoveDone::Told
            }
        }
    }

    /// On the session; `None` when it refused, and said so. `from`: where the peer is and need not come in.
    async fn enter(
        &self,
        outbox: &Arc<Outbox>,
        tag: Tag,
        open: Open,
        from: Option<&SessionId>,
    ) -> Result<Option<Handle>, Fault> {
        for _ in 0..OPEN_TRIES {
            let (handle, resumed) = self.shared.open(open.clone(), Some(self.by.clone())).await?;
            if from == Some(&handle.id) {
                return Err(Fault::new(FaultKind::NothingToDo, "this is the session you are on"));
            }
            let (joined, answer) = oneshot::channel();
            let (outbox, open) = (outbox.clone(), Box::new(open.clone()));
            let join = Mail::Join { outbox, tag, resumed, open, by: Some(self.by.clone()), joined };
            if handle.mail.send(join).await.is_err() {
                continue;
            }
            match answer.await {
                Ok(true) => return Ok(Some(handle)),
                Ok(false) => return Ok(None),
                // It ends, and takes nobody in any more.
                Err(_) => handle.gone().await,
            }
        }
        Err(ended())
    }

    pub(super) async fn fork(
        self,
        target: Target,
        tag: Tag,
        from: Option<SessionId>,
        on: Result<Handle, Fault>,
        at: Option<u64>,
    ) -> MoveDone {
        let result = match from {
            Some(from) => self.copy(from, on, at).await,
            None => Err(on.err().unwrap_or_else(ended)),
        };
        MoveDone::Answer { target, tag, result }
    }

    async fn copy(&self, from: SessionId, on: Result<Handle, Fault>, at: Option<u64>) -> Result<Reply, Fault> {
        // Answered when everything that was asked for before is written. Whoever is on it, or nobody.
        let live = match &on {
            Ok(handle) => Some(handle.clone()),
            Err(_) => self.shared.registry.find(&from).await,
        };
        if let Some(handle) = live {
            is_busy(&handle).await;
        }
        let store = &self.shared.ports.store;
        let no_message =
            |at| Fault::new(FaultKind::NotFound, format!("entry {at} is not a user message of this session"));
        let Some(summary) = store.summary(&from).await? else {
            on?;
            let nothing = || Fault::new(FaultKind::NothingToDo, "nothing to fork yet: start a conversation first");
            return Err(at.map_or_else(nothing, no_message));
        };
        let entries = store.read(&from, 0, usize::MAX).await?.entries;
        let path = model_view::active_path(&entries);
        let text = match at {
            None => String::new(),
            Some(at) => user_text(&path, at).ok_or_else(|| no_message(at))?,
        };
        let id = SessionId::from(self.shared.ports.ids.mint(IdKind::Session));
        // The end of everything waits for what is being made, and lets nothing more be made.
        let Claim::Free(_making) = self.shared.registry.claim(&id).await else { return Err(is_closing()) };
        let kept = crate::fork::copy(&path, at, &from, &summary, self.shared.ports.clock.now_ms());
        let lease = store.create(vocab::NewSession {
            id: id.clone(),
            workspace: summary.workspace,
            model: summary.model,
            mode: summary.mode,
            at_ms: self.shared.ports.clock.now_ms(),
            parent: None,
        });
        let written = store.append(&lease, kept, Durability::Now).await;
        store.release(lease).await?;
        written.map(|()| Reply::Forked { session: id, text })
    }

    pub(super) async fn slash(
        self,
        target: Target,
        tag: Tag,
        from: Result<Handle, Fault>,
        name: String,
        args: String,
    ) -> MoveDone {
        let moves = commands::find(&name).filter(|command| matches!(command.name, "clear" | "resume"));
        let answer = match moves {
            Some(command) if command.name == "resume" && args.trim().is_empty() => Err(commands::usage(command)),
            Some(command) => {
                let which = if command.name == "clear" { Which::New } else { Which::parse(args.trim()) };
                match self.swap(from, which).await {
                    Ok((from, entered, outcome)) => {
                        let reply = commands::reply(&name, Ok(outcome));
                        let Entered { handle, aside, opened, shown, .. } = entered;
                        let (to, state) = (handle, opened.state);
                        return MoveDone::Moved(Box::new(Moved { target, tag, from, to, aside, state, reply, shown }));
                    }
                    Err(fault) => Err(fault),
                }
            }
            None => self.answer(&name, from).await,
        };
        MoveDone::Answer { target, tag, result: Ok(Reply::Slash(Box::new(commands::reply(&name, answer)))) }
    }

    /// Those that only answer.
    async fn answer(&self, name: &str, from: Result<Handle, Fault>) -> SlashResult {
        match commands::find(name).map(|command| command.name) {
            Some("help") => {
                let (commands, extensions) = (commands::rows(), self.shared.extensions.commands());
                Ok(SlashOutcome::Help { commands, extensions })
            }
            Some("version") => Ok(SlashOutcome::Version { version: self.shared.version.clone() }),
            Some("exit") => Ok(SlashOutcome::Exit),
            Some("sessions") => self.sessions(from.ok()).await,
            _ => Err(commands::unknown(name)),
        }
    }

    async fn sessions(&self, on: Option<Handle>) -> SlashResult {
        let workspace = on.map(|handle| handle.workspace);
        let query = Query { workspace, non_empty: true, limit: Some(LISTED_MAX), ..Query::default() };
        let list = self.shared.ports.store.list(query).await.map_err(from_fault)?;
        let place = |id: &SessionId| self.shared.ports.archive.path_of(id);
        let saved = list.into_iter().map(|summary| Saved { place: place(&summary.id), summary });
        Ok(SlashOutcome::Sessions(saved.collect()))
    }

    /// Comes in to another session; what its peer was told about it is the command's answer.
    async fn swap(
        &self,
        from: Result<Handle, Fault>,
        which: Which,
    ) -> Result<(SessionId, Entered, SlashOutcome), SlashFault> {
        let from = from.map_err(from_fault)?;
        if is_busy(&from).await {
            return Err(commands::busy());
        }
        let is_new = which == Which::New;
        let mut open = Open::new(which);
        open.workspace = Some(from.workspace.clone());
        if is_new {
            // The conversation starts over; what the user chose for it stays.
            let state = from.state().await;
            open.model = state.as_ref().map(|state| state.model.clone());
            open.mode = state.as_ref().map(|state| state.mode);
            open.thinking = state.as_ref().and_then(|state| state.thinking.clone());
        }
        let Manners { controller, abilities, gate, tool_names } = self.manners.clone();
        let open = Open { controller, abilities, gate, tool_names, ..open };
        let entered = self.enter_aside(&from.id, open).await.map_err(from_fault)?;
        let opened = &entered.opened;
        let session = opened.session.clone();
        let outcome = match is_new {
            true => SlashOutcome::Cleared { session, previous: from.id.clone() },
            false => {
                let (messages, model) = (opened.state.messages, opened.state.model.clone());
                let (turn, present) = (entered.turn.clone(), Box::new(opened.present.clone()));
                SlashOutcome::Resumed { session, messages, model, turn, present }
            }
        };
        Ok((from.id, entered, outcome))
    }

    /// The session's own word about itself goes to a private box, so that the peer gets one answer: the command's.
    async fn enter_aside(&self, from: &SessionId, open: Open) -> Result<Entered, Fault> {
        let aside = Outbox::new(self.outbox.peer, Slow::DropAt(DROP_BYTES_MAX));
        let handle = self.enter(&aside, Tag(0), open, Some(from)).await?.ok_or_else(ended)?;
        let mut told = Vec::new();
        // Whoever is on it was told before.
        let _: Poll<bool> = aside.poll_drain(&mut Context::from_waker(Waker::noop()), &mut told);
        let mut opened: Option<Opened> = None;
        let mut shown = Vec::new();
        for told in told {
            match told.event {
                Event::Reply { result: Ok(Reply::Opened(it)), .. } => opened = Some(*it),
                _ => shown.push(told),
            }
        }
        // A resumed session has not read its log yet, and the state told next must say how full the context is.
        let Some((opened, state)) = opened.zip(handle.state().await) else {
            // Whoever was on it before may have had answers to come.
            shown.into_iter().for_each(|told| self.outbox.push(told));
            aside.pour_into(&self.outbox);
            return Err(ended());
        };
        let turn = opened.state.turn.clone();
        Ok(Entered { handle, aside, opened: Opened { state, ..opened }, turn, shown })
    }
}

/// Whether a turn runs; answered when everything that was asked for before is written.
async fn is_busy(handle: &Handle) -> bool {
    let (reply, answer) = oneshot::channel();
    handle.mail.send(Mail::Busy(reply)).await.is_ok() && answer.await.unwrap_or(false)
}

fn user_text(path: &[Arc<vocab::Entry>], seq: u64) -> Option<String> {
    path.iter().find(|entry| entry.seq == seq).and_then(|entry| match &entry.body {
        Body::User { parts, .. } => Some(vocab::parts_text(parts)),
        _ => None,
    })
}
