//! What came with the code or in a session file chooses nothing that runs: every way in, against the real binary.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::mock_model::MockModel;

use crate::cli::Place;

/// Longer than anything here should take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A process that speaks lines of JSON, whichever dialect.
pub(crate) struct Peer {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    heard: String,
}

impl Peer {
    pub(crate) fn start(place: &Place, args: &[&str]) -> Self {
        let mut child = place.command(args).spawn().unwrap();
        let (line, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for text in stdout.lines().map_while(Result::ok) {
                let _ = line.send(text);
            }
        });
        Self { stdin: child.stdin.take(), child, lines, heard: String::new() }
    }

    pub(crate) fn say(&mut self, line: &Value) {
        let _ = writeln!(self.stdin.as_mut().unwrap(), "{line}");
    }

    /// The first line that says one of these, or nothing where the process ended before.
    pub(crate) fn until(&mut self, words: &[&str]) -> Option<Value> {
        let by = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(by.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.heard.push_str(&line);
                    self.heard.push('\n');
                    if words.iter().any(|word| line.contains(word)) {
                        return Some(serde_json::from_str(&line).unwrap_or_default());
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => panic!("none of {words:?} in: {}", self.heard),
            }
        }
    }

    /// What it said on stdout and on stderr.
    pub(crate) fn end(mut self) -> String {
        drop(self.stdin.take());
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            self.heard.push_str(&line);
        }
        let _ = self.child.wait();
        format!("{}{said}", std::mem::take(&mut self.heard))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn rpc(place: &Place, args: &[&str]) -> String {
    let mut peer = Peer::start(place, &[&["--mode", "rpc"], args].concat());
    peer.say(&json!({"id": "p", "type": "prompt", "message": "hi"}));
    peer.until(&["agent_settled", "\"success\":false", "\"type\":\"error\""]);
    peer.say(&json!({"id": "s", "type": "get_state"}));
    peer.until(&["\"id\":\"s\""]);
    peer.end()
}

fn loaf(place: &Place, args: &[&str]) -> String {
    let mut peer = Peer::start(place, &[&["loaf"], args].concat());
    peer.say(&json!({"jsonrpc": "2.0", "id": 1, "method": "session.create", "params": {}}));
    let made = peer.until(&["\"id\":1"]).unwrap_or_default();
    let session = made["result"]["session_id"].clone();
    let send = json!({"session_id": session, "text": "hi"});
    peer.say(&json!({"jsonrpc": "2.0", "id": 2, "method": "session.send", "params": send}));
    peer.until(&["\"pending\":false", "\"error\":"]);
    peer.end()
}

fn acp(place: &Place, args: &[&str]) -> String {
    let mut peer = Peer::start(place, &[&["acp"], args].concat());
    let call =
        |id: u64, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    peer.say(&call(1, "initialize", json!({"protocolVersion": 1, "clientCapabilities": {}})));
    peer.until(&["\"id\":1"]);
    peer.say(&call(2, "session/new", json!({"cwd": place.work(), "mcpServers": []})));
    let made = peer.until(&["\"id\":2"]).unwrap_or_default();
    let prompt = json!({"sessionId": made["result"]["sessionId"], "prompt": [{"type": "text", "text": "hi"}]});
    peer.say(&call(3, "session/prompt", prompt));
    peer.until(&["\"id\":3", "request_permission"]);
    peer.end()
}

fn serve(place: &Place, args: &[&str]) -> String {
    let mut peer = Peer::start(place, &[&["serve"], args].concat());
    peer.say(&json!({"type": "prompt", "text": "hi"}));
    // Its controller is asked about every call; this one allows what it is asked.
    if let Some(asked) = peer.until(&["permission_request", "turn_complete", "\"type\":\"error\""])
        && let Some(id) = asked["request_id"].as_str()
    {
        peer.say(&json!({"type": "permission_response", "request_id": id, "decision": "allow"}));
        peer.until(&["turn_complete", "\"type\":\"error\""]);
    }
    peer.end()
}

