//! Checkpoints that no connection asks for: of runs that nobody waits for, because their client is gone, they went on after a
//! restart, or they came by another dialect. How sessions stand is heard from the board, and where a run was over with its
//! context nearly full the log is asked how it ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dialect_gateway::EndOfRun;
use tokio::sync::mpsc;
use vocab::{Body, Glance, SessionId, TurnEntry, TurnId};

use super::{CheckpointRules, SharedServices, write};

/// Runs that were over and are not looked at yet; of more the next run of their session brings the checkpoint.
const UNSEEN_MAX: usize = 256;

/// Entries at the end of a log among which the end of its newest run is looked for.
const LAST_ENTRIES: usize = 32;

/// Fuller than any context.
const NEVER: u64 = u64::MAX;

/// Hears of runs that are over, and passes on those whose contexts are nearly full.
pub(in crate::services) struct FullRuns {
    /// In tenths of a percent, as the settings have it now.
    from: AtomicU64,
    unseen: mpsc::Sender<SessionId>,
}

impl FullRuns {
    pub(in crate::services) fn new(rules: &CheckpointRules) -> (Arc<Self>, mpsc::Receiver<SessionId>) {
        let (unseen, seen) = mpsc::channel(UNSEEN_MAX);
        let runs = Self { from: AtomicU64::new(NEVER), unseen };
        runs.settle(rules);
        (Arc::new(runs), seen)
    }

    pub(in crate::services) fn settle(&self, rules: &CheckpointRules) {
        let from = rules.from_pct.map_or(NEVER, |pct| (pct * 10.0).round() as u64);
        self.from.store(from, Ordering::Relaxed);
    }

    /// How a session stood, and stands now. What a sub-agent was about its parent knows.
    pub(in crate::services) fn hear(&self, session: &SessionId, before: Option<&Glance>, now: &Glance) {
        if now.child_of.is_none() && self.is_full(now) && is_run_over(before, now) {
            let _ = self.unseen.try_send(session.clone());
        }
    }

    fn is_full(&self, now: &Glance) -> bool {
        let (used, window) = (u128::from(now.context_tokens), u128::from(now.context_window));
        window > 0 && used * 1000 >= window * u128::from(self.from.load(Ordering::Relaxed))
    }
}

/// Several steps may have become one word: a run that was short was never seen running.
fn is_run_over(before: Option<&Glance>, now: &Glance) -> bool {
    match before {
        Some(before) => now.last_seq > before.last_seq && (now.turn.is_none() || before.turn != now.turn),
        None => now.turn.is_none() && now.usage.output > 0,
    }
}

/// Until the services are gone.
pub(in crate::services) fn writing(services: &Arc<SharedServices>, mut runs: mpsc::Receiver<SessionId>) {
    let kept = Arc::downgrade(services);
    tokio::spawn(async move {
        while let Some(session) = runs.recv().await {
            let Some(services) = kept.upgrade() else { return };
            if let Some(turn) = newest_complete(&services, &session).await {
                // What went wrong stands in the log.
                let _ = write(&services, session, turn).await;
            }
        }
    });
}

/// The newest run, where it is over and was neither stopped nor failed.
async fn newest_complete(services: &SharedServices, session: &SessionId) -> Option<TurnId> {
    let store = &services.parts.store;
    let last_seq = store.summary(session).await.ok()??.last_seq;
    let after = last_seq.saturating_sub(LAST_ENTRIES as u64);
    let entries = store.read(session, after, LAST_ENTRIES).await.ok()?.entries;
    let newest = entries.iter().rev().find_map(|entry| match &entry.body {
        Body::Turn(TurnEntry::Started { .. }) => Some(None),
        Body::Turn(TurnEntry::Ended(end)) => Some(Some(end)),
        _ => None,
    });
    let end = newest.flatten()?;
    // Nothing that cuts a run makes it complete.
    (EndOfRun::of(end.stop, None) == EndOfRun::Complete).then(|| end.turn.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stands(turn: Option<&str>, last_seq: u64) -> Glance {
        let turn = turn.map(Into::into);
        Glance { turn, last_seq, context_tokens: 850, context_window: 1000, ..crate::services::board::tests::quiet() }
    }

    #[test]
    fn what_is_full_the_settings_say() {
        for (from_pct, tokens, is_full) in
            [(Some(85.0), 850, true), (Some(85.0), 849, false), (None, 1000, false), (Some(0.0), 0, true)]
        {
            let rules = CheckpointRules { from_pct, cooldown_ms: 0, namespace: "n".into() };
            let (runs, _over) = FullRuns::new(&rules);
            let now = Glance { context_tokens: tokens, ..stands(None, 1) };
            assert_eq!(runs.is_full(&now), is_full, "{from_pct:?} {tokens}");
        }
    }

    #[test]
    fn a_run_is_over_though_it_was_never_seen_or_another_has_begun() {
        for (before, now, is_over) in [
            (stands(Some("t1"), 5), stands(None, 7), true),
            (stands(None, 5), stands(None, 9), true),
            (stands(Some("t1"), 5), stands(Some("t2"), 9), true),
            (stands(Some("t1"), 5), stands(Some("t1"), 9), false),
            (stands(None, 5), stands(None, 5), false),
        ] {
            assert_eq!(is_run_over(Some(&before), &now), is_over, "{before:?} {now:?}");
        }
        assert!(!is_run_over(None, &stands(None, 5)), "it came into memory, and nothing was done there");
    }
}
