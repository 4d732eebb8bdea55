//! One model call as a stream of events: sends the request, learns what the server does not take, reads the answer,
//! watches the time. Knows no format.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use net::header::CONTENT_TYPE;
use net::{HeaderMap, Http, Method, RequestHead, Response, ResponseBody};
use tokio::time::{Instant, Sleep};
use vocab::{Later, ModelEvent, ModelFault, Sent, TracePlace};

use crate::api::Api;
use crate::faults;
use crate::format::{Decoder, Draft, WrittenBody};
use crate::reader::AnswerReader;
use crate::recent::RecentPieces;

/// What is read of the body of a refusal; the rest is left.
pub const ERROR_BYTES_MAX: usize = 64 * 1024;
/// The largest answer taken from a server that does not stream; a larger one is an error.
pub const WHOLE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How long usage may lag behind the reason to stop. Afterwards the answer counts without it.
const USAGE_WAIT: Duration = Duration::from_secs(2);
/// How long a body may stay open behind an answer that lacks nothing. Afterwards the answer counts as it is.
const END_WAIT: Duration = Duration::from_millis(200);

/// A draft, and what is told about it besides its own words.
pub(crate) struct ModelRequest {
    pub(crate) draft: Box<dyn Draft>,
    pub(crate) api: Api,
    pub(crate) manner: Arc<str>,
    /// What the server wants to be told with every call; no secrets.
    pub(crate) greeting: Greeting,
    pub(crate) recent: Arc<RecentPieces>,
    pub(crate) trace: Option<TracePlace>,
}

