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

/// What another machine sees: no lock, and a row that nobody renewed for long.
fn lapse(home: &std::path::Path) {
    let database = crate::kit::raw(home);
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
