//! What the dice do to an engine: peers that come, talk nonsense and go, a store that fails, a process that dies.

mod evening;
mod listening;
mod wishes;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::{Config, Engine, IdlePolicy, Ports, Slow};
use vocab::{AskId, Budget, EditorReply, Gate, ItemId, Mode, Open, SessionVerb, Settings, Verb, Which};

use super::SESSION;
use super::dice::Dice;
use super::eye::Eye;
use super::model::{Findings, SimModel};
use super::tools::SimTools;
use super::{Numbers, Weather, survival};
use crate::fakes::{CountedIds, NoArchive, Notebook, TickingClock};
use crate::lossy::LossyStore;
use wishes::lane_policy;

/// As short as the pauses of a simulated peer.
const IDLE: IdlePolicy = IdlePolicy {
    linger: Duration::from_millis(200),
    park_after: Duration::from_millis(300),
    ready_max: 2,
    unload_after: Duration::from_millis(100),
};

/// Peers at once.
const PEERS_MAX: usize = 4;

pub(super) struct World {
    pub(super) dice: Dice,
    pub(super) trace: Vec<String>,
    pub(super) store: LossyStore,
    pub(super) findings: Arc<Findings>,
    pub(super) still_waiting: HashSet<ItemId>,
    pub(super) numbers: Numbers,
    /// Holds but for the last life, which is to end well; and the last entry before that.
    pub(super) budget: Budget,
    pub(super) limited_upto: u64,
    weather: Weather,
    /// The peers of this life.
    eyes: Vec<Eye>,
    met: usize,
    shared_dice: Arc<Mutex<Dice>>,
    calm: Arc<AtomicBool>,
    running: Arc<AtomicI64>,
    ids: Arc<CountedIds>,
    clock: Arc<TickingClock>,
    /// What peers have heard of, right or outdated.
    asks: Vec<(AskId, bool)>,
    items: Vec<ItemId>,
    users: Vec<u64>,
    editor_requests: Vec<u64>,
    /// Editor that a controller took its time for, whose they are, and what comes of them in the end.
    undone: Vec<(usize, u64, EditorReply)>,
    last_seq: u64,
    said: u64,
}

impl World {
    pub(super) fn new(seed: u64, weather: Weather) -> Self {
        let mut dice = Dice::new(seed);
        let shared_dice = Arc::new(Mutex::new(Dice::new(dice.roll())));
        let turns = weather.crowds.then(|| Dice::new(dice.roll()));
        Self {
            dice,
            trace: Vec::new(),
            store: LossyStore::new(turns),
            findings: Arc::default(),
            still_waiting: HashSet::new(),
            numbers: Numbers::default(),
            budget: super::budget::of_seed(seed),
            limited_upto: 0,
            weather,
            eyes: Vec::new(),
            met: 0,
            shared_dice,
            calm: Arc::default(),
            running: Arc::default(),
            ids: Arc::default(),
            clock: Arc::default(),
            asks: Vec::new(),
            items: Vec::new(),
            users: Vec::new(),
            editor_requests: Vec::new(),
            undone: Vec::new(),
            last_seq: 0,
            said: 0,
        }
    }

    pub(super) fn note(&mut self, line: String) {
        self.trace.push(line);
    }

