//! Who may write: an owner in the session's row ([`super::owners`]), and an epoch there that ends with the lease.
//!
//! The owner says whether anybody has it; the epoch stops one that lives on after its session was taken over (a lock on
//! a network file system may be lost without a word).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use vocab::{Acquired, Fault, Lease, LeaseSignal, NewSession, Principal, SessionId, Summary};

use super::audit::AuditStatements;
use super::rows::{self, to_int};
use super::upkeep::note_deleted;
use super::writer::Writer;
use super::{Attempt, contents, immediate, log, shelf, window};
use store::audit::AuditRecord;
use store::data_dir;
use store::faults::OwnerRole;

use crate::faults;

/// A lease of this store.
pub(super) struct HeldLease {
    pub(super) epoch: u64,
    /// Its holder's.
    signal: LeaseSignal,
    /// For a session that this lease creates; tells two leases on the same new id apart.
    pub(super) new: Option<Arc<NewSession>>,
    /// What is committed.
    pub(super) done: Option<KnownLog>,
    /// Commits that wait for their sync, by its number, each with what was committed before it.
    pub(super) unsynced: VecDeque<(u64, Option<KnownLog>)>,
    /// The sync behind which the batch at hand is answered: its own, or one that is under way.
    pub(super) answered_after: Option<u64>,
    /// What the open transaction will have made of it.
    pub(super) pending: Option<KnownLog>,
    /// A commit has failed, so what is on disk may be more than `done`.
    pub(super) uncertain: bool,
    /// When something that has time was last asked for, and nothing that has none since: a turn has begun.
    pub(super) prompted_at: Option<Instant>,
    /// When its session was last put first in the order of use.
    used_at: Option<Instant>,
}

/// So many sessions that are used in one transaction, and so within some milliseconds, are a crowd: which of them was the last
/// is for nobody to say.
pub(super) const CROWD_MIN: usize = 8;
/// In a crowd one changes its place in the order of use this often at most.
const USE_GRAIN: Duration = Duration::from_secs(1);

/// A session's row number and totals, as this lease's holder knows them.
#[derive(Clone)]
pub(super) struct KnownLog {
    pub(super) key: i64,
    pub(super) summary: Summary,
}

impl HeldLease {
    fn new(lease: &Lease) -> Self {
        Self {
            epoch: lease.epoch,
            signal: lease.signal.clone(),
            new: None,
            done: None,
            unsynced: VecDeque::new(),
            answered_after: None,
            pending: None,
            uncertain: false,
            prompted_at: None,
            used_at: None,
        }
    }

    /// Whether its session, which is used now, is to be the first in the order of use. To move all of a crowd with every turn
    /// costs as much as what they have said: one that was moved a moment ago stays where it is.
    pub(super) fn is_to_be_first(&mut self, in_crowd: bool) -> bool {
        let is_moved = in_crowd && self.used_at.is_some_and(|at| at.elapsed() < USE_GRAIN);
        if !is_moved {
            self.used_at = Some(Instant::now());
        }
        !is_moved
    }

    /// The sync that this session waits for, if it does; commits up to `reached` are on the disk.
    pub(super) fn unsynced_at(&mut self, reached: u64) -> Option<u64> {
        while self.unsynced.front().is_some_and(|(number, _)| *number <= reached) {
            self.unsynced.pop_front();
        }
        self.unsynced.back().map(|(number, _)| *number)
    }

    /// Its transaction is committed, under this number if it is to be synced.
    pub(super) fn commit(&mut self, number: u64) {
        let Some(pending) = self.pending.take() else { return };
        let before = self.done.replace(pending);
        self.uncertain = false;
        if self.answered_after == Some(number) {
            self.unsynced.push_back((number, before));
        }
    }

    /// Its transaction has failed.
    pub(super) fn give_up(&mut self) {
        self.uncertain |= self.pending.take().is_some();
        self.used_at = None;
    }

    /// A sync has failed: commits behind `reached` count for nothing any more.
    pub(super) fn fall_back(&mut self, reached: u64) {
        self.unsynced_at(reached);
        if let Some((_, before)) = self.unsynced.pop_front() {
            self.done = before;
            self.uncertain = true;
            self.used_at = None;
            self.unsynced.clear();
        }
    }

