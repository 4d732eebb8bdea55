//! Seeds against the engine's promises. `TILLERMAN_SEEDS` sets how many, `TILLERMAN_SEEDS_FROM` the first, `TILLERMAN_SEED` runs
//! one.

use testkit::sim::{self, Numbers, Revivals, TownNumbers, Weather};

const SEEDS_DEFAULT: u64 = 300;
/// A town costs as much as several sessions alone.
const TOWNS_DEFAULT: u64 = 150;
/// Towns that are played twice.
const SEEDS_TWICE: u64 = 10;
/// Of what may happen alone every third seed is run: everything together is run anyway, and what comes alone is easier to
/// understand.
const ALONE: usize = 3;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn seeds() -> std::ops::Range<u64> {
    seeds_or(SEEDS_DEFAULT)
}

fn seeds_or(default: u64) -> std::ops::Range<u64> {
    match number("TILLERMAN_SEED") {
        Some(one) => one..one + 1,
        None => number("TILLERMAN_SEEDS_FROM").unwrap_or(0)..number("TILLERMAN_SEEDS").unwrap_or(default),
    }
}

/// Runs every `nth` seed in this weather.
#[allow(clippy::print_stdout)] // How much happened is worth a look, and is shown with `--nocapture` only.
fn promises_hold(weather: Weather, nth: usize) -> Numbers {
    let mut all = Numbers::default();
    for seed in seeds().step_by(nth) {
        match sim::run(seed, weather) {
            Ok(numbers) => all.add(&numbers),
            Err(failure) => {
                let test = std::thread::current().name().unwrap_or_default().to_owned();
                panic!("{failure}\nrun it alone: TILLERMAN_SEED={seed} cargo test -p engine --test it {test}");
            }
        }
    }
    println!("{all:?}");
    all
}

/// A simulation in which nothing happens proves nothing; one seed alone may be a quiet one.
fn many() -> bool {
    number("TILLERMAN_SEED").is_none()
}

#[test]
fn whatever_happens_the_promises_hold() {
    let all = promises_hold(Weather::default(), 1);
    if many() {
        assert!(all.turns > 0 && all.calls > 0 && all.asks > 0 && all.items > 0, "{all:?}");
        assert!(all.compactions > 0 && all.retries > 0 && all.lost_turns > 0, "{all:?}");
        assert!(all.switches > 0 && all.waited > 0 && all.late_steers > 0, "{all:?}");
        assert!(all.shells > 0 && all.reminders > 0 && all.lists > 0 && all.reloads > 0, "{all:?}");
        assert!(all.editor_requests > 0 && all.requests > 0 && all.fallbacks > 0, "{all:?}");
        assert!(all.budget_asks > 0, "{all:?}");
    }
}

#[test]
fn what_was_told_survives_a_power_cut() {
    let all = promises_hold(Weather { power_cuts: true, ..Weather::default() }, ALONE);
    assert!(!many() || all.power_cuts > 0 && all.forgotten > 0, "{all:?}");
}

#[test]
fn peers_that_come_at_the_same_time_come_to_the_same_session() {
    promises_hold(Weather { crowds: true, ..Weather::default() }, ALONE);
}

#[test]
fn a_session_that_another_owner_took_ends_and_can_be_opened_again() {
    let all = promises_hold(Weather { steals: true, ..Weather::default() }, ALONE);
    assert!(!many() || all.steals > 0, "{all:?}");
}

#[test]
fn whoever_is_on_a_session_that_broke_is_told_so() {
    promises_hold(Weather { panics: true, ..Weather::default() }, ALONE);
}

#[test]
fn a_call_that_changes_something_is_in_the_log_before_it_runs() {
    promises_hold(Weather { intent: true, ..Weather::default() }, ALONE);
}

#[test]
fn what_a_session_says_of_itself_is_what_its_log_says() {
    promises_hold(Weather { settings: true, ..Weather::default() }, ALONE);
}

#[test]
fn a_reader_that_stopped_costs_little() {
    let all = promises_hold(Weather { stops: true, ..Weather::default() }, ALONE);
    assert!(!many() || all.stops > 0, "{all:?}");
}

#[test]
fn everything_at_once() {
    let all = promises_hold(Weather::ALL, 1);
    assert!(!many() || all.power_cuts > 0 && all.forgotten > 0 && all.steals > 0 && all.stops > 0, "{all:?}");
}

/// Ten deaths in a row, of the process or of the machine, each wherever it comes.
#[test]
#[allow(clippy::print_stdout)] // As above.
fn a_turn_that_goes_on_says_and_does_what_it_would_have_said_and_done_in_peace() {
    let mut all = Revivals::default();
    for seed in seeds() {
        match sim::revive(seed) {
            Ok(numbers) => all.add(&numbers),
            Err(failure) => panic!("seed {seed}: {failure}"),
        }
    }
    println!("{all:?}");
    assert!(!many() || all.deaths > 5 * all.turns && all.power_cuts > 0, "{all:?}");
    assert!(!many() || all.doubts > 0 && all.had_run > 0 && all.open_asks > 0 && all.budget_asks > 0, "{all:?}");
}

