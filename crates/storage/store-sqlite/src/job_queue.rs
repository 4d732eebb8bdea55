//! What a thread is told by. The standard library's channel wakes a receiver while it holds the lock that the receiver needs
//! next: on a busy processor the sender is put aside in that moment, and both take turns until the lock is free. Here nobody is
//! woken under a lock, and nobody who is not asleep.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Both ends of a new one.
pub(super) fn job_queue<J>() -> (JobSender<J>, JobQueue<J>) {
    let state = QueuedJobs { jobs: VecDeque::new(), senders: 1, is_read: true, is_awaited: false };
    let shared = Arc::new(QueueLink { state: Mutex::new(state), news: Condvar::new() });
    (JobSender(shared.clone()), JobQueue(shared))
}

struct QueueLink<J> {
    state: Mutex<QueuedJobs<J>>,
    /// A job for somebody who sleeps, or the last sender is gone.
    news: Condvar,
}

struct QueuedJobs<J> {
    jobs: VecDeque<J>,
    senders: usize,
    /// Somebody is there to take them.
    is_read: bool,
    /// Somebody sleeps until there is one.
    is_awaited: bool,
}

impl<J> QueueLink<J> {
    fn lock(&self) -> MutexGuard<'_, QueuedJobs<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, mut state: MutexGuard<'_, QueuedJobs<J>>) {
        let is_awaited = std::mem::take(&mut state.is_awaited);
        drop(state);
        if is_awaited {
            self.news.notify_one();
        }
    }
}

pub(super) struct JobSender<J>(Arc<QueueLink<J>>);

impl<J> JobSender<J> {
    /// Gives the job back where nobody is left to take it.
    pub(super) fn send(&self, job: J) -> Result<(), J> {
        let mut state = self.0.lock();
        if !state.is_read {
            return Err(job);
        }
        state.jobs.push_back(job);
        self.0.wake(state);
        Ok(())
    }
}

impl<J> Clone for JobSender<J> {
    fn clone(&self) -> Self {
        self.0.lock().senders += 1;
        Self(self.0.clone())
    }
}

impl<J> Drop for JobSender<J> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.senders -= 1;
        if state.senders == 0 {
            self.0.wake(state);
        }
    }
}

pub(super) struct JobQueue<J>(Arc<QueueLink<J>>);

/// Why there is no job.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoJob {
    /// Not in that time.
    Yet,
    /// All senders are gone.
    Ever,
}

impl<J> JobQueue<J> {
    /// One that is there.
    pub(super) fn take(&self) -> Option<J> {
        self.0.lock().jobs.pop_front()
    }

    /// One that is there or comes; `None` when none will.
    pub(super) fn wait(&self) -> Option<J> {
        self.next(None).ok()
    }

    /// One that is there or comes within this time.
    pub(super) fn wait_for(&self, time: Duration) -> Result<J, NoJob> {
        self.next(Instant::now().checked_add(time))
    }

    fn next(&self, until: Option<Instant>) -> Result<J, NoJob> {
        let mut state = self.0.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Ok(job);
            }
            if state.senders == 0 {
                return Err(NoJob::Ever);
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(NoJob::Yet);
            }
            state.is_awaited = true;
            state = match left {
                Some(left) => self.0.news.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.0.news.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
            state.is_awaited = false;
        }
    }
}

impl<J> Drop for JobQueue<J> {
    /// What nobody has taken goes with it, and so do those who wait for its answer.
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_read = false;
        let jobs = std::mem::take(&mut state.jobs);
        drop(state);
        drop(jobs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_come_in_their_order_also_to_somebody_who_sleeps() {
        let (jobs, inbox) = job_queue();
        let sender = jobs.clone();
        let sending = std::thread::spawn(move || {
            for job in 0..10_000 {
                sender.send(job).unwrap();
                if job % 100 == 0 {
                    std::thread::sleep(Duration::from_micros(50));
                }
            }
        });
        for job in 0..10_000 {
            assert_eq!(
                if job % 2 == 0 { inbox.wait() } else { inbox.wait_for(Duration::from_secs(60)).ok() },
                Some(job)
            );
        }
        sending.join().unwrap();
        assert_eq!(inbox.take(), None);
        drop(jobs);
        assert_eq!(inbox.wait(), None);
    }

    #[test]
    fn whoever_waits_hears_that_nothing_will_come() {
        let (jobs, inbox) = job_queue::<()>();
        assert_eq!(inbox.wait_for(Duration::from_millis(1)), Err(NoJob::Yet));
        let waiting = std::thread::spawn(move || inbox.wait_for(Duration::from_secs(600)));
        while !jobs.0.lock().is_awaited {
            std::thread::yield_now();
        }
        drop(jobs.clone());
        drop(jobs);
        assert_eq!(waiting.join().unwrap(), Err(NoJob::Ever));
    }

    #[test]
    fn a_job_that_nobody_takes_comes_back_or_goes_with_the_queue() {
        let (jobs, inbox) = job_queue();
        let there = Arc::new(());
        jobs.send(there.clone()).unwrap();
        drop(inbox);
        assert_eq!(Arc::strong_count(&there), 1, "whoever waits for its answer hears that none will come");
        assert_eq!(jobs.send(there), Err(Arc::new(())));
    }
}
