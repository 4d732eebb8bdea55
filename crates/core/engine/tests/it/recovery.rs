//! Stores that fail, processes that die, engines that end.

use std::sync::Arc;

use expect_test::expect;
use store::MemoryStore;
use testkit::Stage;
use testkit::faulty::FaultyStore;
use testkit::stage::Actor;
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
    })
}

async fn resume(stage: &Stage) -> Actor {
    let mut actor = stage.actor();
    actor.open(Open::new(Which::Id("s1".into()))).await.unwrap();
    actor
}

/// One life of a process: whatever runs at its end dies.
pub(crate) fn life(store: &Arc<FaultyStore>, step: impl AsyncFnOnce()) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(step());
    drop(runtime);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(store.owner_died());
}

#[test]
fn after_a_crash_open_calls_get_results_before_the_next_request_and_waiting_items_come_back() {
    let store = faulty();
    life(&store, async || {
        let player = Player::new([calls(&[("look", "{}"), ("look", r#"{"slow":1}"#), ("look", "{}")])]);
        let stage = on(&store, &player);
        let mut actor = stage.open().await;
        actor.prompt("go").await;
        let running =
            |event: &Event| matches!(event, Event::Delta(Delta::CallProgress { call, .. }) if call.as_str() == "c2");
        actor.until(running).await;
        let tag = actor.deliver("later", Delivery::Enqueue).await;
        actor.reply(tag).await.unwrap();
    });
    life(&store, async || {
        let player = Player::new([]);
        let stage = on(&store, &player);
        let mut actor = resume(&stage).await;
        actor.prompt("what happened?").await;
        actor.turn_end().await;
        actor.settle().await;
        expect![[r#"
            opened m1 prompt
            t1 started
              user (Prompt): go
              assistant:  [c1 look] [c2 look] [c3 look] (ToolUse)
              c1 look starts
              c1 Ran: done
              c2 look starts
              item2 waits (Enqueue): later
              c2 Lost: no result: what came of this call is not known; it may have run: check what it did before trying again
              c3 Lost: no result: what came of this call is not known; it may have run: check what it did before trying again
            t1 ended: Error, 0 rounds, Internal: the process ended during this turn, or could not write its end
            recovered: 2 tool call(s) had no result and were closed with an error
            t1 started
              item2 Consumed
              user (Prompt): later
              item1 waits (Enqueue): what happened?
              assistant: ok (Stop)
            t1 ended: EndTurn, 0 rounds
            t2 started
              item1 Consumed
              user (Prompt): what happened?
              assistant: ok (Stop)
            t2 ended: EndTurn, 0 rounds
        "#]]
        .assert_eq(&log(&stage).await);
        expect!["m1: user go | assistant  look(c1) look(c2) look(c3) | result c1 Ran done | result c2 Lost no result: what came of this call is not known; it may have run: check what it did before trying again | result c3 Lost no result: what came of this call is not known; it may have run: check what it did before trying again | user later"].assert_eq(&player.sent.lock().unwrap()[0].0);
        stage.engine.shutdown().await;
    });
}

#[test]
fn after_a_crash_an_open_question_is_withdrawn_and_what_the_turn_cost_is_kept() {
    let store = faulty();
    life(&store, async || {
        let play = vec![used(50, 5), call_step(0, "change", "{}"), done(Finish::ToolUse)];
        let stage = on(&store, &Player::new([play]));
        let mut actor = stage.open().await;
        actor.prompt("go").await;
        actor.ask().await;
    });
    life(&store, async || {
        let stage = on(&store, &Player::new([]));
        let mut actor = resume(&stage).await;
        ask_for(&mut actor, slash("context", "")).await.unwrap();
        actor.settle().await;
        let log = log(&stage).await;
        assert!(log.contains("ask1 withdrawn") && log.contains("c1 Lost"), "{log}");
        assert_eq!(stage.store.summary(&"s1".into()).await.unwrap().unwrap().usage.input, 50);
    });
}

/// A turn with a question, a tool and an answer, whose `n`-th append fails.
async fn failing_at(n: u64) {
    let store = faulty();
    store.fail_append(n);
    let plays = [calls(&[("change", "{}"), ("look", "{}")]), say("done"), say("again")];
    let stage = on(&store, &Player::new(plays));
    let mut actor = stage.open().await;
    let tag = actor.prompt("go").await;
    let mut answered = false;
    for _ in 0..20 {
        actor.settle().await;
        let ask = actor.told.iter().find_map(|told| match &told.event {
            Event::Logged(entry) => match &entry.body {
                Body::Ask(AskEntry::Opened(ask)) => Some(ask.id.clone()),
                _ => None,
            },
            _ => None,
        });
        if let Some(ask) = ask.filter(|_| !answered) {
            answered = true;
            actor.send(Verb::Session(SessionVerb::Answer { ask, answer: Answer::Allow(Scope::Once) })).await;
        }
    }
    let refused = actor.reply(tag).await.is_err();
    let lost = actor.told.iter().any(|told| matches!(told.event, Event::TurnLost(_)));
    let ended = actor.told.iter().any(|told| {
        matches!(&told.event, Event::Logged(it) if matches!(&it.body, Body::Turn(TurnEntry::Ended(end)) if end.stop == Stop::EndTurn))
    });
    assert_eq!(u8::from(refused) + u8::from(lost) + u8::from(ended), 1, "append {n}: {refused} {lost} {ended}");
    assert!(ended || store.appends() >= n, "a turn that did not end must have met the fault");
    // What was told is what the store has.
    if let Ok(page) = stage.store.read(&"s1".into(), 0, usize::MAX).await {
        for told in &actor.told {
            if let Event::Logged(entry) = &told.event {
                assert_eq!(
                    page.entries.get(entry.seq as usize - 1).map(|it| &it.body),
                    Some(&entry.body),
                    "append {n}"
                );
            }
        }
    }
    actor.forget();
    store.fail_append(0);
    let again = actor.prompt("again").await;
    actor.reply(again).await.unwrap_or_else(|fault| panic!("append {n}: the next prompt is refused: {fault}"));
    let stop = loop {
        let end = actor
            .until(|event| matches!(event, Event::Logged(it) if matches!(it.body, Body::Turn(TurnEntry::Ended(_)))))
            .await;
        let Event::Logged(entry) = end else { panic!() };
        let Body::Turn(TurnEntry::Ended(end)) = &entry.body else { panic!() };
        if end.fault.is_none() {
            break end.stop;
        }
        // The repair of the lost turn.
        let at = actor.told.iter().position(|told| told.event == Event::Logged(entry.clone())).unwrap();
        actor.told.drain(..=at);
    };
    assert_eq!(stop, Stop::EndTurn, "append {n}");
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_at_any_append_loses_the_turn_and_nothing_else() {
    for n in 1..=20 {
        failing_at(n).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_whose_record_is_lost_is_refused_and_never_runs() {
    let store = faulty();
    let stage = on(&store, &Player::new([held("w")]));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    text_of(&mut actor, "w").await;
    store.fail_append(1);
    let tag = actor.deliver("waits", Delivery::Enqueue).await;
    assert_eq!(actor.reply(tag).await.unwrap_err().kind, FaultKind::Store);
    actor.settle().await;
    actor.prompt("next").await;
    actor.settle().await;
    let log = log(&stage).await;
    assert!(!log.contains("waits"), "{log}");
    assert!(log.contains("user (Prompt): next"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn a_compaction_that_meets_a_full_disk_is_answered_and_told_to_have_failed() {
    let store = faulty();
    let stage = {
        let (store, player) = (
            store.clone(),
            Player::new([say("one"), say("two"), vec![Step::Wait(1000), text("S"), done(Finish::Stop)]]),
        );
        stage_with(&player, |options| {
            options.store = store;
            options.tune = Box::new(|settings| settings.compaction.keep_pct = 1);
        })
    };
    let mut actor = stage.open().await;
    for _ in 0..2 {
        actor.prompt("some words").await;
        actor.turn_end().await;
        actor.forget();
    }
    store.fail_append(1);
    let tag = actor.send(Verb::Session(SessionVerb::Compact { instructions: None, wait: false })).await;
    assert_eq!(actor.reply(tag).await.unwrap_err().kind, FaultKind::Store);
    actor.until(|event| matches!(event, Event::Compaction(CompactionEvent::Failed { .. }))).await;
    actor.prompt("on").await;
    assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_the_turn_and_leaves_what_waits_for_the_next_process() {
    let store = faulty();
    let stage = on(&store, &Player::new([held("w")]));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    text_of(&mut actor, "w").await;
    let tag = actor.deliver("later", Delivery::Enqueue).await;
    actor.reply(tag).await.unwrap();
    stage.engine.shutdown().await;
    expect![[r#"
        opened m1 prompt
        t1 started
          user (Prompt): go
          item2 waits (Enqueue): later
          assistant: w (cut by an interrupt)
        t1 cut: Ending
        t1 ended: Interrupted, 0 rounds
    "#]]
    .assert_eq(&log(&stage).await);
    assert!(stage.engine.live().is_empty());
    let late = actor.prompt("too late").await;
    assert!(actor.reply(late).await.is_err());
    let next = on(&store, &Player::new([]));
    let mut actor = resume(&next).await;
    ask_for(&mut actor, slash("context", "")).await.unwrap();
    let Reply::Queue(items) = ask_for(&mut actor, Verb::Session(SessionVerb::Queue(QueueVerb::List))).await.unwrap()
    else {
        panic!()
    };
    assert_eq!(items.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_undo_does_not_make_waiting_messages_go_away() {
    let store = faulty();
    let stage = on(&store, &Player::new([]));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.turn_end().await;
    actor.deliver("later", Delivery::Steer).await;
    ask_for(&mut actor, slash("undo", "")).await.unwrap();
    stage.engine.shutdown().await;
    let next = on(&store, &Player::new([]));
    let mut actor = resume(&next).await;
    ask_for(&mut actor, slash("context", "")).await.unwrap();
    let Reply::Queue(items) = ask_for(&mut actor, Verb::Session(SessionVerb::Queue(QueueVerb::List))).await.unwrap()
    else {
        panic!()
    };
    assert_eq!(items.len(), 1);
}

/// Seed 5166: the summary was made without the prompt that was still on its way to a disk that was full.
#[tokio::test(start_paused = true)]
async fn a_compaction_waits_for_what_is_still_being_written() {
    let store = faulty();
    let full = vec![used(900, 1), text("big"), done(Finish::Stop)];
    let player = Player::new([say("one"), full]);
    let stage = {
        let store = store.clone();
        stage_with(&player, |options| options.store = store)
    };
    let mut actor = stage.open().await;
    for _ in 0..2 {
        actor.prompt("some words").await;
        actor.turn_end().await;
        actor.forget();
    }
    store.slow(vec![100]);
    store.fail_append(1);
    let calls = player.calls_made();
    let tag = actor.prompt("lost").await;
    assert_eq!(actor.reply(tag).await.unwrap_err().kind, FaultKind::Store);
    assert_eq!(player.calls_made(), calls, "the model was asked about a prompt that nobody has");
}

/// Seed 6661: a call of an earlier turn had the same id, and its result was left out as if it were still to come.
#[test]
fn an_old_lost_call_keeps_its_result_while_a_new_one_of_the_same_id_is_open() {
    let store = faulty();
    let slow = || calls(&[("look", r#"{"slow":1}"#)]);
    life(&store, async || {
        let stage = on(&store, &Player::new([say("hi"), slow()]));
        let mut actor = stage.open().await;
        // Counted ids begin anew in the next life; the lost turn is not to be the first.
        actor.prompt("hello").await;
        actor.turn_end().await;
        actor.prompt("go").await;
        actor.until(|event| matches!(event, Event::Delta(Delta::CallProgress { .. }))).await;
    });
    life(&store, async || {
        let player = Player::new([slow()]);
        let stage = on(&store, &player);
        let mut actor = resume(&stage).await;
        actor.prompt("again").await;
        actor.until(|event| matches!(event, Event::Delta(Delta::CallProgress { .. }))).await;
        ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Model("m2".into())))).await.unwrap();
        ask_for(&mut actor, slash("context", "")).await.unwrap();
        // The end of the lost turn was told before.
        actor.forget();
        actor.turn_end().await;
        let sent = player.last_sent();
        assert!(sent.contains("result c1 Lost") && sent.contains("result c1 Ran"), "{sent}");
    });
}

/// What a model says while the prompt is still being written waits in memory, so only so much of it is taken.
#[tokio::test(start_paused = true)]
async fn a_slow_disk_slows_the_model_down() {
    let store = faulty();
    store.slow(vec![1_000]);
    let mut flood: Vec<Step> = (0..100).map(|_| text(&"x".repeat(32 * 1024))).collect();
    flood.push(done(Finish::Stop));
    let stage = on(&store, &Player::new([flood]));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    actor.send(Verb::Session(SessionVerb::Interrupt { turn: None })).await;
    assert_eq!(actor.turn_end().await.stop, Stop::Interrupted);
    let said = actor.text().len();
    assert!(said > 0 && said <= engine::OUTBOX_BYTES_MAX + 32 * 1024, "{said} bytes were taken");
}
