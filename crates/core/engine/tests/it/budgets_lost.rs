//! What was spent although no reply tells of it: by children of a call whose process died, by model calls that were cut off.
//! It counts against budgets as everything does, once.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use store::MemoryStore;
use testkit::faulty::FaultyStore;
use vocab::*;

use crate::budgets::{answer, asked, budget, ended, kept, looks, resumed, says};
use crate::recovery::life;
use crate::subagents::Family;
use crate::support::*;

/// What a request of these tests is estimated at.
const REQUEST_TOKENS: u64 = 100;

fn sent() -> Step {
    let [api, url, manner, head, tail]: [Arc<str>; 5] = ["a", "u", "m", "{", "}"].map(Into::into);
    let sent = Arc::new(Sent { api, url, headers: Vec::new(), manner, head, tail });
    Step::Event(ModelEvent::Sent { sent, bytes: REQUEST_TOKENS * CHARS_PER_TOKEN as u64 })
}

fn faulty() -> Arc<FaultyStore> {
    Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())))
}

/// The tools of a family, in a directory that outlives each process.
struct KeptFamily(Arc<tempfile::TempDir>);

impl Toolbox for KeptFamily {
    fn open(&self, session: &SessionId, _: &Path) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        Family.open(session, self.0.path())
    }
    fn restore(&self, _: &Path, edits: &[FileEdit]) -> Vec<Arc<str>> {
        Family.restore(self.0.path(), edits)
    }
    fn diff(&self, edits: &[FileEdit]) -> Vec<FileDiff> {
        Family.diff(edits)
    }
    fn shell(
        &self,
        session: &SessionId,
        _: &Path,
        command: &str,
        told: Progress,
        stop: Later<'static, ()>,
    ) -> Later<'static, Shell> {
        Family.shell(session, self.0.path(), command, told, stop)
    }
}

/// Where the processes of one test live.
struct Home {
    store: Arc<FaultyStore>,
    place: Arc<tempfile::TempDir>,
}

impl Home {
    fn new() -> Self {
        Self { store: faulty(), place: Arc::new(tempfile::tempdir().unwrap()) }
    }
    fn family(&self, player: &Arc<Player>, rule: OnRestart, limits: &[&str]) -> testkit::Stage {
        let (store, limits) = (self.store.clone(), budget(limits));
        let toolbox = Arc::new(KeptFamily(self.place.clone()));
        stage_with(player, |options| {
            options.model = "wide".into();
            options.store = store;
            options.toolbox = Some(toolbox);
            options.tune = Box::new(move |settings| (settings.on_restart, settings.budget) = (rule, limits));
        })
    }
}

