//! The order of events. One engine turn is one run here (`agent_start` .. `agent_end`), one model call with its tools is
//! one turn (`turn_start` .. `turn_end`), and a run that a failed call ended begins again when the call is tried again.
//! Knows nothing of commands and their answers.

mod joining;

use std::collections::VecDeque;
use std::sync::Arc;

use vocab::{
    AssistantMessage, Body, CallEntry, CallId, CallResult, Delta, Entry, Event, Fault, FaultKind, MessageEnd,
    ModelEntry, Part, RetryEvent, Stop, TurnEnd, TurnEntry, TurnId, UserFrom,
};
use wire::{FrameBuf, OpenCalls};

use crate::frames;
use crate::models::KnownModels;
use crate::stream::{Stream, Updates};
use pi_format::messages::{self, Faces};
use pi_format::transcript::{MessageRole, Projector, TranscriptLine};

/// Bytes of messages that `agent_end` repeats; of a longer run it has the newest ones.
pub const RUN_BYTES_MAX: usize = 32 * 1024 * 1024;

/// What a run has come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Came {
    /// Nothing that anybody waits for.
    On,
    /// The engine's turn is over; `agent_end` is still to be written by [`Run::close`].
    ToItsEnd,
}

/// How the last turn came out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum CallOutcome {
    Completed,
    Aborted,
    Failed {
        message: String,
        /// The same may work a little later.
        retryable: bool,
    },
}

impl CallOutcome {
    pub(crate) fn word(&self) -> &'static str {
        match self {
            CallOutcome::Completed => "completed",
            CallOutcome::Aborted => "aborted",
            CallOutcome::Failed { .. } => "error",
        }
    }
}

pub(crate) struct Run {
    updates: Updates,
    projector: Projector,
    /// The engine's turn whose start was told.
    turn: Option<TurnId>,
    /// Between `agent_start` and `agent_end`.
    open: bool,
    /// Between `turn_start` and `turn_end`.
    turn_open: bool,
    stream: Option<Stream>,
    /// Messages of this run, for `agent_end`.
    said: VecDeque<Arc<str>>,
    said_bytes: usize,
    /// The assistant message of the open turn, its calls and their results.
    message: Option<Arc<str>>,
    calls: Vec<RoundCall>,
    open_calls: OpenCalls,
    results: Vec<Arc<str>>,
    /// A retry that came out, to be told where its place is.
    retried: Option<(u32, bool)>,
    /// Who stands in for the chosen model in this turn.
    fallback: Option<Fallback>,
    stop: Option<(Stop, Option<Fault>)>,
    reminders: u32,
    pub(crate) reminders_max: u32,
    /// Something ran since the last `agent_settled`.
    unsettled: bool,
}

struct Fallback {
    slug: Arc<str>,
    /// That it answered was said.
    answered: bool,
}

struct RoundCall {
    id: CallId,
    name: Arc<str>,
    /// As one line of JSON.
    args: Vec<u8>,
    started: bool,
    ended: bool,
}

impl Run {
    pub(crate) fn new(updates: Updates, reminders_max: u32) -> Self {
        Self {
            updates,
            projector: Projector::new(),
            turn: None,
            open: false,
            turn_open: false,
            stream: None,
            said: VecDeque::new(),
            said_bytes: 0,
            message: None,
            calls: Vec::new(),
            open_calls: OpenCalls::default(),
            results: Vec::new(),
            retried: None,
            fallback: None,
            stop: None,
            reminders: 0,
            reminders_max,
            unsettled: false,
        }
    }

    /// Another session is looked at from here on.
    pub(crate) fn forget(&mut self, model: &str) {
        *self = Self::new(self.updates, self.reminders_max);
        self.projector.assume(model, 0);
    }

    /// How a line of the log is called in this session's file, when it was told here.
    pub(crate) fn name_of(&self, seq: u64) -> Option<Arc<str>> {
        self.projector.name_of(seq).cloned()
    }

    pub(crate) fn pause(&mut self, frames: &mut FrameBuf) {
        if let Some(stream) = &mut self.stream {
            stream.flush(frames);
        }
    }

