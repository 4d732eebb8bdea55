//! From flags and files to what [`crate::wiring`] builds: shared by every command that opens a session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use vocab::{
    CompactionPolicy, Fault, FaultKind, Keyring, Mode, ModelInfo, Open, Preferences, RetryPolicy, Secret, Settings,
    Which,
};

use crate::args::Basics;
use crate::config::agent;
use crate::config::{self, Config, Home, ModelEntry, Request, Setting};
use crate::wiring::{self, AccountSettings, BriefingSettings, CompactAt, Lookout, Names, Setup, Wanted};

/// Everything that was decided before anything is built.
pub(crate) struct Prepared {
    pub(crate) setup: Setup,
    pub(crate) config: Config,
    pub(crate) home: Home,
    /// Which session, and what was asked for by flag: these win over what a resumed session remembers.
    pub(crate) open: Open,
    /// Programs to start beside the conversation.
    pub(crate) extensions: Vec<PathBuf>,
}

pub(crate) fn prepare(basics: &Basics, default_mode: Mode) -> Result<Prepared, Fault> {
    let home = Home::find(&config::process_env).ok_or_else(|| {
        Fault::new(FaultKind::Invalid, "cannot tell where to keep sessions").hint("set HOME or TILLERMAN_HOME")
    })?;
    let workspace = workspace(basics.workspace.as_deref())?;
    let mut config = Config::load(&Request {
        env: &config::process_env,
        home: Some(&home),
        workspace: &workspace,
        file: basics.config.as_deref(),
        default_mode,
    })?;
    config.flag("model", basics.model.clone().map(Setting::Text));
    config.flag("mode", basics.mode.map(Setting::Mode));
    config.flag("thinking", basics.thinking.map(|level| Setting::Text(level.to_owned())));
    config.flag("max_tokens", basics.max_tokens.map(Setting::Count));
    config.flag("max_iterations", basics.max_iterations.map(|count| Setting::Count(count.into())));
    let which = match &basics.resume {
        Some(text) => resume(text, &workspace),
        None => Which::New,
    };
    let open = Open {
        workspace: Some(workspace.clone()),
        model: basics.model.as_deref().map(Arc::from),
        mode: basics.mode,
        thinking: basics.thinking.map(Arc::from),
        controller: Some("terminal".into()),
        ..Open::new(which)
    };
    let agent_dir = agent::directory(&config::process_env, &home);
    let described = agent::models(&agent_dir, &config::process_env);
    config.warnings.extend(described.notes.iter().cloned());
    if let Some(file) = config.ca_file() {
        // Said once per process; who prepares twice says the same.
        net::trust_everywhere(file);
    }
    let elsewhere = base_url(&config);
    let gathered = wiring::gather(&config::process_env, config.providers(), elsewhere.is_some());
    config.warnings.extend(gathered.notes);
    let extensions = extensions(&config, basics);
    config.warnings.extend(wide(&workspace, std::env::home_dir().as_deref()));
    let setup = Setup {
        data: home.data.clone(),
        config: home.config.clone(),
        settings: settings(&config, basics, workspace, default_mode),
        wanted: Wanted {
            model: config.model().map(str::to_owned),
            suggested: config.suggestion(),
            ..Wanted::default()
        },
        described,
        agent_dir,
        api_key: None,
        compact_at: CompactAt::default(),
        session_files: None,
        base_url: elsewhere,
        providers: gathered.providers,
        secrets: gathered.secrets,
        keyring: Keyring::default(),
        names: Names { aliases: config.slugs("aliases").to_vec(), tiers: config.slugs("tiers").to_vec() },
        lookout: Lookout::Later,
        accounts: accounts(&config),
        known_models: config.models().iter().map(model_info).collect(),
        default_context_window: config.context_window(),
        idle_timeout_ms: config.idle_timeout_s().map(|seconds| seconds.saturating_mul(1000)),
        preferences: Arc::new(UserFile(home.config_file())),
        servers: config.servers().to_vec(),
        programs: extensions.clone(),
        briefing: BriefingSettings {
            files: !basics.no_context_files,
            skills: false,
            trusted: config.trusted_workspaces(),
            here: None,
        },
    };
    Ok(Prepared { setup, config, home, open, extensions })
}

/// As a person at a terminal means it: without `--workspace` the workspace is the repository around the directory they stand in,
/// and files that they name are found from where they stand.
pub(crate) fn in_project(basics: &Basics) -> Result<Basics, Fault> {
    let mut basics = basics.clone();
    let Some(root) = project_root(basics.workspace.as_deref())? else { return Ok(basics) };
    let here = workspace(None)?;
    if let Some(Which::Path(file)) = basics.resume.as_deref().map(|text| resume(text, &here)) {
        basics.resume = Some(here.join(file).to_string_lossy().into_owned());
    }
    basics.workspace = Some(root);
    Ok(basics)
}

/// The directory that a person works in: what they named, else the repository around them, else where they stand.
pub(crate) fn project(given: Option<&Path>) -> Result<PathBuf, Fault> {
    match project_root(given)? {
        Some(root) => Ok(root),
        None => workspace(given),
    }
}

/// `None`: a directory was named, or there is no repository, or they stand in its root.
fn project_root(given: Option<&Path>) -> Result<Option<PathBuf>, Fault> {
    if given.is_some() {
        return Ok(None);
    }
    let here = workspace(None)?;
    Ok(project_around(&here).filter(|root| *root != here))
}

/// The repository around a directory.
pub(crate) fn project_around(directory: &Path) -> Option<PathBuf> {
    let home = std::env::home_dir().and_then(|home| std::fs::canonicalize(home).ok());
    builtin_tools::project::root(directory, home.as_deref())
}

