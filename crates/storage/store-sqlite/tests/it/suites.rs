//! The suite that every store passes.

use std::cell::RefCell;

use store::suite;
use store_sqlite::SqliteStore;

use crate::kit::{age, append_each, raw};

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

/// What another machine sees: no lock, and a row that nobody renewed for long.
fn lapse(home: &std::path::Path) {
    let database = raw(home);
    database.execute("UPDATE owners SET machine = 'boot elsewhere', renewed_ms = 0 WHERE id = (SELECT owned_by FROM sessions WHERE owned_by IS NOT NULL LIMIT 1)", []).unwrap();
    for lock in std::fs::read_dir(home.join("locks")).unwrap() {
        std::fs::remove_file(lock.unwrap().path()).unwrap();
    }
}

#[tokio::test]
async fn sqlite_keeps_them_to_several_owners() {
    let places = RefCell::new(Vec::new());
    suite::run_owners(|| {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().join("home");
        places.borrow_mut().push(place);
        // It says that it lives with the next thing it does, and not by itself while the test looks.
        let renewing = || SqliteStore::new(home.clone()).renewing(std::time::Duration::from_secs(600));
        let (one, other) = (renewing(), renewing());
        let lapse = Box::new(move |_: &SqliteStore| lapse(&home));
        suite::TwoOwners { one, other, lapse, other_is_called: "process ".to_owned() }
    })
    .await;
}

#[tokio::test]
async fn sqlite_has_a_shelf() {
    let places = RefCell::new(Vec::new());
    suite::run_shelf(|| {
        let place = tempfile::tempdir().unwrap();
        let store = SqliteStore::new(place.path().join("home"));
        places.borrow_mut().push(place);
        store
    })
    .await;
}

#[tokio::test]
async fn what_is_on_the_shelf_of_sqlite_outlives_the_store() {
    use vocab::{Shelf, ShelfKind, ShelfPlace};
    let place = tempfile::tempdir().unwrap();
    let kind = ShelfKind { name: "k", goes_with_session: false };
    let at = ShelfPlace { kind, owner: "".into(), name: "n".into() };
    let put = SqliteStore::new(place.path().into()).put(at.clone(), b"x".as_slice().into(), None).await.unwrap();
    assert_eq!(SqliteStore::new(place.path().into()).get(at).await, Ok(Some(put)));
}

#[tokio::test]
async fn a_database_of_the_schema_before_gets_the_order_of_its_messages_and_its_wishes() {
    use vocab::{Body, LanePolicy, Order, Query, SettingEntry, Store};
    let place = tempfile::tempdir().unwrap();
    let lane = LanePolicy { cap: 7, ..LanePolicy::default() };
    {
        let store = SqliteStore::new(place.path().into());
        let lease = store.create(suite::new_session("s"));
        let setting = suite::entry(2, Body::Setting(SettingEntry::Lane { wish: lane.into() }));
        append_each(&store, &lease, [suite::prompt(1, "hello"), setting]).await;
        store.release(lease).await.unwrap();
    }
    // Then a wish was always a whole policy, by another name.
    let (entry, mut payload) = (suite::entry(2, Body::Setting(SettingEntry::Lane { wish: lane.into() })), Vec::new());
    store::records::to_record(&entry.body, &mut payload);
    let sum = store::records::checksum(2, 1, entry.at_ms, b"lane", &payload, None);
    raw(place.path()).execute("UPDATE records SET kind = 'lane', crc = ?1 WHERE seq = 2", [sum]).unwrap();
    age(place.path(), 10);
    let store = SqliteStore::new(place.path().into());
    let query = Query { order: Order::LastMessage, ..Query::default() };
    // Reading leaves an older file as it is; whoever takes a session up makes it ours.
    store.acquire(&"s".into()).await.unwrap();
    let found = store.list(query).await.unwrap().pop().unwrap();
    assert_eq!((found.last_message_ms, found.lane), (Some(1_001), lane.into()));
}
