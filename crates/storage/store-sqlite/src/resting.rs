//! Appends that have time, before they are written. A prompt and the end of its turn are two appends of one session; where
//! turns are over in milliseconds, the first waits for the second, and both are one append: one row of totals, one page of
//! the log, one answer. Where turns take longer, and with real models they do, nobody waits for that: an append goes with
//! the first transaction that comes, or as soon as a sync would not be shared any more.

use std::time::{Duration, Instant};

use vocab::Durability;

use super::append::Append;

/// The longest that a prompt waits for the end of its turn before it is written; with turns that take longer than this, none
/// does.
const REST_MAX: Duration = Duration::from_millis(20);
/// A longer turn is not distinguished from one of this length, so that a few short ones count soon.
const TURN_MAX: Duration = Duration::from_millis(40);
/// The newest turn counts for one part in this many of what a turn is thought to take.
const TURN_MEMORY: u32 = 8;
/// The end of a turn waits for others for one part in this many of what a turn takes.
const WAIT_SHARE: u32 = 4;
/// Appends that wait at once; with one more, that one does not.
const RESTING_MAX: usize = 256;

pub(super) struct Resting {
    /// One of each session at most, with the number of its job; in the order in which they came.
    waiting: Vec<(u64, Append)>,
    turn_takes: Duration,
    /// Somebody reads, and waits for all jobs up to this number.
    wanted_upto: u64,
}

impl Default for Resting {
    fn default() -> Self {
        Self { waiting: Vec::new(), turn_takes: TURN_MAX, wanted_upto: 0 }
    }
}

impl Resting {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether the ends of more turns than this will be here soon.
    pub(super) fn expects_more_than(&self, ends: usize) -> bool {
        self.are_turns_short() && self.waiting.len() > ends
    }

    /// How long the end of a turn may wait for others: little of what it has taken.
    pub(super) fn worth_a_wait(&self) -> Duration {
        self.turn_takes / WAIT_SHARE
    }

    /// Whether somebody who reads waits for this job.
    pub(super) fn is_wanted(&self, number: u64) -> bool {
        number <= self.wanted_upto
    }

    /// The number of the oldest job among them.
    pub(super) fn first(&self) -> Option<u64> {
        self.waiting.iter().map(|(number, _)| *number).min()
    }

    /// All jobs up to this number are to be written now, also those that come here later.
    pub(super) fn hurry(&mut self, upto: u64) {
        self.wanted_upto = upto.max(self.wanted_upto);
    }

    /// A turn took so long from its prompt to its end.
    pub(super) fn learn(&mut self, took: Duration) {
        self.turn_takes = (self.turn_takes * (TURN_MEMORY - 1) + took.min(TURN_MAX)) / TURN_MEMORY;
    }

    /// Whether a prompt had better wait for its own turn than go with others.
    pub(super) fn are_turns_short(&self) -> bool {
        self.turn_takes <= REST_MAX
    }

    /// How long an append may wait in all; `patience` is what a sync that is shared is worth.
    fn time(&self, patience: Duration) -> Duration {
        if self.are_turns_short() { (self.turn_takes * 2).clamp(patience, REST_MAX.max(patience)) } else { patience }
    }

    /// Takes one in that has time, or gives back what is to be written: itself, with whatever of its session has waited.
    pub(super) fn place(&mut self, number: u64, append: Append) -> Option<Append> {
        let session = &append.lease.session;
        let Some(at) = self.waiting.iter().position(|(_, other)| other.lease.session == *session) else {
            if append.is_only_pressing() {
                return None;
            }
            if append.durability != Durability::Soon || self.waiting.len() >= RESTING_MAX {
                return Some(append);
            }
            self.waiting.push((number, append));
            return None;
        };
        let earlier = &mut self.waiting[at].1;
        if append.is_only_pressing() && !earlier.is_of(&append.lease) {
            return None;
        }
        if !earlier.is_of(&append.lease) {
            // Two leases of one session are one after the other, and not one append.
            self.hurry(number);
            self.waiting.push((number, append));
            return None;
        }
        earlier.join(append);
        (earlier.durability != Durability::Soon).then(|| self.waiting.remove(at).1)
    }

    /// How long none of them has to be written; `None` when there are none.
    pub(super) fn time_left(&self, patience: Duration, now: Instant) -> Option<Duration> {
        let first = self.waiting.iter().map(|(_, append)| append.asked_at).min()?;
        if self.first().is_some_and(|first| self.is_wanted(first)) {
            return Some(Duration::ZERO);
        }
        Some((first + self.time(patience)).saturating_duration_since(now))
    }

    /// Those that cannot wait any longer.
    pub(super) fn due(&mut self, patience: Duration, now: Instant) -> Vec<(u64, Append)> {
        let (time, wanted) = (self.time(patience), self.wanted_upto);
        self.waiting.extract_if(.., |(number, append)| *number <= wanted || append.asked_at + time <= now).collect()
    }

    /// The oldest.
    pub(super) fn pop(&mut self) -> Option<(u64, Append)> {
        (!self.waiting.is_empty()).then(|| self.waiting.remove(0))
    }

