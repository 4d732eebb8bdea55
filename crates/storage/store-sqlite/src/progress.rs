//! How far the writer has come, for readers: a read sees everything that was asked of this store before it, so it waits
//! until the writer is done with that much. The writer never waits for a reader.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::writer::WriterJob;

#[derive(Default)]
pub(super) struct Progress {
    reached: Mutex<u64>,
    changed: Condvar,
}

impl Progress {
    /// So many jobs are done, well or not.
    pub(super) fn reach(&self, jobs: u64) {
        let mut reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        *reached = jobs.max(*reached);
        self.changed.notify_all();
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
    pub(super) writer: Sender<WriterJob>,
}

impl Ticket {
    /// Returns when the writer is done with them.
    pub(super) fn wait(&self) {
        let mut reached = self.progress.reached.lock().unwrap_or_else(PoisonError::into_inner);
        if *reached < self.jobs {
            // What has time is not held back from whoever wants to read it. A writer that is gone has reached everything.
            let _ = self.writer.send(WriterJob::Hurry { upto: self.jobs });
        }
        while *reached < self.jobs {
            reached = self.progress.changed.wait(reached).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
