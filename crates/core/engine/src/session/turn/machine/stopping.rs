//! How a turn comes to its end: by itself, asked to, or for want of something.

use super::*;

impl Turn {
    /// Stops wherever the turn stands. `false` when it is over already.
    pub(crate) fn interrupt(&mut self, fx: &mut Vec<Effect>) -> bool {
        self.stop(Stop::Interrupted, None, fx)
    }

    /// As [`Turn::interrupt`], for a reason of our own (a stall, a broken store).
    pub(crate) fn abort(&mut self, fault: Fault, fx: &mut Vec<Effect>) -> bool {
        self.stop(Stop::Error, Some(fault), fx)
    }

    /// As [`Turn::interrupt`], because a budget is spent.
    pub(crate) fn run_out(&mut self, fault: Fault, fx: &mut Vec<Effect>) {
        self.stop(Stop::Budget, Some(fault), fx);
    }

    pub(super) fn stop(&mut self, stop: Stop, fault: Option<Fault>, fx: &mut Vec<Effect>) -> bool {
        match &self.phase {
            TurnPhase::Over => return false,
            TurnPhase::Asking { call, ask, .. } => {
                let (call, tool) = (call.id.clone(), ask.tool.clone());
                let (end, text) = match ask.may_have_run {
                    true => (CallEnd::Lost, LOST),
                    false => (CallEnd::Interrupted, INTERRUPTED),
                };
                self.log_end(call, tool, end, text, fx);
            }
            TurnPhase::TakingUp(call) => {
                let (call, tool) = (call.id.clone(), call.name.clone());
                self.log_end(call, tool, CallEnd::Lost, LOST, fx);
            }
            TurnPhase::Judging(call) => {
                let (call, tool) = (call.id.clone(), call.name.clone());
                self.log_end(call, tool, CallEnd::Interrupted, INTERRUPTED, fx);
            }
            TurnPhase::Running(_) => self.log_stopped(fx),
            TurnPhase::Model { .. } | TurnPhase::FallingBack if !self.reply.is_empty() => {
                let message = self.close_reply(MessageEnd::Interrupted);
                self.log_cut_reply(message, fx);
            }
            TurnPhase::Model { .. } => {
                // Its server may be at it.
                self.reply.is_charged = self.reply.is_sent;
                self.drop_reply(fx);
            }
            TurnPhase::RetryWait { .. } | TurnPhase::FallingBack | TurnPhase::At(_) | TurnPhase::Compacting { .. } => {
                self.drop_reply(fx)
            }
        }
        // Calls that were never started still need results, or no provider would take the history again.
        for call in std::mem::take(&mut self.pending) {
            self.log_end(call.id, call.name, CallEnd::Interrupted, INTERRUPTED, fx);
        }
        self.end(stop, fault, fx);
        true
    }

    pub(super) fn end(&mut self, stop: Stop, fault: Option<Fault>, fx: &mut Vec<Effect>) {
        self.phase = TurnPhase::Over;
        self.end_retries(false, fx);
        fx.push(Effect::End(TurnEnd {
            turn: self.id.clone(),
            stop,
            iterations: self.iterations,
            usage: self.usage,
            mutations: std::mem::take(&mut self.mutations),
            fault,
        }));
    }
}
