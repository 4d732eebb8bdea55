//! OpenAI Responses over real HTTP, against a server that refuses what the vendor would refuse. What all formats have in
//! common is tried elsewhere.

use std::future::poll_fn;
use std::sync::Arc;

use providers::{Api, Client, Compat, Replay};
use testkit::mock_model::{MockModel, Reply, Step};
use vocab::{
    AssistantMessage, Block, Call, CallEnd, CallInput, CallResult, CallSpec, Chat, Finish, Json, Message, MessageEnd,
    ModelEvent, ModelStream, Part, Sent, ToolSpec, Usage,
};

use crate::support::*;

fn responses(mock: &MockModel) -> Client {
    speaking(mock, Api::Responses)
}

fn tools() -> CallSpec {
    let tool = ToolSpec {
        name: "bash".into(),
        description: "Runs a command.".into(),
        schema: Json::trusted(r#"{"type":"object","properties":{"command":{"type":"string"}}}"#),
    };
    CallSpec { tools: Arc::from([tool]), thinking: Some("low".into()), ..spec() }
}

/// Everything one call says, and what was sent for it.
async fn heard(mut stream: ModelStream) -> (Vec<Arc<Sent>>, Vec<ModelEvent>) {
    let (mut sent, mut said) = (Vec::new(), Vec::new());
    while let Some(event) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        match event {
            ModelEvent::Sent { sent: one, .. } => sent.push(one),
            event => said.push(event),
        }
    }
    (sent, said)
}

/// The message of an answer in which each block came in one piece.
fn message(events: &[ModelEvent]) -> AssistantMessage {
    let mut blocks: Vec<Block> = Vec::new();
    let mut end = None;
    for event in events {
        match (event, blocks.last_mut()) {
            (ModelEvent::Text(text), _) => blocks.push(Block::Text((**text).into())),
            (ModelEvent::Thinking(text), _) => {
                blocks.push(Block::Thinking { text: (**text).into(), opaque: None });
            }
            (ModelEvent::Seal(seal), Some(Block::Thinking { opaque: opaque @ None, .. })) => {
                *opaque = Some((**seal).into());
            }
            (ModelEvent::Seal(seal), Some(Block::Call(call))) => call.seal = Some((**seal).into()),
            (ModelEvent::Seal(seal), _) => {
                blocks.push(Block::Thinking { text: "".into(), opaque: Some((**seal).into()) });
            }
            (ModelEvent::Call { id: Some(id), name: Some(name), .. }, _) => blocks.push(Block::Call(Call {
                id: id.as_str().into(),
                name: name.as_str().into(),
                input: CallInput::Object(Json::empty_object()),
                seal: None,
            })),
            (ModelEvent::Call { input, .. }, Some(Block::Call(call))) => {
                call.input = CallInput::Object(Json::trusted(input.as_str()));
            }
            (ModelEvent::Finished(finish), _) => end = Some(MessageEnd::Finished(*finish)),
            (ModelEvent::Usage(_), _) => {}
            (other, _) => panic!("{other:?}"),
        }
    }
    AssistantMessage { blocks, model: "mock/alpha".into(), end: end.unwrap(), usage: Usage::default() }
}

fn result(call: &Call) -> Message {
    Message::Result(CallResult {
        call: call.id.clone(),
        tool: call.name.clone(),
        end: CallEnd::Ran,
        parts: vec![Part::text("done")],
        is_error: false,
        duration_ms: 0,
        mutation: None,
        edits: Vec::new(),
        details: None,
    })
}

