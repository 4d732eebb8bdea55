//! After a failed commit nobody knows what is on the disk until it is looked at.

use std::path::Path;

use rusqlite::params;
use store_sqlite::SqliteStore;
use vocab::{Durability, FaultKind, Store};

use crate::kit::{new_session, raw, said, texts};

/// Makes the row look as if a commit that was reported as failed (its sync was) had come back on reopening.
fn come_back(home: &Path, seqs: &[i64]) {
    let database = raw(home);
    for seq in seqs {
        let sql = "INSERT INTO records SELECT NULL, key, ?1, ?1 - 1, 0, 'title', x'7b7d', 0, NULL, NULL FROM sessions";
        database.execute(sql, params![seq]).unwrap();
        database.execute("UPDATE sessions SET last_seq = ?1, messages = 99", params![seq]).unwrap();
    }
}

#[tokio::test]
async fn what_nobody_was_promised_gives_way_to_what_is_offered_again() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let lease = store.create(new_session("s"));
    store.append(&lease, vec![said(1, "one")], Durability::Now).await.unwrap();
    come_back(home.path(), &[2, 3]);
    store.append(&lease, vec![said(2, "two")], Durability::Now).await.unwrap();
    assert_eq!(texts(&store, &lease.session).await, ["one", "two"]);
    let summary = store.summary(&lease.session).await.unwrap().unwrap();
    assert_eq!((summary.last_seq, summary.messages), (2, 2));
}

#[tokio::test]
async fn a_writer_that_was_taken_over_cannot_write_even_if_its_lock_is_lost() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let lease = store.create(new_session("s"));
    store.append(&lease, vec![said(1, "one")], Durability::Now).await.unwrap();
    // As another host would, for which our lock does not exist.
    let taken = "INSERT INTO owners VALUES (7, 'process 7 on elsewhere', 'boot elsewhere', NULL, 0, 0, 0);
        UPDATE sessions SET epoch = 2, owned_by = 7";
    raw(home.path()).execute_batch(taken).unwrap();
    let fault = store.append(&lease, vec![said(2, "two")], Durability::Now).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::SessionBusy);
    assert!(fault.message.contains("process 7 on elsewhere"), "{fault}");
    assert_eq!(texts(&store, &lease.session).await, ["one"]);
}

#[tokio::test]
async fn entries_that_vanished_are_not_papered_over() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let lease = store.create(new_session("s"));
    store.append(&lease, vec![said(1, "one"), said(2, "two")], Durability::Now).await.unwrap();
    raw(home.path()).execute_batch("DELETE FROM records WHERE seq = 2; UPDATE sessions SET last_seq = 1").unwrap();
    let fault = store.append(&lease, vec![said(3, "three")], Durability::Now).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Store);
    assert!(fault.message.contains("ends at entry 1"), "{fault}");
}
