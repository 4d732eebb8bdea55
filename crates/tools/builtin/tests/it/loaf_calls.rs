//! Calls as a model of the loaf family writes them, through the toolbox and by the names of that family; and the
//! background family by the names of every family.

use std::sync::Arc;
use std::time::{Duration, Instant};

use builtin_tools::{Builtin, BuiltinOptions};
use serde_json::{Value, json};
use tempfile::TempDir;
use vocab::names::{CANONICAL, ToolNames, canonical};
use vocab::{CallContext, Json, Outcome, Required, Tool, Toolbox, parts_text};

const ALL_NAMES: [ToolNames; 4] =
    [CANONICAL, dialect_serve::TOOL_NAMES, dialect_rpc::TOOL_NAMES, dialect_loaf::TOOL_NAMES];

struct Loaf {
    dir: TempDir,
    tools: Vec<Arc<dyn Tool>>,
}

impl Loaf {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let workspace = dir.path().join("ws");
        std::fs::create_dir_all(workspace.join("src")).unwrap();
        std::fs::write(workspace.join("src/a.rs"), "fn alpha() {}\nfn beta() {}\n").unwrap();
        std::fs::write(workspace.join("src/b.txt"), "alpha as well\n").unwrap();
        let exe = std::env::current_exe().unwrap();
        let toolbox = Builtin::new(BuiltinOptions { exe, ..BuiltinOptions::new(dir.path().join("spill")) });
        let tools = toolbox.open(&"s1".into(), &workspace).unwrap();
        Self { dir, tools }
    }

    /// Planned and run, as a session does it, under the name that a model uses.
    async fn outcome(&self, name: &str, input: Value) -> Outcome {
        let canonical = canonical(name).unwrap_or_else(|| panic!("nobody knows {name}"));
        let tool = self.tools.iter().find(|tool| &*tool.spec().name == canonical).unwrap();
        let input = Json::trusted(input.to_string());
        tool.plan(&input).unwrap_or_else(|error| panic!("{name} {}: {error}", input.as_str()));
        let context = CallContext {
            session: "s1".into(),
            call: "c1".into(),
            granted: Required::DangerFullAccess,
            progress: Arc::new(|_| {}),
            todos: Arc::from([]),
            editor_requests: None,
            children: None,
            processes: None,
        };
        tool.run(input, context).await
    }

    async fn call(&self, name: &str, input: Value) -> String {
        let outcome = self.outcome(name, input.clone()).await;
        let text = parts_text(&outcome.parts);
        assert!(!outcome.is_error, "{name} {input}: {text}");
        text
    }

    async fn start(&self, name: &str, input: Value) -> String {
        let outcome = self.outcome(name, input).await;
        assert!(!outcome.is_error, "{}", parts_text(&outcome.parts));
        let details: Value = serde_json::from_str(outcome.details.unwrap().as_str()).unwrap();
        details["id"].as_str().unwrap().to_owned()
    }

    /// Reads with this call until the text has come.
    async fn read_until(&self, name: &str, input: Value, wanted: &str) {
        let begun = Instant::now();
        let mut all = String::new();
        while !all.contains(wanted) {
            assert!(begun.elapsed() < Duration::from_secs(20), "no {wanted:?} in {all:?}");
            all.push_str(&self.call(name, input.clone()).await);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn object(pairs: &[(&str, Value)]) -> Value {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect::<serde_json::Map<_, _>>().into()
}

#[tokio::test]
async fn files_are_read_listed_searched_and_patched() {
    let loaf = Loaf::new();
    let absolute = loaf.dir.path().join("ws/src/a.rs");
    for input in [
        json!({ "file_path": "src/a.rs" }),
        json!({ "path": "src/a.rs" }),
        json!({ "file_path": absolute, "offset": 1, "limit": 10, "mode": "slice" }),
    ] {
        assert!(loaf.call("read_file", input).await.contains("fn alpha"));
    }
    for input in [
        json!({ "dir_path": "src" }),
        json!({ "path": "src" }),
        json!({ "dir_path": loaf.dir.path().join("ws/src"), "offset": 1, "limit": 25, "depth": 2 }),
    ] {
        let text = loaf.call("list_dir", input).await;
        assert!(text.contains("a.rs") && text.contains("b.txt"), "{text}");
    }
    let text = loaf.call("grep_files", json!({ "pattern": "alpha" })).await;
    assert!(text.contains("a.rs") && text.contains("b.txt"), "{text}");
    let text =
        loaf.call("grep_files", json!({ "pattern": "alpha", "path": "src", "include": "*.rs", "limit": 100 })).await;
    assert!(text.contains("a.rs") && !text.contains("b.txt"), "{text}");
    let text = loaf.call("grep_files", json!({ "pattern": "fn", "path": "src", "limit": 1 })).await;
    assert_eq!(text.matches("fn ").count(), 1, "{text}");
    for (name, from, to) in [("input", "alpha", "gamma"), ("patch", "gamma", "delta")] {
        let patch = format!(
            "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-fn {from}() {{}}\n+fn {to}() {{}}\n fn beta() {{}}\n*** End Patch"
        );
        loaf.call("apply_patch", object(&[(name, patch.into())])).await;
        let now = std::fs::read_to_string(loaf.dir.path().join("ws/src/a.rs")).unwrap();
        assert_eq!(now, format!("fn {to}() {{}}\nfn beta() {{}}\n"));
    }
}

#[tokio::test]
async fn commands_run_with_the_words_of_the_family() {
    let loaf = Loaf::new();
    assert!(loaf.call("bash", json!({ "command": "echo hi", "timeout_ms": 20_000 })).await.contains("hi"));
    let text = loaf.call("bash", json!({ "command": "pwd", "cwd": "src", "timeout_seconds": 20 })).await;
    assert!(text.trim_end().ends_with("/src"), "{text}");
    let begun = Instant::now();
    let outcome = loaf.outcome("bash", json!({ "command": "sleep 60", "timeout_seconds": 0.1 })).await;
    assert!(outcome.is_error && parts_text(&outcome.parts).contains("timed out after 0.1 s"));
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn a_background_command_is_followed_by_whatever_its_id_is_called() {
    let loaf = Loaf::new();
    for key in ["id", "session_id", "bash_id", "process_id", "job_id", "shell_id"] {
        let start = json!({ "command": "while read line; do echo \"<$line>\"; done", "run_in_background": true, "session_name": "dev", "reuse_session": false });
        let id: Value = loaf.start("bash", start).await.into();
        let with = |more: &[(&str, Value)]| object(&[&[(key, id.clone())], more].concat());
        let list = loaf.call("list_background_bash", json!({ "include_exited": true })).await;
        assert!(list.contains(id.as_str().unwrap()), "{key}: {list}");
        loaf.call("write_background_bash", with(&[("input", "one".into()), ("append_newline", true.into())])).await;
        let read = with(&[("max_chars", 8000.into()), ("stream", "both".into()), ("wait_ms", 1000.into())]);
        loaf.read_until("read_background_bash", read.clone(), "<one>").await;
        let stopped = loaf.call("stop_background_bash", with(&[("force", true.into())])).await;
        assert!(stopped.contains("killed by signal"), "{key}: {stopped}");
    }
}

#[tokio::test]
async fn a_full_terminal_takes_keys_and_a_size() {
    let loaf = Loaf::new();
    let start = json!({ "command": "cat -v", "run_in_background": true, "full_terminal": true,
        "terminal_cols": 100, "terminal_rows": 30 });
    let id = loaf.start("bash", start).await;
    loaf.call("write_background_bash", json!({ "session_id": id, "key": "up", "repeat": 3 })).await;
    loaf.call("write_background_bash", json!({ "session_id": id, "key": "enter" })).await;
    loaf.read_until("read_background_bash", json!({ "session_id": id, "wait_ms": 1000 }), "^[[A^[[A^[[A").await;
    let resized = loaf.call("resize_background_bash", json!({ "session_id": id, "cols": 120, "rows": 40 })).await;
    assert!(resized.contains("120x40"), "{resized}");
    assert!(loaf.call("list_background_bash", json!({})).await.contains("terminal 120x40"));
    loaf.call("stop_background_bash", json!({ "session_id": id })).await;
}

#[tokio::test]
async fn the_background_family_is_reachable_in_every_spelling() {
    let loaf = Loaf::new();
    for family in ALL_NAMES {
        // With dots where a host can have them, without where a model API forbids them.
        for spelt in [str::to_owned, |name: &str| name.replace('.', "_")] {
            let name = |canonical: &str| spelt(family.show(canonical));
            let id =
                loaf.start(&name("bash"), json!({ "command": "cat", "run_in_background": true, "pty": true })).await;
            assert!(loaf.call(&name("bash_list"), json!({})).await.contains(&id));
            loaf.call(&name("bash_resize"), json!({ "id": id, "cols": 90, "rows": 20 })).await;
            loaf.call(&name("bash_write"), json!({ "id": id, "input": "x\n" })).await;
            loaf.read_until(&name("bash_read"), json!({ "id": id, "wait_ms": 1000 }), "x").await;
            loaf.call(&name("bash_stop"), json!({ "id": id })).await;
        }
    }
}

#[tokio::test]
async fn repeated_keys_have_a_bound() {
    let loaf = Loaf::new();
    let id = loaf.start("bash", json!({ "command": "cat", "run_in_background": true, "pty": true })).await;
    let tool = loaf.tools.iter().find(|tool| &*tool.spec().name == "bash_write").unwrap();
    let plan = |repeat: f64| {
        let input = json!({ "id": id, "keys": ["up", "down"], "repeat": repeat });
        tool.plan(&Json::trusted(input.to_string())).map(|plan| plan.summary.to_string())
    };
    assert_eq!(plan(2.0).unwrap(), format!("{id}: up down up down"));
    assert!(plan(128.0).is_ok());
    for (bad, why) in [(129.0, "at most 256 keys"), (1e300, "at most 256"), (0.0, "whole number"), (1.5, "whole")] {
        assert!(plan(bad).unwrap_err().contains(why), "{bad}");
    }
}
