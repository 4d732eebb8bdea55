//! The plainest streaming client: one kept connection, one POST, the events of the answer. Blocking. Both the floor and
//! the driver's direct fetch use it, so neither has an advantage.

use std::io::{self, Read, Write};
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
    answer: Answer,
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
        let (authority, path) = place(base)?;
        Ok(Self { authority, path, stream: None, answer: Answer::default() })
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
        stream.write_all(&request(&self.path, &self.authority, body))?;
        self.answer(&mut stream, each)?;
        self.stream = Some(stream);
        Ok(())
    }

    fn answer(
        &mut self,
        stream: &mut TcpStream,
        each: &mut dyn FnMut(Heard<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        self.answer.clear();
        loop {
            let last = self.answer.events(&mut |event| each(Heard::Event(event)))?;
            each(Heard::Pause)?;
            if last {
                return Ok(());
            }
            let read = self.answer.read(stream).context("reading the model's answer")?;
            ensure!(read > 0, "the model closed the connection in the middle of an answer");
        }
    }
}

/// What has arrived of one answer and is not understood yet. Knows nothing of waiting, so that a loop over many
/// connections can use it, too.
#[derive(Default)]
pub(crate) struct Answer {
    /// Raw bytes from the socket.
    raw: Vec<u8>,
    /// Body bytes without the chunk framing, up to the last incomplete line.
    body: Vec<u8>,
    headed: bool,
}

impl Answer {
    /// Ready for the next answer on the same connection.
    pub(crate) fn clear(&mut self) {
        self.raw.clear();
        self.body.clear();
        self.headed = false;
    }

    /// What a loop over many connections has read.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.raw.extend_from_slice(bytes);
    }

    /// One read; 0 is the end of the connection.
    fn read(&mut self, stream: &mut TcpStream) -> io::Result<usize> {
        let filled = self.raw.len();
        self.raw.resize(filled + READ_BYTES, 0);
        let read = stream.read(&mut self.raw[filled..]);
        self.raw.truncate(filled + *read.as_ref().unwrap_or(&0));
        read
    }

    /// Hands over every event that is whole; true after the last one.
    pub(crate) fn events(&mut self, each: &mut dyn FnMut(&[u8]) -> anyhow::Result<()>) -> anyhow::Result<bool> {
        if !self.headed && !self.head()? {
            return Ok(false);
        }
        let last = self.unchunk()?;
        let mut at = 0;
        while let Some(line) = self.body[at..].iter().position(|&byte| byte == b'\n') {
            if let Some(data) = self.body[at..at + line].strip_prefix(b"data: ") {
                each(data)?;
            }
            at += line + 1;
        }
        self.body.drain(..at);
        Ok(last)
    }

    /// Whether the head is there; takes it off.
    fn head(&mut self) -> anyhow::Result<bool> {
        let Some(at) = self.raw.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(false) };
        let text = String::from_utf8_lossy(&self.raw[..at + 4]).to_ascii_lowercase();
        if !text.starts_with("http/1.1 200") {
            bail!("the model answered: {}", String::from_utf8_lossy(&self.raw).replace("\r\n", " "));
        }
        ensure!(text.contains("transfer-encoding: chunked"), "the answer is not chunked");
        self.raw.drain(..at + 4);
        self.headed = true;
        Ok(true)
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
}

/// Host and path of the completions below this base.
pub(crate) fn place(base: &str) -> anyhow::Result<(String, String)> {
    let rest = base.strip_prefix("http://").with_context(|| format!("`{base}` does not begin with http://"))?;
    let (authority, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let path = format!("/{}/chat/completions", prefix.trim_matches('/')).replace("//", "/");
    Ok((authority.into(), path))
}

/// One POST with its head, the body in pieces so that a caller need not join them.
pub(crate) fn request(path: &str, host: &str, body: &[&[u8]]) -> Vec<u8> {
    let length: usize = body.iter().map(|piece| piece.len()).sum();
    let mut request = Vec::with_capacity(length + 256);
    write!(
        request,
        "POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    )
    .expect("a Vec takes everything");
    body.iter().for_each(|piece| request.extend_from_slice(piece));
    request
}
