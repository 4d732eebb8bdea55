//! Gemini over real HTTP: a thinking and tool loop, what is sent and sent again, refusals, cancellation.

use std::sync::Arc;
use std::time::{Duration, Instant};

use net::KeyHeader;
use providers::{Api, Client, CloudCode, Replay};
use testkit::mock_model::{Format, MockModel, Reply, Step};
use vocab::{
    AssistantMessage, Block, Call, CallEnd, CallInput, CallResult, CallSpec, Chat, FaultKind, Finish, Json, Message,
    MessageEnd, ModelEvent, ModelStream, Part, Provider, Sent, ToolSpec, Usage,
};

use crate::support::{KEY, all, failure, failure_kind, next, provider_with, text, user};

const MODEL: &str = "gemini-3-mock";

fn client(mock: &MockModel) -> Client {
    provider_with(mock, |config| {
        config.api = Api::Gemini;
        config.base_url = mock.url(Format::Gemini).to_owned();
    })
}
fn chat(client: &Client) -> Box<dyn Chat> {
    client.chat(&client.resolve(MODEL).unwrap()).unwrap()
}
fn spec() -> CallSpec {
    let tool = ToolSpec {
        name: "bash".into(),
        description: "Runs it.".into(),
        schema: Json::trusted(
            r#"{"type":"object","properties":{"command":{"type":"string"}},"additionalProperties":false}"#,
        ),
    };
    CallSpec { system: "be brief".into(), tools: Arc::from([tool]), max_tokens: 100, thinking: Some("low".into()) }
}
async fn ask(client: &Client, prompt: &str) -> Vec<ModelEvent> {
    let mut chat = chat(client);
    chat.push(&user(prompt));
    all(chat.call(&spec())).await
}

/// All events, what was sent among them.
async fn told(mut stream: ModelStream) -> (Vec<(Arc<Sent>, u64)>, Vec<ModelEvent>) {
    let (mut sent, mut events) = (Vec::new(), Vec::new());
    while let Some(event) = std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        match event {
            ModelEvent::Sent { sent: one, bytes } => sent.push((one, bytes)),
            event => events.push(event),
        }
    }
    (sent, events)
}

/// The message these events make: in these answers a seal follows a call or stands alone.
fn message(events: &[ModelEvent]) -> AssistantMessage {
    let mut blocks: Vec<Block> = Vec::new();
    let mut end = MessageEnd::Interrupted;
    for event in events {
        match event {
            ModelEvent::Text(text) => blocks.push(Block::Text(text.as_str().into())),
            ModelEvent::Thinking(text) => blocks.push(Block::Thinking { text: text.as_str().into(), opaque: None }),
            ModelEvent::Call { id, name, input, .. } => blocks.push(Block::Call(Call {
                id: id.as_deref().unwrap().into(),
                name: name.as_deref().unwrap().into(),
                input: CallInput::Object(Json::trusted(input.as_str())),
                seal: None,
            })),
            ModelEvent::Seal(seal) => match blocks.last_mut() {
                Some(Block::Call(call)) => call.seal = Some(seal.as_str().into()),
                _ => blocks.push(Block::Thinking { text: "".into(), opaque: Some(seal.as_str().into()) }),
            },
            ModelEvent::Finished(finish) => end = MessageEnd::Finished(*finish),
            ModelEvent::Usage(_) => {}
            other => panic!("{other:?}"),
        }
    }
    AssistantMessage { blocks, model: MODEL.into(), end, usage: Usage::default() }
}

fn result(call: &Call) -> Message {
    Message::Result(CallResult {
        call: call.id.clone(),
        tool: call.name.clone(),
        end: CallEnd::Ran,
        parts: vec![Part::text("ok")],
        is_error: false,
        duration_ms: 0,
        mutation: None,
        edits: Vec::new(),
        details: None,
    })
}

