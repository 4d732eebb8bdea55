//! Compactions that wait for a turn, and those that another provider's model begins with.

use std::sync::Arc;
use testkit::slash_text;

use testkit::Stage;
use testkit::fakes::Renamed;
use testkit::faulty::FaultyStore;
use testkit::stage::Actor;
use vocab::*;

use crate::support::*;

const LONG: &str = "a prompt of some length, so that there is something to compact";

fn later() -> Verb {
    Verb::Session(SessionVerb::Compact { instructions: None, wait: true })
}

/// A session with a past whose next turn is held after the word `w`.
async fn busy(plays: Vec<Play>) -> (Stage, Actor) {
    let player = Player::new([say("one"), say("two")].into_iter().chain(plays));
    let stage = stage_with(&player, |options| {
        options.tune = Box::new(|settings| settings.compaction.keep_pct = 1);
    });
    let mut actor = stage.open().await;
    for _ in 0..2 {
        actor.prompt(LONG).await;
        settled(&mut actor).await;
        actor.forget();
    }
    actor.prompt("go").await;
    text_of(&mut actor, "w").await;
    actor.forget();
    (stage, actor)
}

fn slow_words() -> Play {
    vec![text("w"), Step::Wait(1000), text("x"), done(Finish::Stop)]
}
fn slow_summary() -> Play {
    vec![text("sum"), Step::Wait(1000), done(Finish::Stop)]
}

async fn settled(actor: &mut Actor) {
    actor.until(|event| *event == Event::Settled).await;
}

