//! What answers the gateway's dialect beside the engine: one set of services per process, and one view of it per connection.
//! Everything is told in the dialect's own shapes; nothing here knows a socket.

mod access;
mod analytics;
mod asks;
mod board;
mod canvas;
mod checkpoints;
mod config;
mod counters;
mod deletions;
mod lane_history;
mod latency;
mod listing;
mod log_counts;
mod news;
mod nodes;
mod numbers;
mod pairing;
mod presence;
mod process_use;
mod prometheus;
mod reports;
mod sealed;
mod search;
mod sessions;
mod touched;
mod usage_runs;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, Weak};
use std::time::Duration;

use dialect_gateway::services::runs::PriceOf;
use dialect_gateway::services::system::{GatewayGates, GatewayInfo, LogLine};
use dialect_gateway::services::{ServiceAnswer, ServiceCall};
use dialect_gateway::{GatewayAnswer, GatewayOwn, GatewayRefusal, Scopes, Topic};
use engine::{AnswersForAll, Engine};
use host::{OwnCalls, PrincipalCell};
use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::OnceCell;
use tokio::time::Instant;
use vocab::{
    Clock, Fault, Json, Keyring, LanePolicy, Later, Principal, Secret, SessionId, Shelf, ShelfKind, ShelfPlace, Store,
};

use crate::entrance::{Caller, Entrance};
use crate::server::ServerLoad;
use crate::state::ServerState;
use asks::AskBook;
use board::Board;
use checkpoints::{CheckpointTurns, FullRuns};
use counters::Counters;
use deletions::Deletions;
use lane_history::RunHistory;
use news::NewsLog;
use nodes::NodeRegistry;
use numbers::{CountedEntrance, GatewayNumbers};
use pairing::PairingDesk;
use presence::PresenceBook;
use process_use::ProcessUse;
use touched::TouchedSessions;

pub use checkpoints::CheckpointRules;
pub use config::{ChangedSetting, ConfigSource, NewSetting, NotSet, Reloaded};
pub use nodes::NodeRules;
pub use pairing::PairingRules;
pub use sealed::StoreKey;

const PREFER: ShelfKind = ShelfKind { name: "prefer", goes_with_session: true };

/// What the services work with.
pub struct ServiceParts {
    pub engine: Engine,
    /// As [`GatewayService::counted`] gave it to the engine, or the same store without it.
    pub store: Arc<dyn Store>,
    pub shelf: Arc<dyn Shelf>,
    pub clock: Arc<dyn Clock>,
    pub config: Arc<dyn ConfigSource>,
    /// Encrypts what must not be readable in the store's file.
    pub key: StoreKey,
    /// Keys that are taken out of lines of the log.
    pub keyring: Keyring,
    pub prices: PriceOf,
}

/// What can be otherwise after a reload.
#[derive(Clone)]
pub struct ServiceSettings {
    pub gates: Vec<(Arc<str>, bool)>,
    pub nodes: NodeRules,
    pub pairing: PairingRules,
    pub online_ms: i64,
    /// The rules of a lane where the session has none of its own.
    pub lane: Arc<dyn Fn(&SessionId) -> LanePolicy + Send + Sync>,
    /// From how full on a context is summarised.
    pub threshold_pct: u64,
    pub stall_ms: u64,
    pub checkpoints: CheckpointRules,
}

impl ServiceSettings {
    fn gate(&self, name: &str) -> bool {
        self.gates.iter().any(|(gate, on)| **gate == *name && *on)
    }
}

/// What is counted on the way into the store. Made before the engine, which writes through it.
#[derive(Clone, Default)]
pub struct GatewayCounts(Arc<Tally>);

#[derive(Default)]
struct Tally {
    counters: Mutex<Counters>,
    history: Mutex<RunHistory>,
    presence: Mutex<PresenceBook>,
    touched: Mutex<TouchedSessions>,
    asks: Mutex<AskBook>,
    deletions: Deletions,
    numbers: GatewayNumbers,
    news: Arc<NewsLog>,
}