    /// Writes what an event has to say about the run.
    pub(crate) fn tell(&mut self, event: &Event, known: &KnownModels, frames: &mut FrameBuf) -> Came {
        for lost in self.open_calls.lost_by(event) {
            self.tell(&lost, known, frames);
        }
        match event {
            Event::Delta(Delta::Text { delta, .. }) => self.stream(known, frames).text(delta, frames),
            Event::Delta(Delta::Thinking { delta, .. }) => self.stream(known, frames).thinking(delta, frames),
            Event::Delta(Delta::Sealed { what, .. }) => self.stream(known, frames).sealed(*what, frames),
            Event::Delta(Delta::CallInput { index, id, name, delta, .. }) => {
                let id = id.as_ref().map(CallId::as_str);
                self.stream(known, frames).call(*index, id, name.as_deref(), delta, frames);
            }
            Event::Delta(Delta::CallProgress { call, parts, .. }) => self.progress(call, parts, frames),
            Event::Retry(RetryEvent::Started { .. }) => {
                self.start_run(frames);
                self.start_turn(frames);
            }
            Event::Retry(RetryEvent::Ended { attempt, ok, .. }) => self.retried = Some((*attempt, *ok)),
            Event::Logged(entry) => return self.logged(entry, known, frames),
            Event::TurnLost(end) => {
                let entry = Entry {
                    seq: 0,
                    parent: 0,
                    at_ms: self.projector.now_ms(),
                    body: Body::Turn(TurnEntry::Ended(end.clone())),
                    by: None,
                };
                return self.logged(&entry, known, frames);
            }
            Event::Settled => self.settled(frames),
            // Answers, questions, notices and the state of the session are not part of a run.
            Event::State(_)
            | Event::Watch(_)
            | Event::Delta(Delta::ModelCalled { .. } | Delta::CallBegan { .. })
            | Event::SignIn { .. }
            | Event::Editor(_)
            | Event::Compaction(_)
            | Event::ShellProgress { .. }
            | Event::Extension(_)
            | Event::Queue(_)
            | Event::Live { .. }
            | Event::Reply { .. }
            | Event::Gone { .. } => {}
        }
        Came::On
    }

    fn logged(&mut self, entry: &Entry, known: &KnownModels, frames: &mut FrameBuf) -> Came {
        self.open_calls.logged(entry);
        let lines = self.projector.take(entry, known);
        let said = lines.into_iter().find_map(TranscriptLine::into_message);
        match &entry.body {
            Body::Turn(TurnEntry::Started { turn }) => {
                self.turn = Some(turn.clone());
                self.stop = None;
                self.fallback = None;
                self.unsettled = true;
            }
            // What a run was made of, and what cut it, is in its messages and its end.
            Body::Turn(TurnEntry::Taken { .. } | TurnEntry::Cut { .. }) => {}
            Body::User { from, .. } => {
                if let Some(said) = said {
                    self.user(*from, said.json, known, frames);
                }
            }
            Body::Assistant { message, .. } => {
                let stream = self.stream(known, frames);
                if matches!(message.end, MessageEnd::Finished(_)) {
                    stream.complete(message, frames);
                } else {
                    stream.cut(frames);
                }
                self.stream = None;
                self.calls = message.calls().map(RoundCall::new).collect();
                if let Some(said) = said {
                    self.assistant_ended(said.json, frames);
                }
                self.tell_fallback(message, known, frames);
            }
            Body::Call(CallEntry::Started { call, .. }) => self.call_started(&call.id, frames),
            Body::Call(CallEntry::Ended { result, .. }) => {
                if let Some(said) = said {
                    let result = self.projector.worded(result);
                    self.call_ended(&result, said.json, frames);
                }
            }
            Body::Model(ModelEntry::Retrying { attempt, attempts_max, wait_ms, fault, .. }) => {
                if let Some(said) = said {
                    self.extra_turn(said.json, frames);
                }
                self.end_run(true, frames);
                frames::auto_retry_start(frames, *attempt, *attempts_max, *wait_ms, &fault.message);
            }
            Body::Model(ModelEntry::FellBack(it)) => {
                self.tell_retry(Some(&it.fault.message), frames);
                self.stream = None;
                self.fallback = Some(Fallback { slug: it.to.clone(), answered: false });
                frames::fallback_applied(frames, &selector(&it.from, known), &selector(&it.to, known));
            }
            // One that died with another process has its line in the log; its end is told just before the new one starts, and
            // is the end of no run.
            Body::Turn(TurnEntry::Ended(end)) if !self.is_running(&end.turn, known) => {}
            Body::Turn(TurnEntry::Ended(end)) => {
                self.turn = None;
                let said = said.filter(|said| said.role == MessageRole::Assistant).map(|said| said.json);
                self.turn_over(end, said, frames);
                return Came::ToItsEnd;
            }
            // No part of a run: told by `outbound.rs`, as far as this family has words for them.
            Body::Opened { .. } | Body::Ask(_) | Body::Queue(_) | Body::Branch(_) | Body::Setting(_) => {}
            Body::Shell(_) | Body::Note(_) => {}
            // For bills, which are made of the log.
            Body::Model(ModelEntry::Requested(_) | ModelEntry::Spent { .. }) => {}
        }
        Came::On
    }

