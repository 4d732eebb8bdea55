//! Many peers on many sessions, on all cores: they come, talk, interrupt, fork, delete and go as the dice say, sessions go
//! out of memory and come back, and sometimes everything ends in the middle of it. What happens between two threads is not
//! the dice's, so a seed that fails may pass the next time. Held against it: every command is answered once, no session
//! breaks, every log is in order, every lease is free in the end.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use engine::{Engine, IdlePolicy, Peer, Slow};
use testkit::player::{Front, Play, Player, Step, calls, done, say, text};
use testkit::sim::{Dice, check_log};
use tokio::time::{Instant, sleep, timeout};
use vocab::{
    Change, Command, Cursor, Delivery, DirectoryVerb, Event, FaultKind, Finish, Open, Part, Query, SessionVerb, Tag,
    Target, Told, Verb, Which,
};

use crate::world::World;
use crate::{alone, on_all_cores};

const ROUNDS: u64 = 6;
/// More of them, to look for what is rare.
const ROUNDS_VARIABLE: &str = "TILLERMAN_STRESS_ROUNDS";
const SEED_VARIABLE: &str = "TILLERMAN_STRESS_SEED";
const PEERS: u64 = 8;
const SESSIONS: u64 = 6;
const COMMANDS: u64 = 120;
const TRACE_LINES: usize = 160;
const TRACE_CHARS: usize = 160;
/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// As short as the pauses between commands.
const IDLE: IdlePolicy = IdlePolicy {
    linger: Duration::from_millis(3),
    park_after: Duration::from_millis(3),
    ready_max: 5,
    unload_after: Duration::from_millis(2),
};

fn play(dice: &mut Dice) -> Play {
    match dice.below(5) {
        0 => calls(&[("list_dir", "{}"), ("todo", "{}")]),
        1 => vec![text("slow "), Step::Wait(dice.below(10)), text("words"), done(Finish::Stop)],
        2 => vec![Step::Wait(dice.below(30)), done(Finish::Stop)],
        _ => say("quick"),
    }
}

struct Person {
    name: u64,
    dice: Dice,
    engine: Engine,
    peer: Peer,
    next: u64,
    /// Not answered yet.
    open: HashMap<Tag, String>,
    told: Vec<Told>,
    answered: u64,
    /// The newest of what was said and answered, for people.
    trace: VecDeque<String>,
}

impl Person {
    fn new(name: u64, dice: Dice, engine: Engine) -> Self {
        let peer = engine.connect(Slow::Wait);
        Self {
            name,
            dice,
            engine,
            peer,
            next: 0,
            open: HashMap::new(),
            told: Vec::new(),
            answered: 0,
            trace: VecDeque::new(),
        }
    }

    fn some_session(&mut self) -> String {
        format!("x{}", self.dice.below(SESSIONS))
    }

    fn verb(&mut self) -> Verb {
        let session = |verb| Verb::Session(verb);
        match self.dice.below(100) {
            0..30 => {
                let after = self.dice.chance(30).then(|| Cursor::at(0));
                Verb::Open(Open { after, ..Open::new(Which::Named(self.some_session().as_str().into())) })
            }
            30..40 => Verb::Leave,
            40..70 => {
                let delivery = self.dice.pick(&[
                    Delivery::RejectIfBusy,
                    Delivery::Enqueue,
                    Delivery::Queue,
                    Delivery::Policy,
                    Delivery::Steer,
                    Delivery::FollowUp,
                ]);
                session(SessionVerb::Prompt { parts: vec![Part::text("say something")], delivery })
            }
            70..78 => session(SessionVerb::Interrupt { turn: None }),
            78..82 => Verb::Fork { at: None },
            82..86 => {
                Verb::Directory(DirectoryVerb::Delete { session: self.some_session().as_str().into(), open_too: false })
            }
            86..89 => session(SessionVerb::Inspect),
            89..92 => session(SessionVerb::Read { after: 0 }),
            92..94 => session(SessionVerb::Set(Change::Title("a title".into()))),
            94..96 => session(SessionVerb::Slash { name: "clear".into(), args: String::new() }),
            96..98 => session(SessionVerb::Slash { name: "resume".into(), args: self.some_session() }),
            _ => Verb::Directory(DirectoryVerb::Sessions(Query::default())),
        }
    }

    fn note(&mut self, line: String) {
        if self.trace.len() >= TRACE_LINES {
            self.trace.pop_front();
        }
        self.trace.push_back(line.chars().take(TRACE_CHARS).collect());
    }

    async fn command(&mut self) {
        let verb = self.verb();
        let target = match self.dice.chance(70) {
            true => Target::Current,
            false => Target::Session(self.some_session().as_str().into()),
        };
        self.next += 1;
        let tag = Tag(self.next);
        let said = format!("{verb:?} for {target:?}");
        self.note(format!("{} says {said}", tag.0));
        self.open.insert(tag, said);
        self.peer.submit(Command::of(tag, target, verb)).await;
    }

