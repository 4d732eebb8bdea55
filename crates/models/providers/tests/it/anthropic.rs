//! Anthropic Messages over real HTTP.

use std::future::poll_fn;
use std::sync::Arc;

use providers::{Api, Client, Compat, Replay, Secret};
use testkit::mock_model::{MockModel, Reply, Step};
use vocab::{
    AssistantMessage, Block, Call, CallEnd, CallInput, CallResult, CallSpec, Chat, FaultKind, Finish, Json, Message,
    MessageEnd, ModelEvent, ModelStream, Part, Provider, Sent, ToolSpec, Usage,
};

use crate::support::*;

const MODEL: &str = "claude-sonnet-4-5";

fn claude(mock: &MockModel, betas: &[&str], headers: &[(&str, &str)]) -> Client {
    provider_with(mock, |config| {
        config.api = Api::Anthropic;
        config.compat.betas = betas.iter().map(|beta| Arc::from(*beta)).collect();
        config.headers = headers.iter().map(|(name, value)| ((*name).into(), Secret::new(value).unwrap())).collect();
    })
}
fn talk(client: &Client) -> Box<dyn Chat> {
    client.chat(&client.resolve(MODEL).unwrap()).unwrap()
}
fn thinking(level: &str) -> CallSpec {
    let tool = ToolSpec {
        name: "read_file".into(),
        description: "Reads a file.".into(),
        schema: Json::trusted(r#"{"type":"object","properties":{"path":{"type":"string"}}}"#),
    };
    CallSpec { tools: [tool].into(), thinking: Some(level.into()), ..spec() }
}
fn result(call: &Call) -> Message {
    Message::Result(CallResult {
        call: call.id.clone(),
        tool: "read_file".into(),
        end: CallEnd::Ran,
        parts: vec![Part::text("found")],
        is_error: false,
        duration_ms: 0,
        mutation: None,
        edits: Vec::new(),
        details: None,
    })
}

/// What was sent, and the message that came back.
async fn answer(mut stream: ModelStream) -> (Vec<Arc<Sent>>, AssistantMessage) {
    let (mut sent, mut blocks) = (Vec::new(), Vec::new());
    let mut end = MessageEnd::Interrupted;
    let mut usage = Usage::default();
    while let Some(event) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        match event {
            ModelEvent::Sent { sent: request, .. } => sent.push(request),
            ModelEvent::Text(text) => blocks.push(Block::Text(text.into())),
            ModelEvent::Thinking(text) => blocks.push(Block::Thinking { text: text.into(), opaque: None }),
            ModelEvent::Seal(seal) => match blocks.last_mut() {
                Some(Block::Thinking { opaque: opaque @ None, .. }) => *opaque = Some(seal.into()),
                _ => blocks.push(Block::Thinking { text: "".into(), opaque: Some(seal.into()) }),
            },
            ModelEvent::Redacted(data) => blocks.push(Block::Redacted(data.into())),
            ModelEvent::Call { id: Some(id), name: Some(name), .. } => {
                let input = CallInput::Object(Json::empty_object());
                blocks.push(Block::Call(Call { id: id.as_str().into(), name: name.into(), input, seal: None }));
            }
            // These calls get their arguments in one piece.
            ModelEvent::Call { input: more, .. } => match blocks.last_mut() {
                Some(Block::Call(call)) => call.input = CallInput::Object(Json::trusted(more)),
                other => panic!("{other:?}"),
            },
            ModelEvent::Usage(it) => usage = it,
            ModelEvent::Finished(finish) => end = MessageEnd::Finished(finish),
            ModelEvent::Failed(fault) => end = MessageEnd::Failed(fault),
        }
    }
    (sent, AssistantMessage { blocks, model: MODEL.into(), end, usage })
}

