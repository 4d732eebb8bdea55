//! What happens in the sessions, put into frames for the extension.

use std::borrow::Cow;

use serde_json::value::RawValue;
use vocab::{
    Answer, AskEntry, AskId, AskKind, Body, CallEntry, CallId, Delta, Entry, Event, ExtensionEvent, Fault, HookCall,
    HookKind, Json, Reply, SessionId, Stop, Tag, Told, TurnEntry, parts_text,
};

use super::{ASKED_MAX, ConnectionOutput, ExtensionConnection, OurRequest, ReplyShape, TheirRequest};
use crate::frames::{
    self, AfterCall, BeforeTurn, Cancel, CommandRun, Confirmed, Empty, EventFrame, REFUSED, ToolCall, Value, content,
};

impl ExtensionConnection {
    pub(crate) fn tell(&mut self, told: &Told, out: &mut ConnectionOutput) {
        let session = &told.session;
        match &told.event {
            Event::Reply { tag, result } => return self.replied(*tag, result, out),
            Event::Gone { .. } => return self.session_gone(session, out),
            Event::State(state) => {
                if self.meets(session) {
                    self.event("session_start", session, out, |frame| {
                        frame.workspace = Some(state.workspace.to_string_lossy());
                        frame.model = Some(&state.model);
                        frame.mode = Some(state.mode.as_str());
                    });
                }
                return;
            }
            _ => {}
        }
        self.meets(session);
        match &told.event {
            Event::Logged(entry) => self.logged(session, entry, out),
            Event::Extension(ExtensionEvent::Hook(hook)) => self.asked(session, hook, out),
            Event::Delta(Delta::Text { turn, delta }) => self.event("text_delta", session, out, |frame| {
                frame.turn_id = Some(turn.as_str());
                frame.delta = Some(delta);
            }),
            Event::Delta(Delta::Thinking { turn, delta }) => self.event("thinking_delta", session, out, |frame| {
                frame.turn_id = Some(turn.as_str());
                frame.delta = Some(delta);
            }),
            Event::Settled => self.event("settled", session, out, |_| {}),
            // Its word came too late or did not fit; whatever it still works on is for nothing.
            Event::Extension(ExtensionEvent::Trouble { during, .. }) if &**during != "register" => {
                self.cancel_hooks(session, out)
            }
            Event::TurnLost(end) => {
                self.cancel_hooks(session, out);
                self.event("turn_end", session, out, |frame| {
                    frame.turn_id = Some(end.turn.as_str());
                    frame.stop_reason = Some(stop_reason(end.stop));
                });
            }
            Event::Extension(ExtensionEvent::Trouble { .. })
            | Event::Reply { .. }
            | Event::Gone { .. }
            | Event::State(_)
            | Event::Delta(Delta::CallInput { .. })
            | Event::Delta(Delta::CallProgress { .. } | Delta::CallBegan { .. })
            | Event::Compaction(_)
            | Event::Retry(_)
            | Event::ShellProgress { .. }
            | Event::Extension(ExtensionEvent::Notice(_))
            | Event::Delta(Delta::Sealed { .. })
            | Event::Delta(Delta::ModelCalled { .. })
            | Event::SignIn { .. }
            | Event::Editor(_)
            | Event::Queue(_)
            | Event::Watch(_)
            | Event::Live { .. } => {}
        }
    }

    /// Whether the session is news. It is the one that frames without a session are about from now on.
    fn meets(&mut self, session: &SessionId) -> bool {
        if self.sessions.last() == Some(session) {
            return false;
        }
        let known = self.sessions.len();
        self.sessions.retain(|other| other != session);
        let is_new = self.sessions.len() == known;
        self.sessions.push(session.clone());
        is_new
    }

    fn session_gone(&mut self, session: &SessionId, out: &mut ConnectionOutput) {
        self.sessions.retain(|other| other != session);
        self.cancel(out, |asked| asked.session() == Some(session));
        self.event("session_end", session, out, |_| {});
    }