    pub(super) fn latest(&self) -> Option<&KnownLog> {
        self.pending.as_ref().or(self.done.as_ref())
    }

    pub(super) fn check(&self, lease: &Lease) -> Result<(), Fault> {
        match (&lease.new, &self.new) {
            (Some(theirs), Some(ours)) if !Arc::ptr_eq(theirs, ours) => Err(faults::exists(&lease.session)),
            (Some(_), None) => Err(faults::stale(&lease.session, lease.epoch)),
            _ if lease.epoch != self.epoch => Err(faults::stale(&lease.session, lease.epoch)),
            _ => Ok(()),
        }
    }
}

impl Writer {
    /// The first append of a new session: no other store may be making the same one. Within a transaction.
    pub(super) fn begin(&mut self, connection: &Connection, lease: &Lease) -> Attempt<()> {
        let Some(new) = &lease.new else { return Err(faults::stale(&lease.session, lease.epoch).into()) };
        if rows::find(connection, &lease.session)?.is_some() {
            return Err(faults::exists(&lease.session).into());
        }
        let mut held = HeldLease::new(lease);
        held.new = Some(new.clone());
        self.unreleased.retain(|(id, _)| *id != lease.session);
        self.held.insert(lease.session.clone(), Box::new(held));
        Ok(())
    }

    pub(super) fn acquire(&mut self, connection: &Connection, id: &SessionId) -> Attempt<Acquired> {
        if self.held.contains_key(id) {
            return Err(faults::busy(id, &format!("this process ({})", self.owner)).into());
        }
        let taken = immediate(connection, || self.take_over(connection, id));
        self.settle_claim(taken.is_ok());
        let (log, acquired) = taken?;
        let mut held = HeldLease::new(&acquired.lease);
        held.done = Some(log);
        self.unreleased.retain(|(it, _)| it != id);
        self.held.insert(id.clone(), Box::new(held));
        Ok(acquired)
    }

    fn take_over(&mut self, connection: &Connection, id: &SessionId) -> Attempt<(KnownLog, Acquired)> {
        let Some(found) = rows::find(connection, id)? else { return Err(faults::unknown_session(id).into()) };
        if let Some(holder) = self.holder(connection, id, &found)? {
            return Err(faults::busy(id, &holder).into());
        }
        // Nothing is appended behind a damaged record.
        let (summary, recovered) = log::cut(connection, id, &found)?;
        self.notice_losses(connection)?;
        let (owner, epoch) = (self.claim(connection)?, found.epoch + 1);
        self.tell_taken(connection, &found)?;
        connection.prepare("UPDATE sessions SET epoch = ?1, owned_by = ?2 WHERE key = ?3")?.execute(params![
            to_int(epoch),
            owner,
            found.key
        ])?;
        let lease = Lease::on(id.clone(), epoch);
        Ok((KnownLog { key: found.key, summary: summary.clone() }, Acquired { lease, summary, recovered }))
    }

    /// A lease that is not ours, or not the newest, is nothing to give back.
    pub(super) fn release(&mut self, lease: &Lease) {
        if self.held.get(&lease.session).is_some_and(|held| held.check(lease).is_ok())
            && let Some(held) = self.held.remove(&lease.session)
            && (held.done.is_some() || held.uncertain)
        {
            self.unreleased.push((lease.session.clone(), held.epoch));
        }
    }

    /// Writes down what was given back. What cannot be written now is tried again later, and is free for this process all the
    /// same.
    pub(super) fn write_released(&mut self, connection: &Connection) -> Attempt<()> {
        let Some(owner) = self.claim.as_ref().map(|claim| claim.id).filter(|_| !self.unreleased.is_empty()) else {
            return Ok(());
        };
        immediate(connection, || {
            let mut free = connection
                .prepare("UPDATE sessions SET owned_by = NULL WHERE id = ?1 AND epoch = ?2 AND owned_by = ?3")?;
            for (id, epoch) in &self.unreleased {
                free.execute(params![id.as_str(), to_int(*epoch), owner])?;
            }
            Ok(())
        })?;
        self.unreleased = Vec::new();
        Ok(())
    }

