//! Settings that are changed over the wire, in the real binary and a real file: what is written, and all that is not.

use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use crate::process::{Gateway, Place, TOKEN};
use crate::socket::{Socket, Visitor};

const OWN: &str =
    "# mine, and I like it\nmax_tokens = 1000 # enough\n\n[server]\ntoken = \"TOKEN\"\n\n[server.queue]\ncap = 5\n";

fn place() -> Place {
    Place { own_config: Some(OWN.replace("TOKEN", TOKEN)), ..Place::new() }
}

async fn set(socket: &mut Socket, path: &str, value: Value) -> Result<Value, Value> {
    socket.call("config.set", json!({"path": path, "value": value})).await
}

fn reason(refused: Result<Value, Value>) -> String {
    refused.unwrap_err()["data"]["reason"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_setting_is_written_with_everything_around_it_left_alone_and_holds_at_once() {
    let place = place();
    let gateway = place.start();
    let mut socket = Socket::open(&gateway).await;
    let tried = json!({"path": "server.queue.cap", "value": 9, "dryRun": true});
    let tried = socket.call("config.set", tried).await.unwrap();
    let change = json!({"path": "server.queue.cap", "from": 5, "to": 9, "restartRequired": false});
    assert_eq!(tried["changes"], json!([change]));
    let text = std::fs::read_to_string(place.config_file()).unwrap();
    assert_eq!(text, OWN.replace("TOKEN", TOKEN), "a try writes nothing");
    assert_eq!(set(&mut socket, "server.queue.cap", json!(9)).await.unwrap()["changes"], json!([change]));
    assert_eq!(socket.call("config.get", json!({"path": "server.queue.cap"})).await.unwrap(), 9);
    let said = set(&mut socket, "pairing.code_length", json!(9)).await.unwrap();
    assert_eq!(said["changes"][0]["to"], 9);
    let said = set(&mut socket, "maxTokens", json!(2000)).await.unwrap();
    let change = json!({"path": "max_tokens", "from": 1000, "to": 2000, "restartRequired": true});
    assert_eq!(said["changes"], json!([change]));
    let text = std::fs::read_to_string(place.config_file()).unwrap();
    let expected = OWN.replace("TOKEN", TOKEN).replace("1000 #", "2000 #").replace("cap = 5", "cap = 9");
    assert_eq!(text, format!("{expected}\n[pairing]\ncode_length = 9\n"));
    set(&mut socket, "pairing.code_length", Value::Null).await.unwrap();
    assert!(!std::fs::read_to_string(place.config_file()).unwrap().contains("code_length"));
    let audit = socket.call("audit.query", json!({"by": "token:main"})).await.unwrap();
    let lines: Vec<_> = audit["lines"].as_array().unwrap().iter().map(|it| it["detail"].as_str().unwrap()).collect();
    assert_eq!(
        lines,
        ["pairing.code_length = null", "maxTokens = 2000", "pairing.code_length = 9", "server.queue.cap = 9"]
    );
    assert_eq!(gateway.terminate(), Some(0));
    // What was written can be read by the next process.
    let again = place.start();
    let mut socket = Socket::open(&again).await;
    assert_eq!(socket.call("config.get", json!({"path": "max_tokens"})).await.unwrap(), 2000);
}

#[tokio::test]
async fn the_rules_of_lanes_in_memory_follow_where_a_session_has_none_of_its_own() {
    let place = place();
    let gateway = place.start();
    let mut socket = Socket::open(&gateway).await;
    for session in ["usual", "own"] {
        socket.call("agent.send", json!({"sessionId": session, "message": "say hi"})).await.unwrap();
    }
    socket.call("sessions.patch", json!({"sessionId": "own", "queue": {"cap": 5}})).await.unwrap();
    set(&mut socket, "server.queue.cap", json!(2)).await.unwrap();
    set(&mut socket, "server.queue.mode", json!("followup")).await.unwrap();
    for (session, cap) in [("usual", 2), ("own", 5)] {
        let shown = socket.call("agent.send", json!({"sessionId": session, "message": "/queue"})).await.unwrap();
        let data = &shown["command"]["data"];
        assert_eq!((&data["cap"], &data["mode"]), (&json!(cap), &json!("followup")), "{session}: {shown}");
        let listed = socket.call("sessions.get", json!({"sessionId": session})).await.unwrap();
        assert_eq!(listed["config"]["queue"]["cap"], cap, "what is shown is what holds");
    }
}

/// What is said to hold does: in a new session fewer tools are offered, and in one that is open none is run that is denied now.
#[tokio::test]
async fn tools_that_are_taken_away_are_gone() {
    let place = place();
    let gateway = place.start();
    let mut socket = Socket::open(&gateway).await;
    socket.call("sessions.create", json!({"sessionId": "ws:open"})).await.unwrap();
    let shell = json!({"tool": "shell.exec", "args": {"command": "echo there"}, "sessionId": "ws:open"});
    assert_eq!(socket.call("tools.execute", shell.clone()).await.unwrap()["success"], true);
    let rules = format!("{}\n[tools]\nonly = [\"read_file\"]\ndeny = [\"bash\"]\n", OWN.replace("TOKEN", TOKEN));
    std::fs::write(place.config_file(), rules).unwrap();
    let said = socket.call("config.reload", json!({})).await.unwrap();
    assert_eq!((&said["changed"], &said["restartRequired"]), (&json!(["tools.only", "tools.deny"]), &json!([])));
    assert_eq!(socket.call("tools.execute", shell).await.unwrap()["success"], false);
    socket.call("sessions.create", json!({"sessionId": "ws:new"})).await.unwrap();
    let offered = socket.call("tools.list", json!({"sessionId": "ws:new"})).await.unwrap();
    assert_eq!(offered["tools"].as_array().unwrap().len(), 1, "{offered}");
}

/// In whatever spelling.
const CLOSED: &[&str] = &[
    "server.token",
    "server.host",
    "server.port",
    "server.tls.cert",
    "server.tls.key",
    "server.auth_http",
    "server.tailscale_trust_header",
    "server.tailscaleIdentity",
    "server.allowed_origins",
    "server.allowedOrigins",
    "server.hostnames",
    "base_url",
    "baseUrl",
    "ca_file",
    "extensions",
    "trusted_workspaces",
    "servers",
    "providers",
    "models",
    "accounts.openai_issuer",
    "accounts.openai_url",
    "server.feature_gates",
    "mode",
    "tools.auto_approve",
    "tools.confirm",
    "tools.deny",
];

/// What no setting may be, or not this one.
fn wrong_values() -> Vec<(&'static str, Value)> {
    vec![
        ("max_tokens", json!("many")),
        ("max_tokens", json!(0)),
        ("max_tokens", json!(-1)),
        ("max_tokens", json!(1.5)),
        ("max_tokens", json!({"a": 1})),
        ("model", json!("script:/etc/passwd")),
        ("model", json!("tour/script:/etc/passwd")),
        ("aliases.x", json!(" script:/etc/passwd")),
        ("tiers.fast", json!(["mock/alpha", "script:/etc/passwd"])),
        ("model", json!("${CANARY_VALUE}")),
        ("model", json!("a $${CANARY_VALUE}")),
        ("server.nodes.allowed_roles", json!(["${CANARY_VALUE}"])),
        ("aliases.x", json!("${CANARY_VALUE}")),
        ("model", json!("!cat /etc/passwd")),
        ("model", json!("a\nmode = \"danger-full-access\"")),
        ("model", json!("\u{1b}[2J")),
        ("model", json!("")),
        ("model", json!("x".repeat(5_000))),
        ("server.nodes.allowed_roles", json!(vec!["x"; 300])),
        ("server.nodes.allowed_roles", json!([["x"]])),
        ("server.nodes.allowed_roles", json!([7])),
        ("tiers.fast", json!([])),
    ]
}

#[tokio::test]
async fn nothing_is_written_that_could_not_be_read_or_that_is_not_for_others() {
    let place = Place { env: vec![("CANARY_VALUE", "canary-in-the-environment".to_owned())], ..place() };
    let gateway = place.start();
    let mut socket = Socket::open(&gateway).await;
    for path in CLOSED {
        let refused = set(&mut socket, path, json!("x")).await.unwrap_err();
        assert_eq!(
            (&refused["code"], &refused["data"]["reason"]),
            (&json!(-2), &json!("not_settable")),
            "{path}: {refused}"
        );
    }
    for (path, value) in wrong_values() {
        let shown = format!("{path} {value}").chars().take(100).collect::<String>();
        assert_eq!(reason(set(&mut socket, path, value).await), "config_invalid", "{shown}");
    }
    for path in [
        "nothing",
        "server",
        "server.queue",
        "a.b.c",
        "aliases.",
        "aliases.a.b",
        "tiers.fast.x",
        "aliases.a\"b",
        "../x",
    ] {
        let refused = set(&mut socket, path, json!("x")).await.unwrap_err();
        assert!(
            ["invalid_params", "config_invalid"].contains(&refused["data"]["reason"].as_str().unwrap()),
            "{path}: {refused}"
        );
    }
    let read_only = Visitor { token: Some("nobody"), ..Visitor::default() };
    let mut stranger = Socket::open_as(&gateway, &read_only).await.unwrap();
    assert_eq!(stranger.closed().await, Some(1008));
    assert_eq!(std::fs::read_to_string(place.config_file()).unwrap(), OWN.replace("TOKEN", TOKEN));
    let shown = socket.call("config.get", json!({})).await.unwrap().to_string();
    assert!(!shown.contains("canary") && !shown.contains(TOKEN), "{shown}");
    assert!(!gateway.said().contains(TOKEN));
    let audit = socket.call("audit.query", json!({})).await.unwrap();
    assert_eq!(audit["lines"], json!([]), "what did not happen has no line");
}

async fn refused_with(place: &Place, gateway: &Gateway, reason_is: &str, says: &str) {
    let before = std::fs::read(place.config_file()).ok();
    let mut socket = Socket::open(gateway).await;
    let refused = set(&mut socket, "max_tokens", json!(7)).await.unwrap_err();
    assert_eq!(refused["data"]["reason"], reason_is, "{refused}");
    assert!(refused.to_string().contains(says), "{refused}");
    assert!(!refused.to_string().contains(TOKEN), "{refused}");
    assert_eq!(std::fs::read(place.config_file()).ok(), before);
}

#[tokio::test]
async fn a_file_that_is_not_plainly_the_users_own_is_left_alone() {
    let place = place();
    let gateway = place.start();
    let file = place.config_file();
    let elsewhere = place.home.path().join("elsewhere.toml");
    std::fs::rename(&file, &elsewhere).unwrap();
    symlink(&elsewhere, &file).unwrap();
    refused_with(&place, &gateway, "not_settable", "link").await;
    assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), OWN.replace("TOKEN", TOKEN));
    std::fs::remove_file(&file).unwrap();
    std::fs::rename(&elsewhere, &file).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
    refused_with(&place, &gateway, "not_settable", "written by others").await;
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let directory = file.parent().unwrap();
    std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o777)).unwrap();
    refused_with(&place, &gateway, "not_settable", "directory").await;
    std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700)).unwrap();
    // Broken by hand, on the line with the secret: what is wrong is told, and the line is not.
    std::fs::write(&file, format!("[server]\ntoken = \"{TOKEN}\n")).unwrap();
    refused_with(&place, &gateway, "config_invalid", "TOML").await;
    let mut socket = Socket::open(&gateway).await;
    let reload = socket.call("config.reload", json!({})).await.unwrap_err();
    assert!(!reload.to_string().contains(TOKEN) && reload["data"]["reason"] == "config_invalid", "{reload}");
    // Nearly too long to be read: one more value would keep the next process from starting.
    let long = format!("{}# {}\n", OWN.replace("TOKEN", TOKEN), "x".repeat(1024 * 1024 - 150));
    std::fs::write(&file, &long[..long.len() - 1]).unwrap();
    refused_with_long(&mut socket, &place).await;
}

