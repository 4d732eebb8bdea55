//! The file: who may read it, what survives, and two processes at once.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use accounts::{Account, Key};
use serde_json::json;
use vocab::{FaultKind, Secret};

use crate::child;
use crate::issuer::IssuerReply;
use crate::support::{AccountsStage, TOKEN_PATH, granted};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Waits without blocking the issuer, which lives on this thread.
async fn ended(mut child: Child) -> bool {
    let since = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.success();
        }
        assert!(since.elapsed() < Duration::from_secs(20), "the child hangs");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn keys_are_kept_privately_and_can_be_removed() {
    let stage = AccountsStage::new().await;
    assert_eq!(stage.auth.key(Key::Exa).await.unwrap(), None);
    assert!(!stage.directory().exists(), "reading makes nothing");
    stage.auth.set_key(Key::OpenRouter, Secret::new("or-key")).await.unwrap();
    stage.auth.set_key(Key::Exa, Secret::new("exa-key")).await.unwrap();
    assert_eq!((mode(&stage.directory()), mode(&stage.auth.place())), (0o700, 0o600));
    for entry in std::fs::read_dir(stage.directory()).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
    assert_eq!(stage.auth.key(Key::OpenRouter).await.unwrap().unwrap().expose(), "or-key");
    stage.auth.set_key(Key::Exa, None).await.unwrap();
    let status = stage.auth.status().await.unwrap();
    assert_eq!((status.openrouter, status.exa), (true, false));
    assert_eq!(stage.auth.present(), status);
    stage.auth.forget_everything().await.unwrap();
    assert_eq!(stage.auth.status().await.unwrap(), accounts::StoredAccounts::default());
    assert_eq!(stage.auth.present(), accounts::StoredAccounts::default());
    assert_eq!(stage.saved(), json!({ "version": 1 }));
}

