//! Coming in with a position while things go on: what a peer is told first, and what it is not told twice.

use std::sync::Arc;

use store::MemoryStore;
use testkit::Stage;
use testkit::faulty::FaultyStore;
use testkit::stage::Actor;
use vocab::*;

use crate::continuing::{faulty, on, on_with, resume};
use crate::recovery::life;
use crate::support::*;

fn after(at: Position) -> Open {
    let after = Some(Cursor { session: Some("s1".into()), at, along: Along::Branch });
    Open { after, ..Open::new(Which::Named("s1".into())) }
}

/// A session with a turn behind it, in a store that takes its time to read.
async fn slow_stage(plays: impl IntoIterator<Item = Play>) -> (Stage, Actor) {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let kept = store.clone();
    let stage = stage_with(&Player::new(plays), |options| options.store = kept);
    let mut first = stage.open().await;
    first.prompt("one").await;
    first.turn_end().await;
    first.settle().await;
    store.slow_reads(300);
    (stage, first)
}

/// The tags of replies, in the order in which they came.
fn replies(actor: &Actor) -> Vec<Tag> {
    let reply = |told: &Told| match told.event {
        Event::Reply { tag, .. } => Some(tag),
        _ => None,
    };
    actor.told.iter().filter_map(reply).collect()
}

#[tokio::test(start_paused = true)]
async fn nothing_overtakes_the_answer_to_an_opening() {
    let (stage, _first) = slow_stage([say("done"), held("word"), say("done")]).await;
    let mut second = stage.actor();
    let open = second.send(Verb::Open(after(Position::at(2)))).await;
    let shell = second.send(Verb::Session(SessionVerb::Shell { command: "quick".into(), aside: false })).await;
    let prompt = second.prompt("two").await;
    let waits = second.deliver("three", Delivery::Enqueue).await;
    let stop = second.send(Verb::Session(SessionVerb::Interrupt { turn: None })).await;
    second.reply(stop).await.unwrap();
    assert_eq!(
        second.told.first().map(|told| matches!(told.event, Event::Reply { tag, .. } if tag == open)),
        Some(true)
    );
    for tag in [shell, prompt, waits] {
        assert!(second.reply(tag).await.is_ok());
    }
    assert_eq!(replies(&second).len(), 5, "each of them once");
    let seqs: Vec<u64> = second
        .told
        .iter()
        .filter_map(|told| match &told.event {
            Event::Logged(entry) => Some(entry.seq),
            _ => None,
        })
        .collect();
    assert_eq!(seqs, (3..3 + seqs.len() as u64).collect::<Vec<_>>(), "and the past is whole");
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_comes_again_is_not_handed_its_call_twice() {
    let stage = stage(&Player::new([calls(&[("host", "{}")]), say("done")]));
    let mut actor = stage.open().await;
    let tool = HostTool {
        name: "host".into(),
        description: "host".into(),
        schema: Json::empty_object(),
        required: Required::ReadOnly,
    };
    let offer = || Verb::Session(SessionVerb::OfferTools { tools: vec![tool.clone()] });
    ask_for(&mut actor, offer()).await.unwrap();
    actor.prompt("go").await;
    let ask = actor.ask().await;
    actor.settle().await;
    let at = actor.told.last().unwrap().at;
    actor.forget();
    actor.open(after(at)).await.unwrap();
    ask_for(&mut actor, offer()).await.unwrap();
    actor.settle().await;
    let again = actor.told.iter().filter(|told| matches!(told.event, Event::Logged(_))).count();
    assert_eq!(again, 0, "{:#?}", actor.told);
    let answer = Answer::Result { parts: vec![Part::text("hosted")], is_error: false, details: None };
    ask_for(&mut actor, Verb::Session(SessionVerb::Answer { ask: ask.id, answer })).await.unwrap();
    assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
}

#[test]
fn what_a_peer_has_of_a_reply_that_died_is_not_taken_for_a_part_of_the_next_one() {
    let store = faulty();
    let at = std::cell::Cell::new(Position::default());
    life(&store, async || {
        let stage = on(&store, [held("half a word")], "ask1");
        let mut actor = stage.open().await;
        actor.prompt("go").await;
        text_of(&mut actor, "half a word").await;
        at.set(actor.told.last().unwrap().at);
    });
    assert!(at.get().offset > 10, "{at:?}");
    life(&store, async || {
        let stage = on_with(&store, &Player::new([held("something else")]), "ask2", |_| {});
        let (mut first, _) = resume(&stage).await;
        text_of(&mut first, "something else").await;
        let mut second = stage.actor();
        let opened = second.open(after(at.get())).await.unwrap();
        assert_eq!(opened.present.attached, Attached::After(Position::at(at.get().seq)), "its part of it is nothing");
        second.until(|event| matches!(event, Event::Delta(Delta::ModelCalled { .. }))).await;
        text_of(&mut second, "something else").await;
        let read = second.told.iter().find(|told| matches!(told.event, Event::Logged(_))).unwrap();
        assert_eq!(read.at.offset, 0, "who leaves in the middle of the past comes back with this: {read:?}");
        assert_eq!(second.told.last().unwrap().at, first.told.last().unwrap().at);
    });
}
