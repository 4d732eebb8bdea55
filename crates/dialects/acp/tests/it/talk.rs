//! The dialect without an engine: lines and events in, commands and lines out, in an order that a test chooses.

use std::sync::Arc;

use dialect_acp::{Acp, AcpOptions, RemoteOptions, SlashInfo};
use expect_test::Expect;
use serde_json::{Value, json};
use testkit::fakes::CountedIds;
use vocab::{
    Body, Entry, Event, Fault, FaultKind, Mode, ModelInfo, Opened, Reply, SessionId, SessionVerb, State, Stop, Tag,
    Told, TurnEnd, TurnEntry, Usage, Verb,
};
use wire::{Dialect, Frame, Out, Parting};

use crate::show::show;

pub(crate) struct AcpTalk {
    pub(crate) acp: Acp,
    pub(crate) out: Out,
    /// `>` heard, `<` said, `!` wanted from the engine, `-` the end.
    pub(crate) log: String,
    /// Every line that was said, as it is.
    pub(crate) said: Vec<String>,
    /// Commands that were wanted and not replied to, oldest first.
    pub(crate) open: Vec<vocab::Command>,
    /// For people, on stderr.
    pub(crate) notes: Vec<String>,
    seq: u64,
    ids: u64,
}

impl AcpTalk {
    pub(crate) fn new() -> Self {
        Self::knowing(Vec::new())
    }

    /// With these models to choose from.
    pub(crate) fn knowing(models: Vec<ModelInfo>) -> Self {
        let mut talk = Self::unlisted();
        talk.reply(Ok(Reply::Models(models)));
        talk.log.clear();
        talk
    }

    /// Just started: the list of models is on its way.
    pub(crate) fn unlisted() -> Self {
        Self::over(None)
    }
    /// A client on the network, which is told the places of what it is told.
    pub(crate) fn remote() -> Self {
        let mut talk = Self::remote_unlisted();
        talk.reply(Ok(Reply::Models(Vec::new())));
        talk.ask("initialize", json!({ "protocolVersion": 1 })).log.clear();
        talk
    }
    pub(crate) fn remote_unlisted() -> Self {
        Self::over(Some(RemoteOptions::default()))
    }
    fn over(remote: Option<RemoteOptions>) -> Self {
        let compact = SlashInfo { name: "compact".into(), description: "Summarise.".into(), hint: None };
        let options =
            AcpOptions { commands: vec![compact], remote, ..AcpOptions::new("0.1.0", Arc::new(CountedIds::default())) };
        let (acp, out, log) = (Acp::new(options), Out::new(), String::new());
        let mut talk = Self { acp, out, log, said: Vec::new(), open: Vec::new(), notes: Vec::new(), seq: 0, ids: 0 };
        talk.acp.greet(&mut talk.out);
        talk.drain();
        talk
    }

