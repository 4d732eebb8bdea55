//! The store under `strace`: which promises reach the disk, and what happens when any single system call fails.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use store_sqlite::SqliteStore;
use vocab::{Deed, Durability, Principal, ShelfKind, ShelfPlace, Store};

use crate::kit::{self, new_session, rounds, said, tell, texts};

const APPENDS: u64 = 12;

/// Number 0 never syncs, number 1 always does. Offers an entry until it is taken.
#[tokio::test]
async fn role_patient_writer() {
    let Some((store, number)) = kit::role("syscalls::role_patient_writer") else { return };
    let lease = store.create(new_session("s"));
    let mut faults = 0;
    for seq in 1..=APPENDS {
        while let Err(fault) = store.append(&lease, vec![said(seq, &format!("{seq}"))], kit::synced(number == 1)).await
        {
            assert_eq!(fault.kind, vocab::FaultKind::Store, "{fault}");
            faults += 1;
            assert!(faults < 20, "one failed call must not fail everything after it: {fault}");
        }
    }
    store.release(lease).await.unwrap();
    tell(&format!("{faults}"));
}

fn traced(home: &Path, number: usize, trace: &Path, more: &[&str]) -> Command {
    traced_role("syscalls::role_patient_writer", home, number, trace, more)
}

fn traced_role(role: &str, home: &Path, number: usize, trace: &Path, more: &[&str]) -> Command {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "signal=none", "-o"]).arg(trace).args(more);
    command.arg(std::env::current_exe().unwrap());
    command.args([role, "--exact", "--nocapture", "--test-threads=1"]);
    kit::as_child(&mut command, role, home, number);
    command
}

fn no_strace() -> bool {
    let works = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).status();
    let missing = !works.is_ok_and(|status| status.success());
    if missing {
        println!("SKIP: strace cannot be run here");
    }
    missing
}

#[test]
fn a_synced_append_syncs_and_another_does_not() {
    if no_strace() {
        return;
    }
    let syncs = [0, 1].map(|number| {
        let home = tempfile::tempdir().unwrap();
        let trace = home.path().join("trace");
        let home = home.path().join("home");
        let more = ["-e", "trace=fsync,fdatasync"];
        kit::told(traced(&home, number, &trace, &more).spawn().unwrap(), false);
        fs::read_to_string(trace).unwrap().matches("sync(").count() as u64
    });
    println!("syncs of a life with {APPENDS} appends: {} unsynced, {} synced", syncs[0], syncs[1]);
    // Making the database and folding the log in at the end sync a few times in any case.
    assert!(syncs[0] < APPENDS, "unsynced appends sync: {}", syncs[0]);
    assert!(syncs[1] >= syncs[0] + APPENDS - 1, "a synced append does not sync: {}", syncs[1]);
}

/// Appends that wait together become one transaction. All but the last are not to be synced, and the last is; or the
/// first is, when the number is 1.
#[tokio::test]
async fn role_mixed_batches() {
    let Some((store, number)) = kit::role("syscalls::role_mixed_batches") else { return };
    let leases = ["a", "b", "c"].map(|id| store.create(new_session(id)));
    for lease in &leases {
        store.append(lease, vec![said(1, "1")], Durability::Commit).await.unwrap();
    }
    for round in 0..BATCHES {
        // Looking for a session that is not there keeps the writer busy while the batch gathers behind it.
        let busy = store.acquire(&"nobody".into());
        let at = |lease: usize| lease == if number == 1 { 0 } else { leases.len() - 1 };
        let appends: Vec<_> = (0..leases.len())
            .map(|it| store.append(&leases[it], vec![said(round + 2, "more")], kit::synced(at(it))))
            .collect();
        busy.await.unwrap_err();
        for append in appends {
            append.await.unwrap();
        }
        // Said between two batches, so that the trace shows which sync belongs to which.
        tell(&format!("batch {round}"));
    }
}

const BATCHES: u64 = 20;

