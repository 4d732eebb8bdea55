//! The plainest streaming client: one kept connection, one POST, the events of the answer. Blocking. Both the floor and
//! the driver's direct fetch use it, so neither has an advantage.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, bail, ensure};

/// A model that says nothing for this long is given up.
const SILENCE_MAX: Duration = Duration::from_secs(60);
const READ_BYTES: usize = 64 * 1024;
/// The longest single event taken.
const EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;

pub(crate) struct Client {
    authority: String,
    path: String,
    stream: Option<TcpStream>,
    /// Raw bytes from the socket not understood yet.
    raw: Vec<u8>,
    /// Body bytes without the chunk framing, up to the last incomplete line.
    body: Vec<u8>,
}

/// What the reader of an answer is given.
pub(crate) enum Heard<'a> {
    /// The data of one event.
    Event(&'a [u8]),
    /// Everything that had arrived was handed over; the next read may wait.
    Pause,
}

impl Client {
    /// `base` is the part before `/chat/completions`: `http://127.0.0.1:PORT/v1`.
    pub(crate) fn new(base: &str) -> anyhow::Result<Self> {
        let rest = base.strip_prefix("http://").with_context(|| format!("`{base}` does not begin with http://"))?;
        let (authority, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let path = format!("/{}/chat/completions", prefix.trim_matches('/')).replace("//", "/");
        Ok(Self { authority: authority.into(), path, stream: None, raw: Vec::new(), body: Vec::new() })
    }

    /// Sends `body` (in pieces, so that a caller need not join them) and hands over each event of the answer.
    pub(crate) fn post(
        &mut self,
        body: &[&[u8]],
        each: &mut dyn FnMut(Heard<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let stream =
                    TcpStream::connect(&self.authority).with_context(|| format!("connect {}", self.authority))?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(SILENCE_MAX))?;
                stream
            }
        };
        let length: usize = body.iter().map(|piece| piece.len()).sum();
        let (path, host) = (&self.path, &self.authority);
        let mut request = Vec::with_capacity(length + 256);
        write!(
            request,
            "POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        )?;
        body.iter().for_each(|piece| request.extend_from_slice(piece));
        stream.write_all(&request)?;
        self.answer(&mut stream, each)?;
        self.stream = Some(stream);
        Ok(())
    }

    fn answer(
        &mut self,
        stream: &mut TcpStream,
        each: &mut dyn FnMut(Heard<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        self.raw.clear();
        self.body.clear();
        let head = loop {
            if let Some(at) = self.raw.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            self.read(stream)?;
        };
        let text = String::from_utf8_lossy(&self.raw[..head]).to_ascii_lowercase();
        if !text.starts_with("http/1.1 200") {
            bail!("the model answered: {}", String::from_utf8_lossy(&self.raw).replace("\r\n", " "));
        }
        ensure!(text.contains("transfer-encoding: chunked"), "the answer is not chunked");
        self.raw.drain(..head);
        loop {
            let last = self.unchunk()?;
            self.events(each)?;
            if last {
                return each(Heard::Pause);
            }
            each(Heard::Pause)?;
            self.read(stream)?;
        }
    }

    fn read(&mut self, stream: &mut TcpStream) -> anyhow::Result<()> {
        let filled = self.raw.len();
        self.raw.resize(filled + READ_BYTES, 0);
        let read = stream.read(&mut self.raw[filled..]).context("reading the model's answer")?;
        self.raw.truncate(filled + read);
        ensure!(read > 0, "the model closed the connection in the middle of an answer");
        Ok(())
    }

    /// Moves whole chunks from `raw` to `body`; true after the last one.
    fn unchunk(&mut self) -> anyhow::Result<bool> {
        let mut at = 0;
        let mut last = false;
        while let Some(line) = self.raw[at..].windows(2).position(|two| two == b"\r\n") {
            let size = std::str::from_utf8(&self.raw[at..at + line]).context("chunk size")?;
            let size = usize::from_str_radix(size, 16).with_context(|| format!("chunk size `{size}`"))?;
            let from = at + line + 2;
            if self.raw.len() < from + size + 2 {
                break;
            }
            self.body.extend_from_slice(&self.raw[from..from + size]);
            at = from + size + 2;
            if size == 0 {
                last = true;
                break;
            }
        }
        self.raw.drain(..at);
        ensure!(self.body.len() <= EVENT_BYTES_MAX, "an event is too long");
        Ok(last)
    }

    fn events(&mut self, each: &mut dyn FnMut(Heard<'_>) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let mut at = 0;
        while let Some(line) = self.body[at..].iter().position(|&byte| byte == b'\n') {
            if let Some(data) = self.body[at..at + line].strip_prefix(b"data: ") {
                each(Heard::Event(data))?;
            }
            at += line + 1;
        }
        self.body.drain(..at);
        Ok(())
    }
}
