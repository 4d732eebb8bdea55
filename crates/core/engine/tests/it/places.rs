//! Messages that wait because as many turns run as may.

use std::sync::Arc;

use testkit::Stage;
use testkit::fakes::TickingClock;
use testkit::stage::Actor;
use vocab::*;

use crate::budgets::{budget, looks};
use crate::support::*;

fn slow(word: &str) -> Play {
    vec![text(word), Step::Wait(10_000), done(Finish::Stop)]
}

/// Room for one turn, and a session for each play whose message came in this order.
async fn line(plays: Vec<Play>, ids: &[&str]) -> (Stage, Vec<Actor>) {
    let clock = Arc::<TickingClock>::default();
    let stage = stage_with(&Player::new(plays), |options| {
        options.turns_max = Some(1);
        options.clock = clock.clone();
    });
    let mut actors = Vec::new();
    for id in ids {
        // Whatever somebody does to the clock on the wall.
        clock.jump(-3_600_000);
        let mut actor = stage.actor();
        actor.open(Open::new(Which::Named((*id).into()))).await.unwrap();
        let tag = actor.deliver("go", Delivery::Policy).await;
        let reply = actor.reply(tag).await.unwrap();
        assert_eq!(matches!(reply, Reply::Started { .. }), actors.is_empty(), "{id}: {reply:?}");
        actors.push(actor);
    }
    (stage, actors)
}

#[tokio::test(start_paused = true)]
async fn a_message_waits_in_the_log_until_its_turn_can_run_and_the_first_in_line_is_next() {
    let began = tokio::time::Instant::now();
    let (stage, mut actors) = line(vec![slow("a"), slow("b"), slow("c")], &["s1", "s2", "s3"]).await;
    assert_eq!(log_of(&stage, "s2").await, "opened m1 danger-full-access\n  item2 waits (Policy): go\n");
    for (actor, seconds) in actors.iter_mut().zip([10, 20, 30]) {
        assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
        assert_eq!(began.elapsed().as_secs(), seconds);
    }
    assert_eq!(actors.iter().map(Actor::text).collect::<String>(), "abc");
}

