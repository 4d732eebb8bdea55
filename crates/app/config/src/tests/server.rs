//! What the gateway goes by: rows, variables, another program's words, and what of it others may see.

use vocab::{Coalesce, LaneMode, Overflow};

use super::*;

const FLYNN: &str = r#"
server:
  host: 0.0.0.0
  port: 18900
  token: ${GATEWAY_TOKEN}
  tailscale_identity: true
  tls: {cert: server.pem, key: /etc/server.key}
  queue:
    mode: followup
    cap: 8
    overrides:
      channels: {telegram: {mode: interrupt, debounceMs: 500}}
      sessions: {"telegram:1": {mode: steer, overflow: drop_new, coalesce: never}}
  nodes: {enabled: true, allowed_roles: [companion, kiosk], location: {enabled: true}}
  feature_gates: {"ui.canvas": false}
  dashboard: {enabled: true}
compaction: {enabled: false, keep_turns: 4, proactive: {warn_pct: 50, checkpoint_pct: 60, memory_namespace: notes/}}
channels: {telegram: {bot_token: abc}}
automation: {cron: []}
memory: {user_namespace: user}
pairing: {code_ttl_s: 60}
tools: {auto_approve: ["file.*"], confirm: [shell.exec], deny: [web.fetch], profiles: {}}
models:
  fast:
    anthropic: {apiKey: "${ANTHROPIC_API_KEY}", model: small, contextWindow: 200000}
  default:
    anthropic: {apiKey: "${ANTHROPIC_API_KEY}", model: big}
    gemini: {apiKey: sk-canary, model: pro}
  local:
    ollama: {model: "qwen3:8b"}
  embedding:
    ollama: {model: embed}
"#;

fn flynn() -> TestHome {
    place(&[("user/config.yaml", FLYNN)]).env("GATEWAY_TOKEN", "canary-token").env("ANTHROPIC_API_KEY", "canary-key")
}

