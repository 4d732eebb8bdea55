//! One connection of a client that comes by HTTP: the pipe to its dialect, and the streams on which it hears. What it is told
//! of a session is asked for by window, so that what it does not read stays in the log.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::Notify;
use wire::{Close, FlowWord};

use crate::acp::ends::{AcpHears, AcpReader, AcpSays};
use crate::acp::message::{Outgoing, Posted, PostedKind};
use crate::acp::stream::{StreamPlace, StreamState};
use crate::limits::{
    ACP_REFUSED, ACP_STREAMS_MAX, ACP_UNANSWERED_MAX, ACP_UNHEARD_MAX, ACP_UNKNOWN_STREAMS_MAX, NO_PROGRESS,
};

/// Bytes written since a dialect was given room, at which it is given more.
const CREDIT_EVERY_BYTES: usize = 64 * 1024;

/// Which stream of a connection.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum StreamName {
    Connection,
    Session(String),
}

/// Why a stream is not opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StreamRefused {
    IsOpen,
    TooMany,
}

/// Where the answer to a request goes.
pub(super) enum AnswerTo {
    Initialize,
    Connection,
    /// A load that is told on the connection's own stream, with all that belongs to it.
    LoadHere(String),
    Session {
        session: String,
        /// It waits for its stream; any other goes where somebody hears it.
        is_prompt: bool,
    },
}

pub(crate) struct AcpConnection {
    pub(crate) id: Arc<str>,
    /// Whose it is: nobody else may use it.
    pub(crate) principal: String,
    /// Everything goes on one stream, as it is.
    pub(super) is_socket: bool,
    state: Mutex<AcpState>,
    /// A message was heard, or the first answer is there.
    pub(super) news: Notify,
}

pub(super) struct AcpState {
    pub(super) heard: VecDeque<Vec<u8>>,
    pub(super) hearer: Option<Waker>,
    pub(super) ended: bool,
    /// How the dialect has ended it.
    pub(super) close: Option<Close>,
    pub(super) own: StreamState,
    pub(super) sessions: HashMap<String, StreamState>,
    pub(super) unanswered: HashMap<String, AnswerTo>,
    pub(super) asked: HashMap<u64, Option<String>>,
    pub(super) initialized: Option<(Bytes, bool)>,
    pub(super) used: Instant,
}

