//! `session/update` (section 6).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Block, ConfigOption, Other, ToolCall, entries, lenient};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Update {
    UserMessageChunk(Chunk),
    AgentMessageChunk(Chunk),
    AgentThoughtChunk(Chunk),
    ToolCall(ToolCall),
    /// A patch: what is missing is unchanged, also the status.
    ToolCallUpdate(ToolCall),
    /// The whole list, each time.
    Plan {
        #[serde(deserialize_with = "entries")]
        entries: Vec<PlanEntry>,
        #[serde(flatten)]
        other: Other,
    },
    AvailableCommandsUpdate {
        #[serde(deserialize_with = "entries")]
        available_commands: Vec<CommandEntry>,
        #[serde(flatten)]
        other: Other,
    },
    CurrentModeUpdate {
        current_mode_id: String,
        #[serde(flatten)]
        other: Other,
    },
    ConfigOptionUpdate {
        #[serde(deserialize_with = "entries")]
        config_options: Vec<ConfigOption>,
        #[serde(flatten)]
        other: Other,
    },
    SessionInfoUpdate {
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
        updated_at: Option<String>,
        #[serde(flatten)]
        other: Other,
    },
    UsageUpdate {
        used: u64,
        size: u64,
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
        cost: Option<Cost>,
        #[serde(flatten)]
        other: Other,
    },
    Notice {
        #[serde(default, deserialize_with = "lenient")]
        severity: String,
        title: String,
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        #[serde(flatten)]
        other: Other,
    },
    CompactionUpdate {
        #[serde(default, deserialize_with = "lenient")]
        compaction_id: String,
        #[serde(default, deserialize_with = "lenient")]
        status: String,
        #[serde(flatten)]
        other: Other,
    },
    CompactionSummaryChunk {
        #[serde(default, deserialize_with = "lenient")]
        compaction_id: String,
        content: Block,
        #[serde(flatten)]
        other: Other,
    },
    /// A newer tag, or a known one that cannot be read.
    #[serde(untagged)]
    Unknown(Value),
}

impl Update {
    /// Part of the conversation itself, so part of a replay; the rest is about the state of the session.
    pub fn is_history(&self) -> bool {
        matches!(
            self,
            Update::UserMessageChunk(_)
                | Update::AgentMessageChunk(_)
                | Update::AgentThoughtChunk(_)
                | Update::ToolCall(_)
                | Update::ToolCallUpdate(_)
                | Update::Plan { .. }
        )
    }
}

/// Chunks with one id are one message.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Chunk {
    pub content: Block,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    #[serde(flatten)]
    pub other: Other,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlanEntry {
    pub content: String,
    /// `high`, `medium`, `low`.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
    /// `pending`, `in_progress`, `completed`.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    #[serde(flatten)]
    pub other: Other,
}

/// A slash command; its name comes without the slash.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CommandEntry {
    pub name: String,
    #[serde(default, deserialize_with = "lenient")]
    pub description: String,
    /// `{hint}` where it takes words behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    #[serde(flatten)]
    pub other: Other,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Cost {
    pub amount: f64,
    #[serde(default, deserialize_with = "lenient")]
    pub currency: String,
}
