//! Servers that fall silent are given up in time.

use std::time::{Duration, Instant};

use testkit::mock_model::{MockModel, Reply, Step};
use vocab::{FaultKind, Finish, ModelEvent};

use crate::support::*;

const IDLE_MS: u64 = 150;

async fn ask_idle(reply: Reply) -> (Vec<ModelEvent>, Duration) {
    let mock = MockModel::start().await;
    mock.push(reply);
    let provider = provider_with(&mock, |config| config.idle_timeout_ms = IDLE_MS);
    let started = Instant::now();
    let events = ask(&provider, "x").await;
    mock.wait_until(|counts| counts.open == 0).await;
    (events, started.elapsed())
}

fn comments(count: usize, every_ms: u64) -> Vec<Step> {
    (0..count).flat_map(|_| [Step::Comment, Step::Pause { ms: every_ms }]).collect()
}

#[tokio::test]
async fn silence_ends_the_call_with_a_retryable_fault() {
    let mut after_text = vec![Step::text("a")];
    after_text.extend(comments(200, 10));
    let keep_alive_chunk = Step::Raw(b"data: {\"choices\":[{\"delta\":{}}]}\n\n".to_vec());
    let empty: Vec<Step> = (0..200).flat_map(|_| [keep_alive_chunk.clone(), Step::Pause { ms: 10 }]).collect();
    for (steps, said) in [
        (vec![Step::Hold], ""),
        (vec![Step::text("a"), Step::Hold], "a"),
        (comments(200, 10), ""),
        (after_text, "a"),
        (empty, ""),
        (vec![Step::text("a"), Step::Raw(b"data: {\"cho".to_vec()), Step::Hold], "a"),
    ] {
        let shape = format!("{:.60?}", steps);
        let (events, took) = ask_idle(Reply::stream(steps)).await;
        assert_eq!(text(&events), said, "{shape}");
        let fault = failure(&events);
        assert_eq!((fault.fault.kind, fault.retryable), (FaultKind::Network, true), "{shape}");
        assert!(fault.fault.message.contains("0.15 s"), "{}", fault.fault.message);
        assert!(
            took >= Duration::from_millis(IDLE_MS) && took < Duration::from_millis(IDLE_MS * 8),
            "{took:?} {shape}"
        );
    }
}

#[tokio::test]
async fn a_slow_model_that_keeps_talking_is_not_silent() {
    let mut steps: Vec<Step> = (0..8).flat_map(|_| [Step::text("a"), Step::Pause { ms: IDLE_MS / 4 }]).collect();
    steps.extend([Step::finish("stop"), Step::Done, Step::HangUp]);
    let (events, took) = ask_idle(Reply::stream(steps)).await;
    assert_eq!((text(&events), events.last()), ("aaaaaaaa".into(), Some(&ModelEvent::Finished(Finish::Stop))));
    assert!(took > Duration::from_millis(IDLE_MS));
}

#[tokio::test]
async fn time_in_which_nobody_reads_does_not_count() {
    let mock = MockModel::start().await;
    mock.push(Reply::stream([Step::text("a"), Step::text("b"), Step::finish("stop"), Step::Done]));
    let provider = provider_with(&mock, |config| config.idle_timeout_ms = 50);
    let mut chat = chat(&provider);
    let mut stream = chat.call(&spec());
    assert_eq!(next(&mut stream).await, Some(ModelEvent::Text("a".into())));
    tokio::time::sleep(Duration::from_millis(120)).await;
    assert_eq!(next(&mut stream).await, Some(ModelEvent::Text("b".into())));
    tokio::time::sleep(Duration::from_millis(120)).await;
    assert_eq!(next(&mut stream).await, Some(ModelEvent::Finished(Finish::Stop)));
}

#[tokio::test]
async fn zero_waits_for_ever() {
    let mock = MockModel::start().await;
    let provider = provider_with(&mock, |config| config.idle_timeout_ms = 0);
    mock.push(Reply::stream([Step::Pause { ms: 300 }, Step::text("a"), Step::finish("stop"), Step::Done]));
    assert_eq!(text(&ask(&provider, "x").await), "a");
}

#[tokio::test]
async fn usage_that_never_comes_does_not_hold_a_whole_answer_for_long() {
    let mock = MockModel::start().await;
    let provider = provider_with(&mock, |config| config.idle_timeout_ms = 0);
    mock.push(Reply::stream([Step::text("a"), Step::finish("stop"), Step::Hold]));
    let started = Instant::now();
    let events = ask(&provider, "x").await;
    assert_eq!(events.last(), Some(&ModelEvent::Finished(Finish::Stop)));
    assert!(started.elapsed() < Duration::from_secs(5));
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
