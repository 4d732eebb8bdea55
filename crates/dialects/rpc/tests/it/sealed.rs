//! Blocks without words have their place in the count, and a model that stands in is told.

use serde_json::{Value, json};
use vocab::{
    AssistantMessage, Block, Body, Call, CallInput, Delta, Event, Fault, FaultKind, FellBack, Finish, Json, MessageEnd,
    ModelEntry, RetryEvent, Sealed, Stop, TurnEnd, TurnEntry, Usage,
};

use crate::talk::Talk;

fn thought(text: &str, seal: Option<&str>) -> Block {
    Block::Thinking { text: text.into(), opaque: seal.map(Into::into) }
}
fn call(id: &str) -> Block {
    let input = CallInput::Object(Json::empty_object());
    Block::Call(Call { id: id.into(), name: "read".into(), input, seal: Some("s".into()) })
}
fn redacted() -> Block {
    Block::Redacted("r".into())
}
fn words(text: &str) -> Block {
    Block::Text(text.into())
}

/// What the engine tells of a reply with these blocks; what is sealed behind the last words comes with the entry alone.
fn events(blocks: &[Block]) -> Vec<Event> {
    let turn = || "t1".into();
    let mut events = Vec::new();
    let mut untold = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        let (words, seal) = match block {
            Block::Text(text) => {
                (Some(Event::Delta(Delta::Text { turn: turn(), delta: text.to_string().into() })), None)
            }
            Block::Thinking { text, opaque } if !text.is_empty() => {
                let seal = opaque.as_ref().map(|_| Sealed::Thinking);
                (Some(Event::Delta(Delta::Thinking { turn: turn(), delta: text.to_string().into() })), seal)
            }
            Block::Thinking { .. } => (None, Some(Sealed::Alone)),
            Block::Redacted(_) => (None, Some(Sealed::Redacted)),
            Block::Call(call) => {
                let (id, name) = (Some(call.id.clone()), Some(call.name.clone()));
                (
                    Some(Event::Delta(Delta::CallInput {
                        turn: turn(),
                        index: at as u32,
                        id,
                        name,
                        delta: "{}".into(),
                    })),
                    None,
                )
            }
        };
        if let Some(words) = words {
            events.append(&mut untold);
            events.push(words);
        }
        untold.extend(seal.map(|what| Event::Delta(Delta::Sealed { turn: turn(), what })));
    }
    events
}

fn assistant(blocks: Vec<Block>, model: &str) -> Body {
    let end = MessageEnd::Finished(Finish::Stop);
    let message = AssistantMessage { blocks, model: model.into(), end, usage: Usage::default() };
    Body::Assistant { turn: Some("t1".into()), message }
}

/// The content of the finished message: each block of it was begun and ended under its own number, as its own kind and
/// with its own words, and nothing else was.
fn check(blocks: &[Block]) -> Vec<Value> {
    let mut talk = Talk::open();
    talk.log(Body::Turn(TurnEntry::Started { turn: "t1".into() }));
    let mut frames = Vec::new();
    for event in events(blocks) {
        frames.extend(talk.tell(event).1);
    }
    frames.extend(talk.log(assistant(blocks.to_vec(), "mock/alpha")));
    let last = frames.iter().find(|frame| frame["type"] == "message_end").expect("the message ends");
    let content = last["message"]["content"].as_array().expect("a list").clone();
    let told = |suffix: &str| -> Vec<(u64, String)> {
        let events = frames.iter().map(|frame| &frame["assistantMessageEvent"]);
        let named = events.filter_map(|event| Some((event["contentIndex"].as_u64()?, event["type"].as_str()?)));
        named.filter_map(|(at, kind)| Some((at, kind.strip_suffix(suffix)?.to_owned()))).collect()
    };
    let kind = |block: &Value| block["type"].as_str().expect("a kind").to_lowercase();
    let want: Vec<(u64, String)> = content.iter().enumerate().map(|(at, it)| (at as u64, kind(it))).collect();
    assert_eq!((told("_start"), told("_end")), (want.clone(), want), "{blocks:?}");
    let words = |block: &Value| block.get("text").or(block.get("thinking")).cloned();
    let grown = frames.iter().rev().find_map(|frame| frame.get("assistantMessageEvent"));
    let grown = grown.map_or(Vec::new(), |event| event["partial"]["content"].as_array().expect("a list").clone());
    assert_eq!(
        grown.iter().map(words).collect::<Vec<_>>(),
        content.iter().map(words).collect::<Vec<_>>(),
        "{blocks:?}"
    );
    content
}

fn kinds(blocks: &[Block]) -> Vec<String> {
    check(blocks).iter().map(|block| block["type"].as_str().expect("a kind").to_owned()).collect()
}

#[test]
fn blocks_without_words_are_counted_like_the_others() {
    let seal = || thought("", Some("s"));
    assert_eq!(kinds(&[redacted(), words("a")]), ["thinking", "text"]);
    assert_eq!(kinds(&[thought("hm", Some("s")), redacted(), call("c")]), ["thinking", "thinking", "toolCall"]);
    assert_eq!(
        kinds(&[thought("a", Some("s")), thought("b", Some("s")), words("c")]),
        ["thinking", "thinking", "text"]
    );
    assert_eq!(kinds(&[seal(), words("a")]), ["thinking", "text"]);
    assert_eq!(kinds(&[words("a"), redacted(), seal(), words("b")]), ["text", "thinking", "thinking", "text"]);
    assert_eq!(kinds(&[call("c"), seal(), call("d"), redacted()]), ["toolCall", "thinking", "toolCall", "thinking"]);
}

