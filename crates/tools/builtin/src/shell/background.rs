//! What runs while no call waits for it: commands started with `run_in_background`, and processes that a finished
//! command left behind. Each has one task that drains its output into a ring and records how it ended.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use vocab::Required;

use process::leash::{Control, PseudoTerminal, Report, TerminalSize, read_now};

use super::background_state::BackgroundState;

/// Background processes that may run at once in a session; another start is refused and told why.
pub(super) const RUNNING_MAX: usize = 16;
/// Entries kept in all, ended ones included; the oldest ended one is forgotten first.
const ENTRIES_MAX: usize = 32;
/// What is taken of the output once nothing runs any more: as much as a pipe can hold. Beyond it somebody else writes,
/// to whom the pipe was handed on, and that is left unread.
const DRAIN_BYTES_MAX: usize = 1024 * 1024;

/// Every background process of a session. Dropping it ends them.
#[derive(Default)]
pub(super) struct BackgroundRegistry {
    entries: Vec<Arc<BackgroundProcess>>,
    started: u64,
}

impl BackgroundRegistry {
    pub(super) fn has_room(&self) -> bool {
        self.entries.iter().filter(|process| !process.state().gone).count() < RUNNING_MAX
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<BackgroundProcess>> {
        self.entries.iter().find(|process| process.id == id).cloned()
    }

    pub(super) fn all(&self) -> &[Arc<BackgroundProcess>] {
        &self.entries
    }

    /// Takes over a process and drains it from now on. `None`, and the process ends, when there is no room.
    pub(super) fn add(&mut self, start: Start) -> Option<Arc<BackgroundProcess>> {
        if !self.has_room() {
            return None;
        }
        if self.entries.len() >= ENTRIES_MAX
            && let Some(oldest) = self.entries.iter().position(|process| process.state().gone)
        {
            self.entries.remove(oldest);
        }
        self.started += 1;
        let process = Arc::new(BackgroundProcess {
            id: format!("bash_{}", self.started),
            command: start.command,
            required: start.required,
            started_ms: now_ms(),
            state: Mutex::new(BackgroundState::new(start.ended)),
            changed: Notify::new(),
            stop: Notify::new(),
            input: tokio::sync::Mutex::new(start.input),
            terminal: Mutex::new(start.terminal),
            task: Mutex::new(None),
        });
        let task = tokio::spawn(Arc::clone(&process).follow(start.control, start.output, start.timeout));
        *process.task.lock().expect("nothing panics while it holds the handle") = Some(task.abort_handle());
        self.entries.push(Arc::clone(&process));
        Some(process)
    }
}

impl Drop for BackgroundRegistry {
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
    pub(super) terminal: Option<PseudoTerminal>,
    /// What starting it needed; so does everything that acts on it.
    pub(super) required: Required,
    /// How the direct child ended, when it already did.
    pub(super) ended: Option<Report>,
    pub(super) timeout: Option<Duration>,
}

pub(super) struct BackgroundProcess {
    pub(super) id: String,
    pub(super) command: String,
    pub(super) required: Required,
    /// Milliseconds since 1970.
    pub(super) started_ms: i64,
    state: Mutex<BackgroundState>,
    /// Something in `state` changed.
    changed: Notify,
    stop: Notify,
    pub(super) input: tokio::sync::Mutex<Option<pipe::Sender>>,
    /// There while it runs on one.
    terminal: Mutex<Option<PseudoTerminal>>,
    task: Mutex<Option<AbortHandle>>,
}

fn now_ms() -> i64 {
    vocab::unix_ms(SystemTime::now())
}

impl BackgroundProcess {
    pub(super) fn state(&self) -> MutexGuard<'_, BackgroundState> {
        self.state.lock().expect("no code panics while it holds the state")
    }

    /// Asks for the end; the leash does it.
    pub(super) fn stop(&self) {
        self.stop.notify_one();
    }

    /// The size of its terminal, while it runs on one.
    pub(super) fn size(&self) -> Option<TerminalSize> {
        self.terminal().as_ref()?.size()
    }

    /// Gives its terminal a size; `None` when it has none.
    pub(super) fn resize(&self, size: TerminalSize) -> Option<std::io::Result<()>> {
        self.terminal().as_ref().map(|terminal| terminal.resize(size))
    }

    fn terminal(&self) -> MutexGuard<'_, Option<PseudoTerminal>> {
        self.terminal.lock().expect("no code panics while it holds the terminal")
    }

    /// Waits until `ready` or for `time` at most.
    pub(super) async fn wait(&self, time: Duration, ready: impl Fn(&BackgroundState) -> bool) {
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

    pub(super) fn has_output(state: &BackgroundState) -> bool {
        state.unread() > 0 || state.gone
    }

    async fn follow(self: Arc<Self>, mut control: Control, mut output: pipe::Receiver, timeout: Option<Duration>) {
        let mut buffer = vec![0; 16 * 1024];
        let mut open = true;
        let deadline = tokio::time::sleep(timeout.unwrap_or(Duration::MAX / 4));
        tokio::pin!(deadline);
        loop {
            tokio::select! {
                report = control.report() => match report {
                    Some(Report::Started(_)) => {}
                    // The leash would wait for another command; nobody will give it one.
                    Some(Report::Empty) | None => break,
                    // The command's own end comes after "too many" and says less.
                    Some(report) => {
                        self.state().ended.get_or_insert(report);
                    }
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
        let mut drained = 0;
        while drained < DRAIN_BYTES_MAX
            && let Some(count @ 1..) = read_now(&output, &mut buffer)
        {
            self.state().push(&buffer[..count]);
            drained += count;
        }
        self.state().gone = true;
        self.changed.notify_waiters();
        self.terminal().take();
        self.input.lock().await.take();
    }
}
