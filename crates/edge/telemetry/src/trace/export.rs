//! Sends spans, from a thread of its own: no turn and no runtime of the product waits for a collector. The queue has a bound;
//! what does not fit is dropped and counted. There is no such thread where no traces are wanted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc as blocking;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use net::{Http, HttpConfig, KnownCredentials, Method, Pieces, Proxy, RequestHead};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use super::encode::{SharedFields, batch};
use super::settings::{TraceFormat, TraceSettings};
use super::span::Span;

/// Tries for one batch. A collector that is busy says so; one that refuses what it was sent will refuse it again.
const TRIES: u32 = 4;
const RETRY_FIRST: Duration = Duration::from_millis(500);
/// The longest that a collector can make a batch wait for its next try.
const RETRY_MAX: Duration = Duration::from_secs(10);
/// The first and the shortest wait between tries while the process ends.
const ENDING_RETRY_FIRST: Duration = Duration::from_millis(100);
/// What is read of an answer; nothing in it is needed.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

enum ToExport {
    Span(Box<Span>),
    /// Answered when everything before it was sent, or was given up; with why, then.
    Flush(blocking::SyncSender<Option<String>>),
}

/// What both sides of the queue know.
#[derive(Default)]
struct UnsentSpans {
    /// Spans that the collector has not taken, and that were not given up before the end.
    unsent: AtomicU64,
    /// When the process ends; tries must fit before it.
    ends_at: OnceLock<Instant>,
    /// Wakes a batch that waits for its next try.
    ending: Notify,
}

pub(super) struct Exporter {
    queue: mpsc::Sender<ToExport>,
    /// Of what is said by nothing but spans; a flush that finds it full has no room either.
    flush: mpsc::Sender<ToExport>,
    dropped: AtomicU64,
    shared: Arc<UnsentSpans>,
    note: fn(&str),
}

impl Exporter {
    /// Fails on an address that could never work.
    pub(super) fn start(settings: &TraceSettings, version: &str, note: fn(&str)) -> Result<Self, String> {
        let sender = Sender::new(settings, version, note)?;
        let shared = sender.both.clone();
        let (queue, spans) = mpsc::channel(settings.queue);
        let (flush, flushes) = mpsc::channel(1);
        let work = move || {
            // Without a runtime no spans are sent; the queue is closed then, and says so.
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            if let Ok(runtime) = runtime {
                runtime.block_on(sender.run(spans, flushes));
            }
        };
        let thread = thread::Builder::new().name("traces".to_owned()).spawn(work);
        thread.map_err(|error| format!("no thread for traces: {error}"))?;
        Ok(Self { queue, flush, dropped: AtomicU64::new(0), shared, note })
    }

