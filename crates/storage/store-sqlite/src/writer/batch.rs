//! Which appends go into one transaction, and how long the first of them waits for others.

use super::*;

impl Writer {
    /// The append and its neighbours. Where all of them have time, those that come meanwhile are written with them: a turn
    /// that is over soon is one transaction. So are turns that end while a sync runs: none of them would be told earlier if
    /// it were committed at once, since the next sync begins behind this one.
    pub(super) fn batch(&mut self, first: Append) -> Vec<Append> {
        let mut batch = vec![first];
        loop {
            while matches!(self.taken.front(), Some(WriterJob::Append(_))) {
                if let Some(WriterJob::Append(append)) = self.next() {
                    batch.push(append);
                }
            }
            if !self.taken.is_empty() || self.is_ending || batch.len() >= BATCH_JOBS_MAX || self.syncs.has_failed() {
                return batch;
            }
            let Some(left) = self.time_left(&batch) else { return batch };
            let Ok(job) = self.inbox.recv_timeout(left) else { return batch };
            self.take(job);
            self.take_waiting();
        }
    }

    /// How long nobody of these needs an answer: all of them are in time for a sync later than now, or behind one of their
    /// session that is.
    fn time_left(&self, batch: &[Append]) -> Option<Duration> {
        let is_synced = |append: &Append| append.durability.is_synced();
        let has_time = |append: &Append| {
            is_synced(append)
                || batch
                    .iter()
                    .take_while(|other| !std::ptr::eq(*other, append))
                    .any(|other| is_synced(other) && other.lease.session == append.lease.session)
        };
        if !batch.iter().all(has_time) {
            return None;
        }
        if let Some(left) = self.syncs.running_for() {
            return Some(left);
        }
        if batch.iter().any(|append| append.durability == Durability::Now) {
            return None;
        }
        let patient = batch.iter().filter(|append| append.durability == Durability::Soon);
        let due = patient.map(|append| append.asked_at).min()? + self.syncs.patience();
        let left = due.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }
}
