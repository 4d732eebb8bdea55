//! Plays one reply as a lazy stream of model events: each poll makes one event, and nothing is prepared ahead.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use tokio::time::Sleep;
use vocab::{Finish, ModelEvent, ModelFault, ModelStream, Usage, estimate_tokens};

use crate::beat::{Beat, Reply, ScriptedCall, Words, word_end};

/// Arguments of a call arrive in pieces of this many characters, so that whoever reads them has to join.
const CALL_PIECE_CHARS: usize = 24;

/// The surroundings of one reply.
pub(crate) struct Stage {
    /// Names calls that have no id of their own.
    pub(crate) round: u64,
    /// Earlier tries of this reply.
    pub(crate) tries: u32,
    /// Characters in the window, for the usage report.
    pub(crate) chars_in: usize,
    pub(crate) word_delay_ms: u64,
}

pub(crate) fn play(reply: Reply, stage: Stage) -> ModelStream {
    Box::pin(Player {
        beats: reply.into_iter(),
        now: Now::Next,
        delay_ms: stage.word_delay_ms,
        spoken: false,
        words_left: None,
        calls: 0,
        chars_out: 0,
        usage: None,
        finish: None,
        sleep: None,
        stage,
    })
}

/// True when this try of the reply ends in a failure. The caller counts tries with it.
pub(crate) fn fails(reply: &[Beat], tries: u32) -> bool {
    reply.iter().any(|beat| matches!(beat, Beat::Fail { tries: limit, .. } if limit.is_none_or(|limit| tries < limit)))
}

struct Player {
    beats: std::vec::IntoIter<Beat>,
    now: Now,
    delay_ms: u64,
    /// A delta was sent: the next one waits for the delay.
    spoken: bool,
    /// Armed by `stall`.
    words_left: Option<u64>,
    calls: u32,
    chars_out: usize,
    usage: Option<Usage>,
    finish: Option<Finish>,
    sleep: Option<Pin<Box<Sleep>>>,
    stage: Stage,
}

/// What is being played.
enum Now {
    Next,
    /// `said` counts words; a text goes on at byte `from`.
    Speaking {
        thinking: bool,
        words: Words,
        said: u64,
        from: usize,
    },
    Delta(String),
    /// The arguments of the newest call, from this byte on.
    Arguments {
        input: String,
        from: usize,
    },
    Silent,
    /// The end that follows the usage report.
    Ending(ModelEvent),
    Over,
}

/// One small step of the player.
enum Step {
    Event(ModelEvent),
    Sleep(u64),
    /// Nothing to show yet; go on.
    On,
    Silent,
    Over,
}

impl Stream for Player {
    type Item = ModelEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ModelEvent>> {
        loop {
            if let Some(sleep) = &mut self.sleep {
                std::task::ready!(sleep.as_mut().poll(context));
                self.sleep = None;
            }
            match self.step() {
                Step::Event(event) => return Poll::Ready(Some(event)),
                Step::Sleep(ms) => self.sleep = Some(Box::pin(tokio::time::sleep(Duration::from_millis(ms)))),
                Step::On => {}
                // No waker on purpose: only dropping the stream ends this.
                Step::Silent => return Poll::Pending,
                Step::Over => return Poll::Ready(None),
            }
        }
    }
}

impl Player {
    fn step(&mut self) -> Step {
        match std::mem::replace(&mut self.now, Now::Next) {
            Now::Next => match self.beats.next() {
                Some(beat) => self.begin(beat),
                None => self.end(),
            },
            Now::Speaking { thinking, words, said, from } => self.speak(thinking, words, said, from),
            Now::Delta(text) => {
                if let Some(ms) = self.delay() {
                    self.now = Now::Delta(text);
                    return Step::Sleep(ms);
                }
                self.sent(&text);
                Step::Event(ModelEvent::Text(text))
            }
            Now::Arguments { input, from } => self.arguments(input, from),
            Now::Silent => {
                self.now = Now::Silent;
                Step::Silent
            }
            Now::Ending(event) => {
                self.now = Now::Over;
                Step::Event(event)
            }
            Now::Over => {
                self.now = Now::Over;
                Step::Over
            }
        }
    }

