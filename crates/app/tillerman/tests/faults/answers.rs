//! Answers to questions: only the first valid one counts, and nothing but an answer allows anything.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::faults::{Asking, Driver, End, Heard, PATIENCE, brief};

use crate::drivers::{Rpc, all, every_asking_dialect, first};
use crate::worlds::tour;

fn touch(name: &str) -> String {
    format!("call bash {{\"command\":\"echo x >> {name}\"}} then say done")
}

every_asking_dialect!(s6_only_the_first_valid_answer_counts);
fn s6_only_the_first_valid_answer_counts<D: Asking>() {
    let world = tour();
    let is_there = |name: &str| world.workspace.join(name).exists();
    let mut driver = D::begin(&world, &["--permission-mode", "prompt"]);
    let mut passed_over = 0;
    let mut stray = |driver: &mut D, id: &Value| {
        driver.stray(id);
        passed_over += 1;
    };
    D::strange_ids().iter().for_each(|id| stray(&mut driver, id));
    // Wrong ids while a question is open leave it open; the second answer to it is wrong, too.
    driver.say(&touch("a"));
    let first = driver.until_asked();
    let id = D::id_of(&first);
    D::near_ids(&id).iter().for_each(|near| stray(&mut driver, near));
    std::thread::sleep(Duration::from_millis(200));
    assert!(!is_there("a"), "it ran before it was allowed");
    driver.decide(&first, false);
    driver.send(&D::yes(&id));
    let turn = driver.rest();
    assert_eq!(turn.results, [true], "a denied call has failed: {turn:?}");
    if D::TELLS_LATE_ANSWERS && turn.refused.is_empty() {
        refusal(&mut driver);
    }
    stray(&mut driver, &id);
    assert!(!is_there("a"), "a denied call ran");
    // After an interrupt the question is gone, also while the next turn asks.
    driver.say(&touch("b"));
    let gone = D::id_of(&driver.until_asked());
    driver.interrupt();
    assert_eq!(driver.rest().end, Some(End::Interrupted));
    stray(&mut driver, &gone);
    driver.say(&touch("c"));
    let next = driver.until_asked();
    stray(&mut driver, &gone);
    stray(&mut driver, &id);
    std::thread::sleep(Duration::from_millis(200));
    assert!(!is_there("b") && !is_there("c"), "an old answer counted");
    driver.decide(&next, true);
    assert_eq!(driver.rest().end, Some(End::Done));
    assert!(is_there("c") && !is_there("a") && !is_there("b"));
    // Not an answer at all; leaving is no permission, and neither is time.
    driver.say(&touch("d"));
    let no_answers = D::no_answers(&D::id_of(&driver.until_asked()));
    for line in &no_answers {
        driver.send(line);
        refusal(&mut driver);
    }
    assert!(driver.next(Duration::from_millis(500)).is_none(), "something happened without an answer");
    driver.close_stdin();
    let turn = driver.rest();
    assert_eq!(turn.results, [true], "{turn:?}");
    assert_eq!(driver.ended(PATIENCE).unwrap().code(), Some(0));
    assert!(!is_there("d"), "the end of input allowed a call");
    let all = passed_over + no_answers.len();
    println!("S6 {}: {all} answers refused or passed over, 0 calls ran that nobody allowed", D::NAME);
}

fn refusal<D: Driver>(driver: &mut D) {
    loop {
        match driver.next_heard().expect("it is refused") {
            Heard::Refused(_) => return,
            Heard::Ended(end) => panic!("{end:?} instead of a refusal"),
            _ => {}
        }
    }
}

/// What the questions of `rpc` have beyond that: the host is told that one is gone, and an answer of another kind is a no.
#[test]
fn s6_in_rpc_a_question_is_withdrawn_and_what_is_no_yes_is_a_no() {
    let world = tour();
    let mut rpc = Rpc::new(&world, &["--permission-mode", "prompt"]);
    rpc.say(&touch("a"));
    let open = rpc.until_asked()["id"].clone();
    rpc.interrupt();
    let seen = rpc.until("agent_settled");
    let cancel = first(&seen, "extension_ui_request");
    assert_eq!((&cancel["method"], &cancel["targetId"]), (&json!("cancel"), &open));
    rpc.say(&touch("b"));
    let open = rpc.until_asked()["id"].clone();
    rpc.send(&json!({ "type": "extension_ui_response", "id": open }));
    assert_eq!(rpc.until("response").pop().unwrap()["error"], "Unknown command: extension_ui_response");
    rpc.send(&json!({ "type": "extension_ui_response", "id": open, "value": "yes" }));
    let seen = rpc.until("agent_settled");
    assert_eq!(all(&seen, "tool_execution_end")[0]["isError"], true, "{}", brief(&seen));
    assert!(
        !world.workspace.join("a").exists() && !world.workspace.join("b").exists(),
        "a call ran that nobody allowed"
    );
    rpc.shutdown();
}
