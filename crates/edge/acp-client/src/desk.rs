//! The client's side of the conversation as a state machine: lines, wishes and time go in; bytes, answers and events come
//! out. No I/O, no clock, no runtime.

mod asks;
mod hear;

use asks::Ask;
pub use asks::Elicited;
pub(crate) use hear::turn;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use wire::jsonrpc;

use crate::error::{Problem, Terminated};
use crate::event::{AskId, Event};

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

struct Waiting {
    method: String,
    about: About,
    sent: Duration,
    limit: Option<Duration>,
    /// Its turn was cancelled by us.
    cancelled: bool,
}

/// Work for the services, to be answered with [`Desk::served`].
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct EditorRequest {
    pub(crate) ask: AskId,
    pub(crate) method: String,
    pub(crate) params: Value,
}

/// What is to be done. Reused between calls.
#[derive(Default)]
pub(crate) struct Out {
    pub(crate) bytes: Vec<u8>,
    /// In their order, with the bytes each took on the wire.
    pub(crate) events: Vec<(Event, usize)>,
    /// Answers to requests of ours; delivered after the events.
    pub(crate) settled: Vec<Settled>,
    pub(crate) editor_requests: Vec<EditorRequest>,
}

/// The answer to a request of ours.
pub(crate) struct Settled {
    pub(crate) id: u64,
    /// The session whose turn this ends.
    pub(crate) prompt: Option<String>,
    pub(crate) outcome: Result<Value, Problem>,
}

/// Which services stand behind the desk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Offers {
    pub read_files: bool,
    pub write_files: bool,
    pub terminals: bool,
    /// Somebody shows the agent's forms and addresses.
    pub elicitation: bool,
}

impl Offers {
    pub(crate) fn capabilities(self) -> Value {
        let mut all = json!({
            "fs": { "readTextFile": self.read_files, "writeTextFile": self.write_files },
            "terminal": self.terminals,
            "session": { "configOptions": { "boolean": {} }, "notices": {}, "compaction": {} },
        });
        // A way to sign in that is a command is shown with it; some agents name such ways only to who says so.
        all["auth"] = json!({ "terminal": true });
        all["_meta"] = json!({ "terminal-auth": true });
        if self.elicitation {
            all["elicitation"] = json!({ "form": {}, "url": {} });
        }
        all
    }

    fn serves(self, method: &str) -> bool {
        match method {
            "fs/read_text_file" => self.read_files,
            "fs/write_text_file" => self.write_files,
            _ => self.terminals && TERMINAL_METHODS.contains(&method),
        }
    }
}

const TERMINAL_METHODS: [&str; 5] =
    ["terminal/create", "terminal/output", "terminal/wait_for_exit", "terminal/kill", "terminal/release"];

pub(crate) struct Desk {
    offers: Offers,
    next_id: u64,
    next_ask: u64,
    waiting: BTreeMap<u64, Waiting>,
    asks: BTreeMap<AskId, Ask>,
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

impl Desk {
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

    /// Sends a request; the id names its answer in [`Out::settled`].
    pub(crate) fn request(
        &mut self,
        now: Duration,
        method: &str,
        params: &Value,
        about: About,
        limit: Option<Duration>,
        out: &mut Out,
    ) -> Result<u64, Problem> {
        if self.waiting.len() >= REQUESTS_MAX {
            return Err(Problem::Busy);
        }
        let id = self.next_id;
        self.next_id += 1;
        if let About::Load(session) = &about {
            self.replayed.insert(session.clone(), 0);
        }
        jsonrpc::request(&mut out.bytes, id, method, params);
        let waiting = Waiting { method: method.into(), about, sent: now, limit, cancelled: false };
        self.waiting.insert(id, waiting);
        Ok(id)
    }

    pub(crate) fn notify(&mut self, method: &str, params: Option<&Value>, out: &mut Out) {
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
    pub(crate) fn cancel(&mut self, session: &str, out: &mut Out) {
        self.notify("session/cancel", Some(&json!({ "sessionId": session })), out);
        for waiting in self.waiting.values_mut() {
            waiting.cancelled |= waiting.about == About::Prompt(session.to_owned());
        }
        self.close_asks_of(session, out);
    }

    /// When [`Desk::tick`] is next needed.
    pub(crate) fn due(&self) -> Option<Duration> {
        self.waiting.values().filter_map(|it| Some(it.sent + it.limit?)).min()
    }

    /// Lets go of requests that took too long.
    pub(crate) fn tick(&mut self, now: Duration, out: &mut Out) {
        let late = |it: &Waiting| it.limit.is_some_and(|limit| it.sent + limit <= now);
        let ids: Vec<u64> = self.waiting.iter().filter(|(_, it)| late(it)).map(|(id, _)| *id).collect();
        for id in ids {
            let Some(it) = self.waiting.remove(&id) else { continue };
            self.notify("$/cancel_request", Some(&json!({ "requestId": id })), out);
            let after = it.limit.unwrap_or_default();
            let outcome = Err(Problem::TimedOut { method: it.method, after });
            out.settled.push(Settled { id, prompt: it.about.into_prompt(), outcome });
        }
    }

    pub(crate) fn is_greeted(&self) -> bool {
        self.greeted
    }

    /// The connection is over: everything that waits is told, in order.
    pub(crate) fn part(&mut self, end: Option<&Terminated>, out: &mut Out) {
        for ask in std::mem::take(&mut self.asks).into_keys() {
            out.events.push((Event::AskClosed { ask }, 0));
        }
        for (id, it) in std::mem::take(&mut self.waiting) {
            if let About::Prompt(session) = &it.about {
                self.leave_calls(session, out);
            }
            let problem = end.map_or(Problem::Stopped, |end| Problem::ProcessTerminated(end.clone()));
            out.settled.push(Settled { id, prompt: it.about.into_prompt(), outcome: Err(problem) });
        }
    }

    /// At the end of a turn: calls that nobody closed.
    fn leave_calls(&mut self, session: &str, out: &mut Out) {
        let mut left: Vec<String> = self.calls.remove(session).unwrap_or_default().into_iter().collect();
        left.sort();
        for call in left {
            out.events.push((Event::CallLeftOpen { session: session.to_owned(), call }, 0));
        }
    }
}

fn raw(value: &RawValue) -> Value {
    serde_json::from_str(value.get()).unwrap_or_default()
}
