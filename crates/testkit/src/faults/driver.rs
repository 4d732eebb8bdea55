//! What a fault flow needs of a client, whatever it speaks. A flow is written once over this; a dialect is one
//! implementation of it.

use std::ops::DerefMut;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::{PATIENCE, Process, World};

/// What a line means, in words that every dialect has.
#[derive(Debug)]
pub enum Heard {
    /// The prompt is the session's own now: it survives whatever comes. So is one that something came of.
    Taken,
    /// More of the reply.
    Text(String),
    /// May a call run? The message that asks.
    Asked(Value),
    /// A call has its result.
    Result {
        failed: bool,
    },
    /// A line or a request was turned down.
    Refused(Value),
    /// Nothing runs any more.
    Ended(End),
    Other,
}

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub enum End {
    Done,
    Interrupted,
    Failed,
}

/// What was heard of a turn up to its end.
#[derive(Debug, Default)]
pub struct Turn {
    pub text: String,
    /// Per call in order, whether it failed.
    pub results: Vec<bool>,
    pub refused: Vec<Value>,
    /// The longest line.
    pub line_bytes: usize,
    pub end: Option<End>,
}

/// What a dialect's client may cost, in MiB.
pub struct Limits {
    /// The longest line that is heard.
    pub line: usize,
    /// Memory that lines beyond that may cost.
    pub line_growth: u64,
    /// How much is said to a reader that stops, in a normal run.
    pub flood: usize,
    /// A flood at its worst moment, the end: the kept reply is in the log, in the session's messages and in a frame.
    pub flood_peak: u64,
}

impl Limits {
    pub const DEFAULT: Self = Self { line: 16, line_growth: 96, flood: 40, flood_peak: 200 };
}