/// Headers that are the same for every call and can be shown.
pub(crate) type Greeting = Arc<[(&'static str, String)]>;

impl ModelRequest {
    fn headers(&self) -> Vec<(&'static str, String)> {
        let mut headers = self.draft.headers();
        headers.extend(self.greeting.iter().cloned());
        headers
    }

    /// What was written, for the log: everything but messages and secrets. It seldom changes, so what was told before is told
    /// again where it is the same.
    fn sent(&self, written: &WrittenBody, http: &Http, before: Option<&LastSent>) -> Arc<Sent> {
        let (path, headers, manner) = (self.draft.path(), self.headers(), self.draft.manner());
        let manner = manner.map_or_else(|| self.manner.clone(), Arc::from);
        let is_same = |LastSent { sent, head }: &&LastSent| {
            let told = sent.headers.iter().map(|(name, value)| (&**name, &**value));
            is_alike(head, &written.head)
                && sent.tail.as_bytes() == &*written.tail
                && sent.api.as_ref() == self.api.as_str()
                && sent.url.strip_prefix(&*http.server) == Some(&*path)
                && sent.manner == manner
                && told.eq(headers.iter().map(|(name, value)| (*name, &**value)))
        };
        before.filter(is_same).map_or_else(
            || {
                Arc::new(Sent {
                    api: self.api.as_str().into(),
                    url: http.url(&path).into(),
                    headers: headers.iter().map(|(name, value)| ((*name).into(), (&**value).into())).collect(),
                    manner: manner.clone(),
                    head: self.recent.text(text(&written.head)),
                    tail: text(std::slice::from_ref(&written.tail)),
                })
            },
            |before| before.sent.clone(),
        )
    }
}

/// What was told of the call before, and the pieces that its head was made of.
pub(crate) struct LastSent {
    sent: Arc<Sent>,
    head: Vec<Bytes>,
}

fn text(pieces: &[Bytes]) -> Arc<str> {
    match String::from_utf8(pieces.concat()) {
        Ok(text) => text.into(),
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into(),
    }
}

/// Whether these are the same bytes. Most of them are the very same, and are not looked at: all tools and instructions.
fn is_alike(before: &[Bytes], now: &[Bytes]) -> bool {
    let is_one = |(one, other): (&Bytes, &Bytes)| one.as_ptr() == other.as_ptr() || one == other;
    before.len() == now.len() && before.iter().zip(now).all(|pair| pair.0.len() == pair.1.len() && is_one(pair))
}

/// What came back.
enum OpenedAnswer {
    Stream(ResponseBody),
    Whole(Vec<u8>),
}

/// Sends it until it is taken or there is nothing more to learn. The event tells of the request that was sent last, where
/// that is not the first.
async fn open(
    http: Arc<Http>,
    request: ModelRequest,
    first: WrittenBody,
) -> (Option<ModelEvent>, Result<OpenedAnswer, ModelFault>) {
    let mut written = first;
    let mut sent = None;
    loop {
        let path = request.draft.path();
        let mut headers = request.headers();
        // Another one for each call, so it is not told as something that was sent: what was told would never be the same.
        headers.extend(request.trace.map(|trace| ("traceparent", trace.to_string())));
        let head = RequestHead { method: &Method::POST, path: &path, accept: "text/event-stream", headers: &headers };
        let (head, mut reply) = match http.send(head, || written.body()).await {
            Ok(answer) => answer,
            Err(fault) => return (sent, Err(faults::of_net(fault))),
        };
        let status = head.status().as_u16();
        if status == 200 {
            return (sent, accept(&http, request.api, head, reply).await);
        }
        // A refusal that breaks off is still a refusal.
        let (body, whole) = reply.collect(ERROR_BYTES_MAX).await.unwrap_or_default();
        if whole {
            reply.done(&http).await;
        }
        if !request.draft.learn(status, &body) {
            let mut fault = faults::refused(status, head.headers(), &body, &http.server);
            if status == 404 {
                faults::hint_address(&mut fault, &http.server, request.api.version());
            }
            return (sent, Err(fault));
        }
        written = request.draft.write();
        sent = Some(ModelEvent::Sent { sent: request.sent(&written, &http, None), bytes: written.bytes() });
    }
}

async fn accept(
    http: &Http,
    api: Api,
    head: Response<()>,
    mut reply: ResponseBody,
) -> Result<OpenedAnswer, ModelFault> {
    let kind = media_type(head.headers());
    match kind {
        "" => Ok(OpenedAnswer::Stream(reply)),
        _ if kind.eq_ignore_ascii_case("text/event-stream") => Ok(OpenedAnswer::Stream(reply)),
        _ if kind.eq_ignore_ascii_case("application/json") => {
            let (body, whole) = reply.collect(WHOLE_BYTES_MAX).await.map_err(|error| faults::cut(Some(&error)))?;
            if !whole {
                return Err(faults::provider(format!("the answer is larger than {WHOLE_BYTES_MAX} bytes")));
            }
            reply.done(http).await;
            Ok(OpenedAnswer::Whole(body))
        }
        _ => {
            let kind = kind.to_ascii_lowercase();
            let what = if kind == "text/html" { "an HTML page" } else { &*kind };
            let message = format!("200 {} answered with {what} instead of a model's stream", http.server);
            let mut fault = faults::provider(message);
            fault.fault.status = Some(200);
            faults::hint_address(&mut fault, &http.server, api.version());
            // The same address will answer the same.
            fault.retryable = false;
            Err(fault)
        }
    }
}

/// Without parameters, as the server spells it.
fn media_type(headers: &HeaderMap) -> &str {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim()
}

/// The stream the engine reads.
pub(crate) struct ModelCall {
    http: Arc<Http>,
    stage: CallStage,
    reader: AnswerReader,
    clock: Clock,
}

enum CallStage {
    Opening(Later<'static, (Option<ModelEvent>, Result<OpenedAnswer, ModelFault>)>),
    Reading(ResponseBody),
    Over,
}

impl ModelCall {
    pub(crate) fn new(
        http: Arc<Http>,
        idle: Option<Duration>,
        request: ModelRequest,
        decoder: Box<dyn Decoder>,
        last_sent: &mut Option<LastSent>,
    ) -> Self {
        let mut reader = AnswerReader::new(decoder);
        let written = request.draft.write();
        let sent = request.sent(&written, &http, last_sent.as_ref());
        if last_sent.as_ref().is_none_or(|last| !Arc::ptr_eq(&last.sent, &sent)) {
            *last_sent = Some(LastSent { sent: sent.clone(), head: written.head.clone() });
        }
        reader.tell(ModelEvent::Sent { sent, bytes: written.bytes() });
        Self {
            reader,
            stage: CallStage::Opening(Box::pin(open(http.clone(), request, written))),
            http,
            clock: Clock { idle, since: None, finishing: None, sleep: None },
        }
    }

    /// Moves on until there may be an event to tell, or nothing to do but wait.
    fn advance(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.stage {
            CallStage::Opening(opening) => match opening.as_mut().poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready((sent, opened)) => {
                    self.stage = CallStage::Over;
                    if let Some(sent) = sent {
                        self.reader.tell(sent);
                    }
                    match opened {
                        Ok(OpenedAnswer::Stream(reply)) => self.stage = CallStage::Reading(reply),
                        Ok(OpenedAnswer::Whole(body)) => self.reader.whole(&body),
                        Err(fault) => self.reader.fail(fault),
                    }
                }
            },
            CallStage::Reading(reply) => match reply.poll_bytes(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(bytes))) => self.reader.feed(&bytes),
                Poll::Ready(Some(Err(error))) => self.reader.end(Some(faults::cut(Some(&error)))),
                Poll::Ready(None) => self.reader.end(None),
            },
            CallStage::Over => self.reader.end(None),
        }
        Poll::Ready(())
    }

    /// The answer is complete: its connection can serve the next call, unless something went wrong on it.
    fn settle(&mut self, event: &ModelEvent, cx: &mut Context<'_>) {
        if let CallStage::Reading(reply) = std::mem::replace(&mut self.stage, CallStage::Over)
            && !matches!(event, ModelEvent::Failed(_))
        {
            reply.give_back(&self.http, cx);
        }
    }

    fn out_of_time(&mut self) {
        self.stage = CallStage::Over;
        match self.clock.idle {
            Some(idle) if !self.reader.is_finished() => self.reader.fail(faults::silent(idle.as_millis() as u64)),
            _ => self.reader.end(None),
        }
    }
}

impl Stream for ModelCall {
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
                    ModelEvent::Failed(fault) => ModelEvent::Failed(faults::sealed(fault, &this.http)),
                    event => event,
                }));
            }
            if this.reader.is_over() {
                return Poll::Ready(None);
            }
            if this.reader.is_finished() {
                this.clock.finishing = Some(if this.reader.has_usage() { END_WAIT } else { USAGE_WAIT });
            }
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
    /// Nothing is missing but usage or the end: this long it may take.
    finishing: Option<Duration>,
    /// Set now and then, not per event: it may ring early and is then set again.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Clock {
    fn touch(&mut self) {
        self.since = None;
    }
    fn deadline(&mut self) -> Option<Instant> {
        let limit = self.finishing.or(self.idle)?;
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