    fn event<'a>(
        &self,
        name: &'static str,
        session: &'a SessionId,
        out: &mut ConnectionOutput,
        fill: impl FnOnce(&mut EventFrame<'a>),
    ) {
        if self.wants(name) {
            let mut frame = EventFrame { session: session.as_str(), r#type: name, ..EventFrame::default() };
            fill(&mut frame);
            frames::notification(&mut out.bytes, "event", frame);
        }
    }

    fn logged(&mut self, session: &SessionId, entry: &Entry, out: &mut ConnectionOutput) {
        match &entry.body {
            Body::Turn(TurnEntry::Started { turn }) => {
                self.event("turn_start", session, out, |frame| frame.turn_id = Some(turn.as_str()));
            }
            Body::Turn(TurnEntry::Ended(end)) => {
                self.cancel_hooks(session, out);
                self.event("turn_end", session, out, |frame| {
                    frame.turn_id = Some(end.turn.as_str());
                    frame.stop_reason = Some(stop_reason(end.stop));
                });
            }
            Body::User { parts, .. } => self.event("message", session, out, |frame| {
                frame.role = Some("user");
                frame.text = Some(Cow::Owned(parts_text(parts)));
            }),
            Body::Assistant { message, .. } => self.event("message", session, out, |frame| {
                frame.role = Some("assistant");
                frame.text = Some(Cow::Owned(message.text()));
            }),
            Body::Call(CallEntry::Started { turn, call, tool }) => {
                let input = call.input.json();
                if self.wants("tool_call") {
                    let frame = EventFrame {
                        session: session.as_str(),
                        r#type: "tool_call",
                        turn_id: Some(turn.as_str()),
                        call_id: Some(call.id.as_str()),
                        tool: Some(tool),
                        input: Some(raw(&input)),
                        ..EventFrame::default()
                    };
                    frames::notification(&mut out.bytes, "event", frame);
                }
            }
            Body::Call(CallEntry::Ended { turn, result }) => self.event("tool_result", session, out, |frame| {
                frame.turn_id = Some(turn.as_str());
                frame.call_id = Some(result.call.as_str());
                frame.tool = Some(&result.tool);
                frame.content = Some(content(&result.parts));
                frame.is_error = Some(result.is_error);
            }),
            Body::Ask(AskEntry::Opened(ask)) => {
                if let AskKind::HostCall { call, tool, input } = &ask.kind {
                    self.call_tool(session, &ask.id, call, tool, input, out);
                }
            }
            Body::Ask(AskEntry::Closed { ask, .. }) => {
                self.cancel(out, |asked| matches!(asked, OurRequest::Tool { ask: open, .. } if open == ask))
            }
            _ => {}
        }
    }

    /// A call of one of its own tools. Those of others are theirs.
    fn call_tool(
        &mut self,
        session: &SessionId,
        ask: &AskId,
        call: &CallId,
        tool: &str,
        input: &Json,
        out: &mut ConnectionOutput,
    ) {
        if !self.offers.tools.iter().any(|own| &*own.name == tool) {
            return;
        }
        let id = self.ask_about(OurRequest::Tool { session: session.clone(), ask: ask.clone() }, out);
        let params = ToolCall { session: session.as_str(), call_id: call.as_str(), tool, input: raw(input) };
        frames::request(&mut out.bytes, id, "tool/call", params);
    }

    fn ask_about(&mut self, asked: OurRequest, out: &mut ConnectionOutput) -> u64 {
        if self.ours.len() >= ASKED_MAX {
            out.stop = Some(format!("was stopped: it left {ASKED_MAX} requests unanswered"));
        }
        self.ask(asked)
    }

    fn asked(&mut self, session: &SessionId, hook: &HookCall, out: &mut ConnectionOutput) {
        let (to, hook_id) = (session.clone(), hook.id);
        let session = session.as_str();
        match &hook.kind {
            HookKind::Turn { parts } => {
                let id = self.ask_about(OurRequest::Turn { session: to, hook: hook_id }, out);
                let prompt = parts_text(parts);
                let params = BeforeTurn { session, prompt: &prompt, content: content(parts) };
                frames::request(&mut out.bytes, id, "hook/before_turn", params);
            }
            HookKind::Call { call, tool, input } => {
                let id = self.ask_about(OurRequest::Call { session: to, hook: hook_id }, out);
                let params = ToolCall { session, call_id: call.as_str(), tool, input: raw(input) };
                frames::request(&mut out.bytes, id, "hook/before_call", params);
            }
            HookKind::Result { call, tool, parts, is_error } => {
                let asked =
                    OurRequest::Result { session: to, hook: hook_id, parts: parts.clone(), is_error: *is_error };
                let id = self.ask_about(asked, out);
                let params =
                    AfterCall { session, call_id: call.as_str(), tool, content: content(parts), is_error: *is_error };
                frames::request(&mut out.bytes, id, "hook/after_call", params);
            }
            HookKind::Command { name, args } => {
                let id = self.ask_about(OurRequest::Command { session: to, hook: hook_id }, out);
                frames::request(&mut out.bytes, id, "command/run", CommandRun { session, name, args });
            }
        }
    }

    fn cancel_hooks(&mut self, session: &SessionId, out: &mut ConnectionOutput) {
        self.cancel(out, |asked| match asked {
            OurRequest::Turn { session: of, .. }
            | OurRequest::Call { session: of, .. }
            | OurRequest::Result { session: of, .. } => of == session,
            OurRequest::Initialize | OurRequest::Tool { .. } | OurRequest::Command { .. } | OurRequest::Shutdown => {
                false
            }
        });
    }

    /// Takes back requests of ours: a late answer to one is no mistake and is ignored.
    fn cancel(&mut self, out: &mut ConnectionOutput, mut is_meant: impl FnMut(&OurRequest) -> bool) {
        let mut ids: Vec<u64> = self.ours.extract_if(|_, asked| is_meant(asked)).map(|(id, _)| id).collect();
        ids.sort_unstable();
        for id in ids {
            frames::notification(&mut out.bytes, "$/cancel", Cancel { id });
        }
    }

    fn replied(&mut self, tag: Tag, result: &Result<Reply, Fault>, out: &mut ConnectionOutput) {
        let Some(TheirRequest { id, answer }) = self.theirs.remove(&tag) else { return };
        match (result, answer) {
            (Err(fault), _) => frames::error(&mut out.bytes, &id, REFUSED, fault.message.clone()),
            (Ok(Reply::Answered(said)), ReplyShape::Confirmed) => {
                let confirmed = matches!(said, Answer::Confirmed(true));
                frames::result(&mut out.bytes, &id, Confirmed { confirmed });
            }
            (Ok(Reply::Answered(said)), ReplyShape::Text) => {
                let value = match said {
                    Answer::Text(text) => Some(&**text),
                    _ => None,
                };
                frames::result(&mut out.bytes, &id, Value { value });
            }
            (Ok(_), _) => frames::result(&mut out.bytes, &id, Empty {}),
        }
    }
}

impl OurRequest {
    fn session(&self) -> Option<&SessionId> {
        match self {
            OurRequest::Initialize | OurRequest::Shutdown => None,
            OurRequest::Tool { session, .. }
            | OurRequest::Turn { session, .. }
            | OurRequest::Call { session, .. }
            | OurRequest::Result { session, .. }
            | OurRequest::Command { session, .. } => Some(session),
        }
    }
}

fn raw(json: &Json) -> &RawValue {
    serde_json::from_str(json.as_str()).expect("what the engine carries is JSON")
}

fn stop_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::EndTurn => "end_turn",
        Stop::MaxTokens => "max_tokens",
        Stop::MaxIterations => "max_iterations",
        Stop::Refusal => "refusal",
        Stop::Interrupted => "interrupted",
        Stop::Error => "error",
        Stop::Budget => "budget",
    }
}
