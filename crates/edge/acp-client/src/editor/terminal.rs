//! `terminal/*`: commands of the agent's that we run. Their output is kept as far as it fits, the oldest going first.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use acp_types::error::NOT_FOUND;
use acp_types::{
    CreateTerminalRequest, CreateTerminalResponse, TerminalExitStatus, TerminalOutputResponse, TerminalRequest,
};
use process::{EndSignal, Exit, Launched, Program};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::{mpsc, watch};
use wire::jsonrpc::{INTERNAL_ERROR, RpcError};

use super::{Workshop, answer, done, files, invalid, outside, read, under};
use crate::channel::find_program;

/// Commands of one connection that are not released; one more is refused.
pub const TERMINALS_MAX: usize = 32;
/// KeptOutput kept of a command, and the most that may be asked for.
pub const OUTPUT_BYTES_MAX: usize = 1024 * 1024;
const READ_BYTES: usize = 16 * 1024;

#[derive(Default)]
pub(super) struct Terminals {
    open: Mutex<OpenTerminals>,
}

#[derive(Default)]
struct OpenTerminals {
    next: u64,
    /// `None`: being started.
    by_id: BTreeMap<String, Option<RunningTerminal>>,
}

#[derive(Clone)]
struct RunningTerminal {
    output: Arc<Mutex<KeptOutput>>,
    exit: watch::Receiver<Option<Exit>>,
    /// Dropped with the last copy, it ends the command.
    strikes: mpsc::Sender<EndSignal>,
}

/// The end of what a command wrote.
struct KeptOutput {
    bytes: Vec<u8>,
    limit: usize,
    truncated: bool,
}

