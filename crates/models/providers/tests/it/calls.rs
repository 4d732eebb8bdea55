//! Tool calls: joined from fragments, told apart, and sent back.

use std::sync::Arc;

use providers::Api;
use serde_json::{Value, json};
use testkit::mock_model::{MockModel, Reply, Step};
use vocab::{
    AssistantMessage, Block, Call, CallEnd, CallInput, CallResult, CallSpec, Finish, Json, Message, MessageEnd,
    ModelEvent, Part, Provider, ToolSpec, Usage,
};

use crate::support::*;

#[tokio::test]
async fn a_prompt_streams_word_by_word() {
    for api in Api::ALL {
        let mock = MockModel::start().await;
        let events = ask(&speaking(&mock, api), "say 3 words").await;
        let words = ["w1 ", "w2 ", "w3"].map(|word| ModelEvent::Text(word.into()));
        assert_eq!(events[..3], words, "{api:?}");
        assert!(
            matches!(events[3], ModelEvent::Usage(Usage { output: 3, estimated: false, .. })),
            "{api:?} {events:?}"
        );
        assert_eq!(events[4..], [ModelEvent::Finished(Finish::Stop)], "{api:?}");
    }
}

#[tokio::test]
async fn a_loop_of_three_rounds_of_thinking_and_calls_goes_back_as_the_vendor_wants_it() {
    for api in Api::ALL {
        let mock = MockModel::start().await;
        let provider = speaking(&mock, api);
        let mut chat = chat(&provider);
        chat.push(&user("go"));
        for round in 0..3 {
            let seal = format!("c2VhbA{round}==");
            mock.push(Reply::stream([
                Step::Thinking(format!("hm {round}")),
                Step::Seal(seal.clone()),
                Step::call(0, &format!("call_{round}"), "bash", "{\"command\":\"ls\"}"),
                Step::finish("tool_calls"),
                Step::usage(9, 0, 3),
                Step::Done,
            ]));
            let events = all(chat.call(&spec_with_bash())).await;
            assert_eq!(events.last(), Some(&ModelEvent::Finished(Finish::ToolUse)), "{api:?} {round}: {events:?}");
            let message = assembled(&events, model(api));
            let call = message.calls().next().unwrap().id.clone();
            chat.push(&Message::Assistant(message));
            chat.push(&Message::Result(ran(call.as_str(), "out")));
        }
        mock.push(Reply::text("done"));
        assert_eq!(text(&all(chat.call(&spec_with_bash())).await), "done", "{api:?}");
        let body = String::from_utf8(mock.chats().pop().unwrap().body).unwrap();
        for round in 0..3 {
            let seal = format!("c2VhbA{round}==");
            // Chat Completions has no seals but OpenRouter's.
            assert_eq!(body.matches(&seal).count(), usize::from(api != Api::Completions), "{api:?} {round}: {body}");
        }
    }
}

