//! Builds the engine from settings: store, tools, models. The one place that knows every crate.

mod accounts;
mod antigravity;
mod around;
mod auto;
mod border;
mod briefing;
mod catalogue;
mod census;
mod chatgpt;
mod checkup;
mod choose;
mod custom;
mod guarded;
mod integrations;
mod keys;
mod linked;
mod names;
mod pick;
mod servers;
mod sources;
mod suggest;
#[cfg(test)]
mod tests;
mod vendors;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use builtin_tools::web_search;
use builtin_tools::workspace::Guard;
use engine::{Config, Engine, Ports};
use providers::Secret;
use providers::detect::{CANDIDATES, Candidate, Env, settled};
use vocab::{
    Archive, Border, Clock, CompactionPolicy, Fault, IdKind, Ids, Keyring, McpServer, ModelInfo, Preferences, Provider,
    Settings, Store,
};

pub(crate) use accounts::AccountSettings;
use accounts::UserKey;
use around::{UserAround, Ways};
use border::{FileBorder, OnlyShown};
use briefing::Briefer;
pub(crate) use briefing::BriefingSettings;
pub(crate) use catalogue::Standing;
use catalogue::{Catalogue, is_built_in};
pub(crate) use census::Standpoint;
pub(crate) use checkup::Reached;
pub(crate) use choose::{Suggestion, Wanted};
pub(crate) use guarded::Guarded;
pub(crate) use integrations::Integrations;
pub(crate) use names::Names;
pub(crate) use vendors::{Provided, VENDORS, built_in, gather, vendor};

use crate::config::agent;
use choose::{Chosen, Grounds, choose};
use linked::Linked;

/// What to build from.
pub(crate) struct Setup {
    /// Where sessions and caches live.
    pub(crate) data: PathBuf,
    /// Where the user's settings live.
    pub(crate) config: PathBuf,
    /// Everything but the model; `settings.model` is ignored.
    pub(crate) settings: Settings,
    pub(crate) wanted: Wanted,
    /// Providers that the user described, from `agent_dir`.
    pub(crate) described: agent::Models,
    pub(crate) agent_dir: PathBuf,
    /// Vendors whose key is known, and what the configuration describes.
    pub(crate) providers: Vec<Provided>,
    /// Keys that are known, beyond those of `providers`.
    pub(crate) secrets: Vec<Secret>,
    /// Learns all of them, and those that come later.
    pub(crate) keyring: Keyring,
    pub(crate) names: Names,
    pub(crate) lookout: Lookout,
    /// Given on the command line, for the provider of the model that is chosen.
    pub(crate) api_key: Option<Secret>,
    pub(crate) compact_at: CompactAt,
    /// Where the files of sessions go, for peers that read them; `None`: sessions have no files.
    pub(crate) session_files: Option<SessionFiles>,
    /// From the configuration; the environment wins.
    pub(crate) base_url: Option<String>,
    pub(crate) accounts: AccountSettings,
    pub(crate) known_models: Vec<ModelInfo>,
    pub(crate) default_context_window: Option<u64>,
    pub(crate) idle_timeout_ms: Option<u64>,
    pub(crate) preferences: Arc<dyn Preferences>,
    /// Servers of tools that every session gets.
    pub(crate) servers: Vec<McpServer>,
    /// Extensions: programs that run beside sessions.
    pub(crate) programs: Vec<PathBuf>,
    pub(crate) briefing: BriefingSettings,
}

/// How a server on this machine is looked for, where nothing else is configured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lookout {
    /// Whoever starts waits for it, for a fifth of a second at most.
    Wait,
    /// Nobody waits before the first prompt.
    Later,
}

/// Compaction in tokens of the chosen model's window, where somebody said it so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct CompactAt {
    /// Room that is kept free.
    pub(crate) reserve_tokens: Option<u64>,
    /// What is kept word for word.
    pub(crate) keep_tokens: Option<u64>,
}

impl CompactAt {
    fn over(self, usual: CompactionPolicy, window: u64) -> CompactionPolicy {
        let percent =
            |tokens: u64| u8::try_from(tokens.saturating_mul(100) / window.max(1)).unwrap_or(u8::MAX).min(100);
        CompactionPolicy {
            threshold_pct: self.reserve_tokens.map_or(usual.threshold_pct, |it| (100 - percent(it)).max(10)),
            keep_pct: self.keep_tokens.map_or(usual.keep_pct, |it| percent(it).min(90)),
            ..usual
        }
    }
}

