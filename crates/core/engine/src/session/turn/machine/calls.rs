//! A turn and the calls of its reply: one after the other, each judged, perhaps asked about, run, and given exactly one
//! result.

use std::sync::Arc;

use vocab::{
    Answer, Body, Call, CallEnd, CallEntry, CallId, CallInput, CallResult, FileEdit, Json, ModelEntry, Outcome, Part,
    SettingEntry, Usage,
};

use super::{DENIED, INTERRUPTED, RunningCall, Turn, TurnPhase};
use crate::session::model_view::LOST;
use crate::session::turn::effects::{Effect, ResultWording, SafePoint, Verdict};

impl TurnPhase {
    fn running(call: &Call, tool: &Arc<str>, mutation: Option<Arc<str>>) -> Self {
        let (call, tool) = (call.clone(), tool.clone());
        TurnPhase::Running(RunningCall { call, tool, mutation, ran_ms: 0, edits: Vec::new() })
    }
}

impl Turn {
    pub(super) fn start_next_call(&mut self, fx: &mut Vec<Effect>) {
        let Some(call) = self.pending.pop_front() else {
            self.iterations += 1;
            return self.stand_at(SafePoint::AfterCalls, fx);
        };
        if let CallInput::Broken { detail, .. } = &call.input {
            let text = format!("invalid tool arguments: {detail}");
            let tool = self.log_start(&call, fx);
            self.log_end(call.id, tool, CallEnd::Invalid, &text, fx);
            return self.after_call(fx);
        }
        if let Some(begun) = self.begun.remove(&call.id) {
            self.phase = TurnPhase::TakingUp(call.clone());
            return fx.push(Effect::TakeUp { call, begun });
        }
        self.phase = TurnPhase::Judging(call.clone());
        fx.push(Effect::Judge(call));
    }

    fn after_call(&mut self, fx: &mut Vec<Effect>) {
        if self.pending.is_empty() {
            self.start_next_call(fx);
        } else {
            self.stand_at(SafePoint::BetweenCalls, fx);
        }
    }

    /// Whether the call may run. `amended`: other arguments for it; the model's own words stay in its reply.
    pub(crate) fn judged(&mut self, verdict: Verdict, amended: Option<Json>, fx: &mut Vec<Effect>) {
        let (mut call, is_begun) = match &self.phase {
            TurnPhase::Judging(call) => (call.clone(), false),
            TurnPhase::TakingUp(call) => (call.clone(), true),
            _ => return,
        };
        if let Some(input) = amended {
            call.input = CallInput::Object(input);
        }
        let tool = verdict.tool().cloned().unwrap_or_else(|| canonical(&call.name));
        if !is_begun {
            self.log_start_as(&call, tool.clone(), fx);
        }
        let (end, text) = match verdict {
            Verdict::Allow { granted, mutation, .. } => {
                self.phase = TurnPhase::running(&call, &tool, mutation);
                return fx.push(Effect::Run { call, tool, granted });
            }
            Verdict::Delegate { .. } => {
                self.phase = TurnPhase::running(&call, &tool, None);
                return fx.push(Effect::Delegate { call, tool });
            }
            Verdict::Delegated { .. } => {
                self.phase = TurnPhase::running(&call, &tool, None);
                return;
            }
            Verdict::Ask { ask, mutation } => {
                self.phase = TurnPhase::Asking { call, ask: ask.clone(), mutation };
                return fx.push(Effect::Ask(ask));
            }
            Verdict::Asked { ask, mutation } => {
                self.phase = TurnPhase::Asking { call, ask, mutation };
                return;
            }
            Verdict::Unknown => (CallEnd::Unknown, format!("unknown tool: {}", call.name)),
            Verdict::Invalid(detail) => (CallEnd::Invalid, format!("invalid tool arguments: {detail}")),
            Verdict::Deny { reason, .. } => (CallEnd::Denied, reason),
            Verdict::Lost => (CallEnd::Lost, LOST.to_owned()),
        };
        self.log_end(call.id, tool, end, &text, fx);
        self.after_call(fx);
    }

    /// The permission question was answered. Anything that is not an allow is a denial.
    pub(crate) fn answered(&mut self, answer: &Answer, fx: &mut Vec<Effect>) {
        let TurnPhase::Asking { call, ask, mutation } = &self.phase else { return };
        let (call, ask, mutation) = (call.clone(), ask.clone(), mutation.clone());
        if let Answer::Allow(_) | Answer::Confirmed(true) = answer {
            self.phase = TurnPhase::running(&call, &ask.tool, mutation);
            return fx.push(Effect::Run { call, tool: ask.tool, granted: ask.required });
        }
        let reason = match answer {
            Answer::Deny(Some(reason)) if !reason.trim().is_empty() => reason.to_string(),
            _ => DENIED.to_owned(),
        };
        match ask.may_have_run {
            // Nobody wants it again; that it did not run is not known for all that.
            true => self.log_end(call.id, ask.tool, CallEnd::Lost, &lost_because(&reason), fx),
            false => self.log_end(call.id, ask.tool, CallEnd::Denied, &reason, fx),
        }
        self.after_call(fx);
    }

