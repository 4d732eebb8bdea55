//! Where the last process ended, the next one goes on.

use std::sync::Arc;

use engine::Engine;
use vocab::{Query, Store};

/// Sessions taken up at once after a start.
const TAKEN_UP_AT_ONCE: usize = 8;
/// Unfinished sessions that are looked for after a start; more than that were never at work at once.
const UNFINISHED_MAX: usize = 10_000;

/// What the last process left unfinished goes on, from the oldest on. Several are taken up at once, so neighbours among those
/// that wait for a place may change theirs.
pub async fn take_up(engine: Engine, store: Arc<dyn Store>) {
    let query = Query { unfinished: true, children: false, limit: Some(UNFINISHED_MAX), ..Query::default() };
    let found = match store.list(query).await {
        Ok(found) => found,
        Err(fault) => return host::note(&format!("what was unfinished cannot be found: {}", fault.message)),
    };
    // The list has the newest first.
    let mut left = found.into_iter().rev();
    let mut under_way = tokio::task::JoinSet::new();
    loop {
        while under_way.len() < TAKEN_UP_AT_ONCE {
            let Some(summary) = left.next() else { break };
            let engine = engine.clone();
            under_way.spawn(async move { (engine.take_up(&summary.id).await, summary.id) });
        }
        match under_way.join_next().await {
            None => return,
            Some(Ok((Err(fault), session))) => {
                host::note(&format!("session {session} stays where it is: {}", fault.message))
            }
            Some(_) => {}
        }
    }
}
