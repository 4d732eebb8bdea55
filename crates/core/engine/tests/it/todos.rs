//! The list of tasks, and going on while some are open.

use expect_test::expect;
use testkit::Stage;
use testkit::stage::Actor;
use vocab::*;

use crate::support::*;

fn list(tasks: &[(&str, TodoStatus)]) -> Vec<TodoPhase> {
    let task = |(n, (content, status)): (usize, &(&str, TodoStatus))| TodoTask {
        id: format!("task-{}", n + 1).into(),
        content: (*content).into(),
        status: *status,
        notes: None,
    };
    let tasks = tasks.iter().enumerate().map(task).collect();
    vec![TodoPhase { id: "phase-1".into(), name: "Tasks".into(), tasks }]
}

fn set(tasks: &[(&str, TodoStatus)]) -> Verb {
    Verb::Session(SessionVerb::Set(Change::Todos(list(tasks))))
}

async fn state(actor: &mut Actor) -> State {
    match ask_for(actor, Verb::Session(SessionVerb::Inspect)).await {
        Ok(Reply::Inspected(seen)) => seen.state,
        other => panic!("not seen: {other:?}"),
    }
}

/// A stage with the built-in tools, whose model plays and which reminds so often.
fn built_in(player: &std::sync::Arc<Player>, reminders: u32) -> Stage {
    stage_with(player, |options| {
        options.toolbox = None;
        options.tune = Box::new(move |settings| settings.reminders_max = reminders);
    })
}

fn todo(input: &str) -> Play {
    calls(&[("todo", input)])
}

const OPEN: &str = r#"{"todos":[{"content":"write","status":"in_progress"},{"content":"look","status":"completed"}]}"#;
const DONE: &str = r#"{"todos":[{"content":"write","status":"completed"},{"content":"look","status":"completed"}]}"#;

/// How often everything settled, and whether a turn was told after the last time.
fn settled(actor: &Actor) -> usize {
    actor.told.iter().filter(|told| told.event == Event::Settled).count()
}

#[tokio::test(start_paused = true)]
async fn a_list_that_the_model_sets_is_logged_and_told() {
    let player = Player::new([todo(OPEN), todo("{}"), say("ok")]);
    let stage = built_in(&player, 0);
    let mut actor = stage.open().await;
    actor.prompt("plan it").await;
    actor.turn_end().await;
    actor.settle().await;
    expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): plan it
          assistant:  [c1 todo] (ToolUse)
          c1 todo starts
          c1 Ran: [>] write
        [x] look
        1 of 2 items open

        todos 2 open 1
          assistant:  [c1_2 todo] (ToolUse)
          c1_2 todo starts
          c1_2 Ran: [>] write
        [x] look
        1 of 2 items open

          assistant: ok (Stop)
        t1 ended: EndTurn, 2 rounds
    "#]]
    .assert_eq(&log(&stage).await);
    let told = actor
        .told
        .iter()
        .any(|told| matches!(&told.event, Event::State(state) if open_tasks(&state.todos).count() == 1));
    assert!(told, "the list is part of the state");
    assert_eq!(settled(&actor), 1, "without reminders the open task starts nothing");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_a_controller_sets_is_what_the_tool_shows() {
    let player = Player::new([todo("{}"), say("ok")]);
    let stage = built_in(&player, 0);
    let mut actor = stage.open().await;
    ask_for(&mut actor, set(&[("from outside", TodoStatus::Pending)])).await.unwrap();
    assert_eq!(*state(&mut actor).await.todos, *list(&[("from outside", TodoStatus::Pending)]));
    actor.prompt("what is there?").await;
    actor.turn_end().await;
    assert!(
        player.last_sent().ends_with("result c1 Ran [ ] from outside\n1 of 1 item open\n"),
        "{}",
        player.last_sent()
    );
}

