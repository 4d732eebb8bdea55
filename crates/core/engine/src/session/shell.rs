//! Commands of users beside the conversation. They run whatever the session does; nothing waits for them, and they wait
//! for the log alone: that one is about to run is written before it does, and what came of it before its owner is
//! told.
//!
//! Where the model reads it: at its place in the log, except that nothing stands between a call and its result (see
//! [`History`](crate::session::model_view::History)). So a history read back is the one that was there before.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::oneshot;
use tokio::time::{Duration, Instant, Sleep};
use vocab::{Body, Event, Fault, FaultKind, Later, PeerId, Principal, Reply, Shell, ShellEntry, Tag};

use super::activity::ProgressCell;
use super::{Session, guarded, later};
use crate::outbox::Outbox;
use crate::session::model_view::lost_shell;

/// Commands of users that run at once in one session; one more is refused until another has ended.
pub(super) const SHELLS_MAX: usize = 8;
/// How long a command that was stopped may take to come out; then we go on without it and say what it had told.
const STOP_TIME_MAX: Duration = Duration::from_secs(4);

type BeginShell = Box<dyn FnOnce() -> Later<'static, Shell> + Send>;

enum ShellStage {
    /// Begins when the log, with the word that it is about to, is written up to here.
    Waits {
        upto: u64,
        begin: Option<BeginShell>,
    },
    Runs(Later<'static, Shell>),
}

/// One that runs, or is about to.
pub(super) struct RunningShell {
    outbox: Arc<Outbox>,
    tag: Tag,
    /// Whose doing it is, also when the peer is gone by the end of it.
    by: Option<Principal>,
    command: Arc<str>,
    aside: bool,
    stage: ShellStage,
    progress: Arc<ProgressCell>,
    /// The newest progress, should the command never come out.
    told: String,
    /// `None` once it was used.
    stop: Option<oneshot::Sender<()>>,
    /// Set by the stop.
    given_up: Option<Pin<Box<Sleep>>>,
}

/// The commands of users in one session.
#[derive(Default)]
pub(super) struct Shells {
    /// Read by the session itself: where it is empty, nothing of this file runs.
    pub(super) running: Vec<RunningShell>,
}

impl RunningShell {
    fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // A command that does not listen is dropped when the time is over.
            let _ = stop.send(());
            self.given_up = Some(Box::pin(tokio::time::sleep_until(Instant::now() + STOP_TIME_MAX)));
        }
    }

    fn poll(&mut self, committed: u64, context: &mut Context<'_>) -> Poll<Result<Shell, Fault>> {
        if let ShellStage::Waits { upto, begin } = &mut self.stage {
            if self.stop.is_none() {
                return Poll::Ready(Ok(self.abandoned()));
            }
            // The commit was polled before and wakes us.
            let Some(begin) = begin.take_if(|_| *upto <= committed) else { return Poll::Pending };
            match guarded(begin) {
                Ok(future) => self.stage = ShellStage::Runs(future),
                Err(text) => {
                    let text = format!("the command could not be started: {text}");
                    return Poll::Ready(Err(Fault::new(FaultKind::Internal, text)));
                }
            }
        }
        let ShellStage::Runs(future) = &mut self.stage else { return Poll::Pending };
        match guarded(|| future.as_mut().poll(context)) {
            Ok(Poll::Ready(shell)) => return Poll::Ready(Ok(shell)),
            Ok(Poll::Pending) => {}
            Err(text) => {
                let fault = Fault::new(FaultKind::Internal, format!("the command could not be followed: {text}"));
                return Poll::Ready(Err(fault));
            }
        }
        match &mut self.given_up {
            Some(sleep) => sleep.as_mut().poll(context).map(|()| Ok(self.abandoned())),
            None => Poll::Pending,
        }
    }

    /// What is known of a command that did not come out after its stop.
    fn abandoned(&self) -> Shell {
        Shell {
            command: self.command.clone(),
            output: self.told.as_str().into(),
            exit_code: None,
            cancelled: true,
            truncated: false,
            total_lines: self.told.matches('\n').count() as u64 + 1,
            total_bytes: self.told.len() as u64,
            spilled: None,
            aside: self.aside,
        }
    }
}

impl Session {
    /// Whether a command can be taken.
    pub(super) fn takes_shell(&self, command: &str) -> Result<(), Fault> {
        if command.trim().is_empty() {
            return Err(Fault::new(FaultKind::Invalid, "the command is empty"));
        }
        if self.shells.running.len() >= SHELLS_MAX {
            let text = format!("{SHELLS_MAX} commands are running already");
            return Err(Fault::new(FaultKind::QueueFull, text).hint("wait for one of them, or abort them"));
        }
        Ok(())
    }

