//! What is on the disk: as little as possible, as late as possible, and for its owner only.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use store_sqlite::SqliteStore;
use vocab::{Durability, FaultKind, Query, Store};

use crate::kit::{self, new_session, raw, said, written};

fn modes(directory: &Path, found: &mut Vec<(String, u32)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        let name = entry.file_name().into_string().unwrap();
        // An owner's lock has a number for a name.
        let name = if name.starts_with('@') && name.ends_with(".lock") { "@.lock".to_owned() } else { name };
        found.push((name, mode));
        if entry.path().is_dir() {
            modes(&entry.path(), found);
        }
    }
}

#[tokio::test]
async fn a_database_that_is_a_link_is_written_where_it_leads() {
    for has_foreign_log in [false, true] {
        let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = SqliteStore::new(home.path().to_owned());
        let lease = store.create(new_session("s"));
        store.append(&lease, vec![said(1, "one")], Durability::Now).await.unwrap();
        store.release(lease).await.unwrap();
        drop(store);
        let (real, log) = (other.path().join("real.db"), home.path().join("sessions.db-wal"));
        fs::rename(home.path().join("sessions.db"), &real).unwrap();
        std::os::unix::fs::symlink(&real, home.path().join("sessions.db")).unwrap();
        if has_foreign_log {
            fs::write(&log, "").unwrap();
        }
        let store = SqliteStore::new(home.path().to_owned());
        let acquired = store.acquire(&"s".into()).await.unwrap();
        store.append(&acquired.lease, vec![said(2, "two")], Durability::Now).await.unwrap();
        assert!(fs::metadata(other.path().join("real.db-wal")).unwrap().len() > 0);
        if has_foreign_log {
            // What another database of that name left is none of ours: nothing waits for it.
            fs::remove_file(&log).unwrap();
        }
        store.append(&acquired.lease, vec![said(3, "three")], Durability::Now).await.unwrap();
        let seen = kit::texts(&SqliteStore::new(home.path().to_owned()), &"s".into()).await;
        assert_eq!(seen, ["one", "two", "three"]);
    }
}

#[tokio::test]
async fn nothing_is_acknowledged_into_files_that_were_removed() {
    for names in [&["sessions.db", "sessions.db-wal", "sessions.db-shm"][..], &["sessions.db"], &["sessions.db-wal"]] {
        let home = tempfile::tempdir().unwrap();
        let store = Arc::new(SqliteStore::new(home.path().to_owned()));
        let lease = store.create(new_session("s"));
        store.append(&lease, vec![said(1, "one")], Durability::Now).await.unwrap();
        assert_eq!(kit::texts(&store, &"s".into()).await, ["one"]);
        for name in names {
            fs::remove_file(home.path().join(name)).unwrap();
        }
        let fault = store.append(&lease, vec![said(2, "two")], Durability::Now).await.unwrap_err();
        assert!(fault.message.contains("was removed or replaced"), "{names:?}: {fault}");
        if names.len() == 3 {
            // All that was is gone, and the store goes on with what there is.
            assert_eq!(store.summary(&"s".into()).await.unwrap(), None);
            let lease = store.create(new_session("next"));
            store.append(&lease, vec![said(1, "on")], Durability::Now).await.unwrap();
            let other = Arc::new(SqliteStore::new(home.path().to_owned()));
            assert_eq!(kit::texts(&other, &"next".into()).await, ["on"]);
        }
    }
}

/// Two processes that agree on nothing would write over each other's sessions.
#[tokio::test]
async fn role_writes_on() {
    let Some((store, number)) = kit::role("files::role_writes_on") else { return };
    let lease = store.create(new_session(&format!("other{number}")));
    for seq in 1..=20 {
        store.append(&lease, vec![said(seq, "theirs")], Durability::Now).await.unwrap();
    }
}