#[tokio::test]
async fn three_rounds_of_thinking_and_calls_share_a_connection_and_can_be_written_again() {
    let mock = MockModel::start().await;
    mock.push(Reply::stream([
        Step::Thinking("first a".into()),
        Step::Seal("sig+1/==".into()),
        Step::text("I look."),
        Step::call(0, "toolu_1", "read_file", r#"{"path":"a"}"#),
        Step::call(1, "toolu_2", "read_file", r#"{"path":"b"}"#),
        Step::Usage { prompt: 30, cached: 10, written: 5, completion: 9 },
        Step::finish("tool_calls"),
        Step::Done,
    ]));
    mock.push(Reply::stream([
        Step::Comment,
        Step::Redacted("sealed+2".into()),
        Step::call(0, "toolu_3", "read_file", r#"{"path":"c"}"#),
        Step::finish("tool_calls"),
        Step::Done,
    ]));
    mock.push(Reply::text("all found"));
    let client = claude(&mock, &["feature-1"], &[("Anthropic-Beta", "feature-2"), ("x-team", "blue")]);
    let mut chat = talk(&client);
    let mut replay: Option<Replay> = None;
    let mut fresh = vec![user("look")];
    for round in 0..3 {
        fresh.iter().for_each(|message| chat.push(message));
        let (sent, message) = answer(chat.call(&thinking("low"))).await;
        let replay = replay.get_or_insert_with(|| Replay::new(&sent[0]).unwrap());
        fresh.iter().for_each(|message| replay.push(message));
        let request = mock.chats().pop().unwrap();
        assert_eq!(String::from_utf8_lossy(&replay.body(&sent[0])), String::from_utf8_lossy(&request.body));
        assert!(request.json()["thinking"]["budget_tokens"].as_u64().unwrap() >= 1024, "round {round}");
        assert_eq!(*sent[0].url, format!("{}/messages", mock.base_url));
        assert_eq!(request.header("x-api-key"), Some(KEY));
        assert_eq!(request.header("authorization"), None);
        assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
        assert_eq!(request.header("anthropic-beta"), Some("feature-1,feature-2"));
        assert_eq!(request.header("x-team"), Some("blue"));
        assert!(!format!("{sent:?}").contains("canary") && !format!("{sent:?}").contains("feature-2"));
        let calls: Vec<Call> = message.calls().cloned().collect();
        match round {
            0 => {
                assert_eq!(calls.len(), 2);
                let usage = message.usage;
                assert_eq!((usage.input, usage.cache_read, usage.cache_write, usage.output), (15, 10, 5, 9));
            }
            1 => assert_eq!(calls.len(), 1),
            _ => assert_eq!(message.text(), "all found"),
        }
        fresh = vec![Message::Assistant(message)];
        fresh.extend(calls.iter().map(result));
    }
    let last = String::from_utf8(mock.chats().pop().unwrap().body).unwrap();
    for sealed in [
        r#"{"type":"thinking","thinking":"first a","signature":"sig+1/=="}"#,
        r#"{"type":"redacted_thinking","data":"sealed+2"}"#,
    ] {
        assert!(last.contains(sealed), "{last}");
    }
    assert_eq!((mock.connections(), mock.chats().len()), (1, 3), "nothing was refused or sent twice");
}

#[tokio::test]
async fn what_a_server_does_not_take_is_left_out_and_still_written_again() {
    let mock = MockModel::start().await;
    mock.push(Reply::error(400, "system.0.cache_control: Extra inputs are not permitted"));
    mock.push(Reply::error(400, "\"thinking.type.enabled\" is not supported. Use \"thinking.type.adaptive\""));
    let client = claude(&mock, &[], &[]);
    let mut chat = talk(&client);
    let mut replay: Option<Replay> = None;
    for round in 0..2 {
        let message = user("say a");
        chat.push(&message);
        let (sent, answered) = answer(chat.call(&thinking("high"))).await;
        assert_eq!(answered.end, MessageEnd::Finished(Finish::Stop));
        let replay = replay.get_or_insert_with(|| Replay::new(&sent[0]).unwrap());
        replay.push(&message);
        // All but the last were refused: the first and the newest are told.
        let bodies: Vec<Vec<u8>> = mock.chats().into_iter().map(|request| request.body).collect();
        let asked: &[usize] = if round == 0 { &[0, 2] } else { &[3] };
        for (sent, at) in sent.iter().zip(asked) {
            assert_eq!(String::from_utf8_lossy(&replay.body(sent)), String::from_utf8_lossy(&bodies[*at]));
        }
        let last = mock.last_chat();
        assert_eq!(last["thinking"]["type"], "adaptive");
        assert_eq!(last["output_config"]["effort"], "high");
        assert!(!last.to_string().contains("cache_control"));
        chat.push(&Message::Assistant(answered.clone()));
        replay.push(&Message::Assistant(answered));
    }
    assert_eq!(mock.chats().len(), 4);
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let mock = MockModel::start().await;
    let client = claude(&mock, &[], &[]);
    let mut chat = talk(&client);
    chat.push(&user("stall 2 say 5 words"));
    let mut stream = chat.call(&spec());
    assert_eq!(next(&mut stream).await, Some(ModelEvent::Text("w1 ".into())));
    drop(stream);
    mock.wait_until(|counts| counts.open == 0).await;
}

#[tokio::test]
async fn refusals_have_a_kind_and_a_hint() {
    for (reply, kind, retryable, wait) in [
        (Reply::error(529, "Overloaded"), FaultKind::Provider, true, None),
        (Reply::error(429, "slow down").header("retry-after", "7"), FaultKind::RateLimited, true, Some(7_000)),
        (Reply::error(401, "invalid x-api-key"), FaultKind::Auth, false, None),
        (Reply::error(404, "model: claude-x"), FaultKind::BadRequest, false, None),
        (Reply::error(400, "prompt is too long: 9 tokens > 8 maximum"), FaultKind::ContextOverflow, false, None),
        (
            Reply::error(400, "input length and `max_tokens` exceed context limit: 1 + 2 > 2"),
            FaultKind::ContextOverflow,
            false,
            None,
        ),
        (Reply::error(413, "Request exceeds the maximum size"), FaultKind::ContextOverflow, false, None),
        (
            Reply::stream([Step::text("a"), Step::Error { status: 529, message: "Overloaded".into() }]),
            FaultKind::Provider,
            true,
            None,
        ),
        (
            Reply::stream([Step::text("a"), Step::finish("model_context_window_exceeded"), Step::Done]),
            FaultKind::ContextOverflow,
            false,
            None,
        ),
        (Reply::stream([Step::text("a"), Step::Cut]), FaultKind::StreamCut, true, None),
        (Reply::stream([Step::text("a"), Step::Eof]), FaultKind::StreamCut, true, None),
    ] {
        let mock = MockModel::start().await;
        let shown = format!("{reply:?}");
        mock.push(reply);
        let client = claude(&mock, &[], &[]);
        let mut chat = talk(&client);
        chat.push(&user("x"));
        let events = all(chat.call(&spec())).await;
        let fault = failure(&events);
        assert_eq!((fault.fault.kind, fault.retryable, fault.retry_after_ms), (kind, retryable, wait), "{shown}");
        if kind == FaultKind::Auth {
            assert_eq!(fault.fault.hints, ["check MOCK_API_KEY"]);
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_not_streamed_is_taken_whole() {
    let mock = MockModel::start().await;
    let body = r#"{"type":"message","content":[{"type":"text","text":"whole"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":1}}"#;
    mock.push(Reply::plain(200, "application/json", body));
    let client = claude(&mock, &[], &[]);
    let mut chat = talk(&client);
    chat.push(&user("x"));
    let (_, message) = answer(chat.call(&spec())).await;
    assert_eq!(
        (message.text(), message.end, message.usage.input),
        ("whole".into(), MessageEnd::Finished(Finish::Stop), 3)
    );
}

#[tokio::test]
async fn models_are_listed_with_their_limits() {
    let mock = MockModel::start().await;
    let models = claude(&mock, &["b"], &[]).models().await.unwrap();
    let rows: Vec<_> = models.iter().map(|it| (&*it.slug, it.context_window, it.max_output, &*it.api)).collect();
    assert_eq!(
        rows,
        [
            ("claude-mock-large", 1_000_000, Some(64_000), "anthropic-messages"),
            ("claude-mock-small", 200_000, Some(64_000), "anthropic-messages"),
        ]
    );
    let request = mock.requests().pop().unwrap();
    assert!(request.path.ends_with("/models?limit=1000"), "{}", request.path);
    assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
}

#[tokio::test]
async fn nothing_is_marked_for_the_cache_where_somebody_said_so() {
    let mock = MockModel::start().await;
    let client = claude(&mock, &[], &[]);
    for (caching, marks) in [(None, 3), (Some(true), 3), (Some(false), 0)] {
        let compat = Compat { caching, ..Compat::default() };
        let mut chat = client.chat_with(&client.resolve(MODEL).unwrap(), compat);
        chat.push(&user("say a"));
        all(chat.call(&thinking("off"))).await;
        assert_eq!(mock.last_chat().to_string().matches("cache_control").count(), marks, "{caching:?}");
    }
}
