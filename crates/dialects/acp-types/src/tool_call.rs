//! Tool calls (section 6). A first message and a patch have one shape: what is missing in a patch is unchanged.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ContentBlock;
use crate::forgiving::{Other, lenient, optional_entries};
use crate::open_enum::open_enum;

open_enum! {
    /// What a call is for.
    ToolKind {
        Read = "read", Edit = "edit", Delete = "delete", Move = "move", Search = "search", Execute = "execute",
        Think = "think", Fetch = "fetch", SwitchMode = "switch_mode", Other = "other",
    }
}

open_enum! {
    ToolCallStatus { Pending = "pending", InProgress = "in_progress", Completed = "completed", Failed = "failed" }
}

impl ToolCallStatus {
    /// No further message about this call is expected.
    pub fn is_end(&self) -> bool {
        matches!(self, ToolCallStatus::Completed | ToolCallStatus::Failed)
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
    pub kind: Option<ToolKind>,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub status: Option<ToolCallStatus>,
    /// Replaces what was there.
    #[serde(default, deserialize_with = "optional_entries", skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<ToolCallContent>>,
    #[serde(default, deserialize_with = "optional_entries", skip_serializing_if = "Option::is_none")]
    pub locations: Option<Vec<ToolCallLocation>>,
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

/// What is told of a command that an agent runs in a terminal of its own: a convention of agents and editors, beside the
/// protocol.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct TerminalNews {
    /// What it wrote since it was last told.
    pub output: Option<String>,
    pub ended: bool,
    pub exit_code: Option<i64>,
    pub signal: Option<String>,
}

impl ToolCall {
    /// From `_meta`: `terminal_output`, `terminal_output_delta` and `terminal_exit`.
    pub fn terminal(&self) -> Option<TerminalNews> {
        let meta = self.other.get("_meta")?;
        let said = |key: &str| meta.get(key)?.get("data")?.as_str().map(str::to_owned);
        let exit = meta.get("terminal_exit").filter(|exit| exit.is_object());
        let news = TerminalNews {
            output: said("terminal_output_delta").or_else(|| said("terminal_output")),
            ended: exit.is_some(),
            exit_code: exit.and_then(|exit| exit.get("exit_code")?.as_i64()),
            signal: exit.and_then(|exit| exit.get("signal")?.as_str()).map(str::to_owned),
        };
        (news != TerminalNews::default()).then_some(news)
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ToolCallContent {
    Content {
        content: ContentBlock,
        #[serde(flatten)]
        other: Other,
    },
    Diff {
        path: String,
        /// `None`: the file is new. Written as `null`.
        #[serde(default)]
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

impl ToolCallContent {
    pub fn block(content: ContentBlock) -> Self {
        Self::Content { content, other: Other::new() }
    }

    pub fn diff(path: String, old_text: Option<String>, new_text: String) -> Self {
        Self::Diff { path, old_text, new_text, other: Other::new() }
    }

    /// A terminal of the client's, shown as it runs.
    pub fn terminal(terminal_id: String) -> Self {
        Self::Terminal { terminal_id, other: Other::new() }
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ToolCallLocation {
    pub path: String,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    #[serde(flatten)]
    pub other: Other,
}

impl ToolCallLocation {
    pub fn new(path: String, line: Option<u64>) -> Self {
        Self { path, line, other: Other::new() }
    }
}
