//! The engine: sessions, turns, lanes, questions, permissions, compaction. It speaks only [`vocab`]'s words: no JSON, no
//! dialect, and no I/O except through the ports it is given.

mod bill;
mod children;
mod commands;
pub mod compaction;
mod companions;
mod cost;
mod desk;
mod fork;
mod history;
mod images;
mod intake;
pub mod lane;
mod ledger;
mod outbox;
pub mod permission;
mod prompt;
mod reply;
pub mod requests;
mod retry;
mod session;
pub mod turn;

use std::collections::HashMap;
use std::future::poll_fn;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, oneshot, watch};
use vocab::names::Family;
use vocab::{
    Archive, Around, Clock, Command, Fault, FaultKind, FitPicture, Gate, IdKind, Ids, Lease, NewSession, Open, PeerId,
    Preferences, Provider, Query, SessionId, Settings, State, Store, Summary, Told, ToolServers, Toolbox, Which,
};

pub use commands::{COMMANDS, SlashCommand};
pub use companions::Companion;
pub use images::IMAGE_BYTES_MAX;
pub use outbox::{OUTBOX_BYTES_MAX, Slow};
pub use reply::{CALL_INPUT_BYTES_MAX, CALLS_MAX, REPLY_BYTES_MAX, ReadObject};

use children::Inherited;
use desk::Desk;
use ledger::Ledger;
use outbox::Outbox;
use session::{MAILBOX_MAX, Mail, Seed, Session};

/// Commands a peer may have on its way; one that sends faster waits.
const COMMANDS_MAX: usize = 64;

/// Everything outside that the engine works with.
#[derive(Clone)]
pub struct Ports {
    pub provider: Arc<dyn Provider>,
    pub toolbox: Arc<dyn Toolbox>,
    pub store: Arc<dyn Store>,
    pub archive: Arc<dyn Archive>,
    pub preferences: Arc<dyn Preferences>,
    pub ids: Arc<dyn Ids>,
    pub clock: Arc<dyn Clock>,
    pub around: Arc<dyn Around>,
    pub servers: Arc<dyn ToolServers>,
    pub read_object: ReadObject,
    pub fit_picture: FitPicture,
}

/// What a new session starts with, and what everybody is told about us.
pub struct Config {
    pub defaults: Settings,
    pub version: String,
    /// Shown once to whoever opens a session: which model was chosen and why.
    pub notices: Vec<String>,
}

/// The engine. Cheap to clone; ends when the last clone and the last peer are gone.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) ports: Ports,
    defaults: Settings,
    pub(crate) version: String,
    pub(crate) notices: Vec<String>,
    live: Mutex<HashMap<SessionId, Handle>>,
    pub(crate) companions: companions::Registry,
    next_peer: AtomicU64,
    /// Set by the shutdown: no session is opened any more.
    closing: AtomicBool,
}

/// How to reach a live session.
#[derive(Clone)]
pub(crate) struct Handle {
    pub(crate) id: SessionId,
    pub(crate) workspace: PathBuf,
    pub(crate) gate: Gate,
    pub(crate) family: Family,
    pub(crate) mail: mpsc::Sender<Mail>,
    /// Works for a call of another session.
    is_child: bool,
    /// Never sent to; closes when the session has ended and its lease is free again.
    gone: watch::Receiver<()>,
}

impl Handle {
    async fn gone(&self) {
        let mut gone = self.gone.clone();
        while gone.changed().await.is_ok() {}
    }

    pub(crate) async fn state(&self) -> Option<State> {
        let (reply, answer) = oneshot::channel();
        self.mail.send(Mail::State(reply)).await.ok()?;
        answer.await.ok()
    }
}

/// One attached controller's end: commands in, events out.
pub struct Peer {
    commands: Option<mpsc::Sender<Command>>,
    outbox: Arc<Outbox>,
}

impl Peer {
    pub fn id(&self) -> PeerId {
        self.outbox.peer
    }
    /// Hands a command over; waits while too many are on their way.
    pub async fn submit(&self, command: Command) {
        if let Some(commands) = &self.commands {
            let _ = commands.send(command).await;
        }
    }
    /// Hands a command over if there is room; gives it back otherwise.
    #[allow(clippy::result_large_err)] // What comes back is what the caller had in its hands.
    pub fn try_submit(&self, command: Command) -> Result<(), Command> {
        match &self.commands {
            Some(commands) => commands.try_send(command).map_err(|refused| refused.into_inner()),
            None => Ok(()),
        }
    }
    /// Appends everything that is there to `into`; waits when nothing is. `false`: nothing will come any more.
    pub async fn events(&self, into: &mut Vec<Told>) -> bool {
        poll_fn(|context| self.outbox.poll_drain(context, into)).await
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.outbox.close();
    }
}

