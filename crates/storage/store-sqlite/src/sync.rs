//! The thread that makes commits outlive a power cut. The writer commits with `synchronous = NORMAL`, which is safe from
//! our own death and costs no sync; whoever wants more waits here, and one `fdatasync` of the write-ahead log serves
//! everybody who waits (group sync). SQLite's write lock is not held meanwhile: other commits go on, ours and those of
//! other processes.
//!
//! Why a sync of `sessions.db-wal` is enough, and which one:
//!
//! * **What it covers.** A commit can be found again when all frames up to its last one are on the disk, those of other
//!   processes between them. All are in one file, they were written when `COMMIT` returned, and the sync begins after that.
//! * **Which file.** The log is deleted or made anew only by somebody who has the database alone, and the writer's open
//!   connection is in the way of that. So the handle that was opened behind the connection is the log for as long as the
//!   connection lives; both are replaced together. It is a handle of the log and never one of the database: SQLite has its
//!   locks on the database and on `-shm`, and closing a second handle of those would drop them.
//! * **A checkpoint between commit and sync.** It syncs the log, then writes the database, and syncs the database before
//!   it counts the log as folded in (`walCheckpoint`; only then may `walRestartLog` begin the log anew, whose new header
//!   is synced before the first frame). So what is no longer in the log is on the disk already, and the sync is one too
//!   many. A test reads it off the system calls.
//! * **A file that was removed.** Its handle takes every write and every sync. So behind a sync the names have to lead to
//!   what is open (two `stat`s); where they do not, it has failed.
//! * **Names.** Whoever makes the database syncs the directory before anything is written (`database`). That of the log is
//!   synced with the first sync of the log itself, whoever made it, and before anybody is told.
//! * **A sync that fails.** The kernel may have dropped what it could not write, and says so once to each handle that was
//!   open then; a second sync would lie. So nothing that waits is acknowledged, nor anything that comes, until the writer
//!   has opened the database anew, taken back what was refused, written the rest into the database itself and synced
//!   that there (`Writer::verify`). The handle is opened before the first commit that it is to sync, so no error slips
//!   in between. Only then are the callers told: whoever hears of a failure and looks finds nothing of it.
//! * **An append that asked for less.** One that is behind an append of its session that waits here waits with it: were
//!   it answered first, and the other refused, there would be a hole in the log. Others were answered when they were
//!   committed, and stay: a lease whose log did not come through is over (`Writer::verify`).

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use vocab::{Durability, Fault};

use super::job_queue::JobSender;
use super::writer::{Writer, WriterJob};
use super::{ReplySender, faults};

/// Whoever has time waits this long at most for somebody to share a sync with.
const SOON_WAIT_MAX: Duration = Duration::from_millis(2);
/// How many times as long as a sync takes one waits for company. An end that comes while the sync of its beginning runs
/// waits for both, and a turn that takes no longer than this pays for one; what takes longer is not slowed down by it,
/// since nothing of it is there to be told so early.
const SOON_SYNCS: u32 = 2;
/// How long a sync takes as long as none was measured.
const SYNC_GUESS: Duration = Duration::from_millis(1);
/// A sync that is thought to take no longer is done by the writer itself.
const QUICK_SYNC_MAX: Duration = Duration::from_millis(2);
/// The newest sync counts for one part in this many of what a sync is thought to take.
const SYNC_MEMORY: u32 = 4;

/// Whoever waits for the disk.
pub(super) struct SyncWish {
    pub(super) reply: ReplySender<()>,
    pub(super) durability: Durability,
    pub(super) asked_at: Instant,
}

/// An append that is committed and waits for its sync.
struct Unsynced {
    reply: ReplySender<()>,
    due: Instant,
}

/// What could not be synced.
pub(super) struct SyncFailure {
    fault: Fault,
    replies: Vec<ReplySender<()>>,
}

impl SyncFailure {
    pub(super) fn tell(self) {
        for reply in self.replies {
            let _ = reply.send(Err(self.fault.clone()));
        }
    }
}

