//! Fresh tokens: one request for all, nothing lost, failures told apart.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use accounts::Account;
use accounts::Auth;
use serde_json::json;
use tokio::task::JoinSet;
use vocab::{Fault, FaultKind, Secret, SignInMode};

use crate::issuer::IssuerReply;
use crate::support::{AccountsStage, NOW_MS, TOKEN_PATH, config, granted, jwt};

const CALLERS: usize = 50;

fn held(reply: IssuerReply) -> IssuerReply {
    let IssuerReply::Say(status, body) = reply else { unreachable!() };
    IssuerReply::Held(status, body)
}

/// Fifty at once, released when the first request has arrived and all have had time to ask.
async fn fifty<F>(stage: &AccountsStage, ask: impl Fn(Auth) -> F) -> Vec<Result<Secret, Fault>>
where
    F: Future<Output = Result<Secret, Fault>> + Send + 'static,
{
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        callers.spawn(ask(stage.auth.clone()));
    }
    stage.issuer.requests(1).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    stage.issuer.release();
    callers.join_all().await
}

#[tokio::test]
async fn fifty_callers_make_one_request() {
    let stage = AccountsStage::new().await;
    stage.sign_in("old", Some("refresh-1"), Some(NOW_MS + 59_000));
    stage.issuer.on(TOKEN_PATH, [held(granted("new", "refresh-2"))]);
    let all = fifty(&stage, |auth| async move { auth.access_token(Account::OpenAi).await }).await;
    assert!(all.iter().all(|it| it.as_ref().unwrap().expose() == "new"));
    assert_eq!(stage.issuer.heard(TOKEN_PATH).len(), 1);
    assert_eq!(stage.issuer.heard(TOKEN_PATH)[0].form("refresh_token").as_deref(), Some("refresh-1"));
}

#[tokio::test]
async fn fifty_callers_share_one_request_even_for_a_token_that_is_stale_at_once() {
    let stage = AccountsStage::new().await;
    stage.sign_in("old", Some("refresh-1"), Some(NOW_MS));
    let short = json!({ "access_token": "new", "refresh_token": "refresh-2", "expires_in": 1 });
    stage.issuer.on(TOKEN_PATH, [held(IssuerReply::json(200, short))]);
    let all = fifty(&stage, |auth| async move { auth.access_token(Account::OpenAi).await }).await;
    assert!(all.iter().all(|it| it.as_ref().unwrap().expose() == "new"));
    assert_eq!(stage.issuer.heard(TOKEN_PATH).len(), 1);
}

#[tokio::test]
async fn fifty_callers_share_one_refusal_and_nobody_asks_again() {
    let stage = AccountsStage::new().await;
    stage.sign_in("old", Some("refresh-1"), Some(NOW_MS));
    stage.issuer.on(TOKEN_PATH, [held(IssuerReply::error(400, "invalid_grant"))]);
    let all = fifty(&stage, |auth| async move { auth.access_token(Account::OpenAi).await }).await;
    for fault in all.into_iter().map(Result::unwrap_err) {
        let text = "refreshing the sign-in was refused (400): invalid_grant";
        assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::Auth, text));
    }
    assert_eq!(stage.auth.access_token(Account::OpenAi).await.unwrap_err().kind, FaultKind::Auth);
    assert_eq!(stage.issuer.heard(TOKEN_PATH).len(), 1, "a refused token is not sent again");
    assert_eq!(stage.saved()["openai"]["refresh_token"], "refresh-1");
    // A new sign-in makes good.
    stage.sign_in("fresh", Some("refresh-9"), None);
    assert_eq!(stage.auth.access_token(Account::OpenAi).await.unwrap().expose(), "fresh");
}

