//! HookCalls: extensions that hook a point of a turn are asked one after the other, in order of registration, each
//! under a time limit. The session goes on listening meanwhile, so that an interrupt works. Only what comes of a
//! hook call is in the log.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use tokio::time::{Duration, Instant};
use vocab::{
    Body, Call, CallId, CallInput, Event, ExtensionEvent, Fault, FaultKind, HookCall, HookKind, HookVerdict, Offers,
    Outcome, Part, PeerId, Reply, TurnFilter, UserFrom,
};

use super::extensions::Extensions;
use super::{Session, TurnWaits};
use crate::extensions::RegisteredExtension;
use crate::images;
use crate::session::turn::{ResultWording, SafePoint, Verdict};

/// How long an extension may think. Then a call is denied, and everything else goes on without it. The time does not
/// run while the extension waits for a person.
pub(super) const HOOK_LIMIT: Duration = Duration::from_secs(5);
/// Text one extension may add to a turn; more is refused.
const CONTEXT_BYTES_MAX: usize = 256 * 1024;

/// One extension is being asked.
pub(super) struct RunningHook {
    id: u64,
    extension: Arc<RegisteredExtension>,
    pub(super) until: Instant,
    point: HookPoint,
    left: VecDeque<PeerId>,
}

/// Where the turn stands, with what was said about it so far.
pub(super) enum HookPoint {
    Turn { messages: Vec<Arc<str>> },
    Call { call: Call, tool: Arc<str> },
    Result { call: CallId, tool: Arc<str>, outcome: Outcome, said: Option<ResultWording>, duration_ms: u64 },
}

impl HookPoint {
    fn is_hooked(&self, offers: &Offers, workspace: &Path, opening: &[Part]) -> bool {
        match self {
            HookPoint::Turn { .. } => {
                let concerns = |filter: &TurnFilter| filter.concerns(workspace, opening);
                offers.hooks.before_turn && offers.turns.as_ref().is_none_or(concerns)
            }
            HookPoint::Call { .. } => offers.hooks.before_call,
            HookPoint::Result { .. } => offers.hooks.after_call,
        }
    }
    fn name(&self) -> &'static str {
        match self {
            HookPoint::Turn { .. } => "before_turn",
            HookPoint::Call { .. } => "before_call",
            HookPoint::Result { .. } => "after_call",
        }
    }
    fn kind(&self, opening: &[Part]) -> HookKind {
        match self {
            HookPoint::Turn { .. } => HookKind::Turn { parts: opening.to_vec() },
            HookPoint::Call { call, tool } => {
                HookKind::Call { call: call.id.clone(), tool: tool.clone(), input: call.input.json() }
            }
            HookPoint::Result { call, tool, outcome, said, .. } => {
                let (parts, is_error) = match said {
                    Some(said) => (&said.parts, said.is_error),
                    None => (&outcome.parts, outcome.is_error),
                };
                HookKind::Result { call: call.clone(), tool: tool.clone(), parts: parts.clone(), is_error }
            }
        }
    }
}

impl Session {
    /// How the turn begins is kept only where an extension is asked about it.
    pub(super) fn keep_opening(&mut self, parts: &[Part]) {
        if self.extensions.registered().iter().any(|extension| extension.offers.hooks.before_turn) {
            self.extensions.opening = parts.to_vec();
        }
    }

    pub(super) fn hook(&mut self, point: HookPoint) {
        let Extensions { opening, .. } = &self.extensions;
        let is_hooked = |it: &&Arc<RegisteredExtension>| point.is_hooked(&it.offers, &self.settings.workspace, opening);
        let left = self.extensions.registered().iter().filter(is_hooked).map(|extension| extension.peer).collect();
        self.next_hook(point, left);
    }

    fn next_hook(&mut self, point: HookPoint, mut left: VecDeque<PeerId>) {
        while let Some(peer) = left.pop_front() {
            // One that went meanwhile is not asked.
            let Some(extension) = self.extension(peer).cloned() else { continue };
            let id = self.extensions.mint();
            let kind = point.kind(&self.extensions.opening);
            let call = HookCall { id, workspace: self.settings.workspace.clone(), kind };
            let hook = Event::Extension(ExtensionEvent::Hook(call));
            if extension.offers.hooks.only_looks {
                self.log.ask_ahead(&extension.outbox, hook);
            } else {
                self.log.hurry_batch();
                self.log.reply(extension.outbox.clone(), hook);
            }
            let until = Instant::now() + HOOK_LIMIT;
            self.activity.wait(TurnWaits::Hook(Box::new(RunningHook { id, extension, until, point, left })));
            return;
        }
        self.activity.stop_waiting();
        self.asked(point);
    }

    /// Every extension was heard.
    fn asked(&mut self, point: HookPoint) {
        match point {
            HookPoint::Turn { messages } => {
                let turn = self.current_turn();
                for message in messages {
                    let parts = vec![Part::Text(message)];
                    self.log(Body::User { turn: turn.clone(), parts, from: UserFrom::Extension });
                }
                self.extensions.opening = Vec::new();
                self.safe_point(SafePoint::Start);
            }
            HookPoint::Call { call, .. } => {
                let amended = match &call.input {
                    CallInput::Object(input) => Some(input.clone()),
                    CallInput::Broken { .. } => None,
                };
                self.judge_now(&call, amended);
            }
            HookPoint::Result { outcome, said, duration_ms, .. } => {
                self.with_turn(|turn, fx| turn.ran(outcome, said, duration_ms, fx));
            }
        }
    }