/// Whoever asks for a sync gets one, wherever in a group it stands.
#[test]
fn a_group_of_appends_syncs_when_any_of_them_is_to_be_synced() {
    if no_strace() {
        return;
    }
    for number in [0, 1] {
        let home = tempfile::tempdir().unwrap();
        let (trace, home) = (home.path().join("trace"), home.path().join("home"));
        let more = ["-e", "trace=fsync,fdatasync,write"];
        let role = "syscalls::role_mixed_batches";
        kit::told(traced_role(role, &home, number, &trace, &more).spawn().unwrap(), false);
        let trace = fs::read_to_string(trace).unwrap();
        let mut synced = false;
        let mut batches = 0;
        for line in trace.lines() {
            synced |= line.contains("fdatasync") && line.ends_with("= 0");
            if line.contains("@@batch") {
                assert!(synced, "batch {batches} (order {number}) was acknowledged without a sync:\n{trace}");
                (synced, batches) = (false, batches + 1);
            }
        }
        assert_eq!(batches, BATCHES, "{trace}");
    }
}

/// Many unsynced appends: the write-ahead log is folded into the database several times, beside them and in the pauses.
#[tokio::test]
async fn role_folding_writer() {
    let Some((store, _)) = kit::role("syscalls::role_folding_writer") else { return };
    let lease = store.create(new_session("s"));
    // A synced one first: later ones must not depend on what the connection was told before.
    store.append(&lease, vec![said(1, "first")], Durability::Now).await.unwrap();
    let mut seq = 1;
    for _ in 0..FOLDING_ROUNDS {
        for _ in 0..FOLDING_APPENDS {
            seq += 1;
            store.append(&lease, vec![said(seq, &"long ".repeat(32_000))], Durability::Commit).await.unwrap();
        }
        // While there is nothing to do the rest is folded in, and the next commit begins the log anew.
        tokio::time::sleep(std::time::Duration::from_millis(900)).await;
    }
    store.release(lease).await.unwrap();
}

/// Each append writes forty pages or more, so that a round of them is worth a fold beside the work.
const FOLDING_ROUNDS: u64 = 4;
const FOLDING_APPENDS: u64 = 110;

/// What a thread has done to the files since its last fold.
#[derive(Default)]
struct FoldingThread {
    has_synced_log: bool,
    /// A sync that has begun: of the log, or of the database.
    syncing: Option<bool>,
}

/// What is folded into the database was synced in the write-ahead log before, by whoever folds, and is synced in the database
/// before the log is written from its start again. Otherwise a power cut leaves neither of the two whole.
#[test]
fn the_write_ahead_log_is_synced_before_it_is_folded_in_and_the_database_before_it_is_reused() {
    if no_strace() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let (trace, home) = (home.path().join("trace"), home.path().join("home"));
    let more = ["-y", "-e", "trace=pwrite64,fsync,fdatasync"];
    let role = "syscalls::role_folding_writer";
    kit::told(traced_role(role, &home, 0, &trace, &more).spawn().unwrap(), false);
    let trace = fs::read_to_string(trace).unwrap();
    let mut threads: HashMap<&str, FoldingThread> = HashMap::new();
    let (mut database_unsynced, mut folds, mut reuses) = (false, 0, 0);
    // Before there is a log, the database is made.
    let log = trace.find("sessions.db-wal>").expect("there is a log");
    let log = trace[..log].rfind('\n').unwrap_or(0);
    for line in trace[log..].lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        let thread = threads.entry(thread).or_default();
        let (call, in_log, in_database) =
            (call.trim_start(), call.contains("sessions.db-wal>"), call.contains("sessions.db>"));
        if call.starts_with("pwrite64(") && in_database {
            assert!(thread.has_synced_log, "the database is written with what the log may lose: {line}");
            folds += u64::from(!database_unsynced);
            database_unsynced = true;
        } else if call.starts_with("pwrite64(") && in_log {
            if call.contains(", 32, 0) =") || call.contains(", 32, 0 <") {
                assert!(!database_unsynced, "the log begins anew before the database is safe: {line}");
                reuses += 1;
            }
            thread.has_synced_log = false;
        } else if call.contains("sync(") && (in_log || in_database) {
            thread.syncing = Some(in_log);
        }
        let is_over = call.contains("sync") && !call.contains("<unfinished");
        match thread.syncing.take_if(|_| is_over) {
            Some(true) => thread.has_synced_log = true,
            Some(false) => (thread.has_synced_log, database_unsynced) = (false, false),
            None => {}
        }
    }
    println!("folded in {folds} times, begun anew {reuses} times");
    assert!(folds > 2 && reuses > 2, "the log was never folded in: {folds}, {reuses}");
    let folders = trace.lines().filter(|line| line.contains("pwrite64(") && line.contains("sessions.db>"));
    let folders: HashSet<&str> = folders.filter_map(|line| line.split_once(' ')).map(|(thread, _)| thread).collect();
    assert!(folders.len() > 2, "nobody folded it in beside the writer");
}

