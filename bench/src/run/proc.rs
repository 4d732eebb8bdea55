//! What the kernel knows about a process and its descendants.

use std::fs;

use anyhow::Context;

/// Clock ticks per second in `/proc`; fixed by the kernel's interface.
const TICKS_PER_SECOND: u64 = 100;

/// Proportional set size in megabytes (10^6 bytes) of a process and its descendants.
pub(super) fn pss_mb(pid: u32) -> anyhow::Result<f64> {
    let mut kb = 0;
    for pid in tree(pid) {
        let Ok(rollup) = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) else { continue };
        let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:")).context("no Pss in smaps_rollup")?;
        kb += line.trim().trim_end_matches(" kB").parse::<u64>().context("Pss")?;
    }
    anyhow::ensure!(kb > 0, "no memory figures for process {pid}");
    Ok(kb as f64 * 1024.0 / 1e6)
}

/// Open descriptors of a process.
pub(super) fn descriptors(pid: u32) -> anyhow::Result<usize> {
    Ok(fs::read_dir(format!("/proc/{pid}/fd")).context("no list of descriptors")?.count())
}

/// CPU time in nanoseconds that a process and its living descendants have used.
pub(super) fn cpu_ns(pid: u32) -> u64 {
    tree(pid).into_iter().map(cpu_of_one).sum()
}

/// CPU time in nanoseconds of this process alone: the driver's and the mock's.
pub(super) fn own_cpu_ns() -> u64 {
    cpu_of_one(std::process::id())
}

/// A line of `status` that counts kilobytes, in bytes: `VmRSS`, `VmHWM`.
pub(super) fn status_bytes(pid: u32, field: &str) -> anyhow::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kb: u64 = line.with_context(|| format!("no {field}"))?.trim().trim_end_matches(" kB").parse()?;
    Ok(kb as f64 * 1024.0)
}

/// `schedstat` counts nanoseconds but forgets threads that ended; `stat` remembers them in ticks of 10 ms.
fn cpu_of_one(pid: u32) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let exact: u64 = tasks
        .filter_map(|task| fs::read_to_string(task.path().join("schedstat")).ok())
        .filter_map(|stat| stat.split_whitespace().next()?.parse::<u64>().ok())
        .sum();
    let ticks: u64 = stat(pid)
        .map(|fields| fields.iter().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum())
        .unwrap_or_default();
    exact.max(ticks * (1_000_000_000 / TICKS_PER_SECOND))
}

/// A process and its descendants.
fn tree(root: u32) -> Vec<u32> {
    let everybody: Vec<(u32, u32)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter_map(|pid| Some((pid, stat(pid)?.get(1)?.parse().ok()?)))
        .collect();
    let mut family = vec![root];
    let mut at = 0;
    while at < family.len() {
        let parent = family[at];
        family.extend(everybody.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    family
}

/// The fields of `stat` behind the name: state, parent, ...
fn stat(pid: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    Some(fields.split_whitespace().map(String::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_sees_itself_and_its_child() {
        let me = std::process::id();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(tree(me).contains(&child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!tree(me).contains(&child.id()));
        let mb = pss_mb(me).unwrap();
        assert!((0.1..1000.0).contains(&mb), "{mb} MB");
    }

    #[test]
    fn work_costs_cpu_time() {
        let before = cpu_ns(std::process::id());
        let start = std::time::Instant::now();
        while start.elapsed() < std::time::Duration::from_millis(60) {}
        let used = cpu_ns(std::process::id()) - before;
        assert!(used > 10_000_000, "{used} ns");
    }
}
