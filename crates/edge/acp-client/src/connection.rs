//! The client's side of the conversation as a state machine: lines, wishes and time go in; bytes, answers and events come
//! out. No I/O, no clock, no runtime.

mod asks;
mod hear;

pub use asks::Elicited;
use asks::OpenAsk;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use acp_types::{
    CancelRequest, ClientAuthCapabilities, ClientCapabilities, ClientConfigOptions, ClientSessionCapabilities,
    ElicitationCapabilities, FileSystemCapabilities, Other, SessionRequest, method, present, sorted,
};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use wire::jsonrpc;

use crate::error::{ClientProblem, Terminated};
use crate::event::{AskId, ClientEvent};

/// Requests of ours that may wait at once; one more is refused.
pub const REQUESTS_MAX: usize = 1024;
/// Questions and requests of the agent's that may be open at once; one more is answered with an error.
pub const ASKS_MAX: usize = 256;
/// Calls of one session that are remembered as running; beyond, the agent's word about their end has to do.
pub const OPEN_CALLS_MAX: usize = 1024;
/// Sessions whose calls are remembered.
pub const SESSIONS_MAX: usize = 256;

/// What a request is about, as far as its answer needs more than being handed on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum About {
    Hello,
    Plain,
    Prompt(String),
    /// History that comes before the answer is not handed on: resume promises none.
    Resume(String),
    /// History is counted: an agent that replays nothing may not know the session.
    Load(String),
}

impl About {
    fn into_prompt(self) -> Option<String> {
        match self {
            About::Prompt(session) => Some(session),
            About::Hello | About::Plain | About::Resume(_) | About::Load(_) => None,
        }
    }
}

struct PendingRequest {
    method: String,
    about: About,
    sent: Duration,
    limit: Option<Duration>,
    /// Its turn was cancelled by us.
    cancelled: bool,
}

/// Work for the services, to be answered with [`Connection::editor_answered`].
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct EditorJob {
    pub(crate) ask: AskId,
    pub(crate) method: String,
    pub(crate) params: Value,
}

/// What is to be done. Reused between calls.
#[derive(Default)]
pub(crate) struct ConnectionOut {
    pub(crate) bytes: Vec<u8>,
    /// In their order, with the bytes each took on the wire.
    pub(crate) events: Vec<(ClientEvent, usize)>,
    /// Answers to requests of ours; delivered after the events.
    pub(crate) settled: Vec<Settled>,
    pub(crate) editor_requests: Vec<EditorJob>,
}

/// The answer to a request of ours.
pub(crate) struct Settled {
    pub(crate) id: u64,
    /// The session whose turn this ends.
    pub(crate) prompt: Option<String>,
    pub(crate) outcome: Result<Value, ClientProblem>,
}

/// Which services of an editor stand behind the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Offers {
    pub read_files: bool,
    pub write_files: bool,
    pub terminals: bool,
    /// A person sees the agent's forms and addresses.
    pub elicitation: bool,
}

impl Offers {
    pub(crate) fn capabilities(self) -> ClientCapabilities {
        ClientCapabilities {
            fs: FileSystemCapabilities { read_text_file: self.read_files, write_text_file: self.write_files },
            terminal: self.terminals,
            session: ClientSessionCapabilities {
                config_options: Some(ClientConfigOptions { boolean: present() }),
                notices: present(),
                compaction: present(),
            },
            // A way to sign in that is a command is shown with it; some agents name such ways only to who says so.
            auth: ClientAuthCapabilities { terminal: true },
            meta: Some(Other::from_iter([("terminal-auth".to_owned(), true.into())])),
            elicitation: self.elicitation.then(|| ElicitationCapabilities { form: present(), url: present() }),
        }
    }

    fn serves(self, method: &str) -> bool {
        match method {
            method::FS_READ_TEXT_FILE => self.read_files,
            method::FS_WRITE_TEXT_FILE => self.write_files,
            _ => self.terminals && TERMINAL_METHODS.contains(&method),
        }
    }
}

const TERMINAL_METHODS: [&str; 5] = [
    method::TERMINAL_CREATE,
    method::TERMINAL_OUTPUT,
    method::TERMINAL_WAIT_FOR_EXIT,
    method::TERMINAL_KILL,
    method::TERMINAL_RELEASE,
];

pub(crate) struct Connection {
    offers: Offers,
    next_id: u64,
    next_ask: u64,
    waiting: BTreeMap<u64, PendingRequest>,
    asks: BTreeMap<AskId, OpenAsk>,
    /// Calls that run, by session.
    calls: HashMap<String, HashSet<String>>,
    /// How much history came while a load was waiting, by session.
    replayed: HashMap<String, u64>,
    /// A message of the agent's was understood.
    heard: bool,
    /// What is said before the first message is a banner and no mistake.
    banner: bool,
    greeted: bool,
}