#[tokio::test]
async fn what_was_left_open_is_closed() {
    let stage = AccountsStage::new().await;
    stage.sign_in("token", None, None);
    std::fs::set_permissions(stage.directory(), PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::set_permissions(stage.auth.place(), PermissionsExt::from_mode(0o644)).unwrap();
    stage.auth.access_token(Account::OpenAi).await.unwrap();
    assert_eq!(mode(&stage.auth.place()), 0o600);
    stage.auth.set_key(Key::Exa, Secret::new("k")).await.unwrap();
    assert_eq!(mode(&stage.directory()), 0o700);
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_left_alone_and_never_quoted() {
    let stage = AccountsStage::new().await;
    std::fs::create_dir_all(stage.directory()).unwrap();
    for text in [
        r#"{"version":1,"openai":"canary-token"}"#,
        r#"{"version":"canary"}"#,
        r#"{"version":1,"exa_key":"canary"#,
        "canary",
        "",
        r#"{"version":2,"exa_key":"canary"}"#,
        &format!(r#"{{"version":1,"exa_key":"{}"}}"#, "canary".repeat(200_000)),
    ] {
        std::fs::write(stage.auth.place(), text).unwrap();
        let read = stage.auth.status().await.unwrap_err();
        let write = stage.auth.set_key(Key::Exa, Secret::new("x")).await.unwrap_err();
        for fault in [read, write] {
            assert_eq!(fault.kind, FaultKind::Store);
            assert!(
                fault.message.contains("credentials.json") && !format!("{fault:?}").contains("canary"),
                "{fault:?}"
            );
        }
        assert_eq!(std::fs::read_to_string(stage.auth.place()).unwrap(), text);
    }
    stage.auth.forget_everything().await.unwrap();
    assert_eq!(stage.saved(), json!({ "version": 1 }), "who wants it gone does not have to be able to read it");
}

#[tokio::test]
async fn what_a_later_version_added_stays() {
    let stage = AccountsStage::new().await;
    std::fs::create_dir_all(stage.directory()).unwrap();
    std::fs::write(stage.auth.place(), r#"{"version":1,"new_vendor":{"a":[1]},"exa_key":"e"}"#).unwrap();
    stage.auth.set_key(Key::OpenRouter, Secret::new("o")).await.unwrap();
    let want = json!({ "version": 1, "new_vendor": { "a": [1] }, "exa_key": "e", "openrouter_key": "o" });
    assert_eq!(stage.saved(), want);
}

#[tokio::test]
async fn two_processes_that_write_lose_nothing() {
    let stage = AccountsStage::new().await;
    let children = ["openrouter", "exa"].map(|what| child::spawn(what, &stage.directory(), &stage.issuer.url));
    for child in children {
        assert!(ended(child).await, "a process lost its key");
    }
    let last = child::KEYS_EACH - 1;
    let want =
        json!({ "version": 1, "openrouter_key": format!("openrouter-{last}"), "exa_key": format!("exa-{last}") });
    assert_eq!(stage.saved(), want);
}

#[tokio::test]
async fn four_processes_that_refresh_make_one_request() {
    let stage = AccountsStage::new().await;
    stage.sign_in("old", Some("refresh-1"), Some(0));
    let IssuerReply::Say(status, body) = granted("new", "refresh-2") else { unreachable!() };
    stage.issuer.on(TOKEN_PATH, [IssuerReply::Held(status, body)]);
    let children: Vec<Child> = (0..4).map(|_| child::spawn("refresh", &stage.directory(), &stage.issuer.url)).collect();
    stage.issuer.requests(1).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    stage.issuer.release();
    for child in children {
        assert!(ended(child).await);
    }
    assert_eq!(stage.issuer.heard(TOKEN_PATH).len(), 1);
}

#[tokio::test]
async fn a_crash_between_refresh_and_write_leaves_the_old_file() {
    let stage = AccountsStage::new().await;
    stage.sign_in("old", Some("refresh-1"), Some(0));
    let before = std::fs::read(stage.auth.place()).unwrap();
    stage.issuer.on(TOKEN_PATH, [granted("new", "refresh-2"), granted("newer", "refresh-3")]);
    assert!(!ended(child::spawn("die while writing", &stage.directory(), &stage.issuer.url)).await);
    assert!(stage.auth.place().with_extension("half").exists(), "it came as far as writing");
    assert_eq!(stage.issuer.heard(TOKEN_PATH).len(), 1);
    assert_eq!(std::fs::read(stage.auth.place()).unwrap(), before);
    // Its locks died with it, and the next one goes on from what is there.
    assert_eq!(stage.auth.access_token(Account::OpenAi).await.unwrap().expose(), "newer");
    assert_eq!(stage.issuer.heard(TOKEN_PATH)[1].form("refresh_token").as_deref(), Some("refresh-1"));
}

#[tokio::test]
async fn who_cannot_wait_sees_every_change_of_another_process() {
    let stage = AccountsStage::new().await;
    assert_eq!(stage.auth.present(), accounts::StoredAccounts::default());
    assert!(!stage.directory().exists(), "looking makes nothing");
    let other =
        accounts::Auth::new(crate::support::config("http://127.0.0.1:1"), &stage.directory(), stage.timer.clone());
    for round in 0..20 {
        let key = (round % 2 == 0).then(|| Secret::new("CANARY-key").unwrap());
        other.set_key(Key::OpenRouter, key.clone()).await.unwrap();
        assert_eq!(stage.auth.present().openrouter, key.is_some(), "round {round}");
    }
    stage.sign_in("CANARY-access", Some("CANARY-refresh"), None);
    assert!(stage.auth.present().openai);
    let secrets: Vec<String> =
        stage.auth.secrets().await.unwrap().iter().map(|secret| secret.expose().to_owned()).collect();
    assert_eq!(secrets, ["CANARY-access", "CANARY-refresh"]);
    std::fs::write(stage.auth.place(), "{").unwrap();
    assert_eq!(stage.auth.present(), accounts::StoredAccounts::default());
}
