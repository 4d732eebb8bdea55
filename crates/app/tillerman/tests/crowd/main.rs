//! Many peers on many sessions in one process, on all cores.

// In a helper of a test a failed `unwrap` is a failed test.
#![allow(clippy::unwrap_used)]

#[path = "../many/process.rs"]
mod process;
mod soak;
mod stress;
#[path = "../many/world.rs"]
#[allow(dead_code)] // Each of the two binaries uses its part.
mod world;

/// One test at a time: the soak measures the whole process.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// As a gateway's, and on all cores also where that would leave one to the store.
fn on_all_cores() -> tokio::runtime::Runtime {
    host::runtime_on(std::thread::available_parallelism().map_or(2, std::num::NonZero::get)).unwrap()
}
