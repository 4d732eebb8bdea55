//! How far the writer has come, for readers: a read sees everything that was asked of this store before it, so it waits
//! until the writer is done with that much. The writer never waits for a reader.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::job_queue::JobSender;
use super::writer::WriterJob;

#[derive(Default)]
pub(super) struct Progress {
    state: Mutex<Reached>,
    changed: Condvar,
}

#[derive(Default)]
struct Reached {
    jobs: u64,
    /// Readers that wait for more.
    waiting: usize,
}

impl Progress {
    /// So many jobs are done, well or not.
    pub(super) fn reach(&self, jobs: u64) {
        let mut reached = self.lock();
        reached.jobs = jobs.max(reached.jobs);
        if reached.waiting > 0 {
            drop(reached);
            self.changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Reached> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends with the writer, however it ends: nobody waits for a thread that died.
pub(super) struct ReleaseAll(pub(super) Arc<Progress>);

impl Drop for ReleaseAll {
    fn drop(&mut self) {
        self.0.reach(u64::MAX);
    }
}

/// What a read has to wait for.
pub(super) struct Ticket {
    pub(super) progress: Arc<Progress>,
    /// Jobs of the writer that were queued before it.
    pub(super) jobs: u64,
    pub(super) writer: JobSender<WriterJob>,
}

impl Ticket {
    /// Returns when the writer is done with them.
    pub(super) fn wait(&self) {
        let mut reached = self.progress.lock();
        if reached.jobs < self.jobs {
            // What has time is not held back from whoever wants to read it. A writer that is gone has reached everything.
            let _ = self.writer.send(WriterJob::Hurry { upto: self.jobs });
        }
        reached.waiting += 1;
        while reached.jobs < self.jobs {
            reached = self.progress.changed.wait(reached).unwrap_or_else(PoisonError::into_inner);
        }
        reached.waiting -= 1;
    }
}
