//! One session: whether it is there, its log, its history, its context.

use std::sync::Arc;

use dialect_gateway::results::{Budget, Elevation, SessionConfig};
use dialect_gateway::services::sessions::*;
use dialect_gateway::services::system::{CompactionRow, ContextResult, ContextRow};
use dialect_gateway::shape::Nullable;
use dialect_gateway::{GatewayAnswer, GatewayRefusal};
use vocab::{Body, BranchEntry, Entry, Fault, FaultKind, SessionId, Skim, SkimFor, Summary};

use super::board::{idle, lane};
use super::{ServiceSettings, SharedServices, refused};

/// Entries of a log that are read at once for its newest messages.
const HISTORY_PAGE: u64 = 256;
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
            let read = |after, limit| {
                let page = store.read(&session, after, limit);
                async move { Ok(page.await?.entries) }
            };
            let entries = match newest(read, summary.last_seq, wish).await.map_err(refused)? {
                Some(entries) => entries,
                None => store.conversation(&session, summary.last_seq).await.map_err(refused)?,
            };
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

/// The newest messages of the active path, as many as are wanted and at least one more where there are more. Read from the end,
/// a page at a time: what is older costs nothing. `None`: the path leads to an entry that is not there, and whoever knows about
/// damage has to be asked.
async fn newest<F>(
    read: impl Fn(u64, usize) -> F,
    last_seq: u64,
    wish: HistoryWish,
) -> Result<Option<Vec<Arc<Entry>>>, Fault>
where
    F: Future<Output = Result<Vec<Arc<Entry>>, Fault>>,
{
    let (mut found, mut upto, mut wanted) = (Vec::new(), last_seq, last_seq);
    while wanted > 0 && found.len() <= wish.limit {
        let start = upto.saturating_sub(HISTORY_PAGE);
        let page = read(start, (upto - start) as usize).await?;
        for entry in page.into_iter().rev() {
            if entry.seq == wanted {
                wanted = entry.parent;
                found.extend(wish.takes(&entry).then_some(entry));
            }
        }
        if wanted > start {
            return Ok(None);
        }
        // What stands between is on another branch.
        upto = wanted;
    }
    found.reverse();
    Ok(Some(found))
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use vocab::{Part, UserFrom};

    use super::*;

    /// Every third entry is a message; the parent is the one before unless `parent_of` says otherwise.
    fn log(len: u64, parent_of: impl Fn(u64) -> Option<u64>) -> Vec<Arc<Entry>> {
        let entry = |seq: u64| {
            let body = match seq % 3 {
                0 => Body::User { turn: None, parts: vec![Part::text(seq.to_string())], from: UserFrom::Prompt },
                _ => Body::Branch(BranchEntry::Moved { to: 0 }),
            };
            let parent = parent_of(seq).unwrap_or(seq - 1);
            Arc::new(Entry { seq, parent, at_ms: 0, body, by: None })
        };
        (1..=len).map(entry).collect()
    }

    async fn read_from(log: &[Arc<Entry>], wish: HistoryWish) -> (Option<Vec<Arc<Entry>>>, usize) {
        let read = Cell::new(0);
        let page = |after: u64, limit: usize| {
            let page: Vec<_> = log.iter().filter(|it| it.seq > after).take(limit).cloned().collect();
            read.set(read.get() + page.len());
            std::future::ready(Ok(page))
        };
        let last = log.last().map_or(0, |it| it.seq);
        (newest(page, last, wish).await.unwrap(), read.get())
    }

    #[tokio::test]
    async fn the_newest_message_of_a_long_log_costs_a_page() {
        let wish = HistoryWish { limit: 1, before: None, tools: false };
        let (found, read) = read_from(&log(100_000, |_| None), wish).await;
        assert_eq!(found.unwrap().last().unwrap().seq, 99_999);
        assert!(read <= HISTORY_PAGE as usize, "{read} entries were read");
    }

    #[tokio::test]
    async fn a_history_from_the_end_is_that_of_the_whole_conversation() {
        // From 1,500 on it goes on behind 700, and once more behind 650.
        let branches = |seq| match seq {
            1_500 => Some(700),
            1_600 => Some(650),
            _ => None,
        };
        for (len, has_branches) in [(0, false), (1, false), (2_000, false), (2_000, true)] {
            let log = log(len, |seq| branches(seq).filter(|_| has_branches));
            let whole = vocab::conversation(&log);
            for limit in [0, 1, 7, 120, 133, 500, 5_000] {
                for before in [None, Some(1), Some(655), Some(1_601)] {
                    let wish = HistoryWish { limit, before, tools: true };
                    let (found, _) = read_from(&log, wish).await;
                    let (rows, more) = history(&found.unwrap(), wish);
                    let (wanted, wanted_more) = history(&whole, wish);
                    let numbers = |rows: &[HistoryRow]| rows.iter().map(|it| it.seq).collect::<Vec<_>>();
                    assert_eq!((numbers(&rows), more), (numbers(&wanted), wanted_more), "{wish:?}");
                }
            }
        }
    }

    #[tokio::test]
    async fn a_path_into_nothing_is_said() {
        let mut damaged = log(600, |_| None);
        damaged.remove(299);
        let wish = HistoryWish { limit: 500, before: None, tools: false };
        assert_eq!(read_from(&damaged, wish).await.0, None);
    }
}
