//! What was refused is not in force, what was acknowledged is on the disk, and nothing is acknowledged before.

use std::sync::Arc;
use std::time::Duration;
use testkit::slash_text;

use store::MemoryStore;
use testkit::Stage;
use testkit::faulty::FaultyStore;
use testkit::stage::Actor;
use tokio::time::Instant;
use vocab::*;

use crate::support::*;

fn faulty() -> Arc<FaultyStore> {
    Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())))
}

fn on(store: &Arc<FaultyStore>, player: &Arc<Player>) -> Stage {
    let store = store.clone();
    stage_with(player, |options| {
        options.store = store;
        options.mode = Mode::Prompt;
        options.toolbox = Some(Arc::new(Gadgets));
    })
}

/// The tools of these tests, one of them in a gadget.
struct Gadgets;

impl Toolbox for Gadgets {
    fn open(&self, session: &SessionId, workspace: &std::path::Path) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        Tools.open(session, workspace)
    }
    fn gadgets(&self) -> Vec<Gadget> {
        vec![Gadget { name: "g".into(), description: "".into(), prompt: None }]
    }
    fn restore(&self, workspace: &std::path::Path, edits: &[FileEdit]) -> Vec<Arc<str>> {
        Tools.restore(workspace, edits)
    }
    fn diff(&self, edits: &[FileEdit]) -> Vec<FileDiff> {
        Tools.diff(edits)
    }
    fn shell(
        &self,
        session: &SessionId,
        workspace: &std::path::Path,
        command: &str,
        told: Progress,
        stop: Later<'static, ()>,
    ) -> Later<'static, Shell> {
        Tools.shell(session, workspace, command, told, stop)
    }
}

/// Everything that can be set, as far as it can be seen.
async fn stance(actor: &mut Actor) -> String {
    let Ok(Reply::Inspected(it)) = ask_for(actor, Verb::Session(SessionVerb::Inspect)).await else {
        panic!("no inspection")
    };
    let State { mode, model, thinking, title, gadgets, todos, .. } = &it.state;
    let todos: Vec<_> = todos.iter().map(|phase| &phase.name).collect();
    let window = it.state.model_info.context_window;
    format!(
        "{mode:?} {model} {window} {thinking:?} {title:?} {gadgets:?} {todos:?} {} {} {} {:?} {:?}",
        it.lane.cap,
        it.retry.retries_max,
        it.compaction.keep_pct,
        it.spec.thinking,
        it.spec.system.contains("the locale l1"),
    )
}

fn changes(n: usize) -> Vec<Change> {
    let phase = TodoPhase { id: "p".into(), name: format!("todo {n}").into(), tasks: Vec::new() };
    vec![
        Change::Mode(if n == 1 { Mode::DangerFullAccess } else { Mode::Plan }),
        Change::Model(if n == 1 { "m2".into() } else { "far1".into() }),
        Change::Thinking(Some(format!("level {n}").into())),
        Change::Title(format!("title {n}").into()),
        Change::Locale(Some(format!("l{n}").into())),
        Change::Todos(vec![phase]),
        Change::Lane(LaneWish { cap: Some(n), ..LaneWish::default() }),
        Change::Retry(RetryPolicy { retries_max: n as u32, ..RetryPolicy::default() }),
        Change::Compaction(CompactionPolicy { keep_pct: n as u8, ..CompactionPolicy::default() }),
        Change::Gadget { name: "g".into(), on: n != 1 },
    ]
}

