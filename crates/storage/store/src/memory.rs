//! Sessions that end with the process: `--no-session`, and tests of everything above the store.
//!
//! Keeps the same promises as the store on disk, except the one about surviving.

mod ledger;
mod shelf;

use std::collections::{HashMap, HashSet};
use std::future::{poll_fn, ready};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use vocab::{
    Acquired, AuditLine, AuditQuery, AuditVerdict, Deed, Durability, Entry, Fault, Later, Lease, LeaseSignal, Needle,
    NewSession, Order, Page, Principal, Query, SKIM_ENTRIES_MAX, SKIM_ROWS_MAX, SessionId, Skim, Skimmed, Store,
    StoreChange, StoreMoment, Summary, UsageQuery, UsageSum,
};

use crate::audit::{AuditRecord, TaskOf};
use crate::rollup::PriceList;
use crate::unfinished::OpenWork;
use crate::{faults, summary, unfinished};
use ledger::Ledger;

/// Holds every entry of every session until the process ends or the session is deleted: the bound is the caller's.
#[derive(Default)]
pub struct MemoryStore {
    /// Which of the owners on these sessions this is.
    owner: u64,
    sessions: Arc<Mutex<Sessions>>,
    prices: Option<PriceList>,
}

#[derive(Default)]
struct Sessions {
    by_id: HashMap<SessionId, StoredSession>,
    /// Owners beside the first.
    others: u64,
    /// Owners that were not heard of for their time to live.
    lapsed: HashSet<u64>,
    /// Writes and deletes.
    changes: u64,
    /// Of those who watch, until the next change.
    wakers: Vec<Waker>,
    /// Grows with each use: the order in which sessions were used, which no clock can turn around.
    uses: u64,
    ledger: Ledger,
    shelf: shelf::ShelfRows,
}

struct StoredSession {
    summary: Summary,
    entries: Vec<Arc<Entry>>,
    epoch: u64,
    /// Who has it.
    owner: Option<u64>,
    signal: LeaseSignal,
    /// Tells two leases on the same new id apart; both have epoch 1.
    new: Option<Arc<NewSession>>,
    used: u64,
}

impl Sessions {
    fn changed(&mut self) {
        self.changes += 1;
        self.wakers.drain(..).for_each(Waker::wake);
    }
}

impl MemoryStore {
    pub fn new() -> Self {
        Self::default()
    }

    /// Another owner of the same sessions, as another process is on a disk.
    pub fn another(&self) -> Self {
        let mut sessions = self.lock();
        sessions.others += 1;
        Self { owner: sessions.others, sessions: self.sessions.clone(), prices: self.prices.clone() }
    }

    /// This owner was not heard of for its time to live: others may have its sessions until it writes again.
    pub fn lapse(&self) {
        self.lock().lapsed.insert(self.owner);
    }

    fn name(&self, owner: u64) -> String {
        if owner == self.owner { "this process".to_owned() } else { format!("owner {owner} of this process") }
    }

