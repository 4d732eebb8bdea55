//! What a session waits for, and the one place where it looks for what has come: whether it is still ours, then commits, its
//! mailbox, peers that catch up, the running work, and the clocks.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use vocab::{Briefing, CutBy, Fault, FaultKind, McpStarted, ModelEvent, Outcome, PeerId};

use super::activity::TurnWaits;
use super::asides::AsideEnd;
use super::budget::DayUsed;
use super::compaction::Compacted;
use super::editor::EditorOrder;
use super::jobs::JobEvent;
use super::model_view::ReadLog;
use super::queue::Queue;
use super::undo::UndoStep;
use super::{Mail, Session};
pub(super) use crate::guard::{client_failed, guarded};
use crate::session::turn::{Effect, Turn};
use crate::turn_places::TurnPlace;

pub(super) enum Happening {
    /// Another owner has the session.
    Lost(Fault),
    Commit(Result<(), Fault>),
    Mail(Mail),
    /// What a verb waited for has come.
    Job(JobEvent),
    /// `/undo` got further.
    Undo(UndoStep),
    /// Nobody used the session for a while.
    IdleDue,
    /// It is time to take up what a failed write left waiting.
    RecoveryDue,
    Model(Option<ModelEvent>),
    Tool(Outcome),
    /// What waited for the log can go on.
    Written,
    /// The log was read for the model.
    Read(Result<ReadLog, Fault>),
    /// No subagent works for the dropped call any more.
    SubagentsClosed,
    RetryDue,
    Compacted(Result<Compacted, Fault>),
    QueueDue,
    /// What had its time until then has it no more.
    TimeOver(i64),
    /// Some extension's time is over.
    ExtensionDue,
    Shell(usize, Result<vocab::Shell, Fault>),
    Aside(usize, AsideEnd),
    /// A question has waited long enough.
    AskDue,
    /// The turn may run.
    Placed(TurnPlace),
    /// The next message may have a turn.
    QueuePlaced(TurnPlace),
    /// A call wants something of a controller; `None`: some call does not any more.
    EditorRequest(Option<EditorOrder>),
    McpStarted(Option<PeerId>, Vec<McpStarted>),
    /// Servers of tools were waited for long enough.
    ServersDue,
    Briefed(Briefing),
    /// What this day has used was read.
    DayRead(DayUsed),
    Progress(String),
    Stalled,
    /// A peer that catches up got further; look again.
    Caught,
    /// No router can reach this session any more.
    Abandoned,
}

impl Session {
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Happening> {
        // Before anything that would be done about the rest: what is not ours is not acted for.
        if let Poll::Ready(fault) = self.log.poll_lost(context) {
            return Poll::Ready(Happening::Lost(fault));
        }
        if let Poll::Ready(result) = self.log.poll_commit(context) {
            return Poll::Ready(Happening::Commit(result));
        }
        // Nothing gets in between the steps of an undo but what must not wait.
        let is_free = !self.activity.is_undoing();
        if is_free && let Poll::Ready(event) = self.poll_jobs(context) {
            return Poll::Ready(Happening::Job(event));
        }
        if let Poll::Ready(mail) = self.mailbox.poll_recv(context) {
            return Poll::Ready(mail.map_or(Happening::Abandoned, Happening::Mail));
        }
        if is_free
            && let Some(limits) = &mut self.limits
            && let Poll::Ready(upto_ms) = limits.poll_due(context)
        {
            return Poll::Ready(Happening::TimeOver(upto_ms));
        }
        if self.log.peers.is_catching_up() && self.poll_catching_up(context).is_ready() {
            return Poll::Ready(Happening::Caught);
        }
        if let Some(undo) = self.activity.undoing()
            && let Poll::Ready(step) = undo.poll(self.log.committed(), self.view.is_loaded(), context)
        {
            return Poll::Ready(Happening::Undo(step));
        }
        if is_free
            && !self.shells.running.is_empty()
            && let Poll::Ready((index, result)) = self.poll_shells(context)
        {
            return Poll::Ready(Happening::Shell(index, result));
        }
        if is_free
            && !self.asides.running.is_empty()
            && let Poll::Ready((index, end)) = self.poll_asides(context)
        {
            return Poll::Ready(Happening::Aside(index, end));
        }
        if self.editor.was_offered
            && let Poll::Ready(order) = self.editor.poll(context)
        {
            return Poll::Ready(Happening::EditorRequest(order));
        }
        if !self.mcp.starting.is_empty()
            && let Poll::Ready((peer, started)) = self.mcp.poll(context)
        {
            return Poll::Ready(Happening::McpStarted(peer, started));
        }
        if let Poll::Ready(window) = self.view.poll_reading(context) {
            return Poll::Ready(Happening::Read(window));
        }
        if let Poll::Ready(happening) = self.poll_work(context) {
            return Poll::Ready(happening);
        }
        if !is_free {
            return Poll::Pending;
        }
        if self.prompts.poll_due(context).is_ready() {
            return Poll::Ready(Happening::QueueDue);
        }
        if let Poll::Ready(place) = self.prompts.poll_place(context) {
            return Poll::Ready(Happening::QueuePlaced(place));
        }
        if self.approvals.poll_due(context).is_ready() {
            return Poll::Ready(Happening::AskDue);
        }
        if self.recovery.poll_due(context).is_ready() {
            return Poll::Ready(Happening::RecoveryDue);
        }
        if self.idle.poll_due(context).is_ready() {
            return Poll::Ready(Happening::IdleDue);
        }
        if self.tools.has_extensions() && self.extensions.poll_timer(context).is_ready() {
            return Poll::Ready(Happening::ExtensionDue);
        }
        let stall = Duration::from_millis(self.settings.conduct.stall_ms);
        if self.activity.poll_watchdog(stall, context).is_ready() {
            let is_awaited = self.is_awaited();
            if self.activity.is_stalled(is_awaited, stall, context) {
                return Poll::Ready(Happening::Stalled);
            }
        }
        Poll::Pending
    }

