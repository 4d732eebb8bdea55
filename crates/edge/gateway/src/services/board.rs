//! How every session in memory stands: one watch of the engine, kept here, so that lists and lanes cost no session anything.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use dialect_gateway::services::sessions::{SessionLane, SessionNews};
use dialect_gateway::services::system::{LaneRow, LaneState, LanesResult};
use dialect_gateway::{TOOL_NAMES, Topic};
use engine::{Engine, Slow};
use vocab::{Command, Event, Glance, Level, SessionId, Tag, Target, Told, Verb, WatchEvent, Watched};

use super::checkpoints::FullRuns;
use super::news::NewsLog;
use super::{GatewayCounts, json, lock};

#[derive(Default)]
pub(super) struct Board {
    standing: Mutex<HashMap<SessionId, Arc<Glance>>>,
}

impl Board {
    /// Follows the engine until it ends.
    pub(super) fn watching(
        engine: &Engine,
        news: Arc<NewsLog>,
        counts: GatewayCounts,
        full_runs: Arc<FullRuns>,
    ) -> Arc<Self> {
        let board = Arc::new(Self::default());
        let kept = Arc::downgrade(&board);
        let peer = engine.connect(Slow::Wait);
        tokio::spawn(async move {
            let verb = Verb::Watch { sessions: Watched::All, level: Level::Summaries };
            peer.submit(Command::of(Tag(0), Target::Current, verb)).await;
            let mut told = Vec::new();
            while peer.events(&mut told).await {
                let Some(board) = kept.upgrade() else { return };
                for told in told.drain(..) {
                    board.hear(told, &news, &counts, &full_runs);
                }
            }
        });
        board
    }

    fn hear(&self, told: Told, news: &NewsLog, counts: &GatewayCounts, full_runs: &FullRuns) {
        let session = told.session;
        match told.event {
            Event::Watch(WatchEvent::Stands(glance)) => {
                let before = lock(&self.standing).insert(session.clone(), glance.clone());
                full_runs.hear(&session, before.as_deref(), &glance);
                // What is written to it touches it from then on.
                if before.is_none() {
                    lock(&counts.0.touched).touch(&session, None);
                }
                if before.as_ref().is_none_or(|before| is_otherwise(before, &glance)) {
                    tell_lane(news, &session, &glance);
                }
                if before.is_none_or(|before| before.title != glance.title || before.last_seq != glance.last_seq) {
                    tell_session(news, &session, &glance, true);
                }
            }
            Event::Watch(WatchEvent::Ended) => {
                if let Some(glance) = lock(&self.standing).remove(&session) {
                    let idle = Glance {
                        turn: None,
                        awaits_place: false,
                        can_stall: false,
                        asks: 0,
                        waiting: 0,
                        started_ms: None,
                        oldest_wait_ms: None,
                        tool: None,
                        peers: 0,
                        ..(*glance).clone()
                    };
                    tell_lane(news, &session, &idle);
                    tell_session(news, &session, &glance, false);
                }
            }
            // What was left out comes with the next word about it.
            _ => {}
        }
    }

    pub(super) fn glance(&self, session: &SessionId) -> Option<Arc<Glance>> {
        lock(&self.standing).get(session).cloned()
    }

    /// Turns that run and have their place, and messages that wait.
    pub(super) fn load(&self) -> (u64, u64) {
        let standing = lock(&self.standing);
        let running = standing.values().filter(|glance| glance.turn.is_some() && !glance.awaits_place).count();
        (running as u64, standing.values().map(|glance| glance.waiting as u64).sum())
    }

    /// Those that work first, then by name.
    pub(super) fn lanes(&self, limit: usize, now_ms: i64, stall_ms: u64) -> LanesResult {
        let mut all: Vec<(SessionId, Arc<Glance>)> =
            lock(&self.standing).iter().map(|(session, glance)| (session.clone(), glance.clone())).collect();
        all.sort_by(|(one, its), (two, others)| {
            (its.turn.is_none(), its.waiting == 0, one).cmp(&(others.turn.is_none(), others.waiting == 0, two))
        });
        let total = all.len() as u64;
        let rows = all.iter().take(limit).map(|(session, glance)| lane_row(session, glance, Some((now_ms, stall_ms))));
        LanesResult { lanes: rows.collect(), total }
    }

    pub(super) fn all(&self) -> Vec<(SessionId, Arc<Glance>)> {
        let mut all: Vec<_> =
            lock(&self.standing).iter().map(|(session, glance)| (session.clone(), glance.clone())).collect();
        all.sort_by(|(one, _), (two, _)| one.cmp(two));
        all
    }
}

fn tell_lane(news: &NewsLog, session: &SessionId, glance: &Glance) {
    news.tell(Topic::Lanes, Some(session), "lane", || json(&lane_row(session, glance, None)));
}

