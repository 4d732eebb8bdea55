//! Rows that say more than there is room for: a wrong number, or bytes that nobody wrote, and what is beside them all the same.

use std::path::Path;

use store_sqlite::SqliteStore;
use vocab::{AuditVerdict, Durability, SessionId, Skim, SkimFor, Store};

use crate::kit::{new_session, raw, said, text};

/// A closed session with appends of so many messages each.
async fn appended(home: &Path, counts: &[u64]) -> SessionId {
    let store = SqliteStore::new(home.to_owned());
    let lease = store.create(new_session("s"));
    let mut next = 1;
    for count in counts {
        let entries = (next..next + count).map(|seq| said(seq, &format!("message {seq}"))).collect();
        store.append(&lease, entries, Durability::Commit).await.unwrap();
        next += count;
    }
    lease.session
}

fn execute(home: &Path, sql: &str) {
    assert_eq!(raw(home).execute(sql, []).unwrap(), 1, "{sql}");
}

/// Whatever can be read of it, by pages of this size.
async fn readable(store: &SqliteStore, id: &SessionId, limit: usize) -> Vec<u64> {
    let (mut found, mut after) = (Vec::new(), 0);
    loop {
        let page = store.read(id, after, limit).await.unwrap();
        let Some(last) = page.entries.last() else { return found };
        after = last.seq;
        let whole = page.entries.iter().filter(|entry| text(entry) == format!("message {}", entry.seq));
        found.extend(whole.map(|entry| entry.seq));
    }
}

async fn skimmed(store: &SqliteStore, id: &SessionId) -> Vec<u64> {
    let skim = Skim { what: SkimFor::Messages, before: None, limit: 100 };
    let mut seqs: Vec<u64> = store.skim(id, skim).await.unwrap().entries.iter().map(|entry| entry.seq).collect();
    seqs.reverse();
    seqs
}

#[tokio::test]
async fn a_row_with_a_wrong_number_hides_none_of_its_neighbours() {
    // Rows 1 to 3, 4 to 9, 10 to 12; the middle one is called otherwise.
    for wrong in [2, 3, 5, 7, 8, 9, 11, 12, 13, 400] {
        let home = tempfile::tempdir().unwrap();
        let id = appended(home.path(), &[3, 6, 3]).await;
        execute(home.path(), &format!("UPDATE records SET seq = {wrong} WHERE seq = 4"));
        let expected = [1, 2, 3, 10, 11, 12];
        let store = SqliteStore::new(home.path().to_owned());
        for limit in [1, 2, 3, 5, 100] {
            assert_eq!(readable(&store, &id, limit).await, expected, "{wrong}: {limit} at once");
        }
        assert_eq!(skimmed(&store, &id).await, expected, "{wrong}");
        let acquired = store.acquire(&id).await.unwrap();
        assert_eq!(acquired.summary.last_seq, 12, "{wrong}");
        store.append(&acquired.lease, vec![said(13, "message 13")], Durability::Now).await.unwrap();
        store.release(acquired.lease).await.unwrap();
        assert_eq!(readable(&store, &id, 100).await, [1, 2, 3, 10, 11, 12, 13], "{wrong}: what was promised is there");
        assert_eq!(store.acquire(&id).await.unwrap().recovered, None, "{wrong}: it is said once");
        assert_ne!(store.read(&id, 0, 100).await.unwrap().recovered, None, "{wrong}: what is missing stays missing");
    }
}

#[tokio::test]
async fn bytes_behind_the_last_record_of_a_row_are_not_the_next_record() {
    for bytes in ["00", "0000000000", "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"] {
        let home = tempfile::tempdir().unwrap();
        let id = appended(home.path(), &[3, 3]).await;
        execute(home.path(), &format!("UPDATE records SET more = CAST(more || x'{bytes}' AS BLOB) WHERE seq = 1"));
        let store = SqliteStore::new(home.path().to_owned());
        assert_eq!(readable(&store, &id, 100).await, [1, 2, 3, 4, 5, 6], "{bytes}");
        assert_eq!(readable(&store, &id, 1).await, [1, 2, 3, 4, 5, 6], "{bytes}");
        assert!(matches!(store.verify_audit(None).await.unwrap(), AuditVerdict::Whole { .. }));
    }
}

#[tokio::test]
async fn what_is_promised_behind_a_cut_is_there_whatever_was_cut() {
    for value in ["7", "1.5", "'text'", "x'00'", "zeroblob(5000)"] {
        let home = tempfile::tempdir().unwrap();
        let id = appended(home.path(), &[1, 4]).await;
        execute(home.path(), &format!("UPDATE records SET more = {value} WHERE seq = 2"));
        let store = SqliteStore::new(home.path().to_owned());
        let acquired = store.acquire(&id).await.unwrap();
        assert_eq!((acquired.summary.last_seq, acquired.recovered.is_some()), (2, true), "{value}");
        store.append(&acquired.lease, vec![said(3, "message 3")], Durability::Now).await.unwrap();
        store.release(acquired.lease).await.unwrap();
        let page = store.read(&id, 0, 100).await.unwrap();
        assert_eq!((page.entries.len(), page.recovered), (3, None), "{value}");
        assert_eq!(readable(&store, &id, 1).await, [1, 2, 3], "{value}");
        assert_eq!(store.acquire(&id).await.unwrap().recovered, None, "{value}: it is said once");
        let kept = format!("SELECT count(*) FROM damaged WHERE more IS {value}");
        let kept: i64 = raw(home.path()).query_row(&kept, [], |row| row.get(0)).unwrap();
        assert_eq!(kept, 1, "{value}: it is kept aside as it was");
    }
}

/// A slice is over when its rows are, also where one of them had nothing to say.
#[tokio::test]
async fn a_long_log_is_read_to_its_end_past_a_row_that_is_covered() {
    let home = tempfile::tempdir().unwrap();
    let id = appended(home.path(), &[&[3][..], &[1; 700]].concat()).await;
    // A row of one record that stands where another has its second.
    execute(home.path(), "UPDATE records SET seq = 2 WHERE seq = 5");
    let store = SqliteStore::new(home.path().to_owned());
    let expected: Vec<u64> = (1..=703).filter(|seq| *seq != 5).collect();
    let page = store.read(&id, 0, usize::MAX).await.unwrap();
    assert_eq!(page.entries.last().map(|entry| entry.seq), Some(703), "{:?}", page.recovered);
    assert_eq!(readable(&store, &id, usize::MAX).await, expected);
    assert_eq!(readable(&store, &id, 600).await, expected);
}

#[tokio::test]
async fn a_number_that_is_none_is_that_of_one_row() {
    for value in ["2.5", "'text'", "x'00'", "1e300"] {
        let home = tempfile::tempdir().unwrap();
        let id = appended(home.path(), &[1, 1, 1]).await;
        execute(home.path(), &format!("UPDATE records SET seq = {value} WHERE seq = 2"));
        let store = SqliteStore::new(home.path().to_owned());
        assert_eq!(readable(&store, &id, 100).await, [1, 3], "{value}");
        assert_eq!(skimmed(&store, &id).await, [1, 3], "{value}");
        assert_eq!(store.acquire(&id).await.unwrap().summary.last_seq, 3, "{value}");
    }
}
