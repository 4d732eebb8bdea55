//! The waiting room in front of a session's turns: who runs, who waits, who is dropped. Pure: time comes in as
//! `now_ms`, what to do comes out as [`QueueAct`]s, and nothing here knows a model, a log, a peer or a dialect.
//!
//! How items end. Those handed out by [`QueueAct::Start`], [`Queue::take_steers`], [`Queue::take_late_steers`] and
//! [`Queue::take_follow_ups`] are consumed; those handed back by [`Queue::take_back`] and [`Queue::clear`] are cancelled; every other end is an
//! [`QueueAct::Settle`]. A refused item ([`QueueAct::Refuse`]) was never in the queue. So each offered item ends once.
//!
//! `now_ms` is only ever compared with itself: a monotonic clock, not the wall clock.

mod acts;
mod dropped;
mod limits;
mod opening;
mod places;
mod restoring;
mod settling;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use vocab::{
    Coalesce, Delivery, Drain, Fault, FaultKind, Item, ItemEnd, ItemId, LaneMode, LaneNote, LanePolicy, Overflow,
    SettleReason, SteerPoint,
};

pub(crate) use acts::{QueueAct, TurnOver};
use dropped::Dropped;
pub(crate) use opening::opening;

/// Items a queue holds whatever its policy says; one more is refused with `QueueFull`.
pub(crate) const WAITING_MAX: usize = 1000;
/// A debounce that every new message starts over ends after this many of its lengths: a steady trickle waits no longer.
const DEBOUNCE_LENGTHS_MAX: i64 = 10;
/// Follow-ups that one turn takes while other messages wait for a turn of their own; the next ones come behind those.
const FOLLOW_UPS_PER_TURN_MAX: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum QueuePhase {
    Idle,
    Running,
    /// Busy with something that is no turn: there is nothing to steer.
    Occupied,
    /// A turn that was asked to stop: it takes no more steering.
    Stopping,
}

#[derive(Debug)]
struct QueuedItem {
    item: Item,
    /// Missed the turn it was meant to steer; now wants a turn of its own and steers no other.
    backlog: bool,
    /// The number that it drew when it came; none in this process.
    drawn: Option<u64>,
}

/// One session's queue. At most one turn at a time.
#[derive(Debug)]
pub(crate) struct Queue {
    policy: LanePolicy,
    phase: QueuePhase,
    /// Came back from a restart with items waiting. They may have side effects that the user does not expect any
    /// more, so the next message (or [`Queue::release`]) wakes them, not we.
    resting: bool,
    /// Steering or a follow-up came while the queue was occupied. No turn will take it up, so the end of what occupies the
    /// queue starts one.
    came_meanwhile: bool,
    /// In the order they are shown and run. An interrupting message goes to the front.
    waiting: VecDeque<QueuedItem>,
    /// When the last `Policy` item began to wait; the debounce counts from here.
    enqueued_ms: i64,
    /// When the first of those that the debounce holds began to wait.
    debounced_from_ms: i64,
    /// A turn could have a place among those that run at once, when that was looked at last.
    has_place: bool,
    drawn: u64,
    /// Follow-ups that the running turn has taken.
    joined: usize,
    dropped: Dropped,
}

impl Queue {
    pub(crate) fn new(policy: LanePolicy) -> Self {
        Self {
            policy,
            phase: QueuePhase::Idle,
            resting: false,
            came_meanwhile: false,
            waiting: VecDeque::new(),
            enqueued_ms: 0,
            debounced_from_ms: 0,
            has_place: true,
            drawn: 0,
            joined: 0,
            dropped: Dropped::default(),
        }
    }

    #[cfg(test)]
    pub(crate) fn policy(&self) -> &LanePolicy {
        &self.policy
    }
    pub(crate) fn is_busy(&self) -> bool {
        self.phase != QueuePhase::Idle
    }
    /// Somebody has stopped the running turn.
    pub(crate) fn is_stopping(&self) -> bool {
        self.phase == QueuePhase::Stopping
    }
    /// The waiting items, front first.
    pub(crate) fn list(&self) -> impl ExactSizeIterator<Item = &Item> {
        self.waiting.iter().map(|waiting| &waiting.item)
    }
    /// Something waits for a turn of its own: in an idle queue for the end of a debounce, or for a message that wakes it.
    pub(crate) fn wants_turn(&self) -> bool {
        self.waiting.iter().any(|waiting| wants_own_turn(&waiting.item))
    }
    /// How it stands to what it has no room for.
    pub(crate) fn note(&self) -> LaneNote {
        let texts = self.dropped.texts().map(Into::into).collect();
        LaneNote { policy: self.policy, dropped: self.dropped.since_idle(), texts }
    }

