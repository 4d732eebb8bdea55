//! All connections of clients that come by HTTP, by their ids. Those that nobody uses any more are let go.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::acp::connection::AcpConnection;
use crate::limits::ACP_CONNECTIONS_MAX;

#[derive(Default)]
pub(crate) struct AcpConnections(Mutex<HashMap<Arc<str>, Arc<AcpConnection>>>);

impl AcpConnections {
    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<AcpConnection>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `false`: there is no room.
    pub(crate) fn add(&self, connection: &Arc<AcpConnection>) -> bool {
        let mut all = self.lock();
        if all.len() >= ACP_CONNECTIONS_MAX {
            return false;
        }
        all.insert(connection.id.clone(), connection.clone());
        true
    }

    /// Whose it is not does not learn that it is there.
    pub(crate) fn find(&self, id: &str, principal: &str) -> Option<Arc<AcpConnection>> {
        self.lock().get(id).filter(|it| it.principal == principal).cloned()
    }

    pub(crate) fn has(&self, id: &str) -> bool {
        self.lock().contains_key(id)
    }

    /// Whether there was one.
    pub(crate) fn end(&self, id: &str) -> bool {
        let ended = self.lock().remove(id);
        ended.iter().for_each(|it| it.end());
        ended.is_some()
    }

    /// Looks which of them are over.
    pub(crate) fn look(&self, grace: Duration) {
        let (over, open): (Vec<_>, Vec<_>) = self.lock().values().cloned().partition(|it| it.is_over(grace));
        over.iter().for_each(|it| _ = self.end(&it.id));
        open.iter().for_each(|it| it.end_stuck());
    }
}