    /// Never waits.
    pub(super) fn send(&self, span: Span) {
        self.shared.unsent.fetch_add(1, Ordering::Relaxed);
        if self.queue.try_send(ToExport::Span(Box::new(span.shown()))).is_ok() {
            return;
        }
        self.shared.unsent.fetch_sub(1, Ordering::Relaxed);
        if self.dropped.fetch_add(1, Ordering::Relaxed) == 0 {
            (self.note)("traces: more spans than the collector takes; some are dropped");
        }
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Waits until all is sent, and no longer than this. The process ends then: what is still here is lost, and said.
    pub(super) fn flush(&self, patience: Duration) {
        let (done, is_done) = blocking::sync_channel(1);
        let _ = self.shared.ends_at.set(Instant::now() + patience);
        self.shared.ending.notify_one();
        let why = match self.flush.try_send(ToExport::Flush(done)) {
            Ok(()) => is_done.recv_timeout(patience).ok().flatten(),
            Err(_) => None,
        };
        let lost = self.shared.unsent.load(Ordering::Relaxed);
        if lost > 0 {
            let why = why.unwrap_or_else(|| "the collector did not take them before the process ended".to_owned());
            (self.note)(&format!("traces: {lost} spans are lost: {why}"));
        }
        let dropped = self.dropped();
        if dropped > 0 {
            (self.note)(&format!("traces: {dropped} spans were dropped"));
        }
    }
}

struct Sender {
    http: Http,
    path: String,
    format: TraceFormat,
    shared: SharedFields,
    batch: usize,
    delay: Duration,
    timeout: Duration,
    note: fn(&str),
    /// The collector's last word was no.
    is_failing: bool,
    /// Why spans are lost with the end of the process.
    lost_because: Option<String>,
    both: Arc<UnsentSpans>,
}

/// How a try went.
enum Tried {
    Taken,
    /// `answered`: the collector is there, and busy.
    Again {
        after: Option<Duration>,
        answered: bool,
        why: String,
    },
    Never {
        why: String,
    },
}

impl Sender {
    fn new(settings: &TraceSettings, version: &str, note: fn(&str)) -> Result<Self, String> {
        let url = &settings.url;
        let at = url.find("://").map_or(0, |at| at + 3);
        let end = url[at..].find(['/', '?']).map_or(url.len(), |path| at + path);
        let (origin, path) = url.split_at(end);
        let known = KnownCredentials { key: None, headers: settings.headers.clone() };
        let proxy = Proxy::from_env(url, |name| std::env::var(name).ok());
        let http =
            Http::new(HttpConfig::new(origin, &known, settings.timeout, proxy)).map_err(|fault| fault.message)?;
        let mut resource = settings.resource.clone();
        let mut also = |key: &str, value: String| {
            if resource.iter().all(|(known, _)| known != key) {
                resource.push((key.to_owned(), value));
            }
        };
        also("service.version", version.to_owned());
        also("service.instance.id", format!("{:016x}{:016x}", super::ids::random(), super::ids::random()));
        also("process.pid", std::process::id().to_string());
        also("telemetry.sdk.name", "tillerman".to_owned());
        also("telemetry.sdk.language", "rust".to_owned());
        also("telemetry.sdk.version", version.to_owned());
        Ok(Self {
            http,
            path: if path.is_empty() { "/".to_owned() } else { path.to_owned() },
            format: settings.format,
            shared: SharedFields { resource, version: version.to_owned() },
            batch: settings.batch,
            delay: settings.delay,
            timeout: settings.timeout,
            note,
            is_failing: false,
            lost_because: None,
            both: Arc::default(),
        })
    }

    async fn run(mut self, mut spans: mpsc::Receiver<ToExport>, mut flushes: mpsc::Receiver<ToExport>) {
        let mut waiting: Vec<Span> = Vec::new();
        loop {
            let (is_open, flushed) = self.gather(&mut waiting, &mut spans, &mut flushes).await;
            if flushed.is_some() {
                while let Ok(ToExport::Span(span)) = spans.try_recv() {
                    waiting.push(*span);
                }
            }
            while !waiting.is_empty() {
                let rest = waiting.split_off(waiting.len().min(self.batch));
                self.export(&waiting).await;
                waiting = rest;
            }
            if let Some(done) = flushed {
                let _ = done.send(self.lost_because.take());
            }
            if !is_open {
                return;
            }
        }
    }

    /// Until a batch is full, or old enough, or wanted at once. `false`: nothing will come any more.
    async fn gather(
        &self,
        waiting: &mut Vec<Span>,
        spans: &mut mpsc::Receiver<ToExport>,
        flushes: &mut mpsc::Receiver<ToExport>,
    ) -> (bool, Option<blocking::SyncSender<Option<String>>>) {
        let mut due: Option<Instant> = None;
        loop {
            let rest = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                Some(ToExport::Flush(done)) = flushes.recv() => return (true, Some(done)),
                next = spans.recv() => match next {
                    Some(ToExport::Span(span)) => waiting.push(*span),
                    _ => return (false, None),
                },
                () = rest => return (true, None),
            }
            if waiting.len() >= self.batch {
                return (true, None);
            }
            due.get_or_insert_with(|| Instant::now() + self.delay);
        }
    }

