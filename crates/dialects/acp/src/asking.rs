//! What we ask the client: may this run, what does the user say. An answer counts by the option it names; whatever cannot be
//! understood is a no.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use vocab::{Answer, Ask, AskId, AskKind, CallId, EditorOffer, PermissionAsk, Scope, SessionId, SessionVerb, Verb};
use wire::Out;
use wire::jsonrpc::RpcError;

use crate::Acp;
use crate::editor::Step;
use crate::frames::Pen;
use crate::particulars;
use crate::replies::Why;
use crate::seat::call_id;
use crate::{titles, tools};

/// One request of ours that waits for its answer.
pub(crate) enum Asked {
    Permission {
        session: SessionId,
        ask: AskId,
        tool_call: String,
    },
    Form {
        session: SessionId,
        ask: AskId,
        form: Form,
    },
    EditorRequest {
        session: SessionId,
        editor_request: u64,
        call: CallId,
        step: Step,
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

/// One of each kind: clients label them by it. Nothing that is allowed outlives its session.
const OPTIONS: [(&str, &str, &str); 3] = [
    ("allow_once", "Allow once", "allow_once"),
    ("allow_session", "Allow for this session", "allow_always"),
    ("deny", "Deny", "reject_once"),
];
/// Not offered, because it would promise more than the session; clients that answer by heart mean as much as they can get.
const ALWAYS: &str = "allow_always";

impl Acp {
    pub(crate) fn ask_client(&mut self, method: &str, params: Value, asked: Asked, out: &mut Out) {
        let id = self.asked_made;
        self.asked_made += 1;
        Pen { frames: &mut out.frames }.request(id, method, params);
        self.asked.insert(id, asked);
    }

    /// What this client does for the tools of a session.
    pub(crate) fn offer(&mut self, at: usize, out: &mut Out) {
        let fs = &self.client.fs;
        let services = EditorOffer {
            read_text: fs.read_text_file,
            write_text: fs.write_text_file,
            terminal: self.client.terminal,
        };
        if services != EditorOffer::default() {
            self.tell_seat(at, Verb::Session(SessionVerb::OfferEditor(services)), Why::Nothing, out);
        }
    }

    pub(crate) fn asked_by_engine(&mut self, at: usize, ask: &Ask, out: &mut Out) {
        // Who opens a session again is told of what is open in it; its client has that already.
        if self.place_of(&ask.id).is_some() {
            return;
        }
        let (session, id) = (self.seats[at].session.clone(), ask.id.clone());
        if let AskKind::Permission(permission) = &ask.kind {
            let params = self.permission(at, ask, permission);
            let tool_call = params["toolCall"]["toolCallId"].as_str().unwrap_or_default().to_owned();
            let asked = Asked::Permission { session, ask: id, tool_call };
            return self.ask_client("session/request_permission", params, asked, out);
        }
        match form(&ask.kind) {
            Some((message, field, form)) if self.client.elicitation.form => {
                let params = dialog(&session, &message, field);
                self.ask_client("elicitation/create", params, Asked::Form { session, ask: id, form }, out);
            }
            // A dialog that cannot be shown is one that was closed.
            Some(_) => self.tell_seat(
                at,
                Verb::Session(SessionVerb::Answer { ask: id, answer: Answer::Dismissed }),
                Why::Nothing,
                out,
            ),
            None => {
                let answer = Answer::Deny(Some("this client has no tools of its own".into()));
                self.tell_seat(at, Verb::Session(SessionVerb::Answer { ask: id, answer }), Why::Nothing, out);
            }
        }
    }

    fn permission(&self, at: usize, ask: &Ask, permission: &PermissionAsk) -> Value {
        let seat = &self.seats[at];
        let turn = ask.turn.as_ref().or(seat.turn.as_ref().map(|turn| &turn.id));
        let id = turn.map_or_else(|| permission.call.to_string(), |turn| call_id(turn, &permission.call));
        let input: Value = serde_json::from_str(permission.input.as_str()).unwrap_or_default();
        let option = |(id, name, kind): (&str, &str, &str)| json!({ "optionId": id, "name": name, "kind": kind });
        json!({
            "sessionId": seat.session.as_str(),
            "toolCall": {
                "toolCallId": id,
                "title": self.cards(at).title(&permission.tool, &input),
                "kind": tools::kind(&permission.tool),
                "status": "pending",
                "locations": titles::locations(&permission.tool, &input, &seat.cwd),
                "rawInput": input,
                "content": particulars::blocks(permission, &seat.cwd),
            },
            "options": OPTIONS.map(option),
        })
    }

    fn place_of(&self, wanted: &AskId) -> Option<u64> {
        let same = |asked: &Asked| match asked {
            Asked::Permission { ask, .. } | Asked::Form { ask, .. } => ask == wanted,
            Asked::EditorRequest { .. } | Asked::Nothing => false,
        };
        self.asked.iter().find(|(_, asked)| same(asked)).map(|(id, _)| *id)
    }

    /// The question is over. A client that still shows it is told, whoever has answered or withdrawn it.
    pub(crate) fn ask_closed(&mut self, closed: &AskId, out: &mut Out) {
        let Some(id) = self.place_of(closed) else { return };
        self.asked.remove(&id);
        Pen { frames: &mut out.frames }.notify("$/cancel_request", json!({ "requestId": id }));
    }

    /// Nobody waits any more for what the client of a session is still asked.
    pub(crate) fn forget_asked(&mut self, at: usize, which: fn(&Asked) -> bool, out: &mut Out) {
        let here = self.seats[at].session.clone();
        let (mut asks, mut editor_requests) = (Vec::new(), Vec::new());
        let mut open: Vec<(&u64, &Asked)> = self.asked.iter().filter(|(_, asked)| which(asked)).collect();
        open.sort_unstable_by_key(|(id, _)| **id);
        for (_, asked) in open {
            match asked {
                Asked::Permission { session, ask, .. } | Asked::Form { session, ask, .. } if *session == here => {
                    asks.push(ask.clone());
                }
                Asked::EditorRequest { session, editor_request, .. } if *session == here => {
                    editor_requests.push(*editor_request)
                }
                _ => {}
            }
        }
        asks.iter().for_each(|ask| self.ask_closed(ask, out));
        editor_requests.into_iter().for_each(|editor_request| self.editor_request_dropped(at, editor_request, out));
    }

    /// The client's word to something we asked. Answers to what nobody asked are passed over.
    pub(crate) fn answered(&mut self, id: &RawValue, outcome: Result<&RawValue, RpcError>, out: &mut Out) {
        let Some(asked) = id.get().parse().ok().and_then(|id: u64| self.asked.remove(&id)) else { return };
        let value = outcome.map(|raw| serde_json::from_str::<Value>(raw.get()).unwrap_or_default());
        let (session, ask, answer) = match asked {
            Asked::Permission { session, ask, tool_call } => {
                let answer = decide(value.as_ref().ok());
                if matches!(answer, Answer::Allow(_)) {
                    let update = json!({
                        "sessionUpdate": "tool_call_update",
                        "toolCallId": tool_call,
                        "status": "in_progress",
                    });
                    Pen { frames: &mut out.frames }.update(&session, update);
                }
                (session, ask, answer)
            }
            Asked::Form { session, ask, form } => (session, ask, filled(form, value.as_ref().ok())),
            Asked::EditorRequest { session, editor_request, call, step } => {
                return self.editor_request_answered(&session, editor_request, &call, step, value, out);
            }
            Asked::Nothing => return,
        };
        if let Some(at) = self.seat_of(&session) {
            self.tell_seat(at, Verb::Session(SessionVerb::Answer { ask, answer }), Why::Nothing, out);
        }
    }

    pub(crate) fn show_url(&mut self, url: &str, out: &mut Out) {
        if !self.client.elicitation.url {
            return out.notes.push(format!("open this address to sign in: {url}"));
        }
        let params = json!({
            "mode": "url",
            "elicitationId": format!("sign-in-{}", self.asked_made),
            "url": url,
            "message": "Sign in",
        });
        self.ask_client("elicitation/create", params, Asked::Nothing, out);
    }
}

/// What a dialog says, the one field it has, and what that is.
fn form(kind: &AskKind) -> Option<(String, Value, Form)> {
    Some(match kind {
        AskKind::Permission(_) | AskKind::HostCall { .. } => return None,
        AskKind::Select { title, options } => {
            (title.to_string(), json!({ "type": "string", "enum": options }), Form::Text)
        }
        AskKind::Confirm { title, message } => {
            (format!("{title}\n{message}"), json!({ "type": "boolean" }), Form::YesNo)
        }
        AskKind::Input { title, placeholder } => {
            let mut field = json!({ "type": "string" });
            if let Some(placeholder) = placeholder {
                field["description"] = json!(placeholder);
            }
            (title.to_string(), field, Form::Text)
        }
        AskKind::Editor { title, prefill } => {
            let mut field = json!({ "type": "string" });
            if let Some(prefill) = prefill {
                field["default"] = json!(prefill);
            }
            (title.to_string(), field, Form::Text)
        }
    })
}

fn dialog(session: &SessionId, message: &str, field: Value) -> Value {
    json!({
        "mode": "form",
        "sessionId": session.as_str(),
        "message": message,
        "requestedSchema": { "type": "object", "properties": { "value": field }, "required": ["value"] },
    })
}

/// By the option that is named, wherever an old or a new client puts it; without one by the word. Everything else, an error
/// included, is a no.
fn decide(answer: Option<&Value>) -> Answer {
    let denied = || Answer::Deny(None);
    let Some(answer) = answer else { return denied() };
    let outcome = &answer["outcome"];
    if outcome["outcome"] == "cancelled" {
        return Answer::Deny(Some("cancelled".into()));
    }
    let named = [&outcome["optionId"], &answer["optionId"], &outcome["outcome"], outcome];
    let is_known = |id: &&str| *id == ALWAYS || OPTIONS.iter().any(|(known, ..)| known == id);
    let option = named.iter().find_map(|it| it.as_str().filter(is_known));
    let said = outcome["optionId"].is_string() || answer["optionId"].is_string();
    match option {
        Some("allow_once") => Answer::Allow(Scope::Once),
        Some("allow_session" | ALWAYS) => Answer::Allow(Scope::Session),
        Some(_) => denied(),
        // An option that was not offered is none.
        None if said => denied(),
        None if outcome["kind"] == "allowed" || outcome["outcome"] == "allowed" || *outcome == "allowed" => {
            Answer::Allow(Scope::Once)
        }
        None => denied(),
    }
}

fn filled(form: Form, answer: Option<&Value>) -> Answer {
    let content = answer.filter(|answer| answer["action"] == "accept").map(|answer| &answer["content"]["value"]);
    match (form, content) {
        (Form::Text, Some(Value::String(text))) => Answer::Text(text.as_str().into()),
        (Form::YesNo, Some(Value::Bool(yes))) => Answer::Confirmed(*yes),
        _ => Answer::Dismissed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_by_the_option_it_names() {
        let (once, session) = (Answer::Allow(Scope::Once), Answer::Allow(Scope::Session));
        let denied = Answer::Deny(None);
        for (answer, want) in [
            (json!({ "outcome": { "outcome": "selected", "optionId": "allow_once" } }), &once),
            (json!({ "outcome": { "outcome": "selected", "optionId": "allow_session" } }), &session),
            (json!({ "outcome": { "outcome": "selected", "optionId": "allow_session", "kind": "allowed" } }), &session),
            (json!({ "outcome": { "outcome": "selected", "optionId": "allow_always" } }), &session),
            (json!({ "outcome": { "kind": "allowed", "optionId": "deny" } }), &denied),
            (json!({ "outcome": { "kind": "allowed", "optionId": "allow_once" } }), &once),
            (json!({ "optionId": "allow_once" }), &once),
            (json!({ "outcome": "allow_session" }), &session),
            (json!({ "outcome": { "kind": "allowed" } }), &once),
            (json!({ "outcome": { "outcome": "allowed" } }), &once),
            (json!({ "outcome": { "kind": "rejected" } }), &denied),
            (json!({ "outcome": { "outcome": "selected", "optionId": "yes" } }), &denied),
            (json!({ "outcome": { "kind": "allowed", "optionId": "yes" } }), &denied),
            (json!({}), &denied),
            (Value::Null, &denied),
        ] {
            assert_eq!(decide(Some(&answer)), *want, "{answer}");
        }
        assert_eq!(decide(None), denied, "an error");
        let cancelled = json!({ "outcome": { "outcome": "cancelled", "optionId": "allow_once" } });
        assert!(matches!(decide(Some(&cancelled)), Answer::Deny(_)));
    }
}
