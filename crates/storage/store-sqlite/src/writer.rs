//! The thread that writes: takes jobs in order, writes neighbouring appends together, answers.
//!
//! The connection lives only as long as it can be trusted. After an input/output error it is closed, and the next job
//! opens a new one; jobs are never refused because an earlier one failed.

mod batch;
mod taken;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use vocab::{Acquired, Deed, Durability, Fault, Lease, Principal, Query, SessionId, Summary};

use super::append::{Append, AppendStatements};
use super::fold::Folds;
use super::job_queue::{JobQueue, NoJob};
use super::leases::{HeldLease, owner};
use super::owners::{self, LeaseTerms, OwnClaim};
use super::patience::Patience;
use super::progress::Progress;
use super::resting::Resting;
use super::shelf::ShelfChange;
use super::sync::{SyncFailure, Syncs, WalFile};
use super::upkeep::{Unwiped, WalWatch};
use super::watch::Bell;
use super::{Attempt, Failure, Note, ReplySender, database, lock_file, rows};
use crate::faults;
use store::faults::OwnerRole;
use store::rollup::PriceList;
use taken::TakenJobs;

/// Jobs taken at once, and so the most appends in one transaction; the rest is the next transaction.
const BATCH_JOBS_MAX: usize = 256;

/// Without work for this long, caches are given back.
const IDLE: Duration = Duration::from_millis(500);

pub(super) enum WriterJob {
    Append(Append),
    Request(StoreRequest),
    /// A sync has failed: what was committed has to be looked at.
    SyncFailed,
    /// The sync that appends waited for is over.
    Synced,
    /// Somebody reads, and waits for so many jobs, counted from the first.
    Hurry {
        upto: u64,
    },
    /// The store is dropped; nothing comes behind it.
    End,
}

/// Everything that is not an append; done one by one, in its place between the appends.
pub(super) enum StoreRequest {
    Acquire {
        session: SessionId,
        reply: ReplySender<Acquired>,
    },
    Release {
        lease: Lease,
        reply: ReplySender<()>,
    },
    /// The first of a list.
    Newest {
        query: Query,
        reply: ReplySender<Option<Summary>>,
    },
    Shelf(Box<ShelfChange>),
    Delete {
        session: SessionId,
        by: Option<Principal>,
        reply: ReplySender<bool>,
    },
    /// A line of the audit that belongs to no session.
    Record {
        deed: Deed,
        reply: ReplySender<()>,
    },
    /// Does what every connection begins with, for somebody who only reads.
    Tidy,
}

pub(super) struct Writer {
    pub(super) home: PathBuf,
    /// Where the locks of its owners are ([`lock_file::directory`]), as of the newest connection.
    pub(super) locks: PathBuf,
    /// Who we are, for a process that finds a session busy.
    pub(super) owner: String,
    /// Where we are.
    pub(super) machine: String,
    pub(super) terms: LeaseTerms,
    /// From the first lease on.
    pub(super) claim: Option<OwnClaim>,
    /// The leases of this store. As many as there are open sessions; a table has room for more, so they lie beside it.
    pub(super) held: HashMap<SessionId, Box<HeldLease>>,
    /// Given back, with their epoch, and not written down as such.
    pub(super) unreleased: Vec<(SessionId, u64)>,
    inbox: JobQueue<WriterJob>,
    is_ending: bool,
    pub(super) syncs: Syncs,
    /// Of all its connections.
    pub(super) patience: Patience,
    taken: TakenJobs,
    /// Older than these, and not done because they have time.
    resting: Resting,
    /// Says how many of them are done to whoever reads.
    progress: Arc<Progress>,
    pub(super) note: Note,
    /// Says to whoever watches that something was committed.
    pub(super) bell: Arc<Bell>,
    prices: PriceList,
    pub(super) watch: WalWatch,
    /// Something was deleted, and pieces of it are still there.
    pub(super) unwiped: Option<Unwiped>,
    /// The last connection saw an input/output error.
    is_suspect: bool,
    /// Something was committed that no sync has covered.
    pub(super) is_dirty: bool,
    pub(super) folds: Folds,
    /// The key of the session that was last used here.
    pub(super) used_last: Option<i64>,
    /// Lock files of the dead were looked for.
    has_swept: bool,
}

/// What the writer is bound to.
pub(super) struct WriterTies {
    pub(super) note: Note,
    pub(super) progress: Arc<Progress>,
    pub(super) syncs: Syncs,
    pub(super) prices: PriceList,
    pub(super) terms: LeaseTerms,
    pub(super) role: Option<OwnerRole>,
    pub(super) bell: Arc<Bell>,
    pub(super) patience: Patience,
}

