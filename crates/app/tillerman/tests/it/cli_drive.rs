//! `drive`: a foreign agent, as people and scripts see it. The agent is a few lines of Python.

use std::io::{BufRead, BufReader, Read};
use std::time::{Duration, Instant};

use expect_test::expect;
use serde_json::Value;

use crate::cli::{Place, Ran};
use crate::typist::{LARGE, typed};

const AGENT: &str = r#"
import json, os, sys, time
def say(**message):
    sys.stdout.write(json.dumps(dict(jsonrpc="2.0", **message)) + "\n"); sys.stdout.flush()
def hear():
    line = sys.stdin.readline()
    if not line: sys.exit(0)
    return json.loads(line)
def update(tag, **fields):
    say(method="session/update", params={"sessionId": session, "update": dict(sessionUpdate=tag, **fields)})
def chunk(words, tag="agent_message_chunk"):
    update(tag, content={"type": "text", "text": words})
def ask(method, **params):
    say(id=0, method=method, params=dict(sessionId=session, **params))
    while True:
        message = hear()
        if "method" not in message: return message
        if message["method"] == "session/cancel": cancelled.append(1)
session, model, cancelled = "s-1", "small", []
def options():
    values = [{"value": "small", "name": "Small"}, {"value": "big", "name": "Big one"}]
    return [{"id": "model", "name": "Model", "category": "model", "type": "select", "currentValue": model, "options": values}]
