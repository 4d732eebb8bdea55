//! What a session is about, written down when its context is nearly full: from its log, by rule and not by a model, on the
//! shelf before anybody is told, and gone with its session.

mod text;
mod unasked;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use dialect_gateway::services::memory::*;
use dialect_gateway::shape::Nullable;
use dialect_gateway::{GatewayAnswer, GatewayRefusal};
use serde::{Deserialize, Serialize};
use vocab::{Body, Entry, SessionId, ShelfKind, ShelfPlace, Shelved, TurnId, active_path};

use super::{SharedServices, incident, lock, refused, sessions};

pub(super) use unasked::{FullRuns, writing};

const CHECKPOINT: ShelfKind = ShelfKind { name: "checkpoint", goes_with_session: true };

/// A session has one of this name; each takes the place of the one before.
const NEWEST: &str = "newest";

/// A run ends without its checkpoint where the store takes longer than this.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// Entries from the beginning of a log in which the first message is looked for; behind them there is no such part.
const FIRST_ENTRIES: usize = 64;

/// When checkpoints are written and what they are called.
#[derive(Clone, Debug)]
pub struct CheckpointRules {
    /// How full a context is from which on a run leaves one; `None`: none does.
    pub from_pct: Option<f64>,
    /// Least time between two of one session.
    pub cooldown_ms: i64,
    pub namespace: Arc<str>,
}

/// What is kept of one; its times are the shelf's.
#[derive(Serialize, Deserialize)]
struct KeptCheckpoint {
    namespace: Arc<str>,
    run: Arc<str>,
    seq: u64,
    /// By our clock, which the time between two is measured with.
    at_ms: i64,
    text: Arc<str>,
}

/// `session/checkpoints/ws/a` for the session `ws:a`.
fn namespace(rules: &CheckpointRules, session: &SessionId) -> Arc<str> {
    format!("{}/{}", rules.namespace, session.as_str().replace(':', "/")).into()
}

fn place(session: &SessionId) -> ShelfPlace {
    ShelfPlace { kind: CHECKPOINT, owner: session.as_str().into(), name: NEWEST.into() }
}

/// Of each session one is written at a time; no session waits for another, whose log may be slow to read.
#[derive(Default)]
pub(super) struct CheckpointTurns(Mutex<HashMap<SessionId, Weak<tokio::sync::Mutex<()>>>>);

impl CheckpointTurns {
    fn of(&self, session: &SessionId) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = lock(&self.0);
        turns.retain(|_, turn| turn.strong_count() > 0);
        let turn = turns.get(session).and_then(Weak::upgrade).unwrap_or_default();
        turns.insert(session.clone(), Arc::downgrade(&turn));
        turn
    }
}

/// Behind this run. Several connections may ask for the same one, so it is written once.
pub(super) async fn write(
    services: &SharedServices,
    session: SessionId,
    turn: TurnId,
) -> Result<GatewayAnswer, GatewayRefusal> {
    let written = async {
        let turn_of_session = services.checkpoints.of(&session);
        let _one_at_a_time = turn_of_session.lock().await;
        write_once(services, &session, &turn).await
    };
    let namespace = tokio::time::timeout(WAIT_MAX, written)
        .await
        .unwrap_or_else(|_| Err(incident("store", "a checkpoint was not written in time")))?;
    Ok(GatewayAnswer::Checkpointed { namespace })
}

async fn write_once(
    services: &SharedServices,
    session: &SessionId,
    turn: &TurnId,
) -> Result<Option<Arc<str>>, GatewayRefusal> {
    let rules = services.settings().checkpoints.clone();
    let (shelf, store, now_ms) = (&services.parts.shelf, &services.parts.store, services.now_ms());
    if let Some(kept) = shelf.get(place(session)).await.map_err(refused)?.and_then(|it| read(&it).ok()) {
        if *kept.run == *turn.as_str() {
            return Ok(Some(kept.namespace));
        }
        // A clock that was set back ends the wait, too.
        if (0..rules.cooldown_ms).contains(&(now_ms - kept.at_ms)) {
            return Ok(None);
        }
    }
    let Some(summary) = store.summary(session).await.map_err(refused)? else { return Ok(None) };
    let window = store.window(session, summary.last_seq).await.map_err(refused)?;
    let begins = store.read(session, 0, FIRST_ENTRIES).await.map_err(refused)?.entries;
    let path = active_path(&window.page.entries);
    let lived: Vec<&Arc<Entry>> = window.carried.iter().chain(path).collect();
    let first = begins.iter().find(|entry| matches!(entry.body, Body::User { .. }));
    let text = text::of(&summary, first.map(|entry| &**entry), &lived, &services.parts.keyring);
    let kept = KeptCheckpoint {
        namespace: namespace(&rules, session),
        run: turn.as_str().into(),
        seq: summary.last_seq,
        at_ms: now_ms,
        text: text.into(),
    };
    let payload = serde_json::to_vec(&kept).map_err(|_| incident("internal", "a checkpoint is no JSON"))?;
    shelf.put(place(session), payload.into(), None).await.map_err(refused)?;
    if store.summary(session).await.map_err(refused)?.is_none() {
        // It was deleted meanwhile, and what goes with it went before this came.
        shelf.remove(place(session)).await.map_err(refused)?;
        return Ok(None);
    }
    Ok(Some(kept.namespace))
}

fn read(shelved: &Shelved) -> Result<KeptCheckpoint, GatewayRefusal> {
    serde_json::from_slice(&shelved.payload).map_err(|_| incident("store", "a checkpoint cannot be read"))
}

fn shown(shelved: &Shelved, with_text: bool) -> Result<MemoryEntry, GatewayRefusal> {
    let kept = read(shelved)?;
    Ok(MemoryEntry {
        namespace: kept.namespace,
        session_id: shelved.place.owner.clone(),
        run_id: kept.run,
        seq: kept.seq,
        text: with_text.then_some(kept.text),
        created_at: shelved.created_ms,
        updated_at: shelved.updated_ms,
        version: shelved.version,
    })
}

pub(super) async fn get(
    services: &SharedServices,
    session: SessionId,
    is_own: bool,
) -> Result<MemoryAnswer, GatewayRefusal> {
    if !is_own && !sessions::exists(services, &session).await? {
        return Err(GatewayRefusal::no_session(&session));
    }
    let found = services.parts.shelf.get(place(&session)).await.map_err(refused)?;
    let entry = found.map(|found| shown(&found, true)).transpose()?;
    Ok(MemoryAnswer::Got(Box::new(MemoryGetResult { entry: Nullable(entry) })))
}

pub(super) async fn list(services: &SharedServices, limit: usize) -> Result<MemoryAnswer, GatewayRefusal> {
    let found = services.parts.shelf.list(CHECKPOINT, None, limit).await.map_err(refused)?;
    // One that cannot be read must not hide the others.
    let entries = found.iter().filter_map(|it| shown(it, false).ok()).collect();
    Ok(MemoryAnswer::Listed(MemoryListResult { entries }))
}
