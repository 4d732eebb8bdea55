//! Lines and JSON: whatever comes in, the process lives and the next command is answered; what goes out is protocol.

use std::fs;
use std::io::Write;
use std::time::Duration;

use serde_json::Value;

use crate::driver::{Dice, PATIENCE, Serve, World, all, brief, count, first, peak_kib};

/// Without escapes: half of a surrogate pair is no error here, it becomes U+FFFD.
const GOOD: [&str; 6] = [
    r#"{"type":"prompt","text":"say 1 word"}"#,
    r#"{"type":"slash","command":"status","args":""}"#,
    r#"{"type":"interrupt"}"#,
    r#"{"type":"permission_response","request_id":"r-1","decision":"allow","reason":null}"#,
    r#"{"type":"shutdown"}"#,
    "{\"type\":\"prompt\",\"text\":\"\u{1f600} \u{2028} é\"}",
];

/// What is still an object may be a command after all, unless its type says otherwise.
pub(crate) fn has_no_type(value: &Value) -> bool {
    match value.get("type") {
        Some(kind) => kind.as_str().is_some_and(|kind| kind.starts_with('x')) || (!kind.is_string() && !kind.is_null()),
        None => true,
    }
}

/// A line that cannot be a command: not JSON, not an object, or an object that is `refused` for sure.
fn bad_line(dice: &mut Dice, good: &[&str], refused: fn(&Value) -> bool) -> Vec<u8> {
    loop {
        let mut line: Vec<u8> = match dice.below(6) {
            0 => (0..1 + dice.below(200)).map(|_| dice.byte()).collect(),
            1 => {
                let mut line = dice.one(good).as_bytes().to_vec();
                for _ in 0..1 + dice.below(4) {
                    let at = dice.below(line.len() as u64) as usize;
                    line[at] = dice.byte();
                }
                line
            }
            2 => {
                let line = dice.one(good).as_bytes();
                line[..1 + dice.below(line.len() as u64 - 1) as usize].to_vec()
            }
            3 => dice
                .one(&["null", "true", "0", "-1e999", "[]", "\"x\"", "[[[[", "{", "}", "{}", "\u{feff}{}"])
                .as_bytes()
                .to_vec(),
            4 => format!("{{\"type\":\"x{}\",\"text\":{}}}", dice.below(1000), dice.below(1 << 60)).into_bytes(),
            _ => {
                let open = dice.one(&["[", "{\"a\":", "[{\"type\":"]);
                open.repeat(1 + dice.below(400) as usize).into_bytes()
            }
        };
        line.retain(|&byte| byte != b'\n');
        if line.iter().all(|byte| byte.is_ascii_whitespace()) {
            continue;
        }
        match serde_json::from_slice::<Value>(&line) {
            Ok(value) if value.is_object() && !refused(&value) => {}
            _ => return line,
        }
    }
}

/// Groups of bad lines that fit into the pipes, each cut anywhere, also inside a character. Returns how many lines there were.
pub(crate) fn bad_lines(
    good: &[&str],
    refused: fn(&Value) -> bool,
    mut send: impl FnMut(usize, (&[u8], &[u8])),
) -> usize {
    let (lines, mut dice) = (count(500, 20_000), Dice::new(7));
    let mut sent = 0;
    while sent < lines {
        // The last group member alone would hide who answered what.
        let group = 1 + dice.below(20) as usize;
        let mut bytes = Vec::new();
        for _ in 0..group {
            bytes.extend(bad_line(&mut dice, good, refused));
            bytes.extend_from_slice(if dice.below(8) == 0 { b"\r\n" } else { b"\n" });
            if dice.below(10) == 0 {
                bytes.extend_from_slice(b"  \r\n\n");
            }
        }
        let cut = dice.below(bytes.len() as u64) as usize;
        send(group, bytes.split_at(cut));
        sent += group;
    }
    sent
}

