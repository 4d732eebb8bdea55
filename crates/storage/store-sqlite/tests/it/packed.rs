//! Several records in one row: what is damaged of it, what is cut out of it, and who reads from its middle.

use std::path::Path;

use store_sqlite::SqliteStore;
use vocab::{AuditVerdict, Durability, SessionId, Skim, SkimFor, Store};

use crate::kit::{new_session, raw, said, text};

const COUNT: u64 = 6;

/// A closed session: one message, then a row of six, then one more.
async fn packed(home: &Path) -> SessionId {
    let store = SqliteStore::new(home.to_owned());
    let lease = store.create(new_session("s"));
    let one = |seq: u64| said(seq, &format!("message {seq}"));
    store.append(&lease, vec![one(1)], Durability::Now).await.unwrap();
    store.append(&lease, (2..2 + COUNT).map(one).collect(), Durability::Now).await.unwrap();
    store.append(&lease, vec![one(2 + COUNT)], Durability::Now).await.unwrap();
    lease.session
}

fn more(home: &Path) -> Vec<u8> {
    raw(home).query_row("SELECT more FROM records WHERE seq = 2", [], |row| row.get(0)).unwrap()
}

fn set_more(home: &Path, more: &[u8]) {
    assert_eq!(raw(home).execute("UPDATE records SET more = ?1 WHERE seq = 2", [more]).unwrap(), 1);
}

fn rows(home: &Path, table: &str) -> i64 {
    raw(home).query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn small_entries_of_one_append_are_one_row_and_are_read_from_anywhere() {
    let home = tempfile::tempdir().unwrap();
    let id = packed(home.path()).await;
    assert_eq!(rows(home.path(), "records"), 3);
    let store = SqliteStore::new(home.path().to_owned());
    for after in 0..=COUNT + 3 {
        for limit in 1..=9_usize {
            let page = store.read(&id, after, limit).await.unwrap();
            let seqs: Vec<u64> = page.entries.iter().map(|entry| entry.seq).collect();
            let expected: Vec<u64> = (after + 1..=COUNT + 2).take(limit).collect();
            assert_eq!((seqs, page.recovered), (expected, None), "{limit} behind {after}");
        }
    }
    for before in 1..=COUNT + 3 {
        let skim = Skim { what: SkimFor::Messages, before: Some(before), limit: 2 };
        let found = store.skim(&id, skim).await.unwrap();
        let seqs: Vec<u64> = found.entries.iter().map(|entry| entry.seq).collect();
        assert_eq!(seqs, (1..before).rev().take(2).collect::<Vec<_>>(), "before {before}");
    }
    assert!(matches!(store.verify_audit(None).await.unwrap(), AuditVerdict::Whole { .. }));
}

#[tokio::test]
async fn damage_within_a_row_is_that_of_one_record_or_of_what_is_behind_it_and_is_said() {
    let home = tempfile::tempdir().unwrap();
    let id = packed(home.path()).await;
    let whole = more(home.path());
    for at in 0..whole.len() {
        let mut broken = whole.clone();
        broken[at] ^= 0x21;
        set_more(home.path(), &broken);
        let store = SqliteStore::new(home.path().to_owned());
        let page = store.read(&id, 0, 100).await.unwrap();
        assert!(page.recovered.is_some(), "broken at {at}: it is said");
        let record = at / (whole.len() / (COUNT as usize - 1));
        let mut last = 0;
        for entry in &page.entries {
            assert!(entry.parent <= last && entry.seq > last, "broken at {at}: the tree stays a tree");
            last = entry.seq;
            if entry.seq <= 2 + record as u64 || entry.seq == COUNT + 2 {
                assert_eq!(text(entry), format!("message {}", entry.seq), "broken at {at}");
            }
        }
        assert_eq!(last, COUNT + 2, "broken at {at}");
        let readable = page.entries.iter().filter(|entry| text(entry).starts_with("message ")).count();
        assert!(readable >= 3 + record, "broken at {at}: {readable} can be read");
        // It is in the middle of the log: nothing is cut, and the session goes on.
        let acquired = store.acquire(&id).await.unwrap();
        assert_eq!((acquired.summary.last_seq, acquired.recovered), (COUNT + 2, None), "broken at {at}");
        store.release(acquired.lease).await.unwrap();
        drop(store);
        assert_eq!(more(home.path()), broken, "nothing is rewritten");
    }
}

#[tokio::test]
async fn a_row_that_is_damaged_at_the_end_of_a_log_is_cut_within_and_kept_aside() {
    let mut cuts = 0;
    for at in (0..2000).step_by(7) {
        let home = tempfile::tempdir().unwrap();
        let id = packed(home.path()).await;
        raw(home.path()).execute("DELETE FROM records WHERE seq = ?1", [COUNT as i64 + 2]).unwrap();
        let mut broken = more(home.path());
        if at >= broken.len() {
            break;
        }
        // From there on nothing is as it was.
        broken[at..].iter_mut().for_each(|byte| *byte ^= 0x55);
        set_more(home.path(), &broken);
        let left = 2 + at as u64 / (broken.len() as u64 / (COUNT - 1));
        let store = SqliteStore::new(home.path().to_owned());
        let acquired = store.acquire(&id).await.unwrap();
        let notice = acquired.recovered.as_deref().expect("its owner is told");
        assert!(notice.contains(&format!("cut back to entry {left}")), "{notice}");
        assert_eq!((acquired.summary.last_seq, acquired.summary.messages), (left, left));
        let aside: Vec<u8> = raw(home.path()).query_row("SELECT more FROM damaged", [], |row| row.get(0)).unwrap();
        assert!(broken.ends_with(&aside) && !aside.is_empty(), "the bytes are kept");
        store.append(&acquired.lease, vec![said(left + 1, "and on")], Durability::Now).await.unwrap();
        store.release(acquired.lease).await.unwrap();
        let page = store.read(&id, 0, 100).await.unwrap();
        let seqs: Vec<u64> = page.entries.iter().map(|entry| entry.seq).collect();
        assert_eq!((seqs, page.recovered), ((1..=left + 1).collect(), None));
        assert_eq!(store.acquire(&id).await.unwrap().recovered, None, "it is said once");
        cuts += 1;
    }
    assert!(cuts > 40, "{cuts}");
}

#[tokio::test]
async fn a_tail_of_another_type_is_damage_and_no_panic() {
    for value in ["7", "1.5", "'text'", "x''", "x'00'", "zeroblob(5000)"] {
        let home = tempfile::tempdir().unwrap();
        let id = packed(home.path()).await;
        raw(home.path()).execute(&format!("UPDATE records SET more = {value} WHERE seq = 2"), []).unwrap();
        let store = SqliteStore::new(home.path().to_owned());
        let page = store.read(&id, 0, 100).await.unwrap();
        assert!(page.recovered.is_some(), "{value}");
        assert_eq!(page.entries.last().map(|entry| entry.seq), Some(COUNT + 2), "{value}");
        let lease = store.acquire(&id).await.unwrap().lease;
        store.append(&lease, vec![said(COUNT + 3, "and on")], Durability::Now).await.unwrap();
        store.release(lease).await.unwrap();
        assert!(store.delete(&id, None).await.unwrap(), "{value}");
        assert_eq!(rows(home.path(), "records"), 0);
    }
}