    /// Takes a message in, as its delivery says.
    pub(crate) fn offer(&mut self, item: Item, now_ms: i64) -> Vec<QueueAct> {
        match item.delivery {
            _ if !self.is_busy() && wants_own_turn(&item) && self.is_rested_on() => self.wake_with(item, now_ms),
            Delivery::RejectIfBusy if self.is_busy() => {
                let fault = Fault::new(FaultKind::TurnInProgress, "a turn is already running")
                    .hint("wait for it to end, interrupt it, or send the message as steering");
                vec![QueueAct::Refuse { item, fault }]
            }
            Delivery::RejectIfBusy => vec![self.start_at_once(item)],
            Delivery::Steer
                if self.drops_late_steering() && matches!(self.phase, QueuePhase::Idle | QueuePhase::Occupied) =>
            {
                let fault =
                    Fault::new(FaultKind::NothingToDo, "no turn is running").hint("send it as a message of its own");
                vec![QueueAct::Refuse { item, fault }]
            }
            Delivery::Steer | Delivery::FollowUp => self.admit(item, now_ms),
            Delivery::Policy if !self.is_busy() && !self.has_place => self.wait_for_place(item, now_ms),
            Delivery::Enqueue | Delivery::Queue | Delivery::Policy => {
                if self.is_busy() || self.waiting.iter().any(|ahead| goes_first(&ahead.item, &item)) {
                    self.admit(item, now_ms)
                } else {
                    vec![self.start_at_once(item)]
                }
            }
        }
    }

    /// Makes the queue busy with something that is no turn (a compaction), so that messages wait meanwhile. Ends with
    /// [`Queue::turn_ended`].
    pub(crate) fn occupy(&mut self) -> Result<(), Fault> {
        self.make_busy(QueuePhase::Occupied)
    }

    /// Makes the queue busy with a turn that no item asked for; it can be steered as any other.
    pub(crate) fn run_unasked(&mut self) -> Result<(), Fault> {
        self.make_busy(QueuePhase::Running)
    }

    fn make_busy(&mut self, phase: QueuePhase) -> Result<(), Fault> {
        if self.is_busy() {
            return Err(Fault::new(FaultKind::TurnInProgress, "a turn is already running"));
        }
        self.phase = phase;
        Ok(())
    }

    /// A peer wants the running turn to stop. Waiting `Queue` items are cancelled now, so that one sent after the
    /// interrupt still runs; everything else keeps waiting. Without [`QueueAct::InterruptTurn`] there was nothing to stop.
    pub(crate) fn interrupt(&mut self) -> Vec<QueueAct> {
        let mut acts = self.settle_where(ItemEnd::Cancelled, SettleReason::Interrupted, |waiting| {
            waiting.item.delivery == Delivery::Queue
        });
        self.stop(None, &mut acts);
        acts
    }

    fn stop(&mut self, item: Option<ItemId>, acts: &mut Vec<QueueAct>) {
        if matches!(self.phase, QueuePhase::Running | QueuePhase::Occupied) {
            self.phase = QueuePhase::Stopping;
            acts.push(QueueAct::InterruptTurn { item });
        }
    }

    /// The turn is over, however: settles steering that missed it and starts what is next. A no-op when idle, so a
    /// guard may call it on every way out.
    pub(crate) fn turn_ended(&mut self, how: TurnOver, now_ms: i64) -> Vec<QueueAct> {
        if !self.is_busy() {
            return Vec::new();
        }
        // The peer that stopped it wants nothing to begin by itself.
        let goes_on = std::mem::take(&mut self.came_meanwhile) && self.phase == QueuePhase::Occupied;
        let mut acts = self.settle_turn(how, QueuePhase::Idle);
        self.start_next(now_ms, &mut acts);
        if goes_on && !self.is_busy() {
            self.start_joining(&mut acts);
        }
        tidy(acts)
    }

