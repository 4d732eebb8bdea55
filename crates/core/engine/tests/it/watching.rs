//! Watching sessions without being on them.

use std::sync::Arc;

use testkit::Stage;
use testkit::stage::Actor;
use vocab::*;

use crate::continuing::{cut_off, faulty, on};
use crate::recovery::life;
use crate::support::*;

async fn watch(stage: &Stage, sessions: Watched, level: Level) -> Actor {
    let mut watcher = stage.actor();
    ask_for(&mut watcher, Verb::Watch { sessions, level }).await.unwrap();
    watcher
}

/// How the session stands, as the watcher was told last.
fn stands(watcher: &Actor, session: &str) -> Option<Glance> {
    watcher.told.iter().rev().find_map(|told| match &told.event {
        Event::Watch(WatchEvent::Stands(glance)) if told.session.as_str() == session => Some((**glance).clone()),
        _ => None,
    })
}

fn has_ended(watcher: &Actor, session: &str) -> bool {
    let ended = |told: &Told| told.session.as_str() == session && told.event == Event::Watch(WatchEvent::Ended);
    watcher.told.iter().any(ended)
}

#[tokio::test(start_paused = true)]
async fn who_watches_all_is_told_how_each_session_stands_also_of_those_to_come() {
    let plays = [calls(&[("change", "{}")]), say("done"), held("on")];
    let stage = stage_with(&Player::new(plays), |options| options.mode = Mode::Prompt);
    let mut first = stage.open().await;
    let mut watcher = watch(&stage, Watched::All, Level::Summaries).await;
    watcher.settle().await;
    let glance = stands(&watcher, "s1").expect("it is there already");
    assert_eq!((glance.turn, glance.asks, glance.peers, &*glance.model), (None, 0, 1, "m1"));
    first.prompt("go").await;
    let ask = first.ask().await.id;
    watcher.settle().await;
    let glance = stands(&watcher, "s1").unwrap();
    assert_eq!((glance.turn, glance.asks), (Some("t1".into()), 1));
    ask_for(&mut first, Verb::Session(SessionVerb::Answer { ask, answer: Answer::Allow(Scope::Once) })).await.unwrap();
    first.turn_end().await;
    ask_for(&mut first, Verb::Session(SessionVerb::Set(Change::Title("named".into())))).await.unwrap();
    watcher.settle().await;
    let glance = stands(&watcher, "s1").unwrap();
    assert_eq!((glance.turn.clone(), glance.asks, glance.title.as_deref()), (None, 0, Some("named")));
    assert!(glance.usage.output > 0 && glance.last_seq > 5, "{glance:?}");
    // A new one appears by itself, and one that goes is said to be gone.
    let mut second = stage.open().await;
    second.prompt("go").await;
    text_of(&mut second, "on").await;
    drop(first);
    watcher.settle().await;
    assert!(stands(&watcher, "s2").unwrap().turn.is_some());
    assert!(has_ended(&watcher, "s1") && !has_ended(&watcher, "s2"));
    let only = |told: &Told| matches!(told.event, Event::Watch(_) | Event::Reply { .. });
    assert!(watcher.told.iter().all(only), "summaries only: {:#?}", watcher.told);
    watcher.forget();
    ask_for(&mut watcher, Verb::Unwatch).await.unwrap();
    let _third = stage.open().await;
    watcher.settle().await;
    assert_eq!(watcher.told.len(), 1, "only the answer: {:#?}", watcher.told);
}

#[tokio::test(start_paused = true)]
async fn a_level_is_what_is_told_and_ids_are_what_is_watched() {
    let stage = stage(&Player::new([]));
    let mut one = stage.open().await;
    let mut two = stage.open().await;
    let ids = || Watched::Ids(vec!["s2".into(), "not-here".into()]);
    let mut entries = watch(&stage, ids(), Level::Entries).await;
    let mut deltas = watch(&stage, ids(), Level::Deltas).await;
    for actor in [&mut one, &mut two] {
        actor.prompt("go").await;
        actor.turn_end().await;
        actor.settle().await;
    }
    for watcher in [&mut entries, &mut deltas] {
        watcher.settle().await;
        assert!(watcher.told.iter().all(|told| matches!(told.session.as_str(), "s2" | "")), "{:#?}", watcher.told);
        let seqs = |actor: &Actor| -> Vec<(Position, u64)> {
            let seq = |told: &Told| match &told.event {
                Event::Logged(entry) => Some((told.at, entry.seq)),
                _ => None,
            };
            actor.told.iter().filter_map(seq).collect()
        };
        assert_eq!(seqs(watcher), seqs(&two), "every entry, at its position");
        assert!(stands(watcher, "s2").is_some());
    }
    assert_eq!((entries.text().as_str(), deltas.text().as_str()), ("", "ok"));
    // Whoever is on it as well hears it once.
    deltas.forget();
    deltas.open(Open::new(Which::Id("s2".into()))).await.unwrap();
    two.forget();
    two.prompt("again").await;
    two.turn_end().await;
    deltas.settle().await;
    assert_eq!(deltas.text(), "ok");
}

