//! One turn (section 5): the prompt, how it ended, what it used.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ContentBlock;
use crate::forgiving::lenient;
use crate::open_enum::open_enum;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptRequest {
    pub session_id: String,
    pub prompt: Vec<ContentBlock>,
    /// What stands beside the protocol; of it only the trace is looked at, whatever else it is.
    #[serde(rename = "_meta", default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub meta: Option<PromptMeta>,
}

/// Where a prompt belongs in its sender's trace: the root of `_meta` is reserved for these names.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PromptMeta {
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<String>,
}

/// How a turn ended.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptResponse {
    pub stop_reason: StopReason,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<TurnUsage>,
}

impl PromptResponse {
    /// What an agent answered. A missing reason is an ordinary end.
    pub fn read(answer: &Value) -> Self {
        let stop = answer.get("stopReason").and_then(Value::as_str).unwrap_or("end_turn").to_owned();
        Self { stop_reason: StopReason::from(stop), usage: TurnUsage::of(answer) }
    }
}

/// A request that is not wanted any more, by the id it was sent with.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelRequest<Id> {
    pub request_id: Id,
}

open_enum! {
    /// Why a turn ended.
    StopReason {
        EndTurn = "end_turn", MaxTokens = "max_tokens", MaxTurnRequests = "max_turn_requests",
        Refusal = "refusal", Cancelled = "cancelled",
    }
}

/// Tokens of one turn, as the agent counts them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TurnUsage {
    #[serde(deserialize_with = "lenient")]
    pub total_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    pub input_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    pub output_tokens: u64,
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub thought_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    pub cached_read_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    pub cached_write_tokens: u64,
}

impl TurnUsage {
    /// From the answer to a prompt: `usage`, else `_meta.quota.token_count`, where gemini counts in snake case.
    pub fn of(answer: &Value) -> Option<TurnUsage> {
        if let Some(usage) = answer.get("usage").filter(|usage| usage.is_object()) {
            return serde_json::from_value(usage.clone()).ok();
        }
        let quota = answer.get("_meta")?.get("quota")?.get("token_count")?;
        let count = |names: [&str; 2]| names.iter().find_map(|name| quota.get(name)?.as_u64()).unwrap_or(0);
        let (input, output) = (count(["input_tokens", "inputTokens"]), count(["output_tokens", "outputTokens"]));
        let (read, write) = (count(["cached_tokens", "cachedInputTokens"]), count(["", "cachedWriteTokens"]));
        let total = match count(["total_tokens", "totalTokens"]) {
            0 => input + output + read + write,
            total => total,
        };
        Some(TurnUsage {
            total_tokens: total,
            input_tokens: input,
            output_tokens: output,
            thought_tokens: Some(count(["thought_tokens", "reasoningOutputTokens"])),
            cached_read_tokens: read,
            cached_write_tokens: write,
        })
    }
}
