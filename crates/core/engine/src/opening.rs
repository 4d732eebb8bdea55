//! Finding, making and starting sessions. Whatever happens in between, one id has one session: see [`Registry`].

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use vocab::{
    Acquired, Fault, FaultKind, IdKind, Later, Lease, NewSession, OnRestart, Open, Principal, Query, SessionId,
    Settings, Store, Summary, Which,
};

use crate::Shared;
use crate::end_signal::{EndGuard, end_signal};
use crate::guard::guarded;
use crate::idle::Parked;
use crate::mailbox::mailbox;
use crate::registry::{Claim, Handle, OpenPermit, Registry, is_closing};
use crate::session::log::SessionLog;
use crate::session::subagents::Inherited;
use crate::session::{Past, Seed, Session, SessionModel};

impl Shared {
    /// Finds or makes the session, for `by`. The flag says whether it existed before.
    pub(crate) async fn open(self: &Arc<Self>, open: Open, by: Option<Principal>) -> Result<(Handle, bool), Fault> {
        let id = self.which(&open.which, open.workspace.as_deref(), by).await?;
        // An archive may give a name to a file that is still to be written.
        let may_be_new = matches!(open.which, Which::New | Which::Named(_) | Which::Path(_));
        let mut opening = match self.registry.claim(&id).await {
            Claim::Live(handle) => return Ok((handle, true)),
            Claim::Free(opening) => opening,
            Claim::Closing => return Err(is_closing()),
        };
        if open.which == Which::New {
            return self.start_new(opening, &open);
        }
        match self.ports.store.acquire(&id).await {
            Ok(acquired) => self.resume(opening, &open, acquired).await,
            Err(fault) if fault.kind == FaultKind::UnknownSession => {
                // One that was parked before anything was written is where it was left; of any other nothing is left.
                opening.parked.take_if(|parked| parked.last_seq > 0);
                match opening.parked.is_some() {
                    true => Ok((self.start_new(opening, &open)?.0, true)),
                    false if may_be_new => self.start_new(opening, &open),
                    false => Err(fault),
                }
            }
            Err(fault) => Err(fault),
        }
    }

    /// The session that is meant. A file is taken in, for `by`; nothing is opened.
    pub(crate) async fn which(
        &self,
        which: &Which,
        workspace: Option<&std::path::Path>,
        by: Option<Principal>,
    ) -> Result<SessionId, Fault> {
        let defaults = self.defaults();
        let workspace = workspace.unwrap_or(&defaults.workspace);
        match which {
            Which::New => Ok(SessionId::from(self.ports.ids.mint(IdKind::Session))),
            Which::Named(id) => Ok(id.clone()),
            Which::Id(text) => self.find_by_part(text).await,
            Which::Latest => self.find_latest(workspace).await,
            Which::Path(path) => match self.is_named_like(path).await? {
                Some(id) => Ok(id),
                None => self.ports.archive.import_for(&workspace.join(path), by).await,
            },
        }
    }

    async fn resume(
        self: &Arc<Self>,
        mut opening: OpenPermit,
        open: &Open,
        acquired: Acquired,
    ) -> Result<(Handle, bool), Fault> {
        let Acquired { lease, summary, recovered } = acquired;
        // Somebody else had it since then: what was said there counts.
        opening.parked.take_if(|parked| parked.last_seq != summary.last_seq);
        let settings = self.settings_for(open, opening.parked.as_deref(), Some(&summary));
        let (chosen, left) = (open.model.is_some(), settings.model.clone());
        let past = Past { summary, recovered, thinking_asked: open.thinking.is_some() };
        let model = match self.ports.provider.resolve(&settings.model) {
            Err(_) if open.without_model && !chosen => Ok(SessionModel::Gone),
            Err(fault) if !chosen => Err(in_a_terminal(fault.of_left_model(&left))),
            found => found.map(SessionModel::Here),
        };
        let started =
            model.and_then(|model| self.start_with(&mut opening, (settings, model), lease.clone(), Some(past), None));
        match started {
            Ok(handle) => Ok((handle, true)),
            Err(fault) => {
                let _ = self.ports.store.release(lease).await;
                Err(fault)
            }
        }
    }

    /// Clients that choose ids put points and slashes into them: a session that is here is meant before a file that may be.
    async fn is_named_like(&self, path: &std::path::Path) -> Result<Option<SessionId>, Fault> {
        let Some(text) = path.to_str().filter(|_| !path.is_absolute()) else { return Ok(None) };
        let id = SessionId::from(text);
        Ok(self.is_known(&id).await?.then_some(id))
    }

    pub(crate) async fn is_known(&self, id: &SessionId) -> Result<bool, Fault> {
        Ok(self.registry.contains(id) || self.ports.store.summary(id).await?.is_some())
    }

    pub(crate) async fn find_by_part(&self, text: &str) -> Result<SessionId, Fault> {
        // Ids are written in lower case, whatever a user types.
        for exact in [text, &text.to_lowercase()] {
            let id = SessionId::from(exact);
            if self.is_known(&id).await? {
                return Ok(id);
            }
        }
        Ok(vocab::find_session(&*self.ports.store, text).await?.id)
    }

    async fn find_latest(&self, workspace: &std::path::Path) -> Result<SessionId, Fault> {
        let query = Query { workspace: Some(workspace.to_owned()), non_empty: true, ..Query::default() };
        let found = self.ports.store.newest(query).await?;
        found
            .map(|summary| summary.id)
            .ok_or_else(|| Fault::new(FaultKind::NotFound, format!("no saved session in {}", workspace.display())))
    }

