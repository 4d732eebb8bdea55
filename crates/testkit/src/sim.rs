//! Seeded simulation of the whole engine: a seed picks what peers, the model, the tools, the store and the power supply
//! do; then the log and everything that anybody was told are held against the engine's promises.
//!
//! One thread, virtual time, counted ids: a seed that fails fails every time, and prints what happened.

mod budget;
mod dice;
mod extension;
mod eye;
mod log;
mod model;
mod quiet;
mod revival;
mod survival;
mod tools;
mod town;
mod weight;
mod world;

use std::sync::Arc;

use vocab::SessionId;

pub use dice::Dice;
pub use model::check_history;
pub use revival::{Revivals, revive};
pub use town::{GatewayNumbers, KeyNumbers, ToldNumbers, TownNumbers, gateway_town, town, town_trace};
use world::World;

/// What must hold in a log once everything has come to rest, for logs of other tests. What waits by its own word may.
pub fn check_log(entries: &[Arc<vocab::Entry>]) -> Result<Numbers, String> {
    log::check(entries, &log::waiting(entries))
}

/// The one session that everybody is on.
pub(crate) const SESSION: &str = "sim";

/// What may happen beside talk, failing writes and processes that die.
#[derive(Clone, Copy, Default, Debug)]
pub struct Weather {
    /// A life may end with the power, which takes what was not synced.
    pub power_cuts: bool,
    /// Each call of the store takes some turns, and peers come several at a time.
    pub crowds: bool,
    /// Another owner takes the session over.
    pub steals: bool,
    /// Peers stop reading for a while and ask for much meanwhile.
    pub stops: bool,
    /// Ports panic where nobody expects it.
    pub panics: bool,
    /// A call that changes something must be in the log before it runs.
    pub intent: bool,
    /// What a session says of itself at the end is what its log says.
    pub settings: bool,
}

impl Weather {
    /// Everything at once.
    pub const ALL: Weather = Weather {
        power_cuts: true,
        crowds: true,
        steals: true,
        stops: true,
        panics: true,
        intent: true,
        settings: true,
    };
}

/// A seed whose run broke a promise.
pub struct Failure {
    pub seed: u64,
    pub what: String,
    /// Everything done and told, in order.
    pub trace: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "seed {}: {}\n{}", self.seed, self.what, self.trace)
    }
}

/// What a run amounted to; lets a test see that runs are not empty.
#[derive(Clone, Copy, Default, Debug)]
pub struct Numbers {
    pub entries: u64,
    pub turns: u64,
    pub calls: u64,
    pub asks: u64,
    pub items: u64,
    pub compactions: u64,
    /// Of these, because another provider's model was chosen.
    pub switches: u64,
    /// Compactions that were asked for in a turn and done after it.
    pub waited: u64,
    /// Steering that its turn did not take.
    pub late_steers: u64,
    pub retries: u64,
    /// Turns in which another model stood in.
    pub fallbacks: u64,
    pub lost_turns: u64,
    pub lives: u64,
    pub shells: u64,
    pub reminders: u64,
    pub lists: u64,
    /// Histories read back and held against what the model was sent before.
    pub reloads: u64,
    /// Editor that controllers did for tools.
    pub editor_requests: u64,
    /// Requests written again from the log and held against what was sent.
    pub requests: u64,
    /// Lives that ended with the power.
    pub power_cuts: u64,
    /// Entries that they took.
    pub forgotten: u64,
    pub steals: u64,
    /// Times a peer stopped reading.
    pub stops: u64,
    /// Questions about budgets.
    pub budget_asks: u64,
}

impl Numbers {
    pub fn add(&mut self, other: &Numbers) {
        self.entries += other.entries;
        self.turns += other.turns;
        self.calls += other.calls;
        self.asks += other.asks;
        self.items += other.items;
        self.compactions += other.compactions;
        self.switches += other.switches;
        self.waited += other.waited;
        self.late_steers += other.late_steers;
        self.retries += other.retries;
        self.fallbacks += other.fallbacks;
        self.lost_turns += other.lost_turns;
        self.lives += other.lives;
        self.shells += other.shells;
        self.reminders += other.reminders;
        self.lists += other.lists;
        self.reloads += other.reloads;
        self.editor_requests += other.editor_requests;
        self.requests += other.requests;
        self.power_cuts += other.power_cuts;
        self.forgotten += other.forgotten;
        self.steals += other.steals;
        self.stops += other.stops;
        self.budget_asks += other.budget_asks;
    }
}

/// Runs one seed.
pub fn run(seed: u64, weather: Weather) -> Result<Numbers, Box<Failure>> {
    quiet::install();
    let mut world = World::new(seed, weather);
    let result = simulate(&mut world);
    let panics = quiet::take();
    let result = match (result, panics.is_empty()) {
        (result, true) => result,
        (Ok(_), false) => Err(format!("something panicked: {}", panics.join("; "))),
        (Err(what), false) => Err(format!("something panicked: {}; and {what}", panics.join("; "))),
    };
    result.map_err(|what| Box::new(Failure { seed, what, trace: world.trace.join("\n") }))
}

fn simulate(world: &mut World) -> Result<Numbers, String> {
    let lives = 1 + world.dice.below(3);
    for life in 1..=lives {
        world.note(format!("--- life {life} of {lives}"));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime without I/O can always be built");
        runtime.block_on(world.live(life == lives))?;
        // Whatever still runs dies here, in the middle of what it does.
        drop(runtime);
        world.buried()?;
    }
    let session = SessionId::from(SESSION);
    let entries = world.store.entries(&session);
    let mut numbers = log::check(&entries, &world.still_waiting)?;
    let summed = world.store.sum(&session).map(|summary| summary.usage).unwrap_or_default();
    if summed != log::used(&entries) {
        return Err(format!("the store sums up {summed:?}, the log {:?}", log::used(&entries)));
    }
    numbers.lives = lives;
    let limited = entries.iter().take_while(|entry| entry.seq <= world.limited_upto).count();
    numbers.budget_asks = budget::check(&entries[..limited], &world.budget)?;
    numbers.requests = model::check_requests(&entries, &world.findings)?;
    numbers.add(&world.numbers);
    let findings = world.findings.0.lock().expect("nobody panics while holding this").clone();
    match findings.into_iter().chain(world.store.findings()).next() {
        Some(first) => Err(first),
        None => Ok(numbers),
    }
}

/// An entry without what does not survive the way to the store.
pub(crate) fn stored(entry: &Arc<vocab::Entry>) -> vocab::Entry {
    let mut entry = (**entry).clone();
    if let vocab::Body::Queue(vocab::QueueEntry::Queued(item)) = &mut entry.body {
        item.sender = None;
    }
    entry
}
