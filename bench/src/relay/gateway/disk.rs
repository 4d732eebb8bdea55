//! One file for all turns. A thread appends and syncs what has come together while it was busy: group commit.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::Context;
use rustix::event::{EventfdFlags, eventfd};

pub(super) struct Disk {
    shared: Arc<Shared>,
    /// Readable when turns are on the disk.
    pub(super) bell: Arc<OwnedFd>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    waiting: Vec<usize>,
    done: Vec<usize>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Disk {
    pub(super) fn start(path: &Path) -> anyhow::Result<Self> {
        let file = File::options().create(true).append(true).open(path).context("the relay's file")?;
        let bell = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
        let disk = Self { shared: Arc::default(), bell };
        let (shared, bell) = (disk.shared.clone(), disk.bell.clone());
        thread::spawn(move || write(&shared, file, &bell));
        Ok(disk)
    }

    pub(super) fn append(&self, record: &[u8], session: usize) {
        let mut state = self.shared.state();
        state.bytes.extend_from_slice(record);
        state.waiting.push(session);
        self.shared.work.notify_one();
    }

    /// The sessions whose turns are safe since the last time.
    pub(super) fn done(&self) -> anyhow::Result<Vec<usize>> {
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        Ok(std::mem::take(&mut self.shared.state().done))
    }
}

fn write(shared: &Shared, mut file: File, bell: &OwnedFd) {
    loop {
        let (bytes, waiting) = {
            let mut state = shared.state();
            while state.waiting.is_empty() {
                state = shared.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            (std::mem::take(&mut state.bytes), std::mem::take(&mut state.waiting))
        };
        // A turn that could not be written is never told as done; the driver then says that it fell silent.
        if file.write_all(&bytes).and_then(|()| file.sync_data()).is_err() {
            return;
        }
        shared.state().done.extend(waiting);
        let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
    }
}