    fn start_new(self: &Arc<Self>, mut opening: OpenPermit, open: &Open) -> Result<(Handle, bool), Fault> {
        self.ports.store.probe()?;
        let settings = self.settings_for(open, opening.parked.as_deref(), None);
        let lease = self.create(opening.id.clone(), &settings, open.parent.clone());
        let model = SessionModel::Here(self.ports.provider.resolve(&settings.model)?);
        Ok((self.start_with(&mut opening, (settings, model), lease, None, None)?, false))
    }

    /// A new session that works for a call of another one.
    pub(crate) async fn start_subagent(
        self: &Arc<Self>,
        settings: Settings,
        inherited: Inherited,
    ) -> Result<Handle, Fault> {
        self.ports.store.probe()?;
        let id = SessionId::from(self.ports.ids.mint(IdKind::Session));
        let mut opening = match self.registry.claim(&id).await {
            Claim::Free(opening) => opening,
            Claim::Closing => return Err(is_closing()),
            Claim::Live(_) => {
                return Err(Fault::new(FaultKind::Internal, format!("there is a session {id} already")));
            }
        };
        let lease = self.create(id, &settings, None);
        let model = SessionModel::Here(self.ports.provider.resolve(&settings.model)?);
        self.start_with(&mut opening, (settings, model), lease, None, Some(inherited))
    }

    fn create(&self, id: SessionId, settings: &Settings, parent: Option<Arc<str>>) -> Lease {
        self.ports.store.create(NewSession {
            id,
            workspace: settings.workspace.clone(),
            model: settings.model.clone(),
            mode: settings.mode,
            at_ms: self.ports.clock.now_ms(),
            parent,
        })
    }

    /// What was asked for, else what the session had, else the defaults.
    fn settings_for(&self, open: &Open, parked: Option<&Parked>, summary: Option<&Summary>) -> Settings {
        let usual = open.usual.clone().unwrap_or_else(|| self.defaults());
        let mut settings = match parked {
            // What its log has of its own comes from there.
            Some(parked) if parked.last_seq > 0 => Settings { lane: usual.lane, ..parked.settings.clone() },
            Some(parked) => parked.settings.clone(),
            None => Settings::clone(&usual),
        };
        if let Some(summary) = summary {
            settings.workspace = summary.workspace.clone();
            settings.model = summary.model.clone();
            settings.mode = summary.mode;
            settings.thinking = summary.thinking.clone().or(settings.thinking);
        }
        settings.on_restart = match summary.and_then(|summary| summary.child_of.as_ref()) {
            // The call that it worked for is gone, and with it whoever wanted to know.
            Some(_) => OnRestart::Close,
            None => open.on_restart.unwrap_or(settings.on_restart),
        };
        if let Some(workspace) = &open.workspace {
            settings.workspace = workspace.clone();
        }
        if let Some(model) = &open.model {
            settings.model = model.trim().into();
        }
        if let Some(mode) = open.mode {
            settings.mode = mode;
        }
        settings.thinking = open.thinking.clone().or(settings.thinking);
        settings.gate = open.gate.unwrap_or(settings.gate);
        settings.tool_names = open.tool_names.unwrap_or(settings.tool_names);
        settings
    }

    fn start_with(
        self: &Arc<Self>,
        opening: &mut OpenPermit,
        (settings, model): (Settings, SessionModel),
        lease: Lease,
        past: Option<Past>,
        inherited: Option<Inherited>,
    ) -> Result<Handle, Fault> {
        let tools = self.ports.toolbox.open(&lease.session, &settings.workspace)?;
        let last_seq = past.as_ref().map_or(0, |past| past.summary.last_seq);
        let ports = &self.ports;
        let log = SessionLog::new(ports.store.clone(), ports.clock.clone(), lease.clone(), settings.sync, last_seq);
        let (mail, mailbox) = mailbox();
        let (alive, gone) = end_signal();
        let handle = Handle {
            id: opening.id.clone(),
            serial: opening.serial,
            workspace: settings.workspace.clone(),
            mail,
            is_child: inherited.is_some(),
            gone,
        };
        let life = SessionLifetime {
            registry: self.registry.clone(),
            id: opening.id.clone(),
            serial: opening.serial,
            _alive: alive,
        };
        let parked = opening.parked.take();
        opening.done(handle.clone())?;
        let remembered = parked.map(|parked| parked.remembered).unwrap_or_default();
        let seed = Seed { settings, model, log, tools, past, remembered, inherited };
        // Boxed, because a future keeps room for what it is given and for what it makes of it.
        let session = Box::new(Session::new(self.clone(), seed, mailbox));
        tokio::spawn(life.follow(Box::pin(session.run()), ports.store.clone(), lease));
        Ok(handle)
    }
}

fn in_a_terminal(mut fault: Fault) -> Fault {
    if fault.is_model_gone() {
        fault.hints.insert(0, "go on with another one: `-m NAME`".to_owned());
    }
    fault
}

/// From the start of a session to the moment when the next one of its id may be opened.
struct SessionLifetime {
    registry: Arc<Registry>,
    id: SessionId,
    serial: u64,
    _alive: EndGuard,
}

impl SessionLifetime {
    async fn follow(self, mut running: Later<'static, Option<Box<Parked>>>, store: Arc<dyn Store>, lease: Lease) {
        // What a panic tears down with it must not be the lease, wherever in the session it happens.
        let step = |context: &mut Context<'_>| guarded(|| running.as_mut().poll(context)).unwrap_or(Poll::Ready(None));
        let parked = poll_fn(step).await;
        let _ = guarded(move || drop(running));
        let _ = store.release(lease).await;
        if let Some(parked) = parked {
            self.registry.park(&self.id, self.serial, parked);
        }
    }
}

impl Drop for SessionLifetime {
    /// A router that waits for the end looks into the registry next.
    fn drop(&mut self) {
        self.registry.forget(&self.id, self.serial);
    }
}
