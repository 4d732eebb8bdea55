//! Requests of the agent's: each gets exactly one answer, whatever happens.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use wire::jsonrpc::{self, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError};

use super::{ASKS_MAX, About, Desk, EditorRequest, Out, Settled, raw};
use crate::error::{INITIALIZE, Problem, REQUEST_CANCELLED};
use crate::event::{AskId, Elicitation, Event, PermissionAsk};
use crate::wire::{PermissionOption, ToolCall};

pub(super) enum Kind {
    /// With the ids that were offered and whether each of them allows.
    Permission(Vec<(String, bool)>),
    Elicitation,
    EditorRequest,
}

pub(super) struct Ask {
    /// Echoed as it came.
    id: Box<RawValue>,
    session: Option<String>,
    kind: Kind,
}

/// What a person says to a form or an address.
#[derive(Clone, PartialEq, Debug)]
pub enum Elicited {
    Accept(Option<Value>),
    Decline,
    Cancel,
}

fn cancelled() -> Value {
    json!({ "outcome": { "outcome": "cancelled" } })
}

impl Desk {
    pub(super) fn asked(&mut self, id: &RawValue, method: &str, params: Value, bytes: usize, out: &mut Out) {
        // Some agents look whether we are still there.
        if ["$/ping", "ping"].contains(&method) {
            return jsonrpc::result(&mut out.bytes, id, json!({}));
        }
        // No agent greets us: this is our own greeting, come back.
        if method == INITIALIZE && !self.greeted {
            return self.echoed(out);
        }
        if self.asks.len() >= ASKS_MAX {
            let error = RpcError::new(INTERNAL_ERROR, format!("{ASKS_MAX} requests are open already"));
            return jsonrpc::error(&mut out.bytes, Some(id), &error);
        }
        let session = params.get("sessionId").and_then(Value::as_str).map(str::to_owned);
        let ask = AskId(self.next_ask);
        let kind = match method {
            "session/request_permission" => match permission(ask, session.as_deref(), &params) {
                Ok((event, offered)) => {
                    out.events.push((event, bytes));
                    Kind::Permission(offered)
                }
                Err(error) => return jsonrpc::error(&mut out.bytes, Some(id), &error),
            },
            "elicitation/create" if self.offers.elicitation => {
                let message = params.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
                let event = Elicitation { ask, session: session.clone(), message, params };
                out.events.push((Event::Elicitation(event), bytes));
                Kind::Elicitation
            }
            _ if self.offers.serves(method) => {
                out.editor_requests.push(EditorRequest { ask, method: method.into(), params });
                Kind::EditorRequest
            }
            _ => {
                let mut error = RpcError::new(METHOD_NOT_FOUND, format!("method not found: {method}"));
                error.data = Some(json!({ "method": method }));
                return jsonrpc::error(&mut out.bytes, Some(id), &error);
            }
        };
        self.next_ask += 1;
        self.asks.insert(ask, Ask { id: id.to_owned(), session, kind });
    }

    /// Whoever waits for the greeting waits for nobody.
    fn echoed(&mut self, out: &mut Out) {
        let hello = self.waiting.iter().find(|(_, it)| it.about == About::Hello).map(|(id, _)| *id);
        if let Some(id) = hello {
            self.waiting.remove(&id);
            out.settled.push(Settled { id, prompt: None, outcome: Err(Problem::Echo) });
        }
    }

    /// Answers a permission with an option that was offered; `None` and anything else is a "cancelled". False: it is over.
    pub(crate) fn choose(&mut self, ask: AskId, option: Option<&str>, out: &mut Out) -> bool {
        let Some(Ask { kind: Kind::Permission(offered), .. }) = self.asks.get(&ask) else { return false };
        let found = option.and_then(|option| offered.iter().find(|(id, _)| id == option));
        let answer = match found {
            // `kind` is for peers that know only that; everybody else passes over it.
            Some((id, allows)) => {
                let kind = if *allows { "allowed" } else { "rejected" };
                json!({ "outcome": { "outcome": "selected", "optionId": id, "kind": kind } })
            }
            None => cancelled(),
        };
        self.close(ask, Ok(answer), out)
    }

    pub(crate) fn elicited(&mut self, ask: AskId, said: &Elicited, out: &mut Out) -> bool {
        if !matches!(self.asks.get(&ask), Some(Ask { kind: Kind::Elicitation, .. })) {
            return false;
        }
        let answer = match said {
            Elicited::Accept(None) => json!({ "action": "accept" }),
            Elicited::Accept(Some(content)) => json!({ "action": "accept", "content": content }),
            Elicited::Decline => json!({ "action": "decline" }),
            Elicited::Cancel => json!({ "action": "cancel" }),
        };
        self.close(ask, Ok(answer), out)
    }

    /// A service has done its work.
    pub(crate) fn served(&mut self, ask: AskId, outcome: Result<Value, RpcError>, out: &mut Out) -> bool {
        self.close(ask, outcome, out)
    }

    fn close(&mut self, ask: AskId, outcome: Result<Value, RpcError>, out: &mut Out) -> bool {
        let Some(it) = self.asks.remove(&ask) else { return false };
        match outcome {
            Ok(answer) => jsonrpc::result(&mut out.bytes, &it.id, answer),
            Err(error) => jsonrpc::error(&mut out.bytes, Some(&it.id), &error),
        }
        true
    }

    /// With its turn a question is over. Work of the services goes on: its answer is still wanted.
    pub(super) fn close_asks_of(&mut self, session: &str, out: &mut Out) {
        let of_it = |ask: &Ask| ask.session.as_deref() == Some(session);
        let open: Vec<AskId> = self.asks.iter().filter(|(_, ask)| of_it(ask)).map(|(id, _)| *id).collect();
        for ask in open {
            let answer = match self.asks[&ask].kind {
                Kind::Permission(_) => cancelled(),
                Kind::Elicitation => json!({ "action": "cancel" }),
                Kind::EditorRequest => continue,
            };
            self.close(ask, Ok(answer), out);
            out.events.push((Event::AskClosed { ask }, 0));
        }
    }

    /// `$/cancel_request`: the agent does not want its answer any more.
    pub(super) fn withdrawn(&mut self, id: &Value, out: &mut Out) {
        let found = self.asks.iter().find(|(_, ask)| raw(&ask.id) == *id).map(|(ask, _)| *ask);
        if let Some(ask) = found {
            let error = RpcError::new(REQUEST_CANCELLED, "request cancelled");
            self.close(ask, Err(error), out);
            out.events.push((Event::AskClosed { ask }, 0));
        }
    }
}

fn permission(ask: AskId, session: Option<&str>, params: &Value) -> Result<(Event, Vec<(String, bool)>), RpcError> {
    let missing = |what: &str| RpcError::new(INVALID_PARAMS, format!("`{what}` is missing or cannot be read"));
    let session = session.ok_or_else(|| missing("sessionId"))?.to_owned();
    let call = params.get("toolCall").cloned().unwrap_or_default();
    let call: ToolCall = serde_json::from_value(call).map_err(|_| missing("toolCall"))?;
    let options = params.get("options").and_then(Value::as_array).cloned().unwrap_or_default();
    let read = |option: Value| serde_json::from_value::<PermissionOption>(option).ok();
    let options: Vec<PermissionOption> = options.into_iter().filter_map(read).collect();
    let offered = options.iter().map(|option| (option.option_id.clone(), option.allows())).collect();
    Ok((Event::Permission(PermissionAsk { ask, session, call, options }), offered))
}
