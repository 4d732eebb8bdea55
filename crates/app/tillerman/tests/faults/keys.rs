//! Keys from every place that they can come from: each reaches its own server, and nobody else sees it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use testkit::faults::{Driver, World, brief};
use testkit::mock_model::{MockModel, Reply};

use crate::drivers::{Serve, first};
use crate::safety::{found, snapshot};
use crate::worlds::tour;

const ANTHROPIC: &str = "canary-anthropic-1f93c0d7";
const GEMINI: &str = "canary-gemini-58ab02ee";
const PRINTED: &str = "canary-printed-77d1c4a9";
const FILED: &str = "canary-filed-e06b3f12";
const SIGNED_IN: &str = "canary-access-94c5d8b0";
const REFRESH: &str = "canary-refresh-2ad6f7c1";
const HEADER: &str = "canary-header-c3b81e64";
const HEADER_PRINTED: &str = "canary-header-printed-0f5d";

/// A model, and the headers in which its server is told who asks.
const SOURCES: [(&str, &[(&str, &str)]); 5] = [
    ("anthropic/claude-mock-large", &[("x-api-key", ANTHROPIC)]),
    ("google/gemini-3-mock", &[("x-goog-api-key", GEMINI)]),
    ("printed/mock/alpha", &[("authorization", PRINTED), ("x-team", HEADER)]),
    ("filed/mock/alpha", &[("authorization", FILED), ("x-team", HEADER_PRINTED)]),
    ("openai/mock/alpha", &[("authorization", SIGNED_IN)]),
];

/// Everything that a command of the model's could look at.
const LOOKS: [&str; 3] = [
    "env; set; export -p; tr '\\0' '\\n' < /proc/self/environ",
    "tr '\\0' '\\n' < /proc/$PPID/environ; tr '\\0' ' ' < /proc/$PPID/cmdline",
    "for p in /proc/[0-9]*; do cat $p/environ $p/cmdline $p/task/*/environ; done 2>/dev/null | tr '\\0' '\\n' | grep -a canary",
];

