//! The engine: sessions, turns, lanes, questions, permissions, compaction. It speaks only [`vocab`]'s words: no JSON, no
//! dialect, and no I/O except through the ports it is given.

mod beyond;
mod commands;
mod directory;
mod end_signal;
mod extensions;
mod fork;
mod guard;
mod idle;
mod images;
mod inbox;
mod mailbox;
mod opening;
mod outbox;
pub mod permission;
mod registry;
pub mod requests;
mod router;
mod session;
mod shutdown;
mod turn_places;
mod watching;
mod weight;

use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use vocab::{
    Accounts, Archive, Clock, Command, Conduct, Fault, FaultKind, FitImage, Ids, Keyring, LanePolicy, McpServers,
    OnRestart, Open, PeerId, Preferences, Principal, Provider, SessionId, Settings, Store, Surroundings, Told, Toolbox,
    Which,
};

pub use commands::{COMMANDS, SlashCommand};
pub use extensions::Extension;
pub use idle::IdlePolicy;
pub use outbox::{OUTBOX_BYTES_MAX, Slow, WATCH_BYTES_MAX};
pub use session::turn::synthetic;
pub use session::turn::{CALL_INPUT_BYTES_MAX, CALLS_MAX, REPLY_BYTES_MAX, ReadObject};
pub use turn_places::TurnsHeld;
pub use watching::AnswersForAll;

use guard::{GuardedProvider, GuardedToolbox};
use outbox::Outbox;
use registry::{Handle, Registry};
use router::Router;
use session::{Mail, TakenUp};
use turn_places::TurnPlaces;

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
    pub accounts: Arc<dyn Accounts>,
    pub surroundings: Arc<dyn Surroundings>,
    pub servers: Arc<dyn McpServers>,
    pub read_object: ReadObject,
    pub fit_image: FitImage,
    /// Keys that are taken out of whatever a call or a command has printed.
    pub keyring: Keyring,
}

/// What a new session starts with, and what every peer is told about us.
pub struct Config {
    pub defaults: Settings,
    pub version: String,
    /// Shown once to a peer that opens a session with the model of the defaults: which one was chosen and why.
    pub notices: Vec<String>,
    /// `None`: a session ends with its last peer.
    pub idle: Option<IdlePolicy>,
    /// Turns that may run at once, over all sessions; more wait for their turn. Sub-agents are not counted: their parents
    /// wait for them. `None`: any number.
    pub turns_max: Option<usize>,
    /// Who runs us: whatever comes from a peer that is nobody in particular is theirs.
    pub user: Principal,
}

