//! Processes that we have started, and what those have started. They run under our user, so a socket of theirs would be taken
//! for the user's own: a command of a model's must not become its own master.

use std::collections::{HashMap, HashSet};

/// Steps up from a process that are looked at.
const DEPTH_MAX: usize = 1_000;

/// The parent of a process, by its line in `stat`: the name before it may hold anything, brackets included.
fn parent_in(stat: &str) -> Option<i32> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

fn parent_of(pid: i32) -> Option<i32> {
    parent_in(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_pid()
}

/// Whether a process is one of ours. One that is gone is nobody's; we ourselves are not below us.
pub(crate) fn is_below_us(pid: i32) -> bool {
    let own = own_pid();
    let mut at = pid;
    for _ in 0..DEPTH_MAX {
        match parent_of(at) {
            Some(parent) if parent == own => return true,
            Some(parent) if parent > 1 => at = parent,
            _ => return false,
        }
    }
    true
}

/// The sockets that processes below us hold.
pub(crate) fn sockets_below_us() -> HashSet<u64> {
    below(own_pid(), &parents()).into_iter().flat_map(sockets_of).collect()
}

fn parents() -> HashMap<i32, i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return HashMap::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| Some((pid, parent_of(pid)?))).collect()
}

fn below(own: i32, parents: &HashMap<i32, i32>) -> Vec<i32> {
    let is_below = |pid: i32| {
        let mut at = pid;
        for _ in 0..DEPTH_MAX {
            match parents.get(&at) {
                Some(parent) if *parent == own => return true,
                Some(parent) => at = *parent,
                None => return false,
            }
        }
        false
    };
    parents.keys().copied().filter(|pid| is_below(*pid)).collect()
}

fn sockets_of(pid: i32) -> Vec<u64> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let links = entries.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let inode = |link: std::path::PathBuf| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok();
    links.filter_map(inode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_be_called_anything() {
        assert_eq!(parent_in("42 (a) b) (c) S 7 42 42 0"), Some(7));
        assert_eq!(parent_in("42 (x"), None);
        assert!(!is_below_us(own_pid()) && !is_below_us(1));
    }

    #[test]
    fn what_our_children_started_is_below_us() {
        let parents = [(10, 5), (11, 10), (12, 11), (13, 6), (5, 1), (6, 1)].into();
        let mut found = below(5, &parents);
        found.sort_unstable();
        assert_eq!(found, [10, 11, 12]);
    }
}
