//! Flows that end before their time: dropped, cancelled, replaced.

use std::sync::atomic::Ordering;

use accounts::Account;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use vocab::{FaultKind, SignInMode, SignInStep};

use crate::issuer::IssuerReply;
use crate::support::{AccountsStage, START_PATH, TOKEN_PATH, granted, is_free, own_port};

#[tokio::test]
async fn a_dropped_flow_leaves_its_port_at_once() {
    let stage = AccountsStage::new().await;
    let mut port = None;
    {
        let mut tell = |event| {
            if let SignInStep::Url(url) = event {
                port = Some(crate::support::SignInPage { url }.port());
            }
        };
        let flow = stage.auth.connect(Account::OpenAi, SignInMode::Browser, None, &mut tell);
        let mut flow = Box::pin(flow);
        tokio::select! {
            _ = &mut flow => panic!("nobody has signed in"),
            () = tokio::time::sleep(std::time::Duration::from_millis(50)) => {}
        }
        // Dropped here, with nothing awaited between.
    }
    assert!(is_free(port.expect("the URL was told")));
}

#[tokio::test]
async fn cancelling_frees_the_port_before_anybody_is_polled() {
    let stage = AccountsStage::new().await;
    let mut flow = stage.connect(Account::OpenAi, SignInMode::Browser);
    let page = flow.url().await;
    // A browser in the middle of its request changes nothing.
    let mut half = tokio::net::TcpStream::connect(("127.0.0.1", page.port())).await.unwrap();
    half.write_all(b"GET /").await.unwrap();
    assert!(!is_free(page.port()));
    stage.auth.cancel_flows("the program is shutting down");
    assert!(is_free(page.port()));
    let fault = flow.failed().await;
    assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::Cancelled, "the program is shutting down"));
}

#[tokio::test]
async fn a_waiting_device_flow_is_cancelled_too() {
    let stage = AccountsStage::new().await;
    stage.timer.stopped.store(true, Ordering::SeqCst);
    stage.issuer.on(START_PATH, [IssuerReply::json(200, json!({ "device_auth_id": "d", "user_code": "U" }))]);
    let mut flow = stage.connect(Account::OpenAi, SignInMode::DeviceCode);
    flow.url().await;
    assert!(matches!(flow.next().await, SignInStep::DeviceCode { .. }));
    stage.auth.cancel_flows("enough");
    assert_eq!(flow.failed().await.message, "enough");
}

#[tokio::test]
async fn a_newer_flow_takes_the_place_and_the_port_of_the_older() {
    let port = own_port();
    let stage = AccountsStage::with(|config| config.openai.redirect.ports = vec![port]).await;
    stage.issuer.on(TOKEN_PATH, [granted("access-2", "refresh-2")]);
    let mut older = stage.connect(Account::OpenAi, SignInMode::Browser);
    let old_page = older.url().await;
    let mut newer = stage.connect(Account::OpenAi, SignInMode::Browser);
    let page = newer.url().await;
    assert_eq!(older.failed().await.message, "a newer sign-in took its place");
    assert_eq!((old_page.port(), page.port()), (port, port));
    assert_eq!(old_page.back_with_code("old").await.0, 400, "the older link must not sign in");
    assert_eq!(page.back_with_code("new").await.0, 200);
    newer.end().await.unwrap();
    assert!(is_free(port));
}

#[tokio::test]
async fn an_older_flow_that_is_never_polled_again_still_gives_its_port_up() {
    let port = own_port();
    let stage = AccountsStage::with(|config| config.openai.redirect.ports = vec![port]).await;
    let mut ignore = |_| {};
    let mut older = Box::pin(stage.auth.connect(Account::OpenAi, SignInMode::Browser, None, &mut ignore));
    tokio::select! {
        biased;
        _ = &mut older => panic!("nobody has signed in"),
        () = tokio::time::sleep(std::time::Duration::from_millis(50)) => {}
    }
    let mut newer = stage.connect(Account::OpenAi, SignInMode::Browser);
    assert_eq!(newer.url().await.port(), port);
    assert_eq!(older.await.unwrap_err().kind, FaultKind::Cancelled);
    assert!(!is_free(port), "the older one must not close the newer one's listener");
    stage.auth.cancel_flows("and now the newer one");
    assert_eq!(newer.failed().await.message, "and now the newer one", "the older one must not take its seat away");
}

#[tokio::test]
async fn two_accounts_sign_in_side_by_side() {
    let stage = AccountsStage::new().await;
    let mut openai = stage.connect(Account::OpenAi, SignInMode::Browser);
    let mut google = stage.connect(Account::Antigravity, SignInMode::Browser);
    let (one, two) = (openai.url().await, google.url().await);
    assert_ne!(one.port(), two.port());
    stage.auth.cancel_flows("done");
    assert_eq!(openai.failed().await.message, "done");
    assert_eq!(google.failed().await.message, "done");
}
