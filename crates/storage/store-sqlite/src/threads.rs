//! The threads of a store: one that writes, one that syncs, two that read, one that watches. Each is started by its first job,
//! and anew when it died. A sixth comes while a long log is folded in, and goes again; it is the writer's ([`super::fold`]).

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use vocab::{Fault, FaultKind};

use super::job_queue::{JobSender, job_queue};
use super::owners::LeaseTerms;
use super::patience::Patience;
use super::progress::{Progress, ReleaseAll, Ticket};
use super::reader::{Question, Reader, ReaderJob};
use super::sync::Syncs;
use super::watch::{Bell, WatchThread, WatchedLogs};
use super::writer::{StoreRequest, Writer, WriterJob, WriterTies};
use super::{Note, database, faults};
use store::faults::OwnerRole;
use store::rollup::PriceList;

/// The threads call SQLite and serde only; neither recurses deeply on what we store.
const STACK_BYTES: usize = 512 * 1024;

pub(super) struct Threads {
    home: PathBuf,
    pub(super) note: Note,
    pub(super) terms: LeaseTerms,
    pub(super) prices: PriceList,
    pub(super) role: Option<OwnerRole>,
    writer: Mutex<Option<WriterThread>>,
    /// For questions that are answered quickly, and for those that are not.
    readers: [Mutex<Option<JobThread<ReaderJob>>>; 2],
    watcher: Mutex<Option<WatchThread>>,
    bell: Arc<Bell>,
    /// Of the writer's connections.
    pub(super) patience: Patience,
    /// A reader has seen that a delete is not finished.
    unwiped: Arc<AtomicBool>,
}

/// A thread and what it is told by.
struct JobThread<J> {
    jobs: JobSender<J>,
    thread: JoinHandle<()>,
}

struct WriterThread {
    queue: JobThread<WriterJob>,
    /// Jobs that were ever queued.
    queued: u64,
    progress: Arc<Progress>,
}

impl Threads {
    pub(super) fn new(home: PathBuf) -> Self {
        Self {
            home,
            note: Arc::new(|_| {}),
            terms: LeaseTerms::default(),
            prices: Arc::new(|_| None),
            role: None,
            writer: Mutex::new(None),
            readers: Default::default(),
            watcher: Mutex::new(None),
            bell: Arc::default(),
            patience: Patience::new(database::BUSY_WAIT),
            unwiped: Arc::default(),
        }
    }

    pub(super) fn write(&self, job: WriterJob) -> Result<(), Fault> {
        self.hand_over(&mut lock(&self.writer), job)
    }

    fn hand_over(&self, writer: &mut Option<WriterThread>, mut job: WriterJob) -> Result<(), Fault> {
        if let Some(running) = writer.as_mut() {
            match running.queue.jobs.send(job) {
                Ok(()) => {
                    running.queued += 1;
                    return Ok(());
                }
                // It panicked. The leases it held are gone, the database is not.
                Err(returned) => job = returned,
            }
        }
        let progress = Arc::new(Progress::default());
        let (home, note, told) = (self.home.clone(), self.note.clone(), progress.clone());
        let (prices, terms, bell) = (self.prices.clone(), self.terms, self.bell.clone());
        let (patience, role) = (self.patience.clone(), self.role);
        let (jobs, inbox) = job_queue();
        let syncs = Syncs::start(jobs.clone(), STACK_BYTES).map_err(not_started)?;
        let queue = start("store", jobs, move || {
            let _released = ReleaseAll(told.clone());
            let ties = WriterTies { note, progress: told, syncs, prices, terms, role, bell, patience };
            Writer::new(home, inbox, ties).run();
        })?;
        queue.jobs.send(job).map_err(|_| faults::thread_died())?;
        *writer = Some(WriterThread { queue, queued: 1, progress });
        Ok(())
    }

    pub(super) fn read(&self, question: Question) -> Result<(), Fault> {
        let ticket = self.ticket()?;
        let mut lane = lock(&self.readers[usize::from(!question.is_quick())]);
        let mut job = ReaderJob { ticket, question };
        if let Some(running) = lane.as_ref() {
            match running.jobs.send(job) {
                Ok(()) => return Ok(()),
                Err(returned) => job = returned,
            }
        }
        let (home, unwiped) = (self.home.clone(), self.unwiped.clone());
        let (jobs, inbox) = job_queue();
        let queue = start("store-read", jobs, move || Reader::new(home, inbox, unwiped).run())?;
        queue.jobs.send(job).map_err(|_| faults::thread_died())?;
        *lane = Some(queue);
        Ok(())
    }

    pub(super) fn watch(&self, watched: WatchedLogs) -> Result<(), Fault> {
        let mut watcher = lock(&self.watcher);
        let running = match watcher.take().filter(WatchThread::is_running) {
            Some(running) => running,
            None => WatchThread::start(self.home.clone(), self.bell.clone(), STACK_BYTES).map_err(not_started)?,
        };
        watcher.insert(running).add(watched);
        Ok(())
    }

    /// For a read that is asked for now.
    fn ticket(&self) -> Result<Option<Ticket>, Fault> {
        let writer = lock(&self.writer);
        let ticket = |it: &WriterThread| {
            let (progress, writer) = (it.progress.clone(), it.queue.jobs.clone());
            Ticket { progress, jobs: it.queued, writer }
        };
        Ok(writer.as_ref().map(ticket))
    }
}

impl Drop for Threads {
    /// Waits until everything that was queued is done: a dropped future does not take its entry back.
    fn drop(&mut self) {
        if let Some(watcher) = self.watcher.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            watcher.end();
        }
        // The writer last: it knows whether the database is left in order, and what a reader waits for is done meanwhile.
        for lane in &mut self.readers {
            if let Some(queue) = lane.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
                queue.end();
            }
        }
        let mut writer = self.writer.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        // Whoever only reads sees to it, too, that a delete that was cut short is finished.
        if writer.is_none() && self.unwiped.load(Ordering::Relaxed) {
            let _ = self.hand_over(&mut writer, WriterJob::Request(StoreRequest::Tidy));
        }
        if let Some(writer) = writer {
            // The thread that syncs has a way into the queue, too, so the end of it has to be said.
            let _ = writer.queue.jobs.send(WriterJob::End);
            writer.queue.end();
        }
    }
}

impl<J> JobThread<J> {
    fn end(self) {
        drop(self.jobs);
        let _ = self.thread.join();
    }
}

fn start<J>(name: &str, jobs: JobSender<J>, run: impl FnOnce() + Send + 'static) -> Result<JobThread<J>, Fault> {
    let thread = std::thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES).spawn(run);
    Ok(JobThread { jobs, thread: thread.map_err(not_started)? })
}

fn not_started(error: io::Error) -> Fault {
    Fault::new(FaultKind::Store, format!("cannot start a thread that keeps sessions: {error}"))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
