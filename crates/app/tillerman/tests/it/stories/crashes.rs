//! 24 and 30: a process that dies after any entry of the log, and a disk that fails at any write. In process; the same
//! with real processes and signals is tested elsewhere.

use std::sync::Arc;

use super::serve_teller::open_as_serve;
use store::MemoryStore;
use testkit::lossy::LossyStore;
use testkit::sim::Dice;
use testkit::stories::{Recorder, Step, Teller, read_log, shown_log};
use testkit::{Stage, StageOptions};
use vocab::{
    AskEntry, Body, CallEntry, Delivery, Delta, Durability, Entry, Event, FaultKind, NewSession, Part, QueueEntry,
    SessionVerb, Store, TurnEntry, Verb, Which,
};

use super::ServeTeller;
use crate::golden::paused;

/// Text, two calls of which one is asked for, a steer in between, and an answer.
const PROMPT: &str =
    "say looking call glob {\"pattern\":\"*\"} and call write_file {\"path\":\"x\",\"content\":\"1\"} then say done";

fn stage(store: Arc<dyn Store>) -> (Stage, Arc<Recorder>) {
    let recorder = Arc::new(Recorder::new(Arc::new(tour::Tour::default())));
    let options =
        StageOptions { provider: recorder.clone(), store, mode: vocab::Mode::Prompt, ..StageOptions::default() };
    (Stage::new(options), recorder)
}

/// The log of a whole turn, and the stage whose workspace it names.
async fn whole() -> (Stage, Vec<Arc<Entry>>) {
    let (stage, _) = stage(Arc::new(MemoryStore::new()));
    let mut actor = stage.actor();
    let session = actor.open(open_as_serve(Which::New)).await.unwrap().session;
    actor.prompt(PROMPT).await;
    for _ in 0..2 {
        let ask = actor.ask().await;
        actor.forget();
        if read_log(&stage.store, &session)
            .await
            .iter()
            .filter(|it| matches!(it.body, Body::Ask(AskEntry::Opened(_))))
            .count()
            == 1
        {
            let parts = vec![Part::text("say \"on the way\"")];
            actor.send(Verb::Session(SessionVerb::Prompt { parts, delivery: Delivery::Steer })).await;
        }
        let answer = vocab::Answer::Allow(vocab::Scope::Once);
        actor.send(Verb::Session(SessionVerb::Answer { ask: ask.id, answer })).await;
    }
    actor.turn_end().await;
    let log = read_log(&stage.store, &session).await;
    (stage, log)
}

/// A store as a process left it that died after these entries.
async fn left_behind(entries: &[Arc<Entry>]) -> Arc<dyn Store> {
    let store = MemoryStore::new();
    let lease = store.create(NewSession {
        id: "dead".into(),
        workspace: "/tmp".into(),
        model: "tour".into(),
        mode: vocab::Mode::Prompt,
        at_ms: 0,
        parent: None,
    });
    store.append(&lease, entries.to_vec(), Durability::Now).await.unwrap();
    store.release(lease).await.unwrap();
    Arc::new(store)
}

