//! One life of a town: processes start and end, people come and go, and things happen to them from outside.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use engine::{Config, Engine, IdlePolicy, Ports, Slow};
use vocab::{
    Along, AskEntry, Body, Coalesce, Conduct, Cursor, Drain, EditorEvent, EditorReply, EditorRequestKind, Event,
    FaultKind, LaneMode, LanePolicy, LateSteer, Mode, Open, Overflow, Principal, QueueEntry, Reply, SessionId,
    SessionVerb, Settings, SteerPoint, Told, Unanswered, Verb, Which,
};

use super::gateway::{conduct, slowness};
use super::ports::{WitnessedModel, WitnessedTools, look_at};
use super::resident::Resident;
use super::view::session_of;
use super::witness::WitnessedStore;
use super::{Process, RESIDENTS_MAX, Town};
use crate::fakes::{NoArchive, Notebook};
use crate::sim::dice::Dice;
use crate::sim::model::SimModel;
use crate::sim::tools::SimTools;

/// As short as the pauses of a resident.
const IDLE: IdlePolicy = IdlePolicy {
    linger: Duration::from_millis(150),
    park_after: Duration::from_millis(200),
    ready_max: 2,
    unload_after: Duration::from_millis(80),
};
/// So much time, and everything that is to come about has.
const SETTLED: Duration = Duration::from_millis(1_000);
/// A process that takes a session up is waited for so long.
const TAKE_UP_WAIT: Duration = Duration::from_secs(10);
const PROCESSES_MAX: usize = 2;

impl Town {
    pub(super) async fn live(&mut self, is_last: bool) -> Result<(), String> {
        self.started = Some(tokio::time::Instant::now());
        self.ground.calm.store(false, Ordering::Relaxed);
        self.starts(true).await;
        self.arrives();
        for _ in 0..10 + self.dice.below(50) {
            self.act().await?;
            let ms = self.dice.pick(&[0, 0, 0, 0, 1, 5, 30, 200, 1500]);
            if ms > 0 {
                tokio::time::sleep(Duration::from_millis(ms)).await;
            } else if self.dice.chance(70) {
                for _ in 0..self.dice.below(12) {
                    tokio::task::yield_now().await;
                }
            }
            self.look().await?;
            if Duration::from_millis(ms) >= SETTLED && !self.ground.store.is_to_fail() {
                self.check_orphans(&self.logs())?;
                self.check_asks_end()?;
            }
        }
        if is_last || self.dice.chance(40) { self.evening(is_last).await } else { self.look().await }
    }

    /// A new process. The first of a life has the place of the one before it.
    pub(super) async fn starts(&mut self, is_first: bool) {
        let id = self.rules.len() as u64;
        let ground = &self.ground;
        let inner = if is_first { ground.store.process() } else { ground.store.another() };
        let store = WitnessedStore { process: id, inner, witness: ground.witness.clone() };
        let conduct = if self.is_gateway { conduct(&mut self.dice) } else { Conduct::default() };
        let asks_end = conduct.ask_wait.answerable_ms.is_some() && conduct.ask_wait.alone_ms.is_some();
        let (engine, unanswered) = self.engine(id, &store, conduct);
        self.rules.push(unanswered);
        self.processes.push(Process { id, engine, store, unanswered, asks_end });
        self.note(format!("process {id} starts, with {unanswered:?}"));
        if self.dice.chance(50) {
            self.takes_up(self.processes.len() - 1).await;
        }
    }