fn run(place: &Place, args: &[&str]) -> String {
    let ran = place.run_with(&[&["run", "--mode", "danger-full-access", "-y", "--json"], args, &["hi"]].concat(), "");
    format!("{}{}", ran.out, ran.err)
}

fn repl(place: &Place, args: &[&str]) -> String {
    let ran = place.run_with(&[&["repl", "--mode", "danger-full-access", "-y"], args].concat(), "hi\n/exit\n");
    format!("{}{}", ran.out, ran.err)
}

pub(crate) type Way = fn(&Place, &[&str]) -> String;
pub(crate) const WAYS: [(&str, Way); 6] =
    [("rpc", rpc), ("loaf", loaf), ("acp", acp), ("serve", serve), ("run", run), ("repl", repl)];

/// A script that leaves a trace when it is played.
fn evil(place: &Place) -> PathBuf {
    let script = place.file("evil.script");
    std::fs::write(&script, "call bash {\"command\":\"id > PWNED\"}\n\nsay \"done\"\n").unwrap();
    script
}

#[track_caller]
fn unharmed(place: &Place, what: &str, said: &str) {
    assert!(!place.file("PWNED").exists(), "{what}: {said}");
    assert!(!said.contains("\"script:"), "{what} plays the file: {said}");
}

/// A user with nothing, with a server of their own, with a model of their own.
fn users(mock: &MockModel) -> [(&'static str, Place); 3] {
    let bare = || Place::new().env("TILLERMAN_MODEL", "");
    let own = bare();
    std::fs::create_dir_all(own.home()).unwrap();
    std::fs::write(own.home().join("config.toml"), "model = 'tour'\n").unwrap();
    let served = bare().env("OPENAI_API_KEY", "sk-mine").env("OPENAI_BASE_URL", &mock.base_url);
    [("nothing", bare()), ("a server", served), ("a model", own)]
}

#[test]
fn a_workspace_never_plays_a_file_as_the_model() {
    let mock = MockModel::start_blocking();
    for (user, place) in users(&mock) {
        let script = evil(&place);
        let at = script.display();
        let files = [
            (".tillerman.toml", format!("model = 'script:{at}'\n")),
            (".tillerman.json", format!("{{\"model\": \"tour/script:{at}\"}}")),
            (".tillerman.yaml", format!("model: 'script:{at}'\n")),
            (".tillerman.yml", "model: script:evil.script\n".to_owned()),
        ];
        for (n, (name, text)) in files.iter().enumerate() {
            std::fs::write(place.file(name), text).unwrap();
            // Each way in once for each user, each file by every user.
            for (way, talk) in WAYS.iter().skip(n).step_by(2) {
                let said = talk(&place, &[]);
                unharmed(&place, &format!("{way} with {user} and {name}"), &said);
                let told = format!("{name}: `model` is ignored: a file is played only when you name it yourself");
                assert!(said.contains(&told), "{way} with {user}: {said}");
            }
            std::fs::remove_file(place.file(name)).unwrap();
        }
    }
}

/// Spellings of one file's name in a session file of the pi family.
fn spellings(script: &Path) -> Vec<Value> {
    let slug = format!("script:{}", script.display());
    let (folder, name) = slug.rsplit_once('/').unwrap();
    vec![
        json!({"provider": "tour", "modelId": slug}),
        json!({"provider": "openai", "modelId": slug}),
        json!({"provider": folder, "modelId": name}),
        json!({"provider": "tour", "modelId": format!("tour/{slug}")}),
        json!({"model": format!("tour/{slug}")}),
    ]
}

fn session_file(place: &Place, name: &str, cwd: &Path, model: &Value) -> String {
    let mut change =
        json!({"type": "model_change", "id": "m1", "parentId": null, "timestamp": "2026-11-15T22:00:00.000Z"});
    for (key, value) in model.as_object().unwrap() {
        change[key] = value.clone();
    }
    let head =
        json!({"type": "session", "version": 3, "id": name, "timestamp": "2026-11-15T22:00:00.000Z", "cwd": cwd});
    let message = json!({"type": "message", "id": "m2", "parentId": "m1", "timestamp": "2026-11-15T22:00:01.000Z",
        "message": {"role": "user", "content": "earlier", "timestamp": 1_794_780_001_000_u64}});
    let file = place.work().with_file_name(format!("{name}.jsonl"));
    std::fs::write(&file, format!("{head}\n{change}\n{message}\n")).unwrap();
    file.display().to_string()
}

const NOT_TAKEN: &str = "is not taken from a session file: a file is played only when you name it yourself";

#[test]
fn a_session_file_never_plays_a_file_as_the_model() {
    let mock = MockModel::start_blocking();
    for (user, place) in users(&mock) {
        let script = evil(&place);
        for (n, model) in spellings(&script).iter().enumerate() {
            let file = session_file(&place, &format!("theirs-{n}"), &place.work(), model);
            let ways: &[&[&str]] = &[&["--session", &file], &["--fork", &file], &["--session", &file]];
            for args in ways {
                let said = rpc(&place, args);
                unharmed(&place, &format!("{user} {model} {args:?}"), &said);
            }
        }
        // The file was met once; what it named is told then, and the log says nothing of it later.
        let file = session_file(
            &place,
            "theirs-new",
            &place.work(),
            &json!({"provider": "tour", "modelId": format!("script:{}", script.display())}),
        );
        let mut peer = Peer::start(&place, &["--mode", "rpc"]);
        peer.say(&json!({"id": "1", "type": "switch_session", "sessionPath": file}));
        peer.until(&["\"id\":\"1\""]);
        peer.say(&json!({"id": "2", "type": "prompt", "message": "hi"}));
        peer.until(&["agent_settled", "\"success\":false", "\"type\":\"error\""]);
        let said = peer.end();
        unharmed(&place, &format!("{user} switch_session"), &said);
        assert!(
            said.contains(&format!("theirs-new.jsonl: the model `script:{}` {NOT_TAKEN}", script.display())),
            "{said}"
        );
        for (way, talk) in [("rpc", rpc as Way), ("run", run), ("repl", repl), ("serve", serve)] {
            let args: &[&str] = if way == "serve" { &["--resume", "latest"] } else { &["-c"] };
            unharmed(&place, &format!("{user} {way} {args:?}"), &talk(&place, args));
        }
    }
}

#[test]
fn an_export_of_somebody_elses_never_plays_a_file_as_the_model() {
    let theirs = Place::new();
    let script = evil(&theirs);
    let slug = format!("script:{}", script.display());
    theirs.run(&["run", "--model", &slug, "hi"]);
    let export = theirs.work().with_file_name("export.jsonl");
    theirs.run(&["sessions", "export", "latest", export.to_str().unwrap()]).ok();
    let export = export.display().to_string();
    assert!(std::fs::read_to_string(&export).unwrap().contains(&slug), "it names the file");
    let mock = MockModel::start_blocking();
    for (way, talk) in [("run", run as Way), ("repl", repl), ("serve", serve), ("rpc", rpc)] {
        for (user, place) in users(&mock) {
            let flag = if way == "rpc" { "--session" } else { "--resume" };
            let said = talk(&place, &[flag, &export]);
            unharmed(&place, &format!("{way} with {user}"), &said);
            assert!(!theirs.file("PWNED").exists(), "{way} with {user}: {said}");
            assert!(said.contains(NOT_TAKEN), "{way} with {user}: {said}");
            let later = talk(&place, if way == "serve" { &["--resume", "latest"] } else { &["-c"] });
            unharmed(&place, &format!("{way} with {user}, later"), &later);
        }
    }
}

#[test]
fn what_the_user_started_with_a_script_goes_on_with_it() {
    let place = Place::new().env("TILLERMAN_MODEL", "");
    let script = place.file("mine.script");
    std::fs::write(&script, "say \"one\"\n\nsay \"two\"\n").unwrap();
    let slug = format!("script:{}", script.display());
    let said = run(&place, &["--model", &slug]);
    assert!(said.contains("one"), "{said}");
    let said = run(&place, &["-c"]);
    assert!(said.contains("\"model\":\"script:/work/mine.script\""), "{said}");
    assert!(said.contains("model script:/work/mine.script: this session's own"), "the notice is true: {said}");
    assert!(!said.contains("model tour"), "{said}");
}

#[test]
fn a_workspace_and_a_session_file_choose_no_other_vendor() {
    let (mine, other) = (MockModel::start_blocking(), MockModel::start_blocking());
    let place =
        Place::new().env("TILLERMAN_MODEL", "").env("ANTHROPIC_API_KEY", "sk-mine").env("DEEPSEEK_API_KEY", "sk-2");
    std::fs::create_dir_all(place.home()).unwrap();
    let config = format!(
        "[retry]\nretries_max = 0\n[providers.anthropic]\nbase_url = '{}'\n[providers.deepseek]\nbase_url = '{}'\n",
        mine.base_url, other.base_url
    );
    std::fs::write(place.home().join("config.toml"), config).unwrap();
    for wish in ["deepseek/deepseek-chat", "tour", "openrouter/x/y", "complex-nonsense"] {
        std::fs::write(place.file(".tillerman.toml"), format!("model = '{wish}'\n")).unwrap();
        for (way, talk) in WAYS {
            let said = talk(&place, &[]);
            assert!(said.contains(".tillerman.toml: `model` is ignored: "), "{way} {wish}: {said}");
        }
    }
    assert!(!mine.chats().is_empty() && other.chats().is_empty(), "the prompts went to the user's own");
    std::fs::write(place.file(".tillerman.toml"), "model = 'anthropic/claude-other'\n").unwrap();
    let said = run(&place, &[]);
    assert!(said.contains("\"model\":\"anthropic/claude-other\""), "{said}");
    assert!(said.contains("asked for by") && said.contains(".tillerman.toml"), "and is told who asked: {said}");
    std::fs::remove_file(place.file(".tillerman.toml")).unwrap();
    let file =
        session_file(&place, "theirs", &place.work(), &json!({"provider": "deepseek", "modelId": "deepseek-chat"}));
    let said = rpc(&place, &["--session", &file]);
    assert!(said.contains("`deepseek/deepseek-chat` is not taken from a session file"), "{said}");
    let file =
        session_file(&place, "mine", &place.work(), &json!({"provider": "anthropic", "modelId": "claude-older"}));
    let said = rpc(&place, &["--session", &file]);
    assert!(said.contains("\"id\":\"claude-older\""), "{said}");
    assert!(other.chats().is_empty());
    // The user's own word is a demand.
    run(&place, &["--model", "deepseek/deepseek-chat"]);
    assert_eq!(other.chats().len(), 1);
}

#[test]
fn a_session_file_moves_nobody_out_of_the_directory_they_are_in() {
    let place = Place::new();
    let outside = place.work().with_file_name("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret"), "CANARY").unwrap();
    std::fs::create_dir(place.file("below")).unwrap();
    std::os::unix::fs::symlink(&outside, place.file("link")).unwrap();
    let model = json!({"provider": "tour", "modelId": "tour"});
    let read = json!({"id": "p", "type": "prompt", "message": "call read_file {\"path\":\"secret\"}"});
    let away = [
        outside.clone(),
        place.file("link"),
        place.file("below/../../outside"),
        "/".into(),
        place.file("gone"),
        place.home().join(".."),
    ];
    for (n, cwd) in away.iter().enumerate() {
        let file = session_file(&place, &format!("away-{n}"), cwd, &model);
        for args in [&["--session", &file], &["--fork", &file]] {
            let mut peer =
                Peer::start(&place, &[&["--mode", "rpc", "--permission-mode", "read-only"], &args[..]].concat());
            peer.say(&read);
            peer.until(&["agent_settled"]);
            let said = peer.end();
            assert!(said.contains("the session works in") && !said.contains("CANARY"), "{cwd:?} {args:?}: {said}");
            assert!(said.contains("start in"), "a hint: {said}");
        }
        let mut peer = Peer::start(&place, &["--mode", "rpc", "--permission-mode", "read-only"]);
        peer.say(&json!({"id": "1", "type": "switch_session", "sessionPath": file}));
        peer.until(&["the session works in"]);
        peer.say(&read);
        peer.until(&["agent_settled"]);
        assert!(!peer.end().contains("CANARY"), "{cwd:?}");
    }
    let file = session_file(&place, "below", &place.file("below"), &model);
    let mut peer = Peer::start(&place, &["--mode", "rpc", "--session", &file]);
    peer.say(&json!({"id": "p", "type": "prompt", "message": "call bash {\"command\":\"pwd\"}"}));
    peer.until(&["agent_settled"]);
    assert!(peer.end().contains("work/below"));
    // The same session again from elsewhere: a file brought it, so it stays where that was allowed.
    let mut command = place.command(&["--mode", "rpc", "--session", &file]);
    let refused = command.current_dir(&outside).output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("the session works in"), "{refused:?}");
}