#[tokio::test]
async fn any_single_call_may_fail_and_nothing_is_lost_or_doubled() {
    if no_strace() {
        return;
    }
    let (mut hits, mut reopened) = (0, 0);
    for (call, error) in [("pwrite64", "ENOSPC"), ("pwrite64", "EIO"), ("fsync,fdatasync", "EIO")] {
        for step in 0..rounds(8, 60) {
            let when = if rounds(0, 1) == 1 { step + 1 } else { 1 + step * 5 };
            let home = tempfile::tempdir().unwrap();
            let (trace, home) = (home.path().join("trace"), home.path().join("home"));
            let (filter, inject) = (format!("trace={call},openat"), format!("inject={call}:error={error}:when={when}"));
            let command = &mut traced(&home, 1, &trace, &["-e", &filter, "-e", &inject]);
            let told = kit::told(command.spawn().unwrap(), false);
            let trace = fs::read_to_string(&trace).unwrap();
            hits += usize::from(trace.contains("INJECTED"));
            if error == "EIO" && told.last().is_some_and(|faults| faults != "0") {
                // A connection that saw an error believes things about the disk that may not be so.
                let (_, after) = trace.split_once("INJECTED").expect("a fault has a cause");
                assert!(after.contains("sessions.db\""), "{call} number {when}: not opened again");
                reopened += 1;
            }
            let store = SqliteStore::new(home);
            let wanted: Vec<String> = (1..=APPENDS).map(|seq| seq.to_string()).collect();
            let seen = texts(&store, &"s".into()).await;
            assert_eq!(seen, wanted, "{call} number {when} failed with {error}; faults told: {told:?}");
        }
    }
    println!("{hits} calls were made to fail, {reopened} times the database was opened again");
    assert!(reopened > 0, "no append saw an input/output error");
    assert!(hits > 10, "the faults did not reach the store");
}

/// With nobody else there, opening the database again reads its write-ahead log from the disk. With somebody there it does
/// not, so what a failed sync left in memory only has to be written once more.
#[tokio::test]
async fn after_a_failed_sync_the_database_itself_is_synced_before_the_next_promise() {
    if no_strace() {
        return;
    }
    let mut refused = 0;
    for when in 1..=6 {
        let home = tempfile::tempdir().unwrap();
        let (trace, home) = (home.path().join("trace"), home.path().join("home"));
        let other = SqliteStore::new(home.clone());
        other.list(vocab::Query::default()).await.unwrap();
        let inject = format!("inject=fsync,fdatasync:error=EIO:when={when}");
        let command = &mut traced(&home, 1, &trace, &["-y", "-e", "trace=fsync,fdatasync", "-e", &inject]);
        let told = kit::told(command.spawn().unwrap(), false);
        if told == ["0"] {
            // It was a directory's.
            continue;
        }
        refused += 1;
        let trace = fs::read_to_string(&trace).unwrap();
        // Each thread has its own count, so there may be two failures.
        let mut is_suspect = false;
        for line in trace.lines() {
            if line.contains("INJECTED") {
                is_suspect |= line.contains("sessions.db");
            } else if line.contains("sessions.db>") && line.ends_with("= 0") {
                is_suspect = false;
            } else if line.contains("fdatasync") && line.ends_with("= 0") {
                assert!(!is_suspect, "sync {when}: something was promised before the database was synced:\n{trace}");
            }
        }
        assert_eq!(texts(&other, &"s".into()).await.len() as u64, APPENDS);
    }
    assert!(refused >= 4, "the faults did not reach the store");
}

