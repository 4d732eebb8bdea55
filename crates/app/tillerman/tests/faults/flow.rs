//! Flow control and processes: a reader that stops costs no memory, and nothing outlives anybody it should not.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::mock_model::{MockModel, Reply, Step};

use crate::driver::{PATIENCE, Serve, World, brief, count, first, mark, peak_kib, running, said, skip, within};
use crate::process::Process;

pub(crate) const MIB: usize = 1 << 20;

/// A text that shows every loss and every change of order.
pub(crate) fn piece(at: usize, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 16);
    let mut line = 0;
    while text.len() < bytes {
        text.push_str(&format!("{at}.{line} "));
        line += 1;
    }
    text
}

pub(crate) const PIECE_BYTES: usize = 32 * 1024;

pub(crate) fn flood(mib: usize) -> (Reply, usize) {
    let pieces = mib * MIB / PIECE_BYTES;
    let mut steps: Vec<Step> = (0..pieces).map(|at| Step::Text(piece(at, PIECE_BYTES))).collect();
    steps.extend([Step::finish("stop"), Step::usage(1, 0, 1), Step::Done]);
    (Reply::stream(steps), pieces)
}

/// Memory seen while nobody reads.
pub(crate) fn watch(serve: &Process, time: Duration) -> u64 {
    let end = Instant::now() + time;
    let mut most = 0;
    while Instant::now() < end {
        most = most.max(serve.rss_kib());
        std::thread::sleep(Duration::from_millis(50));
    }
    most
}

#[test]
fn f1_a_reader_that_stops_costs_no_memory_and_loses_nothing() {
    let model = MockModel::start_blocking();
    let world = World::with(&model);
    let mut serve = world.serve(&[]);
    serve.good_turn("say warm");
    let mib = count(40, 200);
    let (reply, pieces) = flood(mib);
    model.push(reply);
    serve.prompt("flood");
    let start = serve.until("text_delta");
    let before = serve.rss_kib();
    let most = watch(&serve, Duration::from_secs(count(3, 20) as u64));
    let grown = most.saturating_sub(before) / 1024;
    let mut text = said(&start);
    text.reserve(mib * MIB);
    let mut longest = 0;
    loop {
        let value = serve.next(PATIENCE).expect("the flood goes on");
        match value["type"].as_str().unwrap() {
            "text_delta" => {
                let delta = value["delta"].as_str().unwrap();
                longest = longest.max(delta.len());
                text.push_str(delta);
            }
            "turn_complete" => {
                assert_eq!(value["stop_reason"], "end_turn");
                break;
            }
            other => panic!("{other} in a flood"),
        }
    }
    let mut at = 0;
    for n in 0..pieces {
        let want = piece(n, PIECE_BYTES);
        assert!(text[at..].starts_with(&want), "piece {n} of {pieces} is not where it belongs");
        at += want.len();
    }
    assert_eq!(at, text.len(), "more came than was sent");
    let end = peak_kib(serve.pid()) / 1024;
    println!("F1: {mib} MiB, +{grown} MiB while stopped, peak {end} MiB at the end, longest delta {longest}");
    assert!(grown < 64, "+{grown} MiB while nobody read");
    assert!(end < 200, "{end} MiB at the peak");
}

#[test]
fn f2_an_interrupt_gets_through_a_blocked_output() {
    let model = MockModel::start_blocking();
    for round in 0..4 {
        let world = World::with(&model);
        let mut serve = world.serve(&[]);
        let (reply, _) = flood(20);
        model.push(reply);
        serve.prompt("flood");
        let mut text = said(&serve.until("text_delta")).len();
        std::thread::sleep(Duration::from_millis(if round % 2 == 0 { 300 } else { 0 }));
        serve.interrupt();
        std::thread::sleep(Duration::from_millis(if round < 2 { 300 } else { 0 }));
        let resumed = Instant::now();
        let end = loop {
            let value = serve.next(PATIENCE).expect("the end of the turn");
            match value["type"].as_str().unwrap() {
                "text_delta" => text += value["delta"].as_str().unwrap().len(),
                "turn_complete" => break value,
                other => panic!("{other}"),
            }
        };
        let took = resumed.elapsed();
        assert_eq!(end["stop_reason"], "interrupted");
        assert!(took < Duration::from_secs(2), "{took:?}");
        assert!(text < 4 * MIB, "{text} bytes of the flood were still produced");
        serve.good_turn("say after");
        println!("F2: round {round}: ended {took:?} after reading resumed, {text} bytes of 20 MiB said");
    }
}

