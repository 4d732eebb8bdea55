//! One turn as a pure state machine: inputs in, effects out. It knows no clock, no task, no tool and no store; the
//! session performs what it asks for and tells it what came of it.
//!
//! Promises kept here: every started turn ends exactly once; every call of a reply gets exactly one result; a reply
//! is never retried after something of it was visible.

mod calls;
mod resume;
mod stopping;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use vocab::{
    AssistantMessage, Body, Call, CallEnd, CallId, CompactReason, Fault, FaultKind, FellBack, FileEdit, Finish,
    MessageEnd, ModelEntry, ModelEvent, ModelFault, PermissionAsk, Requested, RetryPolicy, Sealed, Stop, TurnEnd,
    TurnId, Usage,
};

pub use calls::synthetic;

use super::effects::{Effect, SafePoint};
use super::reply_builder::{ReadObject, ReplyBuilder};
use super::retry;
use crate::session::model_view::{BegunCall, LOST};

/// Text given to the model for a call that the user refused without a word why.
pub(crate) const DENIED: &str = "denied by the user";
pub(crate) const INTERRUPTED: &str = "interrupted";
pub(crate) const SKIPPED: &str = "Skipped due to queued user message.";

#[derive(Debug)]
enum TurnPhase {
    /// TurnWaits for [`Turn::joined`].
    At(SafePoint),
    Model {
        attempt: u32,
        visible: bool,
    },
    RetryWait {
        attempt: u32,
        fault: ModelFault,
    },
    /// TurnWaits for [`Turn::fell_back`].
    FallingBack,
    Compacting {
        attempt: u32,
    },
    Judging(Call),
    /// As `Judging`, of a call that was begun before a restart.
    TakingUp(Call),
    Asking {
        call: Call,
        ask: PermissionAsk,
        mutation: Option<Arc<str>>,
    },
    Running(RunningCall),
    Over,
}

/// A call that runs, and what is known of it should it be stopped.
#[derive(Debug)]
struct RunningCall {
    call: Call,
    tool: Arc<str>,
    mutation: Option<Arc<str>>,
    ran_ms: u64,
    /// What its subagents have changed.
    edits: Vec<FileEdit>,
}

/// What a turn goes by.
pub(crate) struct TurnRules {
    pub(crate) max_iterations: u32,
    pub(crate) retry: RetryPolicy,
    /// Make room once when the provider says that the context is full.
    pub(crate) compact_on_overflow: bool,
    pub(crate) read: ReadObject,
}

pub(crate) struct Turn {
    id: TurnId,
    model: Arc<str>,
    rules: TurnRules,
    phase: TurnPhase,
    reply: ReplyBuilder,
    pending: VecDeque<Call>,
    /// Those of them that were begun before a restart.
    begun: HashMap<CallId, BegunCall>,
    call_ids: HashSet<CallId>,
    iterations: u32,
    usage: Usage,
    mutations: Vec<(Arc<str>, Arc<str>)>,
    /// The finish of the reply whose calls are being worked on.
    finish: Finish,
    /// Tries of the current model call that failed.
    retried: u32,
    tried_switch: bool,
    /// Seals of the running reply that are told with its next delta: before one, a failed call may be tried again as if
    /// nothing had come.
    untold: Vec<Effect>,
}

impl Turn {
    pub(crate) fn new(id: TurnId, model: Arc<str>, rules: TurnRules) -> Self {
        Self {
            id,
            model,
            rules,
            phase: TurnPhase::At(SafePoint::Start),
            reply: ReplyBuilder::default(),
            pending: VecDeque::new(),
            begun: HashMap::new(),
            call_ids: HashSet::new(),
            iterations: 0,
            usage: Usage::default(),
            mutations: Vec::new(),
            finish: Finish::Stop,
            retried: 0,
            tried_switch: false,
            untold: Vec::new(),
        }
    }