    /// Takes a command; its reply comes when it is done.
    pub(super) fn shell(
        &mut self,
        outbox: &Arc<Outbox>,
        tag: Tag,
        command: Arc<str>,
        aside: bool,
    ) -> Result<(), Fault> {
        self.takes_shell(&command)?;
        // What the command did is going to be appended: to a log that is in order.
        if self.log.last_seq() > 0 {
            self.view_at_rest()?;
        }
        let progress = Arc::<ProgressCell>::default();
        let cell = progress.clone();
        let told = Arc::new(move |text: &str| cell.put(text));
        let (stop, stopped) = oneshot::channel();
        let toolbox = self.shared.ports.toolbox.clone();
        let stopped = later::stopped(stopped);
        let (id, workspace, words) = (self.id.clone(), self.settings.workspace.clone(), command.clone());
        let begin: BeginShell = Box::new(move || toolbox.shell(&id, &workspace, &words, told, stopped));
        self.log(Body::Shell(ShellEntry::Started { command: command.clone(), aside }));
        let stage = ShellStage::Waits { upto: self.log.last_seq(), begin: Some(begin) };
        self.shells.running.push(RunningShell {
            outbox: outbox.clone(),
            tag,
            by: self.log.commands.acting().cloned(),
            command,
            aside,
            stage,
            progress,
            told: String::new(),
            stop: Some(stop),
            given_up: None,
        });
        Ok(())
    }

    /// The write that said they were about to begin has failed: they do not.
    pub(super) fn fail_shells(&mut self, fault: &Fault) {
        let committed = self.log.committed();
        let waits =
            |running: &mut RunningShell| matches!(&running.stage, ShellStage::Waits { upto, .. } if *upto > committed);
        for running in self.shells.running.extract_if(.., waits).collect::<Vec<_>>() {
            self.log.reply(running.outbox, Event::Reply { tag: running.tag, result: Err(fault.clone()) });
        }
    }

    /// What is to be said of commands that the log has begun and not ended, and that do not run here.
    pub(super) fn lost_shells(&self, mut open: Vec<(Arc<str>, bool)>) -> Vec<Shell> {
        for running in &self.shells.running {
            let is_it = |(command, aside): &(Arc<str>, bool)| *command == running.command && *aside == running.aside;
            if let Some(at) = open.iter().position(is_it) {
                open.remove(at);
            }
        }
        open.into_iter().map(|(command, aside)| lost_shell(command, aside)).collect()
    }

    pub(super) fn stop_shells(&mut self, whose: impl Fn(PeerId) -> bool) {
        self.shells.running.iter_mut().filter(|running| whose(running.outbox.peer)).for_each(RunningShell::stop);
    }

    /// Ends them at once; their owners get no other answer.
    pub(super) fn drop_shells(&mut self, fault: &Fault) {
        for RunningShell { outbox, tag, .. } in self.shells.running.drain(..) {
            let result = Err(fault.clone());
            self.log.peers.tell_one(&outbox, Event::Reply { tag, result });
        }
    }

    /// Ready when one of them is done.
    pub(super) fn poll_shells(&mut self, context: &mut Context<'_>) -> Poll<(usize, Result<Shell, Fault>)> {
        let committed = self.log.committed();
        for (index, running) in self.shells.running.iter_mut().enumerate() {
            if let Poll::Ready(result) = running.poll(committed, context) {
                return Poll::Ready((index, result));
            }
            // A reader that stopped is told nothing more: only the newest text is kept for it.
            while running.outbox.poll_room(context).is_ready()
                && let Poll::Ready(text) = running.progress.poll_take(context)
            {
                let text = self.shared.ports.keyring.scrub_growing(&text).into_owned();
                running.told.clone_from(&text);
                let event = Event::ShellProgress { tag: running.tag, text };
                self.log.peers.tell_one(&running.outbox, event);
            }
        }
        Poll::Pending
    }

    /// One of them is done: into the log, then to its owner.
    pub(super) fn shell_done(&mut self, index: usize, result: Result<Shell, Fault>) {
        let running = self.shells.running.swap_remove(index);
        self.log.look_at_end(&running.outbox, running.tag, running.by);
        let result = result.map(|shell| {
            let output = self.shared.ports.keyring.scrub_shared(shell.output);
            let shell = Shell { aside: running.aside, output, ..shell };
            self.log(Body::Shell(ShellEntry::Ended(shell.clone())));
            if !shell.aside {
                self.tell_state();
            }
            Reply::Shell(Box::new(shell))
        });
        self.log.reply(running.outbox, Event::Reply { tag: running.tag, result });
        self.log.looked_at();
    }
}
