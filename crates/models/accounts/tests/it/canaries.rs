//! No secret is ever shown: every secret of a flow is a canary, and the issuer echoes all it hears.

use accounts::{Account, Key};
use serde_json::json;
use vocab::{Secret, SignInMode};

use crate::issuer::IssuerReply;
use crate::support::{AccountsStage, NOW_MS, POLL_PATH, START_PATH, TOKEN_PATH};

/// Everything that was told or returned, as text.
async fn shown(stage: &AccountsStage, mode: SignInMode) -> String {
    let mut flow = stage.connect(Account::OpenAi, mode);
    let mut text = String::new();
    loop {
        tokio::select! {
            biased;
            event = flow.events.recv() => match event {
                Some(event) => {
                    text += &format!("{event:?}\n");
                    if mode == SignInMode::Browser && let vocab::SignInStep::Url(url) = event {
                        let page = crate::support::SignInPage { url };
                        text += &page.back_with_code("CANARY-code").await.1;
                    }
                }
                None => break,
            },
        }
    }
    text + &format!("{:?}", flow.end().await)
}

async fn stage() -> AccountsStage {
    AccountsStage::with(|config| config.openai.client_secret = Secret::new("CANARY-client")).await
}

fn clean(text: &str, proof: &str) {
    assert!(text.contains(proof), "the case was not reached: {text}");
    assert!(!text.contains("CANARY-"), "{text}");
}

#[tokio::test]
async fn a_flow_that_works_shows_no_secret() {
    let stage = stage().await;
    let grant = json!({ "access_token": "CANARY-access", "refresh_token": "CANARY-refresh", "id_token": "CANARY-id" });
    stage.issuer.on(TOKEN_PATH, [IssuerReply::json(200, grant)]);
    let text = shown(&stage, SignInMode::Browser).await;
    clean(&text, "Completed");
    let verifier = stage.issuer.heard(TOKEN_PATH)[0].form("code_verifier").unwrap();
    assert!(!text.contains(&verifier));
    clean(&format!("{:?}", stage.auth.status().await), "openai: true");
    clean(&format!("{:?}", stage.auth.access_token(Account::OpenAi).await), "***");
}

#[tokio::test]
async fn an_issuer_that_echoes_is_not_repeated() {
    let stage = stage().await;
    let words = "no: CANARY-code CANARY-client";
    let reply = IssuerReply::json(400, json!({ "error": "invalid_grant", "error_description": words }));
    stage.issuer.on(TOKEN_PATH, [reply]);
    clean(&shown(&stage, SignInMode::Browser).await, "invalid_grant: no: *** ***");
}

#[tokio::test]
async fn a_device_flow_shows_its_code_and_not_its_id() {
    let stage = stage().await;
    stage
        .issuer
        .on(START_PATH, [IssuerReply::json(200, json!({ "device_auth_id": "CANARY-device", "user_code": "SHOW-ME" }))]);
    let words = "no: CANARY-device CANARY-client";
    let reply = IssuerReply::json(400, json!({ "error": "bad", "error_description": words }));
    stage.issuer.on(POLL_PATH, [reply]);
    let text = shown(&stage, SignInMode::DeviceCode).await;
    clean(&text, "bad: no: *** ***");
    assert!(text.contains("SHOW-ME"));
}

#[tokio::test]
async fn a_refused_refresh_shows_no_token() {
    let stage = stage().await;
    stage.sign_in("CANARY-access", Some("CANARY-refresh"), Some(NOW_MS));
    let words = "no: CANARY-refresh CANARY-client";
    let reply = IssuerReply::json(401, json!({ "error": { "code": "reused", "message": words } }));
    stage.issuer.on(TOKEN_PATH, [reply]);
    clean(&format!("{:?}", stage.auth.access_token(Account::OpenAi).await), "reused: no: *** ***");
    stage.auth.set_key(Key::Exa, Secret::new("CANARY-exa")).await.unwrap();
    clean(&format!("{:?}", stage.auth.key(Key::Exa).await), "***");
}

#[tokio::test]
async fn a_configuration_can_be_printed() {
    let mut config = crate::support::config("http://127.0.0.1:1");
    config.openai.client_secret = Secret::new("CANARY-client");
    clean(&format!("{config:?}"), "authorize_url");
    config.openai.token_url = "https://user:CANARY-pw@issuer.example/token".into();
    let home = tempfile::tempdir().unwrap();
    let auth = accounts::Auth::new(config, home.path(), std::sync::Arc::new(accounts::SystemTimer));
    let fault = auth.connect(Account::OpenAi, SignInMode::Browser, None, &mut |_| {}).await.unwrap_err();
    clean(&format!("{fault:?}"), "must be an https URL");
}