    pub(crate) fn id(&self) -> &TurnId {
        &self.id
    }
    pub(crate) fn is_asking(&self) -> bool {
        matches!(self.phase, TurnPhase::Asking { .. })
    }
    /// The call that runs, with the canonical name of its tool.
    pub(crate) fn running(&self) -> Option<(&CallId, &Arc<str>)> {
        match &self.phase {
            TurnPhase::Running(running) => Some((&running.call.id, &running.tool)),
            _ => None,
        }
    }
    /// The model that was called last.
    pub(crate) fn model(&self) -> &Arc<str> {
        &self.model
    }
    /// The model that is called now; one that is chosen while it answers has not given that reply.
    pub(crate) fn answers(&mut self, model: Arc<str>) {
        self.model = model;
    }
    /// Whether the model is called again wherever the turn stands now, also when no message joins it.
    pub(crate) fn goes_on(&self) -> bool {
        match self.phase {
            TurnPhase::At(SafePoint::Start) => true,
            TurnPhase::At(SafePoint::BetweenCalls) => self.iterations + 1 < self.rules.max_iterations,
            TurnPhase::At(SafePoint::AfterCalls) => self.iterations < self.rules.max_iterations,
            _ => false,
        }
    }
    /// `true` once: a turn makes one attempt to leave another provider's words behind.
    pub(crate) fn tries_switch(&mut self) -> bool {
        !std::mem::replace(&mut self.tried_switch, true)
    }

    /// The user message is logged; messages that wait for this turn join next.
    pub(crate) fn begin(&mut self, fx: &mut Vec<Effect>) {
        fx.push(Effect::SafePoint(SafePoint::Start));
    }

    /// The answer to a safe point: whether messages joined there. Between calls it says whether some are waiting that
    /// cut the batch; they join when every call has its result, or the model would see them between call and result.
    pub(crate) fn joined(&mut self, joined: bool, fx: &mut Vec<Effect>) {
        let TurnPhase::At(point) = self.phase else { return };
        match point {
            SafePoint::Start => self.call_model(fx),
            SafePoint::BetweenCalls if joined => {
                while let Some(call) = self.pending.pop_front() {
                    let tool = self.log_start(&call, fx);
                    self.log_end(call.id, tool, CallEnd::Skipped, SKIPPED, fx);
                }
                self.iterations += 1;
                self.stand_at(SafePoint::AfterCalls, fx);
            }
            SafePoint::BetweenCalls => self.start_next_call(fx),
            SafePoint::AfterCalls => self.next_round(fx),
            SafePoint::EndOfReply if joined => self.call_model(fx),
            SafePoint::EndOfReply => self.end(Stop::EndTurn, None, fx),
        }
    }

    pub(crate) fn model_event(&mut self, event: ModelEvent, fx: &mut Vec<Effect>) {
        let TurnPhase::Model { attempt, visible } = &mut self.phase else { return };
        match event {
            ModelEvent::Text(delta) => {
                if delta.is_empty() {
                    return;
                }
                *visible = true;
                self.reply.text(&delta);
                fx.append(&mut self.untold);
                fx.push(Effect::Text(delta));
            }
            ModelEvent::Thinking(delta) => {
                if delta.is_empty() {
                    return;
                }
                *visible = true;
                self.reply.thinking(&delta);
                fx.append(&mut self.untold);
                fx.push(Effect::Thinking(delta));
            }
            ModelEvent::Sent { sent, bytes } => {
                self.reply.is_sent = true;
                let (turn, model, sent) = (Some(self.id.clone()), self.model.clone(), Some(sent));
                let requested = Requested { turn, model, summary: None, sent, bytes };
                fx.push(Effect::Log(Body::Model(ModelEntry::Requested(requested))));
            }
            ModelEvent::Seal(seal) => {
                let what = self.reply.seal(seal);
                self.untold.extend(what.map(Effect::Sealed));
            }
            ModelEvent::Redacted(sealed) => {
                self.reply.redacted(sealed);
                self.untold.push(Effect::Sealed(Sealed::Redacted));
            }
            ModelEvent::Call { index, id, name, input } => {
                *visible = true;
                if let Err(fault) = self.reply.call(index, id.as_deref(), name.as_deref(), &input) {
                    let attempt = *attempt;
                    return self.model_failed(attempt, true, fault, fx);
                }
                fx.append(&mut self.untold);
                fx.push(Effect::CallInput { index, id: id.map(CallId::from), name: name.map(Arc::from), delta: input });
            }
            ModelEvent::Usage(usage) => self.reply.usage(usage),
            ModelEvent::Finished(finish) => self.reply_finished(finish, fx),
            ModelEvent::Failed(fault) => {
                let (attempt, visible) = (*attempt, *visible);
                self.reply.is_charged = fault.fault.kind == FaultKind::StreamCut;
                self.model_failed(attempt, visible, fault, fx);
            }
        }
    }