    /// Whether what the turn waits for has a clock of its own, or is a person, who takes the time they take: that is no
    /// standstill, however long it lasts.
    pub(super) fn is_awaited(&self) -> bool {
        let keeps_time = self.view.keeps_time() && !self.settings.conduct.models_stall;
        let is_asking = self.activity.turn().is_some_and(Turn::is_asking) || !self.askers().is_empty();
        is_asking
            || (self.activity.is_compacting() && keeps_time)
            || match self.activity.waiting() {
                TurnWaits::Model(_) => keeps_time,
                TurnWaits::Written { .. }
                | TurnWaits::View { .. }
                | TurnWaits::Retry(_)
                | TurnWaits::Servers { .. }
                | TurnWaits::Briefing(_)
                | TurnWaits::Place { .. }
                | TurnWaits::Day { .. }
                | TurnWaits::Budget { .. }
                | TurnWaits::Hook(_) => true,
                // A program beside us has no clock; a controller has a person.
                TurnWaits::Host { .. } => self.is_with_controller(),
                // A child has a clock of its own, a controller's terminal a person who watches it.
                TurnWaits::Tool { .. } => !self.subagents.is_empty() || self.editor.is_out(),
                TurnWaits::Nothing | TurnWaits::Subagents(_) | TurnWaits::Compaction(..) => false,
            }
    }

