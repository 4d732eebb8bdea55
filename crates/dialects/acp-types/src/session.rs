//! Sessions (section 4): opened, listed, and what can be chosen in them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::McpServerEntry;
use crate::forgiving::{Other, all_entries, entries, lenient, optional_entries};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewSessionRequest {
    pub cwd: PathBuf,
    /// Written even where it is empty: some agents refuse a session without a list of servers.
    #[serde(default, deserialize_with = "all_entries")]
    pub mcp_servers: Vec<McpServerEntry>,
}

/// Of load, resume and fork.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedSessionRequest {
    pub session_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    #[serde(default, deserialize_with = "all_entries")]
    pub mcp_servers: Vec<McpServerEntry>,
    /// Of resume: from where on what was said is told again (a draft of the next version).
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub replay_from: Option<Value>,
    #[serde(rename = "_meta", default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Other>,
}

/// Of whatever needs nothing but a session: close, delete, cancel.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionRequest {
    pub session_id: String,
}

/// The answer to new, load, resume and fork. Every part of it may be missing.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionResponse {
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub modes: Option<ModeState>,
    /// The older way to choose a model.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub models: Option<ModelState>,
    #[serde(default, deserialize_with = "optional_entries", skip_serializing_if = "Option::is_none")]
    pub config_options: Option<Vec<ConfigOption>>,
    #[serde(flatten)]
    pub other: Other,
}

impl SessionResponse {
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
pub struct ModeState {
    pub current_mode_id: String,
    #[serde(default, deserialize_with = "entries")]
    pub available_modes: Vec<ModeChoice>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ModeChoice {
    pub id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub name: String,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelState {
    pub current_model_id: String,
    #[serde(default, deserialize_with = "entries")]
    pub available_models: Vec<ModelChoice>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelChoice {
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
    /// `select` or `boolean`.
    #[serde(default, rename = "type", deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Text, or a boolean.
    #[serde(default)]
    pub current_value: Value,
    #[serde(default, deserialize_with = "optional_entries", skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<ConfigEntry>>,
    #[serde(flatten)]
    pub other: Other,
}

/// A group of values, or one value.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ConfigEntry {
    Group(ConfigGroup),
    Value(ConfigValue),
    Unknown(Value),
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ConfigGroup {
    #[serde(deserialize_with = "entries")]
    pub options: Vec<ConfigValue>,
    #[serde(flatten)]
    pub other: Other,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ConfigValue {
    pub value: String,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(flatten)]
    pub other: Other,
}

/// A value and what people call it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigChoice {
    pub value: String,
    pub name: String,
}

impl ConfigOption {
    /// All values, groups opened.
    pub fn choices(&self) -> Vec<ConfigChoice> {
        let opened = self.options.iter().flatten().flat_map(|entry| match entry {
            ConfigEntry::Group(group) => group.options.as_slice(),
            ConfigEntry::Value(value) => std::slice::from_ref(value),
            ConfigEntry::Unknown(_) => &[],
        });
        let choice = |it: &ConfigValue| {
            let name = it.name.as_ref().unwrap_or(&it.value).clone();
            ConfigChoice { value: it.value.clone(), name }
        };
        opened.map(choice).collect()
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetModeRequest {
    pub session_id: String,
    pub mode_id: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetModelRequest {
    pub session_id: String,
    pub model_id: String,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetConfigOptionRequest {
    pub session_id: String,
    pub config_id: String,
    /// Text, or a boolean.
    pub value: Value,
    /// `boolean` with one.
    #[serde(default, rename = "type", deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// All options as they are now.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetConfigOptionResponse {
    #[serde(default, deserialize_with = "entries")]
    pub config_options: Vec<ConfigOption>,
}

// ---- saved sessions -------------------------------------------------------------------------------------------------

/// Both may be missing: every directory, from the newest on.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ListSessionsRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// One page of `session/list`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListSessionsResponse {
    #[serde(default, deserialize_with = "entries")]
    pub sessions: Vec<ListedSession>,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    #[serde(flatten)]
    pub other: Other,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedSession {
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
