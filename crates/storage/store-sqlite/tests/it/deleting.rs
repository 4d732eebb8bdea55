//! What is left of a deleted session: nothing.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use export::FileArchive;
use store_sqlite::SqliteStore;
use testkit::odd::Dice;
use vocab::{Archive, Body, Durability, Entry, FaultKind, SessionId, SettingEntry, Store};

use crate::kit::{self, new_session, raw, said, tell, texts};

/// Files below `place` that hold the text.
fn holding(place: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(place).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(holding(&path, text));
        } else if fs::read(&path).unwrap().windows(text.len()).any(|bytes| bytes == text.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

/// Has the database open and does nothing with it.
#[tokio::test]
async fn role_onlooker() {
    let Some((store, _)) = kit::role("deleting::role_onlooker") else { return };
    store.list(vocab::Query::default()).await.unwrap();
    tell("looking");
    std::thread::sleep(Duration::from_secs(60));
}

#[tokio::test]
async fn nothing_of_a_deleted_session_is_left_in_any_file() {
    for onlooker in [false, true] {
        let home = tempfile::tempdir().unwrap();
        let store = Arc::new(SqliteStore::new(home.path().to_owned()));
        let mut dice = Dice(7);
        let mut leases = Vec::new();
        let ids: Vec<String> = (0..12).map(|n| format!("s{n}")).collect();
        for id in &ids {
            leases.push((store.create(new_session(id)), 0));
        }
        // Logs that grow side by side share pages, and pages that are split keep what was on them.
        for _ in 0..600 {
            let at = dice.below(12);
            let (lease, seq) = &mut leases[at];
            *seq += 1;
            let text = format!("SECRET-{}-{}", lease.session, "x".repeat(dice.below(900)));
            store.append(lease, vec![said(*seq, &text)], Durability::Commit).await.unwrap();
        }
        let title = Body::Setting(SettingEntry::Title { title: "SECRET-s3-title".into() });
        let (lease, seq) = &mut leases[3];
        *seq += 1;
        let named = Entry { seq: *seq, parent: *seq - 1, at_ms: 0, body: title, by: None };
        store.append(lease, vec![Arc::new(named)], Durability::Commit).await.unwrap();
        for (lease, _) in leases {
            store.release(lease).await.unwrap();
        }
        raw(home.path())
            .execute(
                "UPDATE records SET crc = 0 WHERE seq > 20 AND session = (SELECT key FROM sessions WHERE id = 's4')",
                [],
            )
            .unwrap();
        let cut = store.acquire(&"s4".into()).await.unwrap();
        assert!(cut.recovered.is_some(), "damaged records were set aside");
        store.release(cut.lease).await.unwrap();
        let archive = FileArchive::new(store.clone(), home.path().to_owned());
        archive.export(&"s3".into(), None).await.unwrap();
        let spilled = store::data_dir::spill_dir(home.path()).join("s3");
        fs::create_dir_all(&spilled).unwrap();
        fs::write(spilled.join("output.txt"), "SECRET-s3-output").unwrap();

        let mut child = onlooker.then(|| kit::child("deleting::role_onlooker", home.path(), 0).spawn().unwrap());
        std::thread::sleep(Duration::from_millis(if onlooker { 500 } else { 0 }));
        for id in ["s3", "s4", "s7", "s11"] {
            let text = format!("SECRET-{id}-");
            assert!(!holding(home.path(), &text).is_empty());
            assert!(store.delete(&id.into(), None).await.unwrap());
            assert_eq!(holding(home.path(), &text), [""; 0], "onlooker: {onlooker}");
        }
        for id in ["s0", "s6", "s10"] {
            assert!(texts(&store, &id.into()).await.len() > 20, "the others are whole");
        }
        if let Some(child) = &mut child {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

#[tokio::test]
async fn the_file_gets_small_again() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    for id in ["large", "small"] {
        let lease = store.create(new_session(id));
        let text = "x".repeat(if id == "large" { 8 << 20 } else { 100 });
        store.append(&lease, vec![said(1, &text)], Durability::Now).await.unwrap();
        store.release(lease).await.unwrap();
    }
    store.delete(&"large".into(), None).await.unwrap();
    let size = fs::metadata(home.path().join("sessions.db")).unwrap().len();
    assert!(size < 1 << 20, "{size} bytes are left");
    assert_eq!(texts(&store, &"small".into()).await.len(), 1);
}

#[tokio::test]
async fn what_a_reader_holds_back_is_said_and_goes_when_the_reader_does() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let lease = store.create(new_session("s"));
    store.append(&lease, vec![said(1, "SECRET")], Durability::Now).await.unwrap();
    store.release(lease).await.unwrap();
    let reader = raw(home.path());
    reader.execute_batch("BEGIN").unwrap();
    let _: i64 = reader.query_row("SELECT count(*) FROM records", [], |row| row.get(0)).unwrap();
    let fault = store.delete(&"s".into(), None).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Store);
    assert!(fault.message.contains("was deleted, but") && fault.message.contains("sessions.db-wal"), "{fault}");
    assert_eq!(store.summary(&SessionId::from("s")).await.unwrap(), None);
    reader.execute_batch("COMMIT").unwrap();
    let since = Instant::now();
    while !holding(home.path(), "SECRET").is_empty() {
        assert!(since.elapsed() < Duration::from_secs(20), "it is tried again while there is nothing else to do");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_write_ahead_log_that_cannot_be_used_anew_is_complained_of() {
    let home = tempfile::tempdir().unwrap();
    let said_aloud = Arc::new(Mutex::new(Vec::new()));
    let notes = said_aloud.clone();
    let store = SqliteStore::new(home.path().to_owned())
        .telling(Arc::new(move |text: &str| notes.lock().unwrap().push(text.to_owned())));
    let lease = store.create(new_session("s"));
    store.append(&lease, vec![said(1, "x")], Durability::Commit).await.unwrap();
    let reader = raw(home.path());
    reader.execute_batch("BEGIN").unwrap();
    let _: i64 = reader.query_row("SELECT count(*) FROM records", [], |row| row.get(0)).unwrap();
    let large = "y".repeat(1 << 20);
    for seq in 2..=120 {
        store.append(&lease, vec![said(seq, &large)], Durability::Commit).await.unwrap();
    }
    let notes = said_aloud.lock().unwrap().clone();
    assert_eq!(notes.len(), 1, "once, until it has doubled: {notes:?}");
    assert!(notes[0].contains("sessions.db-wal has grown to"), "{notes:?}");
    reader.execute_batch("COMMIT").unwrap();
    for seq in 121..=260 {
        store.append(&lease, vec![said(seq, "x")], Durability::Commit).await.unwrap();
    }
    let size = fs::metadata(home.path().join("sessions.db-wal")).unwrap().len();
    assert!(size < 38 << 20, "{size} bytes are left");
}

/// As a process leaves it that dies in the middle of a delete: the rows are gone, what was on their pages is not.
#[tokio::test]
async fn a_delete_that_was_cut_short_is_finished_by_whoever_comes_next() {
    let home = tempfile::tempdir().unwrap();
    let mut dice = Dice(11);
    let store = SqliteStore::new(home.path().to_owned());
    for id in ["s0", "s1"] {
        let lease = store.create(new_session(id));
        for seq in 1..40 {
            let text = format!("SECRET-{id}-{}", "x".repeat(dice.below(2000)));
            store.append(&lease, vec![said(seq, &text)], Durability::Now).await.unwrap();
        }
        store.release(lease).await.unwrap();
    }
    drop(store);
    let spilled = store::data_dir::spill_dir(home.path()).join("s1");
    fs::create_dir_all(&spilled).unwrap();
    fs::write(spilled.join("output.txt"), "SECRET-s1-output").unwrap();
    fs::write(home.path().join("sessions.deleting"), "s0\ns1\n").unwrap();
    // Of the two, one was deleted when the process died.
    let sql = "PRAGMA secure_delete = OFF;
        DELETE FROM records WHERE session = (SELECT key FROM sessions WHERE id = 's1');
        DELETE FROM sessions WHERE id = 's1'";
    raw(home.path()).execute_batch(sql).unwrap();
    assert_eq!(holding(home.path(), "SECRET-s1-").len(), 2, "the database and the output");
    let store = Arc::new(SqliteStore::new(home.path().to_owned()));
    assert_eq!(texts(&store, &"s0".into()).await.len(), 39, "the other one is whole");
    drop(store);
    assert_eq!(holding(home.path(), "SECRET-s1-"), [""; 0]);
    assert!(!home.path().join("sessions.deleting").exists());
}

/// Two sessions of some mebibytes, of which the one is deleted while some program reads.
async fn deleted_under_a_reader(home: &Path) -> rusqlite::Connection {
    let store = SqliteStore::new(home.to_owned());
    for id in ["s0", "s1"] {
        let lease = store.create(new_session(id));
        let text = format!("SECRET-{id}-{}", "x".repeat(4 << 20));
        store.append(&lease, vec![said(1, &text)], Durability::Now).await.unwrap();
        store.release(lease).await.unwrap();
    }
    drop(store);
    let reader = raw(home);
    reader.execute_batch("BEGIN").unwrap();
    let _: i64 = reader.query_row("SELECT count(*) FROM records", [], |row| row.get(0)).unwrap();
    let store = SqliteStore::new(home.to_owned());
    let fault = store.delete(&"s1".into(), None).await.unwrap_err();
    assert!(fault.message.contains("was deleted, but"), "{fault}");
    reader
}

fn unwiped(home: &Path) -> Vec<(String, bool)> {
    let raw = raw(home);
    let mut statement = raw.prepare("SELECT id, rebuilt FROM deleted").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

#[tokio::test]
async fn an_unfinished_delete_does_not_write_the_database_anew_time_and_again() {
    let home = tempfile::tempdir().unwrap();
    let reader = deleted_under_a_reader(home.path()).await;
    let wal = || fs::metadata(home.path().join("sessions.db-wal")).unwrap().len();
    let first = wal();
    for rebuilt in [false, true] {
        // Also when the program came in the way behind the rebuilding.
        raw(home.path()).execute("UPDATE deleted SET rebuilt = ?1", [rebuilt]).unwrap();
        for _ in 0..3 {
            let store = SqliteStore::new(home.path().to_owned());
            assert_eq!(store.list(vocab::Query::default()).await.unwrap().len(), 1);
            let lease = store.acquire(&"s0".into()).await.unwrap().lease;
            store.release(lease).await.unwrap();
        }
    }
    assert!(wal() < first + (1 << 20), "the log has grown from {first} to {} bytes", wal());
    assert_eq!(unwiped(home.path()), [("s1".to_owned(), true)]);
    raw(home.path()).execute("UPDATE deleted SET rebuilt = 0", []).unwrap();
    reader.execute_batch("COMMIT").unwrap();
    // Whoever only looks sees to it as well.
    let store = SqliteStore::new(home.path().to_owned());
    assert_eq!(store.list(vocab::Query::default()).await.unwrap().len(), 1);
    drop(store);
    assert_eq!(unwiped(home.path()), []);
    assert_eq!(holding(home.path(), "SECRET-s1-"), [""; 0]);
    assert_eq!(texts(&Arc::new(SqliteStore::new(home.path().to_owned())), &"s0".into()).await.len(), 1);
}

#[tokio::test]
async fn whoever_has_wiped_strikes_out_nothing_that_was_deleted_meanwhile() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let lease = store.create(new_session("s"));
    store.append(&lease, vec![said(1, "SECRET")], Durability::Now).await.unwrap();
    store.release(lease).await.unwrap();
    // As another process does it while this one is between rebuilding and its end.
    let sql = "CREATE TRIGGER meanwhile AFTER UPDATE ON deleted BEGIN INSERT INTO deleted (id) VALUES ('other'); END";
    raw(home.path()).execute_batch(sql).unwrap();
    store.delete(&"s".into(), None).await.unwrap();
    assert_eq!(unwiped(home.path()), [("other".to_owned(), false)]);
}
