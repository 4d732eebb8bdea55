//! What the dice do to an engine: peers that come, talk nonsense and go, a store that fails, a process that dies.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::{Config, Engine, IdlePolicy, Ports, Slow};
use vocab::{
    Answer, AskEntry, AskId, AskKind, Body, BranchEntry, Budget, Change, Coalesce, CompactionPolicy, Delivery,
    DirectoryVerb, Drain, EditorEvent, EditorOffer, EditorReply, EditorRequest, EditorRequestKind, Event, FaultKind,
    Gate, HostTool, ItemId, Json, LaneMode, LanePolicy, LateSteer, Mode, Open, Overflow, Part, QueueEntry, QueueVerb,
    Reply, Required, RetryPolicy, Scope, SessionVerb, Settings, SteerPoint, Stop, Told, Verb, Which,
};

use super::SESSION;
use super::dice::Dice;
use super::eye::Eye;
use super::model::{Findings, SimModel, sketch};
use super::tools::{LOUD, SimTools, list};
use super::{Numbers, Weather, survival, weight};
use crate::fakes::{CountedIds, NoArchive, Notebook, TickingClock};
use crate::lossy::LossyStore;

/// As short as the pauses of a simulated peer.
const IDLE: IdlePolicy = IdlePolicy {
    linger: Duration::from_millis(200),
    park_after: Duration::from_millis(300),
    unload_after: Duration::from_millis(100),
};

