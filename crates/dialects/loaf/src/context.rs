//! How full the context is, by our estimate, and by what.

use serde::Serialize;
use vocab::{CallSpec, State, estimate_tokens};

/// What a message costs besides its text, about.
const TOKENS_PER_MESSAGE: u64 = 4;

/// What every request carries besides the conversation.
#[derive(Clone, Copy, Default)]
pub(crate) struct FixedContext {
    pinned: u64,
    tools: u64,
}

impl FixedContext {
    pub(crate) fn of(spec: &CallSpec) -> Self {
        let bytes = |tool: &vocab::ToolSpec| tool.name.len() + tool.description.len() + tool.schema.as_str().len();
        Self { pinned: estimate_tokens(spec.system.len()), tools: estimate_tokens(spec.tools.iter().map(bytes).sum()) }
    }
}

#[derive(Clone, Copy, Serialize, PartialEq, Eq, Debug)]
pub(crate) struct Breakdown {
    pinned_tokens: u64,
    conversation_tokens: u64,
    tool_schema_tokens: u64,
    provider_overhead_tokens: u64,
}

/// The estimate and its parts, which add up to it.
pub(crate) fn estimate(state: &State, fixed: FixedContext) -> (u64, Breakdown) {
    let overhead = (state.messages + state.results) * TOKENS_PER_MESSAGE;
    let besides = fixed.pinned + fixed.tools + overhead;
    // A count that is less than what every request carries is one of the messages alone.
    let counted = state.context_tokens;
    let total = if counted < besides { besides + counted } else { counted };
    let breakdown = Breakdown {
        pinned_tokens: fixed.pinned,
        conversation_tokens: total - besides,
        tool_schema_tokens: fixed.tools,
        provider_overhead_tokens: overhead,
    };
    (total, breakdown)
}
