//! Foreground commands: results, limits, output, environment.

use std::time::{Duration, Instant};

use serde_json::json;
use vocab::{Json, Required, parts_text};

use crate::shell_support::{ShellSession, details};

#[tokio::test]
async fn output_and_exit_code_come_back() {
    let session = ShellSession::new();
    assert_eq!(session.bash("echo out; echo err >&2; echo end").await, ("out\nerr\nend\n".into(), false));
    assert_eq!(session.bash("true").await, ("(no output)".into(), false));
    assert_eq!(session.bash("printf x; exit 3").await, ("x\n[exit code 3]".into(), true));
    assert_eq!(session.bash("kill -9 $$").await, ("(no output)\n[killed by signal 9]".into(), true));
    let outcome = session.call("bash", json!({ "command": "exit 7" })).await;
    assert_eq!(details(&outcome)["exitCode"], 7);
}

#[tokio::test]
async fn it_runs_in_the_workspace_or_in_cwd() {
    let session = ShellSession::new();
    let workspace = session.dir.path().join("ws").canonicalize().unwrap();
    std::fs::create_dir(workspace.join("sub")).unwrap();
    assert_eq!(session.bash("pwd").await.0.trim(), workspace.to_str().unwrap());
    let outcome = session.call("bash", json!({ "command": "pwd", "cwd": "sub" })).await;
    assert_eq!(parts_text(&outcome.parts).trim(), workspace.join("sub").to_str().unwrap());
    let outcome = session.call("bash", json!({ "command": "pwd", "cwd": "nope" })).await;
    assert!(outcome.is_error && parts_text(&outcome.parts).contains("does not exist"));
}

