//! A session as bytes, for somebody elsewhere.

use std::sync::Arc;

use store::MemoryStore;
use store::suite::{new_session, note, prompt};
use vocab::{Durability, FaultKind, Store};

#[tokio::test]
async fn the_bytes_are_those_of_the_file() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let lease = store.create(new_session("s"));
    store.append(&lease, vec![prompt(1, "hello <b>")], Durability::Commit).await.unwrap();
    for (ending, beginning, has) in [
        ("html", "<!DOCTYPE html>", "hello &lt;b&gt;"),
        ("md", "# hello", "hello <b>"),
        ("jsonl", "{\"type\":\"tillerman_session\"", "\"hello <b>\""),
    ] {
        let bytes = export::download(store.clone(), "s".into(), ending).await.unwrap().unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.starts_with(beginning) && text.contains(has), "{ending}: {text}");
    }
    assert_eq!(export::download(store.clone(), "absent".into(), "md").await, Ok(None));
}

#[tokio::test]
async fn one_that_is_too_long_is_refused_before_it_is_read() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let lease = store.create(new_session("s"));
    store.append(&lease, (1..=100_001).map(note).collect(), Durability::Commit).await.unwrap();
    let refused = export::download(store, "s".into(), "md").await.unwrap_err();
    assert_eq!(refused.kind, FaultKind::Invalid, "{refused}");
}