    pub(super) fn all(&mut self) -> Vec<(u64, Append)> {
        std::mem::take(&mut self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::oneshot;
    use vocab::{Body, Durability, Entry, Lease, NoteEntry};

    use super::*;

    const PATIENCE: Duration = Duration::from_millis(1);

    fn append(lease: &Lease, seq: u64, durability: Durability) -> Append {
        let body = Body::Note(NoteEntry::Recovered { text: "".into() });
        let entry = Arc::new(Entry { seq, parent: seq - 1, at_ms: 0, body, by: None });
        Append::new(lease.clone(), vec![entry], durability, oneshot::channel().0)
    }

    fn seqs(append: &Append) -> Vec<u64> {
        append.entries.iter().map(|entry| entry.seq).collect()
    }

    #[test]
    fn a_prompt_goes_with_the_end_of_its_turn_and_with_what_is_between() {
        let (mut resting, a, b) = (Resting::default(), Lease::on("a".into(), 1), Lease::on("b".into(), 1));
        assert!(resting.place(1, append(&a, 1, Durability::Soon)).is_none());
        assert!(resting.place(2, append(&b, 1, Durability::Soon)).is_none());
        assert!(resting.place(3, append(&a, 2, Durability::Commit)).is_none());
        let whole = resting.place(4, append(&a, 3, Durability::Now)).unwrap();
        assert_eq!((seqs(&whole), whole.durability), (vec![1, 2, 3], Durability::Now));
        assert_eq!(resting.first(), Some(2), "the other one still has time");
        assert_eq!(whole.split().map(|part| seqs(&part)).collect::<Vec<_>>(), [[1], [2], [3]]);
    }

    #[test]
    fn somebody_waits_and_so_a_prompt_rests_no_longer() {
        let (mut resting, a) = (Resting::default(), Lease::on("a".into(), 1));
        assert!(resting.place(1, Append::press(a.clone())).is_none(), "there is nothing to be written");
        assert!(resting.place(2, append(&a, 1, Durability::Soon)).is_none());
        let pressed = resting.place(3, Append::press(a)).unwrap();
        assert_eq!((seqs(&pressed), pressed.durability), (vec![1], Durability::Now));
        assert_eq!(pressed.split().count(), 1);
        assert!(resting.is_empty());
    }

    #[test]
    fn what_has_no_time_never_rests() {
        let (mut resting, a) = (Resting::default(), Lease::on("a".into(), 1));
        assert!(resting.place(1, append(&a, 1, Durability::Commit)).is_some());
        assert!(resting.place(2, append(&a, 2, Durability::Now)).is_some());
        assert!(resting.is_empty() && resting.time_left(PATIENCE, Instant::now()).is_none());
    }

    #[test]
    fn a_prompt_waits_for_its_turn_only_where_turns_are_short() {
        let (mut resting, a) = (Resting::default(), Lease::on("a".into(), 1));
        assert!(!resting.are_turns_short(), "nothing is known yet");
        resting.place(1, append(&a, 1, Durability::Soon));
        let asked_at = resting.waiting[0].1.asked_at;
        assert!(resting.due(PATIENCE, asked_at).is_empty());
        assert_eq!(resting.due(PATIENCE, asked_at + PATIENCE).len(), 1);
        assert!(!resting.expects_more_than(0));
        (0..40).for_each(|_| resting.learn(Duration::from_millis(2)));
        assert!(resting.are_turns_short());
        resting.place(2, append(&a, 2, Durability::Soon));
        assert!(resting.expects_more_than(0) && !resting.expects_more_than(1));
        let asked_at = resting.waiting[0].1.asked_at;
        assert!(resting.due(PATIENCE, asked_at + 2 * PATIENCE).is_empty());
        assert_eq!(resting.due(PATIENCE, asked_at + REST_MAX).len(), 1);
        (0..8).for_each(|_| resting.learn(Duration::from_secs(30)));
        assert!(!resting.are_turns_short(), "a few long ones are enough");
    }

    #[test]
    fn who_reads_does_not_wait_and_another_lease_is_another_append() {
        let (mut resting, a) = (Resting::default(), Lease::on("a".into(), 1));
        let asked_at = Instant::now();
        resting.hurry(2);
        // What rests meanwhile is written for another reason; the one that is wanted comes behind it.
        resting.place(1, append(&Lease::on("b".into(), 1), 1, Durability::Soon));
        assert_eq!(resting.all().len(), 1);
        resting.place(2, append(&a, 1, Durability::Soon));
        resting.place(3, append(&Lease::on("c".into(), 1), 1, Durability::Soon));
        assert_eq!(resting.time_left(PATIENCE, asked_at), Some(Duration::ZERO));
        let numbers = |due: Vec<(u64, Append)>| due.iter().map(|(number, _)| *number).collect::<Vec<_>>();
        assert_eq!(numbers(resting.due(PATIENCE, asked_at)), [2], "nobody waits for the other one");
        assert!(resting.time_left(PATIENCE, asked_at).is_some_and(|left| !left.is_zero()));
        assert_eq!(numbers(resting.all()), [3]);
        resting.place(4, append(&a, 2, Durability::Soon));
        assert!(resting.place(5, append(&Lease::on("a".into(), 2), 3, Durability::Now)).is_none());
        let due: Vec<_> = resting.due(PATIENCE, Instant::now()).iter().map(|(_, it)| it.lease.epoch).collect();
        assert_eq!(due, [1, 2], "in their order, one by one");
    }
}
