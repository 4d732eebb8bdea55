//! The pieces of the benchmark against each other, as processes: the mock, the floor, the harness.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod floor;
mod harness;
mod mock;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const BENCH: &str = env!("CARGO_BIN_EXE_bench");

/// A process that dies with the test.
struct Kept(Child);
impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A mock model on a port of its own; the base URL it says it has.
fn start_mock() -> (Kept, String) {
    let mut child = Command::new(BENCH).arg("mock").stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let base = line.trim().strip_prefix("OPENAI_BASE_URL=").expect(&line).to_string();
    (Kept(child), base)
}

/// A floor to talk to line by line.
struct Floor {
    _child: Kept,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Floor {
    fn start(base: &str, dir: &std::path::Path, more: &[&str]) -> Self {
        let mut child = Command::new(BENCH)
            .args(["relay", "--workspace"])
            .arg(dir)
            .args(more)
            .env("OPENAI_BASE_URL", base)
            .env("TILLERMAN_HOME", dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { _child: Kept(child), stdin, stdout }
    }
    fn say(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").unwrap();
    }
    fn hear(&mut self) -> serde_json::Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }
    /// The next line of this type; everything before it is passed over.
    fn until(&mut self, kind: &str) -> serde_json::Value {
        loop {
            let line = self.hear();
            if line["type"] == kind {
                return line;
            }
        }
    }
}

fn scratch(name: &str) -> std::path::PathBuf {
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    dir
}
