//! Seeds against the engine's promises. `TILLERMAN_SEEDS` sets how many, `TILLERMAN_SEED` runs one.

use testkit::sim::{self, Numbers};

const SEEDS_DEFAULT: u64 = 300;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn whatever_happens_the_promises_hold() {
    let seeds = match number("TILLERMAN_SEED") {
        Some(one) => one..one + 1,
        None => 0..number("TILLERMAN_SEEDS").unwrap_or(SEEDS_DEFAULT),
    };
    let many = seeds.end - seeds.start > 1;
    let mut all = Numbers::default();
    for seed in seeds {
        match sim::run(seed) {
            Ok(numbers) => all.add(&numbers),
            Err(failure) => panic!("{failure}\nrun it alone with TILLERMAN_SEED={seed}"),
        }
    }
    println!("{all:?}");
    // A simulation in which nothing happens proves nothing.
    if many {
        assert!(all.turns > 0 && all.calls > 0 && all.asks > 0 && all.items > 0, "{all:?}");
        assert!(all.compactions > 0 && all.retries > 0 && all.lost_turns > 0, "{all:?}");
        assert!(all.switches > 0 && all.waited > 0 && all.late_steers > 0, "{all:?}");
        assert!(all.shells > 0 && all.reminders > 0 && all.lists > 0 && all.reloads > 0, "{all:?}");
        assert!(all.errands > 0 && all.requests > 0 && all.fallbacks > 0, "{all:?}");
    }
}

/// Counts failing seeds and shows the first line of each kind; for working on the engine, not for the normal run.
#[test]
#[ignore = "a survey, run by hand"]
fn survey() {
    let mut kinds = std::collections::BTreeMap::<String, (u64, u64)>::new();
    for seed in 0..number("TILLERMAN_SEEDS").unwrap_or(SEEDS_DEFAULT) {
        if let Err(failure) = sim::run(seed) {
            let kind: String =
                failure.what.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).take(90).collect();
            kinds.entry(kind).or_insert((seed, 0)).1 += 1;
        }
    }
    for (kind, (seed, count)) in kinds {
        println!("{count:>5} x first seed {seed}: {kind}");
    }
}
