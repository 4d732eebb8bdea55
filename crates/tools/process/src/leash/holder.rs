//! Our side: starts a leash and holds it. Letting go ([`Control`] dropped) ends everything under it.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::Path;
use std::process::Stdio;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, send, sendmsg};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::process::Command;

use super::messages::{LeashRequest, REQUEST_BYTES_MAX, Report, STOP};
use super::pty::{PseudoTerminal, TerminalSize};
use super::{ARG, sys};

/// Why a command could not be put on a leash.
#[derive(Debug)]
pub enum LeashError {
    /// The supervisor did not start: `exe` is wrong, or the machine is out of something.
    Start(io::Error),
    /// Command and environment together are larger than a request may be.
    TooLarge(usize),
    Pipe(io::Error),
    /// No pseudo-terminal: the system has none left, or none at all.
    Terminal(io::Error),
}

impl std::fmt::Display for LeashError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LeashError::Start(error) => write!(f, "cannot start the process supervisor: {error}"),
            LeashError::TooLarge(bytes) => write!(f, "command and environment take {bytes} bytes, too many to start"),
            LeashError::Pipe(error) => write!(f, "cannot open a pipe: {error}"),
            LeashError::Terminal(error) => write!(f, "cannot open a terminal: {error}"),
        }
    }
}

impl std::error::Error for LeashError {}

/// A command on its leash.
pub struct OnLeash {
    pub control: Control,
    /// Standard output and error of the command, interleaved as written.
    pub output: pipe::Receiver,
    /// Standard input, when it was asked for; dropped = end of input, except on a terminal.
    pub input: Option<pipe::Sender>,
    /// When the request wanted one: then output and input go through it.
    pub terminal: Option<PseudoTerminal>,
}

/// The end of the leash that we hold. Dropping it sends "stop": TERM, two seconds, KILL, done by the leash while we
/// go on.
pub struct Control {
    /// `None` once it was given up as a [`Spare`].
    socket: Option<UnixStream>,
    /// Part of a report that has not fully arrived.
    partial: Vec<u8>,
    leash_pid: Option<i32>,
    command_pid: Option<i32>,
    /// The leash said that nothing is left.
    empty: bool,
}

/// A leash that waits for a request: a fresh one, or one whose command left nothing behind. Starting one takes as long
/// as starting the shell, so it pays to keep it. Dropped, it ends.
pub struct Spare {
    control: StdUnixStream,
    pid: Option<i32>,
}

impl Spare {
    /// Starts `exe` as a leash.
    pub fn start(exe: &Path) -> Result<Spare, LeashError> {
        let (control, theirs) = StdUnixStream::pair().map_err(LeashError::Pipe)?;
        // The environment is sent, not inherited: ours never shows in the leash's `/proc/PID/environ`.
        let leash = Command::new(exe)
            .arg0("leash")
            .arg(ARG)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(LeashError::Start)?;
        Ok(Spare { control, pid: leash.id().and_then(|pid| i32::try_from(pid).ok()) })
    }

    /// Puts the request on this leash. With `input` the command gets a pipe as standard input, else `/dev/null`; a
    /// terminal is both output and input.
    pub async fn hold(self, request: &LeashRequest, input: bool) -> Result<OnLeash, LeashError> {
        let payload = request.encode();
        if payload.len() > REQUEST_BYTES_MAX {
            return Err(LeashError::TooLarge(payload.len()));
        }
        let ends = match request.terminal {
            Some(size) => Ends::terminal(size).map_err(LeashError::Terminal)?,
            None => Ends::pipes(input).map_err(LeashError::Pipe)?,
        };
        let (output, input) = (ends.command_output, ends.command_input);
        send_descriptors(&self.control, payload.len(), output, request.cwd.as_fd(), input)
            .map_err(LeashError::Start)?;
        self.control.set_nonblocking(true).map_err(LeashError::Pipe)?;
        let mut socket = UnixStream::from_std(self.control).map_err(LeashError::Pipe)?;
        socket.write_all(&payload).await.map_err(LeashError::Start)?;
        let control =
            Control { socket: Some(socket), partial: Vec::new(), leash_pid: self.pid, command_pid: None, empty: false };
        Ok(OnLeash { control, output: ends.output, input: ends.input, terminal: ends.terminal })
    }
}

