//! A compaction that somebody asked for, and its answer.

use serde_json::json;
use vocab::{Compaction, Fault, FaultKind, Reply};

use crate::Loaf;
use crate::compaction::{COMPRESSING, outcome};
use crate::faults::RpcFault;
use crate::own::Out;
use crate::pending::Compacting;
use crate::session_view::{READY, SessionView};

impl Loaf {
    pub(crate) fn compacted(
        &mut self,
        view: u64,
        before: u64,
        how: Compacting,
        result: &Result<Reply, Fault>,
        out: &mut Out,
    ) {
        let Some(at) = self.view_at(view) else { return };
        let mut pen = self.pen(out);
        let (view, scene) = self.scene(at);
        view.compacting = false;
        view.halting = false;
        let done = match result {
            Ok(Reply::Compacted(done)) => Ok(Some(&**done)),
            Ok(_) => Err(RpcFault::internal("the engine answered something else")),
            Err(fault) if fault.kind == FaultKind::NothingToDo => {
                view.status(&mut pen, COMPRESSING);
                view.remark(&mut pen, scene.numbers, "there is nothing to compress yet.");
                Ok(None)
            }
            Err(fault) => {
                let message = format!("context compaction failed: {}", fault.message);
                Err(RpcFault::domain("compaction_failed", message))
            }
        };
        // One that was refused at once leaves the turn alone that it would have waited for.
        if view.turn.is_none() {
            view.say_status(&mut pen, false, READY, false);
        }
        let answer = done.map(|done| match &how {
            Compacting::Command(_) => {
                let mut answer = outcome(view, "manual", before, done);
                answer["compressed"] = json!(done.is_some());
                answer
            }
            Compacting::Select { switched, .. } => {
                let reason = match (done, switched) {
                    (None, _) => "none",
                    (Some(_), true) => "provider_switch",
                    (Some(_), false) => "auto",
                };
                let mut answer = scene.choice.selected();
                answer["compression"] = compression(view, reason, before, done);
                answer
            }
        });
        let (Compacting::Command(call) | Compacting::Select { call, .. }) = how;
        pen.answer(&call, answer);
    }
}

/// What `model.select` says of the compression that was to come with it.
pub(crate) fn compression(
    view: &SessionView,
    reason: &str,
    before: u64,
    done: Option<&Compaction>,
) -> serde_json::Value {
    let mut compression = outcome(view, reason, before, done);
    compression["requested"] = json!(true);
    compression["applied"] = json!(done.is_some());
    compression
}
