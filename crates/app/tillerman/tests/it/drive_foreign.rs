//! `tillerman drive` with agents that are not ours: opencode and qwen, offline, against our mock model.
//!
//! Their packages are large, so they are only used where they are: at `TILLERMAN_OPENCODE` and `TILLERMAN_QWEN`, on the
//! PATH, or beside the build output, where a full run (`./test --full`) installs them. Otherwise a test says SKIP and why.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::mock_model::MockModel;

use crate::peers_install::{node, npm, run};

/// They take seconds to start, and many of them on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

struct Foreign {
    name: &'static str,
    package: &'static str,
    /// Names a copy that is there already.
    variable: &'static str,
    /// The word that makes it speak ACP.
    word: &'static str,
    /// What it calls itself.
    title: &'static str,
    /// Its tool for commands, with arguments that write to a file.
    call: fn(&str) -> (&'static str, Value),
}

const OPENCODE: Foreign = Foreign {
    name: "opencode",
    package: "opencode-ai@1.18.33",
    variable: "TILLERMAN_OPENCODE",
    word: "acp",
    title: "OpenCode",
    call: |file| ("bash", json!({ "command": format!("echo hi > {file}"), "description": "writes" })),
};

const QWEN: Foreign = Foreign {
    name: "qwen",
    package: "@qwen-code/qwen-code@0.15.10",
    variable: "TILLERMAN_QWEN",
    word: "--acp",
    title: "Qwen Code",
    call: |file| ("run_shell_command", json!({ "command": format!("echo hi > {file}"), "is_background": false })),
};

impl Foreign {
    fn find(&self) -> Result<PathBuf, String> {
        if let Some(given) = std::env::var_os(self.variable) {
            return Ok(given.into());
        }
        let on_path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&on_path).map(|dir| dir.join(self.name)).find(|file| file.is_file());
        if let Some(found) = found {
            return Ok(found);
        }
        let beside = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("../peers").join(self.name).join("installed");
        if std::env::var_os("TILLERMAN_FULL").is_none() && !beside.exists() {
            return Err(format!("{} is not installed; `./test --full` installs it", self.name));
        }
        node()?;
        Ok(npm(self.name, &[self.package.to_owned()])?.join(".bin").join(self.name))
    }
}

struct Driven {
    home: tempfile::TempDir,
    workspace: tempfile::TempDir,
    foreign: Foreign,
    agent: PathBuf,
    model: MockModel,
}

impl Driven {
    fn new(foreign: Foreign, agent: PathBuf) -> Self {
        let (home, model) = (tempfile::tempdir().unwrap(), MockModel::start_blocking());
        let options = json!({ "baseURL": model.base_url, "apiKey": "x" });
        let provider = json!({
            "npm": "@ai-sdk/openai-compatible",
            "name": "Mock",
            "options": options,
            "models": { "mock-1": { "name": "Mock 1" } },
        });
        let config = json!({
            "provider": { "mock": provider },
            "model": "mock/mock-1",
            "permission": { "edit": "ask", "bash": "ask" },
        });
        std::fs::write(home.path().join("opencode.json"), config.to_string()).unwrap();
        let settings = json!({
            "security": { "auth": { "selectedType": "openai" } },
            "privacy": { "usageStatisticsEnabled": false },
            "general": { "disableAutoUpdate": true },
        });
        std::fs::create_dir(home.path().join(".qwen")).unwrap();
        std::fs::write(home.path().join(".qwen/settings.json"), settings.to_string()).unwrap();
        Self { home, workspace: tempfile::tempdir().unwrap(), foreign, agent, model }
    }

    /// The events of one prompt.
    fn drive(&self, flags: &[&str], prompt: &str) -> Vec<Value> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tillerman"));
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        for name in ["HOME", "TILLERMAN_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"] {
            command.env(name, self.home.path());
        }
        command.env("OPENCODE_CONFIG", self.home.path().join("opencode.json"));
        command.env("OPENCODE_DISABLE_MODELS_FETCH", "1");
        command.env("OPENAI_BASE_URL", &self.model.base_url).env("OPENAI_API_KEY", "x").env("OPENAI_MODEL", "mock-1");
        command
            .args(["drive", "--json"])
            .args(flags)
            .arg("--cwd")
            .arg(self.workspace.path())
            .args(["-p", prompt, "--"]);
        let ending = run(command.arg(&self.agent).arg(self.foreign.word), PATIENCE).unwrap();
        let events: Vec<Value> = ending.said.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let code = of(&events, "turn_end").next().map(|end| end["exit_code"].clone());
        assert_eq!(Some(json!(0)) == code, ending.well, "{events:#?}\n{}", ending.complaint);
        events
    }
}

fn of<'a>(events: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter(move |event| event["type"] == kind)
}

fn said(events: &[Value]) -> String {
    let words: String = of(events, "text").filter_map(|it| it["delta"].as_str()).collect();
    words.trim().to_owned()
}

#[allow(clippy::print_stderr, reason = "a skipped test must say so")]
fn is_driven_offline(foreign: Foreign) {
    let agent = match foreign.find() {
        Ok(agent) => agent,
        Err(why) => return eprintln!("SKIP: {why}"),
    };
    let driven = Driven::new(foreign, agent);
    let events = driven.drive(&["--deny"], "say 3 words");
    let session = of(&events, "session").next().unwrap_or_else(|| panic!("no session: {events:#?}"));
    assert!(session["agent"].as_str().is_some_and(|it| it.starts_with(driven.foreign.title)), "{session}");
    assert_eq!(said(&events), "w1 w2 w3", "{events:#?}");
    assert_eq!(of(&events, "turn_end").next().unwrap()["stop"], "end_turn");

    // Taken up again by a process of its own, without what was said before.
    let again = driven.drive(&["--deny", "--resume", session["session_id"].as_str().unwrap()], "say 2 words");
    assert_ne!(of(&again, "session").next().unwrap()["how"], "new", "{again:#?}");
    assert_eq!(said(&again), "w1 w2", "{again:#?}");

    // Asked and allowed: the file is there; asked and denied: it is not.
    for (flag, name, written) in [("--yes", "yes.txt", true), ("--deny", "no.txt", false)] {
        let (tool, arguments) = (driven.foreign.call)(name);
        let events = driven.drive(&[flag], &format!("call {tool} {arguments} then say 1 words"));
        let decision = of(&events, "permission").next().unwrap_or_else(|| panic!("nobody asked: {events:#?}"));
        assert_eq!(decision["decision"], if written { "allow" } else { "deny" });
        assert_eq!(driven.workspace.path().join(name).exists(), written, "{events:#?}");
        // Work that nobody allowed is work that was not done.
        let code = if written { 0 } else { 3 };
        assert_eq!(of(&events, "turn_end").next().unwrap()["exit_code"], code, "{events:#?}");
    }
}

#[test]
fn opencode_is_driven_offline() {
    is_driven_offline(OPENCODE);
}

#[test]
fn qwen_is_driven_offline() {
    is_driven_offline(QWEN);
}
