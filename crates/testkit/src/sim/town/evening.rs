//! How a town comes to rest: everything calms down, every session answers once more, watchers know how each stands, nobody's
//! sessions go out of memory, and the processes end in order.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use vocab::{
    Abilities, Answer, AskKind, Body, CutBy, Delivery, Entry, Event, FaultKind, Open, Principal, QueueVerb, Reply,
    SessionId, SessionVerb, Stop, Tag, TurnEntry, TurnId, Verb, WatchEvent, Which,
};

use super::checks::open_asks;
use super::resident::Resident;
use super::wishes::host_tool;
use super::{Town, hosted};

/// Tries of the last prompt; each waits longer than any stall lasts.
const LAST_TRIES: u32 = 400;
/// Longer than any stage on the way out of memory.
const OUT_OF_MEMORY: Duration = Duration::from_secs(30);
/// Longer than whatever waits for its turn.
const AT_REST: Duration = Duration::from_secs(200);

/// Nothing moved in it for longer than its session waits.
fn is_stalled(log: &[Arc<Entry>], turn: &TurnId) -> bool {
    let is_it =
        |body: &Body| matches!(body, Body::Turn(TurnEntry::Cut { turn: of, why: CutBy::Stalled, .. }) if of == turn);
    log.iter().any(|entry| is_it(&entry.body))
}

impl Town {
    pub(super) async fn evening(&mut self, is_last: bool) -> Result<(), String> {
        self.note("(everything calms down)".into());
        self.wakes(None);
        self.ground.calm.store(true, Ordering::Relaxed);
        let store = self.ground.store.clone();
        store.fail_append(0);
        store.fail_read(0);
        store.slow_reads(0);
        store.slow(Vec::new());
        if is_last {
            while self.processes.len() > 1 {
                self.ends(1, None).await?;
            }
            if self.processes.is_empty() {
                self.starts(false).await;
            }
            for session in self.sessions.clone() {
                self.answers_once_more(&session).await?;
            }
            self.comes_to_rest().await?;
        }
        while !self.processes.is_empty() {
            let limit = if self.dice.chance(50) { None } else { Some(Duration::from_millis(self.dice.below(4_000))) };
            self.ends(0, limit).await?;
        }
        Ok(())
    }

    /// The one who is there at the end: it can do everything.
    fn last(&mut self) -> usize {
        let process = &self.processes[0];
        let principal = Principal::token("ann");
        if let Some(at) = self.residents.iter().position(|it| it.name == usize::MAX && it.process == process.id) {
            return at;
        }
        let peer = process.engine.connect_as(engine::Slow::Wait, principal.clone());
        self.residents.push(Resident::new(usize::MAX, process.id, principal, peer));
        self.residents.len() - 1
    }

    fn reply_to(&self, at: usize, tag: Tag) -> Option<Result<Reply, vocab::Fault>> {
        self.residents[at].told.iter().rev().find_map(|told| match &told.event {
            Event::Reply { tag: of, result } if *of == tag => Some(result.clone()),
            _ => None,
        })
    }

    async fn answers_once_more(&mut self, session: &SessionId) -> Result<(), String> {
        let at = self.last();
        let mut faults = 0;
        for _ in 0..LAST_TRIES {
            if !self.residents[at].view.is_on(session) {
                let mut open = Open::new(Which::Named(session.clone()));
                open.on_restart = Some(self.dice.pick(&self.on_restart));
                open.abilities = Abilities::default();
                self.send(at, None, Verb::Open(open), |_| {});
            }
            tokio::time::sleep(Duration::from_secs(5)).await;
            self.look().await?;
            self.answer_all(at, session).await?;
            let (verb, _) = self.prompt(session, Delivery::RejectIfBusy);
            let tag = self.send(at, Some(session), Verb::Session(verb), |_| {}).ok_or("no command is taken")?;
            tokio::time::sleep(Duration::from_secs(1)).await;
            self.look().await?;
            match self.reply_to(at, tag) {
                None => return Err(format!("{session}: the last prompt got no reply")),
                Some(Ok(Reply::Started { turn })) => {
                    if self.last_turn(at, session, &turn).await? {
                        return Ok(());
                    }
                }
                // What a restart left waiting comes first.
                Some(Ok(Reply::Waiting { .. })) => {}
                Some(Ok(other)) => return Err(format!("{session}: the last prompt was answered {other:?}")),
                Some(Err(fault)) if fault.kind == FaultKind::TurnInProgress => {}
                // It was somebody else's, or a store that failed comes back by and by.
                Some(Err(fault)) => {
                    faults += 1;
                    if faults > 5 {
                        return Err(format!("{session}: the last prompt was refused: {fault}"));
                    }
                }
            }
        }
        Err(format!("{session} is wedged: a turn never ends"))
    }

