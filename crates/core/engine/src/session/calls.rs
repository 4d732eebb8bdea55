//! Nothing is done that the log does not know. A call that can change something starts when its record is in the store:
//! should we die while it runs, or find that the session is somebody else's by now, the log says what was begun. Reading
//! starts at once.
//!
//! The record is synced, too, and not only committed: a command that was sent to another machine is not undone by a power
//! cut here, and whoever goes on afterwards has to know that it was begun. It costs one more sync for a call that ends
//! with one anyway, and such calls take longer than a sync; the many calls that only read pay nothing.

use std::sync::Arc;

use tokio::time::Instant;
use vocab::{Call, CallContext, Outcome, Required, Tool};

use super::activity::{ProgressCell, Waiting};
use super::{Session, guarded};
use crate::images;
use crate::session::turn::Effect;

/// What waits for the log.
pub(super) enum AfterWrite {
    Run {
        call: Call,
        tool: Arc<dyn Tool>,
        granted: Required,
    },
    /// A history is read, and a summary made, of what is written.
    Then(Effect),
}

impl Session {
    pub(super) fn run_tool(&mut self, call: Call, name: &str, granted: Required) {
        let Some(tool) = self.tools.find(&self.settings, name) else {
            // The gadget was switched off while the question was open.
            let outcome = Outcome::error(format!("unknown tool: {name}"));
            return self.with_turn(|turn, fx| turn.ran(outcome, 0, fx));
        };
        if self.only_reads(&tool, granted) {
            return self.start_tool(call, &tool, granted);
        }
        self.log.sync_batch();
        self.when_written(AfterWrite::Run { call, tool, granted });
    }

    /// What a server says of its own tool is its word alone, and what children do is theirs.
    fn only_reads(&self, tool: &Arc<dyn Tool>, granted: Required) -> bool {
        let served = self.tools.mcp(&self.settings).any(|it| Arc::ptr_eq(it, tool));
        granted == Required::ReadOnly && !served && !tool.has_subagents()
    }

    /// Goes on once everything logged so far is in the store. An interrupt drops it, a write that fails does too.
    pub(super) fn when_written(&mut self, then: AfterWrite) {
        self.activity.wait(Waiting::Written { upto: self.log.last_seq(), then });
    }

    pub(super) fn written(&mut self) {
        let Waiting::Written { then, .. } = self.activity.stop_waiting() else { return };
        match then {
            AfterWrite::Run { call, tool, granted } => self.start_tool(call, &tool, granted),
            AfterWrite::Then(effect) => self.activity.push_effect(effect),
        }
    }

    fn start_tool(&mut self, call: Call, tool: &Arc<dyn Tool>, granted: Required) {
        let progress = Arc::<ProgressCell>::default();
        let cell = progress.clone();
        let context = CallContext {
            session: self.id.clone(),
            call: call.id.clone(),
            granted,
            progress: Arc::new(move |text: &str| cell.put(text)),
            todos: self.log.logged().todos.clone(),
            editor_requests: self.editor_requests_for(&call.id),
            children: self.children_for(&call.id, granted),
        };
        match guarded(|| tool.run(call.input.json(), context)) {
            Ok(future) => {
                let future = images::shown(future, self.shared.ports.fit_image);
                self.activity.wait(Waiting::Tool { future, call: call.id, since: Instant::now(), progress });
            }
            Err(text) => {
                let outcome = Outcome::error(format!("the tool failed: {text}"));
                self.with_turn(|turn, fx| turn.ran(outcome, 0, fx));
            }
        }
    }
}
