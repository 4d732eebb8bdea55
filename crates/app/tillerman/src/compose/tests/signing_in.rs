//! Sign-ins from the verb to the answer of a model.

use accounts::Account;
use serde_json::json;
use vocab::{DirectoryVerb, FaultKind, LoginMethod, Profile, Reply, SignInMode, SignInStep, SignedIn, Verb};

use super::stage::{BuiltStage, SetupPlace, come_back, login, value};
use super::vendor::{granted, json, says};
use super::*;

const TOKEN: &str = "/openai/oauth/token";
const START: &str = "/openai/api/accounts/deviceauth/usercode";
const POLL: &str = "/openai/api/accounts/deviceauth/token";
const MODELS: &str = "/chatgpt/v1/models";
const CHAT: &str = "/chatgpt/v1/chat/completions";

async fn stage() -> BuiltStage {
    let stage = SetupPlace::new(loose(Some("tour"), None)).await.stage().await;
    stage.vendor.on(MODELS, [json(200, json!({ "data": [{ "id": "gpt-x" }, { "id": "gpt-y" }] }))]);
    stage
}

/// The ids of the accounts that are ready. Some model always is: the tour was asked for.
async fn ready(stage: &mut BuiltStage) -> Vec<Option<String>> {
    let list = stage.accounts().await;
    assert!(list.has_model);
    list.accounts.into_iter().filter(|account| account.is_ready).map(|account| account.id).collect()
}

