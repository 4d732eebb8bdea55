//! What only some kernels offer, in one place. Linux finds every descendant through `/proc` and notices exits through
//! pidfds; elsewhere the leash falls back to the command's process group and to polling.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// Scans that look for new processes while the found ones are being stopped; a fork loop is frozen after a few.
const FREEZE_SCANS_MAX: u32 = 32;
/// How long killing may take in all; what is left then belongs to another user or hangs in the kernel.
const KILL_TIME_MAX: Duration = Duration::from_secs(5);

/// One process below the leash.
#[derive(Clone, Copy, Debug)]
pub(super) struct Descendant {
    pub(super) pid: Pid,
    group: Option<Pid>,
}

/// Makes us leader of our own session and reaper of everything below.
pub(super) fn settle() {
    // Fails only when we already lead a group; then there is nothing to do.
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        // `killall tillerman` should end tillerman and let us do our work.
        let _ = rustix::thread::set_name(c"leash");
    }
}

/// Becomes readable when the process ends.
pub(super) fn exit_watch(pid: Option<Pid>) -> Option<OwnedFd> {
    #[cfg(target_os = "linux")]
    return rustix::process::pidfd_open(pid?, rustix::process::PidfdFlags::empty()).ok();
    #[cfg(not(target_os = "linux"))]
    return pid.and(None);
}

/// Processes and threads on the whole machine: one small read, good enough to notice growth.
pub(super) fn tasks_on_machine() -> Option<u32> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').nth(3)?.split('/').nth(1)?.parse().ok()
}

/// Bounds the number of processes of our user to what is there now plus `pids_max`. The kernel counts per user and
/// exempts root, so the supervisor counts by itself as well; only the soft limit is touched.
pub(super) fn limit_processes(pids_max: u32, tasks: Option<u32>) {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Some(tasks) = tasks else { return };
        let bound = u64::from(tasks) + u64::from(pids_max);
        let now = getrlimit(Resource::Nproc);
        let current = now.current.map_or(bound, |current| current.min(bound));
        let _ = setrlimit(Resource::Nproc, Rlimit { current: Some(current), maximum: now.maximum });
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (pids_max, tasks);
}

/// Everything below us that still runs, zombies not counted.
#[cfg(target_os = "linux")]
pub(super) fn descendants() -> Vec<Descendant> {
    let all = processes();
    let mut found: Vec<Descendant> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let mut parents = vec![rustix::process::getpid().as_raw_nonzero().get()];
    while let Some(parent) = parents.pop() {
        for process in all.iter().filter(|process| process.parent == parent) {
            // The table is not a snapshot: a recycled number must not send us round in circles.
            if !seen.insert(process.pid) {
                continue;
            }
            parents.push(process.pid);
            if !process.zombie
                && let Some(pid) = Pid::from_raw(process.pid)
            {
                found.push(Descendant { pid, group: Pid::from_raw(process.group) });
            }
        }
    }
    found
}

#[cfg(not(target_os = "linux"))]
pub(super) fn descendants() -> Vec<Descendant> {
    Vec::new()
}

#[cfg(target_os = "linux")]
struct ProcessEntry {
    pid: i32,
    parent: i32,
    group: i32,
    session: i32,
    zombie: bool,
}

#[cfg(target_os = "linux")]
fn processes() -> Vec<ProcessEntry> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| stat(entry.file_name().to_str()?.parse().ok()?)).collect()
}

#[cfg(target_os = "linux")]
fn stat(pid: i32) -> Option<ProcessEntry> {
    let bytes = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may itself contain any byte; the last one closes it.
    let end = bytes.iter().rposition(|byte| *byte == b')')?;
    let text = std::str::from_utf8(&bytes[end + 1..]).ok()?;
    let mut fields = text.split_ascii_whitespace();
    let zombie = matches!(fields.next()?, "Z" | "X");
    let mut number = || fields.next()?.parse().ok();
    Some(ProcessEntry { pid, parent: number()?, group: number()?, session: number()?, zombie })
}

/// Sends a signal to the command's group, to every group below us, and to every single process.
pub(super) fn signal_all(group: Pid, found: &[Descendant], signal: Signal) {
    let own = rustix::process::getpgrp();
    let mut groups = vec![group];
    for one in found {
        if let Some(group) = one.group
            && group != own
            && !groups.contains(&group)
        {
            groups.push(group);
        }
    }
    // Groups first: the kernel signals a group as one, no member can fork its way out meanwhile.
    for group in groups {
        let _ = kill_process_group(group, signal);
    }
    for one in found {
        let _ = kill_process(one.pid, signal);
    }
}

/// Freezes, then kills, until nothing is left or [`KILL_TIME_MAX`] is over. `reap` collects the dead between rounds
/// and says whether any child of ours is left.
pub(super) fn kill_all(group: Pid, mut reap: impl FnMut() -> bool) {
    let start = Instant::now();
    while start.elapsed() < KILL_TIME_MAX {
        let mut found = descendants();
        // A stopped process cannot fork: freeze until no scan finds anything new, so that a loop of forks cannot
        // refill what we empty.
        if found.len() > 1 {
            for _ in 0..FREEZE_SCANS_MAX {
                signal_all(group, &found, Signal::STOP);
                let again = descendants();
                let grown = again.iter().any(|one| !found.iter().any(|known| known.pid == one.pid));
                found = again;
                if !grown {
                    break;
                }
            }
        }
        signal_all(group, &found, Signal::KILL);
        if !reap() && descendants().is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Kills what is left of a session whose leash died before its children (it was killed).
pub(super) fn kill_session(leader: i32, group: Option<i32>) {
    if let Some(group) = group.and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    #[cfg(target_os = "linux")]
    for process in processes() {
        // A command on a terminal leads a session of its own, with the number of its group.
        if (process.session == leader || Some(process.session) == group)
            && let Some(pid) = Pid::from_raw(process.pid)
        {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = leader;
}

/// Descriptors other than 0, 1, 2 that an `exec` would hand on: our parent gave them to us without close-on-exec.
pub(super) fn leaking_descriptors() -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter(|number| *number > 2 && !closes_on_exec(*number)).collect()
}

fn closes_on_exec(number: i32) -> bool {
    const O_CLOEXEC: u32 = 0o2_000_000;
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}"));
    // A descriptor that is gone by now (the one that lists the directory) cannot leak.
    let Ok(info) = info else { return true };
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok()).is_some_and(|flags| flags & O_CLOEXEC != 0)
}
