//! Owners: who has sessions. An owner is one store in one process. It has a row in the database and a lock beside it, both
//! from its first lease on; a session's row says which owner has it. So a lease costs neither a descriptor nor anything that
//! has to be kept up.
//!
//! Whether an owner lives is asked of its lock. Processes under one kernel see each other's locks on any file system, and
//! the kernel drops them with the process. An owner on another machine may have a lock that cannot be seen from here: where
//! its lock looks free, it lives for as long as it renews its row. Only an owner that another machine could ask about does
//! so, that is one whose database is on a file system that machines share (or that has no locks): on a disk of its own an idle
//! process writes nothing. Nothing happens when a time to live runs out; somebody has to come and take a session.
//!
//! Whoever takes a session counts it in the row of the owner it was taken from, so that this one finds out with one look,
//! however many it has: with whatever it writes next, and where it renews, then.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension, Statement, params};
use vocab::{FnvSum, SessionId};

use super::leases::now_ms;
use super::lock_file::{self, Lock, LockState};
use super::rows::SessionRow;
use super::writer::Writer;
use super::{Attempt, immediate};
use crate::faults;

/// An owner that has to renew its claim and was not heard of for this long can lose it.
pub(super) const OWNER_TTL: Duration = Duration::from_secs(30);
/// Renewed so often within it, so that one that fails is no loss.
const RENEWALS_PER_TTL: u32 = 3;
/// A lock of an owner that has no row was left behind by a dead one when it is older than this. Where it could be that of
/// another machine: a lock that is held here is seen.
const ROWLESS_TIME_MAX: Duration = Duration::from_secs(3600);
/// Owners looked at by one sweep; the rest is for the next one.
const SWEPT_MAX: i64 = 1024;

/// How many sessions were ever taken from an owner, and when it said that it lives.
pub(super) const COUNT_TAKEN: &str = "SELECT taken, renewed_ms FROM owners WHERE id = ?1";

/// How this store keeps its claim.
#[derive(Clone, Copy)]
pub(super) struct LeaseTerms {
    pub(super) ttl: Duration,
    /// Whatever its database is on.
    pub(super) always_renews: bool,
}

impl Default for LeaseTerms {
    fn default() -> Self {
        Self { ttl: OWNER_TTL, always_renews: false }
    }
}

/// This store, as an owner.
pub(super) struct OwnClaim {
    pub(super) id: i64,
    /// Unlocks when the store ends.
    _lock: Option<Lock>,
    /// Its row was committed once.
    was_written: bool,
    /// It is there and says that we live, as far as is known; or the transaction at hand says so.
    is_written: bool,
    is_pending: bool,
    /// Sessions that were ever taken from it, as far as was looked.
    taken: i64,
    /// Somebody may not be able to see the lock.
    renews: bool,
    renewed: Instant,
}

/// Another owner's row.
struct OwnerRow {
    name: String,
    machine: String,
    renewed_ms: i64,
    ttl_ms: i64,
}

impl Writer {
    /// Within a transaction that takes a session: the owner's row is there when it is committed.
    pub(super) fn claim(&mut self, connection: &Connection) -> Attempt<i64> {
        if self.claim.is_none() {
            let id = random_id();
            let lock = Lock::make(&self.locks, id)
                .map_err(|error| faults::from_io("lock the sessions in", &self.locks, &error))?;
            let renews = lock.is_none() || self.is_shared();
            let (was_written, is_written, is_pending, renewed) = (false, false, false, Instant::now());
            self.claim =
                Some(OwnClaim { id, _lock: lock, was_written, is_written, is_pending, taken: 0, renews, renewed });
        }
        let Some(claim) = &mut self.claim else { unreachable!("it was just made") };
        if !claim.is_written {
            // A commit that was said to have failed may have come back.
            connection
                .prepare(
                    "INSERT INTO owners VALUES (?1, ?2, ?3, NULL, ?4, ?5, ?6)
                     ON CONFLICT (id) DO UPDATE SET renewed_ms = ?4",
                )?
                .execute(params![claim.id, self.owner, self.machine, now_ms(), ms(self.terms.ttl), claim.taken])?;
            claim.is_pending = true;
            claim.renewed = Instant::now();
        }
        Ok(claim.id)
    }

    /// Whether owners of other machines may be among those of this database.
    fn is_shared(&self) -> bool {
        self.terms.always_renews || self.locks.parent().is_some_and(is_shared)
    }