#[tokio::test(start_paused = true)]
async fn a_setting_that_is_refused_is_not_in_force() {
    for at in 0..changes(1).len() {
        let store = faulty();
        let stage = on(&store, &Player::new([]));
        let mut actor = stage.open().await;
        actor.prompt("go").await;
        actor.turn_end().await;
        let before = stance(&mut actor).await;
        // Something else is on its way, so that a change that is not logged is refused, too.
        store.slow(vec![1000]);
        store.fail_append(1);
        let behind = actor.send(Verb::Session(SessionVerb::Set(Change::Title("behind".into())))).await;
        let tag = actor.send(Verb::Session(SessionVerb::Set(changes(1).remove(at)))).await;
        let later = actor.send(Verb::Session(SessionVerb::Set(changes(2).remove(at)))).await;
        for tag in [behind, tag, later] {
            assert_eq!(actor.reply(tag).await.unwrap_err().kind, FaultKind::Store, "{at}");
        }
        store.slow(vec![]);
        assert_eq!(stance(&mut actor).await, before, "{at}");
        // What a restart finds is the same, and the next turn writes nothing else.
        actor.prompt("again").await;
        actor.forget();
        stage.engine.shutdown().await;
        let next = on(&store, &Player::new([]));
        let mut actor = next.actor();
        actor.open(Open::new(Which::Id("s1".into()))).await.unwrap();
        assert_eq!(stance(&mut actor).await, before, "{at}");
    }
}

#[tokio::test(start_paused = true)]
async fn of_two_changes_only_the_refused_one_is_taken_back() {
    let store = faulty();
    let stage = on(&store, &Player::new([]));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.turn_end().await;
    store.slow(vec![1000]);
    store.fail_append(2);
    let first = actor.send(Verb::Session(SessionVerb::Set(Change::Mode(Mode::ReadOnly)))).await;
    // A write of its own.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let second = actor.send(Verb::Session(SessionVerb::Set(Change::Mode(Mode::DangerFullAccess)))).await;
    actor.reply(first).await.unwrap();
    actor.reply(second).await.unwrap_err();
    assert!(stance(&mut actor).await.starts_with("ReadOnly"), "{}", stance(&mut actor).await);
    let Ok(Reply::Slash(status)) = ask_for(&mut actor, slash("status", "")).await else { panic!("no status") };
    assert!(slash_text(&status).contains("read-only"), "{}", slash_text(&status));
}

#[tokio::test(start_paused = true)]
async fn what_was_given_at_the_opening_stays_in_force_after_a_refused_change() {
    let store = faulty();
    let stage = on(&store, &Player::new([]));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.turn_end().await;
    stage.engine.shutdown().await;
    let next = on(&store, &Player::new([]));
    let mut actor = next.actor();
    // Tighter than what the log says, and not logged before the next turn.
    actor.open(Open { mode: Some(Mode::ReadOnly), ..Open::new(Which::Id("s1".into())) }).await.unwrap();
    store.fail_append(1);
    ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Mode(Mode::DangerFullAccess)))).await.unwrap_err();
    assert!(stance(&mut actor).await.starts_with("ReadOnly"));
    actor.prompt("on").await;
    actor.turn_end().await;
    assert!(log(&next).await.contains("mode read-only"), "{}", log(&next).await);
}