/// The keys where their owner keeps them; these files are the only ones that may have them.
fn plant(world: &mut World, model: &MockModel) -> Vec<std::path::PathBuf> {
    for (name, value) in [
        ("ANTHROPIC_API_KEY", ANTHROPIC),
        ("ANTHROPIC_BASE_URL", &model.base_url),
        ("GEMINI_API_KEY", GEMINI),
        ("GOOGLE_GEMINI_BASE_URL", &model.gemini_url),
        ("TILLERMAN_OPENAI_URL", &model.base_url),
        // Under names that say nothing. What a command prints is not known before it is asked, so a copy of that would stay.
        ("COPY", FILED),
        ("TEAM", HEADER),
        ("SESSION_OF", SIGNED_IN),
    ] {
        world.env.push((name.into(), value.into()));
    }
    let (url, home) = (&model.base_url, world.home.display());
    world.config(&format!(
        "[retry]\nretries_max = 0\n\
         [providers.printed]\nbase_url = '{url}'\nsecret_command = \"cat '{home}/printed.txt'\"\nheaders = {{ X-Team = '{HEADER}' }}\n\
         [providers.filed]\nbase_url = '{url}'\nkey_file = 'filed.key'\nheaders = {{ X-Team = \"!cat '{home}/header.txt'\" }}\n"
    ));
    let tokens = json!({ "access_token": SIGNED_IN, "refresh_token": REFRESH, "login_method": "browser" });
    let credentials = json!({ "version": 1, "openai": tokens }).to_string();
    let files = [
        ("printed.txt", PRINTED),
        ("filed.key", FILED),
        ("header.txt", HEADER_PRINTED),
        ("auth/credentials.json", &credentials),
    ];
    fs::create_dir(world.home.join("auth")).unwrap();
    for (name, text) in files {
        fs::write(world.home.join(name), text).unwrap();
        fs::set_permissions(world.home.join(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
    let own = files.iter().map(|(name, _)| world.home.join(name));
    own.chain([world.home.join("config.toml"), world.root().join("tillerman")]).collect()
}

#[test]
fn s7_keys_of_every_source_reach_their_own_server_and_nothing_else() {
    let canaries = [ANTHROPIC, GEMINI, PRINTED, FILED, SIGNED_IN, REFRESH, HEADER, HEADER_PRINTED].map(str::to_owned);
    let model = MockModel::start_blocking();
    let mut world = tour();
    let own = plant(&mut world, &model);
    // Nothing is hidden from root.
    if !world.as_nobody() && rustix::process::getuid().is_root() {
        return crate::skip("S7", "root needs setpriv to become somebody else");
    }
    let frames = world.root().join("frames.log");
    let mut serve = Serve::new(&world, &["--log-frames", frames.to_str().unwrap()]);
    let mut heard = Vec::new();
    for (slug, told) in SOURCES {
        heard.extend(serve.slash("model", slug).to_string().into_bytes());
        let before = model.chats().len();
        for look in LOOKS {
            let seen = serve.turn(&format!("call bash {} then say done", json!({ "command": look })));
            assert_eq!(seen.last().unwrap()["stop_reason"], "end_turn", "{slug}: {}", brief(&seen));
            let output = first(&seen, "tool_result")["output"].as_str().unwrap();
            assert_eq!(found(output.as_bytes(), &canaries), None, "`{look}` shows a key");
            seen.iter().for_each(|value| heard.extend(value.to_string().into_bytes()));
        }
        let chats = &model.chats()[before..];
        for (header, key) in told {
            let has = |value: Option<&str>| value.is_some_and(|value| value.trim_start_matches("Bearer ") == *key);
            assert!(chats.iter().all(|chat| has(chat.header(header))), "{slug}: its server was not sent its {header}");
        }
        for chat in chats {
            assert_eq!(found(&chat.body, &canaries), None, "a key in a request to {slug}");
            let others = chat.headers.iter().filter(|(name, _)| told.iter().all(|(header, _)| name != header));
            let others: String = others.map(|(name, value)| format!("{name}: {value}\n")).collect();
            assert_eq!(found(others.as_bytes(), &canaries), None, "another's key goes to {slug}");
            assert_eq!(found(chat.path.as_bytes(), &canaries), None, "a key in the address of {slug}");
        }
        heard.extend(repeated(&mut serve, &model, slug, told));
    }
    for name in ["md", "jsonl", "html"] {
        let file = world.root().join(format!("export.{name}"));
        heard.extend(serve.slash("export", file.to_str().unwrap()).to_string().into_bytes());
    }
    for command in ["status", "model", "sessions", "cost"] {
        heard.extend(serve.slash(command, "").to_string().into_bytes());
    }
    let session = serve.session.clone();
    serve.shutdown();
    for args in [&["sessions", "export", &session, "--requests"][..], &["models"], &["accounts"], &["config", "get"]] {
        let output = world.command(&[]).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(!output.stdout.is_empty(), "{args:?} says nothing");
        heard.extend([output.stdout, output.stderr].concat());
    }
    assert_eq!(found(&heard, &canaries), None, "a key on stdout or stderr");
    let mut looked = 0;
    for (path, bytes) in snapshot(world.root()) {
        if !own.contains(&path) {
            assert_eq!(found(&bytes, &canaries), None, "a key in {}", path.display());
            looked += 1;
        }
    }
    println!("S7: {} sources, {looked} files, {} bytes heard, 0 hits", SOURCES.len(), heard.len());
}

/// What is heard when the server repeats what it was sent, in every form of an error.
fn repeated(serve: &mut Serve, model: &MockModel, slug: &str, told: &[(&str, &str)]) -> Vec<u8> {
    let echo: String = told.iter().map(|(header, key)| format!("bad {header}: Bearer {key}. ")).collect();
    let mut heard = Vec::new();
    for (reply, fails) in [
        (Reply::error(400, &echo), true),
        (Reply::error(500, &echo), true),
        (Reply::plain(403, "text/html", format!("<html>{echo}</html>")), false),
        (
            Reply::plain(302, "text/plain", echo.clone()).header("location", &format!("http://127.0.0.1:1/?{echo}")),
            true,
        ),
        (Reply::plain(200, "text/event-stream", format!("data: {{\"oops {echo}\n\n")), true),
        // A key that is renewed when it is refused may do better the second time.
        (Reply::error(401, &echo), false),
    ] {
        model.push(reply);
        let seen = serve.turn("hello");
        let failed = seen.last().unwrap()["stop_reason"] == "error";
        assert!(failed || !fails, "{slug}: {}", brief(&seen));
        seen.iter().for_each(|value| heard.extend(value.to_string().into_bytes()));
    }
    heard
}
