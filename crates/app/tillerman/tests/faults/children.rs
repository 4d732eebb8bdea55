//! Processes that a session starts, and what is written for people: nothing outlives anybody it should not, and nobody
//! waits for a reader. What is below the dialects is looked at through one of them.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::faults::{Driver, MIB, PATIENCE, count, has, mark, peak_kib, running, within};

use crate::drivers::{Serve, first};
use crate::flow::busy;
use crate::worlds::{BINARY, tour};

#[test]
fn f3_nobody_reads_our_notes() {
    let world = tour();
    // Each of the first unknown settings is worth a note; together they are more than the pipe holds.
    let mut config = String::new();
    for n in 0..30 {
        config.push_str(&format!("unknown_{n}_{} = 1\n", "x".repeat(6000)));
    }
    for n in 0..8000 {
        config.push_str(&format!("unknown_{n}_{} = 1\n", "y".repeat(80)));
    }
    world.config(&config);
    let start = Instant::now();
    let mut serve = Serve::of(world.dialect_command("serve", &[], &[]).stderr(Stdio::piped()));
    serve.ready();
    let took = start.elapsed();
    serve.good_turn("say hello");
    serve.good_turn(r#"call bash {"command":"head -c 1000000 /dev/zero | tr '\\0' e >&2"} then say done"#);
    assert!(serve.stderr.is_some());
    serve.shutdown();
    println!("F3: {} bytes of settings to complain about, ready after {took:?}", config.len());
}

/// Ways to get away, each ending in a process with `MARK` among its arguments.
const ESCAPES: [&str; 12] = [
    "sleep MARK",
    "setsid sleep MARK & sleep 600",
    "nohup sleep MARK >/dev/null 2>&1 & sleep 600",
    "( ( sleep MARK & ) & ); sleep 600",
    "sleep MARK & disown; sleep 600",
    "( setsid nohup sleep MARK </dev/null >/dev/null 2>&1 & ); sleep 600",
    "env -i /bin/sleep MARK & sleep 600",
    "trap '' TERM HUP INT; sleep MARK & wait; sleep 600",
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
    "sleep MARK & sleep 0.1; kill -STOP $!; sleep 600",
    "set -m; sleep MARK & set +m; sleep 600",
];

#[test]
fn f5_when_we_are_killed_no_child_survives() {
    let mut slowest = Duration::ZERO;
    let mut tried = 0;
    for _ in 0..count(1, 10) {
        for line in ESCAPES {
            if line.starts_with("python3") && !has("python3") {
                crate::skip("F5 (double fork)", "no python3");
                continue;
            }
            let world = tour();
            let mut serve = Serve::new(&world, &[]);
            let mark = mark();
            busy(&mut serve, line, &mark);
            serve.kill();
            let gone = within(Duration::from_secs(4), || running(&mark).is_empty());
            let gone = gone.unwrap_or_else(|| panic!("`{line}` lives on"));
            assert!(gone <= Duration::from_secs(2), "`{line}`: {gone:?}");
            slowest = slowest.max(gone);
            tried += 1;
        }
    }
    println!("F5: {tried} escapes, 0 survivors, the slowest gone after {slowest:?}");
}

fn bash(serve: &mut Serve, command: &str) -> Value {
    let seen = serve.good_turn(&format!("call bash {} then say done", json!({ "command": command })));
    first(&seen, "tool_result").clone()
}

#[test]
fn f6_a_tool_that_writes_without_end_is_drained_and_bounded() {
    let world = tour();
    let mut serve = Serve::new(&world, &[]);
    bash(&mut serve, "echo warm");
    let before = serve.rss_kib();
    let mib = count(128, 1024);
    let commands = [
        format!("yes | head -c {}; echo END", mib * MIB),
        format!("head -c {} /dev/zero; echo END", mib * MIB),
        format!("head -c {} /dev/urandom; echo END >&2", mib * MIB / 8),
    ];
    for command in &commands {
        let result = bash(&mut serve, command);
        let output = result["output"].as_str().unwrap();
        assert!(output.len() <= MIB + 4096, "{} bytes", output.len());
        assert!(output.contains("END"), "the tail is missing");
    }
    let grown = peak_kib(serve.pid()).saturating_sub(before) / 1024;
    let mut spilled = 0;
    let mut open = vec![world.home.join("spill")];
    while let Some(path) = open.pop() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            let meta = entry.metadata().unwrap();
            if meta.is_dir() { open.push(entry.path()) } else { spilled = spilled.max(meta.len()) }
        }
    }
    println!("F6: {} tools of {mib} MiB, memory +{grown} MiB, largest spill {} MiB", commands.len(), spilled >> 20);
    assert!(spilled > 0 && spilled <= 64 << 20, "{spilled}");
    assert!(grown < 32, "+{grown} MiB");
}