/// The next valid command is answered, and this many errors came before it.
fn answered(serve: &mut Serve, errors: usize, about: &str) {
    serve.send_raw(b"{\"type\":\"slash\",\"command\":\"version\"}\n");
    let seen = serve.until("slash_result");
    let got = all(&seen, "error").len();
    assert_eq!(got, errors, "{about}: {got} errors instead of {errors}\n{}", brief(&seen));
    assert_eq!(seen.len(), errors + 1, "{about}: more than errors\n{}", brief(&seen));
}

#[test]
fn j1_any_bytes_get_one_error_each_and_the_next_command_is_answered() {
    let world = World::tour();
    let mut serve = world.serve(&[]);
    let sent = bad_lines(&GOOD, has_no_type, |group, (start, end)| {
        serve.send_raw(start);
        serve.send_raw(end);
        answered(&mut serve, group, &String::from_utf8_lossy(&[start, end].concat()));
    });
    // A line separator of Unicode is data, and a CR before LF is not.
    serve.send_raw("{\"type\":\"prompt\",\"text\":\"say \\\"a\u{2028}b\u{2029}c\u{85}d\\\"\"}\r\n".as_bytes());
    let seen = serve.until("turn_complete");
    assert_eq!(crate::driver::said(&seen), "a\u{2028}b\u{2029}c\u{85}d");
    serve.shutdown();
    println!("J1: {sent} bad lines, {sent} errors, every following command answered");
}

#[test]
fn j3_depth_and_length_have_limits_that_cost_no_memory() {
    let world = World::tour();
    let mut serve = world.serve(&[]);
    serve.good_turn("say warm");
    serve.until("state_changed");
    let deep = 100_000;
    let nests = [
        "[".repeat(deep),
        "{\"a\":".repeat(deep),
        format!("{{\"type\":\"prompt\",\"text\":{}{}}}", "[".repeat(deep), "]".repeat(deep)),
        format!("{{\"type\":\"slash\",\"command\":\"status\",\"x\":{}1{}}}", "{\"a\":".repeat(deep), "}".repeat(deep)),
        format!("{}{}", "[".repeat(deep), "]".repeat(deep)),
    ];
    for nest in &nests {
        serve.send_raw(nest.as_bytes());
        serve.send_raw(b"\n");
        answered(&mut serve, 1, "nesting");
    }
    let before = serve.rss_kib();
    let mib = count(64, 1024);
    let chunk = vec![b'x'; 1 << 20];
    let starts: [&[u8]; 3] = [b"", b"{\"type\":\"prompt\",\"text\":\"", b"[["];
    for start in starts {
        serve.send_raw(start);
        (0..mib).for_each(|_| serve.send_raw(&chunk));
        serve.send_raw(b"\n");
        let error = serve.next(PATIENCE).expect("an error");
        assert_eq!(error["code"], "line_too_long", "{error}");
        answered(&mut serve, 0, "after a long line");
    }
    // A prompt within the limit still works, and one over it does not.
    for (mib, errors) in [(15, 0), (17, 1)] {
        serve.send_raw(b"{\"type\":\"slash\",\"command\":\"version\",\"args\":\"");
        (0..mib).for_each(|_| serve.send_raw(&chunk));
        serve.send_raw(b"\"}\n");
        let value = serve.next(PATIENCE).expect("an answer");
        assert_eq!(
            value["type"],
            if errors == 1 { "error" } else { "slash_result" },
            "{}",
            brief(std::slice::from_ref(&value))
        );
    }
    let grown = peak_kib(serve.pid()).saturating_sub(before) / 1024;
    // No newline at all, and then the end: nothing to do, an orderly exit.
    (0..mib).for_each(|_| serve.send_raw(&chunk));
    let pid = serve.pid();
    let after = peak_kib(pid).saturating_sub(before) / 1024;
    serve.close_stdin();
    let mut seen = Vec::new();
    while let Some(value) = serve.next(PATIENCE) {
        seen.push(value);
    }
    assert_eq!(seen.len(), 1, "{}", brief(&seen));
    assert_eq!(first(&seen, "error")["code"], "line_too_long");
    assert_eq!(serve.ended(PATIENCE).unwrap().code(), Some(0));
    println!(
        "J3: {} nests, 4 lines of {mib} MiB: memory grew by {grown} MiB, then {after} MiB at the peak",
        nests.len()
    );
    assert!(grown < 96 && after < 96, "{grown} MiB, {after} MiB");
}