    fn engine(&mut self, last: bool) -> Engine {
        let ports = Ports {
            provider: Arc::new(SimModel {
                dice: self.shared_dice.clone(),
                calm: self.calm.clone(),
                findings: self.findings.clone(),
                brittle: self.weather.panics,
            }),
            toolbox: Arc::new(SimTools {
                dice: self.shared_dice.clone(),
                running: self.running.clone(),
                log: self.weather.intent.then(|| (self.store.clone(), self.findings.clone())),
            }),
            store: Arc::new(self.store.process()),
            archive: Arc::new(NoArchive),
            preferences: Arc::new(Notebook::default()),
            ids: self.ids.clone(),
            clock: self.clock.clone(),
            read_object: wire::read_object,
            fit_image: vocab::as_it_is,
            keyring: vocab::Keyring::default(),
            accounts: Arc::new(vocab::NoAccounts),
            surroundings: Arc::new(vocab::NoSurroundings),
            servers: Arc::new(vocab::NoMcp),
        };
        let mut defaults = Settings::new("/nowhere", "a");
        defaults.mode = self.dice.pick(&Mode::ALL);
        defaults.gate = self.dice.pick(&[Gate::Ladder, Gate::Ladder, Gate::Proxy]);
        defaults.lane = lane_policy(&mut self.dice);
        defaults.compaction.on_switch = self.dice.chance(30);
        defaults.thinking = self.dice.pick(&[None, Some("low".into())]);
        defaults.reminders_max = self.dice.pick(&[0, 0, 1, 3]);
        defaults.max_iterations = 1 + self.dice.below(6) as u32;
        defaults.budget = if last { Budget::default() } else { self.budget };
        // In half of the worlds sessions go out of memory, stage by stage, and come back in the middle of it.
        let idle = defaults.max_iterations.is_multiple_of(2).then_some(IDLE);
        let (notices, user) = (Vec::new(), vocab::Principal::user("ann"));
        Engine::new(ports, Config { defaults, version: "sim".into(), notices, user, idle, turns_max: None })
    }

    /// One life of the process.
    pub(super) async fn live(&mut self, last: bool) -> Result<(), String> {
        let started = tokio::time::Instant::now();
        let engine = self.engine(last);
        if last {
            self.limited_upto = self.store.entries(&SESSION.into()).last().map_or(0, |entry| entry.seq);
        }
        self.calm.store(false, Ordering::Relaxed);
        for _ in 0..self.dice.pick(&[0, 0, 1, 1, 2]) {
            super::extension::spawn(&engine, Dice::new(self.dice.roll()), self.calm.clone());
        }
        self.come(&engine);
        for _ in 0..5 + self.dice.below(35) {
            self.act(&engine);
            let ms = self.dice.pick(&[0, 0, 0, 1, 5, 30, 200, 1500]);
            if ms > 0 {
                tokio::time::sleep(Duration::from_millis(ms)).await;
            } else if self.dice.chance(70) {
                for _ in 0..self.dice.below(12) {
                    tokio::task::yield_now().await;
                }
            }
            self.look(started).await;
        }
        if last || self.dice.chance(40) {
            self.finish(engine, last, started).await?;
        } else {
            self.look(started).await;
        }
        self.die()
    }

    /// The process is no more, and perhaps the power went: what everybody was told is held against what there was, and
    /// against what is left.
    fn die(&mut self) -> Result<(), String> {
        let session = SESSION.into();
        let written = self.store.entries(&session);
        self.undone.clear();
        let mut eyes = std::mem::take(&mut self.eyes);
        self.undone.clear();
        for eye in &mut eyes {
            // Items may wait on; the next life lists them.
            eye.listed = super::log::waiting(&written);
            let (lost, waited, done) = eye.check(&written).map_err(|what| format!("peer {}: {what}", eye.name))?;
            self.numbers.lost_turns += lost;
            self.numbers.waited += waited;
            self.numbers.editor_requests += done;
        }
        if !self.weather.power_cuts || self.dice.chance(40) {
            self.note("(the process dies)".into());
            self.store.crash();
            return Ok(());
        }
        self.store.power_cut();
        let left = self.store.entries(&session);
        self.note(format!("(the power is cut: {} of {} entries are left)", left.len(), written.len()));
        self.numbers.power_cuts += 1;
        self.numbers.forgotten += (written.len() - left.len()) as u64;
        self.last_seq = left.len() as u64;
        for eye in &eyes {
            survival::check(&eye.seen, &left).map_err(|what| format!("peer {}: {what}", eye.name))?;
        }
        Ok(())
    }

