//! A session and the children that work for its running call.

mod runner;

use std::sync::Arc;

use vocab::{CallId, Fault, FaultKind, PeerId, Required, Settings, Subagents};

use super::{Session, TurnWaits};
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

    /// Why a message of this peer is not taken: who works for a call ends with it, and whatever else it began would be cut then.
    pub(super) fn check_task(&self, peer: PeerId) -> Result<(), Fault> {
        if self.subagents.watcher == Some(peer) { Ok(()) } else { self.working_for().map_or(Ok(()), Err) }
    }

    /// What is said of a session that works for another one's call, to whoever wants something else of it.
    pub(super) fn working_for(&self) -> Option<Fault> {
        let (parent, _) = self.subagents.child_of.as_ref()?;
        let text = format!("this session works for a call of the session `{parent}`, and takes no other message");
        let hint =
            format!("send it to `{parent}`, or wait until that call has ended: then this is a session like any other");
        Some(Fault::new(FaultKind::TurnInProgress, text).hint(hint))
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