#[tokio::test(start_paused = true)]
async fn an_allow_for_the_session_whose_record_is_lost_is_asked_again() {
    let store = faulty();
    let play = || calls(&[("change", "{}")]);
    let stage = on(&store, &Player::new([play(), play(), say("done"), play(), say("done")]));
    let mut actor = stage.open().await;
    for lost in [true, false] {
        actor.forget();
        actor.prompt("go").await;
        let ask = actor.ask().await.id;
        if lost {
            store.fail_append(1);
        }
        actor.send(Verb::Session(SessionVerb::Answer { ask, answer: Answer::Allow(Scope::Session) })).await;
        let fault = actor.turn_end().await.fault;
        assert_eq!(fault.is_some(), lost, "{fault:?}");
        // The lost turn is closed before the next one.
        ask_for(&mut actor, slash("context", "")).await.unwrap();
        actor.settle().await;
    }
    actor.forget();
    actor.prompt("once more").await;
    assert_eq!(actor.turn_end().await.stop, Stop::EndTurn, "what was allowed and written is not asked again");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_acknowledged_before_it_is_written() {
    let store = faulty();
    store.slow(vec![3000]);
    let stage = on(&store, &Player::new([held("w")]));
    let mut actor = stage.open().await;
    let verbs = [
        Verb::Session(SessionVerb::Prompt { parts: vec![Part::text("go")], delivery: Delivery::RejectIfBusy }),
        Verb::Session(SessionVerb::Prompt { parts: vec![Part::text("later")], delivery: Delivery::Enqueue }),
        Verb::Session(SessionVerb::Set(Change::Mode(Mode::Plan))),
        Verb::Session(SessionVerb::Set(Change::Title("t".into()))),
        Verb::Session(SessionVerb::Queue(QueueVerb::Clear)),
    ];
    for verb in verbs {
        let start = Instant::now();
        let what = testkit::verb_text(&verb);
        ask_for(&mut actor, verb).await.unwrap();
        assert!(start.elapsed() >= Duration::from_secs(3), "{what} after {:?}", start.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_acknowledged_is_synced() {
    let store = faulty();
    let player = Player::new([calls(&[("look", "{}"), ("change", "{}")]), say("done"), held("w")]);
    let stage = on(&store, &player);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    let ask = actor.ask().await.id;
    actor.send(Verb::Session(SessionVerb::Answer { ask, answer: Answer::Allow(Scope::Once) })).await;
    actor.turn_end().await;
    for change in changes(1) {
        ask_for(&mut actor, Verb::Session(SessionVerb::Set(change))).await.unwrap();
    }
    ask_for(&mut actor, Verb::Session(SessionVerb::Shell { command: "ls".into(), aside: false })).await.unwrap();
    ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Model("m1".into())))).await.unwrap();
    actor.prompt("hold").await;
    text_of(&mut actor, "w").await;
    let tag = actor.deliver("later", Delivery::Enqueue).await;
    actor.reply(tag).await.unwrap();
    ask_for(&mut actor, Verb::Session(SessionVerb::Queue(QueueVerb::Clear))).await.unwrap();
    ask_for(&mut actor, Verb::Session(SessionVerb::Interrupt { turn: None })).await.unwrap();
    ask_for(&mut actor, slash("undo", "")).await.unwrap();
    let mut seen = std::collections::BTreeMap::new();
    for (entries, durability) in store.appended() {
        for entry in entries {
            let all = seen.entry(kind(&entry.body)).or_insert(true);
            *all &= durability.is_synced();
        }
    }
    for kind in SYNCED {
        assert_eq!(seen.get(kind), Some(&true), "{kind}: {seen:?}");
    }
    // A message and what comes with it may wait for company; a call that changes something, and its answer, may not.
    let with = |wanted: &str| {
        let batches = store.appended();
        let found = batches.into_iter().find(|(entries, _)| entries.iter().any(|entry| kind(&entry.body) == wanted));
        found.unwrap_or_else(|| panic!("no {wanted}")).1
    };
    let durabilities = ["User", "AskClosed", "CallEnded", "TurnEnded", "Queued"].map(with);
    use Durability::{Now, Soon};
    assert_eq!(durabilities, [Soon, Now, Now, Now, Soon]);
    // Reading pays nothing.
    assert_eq!(seen.get("CallStarted"), Some(&false), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn the_store_is_pressed_for_the_words_of_a_turn_that_goes_on_and_for_no_other() {
    let store = faulty();
    store.slow(vec![50]);
    let player = Player::new([say("done"), held("w")]);
    let stage = on(&store, &player);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.turn_end().await;
    assert_eq!(store.pressed(), 0, "a turn that is over at once goes to the disk as one");
    actor.prompt("hold").await;
    text_of(&mut actor, "w").await;
    assert_eq!(store.pressed(), 1, "its first word waited for the prompt");
}

/// What a peer is told to have happened, and what outlives a power cut.
const SYNCED: [&str; 15] = [
    "AskClosed",
    "CallEnded",
    "Gadgets",
    "Mode",
    "Model",
    "Moved",
    "Queued",
    "Settled",
    "Shell",
    "ShellStarted",
    "Thinking",
    "Title",
    "Todos",
    "TurnEnded",
    "User",
];

fn kind(body: &Body) -> &'static str {
    match body {
        Body::Opened { .. } => "Opened",
        Body::Turn(TurnEntry::Started { .. }) => "TurnStarted",
        Body::User { .. } => "User",
        Body::Assistant { .. } => "Assistant",
        Body::Call(CallEntry::Started { .. }) => "CallStarted",
        Body::Call(CallEntry::Ended { .. }) => "CallEnded",
        Body::Turn(TurnEntry::Ended(_)) => "TurnEnded",
        Body::Ask(AskEntry::Opened(_)) => "AskOpened",
        Body::Ask(AskEntry::Closed { .. }) => "AskClosed",
        Body::Queue(QueueEntry::Queued(_)) => "Queued",
        Body::Queue(QueueEntry::Settled { .. }) => "Settled",
        Body::Branch(BranchEntry::Moved { .. }) => "Moved",
        Body::Branch(BranchEntry::Restored { .. }) => "Restored",
        Body::Setting(SettingEntry::Model { .. }) => "Model",
        Body::Setting(SettingEntry::Mode { .. }) => "Mode",
        Body::Setting(SettingEntry::Thinking { .. }) => "Thinking",
        Body::Setting(SettingEntry::Gadgets { .. }) => "Gadgets",
        Body::Setting(SettingEntry::Title { .. }) => "Title",
        Body::Shell(ShellEntry::Started { .. }) => "ShellStarted",
        Body::Shell(ShellEntry::Ended(_)) => "Shell",
        Body::Setting(SettingEntry::Todos { .. }) => "Todos",
        _ => "other",
    }
}

#[tokio::test(start_paused = true)]
async fn each_acknowledged_write_is_synced_by_itself() {
    // One append each: what stands beside it in a batch cannot hide a lost sync.
    let store = faulty();
    let stage = on(&store, &Player::new([]));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.turn_end().await;
    let first = &store.appended()[0];
    assert!(first.1.is_synced() && first.0.iter().any(|entry| matches!(entry.body, Body::User { .. })), "a prompt");
    for change in changes(1) {
        let before = store.appends();
        let what = format!("{change:?}");
        ask_for(&mut actor, Verb::Session(SessionVerb::Set(change))).await.unwrap();
        let batches = &store.appended()[before as usize..];
        assert!(batches.iter().all(|(_, durability)| durability.is_synced()), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_failed_write_what_waits_goes_on_by_itself() {
    let store = faulty();
    let stage = on(&store, &Player::new([held("w"), say("first"), say("second")]));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    text_of(&mut actor, "w").await;
    for text in ["one", "two"] {
        let tag = actor.deliver(text, Delivery::Enqueue).await;
        actor.reply(tag).await.unwrap();
    }
    actor.forget();
    store.fail_append(1);
    ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Title("t".into())))).await.unwrap_err();
    // What waits is what it was, whoever asks.
    let Ok(Reply::Queue(items)) = ask_for(&mut actor, Verb::Session(SessionVerb::Queue(QueueVerb::List))).await else {
        panic!("no queue")
    };
    assert_eq!(items.len(), 2);
    let told_empty = actor
        .told
        .iter()
        .any(|told| matches!(&told.event, Event::Queue(QueueEvent::Waiting(items)) if items.is_empty()));
    assert!(!told_empty, "what waits was not told to be gone");
    let ended = |told: &Actor| {
        let ends = told.told.iter().filter(|told| {
            matches!(&told.event, Event::Logged(it) if matches!(&it.body, Body::Turn(TurnEntry::Ended(end)) if end.fault.is_none()))
        });
        ends.count()
    };
    for _ in 0..50 {
        actor.settle().await;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(ended(&actor), 2, "{}", log(&stage).await);
    let log = log(&stage).await;
    assert!(log.contains("user (Prompt): one") && log.contains("user (Prompt): two"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_stays_full_is_tried_again_ever_more_seldom() {
    let store = faulty();
    let stage = on(&store, &Player::new([held("w")]));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    text_of(&mut actor, "w").await;
    let tag = actor.deliver("later", Delivery::Enqueue).await;
    actor.reply(tag).await.unwrap();
    store.fail_append(1);
    let _ = ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Title("t".into())))).await;
    let before = store.appends();
    for _ in 0..600 {
        store.fail_append(1);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let tries = store.appends() - before;
    assert!((5..30).contains(&tries), "{tries} tries in ten minutes");
    store.fail_append(0);
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert!(log(&stage).await.contains("user (Prompt): later"));
}
