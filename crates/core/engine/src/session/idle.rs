//! A session that nobody uses. After its last peer left it lingers: everything goes on. Then it is unloaded: its tools and
//! servers end, and what can be read or made again goes. Then it is parked: its task ends, and a few settings are all
//! that is kept of it ([`Parked`]). Whoever comes in the meantime finds everything as it was.
//!
//! With peers on it a session that has nothing to do for a while lets go of the model's view, and of nothing else.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::time::{Duration, Instant, Sleep};
use vocab::Fault;

use super::Session;
use super::mcp::Mcp;
use crate::idle::{IdlePolicy, PARKED_ALLOWS_BYTES_MAX, Parked, ReadyPlace};

/// A session that lingers and cannot be unloaded yet is looked at again after its linger time, and not sooner than this.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum IdleStage {
    /// Somebody is here, or something runs.
    #[default]
    Used,
    Lingers,
    Unloaded,
    /// It was unloaded for long enough.
    ParkDue,
    /// It is to end now and to leave nothing behind.
    Dismissed,
}

/// How far a session is on its way out of memory.
#[derive(Default)]
pub(super) struct Idleness {
    stage: IdleStage,
    /// When the next step is due, or a look whether the view is still used.
    timer: Option<Pin<Box<Sleep>>>,
    /// From when it lingers until it is parked.
    place: Option<ReadyPlace>,
    /// Its place was needed for another.
    is_crowded: bool,
    /// When a peer last wanted something.
    used_at: Option<Instant>,
}

impl Idleness {
    pub(super) fn poll_due(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Some(place) = &mut self.place
            && Pin::new(place).poll(context).is_ready()
        {
            (self.place, self.is_crowded) = (None, true);
            return Poll::Ready(());
        }
        let Some(timer) = &mut self.timer else { return Poll::Pending };
        if timer.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        self.timer = None;
        Poll::Ready(())
    }
    fn go_to(&mut self, stage: IdleStage, stays: Duration) {
        self.stage = stage;
        self.timer = Some(Box::pin(tokio::time::sleep(stays)));
    }
    pub(super) fn is_dismissed(&self) -> bool {
        self.stage == IdleStage::Dismissed
    }
    /// Ends it at the next opportunity, without a way back but its log.
    pub(super) fn dismiss(&mut self) {
        self.stage = IdleStage::Dismissed;
    }
}

impl Session {
    /// A child ends with the call it works for.
    fn idle_policy(&self) -> Option<IdlePolicy> {
        self.shared.idle.filter(|_| self.subagents.child_of.is_none())
    }

    /// Somebody wants something: whatever was let go is there again. Costs nothing where nothing was.
    pub(super) fn wake(&mut self) -> Result<(), Fault> {
        let Some(_) = self.idle_policy() else { return Ok(()) };
        match self.idle.stage {
            IdleStage::Used | IdleStage::Dismissed => {}
            IdleStage::Lingers => self.idle = Idleness::default(),
            IdleStage::Unloaded | IdleStage::ParkDue => {
                let toolbox = &self.shared.ports.toolbox;
                let own = toolbox.open(&self.id, &self.settings.workspace)?;
                self.tools.open(own, toolbox.gadgets());
                self.idle = Idleness::default();
                // Who comes in without being a peer, as extensions do, works with them, too.
                self.start_own_servers();
            }
        }
        self.idle.used_at = Some(Instant::now());
        Ok(())
    }