async fn called(player: &Player, times: usize) {
    while player.calls_made() < times {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // What came before is written.
    tokio::time::sleep(Duration::from_millis(100)).await;
}

async fn spent_by_children(store: &FaultyStore) -> Vec<u64> {
    let entries = store.read(&"s1".into(), 0, usize::MAX).await.unwrap().entries;
    let spent = entries.iter().filter_map(|entry| match &entry.body {
        Body::Model(ModelEntry::Spent { call: Some(_), usage, .. }) => Some(usage.context()),
        _ => None,
    });
    spent.collect()
}

#[test]
fn what_children_of_a_dead_process_spent_is_their_parents_and_counts_once() {
    const LIMITS: &[&str] = &["session.tokens=100"];
    for rule in [OnRestart::Continue, OnRestart::Close] {
        let home = Home::new();
        life(&home.store, async || {
            let crowd = vec![used(10, 0), call_step(0, "subagent", r#"{"task":"look around"}"#), done(Finish::ToolUse)];
            let player = Player::new([crowd, looks(30), looks(25), vec![Step::Hold]]);
            let stage = home.family(&player, rule, &[]);
            stage.open().await.prompt("go").await;
            called(&player, 4).await;
        });
        // However often it is taken up, and by whichever rule.
        for _ in 0..2 {
            life(&home.store, async || {
                let player = Player::new([]);
                let stage = home.family(&player, OnRestart::Close, &["session.tokens=1000"]);
                let mut actor = resumed(&stage).await;
                ask_for(&mut actor, slash("context", "")).await.unwrap();
                tokio::time::sleep(Duration::from_millis(100)).await;
                assert_eq!(spent_by_children(&home.store).await, [55], "{rule:?}");
            });
        }
        life(&home.store, async || {
            let player = Player::new([says("more", 40), says("never", 1)]);
            let stage = home.family(&player, rule, LIMITS);
            let mut actor = resumed(&stage).await;
            actor.prompt("on").await;
            ended(&mut actor).await;
            actor.prompt("on").await;
            let (_, ask) = asked(&mut actor).await;
            assert_eq!((ask.spent, player.calls_made()), (105, 1), "10 + 55 + 40 by {rule:?}");
        });
    }
}

#[test]
fn a_turn_that_goes_on_knows_what_its_children_had_spent() {
    let home = Home::new();
    life(&home.store, async || {
        let crowd = vec![used(10, 0), call_step(0, "subagent", r#"{"task":"look around"}"#), done(Finish::ToolUse)];
        let player = Player::new([crowd, looks(95), vec![sent(), Step::Hold]]);
        let stage = home.family(&player, OnRestart::Continue, &["turn.tokens=1000"]);
        stage.open().await.prompt("go").await;
        called(&player, 3).await;
    });
    life(&home.store, async || {
        let player = Player::new([]);
        let stage = home.family(&player, OnRestart::Continue, &["turn.tokens=100"]);
        let mut actor = resumed(&stage).await;
        // Whether the call is to run again; then whether the model may be told of it.
        let again = actor.ask().await;
        actor.forget();
        answer(&mut actor, again.id, Answer::Deny(None)).await.unwrap();
        let (id, ask) = asked(&mut actor).await;
        // The child's own call that was under way is estimated.
        assert_eq!((ask.span, ask.spent, player.calls_made()), (BudgetSpan::Turn, 105 + REQUEST_TOKENS, 0));
        answer(&mut actor, id, Answer::Deny(None)).await.unwrap();
        let end = ended(&mut actor).await;
        assert_eq!((end.stop, end.usage.context()), (Stop::Budget, 105 + REQUEST_TOKENS));
    });
}

#[test]
fn a_process_that_dies_in_every_reply_comes_to_its_budget() {
    const LIMITS: &[&str] = &["session.tokens=250"];
    let store = faulty();
    let mut calls = 0;
    for run in 0..5 {
        life(&store, async || {
            let player = Player::new([vec![sent(), Step::Hold]]);
            let stage = kept(&store, &player, "ask1", OnRestart::Continue, LIMITS);
            match run {
                0 => _ = stage.open().await.prompt("go").await,
                _ => _ = resumed(&stage).await,
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
            calls += player.calls_made();
        });
    }
    assert_eq!(calls, 3, "three requests of 100 tokens are beyond 250");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_interrupted_or_cut_off_before_its_first_word_was_paid_for() {
    let player = Player::new([vec![sent(), Step::Hold], vec![sent(), fail_step(FaultKind::StreamCut)], say("ok")]);
    let limits = budget(&["session.tokens=100000"]);
    let stage = stage_with(&player, |options| options.tune = Box::new(move |settings| settings.budget = limits));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    called(&player, 1).await;
    ask_for(&mut actor, Verb::Session(SessionVerb::Interrupt { turn: None })).await.unwrap();
    let end = ended(&mut actor).await;
    assert!(end.usage.estimated && end.usage.input > 0 && end.usage.output == 0, "{:?}", end.usage);
    actor.prompt("again").await;
    let end = ended(&mut actor).await;
    let spent = log(&stage).await.matches("spent m1").count();
    assert_eq!((end.stop, spent, player.calls_made()), (Stop::EndTurn, 2, 3), "{}", log(&stage).await);

    // What a server refused at once it did not work for.
    let player = Player::new([vec![sent(), fail_step(FaultKind::Provider)], say("ok")]);
    let stage = stage_with(&player, |_| {});
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    ended(&mut actor).await;
    assert!(!log(&stage).await.contains("spent"), "{}", log(&stage).await);
}

#[tokio::test(start_paused = true)]
async fn a_day_that_is_spent_stops_a_summary_that_somebody_asks_for() {
    let long = "x".repeat(3000);
    let player = Player::new([says(&long, 900), says("a summary", 200), says(&long, 5), says("never", 1)]);
    let limits = budget(&["day.tokens=1000"]);
    let stage = stage_with(&player, |options| {
        options.model = "wide".into();
        options.tune = Box::new(move |settings| settings.budget = limits);
    });
    let compact = || Verb::Session(SessionVerb::Compact { instructions: None, wait: false });
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    ended(&mut actor).await;
    ask_for(&mut actor, compact()).await.unwrap();
    // Now the day has 1100: another session is asked about its prompt, and told about its summary.
    let mut other = stage.open().await;
    other.prompt("go").await;
    let (id, ask) = asked(&mut other).await;
    assert_eq!((ask.span, ask.spent), (BudgetSpan::Day, 1100));
    answer(&mut other, id, Answer::Allow(Scope::Once)).await.unwrap();
    ended(&mut other).await;
    ask_for(&mut actor, compact()).await.unwrap_err();
    actor.prompt("go").await;
    let (id, _) = asked(&mut actor).await;
    answer(&mut actor, id, Answer::Deny(None)).await.unwrap();
    ended(&mut actor).await;
    assert_eq!(player.calls_made(), 3);
    let mut third = stage.actor();
    let fork = Open::new(Which::Id("s1".into()));
    third.open(fork).await.unwrap();
    let refused = ask_for(&mut third, compact()).await.unwrap_err();
    assert!(matches!(refused.kind, FaultKind::Budget | FaultKind::NothingToDo), "{refused:?}");
    // What this session was given of the day holds for its summary as well.
    ask_for(&mut other, compact()).await.unwrap();
    assert_eq!(player.calls_made(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_count_that_the_provider_left_out_is_estimated_and_reaches_a_budget() {
    let left_out =
        |input, output| Step::Event(ModelEvent::Usage(Usage { input, output, estimated: true, ..Usage::default() }));
    for (counted, want) in [((0, 0), "both"), ((50, 0), "the output"), ((0, 7), "the input")] {
        let play = || vec![left_out(counted.0, counted.1), call_step(0, "look", "{}"), done(Finish::ToolUse)];
        let limits = budget(&["turn.tokens=60"]);
        let player = Player::new((0..100).map(|_| play()));
        let stage = stage_with(&player, |options| options.tune = Box::new(move |settings| settings.budget = limits));
        let mut actor = stage.open().await;
        actor.prompt(&"long words ".repeat(20)).await;
        let (_, ask) = asked(&mut actor).await;
        assert!(ask.spent >= 60 && player.calls_made() < 20, "{want}: {} after {}", ask.spent, player.calls_made());
        let entries = stage.store.read(&"s1".into(), 0, usize::MAX).await.unwrap().entries;
        let usage = entries.iter().find_map(|entry| match &entry.body {
            Body::Assistant { message, .. } => Some(message.usage),
            _ => None,
        });
        let usage = usage.unwrap();
        assert!(usage.estimated && usage.input > 0 && usage.output > 0, "{want}: {usage:?}");
    }
}