#[test]
fn j6_a_closed_stdout_ends_the_process_in_order() {
    for (at, prompt) in [
        None,
        Some("say 100000 words"),
        Some("slow 1 say 300 words"),
        Some(r#"call bash {"command":"sleep 0.2"} then say done"#),
    ]
    .into_iter()
    .enumerate()
    {
        let world = World::tour();
        let mut serve = world.serve(&[]);
        if let Some(prompt) = prompt {
            serve.prompt(prompt);
            serve.until("turn_started");
        }
        serve.stdout = None;
        if prompt.is_none() {
            serve.send_raw(b"{\"type\":\"slash\",\"command\":\"status\"}\n");
        }
        let status = serve.ended(Duration::from_secs(10)).unwrap_or_else(|| panic!("case {at} goes on"));
        assert_eq!(status.code(), Some(0), "case {at}: {status:?}");
        // What was said before nobody listened is kept.
        if prompt.is_some() {
            let session = serve.session.clone();
            let mut serve = world.serve(&["--resume", &session]);
            serve.good_turn("say end");
        }
    }
    println!("J6: 4 closed outputs, 4 times exit 0");
}

#[test]
fn j6_nothing_but_the_protocol_reaches_stdout() {
    let world = World::tour();
    let mut serve = world.serve(&[]);
    // A print or a panic inside the process would go to these two.
    let of = |fd: u32| fs::read_link(format!("/proc/{}/fd/{fd}", serve.pid())).unwrap();
    let (stdin, stdout, stderr) = (of(0), of(1), of(2));
    assert_eq!(stdin.to_str(), Some("/dev/null"));
    assert_eq!(stdout, stderr, "fd 1 is not stderr");
    assert!(stdout.ends_with("stderr.txt"));
    // Subagents hold none of our pipes and cannot write to them.
    let pipes: Vec<String> = fs::read_dir(format!("/proc/{}/fd", serve.pid()))
        .unwrap()
        .flatten()
        .filter_map(|entry| Some(fs::read_link(entry.path()).ok()?.to_str()?.to_owned()))
        .filter(|name| name.starts_with("pipe:"))
        .collect();
    let ours = fs::read_link(format!("/proc/self/fd/{}", fd_of(&serve))).unwrap().to_str().unwrap().to_owned();
    assert!(pipes.contains(&ours), "{ours} is not among {pipes:?}");
    let commands = [
        "ls -l /proc/self/fd",
        "echo STRAY; echo STRAY >&2; echo STRAY > /dev/stdout; echo STRAY >/dev/tty",
        "for fd in /proc/$$/fd/* /proc/$PPID/fd/*; do echo STRAY > $fd; done 2>/dev/null; echo ok",
        "for fd in 0 3 4 5 6 7 8 9; do eval \"echo STRAY >&$fd\"; done 2>/dev/null; cat <&0; echo ok",
    ];
    for command in commands {
        // Any stray byte would fail to parse in here.
        let seen = serve.good_turn(&format!("call bash {} then say done", serde_json::json!({ "command": command })));
        let output = first(&seen, "tool_result")["output"].as_str().unwrap().to_owned();
        assert!(!output.contains(&ours), "a child holds our stdout: {output}");
    }
    serve.stdin.as_mut().unwrap().flush().unwrap();
    serve.shutdown();
    println!("J6: fd 0 is /dev/null, fd 1 is stderr, {} commands left no byte", commands.len());
}

fn fd_of(serve: &Serve) -> i32 {
    use std::os::fd::AsRawFd;
    serve.stdout.as_ref().unwrap().as_raw_fd()
}
