//! What a rough machine does to the binary: names that lead to pipes and devices, disks and limits that are full.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode};
use serde_json::json;

use crate::cli::{Place, Ran};
use crate::cli_rpc::Host;

/// Longer than anything here should take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

fn pipe(path: &Path) {
    rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

/// It has to end by itself.
fn ended(mut child: Child, what: &str) -> Ran {
    drop(child.stdin.take());
    let since = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if since.elapsed() > PATIENCE => {
                child.kill().unwrap();
                panic!("{what} does not end");
            }
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let (mut out, mut err) = (String::new(), String::new());
    child.stdout.take().map(|mut it| it.read_to_string(&mut out));
    child.stderr.take().map(|mut it| it.read_to_string(&mut err));
    Ran { code: status.code(), out, err }
}

#[test]
fn a_name_that_leads_to_a_pipe_or_a_device_is_refused_at_once() {
    let place = Place::new();
    for name in ["f.jsonl", "f.script"] {
        pipe(&place.file(name));
    }
    symlink("/dev/zero", place.file("z.jsonl")).unwrap();
    for args in [
        &["run", "--resume", "f.jsonl", "hi"][..],
        &["run", "--resume", "z.jsonl", "hi"],
        &["run", "-m", "script:f.script", "hi"],
        &["run", "-m", "script:z.jsonl", "hi"],
        &["rpc", "--session", "f.jsonl"],
        &["rpc", "--session", "z.jsonl"],
        &["rpc", "--fork", "f.jsonl"],
        &["rpc", "--export", "f.jsonl"],
        &["rpc", "--export", "z.jsonl"],
    ] {
        let ran = ended(place.command(args).spawn().unwrap(), &args.join(" "));
        assert!(ran.code.is_some_and(|code| code != 0), "{args:?}: {:?} {}{}", ran.code, ran.out, ran.err);
        let said = format!("{}{}", ran.out, ran.err);
        assert!(said.contains("not a file"), "{args:?}: {said}");
    }
    // Among the session files of a directory it is none.
    let ran = ended(place.command(&["rpc", "-c", "--session-dir", "."]).spawn().unwrap(), "rpc -c");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

#[test]
fn a_session_that_is_told_to_read_a_pipe_goes_on() {
    let place = Place::new();
    pipe(&place.file("f.jsonl"));
    let mut host = Host::start(&place, &["rpc"]);
    let refused = host.ask(json!({"type": "switch_session", "sessionPath": place.file("f.jsonl")}));
    assert_eq!(refused["success"], false, "{refused}");
    host.prompt("say still here");
}

#[test]
fn an_answer_that_cannot_be_written_is_a_failure() {
    let place = Place::new();
    for args in [
        &["run", "-q", "hello"][..],
        &["run", "hello"],
        &["run", "--json", "hello"],
        &["serve"],
        &["rpc"],
        &["--help"],
        &["run", "--help"],
        &["--version"],
        &["version"],
        &["sessions", "list"],
        &["sessions", "list", "--json"],
        &["schema", "serve"],
        &["completions", "bash"],
        &["models"],
        &["tools"],
        &["doctor"],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let ran = ended(place.command(args).stdout(full).spawn().unwrap(), &args.join(" "));
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.err);
        assert!(ran.err.contains("No space left on device"), "{args:?}: {}", ran.err);
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let place = Place::new();
    for args in [&["--help"][..], &["version"], &["schema", "serve"]] {
        let mut child = place.command(args).stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let ran = ended(child, &args.join(" "));
        assert!((ran.code, &*ran.err) == (Some(0), ""), "{args:?}: {:?} {}", ran.code, ran.err);
    }
}

#[test]
fn a_limit_on_the_size_of_files_is_told_and_kills_nobody() {
    let place = Place::new();
    place.run(&["run", "hello"]).ok();
    let limited = |args: &[&str]| {
        let plain = place.command(args);
        let mut command = Command::new("sh");
        // Blocks of 512 bytes: the database has more already.
        command.args(["-c", "ulimit -f 8; exec \"$0\" \"$@\""]).arg(plain.get_program()).args(plain.get_args());
        command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(place.work()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        ended(command.spawn().unwrap(), &args.join(" "))
    };
    let ran = limited(&["run", "-c", "hello again"]);
    assert!(ran.code.is_some_and(|code| code != 0), "killed or content: {:?} {}", ran.code, ran.err);
    assert!(ran.err.contains("sessions.db"), "{}", ran.err);
    let url = format!("http://h/{}", "x".repeat(8 * 1024));
    let ran = limited(&["config", "set", "base_url", &url]);
    assert!(ran.code == Some(2) && ran.err.contains("File too large"), "{:?} {}", ran.code, ran.err);
    // Nothing of it has done any harm.
    place.run(&["run", "-c", "hello again"]).ok();
}
