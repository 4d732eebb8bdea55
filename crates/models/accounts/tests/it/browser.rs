//! Signing in with a browser.

use std::time::Duration;

use accounts::Account;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use vocab::{FaultKind, LoginMethod, SignInMode, SignInStep};

use crate::issuer::IssuerReply;
use crate::support::{AccountsStage, TOKEN_PATH, get, granted, is_free, raw};

#[tokio::test]
async fn a_sign_in_goes_from_url_to_tokens() {
    let stage = AccountsStage::new().await;
    stage.issuer.on(TOKEN_PATH, [granted("access-1", "refresh-1")]);
    let mut flow = stage.connect(Account::OpenAi, SignInMode::Auto);
    let page = flow.url().await;
    assert!(page.url.starts_with(&format!("{}/oauth/authorize?response_type=code&", stage.issuer.url)), "{}", page.url);
    assert_eq!(page.value("code_challenge_method"), "S256");
    assert_eq!(page.value("scope"), "openid profile email offline_access");
    assert_eq!(page.value("originator"), "tests");
    assert_eq!(page.path(), "/auth/callback");
    let (status, shown) = page.back_with_code("code%2D1").await;
    assert_eq!(status, 200);
    assert!(shown.contains("You are signed in"), "{shown}");

    let connected = flow.end().await.unwrap();
    assert_eq!((connected.login_method, connected.account_id.as_deref()), (LoginMethod::Browser, Some("acct-7")));
    assert_eq!(flow.next().await, SignInStep::Completed(connected));
    assert_eq!(flow.events.recv().await, None);
    let asked = &stage.issuer.heard(TOKEN_PATH)[0];
    assert_eq!(asked.form("grant_type").as_deref(), Some("authorization_code"));
    assert_eq!(asked.form("code").as_deref(), Some("code-1"));
    assert_eq!(asked.form("redirect_uri"), Some(page.value("redirect_uri")));
    let verifier = asked.form("code_verifier").unwrap();
    let digest = ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes());
    assert_eq!(URL_SAFE_NO_PAD.encode(digest), page.value("code_challenge"));
    assert!(asked.head.to_lowercase().contains("content-type: application/x-www-form-urlencoded"), "{}", asked.head);
    assert_eq!(stage.auth.access_token(Account::OpenAi).await.unwrap().expose(), "access-1");
    assert_eq!(stage.auth.status().await.unwrap().openai_account_id.as_deref(), Some("acct-7"));
    assert!(is_free(page.port()));
}

#[tokio::test]
async fn what_does_not_belong_is_answered_and_the_flow_waits_on() {
    let stage = AccountsStage::new().await;
    stage.issuer.on(TOKEN_PATH, [granted("access-1", "refresh-1")]);
    let mut flow = stage.connect(Account::OpenAi, SignInMode::Browser);
    let page = flow.url().await;
    let (port, state) = (page.port(), page.value("state"));
    assert_eq!(page.back("code=evil&state=guess").await.0, 400);
    assert_eq!(page.back("code=evil").await.0, 400);
    assert_eq!(page.back("error=access_denied&state=guess").await.0, 400);
    assert_eq!(page.back(&format!("state={state}")).await.0, 400);
    assert_eq!(page.back(&format!("code=%20&state={state}")).await.0, 400);
    assert_eq!(get(port, "/favicon.ico").await.0, 404);
    assert_eq!(get(port, &format!("/auth/callback/../x?code=evil&state={state}")).await.0, 404);
    assert_eq!(raw(port, &format!("POST {}?code=c&state={state} HTTP/1.1\r\n\r\n", page.path())).await.0, 405);
    assert_eq!(raw(port, "nonsense\r\n\r\n").await.0, 400);
    assert_eq!(get(port, &format!("/{}", "x".repeat(20_000))).await.0, 431);
    assert_eq!(stage.issuer.heard(TOKEN_PATH).len(), 0);
    assert_eq!(page.back_with_code("good").await.0, 200);
    flow.end().await.unwrap();
    assert_eq!(stage.issuer.heard(TOKEN_PATH)[0].form("code").as_deref(), Some("good"));
}