#[tokio::test]
async fn a_timeout_ends_everything_and_keeps_what_was_said() {
    let session = ShellSession::new();
    let start = Instant::now();
    let outcome = session.call("bash", json!({ "command": "echo before; sleep 60", "timeout": 300 })).await;
    assert_eq!(parts_text(&outcome.parts), "before\n[timed out after 0.3 s]");
    assert!(outcome.is_error && start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

#[tokio::test]
async fn the_command_sees_only_its_own_three_descriptors_and_no_input() {
    let session = ShellSession::new();
    // An inheritable descriptor of ours, as an editor may have left it: duplicated without close-on-exec.
    let file = std::fs::File::open("/dev/zero").unwrap();
    let leaked = rustix::io::dup(&file).unwrap();
    let (text, _) = session.bash("ls /proc/$$/fd; cat; readlink /proc/$$/fd/0").await;
    drop(leaked);
    assert_eq!(text, "0\n1\n2\n/dev/null\n");
}

#[tokio::test]
async fn progress_tells_the_newest_output_but_not_too_often() {
    let session = ShellSession::new();
    session.bash("for i in $(seq 1 40); do echo $i; sleep 0.02; done").await;
    let told = session.progress.lock().unwrap();
    assert!(told.len() >= 4, "{}", told.len());
    for pair in told.windows(2) {
        assert!(pair[1].0 - pair[0].0 >= Duration::from_millis(95));
        assert!(pair[1].1.starts_with(&pair[0].1));
    }
}

#[tokio::test]
async fn secrets_stay_out_of_the_environment() {
    // Twelve canaries; the variables are handed over by a helper below because a test must not change its own.
    let canaries = [
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "PGPASSWORD",
        "MY_PASSWD",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "HTTP_BASIC_AUTH",
        "npm_config__authToken",
        "DATABASE_URL",
        "INNOCENT",
        "HTTPS_PROXY",
    ];
    let mut helper = std::process::Command::new(std::env::current_exe().unwrap());
    helper.args(["shell_run::canary_helper", "--exact", "--nocapture"]).env("CANARY_HELPER", "1");
    for name in canaries {
        let value = match name {
            "DATABASE_URL" => "postgres://user:canary-url@db/x",
            "HTTPS_PROXY" => "http://canary-url@proxy:1",
            _ => "canary-value",
        };
        helper.env(name, value);
    }
    let output = helper.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("TILLERMAN=1") && text.contains("proxy:1"), "{text}");
    assert!(!text.contains("canary-"), "{text}");
}

#[tokio::test]
async fn canary_helper() {
    if std::env::var_os("CANARY_HELPER").is_some() {
        let session = ShellSession::with(|options| options.secrets = ["canary-value"].into_iter().collect());
        // Its own environment, and that of the supervisor above it.
        let (text, _) = session.bash("env; cat /proc/$PPID/environ").await;
        println!("{text}");
    }
}

fn rss_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

async fn floods(command: &str, bytes: u64) {
    let session = ShellSession::new();
    let before = rss_kib();
    let call = session.call("bash", json!({ "command": command, "timeout_s": 60 }));
    tokio::pin!(call);
    let mut peak = 0;
    let outcome = loop {
        tokio::select! {
            outcome = &mut call => break outcome,
            () = tokio::time::sleep(Duration::from_millis(20)) => peak = rss_kib().max(peak),
        }
    };
    let text = parts_text(&outcome.parts);
    let details = details(&outcome);
    assert_eq!(details["totalBytes"], bytes, "{command}");
    assert_eq!(details["truncated"], true);
    assert!(text.len() < 200 * 1024 && text.contains("bytes omitted; the first 67108864 bytes in "), "{command}");
    let spill = std::fs::metadata(details["spill"].as_str().unwrap()).unwrap();
    assert_eq!(spill.len(), 64 * 1024 * 1024);
    // Of the whole process, in which other tests run at the same time.
    assert!(peak.saturating_sub(before) < 96 * 1024, "{command}: grew by {} KiB", peak.saturating_sub(before));
    // The timer above fired while the flood came in: the runtime was never blocked for long.
    assert!(peak > 0);
}

#[tokio::test]
async fn a_gigabyte_is_drained_in_little_memory() {
    floods("head -c 1G /dev/zero", 1 << 30).await;
}

#[tokio::test]
async fn binary_and_one_endless_line_are_drained_as_well() {
    floods("head -c 100M /dev/urandom", 100 << 20).await;
    floods("head -c 100M /dev/zero | tr '\\0' x", 100 << 20).await;
}

#[tokio::test]
async fn long_output_can_be_read_in_full_from_the_spill_file() {
    let session = ShellSession::new();
    let outcome = session.call("bash", json!({ "command": "seq 1 50000" })).await;
    let path = details(&outcome)["spill"].as_str().unwrap().to_owned();
    let all: String = (1..=50_000).map(|n| format!("{n}\n")).collect();
    assert_eq!(std::fs::read_to_string(path).unwrap(), all);
    assert!(!outcome.is_error && parts_text(&outcome.parts).len() < 34 * 1024);
}

#[tokio::test]
async fn less_than_full_access_runs_only_what_is_read_only() {
    let session = ShellSession::new();
    std::fs::write(session.dir.path().join("ws/a.txt"), "hello\n").unwrap();
    let outcome = session.call_as("bash", json!({ "command": "cat a.txt | wc -l" }), Required::ReadOnly).await;
    assert_eq!((parts_text(&outcome.parts).trim(), outcome.is_error), ("1", false));
    let outcome = session.call_as("bash", json!({ "command": "touch b" }), Required::WorkspaceWrite).await;
    assert!(outcome.is_error && parts_text(&outcome.parts).contains("was not run"));
    assert!(!session.dir.path().join("ws/b").exists());
}

#[tokio::test]
async fn a_plan_says_everything_that_would_run() {
    let session = ShellSession::new();
    let workspace = session.dir.path().join("ws");
    std::os::unix::fs::symlink("/etc", workspace.join("e")).unwrap();
    std::fs::create_dir(workspace.join("sub")).unwrap();
    let facts = |input: serde_json::Value| -> Vec<String> {
        let plan = session.tool("bash").plan(&Json::trusted(input.to_string())).unwrap();
        plan.preview.iter().flat_map(|facts| facts.iter()).map(|it| format!("{}: {}", it.label, it.text)).collect()
    };
    let script = format!("cargo test\n{}rm -rf \"$HOME\"", "echo\n".repeat(300));
    assert_eq!(facts(json!({ "command": script })), [format!("command: {script}")]);
    assert_eq!(facts(json!({ "command": "ls", "cwd": "." })), ["command: ls"]);
    let all = json!({ "command": "make", "cwd": "/etc", "pty": true, "run_in_background": true, "timeout_s": 600 });
    let seen =
        ["command: make", "directory: /etc", "runs: in the background, on a terminal of 80x24", "time limit: 600 s"];
    assert_eq!(facts(all), seen);
    assert_eq!(facts(json!({ "command": "make", "cwd": "e" }))[1], "directory: /etc (named e)");
    let sub = workspace.canonicalize().unwrap().join("sub");
    assert_eq!(facts(json!({ "command": "make", "cwd": "sub" }))[1], format!("directory: {}", sub.display()));
}

#[tokio::test]
async fn a_plan_names_the_need_the_mutation_and_a_summary() {
    let session = ShellSession::new();
    let plan = |input: serde_json::Value| session.tool("bash").plan(&Json::trusted(input.to_string()));
    let read = plan(json!({ "command": "ls -la" })).unwrap();
    assert_eq!((read.required, read.mutation, &*read.summary), (Required::ReadOnly, None, "ls -la"));
    let write = plan(json!({ "command": "rm -rf x\necho" })).unwrap();
    assert_eq!(write.required, Required::DangerFullAccess);
    assert_eq!((write.mutation.as_deref(), &*write.summary), (Some("rm -rf x\necho"), "rm -rf x\u{240a}echo"));
    let outside = plan(json!({ "command": "ls", "cwd": "/" })).unwrap();
    assert_eq!(outside.required, Required::DangerFullAccess);
    assert!(plan(json!({ "cmd": "ls" })).unwrap_err().contains("command"));
}

#[tokio::test]
async fn a_missing_supervisor_is_an_answer_not_a_hang() {
    let session = ShellSession::with(|options| options.exe = "/nowhere/leash".into());
    let (text, is_error) = session.bash("echo x").await;
    assert!(is_error && text.contains("supervisor"), "{text}");
}