    /// The running tool is done. `wording`: other words for the model; what the call changed is what it changed, whatever is
    /// said of it.
    pub(crate) fn ran(
        &mut self,
        outcome: Outcome,
        wording: Option<ResultWording>,
        duration_ms: u64,
        fx: &mut Vec<Effect>,
    ) {
        if self.log_ran(outcome, wording, duration_ms, fx) {
            self.after_call(fx);
        }
    }

    /// The running tool is done and the turn is about to be stopped: its result is kept, nothing follows it.
    pub(crate) fn ran_last(
        &mut self,
        outcome: Outcome,
        said: Option<ResultWording>,
        duration_ms: u64,
        fx: &mut Vec<Effect>,
    ) {
        if self.log_ran(outcome, said, duration_ms, fx) {
            self.phase = TurnPhase::At(SafePoint::AfterCalls);
        }
    }

    fn log_ran(
        &mut self,
        outcome: Outcome,
        said: Option<ResultWording>,
        duration_ms: u64,
        fx: &mut Vec<Effect>,
    ) -> bool {
        let TurnPhase::Running(RunningCall { call, tool, mutation, .. }) = &self.phase else { return false };
        let (call, tool, mutation) = (call.id.clone(), tool.clone(), mutation.clone());
        let mutation = mutation.filter(|_| !outcome.is_error);
        if let Some(target) = &mutation {
            self.mutations.push((tool.clone(), target.clone()));
        }
        let said = said.unwrap_or(ResultWording { parts: outcome.parts, is_error: outcome.is_error });
        let todos = outcome.todos.filter(|_| !outcome.is_error);
        fx.push(Effect::Log(Body::Call(CallEntry::Ended {
            turn: self.id.clone(),
            result: CallResult {
                call,
                tool,
                end: CallEnd::Ran,
                parts: said.parts,
                is_error: said.is_error,
                duration_ms,
                mutation,
                edits: outcome.edits,
                details: outcome.details,
            },
        })));
        if let Some(phases) = todos {
            fx.push(Effect::Log(Body::Setting(SettingEntry::Todos { phases })));
        }
        true
    }

    /// How long the running tool has been at it; told before it is stopped.
    pub(crate) fn ran_for(&mut self, ms: u64) {
        if let TurnPhase::Running(running) = &mut self.phase {
            running.ran_ms = ms;
        }
    }

    /// What the subagents of the running call have cost, by model, and changed. The changes count where the call is stopped
    /// before it can say so itself.
    pub(crate) fn charged(&mut self, spent: Vec<(Arc<str>, Usage)>, edits: Vec<FileEdit>, fx: &mut Vec<Effect>) {
        let TurnPhase::Running(running) = &mut self.phase else { return };
        running.edits = edits;
        for (model, usage) in spent {
            self.usage.add(&usage);
            let (turn, call) = (Some(self.id.clone()), Some(running.call.id.clone()));
            fx.push(Effect::Log(Body::Model(ModelEntry::Spent { turn, call, model, usage })));
        }
    }

    /// The running call is stopped: what is known of it is its result.
    pub(super) fn log_stopped(&mut self, fx: &mut Vec<Effect>) {
        let TurnPhase::Running(running) = &mut self.phase else { return };
        let mut result = synthetic(running.call.id.clone(), running.tool.clone(), CallEnd::Interrupted, INTERRUPTED);
        result.duration_ms = running.ran_ms;
        result.edits = std::mem::take(&mut running.edits);
        result.mutation = running.mutation.take().filter(|_| !result.edits.is_empty());
        self.mutations.extend(result.mutation.clone().map(|target| (running.tool.clone(), target)));
        fx.push(Effect::Log(Body::Call(CallEntry::Ended { turn: self.id.clone(), result })));
    }

    pub(super) fn log_start(&mut self, call: &Call, fx: &mut Vec<Effect>) -> Arc<str> {
        let tool = canonical(&call.name);
        self.log_start_as(call, tool.clone(), fx);
        tool
    }

    fn log_start_as(&mut self, call: &Call, tool: Arc<str>, fx: &mut Vec<Effect>) {
        fx.push(Effect::Log(Body::Call(CallEntry::Started { turn: self.id.clone(), call: call.clone(), tool })));
    }

    pub(super) fn log_end(&mut self, call: CallId, tool: Arc<str>, end: CallEnd, text: &str, fx: &mut Vec<Effect>) {
        fx.push(Effect::Log(Body::Call(CallEntry::Ended {
            turn: self.id.clone(),
            result: synthetic(call, tool, end, text),
        })));
    }
}

fn canonical(name: &Arc<str>) -> Arc<str> {
    vocab::names::canonical(name).map_or_else(|| name.clone(), Arc::from)
}

fn lost_because(reason: &str) -> String {
    match reason {
        DENIED => LOST.to_owned(),
        reason => format!("{LOST} (it is not to be run again: {reason})"),
    }
}

/// A result for a call that did not run to its end.
pub fn synthetic(call: CallId, tool: Arc<str>, end: CallEnd, text: &str) -> CallResult {
    CallResult {
        call,
        tool,
        end,
        parts: vec![Part::text(text)],
        is_error: true,
        duration_ms: 0,
        mutation: None,
        edits: Vec::new(),
        details: None,
    }
}