    pub(super) fn hook_done(&mut self, peer: PeerId, id: u64, verdict: HookVerdict) -> Result<Reply, Fault> {
        if self.command_done(id, peer, &verdict) {
            return Ok(Reply::Done);
        }
        let awaited =
            |work: &TurnWaits| matches!(work, TurnWaits::Hook(it) if it.id == id && it.extension.peer == peer);
        if !awaited(self.activity.waiting()) {
            return Err(Fault::new(FaultKind::UnknownAsk, format!("no open hook call {id}"))
                .hint("it was answered, its time was over, or the turn ended"));
        }
        self.take_verdict(verdict);
        Ok(Reply::Done)
    }

    fn take_verdict(&mut self, verdict: HookVerdict) {
        let TurnWaits::Hook(running_hook) = self.activity.stop_waiting() else { return };
        let RunningHook { extension, mut point, left, .. } = *running_hook;
        self.activity.moved();
        let failed: Option<Arc<str>> = match (&mut point, verdict) {
            (_, HookVerdict::Fine) => None,
            (HookPoint::Call { tool, .. }, HookVerdict::Veto(reason)) => {
                let verdict = Verdict::Deny { tool: tool.clone(), reason: reason.to_string() };
                return self.with_turn(|turn, fx| turn.judged(verdict, None, fx));
            }
            (HookPoint::Call { call, .. }, HookVerdict::Input(input)) => {
                call.input = CallInput::Object(input);
                None
            }
            (HookPoint::Turn { messages }, HookVerdict::Context { system, message }) => {
                self.add_context(messages, system, message)
            }
            (HookPoint::Result { said, .. }, HookVerdict::Result { parts, is_error }) => {
                *said = Some(ResultWording { parts: images::worded(parts), is_error });
                None
            }
            (_, HookVerdict::Failed(text)) => Some(text),
            (_, _) => Some("the answer does not fit the question".into()),
        };
        let Some(text) = failed else { return self.next_hook(point, left) };
        self.trouble(&extension, point.name(), text.clone());
        match &point {
            // Who hooks calls may be there to forbid them: without its word nothing runs.
            HookPoint::Call { tool, .. } => {
                let reason =
                    format!("not run: the extension {} was to be asked first and failed: {text}", extension.name);
                let verdict = Verdict::Deny { tool: tool.clone(), reason };
                self.with_turn(|turn, fx| turn.judged(verdict, None, fx));
            }
            HookPoint::Turn { .. } | HookPoint::Result { .. } => self.next_hook(point, left),
        }
    }

    fn add_context(
        &mut self,
        messages: &mut Vec<Arc<str>>,
        system: Option<Arc<str>>,
        message: Option<Arc<str>>,
    ) -> Option<Arc<str>> {
        let bytes = system.as_ref().map_or(0, |text| text.len()) + message.as_ref().map_or(0, |text| text.len());
        if bytes > CONTEXT_BYTES_MAX {
            return Some(format!("{bytes} bytes of context are too many; {CONTEXT_BYTES_MAX} are the limit").into());
        }
        if let Some(system) = system.filter(|text| !text.trim().is_empty()) {
            self.tools.add_to_prompt(&system);
        }
        messages.extend(message.filter(|text| !text.trim().is_empty()));
        None
    }

    pub(super) fn hook_due(&mut self, now: Instant) {
        let asking = self.askers();
        let Some(TurnWaits::Hook(running_hook)) = self.activity.waiting_mut() else { return };
        if running_hook.until > now {
            return;
        }
        if asking.contains(&running_hook.extension.peer) {
            running_hook.until = now + HOOK_LIMIT;
            return;
        }
        self.take_verdict(HookVerdict::Failed(format!("no answer within {} s", HOOK_LIMIT.as_secs()).into()));
    }

    /// A person answered the extension: its time to think starts over.
    pub(super) fn hooked_extension_rests(&mut self, peer: PeerId) {
        self.extensions.rest(peer);
        if let Some(TurnWaits::Hook(running_hook)) = self.activity.waiting_mut()
            && running_hook.extension.peer == peer
        {
            running_hook.until = Instant::now() + HOOK_LIMIT;
        }
    }

    pub(super) fn hooked_extension_gone(&mut self, peer: PeerId) {
        if matches!(self.activity.waiting(), TurnWaits::Hook(running_hook) if running_hook.extension.peer == peer) {
            self.take_verdict(HookVerdict::Failed("it ended before it answered".into()));
        }
    }

    /// The turn is stopped in mid-hook call. A tool that ran did run: its result is kept.
    pub(super) fn stop_hook(&mut self, running_hook: RunningHook) {
        if let HookPoint::Result { outcome, said, duration_ms, .. } = running_hook.point {
            self.with_turn(|turn, fx| turn.ran_last(outcome, said, duration_ms, fx));
        }
    }
}