/// The message of an answer, as the engine puts it together.
fn assembled(events: &[ModelEvent], model: &str) -> AssistantMessage {
    let mut blocks: Vec<Block> = Vec::new();
    for event in events {
        match (event, blocks.last_mut()) {
            (ModelEvent::Thinking(more), Some(Block::Thinking { text, opaque: None })) => {
                *text = format!("{text}{more}").into();
            }
            (ModelEvent::Thinking(more), _) => {
                blocks.push(Block::Thinking { text: more.as_str().into(), opaque: None });
            }
            (ModelEvent::Text(more), _) => blocks.push(Block::Text(more.as_str().into())),
            (ModelEvent::Seal(seal), Some(Block::Thinking { opaque: opaque @ None, .. })) => {
                *opaque = Some(seal.as_str().into());
            }
            (ModelEvent::Seal(seal), Some(Block::Call(Call { seal: sealed @ None, .. }))) => {
                *sealed = Some(seal.as_str().into());
            }
            (ModelEvent::Seal(seal), _) => {
                blocks.push(Block::Thinking { text: "".into(), opaque: Some(seal.as_str().into()) });
            }
            (ModelEvent::Redacted(sealed), _) => blocks.push(Block::Redacted(sealed.as_str().into())),
            (ModelEvent::Call { id: Some(id), name: Some(name), .. }, _) => blocks.push(Block::Call(Call {
                id: id.as_str().into(),
                name: name.as_str().into(),
                input: CallInput::Object(Json::trusted(r#"{"command":"ls"}"#)),
                seal: None,
            })),
            _ => {}
        }
    }
    AssistantMessage {
        blocks,
        model: model.into(),
        end: MessageEnd::Finished(Finish::ToolUse),
        usage: Usage::default(),
    }
}

fn ran(call: &str, output: &str) -> CallResult {
    CallResult {
        call: call.into(),
        tool: "bash".into(),
        end: CallEnd::Ran,
        parts: vec![Part::text(output)],
        is_error: false,
        duration_ms: 1,
        mutation: None,
        edits: Vec::new(),
        details: None,
    }
}

fn spec_with_bash() -> CallSpec {
    let tool = ToolSpec {
        name: "bash".into(),
        description: "Runs.".into(),
        schema: Json::trusted(r#"{"type":"object","properties":{}}"#),
    };
    CallSpec { system: "be brief".into(), tools: Arc::from([tool]), max_tokens: 4_000, thinking: Some("high".into()) }
}

#[tokio::test]
async fn the_request_says_what_the_spec_says() {
    let mock = MockModel::start().await;
    let provider = provider(&mock);
    let mut chat = chat(&provider);
    let tool = ToolSpec {
        name: "bash".into(),
        description: "Runs.".into(),
        schema: Json::trusted(r#"{"type":"object","properties":{}}"#),
    };
    let spec =
        CallSpec { system: "be brief".into(), tools: Arc::from([tool]), max_tokens: 77, thinking: Some("high".into()) };
    chat.push(&user("call bash {\"command\":\"ls\"} then say \"that is all\""));
    let events = all(chat.call(&spec)).await;
    let call = ModelEvent::Call {
        index: 0,
        id: Some("call_0_0".into()),
        name: Some("bash".into()),
        input: r#"{"command":"ls"}"#.into(),
    };
    assert_eq!(events[0], call);
    assert_eq!(events.last(), Some(&ModelEvent::Finished(Finish::ToolUse)));

    chat.push(&Message::Assistant(AssistantMessage {
        blocks: vec![Block::Call(Call {
            id: "call_0_0".into(),
            name: "bash".into(),
            input: CallInput::Object(Json::trusted(r#"{"command":"ls"}"#)),
            seal: None,
        })],
        model: "mock/alpha".into(),
        end: MessageEnd::Finished(Finish::ToolUse),
        usage: Usage::default(),
    }));
    chat.push(&Message::Result(CallResult {
        call: "call_0_0".into(),
        tool: "bash".into(),
        end: CallEnd::Ran,
        parts: vec![Part::text("a.txt")],
        is_error: false,
        duration_ms: 1,
        mutation: None,
        edits: Vec::new(),
        details: None,
    }));
    assert_eq!(text(&all(chat.call(&spec)).await), "that is all");

    let request = &mock.chats()[1];
    assert_eq!(request.header("authorization"), Some(&*format!("Bearer {KEY}")));
    assert_eq!(request.header("content-length"), Some(&*request.body.len().to_string()));
    let mut body = request.json();
    let messages = body["messages"].take();
    assert_eq!(
        body,
        json!({
            "model": "mock/alpha", "stream": true, "stream_options": { "include_usage": true }, "max_tokens": 77,
            "reasoning_effort": "high", "messages": null,
            "tools": [{ "type": "function", "function": {
                "name": "bash", "description": "Runs.", "parameters": { "type": "object", "properties": {} },
            }}],
        })
    );
    let roles: Vec<&str> = messages.as_array().unwrap().iter().map(|one| one["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool"]);
}

#[tokio::test]
async fn without_a_system_prompt_the_body_is_still_json() {
    let mock = MockModel::start().await;
    let provider = provider(&mock);
    let mut chat = chat(&provider);
    let bare = CallSpec { system: "".into(), ..spec() };
    chat.push(&user("say a"));
    chat.push(&user("say b"));
    assert_eq!(text(&all(chat.call(&bare)).await), "b");
    assert_eq!(mock.last_chat()["messages"].as_array().unwrap().len(), 2);
    // The same pieces serve a call with one.
    assert_eq!(text(&all(chat.call(&spec())).await), "b");
    assert_eq!(mock.last_chat()["messages"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn a_longer_history_adds_its_own_bytes_and_nothing_else() {
    let mock = MockModel::start().await;
    let provider = provider(&mock);
    let mut chat = chat(&provider);
    let spec = spec();
    let mut before = 0;
    for round in 1..=5 {
        let (size, prompt) = (chat.bytes(), format!("say round {round}"));
        chat.push(&user(&prompt));
        let message = chat.bytes() - size;
        assert_eq!(message, format!(r#",{{"role":"user","content":"{prompt}"}}"#).len());
        all(chat.call(&spec)).await;
        let sent = mock.chats().last().unwrap().body.len();
        assert!(before == 0 || sent == before + message, "round {round}: {sent} after {before}");
        before = sent;
    }
    chat.clear();
    chat.push(&user("say again"));
    assert_eq!(text(&all(chat.call(&spec)).await), "again");
    assert_eq!(mock.last_chat()["messages"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn thinking_and_fragments_of_calls_come_as_they_were_sent() {
    let start = Step::Call { index: Some(0), id: Some("a".into()), name: Some("f".into()), arguments: None };
    let events = answer(Reply::stream([
        Step::Thinking("hm".into()),
        start,
        Step::more(0, "{\"x\""),
        Step::call(1, "b", "g", "{}"),
        Step::more(0, ":1}"),
        Step::finish("stop"),
        Step::usage(10, 4, 2),
        Step::Done,
    ]))
    .await;
    let more = |input: &str| ModelEvent::Call { index: 0, id: None, name: None, input: input.into() };
    let first = |index, id: &str, name: &str, input: &str| ModelEvent::Call {
        index,
        id: Some(id.into()),
        name: Some(name.into()),
        input: input.into(),
    };
    let usage = Usage { input: 6, cache_read: 4, cache_write: 0, output: 2, estimated: false };
    assert_eq!(
        events,
        [
            ModelEvent::Thinking("hm".into()),
            first(0, "a", "f", ""),
            more("{\"x\""),
            first(1, "b", "g", "{}"),
            more(":1}"),
            ModelEvent::Usage(usage),
            // This server said `stop`; the calls say otherwise.
            ModelEvent::Finished(Finish::ToolUse),
        ]
    );
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let body = json!({
        "choices": [{ "message": { "role": "assistant", "content": "hi\nthere", "reasoning": "hm", "tool_calls": [
            { "id": "a", "type": "function", "function": { "name": "f", "arguments": { "x": 1 } } },
        ]}, "finish_reason": "tool_calls" }],
        "usage": { "prompt_tokens": 3, "completion_tokens": 2 },
    });
    // Pretty-printed, as some do: line ends inside are white space.
    let pretty = serde_json::to_string_pretty(&body).unwrap();
    let events = answer(Reply::plain(200, "application/json; charset=utf-8", pretty)).await;
    assert_eq!(events[0], ModelEvent::Thinking("hm".into()));
    assert_eq!(events[1], ModelEvent::Text("hi\nthere".into()));
    let ModelEvent::Call { input, .. } = &events[2] else { panic!("{events:?}") };
    assert_eq!(serde_json::from_str::<Value>(input).unwrap(), json!({ "x": 1 }));
    assert!(matches!(events[3], ModelEvent::Usage(Usage { input: 3, output: 2, .. })));
    assert_eq!(events[4..], [ModelEvent::Finished(Finish::ToolUse)]);
}

#[tokio::test]
async fn every_reason_to_stop_has_its_meaning() {
    for api in Api::ALL {
        for (reason, want) in [
            ("stop", Finish::Stop),
            ("length", Finish::Length),
            ("content_filter", Finish::Refusal),
            ("refusal", Finish::Refusal),
        ] {
            let events = answer_in(api, Reply::stream([Step::text("x"), Step::finish(reason), Step::Done])).await;
            assert_eq!(events.last(), Some(&ModelEvent::Finished(want)), "{api:?} {reason}");
        }
    }
    let refusal = "data: {\"choices\":[{\"delta\":{\"refusal\":\"I will not\"}}]}\n\n";
    let events = answer(Reply::stream([Step::Raw(refusal.into()), Step::finish("stop"), Step::Done])).await;
    assert_eq!(events, [ModelEvent::Text("I will not".into()), ModelEvent::Finished(Finish::Refusal)]);
}

#[tokio::test]
async fn usage_is_told_once_and_done_may_be_missing() {
    // A running total with every chunk, the reason to stop in the middle, no `[DONE]`.
    let events =
        answer(Reply::stream([Step::text("a"), Step::usage(5, 0, 1), Step::finish("stop"), Step::usage(5, 0, 2)]))
            .await;
    assert_eq!(events.len(), 3, "{events:?}");
    assert!(matches!(events[1], ModelEvent::Usage(Usage { output: 2, .. })), "{events:?}");
}

#[tokio::test]
async fn a_burst_in_one_packet_yields_one_event_per_delta() {
    for api in Api::ALL {
        let mut steps: Vec<Step> = (0..500).map(|n| Step::Text(format!("{n} "))).collect();
        steps.extend([Step::finish("stop"), Step::Done]);
        let burst = Step::Raw(format(api).stream(&steps));
        let events = uncounted(answer_in(api, Reply::stream([burst])).await);
        assert_eq!(events.len(), 501, "{api:?}");
        assert_eq!(events[499], ModelEvent::Text("499 ".into()), "{api:?}");
    }
}

#[tokio::test]
async fn what_a_server_does_not_take_is_learned_once_per_conversation() {
    for (complaint, gone, instead) in [
        ("Use 'max_completion_tokens' instead.", "max_tokens", Some("max_completion_tokens")),
        ("Unknown field: stream_options", "stream_options", None),
        ("reasoning_effort is not supported by this model", "reasoning_effort", None),
    ] {
        let mock = MockModel::start().await;
        mock.push(Reply::error(400, complaint));
        let provider = provider(&mock);
        let mut chat = chat(&provider);
        let spec = CallSpec { thinking: Some("low".into()), ..spec() };
        chat.push(&user("say fine"));
        assert_eq!(text(&all(chat.call(&spec)).await), "fine", "{complaint}");
        assert_eq!(text(&all(chat.call(&spec)).await), "fine", "{complaint}");
        let bodies: Vec<Value> = mock.chats().iter().map(|request| request.json()).collect();
        let had: Vec<bool> = bodies.iter().map(|body| body.get(gone).is_some()).collect();
        assert_eq!(had, [true, false, false], "{complaint}");
        if let Some(instead) = instead {
            assert_eq!(bodies[2][instead], 100);
        }
        assert_eq!(mock.connections(), 1);
    }
    // The same complaint twice is an error, not a loop.
    let mock = MockModel::start().await;
    mock.push(Reply::error(400, "max_completion_tokens"));
    mock.push(Reply::error(400, "max_completion_tokens"));
    assert_eq!(failure(&ask(&provider(&mock), "say x").await).fault.status, Some(400));
}

#[tokio::test]
async fn the_models_own_limit_caps_the_answer() {
    let mock = MockModel::start().await;
    let provider = provider(&mock);
    let mut model = provider.resolve("mock/alpha").unwrap();
    model.max_output = Some(50);
    let mut chat = provider.chat(&model).unwrap();
    chat.push(&user("say x"));
    all(chat.call(&spec())).await;
    assert_eq!(mock.last_chat()["max_tokens"], 50);
}