    async fn export(&mut self, spans: &[Span]) {
        let body = Bytes::from(batch(self.format, &self.shared, spans));
        let mut attempt = 1;
        loop {
            let tried = tokio::time::timeout(self.timeout, self.post(&body)).await;
            let tried = tried.unwrap_or_else(|_| Tried::Again {
                after: None,
                answered: false,
                why: format!("no answer from {} within {:?}", self.http.server, self.timeout),
            });
            let why = match tried {
                Tried::Taken => {
                    self.is_failing = false;
                    self.both.unsent.fetch_sub(spans.len() as u64, Ordering::Relaxed);
                    return;
                }
                Tried::Again { after, answered, why } => match self.wait(attempt, after, answered).await {
                    true => {
                        attempt += 1;
                        continue;
                    }
                    false => why,
                },
                Tried::Never { why } => why,
            };
            if self.both.ends_at.get().is_some() {
                self.lost_because = Some(why);
                return;
            }
            self.both.unsent.fetch_sub(spans.len() as u64, Ordering::Relaxed);
            // Said once, until it works again.
            if !std::mem::replace(&mut self.is_failing, true) {
                (self.note)(&format!("traces: {} spans are lost: {why}", spans.len()));
            }
            return;
        }
    }

    /// Until the next try. `false`: there is none. While the process ends, a collector that is busy is asked again as long as
    /// there is time; one that is not there is not waited for.
    async fn wait(&self, attempt: u32, after: Option<Duration>, answered: bool) -> bool {
        let doubled = |first: Duration| first.saturating_mul(1 << (attempt - 1).min(10));
        if let Some(ends_at) = self.both.ends_at.get() {
            let pause = after.unwrap_or(doubled(ENDING_RETRY_FIRST)).max(ENDING_RETRY_FIRST).min(RETRY_MAX);
            let fits = answered && Instant::now() + pause < *ends_at;
            if fits {
                tokio::time::sleep(pause).await;
            }
            return fits;
        }
        if attempt >= TRIES {
            return false;
        }
        let pause = after.unwrap_or(doubled(RETRY_FIRST)).min(RETRY_MAX);
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = self.both.ending.notified() => {}
        }
        true
    }

    async fn post(&self, body: &Bytes) -> Tried {
        let kind = match self.format {
            TraceFormat::Protobuf => "application/x-protobuf",
            TraceFormat::Json => "application/json",
        };
        let headers = [("content-type", kind.to_owned())];
        let head = RequestHead { method: &Method::POST, path: &self.path, accept: kind, headers: &headers };
        let (answer, mut reply) = match self.http.send(head, || Pieces::new(vec![body.clone()])).await {
            Ok(answer) => answer,
            Err(fault) => {
                return Tried::Again { after: None, answered: false, why: self.http.seal(fault.fault).message };
            }
        };
        let (said, is_whole) = reply.collect(ANSWER_BYTES_MAX).await.unwrap_or_default();
        if is_whole {
            reply.done(&self.http).await;
        }
        let status = answer.status().as_u16();
        if answer.status().is_success() {
            return Tried::Taken;
        }
        let after = answer.headers().get("retry-after").and_then(|it| it.to_str().ok()?.trim().parse().ok());
        let said = if self.format == TraceFormat::Json { net::error_message(&said) } else { String::new() };
        let fault =
            vocab::Fault::new(vocab::FaultKind::Provider, format!("{} answered {status} {said}", self.http.server));
        let why = self.http.seal(fault).message.trim_end().to_owned();
        match status {
            429 | 502 | 503 | 504 => Tried::Again { after: after.map(Duration::from_secs), answered: true, why },
            _ => Tried::Never { why },
        }
    }
}
