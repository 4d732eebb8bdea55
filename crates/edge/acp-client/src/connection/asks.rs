//! Requests of the agent's: each gets exactly one answer, whatever happens.

use acp_types::error::{ErrorData, REQUEST_CANCELLED};
use acp_types::{
    ElicitationAction, ElicitationResponse, EmptyResponse, RequestPermissionRequest, RequestPermissionResponse,
    method as methods, sorted,
};
use serde_json::Value;
use serde_json::value::RawValue;
use wire::jsonrpc::{self, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError};

use super::{ASKS_MAX, About, Connection, ConnectionOut, EditorJob, Settled, raw};
use crate::error::ClientProblem;
use crate::event::{AskId, ClientEvent, Elicitation, PermissionAsk};

pub(super) enum OpenAskKind {
    /// With the ids that were offered and whether each of them allows.
    Permission(Vec<(String, bool)>),
    Elicitation,
    EditorRequest,
}

pub(super) struct OpenAsk {
    /// Echoed as it came.
    id: Box<RawValue>,
    session: Option<String>,
    kind: OpenAskKind,
}

/// What a person says to a form or an address.
#[derive(Clone, PartialEq, Debug)]
pub enum Elicited {
    Accept(Option<Value>),
    Decline,
    Cancel,
}

impl Connection {
    pub(super) fn asked(&mut self, id: &RawValue, method: &str, params: Value, bytes: usize, out: &mut ConnectionOut) {
        // Some agents look whether we are still there.
        if [methods::PING, "ping"].contains(&method) {
            return jsonrpc::result(&mut out.bytes, id, EmptyResponse {});
        }
        // No agent greets us: this is our own greeting, come back.
        if method == methods::INITIALIZE && !self.greeted {
            return self.echoed(out);
        }
        if self.asks.len() >= ASKS_MAX {
            let error = RpcError::new(INTERNAL_ERROR, format!("{ASKS_MAX} requests are open already"));
            return jsonrpc::error(&mut out.bytes, Some(id), &error);
        }
        let session = params.get("sessionId").and_then(Value::as_str).map(str::to_owned);
        let ask = AskId(self.next_ask);
        let kind = match method {
            methods::REQUEST_PERMISSION => match permission(ask, &params) {
                Ok((event, offered)) => {
                    out.events.push((event, bytes));
                    OpenAskKind::Permission(offered)
                }
                Err(error) => return jsonrpc::error(&mut out.bytes, Some(id), &error),
            },
            methods::ELICITATION_CREATE if self.offers.elicitation => {
                let message = params.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
                let event = Elicitation { ask, session: session.clone(), message, params };
                out.events.push((ClientEvent::Elicitation(event), bytes));
                OpenAskKind::Elicitation
            }
            _ if self.offers.serves(method) => {
                out.editor_requests.push(EditorJob { ask, method: method.into(), params });
                OpenAskKind::EditorRequest
            }
            _ => {
                let mut error = RpcError::new(METHOD_NOT_FOUND, format!("method not found: {method}"));
                error.data = Some(sorted(ErrorData { method: Some(method.to_owned()), ..ErrorData::default() }));
                return jsonrpc::error(&mut out.bytes, Some(id), &error);
            }
        };
        self.next_ask += 1;
        self.asks.insert(ask, OpenAsk { id: id.to_owned(), session, kind });
    }

    /// The request that waits for the greeting waits in vain.
    fn echoed(&mut self, out: &mut ConnectionOut) {
        let hello = self.waiting.iter().find(|(_, it)| it.about == About::Hello).map(|(id, _)| *id);
        if let Some(id) = hello {
            self.waiting.remove(&id);
            out.settled.push(Settled { id, prompt: None, outcome: Err(ClientProblem::Echo) });
        }
    }

