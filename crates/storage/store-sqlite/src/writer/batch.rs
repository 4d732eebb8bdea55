//! Which job is next, which appends go into one transaction, and how long they wait for others.

use super::*;

/// The longest that the end of a turn waits for those of others.
const COMPANY_WAIT_MAX: Duration = Duration::from_millis(3);

impl Writer {
    pub(super) fn take(&mut self, job: WriterJob) {
        match job {
            WriterJob::End => self.is_ending = true,
            WriterJob::Hurry { upto } => self.resting.hurry(upto),
            // It was only to wake us.
            WriterJob::SyncFailed | WriterJob::Synced => {}
            WriterJob::Append(_) | WriterJob::Request(_) => self.taken.add(job),
        }
    }

    /// Nothing is left but what has time: until the first of it has not, or something else comes.
    pub(super) fn wait_for_company(&self) -> Result<WriterJob, NoJob> {
        match self.resting.time_left(self.syncs.patience(), Instant::now()) {
            Some(left) if !left.is_zero() => self.inbox.wait_for(left),
            _ => Err(NoJob::Yet),
        }
    }

    /// Between two jobs: everything before the oldest that is not done.
    pub(super) fn tell_progress(&self) {
        let done = self.taken.done();
        self.progress.reach(self.resting.first().map_or(done, |first| done.min(first - 1)));
    }

    /// What rests comes before a request: that is done in its place between the appends.
    pub(super) fn next(&mut self) -> Option<(u64, WriterJob)> {
        let is_append = matches!(self.taken.next(), Some(WriterJob::Append(_)));
        if is_append || self.resting.is_empty() {
            return self.taken.pop();
        }
        let is_due = !self.taken.is_empty() || self.is_ending || self.is_rest_over();
        if is_due { self.resting.pop().map(|(number, append)| (number, WriterJob::Append(append))) } else { None }
    }

    fn is_rest_over(&self) -> bool {
        self.resting.time_left(self.syncs.patience(), Instant::now()).is_some_and(|left| left.is_zero())
    }

    /// The append and its neighbours; none where all of them have time. Turns that end while a sync runs are one transaction:
    /// none of them would be told earlier if it were committed at once, since the next sync begins behind this one.
    pub(super) fn batch(&mut self, number: u64, first: Append) -> Vec<Append> {
        let mut batch = Vec::new();
        self.sort_in(number, first, &mut batch);
        loop {
            while let Some(WriterJob::Append(_)) = self.taken.next() {
                if let Some((number, WriterJob::Append(append))) = self.taken.pop() {
                    self.sort_in(number, append, &mut batch);
                }
            }
            batch.extend(self.rested(!batch.is_empty()));
            if batch.is_empty() {
                // They rest, or nothing rested that they could have pressed: whoever reads waits for the former alone.
                self.tell_progress();
            }
            if batch.is_empty() || !self.taken.is_empty() || self.is_ending || self.syncs.has_failed() {
                return batch;
            }
            if batch.len() >= BATCH_JOBS_MAX {
                return batch;
            }
            if let Some(left) = self.time_left(&batch) {
                let Ok(job) = self.inbox.wait_for(left) else { return batch };
                self.take(job);
            } else if let Some(left) = self.company_left(number, &batch) {
                // Asleep: none of those who come meanwhile has to wake us.
                std::thread::sleep(left);
            } else {
                return batch;
            }
            self.take_waiting();
        }
    }

    /// An append has its place in the batch, or it rests.
    fn sort_in(&mut self, number: u64, append: Append, batch: &mut Vec<Append>) {
        if let Some(held) = self.held.get_mut(&append.lease.session) {
            match append.durability {
                Durability::Soon => held.prompted_at = Some(append.asked_at),
                // Somebody is told of the turn before it is over: it is no short one.
                Durability::Now if append.is_only_pressing() => {
                    held.prompted_at.take().into_iter().for_each(|_| self.resting.learn(Duration::MAX));
                }
                Durability::Now => {
                    let took = held.prompted_at.take().map(|at| append.asked_at.saturating_duration_since(at));
                    took.into_iter().for_each(|took| self.resting.learn(took));
                }
                Durability::Commit => {}
            }
        }
        batch.extend(self.resting.place(number, append));
    }

    /// What has rested enough: where others are written, too, all that expects nothing of its own session soon.
    fn rested(&mut self, in_company: bool) -> Vec<Append> {
        let is_all = !self.taken.is_empty() || self.is_ending || (in_company && !self.resting.are_turns_short());
        let patience = self.syncs.patience();
        let rested = if is_all { self.resting.all() } else { self.resting.due(patience, Instant::now()) };
        rested.into_iter().map(|(_, append)| append).collect()
    }

    /// How long nobody of these needs an answer, because a sync runs: all of them are in time for the next one, or behind one
    /// of their session that is.
    fn time_left(&self, batch: &[Append]) -> Option<Duration> {
        let is_synced = |append: &Append| append.durability.is_synced();
        let has_time = |append: &Append| {
            is_synced(append)
                || batch
                    .iter()
                    .take_while(|other| !std::ptr::eq(*other, append))
                    .any(|other| is_synced(other) && other.lease.session == append.lease.session)
        };
        if batch.iter().all(has_time) { self.syncs.running_for() } else { None }
    }

    /// How long the first of these waits for more of its kind. Where turns are short, those whose prompts rest here are over
    /// soon; as long as they are more than those that are, it is worth a moment to write them together: a transaction costs
    /// little more with all of them than with one. Who reads does not wait for that; the first has this number.
    fn company_left(&self, number: u64, batch: &[Append]) -> Option<Duration> {
        if !self.resting.expects_more_than(batch.len()) || self.resting.is_wanted(number) {
            return None;
        }
        let since = batch.iter().map(Append::complete_since).min()?;
        let wait = self.resting.worth_a_wait().max(self.syncs.patience()).min(COMPANY_WAIT_MAX);
        let left = (since + wait).saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }
}