    /// Nothing runs and nothing is unwritten. Whether the session can end now, because it is no more needed in memory and no
    /// router can find it in the registry any more.
    pub(super) fn retire(&mut self) -> bool {
        if self.idle.is_dismissed() {
            return true;
        }
        let Some(policy) = self.idle_policy() else { return self.is_deserted() && self.close_if_unheard() };
        if !self.is_deserted() {
            if self.idle.timer.is_none() && self.view.is_loaded() {
                self.idle.go_to(IdleStage::Used, policy.unload_after);
            }
            return false;
        }
        match self.idle.stage {
            IdleStage::Used => {
                self.idle.go_to(IdleStage::Lingers, policy.linger);
                self.idle.place = Some(self.shared.ready.enter(policy.ready_max));
            }
            IdleStage::ParkDue => return self.close_if_unheard(),
            IdleStage::Lingers | IdleStage::Unloaded | IdleStage::Dismissed => {}
        }
        false
    }

    /// The time of a stage is over.
    pub(super) fn idle_due(&mut self) {
        let Some(policy) = self.idle_policy() else { return };
        if std::mem::take(&mut self.idle.is_crowded) {
            return self.give_way();
        }
        match self.idle.stage {
            IdleStage::Used => self.unload_if_unused(policy.unload_after),
            IdleStage::Lingers if !self.is_deserted() || !self.can_end() => self.idle.stage = IdleStage::Used,
            IdleStage::Lingers if !self.is_expendable() => {
                self.idle.go_to(IdleStage::Lingers, policy.linger.max(LOOK_AGAIN));
            }
            IdleStage::Lingers => {
                self.unload();
                self.idle.go_to(IdleStage::Unloaded, policy.park_after);
            }
            IdleStage::Unloaded => self.idle.stage = IdleStage::ParkDue,
            IdleStage::ParkDue | IdleStage::Dismissed => {}
        }
    }

    /// Other sessions were used since, too many to keep them all ready: this one goes now if nobody can tell the difference.
    fn give_way(&mut self) {
        let is_needed = !self.is_deserted() || !self.can_end() || !self.is_expendable() || self.tools.are_at_work();
        match self.idle.stage {
            IdleStage::Lingers if !is_needed && self.mcp.starting.is_empty() => {
                self.unload();
                self.idle.stage = IdleStage::ParkDue;
            }
            IdleStage::Unloaded => self.idle.stage = IdleStage::ParkDue,
            IdleStage::Used | IdleStage::Lingers | IdleStage::ParkDue | IdleStage::Dismissed => {}
        }
    }

    /// Nobody waits for an answer, and no message waits that would start by itself. Those that rest are in the log, and wake
    /// with the next message wherever that comes in.
    fn is_expendable(&self) -> bool {
        let queue = &self.prompts.queue;
        self.approvals.is_empty() && (!queue.wants_turn() || queue.rests())
    }

    /// Peers are here and want nothing. The next one who does waits for the log to be read.
    fn unload_if_unused(&mut self, unload_after: Duration) {
        let used_at = self.activity.moved_at().max(self.idle.used_at.unwrap_or_else(|| self.activity.moved_at()));
        let left = (used_at + unload_after).saturating_duration_since(Instant::now());
        // Whoever is busy sets the timer again when it is done.
        if self.can_end() && !self.jobs.is_awaited() && self.prompts.queue.due().is_none() {
            match left.is_zero() {
                true => self.let_view_go(),
                false => self.idle.go_to(IdleStage::Used, left),
            }
        }
    }

    fn let_view_go(&mut self) {
        self.view.unload();
        self.view.forget_sent();
        self.tools.forget_spec();
    }

    /// Everything that can be read or made again goes, and whatever runs for nobody ends.
    fn unload(&mut self) {
        self.let_view_go();
        self.tools.close();
        self.mcp = Mcp::default();
        self.log.shrink();
    }

    /// What is to be known of a session that was parked, for the one that takes its place.
    pub(super) fn parked(&mut self) -> Option<Box<Parked>> {
        (self.idle.stage == IdleStage::ParkDue && !self.activity.is_over).then(|| {
            let remembered = std::mem::take(&mut self.approvals.remembered).within(PARKED_ALLOWS_BYTES_MAX);
            Box::new(Parked { settings: self.settings.clone(), remembered, last_seq: self.log.committed() })
        })
    }
}
