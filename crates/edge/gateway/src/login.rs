//! Logging in, in the middle of a conversation.

use std::sync::{Arc, Mutex, PoisonError};

use dialect_gateway::Scopes;
use dialect_gateway::services::access::AttemptKind;
use host::PrincipalCell;
use vocab::Secret;

use crate::attempts::CameFrom;
use crate::failures::Guesser;
use crate::places::StrangerPlace;
use crate::sockets::SocketEntry;
use crate::state::ServerState;

/// Why a login came to nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoginRefused {
    Wrong,
    /// The connection belongs to another token; what it does is audited under that name.
    Taken,
    /// Too many were wrong lately.
    TooMany {
        retry_after_ms: u64,
    },
}

/// Where one connection logs in.
#[derive(Clone)]
pub struct LoginDesk {
    pub(crate) state: Arc<ServerState>,
    pub(crate) guesser: Guesser,
    pub(crate) came: Arc<CameFrom>,
    pub(crate) principal: PrincipalCell,
    pub(crate) socket: Option<Arc<SocketEntry>>,
    /// Given back when somebody is known.
    pub(crate) place: Arc<Mutex<Option<StrangerPlace>>>,
}

impl LoginDesk {
    /// Whose token this is: a name, and what they may do. From then on the connection is theirs, and the engine is told so.
    /// It stays theirs: a peer of the engine has one name.
    pub fn login(&self, token: &Secret) -> Result<(Arc<str>, Scopes), LoginRefused> {
        let known = self.state.token_of(token, &self.guesser, &self.came, AttemptKind::Message)?;
        // Whoever is known by their place may take a token on top: they stay who they are.
        if self.principal.get().is_some_and(|it| it.is_token() && *it != known.principal) {
            return Err(LoginRefused::Taken);
        }
        if let Some(socket) = &self.socket {
            socket.belongs_to(&known);
        }
        self.principal.set(known.principal);
        self.place.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok((known.name, known.scopes))
    }
}
