//! The runs behind a sum. The sums name the sessions, the dearest first; their logs are looked through from the end, piece by
//! piece, until no session that is left can have a run that belongs into the answer, or the work is enough.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use dialect_gateway::GatewayRefusal;
use dialect_gateway::services::runs::*;
use tokio::time::Instant;
use vocab::{DAY_MS, FaultKind, SKIM_ENTRIES_MAX, SessionId, Skim, SkimFor, UsageBy, UsageQuery};

use super::reports::days;
use super::{SharedServices, refused};

/// Looks at logs that one answer costs at most; each passes a bounded piece.
const LOOKS_MAX: usize = 400;
/// How long an answer is worked on.
const WORK_MAX: Duration = Duration::from_millis(500);
/// A clock may have jumped: a log is followed so far beyond the first day.
const SLACK_MS: i64 = DAY_MS;

pub(super) async fn runs(
    services: &SharedServices,
    params: UsageRunsParams,
) -> Result<UsageRunsResult, GatewayRefusal> {
    let (from, to) = days(services, params.from.as_ref(), params.to.as_ref())?;
    let wish = RunWish {
        from_ms: from.saturating_mul(DAY_MS),
        to_ms: to.saturating_add(1).saturating_mul(DAY_MS),
        model: params.model.map(|model| model.0),
    };
    let (limit, session) = (params.limit.size(), params.session_id.map(|name| name.0));
    let query = UsageQuery { by: UsageBy::Session, from, to, session };
    let sums = services.parts.store.usage(query).await.map_err(refused)?;
    let mut work = Work { services, wish: &wish, looks: 0, until: Instant::now() + WORK_MAX };
    let (mut found, mut truncated) = (Vec::<(SessionId, RunRead)>::new(), false);
    for sum in &sums {
        // No run is larger than all of its session.
        let largest = (sum.cost_nanos, sum.usage.context());
        if found.len() >= limit && found[limit - 1].1.weight() >= largest {
            truncated = true;
            break;
        }
        let session = SessionId::from(&*sum.name);
        let (runs, is_whole) = work.of(&session).await?;
        found.extend(runs.into_iter().map(|run| (session.clone(), run)));
        found.sort_by(|(_, one), (_, two)| two.weight().cmp(&one.weight()).then_with(|| two.at_ms.cmp(&one.at_ms)));
        truncated |= !is_whole || found.len() > limit;
        found.truncate(limit);
        if work.is_enough() {
            truncated |= sums.last().is_some_and(|last| last.name != sum.name);
            break;
        }
    }
    Ok(UsageRunsResult { runs: shown(services, found).await?, truncated })
}

/// What is being done for one answer.
struct Work<'a> {
    services: &'a SharedServices,
    wish: &'a RunWish,
    looks: usize,
    until: Instant,
}

impl Work<'_> {
    fn is_enough(&self) -> bool {
        self.looks >= LOOKS_MAX || Instant::now() >= self.until
    }

    /// The runs of a session, and whether these are all. What is deleted has none any more.
    async fn of(&mut self, session: &SessionId) -> Result<(Vec<RunRead>, bool), GatewayRefusal> {
        let mut fold = RunFold::new(self.wish, self.services.parts.prices.clone());
        let mut before = None;
        let is_whole = loop {
            if self.is_enough() {
                break false;
            }
            self.looks += 1;
            let look = Skim { what: SkimFor::Runs, before, limit: SKIM_ENTRIES_MAX };
            let piece = match self.services.parts.store.skim(session, look).await {
                Ok(piece) => piece,
                Err(fault) if fault.kind == FaultKind::UnknownSession => return Ok((Vec::new(), true)),
                Err(fault) => return Err(refused(fault)),
            };
            let is_past = piece.entries.last().is_some_and(|oldest| oldest.at_ms < self.wish.from_ms - SLACK_MS);
            piece.entries.iter().for_each(|entry| fold.take(entry));
            match piece.older {
                Some(older) if !is_past => before = Some(older),
                _ => break true,
            }
        };
        Ok((fold.finish(is_whole), is_whole))
    }
}

async fn shown(services: &SharedServices, found: Vec<(SessionId, RunRead)>) -> Result<Vec<UsageRun>, GatewayRefusal> {
    let mut titles = HashMap::<SessionId, Option<Arc<str>>>::new();
    let mut runs = Vec::with_capacity(found.len());
    for (session, run) in found {
        let title = match titles.get(&session) {
            Some(title) => title.clone(),
            None => {
                let summary = services.parts.store.summary(&session).await.map_err(refused)?;
                let title = summary.and_then(|summary| summary.title);
                titles.entry(session.clone()).or_insert(title).clone()
            }
        };
        runs.push(run.shown(session.to_string(), title));
    }
    Ok(runs)
}