#[test]
fn who_watches_is_told_of_a_turn_that_goes_on_after_a_restart_before_anything_comes_of_it() {
    let store = faulty();
    cut_off(&store, [held("w")], async |actor| {
        text_of(actor, "w").await;
    });
    life(&store, async || {
        let stage = on(&store, [held("")], "ask1");
        let mut watcher = watch(&stage, Watched::All, Level::Summaries).await;
        stage.engine.take_up(&"s1".into(), None, Default::default()).await.unwrap();
        watcher.settle().await;
        let glance = stands(&watcher, "s1").expect("it runs, though nobody is on it");
        assert_eq!((glance.turn, glance.peers), (Some("t1".into()), 0));
        assert!(glance.started_ms.is_some());
    });
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_does_not_read_costs_no_session_anything() {
    /// More than is kept for a watcher.
    const WORDS: usize = 4000;
    let word = "x".repeat(1024);
    let play = (0..WORDS).map(|_| text(&word)).chain([done(Finish::Stop)]).collect();
    let stage = stage(&Player::new([play]));
    let mut all = watch(&stage, Watched::All, Level::Deltas).await;
    let mut summaries = watch(&stage, Watched::All, Level::Summaries).await;
    let mut first = stage.open().await;
    first.prompt("go").await;
    assert_eq!(first.turn_end().await.stop, Stop::EndTurn, "nobody waits for a watcher");
    for number in 0..500 {
        let title = Change::Title(number.to_string().into());
        ask_for(&mut first, Verb::Session(SessionVerb::Set(title))).await.unwrap();
    }
    first.settle().await;
    summaries.forget();
    summaries.settle().await;
    assert_eq!(summaries.told.len(), 1, "the newest of 500 and more");
    assert_eq!(stands(&summaries, "s1").unwrap().title.as_deref(), Some("499"));
    all.forget();
    all.settle().await;
    let bytes = all.text().len();
    assert!(bytes <= engine::WATCH_BYTES_MAX + 64 * 1024 && bytes > 512 * 1024, "{bytes}");
    let missed = all.told.iter().filter(|told| told.event == Event::Watch(WatchEvent::Missed)).count();
    assert_eq!(missed, 1, "and is told that there is a gap");
    // Behind it everything is told again.
    all.forget();
    first.prompt("more").await;
    text_of(&mut all, "ok").await;
}

/// A dialect without a queue has its turn started at once; the turn waits where as many run as may.
#[tokio::test(start_paused = true)]
async fn a_turn_that_has_no_place_yet_is_told_and_does_not_stall_until_it_has_one() {
    let slow = |word: &str| vec![text(word), Step::Wait(10_000), done(Finish::Stop)];
    let stage = stage_with(&Player::new([slow("a"), slow("b")]), |options| {
        options.turns_max = Some(1);
        options.tune = Box::new(|settings| Arc::make_mut(&mut settings.conduct).models_stall = true);
    });
    let (mut first, mut second) = (stage.open().await, stage.open().await);
    let mut watcher = watch(&stage, Watched::All, Level::Summaries).await;
    first.prompt("go").await;
    text_of(&mut first, "a").await;
    let tag = second.prompt("go").await;
    second.reply(tag).await.unwrap();
    watcher.settle().await;
    let how = |watcher: &Actor, session: &str| {
        let glance = stands(watcher, session).unwrap();
        (glance.turn.is_some(), glance.awaits_place, glance.can_stall)
    };
    assert_eq!((how(&watcher, "s1"), how(&watcher, "s2")), ((true, false, true), (true, true, false)));
    text_of(&mut second, "b").await;
    watcher.settle().await;
    assert_eq!((how(&watcher, "s1"), how(&watcher, "s2")), ((false, false, false), (true, false, true)));
}

/// A reply that goes on for long says so to those who count the time since something came of it.
#[tokio::test(start_paused = true)]
async fn that_a_long_reply_moves_is_told_now_and_then() {
    let mut long: Play = (0..100).flat_map(|_| [text("a"), Step::Wait(1000)]).collect();
    long.push(done(Finish::Stop));
    let stage = stage_with(&Player::new([long]), |_| {});
    let mut first = stage.open().await;
    let mut watcher = watch(&stage, Watched::All, Level::Summaries).await;
    first.prompt("go").await;
    let mut heard = 0;
    for _ in 0..10 {
        tokio::time::sleep(std::time::Duration::from_secs(8)).await;
        watcher.forget();
        watcher.settle().await;
        heard += usize::from(stands(&watcher, "s1").is_some());
    }
    assert!(heard >= 8, "{heard}");
}
