//! The suite that every store passes.

use store::suite::TwoOwners;
use store::{MemoryStore, suite};

#[tokio::test]
async fn memory_keeps_the_promises() {
    suite::run(MemoryStore::new).await;
}

#[tokio::test]
async fn memory_keeps_them_to_several_owners() {
    suite::run_owners(|| {
        let one = MemoryStore::new();
        let other = one.another();
        TwoOwners { one, other, lapse: Box::new(MemoryStore::lapse), other_is_called: "owner 1".to_owned() }
    })
    .await;
}

#[tokio::test]
async fn memory_has_a_shelf() {
    suite::run_shelf(MemoryStore::new).await;
}
