//! Nothing outlives its call, its session or us.

use std::time::{Duration, Instant};

use serde_json::json;
use vocab::parts_text;

use crate::shell_support::{ShellSession, alive, eventually, mark, wait_for};

/// Ways to get away, each ending in a process with `MARK` among its arguments. The command itself stays in the
/// foreground, except where leaving is the point.
const ESCAPES: [&str; 12] = [
    "setsid sleep MARK & sleep 600",
    "nohup sleep MARK >/dev/null 2>&1 & sleep 600",
    "( ( sleep MARK & ) & ); sleep 600",
    "sleep MARK & disown; sleep 600",
    // On a terminal the end of the shell hangs up on everybody, also on those who were about to leave it.
    "trap '' HUP; ( setsid nohup sleep MARK </dev/null >/dev/null 2>&1 & ); exit 0",
    "env -i /bin/sleep MARK & sleep 600",
    "trap '' TERM HUP INT; sleep MARK & wait; sleep 600",
    "(exec -a kworker sleep MARK) & sleep 600",
    "setsid bash -c \"trap '' TERM; setsid bash -c 'trap \\\"\\\" TERM HUP; sleep MARK; :' _ & wait\" & sleep 600",
    "python3 -c 'import os,sys,time
if os.fork(): time.sleep(600)
os.setsid()
if os.fork(): os._exit(0)
os.chdir(\"/\")
for fd in range(256):
    try: os.close(fd)
    except OSError: pass
os.execvp(\"sleep\", [\"sleep\", sys.argv[1]])' MARK",
    "sleep MARK & sleep 0.2; kill -STOP $!; sleep 600",
    "set -m; sleep MARK & set +m; sleep 600",
];

/// Runs as a process of its own, see below: holds all escapes on leashes until it is killed.
#[tokio::test]
async fn escape_helper() {
    let Ok(marks) = std::env::var("ESCAPE_HELPER") else { return };
    let session = ShellSession::new();
    let on_terminal = std::env::var_os("ESCAPE_TERMINAL").is_some();
    for (line, mark) in ESCAPES.iter().zip(marks.split(',')) {
        let mut input = json!({ "command": line.replace("MARK", mark) });
        if on_terminal {
            input["run_in_background"] = true.into();
            input["pty"] = true.into();
        }
        tokio::spawn(session.tool("bash").run(vocab::Json::trusted(input.to_string()), context()));
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
}

fn input(command: &str) -> vocab::Json {
    vocab::Json::trusted(json!({ "command": command }).to_string())
}

fn context() -> vocab::CallContext {
    vocab::CallContext {
        session: "s".into(),
        call: "c".into(),
        granted: vocab::Required::DangerFullAccess,
        progress: std::sync::Arc::new(|_| {}),
        todos: std::sync::Arc::from([]),
        editor_requests: None,
        children: None,
        processes: None,
    }
}

#[test]
fn nothing_survives_our_own_kill_9() {
    nothing_survives(|_| {});
}

#[test]
fn nothing_on_a_terminal_survives_our_own_kill_9() {
    nothing_survives(|helper| _ = helper.env("ESCAPE_TERMINAL", "1"));
}

fn nothing_survives(prepare: impl FnOnce(&mut std::process::Command)) {
    let marks: Vec<String> = ESCAPES.iter().map(|_| mark()).collect();
    let mut helper = std::process::Command::new(std::env::current_exe().unwrap());
    helper
        .args(["shell_ending::escape_helper", "--exact"])
        .env("ESCAPE_HELPER", marks.join(","))
        .stdout(std::process::Stdio::null());
    prepare(&mut helper);
    let mut helper = helper.spawn().unwrap();
    for (mark, line) in marks.iter().zip(ESCAPES) {
        eventually(Duration::from_secs(10), &format!("started: {line}"), || !alive(mark).is_empty());
    }
    helper.kill().unwrap();
    helper.wait().unwrap();
    let start = Instant::now();
    for (mark, line) in marks.iter().zip(ESCAPES) {
        let rest = Duration::from_secs(2).saturating_sub(start.elapsed());
        eventually(rest, &format!("ended: {line}"), || alive(mark).is_empty());
    }
}

#[tokio::test]
async fn dropping_the_call_ends_sleepers_term_ignorers_and_setsid_grandchildren() {
    let session = ShellSession::new();
    let lines = [
        "sleep MARK",
        "trap '' TERM; sleep MARK; sleep MARK",
        "setsid bash -c 'trap \"\" TERM; setsid sleep MARK; :' _ & sleep 60",
    ];
    let marks = lines.map(|_| mark());
    let calls: Vec<_> = lines
        .iter()
        .zip(&marks)
        .map(|(line, mark)| tokio::spawn(session.tool("bash").run(input(&line.replace("MARK", mark)), context())))
        .collect();
    for mark in &marks {
        wait_for(Duration::from_secs(5), || !alive(mark).is_empty()).await;
    }
    let start = Instant::now();
    for call in &calls {
        call.abort();
    }
    for mark in &marks {
        wait_for(Duration::from_secs(3).saturating_sub(start.elapsed()), || alive(mark).is_empty()).await;
    }
}

#[tokio::test]
async fn a_child_that_keeps_the_pipe_does_not_keep_the_result() {
    let session = ShellSession::new();
    let mark = mark();
    let lines = [
        "echo hi; sleep MARK &",
        "echo hi; (sleep MARK &)",
        "echo hi; setsid sleep MARK &",
        "echo hi; nohup sleep MARK &",
        "echo hi; ( ( sleep MARK ) & ) ; exit 0",
        "echo hi; bash -c 'sleep MARK & disown'",
        "echo hi; exec 3>&1; sleep MARK >&3 2>&1 &",
        "echo hi; while :; do echo more; sleep 0.01; done & sleep MARK &",
    ];
    for line in lines {
        let start = Instant::now();
        let (text, is_error) = session.bash(&line.replace("MARK", &mark)).await;
        assert!(start.elapsed() < Duration::from_secs(2), "{line}: {:?}", start.elapsed());
        assert!(text.contains("hi") && text.contains("still run, as bash_") && !is_error, "{line}: {text}");
    }
    wait_for(Duration::from_secs(1), || alive(&mark).len() == lines.len()).await;
    drop(session);
    wait_for(Duration::from_secs(3), || alive(&mark).is_empty()).await;
}

#[tokio::test]
async fn a_server_left_running_keeps_its_output_pipe() {
    let session = ShellSession::new();
    // It would die of SIGPIPE at its first line if nobody drained it.
    let (text, _) = session.bash("{ sleep 0.3; echo late; echo alive > proof; } &").await;
    let id = text.split("as ").nth(1).unwrap().split(';').next().unwrap().to_owned();
    let outcome = session.call("bash_read", json!({ "id": id, "wait_ms": 3000 })).await;
    assert!(parts_text(&outcome.parts).starts_with("late\n"), "{}", parts_text(&outcome.parts));
    let proof = session.dir.path().join("ws/proof");
    wait_for(Duration::from_secs(2), || proof.exists()).await;
}

#[tokio::test]
async fn a_timeout_ends_those_who_ignore_term_stop_themselves_or_hide() {
    let session = ShellSession::new();
    let lines = [
        "trap '' TERM; while :; do sleep MARK; done",
        "kill -STOP $$; sleep MARK",
        "sleep MARK & kill -STOP $!; kill -STOP $$",
        "trap 'sleep MARK' TERM; sleep MARK",
        "trap 'setsid sleep MARK & wait' TERM; sleep MARK & wait",
        "bash -c 'trap \"\" TERM HUP INT QUIT; sleep MARK; sleep MARK'",
        "set -m; for i in 1 2 3; do sleep MARK & done; wait",
    ];
    let mark = mark();
    let calls = lines.map(|line| {
        let command = line.replace("MARK", &mark);
        let input = vocab::Json::trusted(json!({ "command": command, "timeout": 200 }).to_string());
        (line, tokio::spawn(session.tool("bash").run(input, context())))
    });
    let start = Instant::now();
    for (line, call) in calls {
        let outcome = call.await.unwrap();
        let text = parts_text(&outcome.parts);
        assert!(text.contains("[timed out after 0.2 s]") && outcome.is_error, "{line}: {text}");
    }
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    wait_for(Duration::from_secs(1), || alive(&mark).is_empty()).await;
}

#[tokio::test]
async fn a_fork_loop_hits_its_bound_and_is_ended() {
    let session = ShellSession::with(|options| options.pids_max = 60);
    let mark = mark();
    let start = Instant::now();
    let (text, is_error) = session.bash(&format!("while :; do sleep {mark} & done; wait")).await;
    assert!(is_error && text.contains("processes at once, more than allowed]"), "{text}");
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    wait_for(Duration::from_secs(5), || alive(&mark).is_empty()).await;
}

#[tokio::test]
async fn a_command_that_kills_its_leash_gains_nothing() {
    let session = ShellSession::new();
    let mark = mark();
    let (text, is_error) = session.bash(&format!("sleep {mark} & kill -9 $PPID; sleep {mark}")).await;
    assert!(is_error && text.contains("supervisor"), "{text}");
    wait_for(Duration::from_secs(1), || alive(&mark).is_empty()).await;
}
