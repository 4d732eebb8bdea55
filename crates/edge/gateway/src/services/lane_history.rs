//! Runs that were, from what is written to logs. A ring: nothing grows with uptime.

use std::collections::{BTreeMap, HashMap, hash_map};
use std::sync::Arc;

use dialect_gateway::services::lane_history::{LaneHistoryParams, LaneHistoryResult, LaneRun, RunOutcome};
use dialect_gateway::{EndOfRun, GatewayRefusal};
use vocab::{Body, CallEntry, CutBy, Entry, ItemEnd, ItemId, QueueEntry, SessionId, TurnEntry, TurnId};

use super::{SharedServices, lock, refused};

/// Runs that are remembered; of more the oldest go.
const RUNS_MAX: usize = 5_000;
/// Messages that wait whose beginning is remembered; of runs of further ones it is not told how long they waited.
const WAITING_MAX: usize = 10_000;
/// Titles of sessions that are not in memory, looked up for one answer; further ones are left out.
const TITLES_LOOKED_UP_MAX: usize = 200;
const MINUTE_MS: i64 = 60_000;

#[derive(Default)]
pub(super) struct RunHistory {
    /// By their number, in the order in which they began.
    runs: BTreeMap<u64, KeptRun>,
    made: u64,
    /// The run that each session is in.
    open: HashMap<SessionId, u64>,
    waiting: HashMap<(SessionId, ItemId), i64>,
}

#[derive(Clone)]
struct KeptRun {
    session: SessionId,
    turn: TurnId,
    queued_ms: Option<i64>,
    started_ms: i64,
    ended_ms: Option<i64>,
    cut: Option<CutBy>,
    state: RunOutcome,
    tools: u64,
}

impl RunHistory {
    pub(super) fn count(&mut self, session: &SessionId, entry: &Entry) {
        match &entry.body {
            Body::Turn(TurnEntry::Started { turn }) => self.started(session, turn, entry.at_ms),
            Body::Turn(TurnEntry::Ended(end)) => {
                if let hash_map::Entry::Occupied(open) = self.open.entry(session.clone())
                    && let Some(run) = self.runs.get_mut(open.get()).filter(|run| run.turn == end.turn)
                {
                    (run.state, run.ended_ms) = (EndOfRun::of(end.stop, run.cut).outcome(), Some(entry.at_ms));
                    open.remove();
                }
            }
            Body::Turn(TurnEntry::Cut { turn, why, .. }) => {
                let run = self.run_of(session).filter(|run| run.turn == *turn);
                run.into_iter().for_each(|run| run.cut = Some(*why));
            }
            Body::Call(CallEntry::Started { .. }) => {
                self.run_of(session).into_iter().for_each(|run| run.tools += 1);
            }
            Body::Queue(QueueEntry::Queued(item)) if self.waiting.len() < WAITING_MAX => {
                self.waiting.insert((session.clone(), item.id.clone()), entry.at_ms);
            }
            Body::Queue(QueueEntry::Settled { item, end, .. }) => {
                let queued_ms = self.waiting.remove(&(session.clone(), item.clone()));
                let Some(queued_ms) = queued_ms.filter(|_| *end == ItemEnd::Consumed) else { return };
                // One that came after the start was put into the run, and did not begin it.
                if let Some(run) = self.run_of(session).filter(|run| queued_ms <= run.started_ms) {
                    run.queued_ms = Some(run.queued_ms.map_or(queued_ms, |known| known.min(queued_ms)));
                }
            }
            _ => {}
        }
    }

    fn started(&mut self, session: &SessionId, turn: &TurnId, at_ms: i64) {
        self.made += 1;
        // One whose end was never written is over when the next one begins.
        let lost = self.open.insert(session.clone(), self.made);
        if let Some(lost) = lost.and_then(|number| self.runs.get_mut(&number)) {
            lost.state = RunOutcome::Error;
        }
        let run = KeptRun {
            session: session.clone(),
            turn: turn.clone(),
            queued_ms: None,
            started_ms: at_ms,
            ended_ms: None,
            cut: None,
            state: RunOutcome::Running,
            tools: 0,
        };
        self.runs.insert(self.made, run);
        if self.runs.len() > RUNS_MAX
            && let Some((number, oldest)) = self.runs.pop_first()
            && self.open.get(&oldest.session) == Some(&number)
        {
            self.open.remove(&oldest.session);
        }
    }