#[tokio::test]
async fn a_token_is_kept_until_it_nears_its_end() {
    let stage = AccountsStage::new().await;
    stage.sign_in("old", Some("refresh-1"), Some(NOW_MS + 120_000));
    assert_eq!(stage.auth.access_token(Account::OpenAi).await.unwrap().expose(), "old");
    stage.timer.advance(60_001);
    stage.issuer.on(TOKEN_PATH, [granted("new", "refresh-2")]);
    assert_eq!(stage.auth.access_token(Account::OpenAi).await.unwrap().expose(), "new");
    let saved = stage.saved();
    assert_eq!(saved["openai"]["refresh_token"], "refresh-2");
    assert_eq!(saved["openai"]["expires_at_ms"], NOW_MS + 60_001 + 3_600_000);
    assert_eq!(saved["openai"]["account_id"], "acct-7");
}

#[tokio::test]
async fn the_claims_tell_the_end_when_the_issuer_does_not() {
    let stage = AccountsStage::new().await;
    stage.sign_in("old", Some("refresh-1"), Some(NOW_MS));
    let access = jwt(json!({ "exp": NOW_MS / 1000 + 100 }));
    stage.issuer.on(TOKEN_PATH, [IssuerReply::json(200, json!({ "access_token": access }))]);
    stage.auth.access_token(Account::OpenAi).await.unwrap();
    assert_eq!(stage.saved()["openai"]["expires_at_ms"], NOW_MS + 100_000);
    assert_eq!(stage.saved()["openai"]["refresh_token"], "refresh-1", "the old one goes on");
}

#[tokio::test]
async fn a_401_is_worth_one_refresh() {
    let stage = AccountsStage::new().await;
    stage.sign_in("old", Some("refresh-1"), None);
    stage.issuer.on(TOKEN_PATH, [held(granted("new", "refresh-2")), granted("newer", "refresh-3")]);
    let all = fifty(&stage, |auth| async move {
        let used = auth.access_token(Account::OpenAi).await?;
        auth.refreshed_after_401(Account::OpenAi, &Secret::new("old").unwrap())
            .await
            .inspect(|it| assert_ne!(*it, used))
    })
    .await;
    assert!(all.iter().all(|it| it.as_ref().unwrap().expose() == "new"));
    assert_eq!(stage.issuer.heard(TOKEN_PATH).len(), 1);

    let new = Secret::new("new").unwrap();
    let fault = stage.auth.refreshed_after_401(Account::OpenAi, &new).await.unwrap_err();
    assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::Auth, "openai refuses even a fresh token"));
    stage.timer.advance(60_000);
    assert_eq!(stage.auth.refreshed_after_401(Account::OpenAi, &new).await.unwrap().expose(), "newer");
}

#[tokio::test]
async fn a_hiccup_is_told_apart_from_a_refusal_and_may_pass() {
    let stage = AccountsStage::with(|config| config.limits.request = Duration::from_millis(150)).await;
    stage.sign_in("old", Some("refresh-1"), Some(NOW_MS));
    let replies = [
        IssuerReply::Drop,
        IssuerReply::Stuck,
        IssuerReply::Say(503, String::new()),
        IssuerReply::Say(200, "{".into()),
    ];
    stage.issuer.on(TOKEN_PATH, replies.into_iter().chain([granted("new", "refresh-2")]));
    for kind in [FaultKind::Network, FaultKind::Network, FaultKind::Provider, FaultKind::Provider] {
        assert_eq!(stage.auth.access_token(Account::OpenAi).await.unwrap_err().kind, kind);
    }
    assert_eq!(stage.auth.access_token(Account::OpenAi).await.unwrap().expose(), "new");
}

#[tokio::test]
async fn without_a_sign_in_or_a_refresh_token_only_the_user_can_help() {
    let stage = AccountsStage::new().await;
    let fault = stage.auth.access_token(Account::OpenAi).await.unwrap_err();
    assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::Auth, "not signed in to openai"));
    stage.sign_in("old", None, Some(NOW_MS));
    let fault = stage.auth.access_token(Account::OpenAi).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Auth);
    assert!(fault.message.contains("cannot be refreshed"), "{fault}");
}