    fn is_running(&self, turn: &TurnId, known: &KnownModels) -> bool {
        self.turn.as_ref() == Some(turn) || known.turn() == Some(turn)
    }

    /// Whether a turn was told to have started whose end is still to come.
    pub(crate) fn is_on(&self, known: &KnownModels) -> bool {
        self.turn.is_some() || known.turn().is_some()
    }

    fn user(&mut self, from: UserFrom, json: Arc<str>, known: &KnownModels, frames: &mut FrameBuf) {
        if from == UserFrom::Reminder {
            self.reminders += 1;
            frames::todo_reminder(frames, &known.todos, self.reminders, self.reminders_max);
        } else if from != UserFrom::Extension {
            self.reminders = 0;
        }
        self.start_run(frames);
        self.start_turn(frames);
        // A reminder is our own word: the run goes on without a user message.
        if from != UserFrom::Reminder {
            self.say(json, frames);
        }
    }

    /// The message that grows, begun when there is none.
    fn stream(&mut self, known: &KnownModels, frames: &mut FrameBuf) -> &mut Stream {
        if self.stream.is_none() {
            self.start_run(frames);
            self.start_turn(frames);
            let face = self.fallback.as_ref().map_or_else(|| known.current_face(), |it| known.face(&it.slug));
            let stream = Stream::new(self.updates, &face, self.projector.now_ms());
            stream.begin(frames);
            self.stream = Some(stream);
        }
        self.stream.as_mut().expect("made above when it was missing")
    }

    fn start_run(&mut self, frames: &mut FrameBuf) {
        if !self.open {
            self.open = true;
            self.unsettled = true;
            frames::bare(frames, "agent_start");
        }
    }

    fn start_turn(&mut self, frames: &mut FrameBuf) {
        if !self.turn_open {
            self.turn_open = true;
            frames::bare(frames, "turn_start");
        }
    }

    /// `message_start` and `message_end` of a message that did not grow.
    fn say(&mut self, json: Arc<str>, frames: &mut FrameBuf) {
        frames::message(frames, "message_start", &json);
        frames::message(frames, "message_end", &json);
        self.keep(json);
    }

    fn keep(&mut self, json: Arc<str>) {
        self.said_bytes += json.len();
        self.said.push_back(json);
        while self.said_bytes > RUN_BYTES_MAX && self.said.len() > 1 {
            self.said_bytes -= self.said.pop_front().map_or(0, |oldest| oldest.len());
        }
    }

    fn assistant_ended(&mut self, json: Arc<str>, frames: &mut FrameBuf) {
        frames::message(frames, "message_end", &json);
        self.keep(json.clone());
        self.message = Some(json);
        if self.retried.is_some_and(|(_, ok)| ok) {
            self.tell_retry(None, frames);
        }
        self.end_turn_when_answered(frames);
    }

    fn end_turn_when_answered(&mut self, frames: &mut FrameBuf) {
        if self.turn_open && self.calls.iter().all(|call| call.ended) {
            self.end_turn(frames);
        }
    }

    fn end_turn(&mut self, frames: &mut FrameBuf) {
        self.turn_open = false;
        self.calls.clear();
        let results = std::mem::take(&mut self.results);
        if let Some(message) = self.message.take() {
            frames::turn_end(frames, &message, &results);
        }
    }

    /// A message that is a turn of its own: a failed try, or the empty one that says "aborted".
    fn extra_turn(&mut self, json: Arc<str>, frames: &mut FrameBuf) {
        self.start_run(frames);
        self.start_turn(frames);
        if self.stream.take().is_none() {
            frames::message(frames, "message_start", &json);
        }
        frames::message(frames, "message_end", &json);
        self.keep(json.clone());
        self.message = Some(json);
        self.calls.clear();
        self.end_turn(frames);
    }

