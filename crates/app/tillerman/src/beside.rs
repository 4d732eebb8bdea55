//! What stands beside a conversation: extensions (which environment they get, how they are held, when they are waited for)
//! and the user's skills.

pub(crate) mod leashed;
mod skilled;

use std::path::PathBuf;
use std::sync::Arc;

use extensions::{Extensions, Options};

use crate::compose::Wired;
use config::{Configuration, Home};
pub(crate) use leashed::Leashed;
use skilled::Skilled;

/// What runs beside the conversation.
pub(crate) struct Beside {
    skilled: Option<Skilled>,
    extensions: Option<Extensions>,
}

/// Starts extensions and waits until each has said what it brings, or failed; five seconds at most. What fails is told to
/// whoever opens a session. With places for skills, prompts can call for them; they are looked for before any
/// extension is asked.
pub(crate) async fn start(wired: &Wired, programs: Vec<PathBuf>, skills: Option<skills::Places>) -> Beside {
    let skilled = skills.map(|places| skilled::start(&wired.engine, places));
    Beside { skilled, extensions: extensions(wired, programs).await }
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

async fn extensions(wired: &Wired, programs: Vec<PathBuf>) -> Option<Extensions> {
    if programs.is_empty() {
        return None;
    }
    let options = Options {
        programs,
        workspace: wired.settings.workspace.clone(),
        env: builtin_tools::shell::clean_environment(&wired.keyring),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        launcher: Arc::new(Leashed),
    };
    let mut extensions = extensions::start(&wired.engine, options);
    extensions.ready().await;
    Some(extensions)
}

impl Beside {
    pub(crate) async fn shutdown(self) {
        if let Some(extensions) = self.extensions {
            extensions.shutdown().await;
        }
        if let Some(skilled) = self.skilled {
            skilled.shutdown().await;
        }
    }
}
