//! Turns and questions that outlive their process, where the rule is to go on.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::faults::{Asking, Driver, End, Heard, PATIENCE, World, brief, count};
use testkit::sim::Dice;

use crate::drivers::{Serve, every_asking_dialect, every_dialect};
use crate::worlds::tour;

const ROUNDS: usize = 20;
/// So often one loop is killed at most; then it is let finish.
const KILLS_MAX: usize = 40;
const ALIVE_MS_MAX: u64 = 150;
/// What a killed process leaves running is ended by its leash, which takes a moment.
const LOOK_AFTER: Duration = Duration::from_millis(200);

fn going_on() -> World {
    let world = tour();
    world.config("on_restart = \"continue\"\n");
    world
}

every_asking_dialect!(an_open_question_is_asked_again_after_a_kill_and_its_answer_runs_the_call);
fn an_open_question_is_asked_again_after_a_kill_and_its_answer_runs_the_call<D: Asking>() {
    let world = going_on();
    world.config("on_restart = \"continue\"\nmode = \"prompt\"\n");
    let mut driver = D::begin(&world, &[]);
    driver.say(r#"call bash {"command":"echo x >> effect"} then say all-done"#);
    driver.until_asked();
    let session = driver.handle().to_owned();
    for _ in 0..2 {
        driver.die();
        driver = D::resume(&world, &session).expect("the session is there");
    }
    let asked = driver.until_asked();
    driver.decide(&asked, true);
    heard_up_to(&mut driver, "all-done");
    assert_eq!(fs::read_to_string(world.workspace.join("effect")).unwrap(), "x\n");
}

/// Reads up to this word. A client that came in the middle has no prompt of its own that could end.
fn heard_up_to<D: Driver>(driver: &mut D, last: &str) {
    let mut said = String::new();
    while !said.trim_end().ends_with(last) {
        match driver.next_heard() {
            Some(Heard::Text(text)) => said.push_str(&text),
            Some(Heard::Ended(end)) => assert_eq!(end, End::Done),
            Some(Heard::Asked(asked)) => driver.decide(&asked, true),
            Some(_) => {}
            None => panic!("nothing more is said after {said:?}"),
        }
    }
}

every_dialect!(a_reply_that_a_kill_cut_off_is_given_again);
fn a_reply_that_a_kill_cut_off_is_given_again<D: Driver>() {
    let world = going_on();
    let mut driver = D::begin(&world, &[]);
    driver.say("slow 150 say 8 words");
    driver.until_text();
    let session = driver.handle().to_owned();
    driver.die();
    let mut driver = D::resume(&world, &session).expect("the session is there");
    heard_up_to(&mut driver, "w7 w8");
}

every_dialect!(a_turn_that_sigterm_meets_is_left_to_the_next_process);
fn a_turn_that_sigterm_meets_is_left_to_the_next_process<D: Driver>() {
    let world = going_on();
    let mut driver = D::begin(&world, &[]);
    driver.say("slow 150 say 8 words");
    driver.until_text();
    let session = driver.handle().to_owned();
    driver.terminate();
    let status = driver.ended(PATIENCE).expect("it ends when it is asked to");
    assert_eq!(status.code(), Some(0));
    drop(driver);
    let mut driver = D::resume(&world, &session).expect("the session is there");
    heard_up_to(&mut driver, "w7 w8");
    let log = driver.written(&world);
    assert!(!log.to_lowercase().contains("interrupted"), "{log}");
}

every_asking_dialect!(a_question_that_sigterm_meets_is_asked_again_by_the_next_process);
fn a_question_that_sigterm_meets_is_asked_again_by_the_next_process<D: Asking>() {
    let world = going_on();
    world.config("on_restart = \"continue\"\nmode = \"prompt\"\nunanswered = \"deny\"\n");
    let mut driver = D::begin(&world, &[]);
    driver.say(r#"call bash {"command":"echo x >> effect"} then say all-done"#);
    driver.until_asked();
    let session = driver.handle().to_owned();
    driver.terminate();
    assert_eq!(driver.ended(PATIENCE).expect("it ends when it is asked to").code(), Some(0));
    drop(driver);
    let mut driver = D::resume(&world, &session).expect("the session is there");
    let asked = driver.until_asked();
    driver.decide(&asked, true);
    heard_up_to(&mut driver, "all-done");
    assert_eq!(fs::read_to_string(world.workspace.join("effect")).unwrap(), "x\n");
}

every_dialect!(the_end_of_stdin_is_the_end_of_the_turn_whatever_the_rule_is);
fn the_end_of_stdin_is_the_end_of_the_turn_whatever_the_rule_is<D: Driver>() {
    let world = going_on();
    let mut driver = D::begin(&world, &[]);
    driver.say("slow 50 say 8 words");
    driver.until_text();
    let session = driver.handle().to_owned();
    driver.shutdown();
    let mut driver = D::resume(&world, &session).expect("the session is there");
    driver.settle();
    driver.say("say once-more");
    // Nothing goes on that this would have to wait for.
    heard_up_to(&mut driver, "once-more");
}

/// One loop under a hail of kills, and what came of it.
#[derive(Default, Debug)]
struct Hail {
    kills: usize,
    doubts: usize,
    had_run: usize,
}

fn lines_of(world: &World) -> Vec<String> {
    let text = fs::read_to_string(world.workspace.join("effects")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The number in the command that is asked about.
fn number_in(asked: &Value) -> Option<String> {
    let command = asked["details"]["tool_input"]["command"].as_str()?;
    command.split_whitespace().nth(1).map(str::to_owned)
}

/// Answers as a person who looks whether it has run. Whether the turn has ended.
fn drive(serve: &mut Serve, world: &World, hail: &mut Hail, until: Option<Instant>) -> bool {
    let end = until.unwrap_or_else(|| Instant::now() + PATIENCE);
    loop {
        let Some(line) = serve.line(end.saturating_duration_since(Instant::now())) else { return false };
        let value = serve.read(&line);
        match value["type"].as_str().unwrap_or_default() {
            "permission_request" => {
                let is_doubt = value["details"]["reason"].as_str().is_some_and(|it| it.contains("may have run"));
                let mut has_run = false;
                if is_doubt {
                    std::thread::sleep(LOOK_AFTER);
                    has_run = number_in(&value).is_some_and(|number| lines_of(world).contains(&number));
                    hail.doubts += 1;
                    hail.had_run += usize::from(has_run);
                }
                serve.answer(&value, if has_run { "deny" } else { "allow" });
            }
            "turn_complete" => {
                assert_eq!(
                    (&value["stop_reason"], &value["iterations"]),
                    (&"end_turn".into(), &ROUNDS.into()),
                    "{value}"
                );
                return true;
            }
            "error" => panic!("{value}"),
            _ => {}
        }
    }
}

fn loop_under_hail(dice: &mut Dice) -> Hail {
    let world = tour();
    let calls: Vec<String> = (1..=ROUNDS)
        .map(|n| match n % 5 {
            0 => r#"call glob {"pattern":"*"}"#.to_owned(),
            _ => format!(r#"call bash {{"command":"echo {n} >> effects"}}"#),
        })
        .collect();
    let flags = ["--on-restart", "continue", "--mode", "prompt", "--max-iterations", "50"];
    let mut hail = Hail::default();
    let mut serve = Serve::new(&world, &flags);
    let session = serve.session.clone();
    serve.prompt(&format!("{} then say done", calls.join(" then ")));
    // What was not acknowledged may be lost.
    serve.until_one("the start", |_, value| value["type"] == "turn_started");
    loop {
        let until = (hail.kills < KILLS_MAX).then(|| Instant::now() + Duration::from_millis(dice.below(ALIVE_MS_MAX)));
        if drive(&mut serve, &world, &mut hail, until) {
            break;
        }
        serve.kill();
        serve.ended(PATIENCE).expect("a killed process ends");
        hail.kills += 1;
        // Its end may be written and not told: then nothing is left to go on with.
        let log = log_of(&world, &session);
        if log.last().is_some_and(|entry| entry["kind"] == "turn_ended") {
            break;
        }
        assert!(until.is_some(), "left alone it does not end: {hail:?}\n{}", brief(&log));
        serve = Serve::spawn(&world, &[&flags[..], &["--resume", &session]].concat());
    }
    let effects = lines_of(&world);
    let wanted: Vec<String> = (1..=ROUNDS).filter(|n| n % 5 != 0).map(|n| n.to_string()).collect();
    assert_eq!(effects, wanted, "each once, and in order: {hail:?}");
    check_results(&world, &session);
    hail
}

fn log_of(world: &World, session: &str) -> Vec<Value> {
    world.exported(session).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Each call has one result.
fn check_results(world: &World, session: &str) {
    let log = log_of(world, session);
    let mut results: HashMap<String, usize> = HashMap::new();
    for entry in log.iter().filter(|entry| entry["kind"] == "call_ended") {
        *results.entry(entry["body"]["result"]["call"].to_string()).or_default() += 1;
    }
    assert!(results.values().all(|count| *count == 1), "{results:?}\n{}", brief(&log));
}

#[test]
fn a_loop_of_tools_is_finished_however_often_it_is_killed_and_nothing_is_done_twice() {
    let (wanted, mut dice) = (count(6, 200), Dice::new(7));
    let (mut all, mut loops) = (Hail::default(), 0);
    while all.kills < wanted {
        let hail = loop_under_hail(&mut dice);
        loops += 1;
        all.kills += hail.kills;
        all.doubts += hail.doubts;
        all.had_run += hail.had_run;
    }
    println!("{loops} loops: {all:?}");
}