#[test]
fn a_configuration_of_flynns_is_read_with_a_word_for_what_has_no_effect() {
    let place = flynn();
    let config = place.load(None).unwrap();
    let server = config.server().unwrap();
    assert_eq!((server.host.as_str(), server.port), ("0.0.0.0", 18_900));
    assert_eq!(server.token.as_ref().map(vocab::Secret::expose), Some("canary-token"));
    let tls = server.tls.unwrap();
    assert_eq!((tls.cert, tls.key.to_str()), (place.user().join("server.pem"), Some("/etc/server.key")));
    assert_eq!((server.nodes.enabled, server.nodes.location, server.nodes.push), (true, true, false));
    assert_eq!(server.nodes.allowed_roles, ["companion", "kiosk"]);
    assert_eq!(server.pairing, crate::PairingConfig { enabled: true, code_ttl_s: 60, code_length: 8 });
    assert_eq!((server.tools.confirm.concat(), server.tools.deny.concat()), ("bash".into(), "web_fetch".into()));
    let allowed = &server.tools.auto_approve;
    assert!(allowed.iter().any(|it| it == "write_file") && !allowed.iter().any(|it| it == "bash"), "{allowed:?}");
    assert!(!config.compaction(CompactionPolicy::default()).auto);
    let proactive = server.proactive;
    assert_eq!((proactive.enabled, proactive.warn_pct, proactive.checkpoint_pct), (true, 50, 60));
    assert_eq!((proactive.auto_compact_pct, proactive.checkpoint_cooldown_ms), (95, 300_000));
    assert_eq!(proactive.memory_namespace, "notes");
    let tiers: Vec<String> =
        config.slugs("tiers").iter().map(|(tier, slugs)| format!("{tier}: {}", slugs.join(" "))).collect();
    assert_eq!(tiers, ["fast: anthropic/small", "default: anthropic/big google/pro", "local: ollama/qwen3:8b"]);
    let anthropic = &config.providers()[0];
    assert_eq!((anthropic.name.as_str(), anthropic.key_env.as_deref()), ("anthropic", Some("ANTHROPIC_API_KEY")));
    assert_eq!(anthropic.models.len(), 2);
    assert_eq!(anthropic.models[0].context_window, Some(200_000));
    assert_eq!(config.providers()[2].base_url.as_deref(), Some("http://127.0.0.1:11434/v1"));
    assert!(!format!("{config:?}").contains("canary"), "{config:?}");
    let shown = config.warnings.join("\n").replace(&place.root.path().display().to_string(), "");
    expect![[r#"
        /user/config.yaml:28: `models.default.gemini.apiKey` is ignored: keys are not read from files; write ${NAME} of a variable, or name a `key_file` or a `secret_command` in [providers.google]
        /user/config.yaml:32: `models.embedding` has no effect: there is fast, default, complex, local
        /user/config.yaml:17: `compaction.keep_turns` has no effect: `compaction.keep_pct` says how much is kept
        /user/config.yaml:18: `channels` has no effect: there are no chat channels
        /user/config.yaml:19: `automation` has no effect: there are no webhooks, timetables and reactions
        /user/config.yaml:20: `memory` has no effect: there is no memory between sessions
        /user/config.yaml:22: `tools.profiles` has no effect: `tools.only` says which tools are offered"#]]
    .assert_eq(&shown);
}

#[test]
fn the_rules_of_a_session_win_over_its_channels_and_those_over_the_usual_ones() {
    let queue = flynn().load(None).unwrap().server().unwrap().queue;
    let usual = queue.policy("plain");
    assert_eq!((usual.mode, usual.cap, usual.overflow), (LaneMode::Followup, 8, Overflow::DropOld));
    let channel = queue.policy("telegram:2");
    assert_eq!((channel.mode, channel.cap, channel.debounce_ms), (LaneMode::Interrupt, 8, 500));
    let session = queue.policy("telegram:1");
    assert_eq!((session.mode, session.debounce_ms), (LaneMode::Steer, 500));
    assert_eq!((session.overflow, session.coalesce), (Overflow::DropNew, Coalesce::Never));
    assert_eq!(queue.policy("telegramx:1").mode, LaneMode::Followup);
}

#[test]
fn nothing_set_is_as_usual() {
    let server = place(&[]).load(None).unwrap().server().unwrap();
    assert_eq!((server.host.as_str(), server.port, server.auth_http), ("127.0.0.1", 18_800, true));
    assert_eq!((server.token, server.tls, server.cancel_on_disconnect), (None, None, false));
    assert_eq!((server.max_concurrent_runs, server.shutdown_grace_ms, server.stall_ms), (128, 5_000, 600_000));
    assert_eq!(server.queue.policy("ws:1"), vocab::LanePolicy::default());
    assert_eq!(server.feature_gates, [("ui.canvas".to_owned(), true), ("notifications".to_owned(), true)]);
    assert_eq!((server.pairing.code_length, server.tools.ask_keep_s), (8, 86_400));
    let empty = place(&[("user/config.toml", "[server]\ntoken = ''\n")]).load(None).unwrap().server().unwrap();
    assert_eq!(empty.token, None);
    let half = place(&[("user/config.toml", "[server.tls]\ncert = 'a'\n")]).load(None).unwrap().server().unwrap_err();
    assert!(half.message.contains("wants both"), "{half}");
}

#[test]
fn a_workspace_sets_nothing_of_it_and_reads_no_variable() {
    let text = "[server]\nport = 1\ntoken = '${SECRET}'\n[server.queue]\ncap = 3\n[tools]\nauto_approve = ['*']\n\
        [agent]\nstall_timeout_s = 1\n[pairing]\nenabled = true\n";
    let place = place(&[("work/.tillerman.toml", text)]).env("SECRET", "canary");
    check(
        &place,
        expect![[r#"
            warning: /work/.tillerman.toml: `agent.stall_timeout_s` is ignored: a workspace cannot choose it
            warning: /work/.tillerman.toml: `pairing.enabled` is ignored: a workspace cannot choose it
            warning: /work/.tillerman.toml: `server.port` is ignored: a workspace cannot choose it
            warning: /work/.tillerman.toml: `server.queue.cap` is ignored: a workspace cannot choose it
            warning: /work/.tillerman.toml: `server.token` is ignored: a workspace cannot choose it
            warning: /work/.tillerman.toml: `tools.auto_approve` is ignored: a workspace cannot choose it
        "#]],
    );
}

#[test]
fn a_variable_is_put_in_or_named_with_its_line() {
    for (name, text) in [
        ("user/config.toml", "model = 'a'\n\nbase_url = 'http://${HOST}:${MISSING}/v1'\n"),
        ("user/config.yaml", "model: a\n\nbase_url: http://${HOST}:${MISSING}/v1\n"),
        ("user/config.json", "{\"model\": \"a\",\n\n\"base_url\": \"http://${HOST}:${MISSING}/v1\"}"),
    ] {
        let fault = place(&[(name, text)]).env("HOST", "h").load(None).unwrap_err();
        assert!(fault.message.ends_with(":3: ${MISSING} is not set in the environment"), "{name}: {}", fault.message);
        let place = place(&[(name, text)]).env("HOST", "h").env("MISSING", "80");
        assert_eq!(place.load(None).unwrap().base_url(), Some("http://h:80/v1"), "{name}");
    }
    let text = "model = 'a$${HOST}b${not a name}c$HOST${'\n[providers.lab]\nsecret_command = 'echo ${LATER}'\n\
        headers = { A = '!echo ${LATER}' }\n[servers.x]\ncommand = '${HOST}'\n";
    let config = place(&[("user/config.toml", text)]).env("HOST", "h").load(None).unwrap();
    assert_eq!(config.model(), Some("a${HOST}b${not a name}c$HOST${"));
    assert_eq!(config.providers()[0].secret_command.as_ref().map(|it| it.expose()), Some("echo ${LATER}"));
    let vocab::McpTransport::Process { command, .. } = &config.servers()[0].way else { panic!("a process") };
    assert_eq!(&**command, "h");
}

#[test]
fn wrong_rules_of_lanes_are_named() {
    for (text, want) in [
        ("cap = 0", "`server.queue.cap` wants a whole number from 1 to 1000, has 0"),
        ("mode = 'both'", "`server.queue.mode` wants one of collect, followup"),
        ("overrides.channels.t.mode = 'x'", "`server.queue.overrides.channels.t.mode` wants one of collect"),
        ("overrides.sessions.'t:1'.debounce_ms = 60001", "`server.queue.overrides.sessions.t:1.debounce_ms` wants"),
        ("overrides.channels = 3", "`server.queue.overrides.channels` wants a table"),
    ] {
        let text = format!("[server.queue]\n{text}\n");
        let fault = place(&[("user/config.toml", &text)]).load(None).unwrap_err();
        assert!(fault.message.contains(want), "{text}: {}", fault.message);
    }
    let text = "[server.queue.overrides.channels.t]\nmod = 'steer'\n";
    let warned = place(&[("user/config.toml", text)]).load(None).unwrap().warnings.concat();
    assert!(warned.contains("channels.t.mod`: unknown key; did you mean `mode`?"), "{warned}");
}

#[test]
fn a_token_that_others_can_read_is_pointed_out() {
    use std::os::unix::fs::PermissionsExt;
    for (text, mode, warnings) in [
        ("[server]\ntoken = 'canary'\n", 0o644, 1),
        ("[server]\ntoken = 'canary'\n", 0o600, 0),
        ("[server]\ntoken = '${T}'\n", 0o644, 0),
        ("[server]\ntoken = ''\n", 0o644, 0),
    ] {
        let place = place(&[("user/config.toml", text)]).env("T", "x").env("T_TOKEN", "y");
        let file = place.user().join("config.toml");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let found = place.load(None).unwrap().warnings;
        assert_eq!(found.len(), warnings, "{text} {mode:o}: {found:?}");
        assert!(!found.concat().contains("canary"));
    }
}

#[test]
fn a_token_can_be_set_and_is_never_shown() {
    let place = place(&[]);
    let file = place.user().join("config.toml");
    let written = set(&file, "server.token", "canary").unwrap();
    assert_eq!(written.value.show_safely(), "***");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "[server]\ntoken = \"canary\"\n");
    check(
        &place,
        expect![[r#"
            server.token = ***  # /user/config.toml
        "#]],
    );
}

#[test]
fn what_others_see_has_everything_but_the_secrets() {
    let text = "base_url = 'http://me:canary@h/v1?k=canary'\nmax_tokens = 5\nmodel = '${MODEL_TOKEN}'\n\
        [server]\ntoken = 'canary'\nallowed_origins = ['https://u:canary@x', 'https://x?k=canary']\n[server.queue.overrides.channels.t]\ncap = 3\n\
        [accounts]\nantigravity_client_id = 'me'\n[servers.x]\ncommand = 'run'\nargs = ['canary']\nenv = { A = 'canary' }\n\
        [servers.y]\nurl = 'https://u:canary@h/mcp?token=canary&api_key=canary#canary'\nheaders = { A = 'canary' }\n\
        [providers.lab]\nbase_url = 'http://u:canary@h/v1?key=canary'\nkey_env = 'LAB'\nheaders = { A = 'canary' }\n\
        [tiers]\nfast = 'lab/one'\n";
    let place = place(&[("user/config.toml", text)]).env("MODEL_TOKEN", "canary");
    let config = place.load(None).unwrap();
    let server = config.server().unwrap();
    let tree = config.redacted(&server, None).unwrap();
    assert!(!tree.to_string().contains("canary"), "{tree:#}");
    assert_eq!(tree["server"]["token"], "***");
    assert_eq!(tree["baseUrl"], "http://***@h/v1?k=***");
    assert_eq!(tree["servers"]["y"]["url"], "https://***@h/mcp?token=***&api_key=***#***");
    assert_eq!(tree["models"]["fast"]["lab"]["baseUrl"], tree["providers"]["lab"]["baseUrl"]);
    let changes = config.changes(&Configuration::default());
    assert!(changes.len() > 8 && !format!("{changes:?}").contains("canary"), "{changes:#?}");
    assert_eq!(tree["model"], "***");
    assert_eq!(tree["maxTokens"], 5);
    assert_eq!(tree["models"]["fast"]["lab"]["apiKey"], "***");
    assert_eq!(tree["server"]["queue"]["overrides"]["channels"]["t"]["cap"], 3);
    assert_eq!(tree["server"]["port"], 18_800);
    let part = |path: &str| config.redacted(&server, Some(path));
    assert_eq!(part("server.queue.debounce_ms"), Some(serde_json::json!(0)));
    assert_eq!(part("server.queue.debounceMs"), Some(serde_json::json!(0)));
    assert_eq!((part("server.nothing"), part("server.port.more")), (None, None));
    let open = Configuration::default();
    assert_eq!(open.redacted(&open.server().unwrap(), Some("server.token")), Some(serde_json::json!("")));
}

#[test]
fn what_is_named_like_a_secret_is_hidden_whatever_it_is() {
    let mut tree = serde_json::json!({
        "botToken": "canary", "list": [{"password": ["canary"]}], "apiKey": {"deep": "canary"}, "secret": "", "cookie": null,
        "url": "http://u:canary@h/v1", "maxTokens": 5,
    });
    crate::redact::mask_by_name(&mut tree);
    let hidden = serde_json::json!({
        "botToken": "***", "list": [{"password": "***"}], "apiKey": "***", "secret": "", "cookie": null,
        "url": "http://***@h/v1", "maxTokens": 5,
    });
    assert_eq!(tree, hidden);
}

#[test]
fn names_of_secrets_are_known_and_counts_are_not_secrets() {
    for name in ["token", "botToken", "API_KEY", "apiKey", "x-authorization", "signingKey", "private_key", "passwd"] {
        assert!(crate::redact::is_secret_name(name), "{name}");
    }
    for name in ["max_tokens", "inputTokens", "tokenPreview", "keyEnv", "key", "cap", "thresholdTokens"] {
        assert!(!crate::redact::is_secret_name(name), "{name}");
    }
}

#[test]
fn a_second_reading_knows_what_has_changed_and_what_wants_a_new_start() {
    let read = |text: &str| place(&[("user/config.toml", text)]).load(None).unwrap();
    let before = read("model = 'a'\n[server]\nport = 1\n[server.queue]\ncap = 2\n");
    let after = read("model = 'a'\n[server]\nport = 2\n[server.queue]\ncap = 3\n[tools]\ndeny = ['bash']\n");
    let changed = after.changed(&before);
    assert_eq!(changed, ["tools.deny", "server.port", "server.queue.cap"]);
    let restart: Vec<_> = changed.into_iter().filter(|name| Configuration::needs_restart(name)).collect();
    assert_eq!(restart, ["server.port"]);
    assert_eq!(after.changed(&after), [""; 0]);
}