/// What a connection is good for after a job.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    Keep,
    Reopen,
}

/// What is said of a result, and whether the connection that it came from can be kept. `doing` completes "cannot ...".
pub(super) fn judged<T>(place: &Path, doing: &str, result: Attempt<T>) -> (Result<T, Fault>, Trust) {
    match result {
        Ok(value) => (Ok(value), Trust::Keep),
        Err(Failure::Fault(fault)) => (Err(fault), Trust::Keep),
        Err(Failure::Sql(error)) => {
            let trust = if faults::needs_reopen(&error) { Trust::Reopen } else { Trust::Keep };
            (Err(faults::from_sqlite(place, doing, &error)), trust)
        }
    }
}

impl Writer {
    pub(super) fn new(home: PathBuf, inbox: JobQueue<WriterJob>, ties: WriterTies) -> Self {
        let WriterTies { note, progress, syncs, prices, terms, role, bell, patience } = ties;
        Self {
            locks: lock_file::directory(&home.join(database::FILE_NAME)),
            home,
            owner: owner(role),
            machine: owners::machine(),
            terms,
            claim: None,
            held: HashMap::new(),
            unreleased: Vec::new(),
            inbox,
            is_ending: false,
            syncs,
            patience,
            taken: TakenJobs::default(),
            resting: Resting::default(),
            progress,
            note,
            bell,
            prices,
            watch: WalWatch::default(),
            unwiped: None,
            is_suspect: false,
            is_dirty: false,
            folds: Folds::default(),
            used_last: None,
            has_swept: false,
        }
    }

    /// Ends when the store is dropped and everything queued is done.
    pub(super) fn run(mut self) {
        while self.syncs.has_failed() || self.wait(None) {
            let failure = self.fall_back();
            match self.open() {
                Ok(connection) => {
                    self.serve(&connection, failure);
                    // The log that they wait for is that of this connection.
                    self.syncs.drain();
                }
                Err(fault) => {
                    failure.into_iter().for_each(SyncFailure::tell);
                    self.refuse_taken(&fault);
                }
            }
        }
    }

    fn open(&mut self) -> Result<Connection, Fault> {
        self.folds.wait();
        let mut connection = database::open(&self.home, &self.patience)?;
        let counted = self.folds.pages.count(&mut connection);
        counted.map_err(|error| faults::from_sqlite(&self.place(), "open", &error))?;
        self.locks = lock_file::directory(&self.place());
        let index = database::index_path(&self.home);
        let log = WalFile::open(&self.wal(), &index, &self.place())?;
        // As long as another connection of ours has the one that was there before, so has this one.
        if self.is_suspect && !log.is_index_held() {
            return Err(faults::removed(&index));
        }
        self.syncs.use_log(log);
        Ok(connection)
    }

    /// When a sync has failed: what waited for it was never written, as far as leases know. Those who wait are told when
    /// this has become true of the disk, too.
    fn fall_back(&mut self) -> Option<SyncFailure> {
        let (_, reached) = self.syncs.numbers();
        let failure = self.syncs.take_failure()?;
        self.held.values_mut().for_each(|held| held.fall_back(reached));
        self.is_suspect = true;
        Some(failure)
    }

