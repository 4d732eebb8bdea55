//! The streams on which an agent speaks: one of the connection, one of each session. One that breaks is opened again behind
//! the last event that came, where the server numbers its events; otherwise nobody could tell what is missing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use net::sse::Sse;
use net::{Endpoint, NetFault, StreamedResponse};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::{CONNECTION, REFUSAL_BYTES_MAX, SESSION, WebOver};
use crate::connection::SESSIONS_MAX;
use crate::task::LINE_BYTES_MAX;

const EVENTS: &str = "text/event-stream";
/// Where to go on.
const LAST_EVENT: &str = "last-event-id";
/// Between two tries to open a stream again: from here on twice as long each time, up to the second.
const RETRY_FIRST: Duration = Duration::from_millis(200);
const RETRY_MAX: Duration = Duration::from_secs(5);
/// A stream that cannot be opened again for so long is lost, and the connection with it.
const RETRY_FOR: Duration = Duration::from_secs(60);
/// A stream on which nothing comes for so long, not even a sign of life, is opened anew. Servers give one after 15 seconds.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// Lines on their way to the client; a stream waits where there are more.
pub(super) const LINES_MAX: usize = 64;

/// What came on a stream.
pub(super) enum WebNews {
    /// With the session whose stream it was.
    Line(Option<Arc<str>>, Vec<u8>),
    Over(WebOver),
}

/// How far a stream has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum StreamState {
    Opening,
    Open,
    /// The server does not have it, at least not now.
    Refused,
}

pub(super) struct Streams {
    endpoint: Arc<Endpoint>,
    connection: Arc<str>,
    news: mpsc::Sender<WebNews>,
    open: Mutex<OpenStreams>,
}

#[derive(Default)]
struct OpenStreams {
    /// Ended with this.
    tasks: JoinSet<()>,
    states: HashMap<Option<Arc<str>>, watch::Receiver<StreamState>>,
}

impl Streams {
    pub(super) fn new(endpoint: Arc<Endpoint>, connection: Arc<str>, news: mpsc::Sender<WebNews>) -> Self {
        Self { endpoint, connection, news, open: Mutex::default() }
    }

    fn open(&self) -> MutexGuard<'_, OpenStreams> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn connection(&self) -> &Arc<str> {
        &self.connection
    }

    /// Begins to follow the stream of this session, or of the connection. Behind the bound there are no more.
    pub(super) fn follow(&self, session: Option<&str>) {
        let mut open = self.open();
        let session: Option<Arc<str>> = session.map(Arc::from);
        let is_there = |state: &watch::Receiver<StreamState>| *state.borrow() != StreamState::Refused;
        if open.states.get(&session).is_some_and(is_there) || open.states.len() > SESSIONS_MAX {
            return;
        }
        // Those that came to nothing are forgotten.
        while open.tasks.try_join_next().is_some() {}
        let (told, state) = watch::channel(StreamState::Opening);
        open.states.insert(session.clone(), state);
        let follower = Follower {
            endpoint: self.endpoint.clone(),
            connection: self.connection.clone(),
            session,
            news: self.news.clone(),
            last: None,
            has_heard: false,
        };
        open.tasks.spawn(follower.run(told));
    }

    /// The same, and waits until it is open or the server has said that it is not there.
    pub(super) async fn followed(&self, session: Option<&str>) {
        self.follow(session);
        let state = self.open().states.get(&session.map(Arc::from)).cloned();
        if let Some(mut state) = state {
            let _ = state.wait_for(|state| *state != StreamState::Opening).await;
        }
    }
}

/// Why a stream does not go on.
enum StreamEnd {
    /// It ended or broke.
    Broken,
    TooLong,
    /// The client has gone.
    Unheard,
}

struct Follower {
    endpoint: Arc<Endpoint>,
    connection: Arc<str>,
    session: Option<Arc<str>>,
    news: mpsc::Sender<WebNews>,
    /// The name of the last event that came.
    last: Option<String>,
    has_heard: bool,
}

