//! 9: an interrupt while a command runs ends everything the command started. Real processes, real time; this test binary
//! is its own leash.

use std::time::{Duration, Instant};

use super::serve_teller::open_as_serve;
use testkit::stories::{Recorder, read_log, shown_log};
use testkit::{Stage, StageOptions};
use vocab::{Event, SessionVerb, Stop, Verb, Which};

/// A stubborn child, a grandchild in a session of its own, and then a long sleep. Each writes its pid first.
const COMMAND: &str = "sh -c 'trap \\\"\\\" TERM; echo $$ > one; sleep 60; sleep 60' & \
                       setsid sh -c 'echo $$ > two; sleep 60' & \
                       echo $$ > three; sleep 60";

fn alive(pid: &str) -> bool {
    // A zombie has ended; nobody has asked for its exit code yet.
    std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
        .is_ok_and(|stat| !stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z')))
}

#[tokio::test]
async fn an_interrupt_ends_all_that_a_command_started() {
    let recorder = std::sync::Arc::new(Recorder::new(std::sync::Arc::new(tour::Tour::default())));
    let stage = Stage::new(StageOptions { provider: recorder.clone(), ..StageOptions::default() });
    let mut actor = stage.actor();
    let open = vocab::Open { gate: Some(vocab::Gate::Ladder), ..open_as_serve(Which::New) };
    let session = actor.open(open).await.unwrap().session;
    actor
        .prompt(&format!(
            "call bash {{\"command\":\"{COMMAND}\"}} and call write_file {{\"path\":\"x\",\"content\":\"1\"}}"
        ))
        .await;
    let begun = Instant::now();
    let pids = loop {
        let pids: Vec<String> = ["one", "two", "three"].iter().filter_map(|name| stage.read(name)).collect();
        if pids.len() == 3 && pids.iter().all(|pid| pid.ends_with('\n')) {
            break pids;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "the command does not start: {:#?}", actor.told);
        let _ = tokio::time::timeout(Duration::from_millis(20), actor.peer.events(&mut actor.told)).await;
    };
    assert!(pids.iter().all(|pid| alive(pid)), "{pids:?}");

    let asked = Instant::now();
    actor.send(Verb::Session(SessionVerb::Interrupt { turn: None })).await;
    let end = actor.turn_end().await;
    assert_eq!(end.stop, Stop::Interrupted);
    assert!(asked.elapsed() < Duration::from_secs(1), "the turn waited for its command");
    while pids.iter().any(|pid| alive(pid)) {
        assert!(asked.elapsed() < Duration::from_secs(3), "still alive after 3 s");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let log = shown_log(&read_log(&stage.store, &session).await);
    let results: Vec<&String> = log.iter().filter(|line| line.starts_with("result ")).collect();
    assert_eq!(
        results,
        ["result bash Interrupted error \"interrupted\"", "result write_file Interrupted error \"interrupted\""]
    );
    assert_eq!(log.iter().filter(|line| line.starts_with("call ")).count(), 1, "the second call was started: {log:?}");
    assert_eq!(stage.read("x"), None);

    actor.forget();
    actor.prompt("say again").await;
    assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
    assert_eq!(recorder.broken(), Vec::<String>::new());
}

/// 29, the part that needs no second process of ours: much output is kept at both ends, and binary output is text.
#[tokio::test]
async fn much_output_keeps_its_head_and_its_tail() {
    let stage = Stage::new(StageOptions::default());
    let mut actor = stage.open().await;
    actor
        .prompt("call bash {\"command\":\"echo first; yes 0123456789 | head -c 3000000; printf '\\\\377\\\\0last'\"}")
        .await;
    actor
        .until(|event| matches!(event, Event::Logged(entry) if matches!(entry.body, vocab::Body::Call(vocab::CallEntry::Ended { .. }))))
        .await;
    let result = actor
        .told
        .iter()
        .find_map(|told| match &told.event {
            Event::Logged(entry) => match &entry.body {
                vocab::Body::Call(vocab::CallEntry::Ended { result, .. }) => Some(result.text()),
                _ => None,
            },
            _ => None,
        })
        .unwrap();
    assert!(result.contains("first") && result.contains("last"), "{} bytes", result.len());
    assert!(result.len() < 200_000, "{} bytes were given to the model", result.len());
    assert!(result.contains('\u{fffd}'), "what is no UTF-8 is marked");
}