#[tokio::test]
async fn without_the_index_that_others_use_nothing_is_written() {
    let home = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::new(home.path().to_owned()));
    let lease = store.create(new_session("s"));
    store.append(&lease, vec![said(1, "one")], Durability::Now).await.unwrap();
    // One who reads keeps the old index open, too.
    assert_eq!(kit::texts(&store, &"s".into()).await, ["one"]);
    fs::remove_file(home.path().join("sessions.db-shm")).unwrap();
    let mut other = std::process::Command::new(std::env::current_exe().unwrap());
    other.args(["files::role_writes_on", "--exact", "--nocapture", "--test-threads=1"]);
    kit::as_child(&mut other, "files::role_writes_on", home.path(), 1);
    let other = other.spawn().unwrap();
    for _ in 0..20 {
        let fault = store.append(&lease, vec![said(2, "two")], Durability::Now).await.unwrap_err();
        assert!(fault.message.contains("-shm was removed or replaced"), "{fault}");
    }
    kit::told(other, false);
    drop(store);
    let store = Arc::new(SqliteStore::new(home.path().to_owned()));
    assert_eq!(kit::texts(&store, &"s".into()).await, ["one"]);
    assert_eq!(kit::texts(&store, &"other1".into()).await.len(), 20);
    let acquired = store.acquire(&"s".into()).await.unwrap();
    store.append(&acquired.lease, vec![said(2, "two")], Durability::Now).await.unwrap();
}

/// Runs with a umask that forbids nothing, and ends without closing anything.
#[tokio::test]
async fn role_careless() {
    let Some((store, _)) = kit::role("files::role_careless") else { return };
    store.probe().unwrap();
    let lease = store.create(new_session("../s"));
    store.append(&lease, vec![said(1, "x")], Durability::Now).await.unwrap();
    std::process::exit(0);
}

#[tokio::test]
async fn every_file_is_for_its_owner_only_under_any_umask() {
    let outside = tempfile::tempdir().unwrap();
    let home = outside.path().join("deep/home");
    // The mask belongs to the whole process, so another one tries it.
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "umask 000; exec \"$0\" \"$@\""]).arg(std::env::current_exe().unwrap());
    command.args(["files::role_careless", "--exact", "--nocapture", "--test-threads=1"]);
    kit::as_child(&mut command, "files::role_careless", &home, 0);
    kit::told(command.spawn().unwrap(), false);
    let mut found = vec![];
    modes(outside.path(), &mut found);
    found.sort();
    let wanted = [
        ("@.lock", 0o600),
        ("deep", 0o700),
        ("home", 0o700),
        ("locks", 0o700),
        ("sessions.db", 0o600),
        ("sessions.db-shm", 0o600),
        ("sessions.db-wal", 0o600),
    ];
    assert_eq!(found, wanted.map(|(name, mode)| (name.to_owned(), mode)));
    let store = SqliteStore::new(home.clone());
    let lease = store.acquire(&"../s".into()).await.unwrap().lease;
    store.release(lease).await.unwrap();
    drop(store);
    let mut found = vec![];
    modes(&home, &mut found);
    found.sort();
    let wanted = ["locks", "sessions.db", "sessions.db-shm", "sessions.db-wal"].map(str::to_owned);
    assert_eq!(found.into_iter().map(|(name, _)| name).collect::<Vec<_>>(), wanted, "no lock is left lying about");
    assert_eq!(fs::metadata(home.join("sessions.db-wal")).unwrap().len(), 0);
}

/// People copy `sessions.db`: whatever is closed in order is in that one file.
#[tokio::test]
async fn the_last_to_close_it_leaves_one_whole_file() {
    let home = tempfile::tempdir().unwrap();
    let log = || fs::metadata(home.path().join("sessions.db-wal")).map_or(0, |log| log.len());
    written(home.path(), 3).await;
    assert_eq!(log(), 0);
    let earlier = fs::read(home.path().join("sessions.db")).unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let other = SqliteStore::new(home.path().to_owned());
    let lease = store.acquire(&"s".into()).await.unwrap().lease;
    store.append(&lease, vec![said(4, "more")], Durability::Now).await.unwrap();
    other.list(Query::default()).await.unwrap();
    drop(store);
    assert!(log() > 0, "somebody reads it");
    drop(other);
    assert_eq!(log(), 0);
    let copy = tempfile::tempdir().unwrap();
    fs::copy(home.path().join("sessions.db"), copy.path().join("sessions.db")).unwrap();
    assert_eq!(kit::texts(&SqliteStore::new(copy.path().to_owned()), &"s".into()).await.len(), 4);
    // An earlier copy that is put back is not changed by what came after it.
    fs::write(home.path().join("sessions.db"), earlier).unwrap();
    let back = SqliteStore::new(home.path().to_owned());
    assert_eq!((kit::texts(&back, &"s".into()).await.len(), back.check().unwrap()), (3, Some(1)));
}

