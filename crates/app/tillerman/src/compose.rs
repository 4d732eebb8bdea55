//! Builds the engine from settings: store, tools, models. The one place that knows every crate.

pub(crate) mod identity;
mod integrations;
mod servers;
mod storage;
#[cfg(test)]
mod tests;
mod web_search;

use std::path::PathBuf;
use std::sync::Arc;

use builtin_tools::project::{Briefer, BriefingSettings};
use builtin_tools::workspace::Guard;
use catalogue::{AccountModels, Catalogue, Chosen, ModelSettings, SourceReport, Standing, UserAccounts};
use config::Guarded;
use engine::{Config, Engine, IdlePolicy, Ports};
use providers::Secret;
use vocab::{Fault, Keyring, McpServer, Preferences, Principal, Provider, Settings, Shelf};

use host::WallClock;
use identity::UuidIds;
pub(crate) use integrations::Integrations;
use storage::SessionStorage;
use wires::CompactAt;

/// What to build from.
pub(crate) struct Setup {
    /// Where sessions and caches live.
    pub(crate) data: PathBuf,
    /// Where the user's settings live.
    pub(crate) config: PathBuf,
    /// Everything but the model; `settings.model` is ignored.
    pub(crate) settings: Settings,
    /// What is said about models, and which one is wanted.
    pub(crate) models: ModelSettings,
    pub(crate) agent_dir: PathBuf,
    /// Keys that are known, beyond those of `models`.
    pub(crate) secrets: Vec<Secret>,
    pub(crate) compact_at: CompactAt,
    /// Where the files of sessions go, for peers that read them; `None`: sessions have no files.
    pub(crate) session_files: Option<SessionFiles>,
    pub(crate) preferences: Arc<dyn Preferences>,
    /// Servers of tools that every session gets.
    pub(crate) servers: Vec<McpServer>,
    /// Extensions: programs that run beside sessions.
    pub(crate) programs: Vec<PathBuf>,
    pub(crate) briefing: BriefingSettings,
    /// For a process that serves many; `None`: one controller.
    pub(crate) many: Option<ManySessions>,
}