/// The services of one process.
#[derive(Clone)]
pub struct GatewayService(Arc<SharedServices>);

struct SharedServices {
    parts: ServiceParts,
    settings: RwLock<Arc<ServiceSettings>>,
    counts: GatewayCounts,
    board: Arc<Board>,
    full_runs: Arc<FullRuns>,
    /// The logs of earlier processes were looked through for open questions.
    asks_looked: OnceCell<()>,
    news: Arc<NewsLog>,
    nodes: Mutex<NodeRegistry>,
    pairing: Mutex<PairingDesk>,
    checkpoints: CheckpointTurns,
    connections: AtomicU64,
    process_use: Mutex<ProcessUse>,
    /// Once it runs.
    server: OnceLock<Weak<ServerState>>,
    started_ms: i64,
    started: Instant,
}

/// What logs a connection in: whose token it is, and what they may do.
pub type LoginPort = Arc<dyn Fn(Secret) -> Result<(Arc<str>, Scopes), GatewayRefusal> + Send + Sync>;

impl GatewayService {
    /// Must be called on a runtime: it watches the engine's sessions from now on.
    pub fn new(parts: ServiceParts, settings: ServiceSettings, counts: GatewayCounts) -> Self {
        let news = counts.0.news.clone();
        let (full_runs, over) = FullRuns::new(&settings.checkpoints);
        let board = Board::watching(&parts.engine, news.clone(), counts.clone(), full_runs.clone());
        let started_ms = parts.clock.now_ms();
        let services = Arc::new(SharedServices {
            parts,
            settings: RwLock::new(Arc::new(settings)),
            counts,
            board,
            full_runs,
            asks_looked: OnceCell::new(),
            news,
            nodes: Mutex::default(),
            pairing: Mutex::default(),
            checkpoints: CheckpointTurns::default(),
            connections: AtomicU64::new(0),
            process_use: Mutex::default(),
            server: OnceLock::new(),
            started_ms,
            started: Instant::now(),
        });
        asks::announcing(&services);
        checkpoints::writing(&services, over);
        Self(services)
    }

    /// From now on these hold.
    pub fn settle(&self, settings: ServiceSettings) {
        self.0.full_runs.settle(&settings.checkpoints);
        *self.0.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
    }

    /// The services as one connection sees them. It counts as there until this is dropped.
    pub fn for_connection(&self, connection: Arc<str>, login: LoginPort) -> ConnectionService {
        self.joined(connection, PrincipalCell::default(), login)
    }

    /// The same for somebody of whom it is known who they are, or will be once they have logged in.
    pub fn for_caller(&self, caller: &Caller, login: LoginPort) -> ConnectionService {
        self.joined(caller.connection.clone(), caller.principal.clone(), login)
    }

    fn joined(&self, connection: Arc<str>, principal: PrincipalCell, login: LoginPort) -> ConnectionService {
        self.0.connections.fetch_add(1, Ordering::Relaxed);
        let (services, news_asked, attached_asked) = (self.0.clone(), Arc::default(), Arc::default());
        let answering = Mutex::default();
        ConnectionService { services, connection, principal, login, news_asked, attached_asked, answering }
    }

    /// A line for whoever listens to the log. Keys are taken out of it.
    pub fn log(&self, level: &'static str, text: &str) {
        let text = vocab::visible::visible_line(&vocab::masking::mask(&self.0.parts.keyring.scrub(text)));
        let line = LogLine { ts: self.0.parts.clock.now_ms(), level, text };
        self.0.news.tell(Topic::Logs, None, "log", || json(&line));
    }

    /// An unknown sender wrote this: whether it is a code that lets them in. From then on they are known.
    pub async fn redeem(&self, channel: &str, sender: &str, text: &str) -> Result<bool, Fault> {
        pairing::redeem(&self.0, channel, sender, text).await
    }

