//! One agent process, driven over its pipes as a controller would: prompts in, lines out, every permission allowed.

mod acp;
mod loaf;

use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Deserialize;

use super::Place;
use crate::format::Format;
use crate::mock::now_ns;

/// An agent that writes nothing for this long is given up.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// An agent that does not end this long after its input did is killed, and the row fails.
const EXIT_MAX: Duration = Duration::from_secs(10);
/// Enough for the longest row; the rounds are what is measured, not the limit.
const ROUNDS_MAX: &str = "1000";
const READ_BYTES: usize = 64 * 1024;
/// Lines of an agent's stderr shown when it dies.
const STDERR_LINES: usize = 5;

/// An agent that can be started: a program and the arguments before the common flags.
#[derive(Clone)]
pub(super) struct Contender {
    pub(super) name: &'static str,
    program: PathBuf,
    args: Vec<String>,
    pub(super) speech: Speech,
    /// The format in which its model is asked, where that is not its own choice.
    format: Option<Format>,
}

/// Which dialect an agent is driven in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Speech {
    Serve,
    Rpc,
    Loaf,
    Acp,
    /// The original: it says nothing until it is asked.
    Pi,
}

impl Contender {
    pub(super) fn new(name: &'static str, program: PathBuf, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { name, program, args: args.into_iter().map(Into::into).collect(), speech: Speech::Serve, format: None }
    }
    /// The same program with a model that is asked in this format.
    pub(super) fn with_models_in(&self, format: Format) -> Self {
        Self { format: Some(format), ..self.clone() }
    }
    /// The same program, started to speak `rpc`.
    pub(super) fn in_rpc(&self) -> Self {
        Self { args: vec!["rpc".into()], speech: Speech::Rpc, ..self.clone() }
    }
    /// The same program, started to speak `loaf`.
    pub(super) fn in_loaf(&self) -> Self {
        Self { args: vec!["loaf".into()], speech: Speech::Loaf, ..self.clone() }
    }
    /// The same program, started to speak `acp`.
    pub(super) fn in_acp(&self) -> Self {
        Self { args: vec!["acp".into()], speech: Speech::Acp, ..self.clone() }
    }
    /// The same program, started to hold all sessions; the floor has one of its own for that.
    pub(super) fn in_gateway(&self) -> Self {
        let verb = if self.args.first().is_some_and(|verb| verb == "relay") { "gateway-relay" } else { "gateway" };
        Self { args: vec![verb.into()], ..self.clone() }
    }
    pub(super) fn program(&self) -> &Path {
        &self.program
    }
    pub(super) fn args(&self) -> &[String] {
        &self.args
    }
    /// The same program with its syncs written to this file.
    pub(super) fn traced(&self, trace: &Path) -> Self {
        let file = trace.display().to_string();
        self.under("strace", ["-f", "-qq", "-e", "trace=fsync,fdatasync", "-o", &file])
    }
    /// The same program with the functions that it ran written to this file.
    pub(super) fn profiled(&self, out: &Path) -> Self {
        let out = format!("--callgrind-out-file={}", out.display());
        self.under("valgrind", ["--quiet", "--tool=callgrind", "--demangle=no", &out])
    }
    fn under<const N: usize>(&self, watcher: &str, flags: [&str; N]) -> Self {
        let mut args = flags.map(String::from).to_vec();
        args.push(self.program.display().to_string());
        args.extend(self.args.iter().cloned());
        Self { program: watcher.into(), args, ..self.clone() }
    }
    /// The same program on the session of this file.
    pub(super) fn with_session(&self, file: &Path) -> Self {
        let mut args = self.args.clone();
        args.extend(["--session".into(), file.display().to_string()]);
        Self { args, ..self.clone() }
    }
    /// The original agent in an installed npm package.
    pub(super) fn pi(package: &Path) -> Self {
        let cli = package.join("dist/cli.js").display().to_string();
        Self { speech: Speech::Pi, ..Self::new("pi", PathBuf::from("node"), [cli, "--mode".into(), "rpc".into()]) }
    }
    pub(super) fn describe(&self) -> String {
        format!("{} ({} {})", self.name, self.program.display(), self.args.join(" "))
    }
}