#[tokio::test]
async fn a_denied_sign_in_says_so_in_the_browser_and_in_the_flow() {
    let stage = AccountsStage::new().await;
    let mut flow = stage.connect(Account::OpenAi, SignInMode::Browser);
    let page = flow.url().await;
    let query = format!("error=access_denied&error_description=%3Cb%3Eno%0Athanks&state={}", page.value("state"));
    let (status, shown) = page.back(&query).await;
    assert_eq!(status, 400);
    assert!(shown.contains("the sign-in was denied: &lt;b&gt;no thanks"), "{shown}");
    let fault = flow.failed().await;
    assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::Auth, "the sign-in was denied: <b>no thanks"));
    assert!(is_free(page.port()));
}

#[tokio::test]
async fn a_code_is_used_once_however_often_it_comes() {
    let stage = AccountsStage::new().await;
    let IssuerReply::Say(status, body) = granted("access-1", "refresh-1") else { unreachable!() };
    stage.issuer.on(TOKEN_PATH, [IssuerReply::Held(status, body)]);
    let mut flow = stage.connect(Account::OpenAi, SignInMode::Browser);
    let page = flow.url().await;
    let first = tokio::spawn({
        let page = crate::support::SignInPage { url: page.url.clone() };
        async move { page.back_with_code("c1").await }
    });
    stage.issuer.requests(1).await;
    assert_eq!(page.back_with_code("c1").await.0, 409);
    assert_eq!(page.back_with_code("c2").await.0, 409);
    stage.issuer.release();
    assert_eq!(first.await.unwrap().0, 200);
    flow.end().await.unwrap();
    assert_eq!(stage.issuer.heard(TOKEN_PATH).len(), 1);
}

#[tokio::test]
async fn the_browser_learns_when_the_issuer_refuses_the_code() {
    let stage = AccountsStage::new().await;
    stage.issuer.on(TOKEN_PATH, [IssuerReply::error(400, "invalid_grant")]);
    let mut flow = stage.connect(Account::OpenAi, SignInMode::Browser);
    let page = flow.url().await;
    let (status, shown) = page.back_with_code("c").await;
    assert_eq!(status, 400);
    assert!(shown.contains("signing in was refused (400): invalid_grant"), "{shown}");
    assert_eq!(flow.failed().await.kind, FaultKind::Auth);
    assert!(!stage.auth.status().await.unwrap().openai);
}

#[tokio::test]
async fn a_taken_port_is_named_and_the_next_one_is_tried() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let stage = AccountsStage::with(|config| config.openai.redirect.ports = vec![port]).await;
    let fault = stage.connect(Account::OpenAi, SignInMode::Browser).failed().await;
    assert_eq!(fault.kind, FaultKind::Network);
    assert!(fault.message.contains(&format!("port {port}")), "{fault}");

    let stage = AccountsStage::with(|config| config.openai.redirect.ports = vec![port, 0]).await;
    let page = stage.connect(Account::OpenAi, SignInMode::Browser).url().await;
    assert_ne!(page.port(), port);
}

#[tokio::test]
async fn a_silent_connection_keeps_nobody_waiting_and_is_closed() {
    let stage = AccountsStage::with(|config| config.limits.callback = Duration::from_millis(200)).await;
    stage.issuer.on(TOKEN_PATH, [granted("access-1", "refresh-1")]);
    let mut flow = stage.connect(Account::OpenAi, SignInMode::Browser);
    let page = flow.url().await;
    // More than are served at once: the last request waits until the silent ones are closed.
    let mut silent = Vec::new();
    for _ in 0..20 {
        let mut stream = TcpStream::connect(("127.0.0.1", page.port())).await.unwrap();
        stream.write_all(b"GET /auth").await.unwrap();
        silent.push(stream);
    }
    assert_eq!(page.back_with_code("c").await.0, 200);
    flow.end().await.unwrap();
}