async fn refused_with_long(socket: &mut Socket, place: &Place) {
    let before = std::fs::read(place.config_file()).unwrap();
    assert_eq!(reason(set(socket, "model", json!("m".repeat(1_000))).await), "config_invalid");
    assert_eq!(std::fs::read(place.config_file()).unwrap(), before);
}

#[tokio::test]
async fn two_who_change_settings_at_once_lose_nothing() {
    let place = place();
    let gateway = place.start();
    let (mut one, mut two) = (Socket::open(&gateway).await, Socket::open(&gateway).await);
    for round in 0..10 {
        let (first, second) = tokio::join!(
            set(&mut one, "server.queue.cap", json!(10 + round)),
            set(&mut two, "server.queue.debounce_ms", json!(100 + round)),
        );
        first.unwrap();
        second.unwrap();
    }
    let text = std::fs::read_to_string(place.config_file()).unwrap();
    assert!(text.contains("cap = 19") && text.contains("debounce_ms = 109"), "{text}");
}

/// What wants a new start wants it until there is one, or until the file says again what the process runs with.
#[tokio::test]
async fn what_waits_for_a_restart_is_named_by_every_reload() {
    let place = place();
    let gateway = place.start();
    let mut socket = Socket::open(&gateway).await;
    let text = std::fs::read_to_string(place.config_file()).unwrap();
    let write = |text: &str| std::fs::write(place.config_file(), text).unwrap();
    let mut told = Vec::new();
    write(&text.replace("1000 #", "2000 #").replace("cap = 5", "cap = 6"));
    for params in [json!({"dryRun": true}), json!({}), json!({})] {
        let said = socket.call("config.reload", params).await.unwrap();
        told.push((said["changed"].clone(), said["restartRequired"].clone()));
    }
    let both = json!(["max_tokens", "server.queue.cap"]);
    let waits = json!(["max_tokens"]);
    assert_eq!(told, [(both.clone(), waits.clone()), (both, waits.clone()), (json!([]), waits.clone())]);
    write(&text.replace("cap = 5", "cap = 6"));
    let said = socket.call("config.reload", json!({})).await.unwrap();
    assert_eq!((&said["changed"], &said["restartRequired"]), (&waits, &json!([])));
}

