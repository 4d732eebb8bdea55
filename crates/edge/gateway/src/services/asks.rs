//! Questions of all sessions: what was asked and has no answer yet, from what was written to logs, and from the logs that an
//! earlier process has left. News of them go to who listens to `asks`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use dialect_gateway::services::asks::{ASKS_LISTED_MAX, AskDoneData, AskRow, AskedIn, is_asked_here};
use dialect_gateway::{GatewayRefusal, Topic};
use tokio::sync::mpsc;
use vocab::{Ask, AskEnd, AskEntry, AskId, Body, Entry, Fault, Query, SessionId, Summary};

use super::news::NewsLog;
use super::{SharedServices, json, lock, refused, sessions};

/// Questions that are known at once; one more is not listed.
const ASKS_KNOWN_MAX: usize = 10_000;
/// Sessions that an earlier process has left with something to do, of which questions are looked for.
const LEFT_SESSIONS_MAX: usize = 1_000;
/// Ends that are remembered while those are read.
const ENDED_MAX: usize = 10_000;
/// Questions that wait to be told; one more is not.
const UNTOLD_MAX: usize = 1_024;

/// Who is told of questions.
struct AskListeners {
    /// Questions that are told once it is known what stands beside them. One more than it takes is not: who misses it finds it in
    /// the list.
    opened: mpsc::Sender<(SessionId, Arc<Entry>)>,
    /// Ends are told at once, so that none is missed: who missed one would go on showing a question that nobody can answer.
    news: Arc<NewsLog>,
}

/// Open questions by their sessions.
#[derive(Default)]
pub(super) struct AskBook {
    open: HashMap<SessionId, AsksOfSession>,
    count: usize,
    /// Questions that ended while the logs of earlier processes are still being read; `Read` afterwards.
    ended: EndedEarly,
    listeners: Option<AskListeners>,
}

#[derive(Default)]
struct AsksOfSession {
    /// The entries that opened them.
    asks: Vec<Arc<Entry>>,
    /// The newest entry of the log that was looked at.
    seen: u64,
}

enum EndedEarly {
    Reading(HashSet<AskId>),
    Read,
}

impl Default for EndedEarly {
    fn default() -> Self {
        EndedEarly::Reading(HashSet::new())
    }
}

impl AskBook {
    /// These are in the log now.
    pub(super) fn written(&mut self, session: &SessionId, entries: &[Arc<Entry>]) {
        for entry in entries {
            match &entry.body {
                Body::Ask(AskEntry::Opened(ask)) if is_asked_here(ask) && self.insert(session, entry) => {
                    if let Some(to) = &self.listeners {
                        let _ = to.opened.try_send((session.clone(), entry.clone()));
                    }
                }
                Body::Ask(AskEntry::Closed { ask, .. }) => self.close(session, ask, entry),
                _ => {}
            }
        }
        if let (Some(of), Some(last)) = (self.open.get_mut(session), entries.last()) {
            of.seen = of.seen.max(last.seq);
        }
    }

    /// The session is gone, and its questions with it.
    pub(super) fn forget(&mut self, session: &SessionId) {
        let Some(of) = self.open.remove(session) else { return };
        self.count -= of.asks.len();
        for opened in of.asks {
            self.tell_end(session, &opened, None);
        }
    }

    /// Whether it is new.
    fn insert(&mut self, session: &SessionId, entry: &Arc<Entry>) -> bool {
        let Some(ask) = asked(entry) else { return false };
        let is_ended = matches!(&self.ended, EndedEarly::Reading(ended) if ended.contains(&ask.id));
        let is_known = self.open.get(session).is_some_and(|of| of.asks.iter().any(|it| is_about(it, &ask.id)));
        if is_ended || is_known || self.count >= ASKS_KNOWN_MAX {
            return false;
        }
        self.open.entry(session.clone()).or_default().asks.push(entry.clone());
        self.count += 1;
        true
    }

