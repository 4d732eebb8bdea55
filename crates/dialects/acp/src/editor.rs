//! Files and terminals of the client, for the tools of a session: used only where the client offers them.

use std::sync::Arc;

use acp_types::error::NOT_FOUND;
use acp_types::{
    CancelRequest, CreateTerminalRequest, CreateTerminalResponse, EnvVariable, ReadTextFileRequest,
    ReadTextFileResponse, SessionUpdate, TerminalExitStatus, TerminalOutputResponse, TerminalRequest, ToolCall,
    ToolCallContent, ToolCallStatus, WriteTextFileRequest, method, read_answer,
};
use serde_json::Value;
use vocab::{CallId, EditorReply, EditorRequest, EditorRequestKind, SessionId, SessionVerb, Verb};
use wire::Out;
use wire::jsonrpc::RpcError;

use crate::Acp;
use crate::asks::OpenRequest;
use crate::frames::pen;
use crate::pending::Pending;
use crate::session_view::call_id;
use crate::tools::written;

/// Which request of the engine's the client works for.
pub(crate) struct EditorWork {
    pub(crate) session: SessionId,
    pub(crate) editor_request: u64,
    call: CallId,
}

/// How far an editor request has come.
pub(crate) enum EditorStep {
    Read,
    Write,
    /// A terminal was asked for; `dropped`: the engine does not want it any more.
    Create {
        dropped: bool,
    },
    Wait {
        terminal: String,
    },
    /// `exit`: how it ended, as the client said when it was waited for.
    Output {
        terminal: String,
        exit: TerminalExitStatus,
    },
}

impl Acp {
    pub(crate) fn editor_request(&mut self, at: usize, editor_request: &EditorRequest, out: &mut Out) {
        let session = self.views[at].session.clone();
        let session_id = session.to_string();
        let work = EditorWork { session, editor_request: editor_request.id, call: editor_request.call.clone() };
        let asked = |step| OpenRequest::Editor { work, step };
        match &editor_request.kind {
            EditorRequestKind::ReadText { path } => {
                let params = ReadTextFileRequest { session_id, path: written(path), line: None, limit: None };
                self.ask_client(method::FS_READ_TEXT_FILE, params, asked(EditorStep::Read), out);
            }
            EditorRequestKind::WriteText { path, content } => {
                let params = WriteTextFileRequest { session_id, path: written(path), content: content.to_string() };
                self.ask_client(method::FS_WRITE_TEXT_FILE, params, asked(EditorStep::Write), out);
            }
            EditorRequestKind::Run { program, args, cwd, env, output_bytes_max } => {
                let variable = |(name, value): &(Arc<str>, Arc<str>)| EnvVariable {
                    name: name.to_string(),
                    value: value.to_string(),
                };
                let params = CreateTerminalRequest {
                    session_id,
                    command: written(program),
                    args: args.iter().map(ToString::to_string).collect(),
                    cwd: Some(written(cwd)),
                    env: env.iter().map(variable).collect(),
                    output_byte_limit: Some(*output_bytes_max),
                };
                self.ask_client(method::TERMINAL_CREATE, params, asked(EditorStep::Create { dropped: false }), out);
            }
        }
    }

    /// The engine does not wait for it: what runs for it is ended.
    pub(crate) fn editor_request_dropped(&mut self, at: usize, dropped: u64, out: &mut Out) {
        let here = self.views[at].session.clone();
        let found = self.asked.iter_mut().find(|(_, asked)| {
            matches!(asked, OpenRequest::Editor { work, .. } if work.session == here && work.editor_request == dropped)
        });
        let Some((&id, asked)) = found else { return };
        let OpenRequest::Editor { step, .. } = asked else { return };
        let terminal = match step {
            // Its terminal is not known yet; it is released as soon as it is.
            EditorStep::Create { dropped } => {
                *dropped = true;
                return;
            }
            EditorStep::Read | EditorStep::Write => None,
            EditorStep::Wait { terminal } | EditorStep::Output { terminal, .. } => Some(std::mem::take(terminal)),
        };
        self.asked.remove(&id);
        match terminal {
            Some(terminal) => {
                self.release(&here, &terminal, true, out);
            }
            None => pen(out).notify(method::CANCEL_REQUEST, CancelRequest { request_id: id }),
        }
    }

    fn release(&mut self, session: &SessionId, terminal: &str, kill: bool, out: &mut Out) {
        let params = terminal_of(session, terminal);
        if kill {
            self.ask_client(method::TERMINAL_KILL, &params, OpenRequest::Nothing, out);
        }
        self.ask_client(method::TERMINAL_RELEASE, params, OpenRequest::Nothing, out);
    }