fn rounds() -> [Vec<Step>; 3] {
    let call = |id: &str, input: &str| {
        let start = Step::Call { index: Some(0), id: Some(id.into()), name: Some("bash".into()), arguments: None };
        [start, Step::more(0, input)]
    };
    let end = |reason| [Step::usage(9, 3, 4), Step::finish(reason), Step::Done];
    let first = [Step::Thinking("hm \u{e9}".into()), Step::Seal("c2ln/1+==".into()), Step::text("I look.")];
    // Behind the words of another answer: a seal of a thought without any.
    let second = [Step::Redacted("c2ln/2".into())];
    let third = [Step::Thinking("so".into()), Step::Seal("c2ln/3".into()), Step::text("It is done.")];
    [
        [&first[..], &call("call_1", r#"{"command":"ls \"a\""}"#), &end("tool_calls")].concat(),
        [&second[..], &call("call_2", "{}"), &end("tool_calls")].concat(),
        [&third[..], &end("stop")].concat(),
    ]
}

#[tokio::test]
async fn three_rounds_of_thinking_and_tools_go_over_one_connection_and_are_written_again_byte_for_byte() {
    let mock = MockModel::start().await;
    let client = responses(&mock);
    let mut chat = chat(&client);
    let spec = tools();
    let mut replay: Option<Replay> = None;
    let mut messages = vec![user("go")];
    let mut seals: Vec<String> = Vec::new();
    for (round, steps) in rounds().into_iter().enumerate() {
        mock.push(Reply::stream(steps));
        messages.iter().for_each(|message| chat.push(message));
        let (sent, events) = heard(chat.call(&spec)).await;
        assert_eq!(sent.len(), 1, "round {round}: {events:?}");

        let request = mock.chats().pop().unwrap();
        assert_eq!(
            (&*request.path, request.header("authorization")),
            ("/v1/responses", Some(&*format!("Bearer {KEY}")))
        );
        assert_eq!(*sent[0].url, format!("{}/responses", mock.base_url));
        assert!(!format!("{:?}", sent[0]).contains("canary"));
        let replay = replay.get_or_insert_with(|| Replay::new(&sent[0]).unwrap());
        messages.iter().for_each(|message| replay.push(message));
        assert_eq!(String::from_utf8_lossy(&replay.body(&sent[0])), String::from_utf8_lossy(&request.body));
        let body = String::from_utf8(request.body).unwrap();
        assert_eq!(seals.iter().filter(|seal| body.contains(&**seal)).count(), round, "{body}");

        seals.extend(events.iter().filter_map(|event| match event {
            ModelEvent::Seal(seal) => Some(seal.clone()),
            _ => None,
        }));
        let answer = message(&events);
        let want = if round == 2 { Finish::Stop } else { Finish::ToolUse };
        assert_eq!(answer.end, MessageEnd::Finished(want), "round {round}");
        let results: Vec<Message> = answer.calls().map(result).collect();
        messages = vec![Message::Assistant(answer)];
        messages.extend(results);
    }
    assert_eq!(seals.len(), 3);
    assert_eq!((mock.connections(), mock.chats().len()), (1, 3), "nothing was refused and nothing asked twice");
}

#[tokio::test]
async fn the_whole_answer_of_a_server_that_does_not_stream_is_read() {
    let mock = MockModel::start().await;
    let whole = r#"{"object":"response","status":"completed","error":null,
        "output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"all"}]}],
        "usage":{"input_tokens":5,"output_tokens":2}}"#;
    mock.push(Reply::plain(200, "application/json", whole));
    let events = ask(&responses(&mock), "x").await;
    let usage = Usage { input: 5, output: 2, ..Usage::default() };
    assert_eq!(events, [ModelEvent::Text("all".into()), ModelEvent::Usage(usage), ModelEvent::Finished(Finish::Stop)]);
}

#[tokio::test]
async fn what_a_model_does_not_take_is_learned_and_told() {
    let refusal = |param: &str| {
        let body = format!(r#"{{"error":{{"message":"not for this model","param":"{param}"}}}}"#);
        Reply::plain(400, "application/json", body)
    };
    let mock = MockModel::start().await;
    for param in ["reasoning.summary", "include", "reasoning.effort"] {
        mock.push(refusal(param));
    }
    mock.push(Reply::text("ok"));
    let client = responses(&mock);
    let mut chat = chat(&client);
    chat.push(&user("x"));
    let (sent, events) = heard(chat.call(&tools())).await;
    assert_eq!((text(&events), sent.len()), ("ok".into(), 2), "the first request, and the one that was taken");
    let bodies: Vec<_> = mock.chats().iter().map(|request| request.json()).collect();
    assert_eq!(bodies.len(), 4);
    assert_eq!(bodies[0]["reasoning"]["summary"], "auto");
    assert!(bodies[1]["reasoning"]["summary"].is_null() && bodies[1]["include"].is_array());
    assert!(bodies[2]["include"].is_null() && bodies[2]["reasoning"]["effort"] == "low");
    assert!(bodies[3]["reasoning"].is_null());
    // It is not asked again.
    chat.push(&user("y"));
    mock.push(Reply::text("ok"));
    heard(chat.call(&tools())).await;
    assert_eq!(mock.chats().len(), 5);
}

#[tokio::test]
async fn a_backend_without_limit_and_with_instructions_gets_them_so() {
    let mock = MockModel::start().await;
    let client = speaking_with(&mock, Api::Responses, |config| {
        config.compat = Compat { output_limit: Some(false), instructions: Some(true), ..Compat::default() };
    });
    let mut chat = chat(&client);
    chat.push(&user("say ok"));
    heard(chat.call(&CallSpec { system: "".into(), ..spec() })).await;
    let sent = mock.last_chat();
    assert!(sent["max_output_tokens"].is_null() && sent["instructions"].is_string(), "{sent}");
    assert_eq!(sent["store"], false);
}
