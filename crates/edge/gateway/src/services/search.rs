//! Looks for a text in what was said: sessions with the newest message first, each from its end, a bounded piece of a log at a
//! time, and so much for one answer. Reading is done by those who read; nobody who writes waits for it.

use std::time::Duration;

use dialect_gateway::GatewayRefusal;
use dialect_gateway::services::search::*;
use tokio::time::Instant;
use vocab::{FaultKind, Needle, Order, Query, SKIM_ENTRIES_MAX, SessionId, Skim, SkimFor, Summary};

use super::{SharedServices, refused};

/// Messages that are read for one answer, about.
const SEARCH_ENTRIES_MAX: usize = 20_000;
/// Looks at logs for one answer, each at a bounded piece.
const SEARCH_LOOKS_MAX: usize = 2_000;
/// How long an answer is worked on.
const SEARCH_TIME_MAX: Duration = Duration::from_millis(250);
/// Sessions that are listed at once.
const SESSIONS_PAGE: usize = 200;

pub(super) async fn search(
    services: &SharedServices,
    text: &str,
    limit: usize,
    after: Option<SearchPlace>,
) -> Result<SearchResult, GatewayRefusal> {
    let mut search = MessageSearch {
        services,
        needle: Needle::new(text),
        limit,
        hits: Vec::new(),
        entries: 0,
        looks: 0,
        until: Instant::now() + SEARCH_TIME_MAX,
    };
    let place = search.run(after).await?;
    let cursor = place.as_ref().map(SearchPlace::to_text);
    Ok(SearchResult { hits: search.hits, complete: cursor.is_none(), cursor })
}

/// One answer that is worked on.
struct MessageSearch<'a> {
    services: &'a SharedServices,
    needle: Needle,
    limit: usize,
    hits: Vec<SearchHit>,
    entries: usize,
    looks: usize,
    until: Instant,
}

impl MessageSearch<'_> {
    fn is_enough(&self) -> bool {
        self.hits.len() >= self.limit
            || self.entries >= SEARCH_ENTRIES_MAX
            || self.looks >= SEARCH_LOOKS_MAX
            || Instant::now() >= self.until
    }

    /// Where to go on; `None`: everything was looked through.
    async fn run(&mut self, after: Option<SearchPlace>) -> Result<Option<SearchPlace>, GatewayRefusal> {
        let mut behind = None;
        if let Some(place) = after {
            if let Some(before) = place.before
                && let Some(left) = self.go_on(&place, before).await?
            {
                return Ok(Some(left));
            }
            behind = Some((place.last_message_ms, place.session));
        }
        loop {
            let page = self.sessions(behind.clone()).await?;
            let is_last = page.len() < SESSIONS_PAGE;
            for summary in page {
                let Some(last_message_ms) = summary.last_message_ms else { continue };
                let place = |(last_message_ms, session), before| SearchPlace { last_message_ms, session, before };
                // One look at least for each answer, so that whoever goes on gets on.
                if let Some(done) = behind.clone().filter(|_| self.looks > 0 && self.is_enough()) {
                    return Ok(Some(place(done, None)));
                }
                if let Some(before) = self.look_through(&summary, None).await? {
                    return Ok(Some(place((last_message_ms, summary.id), Some(before))));
                }
                behind = Some((last_message_ms, summary.id.clone()));
            }
            if is_last {
                return Ok(None);
            }
        }
    }

    /// The rest of the session that the last answer ended in; it may be gone.
    async fn go_on(&mut self, place: &SearchPlace, before: u64) -> Result<Option<SearchPlace>, GatewayRefusal> {
        let summary = self.services.parts.store.summary(&place.session).await.map_err(refused)?;
        let Some(summary) = summary else { return Ok(None) };
        let left = self.look_through(&summary, Some(before)).await?;
        Ok(left.map(|before| SearchPlace { before: Some(before), ..place.clone() }))
    }

    async fn sessions(&self, behind: Option<(i64, SessionId)>) -> Result<Vec<Summary>, GatewayRefusal> {
        let query = Query {
            non_empty: true,
            children: true,
            order: Order::LastMessage,
            limit: Some(SESSIONS_PAGE),
            behind,
            ..Query::default()
        };
        self.services.parts.store.list(query).await.map_err(refused)
    }

    /// From the end, or before this entry. Where it was left; `None`: it was looked through.
    async fn look_through(
        &mut self,
        summary: &Summary,
        mut before: Option<u64>,
    ) -> Result<Option<u64>, GatewayRefusal> {
        loop {
            self.looks += 1;
            let look = Skim { what: SkimFor::Messages, before, limit: SKIM_ENTRIES_MAX };
            let piece = match self.services.parts.store.skim(&summary.id, look).await {
                Ok(piece) => piece,
                // Somebody has deleted it meanwhile.
                Err(fault) if fault.kind == FaultKind::UnknownSession => return Ok(None),
                Err(fault) => return Err(refused(fault)),
            };
            self.entries += piece.entries.len();
            for entry in &piece.entries {
                let Some((role, snippet)) = found_in(entry, &self.needle) else { continue };
                self.hits.push(SearchHit {
                    session_id: summary.id.to_string(),
                    title: summary.title.clone(),
                    seq: entry.seq,
                    at: entry.at_ms,
                    role,
                    snippet,
                });
                if self.hits.len() >= self.limit {
                    return Ok(Some(entry.seq));
                }
            }
            let Some(older) = piece.older else { return Ok(None) };
            if self.is_enough() {
                return Ok(Some(older));
            }
            before = Some(older);
        }
    }
}