    pub(crate) fn editor_request_answered(
        &mut self,
        work: EditorWork,
        step: EditorStep,
        answer: Result<Value, RpcError>,
        out: &mut Out,
    ) {
        let Some(at) = self.view_of(&work.session) else {
            // Its session is gone, but a terminal that was on its way is ended.
            if let (EditorStep::Create { .. }, Ok(value)) = (step, &answer)
                && let Some(made) = read_answer::<CreateTerminalResponse>(value)
            {
                self.release(&work.session, &made.terminal_id, true, out);
            }
            return;
        };
        let failed = |error: &RpcError| EditorReply::Failed(error.message.as_str().into());
        let result = match (step, answer) {
            (EditorStep::Read, Ok(value)) => match read_answer::<ReadTextFileResponse>(&value) {
                Some(read) => EditorReply::Text(read.content.into()),
                None => EditorReply::Failed("the client sent no content".into()),
            },
            (EditorStep::Read, Err(error)) if error.code == NOT_FOUND => EditorReply::NotFound,
            (EditorStep::Write, Ok(_)) => EditorReply::Written,
            (EditorStep::Create { dropped }, Ok(value)) => match read_answer::<CreateTerminalResponse>(&value) {
                Some(made) if dropped => return self.release(&work.session, &made.terminal_id, true, out),
                Some(made) => return self.terminal_made(at, work, made.terminal_id, out),
                None => EditorReply::Failed("the client sent no terminal".into()),
            },
            (EditorStep::Create { dropped: true }, Err(_)) => return,
            (EditorStep::Wait { terminal }, Ok(exit)) => {
                let params = terminal_of(&work.session, &terminal);
                let step = EditorStep::Output { terminal, exit: read_answer(&exit).unwrap_or_default() };
                return self.ask_client(method::TERMINAL_OUTPUT, params, OpenRequest::Editor { work, step }, out);
            }
            (EditorStep::Output { terminal, exit }, Ok(value)) => {
                self.release(&work.session, &terminal, false, out);
                ran(read_answer(&value).unwrap_or_default(), exit)
            }
            (EditorStep::Wait { terminal } | EditorStep::Output { terminal, .. }, Err(error)) => {
                self.release(&work.session, &terminal, true, out);
                failed(&error)
            }
            (EditorStep::Read | EditorStep::Write | EditorStep::Create { .. }, Err(error)) => failed(&error),
        };
        let verb = Verb::Session(SessionVerb::EditorReplied { editor_request: work.editor_request, result });
        self.tell_session(at, verb, Pending::Nothing, out);
    }

    /// It is shown, and its end waited for.
    fn terminal_made(&mut self, at: usize, work: EditorWork, terminal: String, out: &mut Out) {
        self.show_terminal(at, &work.call, &terminal, out);
        let params = terminal_of(&work.session, &terminal);
        let asked = OpenRequest::Editor { work, step: EditorStep::Wait { terminal } };
        self.ask_client(method::TERMINAL_WAIT_FOR_EXIT, params, asked, out);
    }

    /// The client shows its own terminal in the card of the call.
    fn show_terminal(&mut self, at: usize, call: &CallId, terminal: &str, out: &mut Out) {
        let view = &self.views[at];
        let Some(turn) = &view.turn else { return };
        let shown = ToolCall {
            tool_call_id: call_id(&turn.id, call),
            status: Some(ToolCallStatus::InProgress),
            content: Some(vec![ToolCallContent::terminal(terminal.to_owned())]),
            ..ToolCall::default()
        };
        pen(out).update(&view.session, SessionUpdate::ToolCallUpdate(shown));
    }
}

fn terminal_of(session: &SessionId, terminal: &str) -> TerminalRequest {
    TerminalRequest { session_id: session.to_string(), terminal_id: terminal.to_owned() }
}

/// The status may be left out of the output.
fn ran(output: TerminalOutputResponse, waited: TerminalExitStatus) -> EditorReply {
    let exit = output.exit_status.unwrap_or(waited);
    EditorReply::Ran {
        output: output.output.into(),
        truncated: output.truncated,
        exit_code: exit.exit_code.and_then(|code| i32::try_from(code).ok()),
        signal: exit.signal.map(Arc::from),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn how_a_command_ended_is_taken_from_whichever_answer_has_it() {
        let code = |output: Value, waited: Value| match ran(
            read_answer(&output).unwrap_or_default(),
            read_answer(&waited).unwrap_or_default(),
        ) {
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
