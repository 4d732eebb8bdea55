//! What we ask the client, and what becomes of its answers: leave to run something, a form, an address to open, the work of
//! its editor.

use std::collections::BTreeMap;
use std::sync::Arc;

use acp_types::{
    CancelRequest, ElicitationField, ElicitationRequest, ElicitationResponse, ElicitationSchema, FormRequest,
    SessionUpdate, ToolCall, ToolCallStatus, UrlRequest, method, read_answer,
};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use vocab::{Answer, Ask, AskId, AskKind, EditorOffer, SessionId, SessionVerb, Verb};
use wire::Out;
use wire::jsonrpc::RpcError;

use crate::Acp;
use crate::editor::{EditorStep, EditorWork};
use crate::flow::FlowState;
use crate::frames::pen;
use crate::pending::Pending;
use crate::permission::{budget_decided, decide};

/// The one field of a form.
const FIELD: &str = "value";

/// One request of ours that waits for its answer.
pub(crate) enum OpenRequest {
    Permission {
        session: SessionId,
        ask: AskId,
        tool_call: String,
    },
    Budget {
        session: SessionId,
        ask: AskId,
        tool_call: String,
    },
    Form {
        session: SessionId,
        ask: AskId,
        form: Form,
    },
    Editor {
        work: EditorWork,
        step: EditorStep,
    },
    /// Its answer changes nothing.
    Nothing,
}

/// What a form asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    YesNo,
}

impl Acp {
    pub(crate) fn ask_client(&mut self, method: &str, params: impl Serialize, asked: OpenRequest, out: &mut Out) {
        let id = self.asked_made;
        self.asked_made += 1;
        pen(out).request(id, method, params);
        self.asked.insert(id, asked);
    }

    /// What this client does for the tools of a session.
    pub(crate) fn offer(&mut self, at: usize, out: &mut Out) {
        if self.options.remote.as_ref().is_some_and(|remote| !remote.client_fs) {
            return;
        }
        let fs = &self.client.fs;
        let services = EditorOffer {
            read_text: fs.read_text_file,
            write_text: fs.write_text_file,
            terminal: self.client.terminal,
        };
        if services != EditorOffer::default() {
            self.tell_session(at, Verb::Session(SessionVerb::OfferEditor(services)), Pending::Nothing, out);
        }
    }

    pub(crate) fn asked_by_engine(&mut self, at: usize, ask: &Ask, out: &mut Out) {
        // Who opens a session again is told of what is open in it; its client has that already.
        if self.place_of(&ask.id).is_some() {
            return;
        }
        if self.views[at].flow.state == FlowState::CatchingUp {
            return self.views[at].flow.keep_ask(ask);
        }
        let (session, id) = (self.views[at].session.clone(), ask.id.clone());
        if let AskKind::Permission(permission) = &ask.kind {
            let params = self.permission(at, ask, permission);
            let tool_call = params.tool_call.tool_call_id.clone();
            let asked = OpenRequest::Permission { session, ask: id, tool_call };
            return self.ask_client(method::REQUEST_PERMISSION, params, asked, out);
        }
        if let AskKind::Budget(budget) = &ask.kind {
            let params = self.budget(at, ask, budget);
            let tool_call = params.tool_call.tool_call_id.clone();
            // Clients know of a call before they are asked about it.
            pen(out).update(&session, SessionUpdate::ToolCall(params.tool_call.clone()));
            let asked = OpenRequest::Budget { session, ask: id, tool_call };
            return self.ask_client(method::REQUEST_PERMISSION, params, asked, out);
        }
        match form(&ask.kind) {
            Some((message, field, form)) if self.client.shows_forms() => {
                let params = dialog(&session, message, field);
                self.ask_client(method::ELICITATION_CREATE, params, OpenRequest::Form { session, ask: id, form }, out);
            }
            // A dialog that cannot be shown is one that was closed.
            Some(_) if self.is_remote() => {}
            Some(_) => self.tell_session(
                at,
                Verb::Session(SessionVerb::Answer { ask: id, answer: Answer::Dismissed }),
                Pending::Nothing,
                out,
            ),
            None if self.is_remote() => {}
            None => {
                let answer = Answer::Deny(Some("this client has no tools of its own".into()));
                self.tell_session(at, Verb::Session(SessionVerb::Answer { ask: id, answer }), Pending::Nothing, out);
            }
        }
    }

    pub(crate) fn place_of(&self, wanted: &AskId) -> Option<u64> {
        let same = |asked: &OpenRequest| match asked {
            OpenRequest::Permission { ask, .. } | OpenRequest::Budget { ask, .. } | OpenRequest::Form { ask, .. } => {
                ask == wanted
            }
            OpenRequest::Editor { .. } | OpenRequest::Nothing => false,
        };
        self.asked.iter().find(|(_, asked)| same(asked)).map(|(id, _)| *id)
    }

    /// The question is over. A client that still shows it is told, also where another client has answered it.
    pub(crate) fn ask_closed(&mut self, closed: &AskId, out: &mut Out) {
        for view in &mut self.views {
            view.flow.asks.retain(|ask| ask.id != *closed);
        }
        let Some(id) = self.place_of(closed) else { return };
        let asked = self.asked.remove(&id);
        pen(out).notify(method::CANCEL_REQUEST, CancelRequest { request_id: id });
        // No result follows that would end the call that stood for the question.
        if let Some(OpenRequest::Budget { session, tool_call, .. }) = asked {
            pen(out).update(&session, budget_decided(tool_call, &Answer::Dismissed));
        }
    }

