//! An agent that is reached over HTTP: each message of ours is a POST, and what the agent says comes on streams of events
//! (`docs/client.md`). To the client it is a process whose pipes end there.

mod routing;
mod streams;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use acp_types::error::AUTH_REQUIRED;
use net::{Credentials, Endpoint, KnownCredentials, Late, NetFault, Proxy, StreamedResponse};
use process::{Exit, Launched};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use vocab::{Fault, Later, Secret};
use wire::jsonrpc::INTERNAL_ERROR;
use wire::{Frame, Lines};

use super::Channel;
use super::memory::{MemoryPeer, memory};
use crate::task::LINE_BYTES_MAX;
use routing::{LineKind, OurLine, Routes};
use streams::{LINES_MAX, Streams, WebNews};

/// A server that cannot be reached for so long is not there.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// A server may take so long to take a message; it does not answer it with that.
const POST_LIMIT: Duration = Duration::from_secs(60);
/// How often a message is sent that may come twice, and how long after the first try; then twice as long each time.
const TRIES_MAX: u32 = 5;
const AGAIN_FIRST: Duration = Duration::from_millis(200);
/// What is left of the end: telling the server.
const GOODBYE: Duration = Duration::from_secs(2);
/// As much of a refusal is read as people can be shown.
const REFUSAL_BYTES_MAX: usize = 4 * 1024;
/// A longer id of a connection is none.
const ID_BYTES_MAX: usize = 1024;
const READ_BYTES: usize = 64 * 1024;

const ACCEPT: &str = "application/json, text/event-stream";
const CONNECTION: &str = "acp-connection-id";
const SESSION: &str = "acp-session-id";

/// A server at this URL.
pub struct WebChannel {
    pub url: String,
    pub token: Option<Secret>,
    /// What to say to who is not let in.
    pub token_hint: String,
    pub proxy: Option<Proxy>,
}

impl Channel for WebChannel {
    fn open(&self) -> Later<'_, io::Result<Launched>> {
        Box::pin(async {
            let badge = Late(Arc::new(Badge(self.token.clone())));
            let endpoint = Endpoint::new(&self.url, badge, CONNECT_LIMIT, self.proxy.clone());
            let endpoint = Arc::new(endpoint.map_err(|fault| io::Error::other(fault.explained()))?);
            let (ours, theirs) = memory(false);
            let MemoryPeer { input, output, mut errors, life } = theirs;
            let talk = WebTalk::new(endpoint, self.token_hint.clone());
            tokio::spawn(async move {
                let over = talk.run(input, output, life.struck()).await;
                if let Some(note) = &over.note {
                    let _ = errors.write_all(format!("{note}\n").as_bytes()).await;
                }
                drop(errors);
                life.exit(Exit { code: Some(i32::from(over.note.is_some())), signal: None });
            });
            ours.open().await
        })
    }

    fn command(&self) -> Vec<String> {
        vec![self.url.clone()]
    }
}

struct Badge(Option<Secret>);

impl Credentials for Badge {
    fn fetch(&self) -> Later<'_, Result<KnownCredentials, Fault>> {
        let known = KnownCredentials { key: self.0.clone(), headers: Vec::new() };
        Box::pin(std::future::ready(Ok(known)))
    }
}

/// Why it is over.
struct WebOver {
    /// For people, where it was not our own wish.
    note: Option<String>,
}

impl WebOver {
    fn ours() -> Self {
        Self { note: None }
    }
    fn lost(why: &str) -> Self {
        Self { note: Some(format!("the connection is lost: the server {why}")) }
    }
    fn of(fault: &Fault) -> Self {
        Self { note: Some(format!("the connection is lost: {}", fault.explained())) }
    }
}

/// One conversation.
struct WebTalk {
    endpoint: Arc<Endpoint>,
    token_hint: String,
    routes: Mutex<Routes>,
    /// Once the server has said which connection this is.
    streams: Mutex<Option<Arc<Streams>>>,
}

impl WebTalk {
    fn new(endpoint: Arc<Endpoint>, token_hint: String) -> Self {
        Self { endpoint, token_hint, routes: Mutex::default(), streams: Mutex::default() }
    }

