//! The dialect over pipes, with the real engine and a model that obeys its prompts. Time is paused: everything has settled
//! before the next frame is sent.

use std::sync::Arc;
use std::time::Duration;

use dialect_gateway::{AuthState, Code, Gateway, GatewayAnswer, GatewayOptions, GatewayOwn, GatewayRefusal, Scopes};
use host::{OwnCalls, PumpOptions};
use serde_json::{Value, json};
use testkit::fakes::{CountedIds, TickingClock};
use testkit::openrpc::FrameCheck;
use testkit::pipe::Pipe;
use testkit::{Stage, StageOptions};
use vocab::{Later, Mode, SessionId, Settings, Store};

/// Silence of this length, in paused time, means that everything has settled.
pub(crate) const QUIET: Duration = Duration::from_millis(300);

/// Runs a story with time paused.
pub(crate) fn paused<F: Future>(story: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.unwrap().block_on(story)
}

/// What the services of a server would answer, from the store alone.
#[derive(Clone)]
pub(crate) struct Service(pub(crate) Arc<dyn Store>);

impl OwnCalls<GatewayOwn> for Service {
    fn call(&self, call: GatewayOwn) -> Later<'static, Result<GatewayAnswer, GatewayRefusal>> {
        let store = self.0.clone();
        Box::pin(async move {
            let broken = |fault: vocab::Fault| GatewayRefusal::internal("store", fault.message);
            match call {
                GatewayOwn::Login { token } if token.expose() == "right" => {
                    Ok(GatewayAnswer::LoggedIn { name: "ann".into(), scopes: Scopes::READ.and(Scopes::CHAT) })
                }
                GatewayOwn::Login { .. } => {
                    Err(GatewayRefusal::new(Code::AuthFailed, "this token is not known").because("auth_failed"))
                }
                GatewayOwn::Exists { session } => {
                    Ok(GatewayAnswer::Exists(store.summary(&session).await.map_err(broken)?.is_some()))
                }
                GatewayOwn::Read { session, after, limit } => {
                    if store.summary(&session).await.map_err(broken)?.is_none() {
                        return Err(GatewayRefusal::no_session(&session));
                    }
                    let mut entries = store.read(&session, after, limit + 1).await.map_err(broken)?.entries;
                    let more = entries.len() > limit;
                    entries.truncate(limit);
                    Ok(GatewayAnswer::Entries { entries, more })
                }
                GatewayOwn::ReadBefore { session, before, limit, behind } => {
                    let Some(summary) = store.summary(&session).await.map_err(broken)? else {
                        return Err(GatewayRefusal::no_session(&session));
                    };
                    let before = before.min(summary.last_seq + 1);
                    let after = (before - 1).saturating_sub(limit as u64);
                    let start = after.saturating_sub(behind);
                    let count = (before - 1 - start) as usize;
                    let entries = store.read(&session, start, count).await.map_err(broken)?.entries;
                    Ok(GatewayAnswer::EntriesBefore { entries, first: after + 1 })
                }
                GatewayOwn::FindRun { .. } => Ok(GatewayAnswer::RunIn(None)),
                GatewayOwn::Notify { .. } => Ok(GatewayAnswer::Done),
                // As with a store that cannot write.
                GatewayOwn::Checkpoint { .. } => Err(GatewayRefusal::internal("store", "there is no shelf here")),
                GatewayOwn::News { .. } | GatewayOwn::WhenDeleted { .. } => std::future::pending().await,
                // The services' own tests are with the services.
                GatewayOwn::Service(_) => Err(GatewayRefusal::internal("internal", "there are no services here")),
            }
        })
    }
}

pub(crate) struct Play {
    pub(crate) stage: Stage,
    pub(crate) options: Arc<GatewayOptions>,
    pub(crate) pipes: Vec<Option<Pipe>>,
    /// Whatever is heard must be in the OpenRPC document.
    checks: Vec<FrameCheck>,
    made: usize,
}

/// What the models here cost.
pub(crate) fn prices() -> dialect_gateway::ModelPrices {
    Arc::new(|slug| tour::model(slug, 1).prices)
}

/// As the command settles them.
pub(crate) fn settle(settings: &mut Settings) {
    settings.mode = Mode::DangerFullAccess;
    settings.on_restart = vocab::OnRestart::Continue;
}

impl Play {
    pub(crate) fn new(tune: fn(&mut Settings)) -> Self {
        let models = vec![tour::model("mock/alpha", 128_000), tour::model("mock/beta", 200_000)];
        let provider = Arc::new(tour::Tour::new(tour::TourOptions { models, word_delay_ms: 0 }));
        Self::with(StageOptions {
            provider,
            model: "mock/alpha".into(),
            toolbox: Some(Arc::new(crate::tools::Tools)),
            tune: Box::new(move |settings| {
                settle(settings);
                tune(settings);
            }),
            ..StageOptions::default()
        })
    }
    pub(crate) fn with(options: StageOptions) -> Self {
        let stage = Stage::new(options);
        let clock: Arc<TickingClock> = Arc::default();
        let options = GatewayOptions::new("0.1.0", clock, Arc::new(CountedIds::behind(100)));
        let options = GatewayOptions { prices: prices(), ..options };
        Self { stage, options: Arc::new(options), pipes: Vec::new(), checks: Vec::new(), made: 0 }
    }