    /// What the provider did not count; told before the reply is closed.
    pub(crate) fn estimate_prompt(&mut self, prompt_tokens: u64) {
        if !self.reply.has_usage() {
            self.reply.estimate(prompt_tokens);
        }
    }

    /// A call that is about to be dropped: its server may be at it.
    pub(crate) fn charge_sent(&mut self) {
        self.reply.is_charged = self.reply.is_sent;
    }

    fn reply_finished(&mut self, finish: Finish, fx: &mut Vec<Effect>) {
        self.end_retries(true, fx);
        let message = self.close_reply(MessageEnd::Finished(finish));
        let calls: Vec<Call> = message.calls().cloned().collect();
        fx.push(Effect::Log(Body::Assistant { turn: Some(self.id.clone()), message }));
        self.finish = finish;
        if calls.is_empty() {
            return match finish {
                Finish::Length => self.end(Stop::MaxTokens, None, fx),
                Finish::Refusal => self.end(Stop::Refusal, None, fx),
                Finish::Stop | Finish::ToolUse => self.stand_at(SafePoint::EndOfReply, fx),
            };
        }
        if matches!(finish, Finish::Length | Finish::Refusal) {
            // The arguments may be cut in the middle: run nothing, but leave no call without a result.
            for call in calls {
                let tool = self.log_start(&call, fx);
                self.log_end(
                    call.id,
                    tool,
                    CallEnd::Invalid,
                    "not run: the reply was cut off before the call was complete",
                    fx,
                );
            }
            self.iterations += 1;
            let stop = if finish == Finish::Length { Stop::MaxTokens } else { Stop::Refusal };
            return self.end(stop, None, fx);
        }
        self.pending = calls.into();
        self.start_next_call(fx);
    }

    fn close_reply(&mut self, end: MessageEnd) -> AssistantMessage {
        self.untold.clear();
        let reply = std::mem::take(&mut self.reply);
        let message = reply.finish(self.model.clone(), end, &mut self.call_ids, self.rules.read);
        self.usage.add(&message.usage);
        message
    }

    /// What a model call cost that the turn did not make itself.
    pub(crate) fn spend(&mut self, usage: Usage) {
        self.usage.add(&usage);
    }

    /// Forgets a reply of which nothing was visible. What it cost was paid all the same.
    fn drop_reply(&mut self, fx: &mut Vec<Effect>) {
        self.untold.clear();
        if let Some(usage) = std::mem::take(&mut self.reply).spent() {
            self.usage.add(&usage);
            let (turn, model) = (Some(self.id.clone()), self.model.clone());
            fx.push(Effect::Log(Body::Model(ModelEntry::Spent { turn, call: None, model, usage })));
        }
    }

    fn model_failed(&mut self, attempt: u32, visible: bool, fault: ModelFault, fx: &mut Vec<Effect>) {
        if !visible {
            if fault.fault.kind == FaultKind::ContextOverflow && std::mem::take(&mut self.rules.compact_on_overflow) {
                self.drop_reply(fx);
                self.phase = TurnPhase::Compacting { attempt };
                return fx.push(Effect::Compact(CompactReason::Overflow));
            }
            match retry::plan(&self.rules.retry, &fault, attempt, self.id.as_str()) {
                retry::RetryPlan::Wait(wait_ms) => {
                    self.drop_reply(fx);
                    self.retried = attempt + 1;
                    fx.push(Effect::Log(Body::Model(ModelEntry::Retrying {
                        turn: self.id.clone(),
                        attempt: attempt + 1,
                        attempts_max: self.rules.retry.retries_max,
                        wait_ms,
                        fault: fault.fault.clone(),
                    })));
                    fx.push(Effect::WaitRetry { ms: wait_ms });
                    self.phase = TurnPhase::RetryWait { attempt: attempt + 1, fault };
                    return;
                }
                retry::RetryPlan::GiveUp(explained) if retry::another_may_help(&explained) => {
                    self.phase = TurnPhase::FallingBack;
                    return fx.push(Effect::FallBack(explained));
                }
                retry::RetryPlan::GiveUp(explained) => return self.fail(explained, fx),
            }
        }
        self.fail(fault, fx);
    }

