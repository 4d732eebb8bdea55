//! The dialect over a pipe, with the real engine and a model that obeys its prompts. Time is paused: everything has settled
//! before the next line is sent.

use std::sync::Arc;
use std::time::Duration;

use dialect_loaf::{Loaf, LoafOptions};
use expect_test::Expect;
use serde_json::{Value, json};
use testkit::fakes::{CountedIds, TickingClock};
use testkit::pipe::Pipe;
use testkit::{Stage, StageOptions};
use vocab::{Drain, IdKind, LateSteer, Mode, ModelInfo, Overflow, Provider, Settings, Toolbox};

use crate::show::show;
use crate::user::{Service, User};
use crate::watch::Watch;

/// Silence of this length, in paused time, means that everything has settled.
const QUIET: Duration = Duration::from_millis(300);

/// Runs a story with time paused.
pub(crate) fn paused<F: Future>(story: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.unwrap().block_on(story)
}

/// How a story begins.
pub(crate) struct Cast {
    pub(crate) model: Option<&'static str>,
    pub(crate) thinking: &'static str,
    pub(crate) window: u64,
    pub(crate) user: Arc<User>,
    pub(crate) toolbox: Option<Arc<dyn Toolbox>>,
    pub(crate) store: Option<Arc<dyn vocab::Store>>,
    pub(crate) grace: Duration,
}

impl Default for Cast {
    fn default() -> Self {
        Self {
            model: Some("openai/alpha"),
            thinking: "OFF",
            window: 128_000,
            user: Arc::default(),
            toolbox: None,
            store: None,
            grace: Duration::from_secs(2),
        }
    }
}

/// As the command settles them.
fn settle(settings: &mut Settings) {
    settings.tool_names = dialect_loaf::TOOL_NAMES;
    settings.max_iterations = u32::MAX;
    settings.lane.cap = 256;
    settings.lane.overflow = Overflow::DropNew;
    settings.lane.steer_drain = Drain::All;
    settings.lane.late_steer = LateSteer::Dropped;
    settings.retry.retries_max = 7;
    settings.retry.base_ms = 1250;
    settings.retry.wait_ms_max = 20_000;
    settings.retry.jitter = false;
    settings.compaction.threshold_pct = 82;
    settings.compaction.keep_pct = 64;
    settings.compaction.on_switch = true;
}

/// Three models of three providers; one of them is known to think.
pub(crate) fn models(window: u64) -> Vec<ModelInfo> {
    let model = |provider: &str, id: &str, levels: Option<&[&str]>| ModelInfo {
        provider: provider.into(),
        id: id.into(),
        name: id.to_uppercase().into(),
        images: true,
        levels: levels.map(|levels| levels.iter().map(|level| Arc::from(*level)).collect()),
        ..tour::model(format!("{provider}/{id}"), window)
    };
    vec![
        model("openrouter", "gamma", None),
        model("openai", "alpha", Some(&["low", "medium", "high"])),
        model("openai", "beta", Some(&["low", "medium"])),
        model("antigravity", "delta", Some(&[])),
    ]
}

pub(crate) struct Play {
    pub(crate) stage: Stage,
    pipe: Option<Pipe>,
    pub(crate) watch: Watch,
    pub(crate) user: Arc<User>,
    /// What was heard last, whole.
    pub(crate) heard: Vec<Value>,
    log: String,
    /// Of the answer that is being told.
    words: usize,
    id: u64,
}

impl Play {
    pub(crate) async fn new() -> Self {
        Self::cast(Cast::default()).await
    }

    /// With one session, `s1`; nothing of that is in the log.
    pub(crate) async fn on() -> Self {
        Self::on_with(Cast::default()).await
    }

    pub(crate) async fn on_with(cast: Cast) -> Self {
        let mut play = Self::cast(cast).await;
        play.ask("session.create", json!({})).await;
        play.log.clear();
        play
    }