#[tokio::test]
async fn a_caller_that_goes_away_loses_no_token() {
    let stage = AccountsStage::new().await;
    stage.sign_in("old", Some("refresh-1"), Some(NOW_MS));
    stage.issuer.on(TOKEN_PATH, [held(granted("new", "refresh-2"))]);
    let auth = stage.auth.clone();
    let caller = tokio::spawn(async move { auth.access_token(Account::OpenAi).await });
    stage.issuer.requests(1).await;
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    stage.issuer.release();
    assert_eq!(stage.auth.access_token(Account::OpenAi).await.unwrap().expose(), "new");
    assert_eq!(stage.saved()["openai"]["refresh_token"], "refresh-2");
    assert_eq!(stage.issuer.heard(TOKEN_PATH).len(), 1);
}

#[tokio::test]
async fn tokens_that_cannot_be_written_are_not_used_and_not_lost() {
    let stage = AccountsStage::new().await;
    stage.sign_in("old", Some("refresh-1"), Some(NOW_MS));
    stage.issuer.on(TOKEN_PATH, [granted("new", "refresh-2")]);
    let full = Arc::new(AtomicBool::new(true));
    let disk = full.clone();
    let replace = Arc::new(move |path: &std::path::Path, bytes: &[u8]| match disk.load(Ordering::SeqCst) {
        true => Err(std::io::Error::other("no space left")),
        false => safefile::replace(path, bytes),
    });
    let auth = Auth::with_replace(config(&stage.issuer.url), &stage.directory(), stage.timer.clone(), replace);
    let before = std::fs::read(stage.auth.place()).unwrap();
    for _ in 0..2 {
        let fault = auth.access_token(Account::OpenAi).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Store);
        assert_eq!(std::fs::read(stage.auth.place()).unwrap(), before);
    }
    full.store(false, Ordering::SeqCst);
    assert_eq!(auth.access_token(Account::OpenAi).await.unwrap().expose(), "new");
    assert_eq!(stage.saved()["openai"]["refresh_token"], "refresh-2");
    assert_eq!(stage.issuer.heard(TOKEN_PATH).len(), 1, "the issuer has rotated: the old token is worth nothing");
}

#[tokio::test]
async fn a_sign_in_during_a_refresh_wins() {
    let stage = AccountsStage::new().await;
    stage.sign_in("old", Some("refresh-1"), Some(NOW_MS));
    stage.issuer.on(TOKEN_PATH, [held(granted("refreshed", "refresh-2")), granted("signed-in", "refresh-9")]);
    let auth = stage.auth.clone();
    let caller = tokio::spawn(async move { auth.access_token(Account::OpenAi).await });
    stage.issuer.requests(1).await;
    let mut flow = stage.connect(Account::OpenAi, SignInMode::Browser);
    flow.url().await.back_with_code("c").await;
    flow.end().await.unwrap();
    stage.issuer.release();
    assert_eq!(caller.await.unwrap().unwrap().expose(), "signed-in");
    assert_eq!(stage.saved()["openai"]["refresh_token"], "refresh-9");
}

#[tokio::test]
async fn a_sign_out_during_a_refresh_stays_one() {
    let stage = AccountsStage::new().await;
    stage.sign_in("old", Some("refresh-1"), Some(NOW_MS));
    stage.issuer.on(TOKEN_PATH, [held(granted("refreshed", "refresh-2"))]);
    let auth = stage.auth.clone();
    let caller = tokio::spawn(async move { auth.access_token(Account::OpenAi).await });
    stage.issuer.requests(1).await;
    stage.auth.sign_out(Account::OpenAi).await.unwrap();
    stage.issuer.release();
    assert_eq!(caller.await.unwrap().unwrap_err().kind, FaultKind::Auth);
    assert!(stage.saved()["openai"].is_null());
}
