//! Questions whether a call may run, as this wire asks them.

use vocab::{Ask, PermissionAsk};

use crate::events::{ConfirmFact, ToolConfirmData};
use crate::shape::AnyJson;
use crate::tool_names::TOOL_NAMES;

/// How long a person has, where the question does not say it.
pub const CONFIRM_MS: u64 = 120_000;

pub(crate) fn data(ask: &Ask, asked: &PermissionAsk, at_ms: i64) -> ToolConfirmData {
    let fact = |fact: &vocab::Fact| ConfirmFact { label: fact.label.to_string(), text: fact.text.to_string() };
    let wait_ms = i64::try_from(ask.timeout_ms.unwrap_or(CONFIRM_MS)).unwrap_or(i64::MAX);
    ToolConfirmData {
        call_id: asked.call.to_string(),
        tool: TOOL_NAMES.show(&asked.tool).to_owned(),
        args: AnyJson(asked.input.on_one_line()),
        risk: asked.required.as_str(),
        expires_at: Some(at_ms.saturating_add(wait_ms)),
        summary: asked.summary.to_string(),
        preview: asked.preview.as_ref().map(|facts| facts.iter().map(fact).collect()),
        ask_id: ask.id.to_string(),
        may_have_run: asked.may_have_run.then_some(true),
    }
}
