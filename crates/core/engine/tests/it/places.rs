//! Messages that wait because as many turns run as may.

use testkit::Stage;
use testkit::stage::Actor;
use vocab::*;

use crate::support::*;

fn slow(word: &str) -> Play {
    vec![text(word), Step::Wait(10_000), done(Finish::Stop)]
}

/// Room for one turn, and a session for each play whose message came in this order.
async fn line(plays: Vec<Play>, ids: &[&str]) -> (Stage, Vec<Actor>) {
    let stage = stage_with(&Player::new(plays), |options| options.turns_max = Some(1));
    let mut actors = Vec::new();
    for id in ids {
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
