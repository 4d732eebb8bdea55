//! Eyes on other processes, and on how late this machine is.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::Process;

fn status_kib(pid: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

/// Resident memory of a process; 0 when it is gone.
pub fn rss_kib(pid: u32) -> u64 {
    status_kib(pid, "VmRSS:")
}

/// Highest resident memory of a process so far.
pub fn peak_kib(pid: u32) -> u64 {
    status_kib(pid, "VmHWM:")
}

/// Memory seen while nobody reads.
pub fn most_kib(process: &Process, time: Duration) -> u64 {
    let end = Instant::now() + time;
    let mut most = 0;
    while Instant::now() < end {
        most = most.max(process.rss_kib());
        std::thread::sleep(Duration::from_millis(50));
    }
    most
}

/// Processes with this among their arguments, zombies left out.
pub fn running(mark: &str) -> Vec<u32> {
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        // A zombie has no arguments any more.
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|&byte| byte == 0).any(|word| word == mark.as_bytes())
    })
    .collect()
}

/// A number of seconds to sleep that nobody else on this machine sleeps.
pub fn mark() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("6{:07}.{:04}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Whether it becomes true in time, and after how long.
pub fn within(wait: Duration, mut true_now: impl FnMut() -> bool) -> Option<Duration> {
    let start = Instant::now();
    loop {
        if true_now() {
            return Some(start.elapsed());
        }
        if start.elapsed() >= wait {
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Somebody who waits beside us for a time that is known, in a process of its own. What it needs beyond that is the
/// machine's doing, and no promise about time is broken by it.
pub struct Witness(std::thread::JoinHandle<Duration>);

impl Witness {
    pub fn begin(time: Duration) -> Self {
        let start = Instant::now();
        Self(std::thread::spawn(move || {
            let slept = Command::new("sleep").arg(time.as_secs_f64().to_string()).stdin(Stdio::null()).status();
            assert!(slept.is_ok_and(|status| status.success()), "the witness did not sleep");
            start.elapsed().saturating_sub(time)
        }))
    }

    /// How much later than meant it was seen to end; waits for that.
    pub fn lateness(self) -> Duration {
        self.0.join().expect("the witness sleeps")
    }
}