#[test]
fn a_session_goes_on_wherever_its_process_died() {
    paused(async {
        let (_workspace, log) = whole().await;
        assert!(log.len() > 12, "{:#?}", shown_log(&log));
        for cut in 1..=log.len() {
            let (stage, recorder) = stage(left_behind(&log[..cut]).await);
            let mut serve = ServeTeller::open(&stage, Which::Id("dead".into())).await;
            let refused = serve.take(&Step::Prompt("say after".into())).await;
            let place = format!("died after {:?}", shown_log(&log[cut - 1..cut]));
            assert_eq!(refused, Vec::<String>::new(), "{place}");
            let after = read_log(&stage.store, &"dead".into()).await;
            assert_eq!(after[..cut], log[..cut], "{place}: what was written is there, once");
            assert_eq!(recorder.broken(), Vec::<String>::new(), "{place}");
            let count = |wanted: fn(&Body) -> bool| after.iter().filter(|entry| wanted(&entry.body)).count();
            let started = count(|body| matches!(body, Body::Turn(TurnEntry::Started { .. })));
            let ended = count(|body| matches!(body, Body::Turn(TurnEntry::Ended(_))));
            assert_eq!(started, ended, "{place}: {:#?}", shown_log(&after));
            let asked = count(|body| matches!(body, Body::Ask(AskEntry::Opened(_))));
            assert_eq!(asked, count(|body| matches!(body, Body::Ask(AskEntry::Closed { .. }))), "{place}");
            for entry in after.iter() {
                let Body::Assistant { message, .. } = &entry.body else { continue };
                for call in message.calls() {
                    let closes = |it: &&Arc<Entry>| matches!(&it.body, Body::Call(CallEntry::Ended { result, .. }) if result.call == call.id);
                    assert_eq!(after.iter().filter(closes).count(), 1, "{place}: results of {}", call.id);
                }
            }
            let queued = count(|body| matches!(body, Body::Queue(QueueEntry::Queued(_))));
            assert_eq!(
                queued,
                count(|body| matches!(body, Body::Queue(QueueEntry::Settled { .. }))),
                "{place}: the steer is not lost"
            );
            let said: String = serve.heard.iter().filter_map(|line| line["delta"].as_str()).collect();
            // A message that still waited joins the new turn behind its prompt; the model answers the last one.
            let waited = shown_log(&after[cut..]).iter().any(|line| line.starts_with("settled"));
            assert!(said.ends_with(if waited { "on the way" } else { "after" }), "{place}: {said:?}");
            assert!(
                matches!(&after[after.len() - 1].body, Body::Turn(TurnEntry::Ended(end)) if end.fault.is_none()),
                "{place}"
            );
            let unpaired = serve.heard.iter().filter(|line| line["type"] == "turn_complete").count();
            let begun = serve.heard.iter().filter(|line| line["type"] == "turn_started").count();
            assert_eq!(unpaired, begun, "{place}: the controller is told ends of what it saw begin");
        }
    });
}

/// Everything that makes a controller rely on the log, and the entry that it relies on.
fn check_told(heard: &[serde_json::Value], log: &[Arc<Entry>], place: &str) -> usize {
    let count = |wanted: fn(&Body) -> bool| log.iter().filter(|entry| wanted(&entry.body)).count();
    let told = |kind: &str| heard.iter().filter(|line| line["type"] == kind).count();
    let there = [
        ("turn_started", count(|body| matches!(body, Body::User { .. }))),
        ("tool_result", count(|body| matches!(body, Body::Call(CallEntry::Ended { .. })))),
        ("turn_complete", count(|body| matches!(body, Body::Turn(TurnEntry::Ended(_))))),
    ];
    for (kind, entries) in there {
        assert!(told(kind) <= entries, "{place}: {kind} was told {} times: {:#?}", told(kind), shown_log(log));
    }
    there.iter().map(|(kind, _)| told(kind)).sum()
}

