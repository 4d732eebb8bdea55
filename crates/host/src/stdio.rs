//! The process's own stdin and stdout, taken once at the start. Afterwards fd 0 is /dev/null and fd 1 is stderr, so that a
//! stray print or a child can never reach the protocol.
//!
//! Pipes and sockets are read and written without blocking and without threads. A pipe is opened anew through
//! `/proc/self/fd`, because O_NONBLOCK belongs to the open file, which we may share with the process that started
//! us; a socket takes the flag per call. Files and terminals fall back to plain calls (output) or a thread (input).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::fs::{FileType, OFlags, fstat};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::sync::mpsc;

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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Pipe,
    Socket,
    Other,
}

fn kind(fd: &OwnedFd) -> io::Result<Kind> {
    Ok(match FileType::from_raw_mode(fstat(fd)?.st_mode) {
        FileType::Fifo => Kind::Pipe,
        FileType::Socket => Kind::Socket,
        _ => Kind::Other,
    })
}

/// The same pipe with an open file of our own.
fn reopen(fd: &OwnedFd, options: &mut OpenOptions) -> io::Result<OwnedFd> {
    use std::os::fd::AsRawFd;
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    Ok(options.custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)?.into())
}

pub enum Input {
    Ready { fd: AsyncFd<OwnedFd>, socket: bool },
    Thread { chunks: mpsc::Receiver<Vec<u8>>, rest: Vec<u8> },
}

impl Input {
    fn new(fd: OwnedFd) -> io::Result<Self> {
        let ready = match kind(&fd)? {
            Kind::Socket => Some((fd.try_clone()?, true)),
            Kind::Pipe => reopen(&fd, OpenOptions::new().read(true)).ok().map(|own| (own, false)),
            Kind::Other => None,
        };
        if let Some((own, socket)) = ready
            && let Ok(fd) = AsyncFd::register_with_interest(own, Interest::READABLE)
        {
            return Ok(Input::Ready { fd, socket });
        }
        let (chunks, received) = mpsc::channel(CHUNKS_AHEAD);
        std::thread::Builder::new().name("stdin".into()).spawn(move || read_on(&fd, &chunks))?;
        Ok(Input::Thread { chunks: received, rest: Vec::new() })
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
            Input::Ready { fd, socket } => loop {
                let mut guard = ready!(fd.poll_read_ready(context))?;
                let read = guard.try_io(|fd| {
                    let buffer = into.initialize_unfilled();
                    let count = if *socket {
                        recv(fd.get_ref(), buffer, RecvFlags::DONTWAIT)?.0
                    } else {
                        rustix::io::read(fd.get_ref(), buffer)?
                    };
                    Ok(count)
                });
                match read {
                    Ok(Ok(count)) => {
                        into.advance(count);
                        return Poll::Ready(Ok(()));
                    }
                    Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                    Ok(Err(error)) => return Poll::Ready(Err(error)),
                    Err(_would_block) => {}
                }
            },
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
    Ready { fd: AsyncFd<OwnedFd>, socket: bool },
    Plain(OwnedFd),
}

impl Output {
    fn new(fd: OwnedFd) -> io::Result<Self> {
        let ready = match kind(&fd)? {
            Kind::Socket => Some((fd.try_clone()?, true)),
            Kind::Pipe => reopen(&fd, OpenOptions::new().write(true)).ok().map(|own| (own, false)),
            Kind::Other => None,
        };
        if let Some((own, socket)) = ready
            && let Ok(fd) = AsyncFd::register_with_interest(own, Interest::WRITABLE)
        {
            return Ok(Output::Ready { fd, socket });
        }
        Ok(Output::Plain(fd))
    }
}

impl AsyncWrite for Output {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Output::Ready { fd, socket } => loop {
                let mut guard = ready!(fd.poll_write_ready(context))?;
                let written = guard.try_io(|fd| {
                    Ok(if *socket {
                        send(fd.get_ref(), bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?
                    } else {
                        rustix::io::write(fd.get_ref(), bytes)?
                    })
                });
                match written {
                    Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                    Ok(result) => return Poll::Ready(result),
                    Err(_would_block) => {}
                }
            },
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