/// See [`Setup::session_files`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SessionFiles {
    pub(crate) dir: PathBuf,
    /// Somebody asked for this directory. Otherwise new files go where the last opened one is.
    pub(crate) fixed: bool,
    /// What is read from files is shown and never gone on with.
    pub(crate) only_shown: bool,
}

/// What was built.
pub(crate) struct Wired {
    pub(crate) engine: Engine,
    pub(crate) ports: Ports,
    pub(crate) settings: Settings,
    /// Which model, and why, in one line.
    pub(crate) reason: String,
    /// For stderr, one line each.
    pub(crate) notes: Vec<String>,
    /// The models that are gone round, where somebody said so.
    pub(crate) scope: Vec<Arc<str>>,
    pub(crate) integrations: Integrations,
    /// Where models come from.
    pub(crate) sources: Vec<Standpoint>,
    /// All models, for who wants to know whether their servers answer.
    pub(crate) catalogue: Arc<Catalogue>,
    /// Values that no program we start may find in its environment, and nobody in what is printed.
    pub(crate) keyring: Keyring,
}

impl Wired {
    /// What to say on stderr at the start. Clients show that to people as trouble: a model that was found is none, the tour
    /// in the place of one is. `asked`: a model was named, so it is what it should be.
    pub(crate) fn warnings(&self, asked: bool) -> impl Iterator<Item = &String> {
        let unchosen = self.integrations.model == Standing::NoProvider && !asked;
        self.notes.iter().chain(unchosen.then_some(&self.reason))
    }
}

pub(crate) async fn build(setup: Setup) -> Result<Wired, Fault> {
    let environment = environment(&setup);
    build_from(setup, environment, &CANDIDATES).await
}

/// With everything around given, so that tests have an environment of their own.
async fn build_from(setup: Setup, environment: Env, candidates: &[Candidate]) -> Result<Wired, Fault> {
    let described = &setup.described.providers;
    let auth = accounts::sign_ins(&setup.accounts, &setup.config);
    let keyring = setup.keyring.clone();
    custom::secrets(described).iter().for_each(|key| keyring.learn(key.expose()));
    let (stored, damaged) = stored_secrets(&auth).await;
    let given = environment.api_key.iter().chain(&setup.api_key).chain(setup.accounts.secrets());
    let filed: Vec<Secret> = setup.providers.iter().filter_map(filed).collect();
    let known = given.chain(&stored).chain(&setup.secrets).chain(&filed);
    known.for_each(|key| keyring.learn(key.expose()));
    // Whether or not one of them is there: the environment has secrets of others as well.
    hide_memory();
    let openai = setup.providers.iter().any(|provided| &*provided.name == chatgpt::OPENAI);
    let stands = settled(&environment).is_some() || openai;
    let linked = Arc::new(Linked::new(&setup, auth, stands)?);
    let grounds = Grounds { env: &environment, candidates, linked: &linked };
    let mut chosen = choose(&setup, grounds).await?;
    suggest::follow(&setup.wanted, &mut chosen);
    chosen.notes.extend(damaged);
    let store: Arc<dyn Store> = match setup.settings.ephemeral {
        true => Arc::new(store::MemoryStore::new()),
        false => Arc::new(store_sqlite::SqliteStore::new(setup.data.clone()).telling(Arc::new(host::note))),
    };
    let guarded = guarded::guarded(&setup);
    let exa = Arc::new(accounts::exa(&setup.accounts, linked.auth()));
    let search = Some(search(&setup.accounts, exa.clone())?);
    let tools = builtin_tools::BuiltinOptions {
        protected: guarded.protected.clone(),
        secret_paths: guarded.secret.clone(),
        secrets: keyring.clone(),
        search,
        route: net::Route {
            proxies: net::ProxyRules::from_env(|name| std::env::var(name).ok()),
            ..net::Route::default()
        },
        ..builtin_tools::BuiltinOptions::new(store::data_dir::spill_dir(&setup.data))
    };
    let briefer = Briefer {
        settings: setup.briefing,
        guard: Guard {
            home: tools.home.clone(),
            protected: guarded.protected,
            secret: guarded.secret,
            spill_dir: None,
        },
        config: setup.config.clone(),
        data: setup.data.clone(),
        secrets: keyring.clone(),
        clock: Arc::new(WallClock),
    };
    let Chosen { catalogue, model, thinking, scope, reason, notes } = chosen;
    let integrations = Integrations::look(&catalogue, &model, &setup.described.unspoken);
    let sources = catalogue.census();
    let window = catalogue.resolve(&model).map_or(0, |info| info.context_window);
    let catalogue = Arc::new(catalogue);
    let (own, here) = (Arc::from(model.as_str()), setup.settings.workspace.clone());
    let border: Arc<dyn Border> = match setup.session_files.as_ref().is_some_and(|files| files.only_shown) {
        true => Arc::new(OnlyShown { own, here }),
        false => Arc::new(FileBorder::new(catalogue.clone(), own, here)),
    };
    let archive = export::FileArchive::new(store.clone(), setup.data.clone()).with_border(border.clone());
    let kept = Kept { store, archive: Arc::new(archive) };
    let Kept { store, archive } = match setup.session_files {
        Some(files) => kept.with_files(files, &catalogue, border, &setup.settings),
        None => kept,
    };
    let built_in = setup.wanted.model.as_deref().is_some_and(|asked| is_built_in(asked.trim()));
    let ways = Ways { linked, exa, models: catalogue.clone(), built_in };
    let ports = Ports {
        provider: catalogue.clone(),
        toolbox: Arc::new(builtin_tools::Builtin::new(tools)),
        archive,
        store,
        preferences: setup.preferences,
        ids: Arc::new(UuidIds),
        clock: Arc::new(WallClock),
        read_object: wire::read_object,
        fit_image: images::fit,
        around: Arc::new(UserAround::new(ways, stands, briefer)),
        servers: servers::servers(&keyring, setup.servers),
        keyring: keyring.clone(),
    };
    let mut settings = setup.settings;
    settings.model = model.into();
    if window > 0 {
        settings.compaction = setup.compact_at.over(settings.compaction, window);
    }
    if thinking.is_some() {
        settings.thinking = thinking;
    }
    let notice = format!("model {}: {reason}", settings.model);
    let config = Config {
        defaults: settings.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        notices: vec![notice.clone()],
    };
    let engine = Engine::new(ports.clone(), config);
    Ok(Wired { engine, ports, settings, reason: notice, notes, scope, integrations, sources, catalogue, keyring })
}

