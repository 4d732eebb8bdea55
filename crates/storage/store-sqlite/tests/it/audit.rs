//! What shows when somebody changes the audit, or what it stands for.

use std::path::Path;
use std::sync::Arc;

use store::audit::{AuditRecord, NO_LINE, StoredRow, chained};
use store_sqlite::SqliteStore;
use vocab::*;

use crate::kit::{new_session, raw};

async fn filled(home: &Path) {
    let store = SqliteStore::new(home.to_owned());
    let lease = store.create(new_session("s"));
    for seq in 1..=4 {
        let body = Body::User { turn: None, parts: vec![Part::text("hello")], from: UserFrom::Prompt };
        let entry = Entry { seq, parent: seq - 1, at_ms: 5, body, by: Some(Principal::user("ann")) };
        store.append(&lease, vec![Arc::new(entry)], Durability::Commit).await.unwrap();
    }
}

async fn verdict(home: &Path, head: Option<String>) -> AuditVerdict {
    SqliteStore::new(home.to_owned()).verify_audit(head).await.unwrap()
}

#[tokio::test]
async fn a_changed_a_removed_and_an_added_line_are_found_and_so_is_a_changed_entry() {
    let changes = [
        ("UPDATE audit SET line = replace(line, 'ann', 'bob') WHERE number = 2", 2),
        ("UPDATE audit SET digest = x'00' WHERE number = 3", 3),
        ("DELETE FROM audit WHERE number = 2", 3),
        ("INSERT INTO audit SELECT 5, line, digest FROM audit WHERE number = 4", 5),
        ("UPDATE audit SET line = x'ff' WHERE number = 1", 1),
        ("UPDATE records SET payload = replace(payload, 'hello', 'howdy') WHERE seq = 3", 3),
        ("UPDATE records SET by = 'user:bob' WHERE seq = 2", 2),
        ("UPDATE records SET at_ms = 6 WHERE seq = 2", 2),
        ("UPDATE records SET kind = 'label' WHERE seq = 2", 2),
        ("UPDATE records SET parent = 0 WHERE seq = 3", 3),
        ("UPDATE records SET seq = 900 WHERE seq = 3", 3),
        ("DELETE FROM records WHERE seq = 2", 2),
        ("DELETE FROM records WHERE seq = 4", 4),
    ];
    for (sql, broken) in changes {
        let home = tempfile::tempdir().unwrap();
        filled(home.path()).await;
        assert!(matches!(verdict(home.path(), None).await, AuditVerdict::Whole { lines: 4, .. }));
        assert_eq!(raw(home.path()).execute(sql, []).unwrap(), 1, "{sql}");
        let verdict = verdict(home.path(), None).await;
        assert!(matches!(verdict, AuditVerdict::Broken { line, .. } if line == broken), "{sql}: {verdict:?}");
    }
}

/// No line stands for what a model said.
#[tokio::test]
async fn an_entry_that_is_gone_from_a_log_is_missed_whoever_said_it() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let lease = store.create(new_session("s"));
    for (seq, by) in [(1, Some(Principal::user("ann"))), (2, None), (3, Some(Principal::user("ann"))), (4, None)] {
        let body = Body::User { turn: None, parts: vec![Part::text("hello")], from: UserFrom::Prompt };
        let entry = Entry { seq, parent: seq - 1, at_ms: 5, body, by };
        store.append(&lease, vec![Arc::new(entry)], Durability::Commit).await.unwrap();
    }
    drop(store);
    assert!(matches!(verdict(home.path(), None).await, AuditVerdict::Whole { lines: 2, .. }));
    raw(home.path()).execute("DELETE FROM records WHERE seq = 2", []).unwrap();
    let found = verdict(home.path(), None).await;
    assert!(
        matches!(&found, AuditVerdict::Broken { line: 2, why } if why.contains("entry 2 of session s")),
        "{found:?}"
    );
}

