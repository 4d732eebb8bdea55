//! Sessions that nobody uses, in a process for many: they linger, are unloaded, are parked, and come back as they were.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use engine::IdlePolicy;
use store::MemoryStore;
use testkit::Stage;
use testkit::stage::Actor;
use vocab::*;

use crate::support::*;

const LINGER: u64 = 60;
const PARK_AFTER: u64 = 30;
const READY_MAX: usize = 3;
const UNLOAD_AFTER: u64 = 10;
const IDLE: IdlePolicy = IdlePolicy {
    linger: Duration::from_secs(LINGER),
    park_after: Duration::from_secs(PARK_AFTER),
    ready_max: READY_MAX,
    unload_after: Duration::from_secs(UNLOAD_AFTER),
};

/// The tools of these tests, counted: what they leave running lives as long as they do.
#[derive(Default)]
struct Counted {
    open: Arc<AtomicI64>,
    is_broken: AtomicBool,
    /// Those that are opened now leave something running.
    is_at_work: AtomicBool,
}

struct CountedTool(Arc<dyn Tool>, Arc<AtomicI64>, bool);

impl Drop for CountedTool {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Tool for CountedTool {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }
    fn is_at_work(&self) -> bool {
        self.2
    }
    fn required(&self) -> Required {
        self.0.required()
    }
    fn plan(&self, input: &Json) -> Result<Plan, String> {
        self.0.plan(input)
    }
    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome> {
        self.0.run(input, context)
    }
}

struct CountedTools(Arc<Counted>);

impl Toolbox for CountedTools {
    fn open(&self, session: &SessionId, workspace: &Path) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        if self.0.is_broken.load(Ordering::SeqCst) {
            return Err(Fault::new(FaultKind::Invalid, "the workspace is gone"));
        }
        let tools = Tools.open(session, workspace)?;
        self.0.open.fetch_add(tools.len() as i64, Ordering::SeqCst);
        let is_at_work = self.0.is_at_work.load(Ordering::SeqCst);
        let count = |tool| -> Arc<dyn Tool> { Arc::new(CountedTool(tool, self.0.open.clone(), is_at_work)) };
        Ok(tools.into_iter().map(count).collect())
    }
    fn restore(&self, workspace: &Path, edits: &[FileEdit]) -> Vec<Arc<str>> {
        Tools.restore(workspace, edits)
    }
    fn shell(
        &self,
        session: &SessionId,
        workspace: &Path,
        command: &str,
        told: Progress,
        stop: Later<'static, ()>,
    ) -> Later<'static, Shell> {
        Tools.shell(session, workspace, command, told, stop)
    }
    fn diff(&self, edits: &[FileEdit]) -> Vec<FileDiff> {
        Tools.diff(edits)
    }
}

/// Counts how often a conversation is made from the log.
struct CountedFront(Front, Arc<AtomicUsize>);

impl Provider for CountedFront {
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault> {
        self.0.resolve(slug)
    }
    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        self.0.models()
    }
    fn chat(&self, model: &ModelInfo) -> Result<Box<dyn Chat>, Fault> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.chat(model)
    }
}

struct World {
    stage: Stage,
    store: Arc<MemoryStore>,
    player: Arc<Player>,
    tools: Arc<Counted>,
    chats: Arc<AtomicUsize>,
}

fn world(plays: impl IntoIterator<Item = Play>) -> World {
    let (player, tools, chats) = (Player::new(plays), Arc::<Counted>::default(), Arc::<AtomicUsize>::default());
    let store = Arc::new(MemoryStore::new());
    let stage = stage_with(&player, |options| {
        options.idle = Some(IDLE);
        options.store = store.clone();
        options.mode = Mode::Prompt;
        options.toolbox = Some(Arc::new(CountedTools(tools.clone())));
        options.provider = Arc::new(CountedFront(Front(player.clone()), chats.clone()));
    });
    World { stage, store, player, tools, chats }
}

