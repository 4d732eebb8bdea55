//! The dialect without an engine: lines and events in, commands and lines out, in an order that a test chooses.

use std::sync::Arc;

use dialect_loaf::{Loaf, LoafAnswer, LoafOptions, LoafOwn, account};
use expect_test::Expect;
use serde_json::Value;
use testkit::fakes::{CountedIds, TickingClock};
use vocab::{
    Body, Delta, Entry, Event, Fault, FaultKind, Inspection, Mode, ModelInfo, Opened, Part, Recalled, Reply, Saved,
    SessionId, SessionVerb, State, Stop, Summary, Tag, Told, TurnEnd, TurnEntry, Usage, UserFrom, Verb,
};
use wire::{Dialect, Frame, Out, OwnRequest, Parting};

use crate::show::show;
use crate::user::ready;
use crate::watch::Watch;

pub(crate) struct Talk {
    pub(crate) loaf: Loaf,
    pub(crate) out: Out<LoafOwn>,
    pub(crate) log: String,
    pub(crate) watch: Watch,
    /// Commands that were wanted and not replied to, oldest first.
    pub(crate) open: Vec<vocab::Command>,
    /// The same of own calls.
    pub(crate) own: Vec<OwnRequest<LoafOwn>>,
    pub(crate) seq: u64,
    /// Events come as an engine would send them.
    pub(crate) strict: bool,
    ids: u64,
}

pub(crate) fn options() -> LoafOptions {
    let model = Arc::new(ModelInfo { provider: "openai".into(), ..ModelInfo::named("alpha", 1000) });
    LoafOptions {
        mode: Some(Mode::DangerFullAccess),
        model: Some(model),
        ..LoafOptions::new("0.1.0", Arc::new(TickingClock::default()), Arc::new(CountedIds::default()))
    }
}

impl Talk {
    /// Greeted, and everything is known that is to be known first.
    pub(crate) fn new() -> Self {
        let mut talk = Self {
            loaf: Loaf::new(options()),
            out: Out::new(),
            log: String::new(),
            watch: Watch::default(),
            open: Vec::new(),
            own: Vec::new(),
            seq: 0,
            strict: true,
            ids: 0,
        };
        talk.loaf.greet(&mut talk.out);
        talk.drain();
        assert!(!talk.loaf.listening());
        talk.reply(Ok(Reply::Accounts(Box::new(ready(&[account::OPENAI])))));
        talk.answer(Ok(LoafAnswer::Skills(Box::default())));
        assert!(talk.loaf.listening());
        talk.log.clear();
        talk
    }

    /// With so many sessions: `s1` on `c1`, and so on.
    pub(crate) fn on(count: usize) -> Self {
        let mut talk = Self::new();
        for number in 1..=count {
            talk.create(&format!("c{number}"));
        }
        talk.log.clear();
        talk
    }

    pub(crate) fn create(&mut self, chat: &str) {
        self.ask("session.create", "{}").reply(Ok(opened(chat))).reply(Ok(Reply::Done)).reply(Ok(inspected(chat)));
    }

