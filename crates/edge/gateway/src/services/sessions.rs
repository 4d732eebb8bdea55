//! Sessions as the store lists them, with how they stand on the board.

use std::sync::Arc;

use dialect_gateway::results::{Budget, Elevation, SessionConfig};
use dialect_gateway::services::sessions::*;
use dialect_gateway::services::system::{ContextResult, ContextRow};
use dialect_gateway::shape::Nullable;
use dialect_gateway::{GatewayAnswer, GatewayRefusal};
use vocab::{Order, Query, SessionId, Summary};

use super::board::{idle, lane};
use super::{ServiceSettings, SharedServices, lock, refused};

/// Of the frontend that ids without a colon have, too.
const PLAIN_FRONTEND: &str = "ws";

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
    branch: bool,
) -> Result<GatewayAnswer, GatewayRefusal> {
    let store = &services.parts.store;
    let summary = store.summary(session).await.map_err(refused)?;
    let Some(summary) = summary else {
        return match services.board.glance(session) {
            Some(_) => Ok(GatewayAnswer::Entries { entries: Vec::new(), more: false }),
            None => Err(GatewayRefusal::no_session(session)),
        };
    };
    let mut entries = if branch {
        let mut path = store.conversation(session, summary.last_seq).await.map_err(refused)?;
        path.retain(|entry| entry.seq > after);
        path
    } else {
        store.read(session, after, limit.saturating_add(1)).await.map_err(refused)?.entries
    };
    let more = entries.len() > limit;
    entries.truncate(limit);
    Ok(GatewayAnswer::Entries { entries, more })
}

/// The newest `limit` before an entry, and so many before those as `behind` says. Numbers have no gaps, so that the page is read alone and what is older costs nothing.
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

pub(super) async fn list(services: &SharedServices, params: ListParams) -> Result<ListResult, GatewayRefusal> {
    let frontend = params.frontend.map(|frontend| frontend.0);
    let (limit, offset) = (params.limit.size(), params.offset.size());
    let (page, total) = match (params.include_persisted, frontend.as_deref()) {
        (false, frontend) => touched(services, frontend, limit, offset).await?,
        (true, frontend) => saved(services, frontend, limit, offset).await?,
    };
    let (settings, now_ms) = (services.settings(), services.now_ms());
    let sessions = page.iter().map(|summary| row(services, &settings, summary, now_ms)).collect();
    Ok(ListResult { sessions, total })
}

/// What the store has, as it lists it.
async fn saved(
    services: &SharedServices,
    frontend: Option<&str>,
    limit: usize,
    offset: usize,
) -> Result<(Vec<Summary>, u64), GatewayRefusal> {
    let id_prefix = frontend.map(|frontend| format!("{frontend}:"));
    let or_without = (frontend == Some(PLAIN_FRONTEND)).then_some(':');
    let all = Query { id_prefix, or_without, order: Order::LastMessage, ..Query::default() };
    let total = services.parts.store.count(all.clone()).await.map_err(refused)?;
    let page = services.parts.store.list(Query { limit: Some(limit), offset, ..all }).await.map_err(refused)?;
    Ok((page, total))
}

/// Those that were used since the process began. Only what is shown is read.
async fn touched(
    services: &SharedServices,
    frontend: Option<&str>,
    limit: usize,
    offset: usize,
) -> Result<(Vec<Summary>, u64), GatewayRefusal> {
    let unknown = lock(&services.counts.0.touched).unknown();
    for session in unknown {
        // One that is not written yet is not listed.
        if let Some(summary) = services.parts.store.summary(&session).await.map_err(refused)? {
            lock(&services.counts.0.touched).learn(&session, summary.last_message_ms);
        }
    }
    let of = |id: &SessionId| frontend.is_none_or(|it| frontend_and_user(id).0 == it);
    let (shown, total) = lock(&services.counts.0.touched).page(of, limit, offset);
    let mut page = Vec::new();
    for session in shown {
        page.extend(services.parts.store.summary(&session).await.map_err(refused)?);
    }
    Ok((page, total))
}

fn config(settings: &ServiceSettings, summary: &Summary, now_ms: i64) -> SessionConfig {
    let lane = summary.lane.unwrap_or_else(|| (settings.lane)(&summary.id));
    let until_ms = summary.elevated_until_ms.filter(|until| *until > now_ms);
    SessionConfig {
        model_tier: summary.model.clone(),
        queue: (&lane).into(),
        elevation: Elevation { active: until_ms.is_some(), until_ms: Nullable(until_ms) },
    }
}

fn row(services: &SharedServices, settings: &ServiceSettings, summary: &Summary, now_ms: i64) -> SessionRow {
    let (frontend, user) = frontend_and_user(&summary.id);
    SessionRow {
        id: summary.id.to_string(),
        frontend: frontend.to_owned(),
        user_id: user.to_owned(),
        message_count: summary.messages,
        last_message_at: Nullable(summary.last_message_ms),
        config: config(settings, summary, now_ms),
        title: summary.title.clone(),
        lane: services.board.glance(&summary.id).map_or_else(idle, |glance| lane(&glance)),
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
        lane: glance.map(|glance| glance.lane),
        elevated_until_ms: None,
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
    };
    let sessions = match session {
        None => services.board.all().iter().map(|(session, glance)| row(session, glance)).collect(),
        Some(session) => match services.board.glance(&session) {
            Some(glance) => vec![row(&session, &glance)],
            None if is_own || exists(services, &session).await? => Vec::new(),
            None => return Err(GatewayRefusal::no_session(&session)),
        },
    };
    Ok(ContextResult { sessions })
}
