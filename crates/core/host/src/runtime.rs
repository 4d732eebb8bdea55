//! The runtime of a process that serves many. One for a single controller has one thread, which computes less than it waits.

use std::io;
use std::num::NonZero;
use std::thread::available_parallelism;

use tokio::runtime::{Builder, Runtime};

/// On all cores but one, which is the store's: every turn ends with a commit, and a second worker where there is no core for it
/// costs more than it does, because each hand-over between workers wakes a thread. Sessions share no lock while they work, so
/// that each of them goes on wherever there is room.
pub fn daemon_runtime() -> io::Result<Runtime> {
    let cores = available_parallelism().map_or(1, NonZero::get);
    Builder::new_multi_thread().worker_threads((cores - 1).max(1)).enable_all().thread_name("tillerman").build()
}