/// Somebody who has time and somebody who has not, at the same moment.
#[tokio::test]
async fn role_company() {
    let Some((store, number)) = kit::role("syscalls::role_company") else { return };
    let leases = ["patient", "urgent"].map(|id| store.create(new_session(id)));
    for lease in &leases {
        store.append(lease, vec![said(1, "1")], Durability::Commit).await.unwrap();
    }
    for round in 0..BATCHES {
        let patient = store.append(&leases[0], vec![said(round + 2, "more")], Durability::Soon);
        if number == 1 {
            store.append(&leases[1], vec![said(round + 2, "more")], Durability::Now).await.unwrap();
        }
        patient.await.unwrap();
    }
}

#[test]
fn whoever_has_time_shares_a_sync_and_is_not_forgotten_alone() {
    if no_strace() {
        return;
    }
    let syncs = |number| {
        let home = tempfile::tempdir().unwrap();
        let (trace, home) = (home.path().join("trace"), home.path().join("home"));
        // A slow disk, so that the patient one waits as long as it ever does.
        let more = ["-e", "trace=fdatasync", "-e", "inject=fdatasync:delay_enter=6000"];
        kit::told(traced_role("syscalls::role_company", &home, number, &trace, &more).spawn().unwrap(), false);
        let syncs = fs::read_to_string(trace).unwrap().matches("fdatasync(").count() as u64;
        println!("{BATCHES} rounds, in company {}: {syncs} syncs", number == 1);
        assert!(syncs >= BATCHES, "{BATCHES} rounds and {syncs} syncs: somebody was forgotten");
        syncs
    };
    syncs(0);
    // A busy machine may keep the second one back for longer than the first one waits; not every time.
    assert!((0..5).any(|_| syncs(1) < BATCHES * 3 / 2), "each has a sync of its own");
}

const CROWD: usize = 16;
/// As many as it takes until the store knows how slow the disk is, and some in which that counts.
const RUSHES: u64 = 8;
const COUNTED_RUSHES: u64 = 3;