    /// Another model answers from here on, or none can.
    pub(crate) fn fell_back(&mut self, result: Result<FellBack, ModelFault>, fx: &mut Vec<Effect>) {
        let TurnPhase::FallingBack = self.phase else { return };
        match result {
            Ok(fell) => {
                self.drop_reply(fx);
                self.end_retries(false, fx);
                fx.push(Effect::Log(Body::Model(ModelEntry::FellBack(fell))));
                self.call_model(fx);
            }
            Err(fault) => self.fail(fault, fx),
        }
    }

    /// Peers that were told of a retry are told how it came out, on every way out.
    fn end_retries(&mut self, ok: bool, fx: &mut Vec<Effect>) {
        let attempt = std::mem::take(&mut self.retried);
        if attempt > 0 {
            fx.push(Effect::RetryEnded { attempt, ok });
        }
    }

    /// The model call is lost; what arrived of it is kept and marked.
    fn fail(&mut self, fault: ModelFault, fx: &mut Vec<Effect>) {
        if self.reply.is_empty() {
            self.drop_reply(fx);
        } else {
            let message = self.close_reply(MessageEnd::Failed(fault.clone()));
            self.log_cut_reply(message, fx);
        }
        self.end(Stop::Error, Some(fault.fault), fx);
    }

    /// Logs a reply that was cut short, and a result for each call it had already written.
    fn log_cut_reply(&mut self, message: AssistantMessage, fx: &mut Vec<Effect>) {
        let calls: Vec<(CallId, Arc<str>)> = message.calls().map(|call| (call.id.clone(), call.name.clone())).collect();
        fx.push(Effect::Log(Body::Assistant { turn: Some(self.id.clone()), message }));
        for (id, name) in calls {
            self.log_end(id, name, CallEnd::Interrupted, INTERRUPTED, fx);
        }
    }

    pub(crate) fn retry_due(&mut self, fx: &mut Vec<Effect>) {
        if let TurnPhase::RetryWait { attempt, .. } = self.phase {
            self.phase = TurnPhase::Model { attempt, visible: false };
            fx.push(Effect::RetryStarted { attempt });
            fx.push(Effect::CallModel);
        }
    }

    /// Ends a retry wait at once; the turn fails with what it was waiting on. `false` when none runs.
    pub(crate) fn abort_retry(&mut self, fx: &mut Vec<Effect>) -> bool {
        let TurnPhase::RetryWait { fault, .. } = &self.phase else { return false };
        let fault = fault.clone();
        self.fail(fault, fx);
        true
    }

    /// Room was made, or could not be made.
    pub(crate) fn compacted(&mut self, result: Result<(), Fault>, fx: &mut Vec<Effect>) {
        let TurnPhase::Compacting { attempt } = self.phase else { return };
        match result {
            Ok(()) => {
                self.phase = TurnPhase::Model { attempt, visible: false };
                fx.push(Effect::CallModel);
            }
            Err(fault) => self.end(Stop::Error, Some(fault), fx),
        }
    }

    fn call_model(&mut self, fx: &mut Vec<Effect>) {
        self.phase = TurnPhase::Model { attempt: 0, visible: false };
        self.retried = 0;
        fx.push(Effect::CallModel);
    }

    fn next_round(&mut self, fx: &mut Vec<Effect>) {
        if self.iterations >= self.rules.max_iterations {
            self.end(Stop::MaxIterations, None, fx);
        } else {
            self.call_model(fx);
        }
    }

    fn stand_at(&mut self, point: SafePoint, fx: &mut Vec<Effect>) {
        self.phase = TurnPhase::At(point);
        fx.push(Effect::SafePoint(point));
    }
}
