//! Files and terminals for the agent, inside the workspace.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use acp_client::{AcpClient, ConnectOptions, Events, Offers, Workshop};
use serde_json::{Value, json};

use crate::agent::{Agent, opened, quiet};

const ALL: Offers = Offers { read_files: true, write_files: true, terminals: true, elicitation: false };

async fn working(root: &Path, offers: Offers) -> (AcpClient, Events, Agent) {
    let env = vec![("PATH".into(), std::env::var_os("PATH").unwrap())];
    let files = Arc::new(builtin_tools::AgentFiles::open(root, builtin_tools::workspace::Guard::default()).unwrap());
    let workshop = Workshop { roots: vec![root.to_owned()], env, files, launcher: Arc::new(process::GroupLauncher) };
    opened(ConnectOptions { offers, workshop: Some(workshop), ..quiet() }).await
}

async fn asks(agent: &mut Agent, method: &str, params: Value) -> Result<Value, (i64, String)> {
    agent.ask(json!(7), method, params).await;
    let answer = agent.hear().await;
    assert_eq!(answer["id"], 7);
    match answer.get("error") {
        Some(error) => Err((error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())),
        None => Ok(answer["result"].clone()),
    }
}

#[tokio::test]
async fn files_are_read_by_lines_and_written_with_their_directories() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    std::fs::write(root.join("a.txt"), "one\ntwo\nthree\n").unwrap();
    let (_client, _events, mut agent) = working(&root, ALL).await;
    let file = root.join("a.txt");
    for (line, limit, wanted) in [
        (json!(null), json!(null), "one\ntwo\nthree\n"),
        (json!(2), json!(null), "two\nthree\n"),
        (json!(2), json!(1), "two\n"),
        (json!(0), json!(1), "one\n"),
        (json!(9), json!(1), ""),
        (json!(1), json!(0), ""),
    ] {
        let params = json!({ "sessionId": "s", "path": file, "line": line, "limit": limit });
        assert_eq!(asks(&mut agent, "fs/read_text_file", params).await, Ok(json!({ "content": wanted })));
    }
    let deep = root.join("x/y/b.txt");
    let params = json!({ "sessionId": "s", "path": deep, "content": "longer text" });
    assert_eq!(asks(&mut agent, "fs/write_text_file", params).await, Ok(json!({})));
    let params = json!({ "sessionId": "s", "path": deep, "content": "short" });
    assert_eq!(asks(&mut agent, "fs/write_text_file", params).await, Ok(json!({})));
    assert_eq!(std::fs::read_to_string(deep).unwrap(), "short");
}

#[tokio::test]
async fn what_is_missing_outside_or_no_text_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap().join("in");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("../secret"), "s").unwrap();
    std::fs::write(root.join("binary"), [0xff, 0xfe]).unwrap();
    std::fs::write(root.join("big"), vec![b'x'; acp_client::FILE_BYTES_MAX + 1]).unwrap();
    symlink("../secret", root.join("link")).unwrap();
    symlink("..", root.join("up")).unwrap();
    let (_client, _events, mut agent) = working(&root, ALL).await;
    for (path, code) in [
        ("none", -32002),
        ("../secret", -32602),
        ("link", -32602),
        ("up/secret", -32602),
        ("binary", -32603),
        ("big", -32603),
        (".", -32603),
    ] {
        let params = json!({ "sessionId": "s", "path": format!("{}/{path}", root.display()) });
        assert_eq!(asks(&mut agent, "fs/read_text_file", params).await.unwrap_err().0, code, "{path}");
    }
    for (path, code) in [("../new", -32602), ("link", -32602), ("up/new", -32602), ("up/d/new", -32602), (".", -32603)]
    {
        let params = json!({ "sessionId": "s", "path": format!("{}/{path}", root.display()), "content": "x" });
        assert_eq!(asks(&mut agent, "fs/write_text_file", params).await.unwrap_err().0, code, "{path}");
    }
    let relative = json!({ "path": "binary" });
    assert_eq!(asks(&mut agent, "fs/read_text_file", relative).await.unwrap_err().0, -32602);
    assert_eq!(std::fs::read_to_string(root.join("../secret")).unwrap(), "s");
    assert!(!root.join("../new").exists() && !root.join("../d").exists());
}

/// The rules are those of our own tools.
#[tokio::test]
async fn what_decides_what_runs_is_refused_and_hard_links_are_broken() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap().join("in");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("../outside"), "kept").unwrap();
    std::fs::hard_link(root.join("../outside"), root.join("linked")).unwrap();
    let (_client, _events, mut agent) = working(&root, ALL).await;
    for path in
        [".git/hooks/post-checkout", ".tillerman.toml", ".tillerman.json", ".vscode/tasks.json", ".agents/skills/x"]
    {
        let params = json!({ "sessionId": "s", "path": root.join(path), "content": "evil" });
        let (code, text) = asks(&mut agent, "fs/write_text_file", params).await.unwrap_err();
        assert_eq!(code, -32603, "{path}: {text}");
        assert!(text.contains("needs danger-full-access"), "{path}: {text}");
        assert!(!root.join(path).exists());
    }
    let params = json!({ "sessionId": "s", "path": root.join("linked"), "content": "changed" });
    assert_eq!(asks(&mut agent, "fs/write_text_file", params).await, Ok(json!({})));
    assert_eq!(std::fs::read_to_string(root.join("linked")).unwrap(), "changed");
    assert_eq!(std::fs::read_to_string(root.join("../outside")).unwrap(), "kept");
}

