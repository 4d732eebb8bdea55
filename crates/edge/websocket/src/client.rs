//! The other side: dials a server and shakes hands. Over TLS the caller brings the stream.

use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::codec::{Codec, Role, WsLimits};
use crate::handshake;
use crate::socket::{Kick, SocketOptions, SocketSink, SocketStream, socket};

/// Bytes of the answer's head.
const ANSWER_BYTES_MAX: usize = 32 * 1024;
/// Bytes of a refusal that are read.
const REFUSAL_BYTES_MAX: usize = 4 * 1024;
/// How long a server may take to answer.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// What is asked for.
#[derive(Clone, Debug)]
pub struct DialRequest {
    pub host: String,
    /// With its query, if it has one.
    pub path: String,
    /// Added as they are: `Authorization`, `Sec-WebSocket-Protocol`, ...
    pub headers: Vec<(String, String)>,
}

#[derive(Debug)]
pub enum DialError {
    Io(io::Error),
    /// The server said no: its status, and what it wrote.
    Refused {
        status: u16,
        body: String,
    },
    /// It said yes, but not to us.
    NotAWebSocket(&'static str),
}

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DialError::Io(error) => write!(f, "{error}"),
            DialError::Refused { status, body } => write!(f, "the server answered {status}: {}", body.trim()),
            DialError::NotAWebSocket(why) => write!(f, "no WebSocket answers there: {why}"),
        }
    }
}

impl std::error::Error for DialError {}

impl From<io::Error> for DialError {
    fn from(error: io::Error) -> Self {
        DialError::Io(error)
    }
}

pub async fn dial_unix(
    path: &Path,
    request: &DialRequest,
    limits: WsLimits,
    options: SocketOptions,
) -> Result<(SocketStream<UnixStream>, SocketSink<UnixStream>, Kick), DialError> {
    connect(UnixStream::connect(path).await?, request, limits, options).await
}

/// Shakes hands on a stream that is connected.
pub async fn connect<S>(
    mut stream: S,
    request: &DialRequest,
    limits: WsLimits,
    options: SocketOptions,
) -> Result<(SocketStream<S>, SocketSink<S>, Kick), DialError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let key = handshake::new_key();
    stream.write_all(asked(request, &key).as_bytes()).await?;
    stream.flush().await?;
    let (head, rest) = timeout(HANDSHAKE, answer(&mut stream))
        .await
        .map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "the server does not answer the handshake"))??;
    let head = AnswerHead::read(&head).ok_or(DialError::NotAWebSocket("its answer is not HTTP"))?;
    if head.status != 101 {
        let body = timeout(HANDSHAKE, refusal(&mut stream, rest, head.length())).await.unwrap_or_default();
        return Err(DialError::Refused { status: head.status, body });
    }
    if head.header("sec-websocket-accept") != Some(handshake::accept(&key).as_str()) {
        return Err(DialError::NotAWebSocket("its answer does not fit our key"));
    }
    if !head.header("upgrade").is_some_and(|it| it.eq_ignore_ascii_case("websocket")) {
        return Err(DialError::NotAWebSocket("it upgrades to something else"));
    }
    Ok(socket(stream, Bytes::from(rest), Codec::new(Role::Client, limits), options))
}

fn asked(request: &DialRequest, key: &str) -> String {
    let mut text = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: {}\r\n",
        request.path,
        request.host,
        handshake::VERSION
    );
    for (name, value) in &request.headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text
}

/// The head of the answer, and what came behind it.
async fn answer(stream: &mut (impl AsyncRead + Unpin)) -> Result<(Vec<u8>, Vec<u8>), DialError> {
    let mut bytes = Vec::new();
    loop {
        if let Some(at) = memchr::memmem::find(&bytes, b"\r\n\r\n") {
            let rest = bytes.split_off(at + 4);
            return Ok((bytes, rest));
        }
        if bytes.len() > ANSWER_BYTES_MAX {
            return Err(DialError::NotAWebSocket("its answer has no end"));
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(DialError::NotAWebSocket("it hung up"));
        }
    }
}

async fn refusal(stream: &mut (impl AsyncRead + Unpin), mut bytes: Vec<u8>, length: usize) -> String {
    let length = length.min(REFUSAL_BYTES_MAX);
    while bytes.len() < length {
        if !stream.read_buf(&mut bytes).await.is_ok_and(|count| count > 0) {
            break;
        }
    }
    bytes.truncate(length);
    String::from_utf8_lossy(&bytes).into_owned()
}

struct AnswerHead<'a> {
    status: u16,
    headers: Vec<(&'a str, &'a str)>,
}

impl<'a> AnswerHead<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut lines = std::str::from_utf8(bytes).ok()?.split("\r\n");
        let status = lines.next()?.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
        let headers = lines.filter_map(|line| line.split_once(':')).map(|(name, value)| (name, value.trim())).collect();
        Some(Self { status, headers })
    }

    fn header(&self, name: &str) -> Option<&'a str> {
        self.headers.iter().find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }

    fn length(&self) -> usize {
        self.header("content-length").and_then(|it| it.parse().ok()).unwrap_or(0)
    }
}
