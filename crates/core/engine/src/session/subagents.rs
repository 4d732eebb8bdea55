//! A session and the children that work for its running call.

mod runner;

use std::sync::Arc;

use vocab::{CallId, Change, Fault, PeerId, Reply, Required, SessionVerb, Settings, Subagents};

use super::verbs::Response;
use super::{Session, TurnWaits};
use crate::commands;
pub(crate) use runner::{Inherited, SubagentPool};
use runner::{SubagentRunner, settings_of};

impl Session {
    /// For one call. A child has no children.
    pub(super) fn subagents_for(&mut self, call: &CallId, granted: Required) -> Option<Arc<dyn Subagents>> {
        self.subagents.start_over();
        self.subagents.is_lent = true;
        if self.subagents.child_of.is_some() {
            return None;
        }
        let inherited = Inherited {
            child_of: (self.id.clone(), call.clone()),
            mcp_tools: self.tools.mcp(&self.settings).cloned().collect(),
            editor: self.editor_for(call),
            by: self.prompts.turn_by.clone(),
            watcher: None,
        };
        let settings = Settings { budget: self.budget_left(), ..settings_of(&self.settings, granted) };
        Some(Arc::new(SubagentRunner::new(self.shared.clone(), settings, inherited, &self.subagents)))
    }

    /// The answer to a peer that wants something else of a session which works for a call. The session ends with that call:
    /// whatever else it began would be cut then. What it works with is for the call to say.
    pub(super) fn refuse_beside_task(&self, peer: PeerId, verb: &SessionVerb) -> Option<Response> {
        if self.subagents.watcher == Some(peer) || !is_beside_task(verb) {
            return None;
        }
        let fault = if self.activity.is_ending() { self.closing() } else { self.working_for()? };
        let fault = match refused_change(verb) {
            Some(change) => fault.of_change(change.of()),
            None => fault,
        };
        Some(Response::Now(match verb {
            SessionVerb::Slash { name, .. } => {
                Ok(Reply::Slash(Box::new(commands::reply(name, Err(commands::from_fault(fault))))))
            }
            _ => Err(fault),
        }))
    }

    /// What is said of a session that works for another one's call, to whoever wants something else of it.
    pub(super) fn working_for(&self) -> Option<Fault> {
        let (parent, _) = self.subagents.child_of.as_ref()?;
        Some(Fault::works_for(parent))
    }

    /// What the children of the call that just ran have cost is the turn's.
    pub(super) fn charge_subagents(&mut self) {
        self.subagents.is_lent = false;
        let left = self.subagents.take();
        self.with_turn(|turn, fx| turn.charged(left.spent, left.edits, fx));
    }

    /// The running call is dropped, and with it go the subagents that work for it. Whether the turn has to wait for them: what
    /// they cost to their end is part of it.
    pub(super) fn close_subagents(&mut self) -> bool {
        match self.activity.waiting() {
            TurnWaits::Subagents(_) => return true,
            TurnWaits::Tool { .. } if !self.subagents.is_empty() => {}
            _ => return false,
        }
        let emptied = self.subagents.emptied();
        if let Some(waiting) = self.activity.waiting_mut()
            && let TurnWaits::Tool { since, .. } = std::mem::replace(waiting, TurnWaits::Subagents(emptied))
        {
            self.with_turn(|turn, _| turn.ran_for(since.elapsed().as_millis() as u64));
        }
        true
    }

    pub(super) fn subagents_closed(&mut self) {
        self.activity.stop_waiting();
        self.charge_subagents();
        match self.activity.is_ending() {
            true => {
                self.settle();
                self.suspend_turn();
            }
            false => self.interrupt_turn(),
        }
    }
}

/// Whether this begins something, or changes what the work is done with. To look on, to answer and to stop it is for everybody.
fn is_beside_task(verb: &SessionVerb) -> bool {
    match verb {
        SessionVerb::Prompt { .. }
        | SessionVerb::Compact { .. }
        | SessionVerb::Shell { .. }
        | SessionVerb::Call { .. }
        | SessionVerb::Command { .. }
        | SessionVerb::StartOver => true,
        SessionVerb::Set(_) | SessionVerb::SetAll(_) => refused_change(verb).is_some(),
        SessionVerb::Slash { name, args } => match commands::find(name).map(|command| command.name) {
            Some("compact" | "undo") => true,
            Some("model" | "mode" | "thinking" | "gadgets") => !args.trim().is_empty(),
            _ => false,
        },
        SessionVerb::Answer { .. }
        | SessionVerb::Progress { .. }
        | SessionVerb::Interrupt { .. }
        | SessionVerb::InterruptIfAlone
        | SessionVerb::InterruptUnlessWanted { .. }
        | SessionVerb::AbortRetry
        | SessionVerb::Queue(_)
        | SessionVerb::Able(_)
        | SessionVerb::OfferTools { .. }
        | SessionVerb::OfferEditor(_)
        | SessionVerb::EditorReplied { .. }
        | SessionVerb::AbortShell
        | SessionVerb::Read { .. }
        | SessionVerb::Inspect
        | SessionVerb::Export { .. }
        | SessionVerb::Extension(_)
        | SessionVerb::AbortCall { .. }
        | SessionVerb::Recount { .. } => false,
    }
}

/// The one because of which none of these changes is made.
fn refused_change(verb: &SessionVerb) -> Option<&Change> {
    match verb {
        SessionVerb::Set(change) => Some(change).filter(|change| is_of_work(change)),
        SessionVerb::SetAll(changes) => changes.iter().find(|change| is_of_work(change)),
        _ => None,
    }
}

/// Names, and the rules that some dialects bring along whenever they come to a session, leave the work as it is.
fn is_of_work(change: &Change) -> bool {
    match change {
        Change::Model(_) | Change::Mode(_) | Change::Thinking(_) | Change::Elevate { .. } | Change::Gadget { .. } => {
            true
        }
        Change::Title(_)
        | Change::Locale(_)
        | Change::Todos(_)
        | Change::Lane(_)
        | Change::LaneUsual
        | Change::Retry(_)
        | Change::Compaction(_) => false,
    }
}