    pub(crate) fn ask(&mut self, method: &str, params: &str) -> &mut Self {
        self.ids += 1;
        let id = self.ids;
        self.watch.asks(&id.into());
        self.log += &format!("> {id} {method} {params}\n");
        self.hear(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#).as_bytes());
        self
    }

    /// What came of it: number of commands and own calls, lines.
    pub(crate) fn hear(&mut self, line: &[u8]) -> (usize, Vec<Value>) {
        self.loaf.hear(Frame::Whole(line), &mut self.out);
        self.drain()
    }

    pub(crate) fn part(&mut self, why: Parting) -> &mut Self {
        self.log += &format!("-- {why:?}\n");
        self.loaf.part(why, &mut self.out);
        self.drain();
        self
    }

    pub(crate) fn tell(&mut self, chat: &str, event: Event) -> &mut Self {
        self.loaf.tell(&Told::new(SessionId::from(chat), event), &mut self.out);
        self.drain();
        self
    }

    pub(crate) fn logged(&mut self, chat: &str, body: Body) -> &mut Self {
        self.seq += 1;
        let entry = Arc::new(Entry { seq: self.seq, parent: self.seq - 1, at_ms: 0, body, by: None });
        self.tell(chat, Event::Logged(entry))
    }

    /// To the oldest command that waits.
    pub(crate) fn reply(&mut self, result: Result<Reply, Fault>) -> &mut Self {
        self.reply_to(|_| true, result)
    }

    /// To the oldest command of a kind.
    pub(crate) fn reply_to(&mut self, kind: impl Fn(&Verb) -> bool, result: Result<Reply, Fault>) -> &mut Self {
        let at = self.open.iter().position(|command| kind(&command.verb)).expect("somebody waits for this");
        let command = self.open.remove(at);
        self.reply_tag(command.tag, result)
    }

    pub(crate) fn reply_tag(&mut self, tag: Tag, result: Result<Reply, Fault>) -> &mut Self {
        self.tell("", Event::Reply { tag, result })
    }

    /// To the oldest own call that waits.
    pub(crate) fn answer(&mut self, answer: Result<LoafAnswer, Fault>) -> &mut Self {
        let request = self.own.remove(0);
        self.loaf.own_answered(request.tag, answer, &mut self.out);
        self.drain();
        self
    }

    /// A prompt that the engine takes: a turn has begun and the model is called.
    pub(crate) fn begin(&mut self, chat: &str, turn: &str, text: &str) -> &mut Self {
        self.logged(chat, Body::Turn(TurnEntry::Started { turn: turn.into() }));
        self.reply_to(
            |verb| matches!(verb, Verb::Session(SessionVerb::Prompt { .. })),
            Ok(Reply::Started { turn: turn.into() }),
        );
        self.user(chat, turn, text).tell(chat, Event::Delta(Delta::ModelCalled { turn: turn.into(), reply: 0 }))
    }

    pub(crate) fn user(&mut self, chat: &str, turn: &str, text: &str) -> &mut Self {
        self.logged(chat, user(turn, text))
    }

    pub(crate) fn end(&mut self, chat: &str, turn: &str, stop: Stop) -> &mut Self {
        self.logged(chat, Body::Turn(TurnEntry::Ended(ended(turn, stop))))
    }

    pub(crate) fn drain(&mut self) -> (usize, Vec<Value>) {
        let mut frames = Vec::new();
        for line in self.out.frames.as_bytes().split_inclusive(|byte| *byte == b'\n') {
            let text = wire::check(line.strip_suffix(b"\n").expect("whole lines")).expect("strict JSON");
            assert_eq!(wire::replace_lone_surrogates(text), text, "no half pairs on the wire");
            // An id is echoed as it came, be it a number that is too large for our reader.
            let read = serde_json::from_str(text).or_else(|_| serde_json::from_str(&text.replace("e999", "")));
            let value: Value = read.expect("JSON that everybody can read");
            if self.strict {
                self.watch.see(&value);
            }
            if let Some(shown) = show(&value) {
                self.log += &format!("{shown}\n");
            }
            frames.push(value);
        }
        self.out.frames.clear();
        self.out.notes.clear();
        let commands = std::mem::take(&mut self.out.commands);
        for command in &commands {
            let verb = match &command.verb {
                Verb::Open(open) => format!("Open {:?}", open.which),
                verb => testkit::verb_text(verb),
            };
            let target = match &command.target {
                vocab::Target::Current => String::new(),
                vocab::Target::Session(session) => format!("{session} "),
            };
            self.log += &format!("! {target}{verb}\n");
        }
        self.open.extend(commands.iter().cloned());
        let own = std::mem::take(&mut self.out.own);
        let wanted = commands.len() + own.len();
        self.log.extend(own.iter().map(|request| format!("! {:?}\n", request.call)));
        self.own.extend(own);
        if std::mem::take(&mut self.out.ending) {
            self.log += "-- ending\n";
        }
        if let Some(close) = &self.out.close {
            self.log += &format!("-- close {:?}\n", close.code);
        }
        (wanted, frames)
    }

    pub(crate) fn check(&mut self, expected: Expect) -> &mut Self {
        expected.assert_eq(&self.log);
        self.log.clear();
        self
    }
}

pub(crate) fn state(chat: &str, last_seq: u64) -> State {
    State {
        session: chat.into(),
        workspace: "/w".into(),
        model: "alpha".into(),
        mode: Mode::DangerFullAccess,
        thinking: None,
        context_window: 1000,
        max_tokens: 100,
        context_tokens: 0,
        gadgets: vec![],
        title: None,
        turn: None,
        messages: 0,
        results: 0,
        last_seq,
        model_info: Arc::new(ModelInfo { provider: "openai".into(), ..ModelInfo::named("alpha", 1000) }),
        todos: Arc::from([]),
        file: None,
        lane: vocab::LanePolicy::default(),
        lane_is_own: false,
        elevated_until_ms: None,
        model_called: None,
        works_for: None,
    }
}

pub(crate) fn opened(chat: &str) -> Reply {
    let state = state(chat, 0);
    Reply::Opened(Box::new(Opened {
        session: chat.into(),
        resumed: false,
        state,
        tools: vec![],
        notices: vec![],
        present: vocab::Present::default(),
    }))
}

pub(crate) fn inspected(chat: &str) -> Reply {
    inspected_at(chat, 0)
}

pub(crate) fn inspected_at(chat: &str, last_seq: u64) -> Reply {
    Reply::Inspected(Box::new(Inspection {
        state: state(chat, last_seq),
        spec: vocab::CallSpec { system: "be kind".into(), tools: vec![].into(), max_tokens: 100, thinking: None },
        waiting: vec![],
        compacting: false,
        lane: vocab::LanePolicy::default(),
        retry: vocab::Settings::new("/w", "alpha").retry,
        compaction: vocab::Settings::new("/w", "alpha").compaction,
        commands: vec![],
    }))
}

pub(crate) fn user(turn: &str, text: &str) -> Body {
    Body::User { turn: Some(turn.into()), parts: vec![Part::text(text)], from: UserFrom::Prompt }
}

pub(crate) fn ended(turn: &str, stop: Stop) -> TurnEnd {
    let fault = (stop == Stop::Error).then(|| Fault::new(FaultKind::Provider, "it broke"));
    TurnEnd { turn: turn.into(), stop, iterations: 0, usage: Usage::default(), mutations: vec![], fault }
}

/// A saved chat with these entries.
pub(crate) fn recalled(chat: &str, bodies: Vec<Body>) -> Reply {
    let entries = bodies.into_iter().zip(1..);
    let entries = entries
        .map(|(body, seq)| Arc::new(Entry { seq, parent: seq - 1, at_ms: 0, body, by: None }))
        .collect::<Vec<_>>();
    Reply::Recalled(Box::new(Recalled { saved: saved(chat), entries }))
}

fn saved(chat: &str) -> Saved {
    let summary = Summary {
        id: chat.into(),
        workspace: "/w".into(),
        model: "alpha".into(),
        mode: Mode::DangerFullAccess,
        title: None,
        preview: None,
        created_ms: 0,
        updated_ms: 0,
        messages: 0,
        turns: 0,
        usage: Usage::default(),
        last_seq: 0,
        thinking: None,
        child_of: None,
        last_message_ms: None,
        lane: vocab::LaneWish::default(),
        elevated_until_ms: None,
        model_called: None,
    };
    Saved { summary, place: format!("/store#{chat}").into() }
}

pub(crate) fn fault(kind: FaultKind) -> Result<Reply, Fault> {
    Err(Fault::new(kind, "no"))
}