#[tokio::test(start_paused = true)]
async fn it_comes_after_the_running_turn_and_before_what_waits() {
    let (_stage, mut actor) = busy(vec![slow_words(), slow_summary()]).await;
    actor.deliver("next", Delivery::Enqueue).await;
    let tag = actor.send(later()).await;
    settled(&mut actor).await;
    let asked = format!("#{} compacted", tag.0);
    assert_eq!(
        order(&actor),
        [
            "reply",
            "t3 ended",
            "compacting (Manual)",
            "compacted (Manual)",
            &asked,
            "t4 started",
            "item4 Consumed",
            "user next",
            "t4 calls",
            "reply",
            "t4 ended",
            "settled"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn without_a_turn_it_does_not_wait() {
    let (_stage, mut actor) = busy(vec![slow_words(), say("sum")]).await;
    settled(&mut actor).await;
    let tag = actor.send(later()).await;
    assert!(matches!(actor.reply(tag).await, Ok(Reply::Compacted(_))));
}

#[tokio::test(start_paused = true)]
async fn one_waits_at_a_time_and_one_that_does_not_wait_is_refused() {
    let (_stage, mut actor) = busy(vec![slow_words(), say("sum")]).await;
    let first = actor.send(later()).await;
    for verb in [later(), Verb::Session(SessionVerb::Compact { instructions: None, wait: false })] {
        assert_eq!(ask_for(&mut actor, verb).await.unwrap_err().kind, FaultKind::TurnInProgress);
    }
    assert!(matches!(actor.reply(first).await, Ok(Reply::Compacted(_))));
}

#[tokio::test(start_paused = true)]
async fn messages_wait_while_it_runs_and_another_may_wait_behind_it() {
    let (_stage, mut actor) = busy(vec![slow_words(), slow_summary()]).await;
    actor.send(later()).await;
    actor.until(|event| matches!(event, Event::Compaction(CompactionEvent::Started { .. }))).await;
    let prompt = actor.prompt("now").await;
    assert_eq!(actor.reply(prompt).await.unwrap_err().kind, FaultKind::TurnInProgress);
    actor.deliver("next", Delivery::Enqueue).await;
    let again = actor.send(later()).await;
    settled(&mut actor).await;
    assert_eq!(actor.reply(again).await.unwrap_err().message, "Already compacted");
    let order = order(&actor);
    let at = |word: &str| order.iter().position(|it| it == word).unwrap_or_else(|| panic!("no {word}: {order:?}"));
    assert!(at(&format!("#{} NothingToDo", again.0)) < at("t4 started"), "{order:?}");
}

#[tokio::test(start_paused = true)]
async fn a_message_for_a_turn_that_comes_meanwhile_has_one_afterwards() {
    for delivery in [Delivery::Steer, Delivery::FollowUp] {
        let (_stage, mut actor) = busy(vec![slow_words(), slow_summary(), say("done")]).await;
        actor.send(later()).await;
        actor.until(|event| matches!(event, Event::Compaction(CompactionEvent::Started { .. }))).await;
        actor.deliver("next", delivery).await;
        settled(&mut actor).await;
        let order = order(&actor);
        let at = |word: &str| order.iter().position(|it| it == word).unwrap_or_else(|| panic!("no {word}: {order:?}"));
        assert!(at("compacted (Manual)") < at("user next"), "{order:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_stops_the_turn_and_lets_it_run() {
    let (_stage, mut actor) = busy(vec![held("w"), say("sum")]).await;
    actor.deliver("next", Delivery::Enqueue).await;
    let tag = actor.send(later()).await;
    assert_eq!(
        ask_for(&mut actor, Verb::Session(SessionVerb::Interrupt { turn: None })).await,
        Ok(Reply::Interrupted { was_running: true })
    );
    assert!(matches!(actor.reply(tag).await, Ok(Reply::Compacted(_))));
    settled(&mut actor).await;
    assert_eq!(order(&actor)[..4], ["reply", "t3 ended", "compacting (Manual)", "compacted (Manual)"]);
    assert!(order(&actor).contains(&"user next".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_while_it_runs_cancels_it_and_the_lane_goes_on() {
    let (stage, mut actor) = busy(vec![slow_words(), held("sum"), say("went on")]).await;
    actor.deliver("next", Delivery::Enqueue).await;
    let tag = actor.send(later()).await;
    actor.until(|event| matches!(event, Event::Compaction(CompactionEvent::Started { .. }))).await;
    actor.send(Verb::Session(SessionVerb::Interrupt { turn: None })).await;
    assert_eq!(actor.reply(tag).await.unwrap_err().kind, FaultKind::Cancelled);
    settled(&mut actor).await;
    let log = log(&stage).await;
    assert!(log.contains("assistant: went on (Stop)"), "what waited is not what was to stop: {log}");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_takes_the_place_of_what_runs_stops_it_and_not_itself() {
    let player = Player::new([say("one"), say("two"), held("sum"), say("went on")]);
    let stage = stage_with(&player, |options| {
        options.tune = Box::new(|settings| {
            settings.compaction.keep_pct = 1;
            settings.lane.mode = LaneMode::Interrupt;
        });
    });
    let mut actor = stage.open().await;
    for _ in 0..2 {
        actor.prompt(LONG).await;
        settled(&mut actor).await;
        actor.forget();
    }
    let tag = actor.send(Verb::Session(SessionVerb::Compact { instructions: None, wait: false })).await;
    actor.until(|event| matches!(event, Event::Compaction(CompactionEvent::Started { .. }))).await;
    actor.deliver("now", Delivery::Policy).await;
    assert_eq!(actor.reply(tag).await.unwrap_err().kind, FaultKind::Cancelled);
    settled(&mut actor).await;
    let log = log(&stage).await;
    assert!(log.contains("assistant: went on (Stop)"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn it_is_stopped_by_the_tag_of_its_command_and_nothing_else_is() {
    let (_stage, mut actor) = busy(vec![slow_words(), held("sum"), held("next")]).await;
    let tag = actor.send(later()).await;
    actor.until(|event| matches!(event, Event::Compaction(CompactionEvent::Started { .. }))).await;
    let stop = |of| Verb::Session(SessionVerb::AbortCall { of });
    let other = ask_for(&mut actor, stop(Tag(u64::MAX))).await;
    assert_eq!(other.unwrap_err().kind, FaultKind::NotFound);
    assert_eq!(ask_for(&mut actor, stop(tag)).await, Ok(Reply::Done));
    assert_eq!(actor.reply(tag).await.unwrap_err().kind, FaultKind::Cancelled);
    actor.prompt("next").await;
    actor.settle().await;
    assert_eq!(ask_for(&mut actor, stop(tag)).await.unwrap_err().kind, FaultKind::NotFound, "a turn is none of it");
}

#[tokio::test(start_paused = true)]
async fn where_there_is_nothing_to_compact_that_is_said_and_the_lane_goes_on() {
    let stage = stage(&Player::new([vec![Step::Wait(1000), text("x"), done(Finish::Stop)]]));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.deliver("next", Delivery::Enqueue).await;
    let tag = actor.send(later()).await;
    actor.send(Verb::Session(SessionVerb::Interrupt { turn: None })).await;
    let nothing = actor.reply(tag).await.unwrap_err();
    assert_eq!((nothing.kind, &*nothing.message), (FaultKind::NothingToDo, "Nothing to compact (session too small)"));
    settled(&mut actor).await;
    assert!(order(&actor).contains(&"user next".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_short_conversation_is_compacted_whole_when_somebody_asks() {
    let stage = stage(&Player::new([say("one"), say("the gist"), say("two")]));
    let mut actor = stage.open().await;
    let now = Verb::Session(SessionVerb::Compact { instructions: None, wait: false });
    let nothing = ask_for(&mut actor, now.clone()).await.unwrap_err();
    assert_eq!(nothing.kind, FaultKind::NothingToDo, "nothing was said yet");
    actor.prompt("go").await;
    settled(&mut actor).await;
    let Ok(Reply::Compacted(done)) = ask_for(&mut actor, now.clone()).await else { panic!("it was not compacted") };
    assert_eq!((done.messages_before, done.messages_after, &*done.summary), (2, 1, "the gist"));
    // Also once it is read back: the summary alone is what the next turn begins with.
    ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Model("m2".into())))).await.unwrap();
    assert_eq!(&*ask_for(&mut actor, now).await.unwrap_err().message, "Already compacted");
    actor.forget();
    actor.prompt("more").await;
    settled(&mut actor).await;
    let Ok(Reply::Slash(undone)) = ask_for(&mut actor, slash("undo", "5")).await else { panic!("no undo") };
    assert!(slash_text(&undone).starts_with("took back 2 message(s)"), "{}", slash_text(&undone));
    let Ok(Reply::Slash(context)) = ask_for(&mut actor, slash("status", "")).await else { panic!("no status") };
    assert!(slash_text(&context).contains("messages  1"), "{}", slash_text(&context));
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_answers_it() {
    let (stage, mut actor) = busy(vec![held("w")]).await;
    let tag = actor.send(later()).await;
    actor.settle().await;
    stage.engine.shutdown().await;
    assert_eq!(actor.reply(tag).await.unwrap_err().kind, FaultKind::ShuttingDown);
}

#[tokio::test(start_paused = true)]
async fn a_log_that_cannot_be_written_answers_it_and_the_session_goes_on() {
    let store = Arc::new(FaultyStore::new(Arc::new(store::MemoryStore::new())));
    let stage = {
        let call = vec![text("w"), Step::Wait(1000), call_step(0, "look", r#"{"slow":1}"#), done(Finish::ToolUse)];
        let (store, player) = (store.clone(), Player::new([say("one"), say("two"), call]));
        stage_with(&player, |options| {
            options.store = store;
            options.tune = Box::new(|settings| settings.compaction.keep_pct = 1);
        })
    };
    let mut actor = stage.open().await;
    for text in [LONG, LONG] {
        actor.prompt(text).await;
        settled(&mut actor).await;
        actor.forget();
    }
    actor.prompt("go").await;
    text_of(&mut actor, "w").await;
    let tag = actor.send(later()).await;
    actor.settle().await;
    store.fail_append(1);
    assert_eq!(actor.reply(tag).await.unwrap_err().kind, FaultKind::Store);
    actor.settle().await;
    assert!(!compacts(&order(&actor)));
    let told = turn(&mut actor, "on").await;
    assert_eq!(told.last().unwrap(), "settled");
    assert!(log(&stage).await.ends_with("assistant: ok (Stop)\nt4 ended: EndTurn, 0 rounds\n"));
}

#[tokio::test(start_paused = true)]
async fn open_tasks_are_taken_up_after_it_but_not_after_one_that_was_stopped() {
    for stopped in [false, true] {
        let summary = if stopped { held("sum") } else { say("sum") };
        let player = Player::new([say("one"), say("two"), slow_words(), summary]);
        let stage = stage_with(&player, |options| {
            options.tune = Box::new(|settings| {
                settings.compaction.keep_pct = 1;
                settings.reminders_max = 1;
            });
        });
        let mut actor = stage.open().await;
        for _ in 0..2 {
            actor.prompt(LONG).await;
            settled(&mut actor).await;
            actor.forget();
        }
        actor.prompt("go").await;
        text_of(&mut actor, "w").await;
        let task = TodoTask { id: "1".into(), content: "write".into(), status: TodoStatus::Pending, notes: None };
        let phases = vec![TodoPhase { id: "p".into(), name: "all".into(), tasks: vec![task] }];
        ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Todos(phases)))).await.unwrap();
        actor.send(later()).await;
        if stopped {
            actor.until(|event| matches!(event, Event::Compaction(CompactionEvent::Started { .. }))).await;
            actor.send(Verb::Session(SessionVerb::Interrupt { turn: None })).await;
        }
        settled(&mut actor).await;
        assert_eq!(log(&stage).await.contains("(Reminder)"), !stopped);
    }
}

// ---- another provider ---------------------------------------------------------------------------------------------

/// One turn with `m1` behind it.
async fn switching(plays: Vec<Play>, on_switch: bool) -> (Stage, Actor, Arc<Player>) {
    let player = Player::new([say("near")].into_iter().chain(plays));
    let stage = stage_with(&player, move |options| {
        options.tune = Box::new(move |settings| settings.compaction.on_switch = on_switch);
    });
    let mut actor = stage.open().await;
    turn(&mut actor, "first").await;
    (stage, actor, player)
}

/// A whole turn; what was told of it.
async fn turn(actor: &mut Actor, text: &str) -> Vec<String> {
    actor.forget();
    actor.prompt(text).await;
    settled(actor).await;
    order(actor)
}
async fn choose(actor: &mut Actor, model: &str) {
    ask_for(actor, Verb::Session(SessionVerb::Set(Change::Model(model.into())))).await.unwrap();
}
fn compacts(order: &[String]) -> bool {
    order.iter().any(|word| word.starts_with("compacting"))
}

#[tokio::test(start_paused = true)]
async fn another_providers_model_begins_with_a_summary_and_only_once() {
    let (_stage, mut actor, player) = switching(vec![say("SUM"), say("far")], true).await;
    choose(&mut actor, "far1").await;
    let told = turn(&mut actor, "second").await;
    let want = [
        "t2 started",
        "user second",
        "compacting (Switch)",
        "compacted (Switch)",
        "t2 calls",
        "reply",
        "t2 ended",
        "settled",
    ];
    assert_eq!(told, want);
    assert!(player.last_sent().ends_with("SUM | user second"), "{}", player.last_sent());
    assert!(!compacts(&turn(&mut actor, "third").await), "the last reply is its own");
    choose(&mut actor, "far2").await;
    assert!(!compacts(&turn(&mut actor, "fourth").await), "the same provider");
    choose(&mut actor, "m1").await;
    assert!(compacts(&turn(&mut actor, "fifth").await), "back again is a switch again");
}

#[tokio::test(start_paused = true)]
async fn it_is_off_unless_it_is_wanted() {
    let (_stage, mut actor, _) = switching(vec![], false).await;
    choose(&mut actor, "far1").await;
    assert!(!compacts(&turn(&mut actor, "second").await));
}

#[tokio::test(start_paused = true)]
async fn whoever_compacted_since_has_done_it() {
    let (_stage, mut actor, _) = switching(vec![say("near"), say("SUM"), say("far")], true).await;
    turn(&mut actor, "second").await;
    let policy = CompactionPolicy { keep_pct: 0, on_switch: true, ..CompactionPolicy::default() };
    ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Compaction(policy)))).await.unwrap();
    ask_for(&mut actor, Verb::Session(SessionVerb::Compact { instructions: None, wait: false })).await.unwrap();
    choose(&mut actor, "far1").await;
    // The history is read from the log again: a reply that stands behind the summary was given before it.
    assert!(!compacts(&turn(&mut actor, "third").await));
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_fails_fails_no_turn_and_is_not_tried_again_by_it() {
    let plays = vec![fail(FaultKind::Auth), fail(FaultKind::Provider), say("far")];
    let (_stage, mut actor, _) = switching(plays, true).await;
    choose(&mut actor, "far1").await;
    let told = turn(&mut actor, "second").await;
    let want = [
        "t2 started",
        "user second",
        "compacting (Switch)",
        "not compacted",
        "t2 calls",
        "t2 calls",
        "reply",
        "t2 ended",
        "settled",
    ];
    assert_eq!(told, want);
    assert!(!compacts(&turn(&mut actor, "third").await));
}

#[tokio::test(start_paused = true)]
async fn a_history_without_a_reply_is_left_as_it_is() {
    let (_stage, mut actor, _) = switching(vec![], true).await;
    actor.open(Open::new(Which::New)).await.unwrap();
    choose(&mut actor, "far1").await;
    assert!(!compacts(&turn(&mut actor, "first of all").await));
}

#[tokio::test(start_paused = true)]
async fn a_reply_belongs_to_the_model_that_was_called() {
    let (_stage, mut actor, _) = switching(vec![slow_words(), say("SUM")], true).await;
    actor.forget();
    actor.prompt("second").await;
    text_of(&mut actor, "w").await;
    // Chosen while the other one answers.
    choose(&mut actor, "far1").await;
    settled(&mut actor).await;
    assert!(compacts(&turn(&mut actor, "third").await));
}

#[tokio::test(start_paused = true)]
async fn a_model_chosen_in_a_turn_gives_the_replies_after_that() {
    let (_stage, mut actor, _) =
        switching(vec![calls(&[("look", r#"{"slow":1}"#)]), say("SUM"), say("far")], true).await;
    actor.forget();
    actor.prompt("second").await;
    actor.until(|event| matches!(event, Event::Delta(Delta::CallProgress { .. }))).await;
    choose(&mut actor, "far1").await;
    settled(&mut actor).await;
    assert!(compacts(&order(&actor)), "in the middle of the turn");
    assert!(!compacts(&turn(&mut actor, "third").await), "the last reply is its own");
}

#[tokio::test(start_paused = true)]
async fn a_model_that_nobody_knows_any_more_is_another_providers() {
    let (stage, actor, player) = switching(vec![say("SUM")], true).await;
    drop(actor);
    stage.engine.shutdown().await;
    let store = stage.store.clone();
    let (near, far) = (tour::model("m1", 1000), tour::model("new", 1000));
    let again = stage_with(&player, move |options| {
        options.store = store;
        options.model = "new".into();
        options.provider = Arc::new(Renamed { inner: options.provider.clone(), models: vec![far], plays: near });
        options.tune = Box::new(|settings| settings.compaction.on_switch = true);
    });
    let mut actor = again.actor();
    let mut open = Open::new(Which::Id("s1".into()));
    open.model = Some("new".into());
    actor.open(open).await.unwrap();
    assert!(compacts(&turn(&mut actor, "second").await));
}
