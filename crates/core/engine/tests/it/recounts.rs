//! A run told once more: by its turn and by its key, however long ago it was, and with what is told before the answer.

use std::sync::Arc;

use store::MemoryStore;
use testkit::faulty::FaultyStore;
use testkit::stage::Actor;
use vocab::*;

use crate::support::*;

fn recount(of: RunRef) -> Verb {
    Verb::Session(SessionVerb::Recount { of })
}

async fn run(actor: &mut Actor, of: RunRef) -> Recounted {
    match ask_for(actor, recount(of)).await.unwrap() {
        Reply::Recounted(run) => *run,
        other => panic!("{other:?}"),
    }
}

fn by_key() -> RunRef {
    RunRef::Key("k".into())
}

fn keyed_prompt(text: &str) -> Verb {
    Verb::Session(SessionVerb::Prompt { parts: vec![Part::text(text)], delivery: Delivery::Enqueue })
}

#[tokio::test(start_paused = true)]
async fn a_run_is_told_again_by_its_turn_and_by_its_key() {
    let player = Player::new([vec![text("w"), Step::Wait(1000), text("x"), done(Finish::Stop)], say("second")]);
    let stage = stage(&player);
    let mut actor = stage.open().await;
    let nothing = ask_for(&mut actor, recount(by_key())).await;
    assert_eq!(nothing.unwrap_err().kind, FaultKind::NotFound, "of a session that is not written yet");
    actor.prompt("first").await;
    text_of(&mut actor, "w").await;
    let tag = actor.send_with(keyed_prompt("keyed"), |command| command.key = Some("k".into())).await;
    let waiting = actor.reply(tag).await.unwrap();
    let before = run(&mut actor, by_key()).await;
    assert_eq!((before.turn, before.item, before.ended), (None, Some("item2".into()), false));
    let first = run(&mut actor, RunRef::Turn("t1".into())).await;
    assert!(!first.ended && first.entries.len() >= 2);
    actor.until(|event| matches!(event, Event::Logged(entry) if line(&entry.body).starts_with("t2 ended"))).await;
    let after = run(&mut actor, by_key()).await;
    assert_eq!((after.turn, after.ended), (Some("t2".into()), true));
    let lines: Vec<String> = after.entries.iter().map(|entry| line(&entry.body)).collect();
    assert_eq!((&*lines[0], &**lines.last().unwrap()), ("t2 started", "t2 ended: EndTurn, 0 rounds"));
    let again = run(&mut actor, RunRef::Turn("t1".into())).await;
    assert_eq!((again.turn, again.ended), (Some("t1".into()), true), "also when another one has begun since");
    let tag = actor.send_with(keyed_prompt("keyed"), |command| command.key = Some("k".into())).await;
    assert_eq!(actor.reply(tag).await.unwrap(), Reply::Again(Box::new(waiting)), "a repeat is said to be one");
    let unknown = ask_for(&mut actor, recount(RunRef::Turn("t9".into()))).await;
    assert_eq!(unknown.unwrap_err().kind, FaultKind::NotFound);
}

/// Whoever is told that a run goes on waits for its end: that must not have been told before.
#[tokio::test(start_paused = true)]
async fn what_is_told_before_the_answer_is_in_the_answer() {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let kept = store.clone();
    let player = Player::new([vec![text("w"), Step::Wait(200), text("x"), done(Finish::Stop)]]);
    let stage = stage_with(&player, |options| options.store = kept);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    text_of(&mut actor, "w").await;
    store.slow_reads(300);
    store.slow(vec![1000]);
    let tag = actor.send(recount(RunRef::Turn("t1".into()))).await;
    let Ok(Reply::Recounted(run)) = actor.reply(tag).await else { panic!("no run") };
    let ends = |event: &Event| matches!(event, Event::Logged(entry) if line(&entry.body).starts_with("t1 ended"));
    let was_told = actor.told.iter().any(|told| ends(&told.event));
    assert_eq!((run.ended, was_told), (true, true));
    let told: Vec<u64> = actor
        .told
        .iter()
        .filter_map(|told| match &told.event {
            Event::Logged(entry) => Some(entry.seq),
            _ => None,
        })
        .collect();
    let of_run: Vec<u64> = run.entries.iter().map(|entry| entry.seq).collect();
    assert!(told.ends_with(&of_run), "{told:?} {of_run:?}");
}

/// However long a log is, so much of it is in memory at once, and a run that was just now is found at its end.
#[tokio::test(start_paused = true)]
async fn a_long_log_is_read_in_pages_from_its_end() {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let kept = store.clone();
    let stage = stage_with(&Player::new([say("one"), say("two")]), |options| options.store = kept);
    let mut actor = stage.open().await;
    let tag = actor.send_with(keyed_prompt("first"), |command| command.key = Some("k".into())).await;
    actor.reply(tag).await.unwrap();
    actor.turn_end().await;
    for n in 0..3_000 {
        ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Title(format!("{n}").into())))).await.unwrap();
    }
    actor.forget();
    actor.prompt("second").await;
    actor.turn_end().await;
    store.reads();
    let second = run(&mut actor, RunRef::Turn("t2".into())).await;
    assert_eq!((second.ended, &*line(&second.entries[0].body)), (true, "t2 started"));
    assert_eq!(store.reads().len(), 2, "one page, and whether there is more");
    let first = run(&mut actor, by_key()).await;
    assert_eq!((first.turn, first.ended, first.entries.len() < 20), (Some("t1".into()), true, true));
    let reads = store.reads();
    assert!(reads.iter().all(|(_, limit)| *limit <= 512), "{reads:?}");
    assert!(reads.len() < 12, "{reads:?}");
}