    /// Answers when `look` finds something, and looks whenever something has changed.
    fn wait<T: Send + 'static>(
        &self,
        look: impl Fn(&Sessions) -> Option<T> + Send + 'static,
    ) -> Later<'static, Result<T, Fault>> {
        let sessions = self.sessions.clone();
        Box::pin(poll_fn(move |context| {
            let mut sessions = sessions.lock().unwrap_or_else(PoisonError::into_inner);
            match look(&sessions) {
                Some(found) => Poll::Ready(Ok(found)),
                None => {
                    if !sessions.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
                        sessions.wakers.push(context.waker().clone());
                    }
                    Poll::Pending
                }
            }
        }))
    }

    /// What is used is added up by these prices.
    pub fn priced(mut self, prices: PriceList) -> Self {
        self.prices = Some(prices);
        self
    }

    // A panic in another thread cannot leave a session half changed: each change is made in one go below.
    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append_now(&self, lease: &Lease, entries: Vec<Arc<Entry>>) -> Result<(), Fault> {
        let mut sessions = self.lock();
        sessions.lapsed.remove(&self.owner);
        let known = sessions.by_id.get(&lease.session);
        let mut next = match (known, &lease.new) {
            (Some(session), new) => {
                let other = new.is_some() && !same(new, &session.new);
                if other {
                    return Err(faults::exists(&lease.session));
                }
                if session.owner.is_none() || session.epoch != lease.epoch {
                    return Err(faults::stale(&lease.session, lease.epoch));
                }
                session.summary.clone()
            }
            (None, Some(new)) => summary::blank(new),
            (None, None) => return Err(faults::unknown_session(&lease.session)),
        };
        let said = next.messages;
        for entry in &entries {
            if entry.seq != next.last_seq + 1 {
                return Err(faults::gap(&lease.session, next.last_seq, entry.seq));
            }
            summary::fold(&mut next, entry);
        }
        if entries.is_empty() {
            return Ok(());
        }
        let is_use = known.is_none() || entries.iter().any(|entry| summary::is_use(&entry.body));
        let prices = self.prices.clone().unwrap_or_else(|| Arc::new(|_| None));
        let task = TaskOf::find(said, &next, &entries);
        for entry in &entries {
            sessions.ledger.take(&lease.session, entry, task.as_ref(), &prices);
        }
        sessions.uses += 1;
        let used = sessions.uses;
        sessions.by_id.entry(lease.session.clone()).or_insert_with(|| StoredSession {
            summary: next.clone(),
            entries: Vec::new(),
            epoch: lease.epoch,
            owner: Some(self.owner),
            signal: lease.signal.clone(),
            new: lease.new.clone(),
            used,
        });
        sessions.changed();
        let Some(session) = sessions.by_id.get_mut(&lease.session) else { unreachable!("it was just there") };
        session.summary = next;
        if is_use {
            session.used = used;
        }
        // What is kept is what a disk would give back: the sender of an item is gone after a restart.
        session.entries.extend(entries.into_iter().map(|entry| match &entry.body {
            vocab::Body::Queue(vocab::QueueEntry::Queued(item)) if item.sender.is_some() => {
                let item = vocab::Item { sender: None, ..item.clone() };
                Arc::new(Entry { body: vocab::Body::Queue(vocab::QueueEntry::Queued(item)), ..(*entry).clone() })
            }
            _ => entry,
        }));
        Ok(())
    }
}

fn same(left: &Option<Arc<NewSession>>, right: &Option<Arc<NewSession>>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) => Arc::ptr_eq(left, right),
        _ => false,
    }
}

fn now_ms() -> i64 {
    vocab::unix_ms(std::time::SystemTime::now())
}

fn now<T: Send + 'static>(value: T) -> Later<'static, T> {
    Box::pin(ready(value))
}

fn fits(session: &StoredSession, query: &Query) -> bool {
    let summary = &session.summary;
    query.workspace.as_ref().is_none_or(|it| *it == summary.workspace)
        && query
            .id_part
            .as_ref()
            .is_none_or(|it| summary.id.as_str().starts_with(&**it) || summary.id.as_str().ends_with(&**it))
        && has_prefix(summary.id.as_str(), query)
        && (!query.non_empty || summary.messages > 0)
        && (query.children || summary.child_of.is_none())
        && (query.child_of.is_none() || query.child_of == summary.child_of)
        && (!query.unfinished || is_unfinished(session))
        && query.text.as_ref().is_none_or(|text| summary::mentions(summary, &Needle::new(text)))
        && query.behind.as_ref().is_none_or(|(at_ms, id)| {
            let last = summary.last_message_ms;
            last.is_some_and(|last| last < *at_ms || (last == *at_ms && summary.id > *id))
        })
}

