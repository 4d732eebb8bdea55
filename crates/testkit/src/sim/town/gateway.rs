//! What a town behind a gateway has beside: sessions that are deleted while people are on them and begin anew under the same
//! name, forks, readers that stop and are let go, and rules of its own for tools, questions and standstills.

use std::sync::Arc;

use engine::Slow;
use tokio::time::{Duration, Instant};
use vocab::{
    Answer, AskEnd, AskEntry, AskId, AskWait, Body, BranchEntry, CallEnd, CallEntry, Conduct, CutBy, DirectoryVerb,
    Entry, Event, Fault, Reply, SessionId, Tag, Told, ToolRules, TurnEntry, Verb, WaitingOnRestart,
};

use super::Town;
use super::checks::open_asks;
use super::resident::Resident;
use super::view::{Logs, session_of};
use crate::sim::dice::Dice;
use crate::sim::stored;

/// Longer than a question waits for an answer, and whatever else is slow in a town.
const ASKS_END: Duration = Duration::from_secs(20);
/// As the engine says it of a question that nobody has answered in time.
const UNANSWERED: &str = "nobody answered";
/// Sessions that there may be; a fork is one more.
const HOUSES_MAX: usize = 12;

/// What happened in towns behind a gateway.
#[derive(Clone, Copy, Default, Debug)]
pub struct GatewayNumbers {
    pub deleted: u64,
    pub forked: u64,
    /// Readers that were let go, and came back with where they were.
    pub dropped: u64,
    /// Questions that nobody has answered in time.
    pub expired: u64,
    /// Turns in which nothing moved for too long.
    pub stalled: u64,
    /// Calls that a rule denied.
    pub denied: u64,
}

impl GatewayNumbers {
    pub(super) fn take_log(&mut self, log: &[Arc<Entry>]) {
        for entry in log {
            match &entry.body {
                Body::Ask(AskEntry::Closed {
                    end: AskEnd::Answered { answer: Answer::Deny(Some(why)), .. }, ..
                }) => {
                    self.expired += u64::from(&**why == UNANSWERED);
                }
                Body::Turn(TurnEntry::Cut { why: CutBy::Stalled, .. }) => self.stalled += 1,
                Body::Call(CallEntry::Ended { result, .. }) => self.denied += u64::from(result.end == CallEnd::Denied),
                _ => {}
            }
        }
    }

    pub(super) fn pairs<'a>(&'a mut self, other: &Self) -> [(&'a mut u64, u64); 6] {
        [
            (&mut self.deleted, other.deleted),
            (&mut self.forked, other.forked),
            (&mut self.dropped, other.dropped),
            (&mut self.expired, other.expired),
            (&mut self.stalled, other.stalled),
            (&mut self.denied, other.denied),
        ]
    }
}

/// What a town behind a gateway keeps in mind.
#[derive(Default)]
pub(super) struct GatewayTown {
    /// Logs of sessions that were deleted, of this life.
    pub(super) graves: Vec<(SessionId, Vec<Arc<Entry>>)>,
    /// Since when a question is known to be open, in which process and under which lease.
    asked: Vec<(SessionId, AskId, u64, u64, Instant)>,
}

pub(super) fn conduct(dice: &mut Dice) -> Conduct {
    let of = |names: &[&str]| names.iter().map(|name| Arc::from(*name)).collect();
    let rules = match dice.below(5) {
        0 => ToolRules { deny: of(&["dang*"]), ..ToolRules::default() },
        1 => ToolRules { ask: of(&["look"]), allow: of(&["change"]), ..ToolRules::default() },
        2 => ToolRules { allow: of(&["*"]), deny: of(&["look"]), ..ToolRules::default() },
        _ => ToolRules::default(),
    };
    let wait = AskWait { answerable_ms: Some(1_500), alone_ms: dice.pick(&[Some(4_000), Some(0), None]) };
    let ask_wait = dice.pick(&[AskWait::default(), wait, wait]);
    let stall_ms = dice.pick(&[600_000, 300, 2_000]);
    let waiting_on_restart = dice.pick(&[WaitingOnRestart::GoesOn, WaitingOnRestart::Dropped]);
    Conduct { rules, ask_wait, stall_ms, models_stall: stall_ms == 2_000, waiting_on_restart }
}

pub(super) fn slowness(dice: &mut Dice) -> Slow {
    dice.pick(&[Slow::Wait, Slow::DropAt(2_000), Slow::DropAt(10_000), Slow::DropAt(2 * 1024 * 1024)])
}

impl Town {
    /// Something that happens behind a gateway alone.
    pub(super) fn gateway_act(&mut self, here: &[usize]) {
        let at = self.dice.pick(here);
        let session = self.dice.pick(&self.sessions);
        match self.dice.below(10) {
            0 | 1 => {
                let open_too = self.dice.chance(80);
                self.send(at, None, Verb::Directory(DirectoryVerb::Delete { session, open_too }), |_| {});
            }
            2 | 3 if self.sessions.len() < HOUSES_MAX => {
                let last = self.ground.store.entries(&session).len() as u64;
                let cut = self.dice.chance(30).then(|| 1 + self.dice.below(last.max(1)));
                self.send(at, Some(&session), Verb::Fork { at: cut }, |_| {});
            }
            _ => {
                let resident = &mut self.residents[at];
                resident.naps = !resident.naps;
                let (name, naps) = (resident.name, resident.naps);
                self.note(format!("peer {name} {}", if naps { "stops reading" } else { "reads again" }));
            }
        }
    }

