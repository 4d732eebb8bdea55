//! `config get|set|add|unset|path|schema`.

use std::path::{Path, PathBuf};

use vocab::{Fault, FaultKind, Mode, Settings};

use crate::args;
use crate::print::{say, warning};
use crate::setup;
use catalogue::KEYED_VENDORS;
use config::{Configuration, Home, KEYS, LoadFrom, SettingValue, process_env};

pub(crate) fn run(args: args::ConfigArgs) -> anyhow::Result<u8> {
    match args.verb {
        args::ConfigVerb::Get { key, workspace } => get(key.as_deref(), workspace),
        args::ConfigVerb::Set { key, value } => change(&key, &value, config::set),
        args::ConfigVerb::Add { key, value } => change(&key, &value, config::add),
        args::ConfigVerb::Unset { key } => unset(&key),
        args::ConfigVerb::Path => {
            say(&format!("{}\n", home()?.config_file().display()))?;
            Ok(0)
        }
        args::ConfigVerb::Schema => {
            say(&format!("{:#}\n", config::schema()))?;
            Ok(0)
        }
    }
}

pub(super) fn home() -> anyhow::Result<Home> {
    Home::find(&process_env).ok_or_else(|| {
        Fault::new(FaultKind::Invalid, "there is no home directory to keep things in")
            .hint("set HOME or TILLERMAN_HOME")
            .into()
    })
}

fn get(key: Option<&str>, directory: Option<PathBuf>) -> anyhow::Result<u8> {
    let workspace = setup::project(directory.as_deref())?;
    let home = home()?;
    let request = LoadFrom {
        env: &process_env,
        home: Some(&home),
        workspace: &workspace,
        file: None,
        default_mode: Mode::Prompt,
    };
    let config = Configuration::load(&request)?;
    config.warnings.iter().for_each(|line| warning(line));
    if let Some(wish) = config.suggestion() {
        let (file, model) = (wish.file.display(), wish.model);
        warning(&format!("{file} would like the model `{model}`: `tillerman models` says whether it gets it"));
    }
    let basics = args::Basics { workspace: Some(workspace), ..args::Basics::default() };
    let usual = setup::prepare(&basics, Mode::Prompt)?.setup.settings;
    match key {
        Some(key) => one(&config, key, &usual),
        None => all(&config, &usual),
    }
}

fn one(config: &Configuration, key: &str, usual: &Settings) -> anyhow::Result<u8> {
    let known = config::find(key)?;
    let shown = config.get(known.name).map(SettingValue::show_safely).or_else(|| default_of(known.name, usual));
    if let Some(shown) = shown {
        say(&format!("{shown}\n"))?;
        return Ok(0);
    }
    // Scripts can tell "not set" from an empty value.
    host::note(&format!("{} is not set", known.name));
    Ok(1)
}

/// What counts in a conversation where nothing is set.
fn default_of(name: &str, usual: &Settings) -> Option<String> {
    let (retry, compaction) = (usual.retry, usual.compaction);
    Some(match name {
        "mode" => usual.mode.as_str().to_owned(),
        "max_iterations" => usual.max_iterations.to_string(),
        "sync" => usual.sync.as_str().to_owned(),
        "on_restart" => usual.on_restart.as_str().to_owned(),
        "retry.retries_max" => retry.retries_max.to_string(),
        "retry.base_ms" => retry.base_ms.to_string(),
        "retry.wait_ms_max" => retry.wait_ms_max.to_string(),
        "retry.server_wait_ms_max" => retry.server_wait_ms_max.to_string(),
        "retry.jitter" => retry.jitter.to_string(),
        "compaction.auto" => compaction.auto.to_string(),
        "compaction.threshold_pct" => compaction.threshold_pct.to_string(),
        "compaction.keep_pct" => compaction.keep_pct.to_string(),
        _ => return None,
    })
}

fn all(config: &Configuration, usual: &Settings) -> anyhow::Result<u8> {
    let width = KEYS.iter().map(|key| key.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for key in KEYS {
        let line = match (config.get(key.name), config.source(key.name)) {
            (Some(setting), Some(source)) => format!("{:width$}  {}  # {source}", key.name, setting.show_safely()),
            _ => match default_of(key.name, usual) {
                Some(shown) => format!("{:width$}  {shown}  # the default. {}", key.name, key.about),
                None => format!("{:width$}  -  # {}", key.name, key.about),
            },
        };
        text.push_str(&line);
        text.push('\n');
    }
    let variables = KEYED_VENDORS.iter().flat_map(|vendor| vendor.keys).map(|(name, _)| *name);
    let set: Vec<&str> = variables.filter(|name| process_env(name).is_some_and(|key| !key.trim().is_empty())).collect();
    let shown = if set.is_empty() { "-".to_owned() } else { format!("***  # {} in the environment", set.join(", ")) };
    text.push_str(&format!("{:width$}  {shown}\n", "(api key)"));
    say(&text)?;
    Ok(0)
}

type ConfigChange = fn(&Path, &str, &str) -> Result<config::Set, Fault>;

fn change(key: &str, value: &str, change: ConfigChange) -> anyhow::Result<u8> {
    let file = editable()?;
    let set = change(&file, key, value)?;
    say(&format!("{} = {}  # {}\n", set.name, set.value.show_safely(), file.display()))?;
    Ok(0)
}

fn unset(key: &str) -> anyhow::Result<u8> {
    let file = editable()?;
    let name = config::unset(&file, key)?;
    say(&format!("{name} is not set now  # {}\n", file.display()))?;
    Ok(0)
}

/// The user's file, where it can be changed without losing anything.
fn editable() -> anyhow::Result<PathBuf> {
    Ok(home()?.editable()?)
}
