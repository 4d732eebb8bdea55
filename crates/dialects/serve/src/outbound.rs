//! Engine event -> lines. Every kind of event has its arm here, also those that this dialect has no line for; what an
//! event means for the state of the conversation is decided elsewhere.

use std::borrow::Cow;

use crate::tool_names::TOOL_NAMES;
use serde_json::value::RawValue;
use vocab::{
    AskEntry, AskKind, Body, BranchEntry, BudgetAsk, CallEntry, CallResult, Delta, Event, Fault, FaultKind, Json, Mode,
    ModelEntry, NoteEntry, Opened, Origin, Part, Stop, TurnEnd, TurnEntry, TurnId,
};
use wire::{FrameBuf, escape_into};

use crate::data::Data;
use crate::faults;
use crate::frames::{
    Details, Error, Framed, PermissionRequest, Ready, SessionMember, SlashResult, ToolResultFrame, ToolStart, Tree,
    TurnComplete, TurnStarted, TypedFrame,
};
use crate::session_view::SessionView;

/// Writes whole lines for one session, or for none.
pub(crate) struct ServePen<'a> {
    pub(crate) frames: &'a mut FrameBuf,
    pub(crate) session: SessionMember<'a>,
    /// Nobody reads any more; what would be written is dropped here.
    pub(crate) deaf: bool,
}

impl ServePen<'_> {
    pub(crate) fn write<F: TypedFrame>(&mut self, frame: &F) {
        if self.deaf {
            return;
        }
        let framed = Framed { r#type: F::TYPE, session: self.session, frame };
        self.frames.line(|bytes| serde_json::to_writer(bytes, &framed).expect("our frames have string keys only"));
    }

    /// The delta path: no tree, no allocation.
    pub(crate) fn text_delta(&mut self, turn: &TurnId, delta: &str) {
        if self.deaf || delta.is_empty() {
            return;
        }
        let session = self.session;
        self.frames.line(|bytes| {
            bytes.extend_from_slice(b"{\"type\":\"text_delta\"");
            match session {
                SessionMember::Absent => {}
                SessionMember::Process => bytes.extend_from_slice(b",\"session\":null"),
                SessionMember::Label(label) => {
                    bytes.extend_from_slice(b",\"session\":");
                    escape_into(label, bytes);
                }
            }
            bytes.extend_from_slice(b",\"turn_id\":");
            escape_into(turn.as_str(), bytes);
            bytes.extend_from_slice(b",\"delta\":");
            escape_into(delta, bytes);
            bytes.push(b'}');
        });
    }

    /// An error about an inbound message: ours to say, and never with a turn.
    pub(crate) fn refuse(&mut self, code: &'static str, message: &str) {
        self.write(&Error { code, message, origin: faults::origin(Origin::Local), turn_id: None });
    }

    pub(crate) fn fault(&mut self, fault: &Fault, turn: Option<&TurnId>) {
        self.write(&Error {
            code: faults::code(fault.kind),
            message: &faults::message(fault),
            origin: faults::origin(fault.origin()),
            turn_id: turn.map(TurnId::as_str),
        });
    }

    pub(crate) fn ready(&mut self, opened: &Opened, protocol: u8, version: &str) {
        let state = &opened.state;
        self.write(&Ready {
            protocol,
            version,
            session_id: opened.session.as_str(),
            model: &state.model,
            mode: state.mode.as_str(),
            tools: opened.tools.iter().map(|tool| TOOL_NAMES.show(tool)).collect(),
            context_window: state.context_window,
            max_tokens: state.max_tokens,
            gadgets: state.gadgets.iter().map(|gadget| &**gadget).collect(),
        });
    }

    pub(crate) fn turn_started(&mut self, turn: &TurnId) {
        self.write(&TurnStarted { turn_id: turn.as_str() });
    }

    pub(crate) fn turn_ended(&mut self, end: &TurnEnd) {
        if matches!(end.stop, Stop::Error | Stop::Budget) {
            match &end.fault {
                Some(fault) => self.fault(fault, Some(&end.turn)),
                None => {
                    let fault = Fault::new(FaultKind::Internal, "the turn failed and left no reason");
                    self.fault(&fault, Some(&end.turn));
                }
            }
        }
        self.write(&TurnComplete {
            turn_id: end.turn.as_str(),
            stop_reason: stop_reason(end.stop),
            iterations: end.iterations,
            input_tokens: end.usage.prompt(),
            output_tokens: end.usage.output,
            mutations: end.mutations.iter().map(|(tool, target)| (TOOL_NAMES.show(tool), &**target)).collect(),
        });
    }

    pub(crate) fn slash_result(&mut self, command: &str, text: &str, data: &Data, moved: bool, exit: bool) {
        self.write(&SlashResult { command, text, data: Tree(data), clear_session: moved, exit });
    }
}