    fn begin(&mut self, beat: Beat) -> Step {
        match beat {
            Beat::Say(words) => self.now = Now::Speaking { thinking: false, words, said: 0, from: 0 },
            Beat::Think(words) => self.now = Now::Speaking { thinking: true, words, said: 0, from: 0 },
            Beat::Delta(text) => self.now = Now::Delta(text),
            Beat::Call(call) => return self.start_call(call),
            Beat::Stall(words) => self.words_left = Some(words),
            Beat::Hold => self.now = Now::Silent,
            Beat::Slow(ms) => self.delay_ms = ms,
            Beat::Pause(0) => {}
            Beat::Pause(ms) => return Step::Sleep(ms),
            Beat::Usage(usage) => self.usage = Some(usage),
            Beat::Fail { fault, tries } => {
                if tries.is_none_or(|limit| self.stage.tries < limit) {
                    return self.fail(fault);
                }
            }
            Beat::Finish(finish) => self.finish = Some(finish),
        }
        Step::On
    }

    fn speak(&mut self, thinking: bool, words: Words, said: u64, from: usize) -> Step {
        let done = match &words {
            Words::Counted(count) => said == *count,
            Words::Text(text) => from == text.len(),
        };
        // A stall holds also when the words run out before it: whoever asked for silence gets it.
        if self.words_left.is_some_and(|left| left == 0 || done) {
            self.now = Now::Silent;
            return Step::On;
        }
        if done {
            return Step::On;
        }
        if let Some(ms) = self.delay() {
            self.now = Now::Speaking { thinking, words, said, from };
            return Step::Sleep(ms);
        }
        let word = match &words {
            Words::Counted(count) => {
                let letter = if thinking { 't' } else { 'w' };
                let gap = if said + 1 == *count { "" } else { " " };
                format!("{letter}{}{gap}", said + 1)
            }
            Words::Text(text) => text[from..from + word_end(&text[from..])].to_owned(),
        };
        self.sent(&word);
        self.words_left = self.words_left.map(|left| left - 1);
        self.now = Now::Speaking { thinking, words, said: said + 1, from: from + word.len() };
        Step::Event(if thinking { ModelEvent::Thinking(word) } else { ModelEvent::Text(word) })
    }

    fn start_call(&mut self, call: ScriptedCall) -> Step {
        let index = self.calls;
        self.calls += 1;
        let id = call.id.unwrap_or_else(|| format!("call_{}_{index}", self.stage.round));
        self.chars_out += call.name.chars().count() + call.input.chars().count();
        self.now = Now::Arguments { input: call.input, from: 0 };
        Step::Event(ModelEvent::Call { index, id: Some(id), name: Some(call.name), input: String::new() })
    }

    fn arguments(&mut self, input: String, from: usize) -> Step {
        let rest = &input[from..];
        if rest.is_empty() {
            return Step::On;
        }
        let len = rest.char_indices().nth(CALL_PIECE_CHARS).map_or(rest.len(), |(end, _)| end);
        let piece = rest[..len].to_owned();
        self.now = Now::Arguments { input, from: from + len };
        Step::Event(ModelEvent::Call { index: self.calls - 1, id: None, name: None, input: piece })
    }

    /// The wait before the next delta; the first delta of a reply does not wait.
    fn delay(&mut self) -> Option<u64> {
        let due = std::mem::replace(&mut self.spoken, false);
        (due && self.delay_ms > 0).then_some(self.delay_ms)
    }

    fn sent(&mut self, text: &str) {
        self.spoken = true;
        self.chars_out += text.chars().count();
    }

    fn end(&mut self) -> Step {
        if self.words_left.is_some() {
            self.now = Now::Silent;
            return Step::On;
        }
        let finish = self.finish.unwrap_or(if self.calls > 0 { Finish::ToolUse } else { Finish::Stop });
        let usage = self.usage.unwrap_or_else(|| Usage {
            input: estimate_tokens(self.stage.chars_in).max(1),
            output: estimate_tokens(self.chars_out).max(1),
            ..Usage::default()
        });
        self.now = Now::Ending(ModelEvent::Finished(finish));
        Step::Event(ModelEvent::Usage(usage))
    }

    /// A failed call reports usage only when the script gave some: most servers bill nothing for it.
    fn fail(&mut self, fault: ModelFault) -> Step {
        self.now = Now::Ending(ModelEvent::Failed(fault));
        self.usage.map_or(Step::On, |usage| Step::Event(ModelEvent::Usage(usage)))
    }
}
