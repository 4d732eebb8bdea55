//! What must hold in a town between its lives and at the end of them.

use std::sync::Arc;

use vocab::{Answer, AskEnd, AskEntry, AskKind, Body, Entry, SessionId, Unanswered};

use super::view::Logs;
use super::{KeyNumbers, Process, Town};
use crate::sim::eye::Seen;
use crate::sim::{log, survival};

/// As the engine says it of a question whose last peer has gone, or was let go before it could be asked.
const LEFT_BEHIND: [&str; 2] =
    ["controller disconnected before responding", "denied: nobody is here who could be asked"];

impl Town {
    /// Everything is dead, and perhaps the power went: what everybody was told is held against what there was and is left.
    pub(super) fn die(&mut self, is_last: bool) -> Result<(), String> {
        self.buries();
        let written = self.logs();
        self.first_finding()?;
        if let n @ 1.. = self.ground.running.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(format!("{n} tool calls still run"));
        }
        for (session, log) in &written {
            self.ledger.check_log(session, log)?;
            self.check_left_behind(session, log)?;
        }
        let residents = std::mem::take(&mut self.residents);
        residents.iter().for_each(|resident| self.numbers.take_told(&resident.view.counts));
        self.ledger.is_dead();
        self.heard.undone.clear();
        self.heard.answers.clear();
        if is_last {
            return Ok(());
        }
        if self.dice.chance(50) {
            self.note("(the processes die)".into());
            self.ground.store.crash();
            return Ok(());
        }
        self.ground.store.power_cut();
        self.numbers.power_cuts += 1;
        for (session, left) in self.logs() {
            let before = written.get(&session).map_or(0, Vec::len);
            self.note(format!("(the power is cut: {} of {before} entries of {session} are left)", left.len()));
            self.numbers.forgotten += (before - left.len()) as u64;
            self.ground.witness.forget(&session, left.len() as u64);
            for resident in residents.iter().filter(|_| !self.was_deleted(&session)) {
                let told = resident.told.iter().filter(|told| told.session == session).cloned();
                let seen: Vec<Seen> = told.map(Seen::Told).collect();
                survival::check(&seen, &left).map_err(|what| format!("peer {}: {session}: {what}", resident.name))?;
            }
            self.ledger.check_left(&session, &left)?;
            self.ledger.check_log(&session, &left)?;
        }
        Ok(())
    }

    pub(super) fn first_finding(&self) -> Result<(), String> {
        let findings = self.ground.findings.0.lock().expect("nobody panics while holding this").clone();
        match findings.into_iter().chain(self.ground.store.findings()).next() {
            Some(first) => Err(first),
            None => Ok(()),
        }
    }

    /// The last life has come to its end: so has everything in the logs.
    pub(super) fn rest(&mut self) -> Result<(), String> {
        for (session, entries) in self.logs() {
            let numbers = log::check(&entries, &Default::default()).map_err(|what| format!("{session}: {what}"))?;
            self.numbers.take_log(&numbers);
            self.numbers.gateway.take_log(&entries);
            let summed = self.ground.store.sum(&session).map(|summary| summary.usage).unwrap_or_default();
            if summed != log::used(&entries) {
                return Err(format!("{session}: the store sums up {summed:?}, the log {:?}", log::used(&entries)));
            }
            self.ledger.count_renewed(&session, &entries);
        }
        let counts = self.ledger.counts;
        self.numbers.keys = KeyNumbers {
            keys: counts.keys,
            repeats: counts.repeats,
            known: counts.known,
            clashes: counts.clashes,
            renewed: counts.renewed,
        };
        (self.numbers.runs, self.numbers.runs_again) = self.ground.witness.runs();
        self.numbers.processes = self.rules.len() as u64;
        Ok(())
    }

    /// A question that nobody could answer was a no only where that is the rule.
    fn check_left_behind(&self, session: &SessionId, log: &[Arc<Entry>]) -> Result<(), String> {
        for entry in log {
            let Body::Ask(AskEntry::Closed { ask, end: AskEnd::Answered { answer, .. } }) = &entry.body else {
                continue;
            };
            let Answer::Deny(Some(why)) = answer else { continue };
            let Some(writer) = self.ground.witness.writer(session, entry.seq).filter(|_| LEFT_BEHIND.contains(&&**why))
            else {
                continue;
            };
            if self.rules.get(writer.process as usize) == Some(&Some(Unanswered::Keep)) {
                return Err(format!("question {ask} of {session} was to be kept, and is a no"));
            }
        }
        Ok(())
    }

    /// Where the rule is a no, no question waits for nobody. Only when everything has had time to come about.
    pub(super) fn check_orphans(&self, logs: &Logs) -> Result<(), String> {
        // What could not be written was said all the same: it is told when the session is looked at again.
        let is_said = |session: &SessionId| !self.ground.store.is_unsaid(session);
        for process in self.processes.iter().filter(|it| it.unanswered == Some(Unanswered::Deny)) {
            for session in process.engine.live().into_iter().filter(is_said) {
                self.check_orphans_of(process, &session, logs.get(&session).map_or(&[], Vec::as_slice))?;
            }
        }
        Ok(())
    }

    fn check_orphans_of(&self, process: &Process, session: &SessionId, log: &[Arc<Entry>]) -> Result<(), String> {
        let mut of_process = self.residents.iter().filter(|it| it.is_here() && it.process == process.id);
        if of_process.any(|it| it.view.may_answer(session)) {
            return Ok(());
        }
        let Some(epoch) = self.ground.witness.epoch(process.id, session) else { return Ok(()) };
        for (ask, kind, seq) in open_asks(log) {
            let writer = self.ground.witness.writer(session, seq);
            let is_its = writer.is_some_and(|writer| writer.process == process.id && writer.epoch == epoch);
            if is_its && matches!(kind, AskKind::Permission(_)) {
                return Err(format!("question {ask} of {session} waits, and nobody is here who could answer"));
            }
        }
        Ok(())
    }
}

/// Questions that a log leaves open, and where they stand.
pub(super) fn open_asks(log: &[Arc<Entry>]) -> Vec<(vocab::AskId, AskKind, u64)> {
    let mut open = Vec::new();
    for entry in log {
        match &entry.body {
            Body::Ask(AskEntry::Opened(ask)) => open.push((ask.id.clone(), ask.kind.clone(), entry.seq)),
            Body::Ask(AskEntry::Closed { ask, .. }) => open.retain(|(id, ..)| id != ask),
            _ => {}
        }
    }
    open
}