    /// One more connection; its number.
    pub(crate) fn connect(&mut self) -> usize {
        self.connect_as(AuthState::Known { scopes: Scopes::ALL })
    }
    pub(crate) fn connect_as(&mut self, auth: AuthState) -> usize {
        self.made += 1;
        let connection = format!("c{}", self.made).into();
        let gateway = Gateway::new(self.options.clone(), connection, auth, None);
        let host = PumpOptions {
            grace: Duration::from_secs(2),
            notes: |_| {},
            ..PumpOptions::new(Service(self.stage.store.clone()))
        };
        self.pipes.push(Some(Pipe::new(&self.stage.engine, gateway, host)));
        self.checks.push(FrameCheck::new(&dialect_gateway::openrpc("")));
        self.pipes.len() - 1
    }
    pub(crate) fn pipe(&mut self, at: usize) -> &mut Pipe {
        self.pipes[at].as_mut().unwrap()
    }

    pub(crate) async fn put(&mut self, at: usize, id: u64, method: &str, params: Value) {
        let frame = json!({"id": id, "method": method, "params": params}).to_string();
        self.say(at, &frame).await;
    }
    /// Whatever it is.
    pub(crate) async fn say(&mut self, at: usize, raw: &str) {
        self.checks[at].asked(&serde_json::from_str(raw).unwrap_or_default());
        self.pipe(at).send(raw).await;
    }
    /// Sends, and hears everything that comes of it.
    pub(crate) async fn ask(&mut self, at: usize, id: u64, method: &str, params: Value) -> Vec<Value> {
        self.put(at, id, method, params).await;
        self.heard(at).await
    }
    pub(crate) async fn heard(&mut self, at: usize) -> Vec<Value> {
        self.heard_for(at, QUIET).await
    }
    pub(crate) async fn heard_for(&mut self, at: usize, quiet: Duration) -> Vec<Value> {
        let lines = self.pipe(at).heard(quiet).await;
        let frames: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let check = &self.checks[at];
        let known = frames.iter().filter(|frame| frame.get("result").is_none() || check.was_asked(&frame["id"]));
        known.for_each(|frame| assert_eq!(check.heard(frame), Ok(())));
        frames
    }
    /// The answer to a request that has nothing but an answer.
    pub(crate) async fn result(&mut self, at: usize, id: u64, method: &str, params: Value) -> Value {
        let mut heard = self.ask(at, id, method, params).await;
        assert_eq!(heard.len(), 1, "{heard:?}");
        heard.remove(0)
    }
}

#[allow(dead_code)]
pub(crate) fn session(name: &str) -> SessionId {
    name.into()
}

/// A frame in a few words: `1 content "w1 "`, `1 = {…}`, `1 ! 4 cancelled`.
pub(crate) fn show(frame: &Value) -> String {
    let id = &frame["id"];
    if let Some(error) = frame.get("error") {
        return format!("{id} ! {} {}", error["code"], error["data"]["reason"].as_str().unwrap_or("-"));
    }
    if let Some(result) = frame.get("result") {
        let mut result = result.clone();
        if let Some(members) = result.as_object_mut() {
            members.retain(|name, _| !["usage", "response", "model", "runId"].contains(&name.as_str()));
        }
        return format!("{id} = {result}");
    }
    let (event, data) = (frame["event"].as_str().unwrap(), &frame["data"]);
    let detail = match event {
        "content" => match data.get("transient") {
            Some(_) => " transient".to_owned(),
            None => format!(" {}", data["text"]),
        },
        "run_state" => format!(" {}", data["state"].as_str().unwrap()),
        "tool_start" => format!(" {} {}", data["tool"].as_str().unwrap(), data["args"]),
        "tool_end" => format!(" {} {}", data["tool"].as_str().unwrap(), data["result"]),
        "tool_confirm" => format!(" {} {}", data["callId"], data["tool"].as_str().unwrap()),
        "tool_confirm_done" => format!(" {} {}", data["callId"], data["decision"].as_str().unwrap()),
        "error" => format!(" {}", data["code"]),
        "done" => format!(" {}", data["content"]),
        _ => format!(" {data}"),
    };
    format!("{id} {event}{detail}")
}

pub(crate) fn shown(frames: &[Value]) -> String {
    frames.iter().map(|frame| show(frame) + "\n").collect()
}
