//! Where the last process ended, the next one goes on.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use engine::{Engine, TurnsHeld};
use vocab::{Fault, FaultKind, Query, SessionId, Settings, Store};

/// Sessions taken up at once after a start.
const TAKEN_UP_AT_ONCE: usize = 8;
/// Unfinished sessions that are looked for after a start; more than that were never at work at once.
const UNFINISHED_MAX: usize = 10_000;

/// Wait before asking the store again; doubled each time up to `RETRY_WAIT_MAX`.
const RETRY_WAIT: Duration = Duration::from_secs(1);
const RETRY_WAIT_MAX: Duration = Duration::from_secs(60);

/// No longer than this a new message waits for old ones to get in line before it.
const HELD_MAX: Duration = Duration::from_secs(5);

/// What a session starts with beside what its log says: the rules of its lane may be for it alone.
pub type UsualOf = Arc<dyn Fn(&SessionId) -> Option<Arc<Settings>> + Send + Sync>;

/// What the last process left unfinished goes on. Where turns have a bound none begins, from this call on, before all that
/// waited are in line again in their order.
pub fn take_up(engine: Engine, store: Arc<dyn Store>, usual: UsualOf) -> impl Future<Output = ()> + Send {
    let held = engine.hold_turns();
    let expiry = held.expire(HELD_MAX);
    let expiry = async move {
        if expiry.await {
            host::note("what waited takes long to read: new messages may run before it");
        }
    };
    let taking_up = take_up_all(engine, store, usual, held);
    async move {
        tokio::join!(taking_up, expiry);
    }
}

async fn take_up_all(engine: Engine, store: Arc<dyn Store>, usual: UsualOf, held: TurnsHeld) {
    let mut waits = RetryWaits(RETRY_WAIT);
    let mut held = held;
    let mut left = loop {
        match unfinished(&store).await {
            Ok(found) => break found,
            Err(fault) => host::note(&format!("what was unfinished cannot be found yet: {}", fault.message)),
        }
        waits.next().await;
    };
    let mut noted = HashSet::new();
    loop {
        left = take_up_these(&engine, &usual, left, &held, &mut noted).await;
        if left.is_empty() {
            return;
        }
        // Others do not wait for them.
        held = TurnsHeld::default();
        waits.next().await;
    }
}

/// The oldest first.
async fn unfinished(store: &Arc<dyn Store>) -> Result<Vec<SessionId>, Fault> {
    let query = Query { unfinished: true, children: false, limit: Some(UNFINISHED_MAX), ..Query::default() };
    // The list has the newest first.
    Ok(store.list(query).await?.into_iter().rev().map(|summary| summary.id).collect())
}

/// Gives back those that the store would not give: another process may have kept it locked.
async fn take_up_these(
    engine: &Engine,
    usual: &UsualOf,
    sessions: Vec<SessionId>,
    held: &TurnsHeld,
    noted: &mut HashSet<SessionId>,
) -> Vec<SessionId> {
    let mut left = sessions.into_iter();
    let (mut under_way, mut again) = (tokio::task::JoinSet::new(), Vec::new());
    loop {
        while under_way.len() < TAKEN_UP_AT_ONCE {
            let Some(session) = left.next() else { break };
            let (engine, usual, held) = (engine.clone(), usual(&session), held.clone());
            under_way.spawn(async move { (engine.take_up(&session, usual, held).await, session) });
        }
        let (fault, session) = match under_way.join_next().await {
            None => return again,
            Some(Ok((Err(fault), session))) => (fault, session),
            Some(_) => continue,
        };
        let is_to_try_again = fault.kind == FaultKind::Store;
        if noted.insert(session.clone()) {
            let then = if is_to_try_again { "cannot be taken up yet" } else { "stays where it is" };
            host::note(&format!("session {session} {then}: {}", fault.message));
        }
        if is_to_try_again {
            again.push(session);
        }
    }
}

/// How long until the next try: twice as long each time.
struct RetryWaits(Duration);

impl RetryWaits {
    async fn next(&mut self) {
        tokio::time::sleep(self.0).await;
        self.0 = (self.0 * 2).min(RETRY_WAIT_MAX);
    }
}

#[cfg(test)]
mod tests {
    use testkit::Stage;
    use testkit::faulty::FaultyStore;
    use testkit::stage::StageOptions;
    use vocab::{Delivery, OnRestart, Open, Which};

    use super::*;

    fn stage(store: &Arc<FaultyStore>) -> Stage {
        let tune = |settings: &mut Settings| settings.on_restart = OnRestart::Continue;
        Stage::new(StageOptions { store: store.clone(), tune: Box::new(tune), ..StageOptions::default() })
    }

    #[tokio::test(start_paused = true)]
    async fn what_the_store_would_not_give_is_taken_up_later() {
        let store = Arc::new(FaultyStore::new(Arc::new(store::MemoryStore::new())));
        let first = stage(&store);
        for id in ["s1", "s2", "s3"] {
            let mut actor = first.actor();
            actor.open(Open::new(Which::Named(id.into()))).await.unwrap();
            let tag = actor.deliver("hang", Delivery::Enqueue).await;
            actor.reply(tag).await.unwrap();
        }
        first.engine.shutdown().await;
        store.owner_died().await;
        let next = stage(&store);
        store.fail_acquire(2);
        let taking_up = tokio::spawn(take_up(next.engine.clone(), store.clone(), Arc::new(|_| None)));
        tokio::time::sleep(RETRY_WAIT / 2).await;
        assert_eq!(next.engine.live().len(), 2, "one is not given");
        tokio::time::sleep(RETRY_WAIT).await;
        assert_eq!(next.engine.live().len(), 3);
        taking_up.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_log_that_cannot_be_read_is_told_with_its_session_and_why() {
        let store = Arc::new(FaultyStore::new(Arc::new(store::MemoryStore::new())));
        let first = stage(&store);
        let mut actor = first.actor();
        actor.open(Open::new(Which::Named("s1".into()))).await.unwrap();
        let tag = actor.deliver("hang", Delivery::Enqueue).await;
        actor.reply(tag).await.unwrap();
        first.engine.shutdown().await;
        store.owner_died().await;
        let next = stage(&store);
        store.fail_read(1);
        let told = next.engine.take_up(&"s1".into(), None, TurnsHeld::default()).await.unwrap_err();
        assert_eq!(told.kind, FaultKind::Store, "{told}");
        // It goes on by itself when it can be read, and who asks then hears nothing bad.
        tokio::time::sleep(RETRY_WAIT_MAX).await;
        next.engine.take_up(&"s1".into(), None, TurnsHeld::default()).await.unwrap();
    }
}