    /// People take their time, but not for ever: nobody else's clock would end what waits for them.
    async fn answer_all(&mut self, last: usize, session: &SessionId) -> Result<(), String> {
        for (at, session, editor_request, result) in std::mem::take(&mut self.heard.undone) {
            let verb = SessionVerb::EditorReplied { editor_request, result };
            self.send(at, Some(&session), Verb::Session(verb), |_| {});
        }
        let asks = open_asks(&self.ground.store.entries(session));
        if asks.is_empty() {
            return Ok(());
        }
        for (ask, kind, _) in asks {
            if let AskKind::HostCall { tool, .. } = &kind {
                let tools = vec![host_tool(tool)];
                self.send(last, Some(session), Verb::Session(SessionVerb::OfferTools { tools }), |_| {});
            }
            let is_hosted = matches!(kind, AskKind::HostCall { .. });
            let answer = if is_hosted { hosted() } else { Answer::Deny(None) };
            for at in 0..self.residents.len() {
                let is_its = at == last || is_hosted && self.residents[at].view.is_on(session);
                if is_its && self.residents[at].is_here() {
                    let verb = SessionVerb::Answer { ask: ask.clone(), answer: answer.clone() };
                    self.send(at, Some(session), Verb::Session(verb), |_| {});
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
        }
        self.look().await
    }

    /// Whether it came to its end, and everything behind it did.
    async fn last_turn(&mut self, at: usize, session: &SessionId, turn: &TurnId) -> Result<bool, String> {
        for _ in 0..LAST_TRIES {
            tokio::time::sleep(Duration::from_secs(5)).await;
            self.look().await?;
            let log = self.ground.store.entries(session);
            let end = log.iter().find_map(|entry| match &entry.body {
                Body::Turn(TurnEntry::Ended(end)) if end.turn == *turn => Some(end.stop),
                _ => None,
            });
            match end {
                None => {}
                Some(Stop::EndTurn) => return self.is_empty(at, session).await.map(|()| true),
                Some(Stop::Error) if is_stalled(&log, turn) => return Ok(false),
                Some(stop) => return Err(format!("{session}: the last turn ended with {stop:?}")),
            }
        }
        Err(format!("{session}: the last turn never ends"))
    }

    /// What waited has run by now.
    async fn is_empty(&mut self, at: usize, session: &SessionId) -> Result<(), String> {
        tokio::time::sleep(AT_REST).await;
        self.look().await?;
        self.answer_all(at, session).await?;
        let list = Verb::Session(SessionVerb::Queue(QueueVerb::List));
        let tag = self.send(at, Some(session), list, |_| {}).ok_or("no command is taken")?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        self.look().await?;
        match self.reply_to(at, tag) {
            Some(Ok(Reply::Queue(items))) if items.is_empty() => Ok(()),
            other => Err(format!("{session}: the last list is {other:?}")),
        }
    }

    /// Everybody has all their answers and knows how things stand; when they go, nothing stays in memory.
    async fn comes_to_rest(&mut self) -> Result<(), String> {
        tokio::time::sleep(AT_REST).await;
        self.look().await?;
        let (id, engine) = (self.processes[0].id, self.processes[0].engine.clone());
        self.check_answered(id)?;
        self.check_watchers(&engine.live())?;
        for at in 0..self.residents.len() {
            let view = &self.residents[at].view;
            if !view.is_watching() {
                self.residents[at].goes();
                continue;
            }
            let on: Vec<SessionId> = self.sessions.iter().filter(|session| view.is_on(session)).cloned().collect();
            for session in on {
                self.send(at, Some(&session), Verb::Leave, |_| {});
            }
        }
        tokio::time::sleep(OUT_OF_MEMORY).await;
        self.look().await?;
        match engine.live().as_slice() {
            [] => self.check_watchers(&[]),
            left => Err(format!("nobody is here, nothing runs, and {left:?} stay in memory")),
        }
    }

    /// Whoever watches was told last how each session stands, or that it is not in memory any more.
    fn check_watchers(&self, live: &[SessionId]) -> Result<(), String> {
        let logs = self.logs();
        for resident in self.residents.iter().filter(|it| it.is_here()) {
            for (session, standpoint) in &resident.view.sessions {
                let Some(level) = resident.view.watches(session) else { continue };
                let last = logs.get(session).map_or(0, Vec::len) as u64;
                let is_so = match &standpoint.stands {
                    Some(WatchEvent::Stands(glance)) => {
                        let is_idle = glance.turn.is_none() && glance.asks == 0 && glance.waiting == 0;
                        live.contains(session) && is_idle && glance.last_seq == last
                    }
                    _ => !live.contains(session),
                };
                if !is_so {
                    let (name, stands) = (resident.name, &standpoint.stands);
                    return Err(format!(
                        "peer {name} watches {session} at {level:?}: {stands:?}, its log is at {last}"
                    ));
                }
            }
        }
        Ok(())
    }
}