fn named(id: &str) -> Open {
    Open::new(Which::Named(id.into()))
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

impl World {
    fn tools_open(&self) -> i64 {
        self.tools.open.load(Ordering::SeqCst)
    }
    async fn is_leased(&self) -> bool {
        match self.store.acquire(&"x".into()).await {
            Ok(acquired) => {
                self.store.release(acquired.lease).await.unwrap();
                false
            }
            Err(fault) => {
                assert_eq!(fault.kind, FaultKind::SessionBusy);
                true
            }
        }
    }
    /// How much of the session is there: its task, its tools, its lease, and what is kept of a parked one.
    async fn seen(&self) -> (usize, i64, bool, usize) {
        (self.stage.engine.live().len(), self.tools_open(), self.is_leased().await, self.stage.engine.parked())
    }
    async fn turn(&self, actor: &mut Actor, text: &str) -> TurnEnd {
        actor.prompt(text).await;
        let end = actor.turn_end().await;
        actor.settle().await;
        actor.forget();
        end
    }
}

const IN_USE: (usize, i64, bool, usize) = (1, 3, true, 0);
const UNLOADED: (usize, i64, bool, usize) = (1, 0, true, 0);
const PARKED: (usize, i64, bool, usize) = (0, 0, false, 1);

#[tokio::test(start_paused = true)]
async fn a_session_lingers_is_unloaded_is_parked_and_comes_back() {
    let world = world([say("one"), say("two"), say("three"), say("four")]);
    let mut actor = world.stage.actor();
    actor.open(named("x")).await.unwrap();
    world.turn(&mut actor, "first").await;
    drop(actor);

    pass(LINGER - 5).await;
    assert_eq!(world.seen().await, IN_USE, "what runs in the background goes on");
    let mut actor = world.stage.actor();
    let opened = actor.open(named("x")).await.unwrap();
    assert_eq!((opened.tools.len(), opened.state.messages), (3, 2));
    world.turn(&mut actor, "second").await;
    drop(actor);

    pass(LINGER - 5).await;
    assert_eq!(world.seen().await, IN_USE, "the time starts over");
    pass(10).await;
    assert_eq!(world.seen().await, UNLOADED);
    let mut actor = world.stage.actor();
    let opened = actor.open(named("x")).await.unwrap();
    assert_eq!((opened.tools.len(), opened.state.messages), (3, 4), "nothing is missing");
    assert_eq!(world.seen().await, IN_USE);
    world.turn(&mut actor, "third").await;
    assert!(world.player.last_sent().contains("user first | assistant one | user second | assistant two | user third"));
    drop(actor);

    pass(LINGER + 5).await;
    assert_eq!(world.seen().await, UNLOADED);
    pass(PARK_AFTER).await;
    assert_eq!(world.seen().await, PARKED, "the lease is free for another process");
    let mut actor = world.stage.actor();
    let opened = actor.open(Open::new(Which::Id("x".into()))).await.unwrap();
    assert_eq!((opened.resumed, opened.tools.len(), opened.state.messages), (true, 3, 6));
    assert_eq!(world.seen().await, IN_USE);
    world.turn(&mut actor, "fourth").await;
    assert!(world.player.last_sent().ends_with("user third | assistant three | user fourth"));
    let log = log_of(&world.stage, "x").await;
    assert!(!log.contains("recovered") && !log.contains("withdrawn"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn of_too_many_that_are_ready_the_one_that_waited_longest_is_parked() {
    let world = world((0..9).map(|_| say("yes")));
    let visit = async |id: &str| {
        let mut actor = world.stage.actor();
        actor.open(named(id)).await.unwrap();
        world.turn(&mut actor, "hello").await;
        drop(actor);
        pass(1).await;
        let mut live: Vec<_> = world.stage.engine.live().iter().map(ToString::to_string).collect();
        live.sort();
        (live.join(" "), world.stage.engine.parked())
    };
    world.tools.is_at_work.store(true, Ordering::SeqCst);
    assert_eq!(visit("works").await, ("works".into(), 0));
    world.tools.is_at_work.store(false, Ordering::SeqCst);
    assert_eq!(visit("a").await, ("a works".into(), 0));
    assert_eq!(visit("b").await, ("a b works".into(), 0));
    assert_eq!(visit("c").await, ("a b c works".into(), 0), "what would end with it is kept");
    assert_eq!(visit("d").await, ("b c d works".into(), 1));
    assert_eq!(visit("b").await, ("b c d works".into(), 1), "whoever is used again has not waited");
    assert_eq!(visit("e").await, ("b d e works".into(), 2));
    assert_eq!(visit("a").await, ("a b e works".into(), 2), "and is as it was");
    assert!(world.player.last_sent().ends_with("user hello | assistant yes | user hello"));
}

#[tokio::test(start_paused = true)]
async fn without_a_policy_a_session_ends_with_its_last_peer() {
    let player = Player::new([say("one")]);
    let stage = stage(&player);
    let mut actor = stage.actor();
    actor.open(named("x")).await.unwrap();
    actor.prompt("first").await;
    actor.turn_end().await;
    drop(actor);
    pass(1).await;
    assert_eq!((stage.engine.live().len(), stage.engine.parked()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn what_no_log_says_is_as_it_was_after_parking() {
    let call = || calls(&[("change", "{}")]);
    let world = world([call(), say("one"), call(), say("two"), held("on and on")]);
    let mut actor = world.stage.actor();
    actor.open(Open { gate: Some(Gate::Ladder), ..named("x") }).await.unwrap();
    let lane = LanePolicy { cap: 1, ..LanePolicy::default() };
    ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Lane(lane.into())))).await.unwrap();
    ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Thinking(Some("high".into()))))).await.unwrap();
    actor.prompt("first").await;
    let ask = actor.ask().await;
    let allow = SessionVerb::Answer { ask: ask.id, answer: Answer::Allow(Scope::Session) };
    ask_for(&mut actor, Verb::Session(allow)).await.unwrap();
    actor.turn_end().await;
    drop(actor);
    pass(LINGER + PARK_AFTER + 5).await;
    assert_eq!(world.seen().await, PARKED);

    let mut actor = world.stage.actor();
    let opened = actor.open(named("x")).await.unwrap();
    assert_eq!((opened.state.mode, opened.state.thinking.as_deref()), (Mode::Prompt, Some("high")));
    world.turn(&mut actor, "second").await;
    let log = log_of(&world.stage, "x").await;
    assert_eq!(log.matches("may change run?").count(), 1, "who was asked for the session is not asked again: {log}");
    actor.prompt("third").await;
    let waiting =
        [actor.deliver("one waits", Delivery::Enqueue).await, actor.deliver("one more", Delivery::Enqueue).await];
    assert!(actor.reply(waiting[0]).await.is_ok());
    assert_eq!(actor.reply(waiting[1]).await.unwrap_err().kind, FaultKind::QueueFull, "the lane has its bound");
}

#[tokio::test(start_paused = true)]
async fn what_another_process_did_meanwhile_counts() {
    let call = || calls(&[("change", "{}")]);
    let world = world([call(), say("one"), call(), say("two")]);
    let mut actor = world.stage.actor();
    actor.open(named("x")).await.unwrap();
    actor.prompt("first").await;
    let ask = actor.ask().await;
    let allow = SessionVerb::Answer { ask: ask.id, answer: Answer::Allow(Scope::Session) };
    ask_for(&mut actor, Verb::Session(allow)).await.unwrap();
    actor.turn_end().await;
    drop(actor);
    pass(LINGER + PARK_AFTER + 5).await;
    assert_eq!(world.seen().await, PARKED);

    let acquired = world.store.acquire(&"x".into()).await.unwrap();
    let seq = acquired.summary.last_seq + 1;
    let body = Body::Setting(SettingEntry::Title { title: "taken over".into() });
    let entry = Arc::new(Entry { seq, parent: seq - 1, at_ms: 0, by: None, body });
    world.store.append(&acquired.lease, vec![entry], Durability::Now).await.unwrap();
    let mut actor = world.stage.actor();
    let busy = actor.open(named("x")).await.unwrap_err();
    assert_eq!(busy.kind, FaultKind::SessionBusy, "it is theirs for as long as they have it");
    world.store.release(acquired.lease).await.unwrap();

    let opened = actor.open(named("x")).await.unwrap();
    assert_eq!((opened.state.title.as_deref(), opened.state.last_seq), (Some("taken over"), seq));
    actor.prompt("second").await;
    actor.ask().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_never_began_is_found_after_parking() {
    let world = world([say("one")]);
    let mut actor = world.stage.actor();
    let opened = actor.open(Open { mode: Some(Mode::ReadOnly), ..Open::new(Which::New) }).await.unwrap();
    drop(actor);
    pass(LINGER + PARK_AFTER + 5).await;
    assert_eq!((world.stage.engine.live().len(), world.stage.engine.parked()), (0, 1));
    let mut actor = world.stage.actor();
    let again = actor.open(Open::new(Which::Id(opened.session.to_string()))).await.unwrap();
    assert_eq!((again.state.mode, again.session == opened.session), (Mode::ReadOnly, true));
    assert_eq!(world.turn(&mut actor, "first").await.stop, Stop::EndTurn);
}

#[tokio::test(start_paused = true)]
async fn work_that_runs_is_not_parked_and_lingers_when_it_is_done() {
    let slow = vec![Step::Wait(500_000), text("late"), done(Finish::Stop)];
    let world = world([slow]);
    let mut actor = world.stage.actor();
    actor.open(named("x")).await.unwrap();
    let tag = actor.prompt("work").await;
    actor.reply(tag).await.unwrap();
    drop(actor);
    pass(400).await;
    assert_eq!(world.seen().await, IN_USE);
    pass(100 + LINGER - 5).await;
    assert_eq!(world.seen().await, IN_USE, "it has ended and lingers");
    assert!(log_of(&world.stage, "x").await.contains("ended: EndTurn"));
    pass(PARK_AFTER + 10).await;
    assert_eq!(world.seen().await, PARKED);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_lingers_or_is_parked_can_be_deleted_at_once() {
    for wait in [1, LINGER + 5, LINGER + PARK_AFTER + 5] {
        let world = world([say("one")]);
        let mut actor = world.stage.actor();
        actor.open(named("x")).await.unwrap();
        world.turn(&mut actor, "first").await;
        ask_for(&mut actor, Verb::Leave).await.unwrap();
        pass(wait).await;
        let since = tokio::time::Instant::now();
        ask_for(&mut actor, Verb::Directory(DirectoryVerb::Delete { session: "x".into(), open_too: false }))
            .await
            .unwrap();
        assert!(since.elapsed() < Duration::from_secs(1), "after {wait} s");
        assert_eq!((world.stage.engine.live().len(), world.stage.engine.parked()), (0, 0));
        assert!(actor.open(Open::new(Which::Id("x".into()))).await.is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn peers_that_want_nothing_for_long_keep_their_session_and_not_the_models_view() {
    let world = world([say("one"), say("two"), say("three")]);
    let mut actor = world.stage.actor();
    actor.open(named("x")).await.unwrap();
    world.turn(&mut actor, "first").await;
    world.turn(&mut actor, "second").await;
    assert_eq!(world.chats.load(Ordering::SeqCst), 1);
    pass(10 * (LINGER + PARK_AFTER + UNLOAD_AFTER)).await;
    assert_eq!(world.seen().await, IN_USE);
    assert!(actor.told.is_empty(), "the peer notices nothing: {:?}", actor.told);
    world.turn(&mut actor, "third").await;
    assert_eq!(world.chats.load(Ordering::SeqCst), 2, "it was read back");
    assert!(world.player.last_sent().ends_with("user second | assistant two | user third"));
}

#[tokio::test(start_paused = true)]
async fn whoever_cannot_have_the_tools_back_is_told_and_the_session_waits_for_better_times() {
    let world = world([say("one"), say("two")]);
    let mut actor = world.stage.actor();
    actor.open(named("x")).await.unwrap();
    world.turn(&mut actor, "first").await;
    drop(actor);
    pass(LINGER + 5).await;
    world.tools.is_broken.store(true, Ordering::SeqCst);
    let mut actor = world.stage.actor();
    let fault = actor.open(named("x")).await.unwrap_err();
    assert!(fault.message.contains("the workspace is gone"), "{fault}");
    world.tools.is_broken.store(false, Ordering::SeqCst);
    actor.open(named("x")).await.unwrap();
    assert_eq!(world.turn(&mut actor, "second").await.stop, Stop::EndTurn);
}
