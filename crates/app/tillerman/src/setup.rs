//! From flags and files to what [`crate::compose`] builds: shared by every command that opens a session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use builtin_tools::project::BriefingSettings;
use vocab::{Fault, FaultKind, Mode, Open, Settings, Which};

use crate::args::Basics;
use crate::compose::Setup;
use config::agent;
use config::{Configuration, Home, LoadFrom, SettingValue};
use wires::CompactAt;

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
    let mut config = configuration(basics, (&home, &workspace), default_mode, None)?;
    let open = open(basics, &workspace);
    if let Some(file) = config.ca_file() {
        // Said once per process; who prepares twice says the same.
        net::trust_everywhere(file);
    }
    let agent_dir = agent::directory(&config::process_env, &home);
    let (models, secrets) = catalogue::from_configuration(&mut config, &agent_dir, host::note);
    are_there(&basics.extensions)?;
    let extensions = config.with_extensions(&basics.extensions, basics.no_extensions);
    config.warnings.extend(config::too_wide(&workspace, std::env::home_dir().as_deref()));
    let setup = Setup {
        data: home.data.clone(),
        config: home.config.clone(),
        settings: settings(&config, basics, workspace, default_mode),
        models,
        agent_dir,
        secrets,
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
        many: None,
    };
    Ok(Prepared { setup, config, home, open, extensions })
}

/// Trusts the certificates that the user's configuration names, for a command that needs nothing else of it. What is wrong
/// with the configuration is said, and is no reason to go no further.
pub(crate) fn trust_authorities() {
    let found = Home::find(&config::process_env).zip(config::workspace(None).ok());
    let Some((home, workspace)) = found else { return };
    match configuration(&Basics::default(), (&home, &workspace), Mode::Prompt, None) {
        Ok(config) => {
            config.ca_file().map(net::trust_everywhere);
        }
        Err(fault) => host::note(&fault.explained()),
    }
}

/// An extension that was named for this conversation may be what guards it: without it nothing starts.
fn are_there(extensions: &[PathBuf]) -> Result<(), Fault> {
    match extensions.iter().find(|path| !path.is_file()) {
        None => Ok(()),
        Some(path) => {
            let what = if path.exists() { "is no file" } else { "is not there" };
            let message = format!("the extension {} {what}", vocab::visible::visible_path(path));
            Err(Fault::new(FaultKind::Invalid, message).hint("-e takes the file of a program (docs/extensions.md)"))
        }
    }
}

/// The files, and what flags say over them. `draft`: what a file of the user's is to say, whatever it says now.
fn configuration(
    basics: &Basics,
    (home, workspace): (&Home, &Path),
    default_mode: Mode,
    draft: Option<(&Path, &str)>,
) -> Result<Configuration, Fault> {
    let request = LoadFrom {
        env: &config::process_env,
        home: Some(home),
        workspace,
        file: basics.config.as_deref(),
        default_mode,
    };
    let mut config = Configuration::load_as_if(&request, draft)?;
    config.flag("model", basics.model.clone().map(SettingValue::Text));
    config.flag("mode", basics.mode.map(SettingValue::Mode));
    config.flag("thinking", basics.thinking.map(|level| SettingValue::Text(level.to_owned())));
    config.flag("on_restart", basics.on_restart.map(|rule| SettingValue::Text(rule.as_str().to_owned())));
    config.flag("max_tokens", basics.max_tokens.map(SettingValue::Count));
    config.flag("max_iterations", basics.max_iterations.map(|count| SettingValue::Count(count.into())));
    Ok(config)
}

/// The same once more, for a process that was asked to look again, and what of it can be changed.
pub(crate) struct SettingsAgain(pub(crate) Basics, pub(crate) Mode);

fn home_again() -> Result<Home, Fault> {
    Home::find(&config::process_env)
        .ok_or_else(|| Fault::new(FaultKind::Invalid, "cannot tell where the configuration is"))
}

impl daemon::SettingsPlace for SettingsAgain {
    fn read(&self, draft: Option<&str>) -> Result<Configuration, Fault> {
        let Self(basics, default_mode) = self;
        let (home, workspace) = (home_again()?, config::workspace(basics.workspace.as_deref())?);
        let file = draft.map(|_| self.editable()).transpose()?;
        configuration(basics, (&home, &workspace), *default_mode, file.as_deref().zip(draft))
    }

    /// The one that counts: `--config FILE` is read instead of the user's own.
    fn editable(&self) -> Result<PathBuf, Fault> {
        match &self.0.config {
            Some(file) if file.extension().is_some_and(|end| end == "toml") => Ok(file.clone()),
            Some(file) => {
                let text =
                    format!("{} is no TOML, and only that can be edited without losing comments", file.display());
                Err(Fault::new(FaultKind::Invalid, text).hint("edit it by hand"))
            }
            None => home_again()?.editable(),
        }
    }
}

/// Which session, and what flags ask of it.
fn open(basics: &Basics, workspace: &Path) -> Open {
    let which = basics.resume.as_deref().map_or(Which::New, |text| config::resumed(text, workspace));
    Open {
        workspace: Some(workspace.to_owned()),
        model: basics.model.as_deref().map(Arc::from),
        mode: basics.mode,
        thinking: basics.thinking.map(Arc::from),
        controller: Some("terminal".into()),
        ..Open::new(which)
    }
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
    Ok(builtin_tools::project::enclosing(&here).filter(|root| *root != here))
}

fn settings(config: &Configuration, basics: &Basics, workspace: PathBuf, default_mode: Mode) -> Settings {
    let mut settings = config.session_settings(workspace, default_mode);
    settings.system_prompt = basics.system_prompt.as_deref().map(Arc::from);
    settings.append_system_prompt = basics.append_system_prompt.as_deref().map(Arc::from);
    settings.ephemeral = basics.no_session;
    basics.budget.iter().for_each(|(span, unit, limit)| settings.budget.set(*span, *unit, Some(*limit)));
    settings
}
