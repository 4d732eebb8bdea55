//! The runtime of a process that serves many. One for a single controller has one thread, which computes less than it waits.

use std::io;
use std::num::NonZero;
use std::thread::available_parallelism;

use tokio::runtime::{Builder, Runtime};

/// On all cores but one, which is the store's: every turn ends with a commit, and a worker that has no core of its own costs more
/// than it does, because each hand-over between workers wakes a thread.
pub fn daemon_runtime() -> io::Result<Runtime> {
    runtime_on(available_parallelism().map_or(1, NonZero::get) - 1)
}

/// Sessions share no lock while they work, so that each of them goes on wherever there is room. There is one worker at least.
pub fn runtime_on(workers: usize) -> io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(workers.max(1)).thread_name("tillerman").enable_all().build()
}