    /// As [`Queue::turn_ended`], but something that is no turn comes before the next one: nothing starts, and the queue
    /// stays busy with that.
    pub(crate) fn hand_over(&mut self, how: TurnOver) -> Vec<QueueAct> {
        tidy(self.settle_turn(how, QueuePhase::Occupied))
    }

    /// As [`Queue::turn_ended`] for a session that is ending: nothing starts, what can wait for the next process does.
    pub(crate) fn close(&mut self) -> Vec<QueueAct> {
        tidy(self.drop_late_steering())
    }

    /// Whether steering is waiting for the running turn.
    pub(crate) fn has_steer(&self) -> bool {
        self.phase == QueuePhase::Running && self.waiting.iter().any(|waiting| self.steers(waiting))
    }

    /// Whether the rest of a batch of calls is to be skipped. The steering itself is taken when every call has its
    /// result, or the model would see a user message between a call and its result. `goes_on`: whether the model is
    /// called after the batch; nothing is skipped for steering that will be dropped.
    pub(crate) fn cuts_batch(&self, goes_on: bool) -> bool {
        let taken = goes_on || !self.drops_late_steering();
        taken && self.policy.steer_point == SteerPoint::Immediate && self.has_steer()
    }

    /// Steering for the running turn, each item a user message of its own, at a place where the model is called again
    /// anyway: the start of a turn after its user message, the end of a batch of calls.
    pub(crate) fn take_steers(&mut self) -> Vec<Item> {
        if self.phase != QueuePhase::Running {
            return Vec::new();
        }
        let (policy, most) = (self.policy, how_many(self.policy.steer_drain));
        self.take(most, |waiting| steers(&policy, waiting))
    }

    /// Steering for a turn that would end now and goes on when there is some; none where the policy has it dropped.
    pub(crate) fn take_late_steers(&mut self) -> Vec<Item> {
        if self.drops_late_steering() { Vec::new() } else { self.take_steers() }
    }

    /// Follow-ups for a turn that would end now, each item a user message of its own; none while steering waits that
    /// the turn would take first.
    pub(crate) fn take_follow_ups(&mut self) -> Vec<Item> {
        if self.phase != QueuePhase::Running || self.has_steer() && !self.drops_late_steering() {
            return Vec::new();
        }
        let room = if self.wants_turn() { FOLLOW_UPS_PER_TURN_MAX.saturating_sub(self.joined) } else { usize::MAX };
        let most = how_many(self.policy.follow_up_drain).min(room);
        let taken = self.take(most, |waiting| waiting.item.delivery == Delivery::FollowUp);
        self.joined += taken.len();
        taken
    }

    /// Gives one waiting item back to the peer that wants it out.
    pub(crate) fn take_back(&mut self, id: &ItemId) -> Result<Item, Fault> {
        let at = self.waiting.iter().position(|waiting| waiting.item.id == *id);
        at.and_then(|at| self.waiting.remove(at)).map(|waiting| waiting.item).ok_or_else(|| {
            Fault::new(FaultKind::NotFound, format!("no waiting message `{id}`"))
                .hint("it may have started already; list the queue to see what waits")
        })
    }

    /// Gives every waiting item back.
    pub(crate) fn clear(&mut self) -> Vec<Item> {
        self.waiting.drain(..).map(|waiting| waiting.item).collect()
    }

    /// Gives back what waits for a turn of its own.
    pub(crate) fn clear_turns(&mut self) -> Vec<Item> {
        self.take(WAITING_MAX, |waiting| wants_own_turn(&waiting.item))
    }

    /// Changes the rules for whatever waits and whatever comes. A smaller cap drops no item until the next message.
    pub(crate) fn set_policy(&mut self, policy: LanePolicy, now_ms: i64) -> Vec<QueueAct> {
        self.policy = policy;
        self.tick(now_ms)
    }

    /// When [`Queue::tick`] should be called: the end of a debounce that holds an idle queue back. Where none does any more it
    /// is past, and a message waits for a place ([`Queue::awaits_place`]).
    pub(crate) fn due(&self) -> Option<i64> {
        let held = !self.is_busy() && !self.resting && self.waiting.iter().any(|w| w.item.delivery == Delivery::Policy);
        held.then(|| self.debounced_until())
    }

