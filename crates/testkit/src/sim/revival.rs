//! One turn through many deaths. A seed makes up a turn of several rounds of calls; it is run once in peace, and once in
//! processes that die or lose their power at random points. Both logs must say the same but for the marks, and what a call
//! does to the world it does once.
//!
//! Where a call may or may not have run, the engine asks; the test knows, and answers as a person does who went and looked.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use vocab::{
    Answer, Ask, AskEnd, AskEntry, AskKind, Body, Budget, CallContext, CallEnd, CallEntry, CallSpec, Chat, Entry,
    Event, Fault, FileDiff, FileEdit, IdKind, Json, Later, Message, Mode, ModelEvent, ModelInfo, ModelStream,
    OnRestart, Open, Outcome, PermissionAsk, Plan, Progress, Provider, Required, Scope, SessionId, SessionVerb, Shell,
    Tool, ToolSpec, Toolbox, TurnEntry, Verb, Which,
};

use super::dice::Dice;
use crate::fakes::CountedIds;
use crate::lossy::LossyStore;
use crate::player::{Play, Playing, Step, done, text, used};
use crate::stage::Actor;
use crate::{Stage, StageOptions};

/// Deaths of one turn, in a row.
const DEATHS: u64 = 10;
/// A turn that takes longer than this stands still.
const PATIENCE: Duration = Duration::from_secs(3600);
/// Questions that one process can ask.
const ASKS_MAX: usize = 64;

/// What the seeds amounted to.
#[derive(Clone, Copy, Default, Debug)]
pub struct Revivals {
    pub turns: u64,
    /// Deaths while the turn was under way.
    pub deaths: u64,
    pub power_cuts: u64,
    pub calls: u64,
    /// Calls of which nobody could know whether they had run; of these, had run.
    pub doubts: u64,
    pub had_run: u64,
    /// Questions that were open when the process died.
    pub open_asks: u64,
    /// Questions about budgets.
    pub budget_asks: u64,
}

impl Revivals {
    pub fn add(&mut self, other: &Revivals) {
        self.turns += other.turns;
        self.deaths += other.deaths;
        self.power_cuts += other.power_cuts;
        self.calls += other.calls;
        self.doubts += other.doubts;
        self.had_run += other.had_run;
        self.open_asks += other.open_asks;
        self.budget_asks += other.budget_asks;
    }
}

/// A call that the model will make. Its number is in its arguments.
#[derive(Clone)]
struct ScriptedCall {
    number: usize,
    tool: &'static str,
    is_allowed: bool,
    /// How long it takes, and when it does what it does.
    before_ms: u64,
    after_ms: u64,
}

/// What the model says round by round; the last one has no calls.
struct Script {
    rounds: Vec<Vec<ScriptedCall>>,
    budget: Budget,
    waits_ms: Vec<u64>,
}

impl Script {
    fn new(dice: &mut Dice, budget: Budget) -> Self {
        let mut number = 0;
        let mut scripted = |dice: &mut Dice| {
            number += 1;
            ScriptedCall {
                number,
                tool: dice.pick(&["look", "change", "change", "danger"]),
                is_allowed: dice.chance(85),
                before_ms: dice.pick(&[0, 0, 3, 20]),
                after_ms: dice.pick(&[0, 0, 3, 20]),
            }
        };
        let rounds = (0..2 + dice.below(4)).map(|_| (0..1 + dice.below(3)).map(|_| scripted(dice)).collect());
        let rounds: Vec<Vec<ScriptedCall>> = rounds.chain([Vec::new()]).collect();
        Self { rounds, budget, waits_ms: (0..16).map(|_| dice.pick(&[0, 0, 1, 7])).collect() }
    }

    fn scripted(&self, number: usize) -> &ScriptedCall {
        self.rounds.iter().flatten().find(|scripted| scripted.number == number).expect("its number is in the script")
    }

    /// The reply of one round, with some silence between its words.
    fn play(&self, round: usize) -> Play {
        let wait = |at: usize| Step::Wait(self.waits_ms[(round * 5 + at) % self.waits_ms.len()]);
        let mut play = vec![wait(0), text("so"), wait(1), text(" far"), wait(2)];
        let scripted_calls = &self.rounds[round.min(self.rounds.len() - 1)];
        for (index, scripted) in scripted_calls.iter().enumerate() {
            // The same ids in every round: the engine tells them apart, also in another process.
            let (id, input) = (format!("c{index}"), format!("{{\"n\":{}}}", scripted.number));
            let (index, name) = (index as u32, Some(scripted.tool.to_owned()));
            play.push(Step::Event(ModelEvent::Call { index, id: Some(id), name, input }));
            play.push(wait(3 + index as usize));
        }
        play.push(used(10 + round as u64, 3));
        play.push(done(if scripted_calls.is_empty() { vocab::Finish::Stop } else { vocab::Finish::ToolUse }));
        play
    }
}