#[test]
fn f7_a_background_child_does_not_hold_the_result() {
    let world = tour();
    let mut serve = Serve::new(&world, &[]);
    let mut marks = Vec::new();
    let lines = ["echo hi; sleep MARK &", "echo hi; setsid sleep MARK &", "echo hi; nohup sleep MARK & exit 0"];
    for line in lines {
        let mark = mark();
        let start = Instant::now();
        let result = bash(&mut serve, &line.replace("MARK", &mark));
        assert!(start.elapsed() < Duration::from_secs(4), "{line}: {:?}", start.elapsed());
        assert!(result["output"].as_str().unwrap().contains("hi"), "{result}");
        marks.push(mark);
    }
    // They go on for the session's sake, and end with it.
    serve.shutdown();
    let gone = within(Duration::from_secs(3), || marks.iter().all(|mark| running(mark).is_empty()));
    assert!(gone.is_some(), "children outlive the session");
    println!("F7: {} background children", lines.len());
}

#[test]
fn f8_a_tool_that_does_not_want_to_end_is_ended() {
    let world = tour();
    let mut serve = Serve::new(&world, &[]);
    let lines = [
        "trap '' TERM INT HUP; sleep MARK; sleep MARK",
        "sleep MARK & kill -STOP $$; sleep 600",
        "while :; do sleep MARK & sleep 0.05; done",
    ];
    let mut slowest = Duration::ZERO;
    for line in lines {
        let mark = mark();
        busy(&mut serve, line, &mark);
        let start = Instant::now();
        serve.interrupt();
        let seen = serve.until("turn_complete");
        assert_eq!(seen.last().unwrap()["stop_reason"], "interrupted");
        assert_eq!(first(&seen, "tool_result")["is_error"], true);
        assert!(start.elapsed() < Duration::from_secs(4), "{line}: {:?}", start.elapsed());
        let gone = within(Duration::from_secs(4), || running(&mark).is_empty());
        slowest = slowest.max(gone.unwrap_or_else(|| panic!("`{line}` lives on")));
    }
    // A time limit does the same without anybody's help.
    let mark = mark();
    let command = json!({ "command": format!("trap '' TERM; sleep {mark}; sleep {mark}"), "timeout": 300 });
    let seen = serve.good_turn(&format!("call bash {command} then say done"));
    assert_eq!(first(&seen, "tool_result")["is_error"], true);
    assert!(within(Duration::from_secs(4), || running(&mark).is_empty()).is_some());
    println!("F8: {} stubborn tools and a time limit, the slowest gone {slowest:?} after the turn", lines.len());
}

#[test]
fn f4_a_killed_shell_in_between_ends_us_too() {
    // The controller is a shell that holds our pipes; it is killed, not asked.
    let world = tour();
    let (mark, out) = (mark(), world.root().join("out"));
    let prompt = json!({ "type": "prompt", "text": format!("call bash {{\"command\":\"sleep {mark}\"}} then say x") });
    let script = format!(
        "coproc S {{ {} serve --model tour; }}; echo \"$S_PID\" > {out}.pid; exec 3<&${{S[0]}} 4>&${{S[1]}}; \
         printf '%s\\n' '{prompt}' >&4; \
         while read -r line <&3; do echo \"$line\" >> {out}; case $line in *request_id*) id=${{line#*request_id\\\":\\\"}}; id=${{id%%\\\"*}}; \
         printf '{{\"type\":\"permission_response\",\"request_id\":\"%s\",\"decision\":\"allow\"}}\\n' $id >&4;; esac; done",
        BINARY,
        out = out.display(),
    );
    let mut shell = Command::new("bash");
    shell.args(["-c", &script]).current_dir(&world.workspace).env("TILLERMAN_HOME", &world.home);
    let mut shell = shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let up = within(PATIENCE, || !running(&mark).is_empty());
    assert!(up.is_some(), "{}", fs::read_to_string(&out).unwrap_or_default());
    let pid: u32 = fs::read_to_string(format!("{}.pid", out.display())).unwrap().trim().parse().unwrap();
    shell.kill().unwrap();
    shell.wait().unwrap();
    let children = within(Duration::from_secs(8), || running(&mark).is_empty());
    let exit = within(Duration::from_secs(8), || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z")
    });
    assert!(children.is_some_and(|time| time <= Duration::from_secs(3)), "children: {children:?}");
    assert!(exit.is_some_and(|time| time <= Duration::from_secs(5)), "exit: {exit:?}");
    println!("F4: killed shell: children gone after {children:?}, exit {exit:?} later");
}