    /// Behind a transaction.
    pub(super) fn settle_claim(&mut self, is_committed: bool) {
        if let Some(claim) = &mut self.claim {
            claim.is_written |= std::mem::take(&mut claim.is_pending) && is_committed;
            claim.was_written |= claim.is_written;
        }
    }

    /// Behind an error of the disk: the row may be gone.
    pub(super) fn doubt_claim(&mut self) {
        if let Some(claim) = &mut self.claim {
            claim.is_written = false;
        }
    }

    /// Who has the session, if anybody does who lives.
    pub(super) fn holder(&self, connection: &Connection, id: &SessionId, row: &SessionRow) -> Attempt<Option<String>> {
        let unseen = |error| faults::from_io("look at the locks in", &self.locks, &error);
        let Some(owner) = row.owned_by else {
            let older = lock_file::look_for_older(&self.home, id).map_err(unseen)?;
            return Ok((older == LockState::Held).then(|| "a process of an older version".to_owned()));
        };
        // What was given back and could not be written.
        if self.claim.as_ref().is_some_and(|claim| claim.id == owner) {
            return Ok(None);
        }
        let Some(found) = find(connection, owner)? else { return Ok(None) };
        let state = lock_file::look(&self.locks, owner).map_err(unseen)?;
        Ok(found.is_alive(state, &self.machine, now_ms()).then(|| self.name_of(found.name)))
    }

    fn name_of(&self, owner: String) -> String {
        if owner == self.owner { format!("another part of this process ({owner})") } else { owner }
    }

    /// The name of the owner that a session's row gives, living or dead.
    pub(super) fn owner_name(connection: &Connection, row: &SessionRow) -> Attempt<String> {
        let found = row.owned_by.map(|owner| find(connection, owner)).transpose()?.flatten();
        Ok(found.map_or_else(|| "another process".to_owned(), |found| found.name))
    }

    /// Within a transaction: this session was another's. One that lives all the same is to find out.
    pub(super) fn tell_taken(&self, connection: &Connection, row: &SessionRow) -> Attempt<()> {
        if let Some(owner) = row.owned_by.filter(|owner| self.claim.as_ref().is_none_or(|claim| claim.id != *owner)) {
            connection.execute("UPDATE owners SET taken = taken + 1 WHERE id = ?1", [owner])?;
            // One of another machine may live after all, and those beside it go by its lock.
            if find(connection, owner)?.is_none_or(|found| is_same(&found.machine, &self.machine)) {
                lock_file::remove(&self.locks, owner);
            }
        }
        Ok(())
    }

    /// Looks whether a session was taken from us, and tells those who had it.
    pub(super) fn notice_losses(&mut self, connection: &Connection) -> Attempt<()> {
        self.notice_losses_with(connection, &mut connection.prepare(COUNT_TAKEN)?)
    }

