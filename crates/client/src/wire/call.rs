//! Tool calls (section 6). A first message and a patch have one shape: what is missing in a patch is unchanged.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Block, Other, lenient, optional_entries, words};

words! {
    /// What a call is for.
    CallKind {
        Read = "read", Edit = "edit", Delete = "delete", Move = "move", Search = "search", Execute = "execute",
        Think = "think", Fetch = "fetch", SwitchMode = "switch_mode", Elsewise = "other",
    }
}

words! {
    CallStatus { Pending = "pending", InProgress = "in_progress", Completed = "completed", Failed = "failed" }
}

impl CallStatus {
    /// No further message about this call is expected.
    pub fn is_end(&self) -> bool {
        matches!(self, CallStatus::Completed | CallStatus::Failed)
    }
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    pub tool_call_id: String,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub kind: Option<CallKind>,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub status: Option<CallStatus>,
    /// Replaces what was there.
    #[serde(default, deserialize_with = "optional_entries", skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<CallContent>>,
    #[serde(default, deserialize_with = "optional_entries", skip_serializing_if = "Option::is_none")]
    pub locations: Option<Vec<Location>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_input: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_output: Option<Value>,
    #[serde(flatten)]
    pub other: Other,
}

impl ToolCall {
    /// Takes over what a patch says and keeps the rest.
    pub fn patch(&mut self, patch: ToolCall) {
        fn take<T>(into: &mut Option<T>, from: Option<T>) {
            if from.is_some() {
                *into = from;
            }
        }
        take(&mut self.title, patch.title);
        take(&mut self.name, patch.name);
        take(&mut self.kind, patch.kind);
        take(&mut self.status, patch.status);
        take(&mut self.content, patch.content);
        take(&mut self.locations, patch.locations);
        take(&mut self.raw_input, patch.raw_input);
        take(&mut self.raw_output, patch.raw_output);
        self.other.extend(patch.other);
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum CallContent {
    Content {
        content: Block,
        #[serde(flatten)]
        other: Other,
    },
    Diff {
        path: String,
        /// `None`: the file is new.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        old_text: Option<String>,
        new_text: String,
        #[serde(flatten)]
        other: Other,
    },
    Terminal {
        terminal_id: String,
        #[serde(flatten)]
        other: Other,
    },
    #[serde(untagged)]
    Unknown(Value),
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Location {
    pub path: String,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    #[serde(flatten)]
    pub other: Other,
}