    pub(crate) fn tick(&mut self, now_ms: i64) -> Vec<QueueAct> {
        let mut acts = Vec::new();
        self.start_next(now_ms, &mut acts);
        acts
    }

    // Taking in.

    fn admit(&mut self, item: Item, now_ms: i64) -> Vec<QueueAct> {
        let mut acts = Vec::new();
        self.resting &= !wants_own_turn(&item);
        let preempts = item.delivery == Delivery::Policy && self.policy.mode == LaneMode::Interrupt;
        if let Err(fault) = self.make_room(&item, preempts, &mut acts) {
            acts.push(QueueAct::Refuse { item, fault });
            // A full queue that was resting must wake all the same, or it would refuse for ever.
            self.start_next(now_ms, &mut acts);
            return tidy(acts);
        }
        let id = item.id.clone();
        if item.delivery == Delivery::Policy {
            let is_first = !self.waiting.iter().any(|waiting| waiting.item.delivery == Delivery::Policy);
            if is_first || now_ms < self.debounced_from_ms {
                self.debounced_from_ms = now_ms;
            }
            self.enqueued_ms = now_ms;
        }
        self.came_meanwhile |= self.phase == QueuePhase::Occupied && !wants_own_turn(&item);
        let waiting = QueuedItem { item, backlog: false, drawn: Some(self.drawn) };
        if preempts {
            self.waiting.push_front(waiting);
            self.stop(Some(id.clone()), &mut acts);
        } else {
            self.waiting.push_back(waiting);
        }
        self.start_next(now_ms, &mut acts);
        if let Some(at) = self.waiting.iter().position(|waiting| waiting.item.id == id) {
            acts.push(QueueAct::Waiting { id, position: at + 1 });
        }
        acts.push(QueueAct::Changed);
        tidy(acts)
    }

    /// Keeps the list under its cap. Only `Policy` items agreed to be dropped or superseded; where the others fill
    /// the queue, the new one is refused whatever the policy says.
    fn make_room(&mut self, item: &Item, preempts: bool, acts: &mut Vec<QueueAct>) -> Result<(), Fault> {
        let cap = self.policy.cap.clamp(1, WAITING_MAX);
        let others = self.waiting.iter().filter(|waiting| waiting.item.delivery != Delivery::Policy).count();
        let may_drop = item.delivery == Delivery::Policy && others < cap;
        if may_drop && preempts {
            acts.extend(
                self.settle_where(ItemEnd::Superseded, SettleReason::Newer, |w| w.item.delivery == Delivery::Policy),
            );
            return Ok(());
        }
        if self.waiting.len() < cap {
            return Ok(());
        }
        if may_drop && self.policy.overflow == Overflow::DropOld {
            while self.waiting.len() >= cap {
                let oldest = self.take(1, |waiting| waiting.item.delivery == Delivery::Policy);
                for item in oldest {
                    self.dropped.count(&item, self.policy.summarise);
                    acts.push(QueueAct::Settle { item, end: ItemEnd::Dropped, why: SettleReason::Overflow });
                }
            }
            acts.push(QueueAct::Changed);
            return Ok(());
        }
        if item.delivery == Delivery::Policy {
            self.dropped.count_refused(item, self.policy.summarise);
        }
        Err(Fault::new(FaultKind::QueueFull, format!("the queue is full ({cap} waiting)"))
            .hint("wait for the running turn, or take waiting messages back"))
    }

    // Starting.

    /// The idle queue's way: no item goes first, so policy does not matter.
    fn start_at_once(&mut self, item: Item) -> QueueAct {
        self.note_idleness();
        self.begin(vec![item])
    }

    /// Of an idle queue, with a message that waits for no other: drops are counted anew.
    fn note_idleness(&mut self) {
        if !self.wants_turn() {
            self.dropped.lane_was_idle();
        }
    }

    fn begin(&mut self, items: Vec<Item>) -> QueueAct {
        debug_assert!(!self.is_busy(), "a second turn was started beside the first");
        self.phase = QueuePhase::Running;
        self.resting = false;
        self.joined = 0;
        QueueAct::Start { items, note: self.dropped.take_note() }
    }