#[test]
fn what_a_text_is_signed_with_is_a_member_of_the_text() {
    let seal = |of: &str| thought("", Some(of));
    let signed = |text: &str, with: &str| json!({"type":"text","text":text,"textSignature":with});
    assert_eq!(check(&[words("a"), seal("s")]), [signed("a", "s")]);
    assert_eq!(check(&[words("a"), seal("s"), call("c")])[0], signed("a", "s"));
    assert_eq!(
        check(&[thought("hm", Some("t")), words("a"), seal("s"), words("b"), seal("u")]),
        [json!({"type":"thinking","thinking":"hm","thinkingSignature":"t"}), signed("a", "s"), signed("b", "u")]
    );
    // The second one is nobody's.
    let second = json!({"type":"thinking","thinking":"","thinkingSignature":"t"});
    assert_eq!(check(&[words("a"), seal("s"), seal("t")]), [signed("a", "s"), second]);
}

/// What the engine makes of one more thing that a model says.
fn said(blocks: &mut Vec<Block>, what: u64) {
    let last = blocks.last_mut();
    match what {
        0 if matches!(last, Some(Block::Text(_))) => {}
        0 => blocks.push(words("a")),
        1 if matches!(last, Some(Block::Thinking { opaque: None, .. })) => {}
        1 => blocks.push(thought("hm", None)),
        2 => match last {
            Some(Block::Thinking { opaque: seal @ None, .. } | Block::Call(Call { seal: seal @ None, .. })) => {
                *seal = Some("s".into());
            }
            _ => blocks.push(thought("", Some("s"))),
        },
        3 => blocks.push(redacted()),
        _ => {
            let mut call = call(&format!("c{}", blocks.len()));
            if let Block::Call(call) = &mut call {
                call.seal = None;
            }
            blocks.push(call);
        }
    }
}

#[test]
fn what_is_told_while_a_reply_grows_is_what_it_has_become() {
    const KINDS: u64 = 5;
    const LENGTH_MAX: u32 = 5;
    let mut checked = 0;
    // Every sequence up to that length: there are few enough of them.
    for length in 0..=LENGTH_MAX {
        for number in 0..KINDS.pow(length) {
            let mut blocks = Vec::new();
            (0..length).for_each(|at| said(&mut blocks, number / KINDS.pow(at) % KINDS));
            check(&blocks);
            checked += 1;
        }
    }
    assert_eq!(checked, 3906);
}

#[test]
fn who_stands_in_is_told_when_it_is_asked_and_when_it_has_answered() {
    let mut talk = Talk::open();
    talk.log(Body::Turn(TurnEntry::Started { turn: "t1".into() }));
    let fault = Fault::new(FaultKind::Provider, "busy");
    let (turn, from, to) = ("t1".into(), "mock/alpha".into(), "mock/beta".into());
    talk.log(Body::Model(ModelEntry::Retrying { turn, attempt: 1, attempts_max: 1, wait_ms: 1, fault: fault.clone() }));
    talk.tell(Event::Retry(RetryEvent::Started { turn: "t1".into(), attempt: 1 }));
    talk.tell(Event::Retry(RetryEvent::Ended { turn: "t1".into(), attempt: 1, ok: false }));
    let frames = talk.log(Body::Model(ModelEntry::FellBack(FellBack {
        turn: "t1".into(),
        from,
        to,
        fault,
        skipped: Vec::new(),
    })));
    assert_eq!(
        frames,
        [
            json!({"type":"auto_retry_end","success":false,"attempt":1,"finalError":"busy"}),
            json!({"type":"retry_fallback_applied","from":"mock/mock/alpha","to":"mock/beta","role":"default"}),
        ]
    );
    let (_, began) = talk.tell(Event::Delta(Delta::Text { turn: "t1".into(), delta: "hi".into() }));
    let begun = |frames: &[Value]| frames.iter().find(|it| it["type"] == "message_start").cloned().expect("it begins");
    assert_eq!(begun(&began)["message"]["model"], "beta", "the message that grows is the other's");
    let told = |frames: &[Value]| frames.iter().filter(|it| it["type"] == "retry_fallback_succeeded").count();
    let ended = talk.log(assistant(vec![words("hi")], "mock/beta"));
    assert_eq!(told(&ended), 1, "{ended:?}");
    assert_eq!(told(&talk.log(assistant(vec![words("more")], "mock/beta"))), 0, "once");
    let (turn, usage, mutations) = ("t1".into(), Usage::default(), Vec::new());
    talk.log(Body::Turn(TurnEntry::Ended(TurnEnd {
        turn,
        stop: Stop::EndTurn,
        iterations: 0,
        usage,
        mutations,
        fault: None,
    })));
    talk.log(Body::Turn(TurnEntry::Started { turn: "t2".into() }));
    let (_, began) = talk.tell(Event::Delta(Delta::Text { turn: "t2".into(), delta: "hi".into() }));
    assert_eq!(begun(&began)["message"]["model"], "mock/alpha", "the next turn is the first's");
}
