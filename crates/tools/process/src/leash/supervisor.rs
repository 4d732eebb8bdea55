//! The supervisor's side: what `<exe> __leash` does. One thread, one `poll` loop, no runtime.

use std::ffi::OsStr;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, recv, recvmsg, send};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, wait};

use super::messages::{LeashRequest, REQUEST_BYTES_MAX, Report, STOP};
use super::{sys, terminal_step};

/// Between TERM and KILL when we are told to stop.
const GRACE: Duration = Duration::from_secs(2);
/// Between TERM and KILL when the holder is gone and cannot tell us anything: what survives us must be gone within two seconds.
const GRACE_ORPHANED: Duration = Duration::from_secs(1);
/// How often adopted processes are reaped and counted.
const TICK: Duration = Duration::from_millis(250);
/// The same where the kernel cannot wake us when a child exits.
const TICK_BLIND: Duration = Duration::from_millis(10);

/// Runs the supervisor; the value is the exit code of the process. Call it first thing in `main`. A leash that has
/// nothing left on it takes the next command: starting one costs as much as starting the shell.
pub fn run() -> i32 {
    if terminal_step::is_this() {
        return terminal_step::run();
    }
    let parent = rustix::process::getppid();
    sys::settle();
    let parent_exit = sys::exit_watch(parent);
    let mut served = false;
    while let Some((request, output, input)) = receive() {
        let tasks_at_start = sys::tasks_on_machine();
        if !std::mem::replace(&mut served, true) {
            sys::limit_processes(request.pids_max, tasks_at_start);
        }
        let child = match spawn(&request, output, input) {
            Ok(child) => child,
            Err(error) => {
                report(Report::Failed(error.raw_os_error().unwrap_or(0)));
                return 1;
            }
        };
        report(Report::Started(child.as_raw_nonzero().get()));
        let child_exit = sys::exit_watch(Some(child));
        let leash = Leash { child, exited: false, pids_max: request.pids_max, tasks_at_start };
        let over = leash.watch(parent_exit.as_ref(), child_exit);
        report(Report::Empty);
        if over == Emptied::Ended {
            return 0;
        }
    }
    if served { 0 } else { 2 }
}

/// Why nothing is left.
#[derive(PartialEq, Eq)]
enum Emptied {
    /// Everything ended by itself.
    Done,
    /// We ended it.
    Ended,
}

/// The control socket is our standard input: the one descriptor that can be handed on without `unsafe`.
fn control() -> rustix::fd::BorrowedFd<'static> {
    rustix::stdio::stdin()
}

fn report(report: Report) {
    // The holder may be gone: the loop notices by itself.
    let _ = send(control(), &report.encode(), SendFlags::NOSIGNAL);
}

