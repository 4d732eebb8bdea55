//! Random requests on several sessions, with the real engine, a model that obeys its prompts and a store that may fail. Whatever
//! comes of it: each request has one response, each turn one end with `ready` behind it, no number of a message repeats, and nothing
//! is said behind the end. And without an engine: events and replies that nobody would send, which break nothing.

use std::sync::Arc;

use dialect_loaf::{KeyTried, Listed, LoafAnswer};
use serde_json::{Value, json};
use store::MemoryStore;
use testkit::faulty::FaultyStore;
use testkit::odd::Dice;
use vocab::{
    Body, CompactReason, CompactionEvent, Delta, Event, Fault, FaultKind, ItemEnd, QueueEntry, QueueEvent, Reply, Stop,
    Tag, TurnEntry,
};
use wire::Parting;

use crate::play::{Cast, Play, paused};
use crate::talk::{Talk, ended, fault, inspected_at, opened, recalled, user};
use crate::tools::Simples;

const SEEDS: u64 = 120;
const STEPS: usize = 60;
const SESSIONS: &[&str] = &["s1", "s2", "s3", "nope"];

const PROMPTS: &[&str] = &[
    "say 3 words",
    "say 200 words",
    "say 700 words",
    "say one pause 300 say two",
    "say one hold",
    "hold",
    "think deep say done",
    "call quick {} then say after",
    "say a pause 100 call quick {} and call quick {} then pause 100 say b",
    "call endless {} then say never",
    "fail 400",
    "say some fail 401",
    "fail 503 1 say back",
    "fail 429",
    "fail overflow",
    "finish stop",
    "cut",
];

const COMMANDS: &[&str] = &[
    "/clear",
    "/compress",
    "/compress",
    "/history last",
    "/history chat1",
    "/history chat2",
    "/history nope",
    "/model",
    "/limits",
    "/nonsense",
    "/forgeteverything",
];