    /// As before, for somebody who looks often: `count` is [`COUNT_TAKEN`].
    pub(super) fn notice_losses_with(&mut self, connection: &Connection, count: &mut Statement<'_>) -> Attempt<()> {
        let Some(claim) = self.claim.as_mut().filter(|claim| claim.was_written) else { return Ok(()) };
        let row: Option<(i64, i64)> = count.query_row([claim.id], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let (known, every) = (claim.taken, ms(self.terms.ttl / RENEWALS_PER_TTL));
        match row {
            Some((taken, renewed_ms)) => {
                claim.taken = taken;
                // By the clock that others go by: it goes on while the machine sleeps, and may be set.
                claim.is_written &= !claim.renews || (0..every).contains(&(now_ms() - renewed_ms));
            }
            // Somebody held us for dead and swept it away.
            None => claim.is_written = false,
        }
        if row.is_none() || claim.taken != known { self.check_leases(connection) } else { Ok(()) }
    }

    fn check_leases(&mut self, connection: &Connection) -> Attempt<()> {
        let mut lost = Vec::new();
        for (id, held) in &self.held {
            let Some(done) = &held.done else { continue };
            match super::rows::find(connection, id)? {
                Some(row) if row.key == done.key && row.epoch == held.epoch => {}
                Some(row) => lost.push((id.clone(), faults::busy(id, &Self::owner_name(connection, &row)?))),
                None => lost.push((id.clone(), faults::unknown_session(id))),
            }
        }
        for (id, fault) in lost {
            self.lose(&id, fault);
        }
        Ok(())
    }

    /// When the next renewal is due; `None`: none will be, as things are.
    pub(super) fn renewal_wait(&self) -> Option<Duration> {
        let claim = self.claim.as_ref().filter(|claim| claim.renews && !self.held.is_empty())?;
        Some((self.terms.ttl / RENEWALS_PER_TTL).saturating_sub(claim.renewed.elapsed()))
    }

    /// Says that we live, if it is time. One row, however many sessions; and a look at what became of them.
    pub(super) fn renew_if_due(&mut self, connection: &Connection) {
        if self.renewal_wait().is_none_or(|wait| !wait.is_zero()) {
            return;
        }
        // Tried again as often as it would be done. Trouble with the disk is told to the next writer.
        if self.syncs.check_names().is_ok() {
            let _ = self.renew(connection);
        }
        if let Some(claim) = &mut self.claim {
            claim.renewed = Instant::now();
        }
    }

    fn renew(&mut self, connection: &Connection) -> Attempt<()> {
        let renewed = immediate(connection, || {
            self.notice_losses(connection)?;
            self.doubt_claim();
            self.claim(connection)
        });
        self.settle_claim(renewed.is_ok());
        renewed.map(|_| ())
    }

    /// At the end, in order: whoever still has a session of ours has it no more.
    pub(super) fn give_up_claim(&mut self, connection: &Connection) {
        if let Some(claim) = self.claim.take().filter(|claim| claim.was_written) {
            // Its lock goes all the same, and with it what it stands for.
            let _ = connection.execute("DELETE FROM owners WHERE id = ?1", [claim.id]);
        }
    }

    /// Rows of owners that are dead, and the locks that they left. A session whose owner has no row is free.
    pub(super) fn sweep_owners(&mut self, connection: &Connection) -> Attempt<()> {
        let ours = self.claim.as_ref().map(|claim| claim.id);
        let mut dead = Vec::new();
        {
            let mut statement = connection.prepare("SELECT id FROM owners LIMIT ?1")?;
            let ids = statement.query_map([SWEPT_MAX], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
            for id in ids.into_iter().filter(|id| Some(*id) != ours) {
                let Some(found) = find(connection, id)? else { continue };
                let state = lock_file::look(&self.locks, id);
                if state.is_ok_and(|state| !found.is_alive(state, &self.machine, now_ms())) {
                    dead.push(id);
                }
            }
        }
        let is_shared = self.is_shared();
        lock_file::sweep(&self.locks, |owner, age| match owner {
            Some(owner) if dead.contains(&owner) => true,
            // One that has no row may be about to write it.
            Some(owner) => {
                find(connection, owner).is_ok_and(|row| row.is_none()) && (!is_shared || age > ROWLESS_TIME_MAX)
            }
            // An older version's, which knew of no other machine.
            None => !is_shared,
        });
        if dead.is_empty() {
            return Ok(());
        }
        immediate(connection, || {
            for id in &dead {
                connection.execute("DELETE FROM owners WHERE id = ?1", [id])?;
            }
            Ok(())
        })
    }
}

impl OwnerRow {
    fn is_alive(&self, lock: LockState, machine: &str, now_ms: i64) -> bool {
        match lock {
            LockState::Held => true,
            LockState::Free if is_same(&self.machine, machine) => false,
            LockState::Free | LockState::Unknown => now_ms.saturating_sub(self.renewed_ms) < self.ttl_ms,
        }
    }
}

fn find(connection: &Connection, owner: i64) -> Attempt<Option<OwnerRow>> {
    let sql = "SELECT name, machine, renewed_ms, ttl_ms FROM owners WHERE id = ?1";
    let found = connection.prepare(sql)?.query_row([owner], |row| {
        Ok(OwnerRow { name: row.get(0)?, machine: row.get(1)?, renewed_ms: row.get(2)?, ttl_ms: row.get(3)? })
    });
    Ok(found.optional()?)
}

fn ms(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// Nobody else's: it is never given twice, also when the database is made anew.
fn random_id() -> i64 {
    // Seeded by the system for each process and another one for each use.
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.write_u128(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_nanos()));
    (hasher.finish() >> 1).cast_signed()
}

/// The kernel we run under, and the machine: its name together with a sum of its own number, where it has one.
pub(super) fn machine() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let number = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    machine_name(boot.trim(), &rustix::system::uname().nodename().to_string_lossy(), number.trim())
}

/// The number itself is not for others; its sum says no more than that two are the same.
fn machine_name(boot: &str, host: &str, number: &str) -> String {
    match number {
        "" => format!("{boot} {host}"),
        number => format!("{boot} {host}#{:016x}", FnvSum::of(number.as_bytes())),
    }
}

/// Whether a lock of one is seen by the other: the kernel is the same (whatever a container calls itself), or the machine is,
/// and was started anew since. A name alone says nothing: many machines are called alike.
fn is_same(one: &str, other: &str) -> bool {
    let (Some((boot, host)), Some((other_boot, other_host))) = (one.split_once(' '), other.split_once(' ')) else {
        return false;
    };
    (!boot.is_empty() && boot == other_boot) || (host == other_host && host.contains('#'))
}

/// File systems that several machines may have open, of which one may not see the other's locks: by the numbers that the
/// kernel gives them (`linux/magic.h` and the sources of those that are not in it).
#[cfg(target_os = "linux")]
fn is_shared(home: &Path) -> bool {
    const SHARED: [u32; 13] = [
        0x6969,      // nfs
        0x517b,      // smb
        0xff53_4d42, // cifs
        0xfe53_4d42, // smb2
        0x564c,      // ncp
        0x5346_414f, // afs
        0x6b41_4653, // afs of the kernel
        0x00c3_6400, // ceph
        0x0102_1997, // 9p
        0x0bd0_0bd0, // lustre
        0x0116_1970, // gfs2
        0x7461_636f, // ocfs2
        0x6573_5546, // fuse: sshfs, glusterfs, virtiofs
    ];
    // The width of the field is the machine's.
    rustix::fs::statfs(home).is_ok_and(|it| SHARED.contains(&(it.f_type as u32)))
}
#[cfg(not(target_os = "linux"))]
fn is_shared(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_believed_where_it_can_be_seen_and_the_time_to_live_where_it_cannot() {
        let owner = |machine: &str| OwnerRow {
            name: "n".to_owned(),
            machine: machine.to_owned(),
            renewed_ms: 100_000,
            ttl_ms: 30_000,
        };
        let us = "boot-1 here#1";
        // Owner's machine, its lock, milliseconds since it renewed; whether it lives.
        let cases = [
            ("boot-1 here#1", LockState::Held, 1_000_000, true),
            ("boot-1 here#1", LockState::Free, 0, false),
            ("boot-1 container", LockState::Free, 0, false),
            ("boot-0 here#1", LockState::Free, 0, false),
            ("boot-0 here#2", LockState::Free, 29_999, true),
            ("boot-0 here", LockState::Free, 29_999, true),
            ("boot-0 there#1", LockState::Free, 29_999, true),
            ("boot-2 there", LockState::Held, 1_000_000, true),
            ("boot-2 there", LockState::Free, 29_999, true),
            ("boot-2 there", LockState::Free, 30_000, false),
            ("boot-2 there", LockState::Free, -5_000, true),
            ("boot-1 here#1", LockState::Unknown, 29_999, true),
            ("boot-1 here#1", LockState::Unknown, 30_000, false),
            (" there", LockState::Free, 10, true),
        ];
        for (machine, lock, age, lives) in cases {
            assert_eq!(owner(machine).is_alive(lock, us, 100_000 + age), lives, "{machine} {lock:?} {age}");
        }
    }

    #[test]
    fn machines_that_are_called_alike_are_not_one() {
        let names = [("b1", "host", "n1"), ("b2", "host", "n2"), ("b3", "host", ""), ("b4", "host", "")];
        let names = names.map(|(boot, host, number)| machine_name(boot, host, number));
        for (at, one) in names.iter().enumerate() {
            for (other_at, other) in names.iter().enumerate() {
                assert_eq!(is_same(one, other), at == other_at, "{one} {other}");
            }
        }
        assert!(is_same(&machine_name("b1", "host", "n1"), &machine_name("b9", "host", "n1")), "started anew");
        assert!(!names[0].contains("n1"), "the number is not told");
    }

    #[test]
    fn no_two_owners_have_one_number() {
        let ids: std::collections::BTreeSet<i64> = (0..1000).map(|_| random_id()).collect();
        assert_eq!((ids.len(), ids.iter().all(|id| *id >= 0)), (1000, true));
    }
}
