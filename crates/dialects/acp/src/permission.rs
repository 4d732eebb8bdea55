//! May this run: the request, and what the client's answer means. An answer counts by the option it names; whatever cannot be
//! understood is a no.

use acp_types::{
    Other, OutcomeMembers, PermissionOption, PermissionOptionKind, PermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SessionUpdate, ToolCall, ToolCallStatus, ToolKind,
};
use serde_json::Value;
use vocab::{Answer, Ask, BudgetAsk, PermissionAsk, Scope};
use wire::question;

use crate::Acp;
use crate::permission_content;
use crate::session_view::call_id;
use crate::{titles, tools};

const ALLOW_ONCE: &str = "allow_once";
const ALLOW_SESSION: &str = "allow_session";
const DENY: &str = "deny";
/// Not offered, because it would promise more than the session; clients that answer by heart mean as much as they can get.
const ALWAYS: &str = "allow_always";

/// One of each kind: clients label them by it. Nothing that is allowed outlives its session; the option says what it covers
/// there, because some clients show nothing else of it.
fn options(session: &str) -> Vec<PermissionOption> {
    let one = |id: &str, name: &str, kind| PermissionOption {
        option_id: id.into(),
        name: name.into(),
        kind: Some(kind),
        other: Other::new(),
    };
    vec![
        one(ALLOW_ONCE, "Allow once", PermissionOptionKind::AllowOnce),
        one(ALLOW_SESSION, session, PermissionOptionKind::AllowAlways),
        one(DENY, "Deny", PermissionOptionKind::RejectOnce),
    ]
}

impl Acp {
    pub(crate) fn permission(&self, at: usize, ask: &Ask, permission: &PermissionAsk) -> RequestPermissionRequest {
        let view = &self.views[at];
        let turn = ask.turn.as_ref().or(view.turn.as_ref().map(|turn| &turn.id));
        let id = turn.map_or_else(|| permission.call.to_string(), |turn| call_id(turn, &permission.call));
        let input: Value = serde_json::from_str(permission.input.as_str()).unwrap_or_default();
        let tool_call = ToolCall {
            tool_call_id: id,
            title: Some(self.cards(at).title(&permission.tool, &input)),
            kind: Some(tools::kind(&permission.tool)),
            status: Some(ToolCallStatus::Pending),
            locations: Some(titles::locations(&permission.tool, &input, &view.cwd)),
            raw_input: Some(input),
            content: Some(permission_content::blocks(permission, &view.cwd)),
            ..ToolCall::default()
        };
        let session = format!("Allow {} for this session", question::session_scope(permission, &permission.tool));
        RequestPermissionRequest { session_id: view.session.to_string(), tool_call, options: options(&session) }
    }
}

impl Acp {
    /// A question about a budget, as a call that nobody made: clients show those.
    pub(crate) fn budget(&self, at: usize, ask: &Ask, budget: &BudgetAsk) -> RequestPermissionRequest {
        let tool_call = ToolCall {
            tool_call_id: format!("budget-{}", ask.id),
            title: Some(budget.summary()),
            kind: Some(ToolKind::Other),
            status: Some(ToolCallStatus::Pending),
            ..ToolCall::default()
        };
        let options = options("Allow for this session");
        RequestPermissionRequest { session_id: self.views[at].session.to_string(), tool_call, options }
    }
}

/// What becomes of the call that stood for the question.
pub(crate) fn budget_decided(tool_call_id: String, answer: &Answer) -> SessionUpdate {
    let status = match answer {
        Answer::Allow(_) => ToolCallStatus::Completed,
        _ => ToolCallStatus::Failed,
    };
    SessionUpdate::ToolCallUpdate(ToolCall { tool_call_id, status: Some(status), ..ToolCall::default() })
}

/// By the option that is named, wherever an old or a new client puts it; without one by the word. Everything else, an error
/// included, is a no.
pub(crate) fn decide(answer: Option<&RequestPermissionResponse>) -> Answer {
    let denied = || Answer::Deny(None);
    let Some(answer) = answer else { return denied() };
    let nothing = OutcomeMembers::default();
    let (members, bare) = match &answer.outcome {
        PermissionOutcome::Members(members) => (members, None),
        PermissionOutcome::Word(word) => (&nothing, Some(word)),
    };
    let word = members.outcome.as_ref();
    if word.is_some_and(|word| word == "cancelled") {
        return Answer::Deny(Some("cancelled".into()));
    }
    let named = [members.option_id.as_ref(), answer.option_id.as_ref(), word, bare];
    let is_known = |id: &&str| [ALLOW_ONCE, ALLOW_SESSION, DENY, ALWAYS].contains(id);
    let option = named.into_iter().flatten().map(String::as_str).find(is_known);
    let names_one = members.option_id.is_some() || answer.option_id.is_some();
    let allowed = |it: Option<&String>| it.is_some_and(|it| it == "allowed");
    match option {
        Some(ALLOW_ONCE) => Answer::Allow(Scope::Once),
        Some(ALLOW_SESSION | ALWAYS) => Answer::Allow(Scope::Session),
        Some(_) => denied(),
        // An option that was not offered is none.
        None if names_one => denied(),
        None if allowed(members.kind.as_ref()) || allowed(word) || allowed(bare) => Answer::Allow(Scope::Once),
        None => denied(),
    }
}

#[cfg(test)]
mod tests {
    use acp_types::read_answer;
    use serde_json::json;

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
            (json!({ "outcome": ["selected", "allow_once"] }), &denied),
            (json!([{ "outcome": "selected", "optionId": "allow_once" }]), &denied),
            (json!({ "outcome": { "outcome": "selected", "optionId": 5 } }), &denied),
            (json!({}), &denied),
            (Value::Null, &denied),
        ] {
            assert_eq!(decide(read_answer(&answer).as_ref()), *want, "{answer}");
        }
        assert_eq!(decide(None), denied, "an error");
        let cancelled = json!({ "outcome": { "outcome": "cancelled", "optionId": "allow_once" } });
        assert!(matches!(decide(read_answer(&cancelled).as_ref()), Answer::Deny(_)));
    }
}
