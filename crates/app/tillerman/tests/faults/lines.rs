//! Lines and JSON: whatever comes in, the process lives and the next request is answered; what goes out is protocol.

use std::fs;
use std::io::Write;
use std::time::Duration;

use serde_json::Value;
use testkit::faults::{Driver, MIB, PATIENCE, brief, count, peak_kib};
use testkit::sim::Dice;

use crate::drivers::{Serve, every_dialect, first};
use crate::worlds::tour;

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

/// The next request is answered, and this many refusals came before it, and nothing else.
pub(crate) fn answered<D: Driver>(driver: &mut D, refusals: usize, about: &str) -> Vec<Value> {
    let seen = driver.answered();
    let got = seen.iter().filter(|value| D::is_refusal(value)).count();
    assert_eq!((got, seen.len()), (refusals, refusals + 1), "{about}: {got} refusals\n{}", brief(&seen));
    seen
}

every_dialect!(j1_any_bytes_get_one_error_each_and_the_next_request_is_answered);
fn j1_any_bytes_get_one_error_each_and_the_next_request_is_answered<D: Driver>() {
    let world = tour();
    let mut driver = D::begin(&world, &[]);
    driver.settle();
    let sent = bad_lines(D::REQUESTS, D::is_refused, |group, (start, end)| {
        driver.send_raw(start);
        driver.send_raw(end);
        answered(&mut driver, group, &String::from_utf8_lossy(&[start, end].concat()));
    });
    // A line separator of Unicode is data, and a CR before LF is not.
    let line = driver.prompt_line("\"say \\\"a\u{2028}b\u{2029}c\u{85}d\\\"\"");
    driver.send_raw(format!("{line}\r\n").as_bytes());
    assert_eq!(driver.rest().text, "a\u{2028}b\u{2029}c\u{85}d");
    driver.shutdown();
    println!("J1 {}: {sent} bad lines, {sent} errors, every following request answered", D::NAME);
}

/// A line that is too long is told so, and the next one is heard.
fn too_long<D: Driver>(driver: &mut D, start: &[u8], mib: usize) {
    send_long(driver, start, mib);
    driver.send_raw(b"\n");
    let seen = answered(driver, 1, "a long line");
    assert!(D::is_too_long(&seen[0]), "{}", seen[0]);
}

fn send_long<D: Driver>(driver: &mut D, start: &[u8], mib: usize) {
    let chunk = vec![b'x'; MIB];
    driver.send_raw(start);
    (0..mib).for_each(|_| driver.send_raw(&chunk));
}

every_dialect!(j3_depth_and_length_have_limits_that_cost_no_memory);
fn j3_depth_and_length_have_limits_that_cost_no_memory<D: Driver>() {
    let world = tour();
    let mut driver = D::begin(&world, &[]);
    driver.settle();
    let deep = 100_000;
    let closed = format!("{}{}", "[".repeat(deep), "]".repeat(deep));
    let [start, end] = D::long_ping();
    // Inside of a request: the text becomes something deep.
    let inside = |nest: &str| format!("{}{nest}{}", start.trim_end_matches('"'), end.trim_start_matches('"'));
    let objects = format!("{}1{}", "{\"a\":".repeat(deep), "}".repeat(deep));
    let nests = ["[".repeat(deep), "{\"a\":".repeat(deep), inside(&closed), inside(&objects), closed.clone()];
    for nest in &nests {
        driver.send_raw(nest.as_bytes());
        driver.send_raw(b"\n");
        answered(&mut driver, 1, "nesting");
    }
    let before = driver.rss_kib();
    let mib = count(64, 1024);
    for start in [&b""[..], start.as_bytes(), b"[["] {
        too_long(&mut driver, start, mib);
    }
    let most = D::LIMITS.line;
    // One that is just within the limit is heard, and one just over it is not.
    for (mib, refused) in [(most * 2 / 3, false), (most - 1, false), (most + 1, true)] {
        send_long(&mut driver, start.as_bytes(), mib);
        driver.send_raw(format!("{end}\n").as_bytes());
        let value = driver.next(PATIENCE).expect("an answer");
        assert_eq!(D::is_refusal(&value), refused, "{mib} MiB: {}", brief(std::slice::from_ref(&value)));
    }
    let grown = peak_kib(driver.pid()).saturating_sub(before) / 1024;
    // No newline at all, and then the end: nothing to do, an orderly exit.
    send_long(&mut driver, b"", mib);
    let after = peak_kib(driver.pid()).saturating_sub(before) / 1024;
    driver.close_stdin();
    let mut seen = Vec::new();
    while let Some(value) = driver.next(PATIENCE) {
        seen.push(value);
    }
    assert!(seen.len() == 1 && D::is_too_long(&seen[0]), "{}", brief(&seen));
    assert_eq!(driver.ended(PATIENCE).unwrap().code(), Some(0));
    println!(
        "J3 {}: {} nests, 4 lines of {mib} MiB: memory grew by {grown} MiB, then {after} MiB at the peak",
        D::NAME,
        nests.len()
    );
    let most = D::LIMITS.line_growth;
    assert!(grown < most && after < most, "{grown} MiB, {after} MiB");
}

every_dialect!(j6_a_closed_stdout_ends_the_process_in_order);
fn j6_a_closed_stdout_ends_the_process_in_order<D: Driver>() {
    let prompts = [
        None,
        Some("say 100000 words"),
        Some("slow 1 say 300 words"),
        Some(r#"call bash {"command":"sleep 0.2"} then say done"#),
    ];
    for (at, prompt) in prompts.into_iter().enumerate() {
        let world = tour();
        let mut driver = D::begin(&world, &[]);
        if let Some(prompt) = prompt {
            driver.acknowledged(prompt);
        }
        driver.stdout = None;
        if prompt.is_none() {
            let ping = driver.ping();
            driver.send(&ping);
        }
        let status = driver.ended(Duration::from_secs(10)).unwrap_or_else(|| panic!("case {at} goes on"));
        assert_eq!(status.code(), Some(0), "case {at}: {status:?}");
        // What was said before nobody listened is kept.
        if prompt.is_some() {
            let mut driver = D::resume(&world, driver.handle()).expect("the session is there");
            driver.whole_turn("say end");
        }
    }
    println!("J6 {}: 4 closed outputs, 4 times exit 0", D::NAME);
}

#[test]
fn j6_nothing_but_the_protocol_reaches_stdout() {
    let world = tour();
    let mut serve = Serve::new(&world, &[]);
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