#[tokio::test]
async fn three_rounds_carry_their_signatures_and_can_be_written_again() {
    let mock = MockModel::start().await;
    let call = |index, name: &str| Step::Call {
        index: Some(index),
        id: None,
        name: Some(name.into()),
        arguments: Some("{\"command\":\"ls\"}".into()),
    };
    let seal = |text: &str| Step::Seal(text.into());
    let (finish, usage) = (|reason: &str| Step::finish(reason), Step::usage(9, 4, 3));
    let two = [Step::Thinking("hm ".into()), Step::text("I look."), call(0, "bash"), seal("c2lnMQ=="), call(1, "bash")];
    mock.push(Reply::error(400, "Thinking level LOW is not supported for this model."));
    mock.push(Reply::stream([&two[..], &[usage.clone(), finish("tool_calls")]].concat()));
    mock.push(Reply::stream([call(0, "bash"), seal("c2lnMg=="), usage.clone(), finish("tool_calls")]));
    mock.push(Reply::stream([Step::text("Done."), seal("c2lnMw=="), usage.clone(), finish("stop")]));
    mock.push(Reply::stream([Step::text("Bye."), usage, finish("stop")]));

    let client = client(&mock);
    let spec = spec();
    let mut chat = chat(&client);
    let mut replay: Option<Replay> = None;
    let mut round = vec![user("go")];
    let mut ends = Vec::new();
    for number in 0..4 {
        round.iter().for_each(|message| chat.push(message));
        let (sent, events) = told(chat.call(&spec)).await;
        assert_eq!(sent.len(), if number == 0 { 2 } else { 1 }, "the second of the first call is what it learned");
        let replay = replay.get_or_insert_with(|| Replay::new(&sent[0].0).unwrap());
        round.iter().for_each(|message| replay.push(message));
        let bodies: Vec<Vec<u8>> = mock.chats().into_iter().map(|request| request.body).collect();
        for ((sent, bytes), body) in sent.iter().zip(&bodies[bodies.len() - sent.len()..]) {
            assert_eq!(String::from_utf8_lossy(&replay.body(sent)), String::from_utf8_lossy(body));
            assert_eq!(*bytes, body.len() as u64);
            let want = format!("{}/models/{MODEL}:streamGenerateContent?alt=sse", mock.url(Format::Gemini));
            assert_eq!(*sent.url, want);
            assert!(!format!("{sent:?}").contains(KEY));
        }
        ends.push(events.last().cloned().unwrap());
        let answer = message(&events);
        let results: Vec<Message> = answer.calls().map(result).collect();
        round = std::iter::once(Message::Assistant(answer)).chain(results).collect();
        if number == 2 {
            round.push(user("bye"));
        }
    }
    let finished = [Finish::ToolUse, Finish::ToolUse, Finish::Stop, Finish::Stop].map(ModelEvent::Finished);
    assert_eq!(ends, finished);
    let chats = mock.chats();
    assert!(chats.iter().all(|request| request.header("x-goog-api-key") == Some(KEY)));
    assert!(chats.iter().all(|request| !request.path.contains(KEY) && request.header("authorization").is_none()));
    assert_eq!(mock.connections(), 1);
    assert_eq!(chats[0].json()["generationConfig"]["thinkingConfig"]["thinkingLevel"], "LOW");
    let contents = mock.last_chat()["contents"].clone();
    let lines: Vec<String> = contents.as_array().unwrap().iter().map(|content| content.to_string()).collect();
    expect_test::expect![[r#"
        {"parts":[{"text":"go"}],"role":"user"}
        {"parts":[{"text":"I look."},{"functionCall":{"args":{"command":"ls"},"name":"bash"},"thoughtSignature":"c2lnMQ=="},{"functionCall":{"args":{"command":"ls"},"name":"bash"}}],"role":"model"}
        {"parts":[{"functionResponse":{"name":"bash","response":{"output":"ok"}}},{"functionResponse":{"name":"bash","response":{"output":"ok"}}}],"role":"user"}
        {"parts":[{"functionCall":{"args":{"command":"ls"},"name":"bash"},"thoughtSignature":"c2lnMg=="}],"role":"model"}
        {"parts":[{"functionResponse":{"name":"bash","response":{"output":"ok"}}}],"role":"user"}
        {"parts":[{"text":"Done."},{"text":"","thoughtSignature":"c2lnMw=="}],"role":"model"}
        {"parts":[{"text":"bye"}],"role":"user"}"#]].assert_eq(&lines.join("\n"));
}

#[tokio::test]
async fn refusals_have_their_kinds() {
    let mock = MockModel::start().await;
    let client = client(&mock);
    for (status, message, details, kind, wait) in [
        (
            400,
            "API key not valid. Please pass a valid API key.",
            r#"{"reason":"API_KEY_INVALID"}"#,
            FaultKind::Auth,
            None,
        ),
        (
            400,
            "The input token count (9) exceeds the maximum number of tokens allowed (8).",
            "",
            FaultKind::ContextOverflow,
            None,
        ),
        (400, "Invalid JSON payload", "", FaultKind::BadRequest, None),
        (403, "Permission denied", "", FaultKind::Auth, None),
        (429, "Quota exceeded", r#"{"retryDelay":"7s"}"#, FaultKind::RateLimited, Some(7_000)),
        (503, "The model is overloaded", "", FaultKind::Provider, None),
    ] {
        let body =
            format!(r#"[{{"error":{{"code":{status},"message":"{message}","status":"X","details":[{details}]}}}}]"#);
        mock.push(Reply::plain(status, "application/json", body));
        let events = ask(&client, "x").await;
        assert_eq!((failure_kind(&events), failure(&events).retry_after_ms), (kind, wait), "{message}");
        assert!(failure(&events).fault.message.contains(message));
    }
    assert_eq!(mock.connections(), 1, "a refusal leaves the connection as good as an answer does");
    mock.push(Reply::stream([Step::text("a"), Step::Error { status: 503, message: "overloaded".into() }]));
    let events = ask(&client, "x").await;
    assert_eq!((text(&events), failure_kind(&events)), ("a".into(), FaultKind::Provider));
    mock.push(Reply::stream([Step::usage(3, 0, 0), Step::finish("blocked")]));
    let events = ask(&client, "x").await;
    assert_eq!(text(&events), "[the prompt was blocked (PROHIBITED_CONTENT)]");
    assert_eq!(events.last(), Some(&ModelEvent::Finished(Finish::Refusal)));
}

#[tokio::test]
async fn a_body_that_stays_open_behind_the_answer_holds_nobody() {
    let mock = MockModel::start().await;
    let client = client(&mock);
    mock.push(Reply::stream([Step::text("a"), Step::usage(3, 0, 1), Step::finish("stop"), Step::Hold]));
    let started = Instant::now();
    let events = ask(&client, "x").await;
    assert_eq!(events.last(), Some(&ModelEvent::Finished(Finish::Stop)));
    assert!(started.elapsed() < Duration::from_millis(1500), "{:?}", started.elapsed());
}

#[tokio::test]
async fn an_answer_without_a_reason_to_stop_was_cut() {
    let mock = MockModel::start().await;
    let client = client(&mock);
    mock.push(Reply::stream([Step::text("a")]));
    let events = ask(&client, "x").await;
    assert_eq!((text(&events), failure_kind(&events)), ("a".into(), FaultKind::StreamCut));
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let mock = MockModel::start().await;
    let client = client(&mock);
    mock.push(Reply::stream([Step::text("a"), Step::Hold]));
    let mut chat = chat(&client);
    chat.push(&user("x"));
    let mut stream = chat.call(&spec());
    assert_eq!(next(&mut stream).await, Some(ModelEvent::Text("a".into())));
    drop(stream);
    mock.wait_until(|counts| counts.open == 0).await;
}

#[tokio::test]
async fn the_list_of_models_is_read() {
    let mock = MockModel::start().await;
    let models = client(&mock).models().await.unwrap();
    let short: Vec<_> = models.iter().map(|it| (&*it.slug, it.max_output, it.thinking, &*it.api)).collect();
    let api = "google-generative-ai";
    assert_eq!(short, [(MODEL, Some(65_536), true, api), ("gemini-2.5-mock", Some(65_536), true, api)]);
}

#[tokio::test]
async fn cloud_code_gets_the_same_request_wrapped() {
    let mock = MockModel::start().await;
    let client = provider_with(&mock, |config| {
        config.api = Api::Gemini;
        config.base_url = mock.url(Format::Gemini).trim_end_matches("/v1beta").to_owned();
        config.key_header = Some(KeyHeader::Bearer);
        config.cloud_code = Some(CloudCode::new(|| "p1".into()));
    });
    let mut chat = chat(&client);
    chat.push(&user("x"));
    let (sent, _) = told(chat.call(&spec())).await;
    let request = mock.requests().pop().unwrap();
    assert_eq!(request.path, "/v1internal:streamGenerateContent?alt=sse");
    assert_eq!(request.header("authorization"), Some(&*format!("Bearer {KEY}")));
    assert_eq!(request.header("x-goog-api-key"), None);
    let body = request.json();
    assert_eq!((&body["project"], &body["model"]), (&"p1".into(), &MODEL.into()));
    assert_eq!(body["request"]["contents"][0]["parts"][0]["text"], "x");
    let mut replay = Replay::new(&sent[0].0).unwrap();
    replay.push(&user("x"));
    assert_eq!(replay.body(&sent[0].0), request.body);
}