impl KeptOutput {
    fn push(&mut self, more: &[u8]) {
        self.bytes.extend_from_slice(more);
        if self.bytes.len() > self.limit {
            self.truncated = true;
            let mut cut = self.bytes.len() - self.limit;
            // Not into the middle of a character: its tail bytes go, too.
            while self.bytes.get(cut).is_some_and(|byte| byte & 0xc0 == 0x80) {
                cut += 1;
            }
            self.bytes.drain(..cut);
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Terminals {
    pub(super) async fn create(&self, workshop: &Workshop, params: &Value) -> Result<Value, RpcError> {
        let request: CreateTerminalRequest = read(params, &["command"])?;
        let program = program(workshop, &request)?;
        let limit = request.output_byte_limit.map_or(OUTPUT_BYTES_MAX, |limit| OUTPUT_BYTES_MAX.min(limit as usize));
        let id = self.reserve()?;
        let started = workshop.launcher.launch(&program).await;
        let mut open = locked(&self.open);
        match started {
            Ok(started) => {
                open.by_id.insert(id.clone(), Some(run(started, limit)));
                answer(CreateTerminalResponse { terminal_id: id })
            }
            Err(error) => {
                open.by_id.remove(&id);
                Err(RpcError::new(INTERNAL_ERROR, format!("cannot start the command: {error}")))
            }
        }
    }

    fn reserve(&self) -> Result<String, RpcError> {
        let mut open = locked(&self.open);
        if open.by_id.len() >= TERMINALS_MAX {
            let text = format!("{TERMINALS_MAX} terminals are open already; release some");
            return Err(RpcError::new(INTERNAL_ERROR, text));
        }
        open.next += 1;
        let id = format!("term-{}", open.next);
        open.by_id.insert(id.clone(), None);
        Ok(id)
    }

    fn get(&self, params: &Value) -> Result<(String, RunningTerminal), RpcError> {
        let TerminalRequest { terminal_id: id, .. } = read(params, &["terminalId"])?;
        let found = locked(&self.open).by_id.get(&id).cloned().flatten();
        match found {
            Some(terminal) => Ok((id, terminal)),
            None => Err(RpcError::new(NOT_FOUND, format!("there is no terminal {id}"))),
        }
    }

    pub(super) fn output(&self, params: &Value) -> Result<Value, RpcError> {
        let (_, terminal) = self.get(params)?;
        let output = locked(&terminal.output);
        answer(TerminalOutputResponse {
            output: String::from_utf8_lossy(&output.bytes).into_owned(),
            truncated: output.truncated,
            exit_status: terminal.exit.borrow().as_ref().map(status),
        })
    }

    pub(super) async fn wait(&self, params: &Value) -> Result<Value, RpcError> {
        let mut exit = self.get(params)?.1.exit;
        let exit = exit.wait_for(Option::is_some).await.ok().and_then(|exit| exit.clone());
        answer(status(&exit.unwrap_or_default()))
    }

    pub(super) fn kill(&self, params: &Value) -> Result<Value, RpcError> {
        // A full queue holds a strike already.
        let _ = self.get(params)?.1.strikes.try_send(EndSignal::Kill);
        done()
    }

    pub(super) fn release(&self, params: &Value) -> Result<Value, RpcError> {
        let (id, terminal) = self.get(params)?;
        let _ = terminal.strikes.try_send(EndSignal::Kill);
        locked(&self.open).by_id.remove(&id);
        done()
    }
}

fn status(exit: &Exit) -> TerminalExitStatus {
    TerminalExitStatus { exit_code: exit.code.map(i64::from), signal: exit.signal.map(|number| number.to_string()) }
}

/// It is a directory below the root and nowhere else, whatever links there are.
fn check_dir(root: &Path, way: &Path) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(root, flags, Mode::empty())?;
    let way = if way.as_os_str().is_empty() { Path::new(".") } else { way };
    openat2(&root, way, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS).map(drop)
}

fn program(workshop: &Workshop, request: &CreateTerminalRequest) -> Result<Program, RpcError> {
    let args: Vec<&str> = request.args.iter().map(String::as_str).collect();
    let first = workshop.roots.first().ok_or_else(|| invalid("there is no workspace".into()))?;
    let cwd = match request.cwd.as_deref() {
        None => first.clone(),
        Some(cwd) => {
            let (root, way) = under(&workshop.roots, cwd)?;
            check_dir(root, &way).map_err(|error| match error {
                Errno::NOENT => files::missing(cwd),
                Errno::XDEV => outside(Path::new(cwd)),
                error => RpcError::new(INTERNAL_ERROR, format!("{cwd}: {error}")),
            })?;
            root.join(way)
        }
    };
    let mut env = workshop.env.clone();
    for pair in &request.env {
        env.retain(|(known, _)| *known != *pair.name);
        env.push(((*pair.name).into(), (*pair.value).into()));
    }
    let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
    let argv = argv(&request.command, &args, path.as_deref(), &cwd);
    Ok(Program { argv, cwd, env, joined: true })
}

/// Some agents put a whole shell line into `command`; what is no program is one.
fn argv(command: &str, args: &[&str], path: Option<&std::ffi::OsStr>, cwd: &Path) -> Vec<OsString> {
    match find_program(command.as_ref(), path, cwd) {
        Some(found) => std::iter::once(found.into_os_string()).chain(args.iter().map(OsString::from)).collect(),
        None => {
            let line = std::iter::once(command).chain(args.iter().copied()).collect::<Vec<_>>().join(" ");
            ["/bin/sh", "-c", &line].map(OsString::from).into()
        }
    }
}

fn run(started: Launched, limit: usize) -> RunningTerminal {
    let output = Arc::new(Mutex::new(KeptOutput { bytes: Vec::new(), limit, truncated: false }));
    let (tell, exit) = watch::channel(None);
    let (strikes, mut struck) = mpsc::channel(1);
    let Launched { input, output: out, mut process, .. } = started;
    // The agent has no way to type there.
    drop(input);
    let into = output.clone();
    tokio::spawn(async move {
        let mut copying = std::pin::pin!(copy(out, &into));
        let mut copied = false;
        let exit = loop {
            tokio::select! {
                exit = process.ended() => break exit,
                () = &mut copying, if !copied => copied = true,
                strike = struck.recv() => match strike {
                    Some(strike) => process.signal(strike),
                    // Released, or the connection is gone.
                    None => return,
                },
            }
        };
        // What it wrote last is there before its end is told; a child of its own that holds the pipe is not waited for.
        if !copied {
            let _ = tokio::time::timeout(crate::task::LAST_WORDS, &mut copying).await;
        }
        tell.send_replace(Some(exit));
    });
    RunningTerminal { output, exit, strikes }
}

async fn copy(mut from: Box<dyn AsyncRead + Send + Unpin>, into: &Mutex<KeptOutput>) {
    let mut buffer = vec![0; READ_BYTES];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        locked(into).push(&buffer[..count]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_cut_at_its_start_and_between_characters() {
        let mut output = KeptOutput { bytes: Vec::new(), limit: 5, truncated: false };
        output.push(b"abcde");
        assert!(!output.truncated);
        output.push("üü".as_bytes());
        assert_eq!((std::str::from_utf8(&output.bytes).unwrap(), output.truncated), ("eüü", true));
        output.push(b"x");
        output.push(b"y");
        assert_eq!(std::str::from_utf8(&output.bytes).unwrap(), "üxy");
    }
}
