//! What a session costs that nobody is on, in memory and in descriptors.

use std::io::Write as _;
use std::time::{Duration, Instant};

use engine::IdlePolicy;

use crate::process::{descriptors, resident_bytes};
use crate::world::{KEEPS, PARKS_AT_ONCE, UNLOADS_AT_ONCE, World};

/// One that is unloaded keeps its task, its lease and what cannot be read again.
const UNLOADED_BYTES_MAX: usize = 8 * 1024;
/// One that is parked keeps what no log says.
const PARKED_BYTES_MAX: usize = 1024;
/// Sessions before the measuring begins: caches are full then, and the allocator has what it needs.
const WARM_UP: usize = 1600;
/// Sessions to tell the cost of one by: the less one costs, the more it takes.
const COUNT: usize = 300;
const MANY_COUNT: usize = 1000;
/// More of them, for numbers to tell.
const COUNT_VARIABLE: &str = "TILLERMAN_MANY_SESSIONS";

struct Cost {
    bytes: usize,
    descriptors: f64,
}

/// Each has had one turn and was left.
async fn cost_of_one(idle: IdlePolicy, what: &str, count: usize) -> Cost {
    let count = std::env::var(COUNT_VARIABLE).ok().and_then(|count| count.parse().ok()).unwrap_or(count);
    let world = World::new(idle);
    for _ in 0..WARM_UP {
        world.visit().await;
    }
    settle().await;
    let home = std::fs::canonicalize(world.home.path()).unwrap();
    let (bytes, open, since) = (resident_bytes(), descriptors(&home), Instant::now());
    for _ in 0..count {
        world.visit().await;
    }
    let took = since.elapsed();
    settle().await;
    let bytes = resident_bytes().saturating_sub(bytes) / count;
    let descriptors = descriptors(&home).saturating_sub(open) as f64 / count as f64;
    let (live, parked) = (world.stage.engine.live().len(), world.stage.engine.parked());
    let since = Instant::now();
    let query = vocab::Query { limit: Some(100), ..vocab::Query::default() };
    world.stage.store.list(query).await.unwrap();
    let listed = since.elapsed();
    let _ = writeln!(
        std::io::stderr(),
        "{what}: {bytes} bytes, {descriptors} descriptors each ({live} live, {parked} parked, {count} opened with a turn \
         each in {took:?}, 100 of them listed in {listed:?})"
    );
    assert_eq!(live + parked, WARM_UP + count, "every one of them is still known");
    world.stage.engine.shutdown().await;
    Cost { bytes, descriptors }
}

/// The timers of those that were left are over, and the store has given its caches back.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(800)).await;
}

#[test]
fn a_session_that_nobody_is_on_costs_next_to_nothing() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        // Parked first: memory that was used and given back would hide what they cost.
        let parked = cost_of_one(PARKS_AT_ONCE, "parked", MANY_COUNT).await;
        let unloaded = cost_of_one(UNLOADS_AT_ONCE, "unloaded", MANY_COUNT).await;
        cost_of_one(KEEPS, "lingering", COUNT).await;
        assert!(parked.bytes <= PARKED_BYTES_MAX, "a parked session costs {} bytes", parked.bytes);
        assert!(unloaded.bytes <= UNLOADED_BYTES_MAX, "an unloaded session costs {} bytes", unloaded.bytes);
        assert_eq!(parked.descriptors, 0.0);
        assert_eq!(unloaded.descriptors, 0.0);
    });
}