    fn poll_work(&mut self, context: &mut Context<'_>) -> Poll<Happening> {
        // The flow from the model is pulled only while every peer that we wait for has room.
        if matches!(self.activity.waiting(), TurnWaits::Model(_)) {
            // The commit that everything waits behind was polled above and wakes us.
            if self.log.is_congested() {
                self.activity.moved();
                return Poll::Pending;
            }
            for peer in self.log.peers.live() {
                if peer.poll_room(context).is_pending() {
                    self.activity.moved();
                    return Poll::Pending;
                }
            }
        }
        if let Some(summarising) = self.activity.summarising() {
            return match guarded(|| summarising.job.as_mut().poll(context)) {
                Ok(polled) => polled.map(Happening::Compacted),
                Err(text) => {
                    let fault = Fault::new(FaultKind::Internal, format!("the model client failed: {text}"));
                    Poll::Ready(Happening::Compacted(Err(fault)))
                }
            };
        }
        let Some(waiting) = self.activity.waiting_mut() else { return Poll::Pending };
        match waiting {
            TurnWaits::Nothing
            | TurnWaits::Host { .. }
            | TurnWaits::Hook(_)
            | TurnWaits::View { .. }
            | TurnWaits::Budget { .. }
            | TurnWaits::Compaction(..) => Poll::Pending,
            // The commit was polled above and wakes us.
            TurnWaits::Written { upto, .. } if *upto > self.log.committed() => Poll::Pending,
            TurnWaits::Written { .. } => Poll::Ready(Happening::Written),
            TurnWaits::Model(stream) => match guarded(|| stream.as_mut().poll_next(context)) {
                Ok(polled) => polled.map(Happening::Model),
                Err(text) => Poll::Ready(Happening::Model(Some(client_failed(&text)))),
            },
            TurnWaits::Tool { future, progress, .. } => match guarded(|| future.as_mut().poll(context)) {
                Ok(Poll::Ready(outcome)) => Poll::Ready(Happening::Tool(outcome)),
                // A reader that stopped is told nothing more of it; only the newest text is kept.
                Ok(Poll::Pending) if self.log.peers.live().any(|peer| peer.poll_room(context).is_pending()) => {
                    self.activity.moved();
                    Poll::Pending
                }
                Ok(Poll::Pending) => progress.poll_take(context).map(Happening::Progress),
                Err(text) => Poll::Ready(Happening::Tool(Outcome::error(format!("the tool failed: {text}")))),
            },
            TurnWaits::Subagents(closed) => closed.as_mut().poll(context).map(|()| Happening::SubagentsClosed),
            TurnWaits::Place { line, .. } => Pin::new(line).poll(context).map(Happening::Placed),
            TurnWaits::Retry(sleep) => sleep.as_mut().poll(context).map(|()| Happening::RetryDue),
            TurnWaits::Servers { sleep, .. } => sleep.as_mut().poll(context).map(|()| Happening::ServersDue),
            TurnWaits::Day { reading, .. } => match guarded(|| reading.as_mut().poll(context)) {
                Ok(polled) => polled.map(Happening::DayRead),
                Err(text) => {
                    let fault = Fault::new(FaultKind::Store, format!("the store failed: {text}"));
                    Poll::Ready(Happening::DayRead(Err(fault)))
                }
            },
            // Who fails at looking around has seen nothing.
            TurnWaits::Briefing(look) => match guarded(|| look.as_mut().poll(context)) {
                Ok(polled) => polled.map(Happening::Briefed),
                Err(_) => Poll::Ready(Happening::Briefed(Briefing::default())),
            },
        }
    }

    /// Does what is to be done about it.
    pub(super) fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Commit(Ok(())) => {
                self.recovery.written();
                return;
            }
            Happening::Caught | Happening::Abandoned => return,
            Happening::Job(event) => return self.job_event(event),
            Happening::Undo(step) => return self.undo_goes_on(step),
            Happening::RecoveryDue => return self.mend(),
            Happening::IdleDue => return self.idle_due(),
            Happening::Commit(Err(fault)) => return self.store_failed(fault),
            Happening::Lost(fault) => return self.lease_lost(fault),
            Happening::Mail(mail) => return self.mail(mail),
            Happening::Shell(index, result) => return self.shell_done(index, result),
            Happening::Aside(index, end) => return self.aside_done(index, end),
            Happening::AskDue => return self.asks_due(),
            Happening::EditorRequest(order) => {
                if let Some(order) = order {
                    self.tell_editor_request(order);
                }
                return;
            }
            Happening::McpStarted(peer, started) => return self.mcp_started(peer, started),
            Happening::ServersDue => self.servers_awaited(),
            Happening::Briefed(briefing) => self.briefed(briefing),
            Happening::DayRead(sums) => self.day_read(sums),
            Happening::Progress(text) => self.tell_progress(&text),
            Happening::TimeOver(upto_ms) => self.time_over(upto_ms),
            Happening::QueueDue => self.step_queue(Queue::tick),
            Happening::QueuePlaced(place) => self.queue_placed(place),
            Happening::Model(event) => self.model_said(event),
            Happening::Tool(outcome) => {
                if let TurnWaits::Tool { since, .. } = self.activity.stop_waiting() {
                    if self.subagents.is_lent {
                        self.charge_subagents();
                    }
                    self.call_ran(outcome, since.elapsed().as_millis() as u64);
                }
            }
            Happening::Written => self.written(),
            Happening::Read(window) => self.log_read(window),
            Happening::SubagentsClosed => self.subagents_closed(),
            Happening::ExtensionDue => return self.extension_due(),
            Happening::Placed(place) => self.placed(place),
            Happening::RetryDue => {
                self.activity.stop_waiting();
                self.activity.push_effect(Effect::TryAgain);
            }
            Happening::Compacted(result) => self.compaction_done(result),
            Happening::Stalled => {
                let fault = Fault::new(
                    FaultKind::Network,
                    format!("nothing happened for {} s", self.settings.conduct.stall_ms / 1000),
                );
                self.cancel_compaction(fault.clone());
                self.activity.cut(CutBy::Stalled, None);
                self.stop_work();
                self.with_turn(|turn, fx| {
                    turn.abort(fault, fx);
                });
            }
        }
        self.activity.moved();
    }
}
