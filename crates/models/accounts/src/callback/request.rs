//! The head of a request, as much of it as the callback needs. Headers are not looked at: the state decides.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::form;

/// A longer head is refused. Codes are at most some KiB.
const HEAD_BYTES_MAX: usize = 16 * 1024;

#[derive(Debug, PartialEq)]
pub(super) enum CallbackHead {
    Request(CallbackRequest),
    TooLong,
    Strange,
}

#[derive(PartialEq)]
pub(super) struct CallbackRequest {
    pub(super) method: String,
    pub(super) path: String,
    query: String,
}

/// The query holds the code.
impl std::fmt::Debug for CallbackRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

impl CallbackRequest {
    pub(super) fn value(&self, name: &str) -> Option<String> {
        form::value(&self.query, name)
    }
    pub(super) fn state(&self) -> Option<String> {
        self.value("state")
    }
}

/// Reads up to the empty line. An error when the other side goes away before.
pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<CallbackHead> {
    let mut bytes = Vec::with_capacity(1024);
    loop {
        let from = bytes.len().saturating_sub(3);
        if stream.take((HEAD_BYTES_MAX + 1 - bytes.len()) as u64).read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if bytes[from..].windows(4).any(|window| window == b"\r\n\r\n") {
            return Ok(parse(&bytes));
        }
        if bytes.len() > HEAD_BYTES_MAX {
            return Ok(CallbackHead::TooLong);
        }
    }
}

fn parse(bytes: &[u8]) -> CallbackHead {
    let line = bytes.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let Ok(line) = std::str::from_utf8(line) else { return CallbackHead::Strange };
    let mut words = line.split(' ');
    let (Some(method), Some(target), Some(version), None) = (words.next(), words.next(), words.next(), words.next())
    else {
        return CallbackHead::Strange;
    };
    if !version.starts_with("HTTP/1.") || !target.starts_with('/') || method.is_empty() {
        return CallbackHead::Strange;
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    CallbackHead::Request(CallbackRequest { method: method.into(), path: path.into(), query: query.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(bytes: &[u8]) -> io::Result<CallbackHead> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async { read(&mut &*bytes).await })
    }

    #[test]
    fn a_request_line_is_read() {
        let Ok(CallbackHead::Request(request)) = heard(b"GET /cb?state=a%20b&code=c HTTP/1.1\r\nhost: x\r\n\r\n")
        else {
            panic!()
        };
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/cb"));
        assert_eq!(request.state().as_deref(), Some("a b"));
        assert!(!format!("{request:?}").contains("code"));
    }

    #[test]
    fn bad_heads_are_told_apart() {
        assert_eq!(heard(&vec![b'x'; HEAD_BYTES_MAX + 10]).unwrap(), CallbackHead::TooLong);
        for bad in [
            "GET\r\n\r\n",
            "\r\n\r\n",
            "GET / HTTP/2 x\r\n\r\n",
            "GET http://x/ HTTP/1.1\r\n\r\n",
            "\u{16}\u{3}\r\n\r\n",
        ] {
            assert_eq!(heard(bad.as_bytes()).unwrap(), CallbackHead::Strange, "{bad:?}");
        }
        assert!(heard(b"GET / HTTP/1.1\r\n").is_err());
    }
}