    /// The engine does not wait any more for what the client of a session is still asked.
    pub(crate) fn forget_asked(&mut self, at: usize, which: fn(&OpenRequest) -> bool, out: &mut Out) {
        let here = self.views[at].session.clone();
        let (mut asks, mut editor_requests) = (Vec::new(), Vec::new());
        let mut open: Vec<(&u64, &OpenRequest)> = self.asked.iter().filter(|(_, asked)| which(asked)).collect();
        open.sort_unstable_by_key(|(id, _)| **id);
        for (_, asked) in open {
            match asked {
                OpenRequest::Permission { session, ask, .. }
                | OpenRequest::Budget { session, ask, .. }
                | OpenRequest::Form { session, ask, .. }
                    if *session == here =>
                {
                    asks.push(ask.clone());
                }
                OpenRequest::Editor { work, .. } if work.session == here => editor_requests.push(work.editor_request),
                _ => {}
            }
        }
        asks.iter().for_each(|ask| self.ask_closed(ask, out));
        editor_requests.into_iter().for_each(|editor_request| self.editor_request_dropped(at, editor_request, out));
    }

    /// The client's word to something we asked. Answers to what was not asked are passed over.
    pub(crate) fn answered(&mut self, id: &RawValue, outcome: Result<&RawValue, RpcError>, out: &mut Out) {
        let Some(asked) = id.get().parse().ok().and_then(|id: u64| self.asked.remove(&id)) else { return };
        let value = outcome.map(|raw| serde_json::from_str::<Value>(raw.get()).unwrap_or_default());
        let answer = value.as_ref().ok();
        let (session, ask, answer) = match asked {
            OpenRequest::Permission { session, ask, tool_call } => {
                let answer = decide(answer.and_then(read_answer).as_ref());
                if matches!(answer, Answer::Allow(_)) {
                    let status = Some(ToolCallStatus::InProgress);
                    let call = ToolCall { tool_call_id: tool_call, status, ..ToolCall::default() };
                    pen(out).update(&session, SessionUpdate::ToolCallUpdate(call));
                }
                (session, ask, answer)
            }
            OpenRequest::Budget { session, ask, tool_call } => {
                let answer = decide(answer.and_then(read_answer).as_ref());
                pen(out).update(&session, budget_decided(tool_call, &answer));
                (session, ask, answer)
            }
            OpenRequest::Form { session, ask, form } => (session, ask, filled(form, answer.and_then(read_answer))),
            OpenRequest::Editor { work, step } => return self.editor_request_answered(work, step, value, out),
            OpenRequest::Nothing => return,
        };
        if let Some(at) = self.view_of(&session) {
            self.tell_session(at, Verb::Session(SessionVerb::Answer { ask, answer }), Pending::Nothing, out);
        }
    }

    pub(crate) fn show_url(&mut self, url: &str, out: &mut Out) {
        if !self.client.shows_addresses() {
            return out.notes.push(format!("open this address to sign in: {url}"));
        }
        let params = ElicitationRequest::Url(UrlRequest {
            elicitation_id: format!("sign-in-{}", self.asked_made),
            url: url.into(),
            message: "Sign in".into(),
        });
        self.ask_client(method::ELICITATION_CREATE, params, OpenRequest::Nothing, out);
    }
}

/// What a dialog says, the one field it has, and what that is.
fn form(kind: &AskKind) -> Option<(String, ElicitationField, Form)> {
    let text = |choices, description: &Option<Arc<str>>, default: &Option<Arc<str>>| ElicitationField::String {
        choices,
        description: description.as_deref().map(str::to_owned),
        default: default.as_deref().map(str::to_owned),
    };
    Some(match kind {
        AskKind::Permission(_) | AskKind::Budget(_) | AskKind::HostCall { .. } => return None,
        AskKind::Select { title, options } => {
            let choices = options.iter().map(ToString::to_string).collect();
            (title.to_string(), text(Some(choices), &None, &None), Form::Text)
        }
        AskKind::Confirm { title, message } => (format!("{title}\n{message}"), ElicitationField::Boolean, Form::YesNo),
        AskKind::Input { title, placeholder } => (title.to_string(), text(None, placeholder, &None), Form::Text),
        AskKind::Editor { title, prefill } => (title.to_string(), text(None, &None, prefill), Form::Text),
    })
}

fn dialog(session: &SessionId, message: String, field: ElicitationField) -> ElicitationRequest {
    ElicitationRequest::Form(FormRequest {
        session_id: session.to_string(),
        message,
        requested_schema: ElicitationSchema {
            properties: BTreeMap::from([(FIELD.to_owned(), field)]),
            required: vec![FIELD.to_owned()],
        },
    })
}

fn filled(form: Form, answer: Option<ElicitationResponse>) -> Answer {
    let content = answer.as_ref().and_then(ElicitationResponse::accepted).map(|content| &content[FIELD]);
    match (form, content) {
        (Form::Text, Some(Value::String(text))) => Answer::Text(text.as_str().into()),
        (Form::YesNo, Some(Value::Bool(yes))) => Answer::Confirmed(*yes),
        _ => Answer::Dismissed,
    }
}
