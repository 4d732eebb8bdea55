//! What runs while no call waits for it: commands started with `run_in_background`, and processes that a finished
//! command left behind. Each has one task that drains its output into a ring and records how it ended.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::leash::{Control, Report, read_now};

use super::capture::{cut_partial, readable};

/// Background processes that may run at once in a session; another start is refused and told why.
pub(super) const RUNNING_MAX: usize = 16;
/// Entries kept in all, ended ones included; the oldest ended one is forgotten first.
const ENTRIES_MAX: usize = 32;
/// Unread output kept per process; the oldest is dropped and the next read says how much.
pub(super) const RING_BYTES: usize = 256 * 1024;
/// What one read returns at most; more waits for the next read.
pub(super) const READ_BYTES_MAX: usize = 32 * 1024;

/// Every background process of a session. Dropping it ends them.
#[derive(Default)]
pub(super) struct Registry {
    entries: Vec<Arc<Process>>,
    started: u64,
}

impl Registry {
    pub(super) fn has_room(&self) -> bool {
        self.entries.iter().filter(|process| !process.state().gone).count() < RUNNING_MAX
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<Process>> {
        self.entries.iter().find(|process| process.id == id).cloned()
    }

    pub(super) fn all(&self) -> &[Arc<Process>] {
        &self.entries
    }

    /// Takes over a process and drains it from now on. `None`, and the process ends, when there is no room.
    pub(super) fn add(&mut self, start: Start) -> Option<Arc<Process>> {
        if !self.has_room() {
            return None;
        }
        if self.entries.len() >= ENTRIES_MAX
            && let Some(oldest) = self.entries.iter().position(|process| process.state().gone)
        {
            self.entries.remove(oldest);
        }
        self.started += 1;
        let process = Arc::new(Process {
            id: format!("bash_{}", self.started),
            command: start.command,
            state: Mutex::new(State { ended: start.ended, ..State::default() }),
            changed: Notify::new(),
            stop: Notify::new(),
            input: tokio::sync::Mutex::new(start.input),
            task: Mutex::new(None),
        });
        let task = tokio::spawn(Arc::clone(&process).follow(start.control, start.output, start.timeout));
        *process.task.lock().expect("nothing panics while it holds the handle") = Some(task.abort_handle());
        self.entries.push(Arc::clone(&process));
        Some(process)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        for process in &self.entries {
            // The task owns the leash; without the task nobody holds it, and it ends everything.
            if let Some(task) = process.task.lock().expect("nothing panics while it holds the handle").take() {
                task.abort();
            }
        }
    }
}

/// What the registry needs to take a process over.
pub(super) struct Start {
    pub(super) command: String,
    pub(super) control: Control,
    pub(super) output: pipe::Receiver,
    pub(super) input: Option<pipe::Sender>,
    /// How the direct child ended, when it already did.
    pub(super) ended: Option<Report>,
    pub(super) timeout: Option<Duration>,
}

pub(super) struct Process {
    pub(super) id: String,
    pub(super) command: String,
    state: Mutex<State>,
    /// Something in `state` changed.
    changed: Notify,
    stop: Notify,
    pub(super) input: tokio::sync::Mutex<Option<pipe::Sender>>,
    task: Mutex<Option<AbortHandle>>,
}

#[derive(Default)]
pub(super) struct State {
    unread: VecDeque<u8>,
    /// Bytes that fell out of `unread` since the last read.
    dropped: u64,
    /// How the direct child ended.
    pub(super) ended: Option<Report>,
    pub(super) timed_out: bool,
    /// Nothing of it runs any more.
    pub(super) gone: bool,
}

impl State {
    fn push(&mut self, bytes: &[u8]) {
        let bytes_kept = &bytes[bytes.len().saturating_sub(RING_BYTES)..];
        let overflow = (self.unread.len() + bytes_kept.len()).saturating_sub(RING_BYTES);
        self.unread.drain(..overflow);
        self.dropped += (overflow + bytes.len() - bytes_kept.len()) as u64;
        self.unread.extend(bytes_kept);
    }

