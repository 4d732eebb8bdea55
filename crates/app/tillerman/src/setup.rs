//! From flags and files to what [`crate::compose`] builds: shared by every command that opens a session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use catalogue::{AccountSettings, Lookout, ModelNames, ModelSettings, Wanted};
use providers::detect::{CANDIDATES, Env};
use vocab::{Fault, FaultKind, Keyring, Mode, Open, Secret, Settings, Which};

use crate::args::Basics;
use crate::compose::{BriefingSettings, CompactAt, Setup};
use config::agent;
use config::{Configuration, Home, LoadFrom, SettingValue};

/// Everything that was decided before anything is built.
pub(crate) struct Prepared {
    pub(crate) setup: Setup,
    pub(crate) config: Configuration,
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
    let workspace = config::workspace(basics.workspace.as_deref())?;
    let mut config = Configuration::load(&LoadFrom {
        env: &config::process_env,
        home: Some(&home),
        workspace: &workspace,
        file: basics.config.as_deref(),
        default_mode,
    })?;
    config.flag("model", basics.model.clone().map(SettingValue::Text));
    config.flag("mode", basics.mode.map(SettingValue::Mode));
    config.flag("thinking", basics.thinking.map(|level| SettingValue::Text(level.to_owned())));
    config.flag("max_tokens", basics.max_tokens.map(SettingValue::Count));
    config.flag("max_iterations", basics.max_iterations.map(|count| SettingValue::Count(count.into())));
    let which = match &basics.resume {
        Some(text) => config::resumed(text, &workspace),
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
    let gathered = catalogue::gather(&config::process_env, config.providers(), elsewhere.is_some());
    config.warnings.extend(gathered.notes);
    let extensions = config.with_extensions(&basics.extensions, basics.no_extensions);
    config.warnings.extend(config::too_wide(&workspace, std::env::home_dir().as_deref()));
    let models = ModelSettings {
        wanted: Wanted {
            model: config.model().map(str::to_owned),
            suggested: config.suggestion(),
            ..Wanted::default()
        },
        described,
        providers: gathered.providers,
        env: Env { base_url: elsewhere, ..Env::read() },
        candidates: CANDIDATES.to_vec(),
        accounts: accounts(&config),
        names: ModelNames { aliases: config.slugs("aliases").to_vec(), tiers: config.slugs("tiers").to_vec() },
        lookout: Lookout::Later,
        api_key: None,
        known_models: config.known_models(),
        default_context_window: config.context_window(),
        idle_timeout_ms: config.idle_timeout_s().map(|seconds| seconds.saturating_mul(1000)),
        cache: None,
        keyring: Keyring::default(),
        note: host::note,
    };
    let setup = Setup {
        data: home.data.clone(),
        config: home.config.clone(),
        settings: settings(&config, basics, workspace, default_mode),
        models,
        agent_dir,
        secrets: gathered.secrets,
        compact_at: CompactAt::default(),
        session_files: None,
        preferences: Arc::new(config::UserFile(home.config_file())),
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
    let here = config::workspace(None)?;
    if let Some(Which::Path(file)) = basics.resume.as_deref().map(|text| config::resumed(text, &here)) {
        basics.resume = Some(here.join(file).to_string_lossy().into_owned());
    }
    basics.workspace = Some(root);
    Ok(basics)
}

/// The directory that a person works in: what they named, else the repository around them, else where they stand.
pub(crate) fn project(given: Option<&Path>) -> Result<PathBuf, Fault> {
    match project_root(given)? {
        Some(root) => Ok(root),
        None => config::workspace(given),
    }
}

/// `None`: a directory was named, or there is no repository, or they stand in its root.
fn project_root(given: Option<&Path>) -> Result<Option<PathBuf>, Fault> {
    if given.is_some() {
        return Ok(None);
    }
    let here = config::workspace(None)?;
    Ok(project_around(&here).filter(|root| *root != here))
}

/// The repository around a directory.
pub(crate) fn project_around(directory: &Path) -> Option<PathBuf> {
    let home = std::env::home_dir().and_then(|home| std::fs::canonicalize(home).ok());
    builtin_tools::project::root(directory, home.as_deref())
}

fn settings(config: &Configuration, basics: &Basics, workspace: PathBuf, default_mode: Mode) -> Settings {
    let mut settings = config.session_settings(workspace, default_mode);
    settings.system_prompt = basics.system_prompt.as_deref().map(Arc::from);
    settings.append_system_prompt = basics.append_system_prompt.as_deref().map(Arc::from);
    settings.ephemeral = basics.no_session;
    settings
}

/// A server instead of OpenAI's own, which is a vendor like any other.
fn base_url(config: &Configuration) -> Option<String> {
    let own = |url: &&str| url.trim().trim_end_matches('/').eq_ignore_ascii_case(providers::detect::OPENAI_URL);
    config.base_url().filter(|url| !own(url)).map(str::to_owned)
}

/// Addresses from the configuration, secrets from the environment alone.
fn accounts(config: &Configuration) -> AccountSettings {
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
