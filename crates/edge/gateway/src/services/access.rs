//! Who is connected and who tried to, for operators. The server knows; it is there once it runs.

use std::sync::Arc;

use dialect_gateway::GatewayRefusal;
use dialect_gateway::services::access::*;
use vocab::{Deed, Principal};

use super::{SharedServices, refused};
use crate::state::ServerState;

/// Connections that are listed.
const CONNECTIONS_SHOWN_MAX: usize = 1_000;
/// What a connection is told that an operator ends.
const SHOWN_OUT: &str = "an operator has closed this connection";

pub(super) async fn carry_out(
    services: &SharedServices,
    own: &str,
    by: Option<Principal>,
    call: AccessCall,
) -> Result<AccessAnswer, GatewayRefusal> {
    if let AccessCall::Close { connection } = &call
        && server(services)?.has_connection(connection)
    {
        let by = by.unwrap_or_else(|| Principal::controller("gateway"));
        let detail = Some(vocab::visible::visible_line(connection).into());
        let deed = Deed { by, action: "system.closeConnection", detail };
        services.parts.store.record(deed).await.map_err(refused)?;
    }
    told(services, own, call)
}

fn server(services: &SharedServices) -> Result<Arc<ServerState>, GatewayRefusal> {
    let server = services.server.get().and_then(std::sync::Weak::upgrade);
    server.ok_or_else(|| GatewayRefusal::internal("unavailable", "there is no server here"))
}

fn told(services: &SharedServices, own: &str, call: AccessCall) -> Result<AccessAnswer, GatewayRefusal> {
    let server = server(services)?;
    // The server counts from its own beginning.
    let (now_ms, server_ms) = (services.now_ms(), server.now_ms());
    let ms_of = |at_ms: u64| now_ms - i64::try_from(server_ms.saturating_sub(at_ms)).unwrap_or(0);
    Ok(match call {
        AccessCall::Connections => {
            let (total, found) = server.sockets.list(CONNECTIONS_SHOWN_MAX);
            let row = |(facts, since_ms): (crate::sockets::SocketFacts, u64)| ConnectionRow {
                is_self: *facts.connection == *own,
                connection_id: facts.connection,
                name: Some(facts.name).filter(|name| !name.is_empty()),
                scopes: facts.scopes.words(),
                peer: facts.came.peer.to_string(),
                path: facts.came.path.clone(),
                since: ms_of(since_ms),
                credential: facts.credential,
            };
            let connections = found.into_iter().map(row).collect();
            AccessAnswer::Connections(ConnectionsResult { connections, total: total as u64 })
        }
        AccessCall::Close { connection } => {
            let had_sockets = server.sockets.show_out(&connection, SHOWN_OUT);
            // What is spoken over HTTP lives on without its streams, unless it is ended, too.
            let was_spoken = server.acp.end(&connection);
            AccessAnswer::Closed(had_sockets || was_spoken)
        }
        AccessCall::Attempts { limit } => {
            let row = |attempt: crate::attempts::Attempt| AttemptRow {
                at: ms_of(attempt.at_ms),
                peer: attempt.from.peer.to_string(),
                origin: attempt.from.origin,
                path: attempt.from.path,
                kind: attempt.kind,
                ok: attempt.ok,
            };
            AccessAnswer::Attempts(AttemptsResult { attempts: server.attempts(limit).into_iter().map(row).collect() })
        }
    })
}

impl super::GatewayService {
    /// The server runs: from now on operators see who is connected to it.
    pub fn is_served_by(&self, running: &crate::ServerHandle) {
        let _ = self.0.server.set(Arc::downgrade(running.state()));
    }
}