/// Reads the request and the descriptors that come with its length.
pub(super) fn receive() -> Option<(LeashRequest, OwnedFd, Option<OwnedFd>)> {
    let mut length = [0u8; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let got = recvmsg(control(), &mut [IoSliceMut::new(&mut length)], &mut ancillary, RecvFlags::CMSG_CLOEXEC).ok()?;
    let mut descriptors = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    let length = u32::from_le_bytes(length) as usize;
    if got.bytes != 4 || length > REQUEST_BYTES_MAX || descriptors.is_empty() {
        return None;
    }
    let mut bytes = vec![0; length];
    read_exactly(&mut bytes)?;
    let mut descriptors = descriptors.into_iter();
    let (output, cwd) = (descriptors.next()?, descriptors.next()?);
    Some((LeashRequest::decode(&bytes, cwd)?, output, descriptors.next()))
}

/// Not through the standard library's buffer: what follows the request, such as an early [`STOP`], must stay in the socket
/// for [`hear`].
fn read_exactly(mut bytes: &mut [u8]) -> Option<()> {
    while !bytes.is_empty() {
        match rustix::io::read(control(), &mut *bytes) {
            Ok(count @ 1..) => bytes = &mut bytes[count..],
            Err(rustix::io::Errno::INTR) => {}
            Ok(_) | Err(_) => return None,
        }
    }
    Some(())
}

/// Starts the command in a group of its own. All our copies of its descriptors are closed when this returns.
fn spawn(request: &LeashRequest, output: OwnedFd, input: Option<OwnedFd>) -> std::io::Result<Pid> {
    if request.terminal.is_some() {
        return terminal_step::spawn(request, output);
    }
    let again = output.try_clone()?;
    // We go there and the command inherits it: a handle cannot be given to a child in any other way without `unsafe`.
    rustix::process::fchdir(&request.cwd)?;
    let child = shell_command(request)
        .process_group(0)
        .stdin(input.map_or_else(Stdio::null, Stdio::from))
        .stdout(Stdio::from(output))
        .stderr(Stdio::from(again))
        .spawn();
    // A leash that waits for its next command must not keep a directory from being unmounted.
    rustix::process::chdir("/")?;
    Pid::from_raw(child?.id() as i32).ok_or_else(|| std::io::ErrorKind::NotFound.into())
}

/// The command line in its shell and its environment, in the directory where we are.
pub(super) fn shell_command(request: &LeashRequest) -> Command {
    let shell = shell(request);
    let mut command = Command::new(&shell);
    command
        .arg("-c")
        .arg(format!("{}{}", closing(&shell), request.command))
        .env_clear()
        .envs(request.env.iter().map(|(name, value)| (name, value)));
    command
}

/// What closes descriptors that our parent gave us without close-on-exec, as the start of the command line. Closing a
/// bare number is not possible without `unsafe`, but the shell can do it. On the same line, so that the line numbers
/// in its messages stay right.
fn closing(shell: &Path) -> String {
    let mut leaks = sys::leaking_descriptors();
    if !shell.ends_with("bash") {
        // A POSIX shell takes two digits for the name of a command.
        leaks.retain(|number| *number < 10);
    }
    if leaks.is_empty() {
        return String::new();
    }
    let closed: Vec<String> = leaks.iter().map(|number| format!("{number}>&-")).collect();
    format!("exec {}; ", closed.join(" "))
}

/// `bash` from an absolute directory of the command's own `PATH`, else the POSIX shell every system has.
fn shell(request: &LeashRequest) -> PathBuf {
    let path = request.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    shell_in(path)
}

/// The shell that commands are given to, for this `PATH`.
pub fn shell_in(path: Option<&OsStr>) -> PathBuf {
    let dirs = std::env::split_paths(path.unwrap_or(OsStr::new("/bin:/usr/bin")));
    let mut candidates = dirs.filter(|dir| dir.is_absolute()).map(|dir| dir.join("bash"));
    candidates.find(|candidate| candidate.is_file()).unwrap_or_else(|| PathBuf::from("/bin/sh"))
}

/// The running command, seen from above.
struct Leash {
    child: Pid,
    exited: bool,
    pids_max: u32,
    tasks_at_start: Option<u32>,
}

impl Leash {
    /// Returns when nothing is left below us.
    fn watch(mut self, parent_exit: Option<&OwnedFd>, child_exit: Option<OwnedFd>) -> Emptied {
        let tick = if child_exit.is_some() { TICK } else { TICK_BLIND };
        let tick = Timespec { tv_sec: 0, tv_nsec: i64::from(tick.subsec_nanos()) };
        while self.reap() {
            let control = control();
            let mut fds = vec![PollFd::new(&control, PollFlags::IN)];
            if let Some(parent_exit) = parent_exit {
                fds.push(PollFd::new(parent_exit, PollFlags::IN));
            }
            // Once the child is reaped its pidfd stays readable for ever.
            if let Some(child_exit) = child_exit.as_ref().filter(|_| !self.exited) {
                fds.push(PollFd::new(child_exit, PollFlags::IN));
            }
            if poll(&mut fds, Some(&tick)) == Ok(0) {
                if self.too_many() {
                    return self.end(Duration::ZERO);
                }
                continue;
            }
            let heard = !fds[0].revents().is_empty();
            let orphaned = parent_exit.is_some() && !fds[1].revents().is_empty();
            if orphaned {
                return self.end(GRACE_ORPHANED);
            }
            if heard && let Some(grace) = hear() {
                return self.end(grace);
            }
        }
        Emptied::Done
    }

    /// Collects the dead and reports the command's own end. `false` when we have no child left.
    fn reap(&mut self) -> bool {
        let mut ended = None;
        let left = loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.child => ended = Some(status),
                Ok(Some(_)) => {}
                Ok(None) => break true,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => break false,
            }
        };
        // Reported after the loop: only now we know whether anybody was left behind.
        if let Some(status) = ended {
            self.exited = true;
            report(end_report(status, left));
        }
        left
    }

    /// Counts what is below us, but only when the machine as a whole has grown by that much.
    fn too_many(&self) -> bool {
        let grown = match (self.tasks_at_start, sys::tasks_on_machine()) {
            (Some(then), Some(now)) => now.saturating_sub(then) > self.pids_max,
            _ => false,
        };
        if !grown {
            return false;
        }
        let count = sys::descendants().len();
        let too_many = count > self.pids_max as usize;
        if too_many {
            report(Report::TooMany(i32::try_from(count).unwrap_or(i32::MAX)));
        }
        too_many
    }

    /// TERM, the grace, KILL, until nothing is left.
    fn end(mut self, grace: Duration) -> Emptied {
        let start = Instant::now();
        if !grace.is_zero() {
            let found = sys::descendants();
            sys::signal_all(self.child, &found, Signal::TERM);
            // A stopped process takes no TERM before it goes on.
            sys::signal_all(self.child, &found, Signal::CONT);
        }
        while self.reap() && start.elapsed() < grace {
            std::thread::sleep(Duration::from_millis(10));
        }
        let child = self.child;
        sys::kill_all(child, || self.reap());
        Emptied::Ended
    }
}

/// What the holder wants: nothing yet, or an end with this much grace.
fn hear() -> Option<Duration> {
    let mut byte = [0u8; 1];
    match recv(control(), &mut byte, RecvFlags::DONTWAIT) {
        Ok((1, _)) if byte[0] == STOP => Some(GRACE),
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => None,
        // Closed, broken or gibberish: the other end is not our holder any more.
        _ => Some(GRACE_ORPHANED),
    }
}

fn end_report(status: WaitStatus, left: bool) -> Report {
    match status.terminating_signal() {
        Some(signal) => Report::Killed { signal, left },
        None => Report::Exited { code: status.exit_status().unwrap_or(0), left },
    }
}
