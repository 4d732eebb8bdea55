//! Ports that behave the same every time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use vocab::{
    Archive, Border, Chat, Clock, Exported, Fault, FaultKind, IdKind, Ids, Later, ModelInfo, Preferences, Principal,
    Provider, SessionId,
};

/// `s1`, `t1`, `t2`, `ask1` ..., or names that a test wants to read.
#[derive(Default)]
pub struct CountedIds {
    counts: Mutex<HashMap<IdKind, u64>>,
    /// Given out first, in order.
    chosen: Mutex<Vec<(IdKind, String)>>,
    /// Counted on from here.
    behind: u64,
}

impl CountedIds {
    /// For a process that comes after others on the same store.
    pub fn behind(behind: u64) -> Self {
        Self { behind, ..Self::default() }
    }
    pub fn with_names(chosen: Vec<(IdKind, String)>) -> Self {
        Self { chosen: Mutex::new(chosen), ..Self::default() }
    }
}

impl Ids for CountedIds {
    fn mint(&self, kind: IdKind) -> String {
        let mut chosen = self.chosen.lock().expect("no test panics while it holds this");
        if let Some(at) = chosen.iter().position(|(of, _)| *of == kind) {
            return chosen.remove(at).1;
        }
        let mut counts = self.counts.lock().expect("no test panics while it holds this");
        let count = counts.entry(kind).or_insert(self.behind);
        *count += 1;
        let name = match kind {
            IdKind::Session => "s",
            IdKind::Turn => "t",
            IdKind::Call => "call",
            IdKind::Ask => "ask",
            IdKind::Item => "item",
        };
        format!("{name}{count}")
    }
}

/// One millisecond later each time somebody looks.
pub struct TickingClock(AtomicI64);

impl Default for TickingClock {
    fn default() -> Self {
        Self(AtomicI64::new(1_700_000_000_000))
    }
}

impl TickingClock {
    /// Somebody sets it, forwards or back.
    pub fn jump(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::Relaxed);
    }
}

impl Clock for TickingClock {
    fn now_ms(&self) -> i64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// Remembers what was saved.
#[derive(Default)]
pub struct Notebook(pub Mutex<Vec<(String, String)>>);

impl Preferences for Notebook {
    fn save(&self, key: &str, value: &str) -> Result<PathBuf, Fault> {
        self.0.lock().expect("no test panics while it holds this").push((key.into(), value.into()));
        Ok(PathBuf::from("config.toml"))
    }
}

/// Gives a provider's models other names, so that a script can play `mock/alpha`.
pub struct Renamed {
    pub inner: Arc<dyn Provider>,
    pub models: Vec<ModelInfo>,
    /// The inner slug that answers for all of them.
    pub plays: ModelInfo,
}

impl Provider for Renamed {
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault> {
        self.models.iter().find(|model| &*model.slug == slug).cloned().ok_or_else(|| {
            let known: Vec<&str> = self.models.iter().map(|model| &*model.slug).collect();
            Fault::new(FaultKind::UnknownModel, format!("unknown model: {slug} (there is: {})", known.join(", ")))
        })
    }
    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        Box::pin(async { Ok(self.models.clone()) })
    }
    fn chat(&self, _: &ModelInfo) -> Result<Box<dyn Chat>, Fault> {
        self.inner.chat(&self.plays)
    }
}

/// No files of sessions.
pub struct NoArchive;

impl Archive for NoArchive {
    fn export(&self, _: &SessionId, _: Option<&Path>) -> Later<'static, Result<Exported, Fault>> {
        Box::pin(async { Err(Fault::new(FaultKind::Unsupported, "no archive on this stage")) })
    }
    fn import_for(&self, file: &Path, _: Option<Principal>) -> Later<'static, Result<SessionId, Fault>> {
        let fault = Fault::new(FaultKind::NotFound, format!("no session file {}", file.display()));
        Box::pin(async { Err(fault) })
    }
    fn path_of(&self, session: &SessionId) -> PathBuf {
        PathBuf::from(format!("memory#{session}"))
    }
}

/// Takes everything over that a session file says.
pub struct OpenBorder {
    pub own: Arc<str>,
    pub here: PathBuf,
}

impl Border for OpenBorder {
    fn model(&self, _: &str) -> Result<(), String> {
        Ok(())
    }
    fn workspace(&self, named: &Path) -> Result<PathBuf, Fault> {
        Ok(named.to_owned())
    }
    fn own_model(&self) -> Arc<str> {
        self.own.clone()
    }
    fn here(&self) -> &Path {
        &self.here
    }
    fn note(&self, _: &str) {}
}
