//! What a session waits for, and the one place where it looks for what has come: commits first, then its mailbox, then
//! whoever catches up, the running work, and the clocks.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::time::{Duration, Instant, Sleep};
use vocab::{
    Briefing, CallId, Fault, FaultKind, Later, McpStarted, ModelEvent, ModelStream, Outcome, Page, PeerId, Tag,
};

use super::calls::Intent;
use super::compaction::{Compacted, Trace};
use super::editor::EditorOrder;
use super::hooks::RunningHook;
use super::jobs::JobEvent;
use super::undo::UndoStep;
use super::{Mail, STALL, Session};
pub(super) use crate::guard::{client_failed, guarded};
use crate::outbox::Outbox;
use crate::session::model_view::BranchMessage;
use crate::session::turn::{Effect, Turn};

/// What the running turn waits for.
pub(super) enum Work {
    Nothing,
    Model(ModelStream),
    /// Goes on when the log is written up to here.
    Intent {
        upto: u64,
        intent: Intent,
    },
    /// The history is read for the next model call.
    Load {
        then: Effect,
    },
    Tool {
        future: Later<'static, Outcome>,
        call: CallId,
        since: Instant,
    },
    /// The call was dropped; whoever worked for it is still ending.
    Closing(Later<'static, ()>),
    /// A controller runs the tool; its answer comes by mail.
    Delegated {
        since: Instant,
    },
    /// An extension is asked; its verdict comes by mail.
    HookCall(Box<RunningHook>),
    Retry(Pin<Box<Sleep>>),
    /// Servers of tools are starting; so long the first model call waits for them.
    Servers(Pin<Box<Sleep>>),
    /// Somebody looks around the workspace before the first model call.
    Briefing(Later<'static, Briefing>),
    Compact {
        job: Later<'static, Result<Compacted, Fault>>,
        reason: vocab::CompactReason,
        model: Arc<str>,
        trace: Arc<Trace>,
        then: AfterCompact,
        /// What was said beside it; the summary does not know of it.
        meanwhile: Vec<BranchMessage>,
    },
}

/// What a finished compaction leads to.
pub(super) enum AfterCompact {
    /// The provider had said that the context is full; the turn tries again.
    ResumeTurn,
    /// The threshold was reached before a call; the call goes out now.
    CallModel,
    /// Somebody asked for it.
    Answer { outbox: Arc<Outbox>, tag: Tag, slash: bool },
}

pub(super) enum Happening {
    Commit(Result<(), Fault>),
    Mail(Mail),
    /// What a verb waited for has come.
    Job(JobEvent),
    /// `/undo` got further.
    Undo(UndoStep),
    /// It is time to take up what a failed write left waiting.
    MendDue,
    Model(Option<ModelEvent>),
    Tool(Outcome),
    /// What waited for the log can go on.
    Written,
    /// The log was read for the model.
    Read(Result<Page, Fault>),
    /// Nobody works for the dropped call any more.
    ChildrenClosed,
    RetryDue,
    Compacted(Result<Compacted, Fault>),
    LaneDue,
    /// Some extension's time is over.
    BesideDue,
    Shell(usize, Result<vocab::Shell, Fault>),
    /// A call wants something of a controller; `None`: some call does not any more.
    EditorRequest(Option<EditorOrder>),
    McpStarted(Option<PeerId>, Vec<McpStarted>),
    /// Servers of tools were waited for long enough.
    ServersDue,
    Briefed(Briefing),
    Progress(String),
    Stalled,
    /// Somebody who catches up got further; look again.
    Caught,
    /// Nobody can reach this session any more.
    Abandoned,
}

#[derive(Default)]
pub(crate) struct ProgressCell(std::sync::Mutex<(Option<String>, Option<std::task::Waker>)>);

impl ProgressCell {
    pub(super) fn put(&self, text: &str) {
        let mut cell = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        cell.0 = Some(text.to_owned());
        if let Some(waker) = cell.1.take() {
            waker.wake();
        }
    }
    pub(super) fn poll_take(&self, context: &mut Context<'_>) -> Poll<String> {
        let mut cell = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match cell.0.take() {
            Some(text) => Poll::Ready(text),
            None => {
                cell.1 = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Session {
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Happening> {
        if let Poll::Ready(result) = self.log.poll_commit(context) {
            return Poll::Ready(Happening::Commit(result));
        }
        // Nothing gets in between the steps of an undo but what must not wait.
        let is_free = self.undo.is_none();
        if is_free && let Poll::Ready(event) = self.poll_jobs(context) {
            return Poll::Ready(Happening::Job(event));
        }
        if let Poll::Ready(mail) = self.mailbox.poll_recv(context) {
            return Poll::Ready(mail.map_or(Happening::Abandoned, Happening::Mail));
        }
        if self.poll_catchers(context).is_ready() {
            return Poll::Ready(Happening::Caught);
        }
        if let Some(undo) = &mut self.undo
            && let Poll::Ready(step) = undo.poll(self.log.committed(), self.history.is_some(), context)
        {
            return Poll::Ready(Happening::Undo(step));
        }
        if is_free && let Poll::Ready((index, result)) = self.poll_shells(context) {
            return Poll::Ready(Happening::Shell(index, result));
        }
        if let Poll::Ready(order) = self.editor.poll(context) {
            return Poll::Ready(Happening::EditorRequest(order));
        }
        if let Poll::Ready((peer, served)) = self.servers.poll(context) {
            return Poll::Ready(Happening::McpStarted(peer, served));
        }
        if let Some(reading) = &mut self.reading
            && let Poll::Ready(page) = reading.page.as_mut().poll(context)
        {
            return Poll::Ready(Happening::Read(page));
        }
        if let Poll::Ready(happening) = self.poll_work(context) {
            return Poll::Ready(happening);
        }
        if !is_free {
            return Poll::Pending;
        }
        if let Some(timer) = &mut self.lane_timer
            && timer.as_mut().poll(context).is_ready()
        {
            self.lane_timer = None;
            return Poll::Ready(Happening::LaneDue);
        }
        if self.mending.as_mut().is_some_and(|timer| timer.as_mut().poll(context).is_ready()) {
            return Poll::Ready(Happening::MendDue);
        }
        if self.extensions.poll_timer(context).is_ready() {
            return Poll::Ready(Happening::BesideDue);
        }
        let runs = self.turn.is_some() || matches!(self.work, Work::Compact { .. });
        if runs && self.stall_timer.as_mut().poll(context).is_ready() {
            if self.is_awaited() {
                self.moved_at = Instant::now();
            }
            let deadline = self.moved_at + STALL;
            self.stall_timer.as_mut().reset(deadline.max(Instant::now() + Duration::from_secs(1)));
            if deadline <= Instant::now() {
                return Poll::Ready(Happening::Stalled);
            }
            // Register the new deadline.
            let _ = self.stall_timer.as_mut().poll(context);
        }
        Poll::Pending
    }

    /// Whether what the turn waits for has a clock of its own, or is a person, who takes the time they take: that is no
    /// standstill, however long it lasts.
    fn is_awaited(&self) -> bool {
        let is_asking = self.turn.as_ref().is_some_and(Turn::is_asking) || !self.askers().is_empty();
        is_asking
            || match &self.work {
                Work::Model(_) | Work::Compact { .. } => self.client_keeps_time,
                Work::Intent { .. }
                | Work::Load { .. }
                | Work::Retry(_)
                | Work::Servers(_)
                | Work::Briefing(_)
                | Work::HookCall(_) => true,
                // A program beside us has no clock; a controller has a person.
                Work::Delegated { .. } => self.is_with_controller(),
                // A child has a clock of its own, a controller's terminal a person who watches it.
                Work::Tool { .. } => !self.subagents.is_empty() || self.editor.is_out(),
                Work::Nothing | Work::Closing(_) => false,
            }
    }

    fn poll_work(&mut self, context: &mut Context<'_>) -> Poll<Happening> {
        // The flow from the model is pulled only while every peer that we wait for has room.
        if matches!(self.work, Work::Model(_)) {
            // The commit that everything waits behind was polled above and wakes us.
            if self.log.is_congested() {
                self.moved_at = Instant::now();
                return Poll::Pending;
            }
            for peer in self.log.peers() {
                if peer.poll_room(context).is_pending() {
                    self.moved_at = Instant::now();
                    return Poll::Pending;
                }
            }
        }
        match &mut self.work {
            Work::Nothing | Work::Delegated { .. } | Work::HookCall(_) | Work::Load { .. } => Poll::Pending,
            // The commit was polled above and wakes us.
            Work::Intent { upto, .. } if *upto > self.log.committed() => Poll::Pending,
            Work::Intent { .. } => Poll::Ready(Happening::Written),
            Work::Model(stream) => match guarded(|| stream.as_mut().poll_next(context)) {
                Ok(polled) => polled.map(Happening::Model),
                Err(text) => Poll::Ready(Happening::Model(Some(client_failed(&text)))),
            },
            Work::Tool { future, .. } => match guarded(|| future.as_mut().poll(context)) {
                Ok(Poll::Ready(outcome)) => Poll::Ready(Happening::Tool(outcome)),
                // A reader that stopped is told nothing more of it; only the newest text is kept.
                Ok(Poll::Pending) if self.log.peers().iter().any(|peer| peer.poll_room(context).is_pending()) => {
                    self.moved_at = Instant::now();
                    Poll::Pending
                }
                Ok(Poll::Pending) => self.progress.poll_take(context).map(Happening::Progress),
                Err(text) => Poll::Ready(Happening::Tool(Outcome::error(format!("the tool failed: {text}")))),
            },
            Work::Closing(closed) => closed.as_mut().poll(context).map(|()| Happening::ChildrenClosed),
            Work::Retry(sleep) => sleep.as_mut().poll(context).map(|()| Happening::RetryDue),
            Work::Servers(sleep) => sleep.as_mut().poll(context).map(|()| Happening::ServersDue),
            // Who fails at looking around has seen nothing.
            Work::Briefing(look) => match guarded(|| look.as_mut().poll(context)) {
                Ok(polled) => polled.map(Happening::Briefed),
                Err(_) => Poll::Ready(Happening::Briefed(Briefing::default())),
            },
            Work::Compact { job, .. } => match guarded(|| job.as_mut().poll(context)) {
                Ok(polled) => polled.map(Happening::Compacted),
                Err(text) => {
                    let fault = Fault::new(FaultKind::Internal, format!("the model client failed: {text}"));
                    Poll::Ready(Happening::Compacted(Err(fault)))
                }
            },
        }
    }
}
