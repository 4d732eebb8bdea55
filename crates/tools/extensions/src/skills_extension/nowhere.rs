//! Workspaces in which there was no place for skills a moment ago.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::{Duration, Instant};

/// So long is it believed, and so long may it take until a first skill counts.
pub(super) const BELIEVED: Duration = Duration::from_secs(1);
/// Workspaces that are remembered; all are forgotten for one more.
const WORKSPACES_MAX: usize = 256;

#[derive(Default)]
pub(super) struct Nowhere(Mutex<HashMap<OsString, Instant>>);

impl Nowhere {
    fn lock(&self) -> MutexGuard<'_, HashMap<OsString, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody has just looked.
    pub(super) fn learn(&self, workspace: PathBuf) {
        let mut known = self.lock();
        if known.len() >= WORKSPACES_MAX {
            known.clear();
        }
        known.insert(workspace.into_os_string(), Instant::now());
    }

    pub(super) fn is_known(&self, workspace: &Path) -> bool {
        self.lock().get(workspace.as_os_str()).is_some_and(|at| at.elapsed() < BELIEVED)
    }
}