#[tokio::test]
async fn nothing_is_on_disk_before_it_is_needed() {
    let outside = tempfile::tempdir().unwrap();
    let home = outside.path().join("home");
    let store = SqliteStore::new(home.clone());
    let lease = store.create(new_session("s"));
    assert!(!home.exists());
    store.probe().unwrap();
    assert_eq!(fs::read_dir(&home).unwrap().count(), 0, "a probe makes the directory and nothing in it");
    store.append(&lease, vec![said(1, "x")], Durability::Commit).await.unwrap();
    assert!(store.place().starts_with(&home) && store.place().is_file());
}

#[test]
fn a_probe_is_quick() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().join("home"));
    store.probe().unwrap();
    let start = Instant::now();
    for _ in 0..100 {
        store.probe().unwrap();
    }
    let each = start.elapsed() / 100;
    println!("probe: {each:?}");
    assert!(each.as_micros() < 1_000, "{each:?}");
}

#[tokio::test]
async fn an_unusable_place_is_one_clear_line() {
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("file");
    fs::write(&file, "x").unwrap();
    let taken = outside.path().join("taken");
    fs::create_dir_all(taken.join("sessions.db")).unwrap();
    for home in [file.clone(), file.join("below"), taken, "/proc/nope".into()] {
        let store = SqliteStore::new(home.clone());
        let fault = store.probe().unwrap_err();
        assert_eq!(fault.kind, FaultKind::Store);
        assert!(fault.message.contains(&*home.to_string_lossy()) && !fault.message.contains('\n'), "{fault}");
        assert!(!fault.hints.is_empty(), "{fault}");
        let fault = store.list(Query::default()).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Store, "{fault}");
        assert!(fault.message.contains(&*home.to_string_lossy()), "{fault}");
    }
}

#[tokio::test]
async fn a_newer_database_is_refused_and_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let id = written(home.path(), 2).await;
    raw(home.path()).execute_batch("PRAGMA user_version = 99; CREATE TABLE future (x)").unwrap();
    let before = fs::read(home.path().join("sessions.db")).unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let fault = store.read(&id, 0, 10).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Store);
    assert!(fault.message.contains("newer version") && fault.message.contains("99"), "{fault}");
    drop(store);
    assert_eq!(fs::read(home.path().join("sessions.db")).unwrap(), before);
}

#[tokio::test]
async fn a_file_of_another_program_is_refused_and_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("sessions.db");
    fs::write(&path, "this is a diary and no database\n".repeat(100)).unwrap();
    let fault = SqliteStore::new(home.path().to_owned()).list(Query::default()).await.unwrap_err();
    assert!(fault.message.contains("not a SQLite database"), "{fault}");
    assert!(fs::read_to_string(&path).unwrap().starts_with("this is a diary"));
    fs::remove_file(&path).unwrap();
    raw(home.path()).execute_batch("CREATE TABLE bookmarks (url)").unwrap();
    let fault = SqliteStore::new(home.path().to_owned()).list(Query::default()).await.unwrap_err();
    assert!(fault.message.contains("another program"), "{fault}");
}

#[tokio::test]
async fn a_check_leaves_no_file_behind() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let lease = store.create(new_session("s"));
    store.append(&lease, vec![said(1, "one")], Durability::Now).await.unwrap();
    let names = || {
        let entries = fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = entries.filter(|name| name.starts_with("sessions.")).collect();
        names.sort();
        names
    };
    let log = || fs::metadata(home.path().join("sessions.db-wal")).unwrap().len();
    // While another has it open, its log stays as it is.
    let (before, size) = (names(), log());
    assert_eq!(SqliteStore::new(home.path().to_owned()).check().unwrap(), Some(1));
    assert_eq!((names(), log()), (before, size));
    drop(store);
    for asides in [&["sessions.db-shm", "sessions.db-wal"][..], &[]] {
        let before = names();
        assert_eq!(before[1..], *asides);
        assert_eq!(SqliteStore::new(home.path().to_owned()).check().unwrap(), Some(1));
        assert_eq!(names(), before);
        asides.iter().for_each(|name| fs::remove_file(home.path().join(name)).unwrap());
    }
}