    fn close(&mut self, session: &SessionId, ask: &AskId, by: &Arc<Entry>) {
        if let EndedEarly::Reading(ended) = &mut self.ended
            && ended.len() < ENDED_MAX
        {
            ended.insert(ask.clone());
        }
        let Some(of) = self.open.get_mut(session) else { return };
        let Some(at) = of.asks.iter().position(|it| is_about(it, ask)) else { return };
        let opened = of.asks.remove(at);
        self.count -= 1;
        if of.asks.is_empty() {
            self.open.remove(session);
        }
        self.tell_end(session, &opened, Some(by));
    }

    /// What is open in a log that was read up to this entry.
    fn learn(&mut self, session: &SessionId, open: &[Arc<Entry>], seen: u64) {
        open.iter().for_each(|entry| _ = self.insert(session, entry));
        if let Some(of) = self.open.get_mut(session) {
            of.seen = of.seen.max(seen);
        }
    }

    /// Another process went on with the session: this is what is open now.
    fn correct(&mut self, session: &SessionId, open: &[Arc<Entry>], seen: u64) {
        if let Some(of) = self.open.remove(session) {
            self.count -= of.asks.len();
        }
        self.learn(session, open, seen);
    }

    /// `by`: the entry that says how it ended; `None`: its session is gone.
    fn tell_end(&self, session: &SessionId, opened: &Entry, by: Option<&Arc<Entry>>) {
        let (Some(to), Some(ask)) = (&self.listeners, asked(opened)) else { return };
        let end = match by.map(|entry| &entry.body) {
            Some(Body::Ask(AskEntry::Closed { end, .. })) => end.clone(),
            _ => AskEnd::Withdrawn,
        };
        let by = by.and_then(|entry| entry.by.as_ref());
        if let Some(data) = AskDoneData::of(session, ask, &end, by) {
            // In the place of the question, for who has read neither.
            to.news.tell(Topic::Asks, Some(&about(ask)), "ask_done", || json(&data));
        }
    }

    /// Unless it has ended meanwhile, which was told then.
    fn tell_opened(&self, session: &SessionId, ask: &Ask, row: &AskRow) {
        let is_open = self.open.get(session).is_some_and(|of| of.asks.iter().any(|it| is_about(it, &ask.id)));
        if let Some(to) = self.listeners.as_ref().filter(|_| is_open) {
            to.news.tell(Topic::Asks, Some(&about(ask)), "ask", || json(row));
        }
    }

    /// The sessions of the oldest, with how far their logs were looked at.
    fn sessions(&self, only: Option<&SessionId>) -> HashMap<SessionId, u64> {
        let seen = |session: &SessionId| self.open.get(session).map_or(0, |of| of.seen);
        self.oldest(only).into_iter().map(|(session, _)| (session.clone(), seen(&session))).collect()
    }

    /// The oldest of them, oldest first.
    fn oldest(&self, only: Option<&SessionId>) -> Vec<(SessionId, Arc<Entry>)> {
        let is_meant = |session: &SessionId| only.is_none_or(|only| only == session);
        let meant = self.open.iter().filter(|(session, _)| is_meant(session));
        let mut all: Vec<(SessionId, Arc<Entry>)> =
            meant.flat_map(|(session, of)| of.asks.iter().map(|entry| (session.clone(), entry.clone()))).collect();
        all.sort_by(|(one, its), (two, others)| (its.at_ms, one, its.seq).cmp(&(others.at_ms, two, others.seq)));
        all.truncate(ASKS_LISTED_MAX);
        all
    }
}

fn asked(entry: &Entry) -> Option<&Ask> {
    match &entry.body {
        Body::Ask(AskEntry::Opened(ask)) => Some(ask),
        _ => None,
    }
}

fn is_about(entry: &Entry, ask: &AskId) -> bool {
    asked(entry).is_some_and(|it| it.id == *ask)
}

/// What is new of a question takes the place of what was told of it.
fn about(ask: &Ask) -> SessionId {
    SessionId::from(ask.id.as_str())
}