    /// The session is not ours any more, and whoever has the lease is to know.
    pub(super) fn lose(&mut self, id: &SessionId, fault: Fault) {
        if let Some(held) = self.held.remove(id) {
            held.signal.lose(fault);
        }
    }

    pub(super) fn delete(&mut self, connection: &Connection, id: &SessionId, by: Option<&Principal>) -> Attempt<bool> {
        let mut gone = Vec::new();
        let is_gone = immediate(connection, || {
            let mut family = vec![id.clone()];
            family.extend(rows::children(connection, id)?);
            let mut keys = Vec::new();
            for id in &family {
                if self.held.contains_key(id) {
                    return Err(faults::busy(id, &format!("this process ({})", self.owner)).into());
                }
                let Some(found) = rows::find(connection, id)? else { continue };
                if let Some(holder) = self.holder(connection, id, &found)? {
                    return Err(faults::busy(id, &holder).into());
                }
                keys.push((id.clone(), found.key));
            }
            let mut is_gone = false;
            for (it, key) in &keys {
                connection.execute("DELETE FROM records WHERE session = ?1", [key])?;
                window::forget(connection, *key)?;
                contents::forget(connection, *key)?;
                connection.execute("DELETE FROM damaged WHERE session_id = ?1", [it.as_str()])?;
                shelf::forget_of(connection, it.as_str())?;
                note_deleted(connection, it)?;
                is_gone |= connection.execute("DELETE FROM sessions WHERE key = ?1", [key])? > 0 && it == id;
            }
            gone = keys;
            if let Some(by) = by.filter(|_| is_gone) {
                let mut audit = AuditStatements::prepare(connection)?;
                // The one that was named, then those that went with it.
                for (it, _) in &gone {
                    audit.write(&AuditRecord::deleted(it, by.as_str(), now_ms()))?;
                }
            }
            Ok(is_gone)
        })?;
        for (it, _) in &gone {
            data_dir::remove_files(&self.home, it)
                .map_err(|error| faults::from_io("delete files of a session in", &self.home, &error))?;
        }
        if is_gone {
            self.wipe(connection, id)?;
        }
        Ok(is_gone)
    }
}

pub(super) fn now_ms() -> i64 {
    vocab::unix_ms(std::time::SystemTime::now())
}

/// This process, in words that also tell it from a later one with the same number.
pub(super) fn owner(role: Option<OwnerRole>) -> String {
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    let since = started_ms().map(|at_ms| vocab::iso8601(at_ms).chars().take(19).collect::<String>().replace('T', " "));
    let since = since.map_or_else(|| "an unknown time".to_owned(), |since| format!("{since} UTC"));
    let process = format!("process {} on {host}, running since {since}", std::process::id());
    match role {
        Some(role) => role.name(&process),
        None => process,
    }
}

/// What `/proc` counts in: `USER_HZ`, fixed by the kernel's ABI on every machine Rust runs on. It is not asked for, because
/// the way to ask (the auxiliary vector) ends a process that valgrind watches, and `tests/it/walk.rs` has it watch ours.
const TICKS_PER_SECOND: i64 = 100;

/// When this process began: in clock ticks since boot it is the 22nd field, counted behind the name, which may itself hold
/// spaces and brackets; when the machine was started is a line of its own.
fn started_ms() -> Option<i64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let ticks: i64 = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
    let machine = std::fs::read_to_string("/proc/stat").ok()?;
    let boot_s: i64 = machine.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(boot_s * 1000 + ticks * 1000 / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_used_alone_is_the_first_and_in_a_crowd_nobody_moves_again_at_once() {
        let mut held = HeldLease::new(&Lease::on("a".into(), 1));
        assert!(held.is_to_be_first(true), "it was not used here before");
        assert!(!held.is_to_be_first(true));
        assert!(held.is_to_be_first(false), "one after the other: their order is known");
        held.used_at = Instant::now().checked_sub(USE_GRAIN);
        assert!(held.is_to_be_first(true), "others that were used since are behind it, in a crowd, too");
        held.give_up();
        assert!(held.is_to_be_first(true), "what was not committed has moved nothing");
    }
}
