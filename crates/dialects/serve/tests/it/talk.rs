//! A conversation under test. Everything heard, wanted and said is written down; every line said is checked to be
//! strict JSON of the published schema.

use std::sync::Arc;

use dialect_serve::{Serve, ServeOptions};
use expect_test::Expect;
use serde_json::Value;
use vocab::{
    Ask, AskEntry, AskKind, Body, Call, CallEnd, CallEntry, CallInput, CallResult, Delta, Entry, Event, Fault,
    FaultKind, Json, Mode, Opened, Part, PermissionAsk, Reply, Required, SessionId, SlashCode, SlashFault,
    SlashOutcome, SlashReply, State, Stop, Tag, Told, TurnEnd, TurnEntry, Usage,
};
use wire::{Dialect, Frame, Out, Parting};

use crate::schema::Schema;

pub(crate) struct Talk {
    pub(crate) serve: Serve,
    pub(crate) out: Out,
    pub(crate) log: String,
    /// The session that events are told for.
    pub(crate) on: &'static str,
    protocol: u8,
    schema: &'static Schema,
    turn: Option<vocab::TurnId>,
    calls: Vec<vocab::CallId>,
}

pub(crate) fn options() -> ServeOptions {
    ServeOptions { mode: Some(Mode::Prompt), ..ServeOptions::new("0.1.0") }
}

impl Talk {
    /// Greeted and nothing more.
    pub(crate) fn new(options: ServeOptions) -> Self {
        let protocol = if options.multi { 2 } else { 1 };
        let mut talk = Self {
            serve: Serve::new(options),
            out: Out::new(),
            log: String::new(),
            on: "s1",
            protocol,
            schema: crate::schema::published(),
            turn: None,
            calls: Vec::new(),
        };
        talk.serve.greet(&mut talk.out);
        talk.drain();
        talk
    }

    /// On an open session, with an empty log.
    pub(crate) fn open() -> Self {
        let mut talk = Self::new(options());
        talk.reply(1, Ok(opened("s1")));
        talk.log.clear();
        talk
    }

    pub(crate) fn multi() -> Self {
        Self::new(ServeOptions { multi: true, ..options() })
    }

    pub(crate) fn hear(&mut self, line: &str) -> &mut Self {
        self.log += &format!("> {line}\n");
        self.hear_bytes(line.as_bytes());
        self
    }

    /// What came of it: number of commands, lines.
    pub(crate) fn hear_bytes(&mut self, line: &[u8]) -> (usize, Vec<Value>) {
        self.serve.hear(Frame::Whole(line), &mut self.out);
        self.drain()
    }

    pub(crate) fn tell(&mut self, event: Event) -> &mut Self {
        self.told(event);
        self
    }

    pub(crate) fn told(&mut self, event: Event) -> (usize, Vec<Value>) {
        self.begin_what_this_ends(&event);
        self.serve.tell(&Told::new(SessionId::from(self.on), event), &mut self.out);
        self.drain()
    }

    /// Ends are told only for what was begun; a test that is about an end gets its beginning unseen.
    fn begin_what_this_ends(&mut self, event: &Event) {
        let Event::Logged(entry) = event else { return };
        match &entry.body {
            Body::Turn(TurnEntry::Started { turn }) => self.turn = Some(turn.clone()),
            Body::Call(CallEntry::Started { call, .. }) => self.calls.push(call.id.clone()),
            Body::Turn(TurnEntry::Ended(end)) if self.turn.as_ref() != Some(&end.turn) => {
                self.unseen(started(end.turn.as_str()))
            }
            Body::Turn(TurnEntry::Ended(_)) => self.turn = None,
            Body::Call(CallEntry::Ended { turn, result }) if !self.calls.contains(&result.call) => {
                self.unseen(call_started(turn.as_str(), result.call.as_str(), "bash", "{}"));
            }
            Body::Call(CallEntry::Ended { result, .. }) => self.calls.retain(|call| *call != result.call),
            _ => {}
        }
    }

    fn unseen(&mut self, body: Body) {
        let mut out = Out::new();
        self.serve.tell(&Told::new(SessionId::from(self.on), logged(body)), &mut out);
    }

    pub(crate) fn log_entry(&mut self, body: Body) -> &mut Self {
        self.tell(logged(body))
    }

    pub(crate) fn reply(&mut self, tag: u64, result: Result<Reply, Fault>) -> &mut Self {
        self.tell(Event::Reply { tag: Tag(tag), result })
    }

    pub(crate) fn part(&mut self, why: Parting) -> &mut Self {
        self.log += &format!("-- {why:?}\n");
        self.serve.part(why, &mut self.out);
        self.drain();
        self
    }

    pub(crate) fn note(&mut self, text: &str) -> &mut Self {
        self.log += &format!("# {text}\n");
        self
    }