/// Tells who listens, from now on until the log is written to no more.
pub(super) fn announcing(services: &Arc<SharedServices>) {
    let (opened, mut untold) = mpsc::channel(UNTOLD_MAX);
    lock(&services.counts.0.asks).listeners = Some(AskListeners { opened, news: services.news.clone() });
    let kept = Arc::downgrade(services);
    tokio::spawn(async move {
        if let Some(services) = kept.upgrade() {
            // What cannot be read now is read for whoever wants the list.
            let _ = look_back(&services).await;
        }
        while let Some((session, entry)) = untold.recv().await {
            let Some(services) = kept.upgrade() else { return };
            announce(&services, &session, &entry).await;
        }
    });
}

async fn announce(services: &SharedServices, session: &SessionId, entry: &Entry) {
    let Some(ask) = asked(entry) else { return };
    let summary = services.parts.store.summary(session).await.ok().flatten();
    if let Some(row) = AskRow::of(session, ask, entry, known(services, session, summary.as_ref())) {
        lock(&services.counts.0.asks).tell_opened(session, ask, &row);
    }
}

fn known(services: &SharedServices, session: &SessionId, summary: Option<&Summary>) -> AskedIn {
    let glance = services.board.glance(session);
    AskedIn {
        title: glance.as_ref().map_or_else(|| summary.and_then(|it| it.title.clone()), |glance| glance.title.clone()),
        cwd: summary.map(|summary| summary.workspace.display().to_string()),
        is_attended: glance.is_some_and(|glance| glance.peers > 0),
    }
}

/// Finds what earlier processes have left open; once.
async fn look_back(services: &SharedServices) -> Result<(), Fault> {
    let looked = services.asks_looked.get_or_try_init(|| async {
        let left = Query { unfinished: true, children: true, limit: Some(LEFT_SESSIONS_MAX), ..Query::default() };
        for summary in services.parts.store.list(left).await? {
            let open = open_in(services, &summary).await?;
            lock(&services.counts.0.asks).learn(&summary.id, &open, summary.last_seq);
        }
        lock(&services.counts.0.asks).ended = EndedEarly::Read;
        Ok(())
    });
    looked.await.copied()
}

/// The questions of a log that have no end.
async fn open_in(services: &SharedServices, summary: &Summary) -> Result<Vec<Arc<Entry>>, Fault> {
    let window = services.parts.store.window(&summary.id, summary.last_seq).await?;
    let mut open: Vec<Arc<Entry>> = Vec::new();
    for entry in window.all() {
        match &entry.body {
            Body::Ask(AskEntry::Opened(ask)) if is_asked_here(ask) => open.push(entry.clone()),
            Body::Ask(AskEntry::Closed { ask, .. }) => open.retain(|it| !is_about(it, ask)),
            _ => {}
        }
    }
    Ok(open)
}

pub(super) async fn list(
    services: &SharedServices,
    session: Option<SessionId>,
    is_own: bool,
) -> Result<Vec<AskRow>, GatewayRefusal> {
    look_back(services).await.map_err(refused)?;
    let book = &services.counts.0.asks;
    let having = lock(book).sessions(session.as_ref());
    if let Some(session) = session.as_ref().filter(|_| having.is_empty() && !is_own)
        && !sessions::exists(services, session).await?
    {
        return Err(GatewayRefusal::no_session(session));
    }
    let mut summaries = HashMap::new();
    for (session, seen) in having {
        let Some(summary) = services.parts.store.summary(&session).await.map_err(refused)? else {
            lock(book).forget(&session);
            continue;
        };
        // What is in memory here is written here; the rest may be in another process.
        if services.board.glance(&session).is_none() && summary.last_seq > seen {
            let open = open_in(services, &summary).await.map_err(refused)?;
            lock(book).correct(&session, &open, summary.last_seq);
        }
        summaries.insert(session, summary);
    }
    let oldest = lock(book).oldest(session.as_ref());
    let row = |(session, entry): &(SessionId, Arc<Entry>)| {
        AskRow::of(session, asked(entry)?, entry, known(services, session, summaries.get(session)))
    };
    Ok(oldest.iter().filter_map(row).collect())
}

#[cfg(test)]
mod tests {
    use vocab::{AskKind, Json, Mode, PermissionAsk, Required};