/// A key that stands in a file, if it can be read now: whoever gets it later is told what is wrong.
fn filed(provided: &Provided) -> Option<Secret> {
    match &provided.key {
        Some(agent::Word::File(path)) => keys::read(path).ok(),
        _ => None,
    }
}

/// How the web is searched, once there is a key.
fn search(settings: &AccountSettings, key: Arc<UserKey>) -> Result<web_search::SearchOptions, Fault> {
    let base_url = accounts::checked("Exa", settings.exa_url.as_deref().unwrap_or(web_search::BASE_URL))?;
    Ok(web_search::SearchOptions { base_url, ..web_search::SearchOptions::new(key) })
}

/// What is stored, or a note why that cannot be told. Costs one look at the disk where there is nothing.
async fn stored_secrets(auth: &::accounts::Auth) -> (Vec<Secret>, Option<String>) {
    if !auth.place().exists() {
        return (Vec::new(), None);
    }
    match auth.secrets().await {
        Ok(secrets) => (secrets, None),
        // Who signs in again gets a new file; until then everything else works.
        Err(fault) => (Vec::new(), Some(fault.message)),
    }
}

/// Where sessions are kept.
struct Kept {
    store: Arc<dyn Store>,
    archive: Arc<dyn Archive>,
}

impl Kept {
    /// The same, with a file beside every session.
    fn with_files(
        self,
        files: SessionFiles,
        catalogue: &Arc<Catalogue>,
        border: Arc<dyn Border>,
        settings: &Settings,
    ) -> Kept {
        let mirrored = session_files::Mirrored::new(session_files::MirrorSetup {
            store: self.store,
            archive: self.archive,
            models: catalogue.clone(),
            ids: Arc::new(UuidIds),
            dir: files.dir,
            dir_is_fixed: files.fixed,
            mode: settings.mode,
            border,
            note: Arc::new(host::note),
        });
        Kept { store: Arc::new(mirrored.clone()), archive: Arc::new(mirrored) }
    }
}

/// Keys stand in our memory and in `/proc/PID/environ`, where the commands of a model could read it as the same
/// user (root reads everything). No core dump is written either.
fn hide_memory() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // A kernel that refuses leaves things as they were.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

/// The server that the environment and the user's configuration lead to.
fn environment(setup: &Setup) -> Env {
    Env { base_url: setup.base_url.clone(), ..Env::read() }
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