/// A running agent. Killed when dropped; [`Agent::finish`] is the orderly end.
pub(super) struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    stderr: PathBuf,
    buf: Vec<u8>,
    /// Where the next line begins.
    at: usize,
    /// When the bytes read last arrived.
    read_at_ns: u64,
    pub(super) ready_ms: f64,
    /// When there was a session to prompt.
    pub(super) opened_ms: f64,
    pub(super) session: String,
    /// What `loaf` calls the session as long as the process lives.
    wire: String,
    speech: Speech,
}

/// The members of a line that a row may look at.
#[derive(Deserialize)]
pub(super) struct Frame<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'a str,
    #[serde(borrow)]
    pub(super) delta: Option<Cow<'a, str>>,
    #[serde(borrow)]
    request_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    stop_reason: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: Option<Cow<'a, str>>,
    is_error: Option<bool>,
    #[serde(borrow)]
    output: Option<Cow<'a, str>>,
}

impl Agent {
    /// Starts it and waits for `ready`.
    pub(super) fn start(who: &Contender, place: &Place, mock: SocketAddr) -> anyhow::Result<Self> {
        Self::spawn(who, place, mock, false)
    }
    /// As [`Agent::start`], on the newest session of this place.
    pub(super) fn resume(who: &Contender, place: &Place, mock: SocketAddr) -> anyhow::Result<Self> {
        Self::spawn(who, place, mock, true)
    }

    /// The session that the next process would resume.
    pub(super) fn saved(&mut self) -> anyhow::Result<String> {
        if self.speech == Speech::Loaf { self.chat() } else { Ok(self.session.clone()) }
    }