    use super::*;

    fn entry(seq: u64, body: Body) -> Arc<Entry> {
        Arc::new(Entry { seq, parent: seq - 1, at_ms: seq as i64, body, by: None })
    }
    fn opened(seq: u64, id: &str) -> Arc<Entry> {
        let permission = PermissionAsk {
            call: "c".into(),
            tool: "bash".into(),
            input: Json::empty_object(),
            active: Mode::Prompt,
            required: Required::DangerFullAccess,
            reason: None,
            summary: "run".into(),
            preview: None,
            may_have_run: false,
        };
        let kind = AskKind::Permission(permission);
        entry(seq, Body::Ask(AskEntry::Opened(Ask { id: id.into(), turn: None, kind, timeout_ms: None })))
    }
    fn closed(seq: u64, id: &str) -> Arc<Entry> {
        entry(seq, Body::Ask(AskEntry::Closed { ask: id.into(), end: AskEnd::Withdrawn }))
    }
    fn open(book: &AskBook) -> Vec<String> {
        book.oldest(None).iter().map(|(session, entry)| format!("{session} {}", asked(entry).unwrap().id)).collect()
    }

    #[test]
    fn what_was_asked_is_open_until_its_end() {
        let (mut book, one, two) = (AskBook::default(), SessionId::from("one"), SessionId::from("two"));
        book.written(&two, &[opened(7, "b")]);
        book.written(&one, &[opened(3, "a"), opened(3, "a"), opened(9, "c")]);
        assert_eq!(open(&book), ["one a", "two b", "one c"], "oldest first, each once");
        book.written(&one, &[closed(10, "a"), closed(11, "nobody knows it")]);
        assert_eq!((open(&book), book.count), (vec!["two b".to_owned(), "one c".to_owned()], 2));
        book.forget(&two);
        assert_eq!((open(&book), book.count), (vec!["one c".to_owned()], 1));
    }

    #[test]
    fn an_old_log_does_not_bring_back_what_has_ended_meanwhile() {
        let (mut book, one) = (AskBook::default(), SessionId::from("one"));
        book.written(&one, &[closed(4, "a")]);
        book.learn(&one, &[opened(2, "a"), opened(3, "b")], 3);
        assert_eq!(open(&book), ["one b"]);
        book.correct(&one, &[opened(8, "d")], 8);
        assert_eq!(
            (open(&book), book.count, book.sessions(None)),
            (vec!["one d".to_owned()], 1, HashMap::from([(one, 8)]))
        );
    }

    /// Nobody takes what is opened from the queue: the store is slow.
    #[test]
    fn every_end_is_told_however_many_questions_wait_and_a_question_that_has_ended_is_not() {
        let (opened_to, _untold) = mpsc::channel(2);
        let news = Arc::<NewsLog>::default();
        let start = news.mark();
        let listeners = Some(AskListeners { opened: opened_to, news: news.clone() });
        let (mut book, one) = (AskBook { listeners, ..AskBook::default() }, SessionId::from("one"));
        for number in 0..9 {
            book.written(&one, &[opened(number + 1, &format!("a{number}"))]);
        }
        for number in 0..9 {
            book.written(&one, &[closed(number + 20, &format!("a{number}"))]);
        }
        let late = opened(1, "a0");
        let known = AskedIn { title: None, cwd: None, is_attended: false };
        let row = AskRow::of(&one, asked(&late).unwrap(), &late, known).unwrap();
        book.tell_opened(&one, asked(&late).unwrap(), &row);
        let told: Vec<&str> = news.since(&[Topic::Asks], start).0.iter().map(|it| it.event).collect();
        assert_eq!(told, ["ask_done"; 9]);
    }

    #[test]
    fn there_is_a_bound() {
        let mut book = AskBook::default();
        for number in 0..ASKS_KNOWN_MAX + 5 {
            book.written(&SessionId::from(number.to_string()), &[opened(number as u64 + 1, "a")]);
        }
        assert_eq!((book.count, open(&book).len()), (ASKS_KNOWN_MAX, ASKS_LISTED_MAX));
    }
}
