//! The suite that every store passes.

use store::{MemoryStore, suite};

#[tokio::test]
async fn memory_keeps_the_promises() {
    suite::run(MemoryStore::new).await;
}
