//! One lock for all sessions of a process; whose they are, and how one that lost some learns of it.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use store_sqlite::SqliteStore;
use vocab::{Durability, FaultKind, Lease, SessionId, Store};

use crate::kit::{self, new_session, raw, said, tell, texts, written};

fn open(home: &Path) -> SqliteStore {
    SqliteStore::new(home.to_owned())
}

async fn made(store: &SqliteStore, id: &str) -> Lease {
    let lease = store.create(new_session(id));
    store.append(&lease, vec![said(1, "one")], Durability::Commit).await.unwrap();
    lease
}

fn files_open_in(home: &Path) -> usize {
    let links = fs::read_dir("/proc/self/fd").unwrap().filter_map(|it| fs::read_link(it.unwrap().path()).ok());
    links.filter(|path| path.starts_with(home)).count()
}

#[tokio::test]
async fn however_many_sessions_there_is_one_lock() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    let first = made(&store, "first").await;
    let before = files_open_in(home.path());
    let mut leases = Vec::new();
    for number in 0..300 {
        leases.push(made(&store, &format!("s{number}")).await);
    }
    assert_eq!(files_open_in(home.path()), before);
    assert_eq!(fs::read_dir(home.path().join("locks")).unwrap().count(), 1);
    let other = open(home.path());
    for lease in leases.iter().step_by(50) {
        assert_eq!(other.acquire(&lease.session).await.unwrap_err().kind, FaultKind::SessionBusy);
    }
    // All at once, as at the end of a process.
    let released: Vec<_> = leases.into_iter().map(|lease| store.release(lease)).collect();
    for released in released {
        released.await.unwrap();
    }
    other.acquire(&"s7".into()).await.unwrap();
    assert_eq!(other.acquire(&first.session).await.unwrap_err().kind, FaultKind::SessionBusy);
    drop(store);
    other.acquire(&first.session).await.expect("its owner ended without giving it back");
    drop(other);
    assert_eq!(fs::read_dir(home.path().join("locks")).unwrap().count(), 0);
    let rows: i64 = raw(home.path()).query_row("SELECT count(*) FROM owners", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 0, "who ends in order leaves no row");
}

/// Holds several sessions, and waits to be killed.
#[tokio::test]
async fn role_owner() {
    let Some((store, _)) = kit::role("owners::role_owner") else { return };
    for id in ["a", "b", "c"] {
        made(&store, id).await;
    }
    tell("holding");
    std::thread::sleep(Duration::from_secs(60));
}

#[tokio::test]
async fn all_sessions_of_a_killed_process_are_free_at_once_and_its_traces_go() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    let mut child = kit::child("owners::role_owner", home.path(), 0).spawn().unwrap();
    for _ in 0..2_000 {
        if store.summary(&"c".into()).await.unwrap().is_some() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for id in ["a", "b", "c"] {
        let fault = store.acquire(&id.into()).await.unwrap_err();
        assert!(fault.message.contains(&format!("process {} on ", child.id())), "{fault}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    for id in ["a", "b"] {
        store.acquire(&id.into()).await.expect("the lock ended with the process");
    }
    assert!(store.delete(&"c".into(), None).await.unwrap());
    // While there is nothing else to do.
    let owners = || raw(home.path()).query_row("SELECT count(*) FROM owners", [], |row| row.get::<_, i64>(0)).unwrap();
    let since = Instant::now();
    while owners() > 1 {
        assert!(since.elapsed() < Duration::from_secs(10), "the dead owner's row stays");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(fs::read_dir(home.path().join("locks")).unwrap().count(), 1);
}

#[tokio::test]
async fn what_an_older_version_has_locked_stays_its_own() {
    let home = tempfile::tempdir().unwrap();
    let id = written(home.path(), 1).await;
    kit::age(home.path(), 5);
    let locks = home.path().join("locks");
    let held = File::create(locks.join("s.lock")).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    let store = open(home.path());
    let fault = store.acquire(&id).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::SessionBusy);
    assert!(fault.message.contains("older version"), "{fault}");
    assert_eq!(store.delete(&id, None).await.unwrap_err().kind, FaultKind::SessionBusy);
    drop(held);
    store.acquire(&id).await.expect("its process is gone");
}

/// What a process of schema 5 asks that had the database open before: it is told that something is wrong, and takes nothing.
#[tokio::test]
async fn an_older_version_that_is_running_cannot_take_a_session_unawares() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    let lease = made(&store, "s").await;
    let older = raw(home.path());
    for sql in [
        "SELECT key, epoch, owner FROM sessions WHERE id = 's'",
        "UPDATE sessions SET epoch = 2, owner = 'me' WHERE key = 1",
        "INSERT INTO sessions (epoch, owner, id) VALUES (1, 'me', 't')",
    ] {
        let error = older.prepare(sql).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("owner"), "{sql}: {error}");
    }
    store.append(&lease, vec![said(2, "two")], Durability::Now).await.unwrap();
    assert_eq!(texts(&store, &lease.session).await, ["one", "two"]);
}