    async fn listen(&mut self, at_most: Duration) -> Result<(), String> {
        let more = timeout(at_most, self.peer.events(&mut self.told)).await;
        for told in std::mem::take(&mut self.told) {
            match told.event {
                Event::Reply { tag, result } => {
                    self.note(format!("{} is answered by {:?}: {result:?}", tag.0, told.session));
                    let Some(_) = self.open.remove(&tag) else {
                        return Err(format!("peer {}: {tag:?} was answered once more", self.name));
                    };
                    self.answered += 1;
                    if let Err(fault) = result
                        && fault.kind == FaultKind::Internal
                        && !fault.message.contains("ended")
                    {
                        return Err(format!("peer {}: {fault}", self.name));
                    }
                }
                // Everything ends, and its sessions say so.
                Event::Gone { fault } if fault.kind == FaultKind::ShuttingDown => {}
                Event::Gone { fault } => return Err(format!("peer {} is off {}: {fault}", self.name, told.session)),
                _ => {}
            }
        }
        match more {
            Ok(false) => Err(format!("peer {} was let go", self.name)),
            _ => Ok(()),
        }
    }

    async fn live(mut self) -> Result<u64, String> {
        for _ in 0..COMMANDS {
            self.command().await;
            if self.dice.chance(2) {
                self.note("(hangs up)".into());
                // Whoever hangs up does not wait for answers.
                self.peer = self.engine.connect(Slow::Wait);
                self.open.clear();
                self.told.clear();
            }
            match self.dice.below(4) {
                0 => self.listen(Duration::from_millis(1)).await?,
                1 => sleep(Duration::from_millis(self.dice.below(8))).await,
                _ => {}
            }
        }
        let since = Instant::now();
        while !self.open.is_empty() {
            self.listen(Duration::from_millis(20)).await?;
            if since.elapsed() > PATIENCE {
                let trace = self.trace.make_contiguous().join("\n");
                return Err(format!("peer {}: never answered: {:?}\n{trace}", self.name, self.open));
            }
        }
        self.listen(Duration::from_millis(20)).await?;
        Ok(self.answered)
    }
}

/// One engine from its beginning to its end. How many commands were answered.
async fn round(seed: u64) -> Result<u64, String> {
    let mut dice = Dice::new(seed);
    let player = Player::new((0..PEERS * COMMANDS).map(|_| play(&mut dice)).collect::<Vec<_>>());
    let world = World::with(IDLE, |options| {
        options.provider = Arc::new(Front(player.clone()));
        options.model = "wide".into();
    });
    let engine = world.stage.engine.clone();
    let people: Vec<_> =
        (0..PEERS).map(|name| tokio::spawn(Person::new(name, Dice::new(dice.roll()), engine.clone()).live())).collect();
    if dice.chance(60) {
        sleep(Duration::from_millis(dice.below(400))).await;
        match dice.chance(50) {
            true => engine.shutdown().await,
            false => engine.drain(Duration::from_millis(dice.below(50))).await,
        }
    }
    let mut answered = 0;
    for person in people {
        answered += person.await.map_err(|error| error.to_string())??;
    }
    timeout(PATIENCE, engine.shutdown()).await.map_err(|_| "the shutdown does not end".to_owned())?;
    if !engine.live().is_empty() {
        return Err(format!("still there: {:?}", engine.live()));
    }
    let store = &world.stage.store;
    for summary in store.list(Query { children: true, ..Query::default() }).await.map_err(|fault| fault.to_string())? {
        let entries = match store.read(&summary.id, 0, usize::MAX).await {
            Ok(page) => page.entries,
            // Somebody had asked for that and hung up.
            Err(fault) if fault.kind == FaultKind::UnknownSession => continue,
            Err(fault) => return Err(fault.to_string()),
        };
        check_log(&entries).map_err(|what| format!("log of {}: {what}", summary.id))?;
        let acquired = match store.acquire(&summary.id).await {
            Ok(acquired) => acquired,
            Err(fault) if fault.kind == FaultKind::UnknownSession => continue,
            Err(fault) => return Err(format!("{}: {fault}", summary.id)),
        };
        store.release(acquired.lease).await.map_err(|fault| fault.to_string())?;
    }
    Ok(answered)
}

#[test]
fn on_all_cores_every_command_is_answered_once_and_every_log_is_in_order() {
    let _alone = alone();
    let rounds = std::env::var(ROUNDS_VARIABLE).ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS);
    let runtime = on_all_cores();
    let mut answered = 0;
    let first = std::env::var(SEED_VARIABLE).ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    for seed in first..first + rounds {
        match runtime.block_on(async { tokio::spawn(round(seed)).await.unwrap() }) {
            Ok(count) => answered += count,
            Err(what) => panic!("seed {seed}: {what}"),
        }
    }
    println!("{answered} commands answered in {rounds} rounds");
    assert!(answered > rounds * COMMANDS, "only {answered}");
}
