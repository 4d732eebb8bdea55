//! Delays, under paused time.

use std::future::poll_fn;
use std::time::Duration;

use crate::support::names;
use tokio::time::Instant;
use tour::{Script, Tour, TourOptions};
use vocab::{Chat, Message, ModelEvent, ModelStream, Part, Provider};

use crate::support::spec;

/// Each event with the milliseconds since the call.
async fn timed(mut stream: ModelStream) -> Vec<(u64, ModelEvent)> {
    let start = Instant::now();
    let mut events = Vec::new();
    while let Some(event) = poll_fn(|context| stream.as_mut().poll_next(context)).await {
        events.push((start.elapsed().as_millis() as u64, event));
    }
    events
}

fn chat(word_delay_ms: u64, prompt: &str) -> Box<dyn Chat> {
    let tour = Tour::new(TourOptions { word_delay_ms, ..TourOptions::default() });
    let mut chat = tour.chat(&tour.resolve("tour").unwrap()).unwrap();
    chat.push(&Message::User(vec![Part::text(prompt)]));
    chat
}

fn times(events: &[(u64, ModelEvent)]) -> Vec<u64> {
    events.iter().map(|(at, _)| *at).collect()
}

#[tokio::test(start_paused = true)]
async fn slow_waits_between_deltas_and_not_before_the_first() {
    let events = timed(chat(0, "slow 60 say 3 words").call(&spec(names::SERVE))).await;
    assert_eq!(times(&events), [0, 60, 120, 120, 120]);
}

#[tokio::test(start_paused = true)]
async fn the_word_delay_holds_unless_a_script_says_otherwise() {
    let events = timed(chat(10, "say 2 words slow 0 say 2 words").call(&spec(names::SERVE))).await;
    assert_eq!(times(&events), [0, 10, 10, 10, 10, 10]);
    let events = timed(chat(10, "hello").call(&spec(names::SERVE))).await;
    assert!(events.len() > 10 && events[10].0 == 100, "natural replies stream word by word");
}

#[tokio::test(start_paused = true)]
async fn a_pause_waits_once() {
    let events = timed(chat(0, "say a pause 500 say b pause 0 say c").call(&spec(names::SERVE))).await;
    assert_eq!(times(&events), [0, 500, 500, 500, 500]);
    let script = Script::parse("delta \"a\"\npause 250\ndelta \"b\"").unwrap();
    let mut chat = script.chat(&script.resolve(script.slug()).unwrap()).unwrap();
    assert_eq!(times(&timed(chat.call(&spec(names::SERVE))).await), [0, 250, 250, 250]);
}

#[tokio::test(start_paused = true)]
async fn silence_lasts_until_the_stream_is_dropped() {
    let stream = chat(0, "say hi hold").call(&spec(names::SERVE));
    assert!(tokio::time::timeout(Duration::from_secs(86_400), timed(stream)).await.is_err());
}
