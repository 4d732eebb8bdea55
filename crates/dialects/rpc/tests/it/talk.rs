//! A conversation under test. Every line said is checked to be one line of strict JSON.

use std::sync::Arc;

use dialect_rpc::{Rpc, RpcOptions};
use serde_json::Value;
use vocab::{
    Body, Command, Entry, Event, Fault, Inspection, Mode, ModelInfo, Opened, Reply, SessionId, State, Tag, Told,
};
use wire::{Dialect, Frame, Out};

pub(crate) struct Talk {
    pub(crate) rpc: Rpc,
    out: Out,
    seq: u64,
}

pub(crate) fn options() -> RpcOptions {
    RpcOptions::new("0.1.0")
}

/// For a host that is older than pi's form of errors.
pub(crate) fn seed() -> RpcOptions {
    RpcOptions { errors: dialect_rpc::Errors::Seed, ..options() }
}

impl Talk {
    /// On an open session.
    pub(crate) fn open() -> Self {
        Self::with(options())
    }

    pub(crate) fn with(options: RpcOptions) -> Self {
        Self::on(options, opened(state("s1")))
    }

    /// On a session that had a log before, of which one line is known.
    pub(crate) fn resumed() -> Self {
        let Reply::Opened(mut there) = opened(state("s1")) else { unreachable!("it is one") };
        there.resumed = true;
        Self { seq: 1, ..Self::on(options(), Reply::Opened(there)) }
    }

    fn on(options: RpcOptions, there: Reply) -> Self {
        let mut talk = Self { rpc: Rpc::new(options), out: Out::new(), seq: 0 };
        talk.rpc.greet(&mut talk.out);
        let (commands, frames) = talk.drain();
        assert_eq!((commands.len(), frames.len()), (1, 0), "a session is opened before anything is said");
        let (_, frames) = talk.reply(commands[0].tag, Ok(there));
        assert_eq!(frames[0]["type"], "ready");
        talk
    }

    pub(crate) fn hear(&mut self, line: impl AsRef<[u8]>) -> (Vec<Command>, Vec<Value>) {
        self.rpc.hear(Frame::Whole(line.as_ref()), &mut self.out);
        self.drain()
    }

    pub(crate) fn tell(&mut self, event: Event) -> (Vec<Command>, Vec<Value>) {
        self.rpc.tell(&Told::new(SessionId::from("s1"), event), &mut self.out);
        self.drain()
    }

    /// An entry of the log, then the pause in which everything is sent.
    pub(crate) fn log(&mut self, body: Body) -> Vec<Value> {
        self.seq += 1;
        let entry = Entry { seq: self.seq, parent: self.seq - 1, at_ms: 1_700_000_000_000, body, by: None };
        let (_, mut frames) = self.tell(Event::Logged(Arc::new(entry)));
        frames.extend(self.pause());
        frames
    }

    pub(crate) fn reply(&mut self, tag: Tag, result: Result<Reply, Fault>) -> (Vec<Command>, Vec<Value>) {
        self.tell(Event::Reply { tag, result })
    }

    pub(crate) fn pause(&mut self) -> Vec<Value> {
        self.rpc.pause(&mut self.out);
        self.drain().1
    }

    fn drain(&mut self) -> (Vec<Command>, Vec<Value>) {
        let lines = lines(self.out.frames.as_bytes());
        self.out.frames.clear();
        (std::mem::take(&mut self.out.commands), lines)
    }
}

/// What was said, each line checked.
pub(crate) fn lines(bytes: &[u8]) -> Vec<Value> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines
        .map(|line| {
            let line = line.strip_suffix(b"\n").expect("whole lines");
            let text = wire::check(line).unwrap_or_else(|why| panic!("{why}: {}", String::from_utf8_lossy(line)));
            assert_eq!(wire::replace_lone_surrogates(text), text, "no half pairs on the wire");
            serde_json::from_str(text).unwrap_or_else(|why| panic!("{why}: {text}"))
        })
        .collect()
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
        gadgets: vec![],
        title: None,
        turn: None,
        messages: 0,
        results: 0,
        last_seq: 1,
        model_info: Arc::new(ModelInfo::named("mock/alpha", 1000)),
        todos: Arc::from([]),
        file: None,
        lane: vocab::LanePolicy::default(),
        lane_is_own: false,
        elevated_until_ms: None,
        model_called: None,
        works_for: None,
    }
}

pub(crate) fn opened(state: State) -> Reply {
    let (tools, notices) = (vec!["read_file".into()], vec![]);
    Reply::Opened(Box::new(Opened {
        session: state.session.clone(),
        resumed: false,
        state,
        tools,
        notices,
        present: vocab::Present::default(),
    }))
}

pub(crate) fn inspected(state: State) -> Reply {
    Reply::Inspected(Box::new(Inspection {
        state,
        spec: vocab::CallSpec { system: "s".into(), tools: Arc::from([]), max_tokens: 1, thinking: None },
        waiting: vec![],
        compacting: false,
        lane: vocab::LanePolicy::default(),
        retry: vocab::RetryPolicy::default(),
        compaction: vocab::CompactionPolicy::default(),
        commands: vec![],
    }))
}
