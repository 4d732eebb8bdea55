//! Servers that somebody described: their headers, their keys that come late, and how they differ from OpenAI's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use net::{Credentials, KnownCredentials, Late};
use providers::Secret;
use providers::{Api, Client, Compat, Config, ThinkingFormat, TokensField};
use testkit::mock_model::{MockModel, Reply};
use vocab::{CallSpec, Fault, FaultKind, Later, ModelInfo, Provider};

use crate::support::*;

#[tokio::test]
async fn headers_are_sent_with_every_request_and_win_over_ours() {
    let mock = MockModel::start().await;
    let header = |name: &str, value: &str| (name.to_owned(), Secret::new(value).unwrap());
    let provider = provider_with(&mock, |config| {
        config.headers = vec![header("X-Team", "blue-canary-team"), header("User-Agent", "mine")];
    });
    mock.push(Reply::error(400, "team blue-canary-team is unknown"));
    let events = ask(&provider, "say hi").await;
    assert!(!format!("{events:?}").contains("canary"), "an echoed header is masked: {events:?}");
    let _ = provider.models().await;
    for request in mock.requests() {
        assert_eq!(request.header("x-team"), Some("blue-canary-team"));
        assert_eq!(request.header("user-agent"), Some("mine"));
        assert_eq!(request.header("authorization"), Some(&*format!("Bearer {KEY}")));
    }
}

struct Vault {
    asked: AtomicU32,
    fails: u32,
}

impl Credentials for Vault {
    fn fetch(&self) -> Later<'_, Result<KnownCredentials, Fault>> {
        let times = self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready(match times < self.fails {
            true => Err(Fault::new(FaultKind::Auth, "the vault is locked")),
            false => Ok(KnownCredentials { key: Secret::new(KEY), headers: Vec::new() }),
        }))
    }
}

#[tokio::test]
async fn a_late_key_is_fetched_by_the_first_request_and_once() {
    let mock = MockModel::start().await;
    let vault = Arc::new(Vault { asked: AtomicU32::new(0), fails: 1 });
    let mut config = Config::new(&mock.base_url);
    config.late = Some(Late(vault.clone()));
    assert_eq!(format!("{:?}", config.late), "Some(Late(***))");
    let provider = Client::new(config).unwrap();
    assert_eq!(vault.asked.load(Ordering::Relaxed), 0, "nothing is fetched before it is needed");

    let fault = failure(&ask(&provider, "say hi").await).clone();
    assert_eq!(
        (fault.fault.kind, fault.retryable, &*fault.fault.message),
        (FaultKind::Auth, false, "the vault is locked")
    );
    assert_eq!(mock.requests().len(), 0, "without a key nothing is sent");

    for _ in 0..3 {
        ask(&provider, "say hi").await;
    }
    assert_eq!(vault.asked.load(Ordering::Relaxed), 2, "once more after the failure, and never again");
    assert_eq!(mock.last_chat()["stream"], true);
    assert_eq!(mock.chats()[2].header("authorization"), Some(&*format!("Bearer {KEY}")));

    mock.push(Reply::error(401, &format!("bad key {KEY}")));
    assert!(!format!("{:?}", ask(&provider, "x").await).contains("canary"), "a late key is masked too");
}

#[tokio::test]
async fn what_was_said_about_a_server_is_heeded_from_the_first_request_on() {
    let mock = MockModel::start().await;
    let provider = provider(&mock);
    let model = ModelInfo { id: "real-id".into(), ..ModelInfo::named("mock/nice", 1000) };
    let body = async |compat: Compat, thinking: bool, level: Option<&str>| {
        let mut chat = provider.chat_with(&ModelInfo { thinking, ..model.clone() }, compat);
        chat.push(&user("say hi"));
        all(chat.call(&CallSpec { thinking: level.map(Arc::from), ..spec() })).await;
        mock.last_chat()
    };
    let usual = body(Compat::default(), true, Some("high")).await;
    assert_eq!(usual["model"], "real-id", "the server gets its own name for the model");
    assert_eq!(usual["messages"][0]["role"], "system");
    assert_eq!(usual["reasoning_effort"], "high");
    assert_eq!(usual["max_tokens"], 100);
    assert_eq!(usual["stream_options"]["include_usage"], true);

    let said = Compat {
        developer_role: Some(true),
        reasoning_effort: Some(false),
        usage_in_streaming: Some(false),
        max_tokens_field: Some(TokensField::MaxCompletionTokens),
        ..Compat::default()
    };
    let told = body(said.clone(), true, Some("high")).await;
    assert_eq!(told["messages"][0]["role"], "developer");
    assert_eq!(told["max_completion_tokens"], 100);
    for absent in ["reasoning_effort", "max_tokens", "stream_options"] {
        assert!(told.get(absent).is_none(), "{absent} is in {told}");
    }
    let plain = body(said, false, Some("high")).await;
    assert_eq!(plain["messages"][0]["role"], "system", "only a model that thinks has a developer");
    for (level, thinking) in [(Some("off"), true), (None, true), (Some("high"), false)] {
        let quiet = body(Compat::default(), thinking, level).await;
        assert!(quiet.get("reasoning_effort").is_none(), "{level:?} {thinking}: {quiet}");
    }
}

