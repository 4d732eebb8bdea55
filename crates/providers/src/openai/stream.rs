//! One model call as a stream of events: sends the request, learns what the server does not take, reads the answer,
//! watches the time.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use futures_core::Stream;
use hyper::header::CONTENT_TYPE;
use hyper::{HeaderMap, Method, Response};
use tokio::time::{Instant, Sleep};
use vocab::{Later, ModelEvent, ModelFault};

use super::compat::{Compat, TokensField};
use super::encode::string;
use super::reader::Reader;
use super::routing;
use crate::body::Pieces;
use crate::faults;
use crate::http::{Http, Reply};

/// What is read of the body of a refusal; the rest is left.
pub const ERROR_BYTES_MAX: usize = 64 * 1024;
/// The largest answer taken from a server that does not stream; a larger one is an error.
pub const WHOLE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How long usage may lag behind the reason to stop. Afterwards the answer counts without it.
const USAGE_WAIT: Duration = Duration::from_secs(2);

/// Parts of a request that some servers refuse. What was learned holds for the rest of the conversation.
pub(super) struct Quirks(AtomicU8);

/// The word in the server's refusal, and what it teaches.
const LESSONS: [(&str, u8); 3] = [
    ("max_completion_tokens", Quirks::LONG_LIMIT_NAME),
    ("stream_options", Quirks::NO_STREAM_OPTIONS),
    ("reasoning_effort", Quirks::NO_EFFORT),
];

impl Quirks {
    const LONG_LIMIT_NAME: u8 = 1;
    const NO_STREAM_OPTIONS: u8 = 2;
    const NO_EFFORT: u8 = 4;

    /// What somebody said about the server needs not be learned.
    pub(super) fn new(compat: &Compat) -> Self {
        let said = [
            (compat.max_tokens_field == Some(TokensField::MaxCompletionTokens), Self::LONG_LIMIT_NAME),
            (compat.usage_in_streaming == Some(false), Self::NO_STREAM_OPTIONS),
            (compat.reasoning_effort == Some(false), Self::NO_EFFORT),
        ];
        Self(AtomicU8::new(said.iter().filter(|(said, _)| *said).map(|(_, quirk)| quirk).sum()))
    }

    fn has(&self, quirk: u8) -> bool {
        self.0.load(Ordering::Relaxed) & quirk != 0
    }
    /// Whether a refusal taught something new, so that asking again makes sense.
    fn learn(&self, status: u16, body: &[u8]) -> bool {
        if !matches!(status, 400 | 422) {
            return false;
        }
        let said = faults::said(body);
        let lesson = LESSONS.iter().find(|(word, quirk)| said.mentions(word) && !self.has(*quirk));
        lesson.is_some_and(|(_, quirk)| self.0.fetch_or(*quirk, Ordering::Relaxed) & quirk == 0)
    }
}

/// One request, ready to be written as often as it must be sent.
pub(super) struct Frame {
    pub(super) model: Arc<str>,
    pub(super) max_tokens: u64,
    pub(super) effort: Option<Arc<str>>,
    pub(super) route: Option<Arc<str>>,
    /// Tools and system prompt.
    pub(super) fixed: Bytes,
    pub(super) has_system: bool,
    pub(super) pieces: Vec<Bytes>,
    pub(super) quirks: Arc<Quirks>,
}

