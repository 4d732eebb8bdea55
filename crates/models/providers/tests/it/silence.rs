//! Servers that fall silent are given up in time, in every format.

use std::time::{Duration, Instant};

use providers::Api;
use testkit::mock_model::{MockModel, Reply, Step};
use vocab::{FaultKind, Finish, ModelEvent};

use crate::support::*;

const IDLE_MS: u64 = 150;
/// For those who must not be taken for silent, however busy the machine is.
const PATIENT_MS: u64 = 800;

/// All formats at once: most of the time nothing happens here.
macro_rules! in_every_format {
    ($check:ident) => {
        tokio::join!($check(Api::Completions), $check(Api::Responses), $check(Api::Anthropic), $check(Api::Gemini))
    };
}

async fn ask_idle(api: Api, idle_ms: u64, reply: Reply) -> (Vec<ModelEvent>, Duration) {
    let mock = MockModel::start().await;
    mock.push(reply);
    let provider = speaking_with(&mock, api, |config| config.idle_timeout_ms = idle_ms);
    let started = Instant::now();
    let events = ask(&provider, "x").await;
    mock.wait_until(|counts| counts.open == 0).await;
    (events, started.elapsed())
}

fn often(step: Step) -> Vec<Step> {
    (0..200).flat_map(|_| [step.clone(), Step::Pause { ms: 10 }]).collect()
}

/// A whole event that says nothing.
fn empty(api: Api) -> Step {
    let data = match api {
        Api::Completions => r#"{"choices":[{"delta":{}}]}"#,
        Api::Responses => r#"{"type":"response.in_progress","sequence_number":1,"response":{"id":"r"}}"#,
        Api::Anthropic => r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}"#,
        Api::Gemini => r#"{"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"index":0}]}"#,
    };
    Step::Raw(format!("data: {data}\n\n").into())
}

#[tokio::test]
async fn silence_ends_the_call_with_a_retryable_fault() {
    in_every_format!(silence_ends);
}

async fn silence_ends(api: Api) {
    let after_text = [vec![Step::text("a")], often(Step::Comment)].concat();
    for (steps, said) in [
        (vec![Step::Hold], ""),
        (vec![Step::text("a"), Step::Hold], "a"),
        (often(Step::Comment), ""),
        (after_text, "a"),
        ([vec![Step::text("a")], often(empty(api))].concat(), "a"),
        (vec![Step::text("a"), Step::Raw(b"data: {\"cho".to_vec()), Step::Hold], "a"),
    ] {
        let shape = format!("{api:?} {:.60?}", steps);
        let (events, took) = ask_idle(api, IDLE_MS, Reply::stream(steps)).await;
        assert_eq!(text(&events), said, "{shape}");
        let fault = failure(&events);
        assert_eq!((fault.fault.kind, fault.retryable), (FaultKind::Network, true), "{shape} {fault:?}");
        assert!(fault.fault.message.contains("0.15 s"), "{}", fault.fault.message);
        assert!(
            took >= Duration::from_millis(IDLE_MS) && took < Duration::from_millis(IDLE_MS * 8),
            "{took:?} {shape}"
        );
    }
}

#[tokio::test]
async fn a_slow_model_that_keeps_talking_is_not_silent() {
    in_every_format!(slowness_does_not);
}

async fn slowness_does_not(api: Api) {
    let mut steps: Vec<Step> = (0..8).flat_map(|_| [Step::text("a"), Step::Pause { ms: PATIENT_MS / 7 }]).collect();
    steps.extend([Step::finish("stop"), Step::Done, Step::HangUp]);
    let (events, took) = ask_idle(api, PATIENT_MS, Reply::stream(steps)).await;
    assert_eq!(text(&events), "aaaaaaaa", "{api:?}");
    assert_eq!(events.last(), Some(&ModelEvent::Finished(Finish::Stop)), "{api:?}");
    assert!(took > Duration::from_millis(PATIENT_MS), "{api:?}");
}

#[tokio::test]
async fn time_in_which_nobody_reads_does_not_count() {
    for api in Api::ALL {
        let mock = MockModel::start().await;
        mock.push(Reply::stream([Step::text("a"), Step::text("b"), Step::finish("stop"), Step::Done]));
        let provider = speaking_with(&mock, api, |config| config.idle_timeout_ms = 50);
        let mut chat = chat(&provider);
        chat.push(&user("x"));
        let mut stream = chat.call(&spec());
        let last = ModelEvent::Finished(Finish::Stop);
        for want in [ModelEvent::Text("a".into()), ModelEvent::Text("b".into()), last] {
            assert_eq!(next_said(&mut stream).await, Some(want), "{api:?}");
            tokio::time::sleep(Duration::from_millis(120)).await;
        }
    }
}

#[tokio::test]
async fn zero_waits_for_ever() {
    in_every_format!(zero_waits);
}

async fn zero_waits(api: Api) {
    let mock = MockModel::start().await;
    let provider = speaking_with(&mock, api, |config| config.idle_timeout_ms = 0);
    mock.push(Reply::stream([Step::Pause { ms: 300 }, Step::text("a"), Step::finish("stop"), Step::Done]));
    assert_eq!(text(&ask(&provider, "x").await), "a", "{api:?}");
}

#[tokio::test]
async fn an_end_that_never_comes_does_not_hold_a_whole_answer_for_long() {
    in_every_format!(an_end_is_not_waited_for);
}

async fn an_end_is_not_waited_for(api: Api) {
    let mock = MockModel::start().await;
    let provider = speaking_with(&mock, api, |config| config.idle_timeout_ms = 0);
    mock.push(Reply::stream([Step::text("a"), Step::finish("stop"), Step::Hold]));
    let started = Instant::now();
    let events = ask(&provider, "x").await;
    assert_eq!(events.last(), Some(&ModelEvent::Finished(Finish::Stop)), "{api:?}");
    assert!(started.elapsed() < Duration::from_secs(5), "{api:?}");
}

#[tokio::test]
async fn an_answer_that_lacks_nothing_does_not_wait_for_the_end_of_its_body() {
    let mock = MockModel::start().await;
    let provider = provider_with(&mock, |config| config.idle_timeout_ms = 0);
    mock.push(Reply::stream([Step::text("a"), Step::usage(3, 0, 1), Step::finish("stop"), Step::Hold]));
    let started = Instant::now();
    let events = ask(&provider, "x").await;
    assert_eq!(events.last(), Some(&ModelEvent::Finished(Finish::Stop)));
    assert!(started.elapsed() < Duration::from_millis(1500), "{:?}", started.elapsed());
}
