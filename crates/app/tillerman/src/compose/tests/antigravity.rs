//! Models of an Antigravity account at a server that speaks Gemini as Cloud Code does, from the sign-in to the answer.

use accounts::Account;
use serde_json::{Value, json};
use testkit::mock_model::gemini::PROJECT;
use testkit::mock_model::{MockModel, Reply as Said};
use vocab::{DirectoryVerb, SignInMode, SignInStep, Verb};

use super::stage::{BuiltStage, SetupPlace, come_back};
use super::vendor::{granted, json};
use super::*;

const TOKEN: &str = "/google/token";
const MODEL: &str = "antigravity/gemini-3-mock";

fn at(mut place: SetupPlace, mock: &MockModel) -> SetupPlace {
    place.setup.models.accounts.antigravity_url = Some(format!("http://127.0.0.1:{}", mock.port));
    place
}

fn signed_in(project: Option<&str>) -> Value {
    let tokens = json!({ "access_token": "CANARY-old", "refresh_token": "CANARY-refresh-1", "login_method": "browser",
        "project": project });
    json!({ "version": 1, "antigravity": tokens })
}

async fn stage(mock: &MockModel, project: Option<&str>) -> BuiltStage {
    at(SetupPlace::new(loose(Some("tour"), None)).await, mock).stored(signed_in(project)).stage().await
}

#[tokio::test]
async fn a_sign_in_brings_models_that_answer_in_the_envelope() {
    let mock = MockModel::start().await;
    let mut stage = at(SetupPlace::new(loose(Some("tour"), None)).await, &mock).stage().await;
    let grant = json!({ "access_token": "CANARY-access", "refresh_token": "CANARY-r", "expires_in": 3600 });
    stage.vendor.on(TOKEN, [json(200, grant)]);
    let tag = stage.sign_in(Account::Antigravity, SignInMode::Browser).await;
    let SignInStep::Url(page) = stage.step(tag).await else { panic!("a page") };
    come_back(&page, "code=CANARY-code").await;
    stage.reply(tag).await.unwrap();

    let models = stage.models().await;
    let model = models.iter().find(|model| &*model.slug == MODEL).expect("it is listed");
    assert_eq!(
        (&*model.provider, &*model.api, model.context_window),
        ("antigravity", "google-generative-ai", 1_048_576)
    );
    assert_eq!((model.prices, model.max_output), (None, Some(65_536)));

    assert_eq!(stage.prompt(MODEL).await, "ok");
    let heard = mock.chats().pop().unwrap();
    assert_eq!(heard.path, "/v1internal:streamGenerateContent?alt=sse");
    assert_eq!((heard.header("authorization"), heard.header("x-goog-api-key")), (Some("Bearer CANARY-access"), None));
    let body = heard.json();
    assert_eq!((&body["project"], &body["model"]), (&json!(PROJECT), &json!("gemini-3-mock")));
    assert_eq!(body["request"]["contents"][0]["parts"][0]["text"], "hello");
    // The token was good for the project, the list and the answer.
    let told = |request: &testkit::mock_model::Request| request.header("authorization") == Some("Bearer CANARY-access");
    assert!(mock.requests().iter().all(told));

    stage.ask(Verb::Directory(DirectoryVerb::Forget)).await.unwrap();
    assert_eq!(stage.prompt(MODEL).await, "failed: not signed in to antigravity");
}

#[tokio::test]
async fn a_token_that_is_refused_in_mid_conversation_is_renewed_once() {
    let mock = MockModel::start().await;
    let mut stage = stage(&mock, Some("p-kept")).await;
    stage.vendor.on(TOKEN, [granted("CANARY-new", "CANARY-refresh-2")]);
    assert_eq!(stage.prompt(MODEL).await, "ok");
    mock.push(Said::error(401, "expired: CANARY-old"));
    assert_eq!(stage.prompt(MODEL).await, "ok");
    let chats = mock.chats();
    let bearers: Vec<_> = chats.iter().map(|chat| chat.header("authorization").unwrap_or("-")).collect();
    assert_eq!(bearers, ["Bearer CANARY-old", "Bearer CANARY-old", "Bearer CANARY-new"]);
    assert!(chats.iter().all(|chat| chat.json()["project"] == "p-kept"), "a new token is the same account");
    for _ in 0..2 {
        mock.push(Said::error(401, "no: CANARY-new, once CANARY-old"));
    }
    let said = stage.prompt(MODEL).await;
    assert!(said.starts_with("failed: ") && !said.contains("CANARY"), "{said}");
}

#[tokio::test]
async fn a_used_up_model_says_so_without_the_token() {
    let mock = MockModel::start().await;
    let mut stage = stage(&mock, Some("p-kept")).await;
    let delay = json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "36000s" });
    let quota = json!({ "error": { "code": 429, "status": "RESOURCE_EXHAUSTED", "details": [delay],
        "message": "quota of CANARY-old is exhausted" } });
    mock.push(Said::plain(429, "application/json", quota.to_string()));
    let said = stage.prompt(MODEL).await;
    assert!(said.starts_with("failed: 429 quota of *** is exhausted (the server asks to wait 36000 s"), "{said}");
    assert_eq!(mock.chats().len(), 1);
}

#[tokio::test]
async fn an_account_without_a_project_is_told_what_is_missing() {
    let mock = MockModel::start().await;
    let mut stage = stage(&mock, None).await;
    assert_eq!(stage.prompt(MODEL).await, "failed: no project of this Antigravity account is known");
    assert_eq!(mock.chats().len(), 0);
    // Whoever looks at the models looks the project up as well.
    assert!(stage.offered().await.contains(&format!("antigravity {MODEL}")));
    assert_eq!(stage.prompt(MODEL).await, "ok");
    assert_eq!(mock.chats()[0].json()["project"], PROJECT);
}

#[tokio::test]
async fn it_is_asked_for_by_name_and_taken_where_there_is_nothing_else() {
    let mock = MockModel::start().await;
    for (model, provider, want) in [
        (Some(MODEL), None, MODEL),
        (Some("gemini-2.5-mock"), Some("antigravity"), "antigravity/gemini-2.5-mock"),
        (None, None, "antigravity/gemini-2.5-mock"),
    ] {
        let place = at(SetupPlace::new(loose(model, provider)).await, &mock).stored(signed_in(None));
        let mut stage = place.stage().await;
        assert_eq!(&*stage.wired.settings.model, want);
        assert_eq!(stage.prompt(want).await, "ok", "the project came with the list");
    }
}