/// The engine. Cheap to clone; ends when the last clone and the last peer are gone.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) ports: Ports,
    defaults: RwLock<Arc<Settings>>,
    /// What holds for every session whatever it was started with; `None`: nobody has said so since we run.
    conduct: RwLock<Option<Arc<Conduct>>>,
    pub(crate) version: String,
    pub(crate) notices: Vec<String>,
    pub(crate) idle: Option<IdlePolicy>,
    pub(crate) ready: idle::ReadySessions,
    /// Places for turns that run at once.
    pub(crate) turns: Option<Arc<TurnPlaces>>,
    user: Principal,
    pub(crate) registry: Arc<Registry>,
    pub(crate) watching: Arc<watching::WatchBus>,
    pub(crate) extensions: extensions::ExtensionRegistry,
    next_peer: AtomicU64,
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
        let ports = Ports {
            provider: Arc::new(GuardedProvider(ports.provider)),
            toolbox: Arc::new(GuardedToolbox(ports.toolbox)),
            ..ports
        };
        let shared = Shared {
            ports,
            defaults: RwLock::new(Arc::new(config.defaults)),
            conduct: RwLock::default(),
            version: config.version,
            notices: config.notices,
            idle: config.idle,
            ready: idle::ReadySessions::default(),
            turns: config.turns_max.map(TurnPlaces::new),
            user: config.user,
            registry: Arc::default(),
            watching: Arc::default(),
            extensions: extensions::ExtensionRegistry::default(),
            next_peer: AtomicU64::new(1),
        };
        Self { shared: Arc::new(shared) }
    }

    /// A new controller of whoever runs us. Must be called on a runtime.
    pub fn connect(&self, slow: Slow) -> Peer {
        self.connect_as(slow, self.shared.user.clone())
    }

    /// A new controller of somebody who has proved who they are.
    pub fn connect_as(&self, slow: Slow, principal: Principal) -> Peer {
        let peer = self.shared.mint_peer();
        let outbox = Outbox::new(peer, slow);
        let (commands, inbox) = mpsc::channel(COMMANDS_MAX);
        let router = Router::new(self.shared.clone(), outbox.clone(), principal);
        tokio::spawn(router.run(inbox));
        Peer { commands: Some(commands), outbox }
    }

    /// The model that a session has where nothing says otherwise.
    pub fn usual_model(&self) -> Arc<str> {
        self.shared.defaults().model.clone()
    }

    /// What sessions start with that are opened from now on. Its conduct is the owner's word on all of them: those that are here
    /// go by it with the next thing that happens to them.
    pub fn set_defaults(&self, settings: Settings) {
        *self.shared.conduct.write().unwrap_or_else(PoisonError::into_inner) = Some(settings.conduct.clone());
        *self.shared.defaults.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
    }

    /// What is usual for queues has changed: sessions in memory that go by it follow, before whatever is said to them next. Those
    /// that were opened with rules of another wire keep them.
    pub fn change_usual_lanes(
        &self,
        before: impl Fn(&SessionId) -> LanePolicy,
        after: impl Fn(&SessionId) -> LanePolicy,
    ) {
        for handle in self.shared.registry.live() {
            let (before, after) = (before(&handle.id), after(&handle.id));
            if before == after {
                continue;
            }
            // One that has ended comes back with what is usual then; one that has much to read is told behind that.
            if let Err(TrySendError::Full(mail)) = handle.mail.try_send(Mail::UsualLane { before, after }) {
                tokio::spawn(async move { handle.mail.send_boxed(mail).await });
            }
        }
    }

    /// How many sessions are parked: what their logs do not say is in memory, and nothing else.
    pub fn parked(&self) -> usize {
        self.shared.registry.parked()
    }

    /// Nothing runs for now: for a process that takes up its sessions, one after the other, and wants them to go on in the order
    /// in which they have waited. Without a bound on turns it holds nothing.
    pub fn hold_turns(&self) -> TurnsHeld {
        TurnsHeld::new(self.shared.turns.as_ref().map(TurnPlaces::hold))
    }

    /// Loads a saved session and goes on with what its log ends in the middle of, with no peer on it: for a process that takes
    /// its sessions up when it starts. A question waits for whoever comes. It ends by itself when nothing is left to do.
    /// An error where its log cannot be read now; it tries again by itself.
    /// `usual`: what it starts with beside what its log says; `None`: the defaults.
    /// `held`: the session lets go of it when it is in line for a place itself.
    pub async fn take_up(
        &self,
        session: &SessionId,
        usual: Option<Arc<Settings>>,
        held: TurnsHeld,
    ) -> Result<(), Fault> {
        // Exactly this one: a name may be the beginning of another.
        if !self.shared.is_known(session).await? {
            return Err(Fault::new(FaultKind::NotFound, format!("no session matches `{session}`")));
        }
        let open = Open { on_restart: Some(OnRestart::Continue), usual, ..Open::new(Which::Named(session.clone())) };
        let (handle, _) = self.shared.open(open, None).await?;
        // One that has ended since had nothing left to do.
        let (told, read) = oneshot::channel();
        let _ = handle.mail.send(Mail::TakeUp(TakenUp { told, _held: held })).await;
        read.await.unwrap_or(Ok(()))
    }

    /// Somebody answers the questions of all sessions from now on, without being on them: none is denied because those who are
    /// cannot answer. Until what is given here is dropped.
    pub fn answers_for_all(&self) -> AnswersForAll {
        self.shared.watching.answers()
    }

    /// Sessions that are in memory now.
    pub fn live(&self) -> Vec<SessionId> {
        self.shared.registry.live().into_iter().map(|handle| handle.id).collect()
    }
}

impl Shared {
    pub(crate) fn defaults(&self) -> Arc<Settings> {
        self.defaults.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The conduct that everybody has now, where it is another than this.
    pub(crate) fn other_conduct(&self, than: &Arc<Conduct>) -> Option<Arc<Conduct>> {
        let now = self.conduct.read().unwrap_or_else(PoisonError::into_inner);
        now.as_ref().filter(|now| !Arc::ptr_eq(now, than)).cloned()
    }

    fn mint_peer(&self) -> PeerId {
        PeerId(self.next_peer.fetch_add(1, Ordering::Relaxed))
    }
}
