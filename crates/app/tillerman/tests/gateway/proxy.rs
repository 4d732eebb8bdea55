//! A command of the product as another program starts it: lines in, lines out, an exit code.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long a line or an end may take before the test is called broken.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long what a process has said may take to be read once it has ended.
const LAST_WORDS: Duration = Duration::from_secs(2);

pub(crate) struct Proxy {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Everything that it has said on stdout so far.
    pub(crate) heard: Vec<String>,
    errors: Arc<Mutex<String>>,
    /// Done when stderr has ended.
    complained: std::thread::JoinHandle<()>,
}

impl Proxy {
    pub(crate) fn start(mut command: Command, words: &[&str]) -> Self {
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (send, lines) = channel();
        let stdout = child.stdout.take().unwrap();
        std::thread::spawn(move || {
            BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|it| send.send(it))
        });
        let errors = Arc::<Mutex<String>>::default();
        let (kept, stderr) = (errors.clone(), child.stderr.take().unwrap());
        let complained = std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                *kept.lock().unwrap() += &format!("{line}\n");
            }
        });
        Self { stdin: child.stdin.take(), child, lines, heard: Vec::new(), errors, complained }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn send(&mut self, line: &Value) {
        self.send_raw(format!("{line}\n").as_bytes());
    }

    pub(crate) fn send_raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).and_then(|()| stdin.flush()).unwrap();
    }

    pub(crate) fn eof(&mut self) {
        self.stdin = None;
    }

    /// The next line that fits; the others are kept in `heard`.
    pub(crate) fn line(&mut self, what: &str, fits: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.heard.push(line.clone());
                    if fits(&line) {
                        return line;
                    }
                }
                Err(why) => panic!("no {what} ({why}): {:#?}\n{}", self.heard, self.said()),
            }
        }
    }

    pub(crate) fn json(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let read = |line: &str| serde_json::from_str::<Value>(line).unwrap_or_default();
        let line = self.line(what, |line| fits(&read(line)));
        read(&line)
    }

    /// Waits until it has said this on stderr.
    pub(crate) fn complains(&self, part: &str) {
        let until = Instant::now() + PATIENCE;
        while !self.said().contains(part) {
            assert!(Instant::now() < until, "no {part}: {}", self.said());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// What it said on stderr.
    pub(crate) fn said(&self) -> String {
        self.errors.lock().unwrap().clone()
    }

    /// Waits for its end: what it said on stderr until then.
    pub(crate) fn ended_saying(mut self) -> String {
        self.ended();
        self.said()
    }

    pub(crate) fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.pid().to_string()]).status().unwrap().success());
    }

    /// Waits for its end: the exit code, if it has one.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.child.try_wait().unwrap() {
                Some(status) => {
                    // The readers of its pipes may be behind; they are done unless somebody else holds a pipe.
                    while let Ok(line) = self.lines.recv_timeout(LAST_WORDS) {
                        self.heard.push(line);
                    }
                    let until = Instant::now() + LAST_WORDS;
                    while !self.complained.is_finished() && Instant::now() < until {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                    return status.code();
                }
                None if Instant::now() > until => panic!("it does not end: {:#?}\n{}", self.heard, self.said()),
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
