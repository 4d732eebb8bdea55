//! One suite, every store.

use std::cell::RefCell;

use store::{MemoryStore, SqliteStore, suite};

#[tokio::test]
async fn memory_keeps_the_promises() {
    suite::run(MemoryStore::new).await;
}

#[tokio::test]
async fn sqlite_keeps_the_promises() {
    let places = RefCell::new(Vec::new());
    suite::run(|| {
        let place = tempfile::tempdir().unwrap();
        let store = SqliteStore::new(place.path().join("home"));
        places.borrow_mut().push(place);
        store
    })
    .await;
}

#[tokio::test]
async fn sqlite_keeps_them_across_restarts() {
    let place = tempfile::tempdir().unwrap();
    suite::run_durable(|number| SqliteStore::new(place.path().join(number.to_string()))).await;
}
