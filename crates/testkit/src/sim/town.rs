//! A town: several sessions in several processes on one store, and people who walk between them. They open, watch, leave and
//! come back in mid-word, send commands twice under one key, and can do different things; processes lose their leases to
//! each other, park what nobody uses, drain, die and lose their power, and the next ones go on or close what they find.
//!
//! What each was told is held against the logs as it comes ([`view`]), what each process did against its leases
//! ([`witness`]), and what was sent under a key against what came of it ([`keys`]).

mod checks;
mod days;
mod evening;
mod gateway;
mod keys;
mod ports;
mod resident;
mod standing;
mod talk;
mod view;
mod wishes;
mod witness;

use std::sync::atomic::{AtomicBool, AtomicI64};
use std::sync::{Arc, Mutex};

use engine::Engine;
use vocab::{Answer, AskId, AskKind, ItemId, OnRestart, Position, SessionId, Unanswered};

use super::dice::Dice;
use super::model::Findings;
use super::{Failure, Numbers, quiet};
use crate::fakes::{CountedIds, TickingClock};
use crate::lossy::LossyStore;
pub use gateway::GatewayNumbers;
use gateway::GatewayTown;
use keys::KeyLedger;
use resident::Resident;
use view::{Logs, ToldCounts};
use witness::{TownWitness, WitnessedStore};

const SESSIONS_MAX: u64 = 6;
const RESIDENTS_MAX: usize = 6;

/// What the seeds of a town amounted to.
#[derive(Clone, Copy, Default, Debug)]
pub struct TownNumbers {
    pub seeds: u64,
    pub lives: u64,
    pub processes: u64,
    pub sessions: u64,
    pub residents: u64,
    pub entries: u64,
    pub turns: u64,
    pub calls: u64,
    pub asks: u64,
    pub items: u64,
    /// Calls that change something, and those of them that a person had run again.
    pub runs: u64,
    pub runs_again: u64,
    pub power_cuts: u64,
    pub forgotten: u64,
    pub steals: u64,
    /// Times a process was not heard of and another one could have its sessions.
    pub lapses: u64,
    pub taken_up: u64,
    pub drains: u64,
    /// Sessions found parked, at the end of lives.
    pub parked: u64,
    pub keys: KeyNumbers,
    pub told: ToldNumbers,
    pub gateway: GatewayNumbers,
}

/// Commands with keys.
#[derive(Clone, Copy, Default, Debug)]
pub struct KeyNumbers {
    pub keys: u64,
    pub repeats: u64,
    /// Repeats whose answer was in the log when they were sent.
    pub known: u64,
    pub clashes: u64,
    pub renewed: u64,
}

/// What peers were told.
#[derive(Clone, Copy, Default, Debug)]
pub struct ToldNumbers {
    pub entries: u64,
    pub watched: u64,
    pub glances: u64,
    /// Replies told delta by delta, and of these by a peer that came back in the middle.
    pub replies: u64,
    pub mid_word: u64,
    pub anew: u64,
}

impl TownNumbers {
    pub fn add(&mut self, other: &TownNumbers) {
        let pairs = [
            (&mut self.seeds, other.seeds),
            (&mut self.lives, other.lives),
            (&mut self.processes, other.processes),
            (&mut self.sessions, other.sessions),
            (&mut self.residents, other.residents),
            (&mut self.entries, other.entries),
            (&mut self.turns, other.turns),
            (&mut self.calls, other.calls),
            (&mut self.asks, other.asks),
            (&mut self.items, other.items),
            (&mut self.runs, other.runs),
            (&mut self.runs_again, other.runs_again),
            (&mut self.power_cuts, other.power_cuts),
            (&mut self.forgotten, other.forgotten),
            (&mut self.steals, other.steals),
            (&mut self.lapses, other.lapses),
            (&mut self.taken_up, other.taken_up),
            (&mut self.drains, other.drains),
            (&mut self.parked, other.parked),
            (&mut self.keys.keys, other.keys.keys),
            (&mut self.keys.repeats, other.keys.repeats),
            (&mut self.keys.known, other.keys.known),
            (&mut self.keys.clashes, other.keys.clashes),
            (&mut self.keys.renewed, other.keys.renewed),
            (&mut self.told.entries, other.told.entries),
            (&mut self.told.watched, other.told.watched),
            (&mut self.told.glances, other.told.glances),
            (&mut self.told.replies, other.told.replies),
            (&mut self.told.mid_word, other.told.mid_word),
            (&mut self.told.anew, other.told.anew),
        ];
        pairs.into_iter().for_each(|(sum, more)| *sum += more);
        self.gateway.pairs(&other.gateway).into_iter().for_each(|(sum, more)| *sum += more);
    }

    fn take_log(&mut self, log: &Numbers) {
        self.entries += log.entries;
        self.turns += log.turns;
        self.calls += log.calls;
        self.asks += log.asks;
        self.items += log.items;
        self.sessions += 1;
    }
    fn take_told(&mut self, told: &ToldCounts) {
        self.told.entries += told.entries;
        self.told.watched += told.watched;
        self.told.glances += told.glances;
        self.told.replies += told.replies;
        self.told.mid_word += told.mid_word;
        self.told.anew += told.anew;
    }
}

/// One process: an engine, and its way to the store.
struct Process {
    id: u64,
    engine: Engine,
    store: WitnessedStore,
    /// What becomes of a question that nobody can answer; `None`: as its sessions were opened.
    unanswered: Option<Unanswered>,
    /// No question waits for ever.
    asks_end: bool,
}