    fn start_next(&mut self, now_ms: i64, acts: &mut Vec<QueueAct>) {
        if self.is_busy() || self.resting {
            return;
        }
        let is_free = self.has_place && self.debounce_over(now_ms);
        let may_start = |waiting: &QueuedItem| {
            wants_own_turn(&waiting.item) && (is_free || waiting.item.delivery != Delivery::Policy)
        };
        let Some(at) = self.waiting.iter().position(may_start) else { return };
        let first = self.waiting.remove(at).expect("the position was just found").item;
        let mut items = vec![first];
        if items[0].delivery == Delivery::Policy && self.coalesces() {
            // Whoever sent them: a message that leaves it to the policy comes by the session's own frontend, over however
            // many connections, and each of these is told of the one turn.
            items.extend(self.take(WAITING_MAX, |waiting| waiting.item.delivery == Delivery::Policy));
        }
        acts.push(self.begin(items));
        acts.push(QueueAct::Changed);
    }

    /// A turn of what would only join one; the rest of it joins this one.
    fn start_joining(&mut self, acts: &mut Vec<QueueAct>) {
        let first = self.take(1, |waiting| !wants_own_turn(&waiting.item));
        if !first.is_empty() {
            acts.push(self.begin(first));
            acts.push(QueueAct::Changed);
        }
    }

    fn coalesces(&self) -> bool {
        self.policy.mode == LaneMode::Collect
            && match self.policy.coalesce {
                Coalesce::Auto => self.policy.debounce_ms > 0,
                Coalesce::Always => true,
                Coalesce::Never => false,
            }
    }

    fn debounced_until(&self) -> i64 {
        let debounce = i64::try_from(self.policy.debounce_ms).unwrap_or(i64::MAX);
        let longest = self.debounced_from_ms.saturating_add(debounce.saturating_mul(DEBOUNCE_LENGTHS_MAX));
        self.enqueued_ms.saturating_add(debounce).min(longest)
    }

    /// A clock that ran backwards ends the debounce too: starting early is better than not starting.
    fn debounce_over(&self, now_ms: i64) -> bool {
        now_ms >= self.debounced_until() || now_ms < self.enqueued_ms
    }

    /// Removes the first `most` that match, in order.
    fn take(&mut self, most: usize, which: impl Fn(&QueuedItem) -> bool) -> Vec<Item> {
        let mut taken = Vec::new();
        let mut at = 0;
        while at < self.waiting.len() && taken.len() < most {
            if which(&self.waiting[at]) {
                taken.extend(self.waiting.remove(at).map(|waiting| waiting.item));
            } else {
                at += 1;
            }
        }
        taken
    }

    fn steers(&self, waiting: &QueuedItem) -> bool {
        steers(&self.policy, waiting)
    }
}

fn steers(policy: &LanePolicy, waiting: &QueuedItem) -> bool {
    match waiting.item.delivery {
        Delivery::Steer => true,
        Delivery::Policy => !waiting.backlog && matches!(policy.mode, LaneMode::Steer | LaneMode::SteerBacklog),
        Delivery::RejectIfBusy | Delivery::FollowUp | Delivery::Enqueue | Delivery::Queue => false,
    }
}

/// Steering and follow-ups join a turn; the others are one.
fn wants_own_turn(item: &Item) -> bool {
    match item.delivery {
        Delivery::RejectIfBusy | Delivery::Enqueue | Delivery::Queue | Delivery::Policy => true,
        Delivery::Steer | Delivery::FollowUp => false,
    }
}

/// Whether an item that waits in an idle queue runs before a new one. A debounce holds `Policy` items only.
fn goes_first(waiting: &Item, new: &Item) -> bool {
    wants_own_turn(waiting) && (new.delivery == Delivery::Policy || waiting.delivery != Delivery::Policy)
}

fn how_many(drain: Drain) -> usize {
    match drain {
        Drain::OneAtATime => 1,
        Drain::All => usize::MAX,
    }
}

/// One [`QueueAct::Changed`], and it comes last: a peer that is told sees the list as it is then.
fn tidy(mut acts: Vec<QueueAct>) -> Vec<QueueAct> {
    let before = acts.len();
    acts.retain(|act| *act != QueueAct::Changed);
    if acts.len() < before {
        acts.push(QueueAct::Changed);
    }
    acts
}