/// A running binary and its client, with one session.
pub trait Driver: Sized + DerefMut<Target = Process> {
    const NAME: &'static str;
    const LIMITS: Limits = Limits::DEFAULT;
    /// Whether the text itself ends with a note where a reply was too long to be kept whole.
    const NOTES_WHAT_IS_NOT_KEPT: bool = true;
    /// Lines that are requests, to be spoiled. Without escapes: half of a surrogate pair is no error.
    const REQUESTS: &'static [&'static str];

    /// Started by this command, greeted, and with a session of its own.
    fn start(command: &mut Command, world: &World) -> Self;
    fn begin(world: &World, args: &[&str]) -> Self {
        let mut command = world.dialect_command(Self::NAME, &[], args);
        Self::start(command.stderr(world.stderr_log()), world)
    }
    /// Goes on with a session; `None` when it is not there.
    fn resume(world: &World, handle: &str) -> Option<Self>;
    /// What the dialect calls the session when somebody wants to come back.
    fn handle(&self) -> &str;
    /// The session's log as text, in which each prompt stands once.
    fn written(&mut self, world: &World) -> String;

    /// A prompt as a line, its text given as JSON.
    fn prompt_line(&mut self, text: &str) -> String;
    fn interrupt(&mut self);
    /// Answers what [`Heard::Asked`] brought.
    fn decide(&mut self, asked: &Value, allow: bool);
    fn hear(&mut self, line: &[u8]) -> Heard;

    /// A request that changes nothing, and the line around a text of any length that is one, too.
    fn ping(&mut self) -> Value;
    fn is_pong(&self, value: &Value, ping: &Value) -> bool;
    fn long_ping() -> [&'static str; 2];
    /// What the next line is told instead of an answer when it cannot be a request.
    fn is_refusal(value: &Value) -> bool;
    fn is_too_long(refusal: &Value) -> bool;
    /// Whether an object is turned down for sure, whatever a spoiled line made of it.
    fn is_refused(request: &Value) -> bool;

    /// Has `sleep MARK` run in a way that this dialect alone knows, or leaves a question open.
    fn busy_in_its_way(&mut self, world: &World, mark: &str);
    /// Says so itself when nothing runs, where it has words for that.
    fn check_idle(&mut self) {}
    /// Reads what is told after a start without having been asked for.
    fn settle(&mut self) {
        self.drain();
    }

    fn say(&mut self, text: &str) {
        let line = self.prompt_line(&Value::from(text).to_string());
        self.send_raw(format!("{line}\n").as_bytes());
    }

    fn next_heard(&mut self) -> Option<Heard> {
        let line = self.line(PATIENCE)?;
        Some(self.hear(&line))
    }

    /// Reads until the reply begins.
    fn until_text(&mut self) -> Turn {
        let mut turn = Turn::default();
        while turn.text.is_empty() {
            match self.next_heard().expect("the reply begins") {
                Heard::Text(text) => turn.text.push_str(&text),
                Heard::Ended(end) => panic!("{}: {end:?} before a word was said", Self::NAME),
                _ => {}
            }
        }
        turn
    }

    /// Reads until a call is asked about.
    fn until_asked(&mut self) -> Value {
        loop {
            match self.next_heard().expect("it asks") {
                Heard::Asked(asked) => return asked,
                Heard::Ended(end) => panic!("{}: {end:?} and nothing was asked", Self::NAME),
                _ => {}
            }
        }
    }

    /// Reads to the end of the turn and allows what is asked.
    fn read_on(&mut self, turn: &mut Turn) -> End {
        loop {
            let line = self.line(PATIENCE).unwrap_or_else(|| panic!("{}: the turn has no end: {turn:?}", Self::NAME));
            turn.line_bytes = turn.line_bytes.max(line.len());
            match self.hear(&line) {
                Heard::Text(text) => turn.text.push_str(&text),
                Heard::Asked(asked) => self.decide(&asked, true),
                Heard::Result { failed } => turn.results.push(failed),
                Heard::Refused(value) => turn.refused.push(value),
                Heard::Ended(end) => {
                    turn.end = Some(end);
                    return end;
                }
                Heard::Taken | Heard::Other => {}
            }
        }
    }

    /// The rest of a turn.
    fn rest(&mut self) -> Turn {
        let mut turn = Turn::default();
        self.read_on(&mut turn);
        turn
    }

    /// A whole turn that goes well.
    fn whole_turn(&mut self, prompt: &str) -> Turn {
        self.say(prompt);
        let turn = self.rest();
        assert_eq!(turn.end, Some(End::Done), "{}: {prompt}: {turn:?}", Self::NAME);
        turn
    }

    /// Says a prompt and reads until it is taken.
    fn acknowledged(&mut self, prompt: &str) {
        self.say(prompt);
        loop {
            match self.next_heard().expect("the prompt is taken") {
                Heard::Taken | Heard::Text(_) => return,
                Heard::Ended(end) => panic!("{}: {end:?} before it was taken", Self::NAME),
                _ => {}
            }
        }
    }

    /// A request, and everything up to and with its answer.
    fn answered(&mut self) -> Vec<Value> {
        let ping = self.ping();
        self.send(&ping);
        let mut seen = Vec::new();
        loop {
            let value = self.next(PATIENCE).unwrap_or_else(|| panic!("{ping} has no answer: {}", super::brief(&seen)));
            seen.push(value);
            if self.is_pong(&seen[seen.len() - 1], &ping) {
                return seen;
            }
        }
    }

    /// Reads for a moment, and allows what is asked.
    fn allow_for(&mut self, wait: Duration) {
        if let Some(line) = self.line(wait)
            && let Heard::Asked(asked) = self.hear(&line)
        {
            self.decide(&asked, true);
        }
    }

    /// Ends at once, and is waited for.
    fn die(mut self) {
        self.kill();
        self.ended(PATIENCE).expect("killed processes end");
    }

    /// Leaves in order.
    fn shutdown(mut self) {
        self.leave();
    }
}

/// A driver whose dialect asks before a call runs.
pub trait Asking: Driver {
    fn id_of(asked: &Value) -> Value;
    /// Ids that never were one.
    fn strange_ids() -> Vec<Value>;
    /// Ids that are almost this one.
    fn near_ids(id: &Value) -> Vec<Value> {
        let id = id.as_str().expect("ids are text");
        let near = [format!("{id}x"), id.to_uppercase() + " ", id[..id.len() - 1].to_owned(), format!(" {id}")];
        near.map(Value::from).into()
    }
    /// Says yes to what is not asked: that is refused or passed over, and nothing else comes of it.
    fn stray(&mut self, id: &Value);
    /// A yes as it goes over the wire.
    fn yes(id: &Value) -> Value;
    /// Lines that look like an answer to this and are none; each is refused.
    fn no_answers(id: &Value) -> Vec<Value>;
    /// Whether an answer that comes too late is told so.
    const TELLS_LATE_ANSWERS: bool;
}
