//! Many connections in one loop.

use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

use super::frame::Frame;
use super::socket::Socket;
use crate::mock::now_ns;
use crate::ws;

/// A gateway that says nothing for this long is given up.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// Upgrades asked for before the first answer is read.
const AT_ONCE: usize = 64;
const READ_BYTES: usize = 64 * 1024;
const EVENTS_MAX: usize = 1024;

pub(crate) struct Crowd {
    addr: SocketAddr,
    /// Tells its sessions from those of a crowd that was there before, at a gateway with the same home.
    run: u32,
    epoll: OwnedFd,
    sockets: Vec<Socket>,
    scratch: Vec<u8>,
    id: u64,
    /// Whose messages were read but not heard yet when the last listener had enough.
    unheard: Option<usize>,
}

/// Who heard what, and when it was read.
pub(crate) struct Heard<'a> {
    pub(crate) socket: usize,
    pub(crate) frame: Frame<'a>,
    pub(crate) at_ns: u64,
}

impl Crowd {
    pub(crate) fn new(addr: SocketAddr) -> anyhow::Result<Self> {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let (epoll, run) = (epoll::create(CreateFlags::CLOEXEC)?, RUNS.fetch_add(1, Ordering::Relaxed));
        Ok(Self { addr, run, epoll, sockets: Vec::new(), scratch: vec![0; READ_BYTES], id: 0, unheard: None })
    }

    /// New to the gateway: it has no history that the floor, which remembers nothing, would not have either.
    pub(crate) fn session(&self, number: usize) -> String {
        format!("bench:{}:{number}", self.run)
    }

    /// So many more, authenticated.
    pub(crate) fn join(&mut self, count: usize) -> anyhow::Result<()> {
        let mut left = count;
        while left > 0 {
            let batch = left.min(AT_ONCE);
            let asked: Vec<Socket> = (0..batch).map(|_| Socket::ask(self.addr)).collect::<anyhow::Result<_>>()?;
            for socket in asked {
                let socket = socket.upgraded()?;
                let key = EventData::new_u64(self.sockets.len() as u64);
                epoll::add(&self.epoll, &socket.stream, key, EventFlags::IN)?;
                self.sockets.push(socket);
            }
            left -= batch;
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.sockets.len()
    }

    /// From now on this one does not read, and the system keeps little for it.
    pub(crate) fn stop_reading(&mut self, socket: usize) -> anyhow::Result<()> {
        let stream = &self.sockets[socket].stream;
        rustix::net::sockopt::set_socket_recv_buffer_size(stream, 4096)?;
        Ok(epoll::delete(&self.epoll, stream)?)
    }

    /// Asks, and gives the id; the answer comes to [`Crowd::listen`].
    pub(crate) fn ask(&mut self, socket: usize, method: &str, params: &str) -> anyhow::Result<u64> {
        self.id += 1;
        let text = format!(r#"{{"id":{},"method":"{method}","params":{params}}}"#, self.id);
        self.sockets[socket].send(ws::TEXT, text.as_bytes())?;
        Ok(self.id)
    }

    /// Asks, and waits for the answer; gives the milliseconds.
    pub(crate) fn call(&mut self, socket: usize, method: &str, params: &str) -> anyhow::Result<f64> {
        let start = now_ns();
        let id = self.ask(socket, method, params)?;
        self.listen(|heard, _| match heard.frame.id == Some(id) && heard.frame.result.is_some() {
            true => Ok(ControlFlow::Break(heard.at_ns)),
            false => Ok(ControlFlow::Continue(())),
        })
        .map(|at_ns| (at_ns - start) as f64 / 1e6)
    }

    /// The newest one is cut off, whatever is on its way.
    pub(crate) fn cut(&mut self) {
        self.sockets.pop();
        self.unheard = None;
    }

    /// Hears everybody until somebody says that it is enough. An error frame is the end, whoever gets it.
    pub(crate) fn listen<B>(
        &mut self,
        mut each: impl FnMut(&Heard<'_>, &mut Asks) -> anyhow::Result<ControlFlow<B>>,
    ) -> anyhow::Result<B> {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS_MAX);
        let mut asks = Asks::default();
        if let Some(at) = self.unheard.take()
            && let ControlFlow::Break(result) = self.hear(at, &mut asks, &mut each)?
        {
            return Ok(result);
        }
        loop {
            for (socket, method, params) in asks.0.drain(..) {
                self.ask(socket, method, &params)?;
            }
            events.clear();
            let patience = Timespec { tv_sec: SILENCE_MAX.as_secs() as i64, tv_nsec: 0 };
            epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&patience))?;
            ensure!(!events.is_empty(), "the gateway said nothing for {} s", SILENCE_MAX.as_secs());
            for event in &events {
                let at = event.data.u64() as usize;
                if self.sockets[at].read(&mut self.scratch)?
                    && let ControlFlow::Break(result) = self.hear(at, &mut asks, &mut each)?
                {
                    return Ok(result);
                }
            }
        }
    }

    /// All messages of one that have been read.
    fn hear<B>(
        &mut self,
        at: usize,
        asks: &mut Asks,
        each: &mut impl FnMut(&Heard<'_>, &mut Asks) -> anyhow::Result<ControlFlow<B>>,
    ) -> anyhow::Result<ControlFlow<B>> {
        let at_ns = now_ns();
        let socket = &mut self.sockets[at];
        while let Some(range) = socket.next()? {
            let text = socket.bytes(range);
            let frame: Frame<'_> = serde_json::from_slice(text)
                .with_context(|| format!("not understood: {}", String::from_utf8_lossy(text)))?;
            if let Some(error) = frame.error {
                bail!("refused: {error}");
            }
            let heard = Heard { socket: at, frame, at_ns };
            if let ControlFlow::Break(result) = each(&heard, asks)? {
                self.unheard = Some(at);
                return Ok(ControlFlow::Break(result));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// What a listener wants to ask next.
#[derive(Default)]
pub(crate) struct Asks(Vec<(usize, &'static str, String)>);

impl Asks {
    pub(crate) fn push(&mut self, socket: usize, method: &'static str, params: String) {
        self.0.push((socket, method, params));
    }
}
