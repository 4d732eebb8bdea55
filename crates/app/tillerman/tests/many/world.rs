//! An engine as a daemon has it: the SQLite store, the built-in tools, a model that needs no network.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::IdlePolicy;
use store_sqlite::SqliteStore;
use testkit::{Stage, StageOptions};
use vocab::{Open, SyncLevel, Which};

const HOUR: Duration = Duration::from_secs(3600);

pub(crate) struct World {
    pub(crate) stage: Stage,
    pub(crate) home: tempfile::TempDir,
}

/// Whoever leaves is waited for by nobody.
pub(crate) const UNLOADS_AT_ONCE: IdlePolicy =
    IdlePolicy { linger: Duration::ZERO, park_after: HOUR, ready_max: usize::MAX, unload_after: HOUR };
pub(crate) const PARKS_AT_ONCE: IdlePolicy =
    IdlePolicy { park_after: Duration::ZERO, ready_max: 256, ..UNLOADS_AT_ONCE };
pub(crate) const KEEPS: IdlePolicy = IdlePolicy { linger: HOUR, ..UNLOADS_AT_ONCE };

/// A process on what is saved in `home`.
pub(crate) fn stage(home: &Path, idle: IdlePolicy, change: impl FnOnce(&mut StageOptions)) -> Stage {
    let mut options = StageOptions {
        store: Arc::new(SqliteStore::new(home.to_owned())),
        idle: Some(idle),
        // What is measured here is not the disk.
        tune: Box::new(|settings| settings.sync = SyncLevel::Off),
        ..StageOptions::default()
    };
    change(&mut options);
    Stage::new(options)
}

impl World {
    pub(crate) fn new(idle: IdlePolicy) -> Self {
        Self::with(idle, |_| {})
    }

    pub(crate) fn with(idle: IdlePolicy, change: impl FnOnce(&mut StageOptions)) -> Self {
        let home = tempfile::tempdir().unwrap();
        let stage = stage(home.path(), idle, change);
        Self { stage, home }
    }

    /// Somebody comes, says something, hears the answer and goes.
    pub(crate) async fn visit(&self) {
        let mut actor = self.stage.actor();
        actor.open(Open::new(Which::New)).await.unwrap();
        actor.prompt("say a word").await;
        actor.turn_end().await;
    }
}