#[tokio::test]
async fn only_what_is_switched_on_is_served() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let offers = Offers { read_files: true, ..Offers::default() };
    let (_client, _events, mut agent) = working(&root, offers).await;
    let params = json!({ "sessionId": "s", "path": root.join("a"), "content": "x", "command": "true" });
    assert_eq!(asks(&mut agent, "fs/write_text_file", params.clone()).await.unwrap_err().0, -32601);
    assert_eq!(asks(&mut agent, "terminal/create", params.clone()).await.unwrap_err().0, -32601);
    assert_eq!(asks(&mut agent, "fs/read_text_file", params).await.unwrap_err().0, -32002);
    assert!(!root.join("a").exists());
}

async fn create(agent: &mut Agent, params: Value) -> String {
    let made = asks(agent, "terminal/create", params).await.unwrap();
    made["terminalId"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_command_runs_with_its_environment_and_its_output_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("sub")).unwrap();
    let (_client, _events, mut agent) = working(&root, ALL).await;
    let script = "echo out; echo err >&2; pwd; echo $WORD; exit 3";
    let params = json!({ "sessionId": "s", "command": "sh", "args": ["-c", script], "cwd": root.join("sub"),
                         "env": [{ "name": "WORD", "value": "w" }] });
    let id = create(&mut agent, params).await;
    let of = json!({ "sessionId": "s", "terminalId": id });
    let exit = asks(&mut agent, "terminal/wait_for_exit", of.clone()).await.unwrap();
    assert_eq!(exit, json!({ "exitCode": 3, "signal": null }));
    let output = asks(&mut agent, "terminal/output", of.clone()).await.unwrap();
    let wanted = format!("out\nerr\n{}/sub\nw\n", root.display());
    assert_eq!(output, json!({ "output": wanted, "truncated": false, "exitStatus": exit }));
    assert_eq!(asks(&mut agent, "terminal/release", of.clone()).await, Ok(json!({})));
    assert_eq!(asks(&mut agent, "terminal/output", of).await.unwrap_err().0, -32002);
    let outside = json!({ "sessionId": "s", "command": "pwd", "cwd": "/" });
    assert_eq!(asks(&mut agent, "terminal/create", outside).await.unwrap_err().0, -32602);
}

#[tokio::test]
async fn a_whole_shell_line_is_a_command_too_and_long_output_loses_its_start() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let (_client, _events, mut agent) = working(&root, ALL).await;
    let line = "printf 'abc' && printf 'däf'";
    let id = create(&mut agent, json!({ "sessionId": "s", "command": line, "outputByteLimit": 3 })).await;
    let of = json!({ "sessionId": "s", "terminalId": id });
    asks(&mut agent, "terminal/wait_for_exit", of.clone()).await.unwrap();
    let output = asks(&mut agent, "terminal/output", of).await.unwrap();
    assert_eq!((&output["output"], &output["truncated"]), (&json!("äf"), &json!(true)));
}

#[tokio::test]
async fn a_killed_command_keeps_its_id_and_a_wait_does_not_block_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let (client, mut events, mut agent) = working(&root, ALL).await;
    let id = create(&mut agent, json!({ "sessionId": "s", "command": "sleep", "args": ["600"] })).await;
    let of = json!({ "sessionId": "s", "terminalId": id });
    agent.ask(json!("wait"), "terminal/wait_for_exit", of.clone()).await;
    let output = asks(&mut agent, "terminal/output", of.clone()).await.unwrap();
    assert_eq!(output, json!({ "output": "", "truncated": false }));
    agent.ask(json!("kill"), "terminal/kill", of.clone()).await;
    let mut answers = [agent.hear().await, agent.hear().await];
    answers.sort_by_key(|answer| answer["id"].to_string());
    assert_eq!(answers[0], json!({ "jsonrpc": "2.0", "id": "kill", "result": {} }));
    assert_eq!(answers[1]["result"], json!({ "exitCode": null, "signal": "9" }));
    assert!(asks(&mut agent, "terminal/output", of).await.is_ok());
    // The end of the connection is the end of every command.
    let marker = root.join("marker");
    let line = format!("(sleep 1; touch {}) & sleep 600", marker.display());
    create(&mut agent, json!({ "sessionId": "s", "command": line })).await;
    agent.life.exit(acp_client::Exit::default());
    drop(agent);
    while events.next().await.is_some() {}
    drop(client);
    tokio::time::sleep(std::time::Duration::from_millis(1300)).await;
    assert!(!marker.exists());
}