/// The log is gap-free: an entry's number is its place.
fn skimmed(entries: &[Arc<Entry>], skim: Skim) -> Skimmed {
    let end = skim.before.map_or(entries.len(), |before| {
        usize::try_from(before.saturating_sub(1)).map_or(entries.len(), |end| end.min(entries.len()))
    });
    let start = end.saturating_sub(SKIM_ROWS_MAX as usize);
    let mut found: Vec<Arc<Entry>> = Vec::new();
    for entry in entries[start..end].iter().rev().filter(|entry| skim.what.is_met_by(&entry.body)) {
        if found.len() == skim.limit.clamp(1, SKIM_ENTRIES_MAX) {
            return Skimmed { older: found.last().map(|oldest| oldest.seq), entries: found };
        }
        found.push(entry.clone());
    }
    Skimmed { entries: found, older: (start > 0).then_some(start as u64 + 1) }
}

fn has_prefix(id: &str, query: &Query) -> bool {
    let Some(prefix) = &query.id_prefix else { return true };
    id.starts_with(&**prefix) || query.or_without.is_some_and(|mark| !id.contains(mark))
}

fn is_unfinished(session: &StoredSession) -> bool {
    let (turn, items) = unfinished::fold(session.entries.iter().map(|entry| &entry.body));
    OpenWork { turn: turn.unwrap_or(false), items }.is_unfinished()
}

impl Store for MemoryStore {
    fn probe(&self) -> Result<(), Fault> {
        Ok(())
    }

    fn create(&self, new: NewSession) -> Lease {
        Lease::on_new(new)
    }