impl Engine {
    pub fn new(ports: Ports, config: Config) -> Self {
        let shared = Shared {
            ports,
            defaults: config.defaults,
            version: config.version,
            notices: config.notices,
            live: Mutex::default(),
            companions: companions::Registry::default(),
            next_peer: AtomicU64::new(1),
            closing: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared) }
    }

    /// A new controller. Must be called on a runtime.
    pub fn connect(&self, slow: Slow) -> Peer {
        let peer = self.shared.mint_peer();
        let outbox = Outbox::new(peer, slow);
        let (commands, inbox) = mpsc::channel(COMMANDS_MAX);
        let desk = Desk::new(self.shared.clone(), outbox.clone());
        tokio::spawn(desk.run(inbox));
        Peer { commands: Some(commands), outbox }
    }

    /// Ends every session in order: turns are interrupted, logs written, leases given back.
    pub async fn shutdown(&self) {
        self.shared.closing.store(true, Ordering::Relaxed);
        let mut live: Vec<Handle> = self.shared.lock().values().cloned().collect();
        // Who has children ends them; one that was ended first would be the result of a call, and be answered.
        live.sort_by_key(|handle| handle.is_child);
        for handle in live {
            let (stopped, done) = oneshot::channel();
            if handle.mail.send(Mail::Stop(stopped)).await.is_ok() {
                let _ = done.await;
            }
            handle.gone().await;
        }
    }

    /// Sessions that are in memory now.
    pub fn live(&self) -> Vec<SessionId> {
        self.shared.lock().keys().cloned().collect()
    }
}