    /// Everybody reads again.
    pub(super) fn wakes(&mut self, process: Option<u64>) {
        let of = |it: &&mut Resident| process.is_none_or(|process| it.process == process);
        self.residents.iter_mut().filter(of).for_each(|it| it.naps = false);
    }

    /// What was deleted since: whatever comes under that name is another session.
    pub(super) fn buries(&mut self) {
        for (session, log) in self.ground.store.take_graves() {
            self.note(format!("({session} is deleted, with {} entries)", log.len()));
            self.numbers.gateway.deleted += 1;
            self.ledger.buries(&session);
            self.ground.witness.forget(&session, 0);
            for resident in &mut self.residents {
                resident.told.retain(|told| told.session != session);
                resident.view.buries(&session);
            }
            self.heard.marks.retain(|(of, _)| *of != session);
            self.gateway.graves.push((session, log));
        }
    }

    /// Whether this is an entry of a session that was deleted, told by and by.
    pub(super) fn is_of_the_dead(&self, told: &Told, logs: &Logs) -> bool {
        let Event::Logged(entry) = &told.event else { return false };
        let is_in =
            |log: &[Arc<Entry>]| log.get(entry.seq as usize - 1).is_some_and(|known| stored(known) == stored(entry));
        let is_now = logs.get(&told.session).is_some_and(|log| is_in(log));
        !is_now && self.gateway.graves.iter().any(|(of, log)| *of == told.session && is_in(log))
    }

    /// As [`Town::forked`], where that was asked.
    pub(super) fn check_fork(&mut self, at: usize, tag: Tag, result: &Result<Reply, Fault>) -> Result<(), String> {
        let Some(command) = self.residents[at].view.command(tag) else { return Ok(()) };
        match (&command.verb, session_of(command), result) {
            (Verb::Fork { at }, Some(from), Ok(reply)) => {
                let at = *at;
                self.forked(&from, at, reply)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn was_deleted(&self, session: &SessionId) -> bool {
        self.gateway.graves.iter().any(|(of, _)| of == session)
    }

    /// A reader that did not read is gone. It comes back and says where it was.
    pub(super) fn comes_back(&mut self, at: usize) {
        let old = &mut self.residents[at];
        old.goes();
        let Some(process) = self.processes.iter().find(|it| it.id == old.process) else { return };
        let (name, principal) = (old.name, old.principal.clone());
        let peer = process.engine.connect_as(Slow::DropAt(2 * 1024 * 1024), principal.clone());
        let new = Resident::back(old, peer);
        self.residents.push(new);
        self.numbers.gateway.dropped += 1;
        self.note(format!("peer {name} of {principal} was let go, and comes back"));
    }

    /// A fork has what its original had, up to where it was made, and the original is as it was.
    pub(super) fn forked(&mut self, from: &SessionId, at: Option<u64>, reply: &Reply) -> Result<(), String> {
        let Reply::Forked { session, .. } = reply else { return Ok(()) };
        self.numbers.gateway.forked += 1;
        let (copy, original) = (self.ground.store.entries(session), self.ground.store.entries(from));
        let is_from =
            |entry: &Arc<Entry>| matches!(&entry.body, Body::Opened { forked_from: Some((of, _)), .. } if of == from);
        if !copy.first().is_some_and(is_from) {
            return Err(format!("the fork {session} of {from} at {at:?} begins with {:?}", copy.first()));
        }
        // What people and models said, in its order; the rest of a log is not told on.
        let said = |log: &[Arc<Entry>]| -> Vec<Body> {
            let path = vocab::active_path(log);
            let is_said = |body: &Body| matches!(body, Body::User { .. } | Body::Assistant { .. });
            path.iter().map(|entry| entry.body.clone()).filter(is_said).collect()
        };
        let (copied, all) = (said(&copy), said(&original));
        let compacted = original.iter().any(|entry| matches!(entry.body, Body::Branch(BranchEntry::Moved { .. })));
        if !self.was_deleted(from) && !compacted && !all.starts_with(&copied) {
            return Err(format!("the fork {session} says what {from} does not: {copied:?} / {all:?}"));
        }
        self.ground.witness.forked(from);
        if !self.sessions.contains(session) {
            self.sessions.push(session.clone());
        }
        Ok(())
    }

    /// Where questions have a time, none waits much longer than that.
    pub(super) fn check_asks_end(&mut self) -> Result<(), String> {
        let mut open = Vec::new();
        for process in self.processes.iter().filter(|it| it.asks_end) {
            for session in process.engine.live() {
                let Some(epoch) = self.ground.witness.epoch(process.id, &session) else { continue };
                let log = self.ground.store.entries(&session);
                let asks = open_asks(&log).into_iter();
                let asks = asks.filter(|(_, kind, _)| matches!(kind, vocab::AskKind::Permission(_)));
                open.extend(asks.map(|(ask, ..)| (session.clone(), ask, process.id, epoch)));
            }
        }
        let now = Instant::now();
        self.gateway.asked.retain(|(session, ask, process, epoch, _)| {
            open.iter().any(|it| (&it.0, &it.1, &it.2, &it.3) == (session, ask, process, epoch))
        });
        for (session, ask, process, epoch) in open {
            let known = |it: &&(SessionId, AskId, u64, u64, Instant)| {
                (&it.0, &it.1, it.2, it.3) == (&session, &ask, process, epoch)
            };
            match self.gateway.asked.iter().find(known) {
                Some((.., since)) if since.elapsed() > ASKS_END && !self.ground.store.is_unsaid(&session) => {
                    return Err(format!("question {ask} of {session} waits since {:?}", since.elapsed()));
                }
                Some(_) => {}
                None => self.gateway.asked.push((session, ask, process, epoch, now)),
            }
        }
        Ok(())
    }
}