    fn run_of(&mut self, session: &SessionId) -> Option<&mut KeptRun> {
        self.runs.get_mut(self.open.get(session)?)
    }

    /// A session that is deleted leaves nothing behind.
    pub(super) fn forget(&mut self, session: &SessionId) {
        self.runs.retain(|_, run| run.session != *session);
        self.open.remove(session);
        self.waiting.retain(|(of, _), _| of != session);
    }

    /// Those that were under way at this time or later, the newest first.
    fn since(&self, from_ms: i64, limit: usize) -> Vec<KeptRun> {
        let is_in = |run: &&KeptRun| run.state == RunOutcome::Running || run.last_ms() >= from_ms;
        self.runs.values().rev().filter(is_in).take(limit).cloned().collect()
    }

    /// How far back all is known, where something was forgotten.
    fn forgotten_until(&self) -> Option<i64> {
        (self.runs.len() == RUNS_MAX).then(|| self.runs.values().next().map(|run| run.started_ms)).flatten()
    }
}

impl KeptRun {
    fn last_ms(&self) -> i64 {
        self.ended_ms.unwrap_or(self.started_ms)
    }
}

/// The session of a run that is remembered, or that goes on from an earlier process.
pub(super) fn session_of(services: &SharedServices, turn: &TurnId) -> Option<SessionId> {
    let known = lock(&services.counts.0.history).runs.values().rev().find(|run| run.turn == *turn).cloned();
    known.map(|run| run.session).or_else(|| {
        let mut all = services.board.all().into_iter();
        all.find(|(_, glance)| glance.turn.as_ref() == Some(turn)).map(|(session, _)| session)
    })
}

pub(super) async fn history(
    services: &SharedServices,
    params: LaneHistoryParams,
) -> Result<LaneHistoryResult, GatewayRefusal> {
    let from_ms = services.now_ms() - params.window_minutes.0 * MINUTE_MS;
    let (kept, forgotten) = {
        let history = lock(&services.counts.0.history);
        (history.since(from_ms, params.limit.size()), history.forgotten_until())
    };
    let mut titles: HashMap<SessionId, Option<Arc<str>>> = HashMap::new();
    let (mut looked_up, mut runs) = (0, Vec::with_capacity(kept.len()));
    for run in kept {
        if !titles.contains_key(&run.session) {
            let title = match services.board.glance(&run.session) {
                Some(glance) => glance.title.clone(),
                None if looked_up < TITLES_LOOKED_UP_MAX => {
                    looked_up += 1;
                    let summary = services.parts.store.summary(&run.session).await.map_err(refused)?;
                    summary.and_then(|summary| summary.title)
                }
                None => None,
            };
            titles.insert(run.session.clone(), title);
        }
        runs.push(LaneRun {
            title: titles.get(&run.session).cloned().flatten(),
            session_id: run.session.to_string(),
            run_id: run.turn.to_string(),
            queued_at: run.queued_ms,
            started_at: run.started_ms,
            ended_at: run.ended_ms,
            state: run.state,
            tools: run.tools,
        });
    }
    Ok(LaneHistoryResult { since: forgotten.unwrap_or(services.started_ms), runs })
}

#[cfg(test)]
mod tests {
    use vocab::{Delivery, Item, SettleReason, Stop, TurnEnd, Usage};

    use super::*;
    use crate::services::counters::Counters;

    struct Told(RunHistory, u64);

    impl Told {
        fn hear(&mut self, session: &str, at_ms: i64, body: Body) {
            self.1 += 1;
            let entry = Entry { seq: self.1, parent: self.1 - 1, at_ms, by: None, body };
            self.0.count(&SessionId::from(session), &entry);
        }
        fn start(&mut self, session: &str, at_ms: i64, turn: &str) {
            self.hear(session, at_ms, Body::Turn(TurnEntry::Started { turn: turn.into() }));
        }
        fn end(&mut self, session: &str, at_ms: i64, turn: &str, stop: Stop) {
            let end = TurnEnd {
                turn: turn.into(),
                stop,
                iterations: 0,
                usage: Usage::default(),
                mutations: Vec::new(),
                fault: None,
            };
            self.hear(session, at_ms, Body::Turn(TurnEntry::Ended(end)));
        }
        fn queued(&mut self, session: &str, at_ms: i64, item: &str) {
            let item = Item {
                id: item.into(),
                parts: Vec::new(),
                delivery: Delivery::FollowUp,
                at_ms,
                sender: None,
                by: None,
                until_ms: None,
            };
            self.hear(session, at_ms, Body::Queue(QueueEntry::Queued(item)));
        }
        fn taken(&mut self, session: &str, at_ms: i64, item: &str) {
            let (item, why) = (item.into(), Some(SettleReason::Ran));
            self.hear(session, at_ms, Body::Queue(QueueEntry::Settled { item, end: ItemEnd::Consumed, why }));
        }
    }

