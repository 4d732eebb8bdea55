//! Questions whether a call may run or more may be spent, as this wire asks them.

use std::borrow::Cow;

use vocab::{Ask, AskKind, BudgetAsk, Json, Mode, PermissionAsk, Required};

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

/// What a question about a budget has in the place of a tool.
const BUDGET: &str = "budget";

/// What `agent.confirmTool` answers; `None`: a question that is not for this wire, and others have to answer.
pub(crate) fn asked(ask: &Ask) -> Option<Cow<'_, PermissionAsk>> {
    match &ask.kind {
        AskKind::Permission(asked) => Some(Cow::Borrowed(asked)),
        AskKind::Budget(budget) => Some(Cow::Owned(about_budget(ask, budget))),
        AskKind::HostCall { .. }
        | AskKind::Select { .. }
        | AskKind::Confirm { .. }
        | AskKind::Input { .. }
        | AskKind::Editor { .. } => None,
    }
}

/// A budget question in the shape of a permission question, the only one this wire has: highest risk, since no mode allows it;
/// its own id stands for the call.
fn about_budget(ask: &Ask, budget: &BudgetAsk) -> PermissionAsk {
    let shown = |amount: u64| budget.unit.shown(amount);
    let (limit, spent, more) = (shown(budget.limit), shown(budget.spent), shown(budget.more));
    let args = serde_json::json!({"budget": budget.name(), "limit": limit, "spent": spent, "more": more});
    PermissionAsk {
        call: ask.id.as_str().into(),
        tool: BUDGET.into(),
        input: Json::trusted(args.to_string()),
        active: Mode::DangerFullAccess,
        required: Required::DangerFullAccess,
        reason: None,
        summary: budget.summary().into(),
        preview: None,
        may_have_run: false,
    }
}