/// Many sessions one shortly after the other, on a disk that takes longer for a sync than all of them together.
#[tokio::test]
async fn role_rush() {
    let Some((store, _)) = kit::role("syscalls::role_rush") else { return };
    let leases: Vec<_> = (0..CROWD).map(|id| store.create(new_session(&format!("s{id}")))).collect();
    for lease in &leases {
        store.append(lease, vec![said(1, "1")], Durability::Commit).await.unwrap();
    }
    for round in 0..RUSHES {
        let mut appends = Vec::new();
        for lease in &leases {
            appends.push(store.append(lease, vec![said(round + 2, "more")], Durability::Now));
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        for append in appends {
            append.await.unwrap();
        }
        tell(&format!("rush {round}"));
    }
}

/// None of them would be answered earlier if it had a transaction of its own.
#[test]
fn what_comes_while_a_sync_runs_is_committed_together() {
    if no_strace() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let (trace, home) = (home.path().join("trace"), home.path().join("home"));
    let more = ["-e", "trace=fcntl,fdatasync,write", "-e", "inject=fdatasync:delay_enter=100000"];
    kit::told(traced_role("syscalls::role_rush", &home, 0, &trace, &more).spawn().unwrap(), false);
    let trace = fs::read_to_string(trace).unwrap();
    let last = trace.split_once(&format!("@@rush {}", RUSHES - COUNTED_RUSHES - 1)).expect("rushes are told").1;
    let rushes = last.split_once(&format!("@@rush {}", RUSHES - 1)).expect("and so is the last one").0;
    // The lock that a transaction which writes has on the log's index.
    let commits = rushes.lines().filter(|line| line.contains("F_WRLCK") && line.contains("l_start=120")).count();
    println!("{COUNTED_RUSHES} times {CROWD} appends: {commits} transactions");
    assert!(commits < COUNTED_RUSHES as usize * CROWD / 2, "{commits} transactions:\n{rushes}");
}

/// Two appends of a session at once, of which the second asked for less.
#[tokio::test]
async fn role_looks_after_a_failure() {
    let Some((store, _)) = kit::role("syscalls::role_looks_after_a_failure") else { return };
    let lease = store.create(new_session("s"));
    let (mut seq, mut faults) = (1, 0);
    while seq < 2 * APPENDS {
        let first = store.append(&lease, vec![said(seq, "synced")], Durability::Now);
        let second = store.append(&lease, vec![said(seq + 1, "behind it")], Durability::Commit);
        let (first, second) = (first.await, second.await);
        assert_eq!(first.is_ok(), second.is_ok(), "there would be a hole: {first:?} {second:?}");
        if first.is_ok() {
            seq += 2;
        } else {
            faults += 1;
            assert!(faults < 20, "one failed call must not fail everything after it: {first:?}");
        }
        let there = match store.read(&lease.session, 0, 1_000).await {
            Ok(page) => page.entries.len() as u64,
            Err(fault) if fault.kind == vocab::FaultKind::UnknownSession => 0,
            Err(fault) => panic!("{fault}"),
        };
        assert_eq!(there, seq - 1, "nothing of what was refused is there, and nothing else is missing");
    }
    tell(&format!("{faults}"));
}

#[test]
fn after_a_failed_sync_nothing_is_there_of_what_was_refused() {
    if no_strace() {
        return;
    }
    let mut met = 0;
    for when in 1..=APPENDS {
        let home = tempfile::tempdir().unwrap();
        let (trace, home) = (home.path().join("trace"), home.path().join("home"));
        let inject = format!("inject=fdatasync:error=EIO:when={when}");
        let role = "syscalls::role_looks_after_a_failure";
        let more = ["-e", "trace=fdatasync", "-e", &inject];
        let told = kit::told(traced_role(role, &home, 0, &trace, &more).spawn().unwrap(), false);
        // The writer and the thread beside it sync in turns, and each may meet its own.
        met += usize::from(told == ["1"] || told == ["2"]);
    }
    assert!(met as u64 >= APPENDS / 2, "the faults did not reach the store: {met}");
}

/// Lines of the audit that belong to no session; with number 1, things on the shelf that are refused.
#[tokio::test]
async fn role_records_deeds() {
    let Some((store, number)) = kit::role("syscalls::role_records_deeds") else { return };
    let kind = ShelfKind { name: "k", goes_with_session: false };
    for round in 0..BATCHES {
        if number == 1 {
            let place = ShelfPlace { kind, owner: "".into(), name: round.to_string().into() };
            vocab::Shelf::put(&store, place, b"x".as_slice().into(), Some(0)).await.unwrap_err();
        } else {
            let (by, detail) = (Principal::user("ann"), Some(round.to_string().into()));
            store.record(Deed { by, action: "config.set", detail }).await.unwrap();
        }
        tell(&format!("deed {round}"));
    }
}

/// Whether something was synced before each deed was told.
fn syncs_before_deeds(number: usize) -> Vec<bool> {
    let home = tempfile::tempdir().unwrap();
    let (trace, home) = (home.path().join("trace"), home.path().join("home"));
    let more = ["-e", "trace=fdatasync,write"];
    let role = "syscalls::role_records_deeds";
    kit::told(traced_role(role, &home, number, &trace, &more).spawn().unwrap(), false);
    let trace = fs::read_to_string(trace).unwrap();
    let parts: Vec<&str> = trace.split("@@deed").collect();
    assert_eq!(parts.len() as u64, BATCHES + 1, "{trace}");
    parts.iter().take(parts.len() - 1).map(|part| part.contains("fdatasync")).collect()
}

/// Whoever changes a setting does so because its line stands in the audit: a power cut must not take the line back alone.
#[test]
fn a_line_of_the_audit_is_synced_before_it_is_acknowledged() {
    if no_strace() {
        return;
    }
    let synced = syncs_before_deeds(0);
    assert!(synced.iter().all(|synced| *synced), "{synced:?}");
}

#[test]
fn what_the_shelf_refuses_costs_no_sync() {
    if no_strace() {
        return;
    }
    // The first one makes the database.
    let synced = syncs_before_deeds(1);
    assert!(synced.iter().skip(1).all(|synced| !*synced), "{synced:?}");
}