impl AcpConnection {
    pub(crate) fn new(id: Arc<str>, principal: String, is_socket: bool) -> Arc<Self> {
        let state = AcpState {
            heard: VecDeque::new(),
            hearer: None,
            ended: false,
            close: None,
            own: StreamState::new(false),
            sessions: HashMap::new(),
            unanswered: HashMap::new(),
            asked: HashMap::new(),
            initialized: None,
            used: Instant::now(),
        };
        Arc::new(Self { id, principal, is_socket, state: Mutex::new(state), news: Notify::new() })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, AcpState> {
        // Nothing is left half-done by a panic inside.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pipe that a dialect runs on.
    pub(crate) fn pipe(self: &Arc<Self>) -> (AcpHears, AcpSays) {
        (AcpHears::new(self.clone()), AcpSays::new(self.clone()))
    }

    /// It ends: its streams do, and its dialect hears that its client is gone.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        state.own.wake();
        state.sessions.values_mut().for_each(StreamState::wake);
        state.hearer.take().into_iter().for_each(Waker::wake);
        drop(state);
        self.news.notify_waiters();
    }

    /// Nobody hears it, nobody has asked it for anything, for this long; or its `initialize` was refused.
    pub(crate) fn is_over(&self, grace: Duration) -> bool {
        let state = self.lock();
        let refused = matches!(state.initialized, Some((_, true)));
        let is_heard = state.own.reader.is_some() || state.sessions.values().any(|it| it.reader.is_some());
        let left = if refused { ACP_REFUSED } else { grace };
        state.ended || ((refused || !is_heard) && state.used.elapsed() >= left)
    }

    /// Ends the streams whose readers take nothing, though there is something. What they did not take waits in the log.
    pub(crate) fn end_stuck(&self) {
        let mut state = self.lock();
        let AcpState { own, sessions, used, .. } = &mut *state;
        for stream in sessions.values_mut().chain([own]) {
            if stream.reader.is_some() && !stream.is_empty() && stream.moved.elapsed() >= NO_PROGRESS {
                stream.reader = None;
                stream.wake();
                *used = Instant::now();
            }
        }
    }

    /// Only its end can still be asked for.
    pub(crate) fn is_refused(&self) -> bool {
        let state = self.lock();
        state.ended || matches!(state.initialized, Some((_, true)))
    }

    // ---- what the client says -----------------------------------------------------------------------------------

    /// A message, when there is room for it. `false`: it came too late.
    pub(crate) async fn post(&self, message: Posted) -> bool {
        loop {
            let news = self.news.notified();
            {
                let mut state = self.lock();
                if state.ended {
                    return false;
                }
                if state.heard.len() < ACP_UNHEARD_MAX {
                    state.used = Instant::now();
                    state.take(message);
                    return true;
                }
            }
            news.await;
        }
    }

    /// A message that is what it is, on a transport with one stream.
    pub(crate) async fn post_raw(&self, message: Vec<u8>) -> bool {
        loop {
            let news = self.news.notified();
            {
                let mut state = self.lock();
                if state.ended {
                    return false;
                }
                if state.heard.len() < ACP_UNHEARD_MAX {
                    state.hear(message);
                    return true;
                }
            }
            news.await;
        }
    }

    pub(crate) fn word(&self, word: &FlowWord) {
        self.lock().hear(word.frame());
    }

    /// The answer to `initialize`, and whether it is a refusal. `None`: it will not come.
    pub(crate) async fn initialized(&self) -> Option<(Bytes, bool)> {
        loop {
            let news = self.news.notified();
            {
                let state = self.lock();
                if let Some(done) = &state.initialized {
                    return Some(done.clone());
                }
                if state.ended {
                    return None;
                }
            }
            news.await;
        }
    }

    // ---- what it hears ------------------------------------------------------------------------------------------

    /// A reader of a stream, from a place on where it names one.
    pub(crate) fn open(
        self: &Arc<Self>,
        name: StreamName,
        from: Option<StreamPlace>,
    ) -> Result<AcpReader, StreamRefused> {
        let mut state = self.lock();
        if let StreamName::Session(session) = &name
            && !state.sessions.contains_key(session)
        {
            if state.sessions.len() >= ACP_STREAMS_MAX {
                // Sessions come and go while their connection stays.
                state.sessions.retain(|_, stream| stream.reader.is_some() || !stream.is_empty());
            }
            let unknown = state.sessions.values().filter(|it| !it.is_known).count();
            if unknown >= ACP_UNKNOWN_STREAMS_MAX || state.sessions.len() >= ACP_STREAMS_MAX + ACP_UNKNOWN_STREAMS_MAX {
                return Err(StreamRefused::TooMany);
            }
        }
        state.used = Instant::now();
        let AcpState { asked, sessions, own, .. } = &mut *state;
        let stream = match &name {
            StreamName::Connection => own,
            StreamName::Session(session) => sessions.entry(session.clone()).or_insert_with(|| StreamState::new(true)),
        };
        // Nothing is passed over because of what nobody was told.
        let from = from.filter(|place| !stream.is_ahead(*place));
        if stream.reader.is_some() && from.is_none() {
            return Err(StreamRefused::IsOpen);
        }
        let number = stream.open();
        if let Some(place) = from {
            stream.go_back(place, |ask| asked.contains_key(&ask));
        }
        if let StreamName::Session(session) = &name {
            let session = session.clone();
            let word = match from {
                Some(place) => FlowWord::From { session, place: place.in_log() },
                None => FlowWord::Credit { session, bytes: usize::MAX },
            };
            state.hear(word.frame());
        }
        Ok(AcpReader::new(self.clone(), name, number))
    }

    /// What the one stream of a socket has to say, and how it ended when there is no more.
    pub(crate) fn poll_message(&self, context: &mut Context<'_>) -> Poll<Result<Bytes, Close>> {
        let mut state = self.lock();
        if let Some(waiting) = state.own.pop() {
            state.wrote(waiting.of);
            return Poll::Ready(Ok(waiting.bytes));
        }
        match &state.close {
            Some(close) => Poll::Ready(Err(close.clone())),
            None => {
                state.own.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl AcpState {
    fn hear(&mut self, frame: Vec<u8>) {
        self.heard.push_back(frame);
        self.hearer.take().into_iter().for_each(Waker::wake);
    }

    fn stream_is_open(&self, session: &str) -> bool {
        self.sessions.get(session).is_some_and(|stream| stream.reader.is_some())
    }

    fn take(&mut self, message: Posted) {
        if let PostedKind::Request(id, method) = &message.kind {
            if self.unanswered.len() >= ACP_UNANSWERED_MAX {
                let refusal = format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":-32603,\
                     \"message\":\"{ACP_UNANSWERED_MAX} requests of this connection wait for their answers\"}}}}"
                );
                return self.own.say(None, None, refusal.as_bytes());
            }
            let to = match (method.as_str(), &message.session) {
                ("initialize", _) => AnswerTo::Initialize,
                ("session/load" | "session/resume", Some(session)) if !self.stream_is_open(session) => {
                    let credit = FlowWord::Credit { session: session.clone(), bytes: usize::MAX };
                    self.hear(credit.frame());
                    AnswerTo::LoadHere(session.clone())
                }
                ("session/fork", _) | (_, None) => AnswerTo::Connection,
                (method, Some(session)) => {
                    AnswerTo::Session { session: session.clone(), is_prompt: method == "session/prompt" }
                }
            };
            self.unanswered.insert(id.clone(), to);
        }
        if message.kind == PostedKind::Answer {
            self.answered(&message.body);
        }
        self.hear(message.body);
    }

    fn answered(&mut self, body: &[u8]) {
        if let Outgoing::Answer { id, .. } = Outgoing::read(body)
            && let Ok(id) = id.parse()
        {
            self.asked.remove(&id);
        }
    }

    fn session(&mut self, session: String) -> &mut StreamState {
        let stream = self.sessions.entry(session).or_insert_with(|| StreamState::new(true));
        stream.is_known = true;
        stream
    }

    /// What the dialect says, on its stream.
    pub(super) fn said(&mut self, frame: &[u8]) {
        match Outgoing::read(frame) {
            Outgoing::Update { session, place } => {
                let here = |to: &AnswerTo| matches!(to, AnswerTo::LoadHere(loading) if *loading == session);
                match self.unanswered.values().any(here) {
                    true => self.own.say(None, Some((session, frame.len())), frame),
                    false => self.session(session.clone()).update(place.as_deref(), session, frame),
                }
            }
            Outgoing::Ask { id, session } => {
                self.asked.insert(id, session.clone());
                match session {
                    Some(session) => self.session(session).say(Some(id), None, frame),
                    None => self.own.say(Some(id), None, frame),
                }
            }
            Outgoing::Withdrawal { id } => match self.asked.remove(&id).flatten() {
                Some(session) => self.session(session).say(None, None, frame),
                None => self.own.say(None, None, frame),
            },
            Outgoing::Answer { id, session, is_error } => self.answer(&id, session, is_error, frame),
            Outgoing::Other => self.own.say(None, None, frame),
        }
    }

    fn answer(&mut self, id: &str, names: Option<String>, is_error: bool, frame: &[u8]) {
        let to = self.unanswered.remove(id);
        if let Some(session) = names.filter(|_| !is_error) {
            self.session(session);
        }
        match to {
            Some(AnswerTo::Initialize) => self.initialized = Some((Bytes::copy_from_slice(frame), is_error)),
            Some(AnswerTo::Session { session, is_prompt }) => {
                let waits = is_prompt && !is_error;
                match self.sessions.get_mut(&session).filter(|stream| stream.reader.is_some() || waits) {
                    Some(stream) => stream.say(None, None, frame),
                    None => self.own.say(None, None, frame),
                }
            }
            Some(AnswerTo::LoadHere(session)) => {
                self.own.say(None, None, frame);
                if !self.stream_is_open(&session) {
                    self.hear(FlowWord::Closed { session }.frame());
                }
            }
            Some(AnswerTo::Connection) | None => self.own.say(None, None, frame),
        }
    }

    pub(super) fn flow(&mut self, word: FlowWord) {
        match word {
            FlowWord::Rejoined { session } => {
                if let Some(stream) = self.sessions.get_mut(&session) {
                    stream.rejoined();
                }
            }
            FlowWord::CaughtUp { session } => {
                if let Some(stream) = self.sessions.get_mut(&session) {
                    stream.caught_up();
                }
            }
            FlowWord::Credit { .. } | FlowWord::Closed { .. } | FlowWord::From { .. } => {}
        }
    }

    /// This was written: its session gets as much room again, and all of it when nothing waits.
    pub(super) fn wrote(&mut self, of: Option<(String, usize)>) {
        let Some((session, bytes)) = of else { return };
        let is_last = self.own.is_empty() && self.sessions.get(&session).is_none_or(StreamState::is_empty);
        let stream = self.sessions.entry(session.clone()).or_insert_with(|| StreamState::new(true));
        stream.is_known = true;
        stream.owed += bytes;
        if is_last || stream.owed >= CREDIT_EVERY_BYTES {
            let bytes = std::mem::take(&mut stream.owed);
            let bytes = if is_last { usize::MAX } else { bytes };
            self.hear(FlowWord::Credit { session, bytes }.frame());
        }
    }
}