def turn(id, words):
    if words == "edit":
        diff = {"type": "diff", "path": os.getcwd() + "/a.txt", "oldText": "one\n", "newText": "two\n"}
        update("tool_call", toolCallId="c1", title="edit: a.txt", kind="edit", status="pending")
        options = [{"optionId": "always", "name": "Always", "kind": "allow_always"},
                   {"optionId": "once", "name": "Allow once", "kind": "allow_once"},
                   {"optionId": "no", "name": "Deny", "kind": "reject_once"}]
        call = {"toolCallId": "c1", "title": "edit: a.txt", "content": [diff], "rawInput": {"path": "a.txt"}}
        outcome = ask("session/request_permission", toolCall=call, options=options)["result"]["outcome"]
        status = "completed" if outcome.get("optionId") in ("once", "always") else "failed"
        update("tool_call_update", toolCallId="c1", status=status, content=[diff] if status == "completed" else [])
        chunk("the answer was " + outcome.get("optionId", outcome["outcome"]))
        if cancelled: return {"stopReason": "cancelled"}
    elif words == "sneak":
        options = [{"optionId": "a", "name": "Deny", "kind": "allow_always"}, {"optionId": "r", "name": "Stop", "kind": "reject_once"}]
        command = "cargo test\n" + "echo step\n" * 300 + "rm -rf \x1b[2K /"
        call = {"toolCallId": "c9", "title": "bash: cargo test", "content": [], "rawInput": {"command": command, "cwd": "/etc"}}
        outcome = ask("session/request_permission", toolCall=call, options=options)["result"]["outcome"]
        chunk("the answer was " + outcome.get("optionId", outcome["outcome"]))
    elif words == "write":
        answer = ask("fs/write_text_file", path=os.getcwd() + "/made/by/agent.txt", content="hello")
        chunk("wrote" if "result" in answer else answer["error"]["message"])
    elif words == "run":
        made = ask("terminal/create", command="echo from the terminal; exit 4")
        of = {"terminalId": made["result"]["terminalId"]}
        exit = ask("terminal/wait_for_exit", **of)["result"]
        chunk(ask("terminal/output", **of)["result"]["output"] + str(exit["exitCode"]))
    elif words == "think":
        chunk("hmm", "agent_thought_chunk")
        update("plan", entries=[{"content": "first", "status": "completed", "priority": "high"}, {"content": "then"}])
        chunk("done \x1b[31mred")
    elif words == "wait":
        chunk("waiting")
        while hear().get("method") != "session/cancel": pass
        return {"stopReason": "cancelled"}
    elif words == "refuse": return {"stopReason": "refusal"}
    elif words == "fail":
        say(id=id, error={"code": -32603, "message": "HTTP 429 from the provider"}); return None
    elif words == "die":
        print("out of luck", file=sys.stderr, flush=True); os._exit(9)
    elif words == "pid": chunk(str(os.getpid()))
    elif words == "shell":
        here = {"terminal_id": "t1"}
        def meta(key, **fields): update("tool_call_update", toolCallId="c2", _meta={key: dict(here, **fields)})
        update("tool_call", toolCallId="c2", title="make", kind="execute", status="in_progress",
               content=[{"type": "terminal", "terminalId": "t1"}], _meta={"terminal_info": dict(here, cwd="/w")})
        meta("terminal_output", data="cc one.c\n"); meta("terminal_output_delta", data="one.c: no such file\n")
        meta("terminal_exit", exit_code=2, signal=None)
        update("tool_call_update", toolCallId="c2", status="failed")
    elif words == "rename":
        update("tool_call", toolCallId="c5", title="bash", kind="execute", status="pending")
        update("tool_call_update", toolCallId="c5", status="in_progress", title="bash")
        update("tool_call_update", toolCallId="c5", status="completed", title="touch zz", content=[])
        update("tool_call", toolCallId="c6", title="bash", kind="execute", status="pending")
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}, {"optionId": "no", "name": "No", "kind": "reject_once"}]
        ask("session/request_permission", toolCall={"toolCallId": "c6", "title": "bash", "rawInput": {"command": "touch yy"}}, options=options)
        update("tool_call_update", toolCallId="c6", status="completed", title="touch yy")
        update("tool_call", toolCallId="c7", title="slow work", kind="execute", status="in_progress")
        while hear().get("method") != "session/cancel": pass
        return {"stopReason": "cancelled"}
    elif words == "late name":
        chunk(words, "user_message_chunk")
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
        ask("session/request_permission", toolCall={"toolCallId": "c8", "title": "touch late"}, options=options)
        update("tool_call_update", toolCallId="c8", status="completed")
    elif words == "strict":
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}, {"optionId": "no", "name": "No", "kind": "reject_once"}]
        outcome = ask("session/request_permission", toolCall={"toolCallId": "c3", "title": "touch x"}, options=options)["result"]["outcome"]
        if outcome.get("optionId") != "yes": return {"stopReason": "cancelled"}
    elif words == "many":
        options = [{"optionId": "o%d" % n, "name": "Choice %d" % n, "kind": "allow_once"} for n in range(1, 61)]
        options.append({"optionId": "no", "name": "Deny", "kind": "reject_always"})
        outcome = ask("session/request_permission", toolCall={"toolCallId": "c4", "title": "pick one of many"}, options=options)["result"]["outcome"]
        chunk("the answer was " + outcome.get("optionId", outcome["outcome"]))
    elif words == "name": chunk(NAME)
    elif words.startswith("env "): chunk(" ".join(os.environ.get(name, "-") for name in words.split()[1:]))
    else: chunk("you said " + words)
    return {"stopReason": "end_turn", "usage": {"totalTokens": 1500, "inputTokens": 1200, "outputTokens": 300}}
