//! What was sent is told, and can be written again from the messages alone.

use std::future::poll_fn;
use std::sync::Arc;

use providers::{Api, CallIds, Client, Compat, ReasoningBack, Replay};
use testkit::mock_model::{MockModel, Reply};
use vocab::{
    AssistantMessage, Block, Call, CallInput, Chat, Finish, Json, Message, MessageEnd, ModelEvent, ModelStream,
    Provider, Sent, Usage,
};

use crate::support::{chat, provider_with, speaking, spec, user};

/// All requests of one call.
async fn sent(mut stream: ModelStream) -> Vec<(Arc<Sent>, u64)> {
    let mut all = Vec::new();
    while let Some(event) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        if let ModelEvent::Sent { sent, bytes } = event {
            all.push((sent, bytes));
        }
    }
    all
}

#[tokio::test]
async fn each_request_is_told_and_written_again_byte_for_byte() {
    let mock = MockModel::start().await;
    let provider = provider_with(&mock, |config| config.api_key = providers::Secret::new("sk-canary-key"));
    mock.push(Reply::error(400, "use max_completion_tokens"));
    let mut chat = chat(&provider);
    let mut replay: Option<Replay> = None;
    for round in 0..3 {
        let message = user(&format!("say {round}"));
        chat.push(&message);
        let told = sent(chat.call(&spec())).await;
        assert_eq!(told.len(), if round == 0 { 2 } else { 1 }, "the second of the first call is what it learned");
        let replay = replay.get_or_insert_with(|| Replay::new(&told[0].0).unwrap());
        replay.push(&message);
        let bodies: Vec<Vec<u8>> = mock.chats().into_iter().map(|request| request.body).collect();
        for ((sent, bytes), body) in told.iter().zip(&bodies[bodies.len() - told.len()..]) {
            assert_eq!(String::from_utf8_lossy(&replay.body(sent)), String::from_utf8_lossy(body));
            assert_eq!(*bytes, body.len() as u64);
            assert_eq!(*sent.url, format!("{}/chat/completions", mock.base_url));
            assert!(!format!("{sent:?}").contains("canary"));
        }
    }
}

#[tokio::test]
async fn every_format_is_written_again_byte_for_byte() {
    for api in Api::ALL {
        let mock = MockModel::start().await;
        let provider = speaking(&mock, api);
        let mut chat = chat(&provider);
        let mut replay: Option<Replay> = None;
        for round in 0..3 {
            let message = user(&format!("say {round}"));
            chat.push(&message);
            let told = sent(chat.call(&spec())).await;
            assert_eq!(told.len(), 1, "{api:?}");
            let (sent, bytes) = &told[0];
            let replay = replay.get_or_insert_with(|| Replay::new(sent).unwrap());
            replay.push(&message);
            let request = mock.chats().pop().unwrap();
            assert_eq!(String::from_utf8_lossy(&replay.body(sent)), String::from_utf8_lossy(&request.body), "{api:?}");
            assert_eq!(*bytes, request.body.len() as u64, "{api:?}");
            assert_eq!(*sent.url, format!("http://127.0.0.1:{}{}", mock.port, request.path), "{api:?}");
            assert_eq!(&*sent.api, api.as_str());
            assert!(!format!("{sent:?}").contains("canary"), "{api:?}");
        }
    }
}

#[tokio::test]
async fn whatever_a_server_wants_in_messages_is_written_again() {
    let thoughtful = |model: &str| {
        let call = Call {
            id: "call_with_underscores".into(),
            name: "file.read".into(),
            input: CallInput::Object(Json::trusted("{}")),
            seal: Some(r#"[{"type":"reasoning.encrypted","data":"E\/="}]"#.into()),
        };
        Message::Assistant(AssistantMessage {
            blocks: vec![Block::Thinking { text: "hm".into(), opaque: None }, Block::Call(call)],
            model: model.into(),
            end: MessageEnd::Finished(Finish::ToolUse),
            usage: Usage::default(),
        })
    };
    let messages = [thoughtful("mock/alpha"), user("a"), thoughtful("mock/other"), user("say b")];
    let mock = MockModel::start().await;
    let provider: Client = provider_with(&mock, |_| {});
    let back = [
        ReasoningBack::Nothing,
        ReasoningBack::Content,
        ReasoningBack::Reasoning,
        ReasoningBack::Details,
        ReasoningBack::Text,
    ];
    let mut bodies = Vec::new();
    for reasoning_back in back {
        for switch in [false, true] {
            let compat = Compat {
                reasoning_back: Some(reasoning_back),
                call_ids: switch.then_some(CallIds::Nine),
                tool_result_name: Some(switch),
                assistant_after_result: Some(switch),
                null_content: Some(!switch),
                ..Compat::default()
            };
            let mut chat = provider.chat_with(&provider.resolve("mock/alpha").unwrap(), compat);
            messages.iter().for_each(|message| chat.push(message));
            let told = sent(chat.call(&spec())).await;
            let mut replay = Replay::new(&told[0].0).unwrap();
            messages.iter().for_each(|message| replay.push(message));
            let body = mock.chats().pop().unwrap().body;
            assert_eq!(String::from_utf8_lossy(&replay.body(&told[0].0)), String::from_utf8_lossy(&body));
            bodies.push(body);
        }
    }
    bodies.sort_unstable();
    bodies.dedup();
    assert_eq!(bodies.len(), 2 * back.len(), "every switch shows");
}
