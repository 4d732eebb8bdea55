//! Files and terminals of the client, for the tools of a session: used only where the client offers them.

use std::sync::Arc;

use serde_json::{Value, json};
use vocab::{CallId, EditorReply, EditorRequest, EditorRequestKind, SessionId, SessionVerb, Verb};
use wire::Out;
use wire::jsonrpc::RpcError;

use crate::Acp;
use crate::asking::Asked;
use crate::frames::{NOT_FOUND, Pen};
use crate::replies::Why;
use crate::seat::call_id;

/// How far an editor_request has come.
pub(crate) enum Step {
    Read,
    Write,
    /// A terminal was asked for; `dropped`: nobody wants it any more.
    Create {
        dropped: bool,
    },
    Wait {
        terminal: String,
    },
    /// `exit`: how it ended, as the client said when it was waited for.
    Output {
        terminal: String,
        exit: Value,
    },
}

impl Acp {
    pub(crate) fn editor_request(&mut self, at: usize, editor_request: &EditorRequest, out: &mut Out) {
        let session = self.seats[at].session.clone();
        let id = session.as_str();
        let (method, params, step) = match &editor_request.kind {
            EditorRequestKind::ReadText { path } => {
                ("fs/read_text_file", json!({ "sessionId": id, "path": path }), Step::Read)
            }
            EditorRequestKind::WriteText { path, content } => {
                let params = json!({ "sessionId": id, "path": path, "content": content });
                ("fs/write_text_file", params, Step::Write)
            }
            EditorRequestKind::Run { program, args, cwd, env, output_bytes_max } => {
                let env: Vec<Value> = env.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
                let params = json!({
                    "sessionId": id,
                    "command": program,
                    "args": args,
                    "cwd": cwd,
                    "env": env,
                    "outputByteLimit": output_bytes_max,
                });
                ("terminal/create", params, Step::Create { dropped: false })
            }
        };
        let asked = Asked::EditorRequest {
            session,
            editor_request: editor_request.id,
            call: editor_request.call.clone(),
            step,
        };
        self.ask_client(method, params, asked, out);
    }

    /// Nobody waits for it: what runs for it is ended.
    pub(crate) fn editor_request_dropped(&mut self, at: usize, dropped: u64, out: &mut Out) {
        let here = self.seats[at].session.clone();
        let found = self.asked.iter_mut().find(|(_, asked)| {
            matches!(asked, Asked::EditorRequest { session, editor_request, .. } if *session == here && *editor_request == dropped)
        });
        let Some((&id, asked)) = found else { return };
        let Asked::EditorRequest { step, .. } = asked else { return };
        let terminal = match step {
            // Its terminal is not known yet; it is released as soon as it is.
            Step::Create { dropped } => {
                *dropped = true;
                return;
            }
            Step::Read | Step::Write => None,
            Step::Wait { terminal } | Step::Output { terminal, .. } => Some(std::mem::take(terminal)),
        };
        self.asked.remove(&id);
        match terminal {
            Some(terminal) => {
                self.release(&here, &terminal, true, out);
            }
            None => Pen { frames: &mut out.frames }.notify("$/cancel_request", json!({ "requestId": id })),
        }
    }

    fn release(&mut self, session: &SessionId, terminal: &str, kill: bool, out: &mut Out) {
        let params = json!({ "sessionId": session.as_str(), "terminalId": terminal });
        if kill {
            self.ask_client("terminal/kill", params.clone(), Asked::Nothing, out);
        }
        self.ask_client("terminal/release", params, Asked::Nothing, out);
    }

