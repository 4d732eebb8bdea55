//! Hosts the extensions of all sessions: programs of the user's (which environment they get, how they are held, when they are
//! waited for) and the user's skills.

use std::path::PathBuf;
use std::sync::Arc;

use extensions::{ExtensionOptions, Extensions, SkillsExtension};
use process::LeashLauncher;

use crate::compose::Wired;
use config::{Configuration, Home};

/// What runs for the sessions of this process.
pub(crate) struct ExtensionHost {
    skills: Option<SkillsExtension>,
    extensions: Option<Extensions>,
}

/// Starts extensions and waits until each has said what it brings, or failed; five seconds at most. What fails is told to
/// every client that opens a session. With places for skills, prompts can call for them; they are looked for before any
/// extension is asked.
pub(crate) async fn start(wired: &Wired, programs: Vec<PathBuf>, skills: Option<skills::Places>) -> ExtensionHost {
    let skills = skills.map(|places| extensions::start_skills(&wired.engine, places));
    ExtensionHost { skills, extensions: start_programs(wired, programs).await }
}

/// Where this user's skills are looked for.
pub(crate) fn skill_places(wired: &Wired, home: &Home, config: &Configuration) -> skills::Places {
    let user = config::process_env("HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    skills::Places {
        cwd: wired.settings.workspace.clone(),
        data_dir: Some(home.data.clone()),
        home: user,
        trusted: config.trusted_workspaces(),
    }
}

async fn start_programs(wired: &Wired, programs: Vec<PathBuf>) -> Option<Extensions> {
    if programs.is_empty() {
        return None;
    }
    let options = ExtensionOptions {
        programs,
        workspace: wired.settings.workspace.clone(),
        env: process::clean_environment(&wired.keyring),
        secrets: wired.keyring.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        launcher: Arc::new(LeashLauncher),
    };
    let mut extensions = extensions::start(&wired.engine, options);
    extensions.ready().await;
    Some(extensions)
}

impl ExtensionHost {
    pub(crate) async fn shutdown(self) {
        if let Some(extensions) = self.extensions {
            extensions.shutdown().await;
        }
        if let Some(skills) = self.skills {
            skills.shutdown().await;
        }
    }
}