    /// With a session `c1` of a client that can do `what`.
    pub(crate) fn with(what: Value) -> Self {
        let mut talk = Self::new();
        talk.ask("initialize", json!({ "protocolVersion": 1, "clientCapabilities": what }));
        talk.ask("session/new", json!({ "cwd": "/w", "mcpServers": [] })).reply(Ok(opened("c1")));
        // What a client offers is told to the engine; nobody waits for its word.
        while let Some(at) =
            talk.open.iter().position(|it| matches!(it.verb, Verb::Session(SessionVerb::OfferEditor(_))))
        {
            let tag = talk.open.remove(at).tag;
            talk.reply_tag(tag, Ok(Reply::Done));
        }
        talk.log.clear();
        talk
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> &mut Self {
        self.ids += 1;
        let line = json!({ "jsonrpc": "2.0", "id": self.ids, "method": method, "params": params });
        self.log += &format!("> {} {method}\n", self.ids);
        self.hear(line.to_string().as_bytes());
        self
    }
    pub(crate) fn notify(&mut self, method: &str, params: Value) -> &mut Self {
        self.log += &format!("> {method} {params}\n");
        self.hear(json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string().as_bytes());
        self
    }
    pub(crate) fn prompt(&mut self, text: &str) -> &mut Self {
        self.ask("session/prompt", json!({ "sessionId": "c1", "prompt": [{ "type": "text", "text": text }] }))
    }
    /// The client's word to a request of ours.
    pub(crate) fn answer(&mut self, id: u64, result: Value) -> &mut Self {
        self.log += &format!("> answer {id} {result}\n");
        self.hear(json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string().as_bytes());
        self
    }
    pub(crate) fn fail(&mut self, id: u64, code: i64) -> &mut Self {
        self.log += &format!("> answer {id} error {code}\n");
        let error = json!({ "code": code, "message": "it cannot" });
        self.hear(json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string().as_bytes());
        self
    }

    /// What came of it: number of commands, lines.
    pub(crate) fn hear(&mut self, line: &[u8]) -> (usize, Vec<Value>) {
        self.acp.hear(Frame::Whole(line), &mut self.out);
        self.drain()
    }
    pub(crate) fn part(&mut self, why: Parting) -> &mut Self {
        self.log += &format!("- {why:?}\n");
        self.acp.part(why, &mut self.out);
        self.drain();
        self
    }
    pub(crate) fn tell(&mut self, session: &str, event: Event) -> &mut Self {
        self.acp.tell(&Told::new(SessionId::from(session), event), &mut self.out);
        self.drain();
        self
    }
    pub(crate) fn logged(&mut self, body: Body) -> &mut Self {
        self.seq += 1;
        let entry = Arc::new(Entry { seq: self.seq, parent: self.seq - 1, at_ms: 0, body, by: None });
        self.tell("c1", Event::Logged(entry))
    }
    /// To the oldest command that waits.
    pub(crate) fn reply(&mut self, result: Result<Reply, Fault>) -> &mut Self {
        self.reply_to(|_| true, result)
    }
    pub(crate) fn reply_to(&mut self, kind: impl Fn(&Verb) -> bool, result: Result<Reply, Fault>) -> &mut Self {
        let at = self.open.iter().position(|command| kind(&command.verb)).expect("somebody waits for this");
        let tag = self.open.remove(at).tag;
        self.reply_tag(tag, result)
    }
    pub(crate) fn reply_tag(&mut self, tag: Tag, result: Result<Reply, Fault>) -> &mut Self {
        self.tell("", Event::Reply { tag, result })
    }

    /// A prompt that the engine takes.
    pub(crate) fn begin(&mut self, turn: &str) -> &mut Self {
        self.prompt("x").logged(Body::Turn(TurnEntry::Started { turn: turn.into() }));
        self.reply_to(
            |verb| matches!(verb, Verb::Session(SessionVerb::Prompt { .. })),
            Ok(Reply::Started { turn: turn.into() }),
        );
        self.log.clear();
        self
    }
    pub(crate) fn end(&mut self, turn: &str, stop: Stop) -> &mut Self {
        self.logged(Body::Turn(TurnEntry::Ended(ended(turn, stop)))).tell("c1", Event::State(Arc::new(state("c1"))))
    }

    fn drain(&mut self) -> (usize, Vec<Value>) {
        let mut frames = Vec::new();
        for line in self.out.frames.as_bytes().split_inclusive(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\n").expect("whole lines");
            // What its transport is told, the client does not see.
            if wire::FlowWord::is_one(line) {
                continue;
            }
            let text = wire::check(line).expect("strict JSON");
            assert_eq!(wire::replace_lone_surrogates(text), text, "no half pairs on the wire");
            // An id is echoed as it came, be it a number that is too large for our reader.
            let read = serde_json::from_str(text).or_else(|_| serde_json::from_str(&text.replace("e999", "")));
            let value: Value = read.expect("JSON that everybody can read");
            self.log += &format!("< {}\n", show(&value));
            self.said.push(text.to_owned());
            frames.push(value);
        }
        self.out.frames.clear();
        self.notes.append(&mut self.out.notes);
        let commands = std::mem::take(&mut self.out.commands);
        for command in &commands {
            self.log += &match &command.verb {
                Verb::Open(open) => format!("! Open {:?}\n", open.which),
                verb => format!("! {}\n", testkit::verb_text(verb)),
            };
        }
        self.open.extend(commands.iter().cloned());
        if self.out.close.is_some() {
            self.log += "- close\n";
        }
        (commands.len(), frames)
    }

    pub(crate) fn check(&mut self, expected: Expect) -> &mut Self {
        expected.assert_eq(&self.log);
        self.log.clear();
        self
    }
}

pub(crate) fn state(session: &str) -> State {
    State {
        session: session.into(),
        workspace: "/w".into(),
        model: "alpha".into(),
        mode: Mode::Prompt,
        thinking: None,
        context_window: 1000,
        max_tokens: 100,
        context_tokens: 0,
        gadgets: vec![],
        title: None,
        turn: None,
        messages: 0,
        results: 0,
        last_seq: 0,
        model_info: Arc::new(ModelInfo::named("alpha", 1000)),
        todos: Arc::from([]),
        file: None,
        lane: vocab::LanePolicy::default(),
        lane_is_own: false,
        elevated_until_ms: None,
        model_called: None,
        works_for: None,
    }
}

pub(crate) fn opened(session: &str) -> Reply {
    let state = state(session);
    Reply::Opened(Box::new(Opened {
        session: session.into(),
        resumed: false,
        state,
        tools: vec![],
        notices: vec![],
        present: vocab::Present::default(),
    }))
}

pub(crate) fn ended(turn: &str, stop: Stop) -> TurnEnd {
    let fault = (stop == Stop::Error).then(|| Fault::new(FaultKind::Provider, "it broke"));
    TurnEnd { turn: turn.into(), stop, iterations: 0, usage: Usage::default(), mutations: vec![], fault }
}