    fn streams(&self) -> Option<Arc<Streams>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn routes<T>(&self, look: impl FnOnce(&mut Routes) -> T) -> T {
        look(&mut self.routes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Until one side ends. `struck`: done when the client does not wait for what it said any more.
    async fn run(
        &self,
        input: impl AsyncRead + Unpin,
        output: impl AsyncWrite + Unpin,
        struck: impl Future<Output = ()>,
    ) -> WebOver {
        let (news, heard) = mpsc::channel(LINES_MAX);
        let over = tokio::select! {
            over = self.say_all(input, &news) => over,
            over = self.hear_all(heard, output) => over,
            () = struck => WebOver::ours(),
        };
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(streams) = streams {
            let connection = [(CONNECTION, streams.connection().to_string())];
            let _ = timeout(GOODBYE, self.endpoint.delete_with(&connection)).await;
        }
        over
    }

    /// What the agent says, line by line.
    async fn hear_all(&self, mut news: mpsc::Receiver<WebNews>, mut output: impl AsyncWrite + Unpin) -> WebOver {
        while let Some(news) = news.recv().await {
            let (on, mut line) = match news {
                WebNews::Line(on, line) => (on, line),
                WebNews::Over(over) => return over,
            };
            let made = self.routes(|routes| routes.hears(&line, on.as_deref()));
            if let (Some(session), Some(streams)) = (made, self.streams()) {
                streams.follow(Some(&session));
            }
            if line.last() != Some(&b'\n') {
                line.push(b'\n');
            }
            if output.write_all(&line).await.is_err() {
                return WebOver::ours();
            }
        }
        WebOver::ours()
    }

    /// What we say, one message after the other: a cancel must not overtake its prompt.
    async fn say_all(&self, mut input: impl AsyncRead + Unpin, news: &mpsc::Sender<WebNews>) -> WebOver {
        let mut lines = Lines::new(LINE_BYTES_MAX);
        let mut buffer = vec![0; READ_BYTES];
        loop {
            let count = input.read(&mut buffer).await.unwrap_or(0);
            if count == 0 {
                return WebOver::ours();
            }
            let mut whole = Vec::new();
            lines.feed(&buffer[..count], |frame| {
                if let Frame::Whole(line) = frame {
                    whole.push(line.to_vec());
                }
            });
            for line in whole {
                if let Err(over) = self.say(line, news).await {
                    return over;
                }
            }
        }
    }

    async fn say(&self, line: Vec<u8>, news: &mpsc::Sender<WebNews>) -> Result<(), WebOver> {
        let ours = self.routes(|routes| routes.says(&line));
        let said = match (&ours.kind, self.streams()) {
            (LineKind::Initialize { .. }, None) => self.introduce(line, news).await,
            (_, Some(streams)) => self.post_surely(&ours, &streams, line, news).await,
            (_, None) => Err(NotTaken::alone("there is no connection yet".to_owned())),
        };
        let Err(NotTaken { why, ends, is_stranger, .. }) = said else { return Ok(()) };
        match ours.refused(if is_stranger { AUTH_REQUIRED } else { INTERNAL_ERROR }, &why) {
            Some(line) => {
                let _ = news.send(WebNews::Line(None, line)).await;
            }
            // An agent whose question has no answer waits for ever; what nobody waits for may get lost.
            None if ours.kind == LineKind::Answer => return Err(WebOver::lost(&why)),
            None => {}
        }
        if ends { Err(WebOver::lost(&why)) } else { Ok(()) }
    }

    /// The first message makes the connection. One that is refused ends nothing: who asked is told why.
    async fn introduce(&self, line: Vec<u8>, news: &mpsc::Sender<WebNews>) -> Result<(), NotTaken> {
        let mut incoming = self.taken(&[], line).await?;
        let connection = incoming.header(CONNECTION).filter(|id| !id.is_empty() && id.len() <= ID_BYTES_MAX);
        let connection: Option<Arc<str>> = connection.map(Arc::from);
        let answer = incoming.collect(LINE_BYTES_MAX).await.map_err(NotTaken::from)?;
        let connection = connection.ok_or_else(|| {
            let server = self.endpoint.server();
            NotTaken::alone(format!("{server} answers, but speaks no ACP over HTTP: it names no connection"))
        })?;
        let streams = Arc::new(Streams::new(self.endpoint.clone(), connection, news.clone()));
        *self.streams.lock().unwrap_or_else(PoisonError::into_inner) = Some(streams.clone());
        streams.followed(None).await;
        let _ = news.send(WebNews::Line(None, answer)).await;
        Ok(())
    }

    /// An answer or a notification may come twice, so one of which nobody knows whether it arrived is sent again. A request
    /// would be done twice.
    async fn post_surely(
        &self,
        ours: &OurLine,
        streams: &Streams,
        line: Vec<u8>,
        news: &mpsc::Sender<WebNews>,
    ) -> Result<(), NotTaken> {
        let may_repeat = matches!(ours.kind, LineKind::Answer | LineKind::Notification);
        let mut pause = AGAIN_FIRST;
        for _ in 1..TRIES_MAX {
            match self.post(ours, streams, line.clone(), news).await {
                Err(NotTaken { again: true, .. }) if may_repeat => sleep(pause).await,
                said => return said,
            }
            pause *= 2;
        }
        self.post(ours, streams, line, news).await
    }

    async fn post(
        &self,
        ours: &OurLine,
        streams: &Streams,
        line: Vec<u8>,
        news: &mpsc::Sender<WebNews>,
    ) -> Result<(), NotTaken> {
        let mut headers = vec![(CONNECTION, streams.connection().to_string())];
        if let Some(session) = &ours.session {
            // Open before anything is said of it: the answer comes there.
            streams.followed(Some(session)).await;
            headers.push((SESSION, session.clone()));
        }
        let mut incoming = self.taken(&headers, line).await?;
        let answer = incoming.collect(LINE_BYTES_MAX).await.map_err(NotTaken::from)?;
        // Most say nothing here; who answers at once is heard, too.
        if answer.first() == Some(&b'{') {
            let _ = news.send(WebNews::Line(ours.session.as_deref().map(Arc::from), answer)).await;
        }
        Ok(())
    }

    /// Posts, and gives the answer of a server that took it.
    async fn taken(&self, headers: &[(&'static str, String)], line: Vec<u8>) -> Result<StreamedResponse<'_>, NotTaken> {
        let posted = timeout(POST_LIMIT, self.endpoint.post_with(ACCEPT, headers, line.into())).await;
        let incoming = posted.map_err(|_| {
            let (server, limit) = (self.endpoint.server(), POST_LIMIT.as_secs());
            NotTaken::alone(format!("{server} took no message within {limit} s"))
        })??;
        match incoming.status {
            200..300 => Ok(incoming),
            // The connection itself is gone, or was never ours.
            status @ (401 | 403 | 404 | 410) => {
                let mut fault = incoming.refusal(REFUSAL_BYTES_MAX).await;
                if status == 401 {
                    fault = fault.hint(self.token_hint.clone());
                }
                let (ends, is_stranger) = (!headers.is_empty(), status == 401);
                Err(NotTaken { ends, is_stranger, ..NotTaken::alone(fault.explained()) })
            }
            _ => Err(NotTaken::alone(incoming.refusal(REFUSAL_BYTES_MAX).await.explained())),
        }
    }
}

/// A message that did not get there, or nobody knows.
struct NotTaken {
    why: String,
    /// No other will, either.
    ends: bool,
    /// The way there was broken, which may have changed by now.
    again: bool,
    /// The server does not know who we are.
    is_stranger: bool,
}

impl NotTaken {
    /// Only this one.
    fn alone(why: String) -> Self {
        Self { why, ends: false, again: false, is_stranger: false }
    }
}

impl From<NetFault> for NotTaken {
    fn from(fault: NetFault) -> Self {
        Self { again: fault.retryable, ..Self::alone(fault.fault.explained()) }
    }
}