struct State {
    wal: Option<Arc<WalFile>>,
    /// As many as there are callers who wait.
    waiting: Vec<Unsynced>,
    /// Answered behind the sync of this number.
    followers: Vec<(u64, ReplySender<()>)>,
    /// The number of the last commit that is waited for, and of the last one that is on the disk.
    last: u64,
    synced: u64,
    is_running: bool,
    /// When the newest sync began.
    began: Option<Instant>,
    /// The writer wants to know when it is over.
    is_awaited: bool,
    /// Nobody is to wait for company.
    in_hurry: bool,
    failed: Option<SyncFailure>,
    sync_takes: Duration,
    is_over: bool,
}

struct Shared {
    state: Mutex<State>,
    /// There is something to do.
    work: Condvar,
    /// Something was done.
    done: Condvar,
}

/// The write-ahead log, opened beside SQLite.
pub(super) struct WalFile {
    file: File,
    path: PathBuf,
    /// What the names led to when it was opened: the log, the database that it belongs to, and the index of the log, over which
    /// processes agree on where the log ends. With an index that only we can find we would write over what others have written.
    named: [(PathBuf, FileIdentity); 3],
    /// Its name is on the disk, too.
    is_found: AtomicBool,
}

/// A device and a file on it.
pub(super) type FileIdentity = (u64, u64);

