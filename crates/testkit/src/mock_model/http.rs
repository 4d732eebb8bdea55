//! The server side of HTTP/1.1, as little of it as a client of a model server needs.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::format::{Asked, Format, Manner, Speech, path_only};
use super::steps::{Reply, Step};
use super::{Request, State, checks, lock, script};

/// A longer request head or body closes the connection: only a broken client sends one.
const HEAD_BYTES_MAX: usize = 64 * 1024;
const BODY_BYTES_MAX: usize = 256 * 1024 * 1024;

pub(super) async fn accept(listener: std::net::TcpListener, state: Arc<State>, mut stopped: oneshot::Receiver<()>) {
    let listener = TcpListener::from_std(listener).expect("the listener is non-blocking");
    let mut number = 0;
    loop {
        let stream = tokio::select! {
            _ = &mut stopped => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = stream else { continue };
        // Each step must be on its way when the next one begins, or pauses would lie.
        let _ = stream.set_nodelay(true);
        state.counts.send_modify(|counts| {
            counts.accepted += 1;
            counts.open += 1;
        });
        let state = state.clone();
        tokio::spawn(async move {
            // A client that goes away is not the server's error.
            let _ = Connection { stream, input: Vec::new(), number, state: state.clone() }.serve().await;
            state.counts.send_modify(|counts| counts.open -= 1);
        });
        number += 1;
    }
}

struct Connection {
    stream: TcpStream,
    /// Read and not yet used.
    input: Vec<u8>,
    number: usize,
    state: Arc<State>,
}

impl Connection {
    async fn serve(mut self) -> io::Result<()> {
        while let Some(request) = self.request().await? {
            let format = Format::of(&request.path);
            let (asked, reply) = self.route(&request);
            lock(&self.state.requests).add(request);
            if format.is_some() {
                self.state.counts.send_modify(|counts| counts.chats += 1);
            }
            if !self.answer(asked, reply).await? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The reply, and the form it is to have; both are there before the request is counted.
    fn route(&self, request: &Request) -> (Option<Asked>, Reply) {
        let chat = Format::of(&request.path).filter(|_| request.method == "POST");
        if let Some(format) = chat {
            let number = self.state.counts.borrow().chats;
            let Ok(body) = serde_json::from_slice::<Value>(&request.body) else {
                return (None, shaped(Reply::error(400, "the body is not JSON"), format));
            };
            let asked = format.asked(&request.path, &body, number);
            if !self.state.lenient.load(Ordering::Relaxed)
                && let Some(complaint) = checks::complaint(&asked, request, &body, &lock(&self.state.known))
            {
                return (None, shaped(Reply::error(400, &complaint), format));
            }
            let reply = match lock(&self.state.queue).pop_front() {
                Some(reply) => reply,
                None => script::reply(format, &request.body, &body, &mut lock(&self.state.fails)),
            };
            return (Some(asked), shaped(reply, format));
        }
        let reply = match Format::of_models(request).filter(|_| request.method == "GET") {
            Some(format) => match lock(&self.state.models_reply).clone() {
                Some(reply) => shaped(reply, format),
                None => Reply::plain(200, "application/json", format.models().to_string()),
            },
            None => {
                let gemini = path_only(&request.path).starts_with("/v1beta");
                shaped(Reply::error(404, "no such path"), if gemini { Format::Gemini } else { Format::Completions })
            }
        };
        (None, reply)
    }

    /// The next request; `None` at the end of the connection.
    async fn request(&mut self) -> io::Result<Option<Request>> {
        let head_end = loop {
            if let Some(at) = self.input.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            // A TLS greeting, for one, would otherwise wait for an answer that never comes.
            let strange = self.input.first().is_some_and(|byte| !byte.is_ascii_uppercase());
            if strange || self.input.len() > HEAD_BYTES_MAX || self.stream.read_buf(&mut self.input).await? == 0 {
                return Ok(None);
            }
        };
        let head = String::from_utf8_lossy(&self.input[..head_end]).into_owned();
        let mut lines = head.lines();
        let mut first = lines.next().unwrap_or_default().split(' ');
        let (method, path) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
        if length > BODY_BYTES_MAX {
            return Ok(None);
        }
        while self.input.len() < head_end + length {
            if self.stream.read_buf(&mut self.input).await? == 0 {
                return Ok(None);
            }
        }
        let body = self.input[head_end..head_end + length].to_vec();
        self.input.drain(..head_end + length);
        Ok(Some(Request { method: method.into(), path: path.into(), headers, body, connection: self.number }))
    }

    /// Whether the connection stays open.
    async fn answer(&mut self, asked: Option<Asked>, reply: Reply) -> io::Result<bool> {
        match reply {
            Reply::Drop => Ok(false),
            Reply::Plain { status, headers, body, .. } => {
                let mut out = format!("HTTP/1.1 {status} Mock\r\ncontent-length: {}\r\n", body.len());
                for (name, value) in headers {
                    out.push_str(&format!("{name}: {value}\r\n"));
                }
                out.push_str("\r\n");
                let mut out = out.into_bytes();
                out.extend_from_slice(&body);
                self.stream.write_all(&out).await?;
                Ok(true)
            }
            Reply::Stream { content_type, steps } => {
                // A list of models has no stream of its own; what is scripted for one comes as it is.
                let asked =
                    asked.unwrap_or_else(|| Format::Completions.asked("", &serde_json::json!({"stream": true}), 0));
                let speech = Speech::new(asked, steps);
                lock(&self.state.known).learn(&speech);
                match speech.asked.manner {
                    Manner::Stream => self.stream_steps(&content_type, speech).await,
                    Manner::Whole | Manner::List => self.whole(speech).await,
                }
            }
        }
    }

    /// Waits as long as the steps say, then answers at once.
    async fn whole(&mut self, speech: Speech) -> io::Result<bool> {
        for step in &speech.steps {
            match step {
                Step::Pause { .. } | Step::Hold => self.pass(step).await?,
                Step::Cut | Step::Eof => return Ok(false),
                Step::Error { status, message } => {
                    let reply = shaped(Reply::error(*status, message), speech.asked.format);
                    return Box::pin(self.answer(None, reply)).await;
                }
                _ => {}
            }
        }
        let reply = Reply::plain(200, "application/json", speech.whole().to_string());
        Box::pin(self.answer(None, reply)).await
    }

    /// Waits as long as this step says.
    async fn pass(&mut self, step: &Step) -> io::Result<()> {
        match step {
            Step::Pause { ms } => self.wait(tokio::time::sleep(Duration::from_millis(*ms))).await,
            Step::Hold => {
                let state = self.state.clone();
                self.wait(async { state.releases.acquire().await.expect("never closed").forget() }).await
            }
            _ => Ok(()),
        }
    }

    async fn stream_steps(&mut self, content_type: &str, mut speech: Speech) -> io::Result<bool> {
        let mut out = format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n")
            .into_bytes();
        let mut stays = true;
        for at in 0..speech.steps.len() {
            let bytes = speech.bytes(at).filter(|bytes| !bytes.is_empty());
            let step = &speech.steps[at];
            if let Some(bytes) = bytes {
                out.extend_from_slice(format!("{:x}\r\n", bytes.len()).as_bytes());
                out.extend_from_slice(&bytes);
                out.extend_from_slice(b"\r\n");
            }
            if is_end(speech.asked.format, &speech.steps[at..]) {
                // Goes out with the end of the body, as servers do.
                continue;
            }
            self.stream.write_all(&out).await?;
            out.clear();
            match step {
                Step::Pause { .. } | Step::Hold => self.pass(step).await?,
                Step::Cut => {
                    self.stream.set_zero_linger()?;
                    return Ok(false);
                }
                Step::Eof => return Ok(false),
                Step::HangUp => stays = false,
                _ => {}
            }
        }
        out.extend_from_slice(b"0\r\n\r\n");
        self.stream.write_all(&out).await?;
        Ok(stays)
    }

    /// Waits for `what`; an error as soon as the client has gone.
    async fn wait(&mut self, what: impl Future<Output = ()>) -> io::Result<()> {
        let gone = async {
            if matches!(self.stream.peek(&mut [0]).await, Ok(0) | Err(_)) {
                return;
            }
            // The next request is waiting already: the client is there.
            std::future::pending().await
        };
        tokio::select! {
            () = what => Ok(()),
            () = gone => Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }
}

/// Whether nothing is said behind the first of these steps. The last word of Responses is the finish itself.
fn is_end(format: Format, steps: &[Step]) -> bool {
    let quiet = |step: &Step| matches!(step, Step::Usage { .. } | Step::Done);
    match steps {
        [Step::Done, ..] => true,
        [Step::Finish(_) | Step::Usage { .. }, rest @ ..] => {
            format == Format::Responses && !rest.is_empty() && rest.iter().all(quiet)
        }
        _ => false,
    }
}

/// An error in the vendor's shape; everything else as it is.
fn shaped(mut reply: Reply, format: Format) -> Reply {
    if let Reply::Plain { status, body, error: Some(message), .. } = &mut reply {
        *body = format.error(*status, message).to_string().into_bytes();
    }
    reply
}