    fn engine(&mut self, process: u64, store: &WitnessedStore, conduct: Conduct) -> (Engine, Option<Unanswered>) {
        let (ground, dice) = (&self.ground, &mut self.dice);
        let model = SimModel {
            dice: ground.shared_dice.clone(),
            calm: ground.calm.clone(),
            findings: ground.findings.clone(),
            brittle: false,
        };
        let log = Some((ground.store.clone(), ground.findings.clone()));
        let tools = SimTools { dice: ground.shared_dice.clone(), running: ground.running.clone(), log };
        let witness = || ground.witness.clone();
        let ports = Ports {
            provider: Arc::new(WitnessedModel { inner: model, process, witness: witness() }),
            toolbox: Arc::new(WitnessedTools {
                inner: tools,
                rules: conduct.rules.clone(),
                process,
                witness: witness(),
            }),
            store: Arc::new(store.clone()),
            archive: Arc::new(NoArchive),
            preferences: Arc::new(Notebook::default()),
            ids: ground.ids.clone(),
            clock: ground.clock.clone(),
            read_object: wire::read_object,
            fit_image: look_at,
            keyring: vocab::Keyring::default(),
            accounts: Arc::new(vocab::NoAccounts),
            surroundings: Arc::new(vocab::NoSurroundings),
            servers: Arc::new(vocab::NoMcp),
        };
        let mut defaults = Settings::new("/nowhere", "b");
        defaults.mode = dice.pick(&[Mode::Prompt, Mode::Prompt, Mode::WorkspaceWrite, Mode::DangerFullAccess]);
        defaults.lane = lane_policy(dice);
        defaults.conduct = Arc::new(conduct);
        defaults.begins_with_settings = dice.chance(50);
        defaults.max_iterations = 2 + dice.below(6) as u32;
        defaults.on_restart = dice.pick(&self.on_restart);
        defaults.unanswered = dice.pick(&[None, Some(Unanswered::Deny), Some(Unanswered::Keep)]);
        let unanswered = defaults.unanswered;
        let idle = dice.chance(75).then_some(IDLE);
        let (notices, user) = (Vec::new(), Principal::user("ann"));
        (
            Engine::new(ports, Config { defaults, version: "sim".into(), notices, user, idle, turns_max: None }),
            unanswered,
        )
    }

    /// As a process does that goes on with whatever it finds.
    async fn takes_up(&mut self, at: usize) {
        let (engine, id) = (self.processes[at].engine.clone(), self.processes[at].id);
        for session in self.sessions.clone() {
            let taken =
                tokio::time::timeout(TAKE_UP_WAIT, engine.take_up(&session, None, engine::TurnsHeld::default())).await;
            self.numbers.taken_up += u64::from(matches!(taken, Ok(Ok(()))));
            self.note(format!("process {id} takes up {session}: {taken:?}"));
        }
    }

    /// Somebody connects to one of the processes, and opens something or watches.
    pub(super) fn arrives(&mut self) {
        let Some(at) = self.dice.below(self.processes.len().max(1) as u64).try_into().ok() else { return };
        let Some(process) = self.processes.get::<usize>(at) else { return };
        let principal = Principal::token(self.dice.pick(&["ann", "ann", "bob"]));
        let slow = if self.is_gateway { slowness(&mut self.dice) } else { Slow::Wait };
        let peer = process.engine.connect_as(slow, principal.clone());
        self.numbers.residents += 1;
        let name = self.numbers.residents as usize;
        let line = format!("peer {name} of {principal} comes to process {}", process.id);
        self.residents.push(Resident::new(name, process.id, principal, peer));
        self.note(line);
        let new = self.residents.len() - 1;
        if self.dice.chance(20) {
            self.watches(new);
        } else {
            self.opens(new);
        }
    }

    async fn act(&mut self) -> Result<(), String> {
        if self.processes.is_empty() {
            self.starts(false).await;
        }
        let here: Vec<usize> = (0..self.residents.len()).filter(|at| self.residents[*at].is_here()).collect();
        let action = self.dice.below(100);
        if here.is_empty() || action < 6 && here.len() < RESIDENTS_MAX {
            self.arrives();
            return Ok(());
        }
        if self.is_gateway && self.dice.chance(15) {
            self.gateway_act(&here);
            return Ok(());
        }
        let hears = here.iter().find_map(|at| Some((*at, self.in_mid_word(*at)?)));
        if let Some((at, session)) = hears.filter(|_| self.dice.chance(20)) {
            return self.steps_out(at, &session).await;
        }
        let at = self.dice.pick(&here);
        match action {
            6..9 => {
                let name = self.residents[at].name;
                self.note(format!("peer {name} is gone"));
                self.residents[at].goes();
            }
            9..18 => self.strikes().await?,
            18..30 => self.opens(at),
            30..36 => self.watches(at),
            _ => self.wishes(at, action),
        }
        Ok(())
    }