    fn serve(&mut self, connection: &Connection, failure: Option<SyncFailure>) {
        let verified = if self.is_suspect { self.verify(connection) } else { Ok(()) };
        failure.into_iter().for_each(SyncFailure::tell);
        match verified {
            Ok(()) => self.is_suspect = false,
            Err(Failure::Fault(fault)) => return self.refuse_taken(&fault),
            Err(Failure::Sql(error)) => {
                return self.refuse_taken(&faults::from_sqlite(&self.place(), "verify", &error));
            }
        }
        self.doubt_claim();
        // What another process left; trouble with the disk is told to whoever writes.
        let _ = self.find_unwiped(connection);
        let mut statements = match AppendStatements::prepare(connection, self.prices.clone()) {
            Ok(statements) => statements,
            Err(error) => return self.refuse_taken(&faults::from_sqlite(&self.place(), "use", &error)),
        };
        let mut is_begun = false;
        while self.wait(Some(connection)) && !self.syncs.has_failed() {
            while let Some((number, job)) = self.next() {
                let trust = match job {
                    WriterJob::Append(append) => {
                        let batch = self.batch(number, append);
                        if batch.is_empty() {
                            continue;
                        }
                        if let Err(fault) = self.prepare_to_write(connection, &mut is_begun) {
                            batch.into_iter().for_each(|append| append.answer(&Err(fault.clone())));
                            return self.refuse_taken(&fault);
                        }
                        let trust = self.write(&mut statements, batch);
                        self.folds.begin_if_due(&self.home);
                        self.watch_wal(connection);
                        trust
                    }
                    WriterJob::Request(request) => {
                        if let Err(fault) = self.prepare_to_write(connection, &mut is_begun) {
                            self.taken.put_back(number, WriterJob::Request(request));
                            return self.refuse_taken(&fault);
                        }
                        match self.prepare_for(connection, &request) {
                            Ok(()) => self.attend(connection, request),
                            Err(()) => return self.taken.put_back(number, WriterJob::Request(request)),
                        }
                    }
                    WriterJob::SyncFailed | WriterJob::Synced | WriterJob::Hurry { .. } | WriterJob::End => Trust::Keep,
                };
                self.tell_progress();
                self.renew_if_due(connection);
                if trust == Trust::Reopen {
                    self.is_suspect = true;
                    return;
                }
                if self.syncs.has_failed() {
                    return;
                }
                self.take_waiting();
            }
        }
        self.folds.wait();
        if self.is_ending && !self.syncs.has_failed() && self.syncs.check_names().is_ok() {
            self.syncs.drain();
            self.give_up_claim(connection);
            self.wipe_again(connection);
            if std::mem::take(&mut self.is_dirty) {
                self.syncs.sync_the_rest();
            }
            database::prepare_to_close(connection);
        }
    }

    /// What is written into files that nobody can find any more would be lost.
    fn prepare_to_write(&mut self, connection: &Connection, is_begun: &mut bool) -> Result<(), Fault> {
        if let Err(fault) = self.syncs.check_names() {
            self.is_suspect = true;
            return Err(fault);
        }
        if !std::mem::replace(is_begun, true) {
            // Without it the first commit waits for a sync, and finds out what is wrong.
            let _ = database::begin_log(connection, &self.wal());
        }
        Ok(())
    }

    /// Who gives a session back, or deletes one, leaves nothing behind of which it is not known whether it is there. An
    /// error when it is not, and the database has to be looked at first.
    fn prepare_for(&mut self, connection: &Connection, request: &StoreRequest) -> Result<(), ()> {
        // Trouble with the disk is told to whoever writes.
        let _ = self.notice_losses(connection);
        let waits = match request {
            StoreRequest::Release { lease, .. } => {
                self.held.get(&lease.session).is_some_and(|held| !held.unsynced.is_empty())
            }
            StoreRequest::Delete { .. } => true,
            StoreRequest::Acquire { .. }
            | StoreRequest::Newest { .. }
            | StoreRequest::Shelf(_)
            | StoreRequest::Record { .. }
            | StoreRequest::Tidy => false,
        };
        if waits {
            self.syncs.drain();
        }
        if self.syncs.has_failed() { Err(()) } else { Ok(()) }
    }

    /// Waits for at least one job, or for word that a sync has failed; false when none will come any more. With a
    /// connection, frees memory when idle.
    fn wait(&mut self, connection: Option<&Connection>) -> bool {
        if self.taken.is_empty() && !self.is_ending {
            let first = match connection {
                _ if !self.resting.is_empty() => self.wait_for_company(),
                None => self.inbox.wait().ok_or(NoJob::Ever),
                Some(connection) => self.wait_idle(connection).ok_or(NoJob::Ever),
            };
            match first {
                Ok(first) => self.take(first),
                Err(NoJob::Yet) => {}
                Err(NoJob::Ever) => return false,
            }
        }
        self.take_waiting();
        !self.is_ending || !self.taken.is_empty() || !self.resting.is_empty()
    }

    fn wait_idle(&mut self, connection: &Connection) -> Option<WriterJob> {
        loop {
            match self.inbox.wait_for(IDLE) {
                Ok(job) => return Some(job),
                Err(NoJob::Ever) => return None,
                Err(NoJob::Yet) => {}
            }
            // Trouble with the disk is told to the next writer.
            if self.syncs.check_names().is_err() {
                return self.inbox.wait();
            }
            if !std::mem::replace(&mut self.has_swept, true) {
                let _ = self.sweep_owners(connection);
            }
            let _ = self.write_released(connection);
            self.fold_in(connection);
            if self.wipe_again(connection) && self.unreleased.is_empty() {
                let _ = connection.execute_batch("PRAGMA shrink_memory");
                return self.wait_long(connection);
            }
            self.renew_if_due(connection);
        }
    }

