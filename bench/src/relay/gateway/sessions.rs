//! What the floor remembers: histories, who asked, who watches.

use std::collections::{HashMap, VecDeque};

use super::frames::quoted;

/// What `sessions.list` gives unasked.
const LISTED: usize = 50;

/// A client, told apart from a later one in the same place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Asker {
    pub(super) client: usize,
    pub(super) serial: u64,
}

#[derive(Default)]
pub(super) struct Sessions {
    names: HashMap<String, usize>,
    pub(super) all: Vec<Session>,
}

pub(super) struct Session {
    /// As JSON.
    pub(super) name: String,
    /// Messages in the model's own format, joined by commas.
    pub(super) history: Vec<u8>,
    messages: usize,
    seq: u64,
    pub(super) run: Option<Run>,
    waiting: VecDeque<(Asker, u64, String)>,
    pub(super) watchers: Vec<(Asker, u64)>,
}

pub(super) struct Run {
    pub(super) asker: Asker,
    pub(super) id: u64,
    message: String,
    pub(super) text: String,
}

impl Sessions {
    /// Made where there is none.
    pub(super) fn find(&mut self, name: &str) -> usize {
        if let Some(at) = self.names.get(name) {
            return *at;
        }
        let at = self.all.len();
        self.names.insert(name.to_owned(), at);
        self.all.push(Session {
            name: quoted(name),
            history: Vec::new(),
            messages: 0,
            seq: 0,
            run: None,
            waiting: VecDeque::new(),
            watchers: Vec::new(),
        });
        at
    }

    /// The newest first.
    pub(super) fn list(&self, limit: Option<usize>) -> String {
        let shown = self.all.iter().rev().take(limit.unwrap_or(LISTED)).map(|session| {
            let (name, messages) = (&session.name, session.messages);
            format!(r#"{{"id":{name},"frontend":"ws","userId":{name},"messageCount":{messages},"lastMessageAt":1,"config":{{}}}}"#)
        });
        format!(r#"{{"sessions":[{}],"total":{}}}"#, shown.collect::<Vec<_>>().join(","), self.all.len())
    }

    pub(super) fn forget(&mut self, asker: Asker) {
        self.all.iter_mut().for_each(|session| session.watchers.retain(|(watcher, _)| *watcher != asker));
    }
}

impl Session {
    /// True when it runs at once.
    pub(super) fn ask(&mut self, asker: Asker, id: u64, message: &str) -> bool {
        self.waiting.push_back((asker, id, message.to_owned()));
        self.run.is_none() && self.next()
    }

    /// Takes the next message that waits.
    pub(super) fn next(&mut self) -> bool {
        let Some((asker, id, message)) = self.waiting.pop_front() else { return false };
        self.push("user", &quoted(&message));
        self.run = Some(Run { asker, id, message, text: String::new() });
        true
    }

    pub(super) fn asked(&self) -> Option<(Asker, u64)> {
        self.run.as_ref().map(|run| (run.asker, run.id))
    }

    pub(super) fn heard(&mut self, text: &str) {
        if let Some(run) = &mut self.run {
            run.text.push_str(text);
        }
    }

    /// The line that makes the turn safe.
    pub(super) fn record(&mut self) -> String {
        let Some(run) = &self.run else { return String::new() };
        let (asked, said) = (quoted(&run.message), quoted(&run.text));
        self.push("assistant", &said);
        format!("{{\"session\":{},\"asked\":{asked},\"said\":{said}}}\n", self.name)
    }

    pub(super) fn end(&mut self) -> Option<Run> {
        self.run.take()
    }

    /// `content` is JSON already.
    fn push(&mut self, role: &str, content: &str) {
        if !self.history.is_empty() {
            self.history.push(b',');
        }
        self.history.extend_from_slice(format!(r#"{{"role":"{role}","content":{content}}}"#).as_bytes());
        self.messages += 1;
    }

    /// What all watchers are told, behind the id.
    pub(super) fn tail(&mut self, event: &str, data: &str) -> String {
        self.seq += 1;
        let (seq, name) = (self.seq, &self.name);
        format!(r#""event":"{event}","data":{data},"seq":{seq},"cursor":"{seq}","sessionId":{name},"runId":"t"}}"#)
    }
}