    fn call_started(&mut self, id: &CallId, frames: &mut FrameBuf) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == *id && !call.started) {
            call.started = true;
            frames::tool_start(frames, call.id.as_str(), &call.name, &call.args);
        }
    }

    fn progress(&mut self, id: &CallId, parts: &[Part], frames: &mut FrameBuf) {
        if let Some(call) = self.calls.iter().find(|call| call.id == *id && !call.ended) {
            frames::tool_update(frames, call.id.as_str(), &call.name, &call.args, parts);
        }
    }

    fn call_ended(&mut self, result: &CallResult, json: Arc<str>, frames: &mut FrameBuf) {
        // One that was never started (interrupted, cut off) has its beginning all the same.
        self.call_started(&result.call, frames);
        let Some(call) = self.calls.iter_mut().find(|call| call.id == result.call && !call.ended) else { return };
        call.ended = true;
        frames::tool_end(frames, call.id.as_str(), &call.name, result);
        self.results.push(json.clone());
        self.say(json, frames);
        self.end_turn_when_answered(frames);
    }

    fn turn_over(&mut self, end: &TurnEnd, said: Option<Arc<str>>, frames: &mut FrameBuf) {
        self.stop = Some((end.stop, end.fault.clone()));
        // While a retry was waited for, the run was closed already; nothing is said twice.
        if self.open {
            match said {
                Some(json) => self.extra_turn(json, frames),
                None if self.turn_open => self.end_turn(frames),
                None => {}
            }
        }
        self.stream = None;
    }

    /// The last word of a run; what answers an abort goes between [`Run::tell`] and this.
    pub(crate) fn close(&mut self, frames: &mut FrameBuf) {
        let cancelled = !self.open;
        self.end_run(false, frames);
        if self.retried.is_some() {
            let fault = self.stop.as_ref().and_then(|(_, fault)| fault.as_ref()).map(|fault| fault.message.clone());
            let why = if cancelled { "Retry cancelled".to_owned() } else { fault.unwrap_or_default() };
            self.tell_retry(Some(&why), frames);
        }
    }

    fn end_run(&mut self, will_retry: bool, frames: &mut FrameBuf) {
        if std::mem::take(&mut self.open) {
            frames::agent_end(frames, self.said.iter(), will_retry);
        }
        self.turn_open = false;
        self.said.clear();
        self.said_bytes = 0;
        self.results.clear();
        self.calls.clear();
    }

    fn tell_retry(&mut self, why: Option<&str>, frames: &mut FrameBuf) {
        if let Some((attempt, ok)) = self.retried.take() {
            frames::auto_retry_end(frames, ok, attempt, why.filter(|_| !ok));
        }
    }

    /// Once, when the one that stands in has answered.
    fn tell_fallback(&mut self, message: &AssistantMessage, known: &KnownModels, frames: &mut FrameBuf) {
        let finished = matches!(message.end, MessageEnd::Finished(_));
        if let Some(fallback) = self.fallback.as_mut().filter(|it| finished && it.slug == message.model)
            && !std::mem::replace(&mut fallback.answered, true)
        {
            frames::fallback_succeeded(frames, &selector(&fallback.slug, known));
        }
    }

    pub(crate) fn outcome(&self) -> CallOutcome {
        match &self.stop {
            Some((Stop::Interrupted, _)) => CallOutcome::Aborted,
            Some((Stop::Error | Stop::Budget, fault)) => CallOutcome::Failed {
                message: fault.as_ref().map_or("", messages::fault_text).to_owned(),
                retryable: fault.as_ref().is_some_and(|fault| may_pass(fault.kind)),
            },
            _ => CallOutcome::Completed,
        }
    }

    /// A turn has begun and not ended.
    pub(crate) fn is_in_turn(&self) -> bool {
        self.turn.is_some()
    }

    /// Something ran since `agent_settled` was said last.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.unsettled
    }

    fn settled(&mut self, frames: &mut FrameBuf) {
        if std::mem::take(&mut self.unsettled) {
            frames::agent_settled(frames, self.outcome() == CallOutcome::Aborted);
        }
    }
}

fn may_pass(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::RateLimited | FaultKind::Provider | FaultKind::StreamCut | FaultKind::Network)
}

/// How this family names a model.
fn selector(slug: &str, known: &KnownModels) -> String {
    let face = known.face(slug);
    format!("{}/{}", face.provider, face.id)
}

impl RoundCall {
    fn new(call: &vocab::Call) -> Self {
        let mut args = Vec::new();
        messages::object(&mut args, &call.input.json());
        Self { id: call.id.clone(), name: messages::tool_name(&call.name).into(), args, started: false, ended: false }
    }
}