    /// Somebody goes away in the middle of a reply and is back a moment later.
    async fn steps_out(&mut self, at: usize, session: &SessionId) -> Result<(), String> {
        self.send(at, Some(session), Verb::Leave, |_| {});
        tokio::time::sleep(Duration::from_millis(self.dice.pick(&[0, 1, 30, 300]))).await;
        self.look().await?;
        let mark = self.residents[at].view.sessions.get(session).and_then(|standpoint| standpoint.mark());
        if !self.residents[at].view.is_changing(session) {
            let after = mark.map(|at| Cursor { session: Some(session.clone()), at, along: Along::Branch });
            let open = Open { after, ..Open::new(Which::Named(session.clone())) };
            self.send(at, None, Verb::Open(open), |_| {});
        }
        Ok(())
    }

    /// Something from outside.
    async fn strikes(&mut self) -> Result<(), String> {
        let store = self.ground.store.clone();
        match self.dice.below(12) {
            0 => {
                let n = 1 + self.dice.below(4);
                self.note(format!("append {n} from now will fail"));
                store.fail_append(n);
            }
            1 => {
                let ms = self.dice.pick(&[0, 5, 300]);
                self.note(format!("reads now take {ms} ms, and one of them fails"));
                store.slow_reads(ms);
                store.fail_read(self.dice.below(3));
            }
            2 | 3 => {
                let waits: Vec<u64> = (0..self.dice.below(4)).map(|_| self.dice.pick(&[0, 1, 10, 100])).collect();
                self.note(format!("appends now take {waits:?} ms"));
                store.slow(waits);
            }
            4 | 5 => {
                let session = self.dice.pick(&self.sessions);
                let taken = store.steal(&session);
                self.numbers.steals += u64::from(taken);
                self.note(format!("somebody else takes {session}: {taken}"));
            }
            6 | 7 => self.lapses().await,
            8 => {
                let ms = self.dice.pick(&[5_000, 90_000_000]);
                self.note(format!("the clock jumps by {ms} ms"));
                self.ground.clock.jump(ms);
            }
            9 | 10 if self.processes.len() < PROCESSES_MAX => self.starts(false).await,
            11 => {
                let at = self.dice.below(self.processes.len() as u64) as usize;
                let limit = self.dice.pick(&[None, Some(0), Some(50), Some(3_000)]);
                self.ends(at, limit.map(Duration::from_millis)).await?;
            }
            _ => {}
        }
        Ok(())
    }

    /// One process is not heard of for a while, and another one may have its sessions.
    async fn lapses(&mut self) {
        let at = self.dice.below(self.processes.len() as u64) as usize;
        self.processes[at].store.inner.lapse();
        self.numbers.lapses += 1;
        self.note(format!("process {} is not heard of", self.processes[at].id));
        let others: Vec<usize> = (0..self.processes.len()).filter(|other| *other != at).collect();
        if !others.is_empty() && self.dice.chance(80) {
            let other = self.dice.pick(&others);
            self.takes_up(other).await;
        }
    }

    /// A process ends in order: nothing of it is left, and everybody who is there has all their answers.
    pub(super) async fn ends(&mut self, at: usize, drain: Option<Duration>) -> Result<(), String> {
        let process = self.processes.remove(at);
        let id = process.id;
        self.note(format!("process {id} ends, drained for {drain:?}"));
        self.numbers.parked += process.engine.parked() as u64;
        self.wakes(Some(id));
        match drain {
            Some(limit) => {
                self.numbers.drains += 1;
                process.engine.drain(limit).await;
            }
            None => process.engine.shutdown().await,
        }
        // A fork reads all of a log before it is refused.
        for _ in 0..if self.is_gateway { 30 } else { 10 } {
            tokio::time::sleep(Duration::from_millis(20)).await;
            self.look().await?;
        }
        self.check_answered(id)?;
        self.residents.iter_mut().filter(|it| it.process == id).for_each(Resident::goes);
        match process.engine.live().len() {
            0 => Ok(()),
            n => Err(format!("{n} sessions live on in process {id} after its end")),
        }
    }

    /// Nobody of this process waits for an answer.
    pub(super) fn check_answered(&self, process: u64) -> Result<(), String> {
        for resident in self.residents.iter().filter(|it| it.is_here() && it.process == process) {
            if let Some(command) = resident.view.unanswered().first() {
                let (name, tag, text) = (resident.name, command.tag.0, crate::verb_text(&command.verb));
                return Err(format!("command {tag} of peer {name} got no reply: {:?} {text}", session_of(command)));
            }
        }
        Ok(())
    }

