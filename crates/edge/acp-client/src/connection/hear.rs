//! Lines of the agent's.

use acp_types::error::{ErrorData, NOT_FOUND};
use acp_types::{
    CancelRequest, PromptResponse, SessionResponse, SessionUpdate, StopReason, ToolCallStatus, method as methods,
    read_answer, sorted,
};
use serde_json::Value;
use wire::jsonrpc::{self, Frame, INVALID_REQUEST, RpcError, Version};
use wire::replace_lone_surrogates;

use super::{About, Connection, ConnectionOut, OPEN_CALLS_MAX, PendingRequest, SESSIONS_MAX, Settled};
use crate::error::ClientProblem;
use crate::event::ClientEvent;

/// Characters of a line that is no message which a note repeats.
const NOTED_CHARS: usize = 200;

impl Connection {
    /// Nothing in a line can fail the connection.
    pub(crate) fn hear(&mut self, line: wire::Frame<'_>, out: &mut ConnectionOut) {
        let bytes = match line {
            wire::Frame::Whole(bytes) => bytes,
            wire::Frame::TooLong { limit } => {
                return note(format!("a line of the agent's is longer than {limit} bytes and was skipped"), out);
            }
        };
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let text = String::from_utf8_lossy(bytes);
        let text = replace_lone_surrogates(&text);
        let frame = jsonrpc::read(&text, Version::Optional);
        self.heard |= !matches!(frame, Frame::Batch | Frame::Invalid);
        match frame {
            Frame::Request { id, method, params } => {
                let params = params.map(super::raw).filter(|params| !params.is_null());
                self.asked(
                    id,
                    &method,
                    params.unwrap_or_else(|| Value::Object(acp_types::Other::new())),
                    bytes.len(),
                    out,
                );
            }
            Frame::Notification { method, params } => {
                let params = params.map(super::raw).unwrap_or_default();
                self.notified(&method, params, bytes.len(), out);
            }
            Frame::Response { id, outcome } => self.answered(&super::raw(id), outcome.map(super::raw), out),
            Frame::Batch | Frame::Invalid => self.puzzled(&text, out),
        }
    }

    fn answered(&mut self, id: &Value, outcome: Result<Value, RpcError>, out: &mut ConnectionOut) {
        let waiting = id.as_u64().and_then(|id| Some((id, self.waiting.remove(&id)?)));
        let Some((id, waiting)) = waiting else {
            // An agent that could not read a line of ours says so without an id.
            let said = outcome.err().map(|error| format!(": {}", error.message)).unwrap_or_default();
            return note(format!("an answer that nobody waits for{said}"), out);
        };
        let PendingRequest { method, about, cancelled, .. } = waiting;
        let outcome = self.judge(&about, cancelled, outcome, out);
        let outcome = outcome.map_err(|error| ClientProblem::Refused { method, error });
        let prompt = about.into_prompt();
        out.settled.push(Settled { id, prompt, outcome });
    }

    /// What an answer means for us, beyond being handed on.
    fn judge(
        &mut self,
        about: &About,
        cancelled: bool,
        outcome: Result<Value, RpcError>,
        out: &mut ConnectionOut,
    ) -> Result<Value, RpcError> {
        match about {
            About::Plain | About::Resume(_) => outcome,
            About::Hello => {
                self.greeted |= outcome.is_ok();
                outcome
            }
            About::Prompt(session) => {
                self.leave_calls(session, out);
                self.close_asks_of(session, out);
                // Hermes answers a prompt that was cancelled at a question with an error.
                outcome.or_else(|error| match cancelled {
                    true => Ok(sorted(PromptResponse { stop_reason: StopReason::Cancelled, usage: None })),
                    false => Err(error),
                })
            }
            About::Load(session) => {
                let replayed = self.replayed.remove(session).unwrap_or(0);
                let answer = outcome?;
                if replayed == 0 && is_silent(&answer) {
                    let mut error = RpcError::new(NOT_FOUND, "session not found: nothing was loaded");
                    error.data = Some(sorted(ErrorData { session_id: Some(session.clone()), ..ErrorData::default() }));
                    return Err(error);
                }
                Ok(answer)
            }
        }
    }

    fn notified(&mut self, method: &str, params: Value, bytes: usize, out: &mut ConnectionOut) {
        match method {
            methods::SESSION_UPDATE => self.updated(params, bytes, out),
            methods::CANCEL_REQUEST => {
                let id = read_answer(&params).map(|it: CancelRequest<Value>| it.request_id).unwrap_or_default();
                self.withdrawn(&id, out);
            }
            _ => out.events.push((ClientEvent::Notification { method: method.into(), params }, bytes)),
        }
    }

    fn updated(&mut self, mut params: Value, bytes: usize, out: &mut ConnectionOut) {
        let session = params.get("sessionId").and_then(Value::as_str).unwrap_or_default().to_owned();
        let update = params.get_mut("update").map(Value::take).unwrap_or_default();
        let update = serde_json::from_value(update.clone()).unwrap_or(SessionUpdate::Unknown(update));
        if update.is_history() {
            let resumes = |it: &PendingRequest| matches!(&it.about, About::Resume(waiting) if *waiting == session);
            if self.waiting.values().any(resumes) {
                return;
            }
            if let Some(count) = self.replayed.get_mut(&session) {
                *count += 1;
            }
        }
        self.follow_calls(&session, &update);
        out.events.push((ClientEvent::Update { session, update }, bytes));
    }

    fn follow_calls(&mut self, session: &str, update: &SessionUpdate) {
        let (SessionUpdate::ToolCall(call) | SessionUpdate::ToolCallUpdate(call)) = update else { return };
        if !self.calls.contains_key(session) && self.calls.len() >= SESSIONS_MAX {
            return;
        }
        let open = self.calls.entry(session.to_owned()).or_default();
        if call.status.as_ref().is_some_and(ToolCallStatus::is_end) {
            open.remove(&call.tool_call_id);
        } else if matches!(update, SessionUpdate::ToolCall(_)) && open.len() < OPEN_CALLS_MAX {
            open.insert(call.tool_call_id.clone());
        }
        if open.is_empty() {
            self.calls.remove(session);
        }
    }

    /// No message. If it was meant as an answer, the request must not wait for ever.
    fn puzzled(&mut self, text: &str, out: &mut ConnectionOut) {
        let value: Value = serde_json::from_str(text).unwrap_or_default();
        let id = value.get("id").and_then(Value::as_u64).filter(|_| value.get("method").is_none());
        if let Some(id) = id.filter(|id| self.waiting.contains_key(id)) {
            let error = RpcError::new(INVALID_REQUEST, "an answer with neither a result nor an error");
            return self.answered(&id.into(), Err(error), out);
        }
        if self.banner && !self.heard {
            return;
        }
        let start: String = text.chars().take(NOTED_CHARS).collect();
        note(format!("a line of the agent's is no message: {start}"), out);
    }
}

fn is_silent(answer: &Value) -> bool {
    let info: SessionResponse = serde_json::from_value(answer.clone()).unwrap_or_default();
    info.is_silent()
}

fn note(text: String, out: &mut ConnectionOut) {
    let bytes = text.len();
    out.events.push((ClientEvent::Note(text), bytes));
}
