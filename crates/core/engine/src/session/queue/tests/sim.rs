//! Seeded stories nobody would write by hand. After each step: never two turns, every item ends exactly once or is
//! listed, each class in order, the cap holds, and an idle lane holds nothing back that could run.

use std::collections::{BTreeMap, BTreeSet};

use vocab::{
    Coalesce, Delivery, Drain, Item, LaneMode, LanePolicy, LateSteer, Overflow, Part, PeerId, SteerPoint, Tag,
};

use super::super::*;

/// Stories per run of the tests; `LANE_SEEDS` asks for more.
const SEEDS: u64 = 10_000;
const STEPS: usize = 60;

/// splitmix64: a failing seed is a number one can write into a bug report.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % sides
    }
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len() as u64) as usize]
    }
}

struct Story {
    dice: Dice,
    queue: Queue,
    now_ms: i64,
    /// A turn, or what the lane is occupied with instead.
    turn_running: bool,
    occupied: bool,
    /// Everything that took a turn or a place in one, so far.
    turns: u64,
    offered: u64,
    ended: BTreeSet<u64>,
    /// The last item consumed, per class that promises an order.
    last: BTreeMap<u8, u64>,
    restored: bool,
}

impl Story {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let lane = Queue::new(policy(&mut dice));
        Self {
            dice,
            queue: lane,
            now_ms: 0,
            turn_running: false,
            occupied: false,
            turns: 0,
            offered: 0,
            ended: BTreeSet::new(),
            last: BTreeMap::new(),
            restored: false,
        }
    }

    fn fresh(&mut self) -> Item {
        use Delivery::*;
        let mine = [RejectIfBusy, Steer, FollowUp, Enqueue, Queue, Policy, Policy, Policy];
        self.offered += 1;
        Item {
            id: format!("{}", self.offered).into(),
            parts: vec![Part::text("x")],
            delivery: self.dice.pick(&mine),
            at_ms: self.now_ms,
            sender: Some((PeerId(self.dice.roll(2)), Tag(self.offered))),
            by: None,
            until_ms: None,
        }
    }

    fn step(&mut self) {
        self.now_ms += self.dice.roll(40) as i64;
        match self.dice.roll(20) {
            0..=8 => self.offer(),
            9..=12 if self.turn_running => self.end_turn(),
            9 => self.occupy(),
            13 | 14 => self.take_steers(),
            15 => self.take_follow_ups(),
            16 => {
                let acts = self.queue.tick(self.now_ms);
                self.carry_out(acts);
            }
            17 => {
                let acts = self.queue.interrupt();
                self.carry_out(acts);
            }
            18 => self.take_back(),
            19 => match self.dice.roll(6) {
                0 => {
                    let cleared = self.queue.clear();
                    cleared.iter().for_each(|item| self.end(item));
                }
                1 => {
                    let policy = policy(&mut self.dice);
                    let acts = self.queue.set_policy(policy, self.now_ms);
                    self.carry_out(acts);
                }
                2 => self.restart(),
                3 => {
                    self.restored = false;
                    let acts = self.queue.release(self.now_ms);
                    self.carry_out(acts);
                }
                _ => {}
            },
            _ => {}
        }
        self.check();
    }

    fn offer(&mut self) {
        let item = self.fresh();
        let (delivery, waited, cap) = (item.delivery, self.queue.list().len(), self.queue.policy().cap);
        // One that is refused because of a compaction wakes nobody.
        let turned_away = delivery == Delivery::RejectIfBusy && self.turn_running;
        if !matches!(delivery, Delivery::Steer | Delivery::FollowUp) && !turned_away {
            self.restored = false;
        }
        let acts = self.queue.offer(item, self.now_ms);
        if acts.iter().any(|act| matches!(act, QueueAct::Refuse { .. })) {
            let late = delivery == Delivery::Steer && self.drops_late() && !self.has_turn();
            assert!(self.turn_running || waited >= cap || late, "an idle lane with room refused a message");
        }
        self.carry_out(acts);
        let waits = self.queue.list().len();
        assert!(waits <= cap || waits <= waited, "{waits} wait, {waited} did, the cap is {cap}");
    }

    fn drops_late(&self) -> bool {
        self.queue.policy().late_steer == LateSteer::Dropped
    }
    fn has_turn(&self) -> bool {
        self.turn_running && !self.occupied
    }

    fn occupy(&mut self) {
        self.occupied = self.dice.roll(2) == 0;
        self.turn_running = true;
        let done = if self.occupied { self.queue.occupy() } else { self.queue.run_unasked() };
        assert_eq!(done, Ok(()));
    }

    fn end_turn(&mut self) {
        let how = self.dice.pick(&[TurnOver::Completed, TurnOver::Interrupted, TurnOver::Failed]);
        self.occupied = self.dice.roll(6) == 0;
        let acts = if self.occupied {
            self.queue.hand_over(how)
        } else {
            self.turn_running = false;
            self.queue.turn_ended(how, self.now_ms)
        };
        let started = acts.iter().position(|act| matches!(act, QueueAct::Start { .. })).unwrap_or(acts.len());
        let settled = acts.iter().rposition(|act| matches!(act, QueueAct::Settle { .. })).unwrap_or(0);
        assert!(settled <= started, "somebody is told too late: {acts:?}");
        self.carry_out(acts);
        if self.drops_late() {
            assert!(self.queue.list().all(|item| item.delivery != Delivery::Steer), "late steering waits on");
        }
    }

    fn take_steers(&mut self) {
        let (had, one) = (self.queue.has_steer(), self.queue.policy().steer_drain == Drain::OneAtATime);
        let late = self.dice.roll(2) == 0;
        let taken = if late { self.queue.take_late_steers() } else { self.queue.take_steers() };
        assert_eq!(had && !(late && self.drops_late()), !taken.is_empty());
        assert!(taken.is_empty() || self.has_turn(), "steering for nobody");
        assert!(!one || taken.len() <= 1);
        taken.iter().for_each(|item| self.consume(item, true));
    }

    fn take_follow_ups(&mut self) {
        let steer = self.queue.has_steer();
        let taken = self.queue.take_follow_ups();
        assert!(taken.is_empty() || self.has_turn() && (!steer || self.drops_late()));
        taken.iter().for_each(|item| self.consume(item, false));
    }

    fn take_back(&mut self) {
        let id = self.dice.roll(self.offered + 1);
        let listed = self.queue.list().any(|item| number(item) == id);
        match self.queue.take_back(&format!("{id}").into()) {
            Ok(item) => self.end(&item),
            Err(_) => assert!(!listed),
        }
    }

    /// The process dies; the turn is gone, what waited comes back.
    fn restart(&mut self) {
        let items: Vec<Item> = self.queue.list().cloned().collect();
        self.turn_running = false;
        self.queue = Queue::new(*self.queue.policy());
        let late = self.queue.restore(items, false);
        assert!(late.iter().all(|item| item.delivery == Delivery::Steer && self.drops_late()), "{late:?}");
        late.iter().for_each(|item| self.end(item));
        self.restored = self.queue.list().len() > 0;
    }

    fn carry_out(&mut self, acts: Vec<QueueAct>) {
        for act in acts {
            match act {
                QueueAct::Start { items, .. } => {
                    assert!(!self.turn_running, "two turns at once");
                    assert!(!items.is_empty(), "a turn of nobody");
                    self.turn_running = true;
                    self.occupied = false;
                    self.turns += 1;
                    items.iter().for_each(|item| self.consume(item, false));
                }
                QueueAct::Refuse { item, .. } => self.end(&item),
                QueueAct::Settle { item, .. } => self.end(&item),
                QueueAct::Waiting { id, position } => {
                    let at = self.queue.list().position(|item| item.id == id);
                    assert_eq!(at, Some(position - 1));
                }
                QueueAct::InterruptTurn { .. } => assert!(self.turn_running, "interrupted nobody"),
                QueueAct::Changed => {}
            }
        }
    }

    fn consume(&mut self, item: &Item, steers: bool) {
        // Collecting reorders nothing; steering overtakes an older one's backlog.
        let class = match item.delivery {
            Delivery::Policy if steers => 6,
            Delivery::Policy => 0,
            Delivery::Steer => 1,
            Delivery::FollowUp => 2,
            Delivery::Enqueue => 3,
            Delivery::Queue => 4,
            Delivery::RejectIfBusy => 5,
        };
        let before = self.last.insert(class, number(item));
        assert!(before.is_none_or(|before| before < number(item)), "{} came before {before:?}", item.id);
        self.end(item);
    }

    fn end(&mut self, item: &Item) {
        assert!(self.ended.insert(number(item)), "item {} ended twice", item.id);
    }

    fn check(&self) {
        assert_eq!(self.queue.is_busy(), self.turn_running);
        let listed: BTreeSet<u64> = self.queue.list().map(number).collect();
        assert_eq!(listed.len(), self.queue.list().len(), "listed twice");
        assert!(listed.is_disjoint(&self.ended), "listed after its end");
        assert_eq!((listed.len() + self.ended.len()) as u64, self.offered, "an item is lost");
        if self.turn_running || self.restored {
            return;
        }
        let held = |item: &&Item| match item.delivery {
            Delivery::Steer | Delivery::FollowUp => false,
            Delivery::Policy => self.queue.due().is_none_or(|due| due <= self.now_ms),
            Delivery::RejectIfBusy | Delivery::Enqueue | Delivery::Queue => true,
        };
        // A debounce that ran out since the last call is the next tick's business.
        let overdue = self.queue.list().find(held);
        assert!(overdue.is_none_or(|item| item.delivery == Delivery::Policy), "wedged with {overdue:?}");
    }

    /// Left alone with a clock, the lane must run dry.
    fn finish(&mut self) {
        self.restored = false;
        let acts = self.queue.release(self.now_ms);
        self.carry_out(acts);
        for _ in 0..=2 * self.offered {
            if !self.turn_running && self.queue.due().is_none() {
                break;
            }
            if self.turn_running {
                self.end_turn();
            } else if let Some(due) = self.queue.due() {
                assert!(due >= self.now_ms || !self.queue.list().any(wants_own_turn), "overdue and not started");
                self.now_ms = self.now_ms.max(due);
                let acts = self.queue.tick(self.now_ms);
                assert!(matches!(acts[0], QueueAct::Start { .. }), "due, and nothing started");
                self.carry_out(acts);
            }
            self.check();
        }
        assert!(!self.turn_running && self.queue.list().all(|item| !wants_own_turn(item)), "did not run dry");
    }
}

