//! One session: whether it is there, its log, its history, its context.

use std::sync::Arc;

use dialect_gateway::results::{Budget, Elevation, SessionConfig};
use dialect_gateway::services::sessions::*;
use dialect_gateway::services::system::{CompactionRow, ContextResult, ContextRow};
use dialect_gateway::shape::Nullable;
use dialect_gateway::{GatewayAnswer, GatewayRefusal};
use vocab::{Body, BranchEntry, FaultKind, SessionId, Skim, SkimFor, Summary};

use super::board::{idle, lane};
use super::{ServiceSettings, SharedServices, refused};

/// Compactions of a session that are told.
const COMPACTIONS_MAX: usize = 50;
/// Looks at its log for them, each at some thousand entries.
const COMPACTION_LOOKS_MAX: usize = 25;

/// In memory, or saved.
pub(super) async fn exists(services: &SharedServices, session: &SessionId) -> Result<bool, GatewayRefusal> {
    if services.board.glance(session).is_some() {
        return Ok(true);
    }
    Ok(services.parts.store.summary(session).await.map_err(refused)?.is_some())
}

pub(super) async fn read(
    services: &SharedServices,
    session: &SessionId,
    after: u64,
    limit: usize,
) -> Result<GatewayAnswer, GatewayRefusal> {
    let store = &services.parts.store;
    if store.summary(session).await.map_err(refused)?.is_none() {
        return match services.board.glance(session) {
            Some(_) => Ok(GatewayAnswer::Entries { entries: Vec::new(), more: false }),
            None => Err(GatewayRefusal::no_session(session)),
        };
    }
    let mut entries = store.read(session, after, limit.saturating_add(1)).await.map_err(refused)?.entries;
    let more = entries.len() > limit;
    entries.truncate(limit);
    Ok(GatewayAnswer::Entries { entries, more })
}

/// The newest `limit` before an entry, and so many before those as `behind` says. Numbers have no gaps, so that the page is
/// read alone and what is older costs nothing.
pub(super) async fn read_before(
    services: &SharedServices,
    session: &SessionId,
    before: u64,
    (limit, behind): (usize, u64),
) -> Result<GatewayAnswer, GatewayRefusal> {
    let store = &services.parts.store;
    let Some(summary) = store.summary(session).await.map_err(refused)? else {
        return match services.board.glance(session) {
            Some(_) => Ok(GatewayAnswer::EntriesBefore { entries: Vec::new(), first: 1 }),
            None => Err(GatewayRefusal::no_session(session)),
        };
    };
    let last = before.saturating_sub(1).min(summary.last_seq);
    let after = last.saturating_sub(limit as u64);
    let start = after.saturating_sub(behind);
    let mut entries = store.read(session, start, (last - start) as usize).await.map_err(refused)?.entries;
    // What is damaged is left out, and then something behind the page would fill it.
    entries.retain(|entry| entry.seq <= last);
    Ok(GatewayAnswer::EntriesBefore { entries, first: after + 1 })
}

pub(super) fn config(settings: &ServiceSettings, summary: &Summary, now_ms: i64) -> SessionConfig {
    let lane = summary.lane.over((settings.lane)(&summary.id));
    let until_ms = summary.elevated_until_ms.filter(|until| *until > now_ms);
    SessionConfig {
        model_tier: summary.model_called.as_ref().unwrap_or(&summary.model).clone(),
        queue: (&lane).into(),
        elevation: Elevation { active: until_ms.is_some(), until_ms: Nullable(until_ms) },
    }
}