    fn acquire(&self, id: &SessionId) -> Later<'static, Result<Acquired, Fault>> {
        let mut sessions = self.lock();
        let Sessions { by_id, lapsed, .. } = &mut *sessions;
        now(match by_id.get_mut(id) {
            None => Err(faults::unknown_session(id)),
            Some(StoredSession { owner: Some(owner), .. }) if *owner == self.owner || !lapsed.contains(owner) => {
                Err(faults::busy(id, &self.name(*owner)))
            }
            Some(session) => {
                if session.owner.replace(self.owner).is_some() {
                    session.signal.lose(faults::busy(id, &format!("owner {} of this process", self.owner)));
                }
                session.epoch += 1;
                session.new = None;
                let lease = Lease::on(id.clone(), session.epoch);
                session.signal = lease.signal.clone();
                Ok(Acquired { lease, summary: session.summary.clone(), recovered: None })
            }
        })
    }

    fn release(&self, lease: Lease) -> Later<'static, Result<(), Fault>> {
        if let Some(session) = self.lock().by_id.get_mut(&lease.session)
            && session.epoch == lease.epoch
            && (lease.new.is_none() || same(&lease.new, &session.new))
        {
            session.owner = None;
        }
        now(Ok(()))
    }

    fn append(
        &self,
        lease: &Lease,
        entries: Vec<Arc<Entry>>,
        _durability: Durability,
    ) -> Later<'static, Result<(), Fault>> {
        now(self.append_now(lease, entries))
    }

    fn read(&self, id: &SessionId, after: u64, limit: usize) -> Later<'static, Result<Page, Fault>> {
        now(match self.lock().by_id.get(id) {
            None => Err(faults::unknown_session(id)),
            Some(session) => {
                let start = usize::try_from(after).map_or(session.entries.len(), |at| at.min(session.entries.len()));
                let entries = session.entries[start..].iter().take(limit).cloned().collect();
                Ok(Page { entries, recovered: None })
            }
        })
    }

    fn summaries(&self, sessions: Vec<SessionId>) -> Later<'static, Result<Vec<Summary>, Fault>> {
        let all = self.lock();
        let found = sessions.iter().filter_map(|id| all.by_id.get(id).map(|session| session.summary.clone()));
        now(Ok(found.collect()))
    }

    fn count(&self, query: Query) -> Later<'static, Result<u64, Fault>> {
        now(Ok(self.lock().by_id.values().filter(|session| fits(session, &query)).count() as u64))
    }

    fn list(&self, query: Query) -> Later<'static, Result<Vec<Summary>, Fault>> {
        let sessions = self.lock();
        let mut found: Vec<&StoredSession> = sessions.by_id.values().filter(|session| fits(session, &query)).collect();
        match query.order {
            Order::Used => found.sort_by_key(|session| std::cmp::Reverse(session.used)),
            Order::LastMessage => found.sort_by_key(|session| {
                (std::cmp::Reverse(session.summary.last_message_ms), session.summary.id.clone())
            }),
        }
        let page = found.into_iter().skip(query.offset).take(query.limit.unwrap_or(usize::MAX));
        now(Ok(page.map(|session| session.summary.clone()).collect()))
    }

    fn watch(&self, id: &SessionId, after: u64) -> Later<'static, Result<Option<u64>, Fault>> {
        let id = id.clone();
        self.wait(move |sessions| {
            let last = sessions.by_id.get(&id).map(|session| session.summary.last_seq);
            last.is_none_or(|last| last > after).then_some(last)
        })
    }

    fn watch_all(&self, after: Option<StoreMoment>) -> Later<'static, Result<StoreChange, Fault>> {
        self.wait(move |sessions| {
            let now = StoreMoment { seen: sessions.changes, used: sessions.uses, last_seq: 0 };
            let Some(after) = after else { return Some(StoreChange { now, used: Vec::new() }) };
            let used = sessions.by_id.values().filter(|session| session.used > after.used);
            let used = used.map(|session| (session.summary.id.clone(), session.summary.last_seq)).collect();
            (sessions.changes > after.seen).then_some(StoreChange { now, used })
        })
    }

    fn delete(&self, id: &SessionId, by: Option<Principal>) -> Later<'static, Result<bool, Fault>> {
        let mut sessions = self.lock();
        now(match sessions.by_id.get(id) {
            None => Ok(false),
            Some(_) => {
                let of_family = |it: &StoredSession| it.summary.id == *id || it.summary.child_of.as_ref() == Some(id);
                match sessions.by_id.values().find(|it| it.owner.is_some() && of_family(it)) {
                    Some(open) => Err(faults::busy(&open.summary.id, &self.name(open.owner.unwrap_or_default()))),
                    None => {
                        let family = sessions.by_id.extract_if(|_, it| of_family(it));
                        let mut gone: Vec<SessionId> = family.map(|(id, _)| id).collect();
                        // The one that was named, then those that went with it.
                        gone.sort_by_key(|it| (it != id, it.clone()));
                        gone.iter().for_each(|it| sessions.shelf.forget_of(it.as_str()));
                        sessions.changed();
                        if let Some(by) = by {
                            for it in &gone {
                                sessions.ledger.write(&AuditRecord::deleted(it, by.as_str(), now_ms()));
                            }
                        }
                        Ok(true)
                    }
                }
            }
        })
    }

    fn audit(&self, query: AuditQuery) -> Later<'static, Result<Vec<AuditLine>, Fault>> {
        now(Ok(self.lock().ledger.audit(&query)))
    }

    fn record(&self, deed: Deed) -> Later<'static, Result<(), Fault>> {
        self.lock().ledger.write(&AuditRecord::deed(&deed, now_ms()));
        now(Ok(()))
    }

    fn verify_audit(&self, head: Option<String>) -> Later<'static, Result<AuditVerdict, Fault>> {
        now(Ok(self.lock().ledger.verify(head)))
    }

    fn usage(&self, query: UsageQuery) -> Later<'static, Result<Vec<UsageSum>, Fault>> {
        now(Ok(self.lock().ledger.usage(&query)))
    }

    fn used_by(&self, sessions: Vec<SessionId>) -> Later<'static, Result<Vec<UsageSum>, Fault>> {
        now(Ok(self.lock().ledger.used_by(&sessions)))
    }

    fn used_since(&self) -> Later<'static, Result<Option<i64>, Fault>> {
        now(Ok(self.lock().ledger.used_since()))
    }

    fn skim(&self, id: &SessionId, skim: Skim) -> Later<'static, Result<Skimmed, Fault>> {
        now(match self.lock().by_id.get(id) {
            None => Err(faults::unknown_session(id)),
            Some(session) => Ok(skimmed(&session.entries, skim)),
        })
    }

    fn place(&self) -> PathBuf {
        PathBuf::from("(memory)")
    }
}
