//! Servers of tools that the configuration names, beside the real binary.

use std::time::{Duration, Instant};

use crate::cli::Place;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/mcp/tests/scripted.py");

/// A place whose user has the scripted server of `mcp`'s own tests. It writes down what it hears.
fn place() -> Place {
    let place = Place::new();
    let log = place.file("server.log").display().to_string();
    let table = format!(
        "[servers.py]\ncommand = 'python3'\nargs = ['{SCRIPT}']\nenv = {{ SERVER_LOG = '{log}' }}\ntrust_hints = true\n"
    );
    std::fs::create_dir_all(place.home()).unwrap();
    std::fs::write(place.home().join("config.toml"), table).unwrap();
    place
}

fn log(place: &Place) -> String {
    std::fs::read_to_string(place.file("server.log")).unwrap_or_default()
}

fn until(is_so: impl Fn() -> bool, what: &str) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(20), "never came: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn a_run_calls_their_tools() {
    let place = place();
    let prompt = r#"call mcp__py__echo {"text":"hi"} then say "as you like""#;
    let ran = place.run(&["run", "--mode", "read-only", prompt]);
    assert!(ran.ok().contains("as you like"));
    assert!(log(&place).contains("tools/call"), "{}", log(&place));
    let got = place.run(&["config", "get", "servers"]);
    assert_eq!(got.ok().trim(), "py");
}

#[test]
fn nothing_of_them_survives_us() {
    let place = place();
    for args in [&["serve"][..], &["repl"]] {
        let _ = std::fs::remove_file(place.file("server.log"));
        let mut child = place.command(args).spawn().unwrap();
        until(|| log(&place).contains("tools/list"), "the server");
        let log = log(&place);
        let pid = log.lines().find_map(|line| line.strip_prefix("start ")).unwrap();
        assert!(is_alive(pid));
        child.kill().unwrap();
        child.wait().unwrap();
        until(|| !is_alive(pid), "the end of the server");
    }
}
