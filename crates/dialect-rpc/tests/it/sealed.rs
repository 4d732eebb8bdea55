//! Blocks without words have their place in the count, and a model that stands in is told.

use serde_json::{Value, json};
use vocab::{
    AssistantMessage, Block, Body, Call, CallInput, Event, Fault, FaultKind, FellBack, Finish, Json, MessageEnd, Stop,
    TurnEnd, Usage,
};

use crate::talk::Talk;

fn thought(text: &str, seal: Option<&str>) -> Block {
    Block::Thinking { text: text.into(), opaque: seal.map(Into::into) }
}
fn call() -> Block {
    let input = CallInput::Object(Json::empty_object());
    Block::Call(Call { id: "c1".into(), name: "read".into(), input, seal: Some("s".into()) })
}
fn words(text: &str) -> Block {
    Block::Text(text.into())
}

/// What the engine tells of a reply with these blocks; a block at the end without words comes with the entry alone.
fn events(blocks: &[Block]) -> Vec<Event> {
    let turn = || "t1".into();
    let last = blocks.iter().rposition(|block| !matches!(block, Block::Redacted(_))).map_or(0, |at| at + 1);
    let mut events = Vec::new();
    for block in &blocks[..last] {
        match block {
            Block::Text(text) => events.push(Event::Text { turn: turn(), delta: text.to_string() }),
            Block::Thinking { text, opaque } => {
                if !text.is_empty() {
                    events.push(Event::Thinking { turn: turn(), delta: text.to_string() });
                }
                if opaque.is_some() {
                    events.push(Event::Sealed { turn: turn(), alone: text.is_empty() });
                }
            }
            Block::Redacted(_) => events.push(Event::Sealed { turn: turn(), alone: true }),
            Block::Call(call) => events.push(Event::CallInput {
                turn: turn(),
                index: 0,
                id: Some(call.id.clone()),
                name: Some(call.name.clone()),
                delta: "{}".into(),
            }),
        }
    }
    events
}

fn assistant(blocks: Vec<Block>, model: &str) -> Body {
    let end = MessageEnd::Finished(Finish::Stop);
    let message = AssistantMessage { blocks, model: model.into(), end, usage: Usage::default() };
    Body::Assistant { turn: Some("t1".into()), message }
}

/// Each block of the finished message was begun and ended under its own number and as its own kind.
fn check(blocks: &[Block]) {
    let mut talk = Talk::open();
    talk.log(Body::TurnStarted { turn: "t1".into() });
    let mut frames = Vec::new();
    for event in events(blocks) {
        frames.extend(talk.tell(event).1);
    }
    frames.extend(talk.log(assistant(blocks.to_vec(), "mock/alpha")));
    let of = |suffix: &str| -> Vec<(u64, String)> {
        let events = frames.iter().map(|frame| &frame["assistantMessageEvent"]);
        let named = events.filter_map(|event| Some((event["contentIndex"].as_u64()?, event["type"].as_str()?)));
        named.filter_map(|(at, kind)| Some((at, kind.strip_suffix(suffix)?.to_owned()))).collect()
    };
    let want: Vec<(u64, String)> = blocks
        .iter()
        .enumerate()
        .map(|(at, block)| {
            let kind = match block {
                Block::Text(_) => "text",
                Block::Thinking { .. } | Block::Redacted(_) => "thinking",
                Block::Call(_) => "toolcall",
            };
            (at as u64, kind.to_owned())
        })
        .collect();
    assert_eq!((of("_start"), of("_end")), (want.clone(), want), "{blocks:?}");
    let last = frames.iter().find(|frame| frame["type"] == "message_end").expect("the message ends");
    assert_eq!(last["message"]["content"].as_array().map(Vec::len), Some(blocks.len()));
}

#[test]
fn blocks_without_words_are_counted_like_the_others() {
    let redacted = || Block::Redacted("r".into());
    check(&[redacted(), words("a")]);
    check(&[thought("hm", Some("s")), redacted(), call()]);
    check(&[words("a"), thought("", Some("s")), call()]);
    check(&[thought("a", Some("s")), thought("b", Some("s")), words("c")]);
    check(&[redacted(), redacted(), thought("a", None), words("c"), redacted()]);
}

#[test]
fn who_stands_in_is_told_when_it_is_asked_and_when_it_has_answered() {
    let mut talk = Talk::open();
    talk.log(Body::TurnStarted { turn: "t1".into() });
    let fault = Fault::new(FaultKind::Provider, "busy");
    let (turn, from, to) = ("t1".into(), "mock/alpha".into(), "mock/beta".into());
    talk.log(Body::Retrying { turn, attempt: 1, attempts_max: 1, wait_ms: 1, fault: fault.clone() });
    talk.tell(Event::RetryStarted { turn: "t1".into(), attempt: 1 });
    talk.tell(Event::RetryEnded { turn: "t1".into(), attempt: 1, ok: false });
    let frames = talk.log(Body::FellBack(FellBack { turn: "t1".into(), from, to, fault, skipped: Vec::new() }));
    assert_eq!(
        frames,
        [
            json!({"type":"auto_retry_end","success":false,"attempt":1,"finalError":"busy"}),
            json!({"type":"retry_fallback_applied","from":"mock/mock/alpha","to":"mock/beta","role":"default"}),
        ]
    );
    let (_, began) = talk.tell(Event::Text { turn: "t1".into(), delta: "hi".into() });
    let begun = |frames: &[Value]| frames.iter().find(|it| it["type"] == "message_start").cloned().expect("it begins");
    assert_eq!(begun(&began)["message"]["model"], "beta", "the message that grows is the other's");
    let told = |frames: &[Value]| frames.iter().filter(|it| it["type"] == "retry_fallback_succeeded").count();
    let ended = talk.log(assistant(vec![words("hi")], "mock/beta"));
    assert_eq!(told(&ended), 1, "{ended:?}");
    assert_eq!(told(&talk.log(assistant(vec![words("more")], "mock/beta"))), 0, "once");
    let (turn, usage, mutations) = ("t1".into(), Usage::default(), Vec::new());
    talk.log(Body::TurnEnded(TurnEnd { turn, stop: Stop::EndTurn, iterations: 0, usage, mutations, fault: None }));
    talk.log(Body::TurnStarted { turn: "t2".into() });
    let (_, began) = talk.tell(Event::Text { turn: "t2".into(), delta: "hi".into() });
    assert_eq!(begun(&began)["message"]["model"], "mock/alpha", "the next turn is the first's");
}
