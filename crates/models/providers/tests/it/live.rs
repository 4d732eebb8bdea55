//! Credentials that change while we run: asked for every request, renewed once after a 401.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use net::{Credentials, KnownCredentials, Late};
use providers::Secret;
use providers::{Client, Config, Routing};
use testkit::mock_model::{MockModel, Reply};
use vocab::{Fault, FaultKind, Later, Provider};

use crate::support::*;

/// An account: says its token, and has new ones in store.
#[derive(Default)]
struct Account {
    token: Mutex<String>,
    next: Mutex<VecDeque<Result<Option<&'static str>, Fault>>>,
    fetched: AtomicU32,
    renewed: AtomicU32,
}

fn known(token: &str) -> KnownCredentials {
    KnownCredentials { key: Secret::new(token), headers: Vec::new() }
}

impl Credentials for Account {
    fn fetch(&self) -> Later<'_, Result<KnownCredentials, Fault>> {
        self.fetched.fetch_add(1, Ordering::Relaxed);
        let token = self.token.lock().unwrap().clone();
        Box::pin(std::future::ready(match token.as_str() {
            "" => Err(Fault::new(FaultKind::Auth, "not signed in")),
            token => Ok(known(token)),
        }))
    }
    fn is_live(&self) -> bool {
        true
    }
    fn renewed(&self, used: &KnownCredentials) -> Later<'_, Result<Option<KnownCredentials>, Fault>> {
        self.renewed.fetch_add(1, Ordering::Relaxed);
        assert_eq!(*used, known(&self.token.lock().unwrap()));
        let next = self.next.lock().unwrap().pop_front().unwrap_or(Ok(None));
        if let Ok(Some(token)) = &next {
            *self.token.lock().unwrap() = (*token).to_owned();
        }
        Box::pin(std::future::ready(next.map(|token| token.map(known))))
    }
}

fn account(
    mock: &MockModel,
    token: &str,
    next: impl IntoIterator<Item = Result<Option<&'static str>, Fault>>,
) -> (Arc<Account>, Client) {
    let account = Arc::new(Account { token: Mutex::new(token.into()), ..Account::default() });
    account.next.lock().unwrap().extend(next);
    let mut config = Config::new(&mock.base_url);
    config.late = Some(Late(account.clone()));
    (account, Client::new(config).unwrap())
}

fn bearers(mock: &MockModel) -> Vec<String> {
    let bearer = |header: Option<&str>| header.unwrap_or("-").trim_start_matches("Bearer ").to_owned();
    mock.requests().iter().map(|request| bearer(request.header("authorization"))).collect()
}

#[tokio::test]
async fn a_token_that_changes_is_used_from_the_next_request_on() {
    let mock = MockModel::start().await;
    let (account, provider) = account(&mock, "", []);
    let fault = failure(&ask(&provider, "say hi").await).clone();
    assert_eq!((fault.fault.kind, fault.retryable, &*fault.fault.message), (FaultKind::Auth, false, "not signed in"));
    assert_eq!(mock.requests().len(), 0, "without a token nothing is sent");
    for token in ["canary-one", "canary-two", "canary-two", "canary-one"] {
        *account.token.lock().unwrap() = token.into();
        assert_eq!(text(&ask(&provider, "say hi").await), "hi");
    }
    provider.models().await.unwrap();
    assert_eq!(bearers(&mock), ["canary-one", "canary-two", "canary-two", "canary-one", "canary-one"]);
    assert_eq!(account.renewed.load(Ordering::Relaxed), 0);
    assert_eq!(mock.connections(), 1, "another token is no other connection");
}

#[tokio::test]
async fn a_401_is_worth_one_more_try_with_what_is_renewed() {
    let mock = MockModel::start().await;
    let (account, provider) = account(&mock, "canary-old", [Ok(Some("canary-new"))]);
    mock.push(Reply::error(401, "expired"));
    assert_eq!(text(&ask(&provider, "say hi").await), "hi");
    assert_eq!(bearers(&mock), ["canary-old", "canary-new"]);
    assert_eq!(mock.chats()[0].body, mock.chats()[1].body, "the same request");
    assert_eq!(text(&ask(&provider, "say hi").await), "hi");
    assert_eq!((account.fetched.load(Ordering::Relaxed), account.renewed.load(Ordering::Relaxed)), (2, 1));
}

#[tokio::test]
async fn a_list_of_models_is_tried_again_too() {
    let mock = MockModel::start().await;
    mock.set_models(Reply::error(401, "expired"));
    let (_, provider) = account(&mock, "canary-old", [Ok(Some("canary-new"))]);
    assert_eq!(provider.models().await.unwrap_err().kind, FaultKind::Auth);
    assert_eq!(bearers(&mock), ["canary-old", "canary-new"]);
}

#[tokio::test]
async fn two_401s_are_one_fault_and_nothing_is_tried_a_third_time() {
    let mock = MockModel::start().await;
    let (account, provider) =
        account(&mock, "canary-old", [Ok(Some("canary-new")), Ok(Some("canary-newer")), Ok(None)]);
    for _ in 0..5 {
        mock.push(Reply::error(401, "no: canary-old canary-new"));
    }
    let events = ask(&provider, "x").await;
    let fault = failure(&events);
    assert_eq!((fault.fault.kind, fault.retryable, fault.fault.status), (FaultKind::Auth, false, Some(401)));
    assert_eq!(fault.fault.hints, ["check the account or its key"]);
    assert!(!format!("{events:?}").contains("canary"), "both tokens are masked: {events:?}");
    assert_eq!(bearers(&mock), ["canary-old", "canary-new"]);
    assert_eq!(account.renewed.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn where_nothing_can_be_renewed_the_first_401_is_the_answer() {
    let locked = Fault::new(FaultKind::Auth, "sign in again");
    let offline = Fault::new(FaultKind::Network, "the issuer is down");
    for (next, said, retryable) in [
        (Ok(None), "401 expired", false),
        (Ok(Some("canary-old")), "401 expired", false),
        (Err(locked), "sign in again", false),
        (Err(offline), "the issuer is down", true),
    ] {
        let mock = MockModel::start().await;
        let (_, provider) = account(&mock, "canary-old", [next]);
        mock.push(Reply::error(401, "expired"));
        let fault = failure(&ask(&provider, "x").await).clone();
        assert_eq!((&*fault.fault.message, fault.retryable), (said, retryable));
        assert_eq!(mock.chats().len(), 1);
    }
}

#[tokio::test]
async fn another_refusal_renews_nothing() {
    let mock = MockModel::start().await;
    let (account, provider) = account(&mock, "canary-old", [Ok(Some("canary-new"))]);
    mock.push(Reply::error(403, "no"));
    assert_eq!(failure_kind(&ask(&provider, "x").await), FaultKind::Auth);
    assert_eq!((mock.chats().len(), account.renewed.load(Ordering::Relaxed)), (1, 0));
}

#[tokio::test]
async fn a_route_counts_from_the_next_request_on() {
    let mock = MockModel::start().await;
    let routing = Routing::default();
    let provider = provider_with(&mock, |config| config.routing = Some(routing.clone()));
    let mut chat = chat(&provider);
    chat.push(&user("say hi"));
    for to in [None, Some("deep\"infra"), None] {
        routing.set(to.map(Arc::from));
        all(chat.call(&spec())).await;
        let sent = mock.last_chat();
        match to {
            Some(to) => assert_eq!(sent["provider"], serde_json::json!({ "order": [to], "allow_fallbacks": false })),
            None => assert!(sent.get("provider").is_none(), "{sent}"),
        }
    }
}