/// Peers at once.
const PEERS_MAX: usize = 4;
/// Tries of the last prompt; each waits longer than any stall lasts.
const LAST_TRIES: u32 = 400;
/// More than a reader that stopped can have asked for.
const CATCH_UP_LOOKS: u32 = 200;

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

    fn offer(&mut self) -> Verb {
        let mut roll = || self.dice.chance(60);
        Verb::Session(SessionVerb::OfferEditor(EditorOffer { read_text: roll(), write_text: roll(), terminal: roll() }))
    }

    fn after(&mut self) -> Option<u64> {
        match self.dice.below(10) {
            0..4 => None,
            4..9 => Some(self.dice.below(self.last_seq + 1)),
            _ => Some(self.last_seq + 1 + self.dice.below(100)),
        }
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

    fn prompt(&mut self, delivery: Delivery) -> Verb {
        self.said += 1;
        Verb::Session(SessionVerb::Prompt {
            parts: vec![Part::text(format!("p{} {}", self.said, "x".repeat(40)))],
            delivery,
        })
    }

    fn verb(&mut self) -> Verb {
        use Delivery::*;
        if self.dice.chance(16) {
            return self.beside();
        }
        match self.dice.below(100) {
            0..34 => {
                let delivery = self.dice.pick(&[RejectIfBusy, RejectIfBusy, Steer, FollowUp, Enqueue, Queue, Policy]);
                self.prompt(delivery)
            }
            34..52 => self.answer(),
            52..60 => Verb::Session(SessionVerb::Interrupt {
                turn: self.dice.pick(&[None, None, None, Some("another".into())]),
            }),
            60..62 => Verb::Session(SessionVerb::AbortRetry),
            62..68 => Verb::Session(SessionVerb::Queue(match self.dice.below(4) {
                0 => QueueVerb::List,
                1 => QueueVerb::Clear,
                _ if self.items.is_empty() => QueueVerb::TakeBack("nothing".into()),
                _ => QueueVerb::TakeBack(self.dice.pick(&self.items)),
            })),
            68..78 => Verb::Session(SessionVerb::Set(self.change())),
            78..88 => self.slash(),
            88..91 => Verb::Session(SessionVerb::Compact { instructions: None, wait: self.dice.chance(60) }),
            91..95 => {
                let names = self.dice.pick(&[&["host1"][..], &["host1", "host2"], &[], &["look"], &["host2"]]);
                let tool = |name: &&str| HostTool {
                    name: (*name).into(),
                    description: "host".into(),
                    schema: Json::empty_object(),
                    required: Required::DangerFullAccess,
                };
                Verb::Session(SessionVerb::OfferTools { tools: names.iter().map(tool).collect() })
            }
            95..97 => Verb::Fork { at: Some(if self.users.is_empty() { 3 } else { self.dice.pick(&self.users) }) },
            97 => Verb::Leave,
            98 => Verb::Session(SessionVerb::Command { name: "beside".into(), args: "".into() }),
            _ => {
                let mut open = Open::new(Which::Named(SESSION.into()));
                open.after = self.after().map(vocab::Cursor::at);
                Verb::Open(open)
            }
        }
    }

    /// What goes on beside the conversation.
    fn beside(&mut self) -> Verb {
        match self.dice.below(12) {
            0..5 => {
                self.said += 1;
                let command = match self.dice.below(100) {
                    0..3 => " ".to_owned(),
                    3..30 if self.weather.stops => format!("{LOUD}{}", self.said),
                    _ => format!("cmd{}", self.said),
                };
                Verb::Session(SessionVerb::Shell { command: command.into(), aside: self.dice.chance(20) })
            }
            5 => Verb::Session(SessionVerb::AbortShell),
            6 => Verb::Session(SessionVerb::Set(Change::Todos(list(self.dice.below(3))))),
            7 => Verb::Session(SessionVerb::Read { after: self.dice.below(self.last_seq + 3) }),
            8 => Verb::Fork { at: None },
            9 => self.offer(),
            10 => {
                let editor_request =
                    if self.editor_requests.is_empty() { 1 } else { self.dice.pick(&self.editor_requests) };
                Verb::Session(SessionVerb::EditorReplied {
                    editor_request,
                    result: self.dice.pick(&[EditorReply::Written, EditorReply::NotFound]),
                })
            }
            _ => self.dice.pick(&[
                Verb::Session(SessionVerb::Inspect),
                Verb::Session(SessionVerb::Inspect),
                Verb::Directory(DirectoryVerb::Models),
                Verb::Session(SessionVerb::Export { file: None }),
            ]),
        }
    }

    fn answer(&mut self) -> Verb {
        let recent = self.asks.len().saturating_sub(3);
        let (ask, host) = match self.dice.below(10) {
            0 => ("ask-never".into(), false),
            _ if self.asks.is_empty() => ("ask1".into(), false),
            _ => self.dice.pick(&self.asks[recent..]),
        };
        if self.dice.chance(8) {
            return Verb::Session(SessionVerb::Progress { ask, parts: vec![Part::text("so far")] });
        }
        let result = Answer::Result { parts: vec![Part::text("hosted")], is_error: false, details: None };
        let right = if host { result.clone() } else { Answer::Allow(Scope::Once) };
        let answer = match self.dice.below(10) {
            0..5 => right,
            5 => Answer::Allow(Scope::Session),
            6 => Answer::Deny(Some("because".into())),
            7 => Answer::Deny(None),
            8 => result,
            _ => self.dice.pick(&[Answer::Dismissed, Answer::Text("hm".into()), Answer::Confirmed(false)]),
        };
        Verb::Session(SessionVerb::Answer { ask, answer })
    }

    fn change(&mut self) -> Change {
        let dice = &mut self.dice;
        match dice.below(12) {
            0..4 => Change::Model(dice.pick(&["a", "b", "b", "zzz"]).into()),
            4..6 => Change::Mode(dice.pick(&Mode::ALL)),
            6 => Change::Thinking(dice.pick(&[None, Some("high".into())])),
            7 => Change::Title("a title".into()),
            8 => Change::Lane(lane_policy(dice)),
            9 => Change::Retry(RetryPolicy { retries_max: dice.below(4) as u32, ..RetryPolicy::default() }),
            10 => Change::Compaction(CompactionPolicy {
                auto: dice.chance(70),
                on_switch: dice.chance(50),
                ..CompactionPolicy::default()
            }),
            _ => Change::Gadget { name: dice.pick(&["sharp", "blunt"]).into(), on: dice.chance(50) },
        }
    }

    fn slash(&mut self) -> Verb {
        let (name, args) = self.dice.pick(&[
            ("status", ""),
            ("context", ""),
            ("undo", ""),
            ("undo", ""),
            ("undo", "2"),
            ("undo", "x"),
            ("cost", ""),
            ("diff", ""),
            ("compact", "keep it short"),
            ("model", "b"),
            ("model", "what"),
            ("mode", "plan"),
            ("tools", ""),
            ("help", ""),
            ("version", ""),
            ("rename", "new name"),
            ("gadgets", "off sharp"),
            ("save", "model"),
            ("export", ""),
            ("sessions", ""),
            ("nonsense", ""),
        ]);
        Verb::Session(SessionVerb::Slash { name: name.into(), args: args.into() })
    }

    /// Reads what everybody was told.
    async fn look(&mut self, started: tokio::time::Instant) {
        for at in 0..self.eyes.len() {
            if self.eyes[at].stopped.is_some_and(|until| tokio::time::Instant::now() < until) {
                continue;
            }
            let told = self.eyes[at].drain().await;
            if self.eyes[at].stopped.take().is_some()
                && let Err(what) = weight::check(&told)
            {
                self.findings.add(format!("peer {}: {what}", self.eyes[at].name));
            }
            let (name, ms) = (self.eyes[at].name, started.elapsed().as_millis());
            for Told { session, event, .. } in told {
                if session.as_str() != SESSION && !session.as_str().is_empty() {
                    continue;
                }
                self.trace.push(format!("{ms:>8} peer {name} < {}", brief(&event)));
                self.learn(&event);
                if let Event::Editor(EditorEvent::Request(editor_request)) = event {
                    self.serve(at, &editor_request);
                }
            }
        }
    }

    /// A controller that does what it is told, most of the time.
    fn serve(&mut self, at: usize, editor_request: &EditorRequest) {
        self.editor_requests.push(editor_request.id);
        let result = match &editor_request.kind {
            EditorRequestKind::ReadText { .. } => EditorReply::Text("text".into()),
            EditorRequestKind::WriteText { .. } => EditorReply::Written,
            EditorRequestKind::Run { .. } => {
                EditorReply::Ran { output: "".into(), truncated: false, exit_code: Some(0), signal: None }
            }
        };
        if self.dice.chance(60) {
            let result = if self.dice.chance(80) { result } else { EditorReply::Failed("no".into()) };
            self.send(at, Verb::Session(SessionVerb::EditorReplied { editor_request: editor_request.id, result }));
        } else {
            self.undone.push((at, editor_request.id, result));
        }
    }

    fn learn(&mut self, event: &Event) {
        match event {
            Event::Logged(entry) => {
                self.last_seq = self.last_seq.max(entry.seq);
                match &entry.body {
                    Body::Ask(AskEntry::Opened(ask)) => {
                        self.asks.push((ask.id.clone(), matches!(ask.kind, AskKind::HostCall { .. })));
                    }
                    Body::User { .. } => self.users.push(entry.seq),
                    Body::Queue(QueueEntry::Queued(item)) => self.items.push(item.id.clone()),
                    _ => {}
                }
            }
            Event::Reply { result: Ok(Reply::Waiting { item, .. }), .. } => self.items.push(item.clone()),
            _ => {}
        }
    }

    /// Everything calms down, the session answers one more prompt, and the engine ends in order.
    async fn finish(&mut self, engine: Engine, last: bool, started: tokio::time::Instant) -> Result<(), String> {
        self.trace.push("(everything calms down)".into());
        self.eyes.iter_mut().for_each(|eye| eye.stopped = eye.stopped.map(|_| started));
        self.calm.store(true, Ordering::Relaxed);
        self.store.fail_append(0);
        self.store.fail_read(0);
        self.store.slow_reads(0);
        if self.weather.stops {
            self.catch_up(started).await;
        }
        if last {
            let name = self.name();
            let mut eye = Eye::new(name, engine.connect(Slow::Wait));
            eye.send(Verb::Open(Open::new(Which::Named(SESSION.into()))));
            self.eyes.push(eye);
            self.send(self.eyes.len() - 1, Verb::Session(SessionVerb::AbortShell));
            self.last_prompt(started).await?;
            self.read_back(started).await?;
            if self.weather.settings {
                self.compare_settings(started).await?;
            }
        }
        engine.shutdown().await;
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            self.look(started).await;
        }
        for eye in &mut self.eyes {
            eye.saw_the_end = eye.peer.is_some();
        }
        match engine.live().len() {
            0 => Ok(()),
            n => Err(format!("{n} sessions live on after the shutdown")),
        }
    }

    /// Whoever had stopped reads again, and what it asked for meanwhile is carried out, one long answer at a time.
    async fn catch_up(&mut self, started: tokio::time::Instant) {
        for _ in 0..CATCH_UP_LOOKS {
            tokio::time::sleep(Duration::from_millis(20)).await;
            self.look(started).await;
        }
    }

    async fn last_prompt(&mut self, started: tokio::time::Instant) -> Result<(), String> {
        let at = self.eyes.len() - 1;
        let mut may_come_again = self.weather.steals || self.weather.panics;
        for _ in 0..LAST_TRIES {
            tokio::time::sleep(Duration::from_secs(5)).await;
            self.look(started).await;
            self.answer_all(at).await;
            let prompt = self.prompt(Delivery::RejectIfBusy);
            let tag = self.send(at, prompt).ok_or("the engine takes no commands")?;
            tokio::time::sleep(Duration::from_secs(1)).await;
            self.look(started).await;
            let turn = match self.eyes[at].result_of(tag) {
                None => return Err("the lane is wedged: the last prompt got no reply".into()),
                Some(Ok(Reply::Started { turn })) => turn.clone(),
                // What a restart left waiting comes first.
                Some(Ok(Reply::Waiting { .. })) => continue,
                Some(Ok(other)) => return Err(format!("the last prompt was answered {other:?}")),
                Some(Err(fault)) if fault.kind == FaultKind::TurnInProgress => continue,
                // Another owner had it, or it broke, before everything calmed down: once more, and it is ours.
                Some(Err(_)) if std::mem::take(&mut may_come_again) => {
                    self.send(at, Verb::Open(Open::new(Which::Named(SESSION.into()))));
                    continue;
                }
                Some(Err(fault)) => return Err(format!("the last prompt was refused: {fault}")),
            };
            return self.last_turn(at, turn, started).await;
        }
        Err("the lane is wedged: a turn never ends".into())
    }

    /// People and their tools take their time, but not for ever: nobody else's clock would end what waits for them.
    async fn answer_all(&mut self, last: usize) {
        for (at, editor_request, result) in std::mem::take(&mut self.undone) {
            self.send(at, Verb::Session(SessionVerb::EditorReplied { editor_request, result }));
        }
        for (ask, host) in std::mem::take(&mut self.asks) {
            for at in if host { 0..self.eyes.len() } else { last..last + 1 } {
                self.send(at, Verb::Session(SessionVerb::Answer { ask: ask.clone(), answer: Answer::Deny(None) }));
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }

    /// With another model the history is read from the log again: the model must be sent what it was sent before.
    async fn read_back(&mut self, started: tokio::time::Instant) -> Result<(), String> {
        let at = self.eyes.len() - 1;
        let before = self.findings.last_sent();
        let known = self.last_seq;
        for model in ["a", "b"] {
            self.send(at, Verb::Session(SessionVerb::Set(Change::Model(model.into()))));
        }
        let prompt = self.prompt(Delivery::RejectIfBusy);
        self.send(at, prompt).ok_or("the engine takes no commands")?;
        tokio::time::sleep(Duration::from_secs(200)).await;
        self.look(started).await;
        let compacted = self.eyes[at].seen.iter().any(|seen| match seen {
            super::eye::Seen::Told(Told { event: Event::Logged(entry), .. }) => {
                entry.seq > known && matches!(entry.body, Body::Branch(BranchEntry::Compacted(_)))
            }
            _ => false,
        });
        let after = self.findings.last_sent();
        if !compacted {
            self.numbers.reloads += 1;
            if !after.starts_with(&before) {
                return Err(format!("read back, the history is another:\n{}---\n{}", sketch(&before), sketch(&after)));
            }
        }
        Ok(())
    }

    /// What was refused has left nothing behind, and what was taken is written down.
    async fn compare_settings(&mut self, started: tokio::time::Instant) -> Result<(), String> {
        let at = self.eyes.len() - 1;
        let tag = self.send(at, Verb::Session(SessionVerb::Inspect)).ok_or("the engine takes no commands")?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        self.look(started).await;
        let state = match self.eyes[at].result_of(tag) {
            Some(Ok(Reply::Inspected(inspection))) => &inspection.state,
            other => return Err(format!("the last look at the session is {other:?}")),
        };
        survival::compare(state, &self.store.entries(&SESSION.into()))
    }

    async fn last_turn(&mut self, at: usize, turn: vocab::TurnId, started: tokio::time::Instant) -> Result<(), String> {
        for _ in 0..LAST_TRIES {
            tokio::time::sleep(Duration::from_secs(5)).await;
            self.look(started).await;
            let end = self.eyes[at].turn_end(&turn);
            let Some(stop) = end else { continue };
            if stop != Stop::EndTurn {
                return Err(format!("the last turn ended with {stop:?}"));
            }
            // What waited has run by now, or waits for good.
            tokio::time::sleep(Duration::from_secs(200)).await;
            self.look(started).await;
            let tag = self
                .send(at, Verb::Session(SessionVerb::Queue(QueueVerb::List)))
                .ok_or("the engine takes no commands")?;
            tokio::time::sleep(Duration::from_secs(1)).await;
            self.look(started).await;
            return match self.eyes[at].result_of(tag) {
                Some(Ok(Reply::Queue(items))) if items.is_empty() => Ok(()),
                other => Err(format!("the last list is {other:?}")),
            };
        }
        Err("the last turn never ends".into())
    }
}

fn lane_policy(dice: &mut Dice) -> LanePolicy {
    use LaneMode::*;
    LanePolicy {
        mode: dice.pick(&[Collect, Followup, Steer, SteerBacklog, Interrupt]),
        cap: dice.pick(&[1, 2, 3, 50]),
        overflow: dice.pick(&[Overflow::DropOld, Overflow::DropNew]),
        debounce_ms: dice.pick(&[0, 0, 20, 1000]),
        coalesce: dice.pick(&[Coalesce::Auto, Coalesce::Always, Coalesce::Never]),
        summarise: dice.chance(50),
        steer_drain: dice.pick(&[Drain::OneAtATime, Drain::All]),
        follow_up_drain: dice.pick(&[Drain::OneAtATime, Drain::All]),
        steer_point: dice.pick(&[SteerPoint::Wait, SteerPoint::Immediate]),
        late_steer: dice.pick(&[LateSteer::Joins, LateSteer::Dropped]),
    }
}

fn brief(event: &Event) -> String {
    let text = match event {
        Event::Logged(entry) => format!("#{} {:?}", entry.seq, entry.body),
        Event::State(state) => format!("State turn {:?} last_seq {}", state.turn, state.last_seq),
        other => format!("{other:?}"),
    };
    text.chars().take(220).collect()
}
