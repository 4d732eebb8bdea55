//! How much is used up: asked with the account's token, refreshed once where that is refused.

use accounts::{LimitWindow, OpenAiLimits};
use serde_json::{Value, json};
use vocab::FaultKind;

use crate::issuer::IssuerReply;
use crate::support::{AccountsStage, TOKEN_PATH, granted};

const USAGE_PATH: &str = "/wham/usage";
const MODELS_PATH: &str = "/v1internal:fetchAvailableModels";

/// The file, as flows to both accounts would have left it.
fn signed_in(stage: &AccountsStage) {
    let login = |access: &str, id: Option<&str>| json!({ "access_token": access, "refresh_token": "CANARY-refresh", "login_method": "browser", "account_id": id });
    let file: Value = json!({ "version": 1, "openai": login("CANARY-old", Some("acct-7")),
                              "antigravity": login("CANARY-google", None) });
    std::fs::create_dir_all(stage.directory()).unwrap();
    std::fs::write(stage.directory().join("credentials.json"), file.to_string()).unwrap();
}

fn usage() -> IssuerReply {
    let primary = json!({ "used_percent": 12.5, "limit_window_seconds": 18000, "reset_at": 1_730_000_000 });
    IssuerReply::json(
        200,
        json!({ "plan_type": "plus", "rate_limit": { "primary_window": primary, "secondary_window": null } }),
    )
}

#[tokio::test]
async fn openai_tells_its_windows() {
    let stage = AccountsStage::new().await;
    signed_in(&stage);
    stage.issuer.on(USAGE_PATH, [usage()]);
    let primary =
        Some(LimitWindow { used_percent: 12.5, window_seconds: Some(18_000), resets_at: Some(1_730_000_000) });
    let want = OpenAiLimits { plan: Some("plus".into()), primary, secondary: None };
    assert_eq!(stage.auth.openai_limits().await.unwrap(), want);
    let head = stage.issuer.heard(USAGE_PATH)[0].head.to_lowercase();
    assert!(head.starts_with("get ") && head.contains("chatgpt-account-id: acct-7"), "{head}");
    assert!(head.contains("authorization: bearer canary-old"), "{head}");
}

#[tokio::test]
async fn antigravity_tells_its_models_by_name() {
    let stage = AccountsStage::new().await;
    signed_in(&stage);
    let quota =
        |fraction: f64| json!({ "quotaInfo": { "remainingFraction": fraction, "resetTime": "2030-01-01T00:00:00Z" } });
    stage.issuer.on(MODELS_PATH, [IssuerReply::json(200, json!({ "models": { "z": quota(0.5), "a": quota(1.0) } }))]);
    let limits = stage.auth.antigravity_limits().await.unwrap();
    let shown: Vec<String> = limits.iter().map(|it| format!("{} {}", it.name, it.remaining_percent)).collect();
    assert_eq!(shown, ["a 100", "z 50"]);
    let heard = &stage.issuer.heard(MODELS_PATH)[0];
    assert!(heard.head.starts_with("POST ") && heard.head.contains("Bearer CANARY-google"), "{}", heard.head);
    assert_eq!(heard.body, "{}");
}

#[tokio::test]
async fn a_401_is_worth_one_refreshed_token_and_a_second_is_the_answer() {
    let stage = AccountsStage::new().await;
    signed_in(&stage);
    stage.issuer.on(TOKEN_PATH, [granted("CANARY-new", "CANARY-refresh-2")]);
    stage.issuer.on(USAGE_PATH, [IssuerReply::error(401, "expired"), usage()]);
    assert_eq!(stage.auth.openai_limits().await.unwrap().plan.as_deref(), Some("plus"));
    assert!(stage.issuer.heard(USAGE_PATH)[1].head.contains("Bearer CANARY-new"));

    let stage = AccountsStage::new().await;
    signed_in(&stage);
    stage.issuer.on(TOKEN_PATH, [granted("CANARY-new", "CANARY-refresh-2")]);
    let no = || IssuerReply::json(401, json!({ "error": "no", "message": "CANARY-new is bad" }));
    stage.issuer.on(USAGE_PATH, [no(), no(), usage()]);
    let fault = stage.auth.openai_limits().await.unwrap_err();
    let text = "asking for the limits of openai was refused (401): no: *** is bad";
    assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::Auth, text));
    assert_eq!(stage.issuer.heard(USAGE_PATH).len(), 2);
}

#[tokio::test]
async fn every_failure_says_what_is_wrong() {
    for (reply, kind, text) in [
        (IssuerReply::error(403, "no"), FaultKind::Auth, "asking for the limits of antigravity was refused (403): no"),
        (
            IssuerReply::Say(500, "x".into()),
            FaultKind::Provider,
            "asking for the limits of antigravity was refused (500)",
        ),
        (
            IssuerReply::Say(200, "CANARY-body".into()),
            FaultKind::Provider,
            "asking for the limits of antigravity: the issuer's answer makes no sense",
        ),
    ] {
        let stage = AccountsStage::new().await;
        signed_in(&stage);
        stage.issuer.on(MODELS_PATH, [reply]);
        let fault = stage.auth.antigravity_limits().await.unwrap_err();
        assert_eq!((fault.kind, fault.message.as_str()), (kind, text));
    }
    let stage = AccountsStage::with(|config| config.openai_usage_url = "http://example.org/wham/usage".into()).await;
    signed_in(&stage);
    let fault = stage.auth.openai_limits().await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Invalid);
    assert!(fault.message.contains("must be an https URL"), "{fault}");
    let nobody = AccountsStage::new().await;
    assert_eq!(nobody.auth.openai_limits().await.unwrap_err().message, "not signed in to openai");
}