/// Whether this process has the file of that name open. Where nobody can say: yes.
pub(super) fn is_held(path: &Path) -> bool {
    match identity(path) {
        Ok(file) => is_open_here(file),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// Whether this process has that file open, whatever its name leads to now.
fn is_open_here(file: FileIdentity) -> bool {
    let Ok(open) = std::fs::read_dir("/proc/self/fd") else { return true };
    open.flatten().any(|entry| identity(&entry.path()).is_ok_and(|found| found == file))
}

pub(super) fn identity(path: &Path) -> io::Result<FileIdentity> {
    let found = std::fs::metadata(path)?;
    Ok((found.dev(), found.ino()))
}

impl WalFile {
    /// While a connection has the database open.
    pub(super) fn open(path: &Path, index: &Path, database: &Path) -> Result<Self, Fault> {
        let cannot = |path: &Path, error: &io::Error| match error.kind() {
            io::ErrorKind::NotFound => faults::removed(path),
            _ => faults::from_io("open", path, error),
        };
        let named = |path: &Path| match identity(path) {
            Ok(found) => Ok((path.to_owned(), found)),
            Err(error) => Err(cannot(path, &error)),
        };
        let opened = File::open(path).and_then(|file| file.metadata().map(|found| (file, found)));
        let (file, found) = opened.map_err(|error| cannot(path, &error))?;
        let log = (path.to_owned(), (found.dev(), found.ino()));
        let named = [log, named(database)?, named(index)?];
        Ok(Self { file, path: path.to_owned(), named, is_found: AtomicBool::new(false) })
    }

    /// Whether the index that it was opened with is the one that this process has open: it could have been replaced the moment
    /// before, and is looked for by what it is, not by its name.
    pub(super) fn is_index_held(&self) -> bool {
        let [.., (_, index)] = &self.named;
        is_open_here(*index)
    }

    /// What is written into files that nobody can find any more is not kept.
    fn check_names(&self) -> Result<(), Fault> {
        let is_there = |(path, was): &(PathBuf, FileIdentity)| identity(path).is_ok_and(|now| now == *was);
        match self.named.iter().find(|named| !is_there(named)) {
            Some((path, _)) => Err(faults::removed(path)),
            None => Ok(()),
        }
    }

    fn sync(&self) -> Result<(), Fault> {
        self.file.sync_data().map_err(|error| faults::not_synced(&self.path, &error))?;
        if !self.is_found.load(Ordering::Relaxed) {
            // SQLite does this, too, and says nothing if it fails.
            let directory = self.path.parent().unwrap_or(Path::new("/"));
            let named = File::open(directory).and_then(|directory| directory.sync_all());
            named.map_err(|error| faults::not_synced(&self.path, &error))?;
            self.is_found.store(true, Ordering::Relaxed);
        }
        self.check_names()
    }
}

/// The writer's side.
pub(super) struct Syncs {
    shared: Arc<Shared>,
    nudge: JobSender<WriterJob>,
    thread: Option<JoinHandle<()>>,
}

/// What one sync is for: the log, those who wait, and the number of the last commit among them.
type DueSync = (Arc<WalFile>, Vec<Unsynced>, u64);

impl Syncs {
    /// `nudge` wakes the writer when a sync has failed.
    pub(super) fn start(nudge: JobSender<WriterJob>, stack_bytes: usize) -> io::Result<Self> {
        let state = State {
            wal: None,
            waiting: Vec::new(),
            followers: Vec::new(),
            last: 0,
            synced: 0,
            is_running: false,
            began: None,
            is_awaited: false,
            in_hurry: false,
            failed: None,
            sync_takes: SYNC_GUESS,
            is_over: false,
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), work: Condvar::new(), done: Condvar::new() });
        let (theirs, their_nudge) = (shared.clone(), nudge.clone());
        let thread = std::thread::Builder::new()
            .name("store-sync".to_owned())
            .stack_size(stack_bytes)
            .spawn(move || theirs.run(&their_nudge))?;
        Ok(Self { shared, nudge, thread: Some(thread) })
    }

    /// Behind a new connection.
    pub(super) fn use_log(&self, wal: WalFile) {
        self.shared.lock().wal = Some(Arc::new(wal));
    }

    pub(super) fn log(&self) -> Option<Arc<WalFile>> {
        self.shared.lock().wal.clone()
    }

    /// Before something is written.
    pub(super) fn check_names(&self) -> Result<(), Fault> {
        self.log().map_or(Ok(()), |log| log.check_names())
    }

    /// The number of a commit that somebody wants on the disk now, and that of the last one that is there.
    pub(super) fn numbers(&self) -> (u64, u64) {
        let state = self.shared.lock();
        (state.last + 1, state.synced)
    }
    pub(super) fn has_failed(&self) -> bool {
        self.shared.lock().failed.is_some()
    }
    /// How long what is to be synced next need not be committed, because a sync runs; should that be over sooner, the writer
    /// hears of it.
    pub(super) fn running_for(&self) -> Option<Duration> {
        let mut state = self.shared.lock();
        let due = state.began.filter(|_| state.is_running)? + state.sync_takes * 3 / 4;
        let left = due.saturating_duration_since(Instant::now());
        state.is_awaited = !left.is_zero();
        state.is_awaited.then_some(left)
    }
    /// Handing one over, and hearing that it is done, would take as long as many of them do.
    pub(super) fn are_quick(&self) -> bool {
        self.shared.lock().sync_takes <= QUICK_SYNC_MAX
    }
    /// How long whoever has time waits for somebody to share a sync with.
    pub(super) fn patience(&self) -> Duration {
        self.shared.lock().patience()
    }
    /// From now on there is nothing wrong any more; whoever waited is the caller's to tell.
    pub(super) fn take_failure(&self) -> Option<SyncFailure> {
        self.shared.lock().failed.take()
    }

    /// They were committed under this number and are answered when they are on the disk; followers as soon as the sync is
    /// there that an earlier append of their session waits for. A writer that `does_sync` does at once itself what cannot
    /// wait: waking the other thread for it would take a good part of the time of a sync.
    pub(super) fn wait(
        &self,
        number: u64,
        wishes: Vec<SyncWish>,
        followers: Vec<(u64, ReplySender<()>)>,
        does_sync: bool,
    ) {
        let mut state = self.shared.lock();
        for (after, reply) in followers {
            if after <= state.synced {
                let _ = reply.send(Ok(()));
            } else if let Some(failed) = &mut state.failed {
                failed.replies.push(reply);
            } else {
                state.followers.push((after, reply));
            }
        }
        if wishes.is_empty() {
            return;
        }
        state.last = number;
        let (now, patience) = (Instant::now(), state.patience());
        let waiting = wishes.into_iter().map(|SyncWish { reply, durability, asked_at }| {
            let due = if durability == Durability::Soon { asked_at + patience } else { now };
            Unsynced { reply, due }
        });
        match &mut state.failed {
            Some(failed) => failed.replies.extend(waiting.map(|it| it.reply)),
            None => state.waiting.extend(waiting),
        }
        if does_sync && let Some(due) = state.take_due(now) {
            drop(state);
            return self.shared.sync(due, &self.nudge);
        }
        self.shared.work.notify_one();
    }

    /// For what nobody waits for, at the end.
    pub(super) fn sync_the_rest(&self) {
        let wal = self.shared.lock().wal.clone();
        if let Some(wal) = wal {
            // Nobody was promised that it is there.
            let _ = wal.sync();
        }
    }

    /// Returns when nobody waits any more, or when a sync has failed.
    pub(super) fn drain(&self) {
        let mut state = self.shared.lock();
        while (state.is_running || !state.waiting.is_empty()) && state.failed.is_none() && !state.is_over {
            state.in_hurry = true;
            self.shared.work.notify_one();
            state = self.shared.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.in_hurry = false;
    }
}

impl Writer {
    /// For what was committed just now and is no append: answered when it is on the disk.
    pub(super) fn answer_when_synced(&mut self, reply: ReplySender<()>) {
        let (number, _) = self.syncs.numbers();
        let does_sync = self.does_sync();
        let wish = SyncWish { reply, durability: Durability::Now, asked_at: Instant::now() };
        self.syncs.wait(number, vec![wish], Vec::new(), does_sync);
    }
}

impl Drop for Syncs {
    /// Whoever still waits is served first.
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.work.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, nudge: &JobSender<WriterJob>) {
        while let Some(due) = self.next() {
            self.sync(due, nudge);
        }
    }

    fn sync(&self, (wal, appends, upto): DueSync, nudge: &JobSender<WriterJob>) {
        let since = Instant::now();
        let result = wal.sync();
        let took = since.elapsed();
        let mut state = self.lock();
        state.is_running = false;
        let mut replies: Vec<_> = appends.into_iter().map(|it| it.reply).collect();
        match result {
            Ok(()) => {
                state.synced = upto;
                state.sync_takes = (state.sync_takes * (SYNC_MEMORY - 1) + took) / SYNC_MEMORY;
                replies.extend(state.followers.extract_if(.., |(after, _)| *after <= upto).map(|(_, reply)| reply));
                if state.in_hurry {
                    self.done.notify_all();
                }
                if !state.waiting.is_empty() {
                    self.work.notify_one();
                }
                let is_awaited = std::mem::take(&mut state.is_awaited);
                drop(state);
                if is_awaited {
                    // Without a writer there is nobody to tell.
                    let _ = nudge.send(WriterJob::Synced);
                }
                // Whoever waits for several waits for the first of them, and finds the others answered when it wakes.
                for reply in replies.into_iter().rev() {
                    // The caller may have gone: it is on the disk all the same.
                    let _ = reply.send(Ok(()));
                }
            }
            Err(fault) => {
                replies.extend(std::mem::take(&mut state.waiting).into_iter().map(|it| it.reply));
                replies.extend(std::mem::take(&mut state.followers).into_iter().map(|(_, reply)| reply));
                state.failed = Some(SyncFailure { fault, replies });
                self.done.notify_all();
                drop(state);
                // Without a writer there is nobody to tell.
                let _ = nudge.send(WriterJob::SyncFailed);
            }
        }
    }

    /// Everybody who waits, when the first of them cannot wait longer; `None` when nobody will come any more.
    fn next(&self) -> Option<DueSync> {
        let mut state = self.lock();
        loop {
            let now = Instant::now();
            if let Some(due) = state.take_due(now) {
                return Some(due);
            }
            let first = state.waiting.iter().map(|it| it.due).min().filter(|_| state.wal.is_some());
            state = match first {
                // While the writer syncs, nobody else does.
                Some(due) if !state.is_running => {
                    let left = due.saturating_duration_since(now);
                    self.work.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
                None if state.is_over => return None,
                _ => self.work.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

impl State {
    fn patience(&self) -> Duration {
        (self.sync_takes * SOON_SYNCS).min(SOON_WAIT_MAX)
    }

    /// All who wait, if one of them cannot wait any longer and no sync runs.
    fn take_due(&mut self, now: Instant) -> Option<DueSync> {
        let due = self.waiting.iter().map(|it| it.due).min()?;
        if self.is_running || !(due <= now || self.in_hurry || self.is_over) {
            return None;
        }
        let wal = self.wal.clone()?;
        self.is_running = true;
        self.began = Some(now);
        Some((wal, std::mem::take(&mut self.waiting), self.last))
    }
}