/// What every process of a town is made from, and what outlives them.
struct Ground {
    store: LossyStore,
    witness: Arc<TownWitness>,
    findings: Arc<Findings>,
    shared_dice: Arc<Mutex<Dice>>,
    calm: Arc<AtomicBool>,
    running: Arc<AtomicI64>,
    ids: Arc<CountedIds>,
    clock: Arc<TickingClock>,
}

/// What residents have heard of, right or outdated.
#[derive(Default)]
struct Hearsay {
    asks: Vec<(SessionId, AskId, AskKind)>,
    items: Vec<(SessionId, ItemId)>,
    marks: Vec<(SessionId, Position)>,
    /// Something an editor is to do, for whom, and what comes of it.
    undone: Vec<(usize, SessionId, u64, vocab::EditorReply)>,
    /// Answers under way, by resident and tag, to questions that only some may answer.
    answers: Vec<(usize, vocab::Tag, AskKind)>,
}

struct Town {
    dice: Dice,
    trace: Vec<String>,
    ground: Ground,
    sessions: Vec<SessionId>,
    processes: Vec<Process>,
    /// Of each process that ever was.
    rules: Vec<Option<Unanswered>>,
    residents: Vec<Resident>,
    ledger: KeyLedger,
    heard: Hearsay,
    numbers: TownNumbers,
    said: u64,
    on_restart: Vec<OnRestart>,
    started: Option<tokio::time::Instant>,
    /// It is behind a gateway.
    is_gateway: bool,
    gateway: GatewayTown,
}

impl Town {
    fn new(seed: u64, is_gateway: bool) -> Self {
        let mut dice = Dice::new(seed);
        let shared_dice = Arc::new(Mutex::new(Dice::new(dice.roll())));
        let turns = dice.chance(50).then(|| Dice::new(dice.roll()));
        let store = LossyStore::new(turns);
        let findings: Arc<Findings> = Arc::default();
        let ground = Ground {
            witness: TownWitness::new(store.clone(), findings.clone(), !is_gateway),
            store,
            findings,
            shared_dice,
            calm: Arc::default(),
            running: Arc::default(),
            ids: Arc::default(),
            clock: Arc::default(),
        };
        let sessions = (0..2 + dice.below(SESSIONS_MAX - 1)).map(|at| SessionId::from(format!("house{at}"))).collect();
        let on_restart = dice.pick(&[
            vec![OnRestart::Close],
            vec![OnRestart::Continue],
            vec![OnRestart::Continue],
            OnRestart::ALL.to_vec(),
        ]);
        Self {
            dice,
            trace: Vec::new(),
            ground,
            sessions,
            processes: Vec::new(),
            rules: Vec::new(),
            residents: Vec::new(),
            ledger: KeyLedger::default(),
            heard: Hearsay::default(),
            numbers: TownNumbers { seeds: 1, ..TownNumbers::default() },
            said: 0,
            on_restart,
            started: None,
            is_gateway,
            gateway: GatewayTown::default(),
        }
    }

    fn note(&mut self, line: String) {
        let ms = self.started.map_or(0, |started| started.elapsed().as_millis());
        self.trace.push(format!("{ms:>8} {line}"));
    }

    fn logs(&self) -> Logs {
        self.sessions.iter().map(|session| (session.clone(), self.ground.store.entries(session))).collect()
    }

    fn simulate(&mut self) -> Result<(), String> {
        let lives = 1 + self.dice.below(4);
        for life in 1..=lives {
            self.started = None;
            self.note(format!("--- life {life} of {lives}"));
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .start_paused(true)
                .build()
                .expect("a runtime without I/O can always be built");
            runtime.block_on(self.live(life == lives))?;
            // Whatever still runs dies here, in the middle of what it does.
            self.processes.clear();
            drop(runtime);
            self.started = None;
            self.die(life == lives)?;
            self.gateway = GatewayTown::default();
        }
        self.numbers.lives = lives;
        self.rest()
    }
}

/// Everything done and told in a seed, whatever comes of it.
pub fn town_trace(seed: u64) -> String {
    quiet::install();
    let mut town = Town::new(seed, false);
    let _ = town.simulate();
    quiet::take();
    town.trace.join("\n")
}

/// Runs one seed.
pub fn town(seed: u64) -> Result<TownNumbers, Box<Failure>> {
    run(Town::new(seed, false), seed)
}

/// Runs one seed of a town behind a gateway.
pub fn gateway_town(seed: u64) -> Result<TownNumbers, Box<Failure>> {
    run(Town::new(seed, true), seed)
}

fn run(mut town: Town, seed: u64) -> Result<TownNumbers, Box<Failure>> {
    quiet::install();
    let result = town.simulate();
    let panics = quiet::take();
    let result = match (result, panics.is_empty()) {
        (result, true) => result,
        (Ok(()), false) => Err(format!("something panicked: {}", panics.join("; "))),
        (Err(what), false) => Err(format!("something panicked: {}; and {what}", panics.join("; "))),
    };
    match result {
        Ok(()) => Ok(town.numbers),
        Err(what) => Err(Box::new(Failure { seed, what, trace: town.trace.join("\n") })),
    }
}

/// What a controller says for a call of its own tool.
fn hosted() -> Answer {
    Answer::Result { parts: vec![vocab::Part::text("hosted")], is_error: false, details: None }
}
