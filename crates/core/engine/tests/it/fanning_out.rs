//! One event for many peers: one text, and one encoding for all who speak alike.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;

use testkit::stage::Actor;
use vocab::*;

use crate::support::*;

const PEERS: usize = 100;
const WORDS: usize = 50;

fn texts(actor: &Actor) -> Vec<&Told> {
    actor.told.iter().filter(|told| matches!(told.event, Event::Delta(Delta::Text { .. }))).collect()
}

fn play() -> Play {
    (0..WORDS).map(|_| text("word ")).chain([done(Finish::Stop)]).collect()
}

#[tokio::test(start_paused = true)]
async fn what_a_hundred_are_told_is_one_text_and_encoded_once() {
    let stage = stage(&Player::new([play()]));
    let mut actors = vec![stage.open().await];
    for number in 1..PEERS {
        let mut actor = stage.actor();
        // Some are on it, the others watch.
        if number % 2 == 0 {
            actor.open(Open::new(Which::Named("s1".into()))).await.unwrap();
        } else {
            let all = Verb::Watch { sessions: Watched::All, level: Level::Deltas };
            ask_for(&mut actor, all).await.unwrap();
        }
        actor.forget();
        actors.push(actor);
    }
    actors[0].prompt("go").await;
    for actor in &mut actors {
        actor.settle().await;
    }
    // Two ways to encode, such as two dialects, or one with other state.
    let made = Cell::new(0);
    let mut frames: HashSet<*const u8> = HashSet::new();
    let mut words: HashSet<*const u8> = HashSet::new();
    let mut kept: Vec<Arc<[u8]>> = Vec::new();
    for (number, actor) in actors.iter().enumerate() {
        let told = texts(actor);
        assert_eq!(told.len(), WORDS, "peer {number}");
        for told in told {
            let bytes = told.encoded(EncodingId(number as u64 % 2), |told, into| {
                made.set(made.get() + 1);
                into.extend_from_slice(format!("{} {:?}", told.at.offset, told.event).as_bytes());
            });
            let Event::Delta(Delta::Text { delta, .. }) = &told.event else { unreachable!() };
            words.insert(delta.as_ptr());
            frames.insert(bytes.as_ptr());
            kept.push(bytes);
        }
    }
    assert_eq!(kept.len(), PEERS * WORDS);
    assert_eq!(made.get(), 2 * WORDS, "once for each event and encoding");
    assert_eq!(frames.len(), 2 * WORDS, "and the bytes are shared");
    assert_eq!(words.len(), WORDS, "each word is in memory once, whoever was told it");
}

#[tokio::test(start_paused = true)]
async fn the_only_peer_pays_for_nothing_that_is_shared() {
    let stage = stage(&Player::new([play()]));
    let mut only = stage.open().await;
    only.prompt("go").await;
    only.turn_end().await;
    assert_eq!(texts(&only).len(), WORDS);
    assert!(only.told.iter().all(|told| told.shared.is_none()));
}
