//! `tillerman drive` with an agent that is not ours: opencode, offline, against our mock model.
//!
//! The package is large, so it is only used where it is: at `TILLERMAN_OPENCODE`, on the PATH, or beside the build output,
//! where a full run (`./test --full`) installs it. Otherwise the test says SKIP and why.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::mock_model::MockModel;

use crate::peers_install::{node, npm, run};

const PACKAGE: &str = "opencode-ai@1.18.33";
/// It takes seconds to start, and many of them on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

fn opencode() -> Result<PathBuf, String> {
    if let Some(given) = std::env::var_os("TILLERMAN_OPENCODE") {
        return Ok(given.into());
    }
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    if let Some(found) = std::env::split_paths(&on_path).map(|dir| dir.join("opencode")).find(|file| file.is_file()) {
        return Ok(found);
    }
    let beside = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("../peers/opencode/installed");
    if std::env::var_os("TILLERMAN_FULL").is_none() && !beside.exists() {
        return Err("opencode is not installed; `./test --full` installs it".into());
    }
    node()?;
    Ok(npm("opencode", &[PACKAGE.to_owned()])?.join(".bin/opencode"))
}

struct Driven {
    home: tempfile::TempDir,
    workspace: tempfile::TempDir,
    agent: PathBuf,
    _model: MockModel,
}

impl Driven {
    fn new(agent: PathBuf) -> Self {
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
        Self { home, workspace: tempfile::tempdir().unwrap(), agent, _model: model }
    }

    /// The events of one prompt.
    fn drive(&self, flag: &str, prompt: &str) -> Vec<Value> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tillerman"));
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        for name in ["HOME", "TILLERMAN_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"] {
            command.env(name, self.home.path());
        }
        command.env("OPENCODE_CONFIG", self.home.path().join("opencode.json"));
        command.env("OPENCODE_DISABLE_MODELS_FETCH", "1");
        command.args(["drive", "--json", flag, "--cwd"]).arg(self.workspace.path()).args(["-p", prompt, "--"]);
        let ending = run(command.arg(&self.agent).arg("acp"), PATIENCE).unwrap();
        let events: Vec<Value> = ending.said.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let code = of(&events, "turn_end").next().map(|end| end["exit_code"].clone());
        assert_eq!(Some(json!(0)) == code, ending.well, "{events:#?}\n{}", ending.complaint);
        events
    }
}

fn of<'a>(events: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter(move |event| event["type"] == kind)
}

#[allow(clippy::print_stderr, reason = "a skipped test must say so")]
#[test]
fn opencode_is_driven_offline() {
    let agent = match opencode() {
        Ok(agent) => agent,
        Err(why) => return eprintln!("SKIP: {why}"),
    };
    let driven = Driven::new(agent);
    let events = driven.drive("--deny", "say 3 words");
    assert!(of(&events, "session").any(|it| it["agent"].as_str().is_some_and(|it| it.starts_with("OpenCode"))));
    let said: String = of(&events, "text").filter_map(|it| it["delta"].as_str()).collect();
    assert_eq!(said.trim(), "w1 w2 w3", "{events:#?}");
    assert_eq!(of(&events, "turn_end").next().unwrap()["stop"], "end_turn");

    // Asked and allowed: the file is there; asked and denied: it is not.
    for (flag, name, written) in [("--yes", "yes.txt", true), ("--deny", "no.txt", false)] {
        let call = json!({ "command": format!("echo hi > {name}"), "description": "writes" });
        let events = driven.drive(flag, &format!("call bash {call} then say 1 words"));
        let decision = of(&events, "permission").next().unwrap_or_else(|| panic!("nobody asked: {events:#?}"));
        assert_eq!(decision["decision"], if written { "allow" } else { "deny" });
        assert_eq!(driven.workspace.path().join(name).exists(), written, "{events:#?}");
        // Work that nobody allowed is work that was not done.
        let code = if written { 0 } else { 3 };
        assert_eq!(of(&events, "turn_end").next().unwrap()["exit_code"], code, "{events:#?}");
    }
}
