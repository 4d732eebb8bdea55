//! The process's own stdin and stdout, taken once at the start. Afterwards fd 0 is /dev/null and fd 1 is stderr, so that a
//! stray print or a child can never reach the protocol.
//!
//! Pipes and sockets are read and written without blocking and without threads. A pipe is opened anew through
//! `/proc/self/fd`, because O_NONBLOCK belongs to the open file, which we may share with the process that started us.
//! Files and terminals fall back to plain calls (output) or a thread (input).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::fs::{FileType, OFlags, fstat};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;

use crate::pump::Gone;

/// Chunks a reading thread may be ahead.
const CHUNKS_AHEAD: usize = 4;
const CHUNK_BYTES: usize = 16 * 1024;

/// Takes stdin and stdout. Must run on a runtime, before anything is printed.
pub fn take() -> io::Result<(Input, Output)> {
    let stdin = rustix::io::fcntl_dupfd_cloexec(io::stdin().as_fd(), 3)?;
    let stdout = rustix::io::fcntl_dupfd_cloexec(io::stdout().as_fd(), 3)?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok((Input::new(stdin)?, Output::new(stdout)?))
}

fn kind(fd: &OwnedFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(fd)?.st_mode))
}

/// The same pipe with an open file of our own.
fn reopen(fd: &impl AsRawFd, options: &mut OpenOptions) -> io::Result<File> {
    options.custom_flags(OFlags::NONBLOCK.bits() as i32).open(format!("/proc/self/fd/{}", fd.as_raw_fd()))
}

fn socket(fd: &OwnedFd) -> io::Result<UnixStream> {
    let socket = std::os::unix::net::UnixStream::from(fd.try_clone()?);
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

pub enum Input {
    Pipe(pipe::Receiver),
    Socket(UnixStream),
    Thread { chunks: mpsc::Receiver<Vec<u8>>, rest: Vec<u8> },
}

impl Input {
    fn new(fd: OwnedFd) -> io::Result<Self> {
        let ready = match kind(&fd)? {
            FileType::Socket => socket(&fd).map(Input::Socket),
            FileType::Fifo => {
                reopen(&fd, OpenOptions::new().read(true)).and_then(pipe::Receiver::from_file).map(Input::Pipe)
            }
            _ => Err(io::ErrorKind::Unsupported.into()),
        };
        ready.or_else(|_| {
            let (chunks, received) = mpsc::channel(CHUNKS_AHEAD);
            std::thread::Builder::new().name("stdin".into()).spawn(move || read_on(&fd, &chunks))?;
            Ok(Input::Thread { chunks: received, rest: Vec::new() })
        })
    }
}

/// A file or a terminal can only be waited for by a thread.
fn read_on(fd: &OwnedFd, chunks: &mpsc::Sender<Vec<u8>>) {
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        match rustix::io::read(fd, &mut buffer[..]) {
            Ok(0) => return,
            Ok(count) if chunks.blocking_send(buffer[..count].to_vec()).is_err() => return,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

impl AsyncRead for Input {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Input::Pipe(pipe) => Pin::new(pipe).poll_read(context, into),
            Input::Socket(socket) => Pin::new(socket).poll_read(context, into),
            Input::Thread { chunks, rest } => {
                if rest.is_empty() {
                    match ready!(chunks.poll_recv(context)) {
                        Some(chunk) => *rest = chunk,
                        None => return Poll::Ready(Ok(())),
                    }
                }
                let count = rest.len().min(into.remaining());
                into.put_slice(&rest[..count]);
                rest.drain(..count);
                Poll::Ready(Ok(()))
            }
        }
    }
}

pub enum Output {
    Pipe(pipe::Sender),
    Socket(UnixStream),
    Plain(OwnedFd),
}

impl Output {
    fn new(fd: OwnedFd) -> io::Result<Self> {
        let ready = match kind(&fd)? {
            FileType::Socket => socket(&fd).map(Output::Socket),
            FileType::Fifo => {
                reopen(&fd, OpenOptions::new().write(true)).and_then(pipe::Sender::from_file).map(Output::Pipe)
            }
            _ => Err(io::ErrorKind::Unsupported.into()),
        };
        Ok(ready.unwrap_or(Output::Plain(fd)))
    }

    /// Done when the reader of a pipe is gone. A controller can die while we have nothing to say, and a write would
    /// never notice.
    pub fn gone(&self) -> Option<Gone> {
        let Output::Pipe(pipe) = self else { return None };
        let same = reopen(pipe, OpenOptions::new().write(true)).and_then(pipe::Sender::from_file).ok()?;
        Some(Box::pin(async move {
            // An error to wait with is no reader either.
            let _ = same.ready(Interest::ERROR).await;
        }))
    }
}

impl AsyncWrite for Output {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Output::Pipe(pipe) => Pin::new(pipe).poll_write(context, bytes),
            Output::Socket(socket) => Pin::new(socket).poll_write(context, bytes),
            Output::Plain(fd) => Poll::Ready(rustix::io::write(fd, bytes).map_err(Into::into)),
        }
    }
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
