//! Stories with more than one controller on a session.

use super::serve_teller::open_as_serve;
use testkit::stories::{EngineTeller, Step, Teller, read_log};
use testkit::{Stage, StageOptions};
use vocab::{Event, FaultKind, Mode, Open, SessionVerb, Verb, Which};

use super::ServeTeller;
use crate::golden::paused;

fn stage() -> Stage {
    Stage::new(StageOptions { mode: Mode::Prompt, ..StageOptions::default() })
}

fn step(line: &str) -> Step {
    match line.split_once(' ') {
        Some(("prompt", text)) => Step::Prompt(text.into()),
        _ => panic!("not a step here: {line}"),
    }
}

/// 26: both see everything, either may answer, the first answer wins and the other is told.
#[test]
fn the_first_answer_wins_whoever_gives_it() {
    for serve_answers in [true, false] {
        paused(async {
            let stage = stage();
            let mut serve = ServeTeller::new(&stage).await;
            let mut other = EngineTeller::open(&stage, open_as_serve(Which::Id(serve.session().to_string()))).await;
            let prompt = step("prompt say asking call write_file {\"path\":\"x\",\"content\":\"1\"} then say done");
            serve.take(&prompt).await;
            other.take(&Step::Wait(1)).await;
            let (refused, late) = if serve_answers {
                (serve.take(&Step::Allow).await, other.take(&Step::Again).await)
            } else {
                (other.take(&Step::Allow).await, serve.take(&Step::Again).await)
            };
            assert_eq!(refused, Vec::<String>::new());
            assert_eq!(late, ["unknown_ask"]);
            serve.listen().await;
            assert_eq!(stage.read("x").as_deref(), Some("1"), "the allow counted");
            let types: Vec<&str> = serve.heard.iter().filter_map(|line| line["type"].as_str()).collect();
            let story = ["turn_started", "text_delta", "tool_start", "permission_request", "tool_result", "text_delta"];
            assert_eq!(types[..story.len()], story, "serve sees the whole turn, whoever answers");
            assert!(types.contains(&"turn_complete"), "{types:?}");
        });
    }
}

/// 26: a prompt of one peer is told to the other, event by event.
#[test]
fn a_turn_begun_elsewhere_is_told_here() {
    paused(async {
        let stage = stage();
        let mut serve = ServeTeller::new(&stage).await;
        let mut other = EngineTeller::open(&stage, open_as_serve(Which::Id(serve.session().to_string()))).await;
        other.take(&step("prompt say 2 words")).await;
        serve.listen().await;
        let deltas: String = serve.heard.iter().filter_map(|line| line["delta"].as_str()).collect();
        assert_eq!(deltas, "w1 w2");
        assert_eq!(serve.take(&step("prompt say mine")).await, Vec::<String>::new(), "the session is free again");
    });
}

/// 27: a peer that comes in mid-turn gets everything after N once, then goes on live.
#[test]
fn a_replay_joins_the_live_flow_without_gap_or_repeat() {
    paused(async {
        let stage = stage();
        let mut first = stage.actor();
        let session = first.open(open_as_serve(Which::New)).await.unwrap().session;
        first.prompt("say one").await;
        first.turn_end().await;
        first.forget();
        first.prompt("say \"begun \" pause 1000 say \"ended\"").await;
        first.settle().await;
        let last = read_log(&stage.store, &session).await.len() as u64;
        for after in [0, 3, last] {
            let mut late = stage.actor();
            let open = Open { after: Some(vocab::Cursor::at(after)), ..open_as_serve(Which::Id(session.to_string())) };
            late.open(open).await.unwrap();
            late.settle().await;
            let seqs: Vec<u64> = logged(&late.told);
            assert_eq!(seqs, (after + 1..=last).collect::<Vec<_>>(), "after {after}");
            assert!(late.told.iter().any(|told| matches!(told.event, Event::Live { seq } if seq == last)));
            assert_eq!(late.text(), "begun ", "the running text so far");
        }
        let mut live = stage.actor();
        live.open(Open { after: Some(vocab::Cursor::at(2)), ..open_as_serve(Which::Id(session.to_string())) })
            .await
            .unwrap();
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        live.settle().await;
        assert_eq!(live.text(), "begun ended");
        let all = read_log(&stage.store, &session).await.len() as u64;
        assert!(all > last);
        assert_eq!(logged(&live.told), (3..=all).collect::<Vec<_>>(), "no gap and no repeat at the seam");
    });
}

/// 27: a place that does not exist yet is an error.
#[test]
fn a_replay_from_the_future_is_refused() {
    paused(async {
        let stage = stage();
        let mut first = stage.actor();
        let session = first.open(open_as_serve(Which::New)).await.unwrap().session;
        first.prompt("say one").await;
        first.turn_end().await;
        let mut late = stage.actor();
        let open = Open { after: Some(vocab::Cursor::at(1000)), ..open_as_serve(Which::Id(session.to_string())) };
        assert_eq!(late.open(open).await.unwrap_err().kind, FaultKind::Invalid);
        // The refused one hears nothing of what goes on.
        first.forget();
        first.prompt("say two").await;
        first.turn_end().await;
        late.settle().await;
        assert_eq!(logged(&late.told), Vec::<u64>::new());
        let tag = late.send(Verb::Session(SessionVerb::Interrupt { turn: None })).await;
        assert!(late.reply(tag).await.is_err(), "it is on no session");
    });
}

/// 28, in process: a controller that does not read slows the model down; nothing is lost, and interrupt gets through.
#[tokio::test]
async fn a_reader_that_stops_slows_the_model_down() {
    /// A pipe of 1 MiB, and what host and engine may hold for one peer, with some room.
    const HELD_BYTES_MAX: usize = 2 << 20;
    let stage = stage();
    let dialect = dialect_serve::Serve::new(dialect_serve::ServeOptions::new(testkit::stage::VERSION));
    let mut pipe = testkit::pipe::Pipe::new(&stage.engine, Box::new(dialect), host::PumpOptions::default());
    pipe.send("{\"type\":\"prompt\",\"text\":\"say 5000000 words\"}").await;
    // Nobody reads. Whoever did not stop would make several megabytes in this time.
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    pipe.send("{\"type\":\"interrupt\"}").await;
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    let lines = pipe.heard(std::time::Duration::from_millis(500)).await;
    let bytes: usize = lines.iter().map(String::len).sum();
    assert!(bytes < HELD_BYTES_MAX, "{bytes} bytes were made for nobody");
    let last = lines.iter().rfind(|line| line.contains("turn_complete")).expect("the turn ended");
    assert!(last.contains("\"interrupted\""), "{last}");
    let said: String = lines
        .iter()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter_map(|line| line["delta"].as_str().map(str::to_owned))
        .collect();
    let words: Vec<&str> = said.split_whitespace().collect();
    assert!(words.len() > 1000, "{} words", words.len());
    assert!(words.iter().enumerate().all(|(at, word)| *word == format!("w{}", at + 1)), "a word is missing");
}

fn logged(told: &[vocab::Told]) -> Vec<u64> {
    told.iter()
        .filter_map(|told| match &told.event {
            Event::Logged(entry) => Some(entry.seq),
            _ => None,
        })
        .collect()
}