impl Shared {
    fn mint_peer(&self) -> PeerId {
        PeerId(self.next_peer.fetch_add(1, Ordering::Relaxed))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Handle>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn forget(&self, id: &SessionId) {
        self.lock().remove(id);
    }

    /// While this runs, nobody finds or makes a session.
    pub(crate) fn alone<T>(&self, step: impl FnOnce() -> T) -> T {
        let _live = self.lock();
        step()
    }

    /// The live session of this id. One that is just ending is waited for, because it still holds the lease.
    async fn find_live(&self, id: &SessionId) -> Option<Handle> {
        loop {
            let handle = self.lock().get(id).cloned()?;
            if !handle.mail.is_closed() {
                return Some(handle);
            }
            handle.gone().await;
            // One that died by a panic could not take itself out.
            let mut live = self.lock();
            if live.get(id).is_some_and(|other| other.mail.same_channel(&handle.mail)) {
                live.remove(id);
            }
        }
    }

    /// Finds or makes the session. The flag says whether it existed before.
    pub(crate) async fn open(self: &Arc<Self>, open: Open) -> Result<(Handle, bool), Fault> {
        let workspace = open.workspace.clone().unwrap_or_else(|| self.defaults.workspace.clone());
        let id = match &open.which {
            Which::New => return self.start_new(SessionId::from(self.ports.ids.mint(IdKind::Session)), open),
            Which::Named(id) => match self.find_named(id).await? {
                Some(id) => id,
                None => return self.start_new(id.clone(), open),
            },
            Which::Id(text) => self.find_by_prefix(text).await?,
            Which::Latest => self.find_latest(&workspace).await?,
            Which::Path(path) => {
                let id = self.ports.archive.import(&workspace.join(path)).await?;
                // An archive may give a name to a file that is still to be written.
                match self.find_named(&id).await? {
                    Some(id) => id,
                    None => return self.start_new(id, open),
                }
            }
        };
        if let Some(handle) = self.find_live(&id).await {
            return Ok((handle, true));
        }
        let unknown = || Fault::new(FaultKind::UnknownSession, format!("unknown session: {id}"));
        let summary = self.ports.store.summary(&id).await?.ok_or_else(unknown)?;
        let lease = self.ports.store.acquire(&id).await?;
        let settings = self.settings_for(&open, Some(&summary));
        match self.start_with(settings, lease.clone(), Some(summary), None) {
            Ok(handle) => Ok((handle, true)),
            Err(fault) => {
                let _ = self.ports.store.release(lease).await;
                Err(fault)
            }
        }
    }

    async fn find_named(&self, id: &SessionId) -> Result<Option<SessionId>, Fault> {
        if self.lock().contains_key(id) {
            return Ok(Some(id.clone()));
        }
        Ok(self.ports.store.summary(id).await?.map(|summary| summary.id))
    }

    async fn find_by_prefix(&self, text: &str) -> Result<SessionId, Fault> {
        // Ids are written in lower case, whatever a user types.
        for exact in [text, &text.to_lowercase()] {
            if let Some(id) = self.find_named(&SessionId::from(exact)).await? {
                return Ok(id);
            }
        }
        let query = Query { id_prefix: Some(text.to_owned()), limit: Some(2), ..Query::default() };
        let mut found = self.ports.store.list(query.clone()).await?;
        if found.is_empty() {
            found = self.ports.store.list(Query { children: true, ..query }).await?;
        }
        match (found.len(), found.pop()) {
            (1, Some(summary)) => Ok(summary.id),
            (0, _) => Err(Fault::new(FaultKind::NotFound, format!("no session matches `{text}`"))
                .hint("`tillerman sessions list` shows what there is")),
            _ => Err(Fault::new(FaultKind::NotFound, format!("more than one session starts with `{text}`"))
                .hint("give more characters of the id")),
        }
    }

    async fn find_latest(&self, workspace: &std::path::Path) -> Result<SessionId, Fault> {
        let query =
            Query { workspace: Some(workspace.to_owned()), non_empty: true, limit: Some(1), ..Query::default() };
        let found = self.ports.store.list(query).await?.pop();
        found
            .map(|summary| summary.id)
            .ok_or_else(|| Fault::new(FaultKind::NotFound, format!("no saved session in {}", workspace.display())))
    }

    fn start_new(self: &Arc<Self>, id: SessionId, open: Open) -> Result<(Handle, bool), Fault> {
        self.ports.store.probe()?;
        let settings = self.settings_for(&open, None);
        let lease = self.create(id, &settings, open.parent.clone());
        Ok((self.start_with(settings, lease, None, None)?, false))
    }

    /// A new session that works for a call of another one.
    pub(crate) fn start_child(self: &Arc<Self>, settings: Settings, inherited: Inherited) -> Result<Handle, Fault> {
        self.ports.store.probe()?;
        let id = SessionId::from(self.ports.ids.mint(IdKind::Session));
        let lease = self.create(id, &settings, None);
        self.start_with(settings, lease, None, Some(inherited))
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
    fn settings_for(&self, open: &Open, summary: Option<&Summary>) -> Settings {
        let mut settings = self.defaults.clone();
        if let Some(summary) = summary {
            settings.workspace = summary.workspace.clone();
            settings.model = summary.model.clone();
            settings.mode = summary.mode;
            settings.thinking = summary.thinking.clone().or(settings.thinking);
        }
        if let Some(workspace) = &open.workspace {
            settings.workspace = workspace.clone();
        }
        if let Some(model) = &open.model {
            settings.model = model.clone();
        }
        if let Some(mode) = open.mode {
            settings.mode = mode;
        }
        settings.gate = open.gate.unwrap_or(settings.gate);
        settings.family = open.family.unwrap_or(settings.family);
        settings
    }

    fn start_with(
        self: &Arc<Self>,
        settings: Settings,
        lease: Lease,
        summary: Option<Summary>,
        inherited: Option<Inherited>,
    ) -> Result<Handle, Fault> {
        let model = self.ports.provider.resolve(&settings.model)?;
        let tools = self.ports.toolbox.open(&lease.session, &settings.workspace)?;
        let last_seq = summary.as_ref().map_or(0, |summary| summary.last_seq);
        let ports = &self.ports;
        let ledger = Ledger::new(ports.store.clone(), ports.clock.clone(), lease, settings.sync, last_seq);
        let (mail, mailbox) = mpsc::channel(MAILBOX_MAX);
        let (alive, gone) = watch::channel(());
        let (lease, store) = (ledger.lease().clone(), ports.store.clone());
        let handle = Handle {
            id: ledger.session.clone(),
            workspace: settings.workspace.clone(),
            gate: settings.gate,
            family: settings.family,
            mail,
            is_child: inherited.is_some(),
            gone,
        };
        let seed = Seed { settings, model, ledger, tools, summary, inherited };
        {
            let mut live = self.lock();
            if self.closing.load(Ordering::Relaxed) {
                return Err(Fault::new(FaultKind::ShuttingDown, "the engine is shutting down"));
            }
            live.insert(handle.id.clone(), handle.clone());
        }
        let session = Session::new(self.clone(), seed, mailbox);
        tokio::spawn(async move {
            // A panic of our own ends this session only, and frees what it held.
            if tokio::spawn(session.run()).await.is_err() {
                let _ = store.release(lease).await;
            }
            drop(alive);
        });
        Ok(handle)
    }
}