    /// Everybody reads what they were told.
    pub(super) async fn look(&mut self) -> Result<(), String> {
        for at in 0..self.residents.len() {
            if self.residents[at].naps {
                continue;
            }
            let told = self.residents[at].drain().await;
            if told.is_empty() {
                continue;
            }
            self.buries();
            let mut is_let_go = false;
            let (logs, name) = (self.logs(), self.residents[at].name);
            for told in told {
                self.note(format!("peer {name} < {} {:?} {}", told.session, told.at, brief(&told.event)));
                if self.is_of_the_dead(&told, &logs) {
                    self.residents[at].view.buries(&told.session);
                    continue;
                }
                is_let_go = matches!(&told.event, Event::Gone { fault } if fault.kind == FaultKind::Unsupported);
                if is_let_go {
                    break;
                }
                let resident = &mut self.residents[at];
                let says = |what: String| format!("peer {name}: {}: {what}", told.session);
                resident.view.told(&told, &logs, &self.ground.witness).map_err(says)?;
                if let Event::Reply { tag, result } = &told.event {
                    let session = resident.view.command(*tag).and_then(session_of);
                    let log = session.and_then(|session| logs.get(&session)).map_or(&[][..], Vec::as_slice);
                    let now_ms = vocab::Clock::now_ms(&*self.ground.clock);
                    self.ledger.replied((at, *tag), result, log, now_ms).map_err(says)?;
                    self.check_answer(at, *tag, result.is_ok())?;
                    self.check_fork(at, *tag, result)?;
                }
                self.learns(at, &told);
            }
            if is_let_go {
                self.comes_back(at);
            }
        }
        self.first_finding()
    }

    /// An answer for a controller's tool was taken only of who has brought that tool.
    fn check_answer(&mut self, at: usize, tag: vocab::Tag, is_ok: bool) -> Result<(), String> {
        let given = self.heard.answers.extract_if(.., |(who, of, _)| *who == at && *of == tag).next();
        let Some((_, _, kind)) = given.filter(|_| is_ok) else { return Ok(()) };
        let resident = &self.residents[at];
        let session = resident.view.command(tag).and_then(session_of).unwrap_or_else(|| "".into());
        match resident.view.may_have_run_tool(&session, &kind) {
            true => Ok(()),
            false => Err(format!("peer {} answered for another one's tool: {kind:?}", resident.name)),
        }
    }

    fn learns(&mut self, at: usize, told: &Told) {
        let session = told.session.clone();
        match &told.event {
            Event::Logged(entry) => match &entry.body {
                Body::Ask(AskEntry::Opened(ask)) => self.heard.asks.push((session, ask.id.clone(), ask.kind.clone())),
                Body::Queue(QueueEntry::Queued(item)) => self.heard.items.push((session, item.id.clone())),
                _ => {}
            },
            Event::Reply { result: Ok(Reply::Waiting { item, .. }), .. } => {
                self.heard.items.push((session, item.clone()));
            }
            Event::Editor(EditorEvent::Request(request)) => {
                let result = match &request.kind {
                    EditorRequestKind::ReadText { .. } => EditorReply::Text("text".into()),
                    EditorRequestKind::WriteText { .. } => EditorReply::Written,
                    EditorRequestKind::Run { .. } => EditorReply::Failed("no".into()),
                };
                if self.dice.chance(70) {
                    let (editor_request, verb) = (request.id, result);
                    let verb = SessionVerb::EditorReplied { editor_request, result: verb };
                    self.send(at, Some(&session), Verb::Session(verb), |_| {});
                } else {
                    self.heard.undone.push((at, session, request.id, result));
                }
            }
            _ => {}
        }
        if told.at.seq > 0 && self.dice.chance(10) {
            self.heard.marks.push((told.session.clone(), told.at));
        }
    }
}

fn lane_policy(dice: &mut Dice) -> LanePolicy {
    use LaneMode::*;
    LanePolicy {
        mode: dice.pick(&[Collect, Followup, Steer, SteerBacklog, Interrupt]),
        cap: dice.pick(&[2, 3, 50]),
        overflow: dice.pick(&[Overflow::DropOld, Overflow::DropNew]),
        debounce_ms: dice.pick(&[0, 0, 20, 500]),
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
        Event::Reply { tag, result: Ok(Reply::Opened(opened)) } => {
            format!("Reply {} Opened at {} {:?}", tag.0, opened.state.last_seq, opened.present.attached)
        }
        other => format!("{other:?}"),
    };
    text.chars().take(220).collect()
}