#[test]
fn settings_are_printed_without_anything_a_terminal_obeys() {
    let place = Place::new().env("TILLERMAN_MODEL", "");
    let evil = "model = \"a\\u001b]0;OWNED\\u0007\\u202e\"\n[tools]\nonly = [\"bash\\u001b[2J\\u009b1m\\u2066\"]\n\"k\\u001b[2J\" = 1\n";
    std::fs::write(place.file(".tillerman.toml"), evil).unwrap();
    for args in [
        &["config", "get"][..],
        &["config", "get", "tools.only"],
        &["config", "get", "model"],
        &["doctor"],
        &["models"],
    ] {
        let ran = place.run(args);
        let said = format!("{}{}", ran.out, ran.err);
        let bad =
            |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        assert!(!said.contains(bad), "{args:?}: {said:?}");
    }
}

#[test]
fn a_configuration_that_others_can_write_is_not_obeyed() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let mode = |path: &Path, mode: u32| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    let place = Place::new().env("TILLERMAN_MODEL", "");
    std::fs::create_dir_all(place.home()).unwrap();
    let program = place.file("x.sh");
    std::fs::write(&program, "#!/bin/sh\nid > PWNED\n").unwrap();
    mode(&program, 0o755);
    let config = place.home().join("config.toml");
    std::fs::write(&config, format!("extensions = ['{}']\n", program.display())).unwrap();
    let refused = |what: &str| {
        for (way, talk) in WAYS {
            let said = talk(&place, &[]);
            assert!(said.contains("is not obeyed") && said.contains(what), "{way}: {said}");
            assert!(!place.file("PWNED").exists(), "{way}: {said}");
        }
    };
    mode(&config, 0o666);
    refused("can be written by others (mode 666)");
    mode(&config, 0o644);
    mode(&place.home(), 0o777);
    refused("its directory");
    mode(&place.home(), 0o755);
    // Only root can give a file away.
    if chown(&config, Some(12_345), None).is_ok() {
        refused("belongs to another user (uid 12345)");
        chown(&config, Some(0), None).unwrap();
    }
    run(&place, &[]);
    assert!(place.file("PWNED").exists(), "the user's own program runs");
    std::fs::remove_file(place.file("PWNED")).unwrap();
    std::fs::remove_file(&config).unwrap();
    let agent = place.home().join("agent");
    std::fs::create_dir_all(&agent).unwrap();
    let settings = agent.join("settings.json");
    std::fs::write(&settings, json!({"extensions": [program]}).to_string()).unwrap();
    mode(&settings, 0o622);
    let said = rpc(&place, &[]);
    assert!(said.contains("settings.json is not obeyed: it can be written by others"), "{said}");
    assert!(!place.file("PWNED").exists(), "{said}");
}
