//! Signing in by a code that is typed elsewhere.

use std::time::Duration;

use accounts::Account;
use accounts::{AccountsConfig, DeviceStyle};
use serde_json::json;
use vocab::{FaultKind, LoginMethod, SignInMode, SignInStep};

use crate::issuer::IssuerReply;
use crate::support::{AccountsStage, POLL_PATH, START_PATH, TOKEN_PATH, environment, granted};

fn code(interval: serde_json::Value) -> IssuerReply {
    IssuerReply::json(200, json!({ "device_auth_id": "device-1", "user_code": "ABCD-EFGH", "interval": interval }))
}

fn approved() -> IssuerReply {
    IssuerReply::json(
        200,
        json!({ "authorization_code": "code-1", "code_challenge": "x", "code_verifier": "verifier-1" }),
    )
}

#[tokio::test]
async fn pending_then_slower_then_signed_in() {
    let stage = AccountsStage::new().await;
    stage.issuer.on(START_PATH, [code(json!("3"))]);
    let pending = IssuerReply::Say(403, String::new());
    let slower = IssuerReply::error(400, "slow_down");
    let replies = [
        pending.clone(),
        IssuerReply::error(403, "authorization_pending"),
        slower,
        IssuerReply::Say(404, "x".into()),
        approved(),
    ];
    stage.issuer.on(POLL_PATH, replies);
    stage.issuer.on(TOKEN_PATH, [granted("access-1", "refresh-1")]);
    let mut flow = stage.connect(Account::OpenAi, SignInMode::DeviceCode);
    let url = format!("{}/codex/device", stage.issuer.url);
    assert_eq!(flow.next().await, SignInStep::Started);
    assert_eq!(flow.next().await, SignInStep::Url(url.clone()));
    let told = SignInStep::DeviceCode {
        verification_url: url,
        user_code: "ABCD-EFGH".into(),
        interval_seconds: 3,
        expires_in_seconds: 900,
    };
    assert_eq!(flow.next().await, told);
    let connected = flow.end().await.unwrap();
    assert_eq!((connected.login_method, connected.account_id.as_deref()), (LoginMethod::DeviceCode, Some("acct-7")));
    assert_eq!(flow.next().await, SignInStep::Completed(connected));
    assert_eq!(*stage.timer.pauses.lock().unwrap(), [3, 3, 3, 8, 8]);
    assert_eq!(stage.issuer.heard(START_PATH)[0].body, r#"{"client_id":"app_EMoamEEZ73f0CkXaXp7hrann"}"#);
    let polled: serde_json::Value = serde_json::from_str(&stage.issuer.heard(POLL_PATH)[0].body).unwrap();
    assert_eq!(polled, json!({ "device_auth_id": "device-1", "user_code": "ABCD-EFGH" }));
    let asked = &stage.issuer.heard(TOKEN_PATH)[0];
    assert_eq!(asked.form("code_verifier").as_deref(), Some("verifier-1"));
    assert_eq!(asked.form("redirect_uri"), Some(format!("{}/deviceauth/callback", stage.issuer.url)));
    assert_eq!(stage.saved()["openai"]["login_method"], "device_code");
}

#[tokio::test]
async fn the_standard_way_yields_tokens_without_a_code() {
    let stage = AccountsStage::with(|config| config.openai.device.as_mut().unwrap().style = DeviceStyle::Rfc8628).await;
    let start = json!({ "device_code": "device-1", "user_code": "WXYZ", "verification_uri": "https://issuer.example/d",
                        "expires_in": 60, "interval": 7 });
    stage.issuer.on(START_PATH, [IssuerReply::json(200, start)]);
    stage.issuer.on(POLL_PATH, [IssuerReply::error(400, "authorization_pending"), granted("access-1", "refresh-1")]);
    let mut flow = stage.connect(Account::OpenAi, SignInMode::DeviceCode);
    assert_eq!(flow.url().await.url, "https://issuer.example/d");
    flow.end().await.unwrap();
    let polled = &stage.issuer.heard(POLL_PATH)[1];
    assert_eq!(polled.form("grant_type").as_deref(), Some("urn:ietf:params:oauth:grant-type:device_code"));
    assert_eq!(polled.form("device_code").as_deref(), Some("device-1"));
    assert_eq!(*stage.timer.pauses.lock().unwrap(), [7, 7]);
}

#[tokio::test]
async fn a_code_nobody_types_expires() {
    let stage = AccountsStage::new().await;
    stage.issuer.on(START_PATH, [code(json!(300))]);
    stage.issuer.on(POLL_PATH, vec![IssuerReply::Say(403, String::new()); 10]);
    let fault = stage.connect(Account::OpenAi, SignInMode::DeviceCode).failed().await;
    assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::Auth, "the code has expired before anybody used it"));
    assert_eq!(stage.issuer.heard(POLL_PATH).len(), 2, "900 s at 300 s: the third pause ends too late");
}