#[tokio::test]
async fn what_an_older_version_wrote_is_measured_by_what_it_covered() {
    let home = tempfile::tempdir().unwrap();
    filled(home.path()).await;
    let connection = raw(home.path());
    // As it was before: a sum over time, principal and payload. The chain is written anew with it.
    let mut before = NO_LINE;
    for number in 1..=4_i64 {
        let (line, payload): (String, Vec<u8>) = connection
            .query_row(
                "SELECT line, payload FROM audit JOIN records ON seq = audit.number WHERE audit.number = ?1",
                [number],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .unwrap();
        let (seq, parent) = (number as u64, number as u64 - 1);
        let row = StoredRow { session: "s", seq, parent, at_ms: 5, kind: "user", by: "user:ann", payload: &payload };
        let mut record = AuditRecord::parse(&line).unwrap();
        record.sum = Some(row.old_sum());
        let line = record.to_text();
        before = chained(&before, &line);
        connection
            .execute("UPDATE audit SET line = ?2, digest = ?3 WHERE number = ?1", (number, line, before))
            .unwrap();
    }
    drop(connection);
    assert!(matches!(verdict(home.path(), None).await, AuditVerdict::Whole { lines: 4, .. }));
    raw(home.path())
        .execute("UPDATE records SET payload = replace(payload, 'hello', 'howdy') WHERE seq = 3", [])
        .unwrap();
    assert!(matches!(verdict(home.path(), None).await, AuditVerdict::Broken { line: 3, .. }));
}

#[tokio::test]
async fn lines_that_are_cut_off_are_missed_by_who_kept_the_head() {
    let home = tempfile::tempdir().unwrap();
    filled(home.path()).await;
    let AuditVerdict::Whole { head, .. } = verdict(home.path(), None).await else { panic!("it is whole") };
    assert!(matches!(verdict(home.path(), Some(head.clone())).await, AuditVerdict::Whole { knows: Some(true), .. }));
    raw(home.path()).execute_batch("DELETE FROM audit WHERE number = 4").unwrap();
    assert!(matches!(verdict(home.path(), Some(head)).await, AuditVerdict::Whole { lines: 3, knows: Some(false), .. }));
}

#[tokio::test]
async fn two_stores_on_one_home_write_one_chain() {
    let home = tempfile::tempdir().unwrap();
    let stores: Vec<SqliteStore> = (0..2).map(|_| SqliteStore::new(home.path().to_owned())).collect();
    let leases: Vec<Lease> = stores.iter().zip(["a", "b"]).map(|(it, id)| it.create(new_session(id))).collect();
    for seq in 1..=10 {
        for (store, lease) in stores.iter().zip(&leases) {
            let body = Body::Setting(SettingEntry::Mode { mode: Mode::Plan });
            let entry = Entry { seq, parent: seq - 1, at_ms: 5, body, by: Some(Principal::user("ann")) };
            store.append(lease, vec![Arc::new(entry)], Durability::Soon).await.unwrap();
        }
    }
    assert!(matches!(verdict(home.path(), None).await, AuditVerdict::Whole { lines: 20, .. }));
}

#[tokio::test]
async fn an_end_that_was_damaged_and_cut_off_is_no_change() {
    let home = tempfile::tempdir().unwrap();
    filled(home.path()).await;
    raw(home.path()).execute("UPDATE records SET payload = x'00' WHERE seq = 4", []).unwrap();
    assert!(matches!(verdict(home.path(), None).await, AuditVerdict::Broken { line: 4, .. }), "before it is cut off");
    let store = SqliteStore::new(home.path().to_owned());
    let acquired = store.acquire(&"s".into()).await.unwrap();
    let notice = acquired.notice(9).expect("something was repaired");
    store.append(&acquired.lease, vec![notice], Durability::Now).await.unwrap();
    drop(store);
    let verdict = verdict(home.path(), None).await;
    assert!(matches!(verdict, AuditVerdict::Whole { lines: 5, .. }), "{verdict:?}");
}

#[tokio::test]
async fn a_broken_digest_stops_nobodys_work() {
    let home = tempfile::tempdir().unwrap();
    filled(home.path()).await;
    raw(home.path()).execute("UPDATE audit SET digest = x'00' WHERE number = 4", []).unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let acquired = store.acquire(&"s".into()).await.unwrap();
    let body = Body::Setting(SettingEntry::Mode { mode: Mode::Plan });
    let entry = Entry { seq: 5, parent: 4, at_ms: 5, body, by: Some(Principal::user("ann")) };
    store.append(&acquired.lease, vec![Arc::new(entry)], Durability::Now).await.unwrap();
    drop(store);
    assert!(matches!(verdict(home.path(), None).await, AuditVerdict::Broken { line: 4, .. }));
}
