//! Sessions that are deleted, told to who waits for the end of one of them.

use std::sync::Arc;

use dialect_gateway::{GatewayAnswer, GatewayRefusal};
use tokio::sync::broadcast::{self, error::RecvError};
use vocab::SessionId;

use super::news::NewestCall;
use super::{SharedServices, sessions};

/// Deletions that one who waits may be behind; with more it looks whether its session is there.
const BEHIND_MAX: usize = 64;

pub(super) struct Deletions(broadcast::Sender<SessionId>);

impl Default for Deletions {
    fn default() -> Self {
        Self(broadcast::Sender::new(BEHIND_MAX))
    }
}

impl Deletions {
    pub(super) fn tell(&self, session: &SessionId) {
        // Perhaps nobody waits.
        let _ = self.0.send(session.clone());
    }
}

/// Ready when the session is not there any more, or with a newer call of the same connection.
pub(super) async fn when_deleted(
    services: Arc<SharedServices>,
    calls: Arc<NewestCall>,
    session: SessionId,
) -> Result<GatewayAnswer, GatewayRefusal> {
    let mine = calls.next();
    // Before it is looked for, so that no deletion slips by.
    let mut told = services.counts.0.deletions.0.subscribe();
    let mut is_there = sessions::exists(&services, &session).await?;
    while is_there {
        is_there = tokio::select! {
            () = calls.until_newer(mine) => return Ok(GatewayAnswer::Exists(true)),
            deleted = told.recv() => match deleted {
                Ok(deleted) => deleted != session,
                Err(RecvError::Lagged(_)) => sessions::exists(&services, &session).await?,
                Err(RecvError::Closed) => return Ok(GatewayAnswer::Exists(true)),
            },
        };
    }
    Ok(GatewayAnswer::Exists(false))
}
