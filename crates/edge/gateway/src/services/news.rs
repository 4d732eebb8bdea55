//! News of topics: what is new of a session takes the place of what was told of it before, so that a slow reader gets how
//! things stand and not how they came about. Who waits is woken.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dialect_gateway::{GatewayAnswer, GatewayRefusal, NewsItem, NewsMark, Topic};
use tokio::sync::Notify;
use tokio::time::Instant;
use vocab::{Json, SessionId};

use super::{SharedServices, json, lock, metrics};

/// News that are kept; of more the oldest go.
const NEWS_MAX: usize = 4_096;
/// Lines of the log among them.
const LOG_LINES: usize = 2_000;
/// News in one answer.
const NEWS_AT_ONCE: usize = 256;
/// Counters are told so often to who wants them.
const METRICS_EVERY: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(super) struct NewsLog {
    /// Set with the first mark; before that nobody could ask for news, so none are kept.
    is_read: AtomicBool,
    kept: Mutex<KeptNews>,
    told: Notify,
}

#[derive(Default)]
struct KeptNews {
    number: u64,
    items: BTreeMap<u64, (NewsItem, Option<SessionId>)>,
    newest: HashMap<(Topic, SessionId), u64>,
    logs: usize,
}

impl NewsLog {
    /// `about`: what this takes the place of.
    pub(super) fn tell(
        &self,
        topic: Topic,
        about: Option<&SessionId>,
        event: &'static str,
        data: impl FnOnce() -> Json,
    ) {
        if !self.is_read.load(Ordering::Acquire) {
            return;
        }
        let data = data();
        let mut kept = lock(&self.kept);
        kept.number += 1;
        let number = kept.number;
        if let Some(before) = about.and_then(|about| kept.newest.insert((topic, about.clone()), number)) {
            kept.items.remove(&before);
        }
        kept.logs += usize::from(topic == Topic::Logs);
        kept.items.insert(number, (NewsItem { topic, event, data }, about.cloned()));
        if kept.logs > LOG_LINES
            && let Some(oldest) = kept.items.iter().find(|(_, (item, _))| item.topic == Topic::Logs).map(|(at, _)| *at)
        {
            kept.drop_one(oldest);
        }
        if kept.items.len() > NEWS_MAX
            && let Some(oldest) = kept.items.first_key_value().map(|(at, _)| *at)
        {
            kept.drop_one(oldest);
        }
        drop(kept);
        self.told.notify_waiters();
    }

    pub(super) fn mark(&self) -> NewsMark {
        self.is_read.store(true, Ordering::Release);
        NewsMark(lock(&self.kept).number)
    }

    /// What is new of these topics, oldest first, and how far that goes.
    pub(super) fn since(&self, topics: &[Topic], after: NewsMark) -> (Vec<NewsItem>, NewsMark) {
        let kept = lock(&self.kept);
        let wanted = kept.items.range(after.0 + 1..).filter(|(_, (item, _))| topics.contains(&item.topic));
        let found: Vec<(u64, NewsItem)> =
            wanted.take(NEWS_AT_ONCE).map(|(number, (item, _))| (*number, item.clone())).collect();
        let mark = match found.last() {
            Some((last, _)) if found.len() == NEWS_AT_ONCE => NewsMark(*last),
            _ => NewsMark(kept.number),
        };
        (found.into_iter().map(|(_, item)| item).collect(), mark)
    }
}

impl KeptNews {
    fn drop_one(&mut self, number: u64) {
        let Some((item, about)) = self.items.remove(&number) else { return };
        self.logs -= usize::from(item.topic == Topic::Logs);
        if let Some(about) = about
            && self.newest.get(&(item.topic, about.clone())) == Some(&number)
        {
            self.newest.remove(&(item.topic, about));
        }
    }
}

/// Which call of a connection is the newest of those that wait for something; the ones before it are answered with what there
/// is.
#[derive(Default)]
pub(super) struct NewestCall {
    newest: Mutex<u64>,
    changed: Notify,
}

impl NewestCall {
    /// The number of a call that is the newest from now on.
    pub(super) fn next(&self) -> u64 {
        let mine = {
            let mut newest = lock(&self.newest);
            *newest += 1;
            *newest
        };
        self.changed.notify_waiters();
        mine
    }
    /// Ready when there is a newer one than this.
    pub(super) async fn until_newer(&self, than: u64) {
        loop {
            // It is listened before anything is looked at, so that nothing slips by.
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if *lock(&self.newest) != than {
                return;
            }
            changed.await;
        }
    }
}