/// What has been done outside, and how often.
#[derive(Default)]
struct Outside(Mutex<HashMap<usize, u32>>);

impl Outside {
    fn did(&self, number: usize) {
        *self.0.lock().expect("nobody panics while holding this").entry(number).or_default() += 1;
    }
    fn count(&self, number: usize) -> u32 {
        self.0.lock().expect("nobody panics while holding this").get(&number).copied().unwrap_or_default()
    }
}

#[derive(Clone)]
struct Scripted(Arc<Script>);

impl Provider for Scripted {
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault> {
        Ok(tour::model(slug, 1_000_000))
    }
    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        Box::pin(async { Ok(Vec::new()) })
    }
    fn chat(&self, _: &ModelInfo) -> Result<Box<dyn Chat>, Fault> {
        Ok(Box::new(ScriptedChat { script: self.0.clone(), messages: Vec::new() }))
    }
}

struct ScriptedChat {
    script: Arc<Script>,
    messages: Vec<Message>,
}

impl Chat for ScriptedChat {
    fn push(&mut self, message: &Message) {
        self.messages.push(message.clone());
    }
    fn clear(&mut self) {
        self.messages.clear();
    }
    fn bytes(&self) -> usize {
        self.messages.len()
    }
    fn call(&mut self, _: &CallSpec) -> ModelStream {
        super::check_history(&self.messages).expect("the history is one that a provider takes");
        let said = self.messages.iter().filter(|message| matches!(message, Message::Assistant(_))).count();
        Playing::stream(self.script.play(said))
    }
}

#[derive(Clone)]
struct Hands {
    script: Arc<Script>,
    outside: Arc<Outside>,
}

impl Toolbox for Hands {
    fn open(&self, _: &SessionId, _: &Path) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        let rungs = [Required::ReadOnly, Required::WorkspaceWrite, Required::DangerFullAccess];
        let make = |(name, required): (&str, Required)| -> Arc<dyn Tool> {
            let spec = ToolSpec { name: name.into(), description: name.into(), schema: Json::empty_object() };
            Arc::new(Hand { spec, required, of: self.clone() })
        };
        Ok(["look", "change", "danger"].into_iter().zip(rungs).map(make).collect())
    }
    fn restore(&self, _: &Path, _: &[FileEdit]) -> Vec<Arc<str>> {
        Vec::new()
    }
    fn diff(&self, _: &[FileEdit]) -> Vec<FileDiff> {
        Vec::new()
    }
    fn shell(&self, _: &SessionId, _: &Path, _: &str, _: Progress, _: Later<'static, ()>) -> Later<'static, Shell> {
        Box::pin(std::future::pending())
    }
}

struct Hand {
    spec: ToolSpec,
    required: Required,
    of: Hands,
}

fn number_in(input: &Json) -> usize {
    let digits: String = input.as_str().chars().filter(char::is_ascii_digit).collect();
    digits.parse().expect("the script wrote a number")
}

impl Tool for Hand {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }
    fn required(&self) -> Required {
        self.required
    }
    fn plan(&self, _: &Json) -> Result<Plan, String> {
        let mutation = (self.required > Required::ReadOnly).then(|| "file".into());
        Ok(Plan { required: self.required, mutation, summary: self.spec.name.clone(), preview: None })
    }
    fn run(&self, input: Json, _: CallContext) -> Later<'static, Outcome> {
        let (of, changes) = (self.of.clone(), self.required > Required::ReadOnly);
        Box::pin(async move {
            let scripted = of.script.scripted(number_in(&input)).clone();
            tokio::time::sleep(Duration::from_millis(scripted.before_ms)).await;
            if changes {
                of.outside.did(scripted.number);
            }
            tokio::time::sleep(Duration::from_millis(scripted.after_ms)).await;
            Outcome::text(format!("done {}", scripted.number))
        })
    }
}

/// When a process dies.
#[derive(Clone, Copy, Debug)]
enum Death {
    Never,
    After(Duration),
    /// Told so much to its peer.
    Told(u64),
}

struct Course {
    script: Arc<Script>,
    outside: Arc<Outside>,
    store: LossyStore,
    lives: u64,
    numbers: Revivals,
}

impl Course {
    fn new(script: &Arc<Script>, dice: Option<Dice>) -> Self {
        let (outside, numbers) = (Arc::default(), Revivals::default());
        Self { script: script.clone(), outside, store: LossyStore::new(dice), lives: 0, numbers }
    }