#[tokio::test]
async fn what_is_laid_over_the_file_is_named_and_a_reload_can_be_tried() {
    let place = Place { env: vec![("TILLERMAN_MODEL", "mock/alpha".to_owned())], ..place() };
    let gateway = place.start();
    let mut socket = Socket::open(&gateway).await;
    let said = set(&mut socket, "model", json!("mock/beta")).await.unwrap();
    assert!(said["changes"] == json!([]) && said["shadowedBy"].is_string(), "{said}");
    let text = std::fs::read_to_string(place.config_file()).unwrap();
    std::fs::write(place.config_file(), text.replace(TOKEN, "another-token-of-the-test").replace("cap = 5", "cap = 6"))
        .unwrap();
    let tried = socket.call("config.reload", json!({"dryRun": true})).await.unwrap();
    let paths: Vec<_> = tried["changes"].as_array().unwrap().iter().map(|it| it["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["server.token", "server.queue.cap"]);
    assert_eq!((&tried["changes"][0]["from"], &tried["changes"][0]["to"]), (&json!("***"), &json!("***")));
    assert_eq!(
        socket.call("config.get", json!({"path": "server.queue.cap"})).await.unwrap(),
        5,
        "nothing is taken over"
    );
    let schema = socket.call("config.schema", json!({})).await.unwrap();
    assert_eq!(schema["properties"]["server"]["properties"]["token"]["x-settable"], false);
    assert_eq!(schema["properties"]["max_tokens"]["x-settable"], true);
}

/// Who may come in is part of it: where that cannot be read, the rest must not hold while the file says otherwise.
#[tokio::test]
async fn a_change_that_cannot_be_taken_over_whole_changes_nothing() {
    let place = place();
    let gateway = place.start();
    let mut socket = Socket::open(&gateway).await;
    let tokens = place.home.path().join("tillerman/gateway/tokens.json");
    std::fs::write(&tokens, "no list").unwrap();
    let refused = reason(set(&mut socket, "server.queue.cap", json!(9)).await);
    assert_eq!(refused, "config_invalid");
    assert_eq!(socket.call("config.get", json!({"path": "server.queue.cap"})).await.unwrap(), 5);
    assert_eq!(std::fs::read_to_string(place.config_file()).unwrap(), OWN.replace("TOKEN", TOKEN));
    std::fs::remove_file(&tokens).unwrap();
    set(&mut socket, "server.queue.cap", json!(9)).await.unwrap();
    assert_eq!(socket.call("config.get", json!({"path": "server.queue.cap"})).await.unwrap(), 9);
}