/// What a connection's calls for news share.
#[derive(Default)]
pub(super) struct NewsCalls {
    newest: NewestCall,
    /// When it is told counters next, while it wants them. A call is over with whatever is new; the time must not begin anew with
    /// the next one.
    metrics_due: Mutex<Option<Instant>>,
}

impl NewsCalls {
    fn metrics_due(&self, topics: &[Topic]) -> Option<Instant> {
        let mut due = lock(&self.metrics_due);
        *due = topics.contains(&Topic::Metrics).then(|| due.unwrap_or_else(|| Instant::now() + METRICS_EVERY));
        *due
    }
    fn told_metrics(&self) {
        *lock(&self.metrics_due) = Some(Instant::now() + METRICS_EVERY);
    }
}

pub(super) async fn news(
    services: Arc<SharedServices>,
    calls: Arc<NewsCalls>,
    topics: Vec<Topic>,
    after: Option<NewsMark>,
) -> Result<GatewayAnswer, GatewayRefusal> {
    let mine = calls.newest.next();
    let log = services.news.clone();
    let mut mark = after.unwrap_or_else(|| log.mark());
    let metrics_due = calls.metrics_due(&topics);
    loop {
        // It is listened before anything is looked at, so that nothing slips by.
        let told = log.told.notified();
        tokio::pin!(told);
        told.as_mut().enable();
        let (mut items, now) = log.since(&topics, mark);
        mark = now;
        if metrics_due.is_some_and(|due| due <= Instant::now()) {
            calls.told_metrics();
            let data = json(&metrics(&services));
            items.push(NewsItem { topic: Topic::Metrics, event: "metrics", data });
        }
        if !items.is_empty() {
            return Ok(GatewayAnswer::News { items, mark });
        }
        let due = async {
            match metrics_due {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = told => {}
            () = due => {}
            () = calls.newest.until_newer(mine) => return Ok(GatewayAnswer::News { items, mark }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(text: &str) -> impl FnOnce() -> Json {
        move || Json::trusted(format!("\"{text}\""))
    }

    #[test]
    fn what_nobody_could_be_told_is_not_made() {
        let log = NewsLog::default();
        log.tell(Topic::Lanes, None, "lane", || unreachable!("nobody has asked"));
        let mark = log.mark();
        log.tell(Topic::Lanes, None, "lane", data("a"));
        assert_eq!(log.since(&[Topic::Lanes], mark).0.len(), 1);
    }

    #[test]
    fn what_is_new_of_a_session_takes_the_place_of_what_was() {
        let log = NewsLog::default();
        let start = log.mark();
        let (one, two) = (SessionId::from("one"), SessionId::from("two"));
        log.tell(Topic::Lanes, Some(&one), "lane", data("a"));
        log.tell(Topic::Lanes, Some(&two), "lane", data("b"));
        log.tell(Topic::Sessions, Some(&one), "session", data("c"));
        log.tell(Topic::Lanes, Some(&one), "lane", data("d"));
        let (items, mark) = log.since(&[Topic::Lanes], start);
        assert_eq!(items.iter().map(|item| item.data.as_str()).collect::<Vec<_>>(), ["\"b\"", "\"d\""]);
        assert_eq!(mark, NewsMark(4));
        assert!(log.since(&Topic::ALL, mark).0.is_empty());
    }

    #[test]
    fn there_are_never_more_than_fit_and_a_long_answer_comes_in_pieces() {
        let log = NewsLog::default();
        let start = log.mark();
        for number in 0..NEWS_MAX * 2 {
            log.tell(Topic::Logs, None, "log", data(&number.to_string()));
            log.tell(Topic::Lanes, Some(&SessionId::from(number.to_string())), "lane", data("x"));
        }
        let kept = lock(&log.kept);
        assert_eq!((kept.items.len(), kept.logs), (NEWS_MAX, LOG_LINES));
        assert_eq!(kept.newest.len(), NEWS_MAX - LOG_LINES, "nothing is remembered of what is gone");
        drop(kept);
        let (mut mark, mut lines) = (start, 0);
        loop {
            let (items, now) = log.since(&[Topic::Logs], mark);
            (mark, lines) = (now, lines + items.len());
            if items.is_empty() {
                break;
            }
        }
        assert_eq!(lines, LOG_LINES);
    }
}