impl Follower {
    async fn run(mut self, told: watch::Sender<StreamState>) {
        let over = self.follow(&told).await;
        // Whoever waits for it does not wait for ever.
        told.send_replace(StreamState::Refused);
        if let Some(over) = over {
            let _ = self.news.send(WebNews::Over(over)).await;
        }
    }

    /// Until it cannot go on. `None`: that is no reason to end.
    async fn follow(&mut self, told: &watch::Sender<StreamState>) -> Option<WebOver> {
        let endpoint = self.endpoint.clone();
        let mut pause = RETRY_FIRST;
        let mut broken_since = Instant::now();
        loop {
            let tried = match endpoint.get_with(EVENTS, &self.headers()).await {
                Ok(incoming) if incoming.status == 200 && is_stream(&incoming) => {
                    told.send_replace(StreamState::Open);
                    let heard_before = self.last.clone();
                    match self.read(incoming).await {
                        StreamEnd::Broken => {}
                        StreamEnd::TooLong => return Some(WebOver::lost("sent an event that is too long")),
                        StreamEnd::Unheard => return None,
                    }
                    if self.has_heard && self.last.is_none() {
                        return Some(WebOver::lost("broke a stream whose events have no names to go on behind"));
                    }
                    broken_since = Instant::now();
                    if self.last != heard_before {
                        pause = RETRY_FIRST;
                    }
                    "the stream keeps breaking".to_owned()
                }
                // Held by a connection that the server takes for alive; or it is not well just now.
                Ok(incoming) if incoming.status == 409 || incoming.status >= 500 => {
                    incoming.refusal(REFUSAL_BYTES_MAX).await.message
                }
                Ok(incoming) => {
                    let is_first = *told.borrow() == StreamState::Opening;
                    let why = incoming.refusal(REFUSAL_BYTES_MAX).await.explained();
                    // A session that the server does not know yet has a stream once it does.
                    let is_fine = is_first && self.session.is_some();
                    return (!is_fine).then(|| WebOver::lost(&format!("refused a stream: {why}")));
                }
                Err(NetFault { fault, retryable: false, .. }) => return Some(WebOver::of(&fault)),
                Err(fault) => fault.fault.message,
            };
            if broken_since.elapsed() > RETRY_FOR {
                return Some(WebOver::lost(&format!("cannot be heard any more: {tried}")));
            }
            sleep(pause).await;
            pause = (pause * 2).min(RETRY_MAX);
        }
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        let session = self.session.as_ref().map(|session| (SESSION, session.to_string()));
        let last = self.last.clone().map(|last| (LAST_EVENT, last));
        std::iter::once((CONNECTION, self.connection.to_string())).chain(session).chain(last).collect()
    }

    async fn read(&mut self, mut incoming: StreamedResponse<'_>) -> StreamEnd {
        let mut events = Sse::new(LINE_BYTES_MAX);
        loop {
            // Without names there is nothing to go on behind, so silence is better than a gap.
            let can_go_on = self.last.is_some() || !self.has_heard;
            let chunk = match can_go_on {
                true => timeout(SILENCE_MAX, incoming.chunk()).await,
                false => Ok(incoming.chunk().await),
            };
            let Ok(Ok(Some(bytes))) = chunk else { return StreamEnd::Broken };
            events.feed(&bytes);
            while let Some(event) = events.next() {
                let Ok(data) = event else { return StreamEnd::TooLong };
                let line = data.to_vec();
                self.has_heard = true;
                if self.news.send(WebNews::Line(self.session.clone(), line)).await.is_err() {
                    return StreamEnd::Unheard;
                }
                // Named once it is on its way: what broke before that comes again.
                if let Some(id) = events.last_id() {
                    self.last = Some(id.to_owned());
                }
            }
        }
    }
}

fn is_stream(incoming: &StreamedResponse<'_>) -> bool {
    incoming.header("content-type").is_some_and(|kind| kind.starts_with(EVENTS))
}