/// A workspace that holds more than work is pointed out: its user may not have meant it.
fn wide(workspace: &Path, home: Option<&Path>) -> Option<String> {
    let home = home.and_then(|home| std::fs::canonicalize(home).ok());
    let what = match () {
        () if workspace == Path::new("/") => "the whole file system",
        () if home.is_some_and(|home| home.starts_with(workspace)) => "your home directory",
        () => return None,
    };
    Some(format!(
        "the workspace is {what}: tools may read all of it; start in a project directory, or name one with --workspace"
    ))
}

/// Those of the configuration first, then those of the command line, each once.
fn extensions(config: &Config, basics: &Basics) -> Vec<PathBuf> {
    let configured = config.extensions().filter(|_| !basics.no_extensions);
    // From where we stand now: an extension itself starts in the workspace.
    let given = basics.extensions.iter().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()));
    let mut all: Vec<PathBuf> = Vec::new();
    for path in configured.chain(given) {
        if !all.contains(&path) {
            all.push(path);
        }
    }
    all
}

fn workspace(asked: Option<&Path>) -> Result<PathBuf, Fault> {
    let asked = asked.unwrap_or(Path::new("."));
    let cannot = |what: String| {
        Fault::new(FaultKind::Invalid, format!("no such workspace: {} ({what})", asked.display()))
            .hint("--workspace takes an existing directory")
    };
    let path = std::fs::canonicalize(asked).map_err(|error| cannot(error.to_string()))?;
    if !path.is_dir() {
        return Err(cannot("not a directory".into()));
    }
    Ok(path)
}

/// A bare word that names a file is that file; otherwise as [`Which::parse`] reads it.
fn resume(text: &str, workspace: &Path) -> Which {
    match Which::parse(text) {
        Which::Id(name) if workspace.join(&name).is_file() => Which::Path(name.into()),
        which => which,
    }
}

/// Five tries in all, spread so that many of us do not come back at once. Dialects whose family tries otherwise say so.
const RETRY: RetryPolicy =
    RetryPolicy { retries_max: 4, base_ms: 500, wait_ms_max: 30_000, server_wait_ms_max: 120_000, jitter: true };

fn settings(config: &Config, basics: &Basics, workspace: PathBuf, default_mode: Mode) -> Settings {
    let mut settings = Settings::new(workspace, "");
    settings.mode = config.mode().unwrap_or(default_mode);
    settings.thinking = config.thinking().map(Arc::from);
    settings.max_tokens = config.max_tokens();
    settings.max_iterations = config.max_iterations(config::ROUNDS_USUAL);
    settings.retry = config.retry(RETRY);
    settings.compaction = config.compaction(CompactionPolicy::default());
    settings.sync = config.sync().unwrap_or_default();
    settings.only_tools = config.only_tools().map(|names| names.iter().map(|name| tool_name(name)).collect());
    settings.system_prompt = basics.system_prompt.as_deref().map(Arc::from);
    settings.append_system_prompt = basics.append_system_prompt.as_deref().map(Arc::from);
    settings.ephemeral = basics.no_session;
    settings
}

/// A server instead of OpenAI's own, which is a vendor like any other.
fn base_url(config: &Config) -> Option<String> {
    let own = |url: &&str| url.trim().trim_end_matches('/').eq_ignore_ascii_case(providers::detect::OPENAI_URL);
    config.base_url().filter(|url| !own(url)).map(str::to_owned)
}

/// Addresses from the configuration, secrets from the environment alone.
fn accounts(config: &Config) -> AccountSettings {
    let secret = |name: &str| config::process_env(name).as_deref().and_then(Secret::new);
    AccountSettings {
        openai_issuer: config.account("openai_issuer"),
        openai_url: config.account("openai_url"),
        openai_api: config.account("openai_api"),
        openai_usage_url: config.account("openai_usage_url"),
        antigravity_issuer: config.account("antigravity_issuer"),
        antigravity_url: config.account("antigravity_url"),
        antigravity_client_id: config.account("antigravity_client_id"),
        antigravity_client_secret: secret("TILLERMAN_ANTIGRAVITY_CLIENT_SECRET"),
        oauth_port: config.oauth_port(),
        openrouter_url: config.account("openrouter_url"),
        exa_url: config.account("exa_url"),
        openrouter_key: secret("OPENROUTER_API_KEY"),
        exa_key: secret("EXA_API_KEY"),
        environment: accounts::Environment::system(),
    }
}

fn tool_name(name: &str) -> Arc<str> {
    vocab::names::canonical(name).unwrap_or(name).into()
}

fn model_info(entry: &ModelEntry) -> ModelInfo {
    ModelInfo {
        max_output: entry.max_output,
        prices: entry.prices,
        images: entry.images.unwrap_or(true),
        thinking: entry.thinking.unwrap_or(true),
        levels: entry.levels.as_ref().map(|levels| levels.iter().map(|level| Arc::from(level.as_str())).collect()),
        name: entry.name.as_deref().unwrap_or(&entry.slug).into(),
        // 0: the server's list may know it, or the built-in table.
        ..ModelInfo::named(entry.slug.as_str(), entry.context_window.unwrap_or(0))
    }
}

/// `/save` writes where `config set` does.
struct UserFile(PathBuf);

impl Preferences for UserFile {
    fn save(&self, key: &str, value: &str) -> Result<PathBuf, Fault> {
        config::set(&self.0, key, value)?;
        Ok(self.0.clone())
    }
}