/// Writes the lines an event has in this dialect.
pub(crate) fn event(event: &Event, view: &mut SessionView, pen: &mut ServePen<'_>) {
    match event {
        Event::Delta(Delta::Text { turn, delta }) => pen.text_delta(turn, delta),
        Event::Logged(entry) if view.missed_start(&entry.body) => {}
        Event::Logged(entry) => body(&entry.body, view.mode(), pen),
        Event::TurnLost(end) => pen.turn_ended(end),
        Event::State(state) => {
            if let Some(changed) = view.changed(state) {
                pen.write(&changed);
            }
            view.note(state);
        }
        // Answers and the end of a session change what may be said next: `replies.rs` writes their lines.
        Event::Reply { .. } | Event::Gone { .. } => {}
        // Protocol 1 has no member for reasoning, half-written arguments or output of a running tool.
        Event::Delta(
            Delta::Thinking { .. } | Delta::CallInput { .. } | Delta::CallProgress { .. } | Delta::CallBegan { .. },
        ) => {}
        // Compaction shows as `state_changed` or as the result of `/compact`.
        Event::Compaction(_) => {}
        // A retry that works is not worth a line; one that fails is the turn's `error`.
        Event::Retry(_) => {}
        // `turn_complete` is all there is.
        Event::Settled | Event::Watch(_) => {}
        // Commands beside the conversation and extensions have no member here.
        Event::ShellProgress { .. } | Event::Extension(_) => {}
        // Prompts are refused, not queued.
        Event::Queue(_) => {}
        // Steps of a model call, sign-ins and work in an editor have no member here.
        Event::Delta(Delta::Sealed { .. } | Delta::ModelCalled { .. }) | Event::SignIn { .. } | Event::Editor(_) => {}
        // No replay is asked for.
        Event::Live { .. } => {}
    }
}

fn body(body: &Body, mode: Mode, pen: &mut ServePen<'_>) {
    match body {
        Body::Turn(TurnEntry::Started { turn }) => pen.turn_started(turn),
        Body::Call(CallEntry::Started { turn, call, tool }) => {
            let input = call.input.json();
            pen.write(&ToolStart {
                turn_id: turn.as_str(),
                tool_id: call.id.as_str(),
                name: TOOL_NAMES.show(tool),
                input: as_raw(&one_line_object(&input)),
            });
        }
        Body::Ask(AskEntry::Opened(ask)) => match &ask.kind {
            AskKind::Permission(permission) => pen.write(&PermissionRequest {
                request_id: ask.id.as_str(),
                tool: TOOL_NAMES.show(&permission.tool),
                active_mode: permission.active.as_str(),
                required_mode: permission.required.as_str(),
                details: Details {
                    tool_input: as_raw(&one_line_object(&permission.input)),
                    reason: permission.reason.as_deref(),
                },
            }),
            // In the only words there are for a question: no mode is in the way, and none would help.
            AskKind::Budget(asked) => pen.write(&PermissionRequest {
                request_id: ask.id.as_str(),
                tool: BUDGET,
                active_mode: mode.as_str(),
                required_mode: mode.as_str(),
                details: Details { tool_input: as_raw(&budget_input(asked)), reason: Some(&asked.summary()) },
            }),
            // No line can carry these; `lib.rs` declines them.
            AskKind::HostCall { .. }
            | AskKind::Select { .. }
            | AskKind::Confirm { .. }
            | AskKind::Input { .. }
            | AskKind::Editor { .. } => {}
        },
        Body::Call(CallEntry::Ended { turn, result }) => pen.write(&ToolResultFrame {
            turn_id: turn.as_str(),
            tool_id: result.call.as_str(),
            output: &output(result),
            is_error: result.is_error,
            duration_s: result.duration_ms as f64 / 1000.0,
        }),
        Body::Turn(TurnEntry::Ended(end)) => pen.turn_ended(end),
        // Prompts are not joined, and `turn_complete` says that it was stopped.
        Body::Turn(TurnEntry::Taken { .. } | TurnEntry::Cut { .. }) => {}
        // Told as `ready` or as the result of `/resume`, `/clear` and their like.
        Body::Opened { .. } | Body::Branch(BranchEntry::Moved { .. } | BranchEntry::Restored { .. }) => {}
        // The controller wrote the prompt itself, and has read the answer as deltas.
        Body::User { .. } | Body::Assistant { .. } => {}
        // The `tool_result` that follows says how it ended.
        Body::Ask(AskEntry::Closed { .. }) => {}
        // Prompts are refused, not queued.
        Body::Queue(_) => {}
        // A retry that works is not worth a line; what a call costs is in `turn_complete`.
        Body::Model(
            ModelEntry::Retrying { .. } | ModelEntry::FellBack(_) | ModelEntry::Requested(_) | ModelEntry::Spent { .. },
        ) => {}
        // Told by `Event::State` as far as there is a member for it.
        Body::Setting(_) | Body::Branch(BranchEntry::Compacted(_) | BranchEntry::Summary { .. }) => {}
        // Commands beside the conversation and notes in the log have no member here; `lib.rs` notes a recovery for people.
        Body::Shell(_)
        | Body::Note(
            NoteEntry::Recovered { .. }
            | NoteEntry::Imported { .. }
            | NoteEntry::Label { .. }
            | NoteEntry::Keyed(_)
            | NoteEntry::Waived { .. },
        ) => {}
    }
}

