//! Connections to a gateway without sockets.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use dialect_gateway::{AuthState, Code, Gateway, GatewayOptions, GatewayRefusal, Scopes};
use gateway::{
    ChangedSetting, CheckpointRules, ConfigSource, GatewayCounts, GatewayService, NewSetting, NodeRules, NotSet,
    PairingRules, Reloaded, ServiceParts, ServiceSettings, StoreKey,
};
use host::PumpOptions;
use serde_json::{Value, json};
use testkit::fakes::{CountedIds, TickingClock};
use testkit::pipe::Pipe;
use testkit::{Stage, StageOptions};
use vocab::{Later, Mode, Prices, Settings};

use crate::shelf::SeenShelf;

/// Silence of this length, in paused time, means that everything has settled.
const QUIET: Duration = Duration::from_millis(300);

pub(crate) fn paused<F: Future>(story: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.unwrap().block_on(story)
}

/// Settings that a test has made up.
#[derive(Default)]
pub(crate) struct MadeUpConfig {
    pub(crate) next: Mutex<Option<Result<Reloaded, Vec<String>>>>,
    /// What was set, tries included.
    pub(crate) set: Mutex<Vec<NewSetting>>,
}

impl ConfigSource for MadeUpConfig {
    fn shown(&self) -> Value {
        json!({"model": "alpha", "maxTokens": 5, "server": {"token": "***", "queue": {"debounceMs": 7}}})
    }
    fn schema(&self) -> Value {
        json!({"type": "object", "properties": {"model": {"type": "string"}}})
    }
    fn set(&self, new: NewSetting) -> Later<'static, Result<Reloaded, NotSet>> {
        let change = |new: &NewSetting| ChangedSetting {
            path: new.path.clone(),
            from: None,
            to: Some(new.value.clone()),
            restart_required: new.path == "model",
        };
        let result = match (new.path.as_str(), &new.value) {
            ("server.token", _) => Err(NotSet::NotSettable("`server.token` is not set from outside".to_owned())),
            ("nothing", _) => Err(NotSet::Unknown("unknown setting `nothing`".to_owned())),
            (_, Value::Number(_)) => Err(NotSet::Invalid(vec!["`model` wants text".to_owned()])),
            _ => Ok(Reloaded { changes: vec![change(&new)], ..Reloaded::default() }),
        };
        self.set.lock().unwrap().push(new);
        Box::pin(std::future::ready(result))
    }
    fn reload(&self, _: bool) -> Later<'static, Result<Reloaded, Vec<String>>> {
        let next = self.next.lock().unwrap().take().unwrap_or_else(|| Ok(Reloaded::default()));
        Box::pin(std::future::ready(next))
    }
}

pub(crate) struct Play {
    pub(crate) stage: Stage,
    pub(crate) service: GatewayService,
    pub(crate) shelf: Arc<SeenShelf>,
    pub(crate) config: Arc<MadeUpConfig>,
    /// The one on the wall.
    pub(crate) clock: Arc<TickingClock>,
    options: Arc<GatewayOptions>,
    pipes: Vec<Option<Pipe>>,
}

pub(crate) fn settings() -> ServiceSettings {
    ServiceSettings {
        gates: vec![("ui.canvas".into(), true), ("notifications".into(), true), ("off".into(), false)],
        nodes: NodeRules { enabled: true, allowed_roles: vec!["companion".into()], location: true, push: true },
        pairing: PairingRules { enabled: true, ttl_ms: 300_000, length: 8 },
        online_ms: 300_000,
        lane: Arc::new(|_| vocab::LanePolicy::default()),
        threshold_pct: 85,
        stall_ms: 600_000,
        checkpoints: CheckpointRules {
            from_pct: Some(85.0),
            cooldown_ms: 300_000,
            namespace: "session/checkpoints".into(),
        },
    }
}

/// A key that the process knows.
pub(crate) const KEY: &str = "sk-known-to-the-process";

fn keyring() -> vocab::Keyring {
    let keyring = vocab::Keyring::default();
    keyring.learn(KEY);
    keyring
}

/// Only one token is known.
pub(crate) fn one_token() -> gateway::LoginPort {
    Arc::new(|token| match token.expose() {
        "right" => Ok(("ann".into(), Scopes::READ)),
        _ => Err(GatewayRefusal::new(Code::AuthFailed, "this token is not known")),
    })
}

fn service(
    stage: &Stage,
    shelf: &Arc<SeenShelf>,
    clock: &Arc<TickingClock>,
    config: &Arc<MadeUpConfig>,
    (counts, prices): (GatewayCounts, Option<Prices>),
) -> GatewayService {
    let parts = ServiceParts {
        engine: stage.engine.clone(),
        store: stage.store.clone(),
        shelf: shelf.clone(),
        clock: clock.clone(),
        config: config.clone(),
        key: StoreKey::new([7; 32]),
        keyring: keyring(),
        prices: Arc::new(move |_| prices),
    };
    GatewayService::new(parts, settings(), counts)
}

