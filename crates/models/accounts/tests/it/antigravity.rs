//! The Google-style account: code with PKCE, a profile.

use accounts::Account;
use serde_json::json;
use vocab::{Profile, Secret, SignInMode, SignInStep};

use crate::issuer::IssuerReply;
use crate::support::{AccountsStage, jwt};

const TOKENS: &str = "/token";
const USERINFO: &str = "/oauth2/v1/userinfo";

#[tokio::test]
async fn a_sign_in_brings_a_profile() {
    let stage = AccountsStage::with(|config| config.antigravity.client_secret = Secret::new("installed-secret")).await;
    let grant = json!({ "access_token": "ya29.a", "refresh_token": "1//r", "expires_in": 3599 });
    stage.issuer.on(TOKENS, [IssuerReply::json(200, grant)]);
    let person = json!({ "id": "1", "email": "ada@example.org", "name": "Ada", "picture": "https://p.example/a.png" });
    stage.issuer.on(USERINFO, [IssuerReply::json(200, person)]);
    let mut flow = stage.connect(Account::Antigravity, SignInMode::Auto);
    let page = flow.url().await;
    assert!(page.url.starts_with(&format!("{}/o/oauth2/v2/auth?", stage.issuer.url)));
    assert_eq!((page.value("access_type"), page.value("prompt")), ("offline".into(), "consent".into()));
    assert_eq!(page.value("code_challenge_method"), "S256");
    assert!(!page.url.contains("installed-secret"));
    assert_eq!(page.back_with_code("c").await.0, 200);
    let profile =
        Profile { email: "ada@example.org".into(), name: "Ada".into(), image: Some("https://p.example/a.png".into()) };
    let connected = flow.end().await.unwrap();
    assert_eq!(connected.profile, Some(profile.clone()));
    assert_eq!(flow.next().await, SignInStep::Completed(connected));
    assert_eq!(stage.issuer.heard(TOKENS)[0].form("client_secret").as_deref(), Some("installed-secret"));
    assert!(stage.issuer.heard(USERINFO)[0].head.contains("Bearer ya29.a"));
    let status = stage.auth.status().await.unwrap();
    assert_eq!((status.antigravity, status.antigravity_profile), (true, Some(profile)));
    assert!(!status.openai);
}

#[tokio::test]
async fn a_profile_that_cannot_be_asked_for_comes_from_the_token_or_not_at_all() {
    for (claims, want) in [(json!({ "email": "a@b.c" }), Some("a@b.c")), (json!({}), None)] {
        let stage = AccountsStage::new().await;
        let grant = json!({ "access_token": "a", "refresh_token": "r", "id_token": jwt(claims) });
        stage.issuer.on(TOKENS, [IssuerReply::json(200, grant)]);
        stage.issuer.on(USERINFO, [IssuerReply::Say(500, "boom".into())]);
        let mut flow = stage.connect(Account::Antigravity, SignInMode::Browser);
        flow.url().await.back_with_code("c").await;
        let profile = flow.end().await.unwrap().profile;
        assert_eq!(profile.map(|it| it.email).as_deref(), want);
    }
}

#[tokio::test]
async fn without_a_client_id_nothing_is_opened() {
    let stage = AccountsStage::with(|config| config.antigravity.client_id = " ".into()).await;
    let fault = stage.connect(Account::Antigravity, SignInMode::Auto).failed().await;
    assert_eq!(fault.message, "antigravity: no OAuth client id is configured");
}

const PROJECT: &str = "/v1internal:loadCodeAssist";

#[tokio::test]
async fn a_sign_in_brings_the_project_and_a_refresh_keeps_it() {
    let stage = AccountsStage::new().await;
    let grant = json!({ "access_token": "CANARY-a", "refresh_token": "CANARY-r" });
    stage.issuer.on(TOKENS, [IssuerReply::json(200, grant)]);
    stage.issuer.on(PROJECT, [IssuerReply::json(200, json!({ "cloudaicompanionProject": { "id": "p-1" } }))]);
    let mut flow = stage.connect(Account::Antigravity, SignInMode::Browser);
    flow.url().await.back_with_code("c").await;
    flow.end().await.unwrap();
    assert_eq!(stage.auth.known_project().as_deref(), Some("p-1"));
    let heard = &stage.issuer.heard(PROJECT)[0];
    assert!(heard.head.starts_with("POST ") && heard.head.contains("Bearer CANARY-a"), "{}", heard.head);

    let token = Secret::new("CANARY-a").unwrap();
    stage.issuer.on(TOKENS, [IssuerReply::json(200, json!({ "access_token": "CANARY-b" }))]);
    stage.auth.refreshed_after_401(Account::Antigravity, &token).await.unwrap();
    assert_eq!(stage.auth.antigravity_project().await.unwrap().as_deref(), Some("p-1"));
    assert_eq!(stage.issuer.heard(PROJECT).len(), 1, "it is looked up once");
    stage.auth.sign_out(Account::Antigravity).await.unwrap();
    assert_eq!(stage.auth.known_project(), None);
}

#[tokio::test]
async fn a_project_that_was_not_told_is_asked_for_again() {
    let stage = AccountsStage::new().await;
    let grant = json!({ "access_token": "CANARY-a", "refresh_token": "CANARY-r" });
    stage.issuer.on(TOKENS, [IssuerReply::json(200, grant)]);
    let refused = IssuerReply::json(403, json!({ "error": { "message": "not for CANARY-a" } }));
    let nothing = IssuerReply::json(200, json!({ "allowedTiers": [{ "id": "free-tier" }] }));
    let project = IssuerReply::json(200, json!({ "cloudaicompanionProject": "p-2" }));
    stage.issuer.on(PROJECT, [refused.clone(), refused, nothing, project]);
    let mut flow = stage.connect(Account::Antigravity, SignInMode::Browser);
    flow.url().await.back_with_code("c").await;
    flow.end().await.expect("a sign-in is one without it, too");
    let fault = stage.auth.antigravity_project().await.unwrap_err();
    assert!(fault.message.starts_with("asking for the project of antigravity was refused (403)"), "{}", fault.message);
    assert!(!fault.message.contains("CANARY"), "{}", fault.message);
    assert_eq!(stage.auth.antigravity_project().await.unwrap(), None);
    assert_eq!(stage.auth.known_project(), None);
    assert_eq!(stage.auth.antigravity_project().await.unwrap().as_deref(), Some("p-2"));
    assert_eq!(stage.auth.known_project().as_deref(), Some("p-2"));
}