pub(super) async fn get(
    services: &SharedServices,
    session: SessionId,
    is_own: bool,
    wish: HistoryWish,
) -> Result<GetResult, GatewayRefusal> {
    let store = &services.parts.store;
    let glance = services.board.glance(&session);
    let summary = store.summary(&session).await.map_err(refused)?;
    let (summary, entries) = match summary {
        Some(summary) => {
            let entries = store.conversation(&session, summary.last_seq).await.map_err(refused)?;
            (summary, entries)
        }
        None if is_own || glance.is_some() => (unwritten(services, &session, glance.as_deref()), Vec::new()),
        None => return Err(GatewayRefusal::no_session(&session)),
    };
    let (history, history_truncated) = history(&entries, wish);
    let (frontend, user) = frontend_and_user(&session);
    Ok(GetResult {
        created_at: vocab::iso8601(summary.created_ms),
        last_active_at: vocab::iso8601(summary.updated_ms),
        history,
        frontend: frontend.to_owned(),
        user_id: user.to_owned(),
        message_count: summary.messages,
        history_truncated,
        config: config(&services.settings(), &summary, services.now_ms()),
        lane: glance.map_or_else(idle, |glance| lane(&glance)),
        title: summary.title.clone(),
        id: session.to_string(),
    })
}

/// A session of which nothing is on the disk: a name, and perhaps how it stands.
fn unwritten(services: &SharedServices, session: &SessionId, glance: Option<&vocab::Glance>) -> Summary {
    let now_ms = services.now_ms();
    Summary {
        id: session.clone(),
        workspace: std::path::PathBuf::new(),
        model: glance.map_or_else(|| Arc::from("default"), |glance| glance.model.clone()),
        mode: glance.map_or(vocab::Mode::Prompt, |glance| glance.mode),
        title: None,
        thinking: None,
        preview: None,
        created_ms: now_ms,
        updated_ms: now_ms,
        messages: 0,
        turns: 0,
        last_seq: 0,
        usage: vocab::Usage::default(),
        child_of: None,
        last_message_ms: None,
        lane: glance.map(|glance| glance.lane.into()).unwrap_or_default(),
        elevated_until_ms: None,
        model_called: None,
    }
}

pub(super) async fn context(
    services: &SharedServices,
    session: Option<SessionId>,
    is_own: bool,
) -> Result<ContextResult, GatewayRefusal> {
    let threshold = services.settings().threshold_pct;
    let row = |session: &SessionId, glance: &vocab::Glance| ContextRow {
        session_id: session.to_string(),
        budget: Budget::of(glance.context_tokens, glance.context_window, threshold),
        title: glance.title.clone(),
        model: Some(glance.model.clone()).filter(|model| !model.is_empty()),
    };
    let compactions = match &session {
        Some(session) => compactions(services, session).await?,
        None => None,
    };
    let sessions = match session {
        None => services.board.all().iter().map(|(session, glance)| row(session, glance)).collect(),
        Some(session) => match services.board.glance(&session) {
            Some(glance) => vec![row(&session, &glance)],
            None if is_own || compactions.is_some() => Vec::new(),
            None => return Err(GatewayRefusal::no_session(&session)),
        },
    };
    Ok(ContextResult { sessions, compactions })
}

/// The newest ones of a session that is kept. They are rare: of a log that is longer only the end is looked at.
async fn compactions(
    services: &SharedServices,
    session: &SessionId,
) -> Result<Option<Vec<CompactionRow>>, GatewayRefusal> {
    let (mut rows, mut before) = (Vec::new(), None);
    for _ in 0..COMPACTION_LOOKS_MAX {
        let look = Skim { what: SkimFor::Compactions, before, limit: COMPACTIONS_MAX - rows.len() };
        let piece = match services.parts.store.skim(session, look).await {
            Ok(piece) => piece,
            Err(fault) if fault.kind == FaultKind::UnknownSession => return Ok(None),
            Err(fault) => return Err(refused(fault)),
        };
        rows.extend(piece.entries.iter().filter_map(|entry| match &entry.body {
            Body::Branch(BranchEntry::Compacted(it)) => Some(CompactionRow {
                at: entry.at_ms,
                seq: entry.seq,
                tokens_before: it.tokens_before,
                tokens_after: it.tokens_after,
            }),
            _ => None,
        }));
        before = piece.older;
        if before.is_none() || rows.len() >= COMPACTIONS_MAX {
            break;
        }
    }
    Ok(Some(rows))
}