    /// The next unread output as text, with notes about what was dropped or still waits.
    pub(super) fn take(&mut self) -> String {
        let whole = self.unread.make_contiguous();
        let limited = &whole[..whole.len().min(READ_BYTES_MAX)];
        // An unfinished character waits for its rest, unless no rest can come.
        let part = if self.gone && limited.len() == whole.len() { limited } else { cut_partial(limited) };
        let count = part.len();
        let mut text = String::new();
        if self.dropped > 0 {
            text = format!("[{} older bytes were dropped before they were read]\n", self.dropped);
            self.dropped = 0;
        }
        text.push_str(&readable(part));
        self.unread.drain(..count);
        if self.unread.len() > 4 {
            text.push_str(&format!("\n[{} more bytes wait; read again]", self.unread.len()));
        }
        text
    }

    /// One line for the model.
    pub(super) fn describe(&self) -> String {
        let end = match self.ended {
            Some(Report::Exited { code, .. }) => format!("exit code {code}"),
            Some(Report::Killed { signal, .. }) => format!("killed by signal {signal}"),
            Some(Report::TooMany(count)) => format!("ended: it had {count} processes"),
            Some(Report::Failed(errno)) => {
                format!("could not be started: {}", std::io::Error::from_raw_os_error(errno))
            }
            _ if self.gone => "its supervisor was killed".to_owned(),
            _ => return "running".to_owned(),
        };
        let timed_out = if self.timed_out { "timed out, " } else { "" };
        let left = matches!(self.ended, Some(Report::Exited { left: true, .. } | Report::Killed { left: true, .. }));
        let left = if left && !self.gone { ", processes it started still run" } else { "" };
        format!("{timed_out}{end}{left}")
    }
}

impl Process {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no code panics while it holds the state")
    }

    /// Asks for the end; the leash does it.
    pub(super) fn stop(&self) {
        self.stop.notify_one();
    }

    /// Waits until `ready` or for `time` at most.
    pub(super) async fn wait(&self, time: Duration, ready: impl Fn(&State) -> bool) {
        let waiting = async {
            loop {
                let changed = self.changed.notified();
                tokio::pin!(changed);
                // Registered before looking, so that no change falls between.
                changed.as_mut().enable();
                if ready(&self.state()) {
                    return;
                }
                changed.await;
            }
        };
        let _ = tokio::time::timeout(time, waiting).await;
    }

    pub(super) fn has_output(state: &State) -> bool {
        !state.unread.is_empty() || state.gone
    }

    async fn follow(self: Arc<Self>, mut control: Control, mut output: pipe::Receiver, timeout: Option<Duration>) {
        let mut buffer = vec![0; 16 * 1024];
        let mut open = true;
        let deadline = tokio::time::sleep(timeout.unwrap_or(Duration::MAX / 4));
        tokio::pin!(deadline);
        loop {
            tokio::select! {
                report = control.report() => match report {
                    Some(Report::Started(_) | Report::Empty) => {}
                    // The command's own end comes after "too many" and says less.
                    Some(report) => {
                        self.state().ended.get_or_insert(report);
                    }
                    None => break,
                },
                read = output.read(&mut buffer), if open => match read {
                    Ok(count) if count > 0 => self.state().push(&buffer[..count]),
                    _ => open = false,
                },
                () = self.stop.notified() => control.stop(),
                () = &mut deadline, if timeout.is_some() && !self.state().timed_out => {
                    self.state().timed_out = true;
                    control.stop();
                }
            }
            self.changed.notify_waiters();
        }
        while let Some(count @ 1..) = read_now(&output, &mut buffer) {
            self.state().push(&buffer[..count]);
        }
        self.input.lock().await.take();
        self.state().gone = true;
        self.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_keeps_the_newest_and_says_what_it_lost() {
        let mut state = State::default();
        state.push(&vec![b'a'; RING_BYTES]);
        state.push(b"bc");
        assert!(state.take().starts_with("[2 older bytes were dropped before they were read]\naaa"));
        let mut rest = String::new();
        while !state.unread.is_empty() {
            rest = state.take();
        }
        assert!(rest.ends_with("abc"));
        let mut state = State::default();
        state.push(&vec![b'x'; 3 * RING_BYTES]);
        assert_eq!((state.unread.len(), state.dropped), (RING_BYTES, 2 * RING_BYTES as u64));
    }

    #[test]
    fn a_character_split_between_two_reads_arrives_whole() {
        let mut state = State::default();
        state.push(b"a\xf0\x9f");
        assert_eq!(state.take(), "a");
        state.push(b"\xa6\x80!");
        assert_eq!(state.take(), "🦀!");
    }
}
