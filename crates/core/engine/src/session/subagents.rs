//! A session and the children that work for its running call.

mod runner;

use std::sync::Arc;

use vocab::{CallId, Required, Subagents};

use super::{Session, Waiting};
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
            served: self.tools.mcp(&self.settings).cloned().collect(),
            editor_requests: self.editor_requests_for(call),
        };
        let settings = settings_of(&self.settings, granted);
        Some(Arc::new(SubagentRunner::new(self.shared.clone(), settings, inherited, &self.subagents)))
    }

    /// What the children of the call that just ran have cost is the turn's.
    pub(super) fn charge_subagents(&mut self) {
        self.subagents.is_lent = false;
        let left = self.subagents.take();
        self.with_turn(|turn, fx| turn.charged(left.spent, left.edits, fx));
    }

    /// The running call is dropped, and with it goes whoever works for it. Whether the turn has to wait for them: what
    /// they cost to their end is part of it.
    pub(super) fn close_subagents(&mut self) -> bool {
        match self.activity.waiting() {
            Waiting::Subagents(_) => return true,
            Waiting::Tool { .. } if !self.subagents.is_empty() => {}
            _ => return false,
        }
        let emptied = self.subagents.emptied();
        if let Some(waiting) = self.activity.waiting_mut()
            && let Waiting::Tool { since, .. } = std::mem::replace(waiting, Waiting::Subagents(emptied))
        {
            self.with_turn(|turn, _| turn.ran_for(since.elapsed().as_millis() as u64));
        }
        true
    }

    pub(super) fn subagents_closed(&mut self) {
        self.activity.stop_waiting();
        self.charge_subagents();
        self.interrupt_turn();
    }
}
