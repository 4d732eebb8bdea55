//! Builds the engine from settings: store, tools, models. The one place that knows every crate.

mod catalogue;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use engine::{Config, Engine, Ports};
use providers::detect::{CANDIDATES, Choice, Env, Server, detect};
use vocab::{Clock, Fault, FaultKind, IdKind, Ids, ModelInfo, Preferences, Provider, Settings, Store};

pub(crate) use catalogue::Catalogue;

/// How long a server may take to list its models the very first time; afterwards the list is remembered.
const CATALOGUE_TIME_MAX: Duration = Duration::from_millis(1500);

/// What to build from.
pub(crate) struct Setup {
    /// Where sessions and caches live.
    pub(crate) data: PathBuf,
    /// Where the user's settings live.
    pub(crate) config: PathBuf,
    /// Everything but the model; `settings.model` is ignored.
    pub(crate) settings: Settings,
    /// As asked for by flag or configuration.
    pub(crate) model: Option<String>,
    /// From the configuration; the environment wins.
    pub(crate) base_url: Option<String>,
    pub(crate) known_models: Vec<ModelInfo>,
    pub(crate) default_context_window: Option<u64>,
    pub(crate) idle_timeout_ms: Option<u64>,
    pub(crate) preferences: Arc<dyn Preferences>,
}

/// What was built.
pub(crate) struct Wired {
    pub(crate) engine: Engine,
    pub(crate) ports: Ports,
    pub(crate) settings: Settings,
    /// Which model, and why, in one line.
    pub(crate) reason: String,
    /// Values that no program we start may find in its environment.
    pub(crate) secrets: Vec<String>,
}

pub(crate) async fn build(setup: Setup) -> Result<Wired, Fault> {
    let environment = environment(&setup);
    if environment.api_key.is_some() {
        hide_memory();
    }
    let chosen = choose(&setup, &environment).await?;
    let store: Arc<dyn Store> = match setup.settings.ephemeral {
        true => Arc::new(store::MemoryStore::new()),
        false => Arc::new(store::SqliteStore::new(setup.data.clone())),
    };
    let secrets: Vec<String> = environment.api_key.iter().map(|key| key.expose().to_owned()).collect();
    let tools = tools::Options {
        protected: vec![setup.data.clone(), setup.config.clone()],
        secrets: secrets.clone(),
        ..tools::Options::new(setup.data.join("spill"))
    };
    let ports = Ports {
        provider: chosen.provider,
        toolbox: Arc::new(tools::Builtin::new(tools)),
        archive: Arc::new(store::FileArchive::new(store.clone(), setup.data.clone())),
        store,
        preferences: setup.preferences,
        ids: Arc::new(UuidIds),
        clock: Arc::new(WallClock),
        read_object: wire::read_object,
    };
    let mut settings = setup.settings;
    settings.model = chosen.model.into();
    let notice = format!("model {}: {}", settings.model, chosen.reason);
    let config = Config {
        defaults: settings.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        notices: vec![notice.clone()],
    };
    Ok(Wired { engine: Engine::new(ports.clone(), config), ports, settings, reason: notice, secrets })
}

/// The key stands in our memory and in `/proc/PID/environ`, where the commands of a model could read it as the same
/// user (root reads everything). No core dump is written either.
fn hide_memory() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // A kernel that refuses leaves things as they were.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

/// The environment, completed by what the user's configuration says.
fn environment(setup: &Setup) -> Env {
    let mut env = Env::read();
    if env.base_url.is_none() {
        env.base_url = setup.base_url.clone();
    }
    env
}

struct Chosen {
    provider: Arc<dyn Provider>,
    model: String,
    reason: String,
}

/// A name that only we can play is played by us; otherwise flag and configuration, then the environment, then a server
/// on this machine, then the tour.
async fn choose(setup: &Setup, env: &Env) -> Result<Chosen, Fault> {
    let wanted = setup.model.as_deref().map(str::trim).filter(|model| !model.is_empty());
    if let Some(model) = wanted.filter(|model| catalogue::is_built_in(model)) {
        let reason = "built in, asked for by name".to_owned();
        let server = env.base_url.is_some().then(|| server_from(env));
        let remote = server.map(|server| remote(setup, &server)).transpose()?;
        return Ok(Chosen { provider: Arc::new(Catalogue::new(remote)), model: model.to_owned(), reason });
    }
    let Choice { server, reason } = detect(env, &CANDIDATES).await;
    let Some(server) = server else {
        if let Some(model) = wanted {
            return Err(Fault::new(
                FaultKind::UnknownModel,
                format!("no server to ask for the model `{model}`: {reason}"),
            )
            .hint("set OPENAI_BASE_URL (and OPENAI_API_KEY), or start a local server such as Ollama")
            .hint("`--model tour` needs neither"));
        }
        let reason =
            format!("{reason}; this is the built-in tour. Set OPENAI_BASE_URL and OPENAI_API_KEY for a real model");
        return Ok(Chosen { provider: Arc::new(Catalogue::new(None)), model: "tour".into(), reason });
    };
    let remote = remote(setup, &server)?;
    // A server that is down now may be up for the first prompt; only the windows are unknown then.
    let listed = remote.load_catalogue(CATALOGUE_TIME_MAX).await;
    let (model, reason) = match (wanted, server.model) {
        (Some(model), _) => (model.to_owned(), format!("asked for by name, served by {}", remote.server())),
        (None, Some(model)) => (model, reason),
        (None, None) => match listed.and(remote.models().await)?.first() {
            Some(first) => {
                (first.slug.to_string(), format!("{reason}; the first model that {} lists", remote.server()))
            }
            None => {
                return Err(Fault::new(FaultKind::UnknownModel, format!("{} lists no models", remote.server()))
                    .hint("name one with --model"));
            }
        },
    };
    Ok(Chosen { provider: Arc::new(Catalogue::new(Some(remote))), model, reason })
}

fn server_from(env: &Env) -> Server {
    Server { base_url: env.base_url.clone().unwrap_or_default(), api_key: env.api_key.clone(), model: None }
}

fn remote(setup: &Setup, server: &Server) -> Result<providers::openai::OpenAi, Fault> {
    let mut config = providers::openai::Config::new(&server.base_url);
    config.api_key = server.api_key.clone();
    config.models = setup.known_models.clone();
    config.cache_file = (!setup.settings.ephemeral).then(|| setup.data.join("cache").join("models.json"));
    config.proxy = providers::Proxy::from_env(&server.base_url, |name| std::env::var(name).ok());
    if let Some(window) = setup.default_context_window {
        config.default_context_window = window;
    }
    if let Some(ms) = setup.idle_timeout_ms {
        config.idle_timeout_ms = ms;
    }
    providers::openai::OpenAi::new(config)
}

/// Time-ordered, so that a list of ids is a list by age.
struct UuidIds;

impl Ids for UuidIds {
    fn mint(&self, kind: IdKind) -> String {
        let id = uuid::Uuid::now_v7();
        match kind {
            IdKind::Session => id.to_string(),
            // Turns, calls, questions and items live within a session: short is enough and reads better.
            IdKind::Turn => short("t", id),
            IdKind::Call => short("c", id),
            IdKind::Ask => short("r", id),
            IdKind::Item => short("q", id),
        }
    }
}

/// The random tail of an id, behind a letter.
fn short(letter: &str, id: uuid::Uuid) -> String {
    let text = id.simple().to_string();
    format!("{letter}-{}", &text[text.len() - 12..])
}

struct WallClock;

impl Clock for WallClock {
    fn now_ms(&self) -> i64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
    }
}