while True:
    message = hear()
    method, id, params = message.get("method"), message.get("id"), message.get("params", {})
    if method == "initialize" and "slow" in sys.argv: continue
    elif method == "initialize" and "login" in sys.argv:
        way = {"id": "in", "name": "Log in", "description": "Run `agent login`"}
        say(id=id, result={"protocolVersion": 1, "authMethods": [way]})
    elif "login" in sys.argv and id is not None: say(id=id, error={"code": -32000, "message": "Authentication required"})
    elif method == "initialize":
        capabilities = {"loadSession": True}
        say(id=id, result={"protocolVersion": 1, "agentInfo": {"name": "fake", "version": "1"}, "agentCapabilities": capabilities})
    elif method == "session/new":
        say(id=id, result={"sessionId": session, "configOptions": options()})
        update("available_commands_update", availableCommands=[{"name": "tidy", "description": "Tidies up"}])
    elif method == "session/load":
        if params["sessionId"] != "old": say(id=id, error={"code": -32002, "message": "Resource not found"}); continue
        session = "old"
        chunk("what was asked", "user_message_chunk"); chunk("what was answered")
        say(id=id, result={"configOptions": options()})
    elif method == "session/set_config_option":
        model = params["value"]; say(id=id, result={"configOptions": options()})
    elif method == "session/prompt":
        result = turn(id, params["prompt"][0]["text"])
        if result is not None: say(id=id, result=result)
    elif id is not None: say(id=id, error={"code": -32601, "message": "method not found"})
"#;

fn place() -> Place {
    let place = Place::new().env("SHELL", "/bin/false");
    std::fs::write(place.file("agent.py"), AGENT).unwrap();
    place
}

fn drive(place: &Place, flags: &[&str]) -> Ran {
    let words: Vec<&str> = ["drive"].iter().chain(flags).chain(&["--", "python3", "agent.py"]).copied().collect();
    place.run(&words)
}

#[test]
fn a_prompt_gives_the_answer_on_stdout_and_the_rest_beside_it() {
    let place = place();
    let ran = drive(&place, &["-p", "hello there"]);
    assert!(ran.err.contains("fake 1, session s-1 (new)"), "{}", ran.err);
    assert_eq!(ran.ok(), "you said hello there\n");
    let ran = drive(&place, &["-p", "think"]);
    assert!(ran.err.contains("[x] first") && ran.err.contains("[ ] then"), "{}", ran.err);
    assert_eq!(ran.ok(), "done red\n", "an agent's escape sequences do not reach a terminal");
}

