//! Permission and secrets: what was denied has not happened, and keys stay ours.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::faults::{Driver, KEY, PATIENCE, brief, mark, running, within};
use testkit::mock_model::{MockModel, Reply};

use crate::drivers::{Serve, first};
use crate::worlds::{tour, with};

/// Path, size and bytes of everything below.
pub(crate) fn snapshot(at: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut open = vec![at.to_owned()];
    while let Some(path) = open.pop() {
        let Ok(meta) = fs::symlink_metadata(&path) else { continue };
        if meta.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().flatten().map(|entry| entry.path()));
        } else if meta.is_file() {
            files.push((path.clone(), fs::read(&path).unwrap_or_default()));
        } else {
            files.push((path, Vec::new()));
        }
    }
    files.sort();
    files
}

/// Asks for one call and answers it; the request and the result.
fn ask(serve: &mut Serve, tool: &str, input: &Value, decision: &str) -> (Value, Value) {
    serve.prompt(&format!("call {tool} {input} then say done"));
    let asked = serve.until("permission_request").pop().unwrap();
    serve.answer(&asked, decision);
    let seen = serve.until("turn_complete");
    (asked, first(&seen, "tool_result").clone())
}

#[test]
fn s1_what_leads_outside_is_called_that_and_a_denied_call_changes_nothing() {
    let world = tour();
    let (ws, outside) = (world.workspace.clone(), world.root().join("outside"));
    fs::create_dir_all(outside.join("dir")).unwrap();
    fs::write(outside.join("secret.txt"), "LEAK-7719").unwrap();
    fs::write(outside.join("dir/file.txt"), "LEAK-7719").unwrap();
    fs::create_dir(ws.join("sub")).unwrap();
    symlink(&outside, ws.join("linkdir")).unwrap();
    symlink("../outside", ws.join("reldir")).unwrap();
    symlink(outside.join("secret.txt"), ws.join("linkfile")).unwrap();
    symlink(outside.join("new.txt"), ws.join("dangling")).unwrap();
    symlink("linkdir", ws.join("twice")).unwrap();
    symlink("/", ws.join("root")).unwrap();
    let path = |name: &str| outside.join(name).display().to_string();
    let mut paths = vec![
        "../outside/secret.txt".to_owned(),
        "../outside/new.txt".into(),
        "sub/../../outside/secret.txt".into(),
        "./.././outside/secret.txt".into(),
        path("secret.txt"),
        path("new.txt"),
        "linkdir/secret.txt".into(),
        "linkdir/new.txt".into(),
        "linkdir/dir/../secret.txt".into(),
        "reldir/secret.txt".into(),
        "linkfile".into(),
        "dangling".into(),
        "twice/secret.txt".into(),
        "/proc/self/cwd/../outside/secret.txt".into(),
        concat!("/proc/self/", "root/etc/hostname").into(),
        "/etc/tillerman-was-here".into(),
    ];
    paths.push(format!("root{}", path("secret.txt")));
    let mut serve = Serve::new(&world, &["--permission-mode", "workspace-write"]);
    let before = snapshot(&outside);
    let mut calls = 0;
    for path in &paths {
        let inputs = [
            ("write_file", json!({ "path": path, "content": "overwritten" })),
            ("edit_file", json!({ "path": path, "old_string": "LEAK", "new_string": "gone" })),
            ("read_file", json!({ "path": path })),
            ("glob_search", json!({ "pattern": "*", "path": path })),
            ("grep_search", json!({ "pattern": "LEAK", "path": path })),
        ];
        for (tool, input) in inputs {
            let (asked, result) = ask(&mut serve, tool, &input, "deny");
            assert_eq!(asked["required_mode"], "danger-full-access", "{tool} {path}: {asked}");
            assert_eq!(result["is_error"], true, "{tool} {path}");
            assert!(!result["output"].as_str().unwrap().contains("LEAK-7719"), "{tool} {path} leaks");
            calls += 1;
        }
    }
    assert!(before == snapshot(&outside), "something outside has changed");
    assert!(!Path::new("/etc/tillerman-was-here").exists());
    // Allowed inside means inside: swapped for a link after the answer, the write does not follow it.
    fs::create_dir(ws.join("swap")).unwrap();
    serve.prompt(r#"call write_file {"path":"swap/secret.txt","content":"overwritten"} then say done"#);
    let asked = serve.until("permission_request").pop().unwrap();
    assert_eq!(asked["required_mode"], "workspace-write", "{asked}");
    fs::remove_dir(ws.join("swap")).unwrap();
    symlink(&outside, ws.join("swap")).unwrap();
    serve.answer(&asked, "allow");
    let seen = serve.until("turn_complete");
    assert_eq!(first(&seen, "tool_result")["is_error"], true, "{}", brief(&seen));
    assert!(before == snapshot(&outside), "the swapped link was followed");
    println!("S1: {} paths, {calls} denied calls and a swap, 0 bytes outside changed or leaked", paths.len());
}

/// Names the first canary in some bytes.
pub(crate) fn found(bytes: &[u8], canaries: &[String]) -> Option<String> {
    let hit = |canary: &&String| bytes.windows(canary.len()).any(|part| part == canary.as_bytes());
    canaries.iter().find(hit).cloned()
}

#[test]
fn s7_keys_are_seen_by_the_model_server_and_by_nobody_else() {
    let model = MockModel::start_blocking();
    let mut world = with(&model);
    let canary = |n: usize| format!("canary{n:02}-{}", "d0a7c3f19b55");
    let names = [
        "ANTHROPIC_API_KEY",
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "DB_PASSWORD",
        "SSH_AUTH_SOCK",
        "MY_CREDENTIALS",
    ];
    for (n, name) in names.iter().enumerate() {
        world.env.push(((*name).into(), canary(n)));
    }
    // Under an innocent name, alone and inside something.
    world.env.push(("INNOCENT".into(), KEY.into()));
    world.env.push(("NOTES".into(), format!("my key is {KEY}, keep it")));
    world.env.push(("MY_URL".into(), format!("http://me:{}@example.invalid/", canary(8))));
    world.config(&format!("api_key = \"{}\"\n[retry]\nretries_max = 0\n", canary(9)));
    fs::write(world.workspace.join(".tillerman.toml"), format!("openai_api_key = \"{}\"\n", canary(10))).unwrap();
    let mut canaries: Vec<String> = (0..11).map(canary).collect();
    canaries.push(KEY.to_owned());
    // The files that hold them are the user's own.
    let own = ["home/config.toml", "ws/.tillerman.toml", "tillerman"].map(|name| world.root().join(name));
    let frames = world.root().join("frames.log");
    // Nothing is hidden from root.
    if !world.as_nobody() && rustix::process::getuid().is_root() {
        return crate::skip("S7", "root needs setpriv to become somebody else");
    }
    let mut serve = Serve::new(&world, &["--log-frames", frames.to_str().unwrap()]);
    let mut heard = Vec::new();
    let mut turn = |serve: &mut Serve, prompt: &str| {
        let seen = serve.turn(prompt);
        seen.iter().for_each(|value| heard.extend(value.to_string().into_bytes()));
        seen
    };
    let commands = [
        "env; set; export -p",
        "tr '\\0' '\\n' < /proc/self/environ; tr '\\0' '\\n' < /proc/$$/environ; tr '\\0' '\\n' < /proc/$PPID/environ",
        "for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ; tr '\\0' ' ' < $p/cmdline; done 2>/dev/null | grep -a canary",
        "cat /proc/[0-9]*/task/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -a canary",
    ];
    for command in commands {
        let seen = turn(&mut serve, &format!("call bash {} then say done", json!({ "command": command })));
        let output = first(&seen, "tool_result")["output"].as_str().unwrap();
        assert_eq!(found(output.as_bytes(), &canaries), None, "`{command}` shows a key");
    }
    // While a tool runs, no argument list has it either.
    let mark = mark();
    serve.prompt(&format!("call bash {{\"command\":\"sleep {mark}\"}} then say done"));
    let asked = serve.until("permission_request").pop().unwrap();
    serve.answer(&asked, "allow");
    assert!(within(PATIENCE, || !running(&mark).is_empty()).is_some());
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        assert_eq!(found(&line, &canaries), None, "{}", entry.path().display());
    }
    serve.interrupt();
    serve.until("turn_complete");
    // A server that repeats what it was sent.
    let echo = format!("Incorrect API key provided: {KEY}. Authorization: Bearer {KEY}");
    for reply in [
        Reply::error(401, &echo),
        Reply::error(400, &echo),
        Reply::error(500, &echo),
        Reply::plain(403, "text/html", format!("<html>{echo}</html>")),
        Reply::plain(302, "text/plain", echo.clone()).header("location", &format!("http://127.0.0.1:1/?key={KEY}")),
        Reply::plain(200, "text/event-stream", format!("data: {{\"error\":{{\"message\":\"{echo}\"}}}}\n\n")),
        Reply::plain(200, "text/event-stream", format!("data: {{\"oops {KEY}\n\n")),
    ] {
        model.push(reply);
        let seen = turn(&mut serve, "hello");
        assert_eq!(seen.last().unwrap()["stop_reason"], "error", "{}", brief(&seen));
    }
    for name in ["md", "jsonl"] {
        let file = world.root().join(format!("export.{name}"));
        assert_eq!(serve.slash("export", file.to_str().unwrap())["data"]["ok"], true);
    }
    for command in ["status", "context", "tools", "help", "model", "sessions", "cost", "diff"] {
        heard.extend(serve.slash(command, "").to_string().into_bytes());
    }
    serve.shutdown();
    let get = world.command(&[]).args(["config", "get"]).output().unwrap();
    heard.extend([get.stdout, get.stderr].concat());
    assert_eq!(found(&heard, &canaries), None, "a key on stdout");
    let mut looked = 0;
    for (path, bytes) in snapshot(world.root()) {
        if !own.contains(&path) {
            assert_eq!(found(&bytes, &canaries), None, "a key in {}", path.display());
            looked += 1;
        }
    }
    let sent = model.chats().iter().all(|chat| chat.header("authorization") == Some(&format!("Bearer {KEY}")));
    assert!(sent, "the key did not reach the server, so nothing was shown");
    for chat in model.chats() {
        assert_eq!(found(&chat.body, &canaries), None, "a key in a model request");
    }
    println!("S7: {} canaries, {looked} files, {} bytes heard, 0 hits", canaries.len(), heard.len());
}