#[tokio::test]
async fn what_is_known_of_a_server_by_its_name_is_heeded_where_nobody_said_otherwise() {
    let mock = MockModel::start().await;
    let deepseek = provider_with(&mock, |config| config.provider = Some("deepseek".into()));
    let model = ModelInfo::named("mock/nice", 1000);
    let spec = CallSpec { thinking: Some("high".into()), ..spec() };
    let body = async |compat: Compat| {
        let mut chat = deepseek.chat_with(&model, compat);
        chat.push(&user("say hi"));
        all(chat.call(&spec)).await;
        mock.last_chat()
    };
    let known = body(Compat::default()).await;
    assert_eq!((&known["thinking"]["type"], &known["reasoning_effort"]), (&"enabled".into(), &"high".into()));
    let told = body(Compat { reasoning_effort: Some(false), ..Compat::default() }).await;
    assert_eq!((&told["thinking"]["type"], told.get("reasoning_effort")), (&"enabled".into(), None));
    let other = body(Compat { thinking_format: Some(ThinkingFormat::Effort), ..Compat::default() }).await;
    assert_eq!((other.get("thinking"), &other["reasoning_effort"]), (None, &"high".into()));

    // The quirks are those of one format: the same server in another has none of them.
    let claude = speaking_with(&mock, Api::Anthropic, |config| config.provider = Some("zai".into()));
    let plain = speaking(&mock, Api::Anthropic);
    for provider in [claude, plain] {
        let mut chat = chat(&provider);
        chat.push(&user("say hi"));
        all(chat.call(&spec)).await;
    }
    let bodies: Vec<Vec<u8>> = mock.chats().into_iter().map(|request| request.body).collect();
    let [.., one, other] = &bodies[..] else { panic!("two requests") };
    assert_eq!(one, other);
}

#[tokio::test]
async fn every_model_says_whose_it_is() {
    let mock = MockModel::start().await;
    let named = provider_with(&mock, |config| config.provider = Some("lab".into()));
    let models = named.models().await.unwrap();
    assert!(!models.is_empty());
    for model in models.iter().chain([&named.resolve("whatever").unwrap()]) {
        assert_eq!((&*model.provider, &*model.api, &*model.base_url), ("lab", "openai-completions", &*mock.base_url));
    }
    assert_eq!(&**provider(&mock).provider(), "openai");
}

#[tokio::test]
async fn a_model_is_asked_for_the_nearest_level_it_takes() {
    let mock = MockModel::start().await;
    let provider = provider(&mock);
    for (levels, asked, want) in [
        (Some("off low high"), Some("xhigh"), Some("high")),
        (Some("off low high"), Some("medium"), Some("low")),
        (Some("off low high"), Some("minimal"), Some("low")),
        (Some("off low high"), Some("off"), None),
        (Some("off low high"), None, None),
        (Some("low high"), Some("off"), Some("low")),
        (Some(""), Some("high"), None),
        (None, Some("unheard-of"), Some("unheard-of")),
    ] {
        let levels = levels.map(|levels| levels.split_whitespace().map(Arc::from).collect());
        let model = ModelInfo { levels, ..ModelInfo::named("mock/nice", 1000) };
        let mut chat = provider.chat(&model).unwrap();
        chat.push(&user("hi"));
        all(chat.call(&CallSpec { thinking: asked.map(Arc::from), ..spec() })).await;
        let body = mock.last_chat();
        let effort = body.get("reasoning_effort").and_then(|effort| effort.as_str());
        assert_eq!(effort, want, "{asked:?} of {:?}", model.levels);
    }
}
