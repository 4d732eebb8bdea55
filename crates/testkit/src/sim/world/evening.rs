//! How the last life ends: everything calms down, and what there is answers once more.

use std::sync::atomic::Ordering;
use std::time::Duration;

use engine::{Engine, Slow};
use vocab::{
    Answer, Body, BranchEntry, Change, Delivery, Event, FaultKind, Open, QueueVerb, Reply, SessionVerb, Stop, Told,
    Verb, Which,
};

use super::World;
use crate::sim::eye::{Eye, Seen};
use crate::sim::model::sketch;
use crate::sim::{SESSION, survival};

/// Tries of the last prompt; each waits longer than any stall lasts.
const LAST_TRIES: u32 = 400;
/// More than a reader that stopped can have asked for.
const CATCH_UP_LOOKS: u32 = 200;

impl World {
    /// Everything calms down, the session answers one more prompt, and the engine ends in order.
    pub(super) async fn finish(
        &mut self,
        engine: Engine,
        last: bool,
        started: tokio::time::Instant,
    ) -> Result<(), String> {
        self.trace.push("(everything calms down)".into());
        self.eyes.iter_mut().for_each(|eye| eye.stopped = eye.stopped.map(|_| started));
        self.calm.store(true, Ordering::Relaxed);
        self.store.fail_append(0);
        self.store.fail_read(0);
        self.store.slow_reads(0);
        if self.weather.stops {
            self.catch_up(started).await;
        }
        if last {
            let name = self.name();
            let mut eye = Eye::new(name, engine.connect(Slow::Wait));
            eye.send(Verb::Open(Open::new(Which::Named(SESSION.into()))));
            self.eyes.push(eye);
            self.send(self.eyes.len() - 1, Verb::Session(SessionVerb::AbortShell));
            self.last_prompt(started).await?;
            self.read_back(started).await?;
            if self.weather.settings {
                self.compare_settings(started).await?;
            }
        }
        engine.shutdown().await;
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            self.look(started).await;
        }
        for eye in &mut self.eyes {
            eye.saw_the_end = eye.peer.is_some();
        }
        match engine.live().len() {
            0 => Ok(()),
            n => Err(format!("{n} sessions live on after the shutdown")),
        }
    }

    /// Whoever had stopped reads again, and what it asked for meanwhile is carried out, one long answer at a time.
    async fn catch_up(&mut self, started: tokio::time::Instant) {
        for _ in 0..CATCH_UP_LOOKS {
            tokio::time::sleep(Duration::from_millis(20)).await;
            self.look(started).await;
        }
    }

    async fn last_prompt(&mut self, started: tokio::time::Instant) -> Result<(), String> {
        let at = self.eyes.len() - 1;
        let mut may_come_again = self.weather.steals || self.weather.panics;
        for _ in 0..LAST_TRIES {
            tokio::time::sleep(Duration::from_secs(5)).await;
            self.look(started).await;
            self.answer_all(at).await;
            let prompt = self.prompt(Delivery::RejectIfBusy);
            let tag = self.send(at, prompt).ok_or("the engine takes no commands")?;
            tokio::time::sleep(Duration::from_secs(1)).await;
            self.look(started).await;
            let turn = match self.eyes[at].result_of(tag) {
                None => return Err("the lane is wedged: the last prompt got no reply".into()),
                Some(Ok(Reply::Started { turn })) => turn.clone(),
                // What a restart left waiting comes first.
                Some(Ok(Reply::Waiting { .. })) => continue,
                Some(Ok(other)) => return Err(format!("the last prompt was answered {other:?}")),
                Some(Err(fault)) if fault.kind == FaultKind::TurnInProgress => continue,
                // Another owner had it, or it broke, before everything calmed down: once more, and it is ours.
                Some(Err(_)) if std::mem::take(&mut may_come_again) => {
                    self.send(at, Verb::Open(Open::new(Which::Named(SESSION.into()))));
                    continue;
                }
                Some(Err(fault)) => return Err(format!("the last prompt was refused: {fault}")),
            };
            return self.last_turn(at, turn, started).await;
        }
        Err("the lane is wedged: a turn never ends".into())
    }

    /// People and their tools take their time, but not for ever: nobody else's clock would end what waits for them.
    async fn answer_all(&mut self, last: usize) {
        for (at, editor_request, result) in std::mem::take(&mut self.undone) {
            self.send(at, Verb::Session(SessionVerb::EditorReplied { editor_request, result }));
        }
        for (ask, host) in std::mem::take(&mut self.asks) {
            for at in if host { 0..self.eyes.len() } else { last..last + 1 } {
                self.send(at, Verb::Session(SessionVerb::Answer { ask: ask.clone(), answer: Answer::Deny(None) }));
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }

    /// With another model the history is read from the log again: the model must be sent what it was sent before.
    async fn read_back(&mut self, started: tokio::time::Instant) -> Result<(), String> {
        let at = self.eyes.len() - 1;
        let before = self.findings.last_sent();
        let known = self.last_seq;
        for model in ["a", "b"] {
            self.send(at, Verb::Session(SessionVerb::Set(Change::Model(model.into()))));
        }
        let prompt = self.prompt(Delivery::RejectIfBusy);
        self.send(at, prompt).ok_or("the engine takes no commands")?;
        tokio::time::sleep(Duration::from_secs(200)).await;
        self.look(started).await;
        let compacted = self.eyes[at].seen.iter().any(|seen| match seen {
            Seen::Told(Told { event: Event::Logged(entry), .. }) => {
                entry.seq > known && matches!(entry.body, Body::Branch(BranchEntry::Compacted(_)))
            }
            _ => false,
        });
        let after = self.findings.last_sent();
        if !compacted {
            self.numbers.reloads += 1;
            if !after.starts_with(&before) {
                return Err(format!("read back, the history is another:\n{}---\n{}", sketch(&before), sketch(&after)));
            }
        }
        Ok(())
    }

    /// What was refused has left nothing behind, and what was taken is written down.
    async fn compare_settings(&mut self, started: tokio::time::Instant) -> Result<(), String> {
        let at = self.eyes.len() - 1;
        let tag = self.send(at, Verb::Session(SessionVerb::Inspect)).ok_or("the engine takes no commands")?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        self.look(started).await;
        let state = match self.eyes[at].result_of(tag) {
            Some(Ok(Reply::Inspected(inspection))) => &inspection.state,
            other => return Err(format!("the last look at the session is {other:?}")),
        };
        survival::compare(state, &self.store.entries(&SESSION.into()))
    }

    async fn last_turn(&mut self, at: usize, turn: vocab::TurnId, started: tokio::time::Instant) -> Result<(), String> {
        for _ in 0..LAST_TRIES {
            tokio::time::sleep(Duration::from_secs(5)).await;
            self.look(started).await;
            let end = self.eyes[at].turn_end(&turn);
            let Some(stop) = end else { continue };
            if stop != Stop::EndTurn {
                return Err(format!("the last turn ended with {stop:?}"));
            }
            // What waited has run by now, or waits for good.
            tokio::time::sleep(Duration::from_secs(200)).await;
            self.look(started).await;
            let tag = self
                .send(at, Verb::Session(SessionVerb::Queue(QueueVerb::List)))
                .ok_or("the engine takes no commands")?;
            tokio::time::sleep(Duration::from_secs(1)).await;
            self.look(started).await;
            return match self.eyes[at].result_of(tag) {
                Some(Ok(Reply::Queue(items))) if items.is_empty() => Ok(()),
                other => Err(format!("the last list is {other:?}")),
            };
        }
        Err("the last turn never ends".into())
    }
}