    pub(crate) fn editor_request_answered(
        &mut self,
        session: &SessionId,
        editor_request: u64,
        call: &CallId,
        step: Step,
        answer: Result<Value, RpcError>,
        out: &mut Out,
    ) {
        let Some(at) = self.seat_of(session) else {
            // Nobody waits for it, but a terminal that was on its way is ended.
            if let (Step::Create { .. }, Ok(value)) = (step, &answer)
                && let Some(terminal) = value["terminalId"].as_str()
            {
                self.release(session, terminal, true, out);
            }
            return;
        };
        let failed = |error: &RpcError| EditorReply::Failed(error.message.as_str().into());
        let next = |step| Asked::EditorRequest { session: session.clone(), editor_request, call: call.clone(), step };
        let result = match (step, answer) {
            (Step::Read, Ok(value)) => match value["content"].as_str() {
                Some(text) => EditorReply::Text(text.into()),
                None => EditorReply::Failed("the client sent no content".into()),
            },
            (Step::Read, Err(error)) if error.code == NOT_FOUND => EditorReply::NotFound,
            (Step::Write, Ok(_)) => EditorReply::Written,
            (Step::Create { dropped }, Ok(value)) => {
                let Some(terminal) = value["terminalId"].as_str().map(str::to_owned) else {
                    return self.editor_replied(
                        at,
                        editor_request,
                        EditorReply::Failed("the client sent no terminal".into()),
                        out,
                    );
                };
                if dropped {
                    return self.release(session, &terminal, true, out);
                }
                self.show_terminal(at, call, &terminal, out);
                let params = json!({ "sessionId": session.as_str(), "terminalId": terminal });
                return self.ask_client("terminal/wait_for_exit", params, next(Step::Wait { terminal }), out);
            }
            (Step::Create { dropped: true }, Err(_)) => return,
            (Step::Wait { terminal }, Ok(exit)) => {
                let params = json!({ "sessionId": session.as_str(), "terminalId": terminal });
                return self.ask_client("terminal/output", params, next(Step::Output { terminal, exit }), out);
            }
            (Step::Output { terminal, exit }, Ok(value)) => {
                self.release(session, &terminal, false, out);
                ran(&value, &exit)
            }
            (Step::Wait { terminal } | Step::Output { terminal, .. }, Err(error)) => {
                self.release(session, &terminal, true, out);
                failed(&error)
            }
            (Step::Read | Step::Write | Step::Create { .. }, Err(error)) => failed(&error),
        };
        self.editor_replied(at, editor_request, result, out);
    }

    fn editor_replied(&mut self, at: usize, editor_request: u64, result: EditorReply, out: &mut Out) {
        self.tell_seat(at, Verb::Session(SessionVerb::EditorReplied { editor_request, result }), Why::Nothing, out);
    }

    /// The client shows its own terminal in the card of the call.
    fn show_terminal(&mut self, at: usize, call: &CallId, terminal: &str, out: &mut Out) {
        let seat = &self.seats[at];
        let Some(turn) = &seat.turn else { return };
        let update = json!({
            "sessionUpdate": "tool_call_update",
            "toolCallId": call_id(&turn.id, call),
            "status": "in_progress",
            "content": [{ "type": "terminal", "terminalId": terminal }],
        });
        Pen { frames: &mut out.frames }.update(&seat.session, update);
    }
}

/// The status may be left out of the output.
fn ran(value: &Value, waited: &Value) -> EditorReply {
    let exit = Some(&value["exitStatus"]).filter(|exit| exit.is_object()).unwrap_or(waited);
    EditorReply::Ran {
        output: value["output"].as_str().unwrap_or_default().into(),
        truncated: value["truncated"].as_bool().unwrap_or(false),
        exit_code: exit["exitCode"].as_i64().and_then(|code| i32::try_from(code).ok()),
        signal: exit["signal"].as_str().map(Arc::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_command_ended_is_taken_from_whichever_answer_has_it() {
        let code = |output: Value, waited: Value| match ran(&output, &waited) {
            EditorReply::Ran { exit_code, signal, .. } => (exit_code, signal.as_deref().map(str::to_owned)),
            other => panic!("{other:?}"),
        };
        let three = json!({ "exitCode": 3 });
        assert_eq!(code(json!({ "output": "x", "exitStatus": { "exitCode": 3 } }), json!({})), (Some(3), None));
        assert_eq!(code(json!({ "output": "x" }), three.clone()), (Some(3), None));
        assert_eq!(code(json!({ "output": "x", "exitStatus": null }), three), (Some(3), None));
        assert_eq!(code(json!({}), json!({ "signal": "SIGKILL" })), (None, Some("SIGKILL".to_owned())));
    }
}
