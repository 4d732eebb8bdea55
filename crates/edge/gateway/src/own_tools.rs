//! Processes that we have started, and what those have started. They run under our user, so a socket of theirs would be taken
//! for the user's own: a command of a model's must not become its own master.

use std::collections::{HashMap, HashSet};

use crate::owner::Owner;

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

/// Whose a process is. One that is gone, or that we cannot see, is nobody's: whoever connects and leaves the socket to another
/// could be anybody's.
pub(crate) fn whose_process(pid: i32) -> Owner {
    let own = own_pid();
    if pid == own {
        return Owner::Us;
    }
    let mut at = pid;
    for _ in 0..DEPTH_MAX {
        match parent_of(at) {
            Some(parent) if parent == own => return Owner::OurTool,
            Some(parent) if parent > 1 => at = parent,
            Some(_) => return Owner::Us,
            None => return Owner::Other,
        }
    }
    Owner::OurTool
}

/// Which of our user's sockets are the user's. While we have children, one counts only if a process outside them holds it: a
/// tool can hide a socket.
pub(crate) fn whose_sockets(wanted: HashSet<u64>) -> HashMap<u64, Owner> {
    if wanted.is_empty() {
        return HashMap::new();
    }
    let parents = parents();
    let tools = below(own_pid(), &parents);
    if tools.is_empty() {
        return wanted.into_iter().map(|inode| (inode, Owner::Us)).collect();
    }
    let mut owners = HashMap::new();
    for pid in &tools {
        let held = sockets_of(*pid).into_iter().filter(|inode| wanted.contains(inode));
        owners.extend(held.map(|inode| (inode, Owner::OurTool)));
    }
    for pid in parents.keys().filter(|pid| !tools.contains(pid)) {
        if owners.len() == wanted.len() {
            break;
        }
        for inode in sockets_of(*pid).into_iter().filter(|inode| wanted.contains(inode)) {
            owners.entry(inode).or_insert(Owner::Us);
        }
    }
    owners
}

fn parents() -> HashMap<i32, i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return HashMap::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| Some((pid, parent_of(pid)?))).collect()
}

fn below(own: i32, parents: &HashMap<i32, i32>) -> HashSet<i32> {
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
        assert_eq!((whose_process(own_pid()), whose_process(1)), (Owner::Us, Owner::Us));
    }

    #[test]
    fn what_nobody_is_seen_with_is_nobodys_while_tools_run() {
        use std::os::fd::AsRawFd;
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        let pid = gone.id() as i32;
        gone.wait().unwrap();
        assert_eq!(whose_process(pid), Owner::Other, "who connected is gone");
        let mut tool = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert_eq!(whose_process(tool.id() as i32), Owner::OurTool);
        let ours = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let link = std::fs::read_link(format!("/proc/self/fd/{}", ours.as_raw_fd())).unwrap();
        let inode: u64 = link.to_str().unwrap().trim_start_matches("socket:[").trim_end_matches(']').parse().unwrap();
        let found = whose_sockets([inode, u64::MAX].into());
        tool.kill().unwrap();
        tool.wait().unwrap();
        assert_eq!(found.get(&inode), Some(&Owner::Us));
        assert_eq!(found.get(&u64::MAX), None, "in flight: no process has it");
    }

    #[test]
    fn what_our_children_started_is_below_us() {
        let parents = [(10, 5), (11, 10), (12, 11), (13, 6), (5, 1), (6, 1)].into();
        assert_eq!(below(5, &parents), [10, 11, 12].into());
    }
}