/// Several sessions, several peers, several processes; keys, watchers, leases.
#[test]
#[allow(clippy::print_stdout)] // As above.
fn in_a_town_the_promises_hold_for_everybody() {
    let mut all = TownNumbers::default();
    for seed in seeds_or(TOWNS_DEFAULT) {
        match sim::town(seed) {
            Ok(numbers) => all.add(&numbers),
            Err(failure) => {
                panic!("{failure}\nrun it alone: TILLERMAN_SEED={seed} cargo test -p engine --test it in_a_town");
            }
        }
    }
    println!("{all:?}");
    if many() {
        let (keys, told) = (all.keys, all.told);
        assert!(all.sessions > 2 * all.seeds && all.processes > all.lives && all.lives > all.seeds, "{all:?}");
        assert!(all.power_cuts > 0 && all.forgotten > 0 && all.drains > 0 && all.parked > 0, "{all:?}");
        assert!(all.steals > 0 && all.lapses > 0 && all.taken_up > 0, "{all:?}");
        assert!(all.turns > 0 && all.asks > 0 && all.runs > 0 && all.runs_again > 0, "{all:?}");
        assert!(keys.known > 0 && keys.clashes > 0 && keys.renewed > 0 && keys.repeats > keys.known, "{all:?}");
        assert!(told.watched > 0 && told.glances > 0 && told.mid_word > 0 && told.anew > 0, "{all:?}");
    }
}

/// The same, with what a gateway does beside: deletes, forks, readers that are let go, rules, questions and turns whose time ends.
#[test]
#[allow(clippy::print_stdout)] // As above.
fn behind_a_gateway_the_promises_hold_for_everybody() {
    let mut all = TownNumbers::default();
    for seed in seeds_or(TOWNS_DEFAULT) {
        match sim::gateway_town(seed) {
            Ok(numbers) => all.add(&numbers),
            Err(failure) => {
                panic!(
                    "{failure}\nrun it alone: TILLERMAN_SEED={seed} cargo test -p engine --test it behind_a_gateway"
                );
            }
        }
    }
    println!("{all:?}");
    if many() {
        let gateway = all.gateway;
        assert!(gateway.deleted > 0 && gateway.forked > 0 && gateway.dropped > 0, "{all:?}");
        assert!(gateway.expired > 0 && gateway.stalled > 0 && gateway.denied > 0, "{all:?}");
    }
}

/// What fails once fails every time.
#[test]
fn a_seed_of_a_town_plays_the_same_every_time() {
    for seed in 0..SEEDS_TWICE {
        let (first, second) = (sim::town_trace(seed), sim::town_trace(seed));
        let differs = first.lines().zip(second.lines()).position(|(one, other)| one != other);
        let around = differs.map(|at| (first.lines().nth(at), second.lines().nth(at)));
        assert!(first == second, "seed {seed} line {differs:?}: {around:#?}");
    }
}

fn named_weather(names: &str) -> Weather {
    let has = |name: &str| names.split(',').any(|it| it == name || it == "all");
    Weather {
        power_cuts: has("power_cuts"),
        crowds: has("crowds"),
        steals: has("steals"),
        stops: has("stops"),
        panics: has("panics"),
        intent: has("intent"),
        settings: has("settings"),
    }
}

/// Counts failing seeds and shows the first line of each kind; for working on the engine, not for the normal run.
/// `TILLERMAN_WEATHER` names what may happen, as the fields of [`Weather`] do.
#[test]
#[ignore = "a survey, run by hand"]
fn survey() {
    let weather = named_weather(&std::env::var("TILLERMAN_WEATHER").unwrap_or_default());
    let mut kinds = std::collections::BTreeMap::<String, (u64, u64)>::new();
    for seed in seeds() {
        if let Err(failure) = sim::run(seed, weather) {
            if number("TILLERMAN_SEED") == Some(seed) {
                println!("{failure}");
            }
            let kind: String =
                failure.what.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).take(90).collect();
            kinds.entry(kind).or_insert((seed, 0)).1 += 1;
        }
    }
    for (kind, (seed, count)) in kinds {
        println!("{count:>5} x first seed {seed}: {kind}");
    }
}

/// As [`survey`], of towns; of those behind a gateway where `TILLERMAN_WEATHER` says `gateway`.
#[test]
#[ignore = "a survey, run by hand"]
fn survey_of_towns() {
    let is_gateway = std::env::var("TILLERMAN_WEATHER").is_ok_and(|names| names == "gateway");
    let play = if is_gateway { sim::gateway_town } else { sim::town };
    let (mut kinds, mut all) = (std::collections::BTreeMap::<String, (u64, u64)>::new(), TownNumbers::default());
    for seed in seeds() {
        match play(seed) {
            Ok(numbers) => all.add(&numbers),
            Err(failure) => {
                if number("TILLERMAN_SEED") == Some(seed) {
                    println!("{failure}");
                }
                let kind = failure.what.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).take(110);
                kinds.entry(kind.collect()).or_insert((seed, 0)).1 += 1;
            }
        }
    }
    for (kind, (seed, count)) in kinds {
        println!("{count:>5} x first seed {seed}: {kind}");
    }
    println!("{all:?}");
}