    pub(crate) async fn cast(cast: Cast) -> Self {
        let provider: Arc<dyn Provider> =
            Arc::new(tour::Tour::new(tour::TourOptions { models: models(cast.window), word_delay_ms: 0 }));
        let chats = (1..50).map(|number| (IdKind::Session, format!("chat{number}"))).collect();
        let base = StageOptions::default();
        let stage = Stage::new(StageOptions {
            provider: provider.clone(),
            model: "openai/alpha".into(),
            tune: Box::new(settle),
            ids: CountedIds::with_names(chats),
            accounts: cast.user.clone(),
            toolbox: cast.toolbox,
            store: cast.store.unwrap_or(base.store),
            ..StageOptions::default()
        });
        let options = LoafOptions {
            mode: Some(Mode::DangerFullAccess),
            model: cast.model.map(|slug| Arc::new(provider.resolve(slug).unwrap())),
            thinking: Some(cast.thinking.into()),
            ..LoafOptions::new("0.1.0", Arc::new(TickingClock::default()), Arc::new(CountedIds::default()))
        };
        let host = host::PumpOptions { grace: cast.grace, ..host::PumpOptions::new(Service(cast.user.clone())) };
        let pipe = Pipe::new(&stage.engine, Box::new(Loaf::new(options)), host);
        let (user, watch) = (cast.user, Watch::default());
        let (heard, log) = (Vec::new(), String::new());
        let mut play = Self { stage, pipe: Some(pipe), watch, user, heard, log, words: 0, id: 0 };
        play.settle().await;
        assert_eq!(play.log, "", "nothing is said unasked");
        play
    }

    fn pipe(&mut self) -> &mut Pipe {
        self.pipe.as_mut().expect("it has not ended")
    }

    /// Sends without waiting for what comes of it. The number of the request.
    pub(crate) async fn put(&mut self, method: &str, params: Value) -> u64 {
        self.id += 1;
        let id = self.id;
        let line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.watch.asks(&json!(id));
        self.log += &format!("> {id} {method} {params}\n");
        self.pipe().send(&line.to_string()).await;
        id
    }

    /// Sends, and hears everything that comes of it.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> &mut Self {
        self.put(method, params).await;
        self.settle().await
    }

    pub(crate) async fn send(&mut self, text: &str) -> &mut Self {
        self.ask("session.send", json!({ "session_id": "s1", "text": text })).await
    }
    pub(crate) async fn queue(&mut self, text: &str) -> &mut Self {
        self.ask("session.send", json!({ "session_id": "s1", "text": text, "enqueue": true })).await
    }
    pub(crate) async fn command(&mut self, raw: &str) -> &mut Self {
        self.ask("command.execute", json!({ "session_id": "s1", "raw_command": raw })).await
    }
    pub(crate) async fn interrupt(&mut self) -> &mut Self {
        self.ask("session.interrupt", json!({ "session_id": "s1" })).await
    }
    pub(crate) async fn steer(&mut self, text: &str) -> &mut Self {
        self.ask("session.steer", json!({ "session_id": "s1", "text": text })).await
    }
    pub(crate) async fn get(&mut self) -> &mut Self {
        self.ask("session.get", json!({ "session_id": "s1" })).await
    }

    pub(crate) async fn eof(&mut self) -> &mut Self {
        self.log += "> EOF\n";
        self.pipe().eof().await;
        self.settle().await
    }

    pub(crate) async fn wait(&mut self, ms: u64) -> &mut Self {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        self.settle().await
    }

    /// Lets time pass without waiting for silence.
    pub(crate) async fn pass(&mut self, ms: u64) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }

    pub(crate) async fn settle(&mut self) -> &mut Self {
        let lines = self.pipe().heard(QUIET).await;
        self.heard = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        for value in &self.heard {
            self.watch.see(value);
            let Some(shown) = show(value) else { continue };
            // Of a long answer the first words will do.
            let words = if shown.contains(" answer \"") { self.words + 1 } else { 0 };
            self.words = words;
            match words {
                0..=3 => self.log += &format!("{shown}\n"),
                4 => self.log += "...\n",
                _ => {}
            }
        }
        self
    }

    pub(crate) fn note(&mut self, text: &str) -> &mut Self {
        self.log += &format!("# {text}\n");
        self
    }

    /// Whether it has ended by itself, with code 0.
    pub(crate) async fn ended(&mut self) -> bool {
        let ended = self.pipe.take().expect("asked once").ended().await;
        assert!(ended.as_ref().is_none_or(|ended| ended.exit_code == 0));
        ended.is_some()
    }

    /// The result of the only response among what was heard last.
    pub(crate) fn result(&self) -> &Value {
        let mut responses = self.heard.iter().filter(|line| line.get("params").is_none());
        let result = responses.next().and_then(|line| line.get("result")).expect("a result");
        assert!(responses.next().is_none());
        result
    }

    pub(crate) fn forget(&mut self) -> &mut Self {
        self.log.clear();
        self
    }

    /// Everything so far, which is then forgotten.
    pub(crate) fn check(&mut self, expected: Expect) -> &mut Self {
        expected.assert_eq(&self.log);
        self.log.clear();
        self
    }
}
