//! Sessions as the store lists them, with how they stand on the board and what they have cost.

use std::collections::HashMap;
use std::path::Path;

use dialect_gateway::GatewayRefusal;
use dialect_gateway::services::sessions::*;
use dialect_gateway::shape::Nullable;
use vocab::{Body, Order, Query, SessionId, Store, Summary};

use super::board::{idle, lane};
use super::sessions::config;
use super::{SharedServices, lock, refused};

/// Of the frontend that ids without a colon have, too.
const PLAIN_FRONTEND: &str = "ws";
/// Of sessions that fit, the newest so many are held against those that were used since the start.
const MATCHES_MAX: usize = 10_000;

pub(super) async fn list(services: &SharedServices, params: ListParams) -> Result<ListResult, GatewayRefusal> {
    let (limit, offset) = (params.limit.size(), params.offset.size());
    let is_narrowed = params.query.is_some() || params.child_of.is_some();
    let (page, total) = match params.include_persisted {
        true => saved(services, wanted(params), limit, offset).await?,
        false if is_narrowed => touched_of(services, wanted(params), limit, offset).await?,
        false => touched(services, params.frontend.as_ref().map(|it| &*it.0), limit, offset).await?,
    };
    Ok(ListResult { sessions: rows(services, &page).await?, total })
}

fn wanted(params: ListParams) -> Query {
    let frontend = params.frontend.map(|frontend| frontend.0);
    let or_without = (frontend.as_deref() == Some(PLAIN_FRONTEND)).then_some(':');
    Query {
        id_prefix: frontend.map(|frontend| format!("{frontend}:")),
        or_without,
        order: Order::LastMessage,
        text: params.query.map(|text| text.0.to_string()),
        children: params.child_of.is_some(),
        child_of: params.child_of.map(|name| name.0),
        ..Query::default()
    }
}

/// What the store has, as it lists it.
async fn saved(
    services: &SharedServices,
    all: Query,
    limit: usize,
    offset: usize,
) -> Result<(Vec<Summary>, u64), GatewayRefusal> {
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
    if !unknown.is_empty() {
        // One that is not written yet is not listed.
        for summary in services.parts.store.summaries(unknown).await.map_err(refused)? {
            lock(&services.counts.0.touched).learn(&summary.id, summary.last_message_ms);
        }
    }
    let of = |id: &SessionId| frontend.is_none_or(|it| frontend_and_user(id).0 == it);
    let (shown, total) = lock(&services.counts.0.touched).page(of, limit, offset);
    Ok((services.parts.store.summaries(shown).await.map_err(refused)?, total))
}

/// Of those that fit, the ones that were used since the process began. Titles are the store's to know.
async fn touched_of(
    services: &SharedServices,
    all: Query,
    limit: usize,
    offset: usize,
) -> Result<(Vec<Summary>, u64), GatewayRefusal> {
    let mut found = services.parts.store.list(Query { limit: Some(MATCHES_MAX), ..all }).await.map_err(refused)?;
    let touched = lock(&services.counts.0.touched);
    found.retain(|summary| touched.has(&summary.id));
    drop(touched);
    let total = found.len() as u64;
    Ok((found.into_iter().skip(offset).take(limit).collect(), total))
}

async fn rows(services: &SharedServices, page: &[Summary]) -> Result<Vec<SessionRow>, GatewayRefusal> {
    let store = &*services.parts.store;
    let used = store.used_by(page.iter().map(|summary| summary.id.clone()).collect()).await.map_err(refused)?;
    let costs: HashMap<&str, Option<f64>> = used.iter().map(|sum| (&*sum.name, sum.cost())).collect();
    let (settings, now_ms) = (services.settings(), services.now_ms());
    let mut rows = Vec::with_capacity(page.len());
    for summary in page {
        let (frontend, user) = frontend_and_user(&summary.id);
        rows.push(SessionRow {
            id: summary.id.to_string(),
            frontend: frontend.to_owned(),
            user_id: user.to_owned(),
            message_count: summary.messages,
            last_message_at: Nullable(summary.last_message_ms),
            config: config(&settings, summary, now_ms),
            title: summary.title.clone(),
            lane: services.board.glance(&summary.id).map_or_else(idle, |glance| lane(&glance)),
            cwd: shown_path(&summary.workspace),
            model: Some(summary.model.clone()).filter(|model| !model.is_empty()),
            created_at: Some(summary.created_ms),
            cost_usd: costs.get(summary.id.as_str()).copied().flatten(),
            parent: parent(store, summary).await?,
        });
    }
    Ok(rows)
}

fn shown_path(path: &Path) -> Option<String> {
    (!path.as_os_str().is_empty()).then(|| path.to_string_lossy().into_owned())
}

/// The first entry of a log says which call the session is for.
async fn parent(store: &dyn Store, summary: &Summary) -> Result<Option<SessionParent>, GatewayRefusal> {
    let Some(parent) = &summary.child_of else { return Ok(None) };
    let first = store.read(&summary.id, 0, 1).await.map_err(refused)?.entries;
    let call = first.first().and_then(|entry| match &entry.body {
        Body::Opened { child_of: Some((_, call)), .. } => Some(call.to_string()),
        _ => None,
    });
    Ok(Some(SessionParent { session_id: parent.to_string(), call_id: call }))
}
