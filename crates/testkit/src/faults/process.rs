//! A process that speaks lines, whatever the dialect. There is no reader thread: a test that does not read is a controller
//! that does not read.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;

use super::watch::rss_kib;
use super::{PATIENCE, brief};

/// A running controller's end. Killed when dropped.
pub struct Process {
    child: Child,
    pub stdin: Option<ChildStdin>,
    pub stdout: Option<ChildStdout>,
    /// Held, so that it is neither read nor closed.
    pub stderr: Option<ChildStderr>,
    buffer: Vec<u8>,
    searched: usize,
    /// Whether a line of JSON is a message of the dialect.
    is_message: fn(&Value) -> bool,
}

impl Process {
    /// A dialect whose messages have a type.
    pub fn start(command: &mut Command) -> Self {
        Self::speaking(command, |value| value["type"].is_string())
    }

    pub fn speaking(command: &mut Command, is_message: fn(&Value) -> bool) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the binary starts");
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        Self { child, stdin, stdout, stderr, buffer: Vec::new(), searched: 0, is_message }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn send(&mut self, message: &Value) {
        self.send_raw(format!("{message}\n").as_bytes());
    }

    /// A process that is gone is for the reader to notice.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(bytes);
        }
    }

    /// The next line as it is; `None` when there is none in time or will never be.
    pub fn line(&mut self, wait: Duration) -> Option<Vec<u8>> {
        let deadline = Instant::now() + wait;
        loop {
            if let Some(at) = self.buffer[self.searched..].iter().position(|&byte| byte == b'\n') {
                let rest = self.buffer.split_off(self.searched + at + 1);
                self.searched = 0;
                return Some(std::mem::replace(&mut self.buffer, rest));
            }
            self.searched = self.buffer.len();
            let stdout = self.stdout.as_mut()?;
            let left = deadline.saturating_duration_since(Instant::now());
            let time = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            let mut fds = [PollFd::new(&*stdout, PollFlags::IN)];
            if poll(&mut fds, Some(&time)).unwrap_or(0) == 0 {
                return None;
            }
            let mut chunk = vec![0; 64 * 1024];
            match stdout.read(&mut chunk) {
                Ok(count) if count > 0 => self.buffer.extend_from_slice(&chunk[..count]),
                _ => return None,
            }
        }
    }

    /// The next line, which must be a message: stdout carries nothing else.
    pub fn next(&mut self, wait: Duration) -> Option<Value> {
        let line = self.line(wait)?;
        Some(self.read(&line))
    }

    /// A line as a message, which it must be.
    pub fn read(&self, line: &[u8]) -> Value {
        let value: Value = serde_json::from_slice(line)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {}", String::from_utf8_lossy(line)));
        assert!((self.is_message)(&value), "not a message of this dialect: {value}");
        value
    }

    /// These come again before anything else: they were read while something else was waited for.
    pub fn put_back(&mut self, values: &[Value]) {
        let mut lines: Vec<u8> = values.iter().flat_map(|value| format!("{value}\n").into_bytes()).collect();
        lines.append(&mut self.buffer);
        self.buffer = lines;
        self.searched = 0;
    }

    /// Reads what is on its way.
    pub fn drain(&mut self) {
        while self.line(Duration::from_millis(100)).is_some() {}
    }

    /// Everything up to and with the first message that is wanted.
    pub fn until_one(&mut self, about: &str, mut wanted: impl FnMut(&mut Self, &Value) -> bool) -> Vec<Value> {
        let mut seen = Vec::new();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let Some(value) = self.next(deadline.saturating_duration_since(Instant::now())) else {
                panic!("no {about} in {PATIENCE:?}; seen: {}", brief(&seen));
            };
            let found = wanted(self, &value);
            seen.push(value);
            if found {
                return seen;
            }
        }
    }

    /// Sends the signal to this process alone.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// Asks it to end, as a supervisor does.
    pub fn terminate(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
    }

    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// How it ended; `None` when it has not in time.
    pub fn ended(&mut self, wait: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + wait;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Some(status);
            }
            if Instant::now() >= deadline {
                return None;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Leaves in order.
    pub fn leave(&mut self) {
        self.close_stdin();
        while self.line(PATIENCE).is_some() {}
        let status = self.ended(PATIENCE).expect("it ends after the end of input");
        assert_eq!(status.code(), Some(0), "signal {:?}", status.signal());
    }

    pub fn rss_kib(&self) -> u64 {
        rss_kib(self.pid())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
