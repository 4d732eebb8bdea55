//! One connection: an upgrade, then text messages both ways.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use rustix::event::epoll::EventFlags;

use crate::ws::{self, Whole};

/// What waits for a client that does not read; one with more is cut off.
const UNSENT_BYTES_MAX: usize = 2 * 1024 * 1024;

pub(super) struct Client {
    stream: TcpStream,
    pub(super) serial: u64,
    upgraded: bool,
    /// Bytes that are no whole message yet. An idle client has none.
    unread: Vec<u8>,
    unsent: Vec<u8>,
    /// The system takes no more for now.
    blocked: bool,
    lost: bool,
}

pub(super) enum Heard {
    Upgrade,
    Request(Vec<u8>),
}

impl Client {
    pub(super) fn new(stream: TcpStream, serial: u64) -> Self {
        let (unread, unsent) = (Vec::new(), Vec::new());
        Self { stream, serial, upgraded: false, unread, unsent, blocked: false, lost: false }
    }
    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }
    pub(super) fn owes_nothing(&self) -> bool {
        self.unsent.is_empty()
    }

    /// Everything that is there; false at the end of the connection.
    pub(super) fn read(&mut self, scratch: &mut [u8]) -> bool {
        match self.stream.read(scratch) {
            Ok(0) => false,
            Ok(read) => {
                self.unread.extend_from_slice(&scratch[..read]);
                true
            }
            Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        }
    }

    pub(super) fn next(&mut self) -> Option<Heard> {
        if !self.upgraded {
            return self.upgrade();
        }
        loop {
            let whole = Whole::at_front(&self.unread)?;
            whole.unmask(&mut self.unread);
            let payload = self.unread[whole.payload.clone()].to_vec();
            self.unread.drain(..whole.payload.end);
            if self.unread.is_empty() {
                self.unread = Vec::new();
            }
            match whole.op {
                ws::TEXT => return Some(Heard::Request(payload)),
                ws::PING => {
                    ws::head(&mut self.unsent, ws::PONG, payload.len());
                    self.unsent.extend_from_slice(&payload);
                }
                _ => {}
            }
        }
    }

    fn upgrade(&mut self) -> Option<Heard> {
        let end = self.unread.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
        let head = String::from_utf8_lossy(&self.unread[..end]).into_owned();
        let key = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("sec-websocket-key").then(|| value.trim())
        });
        let accept = ws::accept(key.unwrap_or_default());
        self.unsent.extend_from_slice(
            format!("HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: {accept}\r\n\r\n")
                .as_bytes(),
        );
        self.unread = self.unread.split_off(end);
        self.upgraded = true;
        Some(Heard::Upgrade)
    }

    pub(super) fn text(&mut self, text: String) {
        if self.room(text.len()) {
            ws::head(&mut self.unsent, ws::TEXT, text.len());
            self.unsent.extend_from_slice(text.as_bytes());
        }
    }

    /// A frame whose tail is the same for many.
    pub(super) fn pieces(&mut self, id: u64, tail: &str) {
        let head = format!(r#"{{"id":{id},"#);
        if self.room(head.len() + tail.len()) {
            ws::head(&mut self.unsent, ws::TEXT, head.len() + tail.len());
            self.unsent.extend_from_slice(head.as_bytes());
            self.unsent.extend_from_slice(tail.as_bytes());
        }
    }

    fn room(&mut self, bytes: usize) -> bool {
        if self.unsent.len() + bytes > UNSENT_BYTES_MAX && !self.lost {
            self.lost = true;
            self.unsent = Vec::new();
            let _ = self.stream.shutdown(std::net::Shutdown::Both);
        }
        !self.lost
    }

    /// Writes what it is owed; what to wait for, where that has changed.
    pub(super) fn flush(&mut self) -> Option<EventFlags> {
        let mut at = 0;
        let mut blocked = false;
        while at < self.unsent.len() {
            match self.stream.write(&self.unsent[at..]) {
                Ok(written) => at += written,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    blocked = true;
                    break;
                }
                // It is gone; the next read says so.
                Err(_) => at = self.unsent.len(),
            }
        }
        match blocked {
            true => drop(self.unsent.drain(..at)),
            false => self.unsent = Vec::new(),
        }
        let changed = blocked != std::mem::replace(&mut self.blocked, blocked);
        changed.then(|| if blocked { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN })
    }
}
