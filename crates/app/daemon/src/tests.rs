//! What a reload says of each setting, against what it does.

use std::path::Path;
use std::sync::Arc;

use config::{Configuration, KEYS, LoadFrom};
use serde_json::{Value, json};
use vocab::{Mode, SessionId, Settings};

use crate::{access, door_rules, service_settings, settle};

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