    /// Whether a sender was let in.
    pub async fn is_approved(&self, channel: &str, sender: &str) -> Result<bool, Fault> {
        pairing::is_approved(&self.0, channel, sender).await
    }

    /// The token by which a companion that is away can be woken.
    pub async fn push_token(&self, node: &str, provider: &str) -> Result<Option<Secret>, Fault> {
        nodes::push_token(&self.0, node, provider).await
    }

    /// What is counted, for Prometheus. `load`: what the server knows.
    pub fn prometheus(&self, version: &str, load: ServerLoad) -> String {
        prometheus::page(&self.0, version, load)
    }

    /// The same entrance, with its sockets counted under this name.
    pub fn counted(&self, wire: &'static str, entrance: Arc<dyn Entrance>) -> Arc<dyn Entrance> {
        Arc::new(CountedEntrance::new(&self.0.counts.0.numbers.wires, wire, entrance))
    }

    /// Runs that are under way, and messages that wait.
    pub fn load(&self) -> (u64, u64) {
        self.0.board.load()
    }
}

impl SharedServices {
    fn settings(&self) -> Arc<ServiceSettings> {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
    fn now_ms(&self) -> i64 {
        self.parts.clock.now_ms()
    }
    /// Since the start, by a clock that nobody sets.
    fn uptime(&self) -> Duration {
        self.started.elapsed()
    }
}

/// Each critical section is one call, so a poisoned lock guards a whole value.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The services as one connection sees them.
pub struct ConnectionService {
    services: Arc<SharedServices>,
    connection: Arc<str>,
    /// Who did it, for the audit.
    principal: PrincipalCell,
    login: LoginPort,
    news_asked: Arc<news::NewsCalls>,
    /// Which call is the newest of those that wait for the end of the attached session.
    attached_asked: Arc<news::NewestCall>,
    /// While it hears of all questions and may answer them.
    answering: Mutex<Option<AnswersForAll>>,
}

impl Drop for ConnectionService {
    fn drop(&mut self) {
        self.services.connections.fetch_sub(1, Ordering::Relaxed);
        nodes::gone(&self.services, &self.connection);
    }
}

impl OwnCalls<GatewayOwn> for ConnectionService {
    fn call(&self, call: GatewayOwn) -> Later<'static, Result<GatewayAnswer, GatewayRefusal>> {
        let services = self.services.clone();
        match call {
            GatewayOwn::Login { token } => {
                let found = (self.login)(token);
                at_once(found.map(|(name, scopes)| GatewayAnswer::LoggedIn { name, scopes }))
            }
            GatewayOwn::News { topics, after, answers } => {
                let mut answering = lock(&self.answering);
                *answering = match answering.take() {
                    _ if !answers => None,
                    None => Some(services.parts.engine.answers_for_all()),
                    same => same,
                };
                Box::pin(news::news(services, self.news_asked.clone(), topics, after))
            }
            GatewayOwn::Exists { session } => {
                kept_up(async move { Ok(GatewayAnswer::Exists(sessions::exists(&services, &session).await?)) })
            }
            GatewayOwn::FindRun { turn } => {
                at_once(Ok(GatewayAnswer::RunIn(lane_history::session_of(&services, &turn))))
            }
            GatewayOwn::WhenDeleted { session } => {
                Box::pin(deletions::when_deleted(services, self.attached_asked.clone(), session))
            }
            GatewayOwn::Read { session, after, limit } => {
                kept_up(async move { sessions::read(&services, &session, after, limit).await })
            }
            GatewayOwn::ReadBefore { session, before, limit, behind } => {
                kept_up(async move { sessions::read_before(&services, &session, before, (limit, behind)).await })
            }
            GatewayOwn::Notify { session, on } => kept_up(async move {
                let place = ShelfPlace { kind: PREFER, owner: session.as_str().into(), name: "notify".into() };
                let word: &[u8] = if on { b"true" } else { b"false" };
                services.parts.shelf.put(place, word.into(), None).await.map_err(refused)?;
                Ok(GatewayAnswer::Done)
            }),
            GatewayOwn::Checkpoint { session, turn } => {
                kept_up(async move { checkpoints::write(&services, session, turn).await })
            }
            GatewayOwn::Service(call) => {
                let asker = (self.connection.clone(), self.principal.get().cloned());
                kept_up(async move {
                    // Whoever changes who may come in may be among those who may not any more.
                    let changes = matches!(*call, ServiceCall::Reload { .. } | ServiceCall::ConfigSet(_));
                    let server = services.server.get().filter(|_| changes).and_then(Weak::upgrade);
                    let owed = server.map(|server| server.sockets.owe(&asker.0));
                    let answer = Box::new(answered(&services, asker, *call).await?);
                    Ok(match owed.is_some_and(|owed| owed.is_last()) {
                        true => GatewayAnswer::Last(answer),
                        false => GatewayAnswer::Service(answer),
                    })
                })
            }
        }
    }
}

