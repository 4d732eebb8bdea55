//! Where the last process ended, the next one goes on.

use std::sync::Arc;
use std::time::Duration;

use engine::{Engine, TurnsHeld};
use vocab::{Query, Store};

/// Sessions taken up at once after a start.
const TAKEN_UP_AT_ONCE: usize = 8;
/// Unfinished sessions that are looked for after a start; more than that were never at work at once.
const UNFINISHED_MAX: usize = 10_000;

/// No longer than this a new message waits for old ones to get in line before it.
const HELD_MAX: Duration = Duration::from_secs(5);

/// What the last process left unfinished goes on. Where turns have a bound none begins, from this call on, before all that
/// waited are in line again in their order.
pub fn take_up(engine: Engine, store: Arc<dyn Store>) -> impl Future<Output = ()> + Send {
    let held = engine.hold_turns();
    let expiry = held.expire(HELD_MAX);
    let expiry = async move {
        if expiry.await {
            host::note("what waited takes long to read: new messages may run before it");
        }
    };
    let taking_up = take_up_all(engine, store, held);
    async move {
        tokio::join!(taking_up, expiry);
    }
}

async fn take_up_all(engine: Engine, store: Arc<dyn Store>, held: TurnsHeld) {
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
            let (engine, held) = (engine.clone(), held.clone());
            under_way.spawn(async move { (engine.take_up(&summary.id, held).await, summary.id) });
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
