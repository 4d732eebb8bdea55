//! Sessions and turns (sections 4, 5 and 7): what `session/*` answers, and the options of a permission.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Other, entries, lenient, optional_entries, words};

/// The answer to new, load, resume and fork. Every part of it may be missing.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub modes: Option<Modes>,
    /// The older way to choose a model.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub models: Option<Models>,
    #[serde(default, deserialize_with = "optional_entries", skip_serializing_if = "Option::is_none")]
    pub config_options: Option<Vec<ConfigOption>>,
    #[serde(flatten)]
    pub other: Other,
}

impl SessionInfo {
    /// It says nothing at all, as Hermes does about a session it does not know.
    pub fn is_silent(&self) -> bool {
        self.session_id.is_none() && self.modes.is_none() && self.models.is_none() && self.config_options.is_none()
    }

    /// Another session than the one asked for was opened; Hermes says so only here.
    pub fn actual_id(&self) -> Option<&str> {
        let hidden = ["_meta", "hermes", "sessionProvenance", "acpSessionId"];
        let first = self.other.get(hidden[0])?;
        hidden[1..].iter().try_fold(first, |value, name| value.get(name))?.as_str()
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Modes {
    pub current_mode_id: String,
    #[serde(default, deserialize_with = "entries")]
    pub available_modes: Vec<ModeEntry>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ModeEntry {
    pub id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub name: String,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Models {
    pub current_model_id: String,
    #[serde(default, deserialize_with = "entries")]
    pub available_models: Vec<ModelEntry>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelEntry {
    pub model_id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub name: String,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// One thing that can be chosen for a session.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigOption {
    pub id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub name: String,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    #[serde(default)]
    pub current_value: Value,
    /// A list of choices, or of groups of them.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub options: Value,
    #[serde(flatten)]
    pub other: Other,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    pub value: String,
    pub name: String,
}

impl ConfigOption {
    /// All values, groups opened.
    pub fn choices(&self) -> Vec<Choice> {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let opened = list(&self.options).into_iter().flat_map(|entry| match entry.get("options") {
            Some(group) => list(group),
            None => vec![entry],
        });
        let choice = |entry: Value| {
            let value = entry.get("value")?.as_str()?.to_owned();
            let name = entry.get("name").and_then(Value::as_str).unwrap_or(&value).to_owned();
            Some(Choice { value, name })
        };
        opened.filter_map(choice).collect()
    }
}

/// One page of `session/list`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    #[serde(default, deserialize_with = "entries")]
    pub sessions: Vec<Listed>,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    #[serde(flatten)]
    pub other: Other,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    pub session_id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub cwd: String,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    #[serde(flatten)]
    pub other: Other,
}

words! {
    /// Why a turn ended.
    StopReason {
        EndTurn = "end_turn", MaxTokens = "max_tokens", MaxTurnRequests = "max_turn_requests",
        Refusal = "refusal", Cancelled = "cancelled",
    }
}

/// Tokens of one turn, as the agent counts them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    #[serde(deserialize_with = "lenient")]
    pub total_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    pub input_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    pub output_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    pub thought_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    pub cached_read_tokens: u64,
    #[serde(deserialize_with = "lenient")]
    pub cached_write_tokens: u64,
}

impl Usage {
    /// From the answer to a prompt: `usage`, else `_meta.quota.token_count`, where gemini counts in snake case.
    pub fn of(answer: &Value) -> Option<Usage> {
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
        Some(Usage {
            total_tokens: total,
            input_tokens: input,
            output_tokens: output,
            thought_tokens: count(["thought_tokens", "reasoningOutputTokens"]),
            cached_read_tokens: read,
            cached_write_tokens: write,
        })
    }
}

words! {
    /// What choosing an option means.
    OptionKind {
        AllowOnce = "allow_once", AllowAlways = "allow_always",
        RejectOnce = "reject_once", RejectAlways = "reject_always",
    }
}

/// One answer that an agent offers to its question (section 7).
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionOption {
    pub option_id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub name: String,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub kind: Option<OptionKind>,
    #[serde(flatten)]
    pub other: Other,
}

impl PermissionOption {
    /// Whether choosing it lets the call run. Without a known kind its id and name are read; what stays unclear is no.
    pub fn allows(&self) -> bool {
        match &self.kind {
            Some(OptionKind::AllowOnce | OptionKind::AllowAlways) => true,
            Some(OptionKind::RejectOnce | OptionKind::RejectAlways) => false,
            Some(OptionKind::Unknown(_)) | None => {
                self.begins_like(&["allow", "yes", "approve", "once", "always", "accept"])
                    && !self.begins_like(&["deny", "reject", "no", "cancel"])
            }
        }
    }

    /// Whether choosing it could let the call run: only a known kind says that it cannot.
    pub fn may_allow(&self) -> bool {
        !matches!(self.kind, Some(OptionKind::RejectOnce | OptionKind::RejectAlways))
    }

    /// Whether it also decides later calls.
    pub fn lasts(&self) -> bool {
        match &self.kind {
            Some(OptionKind::AllowAlways | OptionKind::RejectAlways) => true,
            Some(OptionKind::AllowOnce | OptionKind::RejectOnce) => false,
            Some(OptionKind::Unknown(_)) | None => self.option_id.to_lowercase().contains("always"),
        }
    }

    fn begins_like(&self, words: &[&str]) -> bool {
        let begins = |text: &str| {
            let text = text.to_lowercase();
            words.iter().any(|word| text.starts_with(word))
        };
        begins(&self.option_id) || begins(&self.name)
    }
}
