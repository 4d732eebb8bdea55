//! A call of the model on its way: judged, and run. Nothing is done that the log does not know. A call that can change something starts when its record is in the store:
//! should we die while it runs, or find that the session is another process's by now, the log says what was begun. Reading
//! starts at once.
//!
//! The record is synced, too, and not only committed: a command that was sent to another machine is not undone by a power
//! cut here, and the process that goes on afterwards has to know that it was begun. It costs one more sync for a call that ends
//! with one anyway, and such calls take longer than a sync; the many calls that only read pay nothing.

use std::sync::Arc;

use tokio::time::Instant;
use vocab::{
    Body, Call, CallContext, CallId, Delta, Event, Gate, Json, NoteEntry, Outcome, Part, PermissionAsk, Plan, Required,
    Tool, ToolRule,
};

use super::activity::{ProgressCell, TurnWaits};
use super::hooks::HookPoint;
use super::turn::Verdict;
use super::{Session, guarded};
use crate::images;
use crate::permission::{self, Decision, ShownCall};
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
    /// A call the model wants: extensions see it first, so that what is judged is what would run.
    pub(super) fn judge(&mut self, call: Call) {
        self.hear_of_extensions();
        if self.tools.has_extensions() {
            let tool = match self.tools.owner_of(&self.settings, &call.name) {
                Some(_) => Some(call.name.clone()),
                None => self.tools.find(&self.settings, &call.name).map(|tool| tool.spec().name.clone()),
            };
            if let Some(tool) = tool {
                return self.hook(HookPoint::Call { call, tool });
            }
        }
        self.judge_now(&call, None);
    }

    /// `amended`: its arguments, where extensions have seen them.
    pub(super) fn judge_now(&mut self, call: &Call, amended: Option<Json>) {
        let verdict = self.verdict_on(call);
        self.note_waived(call, &verdict);
        self.with_turn(|turn, fx| turn.judged(verdict, amended, fx));
    }

    pub(super) fn verdict_on(&self, call: &Call) -> Verdict {
        if self.tools.is_hosted(&call.name) {
            // The controller runs it itself and answers for it: there is no other peer to be asked.
            return Verdict::Delegate { tool: call.name.clone() };
        }
        let input = call.input.json();
        let (name, plan) = match self.planned(&call.name, &input) {
            Ok(planned) => planned,
            Err(verdict) => return verdict,
        };
        match self.decide(&name, plan.required) {
            Decision::Deny(reason) => Verdict::Deny { tool: name, reason },
            Decision::Allow => Verdict::Allow { tool: name, granted: plan.required, mutation: plan.mutation },
            Decision::Ask if self.is_remembered(&name, &input, &plan) => {
                Verdict::Allow { tool: name, granted: plan.required, mutation: plan.mutation }
            }
            Decision::Ask if self.is_no_use_asking() => {
                Verdict::Deny { tool: name, reason: self.unasked(plan.required) }
            }
            Decision::Ask => {
                let mutation = plan.mutation.clone();
                Verdict::Ask { ask: self.permission_ask(call.id.clone(), name, input, plan), mutation }
            }
        }
    }

    /// What the session's rules, its mode and whoever decides say of a call. While questions are waived, what would be asked is
    /// allowed; a controller that wants to decide every call does so all the same.
    pub(super) fn decide(&self, tool: &str, required: Required) -> Decision {
        match self.is_waived(tool, required) {
            true => Decision::Allow,
            false => self.decide_by_rules(tool, required),
        }
    }

    fn decide_by_rules(&self, tool: &str, required: Required) -> Decision {
        let (gate, _) = self.gate();
        permission::decide_by(self.settings.conduct.rules.of(tool), gate, self.settings.mode, required)
    }

    /// Why no answer and no mode lets this tool run.
    pub(super) fn denied_by_rules(&self, tool: &str) -> Option<String> {
        let rule = self.settings.conduct.rules.of(tool).filter(|rule| *rule == ToolRule::Deny);
        match permission::decide_by(Some(rule?), self.gate().0, self.settings.mode, Required::ReadOnly) {
            Decision::Deny(reason) => Some(reason),
            Decision::Allow | Decision::Ask => None,
        }
    }

    /// Somebody would be asked about this call, were questions not waived.
    fn is_waived(&self, tool: &str, required: Required) -> bool {
        let clock = &self.shared.ports.clock;
        let is_elevated = || self.settings.own().elevated_until_ms.is_some_and(|until| until > clock.now_ms());
        self.gate().0 != Gate::Proxy && is_elevated() && matches!(self.decide_by_rules(tool, required), Decision::Ask)
    }

    /// Every call that runs because questions are waived stands in the log as one, and with that in the audit.
    pub(super) fn note_waived(&mut self, call: &Call, verdict: &Verdict) {
        if let (Verdict::Allow { tool, granted, .. }, Some(turn)) = (verdict, self.current_turn())
            && self.is_waived(tool, *granted)
        {
            let by = self.prompts.turn_by.clone().unwrap_or_else(|| self.shared.user.clone());
            let (call, tool) = (call.id.clone(), tool.clone());
            self.log_by(Some(by), Body::Note(NoteEntry::Waived { turn, call, tool }));
        }
    }

    /// Whether this call, as it would be shown now, was allowed for the rest of the session.
    fn is_remembered(&self, tool: &Arc<str>, input: &Json, plan: &Plan) -> bool {
        let facts = plan.preview.as_ref().map(|facts| self.shared.ports.keyring.scrub_facts(facts));
        let call = ShownCall::new(input, &plan.summary, facts.as_deref());
        self.approvals.remembered.allows(tool, plan.required, call)
    }

    /// Who decides about calls now, and whose names of tools they go by.
    pub(super) fn gate(&self) -> (Gate, vocab::names::ToolNames) {
        self.log.peers.gate().unwrap_or((self.settings.gate, self.settings.tool_names))
    }

    pub(super) fn permission_ask(&self, call: CallId, tool: Arc<str>, input: Json, plan: Plan) -> PermissionAsk {
        let active = self.settings.mode;
        let (gate, names) = self.gate();
        let required = match gate {
            Gate::Proxy => names.told(&tool, plan.required),
            Gate::Ladder | Gate::Alone => plan.required,
        };
        PermissionAsk {
            call,
            tool,
            input,
            active,
            required,
            reason: permission::reason(active, required),
            summary: plan.summary,
            preview: plan.preview.map(|facts| self.shared.ports.keyring.scrub_facts(&facts)),
            may_have_run: false,
        }
    }

    /// The tool's own name and what the call needs, as the tool says it; an extension has said it beforehand.
    pub(super) fn planned(&self, name: &str, input: &Json) -> Result<(Arc<str>, Plan), Verdict> {
        if let Some((extension, tool)) = self.tools.of_extensions(&self.settings).find(|(_, tool)| &*tool.name == name)
        {
            let summary: Arc<str> = format!("{} of the extension {}", tool.name, extension.name).into();
            let mutation = (tool.required > Required::ReadOnly).then(|| summary.clone());
            return Ok((tool.name.clone(), Plan { required: tool.required, mutation, summary, preview: None }));
        }
        let Some(tool) = self.tools.find(&self.settings, name) else { return Err(Verdict::Unknown) };
        match guarded(|| tool.plan(input)) {
            Ok(Ok(plan)) => Ok((tool.spec().name.clone(), plan)),
            Ok(Err(detail)) => Err(Verdict::Invalid(detail)),
            Err(text) => Err(Verdict::Invalid(format!("the tool failed: {text}"))),
        }
    }

    /// Why a call is denied that no peer can be asked about.
    pub(super) fn unasked(&self, required: Required) -> String {
        if self.log.peers.all().all(|outbox| outbox.was_let_go()) {
            return "denied: nobody is here who could be asked".to_owned();
        }
        let mode = self.settings.mode;
        let why = permission::reason(mode, required).map_or_else(String::new, |reason| format!(": {reason}"));
        format!("denied, because nobody can be asked in permission mode {}{why}", mode.as_str())
    }

    pub(super) fn tell_progress(&mut self, text: &str) {
        if let (TurnWaits::Tool { call, .. }, Some(turn)) = (self.activity.waiting(), self.current_turn()) {
            let text = self.shared.ports.keyring.scrub_growing(text);
            let event = Event::Delta(Delta::CallProgress { turn, call: call.clone(), parts: vec![Part::text(&*text)] });
            self.log.emit(event);
        }
    }

    pub(super) fn run_tool(&mut self, call: Call, name: &str, granted: Required) {
        let Some(tool) = self.tools.find(&self.settings, name) else {
            // The gadget was switched off while the question was open.
            let outcome = Outcome::error(format!("unknown tool: {name}"));
            return self.with_turn(|turn, fx| turn.ran(outcome, None, 0, fx));
        };
        // The rules may be others than when somebody was asked.
        if let Some(reason) = self.denied_by_rules(name) {
            return self.with_turn(|turn, fx| turn.ran(Outcome::error(reason), None, 0, fx));
        }
        if self.only_reads(&tool, granted) {
            return self.start_tool(call, &tool, granted);
        }
        self.log.sync_batch();
        self.when_written(AfterWrite::Run { call, tool, granted });
    }

    /// What a server says of its own tool is its word alone, and what children do is theirs.
    pub(super) fn only_reads(&self, tool: &Arc<dyn Tool>, granted: Required) -> bool {
        let is_mcp = self.tools.mcp(&self.settings).any(|it| Arc::ptr_eq(it, tool));
        granted == Required::ReadOnly && !is_mcp && !tool.has_subagents()
    }

    /// Goes on once everything logged so far is in the store. An interrupt drops it, a write that fails does too.
    pub(super) fn when_written(&mut self, then: AfterWrite) {
        self.activity.wait(TurnWaits::Written { upto: self.log.last_seq(), then });
    }

    pub(super) fn written(&mut self) {
        let TurnWaits::Written { then, .. } = self.activity.stop_waiting() else { return };
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
            editor_requests: match self.editor.was_offered {
                true => self.editor_for(&call.id),
                false => self.subagents.inherited_editor.clone(),
            },
            children: if tool.has_subagents() { self.subagents_for(&call.id, granted) } else { None },
            processes: None,
        };
        match guarded(|| tool.run(call.input.json(), context)) {
            Ok(future) => {
                self.tell_begun(&call.id);
                let future = images::shown(future, self.shared.ports.fit_image);
                self.activity.wait(TurnWaits::Tool { future, call: call.id, since: Instant::now(), progress });
            }
            Err(text) => {
                let outcome = Outcome::error(format!("the tool failed: {text}"));
                self.with_turn(|turn, fx| turn.ran(outcome, None, 0, fx));
            }
        }
    }

    /// A call was allowed and runs from now on.
    pub(super) fn tell_begun(&mut self, call: &CallId) {
        if let Some(turn) = self.current_turn() {
            self.log.emit(Event::Delta(Delta::CallBegan { turn, call: call.clone() }));
        }
    }

    /// The running tool is done: extensions may put its result in other words.
    pub(super) fn call_ran(&mut self, outcome: Outcome, duration_ms: u64) {
        let outcome = self.shared.ports.keyring.scrub_outcome(outcome);
        self.hear_of_extensions();
        if !self.tools.has_extensions() {
            return self.with_turn(|turn, fx| turn.ran(outcome, None, duration_ms, fx));
        }
        let Some((call, tool)) = self.activity.turn().and_then(|turn| turn.running()) else { return };
        let (call, tool) = (call.clone(), tool.clone());
        self.hook(HookPoint::Result { call, tool, outcome, said: None, duration_ms });
    }
}
