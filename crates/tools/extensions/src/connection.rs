//! The conversation with one extension as a state machine: frames and events in, frames and commands out. No process,
//! no clock. What comes in is in `connection/inbound.rs`, what goes out in `connection/outbound.rs`.

mod inbound;
mod outbound;

use std::collections::HashMap;
use std::path::Path;

use serde_json::value::RawValue;
use vocab::{AskId, Command, Offers, Part, SessionId, Tag, Target, Verb};

use crate::frames::{self, Capabilities, EVENTS, Empty, HOOKS, Initialize, UI};

/// The longest frame of an extension; a longer one is skipped in constant memory and counts as a bad one.
pub(crate) const FRAME_BYTES_MAX: usize = 1024 * 1024;
/// Bad frames that are told one by one; with the next one the extension is stopped.
pub(crate) const BAD_FRAMES_MAX: u32 = 10;
/// Requests of an extension that are being worked on; one more is answered with an error.
const REQUESTS_MAX: usize = 64;
/// Requests of ours that wait for an answer; beyond that the extension counts as not answering and is stopped.
const ASKED_MAX: usize = 1024;
/// Tools and commands one extension may bring; a longer list is refused.
const OFFERS_MAX: usize = 256;

/// A request of ours that waits for its answer.
enum OurRequest {
    Initialize,
    Tool { session: SessionId, ask: AskId },
    Turn { session: SessionId, hook: u64 },
    Call { session: SessionId, hook: u64 },
    Result { session: SessionId, hook: u64, parts: Vec<Part>, is_error: bool },
    Command { session: SessionId, hook: u64 },
    Shutdown,
}

/// A request of theirs that the engine works on.
struct TheirRequest {
    id: Box<RawValue>,
    answer: ReplyShape,
}

/// How the engine's reply is put.
#[derive(Clone, Copy)]
enum ReplyShape {
    Text,
    Confirmed,
    Nothing,
}

/// What came of a frame or an event.
#[derive(Default)]
pub(crate) struct ConnectionOutput {
    /// For the extension's stdin.
    pub(crate) bytes: Vec<u8>,
    /// For the engine.
    pub(crate) commands: Vec<Command>,
    /// `(during, text)`, for the clients of every session.
    pub(crate) troubles: Vec<(&'static str, String)>,
    /// What the extension wants to have kept.
    pub(crate) log: Vec<String>,
    /// It said what it brings; the offers are to be registered, or replaced.
    pub(crate) offers: bool,
    /// The answer to `shutdown` is there.
    pub(crate) may_end: bool,
    /// It cannot go on: what is to be said behind its name.
    pub(crate) stop: Option<String>,
}

pub(crate) struct ExtensionConnection {
    pub(crate) name: String,
    pub(crate) offers: Offers,
    source: String,
    wanted: [bool; EVENTS.len()],
    registered: bool,
    next_id: u64,
    next_tag: u64,
    ours: HashMap<u64, OurRequest>,
    theirs: HashMap<Tag, TheirRequest>,
    /// Sessions it stands beside; the last one is the one it heard of last.
    sessions: Vec<SessionId>,
    bad: u32,
}

impl ExtensionConnection {
    pub(crate) fn new(name: String, source: String) -> Self {
        Self {
            name,
            source,
            offers: Offers::default(),
            wanted: [false; EVENTS.len()],
            registered: false,
            next_id: 0,
            next_tag: 0,
            ours: HashMap::new(),
            theirs: HashMap::new(),
            sessions: Vec::new(),
            bad: 0,
        }
    }

    pub(crate) fn greet(&mut self, version: &str, workspace: &Path, out: &mut ConnectionOutput) {
        let id = self.ask(OurRequest::Initialize);
        let workspace = workspace.to_string_lossy();
        let capabilities = Capabilities { events: EVENTS, hooks: HOOKS, ui: UI };
        let params =
            Initialize { protocol: crate::PROTOCOL, name: "tillerman", version, workspace: &workspace, capabilities };
        frames::request(&mut out.bytes, id, "initialize", params);
    }

    pub(crate) fn shut_down(&mut self, out: &mut ConnectionOutput) {
        let id = self.ask(OurRequest::Shutdown);
        frames::request(&mut out.bytes, id, "shutdown", Empty {});
    }

    fn ask(&mut self, asked: OurRequest) -> u64 {
        self.next_id += 1;
        self.ours.insert(self.next_id, asked);
        self.next_id
    }

    fn wants(&self, event: &str) -> bool {
        EVENTS.iter().position(|name| *name == event).is_some_and(|at| self.wanted[at])
    }

    fn command(&mut self, session: SessionId, verb: Verb, out: &mut ConnectionOutput) -> Tag {
        self.next_tag += 1;
        let tag = Tag(self.next_tag);
        out.commands.push(Command::of(tag, Target::Session(session), verb));
        tag
    }

    fn bad_frame(&mut self, what: String, out: &mut ConnectionOutput) {
        self.bad += 1;
        if self.bad > BAD_FRAMES_MAX {
            out.stop = Some(format!("was stopped after {BAD_FRAMES_MAX} bad frames; the last one: {what}"));
        } else {
            out.troubles.push(("frame", what));
        }
    }
}