#[tokio::test]
async fn browsers_that_connect_and_say_nothing_are_not_in_the_way() {
    let stage = AccountsStage::with(|config| config.limits.callback = Duration::from_secs(60)).await;
    stage.issuer.on(TOKEN_PATH, [granted("access-1", "refresh-1")]);
    let mut flow = stage.connect(Account::OpenAi, SignInMode::Browser);
    let page = flow.url().await;
    let began = std::time::Instant::now();
    let mut silent = Vec::new();
    for _ in 0..40 {
        silent.push(TcpStream::connect(("127.0.0.1", page.port())).await.unwrap());
    }
    assert_eq!(page.back_with_code("c").await.0, 200);
    flow.end().await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

/// A browser takes either address of `localhost`, so nobody else may have the other one.
#[tokio::test]
async fn both_addresses_of_localhost_are_ours() {
    let Ok(squatter) = std::net::TcpListener::bind("[::1]:0") else { return };
    let port = squatter.local_addr().unwrap().port();
    let stage = AccountsStage::with(|config| config.openai.redirect.ports = vec![port, 0]).await;
    let page = stage.connect(Account::OpenAi, SignInMode::Browser).url().await;
    assert_ne!(page.port(), port, "its other address is somebody else's");
    assert!(TcpStream::connect(("::1", page.port())).await.is_ok());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn only_the_loopback_address_is_listened_on() {
    let stage = AccountsStage::new().await;
    let page = stage.connect(Account::OpenAi, SignInMode::Browser).url().await;
    // All of 127/8 is this machine, so a listener on every address would answer here, too.
    assert!(TcpStream::connect(("127.0.0.2", page.port())).await.is_err());
}

#[tokio::test]
async fn nobody_comes_and_the_time_is_up() {
    let stage = AccountsStage::with(|config| config.limits.flow = Duration::from_millis(50)).await;
    let mut flow = stage.connect(Account::OpenAi, SignInMode::Browser);
    let page = flow.url().await;
    let fault = flow.failed().await;
    assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::Auth, "nobody signed in within 0.05 s"));
    assert!(is_free(page.port()));
}

#[tokio::test]
async fn an_issuer_that_makes_no_sense_fails_the_flow() {
    let long = "x".repeat(1024 * 1024);
    for (reply, kind, text) in [
        (IssuerReply::Say(200, "<html>".into()), FaultKind::Provider, "makes no sense"),
        (IssuerReply::Say(200, "{}".into()), FaultKind::Provider, "makes no sense"),
        (IssuerReply::Say(200, r#"{"access_token":"a b"}"#.into()), FaultKind::Provider, "makes no sense"),
        (IssuerReply::Say(200, long), FaultKind::Provider, "longer than 262144 bytes"),
        (IssuerReply::Say(302, String::new()), FaultKind::Provider, "refused (302)"),
        (IssuerReply::Say(500, "boom".into()), FaultKind::Provider, "refused (500)"),
        (IssuerReply::Stuck, FaultKind::Network, "no whole answer"),
        (IssuerReply::Drop, FaultKind::Network, "without an answer"),
    ] {
        let stage = AccountsStage::with(|config| config.limits.request = Duration::from_millis(150)).await;
        stage.issuer.on(TOKEN_PATH, [reply]);
        let mut flow = stage.connect(Account::OpenAi, SignInMode::Browser);
        let page = flow.url().await;
        assert_eq!(page.back_with_code("c").await.0, 400);
        let fault = flow.failed().await;
        assert_eq!(fault.kind, kind, "{fault}");
        assert!(fault.message.contains(text), "{fault}");
        assert!(!stage.auth.place().exists());
    }
}
