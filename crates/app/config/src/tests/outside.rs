//! Settings from outside: the schema, what can be set, what a change shows.

use serde_json::{Value, json};

use super::*;
use crate::keys::SettingKind;
use crate::{OutsideRefused, plan_outside, schema};

fn leaf(name: &str) -> Value {
    name.split('.').fold(schema(), |tree, part| tree["properties"][part].clone())
}

#[test]
fn the_schema_has_every_setting_once() {
    for key in KEYS {
        let leaf = leaf(key.name);
        assert_eq!(leaf["description"], key.about, "{}", key.name);
        assert!(leaf.get("type").is_some() || leaf.get("enum").is_some(), "{}: {leaf}", key.name);
        let words = leaf["enum"].as_array().into_iter().flatten();
        for word in words.filter_map(Value::as_str) {
            assert!(key.kind.check_text(word).is_some(), "{}: {word}", key.name);
        }
        if key.kind == SettingKind::Secret {
            assert_eq!((&leaf["x-settable"], &leaf["writeOnly"]), (&json!(false), &json!(true)), "{}", key.name);
        }
    }
    assert_eq!(leaf("server.queue.cap")["maximum"], 1_000);
    assert_eq!(
        (&leaf("model")["x-env"], &leaf("model")["x-restartRequired"]),
        (&json!("TILLERMAN_MODEL"), &json!(true))
    );
}

/// Whoever adds a setting decides whether it can be set from outside: what can be stands here.
#[test]
fn what_can_be_set_from_outside_is_this_and_no_more() {
    let open: Vec<&str> = KEYS.iter().map(|key| key.name).filter(|name| leaf(name)["x-settable"] == true).collect();
    expect![[r#"
        model
        max_tokens
        thinking
        max_iterations
        context_window
        sync
        on_restart
        unanswered
        budget.turn.usd
        budget.turn.tokens
        budget.turn.minutes
        budget.turn.rounds
        budget.session.usd
        budget.session.tokens
        budget.session.minutes
        budget.session.rounds
        budget.day.usd
        budget.day.tokens
        shutdown_grace_s
        idle_timeout_s
        retry.retries_max
        retry.base_ms
        retry.wait_ms_max
        retry.server_wait_ms_max
        retry.jitter
        compaction.auto
        compaction.threshold_pct
        compaction.keep_pct
        compaction.proactive.enabled
        compaction.proactive.warn_pct
        compaction.proactive.checkpoint_pct
        compaction.proactive.auto_compact_pct
        compaction.proactive.checkpoint_cooldown_ms
        compaction.proactive.memory_namespace
        agent.stall_timeout_s
        server.max_body_bytes
        server.max_concurrent_runs
        server.on_disconnect
        acp.connection_grace_s
        acp.remote_client_fs
        server.shutdown_grace_ms
        server.queue.mode
        server.queue.cap
        server.queue.overflow
        server.queue.debounce_ms
        server.queue.summarize_overflow
        server.queue.coalesce
        server.queue.resume_after_restart
        server.nodes.enabled
        server.nodes.allowed_roles
        server.nodes.location.enabled
        server.nodes.push.enabled
        server.dashboard.enabled
        server.dashboard.public_shell
        server.presence.online_ms
        pairing.enabled
        pairing.code_ttl_s
        pairing.code_length"#]]
    .assert_eq(&open.join("\n"));
}

#[test]
fn a_change_shows_no_secret() {
    let place = place(&[("user/config.toml", "base_url = 'http://me:hush@host/v1'\n[server]\ntoken = 'hush'\n")]);
    let before = place.load(None).unwrap();
    std::fs::write(place.user().join("config.toml"), "model = 'x'\n[server]\ntoken = 'hushhush'\nport = 7\n").unwrap();
    let changes = place.load(None).unwrap().changes(&before);
    let shown: Vec<String> = changes
        .iter()
        .map(|it| {
            let show = |value: &Option<Value>| value.as_ref().map_or_else(|| "-".to_owned(), Value::to_string);
            format!("{} {} {} {}", it.name, show(&it.from), show(&it.to), it.restart_required)
        })
        .collect();
    assert_eq!(
        shown,
        [
            r#"model - "x" true"#,
            r#"base_url "http://***@host/v1" - true"#,
            "server.port - 7 true",
            r#"server.token "***" "***" false"#,
        ]
    );
}

#[test]
fn a_plan_changes_nothing_and_is_written_only_where_nobody_else_was_faster() {
    let place = place(&[("user/config.toml", "# mine\nmaxTokens = 5\n")]);
    let file = place.user().join("config.toml");
    let plan = plan_outside(&file, "max_tokens", &json!(7)).unwrap();
    assert_eq!((plan.name.as_str(), plan.text.as_str()), ("max_tokens", "# mine\nmaxTokens = 7\n"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "# mine\nmaxTokens = 5\n");
    let home = Home { config: place.user(), data: place.user() };
    let workspace = place.root.path().join("work");
    let request =
        LoadFrom { env: &|_| None, home: Some(&home), workspace: &workspace, file: None, default_mode: Mode::Prompt };
    let planned = Configuration::load_as_if(&request, Some((&file, &plan.text))).unwrap();
    assert_eq!((planned.max_tokens(), place.load(None).unwrap().max_tokens()), (Some(7), Some(5)));
    std::fs::write(&file, "maxTokens = 6\n").unwrap();
    assert!(plan.write().unwrap_err().message.contains("meanwhile"));
    let plan = plan_outside(&file, "maxTokens", &json!(8)).unwrap();
    plan.write().unwrap();
    assert_eq!(place.load(None).unwrap().max_tokens(), Some(8));
    plan.take_back().unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "maxTokens = 6\n");
}

#[test]
fn a_file_that_is_not_there_is_made_and_taken_away_again() {
    let place = place(&[]);
    let file = place.user().join("config.toml");
    let plan = plan_outside(&file, "server.nodes.allowed_roles", &json!(["a,b", "c"])).unwrap();
    plan.write().unwrap();
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        "[server]\n\n[server.nodes]\nallowed_roles = [\"a,b\", \"c\"]\n",
        "a comma is no border here"
    );
    plan.take_back().unwrap();
    assert!(!file.exists());
    let gone = plan_outside(&file, "tiers.fast", &Value::Null).unwrap();
    assert_eq!(gone.text, "", "what is not there is unset already");
}

#[test]
fn what_is_refused_is_not_said_again() {
    let place = place(&[]);
    let file = place.user().join("config.toml");
    let refused = plan_outside(&file, "max_tokens", &json!("sk-canary")).unwrap_err();
    assert!(matches!(&refused, OutsideRefused::Invalid(why) if !why.contains("canary")), "{refused}");
    let refused = plan_outside(&file, "server.token", &json!("sk-canary")).unwrap_err();
    assert!(matches!(&refused, OutsideRefused::NotSettable(why) if !why.contains("canary")), "{refused}");
    assert!(
        matches!(plan_outside(&file, "no\u{1b}thing", &json!(1)), Err(OutsideRefused::Unknown(why)) if !why.contains('\u{1b}'))
    );
}
