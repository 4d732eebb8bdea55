//! A turn that goes on after the process that ran it has ended. It is made from what its log says ([`OpenTurn`]) and stands
//! where that ends; from there on it is a turn like any other.
//!
//! What has a result is never run again. What has none and was not begun is judged as usual. What was begun is looked at by
//! the session, which knows whether it can have changed anything ([`Effect::TakeUp`]).

use vocab::{CallEnd, Finish, Stop};

use super::{Turn, TurnPhase, TurnRules};
use crate::session::model_view::{OpenTurn, Standing};
use crate::session::turn::effects::{Effect, SafePoint};

impl Turn {
    pub(crate) fn resume(
        open: OpenTurn,
        model: std::sync::Arc<str>,
        mut rules: TurnRules,
        fx: &mut Vec<Effect>,
    ) -> Self {
        rules.compact_on_overflow &= !open.made_room;
        let stands = open.stands;
        let mut turn = Turn {
            pending: open.pending,
            begun: open.begun,
            call_ids: open.call_ids,
            iterations: open.iterations,
            usage: open.usage,
            mutations: open.mutations,
            tried_switch: open.tried_switch,
            ..Turn::new(open.id, model, rules)
        };
        turn.go_on(stands, open.retried, fx);
        turn
    }

    fn go_on(&mut self, stands: Standing, retried: u32, fx: &mut Vec<Effect>) {
        let next_is_begun = self.pending.front().is_some_and(|call| self.begun.contains_key(&call.id));
        match stands {
            Standing::Start => self.begin(fx),
            Standing::Asking => {
                self.call_model(fx);
                // The wait is over: whoever started us again took longer.
                self.retried = retried;
                self.phase = TurnPhase::Model { attempt: retried, visible: false };
            }
            Standing::AfterCalls => {
                self.next_round(fx);
                if let TurnPhase::Model { attempt, .. } = &mut self.phase {
                    (*attempt, self.retried) = (retried, retried);
                }
            }
            Standing::Calls(true) if !next_is_begun && !self.pending.is_empty() => {
                self.stand_at(SafePoint::BetweenCalls, fx);
            }
            Standing::Calls(_) => self.start_next_call(fx),
            Standing::Replied(Finish::Length) => self.end_cut(Stop::MaxTokens, fx),
            Standing::Replied(Finish::Refusal) => self.end_cut(Stop::Refusal, fx),
            Standing::Replied(Finish::Stop | Finish::ToolUse) => self.stand_at(SafePoint::EndOfReply, fx),
            Standing::Cut => self.end_cut(Stop::Interrupted, fx),
        }
    }

    /// Nothing follows the newest reply, and its calls were not to run.
    fn end_cut(&mut self, stop: Stop, fx: &mut Vec<Effect>) {
        for call in std::mem::take(&mut self.pending) {
            self.log_end(call.id, call.name, CallEnd::Interrupted, super::INTERRUPTED, fx);
        }
        self.end(stop, None, fx);
    }
}
