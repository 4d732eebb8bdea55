//! What a person is told by `tillerman login`, with an issuer on loopback.

use std::sync::{Arc, Mutex};

use accounts::Account;
use serde_json::json;
use vocab::SignInMode;

use super::stage::{SetupPlace, come_back};
use super::vendor::{granted, json};
use super::*;
use crate::cmd::login::sign_in;

#[tokio::test]
async fn a_person_is_shown_an_address_and_who_is_signed_in() {
    let (wired, vendor, _home) = SetupPlace::new(loose(Some("tour"), None)).await.build().await.unwrap();
    vendor.on("/openai/oauth/token", [granted("CANARY-access", "CANARY-refresh")]);
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let tell = Arc::new(move |text: &str| drop(tell.send(text.to_owned())));
    let browser = async {
        let text = told.recv().await.unwrap();
        let page = text.lines().find_map(|line| line.strip_prefix("  http")).expect("an address on a line of its own");
        come_back(&format!("http{page}"), "code=CANARY-code").await;
    };
    let (done, ()) = tokio::join!(sign_in(&*wired.ports.accounts, Account::OpenAi, SignInMode::Browser, tell), browser);
    assert_eq!(done.unwrap(), "Signed in to openai as acct-7.");
}

#[tokio::test]
async fn a_code_is_shown_with_its_address_and_nothing_secret_is() {
    let (wired, vendor, _home) = SetupPlace::new(loose(Some("tour"), None)).await.build().await.unwrap();
    let start = json!({ "device_auth_id": "CANARY-device", "user_code": "ABCD-1234", "interval": "1" });
    vendor.on("/openai/api/accounts/deviceauth/usercode", [json(200, start)]);
    let code = json!({ "authorization_code": "CANARY-code", "code_verifier": "CANARY-verifier" });
    vendor.on("/openai/api/accounts/deviceauth/token", [json(200, code)]);
    vendor.on("/openai/oauth/token", [granted("CANARY-access", "CANARY-refresh")]);
    let shown = Arc::new(Mutex::new(String::new()));
    let tell = {
        let shown = shown.clone();
        Arc::new(move |text: &str| *shown.lock().unwrap() += text)
    };
    let done = sign_in(&*wired.ports.accounts, Account::OpenAi, SignInMode::DeviceCode, tell).await.unwrap();
    let shown = shown.lock().unwrap().clone();
    assert!(
        shown.contains("Open this address") && shown.contains("the code ABCD-1234 there, within 15 minutes"),
        "{shown}"
    );
    assert!(!shown.contains("CANARY") && !done.contains("CANARY"), "{shown}{done}");

    // What fails is the issuer's word.
    vendor.on("/openai/oauth/token", [json(400, json!({ "error": "invalid_grant" }))]);
    let failed = sign_in(&*wired.ports.accounts, Account::OpenAi, SignInMode::DeviceCode, Arc::new(|_: &str| {})).await;
    assert!(failed.unwrap_err().message.contains("invalid_grant"));
}
