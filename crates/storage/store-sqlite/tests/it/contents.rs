//! What calls made of files is kept once for its session, and goes with it.

use std::fs;
use std::sync::Arc;

use store::records;
use store_sqlite::SqliteStore;
use vocab::{
    Body, BranchEntry, CallEnd, CallEntry, CallResult, CompactReason, Compaction, Durability, Entry, FileEdit,
    Snapshot, Store, Usage,
};

use crate::kit::{age, append_each, new_session, raw, said};

fn content(number: u64) -> Arc<str> {
    format!("fn secret_{number}() {{ /* a file of some size */ }}\n").repeat(100).into()
}

/// The call that makes content `seq` of content `seq - 1`.
fn edited(seq: u64) -> Arc<Entry> {
    let (before, after) = (Snapshot::Text(content(seq - 1)), Snapshot::Text(content(seq)));
    let result = CallResult {
        call: "c".into(),
        tool: "edit_file".into(),
        end: CallEnd::Ran,
        parts: Vec::new(),
        is_error: false,
        duration_ms: 1,
        mutation: Some("src/lib.rs".into()),
        edits: vec![FileEdit { path: "src/lib.rs".into(), before, after }],
        details: None,
    };
    let body = Body::Call(CallEntry::Ended { turn: "t".into(), result });
    Arc::new(Entry { body, ..(*said(seq, "")).clone() })
}

fn count(home: &std::path::Path, sql: &str) -> i64 {
    raw(home).query_row(sql, [], |row| row.get(0)).unwrap()
}

fn has_secrets(home: &std::path::Path, number: u64) -> bool {
    let secret = format!("fn secret_{number}()");
    let files = fs::read_dir(home).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    files.map(|path| fs::read(path).unwrap()).any(|bytes| memchr(&bytes, secret.as_bytes()))
}

fn memchr(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

#[tokio::test]
async fn a_content_is_there_once_and_comes_back_with_every_entry_that_names_it() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let lease = store.create(new_session("s"));
    let entries: Vec<_> = std::iter::once(said(1, "go")).chain((2..=20).map(edited)).collect();
    for batch in entries.chunks(4) {
        store.append(&lease, batch.to_vec(), Durability::Commit).await.unwrap();
    }
    assert_eq!(store.read(&lease.session, 0, usize::MAX).await.unwrap().entries, entries);
    assert_eq!(store.read(&lease.session, 7, 2).await.unwrap().entries, entries[7..9]);
    assert_eq!(store.conversation(&lease.session, 20).await.unwrap(), entries);
    assert_eq!(count(home.path(), "SELECT count(*) FROM contents"), 20, "19 edits with two contents each");
    let records = count(home.path(), "SELECT sum(length(payload)) FROM records");
    assert!(records < content(1).len() as i64 * 4, "{records} bytes of records");
    // Whoever takes it up reads which files were changed, and not what they were.
    let compaction = Compaction {
        reason: CompactReason::Manual,
        summary: "so far".into(),
        first_kept: 15,
        tokens_before: 9,
        tokens_after: 3,
        messages_before: 9,
        messages_after: 3,
        usage: Usage::default(),
        model: "m".into(),
    };
    let compacted = Body::Branch(BranchEntry::Compacted(compaction));
    let compacted = Arc::new(Entry { body: compacted, ..(*said(21, "")).clone() });
    store.append(&lease, vec![compacted], Durability::Commit).await.unwrap();
    let window = store.window(&lease.session, 21).await.unwrap();
    let edits = window.page.entries.iter().filter_map(|entry| match &entry.body {
        Body::Call(CallEntry::Ended { result, .. }) => result.edits.first(),
        _ => None,
    });
    let edits: Vec<_> = edits.collect();
    assert!(edits.len() == 6 && edits.iter().all(|it| &*it.path == "src/lib.rs" && it.after == Snapshot::NotKept));
}

#[tokio::test]
async fn contents_go_with_their_session_and_with_no_other() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    for id in ["one", "two"] {
        let lease = store.create(new_session(id));
        store.append(&lease, vec![said(1, "go"), edited(2)], Durability::Now).await.unwrap();
        if id == "one" {
            store.append(&lease, vec![edited(3)], Durability::Now).await.unwrap();
        }
        store.release(lease).await.unwrap();
    }
    assert!(has_secrets(home.path(), 3));
    assert!(store.delete(&"one".into(), None).await.unwrap());
    assert!(!has_secrets(home.path(), 3), "nothing of it is left in any file");
    assert_eq!(store.read(&"two".into(), 1, 1).await.unwrap().entries, [edited(2)], "the same content, of another");
    assert!(store.delete(&"two".into(), None).await.unwrap());
    assert!(!(0..4).any(|number| has_secrets(home.path(), number)));
    assert_eq!(count(home.path(), "SELECT count(*) FROM contents"), 0);
}

#[tokio::test]
async fn a_content_that_is_not_what_was_written_is_not_given_out() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let lease = store.create(new_session("s"));
    store.append(&lease, vec![said(1, "go"), edited(2)], Durability::Now).await.unwrap();
    for wrong in
        ["UPDATE contents SET content = 'other'", "UPDATE contents SET content = x'ff'", "DELETE FROM contents"]
    {
        raw(home.path()).execute(wrong, []).unwrap();
        let page = store.read(&lease.session, 1, 1).await.unwrap();
        let Body::Call(CallEntry::Ended { result, .. }) = &page.entries[0].body else { panic!("{wrong}") };
        assert_eq!(result.edits[0].before, Snapshot::NotKept, "{wrong}");
    }
}

#[tokio::test]
async fn a_database_of_the_schema_before_is_read_as_it_is_and_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let lease = store.create(new_session("s"));
    append_each(&store, &lease, [said(1, "go"), edited(2)]).await;
    store.release(lease).await.unwrap();
    drop(store);
    // As it was written before contents stood apart.
    let (entry, mut payload) = (edited(2), Vec::new());
    let kind = records::to_record(&entry.body, &mut payload);
    let sum = records::checksum(2, 1, entry.at_ms, kind.as_bytes(), &payload, None);
    raw(home.path()).execute("UPDATE records SET payload = ?1, crc = ?2 WHERE seq = 2", (payload, sum)).unwrap();
    age(home.path(), 10);
    raw(home.path()).execute_batch("DROP TABLE windows; DROP TABLE contents; PRAGMA user_version = 9").unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let lease = store.acquire(&"s".into()).await.unwrap().lease;
    store.append(&lease, vec![edited(3)], Durability::Now).await.unwrap();
    assert_eq!(store.read(&"s".into(), 0, 9).await.unwrap().entries, [said(1, "go"), edited(2), edited(3)]);
    assert_eq!(count(home.path(), "SELECT count(*) FROM contents"), 2);
}