/// What the actor's next turn said, and the seconds after which it was over.
async fn next_turn(actor: &mut Actor, began: tokio::time::Instant) -> (String, u64) {
    actor.turn_end().await;
    let said = actor.text();
    actor.forget();
    (said, began.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn a_lane_that_goes_on_stands_in_line_behind_the_others() {
    let began = tokio::time::Instant::now();
    let (_stage, mut actors) = line(vec![slow("a"), slow("b"), slow("c")], &["s1", "s2"]).await;
    actors[0].deliver("more", Delivery::Policy).await;
    for (at, word, seconds) in [(0, "a", 10), (1, "b", 20), (0, "c", 30)] {
        assert_eq!(next_turn(&mut actors[at], began).await, (word.into(), seconds));
    }
}

/// Its sender is gone, and nothing else keeps the session in memory.
#[tokio::test(start_paused = true)]
async fn what_waits_for_a_place_keeps_its_session() {
    let (stage, mut actors) = line(vec![slow("a"), slow("b")], &["s1", "s2"]).await;
    drop(actors.pop());
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    let log = log_of(&stage, "s2").await;
    assert!(log.ends_with("assistant: b (Stop)\nt2 ended: EndTurn, 0 rounds\n"), "{log}");
}

/// A dialect without a queue was promised its turn at once: the turn waits, and has the place that a message was in line for.
#[tokio::test(start_paused = true)]
async fn a_turn_that_was_promised_takes_over_the_place_in_line() {
    let began = tokio::time::Instant::now();
    let (_stage, mut actors) = line(vec![slow("a"), slow("b"), slow("c"), slow("d")], &["s1", "s2", "s3"]).await;
    let tag = actors[1].prompt("now").await;
    assert!(matches!(actors[1].reply(tag).await.unwrap(), Reply::Started { .. }));
    for (at, word, seconds) in [(0, "a", 10), (1, "b", 20), (2, "c", 30), (1, "d", 40)] {
        assert_eq!(next_turn(&mut actors[at], began).await, (word.into(), seconds));
    }
}

/// Two sessions with room for one turn: the first asks somebody something, and the second runs meanwhile. The first gets its
/// answer while the second still runs, and goes on behind it.
async fn asks_beside_another(
    plays: [Play; 3],
    settings: fn(&mut Settings),
    wishes: fn(&mut Open),
    answer: Answer,
    not_yet: &str,
) {
    let stage = stage_with(&Player::new(plays), |options| {
        options.turns_max = Some(1);
        options.tune = Box::new(settings);
    });
    let began = tokio::time::Instant::now();
    let mut asking = stage.actor();
    let mut open = Open::new(Which::Named("s1".into()));
    wishes(&mut open);
    asking.open(open).await.unwrap();
    asking.deliver("go", Delivery::Policy).await;
    let ask = asking.ask().await;
    let mut other = stage.actor();
    other.open(Open::new(Which::Named("s2".into()))).await.unwrap();
    let tag = other.deliver("go", Delivery::Policy).await;
    assert!(matches!(other.reply(tag).await.unwrap(), Reply::Started { .. }), "whoever asks keeps no place");
    ask_for(&mut asking, Verb::Session(SessionVerb::Answer { ask: ask.id, answer })).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let log = log_of(&stage, "s1").await;
    assert!(!log.contains(not_yet), "it waits for its place: {log}");
    other.turn_end().await;
    assert_eq!(next_turn(&mut asking, began).await, ("done".into(), 10));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_asks_a_person_leaves_its_place_and_runs_the_tool_when_it_has_one_again() {
    let plays = [calls(&[("danger", "{}")]), slow("b"), say("done")];
    asks_beside_another(plays, |_| {}, |open| open.mode = Some(Mode::Prompt), Answer::Allow(Scope::Once), "Ran").await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_whose_call_a_controller_runs_leaves_its_place() {
    let plays = [calls(&[("lamp", "{}")]), slow("b"), say("done")];
    let brings_lamp = |open: &mut Open| open.abilities.tools = Some(vec![crate::abilities::lamp()]);
    let lit = Answer::Result { parts: vec![Part::text("lit")], is_error: false, details: None };
    asks_beside_another(plays, |_| {}, brings_lamp, lit, "assistant: done").await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_asks_for_more_to_spend_leaves_its_place() {
    let plays = [looks(120), slow("b"), say("done")];
    let poor = |settings: &mut Settings| settings.budget = budget(&["turn.tokens=100"]);
    asks_beside_another(plays, poor, |_| {}, Answer::Allow(Scope::Once), "assistant: done").await;
}

/// As many questions as there are places stop nobody, and each goes on when it is answered.
#[tokio::test(start_paused = true)]
async fn open_questions_stop_nobody() {
    let mut plays: Vec<Play> = (0..5).map(|_| calls(&[("danger", "{}")])).collect();
    plays.extend((0..6).map(|_| say("done")));
    let stage = stage_with(&Player::new(plays), |options| options.turns_max = Some(2));
    let mut asking = Vec::new();
    for at in 0..5 {
        let mut actor = stage.actor();
        let open = Open { mode: Some(Mode::Prompt), ..Open::new(Which::Named(format!("s{at}").into())) };
        actor.open(open).await.unwrap();
        actor.deliver("go", Delivery::Policy).await;
        let ask = actor.ask().await;
        asking.push((actor, ask));
    }
    let mut free = stage.actor();
    free.open(Open::new(Which::Named("free".into()))).await.unwrap();
    free.deliver("go", Delivery::Policy).await;
    free.turn_end().await;
    for (actor, ask) in &mut asking {
        let answer = SessionVerb::Answer { ask: ask.id.clone(), answer: Answer::Allow(Scope::Once) };
        ask_for(actor, Verb::Session(answer)).await.unwrap();
    }
    for (actor, _) in &mut asking {
        assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
    }
}

/// Sessions are taken up in whatever order, as several are at once; the turn that was cut off goes on first, and then who has
/// waited longest.
#[tokio::test(start_paused = true)]
async fn what_waited_when_a_process_ended_is_in_line_again_in_its_order() {
    let keep = |settings: &mut Settings| settings.on_restart = OnRestart::Continue;
    let ids = ["s1", "s2", "s3", "s4", "s5"];
    let clock = Arc::<TickingClock>::default();
    let first = stage_with(&Player::new([vec![text("w"), Step::Wait(1_000_000)]]), |options| {
        options.clock = clock.clone();
        options.turns_max = Some(1);
        options.tune = Box::new(keep);
    });
    for id in ids {
        let mut actor = first.actor();
        actor.open(Open::new(Which::Named(id.into()))).await.unwrap();
        let tag = actor.deliver("go", Delivery::Policy).await;
        actor.reply(tag).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
    first.engine.shutdown().await;
    clock.jump(-3_600_000);
    let store = first.store.clone();
    let next = stage_with(&Player::new(["a", "b", "c", "d", "e", "f"].map(slow)), |options| {
        options.turns_max = Some(1);
        options.store = store;
        options.clock = clock;
        options.tune = Box::new(keep);
    });
    let held = next.engine.hold_turns();
    // Whoever comes first now came last.
    let mut late = next.actor();
    late.open(Open::new(Which::Named("s6".into()))).await.unwrap();
    let tag = late.deliver("go", Delivery::Policy).await;
    assert!(!matches!(late.reply(tag).await.unwrap(), Reply::Started { .. }), "nothing begins yet");
    for id in ["s4", "s2", "s5", "s1", "s3"] {
        next.engine.take_up(&id.into(), None, held.clone()).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
    drop(held);
    tokio::time::sleep(std::time::Duration::from_secs(100)).await;
    for (id, word) in ids.into_iter().chain(["s6"]).zip(["a", "b", "c", "d", "e", "f"]) {
        let log = log_of(&next, id).await;
        assert!(log.contains(&format!("assistant: {word} (Stop)")), "{id} is not {word}: {log}");
    }
}

/// A session that cannot say what waits in it keeps nobody waiting for long.
#[tokio::test(start_paused = true)]
async fn turns_are_held_for_a_time_only() {
    let stage = stage_with(&Player::new([say("a")]), |options| options.turns_max = Some(1));
    let held = stage.engine.hold_turns();
    let expiry = held.expire(std::time::Duration::from_secs(5));
    let mut actor = stage.open().await;
    actor.deliver("go", Delivery::Policy).await;
    let began = tokio::time::Instant::now();
    assert!(expiry.await, "it was still held");
    actor.turn_end().await;
    assert_eq!(began.elapsed().as_secs(), 5);
    assert!(!held.expire(std::time::Duration::ZERO).await);
}

/// Turns that ask at every step have to wait behind who came between two steps.
#[tokio::test(start_paused = true)]
async fn who_asks_again_and_again_keeps_nobody_out() {
    let mut plays: Vec<Play> = (0..2).map(|_| calls(&[("danger", "{}")])).collect();
    plays.push(slow("w"));
    plays.extend((0..2).map(|_| say("done")));
    let stage = stage_with(&Player::new(plays), |options| options.turns_max = Some(1));
    let mut asking = Vec::new();
    for id in ["s1", "s2"] {
        let mut actor = stage.actor();
        actor.open(Open { mode: Some(Mode::Prompt), ..Open::new(Which::Named(id.into())) }).await.unwrap();
        actor.deliver("go", Delivery::Policy).await;
        let ask = actor.ask().await.id;
        asking.push((actor, ask));
    }
    // The third is in line first, though it came last.
    let mut third = stage.actor();
    third.open(Open::new(Which::Named("s3".into()))).await.unwrap();
    let held = stage.engine.hold_turns();
    third.deliver("go", Delivery::Policy).await;
    third.settle().await;
    for (actor, ask) in &mut asking {
        let answer = SessionVerb::Answer { ask: ask.clone(), answer: Answer::Allow(Scope::Once) };
        ask_for(actor, Verb::Session(answer)).await.unwrap();
    }
    drop(held);
    text_of(&mut third, "w").await;
    for id in ["s1", "s2"] {
        let log = log_of(&stage, id).await;
        assert!(!log.contains("Ran"), "it began earlier, and waits since later: {log}");
    }
    for (actor, _) in &mut asking {
        actor.turn_end().await;
    }
}

/// The place in line is the message's, and goes with it.
#[tokio::test(start_paused = true)]
async fn a_later_message_of_a_lane_has_not_waited_as_long_as_the_one_before_it() {
    let began = tokio::time::Instant::now();
    let (_stage, mut actors) = line(vec![slow("a"), slow("c"), slow("b")], &["s1", "s2", "s3"]).await;
    actors[1].deliver("later", Delivery::Policy).await;
    let Ok(Reply::Queue(waiting)) = ask_for(&mut actors[1], Verb::Session(SessionVerb::Queue(QueueVerb::List))).await
    else {
        panic!("no list")
    };
    let take_back = SessionVerb::Queue(QueueVerb::TakeBack(waiting[0].id.clone()));
    ask_for(&mut actors[1], Verb::Session(take_back)).await.unwrap();
    for (at, word, seconds) in [(0, "a", 10), (2, "c", 20), (1, "b", 30)] {
        assert_eq!(next_turn(&mut actors[at], began).await, (word.into(), seconds));
    }
}

/// Room for one turn. The model of the first session's is to be asked again in four seconds; the second runs for ten meanwhile.
async fn tries_again_beside_another(last: [Play; 2]) -> (Stage, [Actor; 2]) {
    let mut later = ModelFault::new(FaultKind::RateLimited, "slow down");
    later.retry_after_ms = Some(4000);
    let [third, fourth] = last;
    let plays = [vec![Step::Event(ModelEvent::Failed(later))], slow("b"), third, fourth];
    let stage = stage_with(&Player::new(plays), |options| options.turns_max = Some(1));
    let mut actors = [stage.actor(), stage.actor()];
    for (actor, id) in actors.iter_mut().zip(["s1", "s2"]) {
        actor.open(Open::new(Which::Named(id.into()))).await.unwrap();
        let tag = actor.deliver("go", Delivery::Policy).await;
        let reply = actor.reply(tag).await.unwrap();
        assert!(matches!(reply, Reply::Started { .. }), "who waits to try again keeps no place: {id} {reply:?}");
        if id == "s1" {
            actor.until(|event| matches!(event, Event::Logged(entry) if matches!(entry.body, Body::Model(_)))).await;
            actor.settle().await;
        }
    }
    (stage, actors)
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_waits_to_try_again_leaves_its_place_and_is_in_line_before_who_comes_then() {
    let began = tokio::time::Instant::now();
    let (stage, [mut first, mut second]) = tries_again_beside_another([slow("a"), slow("c")]).await;
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let mut third = stage.actor();
    third.open(Open::new(Which::Named("s3".into()))).await.unwrap();
    third.deliver("go", Delivery::Policy).await;
    first.settle().await;
    let has_begun = |event: &Event| matches!(event, Event::Retry(RetryEvent::Started { .. }));
    assert!(!first.told.iter().any(|told| has_begun(&told.event)), "nobody is told of a try that is none yet");
    assert_eq!(next_turn(&mut second, began).await, ("b".into(), 10));
    assert_eq!(next_turn(&mut first, began).await, ("a".into(), 20));
    assert_eq!(next_turn(&mut third, began).await, ("c".into(), 30));
}

#[tokio::test(start_paused = true)]
async fn who_wants_no_other_try_need_not_wait_until_it_has_a_place() {
    let (_stage, [mut first, mut second]) = tries_again_beside_another([say("c"), say("d")]).await;
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let began = tokio::time::Instant::now();
    ask_for(&mut first, Verb::Session(SessionVerb::AbortRetry)).await.unwrap();
    assert_eq!((first.turn_end().await.stop, began.elapsed().as_secs()), (Stop::Error, 0));
    assert_eq!(second.turn_end().await.stop, Stop::EndTurn);
}