    #[test]
    fn a_run_knows_since_when_it_waited_and_how_it_ended() {
        let mut told = Told(RunHistory::default(), 0);
        told.start("a", 100, "t1");
        told.queued("a", 150, "late");
        told.taken("a", 160, "late");
        told.queued("a", 200, "next");
        told.end("a", 300, "t1", Stop::EndTurn);
        told.start("a", 310, "t2");
        told.taken("a", 311, "next");
        told.start("b", 320, "t3");
        told.end("b", 330, "t3", Stop::Error);
        let shown: Vec<_> = told.0.since(0, 9).iter().map(|it| (it.turn.to_string(), it.queued_ms, it.state)).collect();
        assert_eq!(
            shown,
            [
                ("t3".to_owned(), None, RunOutcome::Error),
                ("t2".to_owned(), Some(200), RunOutcome::Running),
                ("t1".to_owned(), None, RunOutcome::Complete),
            ],
            "what was steered into a run did not begin it"
        );
        assert_eq!(told.0.since(301, 9).len(), 2, "one that runs is there however long ago it began");
        told.start("a", 400, "t4");
        assert_eq!(told.0.since(0, 9)[2].state, RunOutcome::Error, "its end was never written");
        told.0.forget(&SessionId::from("a"));
        assert_eq!(told.0.since(0, 9).len(), 1);
    }

    #[test]
    fn a_run_ended_here_as_its_client_was_told() {
        let cases = [
            (Stop::EndTurn, None, RunOutcome::Complete),
            (Stop::MaxTokens, None, RunOutcome::Complete),
            (Stop::Budget, None, RunOutcome::Error),
            (Stop::Interrupted, None, RunOutcome::Cancelled),
            (Stop::Interrupted, Some(CutBy::Newer), RunOutcome::Cancelled),
            (Stop::Interrupted, Some(CutBy::Stalled), RunOutcome::Error),
        ];
        for (stop, cut, want) in cases {
            let (mut told, mut counters) = (Told(RunHistory::default(), 0), Counters::default());
            told.start("a", 1, "t");
            let cut = cut.map(|why| Body::Turn(TurnEntry::Cut { turn: "t".into(), why, item: None }));
            cut.iter().for_each(|cut| told.hear("a", 2, cut.clone()));
            told.end("a", 3, "t", stop);
            assert_eq!(told.0.since(0, 9)[0].state, want, "{stop:?} {cut:?}");
            let end = TurnEnd {
                turn: "t".into(),
                stop,
                iterations: 0,
                usage: Usage::default(),
                mutations: Vec::new(),
                fault: None,
            };
            for body in cut.into_iter().chain([Body::Turn(TurnEntry::Ended(end))]) {
                counters.count(&"a".into(), &Entry { seq: 1, parent: 0, at_ms: 3, by: None, body });
            }
            let counted = counters.shown(0, 0, 0).run_states;
            let counted = [counted.complete, counted.cancelled, counted.error];
            let want = [RunOutcome::Complete, RunOutcome::Cancelled, RunOutcome::Error].map(|it| u64::from(it == want));
            assert_eq!(counted, want, "{stop:?}");
        }
    }

    #[test]
    fn the_ring_has_a_bound_and_says_how_far_back_it_goes() {
        let mut told = Told(RunHistory::default(), 0);
        for number in 0..RUNS_MAX as i64 + 10 {
            told.start(&format!("s{number}"), number, "t");
            told.queued(&format!("s{number}"), number, "i");
        }
        (0..WAITING_MAX as i64).for_each(|number| told.queued("x", number, &number.to_string()));
        assert_eq!((told.0.runs.len(), told.0.open.len(), told.0.waiting.len()), (RUNS_MAX, RUNS_MAX, WAITING_MAX));
        assert_eq!(told.0.forgotten_until(), Some(10));
    }
}
