//! As much of HTTP/1.1 as an agent's model client needs: requests with a length, answers, keep-alive.

use std::io::{self, Read, Write};
use std::net::TcpStream;

/// The longest request taken, head and body; a longer one closes the connection.
const REQUEST_BYTES_MAX: usize = 256 * 1024 * 1024;
/// The longest head taken.
const HEAD_BYTES_MAX: usize = 64 * 1024;

pub(super) struct Request<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub body: &'a [u8],
}

/// The requests of one connection, read into one buffer that is reused.
pub(super) struct Requests {
    stream: TcpStream,
    buf: Vec<u8>,
    filled: usize,
    /// Bytes of the request handed out last; dropped when the next one is wanted.
    used: usize,
}

impl Requests {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream, buf: vec![0; 64 * 1024], filled: 0, used: 0 }
    }

    /// The next request; `None` when the client is done.
    pub(super) fn next(&mut self) -> io::Result<Option<Request<'_>>> {
        self.buf.copy_within(self.used..self.filled, 0);
        self.filled -= self.used;
        self.used = 0;
        let head = loop {
            if let Some(at) = self.buf[..self.filled].windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            if self.filled > HEAD_BYTES_MAX {
                return Err(invalid("the head is too long"));
            }
            if self.fill()? == 0 {
                return Ok(None);
            }
        };
        let length = {
            let text = std::str::from_utf8(&self.buf[..head]).map_err(|_| invalid("the head is not text"))?;
            content_length(text)?
        };
        let end = head.saturating_add(length);
        if end > REQUEST_BYTES_MAX {
            return Err(invalid("the body is too long"));
        }
        if self.buf.len() < end {
            self.buf.resize(end, 0);
        }
        while self.filled < end {
            if self.fill()? == 0 {
                return Err(invalid("the body is cut"));
            }
        }
        self.used = end;
        let line = self.buf[..head].split(|&byte| byte == b'\r').next().unwrap_or_default();
        let line = std::str::from_utf8(line).map_err(|_| invalid("the head is not text"))?;
        let mut words = line.split(' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        Ok(Some(Request { method, path, body: &self.buf[head..end] }))
    }

    fn fill(&mut self) -> io::Result<usize> {
        if self.filled == self.buf.len() {
            self.buf.resize(self.buf.len() * 2, 0);
        }
        let read = self.stream.read(&mut self.buf[self.filled..])?;
        self.filled += read;
        Ok(read)
    }
}

fn content_length(head: &str) -> io::Result<usize> {
    for line in head.lines().skip(1) {
        let Some((name, value)) = line.split_once(':') else { continue };
        if name.eq_ignore_ascii_case("content-length") {
            return value.trim().parse().map_err(|_| invalid("content-length is no number"));
        }
        if name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(invalid("chunked requests are not understood"));
        }
    }
    Ok(0)
}

pub(super) fn json(out: &mut TcpStream, body: &str) -> io::Result<()> {
    write_all(out, "200 OK", body)
}

pub(super) fn refuse(out: &mut TcpStream, status: &str, message: &str) -> io::Result<()> {
    let message = serde_json::to_string(message).expect("text is always JSON");
    write_all(out, status, &format!(r#"{{"error":{{"message":{message},"type":"mock"}}}}"#))
}

fn write_all(out: &mut TcpStream, status: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    let answer =
        format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}");
    out.write_all(answer.as_bytes())
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
