//! A dialect of a few words: a frame is a prompt, and what the model says comes back, a frame for each delta.

use std::sync::Arc;

use testkit::{Stage, StageOptions};
use vocab::{Body, Delivery, Delta, Event, Open, Part, SessionVerb, Told, TurnEntry, Verb, Which};
use vocab::{Command, Tag, Target};
use wire::{Close, CloseCode, Dialect, Frame, NoOwn, Out, Parting};

#[derive(Default)]
pub(crate) struct Echo {
    tags: u64,
    due_ms: Option<u64>,
}

impl Echo {
    fn send(&mut self, verb: Verb, out: &mut Out) {
        self.tags += 1;
        out.commands.push(Command::of(Tag(self.tags), Target::Current, verb));
    }
}

fn say(text: &str, out: &mut Out) {
    out.frames.line(|bytes| bytes.extend_from_slice(text.as_bytes()));
}

impl Dialect for Echo {
    type Own = NoOwn;

    fn greet(&mut self, out: &mut Out) {
        self.send(Verb::Open(Open::new(Which::New)), out);
        say("hello", out);
    }

    fn hear(&mut self, frame: Frame<'_>, out: &mut Out) {
        let Frame::Whole(text) = frame else { return say("too long", out) };
        match text {
            b"bye" => out.close_with(Close::new(CloseCode::TryAgainLater, "bye")),
            b"tick" => self.due_ms = Some(out.now_ms + 500),
            text => {
                let parts = vec![Part::text(String::from_utf8_lossy(text))];
                self.send(Verb::Session(SessionVerb::Prompt { parts, delivery: Delivery::RejectIfBusy }), out);
            }
        }
    }

    fn tell(&mut self, told: &Told, out: &mut Out) {
        match &told.event {
            Event::Delta(Delta::Text { delta, .. }) => say(delta, out),
            Event::Gone { fault } => {
                say(&format!("gone: {}", fault.message), out);
                out.close_with(Close::new(CloseCode::TryAgainLater, "slow"));
            }
            Event::Logged(entry) if matches!(entry.body, Body::Turn(TurnEntry::Ended(_))) => say("end", out),
            _ => {}
        }
    }

    fn part(&mut self, _: Parting, out: &mut Out) {
        out.close_with(Close::normal());
    }

    fn due(&self) -> Option<u64> {
        self.due_ms
    }

    fn tick(&mut self, now_ms: u64, out: &mut Out) {
        self.due_ms = None;
        say(&format!("it is {now_ms}"), out);
    }
}

/// An engine whose model plays this.
pub(crate) fn stage(script: &str) -> Stage {
    let script = tour::Script::parse(script).expect("a script");
    let model = script.slug().to_string();
    Stage::new(StageOptions { provider: Arc::new(script), model, ..StageOptions::default() })
}

/// Runs with time standing still, so that waiting costs nothing.
pub(crate) fn paused<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.expect("a runtime").block_on(test)
}