/// The power goes at any moment of a turn whose writes take their time: what the controller was told by then is there, a
/// file was written only if the log knows of it, and the session goes on.
#[test]
fn what_a_controller_was_told_survives_a_power_cut() {
    let mut relied_on = 0;
    for ms in (0..600).step_by(12) {
        let store = LossyStore::new(Some(Dice::new(ms)));
        let (_workspace, heard, session) = paused(async {
            let (stage, _) = stage(Arc::new(store.process()));
            let mut serve = ServeTeller::new(&stage).await;
            store.slow(vec![7, 1, 12]);
            let power = store.clone();
            tokio::spawn(async move {
                tokio::time::sleep(std::time::Duration::from_millis(ms)).await;
                power.power_cut();
            });
            serve.take(&Step::Prompt(PROMPT.into())).await;
            for _ in 0..2 {
                if serve.is_asked() {
                    serve.take(&Step::Allow).await;
                }
            }
            let (heard, session) = (serve.heard.clone(), serve.session());
            (stage, heard, session)
        });
        let place = format!("cut after {ms} ms");
        store.power_cut();
        let left = store.entries(&session);
        relied_on += check_told(&heard, &left, &place);
        if left.is_empty() {
            continue;
        }
        paused(async {
            let (stage, recorder) = stage(Arc::new(store.process()));
            let mut serve = ServeTeller::open(&stage, Which::Id(session.to_string())).await;
            let refused = serve.take(&Step::Prompt("say after".into())).await;
            assert_eq!(refused, Vec::<String>::new(), "{place}");
            assert_eq!(recorder.broken(), Vec::<String>::new(), "{place}");
            let after = store.entries(&session);
            assert_eq!(after[..left.len()], left, "{place}: what was written is there, once");
        });
    }
    assert!(relied_on > 40, "the cuts came too early to show anything: {relied_on}");
}

#[test]
fn a_full_disk_ends_the_turn_and_nothing_more() {
    paused(async {
        let mut failures = 0;
        for nth in 1..40 {
            let disk = LossyStore::new(None);
            disk.fail_append(nth);
            let (stage, recorder) = stage(Arc::new(disk.clone()));
            let mut serve = ServeTeller::new(&stage).await;
            serve.take(&Step::Prompt(PROMPT.into())).await;
            for _ in 0..2 {
                if serve.is_asked() {
                    serve.take(&Step::Allow).await;
                }
            }
            let failed = serve.heard.iter().any(|line| line["code"] == "store_error");
            if !failed {
                // The turn needs fewer writes than this.
                assert!(failures > 5 && disk.is_to_fail(), "write {nth} failed and nobody was told");
                break;
            }
            failures += 1;
            let place = format!("write {nth} failed");
            let kinds: Vec<&str> = serve.heard.iter().filter_map(|line| line["type"].as_str()).collect();
            let count = |kind: &str| kinds.iter().filter(|it| **it == kind).count();
            assert_eq!(count("turn_started"), count("turn_complete"), "{place}: {kinds:?}");

            // There is room again.
            let told = serve.heard.len();
            assert_eq!(serve.take(&Step::Prompt("say again".into())).await, Vec::<String>::new(), "{place}");
            let said: String = serve.heard[told..].iter().filter_map(|line| line["delta"].as_str()).collect();
            assert_eq!(said, "again", "{place}");
            assert_eq!(recorder.broken(), Vec::<String>::new(), "{place}");
            let log = read_log(&stage.store, &serve.session()).await;
            let seqs: Vec<u64> = log.iter().map(|entry| entry.seq).collect();
            assert_eq!(seqs, (1..=log.len() as u64).collect::<Vec<_>>(), "{place}");
        }
        assert!(failures > 5, "{failures} writes");
    });
}

/// 25: two engines on one store: one writer; the other is refused, and both can read.
#[test]
fn a_session_has_one_writer() {
    paused(async {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let (first, _) = stage(store.clone());
        let (second, _) = stage(store.clone());
        let mut owner = first.actor();
        let session = owner.open(open_as_serve(Which::New)).await.unwrap().session;
        owner.prompt("say one").await;
        owner.turn_end().await;
        let mut other = second.actor();
        let open = || open_as_serve(Which::Id(session.to_string()));
        assert_eq!(other.open(open()).await.unwrap_err().kind, FaultKind::SessionBusy);
        assert!(!read_log(&second.store, &session).await.is_empty(), "reading needs no lease");
        // When the owner has left, the session is free.
        owner.send(Verb::Leave).await;
        owner.settle().await;
        other.open(open()).await.unwrap();
        other.prompt("say two").await;
        other.turn_end().await;
        let told = other.told.iter().any(|told| matches!(told.event, Event::Delta(Delta::Text { .. })));
        assert!(told);
    });
}