#[test]
fn f3_nobody_reads_our_notes() {
    let world = World::tour();
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
    let mut serve = Serve::start(world.serve_command(&[], &[]).stderr(Stdio::piped()));
    serve.ready();
    let took = start.elapsed();
    serve.good_turn("say hello");
    serve.good_turn(r#"call bash {"command":"head -c 1000000 /dev/zero | tr '\\0' e >&2"} then say done"#);
    assert!(serve.stderr.is_some());
    serve.shutdown();
    println!("F3: {} bytes of settings to complain about, ready after {took:?}", config.len());
}

/// A turn that runs a command which outlives everything unless somebody ends it; returns its mark.
fn busy(serve: &mut Serve, line: &str) -> String {
    let mark = mark();
    let command = line.replace("MARK", &mark);
    serve.prompt(&format!("call bash {} then say done", json!({ "command": command })));
    let seen = serve.until("permission_request");
    serve.answer(seen.last().unwrap(), "allow");
    let up = within(PATIENCE, || !running(&mark).is_empty());
    assert!(up.is_some(), "`{line}` never came up");
    mark
}

#[test]
fn f4_when_the_controller_dies_so_do_we_and_our_children() {
    let mut slowest = (Duration::ZERO, Duration::ZERO);
    let rounds = count(5, 50);
    for round in 0..rounds {
        let world = World::tour();
        let mut serve = world.serve(&[]);
        let mark = match round % 5 {
            // A question is open.
            4 => {
                serve.prompt(r#"call bash {"command":"sleep 600"} then say done"#);
                serve.until("permission_request");
                mark()
            }
            3 => busy(&mut serve, "trap '' TERM HUP INT; sleep MARK; sleep MARK"),
            2 => busy(&mut serve, "setsid sleep MARK & sleep MARK"),
            _ => busy(&mut serve, "sleep MARK"),
        };
        // All that a dead controller leaves: closed pipes.
        serve.stdout = None;
        serve.close_stdin();
        let start = Instant::now();
        let children = within(Duration::from_secs(8), || running(&mark).is_empty());
        let children = children.unwrap_or_else(|| panic!("case {}: children live on", round % 5));
        let status = serve.ended(Duration::from_secs(8)).unwrap_or_else(|| panic!("case {}: lives on", round % 5));
        let exit = start.elapsed();
        assert_eq!(status.code(), Some(0), "{status:?}");
        slowest = (slowest.0.max(children), slowest.1.max(exit));
        assert!(exit <= Duration::from_secs(5), "case {}: exit after {exit:?}", round % 5);
        // Who ignores TERM is killed after 2 s.
        assert!(children <= Duration::from_millis(2500), "case {}: children gone after {children:?}", round % 5);
    }
    println!("F4: {rounds} dead controllers, children gone after {:?}, exit after {:?} at most", slowest.0, slowest.1);
}

#[test]
fn f4_a_controller_that_only_closes_its_end_still_gets_the_answer() {
    let world = World::tour();
    let mut serve = world.serve(&[]);
    serve.prompt("slow 20 say 30 words");
    serve.until("turn_started");
    serve.close_stdin();
    let seen = serve.until("turn_complete");
    assert_eq!(seen.last().unwrap()["stop_reason"], "end_turn", "{}", brief(&seen));
    assert!(said(&seen).ends_with("w30"));
    assert_eq!(serve.ended(PATIENCE).unwrap().code(), Some(0));
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
            if line.starts_with("python3") && !crate::driver::has("python3") {
                skip("F5 (double fork)", "no python3");
                continue;
            }
            let world = World::tour();
            let mut serve = world.serve(&[]);
            let mark = busy(&mut serve, line);
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
    let world = World::tour();
    let mut serve = world.serve(&[]);
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
    let world = World::tour();
    let mut serve = world.serve(&[]);
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
    let world = World::tour();
    let mut serve = world.serve(&[]);
    let lines = [
        "trap '' TERM INT HUP; sleep MARK; sleep MARK",
        "sleep MARK & kill -STOP $$; sleep 600",
        "while :; do sleep MARK & sleep 0.05; done",
    ];
    let mut slowest = Duration::ZERO;
    for line in lines {
        let mark = busy(&mut serve, line);
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
    let world = World::tour();
    let (mark, out) = (mark(), world.root().join("out"));
    let prompt = json!({ "type": "prompt", "text": format!("call bash {{\"command\":\"sleep {mark}\"}} then say x") });
    let script = format!(
        "coproc S {{ {} serve --model tour; }}; echo \"$S_PID\" > {out}.pid; exec 3<&${{S[0]}} 4>&${{S[1]}}; \
         printf '%s\\n' '{prompt}' >&4; \
         while read -r line <&3; do echo \"$line\" >> {out}; case $line in *request_id*) id=${{line#*request_id\\\":\\\"}}; id=${{id%%\\\"*}}; \
         printf '{{\"type\":\"permission_response\",\"request_id\":\"%s\",\"decision\":\"allow\"}}\\n' $id >&4;; esac; done",
        env!("CARGO_BIN_EXE_tillerman"),
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
