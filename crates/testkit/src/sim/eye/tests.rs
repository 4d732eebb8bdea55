//! The judge is judged: what it lets pass and what it does not.

use std::time::Duration;

use store::MemoryStore;
use tokio::runtime::Builder;
use vocab::{Along, Cursor, Delivery, Open, Part, Position, Store, Which};

use super::*;
use crate::fakes::CountedIds;
use crate::faulty::FaultyStore;
use crate::player::{Front, Player, say};
use crate::stage::{Stage, StageOptions};

const SESSION: &str = "s1";

/// A process of its own, behind so many others. Its workspace is there as long as the stage is.
fn life(store: &Arc<FaultyStore>, lives: u64, step: impl AsyncFnOnce(&Stage)) -> Stage {
    let options = StageOptions {
        provider: Arc::new(Front(Player::new([say("done")]))),
        model: "m1".into(),
        store: store.clone(),
        ids: CountedIds::behind(lives),
        ..StageOptions::default()
    };
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let stage = runtime.block_on(async {
        let stage = Stage::new(options);
        step(&stage).await;
        stage
    });
    drop(runtime);
    Builder::new_current_thread().build().unwrap().block_on(store.owner_died());
    stage
}

fn prompt() -> Verb {
    let parts = vec![Part::text("go")];
    Verb::Session(SessionVerb::Prompt { parts, delivery: Delivery::RejectIfBusy })
}

/// A peer that comes back to a session with a turn behind it, begins another one and leaves, all before it was let in; and what
/// the log has of that.
fn left_too_early() -> (Eye, Vec<Arc<Entry>>) {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let _first = life(&store, 0, async |stage| {
        let mut actor = stage.open().await;
        actor.prompt("go").await;
        actor.turn_end().await;
    });
    let mut came = None;
    let _second = life(&store, 1, async |stage| {
        let mut eye = Eye::new(1, stage.actor().peer);
        let moment = || tokio::time::sleep(Duration::from_millis(10));
        // The log is read for the model, more slowly than for the peer.
        store.slow_reads(100);
        let after = Cursor { session: None, at: Position::at(2), along: Along::Branch };
        eye.send(Verb::Open(Open { after: Some(after), ..Open::new(Which::Named(SESSION.into())) }));
        moment().await;
        store.slow_reads(1000);
        eye.send(prompt());
        eye.send(Verb::Leave);
        moment().await;
        store.slow_reads(100);
        tokio::time::sleep(Duration::from_secs(5)).await;
        eye.drain().await;
        (eye.peer, eye.saw_the_end) = (None, true);
        let log = store.read(&SESSION.into(), 0, usize::MAX).await.unwrap();
        came = Some((eye, log.entries));
    });
    came.unwrap()
}

/// Where the answer to this came among what was told.
fn answered(eye: &Eye, wanted: u64) -> usize {
    let is_it =
        |seen: &Seen| matches!(seen, Seen::Told(Told { event: Event::Reply { tag, .. }, .. }) if tag.0 == wanted);
    eye.seen.iter().position(is_it).unwrap()
}

#[test]
fn who_left_is_owed_no_end_whichever_was_answered_first() {
    let (mut eye, entries) = left_too_early();
    let (open, leave) = (answered(&eye, 1), answered(&eye, 3));
    assert!(leave < open, "the router was faster");
    assert_eq!(eye.check(&entries), Ok((0, 0, 0)));
    // As if the session had answered the leaving.
    let reply = eye.seen.remove(leave);
    eye.seen.push(reply);
    assert_eq!(eye.check(&entries), Ok((0, 0, 0)));
}

#[test]
fn who_left_and_came_back_is_owed_the_end() {
    let (mut eye, entries) = left_too_early();
    // As if the leaving had been sent before the opening.
    for seen in &mut eye.seen {
        match seen {
            Seen::Sent { tag, .. } | Seen::Told(Told { event: Event::Reply { tag, .. }, .. }) if tag.0 == 3 => {
                *tag = Tag(0)
            }
            _ => {}
        }
    }
    assert_eq!(eye.check(&entries), Err("turn t2 was told to run, and never to be over".to_owned()));
}

#[test]
fn who_was_refused_when_it_wanted_to_leave_is_owed_the_end() {
    let (mut eye, entries) = left_too_early();
    let leave = answered(&eye, 3);
    if let Seen::Told(Told { event: Event::Reply { result, .. }, .. }) = &mut eye.seen[leave] {
        *result = Err(vocab::Fault::new(FaultKind::UnknownSession, "no session is open"));
    }
    assert_eq!(eye.check(&entries), Err("turn t2 was told to run, and never to be over".to_owned()));
}