/// Both ends of what a command reads and writes.
struct Ends {
    output: pipe::Receiver,
    input: Option<pipe::Sender>,
    terminal: Option<PseudoTerminal>,
    command_output: OwnedFd,
    command_input: Option<OwnedFd>,
}

impl Ends {
    fn pipes(input: bool) -> io::Result<Ends> {
        let (output, command_output) = io::pipe()?;
        let (command_input, input) = input.then(io::pipe).transpose()?.unzip();
        let sender = |input: io::PipeWriter| pipe::Sender::from_owned_fd(input.into());
        Ok(Ends {
            output: pipe::Receiver::from_owned_fd(output.into())?,
            input: input.map(sender).transpose()?,
            terminal: None,
            command_output: command_output.into(),
            command_input: command_input.map(OwnedFd::from),
        })
    }

    fn terminal(size: TerminalSize) -> io::Result<Ends> {
        let (terminal, command_output) = PseudoTerminal::open(size)?;
        let (output, input) = (terminal.output()?, Some(terminal.input()?));
        Ok(Ends { output, input, terminal: Some(terminal), command_output, command_input: None })
    }
}

/// The length of the request with the command's ends of the pipes and its directory attached. Our copies of the former
/// close on return, so that the output ends when the command's side ends.
pub(super) fn send_descriptors(
    control: &StdUnixStream,
    length: usize,
    output: OwnedFd,
    cwd: BorrowedFd<'_>,
    input: Option<OwnedFd>,
) -> io::Result<()> {
    let mut descriptors = vec![output.as_fd(), cwd];
    descriptors.extend(input.as_ref().map(|input| input.as_fd()));
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    let length = (length as u32).to_le_bytes();
    sendmsg(control, &[IoSlice::new(&length)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

impl Control {
    /// The next report; `None` when the leash has ended. Safe to cancel.
    pub async fn report(&mut self) -> Option<Report> {
        loop {
            if let Some(frame) = self.partial.first_chunk::<{ Report::BYTES }>() {
                let report = Report::decode(*frame);
                self.partial.drain(..Report::BYTES);
                match report {
                    Some(Report::Started(pid)) => self.command_pid = Some(pid),
                    Some(Report::Empty | Report::Failed(_)) => self.empty = true,
                    _ => {}
                }
                return report;
            }
            let mut bytes = [0u8; 64];
            match self.socket.as_mut()?.read(&mut bytes).await {
                Ok(count) if count > 0 => self.partial.extend_from_slice(&bytes[..count]),
                _ => {
                    self.leash_gone();
                    return None;
                }
            }
        }
    }

    /// The leash itself was killed: whatever it left in its session is ended from here.
    fn leash_gone(&mut self) {
        if !self.empty
            && let Some(leash) = self.leash_pid
        {
            sys::kill_session(leash, self.command_pid);
        }
        self.empty = true;
    }

    /// Begins to end everything under the leash; [`Control::report`] tells how it goes.
    pub fn stop(&self) {
        // A full socket cannot be: we send one request and this byte. A closed one means that it is over.
        if let Some(socket) = &self.socket {
            let _ = send(socket, &[STOP], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        }
    }

    /// The leash for the next command, when this one left nothing behind. `None`: it is busy or gone.
    pub async fn into_spare(mut self) -> Option<Spare> {
        while !self.empty {
            self.report().await?;
        }
        let control = self.socket.take()?.into_std().ok()?;
        Some(Spare { control, pid: self.leash_pid })
    }
}

/// Reads what is in an output pipe right now without waiting; `None` when it is empty, `Some(0)` at its end.
pub fn read_now(output: &pipe::Receiver, buffer: &mut [u8]) -> Option<usize> {
    // Not `try_read`: that trusts readiness the runtime may not have heard of yet.
    match rustix::io::read(output, buffer) {
        Ok(count) => Some(count),
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => None,
        Err(_) => Some(0),
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.stop();
    }
}
