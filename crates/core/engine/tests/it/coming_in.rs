//! Coming in with a position while things go on: what a peer is told first, and what it is not told twice.

use std::sync::Arc;

use store::MemoryStore;
use testkit::Stage;
use testkit::fakes::CountedIds;
use testkit::faulty::FaultyStore;
use testkit::stage::Actor;
use vocab::*;

use crate::continuing::{cut_off, faulty, on, on_with, resume};
use crate::recovery::life;
use crate::support::*;

fn after(at: Position) -> Open {
    let after = Some(Cursor { session: Some("s1".into()), at, along: Along::Branch });
    Open { after, ..Open::new(Which::Named("s1".into())) }
}

/// A session with a turn behind it, in a store that takes its time to read.
async fn slow_stage(plays: impl IntoIterator<Item = Play>) -> (Stage, Arc<FaultyStore>, Actor) {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let kept = store.clone();
    let stage = stage_with(&Player::new(plays), |options| options.store = kept);
    let mut first = stage.open().await;
    first.prompt("one").await;
    first.turn_end().await;
    first.settle().await;
    store.slow_reads(300);
    (stage, store, first)
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
    let (stage, _, _first) = slow_stage([say("done"), held("word"), say("done")]).await;
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
    cut_off(&store, [held("half a word")], async |actor| {
        text_of(actor, "half a word").await;
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

#[tokio::test(start_paused = true)]
async fn a_peer_that_reads_the_past_learns_that_its_turn_is_lost() {
    let (stage, store, mut first) = slow_stage([say("done"), held("word")]).await;
    first.prompt("two").await;
    text_of(&mut first, "word").await;
    let mut second = stage.actor();
    let opened = second.open(after(Position::at(2))).await.unwrap();
    assert_eq!(opened.state.turn, Some("t2".into()), "it is told that a turn runs");
    store.fail_append(1);
    first.send(Verb::Session(SessionVerb::Set(Change::Title("x".into())))).await;
    let is_lost = |event: &Event| matches!(event, Event::TurnLost(end) if end.turn == "t2".into());
    first.until(is_lost).await;
    assert!(!second.told.iter().any(|told| matches!(told.event, Event::Live { .. })), "it still reads");
    second.until(is_lost).await;
    let at = |wanted: &dyn Fn(&Event) -> bool| second.told.iter().position(|told| wanted(&told.event));
    assert!(at(&|event| matches!(event, Event::Live { .. })) < at(&is_lost), "{:#?}", second.told);
}

#[test]
fn a_peer_that_goes_and_comes_back_meanwhile_stays() {
    let store = faulty();
    life(&store, async || {
        let mut actor = on(&store, [], "ask1").open().await;
        actor.prompt("one").await;
        actor.turn_end().await;
    });
    life(&store, async || {
        let kept = store.clone();
        let slow: FitImage = |image| {
            Box::pin(async {
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                Ok(image)
            })
        };
        let stage =
            stage_with(&Player::new([say("seen")]), |options| (options.store, options.fit_image) = (kept, slow));
        let (mut actor, _) = resume(&stage).await;
        store.slow_reads(300);
        let picture = Part::Image(Image { mime: "image/png".into(), base64: "iVBORw0KGgo=".into() });
        let prompt = SessionVerb::Prompt { parts: vec![picture], delivery: Delivery::RejectIfBusy };
        let prompt = actor.send_with(Verb::Session(prompt), |command| command.key = Some("k".into())).await;
        let leave = actor.send(Verb::Leave).await;
        actor.reply(leave).await.unwrap();
        // The log is read by now, and the picture is looked at.
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        actor.forget();
        actor.open(Open::new(Which::Named("s1".into()))).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        actor.settle().await;
        let list = ask_for(&mut actor, Verb::Session(SessionVerb::Queue(QueueVerb::List))).await;
        assert_eq!(list, Ok(Reply::Queue(Vec::new())), "it is on the session: {:#?}", actor.told);
        assert!(replies(&actor).contains(&prompt));
    });
}

/// The router answers a leaving, and the session an opening: whoever leaves before it was let in hears of the one first. What
/// it had asked for before is done, and told until the session comes to the leaving; of the rest it is told nothing.
#[test]
fn who_leaves_before_its_opening_is_answered_may_hear_a_turn_begin_and_never_end() {
    let store = faulty();
    life(&store, async || {
        let mut actor = on(&store, [], "ask1").open().await;
        actor.prompt("one").await;
        actor.turn_end().await;
    });
    life(&store, async || {
        let (kept, ids) = (store.clone(), CountedIds::behind(1));
        let stage = stage_with(&Player::new([say("seen")]), |options| (options.store, options.ids) = (kept, ids));
        let mut actor = stage.actor();
        // What it has is looked at, then it reads the past; meanwhile the prompt waits for the log to be read for the model.
        let moment = || tokio::time::sleep(std::time::Duration::from_millis(10));
        store.slow_reads(100);
        let open = actor.send(Verb::Open(after(Position::at(2)))).await;
        moment().await;
        store.slow_reads(1000);
        let prompt = actor.prompt("two").await;
        let leave = actor.send(Verb::Leave).await;
        moment().await;
        store.slow_reads(100);
        assert_eq!(actor.reply(prompt).await, Ok(Reply::Started { turn: "t2".into() }));
        actor.settle().await;
        let (late, fault) = (actor.prompt("three").await, FaultKind::UnknownSession);
        assert_eq!(actor.reply(late).await.map_err(|it| it.kind), Err(fault), "it is on no session");
        tokio::time::sleep(std::time::Duration::from_secs(5)).await;
        actor.settle().await;
        assert_eq!(replies(&actor), [leave, open, prompt, late], "{:#?}", actor.told);
        let turn = |told: &Told| match &told.event {
            Event::Live { .. } => Some("live".to_owned()),
            Event::Logged(entry) if matches!(entry.body, Body::Turn(_)) => Some(line(&entry.body)),
            _ => None,
        };
        let turns: Vec<_> = actor.told.iter().filter_map(turn).collect();
        assert_eq!(turns.last().map(String::as_str), Some("t2 started"), "{turns:?}");
        assert!(turns.contains(&"live".to_owned()), "{turns:?}");
        let log = log(&stage).await;
        assert!(log.ends_with("t2 ended: EndTurn, 0 rounds\n"), "the turn is over, and whoever is there knows: {log}");
    });
}