async fn answered(
    services: &Arc<SharedServices>,
    (connection, by): (Arc<str>, Option<Principal>),
    call: ServiceCall,
) -> Result<ServiceAnswer, GatewayRefusal> {
    Ok(match call {
        ServiceCall::Info => ServiceAnswer::Info(info(services)),
        ServiceCall::Gates => ServiceAnswer::Gates(gates(services, &connection)),
        ServiceCall::Presence(params) => {
            let online_ms = services.settings().online_ms;
            ServiceAnswer::Presence(lock(&services.counts.0.presence).list(&params, services.now_ms(), online_ms))
        }
        ServiceCall::Metrics => ServiceAnswer::Metrics(metrics(services)),
        ServiceCall::Latency(params) => ServiceAnswer::Latency(Box::new(latency::latency(services, &params))),
        ServiceCall::Nodes => ServiceAnswer::Nodes(lock(&services.nodes).rows()),
        ServiceCall::Context { session, is_own } => {
            ServiceAnswer::Context(sessions::context(services, session, is_own).await?)
        }
        ServiceCall::Analytics { days, top } => {
            ServiceAnswer::Analytics(analytics::analytics(services, days, top).await?)
        }
        ServiceCall::Lanes { limit } => {
            let stall_ms = services.settings().stall_ms;
            ServiceAnswer::Lanes(services.board.lanes(limit, services.now_ms(), stall_ms))
        }
        ServiceCall::LaneHistory(params) => ServiceAnswer::LaneHistory(lane_history::history(services, params).await?),
        ServiceCall::Sessions(params) => ServiceAnswer::Sessions(listing::list(services, params).await?),
        ServiceCall::Search { text, limit, after } => {
            ServiceAnswer::Search(search::search(services, &text, limit, after).await?)
        }
        ServiceCall::Asks { session, is_own } => ServiceAnswer::Asks(asks::list(services, session, is_own).await?),
        ServiceCall::Session { session, is_own, wish } => {
            ServiceAnswer::Session(Box::new(sessions::get(services, session, is_own, wish).await?))
        }
        ServiceCall::Canvas { session, is_own, what } => {
            ServiceAnswer::Canvas(canvas::carry_out(services, session, is_own, what).await?)
        }
        ServiceCall::MemoryOf { session, is_own } => {
            ServiceAnswer::Memory(checkpoints::get(services, session, is_own).await?)
        }
        ServiceCall::Memory { limit } => ServiceAnswer::Memory(checkpoints::list(services, limit).await?),
        ServiceCall::Access(call) => ServiceAnswer::Access(access::carry_out(services, &connection, by, call).await?),
        ServiceCall::Node(call) => ServiceAnswer::Node(nodes::carry_out(services, connection, call).await?),
        ServiceCall::Pairing(call) => ServiceAnswer::Pairing(pairing::carry_out(services, call).await?),
        ServiceCall::Config { path, whole } => ServiceAnswer::Config(config::get(services, path, whole)?),
        ServiceCall::ConfigSchema => ServiceAnswer::Config(config::schema(services)),
        ServiceCall::Reload { dry_run } => ServiceAnswer::Reloaded(config::reload(services, dry_run).await?),
        ServiceCall::ConfigSet(params) => {
            let value = serde_json::from_str(params.value.0.as_str());
            let value = value.map_err(|_| GatewayRefusal::wrong_param("value", "`value` must be JSON"))?;
            let new = NewSetting { path: params.path.0.to_string(), value, dry_run: params.dry_run };
            ServiceAnswer::ConfigSet(config::set(services, by, new).await?)
        }
        ServiceCall::Usage(params) => ServiceAnswer::Usage(reports::usage(services, params).await?),
        ServiceCall::UsageRuns(params) => ServiceAnswer::UsageRuns(usage_runs::runs(services, params).await?),
        ServiceCall::Audit(params) => ServiceAnswer::Audit(reports::audit(services, params).await?),
    })
}