    /// Nothing is left to do but what the next job brings, and to say that we live where nobody can see it.
    fn wait_long(&mut self, connection: &Connection) -> Option<WriterJob> {
        while let Some(wait) = self.renewal_wait() {
            match self.inbox.wait_for(wait) {
                Ok(job) => return Some(job),
                Err(NoJob::Ever) => return None,
                Err(NoJob::Yet) => self.renew_if_due(connection),
            }
        }
        self.inbox.wait()
    }

    pub(super) fn take_waiting(&mut self) {
        while self.taken.len() < BATCH_JOBS_MAX {
            let Some(job) = self.inbox.take() else { return };
            self.take(job);
        }
    }

    /// Whether the writer had better do a sync itself: what comes meanwhile does not wait long, or nobody else is there who
    /// would. What comes meanwhile is one transaction behind it, and so one sync.
    pub(super) fn does_sync(&mut self) -> bool {
        self.take_waiting();
        self.syncs.are_quick() || (self.held.len() <= 1 && self.taken.is_empty())
    }

    pub(super) fn place(&self) -> PathBuf {
        self.home.join(database::FILE_NAME)
    }

    fn attend(&mut self, connection: &Connection, request: StoreRequest) -> Trust {
        match request {
            StoreRequest::Acquire { session, reply } => {
                let result = self.acquire(connection, &session);
                self.answer(reply, result)
            }
            StoreRequest::Newest { query, reply } => {
                let found = rows::list(connection, &Query { limit: Some(1), ..query });
                let (found, trust) = judged(&self.place(), "read", found.map(|mut list| list.pop()));
                let _ = reply.send(found);
                trust
            }
            StoreRequest::Release { lease, reply } => {
                self.release(&lease);
                let mut replies = vec![reply];
                // A process that ends gives many back at once.
                while let Some(reply) = self.release_next() {
                    replies.push(reply);
                }
                // It is free in any case: what could not be written is tried again.
                let (_, trust) = judged(&self.place(), "write", self.write_released(connection));
                for reply in replies {
                    let _ = reply.send(Ok(()));
                }
                trust
            }
            StoreRequest::Delete { session, by, reply } => {
                let result = self.delete(connection, &session, by.as_ref());
                self.bell.ring();
                self.answer(reply, result)
            }
            StoreRequest::Shelf(change) => self.change_shelf(connection, *change),
            StoreRequest::Record { deed, reply } => self.record(connection, &deed, reply),
            StoreRequest::Tidy => Trust::Keep,
        }
    }

    /// Gives a neighbour back, too, if that is what comes next and nothing of it waits for a sync.
    fn release_next(&mut self) -> Option<ReplySender<()>> {
        let Some(WriterJob::Request(StoreRequest::Release { lease, .. })) = self.taken.next() else { return None };
        if self.held.get(&lease.session).is_some_and(|held| !held.unsynced.is_empty()) {
            return None;
        }
        let Some((_, WriterJob::Request(StoreRequest::Release { lease, reply }))) = self.next() else { return None };
        self.release(&lease);
        Some(reply)
    }

    pub(super) fn answer<T>(&self, reply: ReplySender<T>, result: Attempt<T>) -> Trust {
        let (result, trust) = judged(&self.place(), "write", result);
        // The caller may have gone: the work is done all the same.
        let _ = reply.send(result);
        trust
    }

    /// The database cannot be opened. Locks can still be given back.
    fn refuse_taken(&mut self, fault: &Fault) {
        for (_, append) in self.resting.all() {
            append.answer(&Err(fault.clone()));
        }
        while let Some((_, job)) = self.next() {
            match job {
                WriterJob::Append(append) => append.answer(&Err(fault.clone())),
                WriterJob::Request(StoreRequest::Release { lease, reply }) => {
                    self.release(&lease);
                    let _ = reply.send(Ok(()));
                }
                WriterJob::Request(StoreRequest::Acquire { reply, .. }) => _ = reply.send(Err(fault.clone())),
                WriterJob::Request(StoreRequest::Newest { reply, .. }) => _ = reply.send(Err(fault.clone())),
                WriterJob::Request(StoreRequest::Delete { reply, .. }) => _ = reply.send(Err(fault.clone())),
                WriterJob::Request(StoreRequest::Record { reply, .. }) => _ = reply.send(Err(fault.clone())),
                WriterJob::Request(StoreRequest::Shelf(change)) => change.refuse(fault.clone()),
                WriterJob::Request(StoreRequest::Tidy)
                | WriterJob::SyncFailed
                | WriterJob::Synced
                | WriterJob::Hurry { .. }
                | WriterJob::End => {}
            }
        }
        self.tell_progress();
    }
}