fn request(dice: &mut Dice) -> (&'static str, Value) {
    let session = *dice.pick(SESSIONS);
    let on = |more: Value| {
        let mut params = json!({ "session_id": session });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    match dice.below(30) {
        0..=6 => ("session.send", on(json!({ "text": dice.pick(PROMPTS) }))),
        7..=10 => ("session.send", on(json!({ "text": dice.pick(PROMPTS), "enqueue": true }))),
        11 => {
            ("session.send", on(json!({ "images": [{ "path": dice.pick(&["gone.png", "a.png"]) }], "enqueue": true })))
        }
        12..=14 => ("session.steer", on(json!({ "text": "say steered" }))),
        15..=18 => ("session.interrupt", on(json!({}))),
        19 => ("session.queue.clear", on(json!({}))),
        20 => ("session.queue.list", on(json!({}))),
        21 | 22 => ("session.get", on(json!({}))),
        23 => ("history.clear_session", on(json!({}))),
        24..=26 => ("command.execute", on(json!({ "raw_command": dice.pick(COMMANDS) }))),
        27 => {
            let (model, provider) = *dice.pick(&[("alpha", "openai"), ("beta", "openai"), ("gamma", "openrouter")]);
            let select = json!({ "model_id": model, "provider": provider, "thinking_level": dice.pick(&["OFF", "LOW"]),
                "compress_immediately": dice.below(2) == 0 });
            ("model.select", on(select))
        }
        28 => (*dice.pick(&["session.create", "state.get", "history.list", "tools.list"]), json!({})),
        _ => ("debug.set", json!({ "super_debug": dice.below(2) == 0 })),
    }
}

async fn play(seed: u64) {
    let mut dice = Dice(seed);
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let cast = Cast {
        window: *dice.pick(&[2_000, 8_000, 128_000]),
        toolbox: Some(Arc::new(Simples)),
        store: Some(store.clone()),
        ..Cast::default()
    };
    cast.user.fill(|given| given.image_ms = 50);
    let mut play = Play::cast(cast).await;
    for _ in 0..3 {
        play.ask("session.create", json!({})).await;
    }
    play.ask("auth.set.openrouter_key", json!({ "api_key": "k" })).await;
    if seed.is_multiple_of(3) {
        store.slow(vec![0, 20, 3]);
    }
    if seed.is_multiple_of(5) {
        store.slow_reads(30);
    }
    for _ in 0..STEPS {
        let (method, params) = request(&mut dice);
        play.put(method, params).await;
        match dice.below(12) {
            0..=4 => {}
            5..=8 => play.pass(dice.below(120) as u64).await,
            9 => drop(play.settle().await),
            10 => drop(play.wait(dice.below(3000) as u64).await),
            _ if seed % 2 == 1 && dice.below(3) == 0 => store.fail_append(1 + dice.below(4) as u64),
            _ => {}
        }
    }
    match seed % 4 {
        0 => {
            play.put("system.shutdown", json!({})).await;
            play.settle().await;
            play.wait(3000).await;
            assert!(play.ended().await, "seed {seed}");
            play.watch.answered();
        }
        1 => {
            play.settle().await;
            play.eof().await;
            let told = play.heard.iter().filter(|line| line.get("params").is_some()).count();
            assert_eq!(told, 0, "seed {seed}: {:?}", play.heard);
            play.wait(3000).await;
            assert!(play.ended().await, "seed {seed}");
            play.watch.answered();
        }
        _ => come_to_rest(&mut play, &store, seed.is_multiple_of(2)).await,
    }
}

/// Stops what runs; then every session is ready and knows what was said. What waited when a `sound` store would not have failed
/// waits on, and is seen when its session is next looked at.
async fn come_to_rest(play: &mut Play, store: &FaultyStore, sound: bool) {
    store.fail_append(0);
    for _ in 0..4 {
        for session in ["s1", "s2", "s3"] {
            play.put("session.queue.clear", json!({ "session_id": session })).await;
            play.put("session.interrupt", json!({ "session_id": session })).await;
        }
        play.wait(5000).await;
    }
    play.watch.at_rest();
    for session in ["s1", "s2", "s3"] {
        play.ask("session.get", json!({ "session_id": session })).await;
        let Some(state) = play.heard.iter().find_map(|line| line.get("result")) else { continue };
        assert_eq!((&state["statusLabel"], &state["pending"]), (&json!("ready"), &json!(false)), "{state}");
        assert!(!sound || state["queue"] == json!([]), "{state}");
        assert_eq!(state["pendingSteerCount"], 0, "{state}");
        let ids: Vec<u64> = state["messages"].as_array().unwrap().iter().map(|it| it["id"].as_u64().unwrap()).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
        play.ask("session.send", json!({ "session_id": session, "text": "say alive" })).await;
    }
    play.watch.answered();
    if sound {
        play.watch.at_rest();
    }
}

#[test]
fn whatever_is_asked_in_whatever_order_everybody_is_answered_and_every_turn_ends_once() {
    for seed in 0..SEEDS {
        // A panic inside says nothing of its seed.
        let told = std::panic::catch_unwind(|| paused(play(seed)));
        assert!(told.is_ok(), "it was seed {seed}");
    }
}

// ---- without an engine ------------------------------------------------------------------------------------------

const CHATS: &[&str] = &["c1", "c2", "c3"];
const TURNS: &[&str] = &["e1", "e2"];

fn reply(dice: &mut Dice) -> Result<Reply, Fault> {
    match dice.below(10) {
        0 => Ok(Reply::Done),
        1 => Ok(opened(dice.pick::<&str>(CHATS))),
        2 | 3 => Ok(Reply::Started { turn: (*dice.pick(TURNS)).into() }),
        4 => Ok(Reply::Waiting { item: "i1".into(), position: 1 }),
        5 => Ok(inspected_at(dice.pick::<&str>(CHATS), dice.below(3) as u64)),
        6 => Ok(recalled(dice.pick::<&str>(CHATS), vec![user("e1", "x")])),
        7 => Ok(Reply::Queue(vec![])),
        8 => Ok(Reply::Forked { session: (*dice.pick(CHATS)).into(), text: String::new() }),
        _ => fault(*dice.pick(&[
            FaultKind::Internal,
            FaultKind::UnknownModel,
            FaultKind::NothingToDo,
            FaultKind::Invalid,
        ])),
    }
}

fn answer(dice: &mut Dice) -> Result<LoafAnswer, Fault> {
    match dice.below(6) {
        0 | 1 => Ok(LoafAnswer::Done),
        2 => Ok(LoafAnswer::KeySet(KeyTried { models: 1, listed: Listed::Cache })),
        3 => Ok(LoafAnswer::Limits(Box::default())),
        4 => Ok(LoafAnswer::Skills(Box::default())),
        _ => Err(Fault::new(*dice.pick(&[FaultKind::Auth, FaultKind::Invalid]), "no")),
    }
}

fn event(dice: &mut Dice) -> Event {
    let turn = *dice.pick(TURNS);
    let logged = |body| Event::Logged(Arc::new(vocab::Entry { seq: 1, parent: 0, at_ms: 0, body, by: None }));
    match dice.below(12) {
        0 => logged(Body::Turn(TurnEntry::Started { turn: turn.into() })),
        1 => logged(user(turn, "x")),
        2 => logged(Body::Turn(TurnEntry::Ended(ended(
            turn,
            *dice.pick(&[Stop::EndTurn, Stop::Error, Stop::Interrupted]),
        )))),
        3 => logged(Body::Queue(QueueEntry::Settled { item: "i1".into(), end: ItemEnd::Consumed, why: None })),
        4 => Event::Delta(Delta::ModelCalled { turn: turn.into(), reply: 0 }),
        5 => Event::Delta(Delta::Text { turn: turn.into(), delta: "w".into() }),
        6 => Event::Delta(Delta::Thinking { turn: turn.into(), delta: "**t".into() }),
        7 => Event::Compaction(CompactionEvent::Started { reason: CompactReason::Manual }),
        8 => Event::Compaction(CompactionEvent::Failed {
            reason: CompactReason::Manual,
            fault: Fault::new(FaultKind::Cancelled, "x"),
        }),
        9 => Event::TurnLost(ended(turn, Stop::Error)),
        10 => Event::Queue(QueueEvent::Ended {
            tag: Tag(1),
            item: "i1".into(),
            end: ItemEnd::Dropped,
            why: vocab::SettleReason::Ran,
            turn: None,
            lane: None,
        }),
        _ if dice.below(10) == 0 => Event::Gone { fault: Fault::new(FaultKind::Store, "gone") },
        _ => Event::Settled,
    }
}

#[test]
fn no_order_of_events_panics_or_hangs() {
    let mut ends = 0;
    for seed in 0..1000 {
        let mut dice = Dice(seed);
        let mut talk = Talk::on(2);
        talk.strict = false;
        for _ in 0..60 {
            if talk.out.close.is_some() {
                break;
            }
            match dice.below(20) {
                0..8 => {
                    let (method, params) = request(&mut dice);
                    talk.ask(method, &params.to_string());
                }
                8..13 if !talk.open.is_empty() => {
                    let command = talk.open.remove(dice.below(talk.open.len()));
                    talk.reply_tag(command.tag, reply(&mut dice));
                }
                13 if dice.below(12) == 0 => {
                    let ends = [Parting::Eof, Parting::Deaf, Parting::Asked { by: "sighup" }, Parting::GraceOver];
                    talk.part(*dice.pick(&ends));
                }
                14..16 if !talk.own.is_empty() => drop(talk.answer(answer(&mut dice))),
                _ => drop(talk.tell(dice.pick::<&str>(CHATS), event(&mut dice))),
            }
        }
        ends += usize::from(talk.out.close.is_some());
        talk.part(Parting::GraceOver);
        assert!(talk.out.close.is_some(), "seed {seed}:\n{}", talk.log);
    }
    assert!(ends > 30, "only {ends} conversations ended by themselves");
}
