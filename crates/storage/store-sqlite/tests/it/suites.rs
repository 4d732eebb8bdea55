//! The suite that every store passes.

use std::cell::RefCell;

use store::suite;
use store_sqlite::SqliteStore;

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
