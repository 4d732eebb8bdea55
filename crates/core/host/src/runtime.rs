//! The runtime of a process that serves many. One for a single controller has one thread, which computes less than it waits.

use std::io;

use tokio::runtime::{Builder, Runtime};

/// On all cores. Sessions share no lock while they work, so that each of them goes on wherever there is room.
pub fn daemon_runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread().enable_all().thread_name("tillerman").build()
}