fn info(services: &SharedServices) -> GatewayInfo {
    let (rss_bytes, cpu_pct) = lock(&services.process_use).look();
    GatewayInfo {
        uptime_s: services.uptime().as_secs(),
        connections: services.connections.load(Ordering::Relaxed),
        pid: std::process::id().into(),
        rss_bytes,
        cpu_pct,
        model: services.parts.engine.usual_model(),
    }
}

fn gates(services: &SharedServices, connection: &str) -> GatewayGates {
    let settings = services.settings();
    GatewayGates {
        gates: settings.gates.clone(),
        nodes: settings.nodes.enabled,
        location: settings.nodes.location,
        push: settings.nodes.push,
        allowed_roles: settings.nodes.allowed_roles.clone(),
        node: lock(&services.nodes).name_on(connection),
    }
}

fn metrics(services: &SharedServices) -> dialect_gateway::services::system::MetricsResult {
    let (running, waiting) = services.board.load();
    lock(&services.counts.0.counters).shown(services.uptime().as_secs(), running, waiting)
}

fn at_once(answer: Result<GatewayAnswer, GatewayRefusal>) -> Later<'static, Result<GatewayAnswer, GatewayRefusal>> {
    Box::pin(std::future::ready(answer))
}

/// Runs whether or not somebody waits; whatever becomes of it, there is an answer.
fn kept_up(
    work: impl Future<Output = Result<GatewayAnswer, GatewayRefusal>> + Send + 'static,
) -> Later<'static, Result<GatewayAnswer, GatewayRefusal>> {
    let work = tokio::spawn(work);
    Box::pin(async move { work.await.unwrap_or_else(|_| Err(incident("internal", "the answer could not be made"))) })
}

/// A failure of ours: what it was stands in the log, under the number that the client is told.
fn refused(fault: Fault) -> GatewayRefusal {
    // It was there a moment ago.
    if fault.kind == vocab::FaultKind::UnknownSession {
        return GatewayRefusal::new(dialect_gateway::Code::SessionNotFound, "the session is deleted");
    }
    incident("store", &fault.message)
}

fn incident(reason: &'static str, what: &str) -> GatewayRefusal {
    let mut bytes = [0; 8];
    // Without randomness it is a poorer name and not a reason to fail.
    let _ = SystemRandom::new().fill(&mut bytes);
    let number = bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    host::note(&format!("incident {number}: {what}"));
    GatewayRefusal::internal(reason, format!("something failed here; incident {number} in the log"))
        .with("incident", number)
}

fn json(value: &impl serde::Serialize) -> Json {
    Json::trusted(serde_json::to_string(value).unwrap_or_else(|_| "{}".to_owned()))
}