    fn spawn(who: &Contender, place: &Place, mock: SocketAddr, resume: bool) -> anyhow::Result<Self> {
        let stderr = place.home.with_file_name("stderr");
        let mut command = Command::new(&who.program);
        command.args(&who.args);
        if who.speech != Speech::Pi {
            command.arg("--workspace").arg(&place.workspace).args(["--permission-mode", "danger-full-access"]);
        }
        match who.speech {
            Speech::Serve | Speech::Loaf | Speech::Acp => {
                let model = match who.format {
                    Some(format) => {
                        describe_mock(&place.home, mock)?;
                        format!("{}/alpha", format.provider())
                    }
                    None => "mock/alpha".to_owned(),
                };
                command.args(["--model", &model, "--max-iterations", ROUNDS_MAX]);
            }
            Speech::Rpc | Speech::Pi => {
                describe_mock(&place.home, mock)?;
                command.args(["--provider", "mock", "--model", "alpha"]).env("PI_OFFLINE", "1");
            }
        }
        if resume && !matches!(who.speech, Speech::Loaf | Speech::Acp) {
            command.args(["--resume", "latest"]);
        }
        command
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", &place.home)
            .env("TILLERMAN_HOME", &place.home)
            .env("OPENAI_BASE_URL", format!("http://{mock}/v1"))
            .env("OPENAI_API_KEY", "x")
            .env("PI_CODING_AGENT_DIR", &place.home)
            .current_dir(&place.workspace)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&stderr)?);
        let start = Instant::now();
        let mut child = command.spawn().with_context(|| format!("start {}", who.describe()))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("it was piped");
        let (buf, session, wire) = (Vec::new(), String::new(), String::new());
        let speech = who.speech;
        let (ready_ms, opened_ms) = (0.0, 0.0);
        let mut agent = Self {
            child,
            stdin,
            stdout,
            stderr,
            buf,
            at: 0,
            read_at_ns: 0,
            ready_ms,
            opened_ms,
            session,
            wire,
            speech,
        };
        if speech == Speech::Acp {
            agent.greet_acp(start, &place.workspace, resume)?;
            return Ok(agent);
        }
        if speech == Speech::Loaf {
            agent.greet_loaf(start, resume)?;
            return Ok(agent);
        }
        if speech == Speech::Pi {
            agent.send("{\"type\":\"get_state\"}\n")?;
            agent.line()?;
            agent.ready_ms = ms(start.elapsed());
            return Ok(agent);
        }
        let line = agent.line()?;
        agent.ready_ms = ms(start.elapsed());
        agent.opened_ms = agent.ready_ms;
        let frame = parse(&agent.buf[line])?;
        ensure!(
            frame.kind == "ready",
            "expected `ready`, heard `{}`: {}",
            frame.kind,
            frame.message.unwrap_or_default()
        );
        agent.session = frame.session_id.unwrap_or_default().into_owned();
        Ok(agent)
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// One prompt until its turn is complete; the time between the two in milliseconds.
    pub(super) fn turn(&mut self, text: &str) -> anyhow::Result<f64> {
        self.watch(text, |_, _| {})
    }

    /// As [`Agent::turn`]; `each` sees every line and when it arrived.
    pub(super) fn watch(&mut self, text: &str, mut each: impl FnMut(&Frame<'_>, u64)) -> anyhow::Result<f64> {
        match self.speech {
            Speech::Serve => {}
            Speech::Loaf => return self.watch_loaf(text, each),
            Speech::Acp => return self.watch_acp(text, each),
            Speech::Rpc | Speech::Pi => return self.watch_rpc(text, each),
        }
        let prompt = serde_json::to_string(text).expect("text is always JSON");
        let start = Instant::now();
        self.send(&format!("{{\"type\":\"prompt\",\"text\":{prompt}}}\n"))?;
        let mut error = String::new();
        loop {
            let line = self.line()?;
            let frame = parse(&self.buf[line])?;
            each(&frame, self.read_at_ns);
            match frame.kind {
                "permission_request" => {
                    let ask = serde_json::to_string(&frame.request_id).expect("text is always JSON");
                    let answer =
                        format!("{{\"type\":\"permission_response\",\"request_id\":{ask},\"decision\":\"allow\"}}\n");
                    self.send(&answer)?;
                }
                "tool_result" if frame.is_error == Some(true) => {
                    bail!("a tool failed: {}", frame.output.unwrap_or_default());
                }
                "error" => error = frame.message.unwrap_or_default().into_owned(),
                "turn_complete" => {
                    let took = ms(start.elapsed());
                    let stop = frame.stop_reason.unwrap_or_default();
                    ensure!(stop == "end_turn", "the turn ended with `{stop}`: {error}");
                    return Ok(took);
                }
                _ => {}
            }
        }
    }

    /// As a host of the `rpc` family does it: nothing is asked, `agent_end` is the end. Of an update only the delta is
    /// read: what repeats the message is for others.
    fn watch_rpc(&mut self, text: &str, mut each: impl FnMut(&Frame<'_>, u64)) -> anyhow::Result<f64> {
        let prompt = serde_json::to_string(text).expect("text is always JSON");
        let start = Instant::now();
        self.send(&format!("{{\"type\":\"prompt\",\"message\":{prompt}}}\n"))?;
        loop {
            let line = self.line()?;
            let line = &self.buf[line];
            if let Some(rest) = line.strip_prefix(UPDATE) {
                let event = Frame::quiet("message_update", delta_of(rest));
                each(&event, self.read_at_ns);
                continue;
            }
            let kind = kind_of(line);
            ensure!(!line.windows(STOPPED.len()).any(|at| at == STOPPED), "the run failed: {}", head(line));
            match kind {
                "agent_end" => return Ok(ms(start.elapsed())),
                // As the rows know it.
                "tool_execution_end" => {
                    ensure!(!line.ends_with(b"\"isError\":true}"), "a tool failed: {}", head(line));
                    each(&Frame::quiet("tool_result", None), self.read_at_ns);
                }
                _ => {}
            }
            ensure!(!line.windows(REFUSED.len()).any(|at| at == REFUSED), "refused: {}", head(line));
        }
    }

    fn send(&mut self, line: &str) -> anyhow::Result<()> {
        let stdin = self.stdin.as_mut().expect("open until `finish`");
        match stdin.write_all(line.as_bytes()) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.obituary()).context(error),
        }
    }

    /// The next line, as a range of `buf`.
    fn line(&mut self) -> anyhow::Result<std::ops::Range<usize>> {
        let mut looked = self.at;
        loop {
            if let Some(end) = self.buf[looked..].iter().position(|&byte| byte == b'\n') {
                let line = self.at..looked + end;
                self.at = line.end + 1;
                return Ok(line);
            }
            self.buf.drain(..self.at);
            self.at = 0;
            looked = self.buf.len();
            self.read()?;
        }
    }

    fn read(&mut self) -> anyhow::Result<()> {
        let wait = Timespec { tv_sec: SILENCE_MAX.as_secs() as i64, tv_nsec: 0 };
        let ready = poll(&mut [PollFd::from_borrowed_fd(self.stdout.as_fd(), PollFlags::IN)], Some(&wait))?;
        if ready == 0 {
            bail!("the agent wrote nothing for {} s{}", SILENCE_MAX.as_secs(), tail(&self.stderr));
        }
        let filled = self.buf.len();
        self.buf.resize(filled + READ_BYTES, 0);
        let read = self.stdout.read(&mut self.buf[filled..])?;
        self.read_at_ns = now_ns();
        self.buf.truncate(filled + read);
        if read == 0 { Err(self.obituary()) } else { Ok(()) }
    }

    /// Its pipes broke: says how it died.
    fn obituary(&mut self) -> anyhow::Error {
        let how = match self.wait() {
            Ok(status) => status.to_string(),
            Err(_) => "it closed its output and lives on".into(),
        };
        anyhow::anyhow!("the agent died ({how}){}", tail(&self.stderr))
    }

    /// Closes its input and waits for its end.
    pub(super) fn finish(mut self) -> anyhow::Result<()> {
        self.stdin = None;
        let status = self.wait()?;
        ensure!(status.success(), "the agent ended with {status}{}", tail(&self.stderr));
        Ok(())
    }

    fn wait(&mut self) -> anyhow::Result<std::process::ExitStatus> {
        let start = Instant::now();
        while start.elapsed() < EXIT_MAX {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        bail!("the agent did not end within {} s{}", EXIT_MAX.as_secs(), tail(&self.stderr))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // Both fail only when it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const UPDATE: &[u8] = b"{\"type\":\"message_update\",\"assistantMessageEvent\":";
const STOPPED: &[u8] = b"\"stopReason\":\"error\"";
const REFUSED: &[u8] = b"\"success\":false";

impl<'a> Frame<'a> {
    fn quiet(kind: &'a str, delta: Option<Cow<'a, str>>) -> Self {
        Self {
            kind,
            delta,
            request_id: None,
            session_id: None,
            stop_reason: None,
            message: None,
            is_error: None,
            output: None,
        }
    }
}

/// The delta of an update's event, as it stands in the line; the words of the rows need no escapes.
fn delta_of(event: &[u8]) -> Option<Cow<'_, str>> {
    let from = find(event, b"_delta\"")?;
    let rest = &event[from..];
    let rest = &rest[find(rest, b"\"delta\":\"")? + 9..];
    let end = rest.iter().position(|&byte| byte == b'"')?;
    Some(String::from_utf8_lossy(&rest[..end]))
}

fn find(within: &[u8], what: &[u8]) -> Option<usize> {
    // What is looked for stands at the beginning, before the long part.
    within[..within.len().min(HEAD_BYTES)].windows(what.len()).position(|at| at == what)
}

/// Where the members of an event are, before its message.
const HEAD_BYTES: usize = 256;

fn kind_of(line: &[u8]) -> &str {
    let text = line.strip_prefix(b"{\"type\":\"").and_then(|rest| rest.split(|&byte| byte == b'"').next());
    text.and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default()
}

fn head(line: &[u8]) -> String {
    String::from_utf8_lossy(&line[..line.len().min(HEAD_BYTES * 2)]).into_owned()
}

/// The mock as a provider in the agent directory that the family shares.
fn describe_mock(dir: &Path, mock: SocketAddr) -> anyhow::Result<()> {
    let providers = Format::ALL.map(|format| {
        format!(
            r#""{}":{{"baseUrl":"http://{mock}{}","api":"{}","apiKey":"x",
            "compat":{{"supportsDeveloperRole":false,"supportsReasoningEffort":false}},
            "models":[{{"id":"alpha","reasoning":false,"input":["text"],"contextWindow":1000000,"maxTokens":100000}}]}}"#,
            format.provider(),
            format.base(),
            format.api()
        )
    });
    let models = format!(r#"{{"providers":{{{}}}}}"#, providers.join(","));
    Ok(std::fs::write(dir.join("models.json"), models)?)
}

fn parse(line: &[u8]) -> anyhow::Result<Frame<'_>> {
    serde_json::from_slice(line).with_context(|| format!("not a frame: {}", String::from_utf8_lossy(line)))
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The end of what it said on stderr, ready to be appended to a message.
fn tail(stderr: &Path) -> String {
    let text = std::fs::read_to_string(stderr).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(STDERR_LINES).collect();
    lines.iter().rev().fold(String::new(), |tail, line| format!("{tail}\n    stderr: {line}"))
}