fn number(item: &Item) -> u64 {
    item.id.as_str().parse().expect("these stories number their items")
}

fn policy(dice: &mut Dice) -> LanePolicy {
    use LaneMode::*;
    LanePolicy {
        mode: dice.pick(&[Collect, Followup, Steer, SteerBacklog, Interrupt]),
        cap: dice.pick(&[1, 2, 3, 8]),
        overflow: dice.pick(&[Overflow::DropOld, Overflow::DropNew]),
        debounce_ms: dice.pick(&[0, 0, 30, 100]),
        coalesce: dice.pick(&[Coalesce::Auto, Coalesce::Always, Coalesce::Never]),
        summarise: dice.roll(2) == 0,
        steer_drain: dice.pick(&[Drain::OneAtATime, Drain::All]),
        follow_up_drain: dice.pick(&[Drain::OneAtATime, Drain::All]),
        steer_point: dice.pick(&[SteerPoint::Wait, SteerPoint::Immediate]),
        late_steer: dice.pick(&[LateSteer::Joins, LateSteer::Dropped]),
    }
}

#[test]
fn ten_thousand_stories_keep_every_promise() {
    let seeds = std::env::var("LANE_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(SEEDS);
    let (mut turns, mut items) = (0, 0);
    for seed in 0..seeds {
        let told = std::panic::catch_unwind(|| {
            let mut story = Story::new(seed);
            (0..STEPS).for_each(|_| story.step());
            story.finish();
            (story.turns, story.offered)
        });
        let Ok((more_turns, more_items)) = told else { panic!("seed {seed} broke a promise; see above") };
        turns += more_turns;
        items += more_items;
    }
    // Guards against stories in which nothing happens.
    assert!(turns > 5 * seeds && items > 20 * seeds, "{turns} turns, {items} items");
}