    /// Answers a permission with an option that was offered; `None` and anything else is a "cancelled". False: it is over.
    pub(crate) fn choose(&mut self, ask: AskId, option: Option<&str>, out: &mut ConnectionOut) -> bool {
        let Some(OpenAsk { kind: OpenAskKind::Permission(offered), .. }) = self.asks.get(&ask) else { return false };
        let found = option.and_then(|option| offered.iter().find(|(id, _)| id == option));
        let answer = match found {
            Some((id, allows)) => RequestPermissionResponse::selected(id, *allows),
            None => RequestPermissionResponse::cancelled(),
        };
        self.close(ask, Ok(sorted(answer)), out)
    }

    pub(crate) fn elicited(&mut self, ask: AskId, said: &Elicited, out: &mut ConnectionOut) -> bool {
        if !matches!(self.asks.get(&ask), Some(OpenAsk { kind: OpenAskKind::Elicitation, .. })) {
            return false;
        }
        let (action, content) = match said {
            Elicited::Accept(content) => (ElicitationAction::Accept, content.clone()),
            Elicited::Decline => (ElicitationAction::Decline, None),
            Elicited::Cancel => (ElicitationAction::Cancel, None),
        };
        self.close(ask, Ok(sorted(ElicitationResponse::new(action, content))), out)
    }

    /// A service has done its work.
    pub(crate) fn editor_answered(
        &mut self,
        ask: AskId,
        outcome: Result<Value, RpcError>,
        out: &mut ConnectionOut,
    ) -> bool {
        self.close(ask, outcome, out)
    }

    fn close(&mut self, ask: AskId, outcome: Result<Value, RpcError>, out: &mut ConnectionOut) -> bool {
        let Some(it) = self.asks.remove(&ask) else { return false };
        match outcome {
            Ok(answer) => jsonrpc::result(&mut out.bytes, &it.id, answer),
            Err(error) => jsonrpc::error(&mut out.bytes, Some(&it.id), &error),
        }
        true
    }

    /// With its turn a question is over. Work of the services goes on: its answer is still wanted.
    pub(super) fn close_asks_of(&mut self, session: &str, out: &mut ConnectionOut) {
        let of_it = |ask: &OpenAsk| ask.session.as_deref() == Some(session);
        let open: Vec<AskId> = self.asks.iter().filter(|(_, ask)| of_it(ask)).map(|(id, _)| *id).collect();
        for ask in open {
            let answer = match self.asks[&ask].kind {
                OpenAskKind::Permission(_) => sorted(RequestPermissionResponse::cancelled()),
                OpenAskKind::Elicitation => sorted(ElicitationResponse::new(ElicitationAction::Cancel, None)),
                OpenAskKind::EditorRequest => continue,
            };
            self.close(ask, Ok(answer), out);
            out.events.push((ClientEvent::AskClosed { ask }, 0));
        }
    }

    /// `$/cancel_request`: the agent does not want its answer any more.
    pub(super) fn withdrawn(&mut self, id: &Value, out: &mut ConnectionOut) {
        let found = self.asks.iter().find(|(_, ask)| raw(&ask.id) == *id).map(|(ask, _)| *ask);
        if let Some(ask) = found {
            let error = RpcError::new(REQUEST_CANCELLED, "request cancelled");
            self.close(ask, Err(error), out);
            out.events.push((ClientEvent::AskClosed { ask }, 0));
        }
    }
}

fn permission(ask: AskId, params: &Value) -> Result<(ClientEvent, Vec<(String, bool)>), RpcError> {
    let missing = |what: &str| RpcError::new(INVALID_PARAMS, format!("`{what}` is missing or cannot be read"));
    let asked = RequestPermissionRequest::read(params).map_err(missing)?;
    let offered = asked.options.iter().map(|option| (option.option_id.clone(), option.allows())).collect();
    let event = PermissionAsk { ask, session: asked.session_id, call: asked.tool_call, options: asked.options };
    Ok((ClientEvent::Permission(event), offered))
}