/// What a question about a budget has in the place of a tool.
const BUDGET: &str = "budget";

/// The limit by its name and in its own unit: billionths of a dollar, tokens, milliseconds, rounds.
fn budget_input(ask: &BudgetAsk) -> String {
    let BudgetAsk { limit, spent, more, .. } = ask;
    format!(r#"{{"budget":"{}","limit":{limit},"spent":{spent},"more":{more}}}"#, ask.name())
}

fn stop_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::EndTurn => "end_turn",
        Stop::MaxTokens => "max_tokens",
        Stop::MaxIterations => "max_iterations",
        Stop::Refusal => "refusal",
        Stop::Interrupted => "interrupted",
        // The `error` before it has the code `budget_spent`.
        Stop::Error | Stop::Budget => "error",
    }
}

/// The text of a result; an image, which `output` cannot carry, is named on a line of its own.
fn output(result: &CallResult) -> Cow<'_, str> {
    if let [Part::Text(text)] = &result.parts[..] {
        return Cow::Borrowed(text);
    }
    let mut output = String::new();
    for part in &result.parts {
        match part {
            Part::Text(text) => output.push_str(text),
            Part::Image(image) => {
                if !output.is_empty() && !output.ends_with('\n') {
                    output.push('\n');
                }
                output.push_str(&format!("[image: {}, {} bytes of base64]\n", image.mime, image.base64.len()));
            }
        }
    }
    Cow::Owned(output)
}

/// Tool arguments as they may stand inside a line: an object, without line ends and without half surrogate pairs.
/// Text that is no object after all is shown as text: whoever decides must see what would run.
fn one_line_object(json: &Json) -> Cow<'_, str> {
    let text = json.as_str();
    let is_object = text.trim_start().starts_with('{') && serde_json::from_str::<&RawValue>(text).is_ok();
    if !is_object {
        let mut shown = b"{\"unreadable\":".to_vec();
        escape_into(text, &mut shown);
        shown.push(b'}');
        return Cow::Owned(String::from_utf8(shown).expect("escaping text yields text"));
    }
    let text = wire::replace_lone_surrogates(text);
    // A raw line end in well-formed JSON is space between tokens; inside strings it is always escaped.
    if text.contains(['\n', '\r']) { Cow::Owned(text.replace(['\n', '\r'], "")) } else { text }
}

fn as_raw(object: &str) -> &RawValue {
    serde_json::from_str(object).expect("checked or written by `one_line_object`")
}