#[tokio::test(start_paused = true)]
async fn a_refused_list_changes_nothing() {
    let stage = built_in(&Player::new([todo(r#"{"todos":[{"content":"x","status":"done"}]}"#), say("ok")]), 0);
    let mut actor = stage.open().await;
    ask_for(&mut actor, set(&[("a", TodoStatus::Pending)])).await.unwrap();
    actor.prompt("go").await;
    actor.turn_end().await;
    assert_eq!(*state(&mut actor).await.todos, *list(&[("a", TodoStatus::Pending)]));
    let many: Vec<(&str, TodoStatus)> = vec![("x", TodoStatus::Pending); 1001];
    assert_eq!(ask_for(&mut actor, set(&many)).await.unwrap_err().kind, FaultKind::Invalid);
    assert_eq!(*state(&mut actor).await.todos, *list(&[("a", TodoStatus::Pending)]));
}

#[tokio::test(start_paused = true)]
async fn the_list_follows_the_branch_and_a_new_session_has_none() {
    let player = Player::new([todo(OPEN), say("a"), todo(DONE), say("b")]);
    let stage = built_in(&player, 0);
    let mut actor = stage.open().await;
    for text in ["one", "two"] {
        actor.prompt(text).await;
        actor.turn_end().await;
        actor.forget();
    }
    assert_eq!(open_tasks(&state(&mut actor).await.todos).count(), 0);
    ask_for(&mut actor, slash("undo", "")).await.unwrap();
    assert_eq!(open_tasks(&state(&mut actor).await.todos).count(), 1, "as it was before the second prompt");
    ask_for(&mut actor, slash("undo", "")).await.unwrap();
    assert!(state(&mut actor).await.todos.is_empty());
    ask_for(&mut actor, set(&[("a", TodoStatus::Pending)])).await.unwrap();
    ask_for(&mut actor, slash("clear", "")).await.unwrap();
    assert!(state(&mut actor).await.todos.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_resumed_session_has_its_list() {
    let stage = built_in(&Player::new([]), 0);
    let mut actor = stage.open().await;
    ask_for(&mut actor, set(&[("a", TodoStatus::Pending)])).await.unwrap();
    drop(actor);
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert!(stage.engine.live().is_empty());
    let mut actor = stage.actor();
    actor.open(Open::new(Which::Id("s1".into()))).await.unwrap();
    assert_eq!(*state(&mut actor).await.todos, *list(&[("a", TodoStatus::Pending)]));
}

// ---- reminders ------------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn open_tasks_start_another_turn_until_they_are_done() {
    let player = Player::new([todo(OPEN), say("done for now"), todo(DONE), say("all done")]);
    let stage = built_in(&player, 3);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.until(|event| *event == Event::Settled).await;
    actor.settle().await;
    assert_eq!(settled(&actor), 1);
    assert_eq!(actor.told.last().map(|told| told.event.clone()), Some(Event::Settled), "nothing follows");
    let log = log(&stage).await;
    let from_end = log.split("t1 ended: EndTurn, 1 rounds\n").nth(1).expect("the first turn ended");
    expect![[r#"
        t2 started
          user (Reminder): These tasks of the todo list are still open:
        - write (in_progress)
        Go on with them, or mark those that will not be done as abandoned. (reminder 1 of 3)
          assistant:  [c1 todo] (ToolUse)
          c1 todo starts
          c1 Ran: [x] write
        [x] look
        0 of 2 items open

        todos 2 open 0
          assistant: all done (Stop)
        t2 ended: EndTurn, 1 rounds
    "#]]
    .assert_eq(from_end);
}

#[tokio::test(start_paused = true)]
async fn reminders_are_counted_anew_from_each_message_of_somebody() {
    let player = Player::new([]);
    let stage = stage_with(&player, |options| options.tune = Box::new(|settings| settings.reminders_max = 2));
    let mut actor = stage.open().await;
    ask_for(&mut actor, set(&[("a", TodoStatus::Pending)])).await.unwrap();
    assert_eq!(player.calls_made(), 0, "a list alone starts nothing");
    for round in 1..=2 {
        actor.forget();
        actor.prompt("go").await;
        actor.until(|event| *event == Event::Settled).await;
        actor.settle().await;
        assert_eq!((player.calls_made(), settled(&actor)), (3 * round, 1));
    }
    assert!(player.last_sent().ends_with("(reminder 2 of 2)"), "{}", player.last_sent());
}

#[tokio::test(start_paused = true)]
async fn who_waits_goes_before_a_reminder() {
    let player = Player::new([vec![Step::Wait(1000), text("one"), done(Finish::Stop)]]);
    let stage = stage_with(&player, |options| options.tune = Box::new(|settings| settings.reminders_max = 1));
    let mut actor = stage.open().await;
    ask_for(&mut actor, set(&[("a", TodoStatus::Pending)])).await.unwrap();
    actor.prompt("go").await;
    actor.deliver("follow", Delivery::FollowUp).await;
    actor.deliver("queued", Delivery::Enqueue).await;
    actor.until(|event| *event == Event::Settled).await;
    actor.settle().await;
    assert_eq!(settled(&actor), 1);
    let log = log(&stage).await;
    let users: Vec<&str> = log.lines().filter(|line| line.contains("  user (")).collect();
    expect![[r#"
        [
            "  user (Prompt): go",
            "  user (FollowUp): follow",
            "  user (Prompt): queued",
            "  user (Reminder): These tasks of the todo list are still open:",
        ]
    "#]]
    .assert_debug_eq(&users);
}

#[tokio::test(start_paused = true)]
async fn a_message_held_by_a_debounce_goes_before_a_reminder_and_nothing_settles_meanwhile() {
    let slow = || vec![Step::Wait(1000), text("one"), done(Finish::Stop)];
    let player = Player::new([slow(), say("two"), say("three"), slow()]);
    let stage = stage_with(&player, |options| {
        options.tune = Box::new(|settings| {
            settings.reminders_max = 1;
            settings.lane.debounce_ms = 5000;
        });
    });
    let mut actor = stage.open().await;
    ask_for(&mut actor, set(&[("a", TodoStatus::Pending)])).await.unwrap();
    actor.prompt("go").await;
    actor.deliver("later", Delivery::Policy).await;
    actor.turn_end().await;
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    actor.settle().await;
    assert_eq!((settled(&actor), player.calls_made()), (0, 1));
    actor.until(|event| *event == Event::Settled).await;
    let log = log(&stage).await;
    assert!(log.find("user (Prompt): later").unwrap() < log.find("user (Reminder)").unwrap(), "{log}");
    // A message that is taken back before its time comes settles it too.
    actor.forget();
    actor.prompt("again").await;
    actor.deliver("never", Delivery::Policy).await;
    actor.turn_end().await;
    actor.settle().await;
    assert_eq!(settled(&actor), 0);
    ask_for(&mut actor, Verb::Session(SessionVerb::Queue(QueueVerb::Clear))).await.unwrap();
    actor.settle().await;
    assert_eq!(settled(&actor), 1);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_or_an_error_ends_the_reminding() {
    for (play, stop) in [(held("x"), Stop::Interrupted), (fail(FaultKind::Auth), Stop::Error)] {
        let player = Player::new([say("first"), play]);
        let stage = stage_with(&player, |options| options.tune = Box::new(|settings| settings.reminders_max = 5));
        let mut actor = stage.open().await;
        ask_for(&mut actor, set(&[("a", TodoStatus::Pending)])).await.unwrap();
        actor.prompt("go").await;
        if stop == Stop::Interrupted {
            text_of(&mut actor, "x").await;
            assert_eq!(settled(&actor), 0, "a reminder follows");
            ask_for(&mut actor, Verb::Session(SessionVerb::Interrupt { turn: None })).await.unwrap();
        }
        let ended = |event: &Event| match event {
            Event::Logged(entry) => matches!(&entry.body, Body::Turn(TurnEntry::Ended(end)) if end.stop == stop),
            _ => false,
        };
        actor.until(ended).await;
        tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        actor.settle().await;
        assert_eq!((settled(&actor), player.calls_made()), (1, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_settles_once_and_reminds_nobody() {
    for n in 1..12 {
        let store =
            std::sync::Arc::new(testkit::faulty::FaultyStore::new(std::sync::Arc::new(store::MemoryStore::new())));
        let kept = store.clone();
        let stage = stage_with(&Player::new([]), |options| {
            options.store = kept;
            options.tune = Box::new(|settings| settings.reminders_max = 2);
        });
        let mut actor = stage.open().await;
        ask_for(&mut actor, set(&[("a", TodoStatus::Pending)])).await.unwrap();
        actor.forget();
        store.fail_append(n);
        actor.prompt("go").await;
        tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        actor.settle().await;
        let started = actor
            .told
            .iter()
            .any(|told| matches!(&told.event, Event::Logged(entry) if matches!(entry.body, Body::Turn(TurnEntry::Started { .. }))));
        assert_eq!(settled(&actor), usize::from(started), "append {n}: {:#?}", actor.told);
    }
}

#[tokio::test(start_paused = true)]
async fn a_compaction_alone_settles_nothing() {
    let player = Player::new([say(&"a".repeat(900)), say("b"), say("summary")]);
    let stage = stage_with(&player, |options| options.tune = Box::new(|settings| settings.compaction.auto = false));
    let mut actor = stage.open().await;
    for text in ["one", "two"] {
        actor.prompt(text).await;
        actor.until(|event| *event == Event::Settled).await;
        actor.forget();
    }
    assert!(ask_for(&mut actor, Verb::Session(SessionVerb::Compact { instructions: None, wait: false })).await.is_ok());
    actor.settle().await;
    assert_eq!(settled(&actor), 0);
    let again =
        ask_for(&mut actor, Verb::Session(SessionVerb::Compact { instructions: None, wait: false })).await.unwrap_err();
    assert_eq!((again.kind, &*again.message), (FaultKind::NothingToDo, "Already compacted"));
    // Also when it was read back, and no longer once something was said.
    ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Model("m2".into())))).await.unwrap();
    let again =
        ask_for(&mut actor, Verb::Session(SessionVerb::Compact { instructions: None, wait: false })).await.unwrap_err();
    assert_eq!(&*again.message, "Already compacted");
    ask_for(&mut actor, Verb::Session(SessionVerb::Shell { command: "ls".into(), aside: false })).await.unwrap();
    assert!(ask_for(&mut actor, Verb::Session(SessionVerb::Compact { instructions: None, wait: false })).await.is_ok());
}
