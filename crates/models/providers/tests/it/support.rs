//! A client against the mock server, and its events gathered.

use std::future::poll_fn;
use std::sync::Arc;

use providers::Secret;
use providers::{Api, Client, Config};
use testkit::mock_model::{Format, MockModel, Reply};
use vocab::{CallSpec, Chat, FaultKind, Message, ModelEvent, ModelFault, ModelStream, Part, Provider};

pub(crate) const KEY: &str = "sk-canary-7f3a91d2c4";

pub(crate) fn provider(mock: &MockModel) -> Client {
    provider_with(mock, |_| {})
}

pub(crate) fn provider_with(mock: &MockModel, change: impl FnOnce(&mut Config)) -> Client {
    let mut config = Config::new(&mock.base_url);
    config.api_key = Secret::new(KEY);
    config.key_name = Some("MOCK_API_KEY".into());
    change(&mut config);
    Client::new(config).unwrap()
}

/// A client that speaks this format.
pub(crate) fn speaking(mock: &MockModel, api: Api) -> Client {
    speaking_with(mock, api, |_| {})
}

pub(crate) fn speaking_with(mock: &MockModel, api: Api, change: impl FnOnce(&mut Config)) -> Client {
    provider_with(mock, |config| {
        config.api = api;
        config.base_url = mock.url(format(api)).to_owned();
        change(config);
    })
}

/// The mock's name for a format.
pub(crate) fn format(api: Api) -> Format {
    match api {
        Api::Completions => Format::Completions,
        Api::Responses => Format::Responses,
        Api::Anthropic => Format::Anthropic,
        Api::Gemini => Format::Gemini,
    }
}

/// A model the mock has in this format.
pub(crate) fn model(api: Api) -> &'static str {
    match api {
        Api::Completions | Api::Responses => "mock/alpha",
        Api::Anthropic => "claude-mock-large",
        Api::Gemini => "gemini-3-mock",
    }
}

pub(crate) fn chat(provider: &Client) -> Box<dyn Chat> {
    let api = Api::parse(&provider.resolve("any").unwrap().api).unwrap();
    provider.chat(&provider.resolve(model(api)).unwrap()).unwrap()
}

pub(crate) fn spec() -> CallSpec {
    CallSpec { system: "be brief".into(), tools: Arc::from([]), max_tokens: 100, thinking: None }
}

pub(crate) fn user(text: &str) -> Message {
    Message::User(vec![Part::text(text)])
}

/// What is said; what was sent is looked at where it matters.
pub(crate) async fn next(stream: &mut ModelStream) -> Option<ModelEvent> {
    loop {
        match poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
            Some(ModelEvent::Sent { .. }) => {}
            other => return other,
        }
    }
}

/// As above, without counts.
pub(crate) async fn next_said(stream: &mut ModelStream) -> Option<ModelEvent> {
    loop {
        match next(stream).await {
            Some(ModelEvent::Usage(_)) => {}
            other => return other,
        }
    }
}

/// Reads to the end and checks what every stream promises: exactly one last word, and it comes last.
pub(crate) async fn all(mut stream: ModelStream) -> Vec<ModelEvent> {
    let mut events = Vec::new();
    while let Some(event) = next(&mut stream).await {
        events.push(event);
    }
    let last = |event: &ModelEvent| matches!(event, ModelEvent::Finished(_) | ModelEvent::Failed(_));
    assert_eq!(events.iter().filter(|event| last(event)).count(), 1, "{events:?}");
    assert!(events.last().is_some_and(last), "{events:?}");
    assert_eq!(next(&mut stream).await, None, "an ended stream stays ended");
    events
}

/// One prompt in a fresh conversation.
pub(crate) async fn ask(provider: &Client, prompt: &str) -> Vec<ModelEvent> {
    let mut chat = chat(provider);
    chat.push(&user(prompt));
    all(chat.call(&spec())).await
}

/// The answer to one scripted reply.
pub(crate) async fn answer(reply: Reply) -> Vec<ModelEvent> {
    answer_in(Api::Completions, reply).await
}

/// The same in any format.
pub(crate) async fn answer_in(api: Api, reply: Reply) -> Vec<ModelEvent> {
    let mock = MockModel::start().await;
    mock.push(reply);
    ask(&speaking(&mock, api), "x").await
}

/// Without counts: some formats always have them.
pub(crate) fn uncounted(events: Vec<ModelEvent>) -> Vec<ModelEvent> {
    events.into_iter().filter(|event| !matches!(event, ModelEvent::Usage(_))).collect()
}

pub(crate) fn text(events: &[ModelEvent]) -> String {
    let text = |event: &ModelEvent| match event {
        ModelEvent::Text(text) => Some(text.clone()),
        _ => None,
    };
    events.iter().filter_map(text).collect()
}

pub(crate) fn failure(events: &[ModelEvent]) -> &ModelFault {
    match events.last() {
        Some(ModelEvent::Failed(fault)) => fault,
        _ => panic!("no failure in {events:?}"),
    }
}

pub(crate) fn failure_kind(events: &[ModelEvent]) -> FaultKind {
    failure(events).fault.kind
}
