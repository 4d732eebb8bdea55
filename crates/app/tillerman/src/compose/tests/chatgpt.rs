//! Models of a ChatGPT account at a server that speaks Responses, from the sign-in to the answer.

use accounts::Account;
use serde_json::json;
use testkit::mock_model::{MockModel, Reply as Said, Request};
use vocab::{SignInMode, SignInStep};

use super::stage::{BuiltStage, SetupPlace, come_back, login};
use super::vendor::granted;
use super::*;

const TOKEN: &str = "/openai/oauth/token";

/// Where the account's models are. The mock has its paths below `/v1`, so the format has to be said.
fn at(mut place: SetupPlace, mock: &MockModel) -> SetupPlace {
    place.setup.models.accounts.openai_url = Some(mock.base_url.clone());
    place.setup.models.accounts.openai_api = Some("openai-responses".into());
    place
}

/// Signed in, with an account that has an id.
fn signed_in(access: &str) -> serde_json::Value {
    let mut file = login(access);
    file["openai"]["account_id"] = "CANARY-acct".into();
    file
}

async fn stage(mock: &MockModel) -> BuiltStage {
    at(SetupPlace::new(loose(Some("tour"), None)).await, mock).stored(signed_in("CANARY-old")).stage().await
}

fn header<'a>(request: &'a Request, name: &str) -> &'a str {
    request.header(name).unwrap_or("-")
}

#[tokio::test]
async fn a_sign_in_brings_models_that_answer_by_responses() {
    let mock = MockModel::start().await;
    let mut stage = at(SetupPlace::new(loose(Some("tour"), None)).await, &mock).stage().await;
    stage.vendor.on(TOKEN, [granted("CANARY-access", "CANARY-refresh")]);
    let tag = stage.sign_in(Account::OpenAi, SignInMode::Browser).await;
    let SignInStep::Url(page) = stage.step(tag).await else { panic!("a page") };
    come_back(&page, "code=CANARY-code").await;
    stage.reply(tag).await.unwrap();

    let models = stage.models().await;
    let sol = models.iter().find(|model| &*model.slug == "gpt-6.1-sol").expect("it is in the table");
    assert_eq!((&*sol.provider, &*sol.api, sol.context_window), ("openai", "openai-responses", 500_000));
    assert_eq!(sol.prices, None, "the subscription covers it: that is no price of 0");
    let own = |model: &&ModelInfo| &*model.provider == "openai";
    assert_eq!(models.iter().filter(own).count(), providers::models::CHATGPT.models.len());
    assert_eq!(mock.requests().len(), 0, "there is no list to ask for");

    assert_eq!(stage.prompt("gpt-6.1-sol").await, "ok");
    let heard = mock.chats().pop().unwrap();
    assert_eq!(heard.path, "/v1/responses");
    let said = ["authorization", "chatgpt-account-id", "originator", "openai-beta"].map(|name| header(&heard, name));
    assert_eq!(said, ["Bearer CANARY-access", "acct-7", "tillerman", "responses=experimental"]);
    let body = heard.json();
    assert_eq!((&body["model"], &body["store"], &body["stream"]), (&json!("gpt-6.1-sol"), &json!(false), &json!(true)));
    assert!(!body["instructions"].as_str().unwrap_or_default().is_empty(), "it demands instructions");
    assert!(body.get("max_output_tokens").is_none(), "it refuses a limit");

    // What the table does not have is asked for all the same.
    assert_eq!(&*stage.wired.ports.provider.resolve("openai/gpt-next").unwrap().slug, "gpt-next");
}

#[tokio::test]
async fn described_models_stand_beside_the_table() {
    let mock = MockModel::start().await;
    let mut place = at(SetupPlace::new(loose(Some("tour"), None)).await, &mock).stored(signed_in("CANARY-old"));
    let window = |slug: &str, tokens| ModelInfo::named(slug, tokens);
    place.setup.models.known_models =
        vec![window("gpt-secret", 5_000), window("openai/gpt-6-sol", 7_000), window("lab/gpt-other", 9_000)];
    let mut stage = place.stage().await;
    let models = stage.models().await;
    let of = |id: &str| models.iter().find(|model| &*model.id == id).map(|model| model.context_window);
    assert_eq!((of("gpt-secret"), of("gpt-6-sol"), of("gpt-6-luna")), (Some(5_000), Some(7_000), Some(272_000)));
    assert!(models.iter().all(|model| !model.slug.contains("gpt-other")), "that is another provider's");
    // Whoever describes some has not said that there are no others.
    assert!(stage.wired.ports.provider.resolve("openai/gpt-next").is_ok());
}

#[tokio::test]
async fn a_token_that_is_refused_in_mid_conversation_is_renewed_once() {
    let mock = MockModel::start().await;
    let mut stage = stage(&mock).await;
    stage.vendor.on(TOKEN, [granted("CANARY-new", "CANARY-refresh-2")]);
    assert_eq!(stage.prompt("gpt-6-sol").await, "ok");
    mock.push(Said::error(401, "expired: CANARY-old"));
    assert_eq!(stage.prompt("gpt-6-sol").await, "ok");
    let chats = mock.chats();
    let bearers: Vec<&str> = chats.iter().map(|chat| header(chat, "authorization")).collect();
    assert_eq!(bearers, ["Bearer CANARY-old", "Bearer CANARY-old", "Bearer CANARY-new"]);
    let accounts: Vec<&str> = chats.iter().map(|chat| header(chat, "chatgpt-account-id")).collect();
    assert_eq!(accounts, ["CANARY-acct", "CANARY-acct", "acct-7"], "whoever the token is for");
    assert_eq!(chats[1].body, chats[2].body, "the same request once more");

    // The new one is refused as well: that is the answer, and it shows nothing.
    for _ in 0..2 {
        mock.push(Said::error(401, "no: CANARY-new, once CANARY-old of CANARY-acct"));
    }
    let said = stage.prompt("gpt-6-sol").await;
    assert!(said.starts_with("failed: ") && !said.contains("CANARY"), "{said}");
    assert_eq!(stage.vendor.heard(TOKEN).len(), 1);
}

#[tokio::test]
async fn a_used_up_account_says_when_there_is_more() {
    let mock = MockModel::start().await;
    let mut stage = stage(&mock).await;
    let limit = json!({ "error": { "type": "usage_limit_reached", "plan_type": "plus", "resets_in_seconds": 5400,
        "message": "The usage limit has been reached by CANARY-old" } });
    mock.push(Said::plain(429, "application/json", limit.to_string()));
    let said = stage.prompt("gpt-6-sol").await;
    assert_eq!(said, "failed: 429 The usage limit has been reached by ***; there is more in 1 h 30 min");
    assert_eq!(mock.chats().len(), 1, "nobody asks again before that");
    assert_eq!(stage.prompt("gpt-6-sol").await, "ok", "and nothing is broken by it");
}

#[tokio::test]
async fn a_format_that_such_an_account_has_not_is_refused() {
    let mut place = SetupPlace::new(loose(Some("tour"), None)).await;
    place.setup.models.accounts.openai_api = Some("anthropic-messages".into());
    let fault = place.build().await.err().unwrap();
    assert!(fault.message.starts_with("accounts.openai_api is openai-responses or"), "{}", fault.message);
}