impl Connection {
    pub(crate) fn new(offers: Offers, banner: bool) -> Self {
        Self {
            offers,
            next_id: 0,
            next_ask: 0,
            waiting: BTreeMap::new(),
            asks: BTreeMap::new(),
            calls: HashMap::new(),
            replayed: HashMap::new(),
            heard: false,
            banner,
            greeted: false,
        }
    }

    /// Sends a request; the id names its answer in [`ConnectionOut::settled`].
    pub(crate) fn request(
        &mut self,
        now: Duration,
        method: &str,
        params: &Value,
        about: About,
        limit: Option<Duration>,
        out: &mut ConnectionOut,
    ) -> Result<u64, ClientProblem> {
        if self.waiting.len() >= REQUESTS_MAX {
            return Err(ClientProblem::Busy);
        }
        let id = self.next_id;
        self.next_id += 1;
        if let About::Load(session) = &about {
            self.replayed.insert(session.clone(), 0);
        }
        jsonrpc::request(&mut out.bytes, id, method, params);
        let waiting = PendingRequest { method: method.into(), about, sent: now, limit, cancelled: false };
        self.waiting.insert(id, waiting);
        Ok(id)
    }

    pub(crate) fn notify(&mut self, method: &str, params: Option<&Value>, out: &mut ConnectionOut) {
        match params {
            Some(params) => jsonrpc::notification(&mut out.bytes, method, params),
            // Without params, as `$/ping` is known.
            None => {
                #[derive(Serialize)]
                struct Bare<'a> {
                    jsonrpc: &'a str,
                    method: &'a str,
                }
                let bare = Bare { jsonrpc: "2.0", method };
                serde_json::to_writer(&mut out.bytes, &bare).expect("memory takes every write");
                out.bytes.push(b'\n');
            }
        }
    }

    /// Cancels the turn of a session: tells the agent, closes its open questions. The turn ends when its prompt is answered.
    pub(crate) fn cancel(&mut self, session: &str, out: &mut ConnectionOut) {
        let params = sorted(SessionRequest { session_id: session.to_owned() });
        self.notify(method::SESSION_CANCEL, Some(&params), out);
        for waiting in self.waiting.values_mut() {
            waiting.cancelled |= waiting.about == About::Prompt(session.to_owned());
        }
        self.close_asks_of(session, out);
    }

    /// When [`Connection::tick`] is next needed.
    pub(crate) fn due(&self) -> Option<Duration> {
        self.waiting.values().filter_map(|it| Some(it.sent + it.limit?)).min()
    }

    /// Lets go of requests that took too long.
    pub(crate) fn tick(&mut self, now: Duration, out: &mut ConnectionOut) {
        let late = |it: &PendingRequest| it.limit.is_some_and(|limit| it.sent + limit <= now);
        let ids: Vec<u64> = self.waiting.iter().filter(|(_, it)| late(it)).map(|(id, _)| *id).collect();
        for id in ids {
            let Some(it) = self.waiting.remove(&id) else { continue };
            self.notify(method::CANCEL_REQUEST, Some(&sorted(CancelRequest { request_id: id })), out);
            let after = it.limit.unwrap_or_default();
            let outcome = Err(ClientProblem::TimedOut { method: it.method, after });
            out.settled.push(Settled { id, prompt: it.about.into_prompt(), outcome });
        }
    }

    pub(crate) fn is_greeted(&self) -> bool {
        self.greeted
    }

    /// The connection is over: everything that waits is told, in order.
    pub(crate) fn part(&mut self, end: Option<&Terminated>, out: &mut ConnectionOut) {
        for ask in std::mem::take(&mut self.asks).into_keys() {
            out.events.push((ClientEvent::AskClosed { ask }, 0));
        }
        for (id, it) in std::mem::take(&mut self.waiting) {
            if let About::Prompt(session) = &it.about {
                self.leave_calls(session, out);
            }
            let problem = end.map_or(ClientProblem::Stopped, |end| ClientProblem::ProcessTerminated(end.clone()));
            out.settled.push(Settled { id, prompt: it.about.into_prompt(), outcome: Err(problem) });
        }
    }

    /// At the end of a turn: calls that the agent did not close.
    fn leave_calls(&mut self, session: &str, out: &mut ConnectionOut) {
        let mut left: Vec<String> = self.calls.remove(session).unwrap_or_default().into_iter().collect();
        left.sort();
        for call in left {
            out.events.push((ClientEvent::CallLeftOpen { session: session.to_owned(), call }, 0));
        }
    }
}

fn raw(value: &RawValue) -> Value {
    serde_json::from_str(value.get()).unwrap_or_default()
}
