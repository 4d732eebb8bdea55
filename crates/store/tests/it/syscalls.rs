//! The store under `strace`: which promises reach the disk, and what happens when any single system call fails.

use std::fs;
use std::path::Path;
use std::process::Command;

use store::SqliteStore;
use vocab::Store;

use crate::kit::{self, new_session, rounds, said, tell, texts};

const APPENDS: u64 = 12;

/// Number 0 never syncs, number 1 always does. Offers an entry until it is taken.
#[tokio::test]
async fn role_patient_writer() {
    let Some((store, number)) = kit::role("syscalls::role_patient_writer") else { return };
    let lease = store.create(new_session("s"));
    let mut faults = 0;
    for seq in 1..=APPENDS {
        while let Err(fault) = store.append(&lease, vec![said(seq, &format!("{seq}"))], number == 1).await {
            assert_eq!(fault.kind, vocab::FaultKind::Store, "{fault}");
            faults += 1;
            assert!(faults < 20, "one failed call must not fail everything after it: {fault}");
        }
    }
    store.release(lease).await.unwrap();
    tell(&format!("{faults}"));
}

fn traced(home: &Path, number: usize, trace: &Path, more: &[&str]) -> Command {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "signal=none", "-o"]).arg(trace).args(more);
    command.arg(std::env::current_exe().unwrap());
    command.args(["syscalls::role_patient_writer", "--exact", "--nocapture", "--test-threads=1"]);
    kit::as_child(&mut command, "syscalls::role_patient_writer", home, number);
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
        let (_, after) = trace.split_once("INJECTED").expect("a fault has a cause");
        let synced: Vec<&str> = after.lines().filter(|line| line.contains("sync(")).collect();
        let database = synced.iter().position(|line| line.contains("sessions.db>")).expect("the database is synced");
        // One sync of the log is the checkpoint's own.
        let before = synced[..database].iter().filter(|line| line.contains("sessions.db-wal>")).count();
        assert!(before <= 1, "sync {when}: something was promised before: {synced:?}");
        assert_eq!(texts(&other, &"s".into()).await.len() as u64, APPENDS);
    }
    assert!(refused >= 4, "the faults did not reach the store");
}
