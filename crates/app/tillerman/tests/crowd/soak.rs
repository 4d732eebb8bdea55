//! A daemon's long life: many sessions, visited again and again from several sides, one engine after the other in the same
//! process and on the same store. Whatever is kept of a visit or of an engine that ended adds up, and is seen here.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use engine::{Engine, IdlePolicy, Slow};
use testkit::fakes::CountedIds;
use testkit::sim::{Dice, check_log};
use testkit::stage::Actor;
use tokio::time::Instant;
use vocab::{Open, Query, Which};

use crate::process::{descriptors, resident_bytes};
use crate::world::stage;
use crate::{alone, on_all_cores};

/// How long; 20 minutes in the full run.
const SECONDS_VARIABLE: &str = "TILLERMAN_SOAK_SECONDS";
const FULL_VARIABLE: &str = "TILLERMAN_FULL";
const VISITORS: u64 = 8;
/// Longest wait for turns when an engine ends.
const DRAIN: Duration = Duration::from_secs(5);
/// More than one life gives out.
const IDS_PER_LIFE: u64 = 10_000_000;
/// What memory may grow by from the first half of the lives to the end.
const DRIFT_PCT_MAX: usize = 10;

struct Length {
    whole: Duration,
    lives: usize,
    sessions: u64,
    /// What a process that has just begun may take besides.
    slack: usize,
}

fn length() -> Length {
    let full = std::env::var(FULL_VARIABLE).is_ok().then_some(1200);
    let asked = std::env::var(SECONDS_VARIABLE).ok().and_then(|seconds| seconds.parse().ok());
    match asked.or(full) {
        Some(seconds) => Length { whole: Duration::from_secs(seconds), lives: 100, sessions: 1000, slack: 0 },
        None => Length { whole: Duration::from_secs(4), lives: 8, sessions: 40, slack: 8 * 1024 * 1024 },
    }
}

/// Comes and goes until the time is over. How often.
async fn visit(engine: Engine, workspace: PathBuf, mut dice: Dice, sessions: u64, until: Instant) -> u64 {
    let mut visits = 0;
    while Instant::now() < until {
        let mut actor = Actor::on(engine.connect(Slow::Wait));
        let name = format!("soak{}", dice.below(sessions));
        let open = Open::new(Which::Named(name.as_str().into()));
        actor.open(Open { workspace: Some(workspace.clone()), ..open }).await.unwrap();
        if dice.chance(50) {
            actor.deliver("say a word", vocab::Delivery::Enqueue).await;
            actor.turn_end().await;
        }
        visits += 1;
    }
    visits
}

#[test]
fn a_long_life_costs_no_more_than_a_short_one() {
    let _alone = alone();
    let Length { whole, lives, sessions, slack } = length();
    let runtime = on_all_cores();
    let home = tempfile::tempdir().unwrap();
    let mut dice = Dice::new(14);
    let (mut memory, mut open, mut visits) = (Vec::new(), Vec::new(), 0);
    let ms = Duration::from_millis;
    let idle = IdlePolicy { linger: ms(20), park_after: ms(20), ready_max: 20, unload_after: ms(20) };
    for life in 0..lives {
        let seeds: Vec<u64> = (0..VISITORS).map(|_| dice.roll()).collect();
        visits += runtime.block_on(async {
            let stage =
                stage(home.path(), idle, |options| options.ids = CountedIds::behind(life as u64 * IDS_PER_LIFE));
            let until = Instant::now() + whole / lives as u32;
            let visitors: Vec<_> = seeds
                .into_iter()
                .map(|seed| {
                    let (engine, workspace) = (stage.engine.clone(), stage.workspace().to_owned());
                    tokio::spawn(visit(engine, workspace, Dice::new(seed), sessions, until))
                })
                .collect();
            let mut visits = 0;
            for visitor in visitors {
                visits += visitor.await.unwrap();
            }
            stage.engine.drain(DRAIN).await;
            visits
        });
        // The last task of a life may end on another core, and the store with it.
        let until = Instant::now() + DRAIN;
        while life > 0 && descriptors(Path::new("/nowhere")) > open[0] && Instant::now() < until {
            std::thread::sleep(ms(10));
        }
        memory.push(resident_bytes());
        open.push(descriptors(Path::new("/nowhere")));
    }
    let count = runtime.block_on(check(home.path()));
    let (early, late) = (*memory[..lives / 2].iter().max().unwrap(), *memory.last().unwrap());
    println!(
        "{visits} visits to {count} sessions in {lives} lives and {whole:?}: {} KiB in the first half, {} KiB at the end, \
         {} and {} descriptors",
        early / 1024,
        late / 1024,
        open[lives / 2],
        open[lives - 1]
    );
    assert!(late * 100 <= early * (100 + DRIFT_PCT_MAX) + slack * 100, "memory grows: {memory:?}");
    assert!(open[lives - 1] <= open[lives / 2], "descriptors are not given back: {open:?}");
}

/// Every log is in order. How many there are.
async fn check(home: &Path) -> usize {
    let store: Arc<dyn vocab::Store> = Arc::new(store_sqlite::SqliteStore::new(home.to_owned()));
    let saved = store.list(Query::default()).await.unwrap();
    for summary in &saved {
        let entries = store.read(&summary.id, 0, usize::MAX).await.unwrap().entries;
        check_log(&entries).unwrap_or_else(|what| panic!("log of {}: {what}", summary.id));
    }
    saved.len()
}