async fn url(stage: &mut BuiltStage, tag: vocab::Tag) -> String {
    match stage.step(tag).await {
        SignInStep::Url(url) => url,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_browser_brings_an_account_and_the_account_its_models() {
    let mut stage = stage().await;
    assert!(ready(&mut stage).await.is_empty());
    assert_eq!(stage.offered().await, ["tour tour", "tour tour-mini"]);
    assert!(!stage.home.path().join("config").exists(), "looking makes nothing");

    stage.vendor.on(TOKEN, [granted("CANARY-access", "CANARY-refresh")]);
    let tag = stage.sign_in(Account::OpenAi, SignInMode::Browser).await;
    let page = url(&mut stage, tag).await;
    assert!(page.starts_with(&format!("{}/openai/oauth/authorize?", stage.vendor.url)), "{page}");
    assert_eq!(value(&page, "originator"), "tests");
    assert!(come_back(&page, "code=CANARY-code").await.starts_with("HTTP/1.1 200"));
    let signed_in = SignedIn { login_method: LoginMethod::Browser, account_id: Some("acct-7".into()), profile: None };
    assert_eq!(stage.step(tag).await, SignInStep::Completed(signed_in.clone()));
    assert_eq!(stage.reply(tag).await.unwrap(), Reply::SignedIn(Box::new(signed_in)));
    assert_eq!(ready(&mut stage).await, [Some("acct-7".to_owned())]);

    assert_eq!(stage.offered().await, ["openai gpt-x", "openai gpt-y", "tour tour", "tour tour-mini"]);
    stage.vendor.on(CHAT, [says("hi there")]);
    assert_eq!(stage.prompt("gpt-y").await, "hi there");
    let heard = &stage.vendor.heard(CHAT)[0];
    assert_eq!((heard.bearer(), &heard.json()["model"]), ("CANARY-access", &json!("gpt-y")));

    stage.ask(Verb::Directory(DirectoryVerb::Forget)).await.unwrap();
    assert!(ready(&mut stage).await.is_empty());
    assert_eq!(stage.offered().await, ["tour tour", "tour tour-mini"]);
    assert_eq!(stage.prompt("gpt-y").await, "failed: not signed in to openai");
}

#[tokio::test]
async fn a_token_that_is_refused_is_renewed_within_the_model_call() {
    let place = SetupPlace::new(loose(Some("openai/gpt-x"), None)).await.stored(login("CANARY-old"));
    place.vendor.on(MODELS, [json(200, json!({ "data": [{ "id": "gpt-x" }] }))]);
    place.vendor.on(CHAT, [json(401, json!({ "error": "expired" })), says("hi")]);
    place.vendor.on(TOKEN, [granted("CANARY-new", "CANARY-refresh-2")]);
    let mut stage = place.stage().await;
    assert_eq!(&*stage.wired.settings.model, "gpt-x");
    assert_eq!(stage.prompt("gpt-x").await, "hi");
    let bearers: Vec<String> = stage.vendor.heard(CHAT).iter().map(|heard| heard.bearer().to_owned()).collect();
    assert_eq!(bearers, ["CANARY-old", "CANARY-new"]);

    // The new token is refused as well: that is the answer, and it shows no secret.
    stage.vendor.on(CHAT, [json(401, json!({ "error": "no: CANARY-new" }))]);
    let said = stage.prompt("gpt-x").await;
    assert!(said.starts_with("failed: ") && !said.contains("CANARY"), "{said}");
    assert_eq!(stage.vendor.heard(TOKEN).len(), 1, "a fresh token is not refreshed again");
}

#[tokio::test]
async fn a_device_code_is_polled_until_somebody_typed_it() {
    let mut stage = stage().await;
    let started = json!({ "device_auth_id": "CANARY-device", "user_code": "ABCD-1234", "interval": "1" });
    stage.vendor.on(START, [json(200, started)]);
    let code = json!({ "authorization_code": "CANARY-code", "code_verifier": "CANARY-verifier" });
    stage.vendor.on(POLL, [json(403, json!({})), json(200, code)]);
    stage.vendor.on(TOKEN, [granted("CANARY-access", "CANARY-refresh")]);
    let tag = stage.sign_in(Account::OpenAi, SignInMode::DeviceCode).await;
    let page = url(&mut stage, tag).await;
    let want = SignInStep::DeviceCode {
        verification_url: page,
        user_code: "ABCD-1234".into(),
        interval_seconds: 1,
        expires_in_seconds: 900,
    };
    assert_eq!(stage.step(tag).await, want);
    let Reply::SignedIn(signed_in) = stage.reply(tag).await.unwrap() else { panic!("signed in") };
    assert_eq!(signed_in.login_method, LoginMethod::DeviceCode);
    assert!(stage.is_ready("openai").await);
}

#[tokio::test]
async fn a_code_that_nobody_types_expires() {
    let mut stage = stage().await;
    let started = json!({ "device_auth_id": "CANARY-device", "user_code": "ABCD", "interval": "1", "expires_in": "1" });
    stage.vendor.on(START, [json(200, started)]);
    let tag = stage.sign_in(Account::OpenAi, SignInMode::DeviceCode).await;
    let fault = stage.reply(tag).await.unwrap_err();
    assert_eq!((fault.kind, &*fault.message), (FaultKind::Auth, "the code has expired before anybody used it"));
    let mut last = stage.step(tag).await;
    while !matches!(last, SignInStep::Failed { .. }) {
        last = stage.step(tag).await;
    }
    assert_eq!(last, SignInStep::Failed { message: fault.message });
    assert!(!stage.is_ready("openai").await);
}

#[tokio::test]
async fn sign_ins_can_be_cancelled_and_free_their_port() {
    let mut stage = stage().await;
    let tag = stage.sign_in(Account::OpenAi, SignInMode::Browser).await;
    let page = url(&mut stage, tag).await;
    stage.ask(Verb::Directory(DirectoryVerb::CancelSignIns)).await.unwrap();
    let fault = stage.reply(tag).await.unwrap_err();
    assert_eq!((fault.kind, &*fault.message), (FaultKind::Cancelled, "the process is shutting down"));
    let port: u16 = value(&page, "redirect_uri").split(':').nth(2).unwrap().split('/').next().unwrap().parse().unwrap();
    assert!(tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn antigravity_brings_a_profile_and_limits() {
    let mut stage = stage().await;
    let none = stage.wired.accounts.limits().await.err().unwrap();
    assert_eq!((none.kind, &*none.message), (FaultKind::Auth, "limits requires at least one oauth provider"));
    let grant = json!({ "access_token": "CANARY-google", "refresh_token": "CANARY-r", "expires_in": 3600 });
    stage.vendor.on("/google/token", [json(200, grant)]);
    let person = json!({ "email": "ada@example.org", "name": "Ada" });
    stage.vendor.on("/google/oauth2/v1/userinfo", [json(200, person)]);
    let tag = stage.sign_in(Account::Antigravity, SignInMode::Auto).await;
    let page = url(&mut stage, tag).await;
    assert_eq!(value(&page, "client_id"), "client");
    come_back(&page, "code=CANARY-code").await;
    let profile = Profile { email: "ada@example.org".into(), name: "Ada".into(), image: None };
    let Reply::SignedIn(signed_in) = stage.reply(tag).await.unwrap() else { panic!("signed in") };
    assert_eq!(signed_in.profile, Some(profile.clone()));
    let accounts = stage.accounts().await;
    let antigravity = accounts.get(Account::Antigravity.known_as()).unwrap();
    assert_eq!((antigravity.is_ready, &antigravity.profile), (true, &Some(profile)));
    assert_eq!(stage.offered().await, ["tour tour", "tour tour-mini"], "its list is not to be had here");

    let quota = json!({ "models": { "gemini": { "quotaInfo": { "remainingFraction": 0.25 } } } });
    stage.vendor.on("/antigravity/v1internal:fetchAvailableModels", [json(200, quota)]);
    let limits = stage.wired.accounts.limits().await.unwrap();
    assert_eq!(limits.openai, None);
    assert_eq!(limits.antigravity.unwrap().unwrap()[0].remaining_percent, 25.0);
}

#[tokio::test]
async fn the_limits_of_one_account_do_not_wait_for_the_other_to_be_well() {
    let mut stored = login("CANARY-access");
    stored["antigravity"] = stored["openai"].clone();
    let stage = SetupPlace::new(loose(Some("tour"), None)).await.stored(stored).stage().await;
    let primary = json!({ "used_percent": 40, "limit_window_seconds": 60, "reset_at": 1 });
    stage.vendor.on("/usage/wham/usage", [json(200, json!({ "rate_limit": { "primary_window": primary } }))]);
    let limits = stage.wired.accounts.limits().await.unwrap();
    assert_eq!(limits.openai.unwrap().unwrap().primary.unwrap().used_percent, 40.0);
    let fault = limits.antigravity.unwrap().unwrap_err();
    assert_eq!(fault.message, "asking for the limits of antigravity was refused (404): no_such_path");
}