    fn log(&self) -> Vec<Arc<Entry>> {
        self.store.entries(&SessionId::from(super::SESSION))
    }

    fn is_over(&self) -> bool {
        self.log().iter().any(|entry| matches!(entry.body, Body::Turn(TurnEntry::Ended(_))))
    }

    /// One process. Whether the turn has ended.
    fn live(&mut self, death: Death, waits_ms: Vec<u64>) -> Result<bool, String> {
        self.lives += 1;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let lasted = runtime.block_on(self.talk(death, waits_ms));
        drop(runtime);
        lasted
    }

    async fn talk(&mut self, death: Death, waits_ms: Vec<u64>) -> Result<bool, String> {
        let store = self.store.process();
        store.slow(waits_ms);
        let budget = self.script.budget;
        let asks = (0..ASKS_MAX).map(|at| (IdKind::Ask, format!("ask{}-{at}", self.lives)));
        let stage = Stage::new(StageOptions {
            provider: Arc::new(Scripted(self.script.clone())),
            model: "m".into(),
            store: Arc::new(store),
            mode: Mode::Prompt,
            toolbox: Some(Arc::new(Hands { script: self.script.clone(), outside: self.outside.clone() })),
            ids: CountedIds::with_names(asks.collect()),
            tune: Box::new(move |settings| (settings.on_restart, settings.budget) = (OnRestart::Continue, budget)),
            ..StageOptions::default()
        });
        let mut actor = stage.actor();
        let limit = match death {
            Death::After(time) => time,
            Death::Never | Death::Told(_) => PATIENCE,
        };
        let most = if let Death::Told(most) = death { most } else { u64::MAX };
        match tokio::time::timeout(limit, self.answer_all(&mut actor, most)).await {
            Ok(ended) => ended,
            Err(_) if limit == PATIENCE => Err("the turn stands still".to_owned()),
            Err(_) => Ok(false),
        }
    }

    /// Opens, prompts where nothing is there yet, and answers what is asked.
    async fn answer_all(&mut self, actor: &mut Actor, most: u64) -> Result<bool, String> {
        let open = Open::new(Which::Named(SessionId::from(super::SESSION)));
        actor.open(open).await.map_err(|fault| format!("it does not open: {fault}"))?;
        if !self.log().iter().any(|entry| matches!(entry.body, Body::Turn(TurnEntry::Started { .. }))) {
            actor.prompt("go").await;
        } else if self.is_over() {
            return Ok(true);
        }
        let mut told = 0;
        loop {
            let events = std::mem::take(&mut actor.told);
            for event in events.into_iter().map(|told| told.event) {
                told += 1;
                if told > most {
                    return Ok(false);
                }
                let Event::Logged(entry) = event else { continue };
                match &entry.body {
                    Body::Turn(TurnEntry::Ended(_)) => return Ok(true),
                    Body::Ask(AskEntry::Opened(ask)) => {
                        let answer = self.answer(ask)?;
                        let ask = ask.id.clone();
                        actor.send(Verb::Session(SessionVerb::Answer { ask, answer })).await;
                    }
                    _ => {}
                }
            }
            if !actor.peer.events(&mut actor.told).await {
                return Err("the session ended in the middle".to_owned());
            }
        }
    }

    fn answer(&mut self, ask: &Ask) -> Result<Answer, String> {
        let (input, may_have_run) = match &ask.kind {
            AskKind::Permission(PermissionAsk { input, may_have_run, .. }) => (input, may_have_run),
            // The same answer in peace and in the rough.
            AskKind::Budget(asked) => {
                self.numbers.budget_asks += 1;
                return Ok(match asked.spent % 7 {
                    0 => Answer::Allow(Scope::Session),
                    _ => Answer::Allow(Scope::Once),
                });
            }
            _ => return Err(format!("an odd question: {ask:?}")),
        };
        let scripted = self.script.scripted(number_in(input));
        let yes = match may_have_run {
            true => {
                let had_run = self.outside.count(scripted.number) > 0;
                self.numbers.doubts += 1;
                self.numbers.had_run += u64::from(had_run);
                !had_run
            }
            false => scripted.is_allowed,
        };
        Ok(if yes { Answer::Allow(Scope::Once) } else { Answer::Deny(None) })
    }

    /// Each call did what it was allowed to do, once.
    fn check_outside(&self) -> Result<(), String> {
        for scripted in self.script.rounds.iter().flatten().filter(|scripted| scripted.tool != "look") {
            let (is, should) = (self.outside.count(scripted.number), u32::from(scripted.is_allowed));
            if is != should {
                return Err(format!("call {} did it {is} times and not {should}", scripted.number));
            }
        }
        Ok(())
    }
}

