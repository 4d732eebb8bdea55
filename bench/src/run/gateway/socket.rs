//! One connection of the driver's: upgraded, then messages both ways. Waits in the loop, never in a read.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, bail, ensure};

use super::process::TOKEN;
use crate::ws::{self, Whole};

/// How long a gateway may take to answer an upgrade.
const UPGRADE_MAX: Duration = Duration::from_secs(30);

pub(super) struct Socket {
    pub(super) stream: TcpStream,
    /// From `at` on: bytes that were not looked at.
    buf: Vec<u8>,
    at: usize,
}

impl Socket {
    /// Connected and asked for; [`Socket::upgraded`] waits for the answer.
    pub(super) fn ask(addr: SocketAddr) -> anyhow::Result<Self> {
        let mut stream = TcpStream::connect(addr).context("connect")?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(UPGRADE_MAX))?;
        // Thousands of closed ones would keep their ports for a minute.
        rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO))?;
        let request = format!(
            "GET / HTTP/1.1\r\nhost: {addr}\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nauthorization: Bearer {TOKEN}\r\n\r\n"
        );
        stream.write_all(request.as_bytes())?;
        Ok(Self { stream, buf: Vec::new(), at: 0 })
    }

    pub(super) fn upgraded(mut self) -> anyhow::Result<Self> {
        let mut head = Vec::new();
        let mut byte = [0; 512];
        let end = loop {
            if let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            let read = self.stream.read(&mut byte).context("waiting for the upgrade")?;
            ensure!(read > 0, "closed before the upgrade: {}", String::from_utf8_lossy(&head));
            head.extend_from_slice(&byte[..read]);
        };
        ensure!(head.starts_with(b"HTTP/1.1 101"), "not upgraded: {}", String::from_utf8_lossy(&head));
        self.buf = head.split_off(end);
        self.stream.set_nonblocking(true)?;
        Ok(self)
    }

    pub(super) fn send(&mut self, op: u8, payload: &[u8]) -> anyhow::Result<()> {
        let mut frame = Vec::with_capacity(payload.len() + 16);
        ws::masked(&mut frame, op, payload);
        // A request is far smaller than what the system takes.
        self.stream.write_all(&frame).context("sending")
    }

    /// One read; false when nothing is there.
    pub(super) fn read(&mut self, scratch: &mut [u8]) -> anyhow::Result<bool> {
        match self.stream.read(scratch) {
            Ok(0) => bail!("the gateway closed a connection"),
            Ok(read) => {
                self.buf.drain(..self.at);
                self.at = 0;
                self.buf.extend_from_slice(&scratch[..read]);
                Ok(true)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(false),
            Err(error) => Err(error).context("reading"),
        }
    }

    /// The next message that is whole; pings are answered.
    pub(super) fn next(&mut self) -> anyhow::Result<Option<std::ops::Range<usize>>> {
        loop {
            let Some(whole) = Whole::at_front(&self.buf[self.at..]) else {
                if self.at == self.buf.len() {
                    (self.buf, self.at) = (Vec::new(), 0);
                }
                return Ok(None);
            };
            let payload = self.at + whole.payload.start..self.at + whole.payload.end;
            self.at = payload.end;
            match whole.op {
                ws::TEXT => return Ok(Some(payload)),
                ws::PING => {
                    let payload = self.buf[payload].to_vec();
                    self.send(ws::PONG, &payload)?;
                }
                ws::CLOSE => bail!("closed: {}", String::from_utf8_lossy(&self.buf[payload])),
                _ => {}
            }
        }
    }

    pub(super) fn bytes(&self, range: std::ops::Range<usize>) -> &[u8] {
        &self.buf[range]
    }
}