/// See [`Setup::many`].
pub(crate) struct ManySessions {
    /// What is counted on the way into the store.
    pub(crate) counts: gateway::GatewayCounts,
    pub(crate) idle: IdlePolicy,
    /// Turns that may run at once.
    pub(crate) turns_max: usize,
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
    /// Small things that are kept beside sessions.
    pub(crate) shelf: Arc<dyn Shelf>,
    /// The user's accounts, with what no engine asks of them.
    pub(crate) accounts: Arc<UserAccounts>,
    pub(crate) settings: Settings,
    /// Which model, and why, in one line.
    pub(crate) reason: String,
    /// For stderr, one line each.
    pub(crate) notes: Vec<String>,
    /// The models that are gone round, where somebody said so.
    pub(crate) scope: Vec<Arc<str>>,
    pub(crate) integrations: Integrations,
    /// Where models come from.
    pub(crate) sources: Vec<SourceReport>,
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

/// Builds everything: models, store, tools, engine.
pub(crate) async fn build(mut setup: Setup) -> Result<Wired, Fault> {
    setup.models.cache = (!setup.settings.ephemeral).then(|| setup.data.join("cache"));
    let auth = catalogue::sign_ins(&setup.models.accounts, &setup.config);
    let keyring = setup.models.keyring.clone();
    let (stored, damaged) = stored_secrets(&auth).await;
    let known = setup.models.known_secrets();
    known.iter().chain(&stored).chain(&setup.secrets).for_each(|key| keyring.learn(key.expose()));
    // Whether or not one of them is there: the environment has secrets of others as well.
    hide_memory();
    let accounts = Arc::new(AccountModels::new(&setup.models, auth)?);
    let Chosen { mut catalogue, model, thinking, scope, reason, mut notes } =
        catalogue::choose(&setup.models, &accounts).await?;
    notes.extend(damaged);
    // A gateway's clients name models.
    if setup.many.is_some() {
        catalogue.share();
    }
    let integrations = Integrations::look(&catalogue, &model, &setup.models.described.unspoken);
    let sources = catalogue.sources_report();
    let catalogue = Arc::new(catalogue);
    let settings = settled(&setup, &catalogue, &model, thinking);
    let accounts = Arc::new(UserAccounts::new(&setup.models, catalogue.clone(), accounts, hide_memory));
    let (idle, turns_max) = setup.many.as_ref().map(|many| (many.idle, many.turns_max)).unzip();
    let counts = setup.many.as_ref().map(|many| many.counts.clone());
    let (mut ports, shelf) = ports(setup, &model, catalogue.clone(), accounts.clone())?;
    if let Some(counts) = &counts {
        ports.provider = counts.models(ports.provider);
    }
    let (version, many) = (env!("CARGO_PKG_VERSION"), counts.is_some());
    if let Some(tracing) = telemetry::Tracing::of_process(version, many, &keyring, &mut notes, host::note) {
        tracing.watch(&mut ports.provider, &mut ports.store, &mut ports.toolbox);
        tracing.watch_servers(&mut ports.servers);
    }
    let notice = format!("model {}: {reason}", settings.model);
    let config = Config {
        defaults: settings.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        notices: vec![notice.clone()],
        idle,
        turns_max,
        user: Principal::user(&host::user_name()),
    };
    let engine = Engine::new(ports.clone(), config);
    Ok(Wired {
        engine,
        ports,
        shelf,
        accounts,
        settings,
        reason: notice,
        notes,
        scope,
        integrations,
        sources,
        catalogue,
        keyring,
    })
}

/// The settings of sessions, with the model in them and what follows from it.
fn settled(setup: &Setup, catalogue: &Catalogue, model: &str, thinking: Option<Arc<str>>) -> Settings {
    let mut settings = setup.settings.clone();
    settings.model = model.into();
    let window = catalogue.resolve(model).map_or(0, |info| info.context_window);
    if window > 0 {
        settings.compaction = setup.compact_at.over(settings.compaction, window);
    }
    if thinking.is_some() {
        settings.thinking = thinking;
    }
    settings
}

/// Everything that the engine needs of the world.
fn ports(
    setup: Setup,
    model: &str,
    catalogue: Arc<Catalogue>,
    accounts: Arc<UserAccounts>,
) -> Result<(Ports, Arc<dyn Shelf>), Fault> {
    let keyring = setup.models.keyring.clone();
    let guarded = guarded(&setup);
    let tools = builtin_tools::BuiltinOptions {
        protected: guarded.protected.clone(),
        secret_paths: guarded.secret.clone(),
        secrets: keyring.clone(),
        route: net::Route {
            proxies: net::ProxyRules::from_env(|name| std::env::var(name).ok()),
            ..net::Route::default()
        },
        search: Some(web_search::search(&setup.models.accounts, accounts.exa())?),
        ..builtin_tools::BuiltinOptions::new(store::data_dir::spill_dir(&setup.data))
    };
    let SessionStorage { store, archive, shelf } = SessionStorage::new(&setup, &catalogue, model);
    let briefer = Briefer {
        settings: setup.briefing,
        guard: Guard {
            home: tools.home.clone(),
            protected: guarded.protected,
            secret: guarded.secret,
            spill_dir: None,
        },
        config: setup.config,
        data: setup.data,
        secrets: keyring.clone(),
        clock: Arc::new(WallClock),
    };
    let ports = Ports {
        provider: catalogue,
        toolbox: Arc::new(builtin_tools::Builtin::new(tools)),
        archive,
        store,
        preferences: setup.preferences,
        ids: Arc::new(UuidIds::default()),
        clock: Arc::new(WallClock),
        read_object: wire::read_object,
        fit_image: images::fit,
        accounts,
        surroundings: Arc::new(briefer),
        servers: servers::servers(&keyring, setup.servers),
        keyring,
    };
    Ok((ports, shelf))
}

/// What the tools keep their hands off.
fn guarded(setup: &Setup) -> Guarded {
    let (home, workspace) = (std::env::home_dir(), &setup.settings.workspace);
    let mut guarded = Guarded::of_dirs(&setup.config, &setup.data, &setup.agent_dir, home.as_deref());
    guarded.protected.extend(setup.programs.iter().cloned());
    guarded.add_servers(&setup.servers, workspace);
    guarded.add_keys(setup.models.key_words(), workspace);
    guarded
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