    fn drain(&mut self) -> (usize, Vec<Value>) {
        let mut frames = Vec::new();
        for line in self.out.frames.as_bytes().split_inclusive(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\n").expect("whole lines");
            let text = wire::check(line).expect("strict JSON");
            assert_eq!(wire::replace_lone_surrogates(text), text, "no half pairs on the wire");
            let value: Value = serde_json::from_str(text).expect("JSON that everybody can read");
            if let Err(why) = self.schema.check(&format!("outbound{}", self.protocol), &value) {
                panic!("{text}\nis not in the schema: {why}");
            }
            self.log += &format!("< {text}\n");
            frames.push(value);
        }
        self.out.frames.clear();
        let commands = std::mem::take(&mut self.out.commands);
        for command in &commands {
            self.log += &format!("! {} {:?} {}\n", command.tag.0, command.target, testkit::verb_text(&command.verb));
        }
        if std::mem::take(&mut self.out.ending) {
            self.log += "-- ending\n";
        }
        if let Some(close) = &self.out.close {
            self.log += &format!("-- close {:?}\n", close.code);
        }
        (commands.len(), frames)
    }

    pub(crate) fn check(&self, expected: Expect) {
        expected.assert_eq(&self.log);
    }
}

pub(crate) fn state(session: &str) -> State {
    State {
        session: session.into(),
        workspace: "/w".into(),
        model: "mock/alpha".into(),
        mode: Mode::Prompt,
        thinking: None,
        context_window: 128_000,
        max_tokens: 16_384,
        context_tokens: 0,
        gadgets: vec!["docs".into()],
        title: None,
        turn: None,
        messages: 0,
        results: 0,
        last_seq: 1,
        model_info: Arc::new(vocab::ModelInfo::named("mock/alpha", 1000)),
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
    opened_with(state(session))
}

pub(crate) fn opened_with(state: State) -> Reply {
    Reply::Opened(Box::new(Opened {
        session: state.session.clone(),
        resumed: false,
        state,
        tools: vec!["read_file".into(), "glob".into(), "mcp__x__y".into()],
        notices: vec![],
        present: vocab::Present::default(),
    }))
}

pub(crate) fn logged(body: Body) -> Event {
    Event::Logged(Arc::new(Entry { seq: 1, parent: 0, at_ms: 0, body, by: None }))
}

pub(crate) fn started(turn: &str) -> Body {
    Body::Turn(TurnEntry::Started { turn: turn.into() })
}

pub(crate) fn ended(turn: &str, stop: Stop) -> Body {
    Body::Turn(TurnEntry::Ended(TurnEnd {
        turn: turn.into(),
        stop,
        iterations: 0,
        usage: Usage { input: 10, output: 2, ..Usage::default() },
        mutations: vec![],
        fault: None,
    }))
}

pub(crate) fn text(turn: &str, delta: &str) -> Event {
    Event::Delta(Delta::Text { turn: turn.into(), delta: delta.into() })
}

pub(crate) fn call_started(turn: &str, call: &str, tool: &str, input: &str) -> Body {
    let input = CallInput::Object(Json::trusted(input));
    Body::Call(CallEntry::Started {
        turn: turn.into(),
        call: Call { id: call.into(), name: tool.into(), input, seal: None },
        tool: tool.into(),
    })
}

pub(crate) fn result(call: &str, parts: Vec<Part>) -> CallResult {
    CallResult {
        call: call.into(),
        tool: "glob".into(),
        end: CallEnd::Ran,
        parts,
        is_error: false,
        duration_ms: 40,
        mutation: None,
        edits: vec![],
        details: None,
    }
}

pub(crate) fn call_ended(turn: &str, call: &str, output: &str) -> Body {
    Body::Call(CallEntry::Ended { turn: turn.into(), result: result(call, vec![Part::text(output)]) })
}

pub(crate) fn permission(ask: &str, turn: &str) -> Body {
    Body::Ask(AskEntry::Opened(Ask {
        id: ask.into(),
        turn: Some(turn.into()),
        kind: AskKind::Permission(permission_ask()),
        timeout_ms: None,
    }))
}

pub(crate) fn permission_ask() -> PermissionAsk {
    PermissionAsk {
        call: "c1".into(),
        tool: "glob".into(),
        input: Json::trusted(r#"{"pattern":"**/*.py"}"#),
        active: Mode::Prompt,
        required: Required::ReadOnly,
        reason: None,
        summary: "find **/*.py".into(),
        preview: None,
        may_have_run: false,
    }
}

pub(crate) fn slash(command: &str, outcome: SlashOutcome) -> SlashReply {
    SlashReply { command: command.into(), result: Ok(outcome) }
}

pub(crate) fn slash_failed(command: &str, code: SlashCode) -> SlashReply {
    SlashReply { command: command.into(), result: Err(SlashFault { code, message: "m".into() }) }
}

pub(crate) fn renamed(title: &str) -> SlashOutcome {
    SlashOutcome::Renamed { title: title.into() }
}

pub(crate) fn cleared(session: &str) -> SlashReply {
    slash("clear", SlashOutcome::Cleared { session: session.into(), previous: "s1".into() })
}

pub(crate) fn slash_reply(reply: SlashReply) -> Result<Reply, Fault> {
    Ok(Reply::Slash(Box::new(reply)))
}

pub(crate) fn turn_reply(turn: &str) -> Result<Reply, Fault> {
    Ok(Reply::Started { turn: turn.into() })
}

pub(crate) fn busy() -> Result<Reply, Fault> {
    Err(Fault::new(FaultKind::TurnInProgress, "a turn is in progress"))
}
