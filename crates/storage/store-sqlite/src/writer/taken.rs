//! What waits for the writer, and how much of it is done.

use std::collections::VecDeque;

use super::WriterJob;

/// Taken from the inbox and not done; at most [`super::BATCH_JOBS_MAX`].
#[derive(Default)]
pub(super) struct TakenJobs {
    /// By number.
    jobs: VecDeque<(u64, WriterJob)>,
    /// Jobs that were ever taken.
    received: u64,
}

impl TakenJobs {
    pub(super) fn add(&mut self, job: WriterJob) {
        self.received += 1;
        self.jobs.push_back((self.received, job));
    }
    pub(super) fn put_back(&mut self, number: u64, job: WriterJob) {
        self.jobs.push_front((number, job));
    }
    pub(super) fn pop(&mut self) -> Option<(u64, WriterJob)> {
        self.jobs.pop_front()
    }
    pub(super) fn next(&self) -> Option<&WriterJob> {
        self.jobs.front().map(|(_, job)| job)
    }
    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }
    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }
    /// Everything up to here is done, but for what was put aside.
    pub(super) fn done(&self) -> u64 {
        self.jobs.front().map_or(self.received, |(number, _)| number - 1)
    }
}
