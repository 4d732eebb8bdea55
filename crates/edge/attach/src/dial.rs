//! From a place to a socket on which a dialect answers.

use std::future::poll_fn;
use std::path::PathBuf;
use std::time::Duration;

use host::{MessageSink, MessageStream};
use net::ProxyRules;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use vocab::{Fault, FaultKind};
use websocket::{Binary, DialError, DialRequest, OnClose, Pings, SocketOptions, SocketSink, SocketStream, WsLimits};

use crate::place::{FoundGateway, GatewayPlace};

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// A message of the gateway's; one that is longer ends the connection. A whole history may be one.
const MESSAGE_BYTES_MAX: usize = 256 * 1024 * 1024;
const LIMITS: WsLimits = WsLimits { message_bytes_max: MESSAGE_BYTES_MAX, fragments_max: 131_072, control_per_s: 50 };
/// A gateway that is gone without a word is noticed after two of these.
const PINGS: Pings =
    Pings { every: Some(Duration::from_secs(25)), missed_max: 2, no_progress: Duration::from_secs(120) };

/// Any stream that carries bytes both ways.
pub(crate) trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for T {}

/// A socket at which a dialect answers.
pub struct Attached {
    pub(crate) stream: SocketStream<Box<dyn Wire>>,
    pub(crate) sink: SocketSink<Box<dyn Wire>>,
}

impl Attached {
    /// Says one thing and gives the first message that comes back, for who has a question and no conversation.
    pub async fn ask(mut self, line: &[u8], limit: Duration) -> Option<Vec<u8>> {
        let asking = async {
            poll_fn(|context| self.sink.poll_send(context, line)).await.ok()?;
            poll_fn(|context| self.stream.poll_receive(context)).await
        };
        tokio::time::timeout(limit, asking).await.ok().flatten()
    }
}

/// The words of a command line, and where they were typed if that is a directory of the gateway's machine.
#[derive(Clone, Default, Debug)]
pub struct SentWords {
    pub words: Vec<String>,
    pub from: Option<PathBuf>,
}

impl SentWords {
    /// As the gateway reads them.
    pub fn to_json(&self) -> String {
        match &self.from {
            None => serde_json::Value::from(self.words.as_slice()).to_string(),
            Some(from) => serde_json::json!({ "words": self.words, "from": from.to_string_lossy() }).to_string(),
        }
    }
}

/// Dials the gateway and asks for the dialect at `path`, with the words of a command line.
pub async fn dial(found: &FoundGateway, path: &str, words: &SentWords) -> Result<Attached, Fault> {
    let mut headers = Vec::new();
    if let Some(token) = &found.token {
        headers.push(("Authorization".to_owned(), format!("Bearer {}", token.expose())));
    }
    if !words.words.is_empty() || words.from.is_some() {
        headers.push(("Tillerman-Arguments".to_owned(), in_ascii(&words.to_json())));
    }
    let (wire, host, base) = reach(found).await?;
    let request = DialRequest { host, path: format!("{base}{path}"), headers };
    let options = SocketOptions { binary: Binary::Ignored, on_close: OnClose::AtOnce, pings: PINGS, once_known: None };
    match websocket::connect(wire, &request, LIMITS, options).await {
        Ok((stream, sink, _)) => Ok(Attached { stream, sink }),
        Err(error) => Err(refused(&found.place, error)),
    }
}

/// The stream, the name of the server, and what stands before every path there.
async fn reach(found: &FoundGateway) -> Result<(Box<dyn Wire>, String, String), Fault> {
    match &found.place {
        GatewayPlace::Socket(path) => {
            let dialled = async {
                // The second half keeps the first one good.
                let (path, _kept) = gateway::dialable(path)?;
                UnixStream::connect(path).await
            };
            let stream = dialled.await.map_err(|error| unreachable(&found.place, &error.to_string()))?;
            let owner = stream.peer_cred().map_err(|error| unreachable(&found.place, &error.to_string()))?.uid();
            // What is said here is for us alone: somebody else may have put their socket in its place.
            if ![0, rustix::process::geteuid().as_raw()].contains(&owner) {
                let message = format!("{} belongs to another user ({owner})", found.place);
                return Err(Fault::new(FaultKind::Invalid, message).hint("attach to a gateway of another user by URL"));
            }
            Ok((Box::new(stream), "localhost".to_owned(), String::new()))
        }
        GatewayPlace::Url(url) => {
            found.keeps_token()?;
            let proxies = ProxyRules::from_env(|name| std::env::var(name).ok());
            let stream = net::connect(url, &proxies, CONNECT).await?;
            let (_, host) = url.origin().split_once("://").unwrap_or_default();
            let base = url.as_str().strip_prefix(url.origin()).unwrap_or_default().trim_end_matches('/');
            Ok((Box::new(stream), host.to_owned(), base.to_owned()))
        }
    }
}

fn unreachable(place: &GatewayPlace, why: &str) -> Fault {
    Fault::new(FaultKind::Invalid, format!("no gateway answers at {place}: {why}"))
        .hint("`tillerman gateway status` says whether one runs for this home")
}

fn refused(place: &GatewayPlace, error: DialError) -> Fault {
    let (status, body) = match error {
        DialError::Io(error) => return unreachable(place, &error.to_string()),
        DialError::NotAWebSocket(why) => return unreachable(place, why),
        DialError::Refused { status, body } => (status, body),
    };
    let said = serde_json::from_str::<serde_json::Value>(&body).ok();
    let said = said.as_ref().and_then(|body| body["error"]["message"].as_str());
    let message = match said {
        Some(said) => said.to_owned(),
        None => format!("the gateway at {place} answered {status}"),
    };
    let fault = Fault::new(FaultKind::Invalid, message);
    match status {
        401 => fault.hint("put its token into TILLERMAN_GATEWAY_TOKEN"),
        403 => fault.hint("a token needs the scopes chat and tools to drive a session"),
        404 => fault.hint("it may be a gateway of an older version"),
        431 => fault.hint("what is said on the command line has to fit into the head of a request: 32 KiB"),
        _ => fault,
    }
}

/// JSON in which everything beyond ASCII is escaped: a header has no other characters.
fn in_ascii(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c.is_ascii() {
            true => text.push(c),
            false => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| text.push_str(&format!("\\u{unit:04x}"))),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_ascii_alone_and_says_the_same() {
        let words = ["--system-prompt", "grün 🦀 \"x\"\n"].map(str::to_owned).to_vec();
        let header = in_ascii(&SentWords { words: words.clone(), from: None }.to_json());
        assert!(header.bytes().all(|byte| (0x20..0x7f).contains(&byte)), "{header}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&header).unwrap(), words);
    }
}