impl Frame {
    fn body(&self) -> Pieces {
        let mut head = BytesMut::with_capacity(256);
        head.put_slice(br#"{"model":"#);
        string(&mut head, &self.model);
        head.put_slice(br#","stream":true,"#);
        if !self.quirks.has(Quirks::NO_STREAM_OPTIONS) {
            head.put_slice(br#""stream_options":{"include_usage":true},"#);
        }
        if self.max_tokens > 0 {
            let long = self.quirks.has(Quirks::LONG_LIMIT_NAME);
            let name = if long { "max_completion_tokens" } else { "max_tokens" };
            head.put_slice(format!("\"{name}\":{},", self.max_tokens).as_bytes());
        }
        if let Some(effort) = self.effort.as_ref().filter(|_| !self.quirks.has(Quirks::NO_EFFORT)) {
            head.put_slice(br#""reasoning_effort":"#);
            string(&mut head, effort);
            head.put_u8(b',');
        }
        if let Some(route) = &self.route {
            routing::put(&mut head, route);
        }
        let mut pieces = Vec::with_capacity(self.pieces.len() + 3);
        pieces.extend([head.freeze(), self.fixed.clone()]);
        pieces.extend_from_slice(&self.pieces);
        if let Some(first) = pieces.get_mut(2).filter(|_| !self.has_system) {
            // Every message begins with a comma, and here none stands before the first.
            *first = first.slice(1..);
        }
        pieces.push(Bytes::from_static(b"]}"));
        Pieces::new(pieces)
    }
}

/// What came back.
enum Opened {
    Stream(Reply),
    Whole(Vec<u8>),
}

async fn open(http: Arc<Http>, frame: Frame) -> Result<Opened, ModelFault> {
    loop {
        let sent = http.send(Method::POST, "/chat/completions", "text/event-stream", || frame.body());
        let (head, mut reply) = sent.await?;
        let status = head.status().as_u16();
        if status == 200 {
            return accept(&http, head, reply).await;
        }
        // A refusal that breaks off is still a refusal.
        let (body, whole) = reply.collect(ERROR_BYTES_MAX).await.unwrap_or_default();
        if whole {
            reply.done(&http).await;
        }
        if !frame.quirks.learn(status, &body) {
            return Err(faults::refused(status, head.headers(), &body, &http.server));
        }
    }
}

async fn accept(http: &Http, head: Response<()>, mut reply: Reply) -> Result<Opened, ModelFault> {
    let kind = media_type(head.headers());
    match &*kind {
        "text/event-stream" | "" => Ok(Opened::Stream(reply)),
        "application/json" => {
            let (body, whole) = reply.collect(WHOLE_BYTES_MAX).await.map_err(|error| faults::cut(Some(&error)))?;
            if !whole {
                return Err(faults::provider(format!("the answer is larger than {WHOLE_BYTES_MAX} bytes")));
            }
            reply.done(http).await;
            Ok(Opened::Whole(body))
        }
        _ => {
            let what = if kind == "text/html" { "an HTML page" } else { &*kind };
            let message = format!("200 {} answered with {what} instead of a model's stream", http.server);
            let mut fault = ModelFault { status: Some(200), ..faults::provider(message) };
            faults::hint(&mut fault, &format!("does the base URL {} end in /v1?", http.server));
            // The same address will answer the same.
            fault.retryable = false;
            Err(fault)
        }
    }
}

/// Lower case, without parameters.
fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The stream the engine reads.
pub(super) struct Answer {
    http: Arc<Http>,
    stage: Stage,
    reader: Reader,
    clock: Clock,
}

enum Stage {
    Opening(Later<'static, Result<Opened, ModelFault>>),
    Reading(Reply),
    Over,
}

impl Answer {
    pub(super) fn new(http: Arc<Http>, idle: Option<Duration>, frame: Frame) -> Self {
        Self {
            reader: Reader::new(http.server.clone()),
            stage: Stage::Opening(Box::pin(open(http.clone(), frame))),
            http,
            clock: Clock { idle, since: None, finishing: false, sleep: None },
        }
    }

    /// Moves on until there may be an event to tell, or nothing to do but wait.
    fn advance(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.stage {
            Stage::Opening(opening) => match opening.as_mut().poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(Opened::Stream(reply))) => self.stage = Stage::Reading(reply),
                Poll::Ready(Ok(Opened::Whole(body))) => {
                    self.reader.whole(&body);
                    self.stage = Stage::Over;
                }
                Poll::Ready(Err(fault)) => {
                    self.reader.fail(fault);
                    self.stage = Stage::Over;
                }
            },
            Stage::Reading(reply) => match reply.poll_bytes(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(bytes))) => self.reader.feed(&bytes),
                Poll::Ready(Some(Err(error))) => self.reader.end(Some(faults::cut(Some(&error)))),
                Poll::Ready(None) => self.reader.end(None),
            },
            Stage::Over => self.reader.end(None),
        }
        Poll::Ready(())
    }

    /// The answer is complete: its connection can serve the next call, unless something went wrong on it.
    fn settle(&mut self, event: &ModelEvent, cx: &mut Context<'_>) {
        if let Stage::Reading(reply) = std::mem::replace(&mut self.stage, Stage::Over)
            && !matches!(event, ModelEvent::Failed(_))
        {
            reply.give_back(&self.http, cx);
        }
    }

    fn out_of_time(&mut self) {
        self.stage = Stage::Over;
        match self.clock.idle {
            Some(idle) if !self.reader.is_finished() => self.reader.fail(faults::silent(idle.as_millis() as u64)),
            _ => self.reader.end(None),
        }
    }
}

impl Stream for Answer {
    type Item = ModelEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ModelEvent>> {
        let this = &mut *self;
        let mut moved = false;
        loop {
            if let Some(event) = this.reader.next() {
                this.clock.touch();
                if this.reader.is_over() {
                    this.settle(&event, cx);
                }
                return Poll::Ready(Some(match event {
                    ModelEvent::Failed(fault) => ModelEvent::Failed(this.http.seal(fault)),
                    event => event,
                }));
            }
            if this.reader.is_over() {
                return Poll::Ready(None);
            }
            this.clock.finishing |= this.reader.is_finished();
            // Bytes that carry no event must not keep the call alive, however steadily they come.
            if moved && this.clock.has_passed() {
                this.out_of_time();
                continue;
            }
            if this.advance(cx).is_ready() {
                moved = true;
            } else if this.clock.poll_passed(cx) {
                this.out_of_time();
            } else {
                return Poll::Pending;
            }
        }
    }
}

/// Measures how long we have been waiting for an event. Time in which nobody asked us for one does not count.
struct Clock {
    idle: Option<Duration>,
    /// When the waiting began.
    since: Option<Instant>,
    /// Only usage is missing.
    finishing: bool,
    /// Set now and then, not per event: it may ring early and is then set again.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Clock {
    fn touch(&mut self) {
        self.since = None;
    }
    fn deadline(&mut self) -> Option<Instant> {
        let limit = if self.finishing { USAGE_WAIT } else { self.idle? };
        Some(*self.since.get_or_insert_with(Instant::now) + limit)
    }
    fn has_passed(&mut self) -> bool {
        self.deadline().is_some_and(|deadline| Instant::now() >= deadline)
    }
    /// As above; otherwise the task is woken when it is time to ask again.
    fn poll_passed(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(deadline) = self.deadline() else { return false };
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        loop {
            if Instant::now() >= deadline {
                return true;
            }
            if sleep.is_elapsed() || sleep.deadline() > deadline {
                sleep.as_mut().reset(deadline);
            }
            if sleep.as_mut().poll(cx).is_pending() {
                return false;
            }
        }
    }
}