#[tokio::test]
async fn the_issuer_can_end_it() {
    for (reply, text) in [
        (IssuerReply::error(400, "expired_token"), "the code has expired before anybody used it"),
        (IssuerReply::error(403, "access_denied"), "the sign-in was denied"),
        (IssuerReply::error(400, "invalid_client"), "the sign-in by device code was refused (400): invalid_client"),
        (IssuerReply::Say(200, "<html>".into()), "the sign-in by device code: the issuer's answer makes no sense"),
    ] {
        let stage = AccountsStage::new().await;
        stage.issuer.on(START_PATH, [code(json!(5))]);
        stage.issuer.on(POLL_PATH, [IssuerReply::Say(403, String::new()), reply]);
        let fault = stage.connect(Account::OpenAi, SignInMode::DeviceCode).failed().await;
        assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::Auth, text));
        assert_eq!(stage.issuer.heard(POLL_PATH).len(), 2);
    }
}

#[tokio::test]
async fn auto_takes_the_browser_where_the_issuer_has_no_device_codes() {
    let over_ssh = |config: &mut AccountsConfig| config.environment = environment(&["SSH_TTY", "DISPLAY"]);
    let stage = AccountsStage::with(over_ssh).await;
    stage.issuer.on(TOKEN_PATH, [granted("access-1", "refresh-1")]);
    let mut flow = stage.connect(Account::OpenAi, SignInMode::Auto);
    let page = flow.url().await;
    assert_eq!(stage.issuer.heard(START_PATH).len(), 1, "it asked first");
    page.back_with_code("c").await;
    assert_eq!(flow.end().await.unwrap().login_method, LoginMethod::Browser);

    let fault = stage.connect(Account::OpenAi, SignInMode::DeviceCode).failed().await;
    let text = "openai offers no sign-in by device code here";
    assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::Unsupported, text));

    let stage = AccountsStage::with(over_ssh).await;
    stage.issuer.on(START_PATH, [IssuerReply::error(403, "blocked")]);
    let fault = stage.connect(Account::OpenAi, SignInMode::Auto).failed().await;
    assert_eq!(fault.message, "asking for a device code was refused (403): blocked", "only a 404 means the browser");
}

#[tokio::test]
async fn an_issuer_that_is_down_is_named() {
    let gone = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap()
    };
    let stage = AccountsStage::with(|config| config.openai = accounts::Issuer::openai(&format!("http://{gone}"))).await;
    let fault = stage.connect(Account::OpenAi, SignInMode::DeviceCode).failed().await;
    assert_eq!(fault.kind, FaultKind::Network);
    assert!(fault.message.contains(&format!("cannot reach http://{gone}")), "{fault}");
}

#[tokio::test]
async fn a_start_that_makes_no_sense_fails() {
    let evil = json!({ "device_auth_id": "d", "user_code": "U", "verification_uri": "javascript:alert(1)" });
    for (reply, kind, text) in [
        (IssuerReply::Say(200, "hello".into()), FaultKind::Provider, "makes no sense"),
        (IssuerReply::Say(200, "y".repeat(1024 * 1024)), FaultKind::Provider, "longer than"),
        (
            IssuerReply::json(200, json!({ "device_auth_id": "d", "user_code": "a\nb" })),
            FaultKind::Provider,
            "makes no sense",
        ),
        (IssuerReply::json(200, evil), FaultKind::Provider, "makes no sense"),
        (IssuerReply::Stuck, FaultKind::Network, "no whole answer"),
    ] {
        let stage = AccountsStage::with(|config| config.limits.request = Duration::from_millis(150)).await;
        stage.issuer.on(START_PATH, [reply]);
        let fault = stage.connect(Account::OpenAi, SignInMode::DeviceCode).failed().await;
        assert_eq!(fault.kind, kind, "{fault}");
        assert!(fault.message.contains(text), "{fault}");
    }
}

#[tokio::test]
async fn hiccups_while_polling_are_survived_but_not_for_ever() {
    let stage = AccountsStage::new().await;
    stage.issuer.on(START_PATH, [code(json!(5))]);
    let hiccups = [IssuerReply::Drop, IssuerReply::Say(502, "bad gateway".into()), IssuerReply::Drop];
    stage.issuer.on(POLL_PATH, hiccups.into_iter().chain([approved()]));
    stage.issuer.on(TOKEN_PATH, [granted("access-1", "refresh-1")]);
    stage.connect(Account::OpenAi, SignInMode::DeviceCode).end().await.unwrap();

    let stage = AccountsStage::new().await;
    stage.issuer.on(START_PATH, [code(json!(5))]);
    stage.issuer.on(POLL_PATH, vec![IssuerReply::Drop; 50]);
    let fault = stage.connect(Account::OpenAi, SignInMode::DeviceCode).failed().await;
    assert_eq!(fault.kind, FaultKind::Network);
    assert_eq!(stage.issuer.heard(POLL_PATH).len(), 6);
}