    pub(super) fn buried(&mut self) -> Result<(), String> {
        match self.running.load(Ordering::Relaxed) {
            0 => Ok(()),
            n => Err(format!("{n} tool calls still run")),
        }
    }

    fn come(&mut self, engine: &Engine) {
        let name = self.name();
        let mut eye = Eye::new(name, engine.connect(Slow::Wait));
        let mut open = Open::new(Which::Named(SESSION.into()));
        open.after = self.after().map(vocab::Cursor::at);
        self.trace.push(format!("  peer {name} comes, after {:?}", open.after));
        eye.send(Verb::Open(open));
        self.eyes.push(eye);
        if self.dice.chance(50) {
            let offer = self.offer();
            self.send(self.eyes.len() - 1, offer);
        }
    }

    fn name(&mut self) -> usize {
        self.met += 1;
        self.met
    }

    fn act(&mut self, engine: &Engine) {
        let here: Vec<usize> = (0..self.eyes.len()).filter(|at| self.eyes[*at].peer.is_some()).collect();
        let action = self.dice.below(100);
        if here.is_empty() || action < 5 && here.len() < PEERS_MAX {
            let many = if self.weather.crowds { 1 + self.dice.below(3) } else { 1 };
            return (0..many).for_each(|_| self.come(engine));
        }
        let at = self.dice.pick(&here);
        if self.dice.chance(4) && self.strike(at) {
            return;
        }
        match action {
            5..7 => {
                self.trace.push(format!("  peer {} is gone", self.eyes[at].name));
                self.eyes[at].peer = None;
            }
            7..10 => {
                let n = 1 + self.dice.below(4);
                self.trace.push(format!("  append {n} from now will fail"));
                self.store.fail_append(n);
            }
            10 if self.dice.chance(50) => {
                self.trace.push("  the next read will fail".into());
                self.store.fail_read(1);
            }
            10 => {
                let ms = self.dice.pick(&[0, 5, 300]);
                self.trace.push(format!("  reads now take {ms} ms"));
                self.store.slow_reads(ms);
            }
            11..14 => {
                let waits = (0..self.dice.below(4)).map(|_| self.dice.pick(&[0, 1, 10, 100])).collect();
                self.trace.push(format!("  appends now take {waits:?} ms"));
                self.store.slow(waits);
            }
            _ => {
                let verb = self.verb();
                self.send(at, verb);
            }
        }
    }

    /// Something from outside. False when the weather does not have it.
    fn strike(&mut self, at: usize) -> bool {
        match self.dice.below(3) {
            0 if self.weather.steals => {
                let taken = self.store.steal(&SESSION.into());
                self.numbers.steals += u64::from(taken);
                self.trace.push(format!("  another owner takes the session: {taken}"));
            }
            1 if self.weather.stops => {
                let ms = self.dice.pick(&[30, 400, 3000]);
                self.trace.push(format!("  peer {} does not read for {ms} ms", self.eyes[at].name));
                self.eyes[at].stopped = Some(tokio::time::Instant::now() + Duration::from_millis(ms));
                self.numbers.stops += 1;
                for _ in 0..self.dice.below(80) {
                    self.send(at, Verb::Session(SessionVerb::Read { after: 0 }));
                }
            }
            2 => {
                let ms = self.dice.pick(&[-86_400_000, -5_000, 5_000, 86_400_000]);
                self.trace.push(format!("  the clock jumps by {ms} ms"));
                self.clock.jump(ms);
            }
            _ => return false,
        }
        true
    }

    fn send(&mut self, at: usize, verb: Verb) -> Option<vocab::Tag> {
        let text = crate::verb_text(&verb);
        let tag = self.eyes[at].send(verb);
        self.trace.push(format!("  peer {} > {:?} {text:.160}", self.eyes[at].name, tag.map(|tag| tag.0)));
        tag
    }
}
