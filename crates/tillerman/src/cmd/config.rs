//! `config get|set|add|path`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use vocab::{Fault, FaultKind, Mode};

use crate::args;
use crate::config::{self, Config, Home, KEYS, Request, Setting, process_env};
use crate::print::{say, warning};
use crate::wiring::VENDORS;

pub(crate) fn run(args: args::Config) -> anyhow::Result<u8> {
    match args.verb {
        args::ConfigVerb::Get { key, workspace } => get(key.as_deref(), workspace),
        args::ConfigVerb::Set { key, value } => change(&key, &value, config::set),
        args::ConfigVerb::Add { key, value } => change(&key, &value, config::add),
        args::ConfigVerb::Path => {
            say(&format!("{}\n", home()?.config_file().display()))?;
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

/// The directory a command works in, as one absolute path.
pub(super) fn workspace(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    let directory = given.unwrap_or(Path::new("."));
    let absolute = std::fs::canonicalize(directory).with_context(|| format!("workspace {}", directory.display()))?;
    if !absolute.is_dir() {
        return Err(
            Fault::new(FaultKind::Invalid, format!("workspace {} is not a directory", directory.display())).into()
        );
    }
    Ok(absolute)
}

fn get(key: Option<&str>, directory: Option<PathBuf>) -> anyhow::Result<u8> {
    let workspace = workspace(directory.as_deref())?;
    let home = home()?;
    let request =
        Request { env: &process_env, home: Some(&home), workspace: &workspace, file: None, default_mode: Mode::Prompt };
    let config = Config::load(&request)?;
    config.warnings.iter().for_each(|line| warning(line));
    if let Some(wish) = config.suggestion() {
        let (file, model) = (wish.file.display(), wish.model);
        warning(&format!("{file} would like the model `{model}`: `tillerman models` says whether it gets it"));
    }
    match key {
        Some(key) => one(&config, key),
        None => all(&config),
    }
}

fn one(config: &Config, key: &str) -> anyhow::Result<u8> {
    let known = config::find(key)?;
    if let Some(setting) = config.get(known.name) {
        say(&format!("{}\n", setting.show()))?;
        return Ok(0);
    }
    // Scripts can tell "not set" from an empty value.
    Ok(1)
}

fn all(config: &Config) -> anyhow::Result<u8> {
    let width = KEYS.iter().map(|key| key.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for key in KEYS {
        let line = match (config.get(key.name), config.source(key.name)) {
            (Some(setting), Some(source)) => format!("{:width$}  {}  # {source}", key.name, setting.show()),
            _ => format!("{:width$}  -  # {}", key.name, key.about),
        };
        text.push_str(&line);
        text.push('\n');
    }
    let variables = VENDORS.iter().flat_map(|vendor| vendor.keys).map(|(name, _)| *name);
    let set: Vec<&str> = variables.filter(|name| process_env(name).is_some_and(|key| !key.trim().is_empty())).collect();
    let shown = if set.is_empty() { "-".to_owned() } else { format!("***  # {} in the environment", set.join(", ")) };
    text.push_str(&format!("{:width$}  {shown}\n", "(api key)"));
    say(&text)?;
    Ok(0)
}

type Change = fn(&Path, &str, &str) -> Result<Setting, Fault>;

fn change(key: &str, value: &str, change: Change) -> anyhow::Result<u8> {
    let home = home()?;
    let file = home.config_file();
    if let Some(other) = home.user_files().into_iter().find(|other| *other != file)
        && !file.exists()
    {
        let text =
            format!("your configuration is {}, and only TOML can be edited without losing comments", other.display());
        return Err(Fault::new(FaultKind::Invalid, text).hint("edit it by hand, or rewrite it as config.toml").into());
    }
    let setting = change(&file, key, value)?;
    say(&format!("{} = {}  # {}\n", config::find(key)?.name, setting.show(), file.display()))?;
    Ok(0)
}