#[test]
fn json_is_one_object_per_event() {
    let ran = drive(&place(), &["--json", "--yes", "-p", "edit"]);
    let lines: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    expect![[r#"
        [
            "session",
            "commands",
            "tool_call",
            "permission",
            "tool_update",
            "text",
            "turn_end",
        ]
    "#]]
    .assert_debug_eq(&kinds);
    let permission = &lines[3];
    assert_eq!((&permission["decision"], &permission["option"]), (&"allow".into(), &"once".into()));
    let end = lines.last().unwrap();
    assert_eq!(
        (&end["stop"], &end["exit_code"], &end["usage"]["outputTokens"]),
        (&"end_turn".into(), &0.into(), &300.into())
    );
    ran.ok();
}

#[test]
fn without_a_person_permission_is_denied_and_the_exit_code_says_so() {
    let place = place();
    let ran = drive(&place, &["-p", "edit"]);
    ran.fails(3, "denied: edit: a.txt (`--yes` would allow it)");
    assert_eq!(ran.out, "the answer was no\n");
    let ran = drive(&place, &["--yes", "-p", "edit"]);
    assert!(ran.err.contains("-one") && ran.err.contains("+two"), "{}", ran.err);
    assert_eq!(ran.ok(), "the answer was once\n");
}

#[test]
fn each_end_has_its_exit_code() {
    let place = place();
    drive(&place, &["-p", "refuse"]).fails(3, "refusal");
    drive(&place, &["-p", "fail"]).fails(1, "hint: the model's provider limits the rate");
    drive(&place, &["-p", "die"]).fails(1, "the agent exited with code 9");
    let died = drive(&place, &["-p", "die"]);
    assert_eq!(died.err.matches("exited with code 9").count(), 1, "told once: {}", died.err);
    assert!(died.err.contains("out of luck"), "{}", died.err);
    place.run(&["drive", "-p", "x", "--", "no-such-agent"]).fails(2, "`no-such-agent` is not on the PATH");
    place.run(&["drive", "-p", "x", "--", "sh", "-c", "echo boo >&2; exit 1"]).fails(2, "boo");
    place.run(&["drive", "--cwd", "nowhere", "-p", "x", "--", "true"]).fails(2, "no such directory: nowhere");
    place.run(&["drive", "--json", "--", "true"]).fails(2, "--prompt");
    place.run(&["drive", "--ssh", "box", "-p", "x", "--", "true"]).fails(2, "--cwd");
}

#[test]
fn a_session_is_taken_up_again_or_said_to_be_unknown() {
    let place = place();
    let ran = drive(&place, &["--resume", "old", "-p", "more"]);
    assert!(ran.err.contains("session old (loaded)") && !ran.err.contains("what was asked"), "{}", ran.err);
    assert_eq!(ran.ok(), "you said more\n", "a script gets the answer alone");
    let ran = place.run_with(&["drive", "--resume", "old", "--", "python3", "agent.py"], "more\n");
    assert!(ran.err.contains("> what was asked"), "{}", ran.err);
    assert_eq!(ran.ok(), "what was answered\nyou said more\n");
    drive(&place, &["--resume", "gone", "-p", "more"]).fails(2, "cannot go on with session gone");
}

#[test]
fn a_recording_holds_both_directions_and_is_private() {
    let place = place();
    drive(&place, &["--record", "talk.jsonl", "-p", "hello"]).ok();
    let text = std::fs::read_to_string(place.file("talk.jsonl")).unwrap();
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let short = |row: &Value| {
        let word = row["msg"]["method"].as_str().unwrap_or("answer");
        format!("{} {word}", row["dir"].as_str().unwrap())
    };
    expect![[r#"
        [
            "c2a initialize",
            "a2c answer",
            "c2a session/new",
            "a2c answer",
            "a2c session/update",
            "c2a session/prompt",
            "a2c session/update",
            "a2c answer",
        ]
    "#]]
    .assert_debug_eq(&sorted_update(rows.iter().map(short).collect()));
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(place.file("talk.jsonl")).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    drive(&place, &["--record", "talk.jsonl", "-p", "hello"]).fails(2, "cannot record to talk.jsonl");
}

/// The prompt and the agent's commands may cross on the way.
fn sorted_update(mut rows: Vec<String>) -> Vec<String> {
    if rows.get(4).is_some_and(|row| row == "c2a session/prompt") {
        rows.swap(4, 5);
    }
    rows
}

#[test]
fn lines_are_prompts_and_commands() {
    let script = "hello\n/commands\n/model\n/model big\n/model huge\n/tidy now\n\n/exit\nnever\n";
    let place = place();
    let words = ["drive", "--", "python3", "agent.py"];
    let ran = place.run_with(&words, script);
    for said in ["/tidy  Tidies up", "* 1. small  Small", "(model: big)", "there is no model huge", "* 2. big  Big one"]
    {
        assert!(ran.err.contains(said), "{said} is not in: {}", ran.err);
    }
    assert_eq!(ran.ok(), "you said hello\nyou said /tidy now\n");
    let ran = place.run(&["drive", "--model", "big", "-p", "hello", "--", "python3", "agent.py"]);
    assert!(ran.err.contains("(model: big)"), "{}", ran.err);
    place.run(&["drive", "--mode", "x", "-p", "hello", "--", "python3", "agent.py"]).fails(2, "no choice of a mode");
}

#[test]
fn files_and_terminals_are_served_only_when_switched_on() {
    let place = place();
    assert_eq!(drive(&place, &["-p", "write"]).ok(), "method not found: fs/write_text_file\n");
    assert!(!place.file("made").exists());
    assert_eq!(drive(&place, &["--files", "-p", "write"]).ok(), "wrote\n");
    assert_eq!(std::fs::read_to_string(place.file("made/by/agent.txt")).unwrap(), "hello");
    assert_eq!(drive(&place, &["--terminals", "-p", "run"]).ok(), "from the terminal\n4\n");
}

#[test]
fn an_interrupt_cancels_the_turn() {
    let place = place();
    let mut child = place.command(&["drive", "-p", "wait", "--", "python3", "agent.py"]).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut first = [0; 7];
    out.read_exact(&mut first).unwrap();
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn no_agent_survives_us() {
    let place = place();
    let mut child = place.command(&["drive", "--", "python3", "agent.py"]).spawn().unwrap();
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), b"pid\nwait\n").unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let pid: u32 = line.trim().parse().unwrap();
    let is_there = || std::path::Path::new(&format!("/proc/{pid}/cmdline")).exists();
    assert!(is_there());
    child.kill().unwrap();
    child.wait().unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while is_there() {
        assert!(Instant::now() < until, "the agent goes on without us");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn without_a_command_we_drive_ourselves() {
    let place = Place::new().env("SHELL", "/bin/false");
    let ran = place.run(&["drive", "-p", "list the rust files"]);
    assert!(ran.err.contains("● Find `**/*.rs`"), "{}", ran.err);
    assert_eq!(ran.ok(), "I'll glob for *.rs.\nFound two: one.rs and two.rs.\n");
    place.run(&["drive", "-p", "tour"]).fails(3, "denied: Write tour.txt");
    assert!(!place.file("tour.txt").exists());
    place.run(&["drive", "--yes", "--files", "-p", "tour"]).ok();
    assert!(place.file("tour.txt").exists());
    place.run(&["drive", "-p", "fail 401"]).fails(1, "error: ");
    place.run(&["drive", "--resume", "nobody", "-p", "x"]).fails(2, "cannot go on with session nobody");
    let shown = place.run(&["drive", "--json", "-p", "list the rust files"]).ok();
    let first: Value = serde_json::from_str(shown.lines().next().unwrap()).unwrap();
    let again = place.run(&["drive", "--resume", first["session_id"].as_str().unwrap(), "-p", "list the rust files"]);
    assert!(again.err.contains("(resumed)"), "{}", again.err);
    again.ok();
}

/// The examples on the page run where the page says, and print what it says.
#[test]
fn the_examples_on_the_page_are_what_drive_says() {
    let page = crate::golden::repository().join("docs/client.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once("<!-- example -->\n```sh\n").unwrap();
    let (example, after) = rest.split_once("```").unwrap();
    let place = place();
    let mut told = Vec::new();
    for part in example.split("\n\n") {
        let command = part.lines().next().unwrap().strip_prefix("$ tillerman ").unwrap();
        let (exe, typed) = (env!("CARGO_BIN_EXE_tillerman"), place.command(&[]));
        let mut shell = std::process::Command::new("sh");
        shell.env_clear().envs(typed.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.arg("-c").arg(format!("{exe} {command}")).current_dir(crate::golden::repository());
        let output = shell.stdin(std::process::Stdio::null()).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(!said.is_empty(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        told.push(format!("$ tillerman {command}\n{said}"));
    }
    assert!(told.len() >= 4, "{told:?}");
    let fresh = format!("{before}<!-- example -->\n```sh\n{}```{after}", told.join("\n"));
    expect_test::expect_file![page].assert_eq(&fresh);
}

#[test]
fn in_a_terminal_a_permission_is_a_menu_and_ctrl_c_cancels() {
    let place = place();
    let steps = [
        ("> ", "edit\n"),
        // What is typed before a question asks for it is no answer.
        ("your choice", "?\n"),
        ("up to the agent", ""),
        ("your choice", "7\n"),
        ("numbers", ""),
        ("your choice", "2\n"),
        ("the answer was once", ""),
        ("> ", "wait\n"),
        ("waiting", "\x03"),
    ];
    let more = [("cancelled", "think\n"), ("tokens in", ""), ("> ", "/exit\n")];
    let args = ["drive", "--", "python3", "agent.py"];
    let (code, seen) = typed(&place, LARGE, &args, &[&steps[..], &more[..]].concat());
    for said in ["? edit: a.txt", "2. Allow once", "the answer was once", "+two", "cancelling", "hmm", "[x] first"] {
        assert!(seen.contains(said), "{said} is not in: {seen}");
    }
    assert_eq!(seen.matches("+two").count(), 2, "with the question and with `?`, and not with the result: {seen}");
    assert_eq!(code, Some(0), "{seen}");
}

#[test]
fn what_an_agent_hides_is_shown_before_it_can_be_allowed_and_options_say_what_they_are() {
    let place = place();
    let steps = [
        ("> ", "sneak\n"),
        ("2. Stop [deny once]", ""),
        ("your choice", "1\n"),
        ("nothing is allowed yet", ""),
        ("your choice", "2\n"),
        ("the answer was r", ""),
        ("> ", "/exit\n"),
    ];
    let (code, seen) = typed(&place, (80, 24), &["drive", "--", "python3", "agent.py"], &steps);
    let first = seen.split("▲").next().unwrap();
    assert!(first.contains("? bash: cargo test\n  command:\n  │ cargo test\n  │ echo step\n"), "{seen}");
    assert!(!first.contains("rm -rf"), "the screen is too small for all of it: {seen}");
    for said in ["more lines", "not shown: type ? to see all", "  1. Deny [allow always]", "rm -rf ␛[2K /", "cwd: /etc"]
    {
        assert!(seen.contains(said), "{said} is not in: {seen}");
    }
    assert_eq!(code, Some(0), "{seen}");
}

#[test]
fn the_callers_environment_wins_and_the_login_shell_fills_what_is_missing() {
    let place = Place::new();
    let file = |name: &str, text: &str| {
        let path = place.file(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        path.display().to_string()
    };
    // On both, and on the shell's PATH alone.
    for name in ["ours/agent", "theirs/agent", "theirs/other"] {
        file(name, &format!("#!/usr/bin/env python3\nNAME = {name:?}\n{AGENT}"));
    }
    let (ours, theirs) = (place.file("ours").display().to_string(), place.file("theirs").display().to_string());
    let keys = "OPENAI_API_KEY=from-profile\\0GEMINI_API_KEY=from-profile\\0";
    let shell = file("login-shell", &format!("#!/bin/sh\nprintf 'PATH={theirs}:/usr/bin\\0{keys}'\n"));
    let path = format!("{ours}:{}", std::env::var("PATH").unwrap());
    let place = place.env("SHELL", &shell).env("PATH", &path).env("OPENAI_API_KEY", "from-caller");
    let drive = |agent: &str, prompt: &str| place.run(&["drive", "-p", prompt, "--", agent]).ok();
    assert_eq!(drive("agent", "env OPENAI_API_KEY GEMINI_API_KEY"), "from-caller from-profile\n");
    assert_eq!(drive("agent", "name"), "ours/agent\n");
    assert_eq!(drive("other", "name"), "theirs/other\n");
}

#[test]
fn output_in_a_terminal_of_the_agents_own_is_shown() {
    let place = place();
    let ran = drive(&place, &["-p", "shell"]);
    let wanted = "● make\n  failed\n  cc one.c\n  one.c: no such file\n  exit code 2\n";
    assert!(ran.err.replace("tillerman: ", "").contains(wanted), "{}", ran.err);
    ran.ok();
    let lines = drive(&place, &["--json", "-p", "shell"]).ok();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said: String = lines.iter().filter_map(|line| line["terminal"]["output"].as_str()).collect();
    assert_eq!(said, "cc one.c\none.c: no such file\n");
    assert!(lines.iter().any(|line| line["terminal"]["exit_code"] == 2), "{lines:#?}");
}

#[test]
fn a_turn_that_the_agent_gives_up_after_a_no_was_not_cancelled() {
    let place = place();
    drive(&place, &["--deny", "-p", "strict"]).fails(3, "the turn ended: cancelled");
    drive(&place, &["--yes", "-p", "strict"]).ok();
}

#[test]
fn a_command_that_nobody_has_is_not_sent_unless_it_is_meant() {
    let place = place();
    let script = "hello\n/foo bar\n/mode fast\n//foo bar\n/etc/hosts is a path\n/help\n";
    let ran = place.run_with(&["drive", "--", "python3", "agent.py"], script);
    for said in ["there is no command /foo", "type //foo", "the agent offers no choice of a mode", "/exit  leave"] {
        assert!(ran.err.contains(said), "{said} is not in: {}", ran.err);
    }
    assert_eq!(ran.err.matches("/model [NAME]").count(), 2, "once in each list: {}", ran.err);
    assert!(!ran.err.contains("/mode [NAME]"), "{}", ran.err);
    assert_eq!(ran.ok(), "you said hello\nyou said /foo bar\nyou said /etc/hosts is a path\n");
}

#[test]
fn a_command_that_is_no_agent_is_told_what_it_is() {
    let place = place();
    let drive = |words: &[&str]| place.run(&[&["drive", "-p", "x", "--"], words].concat());
    drive(&["cat"]).fails(2, "`cat` speaks no ACP: it only repeats its input");
    let codex = place.file("codex");
    std::fs::write(&codex, "#!/bin/sh\necho one >&2\necho 'stdin is not a terminal' >&2\nexit 1\n").unwrap();
    std::fs::set_permissions(&codex, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let ran = drive(&["./codex"]);
    ran.fails(2, "`codex` speaks no ACP itself; it needs the adapter `codex-acp`");
    assert!(ran.err.contains("  one\ntillerman:   stdin is not a terminal\n"), "a line each: {}", ran.err);
    drive(&["codex-acp"]).fails(2, "`npm install -g @agentclientprotocol/codex-acp` installs it");
    let flood = drive(&["sh", "-c", "seq 1 1000 >&2; exit 1"]);
    flood.fails(2, "  1000\n");
    assert!(flood.err.lines().count() < 20, "{}", flood.err);
    // What the agent says of a way to sign in is what helps.
    let ran = drive(&["python3", "agent.py", "login"]);
    ran.fails(2, "Log in: `--auth in`; Run `agent login`");
    let ran = place.run(&["drive", "--auth", "in", "-p", "x", "--", "python3", "agent.py", "login"]);
    ran.fails(2, "not signed in, also after `--auth in`");
    assert!(ran.err.contains("Log in: Run `agent login`"), "{}", ran.err);
}

#[test]
fn a_no_may_have_a_reason_which_is_the_next_prompt() {
    let place = place();
    let steps = [
        ("> ", "strict\n"),
        ("your choice", "y and be quick\n"),
        ("words can go with a no only", ""),
        ("your choice", "n use sed instead\n"),
        ("you said use sed instead", ""),
        ("> ", "/exit\n"),
    ];
    let (code, seen) = typed(&place, LARGE, &["drive", "--", "python3", "agent.py"], &steps);
    assert!(seen.contains("(sent: use sed instead)"), "{seen}");
    assert_eq!(code, Some(0), "{seen}");
}

#[test]
fn many_options_leave_the_question_on_the_screen_and_are_not_chosen_unseen() {
    let place = place();
    let steps = [
        ("> ", "many\n"),
        ("61. Deny [deny always]", ""),
        ("your choice", "40\n"),
        ("nothing is allowed yet", ""),
        ("your choice", "40\n"),
        ("the answer was o40", ""),
        ("> ", "/exit\n"),
    ];
    let (code, seen) = typed(&place, (80, 24), &["drive", "--", "python3", "agent.py"], &steps);
    let first = seen.split("your choice").next().unwrap();
    let screen: Vec<&str> = first.lines().rev().take(23).collect();
    assert!(screen.iter().any(|line| line.contains("? pick one of many")), "{seen}");
    assert!(first.contains("  1. Choice 1 [allow once]") && first.contains("50 more: type ?"), "{seen}");
    assert!(!first.contains("40. Choice 40"), "{seen}");
    assert_eq!(code, Some(0), "{seen}");
}

#[test]
fn a_terminal_without_an_editor_is_read_as_it_is() {
    let place = place().env("TERM", "dumb");
    let steps =
        [("> ", "hello\n"), ("you said hello", ""), ("> ", "strict\n"), ("your choice", "2\n"), ("> ", "/exit\n")];
    let (code, seen) = typed(&place, LARGE, &["drive", "--", "python3", "agent.py"], &steps);
    assert_eq!(code, Some(0), "{seen}");
    assert!(!seen.contains('\x1b'), "{seen:?}");
}

#[test]
fn an_agent_that_does_not_come_can_be_given_up() {
    let place = place();
    let mut child = place.command(&["drive", "-p", "x", "--", "python3", "agent.py", "slow"]).spawn().unwrap();
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    // Its signals are taken over before the agent is started, and the agent has children of its own then.
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let until = Instant::now() + Duration::from_secs(30);
    while std::fs::read_to_string(&children).unwrap_or_default().is_empty() {
        assert!(Instant::now() < until, "no agent was started");
        std::thread::sleep(Duration::from_millis(10));
    }
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("stopped before the agent was there"), "{said}");
}

#[test]
fn a_call_that_is_named_in_its_question_alone_has_that_name_and_an_echo_of_the_prompt_is_not_shown() {
    let ran = drive(&place(), &["--yes", "-p", "late name"]);
    assert!(ran.err.contains("● touch late") && !ran.err.contains("c8"), "{}", ran.err);
    assert!(!ran.err.contains("> late name"), "{}", ran.err);
    ran.ok();
}

#[test]
fn one_call_is_one_line_however_often_it_is_renamed() {
    let place = place();
    let steps =
        [("> ", "rename\n"), ("your choice", "1\n"), ("● slow work", "\x03"), ("cancelled", ""), ("> ", "/exit\n")];
    let (code, seen) = typed(&place, LARGE, &["drive", "--", "python3", "agent.py"], &steps);
    assert_eq!(code, Some(0), "{seen}");
    let titles: Vec<&str> = seen.lines().filter(|line| line.starts_with("● ")).collect();
    assert_eq!(titles, ["● touch zz", "● touch yy", "● slow work"], "{seen}");
}

#[test]
fn whoever_waits_sees_for_what_and_how_to_stop_and_nothing_of_it_stays() {
    let place = place();
    let args = ["drive", "--", "python3", "agent.py"];
    let steps =
        [("> ", "wait\n"), ("waiting for fake 1 · 0 s · Ctrl-C stops", "\x03"), ("cancelled", ""), ("> ", "/exit\n")];
    let (code, seen) = typed(&place, LARGE, &args, &steps);
    assert_eq!(code, Some(0), "{seen}");
    let steps = [("starting python3 · 0 s · Ctrl-C stops", "\x03"), ("stopped before the agent was there", "")];
    let (code, seen) = typed(&place, LARGE, &["drive", "--", "python3", "agent.py", "slow"], &steps);
    assert_eq!(code, Some(130), "{seen}");
    let last = seen.rsplit("\x1b[J").next().unwrap();
    assert!(!last.contains("starting python3"), "{seen:?}");
    // A program that reads the events gets nothing else, on whatever stream.
    let (code, seen) = typed(
        &place,
        LARGE,
        &["drive", "--json", "-p", "rename", "--yes", "--", "python3", "agent.py"],
        &[("slow work", "\x03")],
    );
    assert_eq!(code, Some(130), "{seen}");
    assert!(!seen.contains("Ctrl-C stops"), "{seen}");
}
