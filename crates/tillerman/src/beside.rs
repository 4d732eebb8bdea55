//! Extensions beside a conversation: which environment they get, how they are held, when they are waited for.

mod leashed;

use std::path::PathBuf;
use std::sync::Arc;

use extensions::{Extensions, Options};

use crate::wiring::Wired;
use leashed::Leashed;

/// What runs beside the conversation; nothing, most of the time.
pub(crate) struct Beside(Option<Extensions>);

/// Starts them and waits until each has said what it brings, or failed; five seconds at most. What fails is told to
/// whoever opens a session.
pub(crate) async fn start(wired: &Wired, programs: Vec<PathBuf>) -> Beside {
    if programs.is_empty() {
        return Beside(None);
    }
    let options = Options {
        programs,
        workspace: wired.settings.workspace.clone(),
        env: tools::shell::clean_environment(wired.secrets.clone()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        launcher: Arc::new(Leashed),
    };
    let mut extensions = extensions::start(&wired.engine, options);
    extensions.ready().await;
    Beside(Some(extensions))
}

impl Beside {
    pub(crate) async fn shutdown(self) {
        if let Some(extensions) = self.0 {
            extensions.shutdown().await;
        }
    }
}