impl Play {
    pub(crate) fn new() -> Self {
        Self::with(Mode::DangerFullAccess, None, None)
    }
    /// Where sessions may do so much.
    pub(crate) fn in_mode(mode: Mode) -> Self {
        Self::with(mode, None, None)
    }
    /// Every model costs this.
    pub(crate) fn priced(prices: Prices) -> Self {
        Self::with(Mode::DangerFullAccess, Some(prices), None)
    }
    /// Where sessions outlive their last peer, as in a gateway.
    pub(crate) fn lingering() -> Self {
        Self::with(Mode::DangerFullAccess, None, Some(engine::IdlePolicy::default()))
    }

    fn with(mode: Mode, prices: Option<Prices>, idle: Option<engine::IdlePolicy>) -> Self {
        let models = vec![tour::model("mock/alpha", 128_000)];
        let provider = Arc::new(tour::Tour::new(tour::TourOptions { models, word_delay_ms: 0 }));
        let counts = GatewayCounts::default();
        let provider = counts.models(provider);
        let memory = Arc::new(store::MemoryStore::new().priced(Arc::new(move |_| prices)));
        let stage = Stage::new(StageOptions {
            provider,
            model: "mock/alpha".into(),
            store: counts.counted(memory.clone()),
            idle,
            tune: Box::new(move |settings: &mut Settings| {
                settings.mode = mode;
                settings.on_restart = vocab::OnRestart::Continue;
            }),
            ..StageOptions::default()
        });
        let clock: Arc<TickingClock> = Arc::default();
        let (shelf, config) = (Arc::new(SeenShelf::on(memory)), Arc::<MadeUpConfig>::default());
        let service = service(&stage, &shelf, &clock, &config, (counts, prices));
        let options = GatewayOptions::new("0.1.0", clock.clone(), Arc::new(CountedIds::behind(100)));
        Self { stage, service, shelf, config, clock, options: Arc::new(options), pipes: Vec::new() }
    }
    /// From now on connections meet services that have counted nothing yet.
    pub(crate) fn forget_counts(&mut self) {
        self.service =
            service(&self.stage, &self.shelf, &Arc::default(), &self.config, (GatewayCounts::default(), None));
    }

    /// One more connection; its number.
    pub(crate) fn connect(&mut self) -> usize {
        self.connect_as(AuthState::Known { scopes: Scopes::ALL })
    }
    pub(crate) fn connect_as(&mut self, auth: AuthState) -> usize {
        let connection: Arc<str> = format!("c{}", self.pipes.len() + 1).into();
        let gateway = Gateway::new(self.options.clone(), connection.clone(), auth, None);
        let own = self.service.for_connection(connection, one_token());
        let host = PumpOptions { grace: Duration::from_secs(2), ..PumpOptions::new(own) };
        self.pipes.push(Some(Pipe::new(&self.stage.engine, gateway, host)));
        self.pipes.len() - 1
    }
    /// It is gone.
    pub(crate) async fn hang_up(&mut self, at: usize) {
        let mut pipe = self.pipes[at].take().unwrap();
        pipe.eof().await;
        pipe.heard(Duration::from_secs(5)).await;
    }

    pub(crate) async fn send(&mut self, at: usize, frame: &Value) {
        self.pipes[at].as_mut().unwrap().send(&frame.to_string()).await;
    }
    pub(crate) async fn heard(&mut self, at: usize, quiet: Duration) -> Vec<Value> {
        let lines = self.pipes[at].as_mut().unwrap().heard(quiet).await;
        lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
    /// Sends, and hears everything that comes of it.
    pub(crate) async fn ask(&mut self, at: usize, method: &str, params: Value) -> Vec<Value> {
        self.send(at, &json!({"id": 1, "method": method, "params": params})).await;
        self.heard(at, QUIET).await
    }
    /// The same byte for byte.
    pub(crate) async fn ask_raw(&mut self, at: usize, frame: &str) -> String {
        let pipe = self.pipes[at].as_mut().unwrap();
        pipe.send(frame).await;
        pipe.heard(QUIET).await.concat()
    }
    /// The answer to a request that has nothing but an answer.
    pub(crate) async fn result(&mut self, at: usize, method: &str, params: Value) -> Value {
        let mut heard = self.ask(at, method, params).await;
        assert_eq!(heard.len(), 1, "{method}: {heard:?}");
        let mut frame = heard.remove(0);
        assert!(frame.get("result").is_some(), "{method}: {frame}");
        frame["result"].take()
    }
    /// Its code and its reason.
    pub(crate) async fn error(&mut self, at: usize, method: &str, params: Value) -> (i64, String) {
        let heard = self.ask(at, method, params).await;
        let error = &heard.last().unwrap_or_else(|| panic!("{method}: silence"))["error"];
        let code = error["code"].as_i64().unwrap_or_else(|| panic!("{method}: {heard:?}"));
        (code, error["data"]["reason"].as_str().unwrap_or_default().to_owned())
    }
    /// A run from its message to its end.
    pub(crate) async fn run(&mut self, at: usize, session: &str, message: &str) -> Value {
        let heard = self.ask(at, "agent.send", json!({"sessionId": session, "message": message})).await;
        heard.last().cloned().unwrap_or_default()
    }
}
