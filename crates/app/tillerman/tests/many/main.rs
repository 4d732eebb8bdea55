//! Many sessions in one process, with the store and the tools of the product: what one costs.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use testkit::stage::{Stage, StageOptions};
use vocab::{Open, Which};

fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = status.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[tokio::test]
async fn what_one_costs() {
    let home = tempfile::tempdir().unwrap();
    let store = Arc::new(store_sqlite::SqliteStore::new(home.path().to_owned()));
    let stage = Stage::new(StageOptions { store, ..StageOptions::default() });
    let mut actor = stage.actor();
    let turns = std::env::var("TURNS").is_ok();
    for round in 0..4 {
        let (bytes, fds, since) = (resident_bytes(), descriptors(), std::time::Instant::now());
        for _ in 0..250 {
            actor.open(Open::new(Which::New)).await.unwrap();
            if turns {
                actor.prompt("say a word").await;
                actor.turn_end().await;
            }
            actor.forget();
        }
        println!(
            "round {round}: {} bytes, {} fds, {:?}",
            (resident_bytes() - bytes) / 250,
            (descriptors() - fds) as f64 / 250.0,
            since.elapsed()
        );
    }
}
