//! Calls of a dialect's own go to the service beside the engine, and their answers come back.

use std::time::Duration;

use host::{PumpOptions, message_pair, pump_messages};
use vocab::{Tag, Told};
use wire::{Close, Dialect, Frame, Out, OwnCall, Parting, Pending};

use crate::echo::{paused, stage};
use crate::messages::{receive, send};

#[derive(Debug)]
struct Nap {
    ms: u64,
}

impl OwnCall for Nap {
    type Answer = Result<u64, String>;
}

/// Each frame is a number of milliseconds to sleep.
#[derive(Default)]
struct Sleeper {
    pending: Pending<String>,
}

impl Dialect for Sleeper {
    type Own = Nap;

    fn greet(&mut self, _: &mut Out<Nap>) {}
    fn hear(&mut self, frame: Frame<'_>, out: &mut Out<Nap>) {
        let Frame::Whole(text) = frame else { return };
        let text = String::from_utf8_lossy(text).into_owned();
        self.pending.call(Nap { ms: text.parse().unwrap_or(0) }, text, out);
    }
    fn tell(&mut self, _: &Told, _: &mut Out<Nap>) {}
    fn own_answered(&mut self, tag: Tag, answer: Result<u64, String>, out: &mut Out<Nap>) {
        let asked = self.pending.answered(tag).expect("one of ours");
        out.frames.line(|bytes| bytes.extend_from_slice(format!("{asked}: {answer:?}").as_bytes()));
    }
    fn part(&mut self, _: Parting, out: &mut Out<Nap>) {
        out.close_with(Close::normal());
    }
}

async fn nap(nap: Nap) -> Result<u64, String> {
    tokio::time::sleep(Duration::from_millis(nap.ms)).await;
    if nap.ms == 0 { Err("not tired".to_owned()) } else { Ok(nap.ms) }
}

#[test]
fn a_slow_call_holds_back_no_other() {
    paused(async {
        let stage = stage("delta \"one\"");
        let (mut ours, theirs) = message_pair(4);
        let engine = stage.engine.clone();
        tokio::spawn(async move {
            pump_messages(Sleeper::default(), &engine, theirs.stream, theirs.sink, PumpOptions::new(nap)).await
        });
        for frame in ["300", "100", "what"] {
            send(&mut ours, frame).await;
        }
        let mut said = Vec::new();
        for _ in 0..3 {
            said.push(receive(&mut ours).await.expect("an answer"));
        }
        assert_eq!(said, ["what: Err(\"not tired\")", "100: Ok(100)", "300: Ok(300)"]);
    });
}