/// Takes a session as another machine would that does not see our lock.
fn take(home: &Path, id: &str) {
    let taken = format!(
        "BEGIN; INSERT INTO owners VALUES (7, 'process 7 on elsewhere', 'boot elsewhere', NULL, 0, 0, 0);
         UPDATE owners SET taken = taken + 1 WHERE id = (SELECT owned_by FROM sessions WHERE id = '{id}');
         UPDATE sessions SET epoch = epoch + 1, owned_by = 7 WHERE id = '{id}'; COMMIT"
    );
    raw(home).execute_batch(&taken).unwrap();
}

async fn lost(lease: &Lease) -> vocab::Fault {
    let told = std::future::poll_fn(|context| lease.signal.poll_lost(context));
    tokio::time::timeout(Duration::from_secs(10), told).await.expect("its holder is told")
}

#[tokio::test]
async fn an_idle_owner_that_renews_is_told_without_doing_anything() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).renewing(Duration::from_millis(300));
    let (lease, kept) = (made(&store, "s").await, made(&store, "kept").await);
    let renewed =
        || -> i64 { raw(home.path()).query_row("SELECT max(renewed_ms) FROM owners", [], |row| row.get(0)).unwrap() };
    let (before, since) = (renewed(), Instant::now());
    while renewed() <= before {
        assert!(since.elapsed() < Duration::from_secs(10), "nothing is renewed");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    take(home.path(), "s");
    let since = Instant::now();
    let fault = lost(&lease).await;
    println!("told after {:?}, at a time to live of 300 ms", since.elapsed());
    assert!(fault.message.contains("process 7 on elsewhere"), "{fault}");
    assert_eq!((fault.kind, kept.signal.lost()), (FaultKind::SessionBusy, None));
}

/// On a disk of this machine's own the lock says it all: an idle process neither writes nor looks.
#[tokio::test]
async fn an_idle_owner_on_a_local_disk_does_nothing() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    let lease = made(&store, "s").await;
    // Longer than it takes to fold and sweep.
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    let log = || fs::metadata(home.path().join("sessions.db-wal")).unwrap();
    let before = log();
    tokio::time::sleep(Duration::from_millis(800)).await;
    assert_eq!((log().len(), log().modified().unwrap()), (before.len(), before.modified().unwrap()));
    drop(lease);
}

#[tokio::test]
async fn a_session_that_was_deleted_under_its_owner_is_lost() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    let (lease, other) = (made(&store, "s").await, made(&store, "t").await);
    raw(home.path()).execute_batch("UPDATE owners SET taken = taken + 1; DELETE FROM sessions WHERE id = 's'").unwrap();
    store.append(&other, vec![said(2, "two")], Durability::Commit).await.unwrap();
    assert_eq!(lost(&lease).await.kind, FaultKind::UnknownSession);
    let left: Vec<SessionId> = store.list(Default::default()).await.unwrap().into_iter().map(|it| it.id).collect();
    assert_eq!(left, ["t".into()]);
}

#[tokio::test]
async fn homes_that_lead_to_one_database_meet_at_its_locks() {
    let (first, second, other) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let real = other.path().join("real.db");
    for home in [&first, &second] {
        std::os::unix::fs::symlink(&real, home.path().join("sessions.db")).unwrap();
    }
    File::create(&real).unwrap();
    let (one, two) = (open(first.path()), open(second.path()));
    let lease = made(&one, "s").await;
    let fault = two.acquire(&"s".into()).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::SessionBusy, "{fault}");
    assert_eq!(fs::read_dir(other.path().join("real.db.locks")).unwrap().count(), 1);
    assert!(!first.path().join("locks").exists());
    one.release(lease).await.unwrap();
    two.acquire(&"s".into()).await.expect("it was given back");
}

/// Until the store has looked for what dead owners left: the lock file of one whose process was killed goes.
async fn swept(home: &Path) {
    let dead = home.join("locks/@00000000000000dd.lock");
    let since = Instant::now();
    while dead.exists() {
        assert!(since.elapsed() < Duration::from_secs(10), "nothing is swept");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn locks_of_owners_on_other_machines_stay_though_they_look_free() {
    let home = tempfile::tempdir().unwrap();
    written(home.path(), 1).await;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let rows = format!(
        "INSERT INTO owners VALUES (170, 'process 7 on elsewhere', 'boot elsewhere#1', NULL, {now}, 600000, 0);
         INSERT INTO owners VALUES (187, 'process 8 on elsewhere', 'boot elsewhere#1', NULL, 0, 1, 0);
         INSERT INTO owners VALUES (221, 'process 9 on elsewhere', 'boot elsewhere#1', NULL, 0, 1, 0)"
    );
    raw(home.path()).execute_batch(&rows).unwrap();
    let lock = |number: u32| home.path().join(format!("locks/@{number:016x}.lock"));
    // One that lives, one that was not heard of for long, one that is about to write its row, an old one without.
    for number in [0xaa, 0xbb, 0xcc, 0xcd, 0xdd] {
        File::create(lock(number)).unwrap();
    }
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(100_000);
    File::options().write(true).open(lock(0xcd)).unwrap().set_modified(long_ago).unwrap();
    let store = open(home.path()).renewing(Duration::from_secs(600));
    let _lease = made(&store, "mine").await;
    swept(home.path()).await;
    let left = [0xaa, 0xbb, 0xcc, 0xcd].map(|number| lock(number).exists());
    assert_eq!(left, [true, false, true, false]);
}
