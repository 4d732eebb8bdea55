//! What a reload says of each setting, against what it does.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use config::{Configuration, KEYS, LoadFrom};
use serde_json::{Value, json};
use vocab::{Mode, SessionId, Settings};

use crate::{access, door_rules, doubts, service_settings, settle};

/// Tables of which no value is made here. No reload looks at them.
const NOT_TRIED: [&str; 5] = ["models", "providers", "aliases", "tiers", "servers"];

fn loaded(file: &Path, tree: &Value) -> Option<Configuration> {
    let from = LoadFrom {
        env: &|_| None,
        home: None,
        workspace: Path::new("/"),
        file: Some(file),
        default_mode: Mode::Prompt,
    };
    Configuration::load_as_if(&from, Some((file, &tree.to_string()))).ok()
}

/// Everything that a reload makes hold: see [`crate::SettingsSource::take_over`], and the doors, which ask for each connection.
fn applied(config: &Configuration) -> String {
    let server = Arc::new(config.server().unwrap());
    let mut settings = Settings::new("/", "m");
    settle(&mut settings, &server);
    let access = access(&server);
    let services = service_settings(&server, &settings);
    // Of a session that has rules of its own, and of one of a channel that has.
    let lanes = ["zz", "zz:1"].map(|session| (services.lane)(&SessionId::from(session)));
    let token = access.token.as_ref().map(|token| token.expose().to_owned());
    let access = (token, access.hostnames, access.allowed_origins, access.auth_http, access.body_bytes_max);
    let (dashboard, tailscale) = (crate::access(&server).dashboard, crate::access(&server).tailscale);
    let rules = (services.gates, services.nodes, services.pairing, services.online_ms, services.checkpoints);
    let numbers = (services.threshold_pct, services.stall_ms, door_rules(&server));
    format!("{access:?} {dashboard:?} {tailscale:?} {settings:?} {lanes:?} {rules:?} {numbers:?}")
}

/// Values that this setting could have, by its part of the schema.
fn samples(name: &str) -> Vec<Value> {
    let schema = name.split('.').fold(config::schema(), |schema, part| schema["properties"][part].clone());
    if let Some(words) = schema["enum"].as_array() {
        return words.clone();
    }
    match (schema["type"].as_str(), &schema["additionalProperties"]["type"]) {
        (Some("boolean"), _) => vec![json!(true), json!(false)],
        (Some("integer"), _) => vec![schema["minimum"].clone(), schema["maximum"].clone()],
        (Some("array"), _) => vec![json!(["zz"])],
        (Some("string"), _) => vec![json!("zz")],
        (Some("object"), kind) if kind == "boolean" => vec![json!({ "zz": true })],
        (Some("object"), _) => vec![json!({ "zz": { "cap": 3 } })],
        _ => vec![json!(3)],
    }
}

fn nested(name: &str, value: Value) -> Value {
    name.rsplit('.').fold(value, |value, part| json!({ part: value }))
}

#[test]
fn what_a_reload_says_to_hold_at_once_does_and_nothing_else() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("config.yaml");
    std::fs::write(&file, "").unwrap();
    let usual = applied(&Configuration::default());
    for key in KEYS.iter().filter(|key| !NOT_TRIED.contains(&key.name)) {
        let tree = |value| match key.name {
            // One does not go without the other.
            "server.tls.cert" | "server.tls.key" => nested("server.tls", json!({ "cert": "zz", "key": "zz" })),
            name => nested(name, value),
        };
        let tried = samples(key.name).into_iter().filter_map(|value| loaded(&file, &tree(value)));
        let tried: Vec<_> = tried.filter(|config| config.get(key.name).is_some()).collect();
        assert!(!tried.is_empty(), "{}: no value could be read", key.name);
        let holds_at_once = tried.iter().any(|config| applied(config) != usual);
        assert_eq!(Configuration::needs_restart(key.name), !holds_at_once, "{}", key.name);
    }
    assert!(NOT_TRIED.iter().all(|name| Configuration::needs_restart(name)));
}

#[test]
fn what_can_never_come_true_and_what_is_probably_a_slip_is_said() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("config.yaml");
    std::fs::write(&file, "").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let said = |tree: Value| {
        let config = loaded(&file, &tree).unwrap();
        let all = config.warnings.clone().into_iter().chain(doubts(&config, &config.server().unwrap()));
        all.map(|line| line.replace(&file.display().to_string(), "FILE")).collect::<Vec<_>>().join("\n")
    };
    for (tree, expected) in [
        (
            json!({ "tools": { "deny": ["shel.exec"] } }),
            "`shel.exec`, which no tool of ours is called; did you mean `shell.exec`?",
        ),
        (json!({ "tools": { "confirm": ["wirte_file"] } }), "did you mean `write_file`?"),
        (json!({ "tools": { "only": ["grpe"] } }), "did you mean `grep`?"),
        (json!({ "server": { "feature_gates": { "ui.canvsa": false } } }), "did you mean `ui.canvas`?"),
        (json!({ "server": { "token": "clé-très-secrète" } }), "no `Authorization` header carries"),
        (json!({ "server": { "token": "  " } }), "`server.token` is blank, which means none"),
        (json!({ "server": { "hostnames": ["https://box"] } }), "`https://box`, which has no effect"),
    ] {
        let said = said(tree.clone());
        assert!(said.starts_with("FILE") && said.contains(expected) && !said.contains("secr"), "{tree}: {said}");
    }
    let fine = json!({
        "tools": { "deny": ["shell.exec", "mcp__files__read", "file.*"], "confirm": ["deploy"] },
        "server": { "token": "a token of ours", "feature_gates": { "ui.canvas": false, "beta": true } },
    });
    assert_eq!(said(fine), "");
}