fn tell_session(news: &NewsLog, session: &SessionId, glance: &Glance, live: bool) {
    news.tell(Topic::Sessions, Some(session), "session", || json(&session_news(session, glance, live)));
}

fn state(glance: &Glance) -> LaneState {
    match glance {
        Glance { asks: 1.., .. } => LaneState::Asking,
        Glance { turn: Some(_), awaits_place: false, .. } => LaneState::Running,
        Glance { awaits_place: true, .. } => LaneState::Waiting,
        Glance { waiting: 1.., .. } => LaneState::Waiting,
        _ => LaneState::Idle,
    }
}

/// As a list of sessions shows it.
pub(super) fn lane(glance: &Glance) -> SessionLane {
    SessionLane {
        state: state(glance),
        depth: glance.waiting as u64,
        run_id: glance.turn.as_ref().map(ToString::to_string),
    }
}

/// Whether a lane's row has changed. When it last moved is no news.
fn is_otherwise(before: &Glance, now: &Glance) -> bool {
    fn row(glance: &Glance) -> impl PartialEq {
        let Glance { turn, waiting, peers, tool, model, title, .. } = glance;
        (state(glance), waiting, turn, peers, tool, model, title)
    }
    row(before) != row(now)
}

pub(super) fn idle() -> SessionLane {
    SessionLane { state: LaneState::Idle, depth: 0, run_id: None }
}

/// `times`: the time, and after how long without progress a run is ended.
fn lane_row(session: &SessionId, glance: &Glance, times: Option<(i64, u64)>) -> LaneRow {
    let lane = lane(glance);
    let since = |from: i64, now: i64| u64::try_from(now - from).unwrap_or(0);
    LaneRow {
        session_id: session.to_string(),
        state: lane.state,
        depth: lane.depth,
        run_id: lane.run_id,
        since: glance.started_ms,
        moved_at: glance.moved_ms,
        stall_in_ms: times
            .filter(|_| glance.can_stall)
            .map(|(now, stall_ms)| stall_ms.saturating_sub(since(glance.moved_ms, now))),
        mode: glance.lane.mode.into(),
        oldest_wait_ms: times.and_then(|(now, _)| glance.oldest_wait_ms.map(|from| since(from, now))),
        title: glance.title.clone(),
        model: Some(glance.model.clone()).filter(|model| !model.is_empty()),
        tool: glance.tool.as_ref().map(|tool| TOOL_NAMES.show(tool).to_string()),
        cwd: Some(glance.workspace.display().to_string()).filter(|path| !path.is_empty()),
        peers: glance.peers as u64,
    }
}

/// `live`: it is in memory; else what it was is not told, but for the call that it worked for.
fn session_news(session: &SessionId, glance: &Glance, live: bool) -> SessionNews {
    SessionNews {
        session_id: session.to_string(),
        live,
        deleted: None,
        title: glance.title.clone().filter(|_| live),
        last_seq: live.then_some(glance.last_seq),
        parent: glance.child_of.as_ref().map(Into::into),
    }
}

/// It is gone, whether it was in memory or not.
pub(super) fn deleted_news(session: &SessionId) -> SessionNews {
    SessionNews {
        session_id: session.to_string(),
        live: false,
        deleted: Some(true),
        title: None,
        last_seq: None,
        parent: None,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A session in which nothing happens.
    pub(in crate::services) fn quiet() -> Glance {
        Glance {
            title: None,
            model: "m".into(),
            mode: vocab::Mode::ReadOnly,
            turn: None,
            awaits_place: false,
            can_stall: false,
            asks: 0,
            waiting: 0,
            peers: 0,
            context_tokens: 0,
            usage: vocab::Usage::default(),
            last_seq: 0,
            lane: vocab::LanePolicy::default(),
            started_ms: None,
            moved_ms: 0,
            oldest_wait_ms: None,
            context_window: 1000,
            workspace: "w".into(),
            tool: None,
            child_of: None,
        }
    }

    #[test]
    fn a_turn_without_a_place_waits_and_what_has_a_clock_of_its_own_does_not_stall() {
        let runs = Glance { turn: Some("t".into()), can_stall: true, ..quiet() };
        let in_line = Glance { awaits_place: true, can_stall: false, ..runs.clone() };
        let asks = Glance { asks: 1, can_stall: false, ..runs.clone() };
        let held = Glance { waiting: 1, ..quiet() };
        let cases = [
            (quiet(), LaneState::Idle, None),
            (runs, LaneState::Running, Some(0)),
            (in_line, LaneState::Waiting, None),
            (asks, LaneState::Asking, None),
            (held, LaneState::Waiting, None),
        ];
        for (glance, state, stall_in_ms) in cases {
            let row = lane_row(&"s".into(), &glance, Some((9_000, 5_000)));
            assert_eq!((row.state, row.stall_in_ms), (state, stall_in_ms), "{glance:?}");
        }
    }
}
