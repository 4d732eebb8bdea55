//! `session/update` (section 6).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::forgiving::{Other, Readable, entries, lenient};
use crate::open_enum::open_enum;
use crate::{ConfigOption, ContentBlock, ToolCall};

/// The params of `session/update`.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionNotification<'a, U> {
    pub session_id: &'a str,
    pub update: U,
}

open_enum! {
    CompactionStatus { InProgress = "in_progress", Completed = "completed", Failed = "failed" }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SessionUpdate {
    UserMessageChunk(MessageChunk),
    AgentMessageChunk(MessageChunk),
    AgentThoughtChunk(MessageChunk),
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
        available_commands: Vec<AvailableCommand>,
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
        #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
        status: Option<CompactionStatus>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<Readable<Vec<ContentBlock>>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Readable<String>>,
        #[serde(flatten)]
        other: Other,
    },
    CompactionSummaryChunk {
        #[serde(default, deserialize_with = "lenient")]
        compaction_id: String,
        content: ContentBlock,
        #[serde(flatten)]
        other: Other,
    },
    /// A newer tag, or a known one that cannot be read.
    #[serde(untagged)]
    Unknown(Value),
}

impl SessionUpdate {
    /// Part of the conversation itself, so part of a replay; the rest is about the state of the session.
    pub fn is_history(&self) -> bool {
        matches!(
            self,
            SessionUpdate::UserMessageChunk(_)
                | SessionUpdate::AgentMessageChunk(_)
                | SessionUpdate::AgentThoughtChunk(_)
                | SessionUpdate::ToolCall(_)
                | SessionUpdate::ToolCallUpdate(_)
                | SessionUpdate::Plan { .. }
        )
    }
}

/// Chunks with one id are one message.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageChunk {
    pub content: ContentBlock,
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
pub struct AvailableCommand {
    pub name: String,
    #[serde(default, deserialize_with = "lenient")]
    pub description: String,
    /// Where it takes words behind it.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub input: Option<CommandInput>,
    #[serde(flatten)]
    pub other: Other,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CommandInput {
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    #[serde(flatten)]
    pub other: Other,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Cost {
    pub amount: f64,
    #[serde(default, deserialize_with = "lenient")]
    pub currency: String,
}
