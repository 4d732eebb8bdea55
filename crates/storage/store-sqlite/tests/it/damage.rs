//! Records that are not what was written.

use std::sync::Arc;

use store_sqlite::SqliteStore;
use vocab::{Body, Durability, Entry, FaultKind, Query, SessionId, Store, TurnEntry};

use crate::kit::{append_each, new_session, raw, said, text, texts, written};

const DAMAGE: [&str; 9] = [
    "payload = substr(payload, 1, length(payload) / 2)",
    "payload = zeroblob(length(payload))",
    "payload = x''",
    "payload = CAST(replace(CAST(payload AS TEXT), 'message', 'massage') AS BLOB)",
    "crc = crc + 1",
    "crc = 'x'",
    "kind = 'title'",
    "at_ms = at_ms + 1",
    "parent = 77",
];

fn damage(home: &std::path::Path, how: &str, at: &str) {
    let changed = raw(home).execute(&format!("UPDATE records SET {how} WHERE seq {at}"), []).unwrap();
    assert!(changed > 0);
}

fn set_aside(home: &std::path::Path) -> i64 {
    raw(home).query_row("SELECT count(*) FROM damaged WHERE session_id = 's'", [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn a_damaged_end_is_cut_by_its_next_owner_who_is_told_and_kept_aside() {
    // Nine kinds of damage, one to five records long: 45 tails.
    for how in DAMAGE {
        for records in 1..=5 {
            let home = tempfile::tempdir().unwrap();
            let id = written(home.path(), 6).await;
            damage(home.path(), how, &format!("> {}", 6 - records));
            let left = 6 - records;

            let store = SqliteStore::new(home.path().to_owned());
            let page = store.read(&id, 0, 100).await.unwrap();
            assert_eq!(page.entries.len() as i64, left, "{how}");
            let notice = page.recovered.expect("it is said");
            assert!(notice.contains(&format!("damaged from entry {} on", left + 1)), "{notice}");
            assert_eq!(set_aside(home.path()), 0, "{how}: who only reads changes nothing");

            let acquired = store.acquire(&id).await.unwrap();
            let notice = acquired.recovered.as_deref().expect("its owner is told");
            assert!(notice.contains(&format!("cut back to entry {left}")), "{notice}");
            assert_eq!(set_aside(home.path()), records, "{how}: the bytes are kept");
            let summary = store.summary(&id).await.unwrap().unwrap();
            assert_eq!((summary.last_seq as i64, summary.messages as i64), (left, left), "{how}");
            assert_eq!(summary.updated_ms, 1_000 + left);
            assert_eq!(acquired.summary, summary, "{how}: what comes with the lease is what is there");

            store.append(&acquired.lease, vec![said(left as u64 + 1, "and on")], Durability::Now).await.unwrap();
            store.release(acquired.lease).await.unwrap();
            assert_eq!(store.acquire(&id).await.unwrap().recovered, None, "it is said once");
            drop(store);
            let store = SqliteStore::new(home.path().to_owned());
            let page = store.read(&id, 0, 100).await.unwrap();
            assert_eq!((page.entries.len() as i64, page.recovered), (left + 1, None), "{how}");
        }
    }
}

#[tokio::test]
async fn nothing_is_appended_behind_a_damaged_end_even_unread() {
    let home = tempfile::tempdir().unwrap();
    let id = written(home.path(), 3).await;
    damage(home.path(), "crc = 0", "= 3");
    let store = SqliteStore::new(home.path().to_owned());
    let acquired = store.acquire(&id).await.unwrap();
    assert!(acquired.recovered.is_some(), "the cut is said to whoever took it over");
    let lease = acquired.lease;
    let late = store.append(&lease, vec![said(4, "behind")], Durability::Commit).await.unwrap_err();
    assert!(late.message.contains("ends at entry 2"), "{late}");
    store.append(&lease, vec![said(3, "instead")], Durability::Commit).await.unwrap();
    let page = store.read(&id, 0, 100).await.unwrap();
    assert_eq!(page.entries.iter().map(|it| text(it)).collect::<Vec<_>>(), ["message 1", "message 2", "instead"]);
    assert_eq!(page.recovered, None, "it is over");
    assert_eq!(set_aside(home.path()), 1);
}

#[tokio::test]
async fn a_log_that_is_damaged_from_the_start_is_empty_and_usable() {
    let home = tempfile::tempdir().unwrap();
    let id = written(home.path(), 3).await;
    damage(home.path(), "payload = x'00'", "> 0");
    let store = SqliteStore::new(home.path().to_owned());
    let page = store.read(&id, 0, 100).await.unwrap();
    assert_eq!((page.entries.len(), page.recovered.is_some()), (0, true));
    let lease = store.acquire(&id).await.unwrap().lease;
    assert_eq!(store.list(Query { non_empty: true, ..Query::default() }).await.unwrap(), []);
    store.append(&lease, vec![said(1, "anew")], Durability::Commit).await.unwrap();
    assert_eq!(texts(&store, &id).await, ["anew"]);
}

#[tokio::test]
async fn missing_rows_at_the_end_are_damage_too() {
    let home = tempfile::tempdir().unwrap();
    let id = written(home.path(), 5).await;
    raw(home.path()).execute("DELETE FROM records WHERE seq > 3", []).unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let page = store.read(&id, 3, 100).await.unwrap();
    assert_eq!((page.entries.len(), page.recovered.is_some()), (0, true), "a page behind the damage reports it");
    assert_eq!(store.acquire(&id).await.unwrap().summary.last_seq, 3);
}

#[tokio::test]
async fn damage_in_the_middle_keeps_everything_and_says_which() {
    for how in DAMAGE {
        for at in 1..=4 {
            let home = tempfile::tempdir().unwrap();
            let id = written(home.path(), 5).await;
            damage(home.path(), how, &format!("= {at}"));
            let before: Vec<u8> = payload(home.path(), at);
            let store = SqliteStore::new(home.path().to_owned());
            let lease = store.acquire(&id).await.unwrap().lease;
            store.append(&lease, vec![said(6, "message 6")], Durability::Commit).await.unwrap();
            for limit in [100, 1] {
                let mut seen = Vec::new();
                let mut notices = Vec::new();
                while let Ok(page) = store.read(&id, seen.len() as u64, limit).await {
                    if page.entries.is_empty() {
                        break;
                    }
                    notices.extend(page.recovered);
                    seen.extend(page.entries);
                }
                let seqs: Vec<u64> = seen.iter().map(|it| it.seq).collect();
                assert_eq!(seqs, [1, 2, 3, 4, 5, 6], "{how}: the numbers have no gap");
                for (seq, entry) in (1..).zip(&seen) {
                    assert!(entry.parent < entry.seq, "{how}: the tree stays a tree");
                    if seq == at {
                        assert!(text(entry).contains(&format!("record {at} ")), "{}", text(entry));
                    } else {
                        assert_eq!(text(entry), format!("message {seq}"));
                    }
                }
                assert_eq!(notices.len(), 1, "{how}");
                assert!(notices[0].contains(&format!("damaged records in the log: {at}")), "{}", notices[0]);
            }
            assert_eq!(payload(home.path(), at), before, "nothing is rewritten");
            assert_eq!(set_aside(home.path()), 0);
        }
    }
}

fn payload(home: &std::path::Path, seq: u64) -> Vec<u8> {
    let sql = "SELECT CAST(payload AS BLOB) FROM records WHERE seq = ?1";
    raw(home).query_row(sql, [seq as i64], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn a_living_writer_is_not_cut_off() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let lease = store.create(new_session("s"));
    append_each(&store, &lease, [said(1, "one"), said(2, "two")]).await;
    damage(home.path(), "crc = 0", "= 2");
    for reader in [&store, &SqliteStore::new(home.path().to_owned())] {
        let page = reader.read(&lease.session, 0, 100).await.unwrap();
        assert_eq!((page.entries.len(), page.recovered.is_some()), (1, true));
    }
    assert_eq!(set_aside(home.path()), 0, "its owner counts on the number of the next entry");
    store.append(&lease, vec![said(3, "three")], Durability::Commit).await.unwrap();
    let seen = texts(&store, &lease.session).await;
    assert_eq!((seen.len(), &*seen[2]), (3, "three"));
    assert!(seen[1].contains("record 2 "), "{}", seen[1]);
}

#[tokio::test]
async fn a_record_of_a_later_version_is_named_and_never_cut() {
    let home = tempfile::tempdir().unwrap();
    let id = written(home.path(), 2).await;
    // What another version would write: a right checksum over a kind that we do not have.
    let payload = b"{\"to\":\"mars\"}";
    let mut hasher = crc32fast::Hasher::new();
    for number in [3u64.to_le_bytes(), 2u64.to_le_bytes(), 5i64.to_le_bytes()] {
        hasher.update(&number);
    }
    hasher.update(b"teleported\0");
    hasher.update(payload);
    let sql = "INSERT INTO records SELECT NULL, key, 3, 2, 5, 'teleported', ?1, ?2, NULL, NULL FROM sessions";
    raw(home.path()).execute(sql, rusqlite::params![payload.as_slice(), hasher.finalize()]).unwrap();
    raw(home.path()).execute("UPDATE sessions SET last_seq = 3", []).unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let fault = store.read(&id, 0, 100).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unsupported);
    assert!(fault.message.contains("entry 3 ") && fault.message.contains("`teleported`"), "{fault}");
    let lease = store.acquire(&id).await.unwrap().lease;
    store.append(&lease, vec![said(4, "behind it")], Durability::Commit).await.unwrap();
    assert_eq!(store.summary(&SessionId::from("s")).await.unwrap().unwrap().last_seq, 4);
    assert_eq!(store.read(&id, 3, 100).await.unwrap().entries.len(), 1, "the rest can be read");
}

#[tokio::test]
async fn a_wrong_end_in_the_sessions_row_costs_nothing_and_is_put_right() {
    for last_seq in [100_000_000, i64::MAX, 0, 2, -7] {
        let home = tempfile::tempdir().unwrap();
        let id = written(home.path(), 5).await;
        raw(home.path()).execute("UPDATE sessions SET last_seq = ?1", [last_seq]).unwrap();
        let store = SqliteStore::new(home.path().to_owned());
        for limit in [usize::MAX, 3] {
            let page = store.read(&id, 0, limit).await.unwrap();
            assert_eq!(page.entries.len(), limit.min(5), "{last_seq}: what is there can be read");
        }
        let acquired = store.acquire(&id).await.unwrap();
        assert_eq!((acquired.summary.last_seq, acquired.summary.messages), (5, 5), "{last_seq}");
        assert!(acquired.recovered.is_some(), "{last_seq}: it is said");
        assert_eq!(set_aside(home.path()), 0, "{last_seq}: nothing of it was damaged");
        store.append(&acquired.lease, vec![said(6, "message 6")], Durability::Commit).await.unwrap();
        assert_eq!(texts(&store, &id).await.len(), 6);
    }
}

#[tokio::test]
async fn a_gap_is_one_record_however_wide_it_is() {
    let home = tempfile::tempdir().unwrap();
    let id = written(home.path(), 9).await;
    // Rows 3 to 7 are gone; and one with an impossible number stands at the end.
    raw(home.path()).execute("DELETE FROM records WHERE seq BETWEEN 3 AND 7", []).unwrap();
    let sql =
        "INSERT INTO records SELECT NULL, key, 9000000000000, 9, 0, 'title', x'7b7d', 0, NULL, NULL FROM sessions";
    raw(home.path()).execute(sql, []).unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    for _ in 0..2 {
        let page = store.read(&id, 0, usize::MAX).await.unwrap();
        let seqs: Vec<(u64, u64)> = page.entries.iter().map(|it| (it.seq, it.parent)).collect();
        assert_eq!(seqs, [(1, 0), (2, 1), (7, 2), (8, 7), (9, 8)]);
        assert!(text(&page.entries[2]).contains("records 3 to 7 "), "{}", text(&page.entries[2]));
        assert!(page.recovered.unwrap().contains("3 to 7"));
        let acquired = store.acquire(&id).await.unwrap();
        assert_eq!(acquired.summary.last_seq, 9);
        store.release(acquired.lease).await.unwrap();
    }
    assert_eq!(set_aside(home.path()), 1, "the impossible one");
}

#[tokio::test]
async fn a_row_with_a_value_of_another_type_is_listed_and_the_session_goes_on() {
    for column in
        ["last_seq", "messages", "turns", "created_ms", "updated_ms", "tokens_input", "tokens_estimated", "epoch"]
    {
        for value in ["'text'", "1.5", "x'00ff'", "-9223372036854775808", "1e300"] {
            let home = tempfile::tempdir().unwrap();
            let id = written(home.path(), 5).await;
            let set = raw(home.path()).execute(&format!("UPDATE sessions SET {column} = {value}"), []);
            set.unwrap();
            let store = SqliteStore::new(home.path().to_owned());
            let list = store.list(Query::default()).await.unwrap();
            assert_eq!(list.len(), 1, "{column} = {value}");
            let acquired = store.acquire(&id).await.unwrap_or_else(|fault| panic!("{column} = {value}: {fault}"));
            let entries = store.read(&id, 0, usize::MAX).await.unwrap().entries;
            assert!(entries.len() >= 5, "{column} = {value}");
            store.release(acquired.lease).await.unwrap();
            assert!(store.delete(&id, None).await.unwrap(), "{column} = {value}");
        }
    }
}

/// What is open is counted anew with the rest, and for logs that were written before it was counted.
#[tokio::test]
async fn what_is_unfinished_is_as_the_log_says_behind_a_cut_and_in_an_older_database() {
    let unfinished = async |store: &SqliteStore| {
        let found = store.list(Query { unfinished: true, ..Query::default() }).await.unwrap();
        found.len()
    };
    let home = tempfile::tempdir().unwrap();
    let turn = || vocab::TurnId::from("t");
    let body = |body: Body, seq: u64| Arc::new(Entry { seq, parent: seq - 1, at_ms: 0, body, by: None });
    let store = SqliteStore::new(home.path().to_owned());
    let lease = store.create(new_session("s"));
    let end = vocab::TurnEnd {
        turn: turn(),
        stop: vocab::Stop::EndTurn,
        iterations: 1,
        usage: vocab::Usage::default(),
        mutations: vec![],
        fault: None,
    };
    let started = body(Body::Turn(TurnEntry::Started { turn: turn() }), 1);
    let ended = body(Body::Turn(TurnEntry::Ended(end)), 2);
    append_each(&store, &lease, [started, ended]).await;
    assert_eq!(unfinished(&store).await, 0);
    drop(store);
    raw(home.path()).execute_batch("UPDATE records SET crc = crc + 1 WHERE seq = 2").unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let acquired = store.acquire(&"s".into()).await.unwrap();
    assert!(acquired.recovered.is_some());
    assert_eq!(unfinished(&store).await, 1, "the end of its turn is gone");
    drop(store);
    crate::kit::age(home.path(), 5);
    assert_eq!(unfinished(&SqliteStore::new(home.path().to_owned())).await, 1);
}

/// What damage can make of a table whose own rules it does not heed: values that are missing, and two rows of one number.
#[tokio::test]
async fn damage_in_an_older_database_keeps_nobody_from_it_and_is_kept() {
    for (how, whole) in [
        ("UPDATE entries SET parent = NULL, crc = 1 WHERE seq = 2", 4),
        ("UPDATE entries SET kind = NULL, payload = NULL WHERE seq = 2", 4),
        ("UPDATE entries SET crc = NULL, at_ms = x'00' WHERE seq = 2", 4),
        ("UPDATE entries SET seq = NULL WHERE seq = 2", 4),
        ("UPDATE entries SET session = NULL WHERE seq = 2", 4),
        ("UPDATE entries SET seq = 3 WHERE seq = 4", 4),
        ("INSERT INTO entries SELECT session, 3, 0, 0, 'x', x'00', 0, NULL FROM entries WHERE seq = 2", 5),
        ("DELETE FROM entries WHERE seq = 3", 4),
        ("UPDATE entries SET kind = 7, by = 1.5 WHERE seq = 3", 4),
    ] {
        let home = tempfile::tempdir().unwrap();
        let id = written(home.path(), 5).await;
        crate::kit::age(home.path(), 12);
        let loose =
            "CREATE TABLE loose AS SELECT * FROM entries; DROP TABLE entries; ALTER TABLE loose RENAME TO entries;";
        raw(home.path()).execute_batch(loose).unwrap();
        assert_eq!(raw(home.path()).execute(how, []).unwrap(), 1, "{how}");
        let count = |table: &str| -> i64 {
            raw(home.path()).query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
        };
        let before = count("entries");
        let store = SqliteStore::new(home.path().to_owned());
        let page = store.read(&id, 0, 100).await.unwrap_or_else(|fault| panic!("{how}: {fault}"));
        let found = page.entries.iter().filter(|entry| text(entry) == format!("message {}", entry.seq)).count();
        assert_eq!((found, page.recovered.is_some()), (whole, whole < 5), "{how}");
        let acquired = store.acquire(&id).await.unwrap();
        assert_eq!((acquired.summary.last_seq, count("records") + count("damaged")), (5, before), "{how}");
        store.append(&acquired.lease, vec![said(6, "and on")], Durability::Commit).await.unwrap();
    }
}

/// Its fault says to put it there anew; so that has to work.
#[tokio::test]
async fn a_damaged_thing_on_the_shelf_can_be_replaced() {
    use vocab::{Shelf, ShelfKind, ShelfPlace};
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let kind = ShelfKind { name: "k", goes_with_session: false };
    let at = ShelfPlace { kind, owner: "".into(), name: "n".into() };
    let first = store.put(at.clone(), b"one".as_slice().into(), Some(1)).await.unwrap();
    raw(home.path()).execute("UPDATE shelf SET payload = x'00'", []).unwrap();
    assert_eq!(store.get(at.clone()).await.unwrap_err().kind, FaultKind::Store);
    let second = store.put(at.clone(), b"two".as_slice().into(), Some(1)).await.unwrap();
    assert_eq!((second.version, second.created_ms), (2, first.created_ms), "it is still the same thing");
    assert_eq!(store.get(at).await, Ok(Some(second)));
}