/// What a log says, without the marks: notes, doubts and their answers, the ids of questions, time. That a call ran and
/// nobody could know is one of them.
fn gist(entries: &[Arc<Entry>]) -> Vec<String> {
    let mut doubts = Vec::new();
    let mut lines = Vec::new();
    for entry in entries {
        let line = match &entry.body {
            Body::Note(_) | Body::Model(_) => continue,
            // In a directory of its own.
            Body::Opened { model, mode, .. } => format!("opened {model} {mode:?}"),
            Body::Ask(AskEntry::Opened(ask)) => match &ask.kind {
                AskKind::Permission(asked) if asked.may_have_run => {
                    doubts.push(ask.id.clone());
                    continue;
                }
                kind => format!("{kind:?}"),
            },
            Body::Ask(AskEntry::Closed { ask, .. }) if doubts.contains(ask) => continue,
            Body::Ask(AskEntry::Closed { end: AskEnd::Answered { answer, .. }, .. }) => format!("{answer:?}"),
            Body::Call(CallEntry::Ended { result, .. }) => match result.end {
                CallEnd::Ran | CallEnd::Lost => format!("{} of {} has run", result.call, result.tool),
                _ => format!("{} of {}: {:?} {}", result.call, result.tool, result.end, result.text()),
            },
            Body::Assistant { turn, message } => {
                let calls: Vec<_> = message.calls().collect();
                format!("{turn:?} {} {calls:?} {:?} {:?}", message.text(), message.usage, message.end)
            }
            Body::Turn(TurnEntry::Ended(end)) => {
                format!("{} {:?} {} {:?} {:?}", end.turn, end.stop, end.iterations, end.usage, end.fault)
            }
            body => format!("{body:?}"),
        };
        lines.push(format!("{line} by {:?}", entry.by));
    }
    lines
}

fn cut(course: &mut Course, dice: &mut Dice, whole: Duration) -> Result<bool, String> {
    let waits_ms = (0..4).map(|_| dice.pick(&[0, 0, 0, 2, 5])).collect();
    let death = match dice.chance(60) {
        true => Death::After(Duration::from_micros(dice.below(whole.as_micros() as u64 / 5 + 1_500))),
        false => Death::Told(dice.below(16)),
    };
    if course.live(death, waits_ms)? {
        return Ok(true);
    }
    course.numbers.deaths += 1;
    match dice.chance(50) {
        true => course.store.crash(),
        false => {
            course.numbers.power_cuts += 1;
            course.store.power_cut();
        }
    }
    let is_open = |entry: &&Arc<Entry>| matches!(entry.body, Body::Ask(AskEntry::Opened(_)));
    course.numbers.open_asks += u64::from(course.log().last().as_ref().is_some_and(is_open));
    Ok(false)
}

/// Runs one seed.
pub fn revive(seed: u64) -> Result<Revivals, String> {
    let mut dice = Dice::new(seed);
    let script = Arc::new(Script::new(&mut dice, super::budget::of_seed(seed)));
    let mut calm = Course::new(&script, None);
    if !calm.live(Death::Never, Vec::new())? {
        return Err("even in peace it does not end".to_owned());
    }
    calm.check_outside()?;
    let scripted_calls = || script.rounds.iter().flatten();
    let whole = scripted_calls().map(|scripted| scripted.before_ms + scripted.after_ms).sum::<u64>()
        + 10 * script.rounds.len() as u64;
    let store_dice = Dice::new(dice.roll());
    let mut rough = Course::new(&script, Some(store_dice));
    for _ in 0..DEATHS {
        if cut(&mut rough, &mut dice, Duration::from_millis(whole))? {
            break;
        }
    }
    if !rough.is_over() && !rough.live(Death::Never, Vec::new())? {
        return Err("it does not end".to_owned());
    }
    rough.check_outside()?;
    super::budget::check(&rough.log(), &script.budget)?;
    let (is, should) = (gist(&rough.log()), gist(&calm.log()));
    if let Some(at) = (0..is.len().max(should.len())).find(|at| is.get(*at) != should.get(*at)) {
        let log: Vec<String> = rough.log().iter().map(|entry| format!("{:?}", entry.body)).collect();
        let (is, should) = (is.get(at), should.get(at));
        return Err(format!("line {at} is\n{is:?}\nand not\n{should:?}\nin\n{}", log.join("\n")));
    }
    Ok(Revivals { turns: 1, calls: scripted_calls().count() as u64, ..rough.numbers })
}
