//! A conversation with the tour: remembers what is pushed, and on each call decides which reply to play.

use vocab::{CallSpec, Chat, Message, ModelStream};

use crate::beat::{Beat, Reply, Words};
use crate::memory::Memory;
use crate::parts::Trouble;
use crate::player::{self, Stage};
use crate::{compact, grammar, natural};

/// What a script says when a tool round is over and no step is left.
const AFTER_THE_LAST_STEP: &str = "done";

/// `None`: the message is not a script.
type Script = Option<Result<Vec<Reply>, Trouble>>;

pub(crate) struct TourChat {
    memory: Memory,
    /// The newest user message as a script, read once however many rounds it has.
    script: Option<Script>,
    word_delay_ms: u64,
    /// Tries of the step that failed last; survives `clear`, for an overflow is answered by compacting.
    tries: u32,
    tries_step: u64,
    /// Between `clear` and the next call the engine repeats old messages: none of them is news.
    repeating: bool,
}

impl TourChat {
    pub(crate) fn new(word_delay_ms: u64) -> Self {
        Self { memory: Memory::default(), script: None, word_delay_ms, tries: 0, tries_step: 0, repeating: false }
    }

    fn reply(&mut self, spec: &CallSpec) -> Reply {
        if compact::is_request(&self.memory.prompt) {
            return vec![say(compact::summary(&self.memory))];
        }
        match self.script.get_or_insert_with(|| grammar::parse(&self.memory.prompt)) {
            Some(Ok(steps)) => {
                let step = usize::try_from(self.memory.replies).unwrap_or(usize::MAX);
                steps.get(step).cloned().unwrap_or_else(|| vec![say(AFTER_THE_LAST_STEP)])
            }
            Some(Err(trouble)) => natural::reply(&self.memory, &spec.tools, Some(trouble)),
            None => natural::reply(&self.memory, &spec.tools, None),
        }
    }

    /// Earlier tries of this step; counts this one when it is going to fail.
    fn count_try(&mut self, reply: &[Beat]) -> u32 {
        if self.tries_step != self.memory.replies {
            self.tries_step = self.memory.replies;
            self.tries = 0;
        }
        let before = self.tries;
        self.tries = if player::fails(reply, before) { before.saturating_add(1) } else { 0 };
        before
    }
}

impl Chat for TourChat {
    fn push(&mut self, message: &Message) {
        if matches!(message, Message::User(_)) {
            self.script = None;
            if !self.repeating {
                self.tries = 0;
            }
        }
        self.memory.push(message);
    }

    fn clear(&mut self) {
        self.memory = Memory::default();
        self.script = None;
        self.repeating = true;
    }

    fn bytes(&self) -> usize {
        self.memory.bytes
    }

    fn call(&mut self, spec: &CallSpec) -> ModelStream {
        self.repeating = false;
        let reply = self.reply(spec);
        let stage = Stage {
            round: self.memory.replies,
            tries: self.count_try(&reply),
            chars_in: self.memory.chars + spec.system.chars().count(),
            word_delay_ms: self.word_delay_ms,
        };
        player::play(reply, stage)
    }
}

pub(crate) fn say(text: impl Into<String>) -> Beat {
    Beat::Say(Words::Text(text.into()))
}
