//! The runtime of a process that serves many. One for a single controller has one thread, which computes less than it waits.

use std::io;
use std::num::NonZero;
use std::thread::available_parallelism;

use tokio::runtime::{Builder, Runtime};

/// On all cores but one, which is the store's: every turn ends with a commit, and a worker that has no core of its own costs more
/// than it does, because each hand-over between workers wakes a thread. Where that leaves one, it needs no queues that others
/// could take from. Sessions share no lock while they work, so that each of them goes on wherever there is room.
pub fn daemon_runtime() -> io::Result<Runtime> {
    let workers = available_parallelism().map_or(1, NonZero::get) - 1;
    match workers {
        0 | 1 => Builder::new_current_thread().enable_all().build(),
        _ => Builder::new_multi_thread().worker_threads(workers).thread_name("tillerman").enable_all().build(),
    }
}
