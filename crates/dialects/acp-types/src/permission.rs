//! `session/request_permission` (section 7): what may run, and what a person says to it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ToolCall;
use crate::forgiving::{Other, entries, lenient};
use crate::open_enum::open_enum;

/// May this call run?
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestPermissionRequest {
    pub session_id: String,
    pub tool_call: ToolCall,
    #[serde(default, deserialize_with = "entries")]
    pub options: Vec<PermissionOption>,
}

impl RequestPermissionRequest {
    /// What an agent asks; an error names the member that is missing or cannot be read.
    pub fn read(params: &Value) -> Result<Self, &'static str> {
        let session_id = params.get("sessionId").and_then(Value::as_str).ok_or("sessionId")?.to_owned();
        let tool_call = params.get("toolCall").and_then(|call| ToolCall::deserialize(call).ok()).ok_or("toolCall")?;
        let options = params.get("options").and_then(|options| entries(options).ok()).unwrap_or_default();
        Ok(Self { session_id, tool_call, options })
    }
}

/// What was chosen. Old clients put the option beside the outcome.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestPermissionResponse {
    #[serde(default, deserialize_with = "lenient")]
    pub outcome: PermissionOutcome,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub option_id: Option<String>,
    #[serde(flatten)]
    pub other: Other,
}

impl RequestPermissionResponse {
    /// The option that a person has chosen. `kind` is for peers that know only that; all others pass over it.
    pub fn selected(option: &str, allows: bool) -> Self {
        let kind = if allows { "allowed" } else { "rejected" };
        let outcome = OutcomeMembers {
            outcome: Some("selected".into()),
            option_id: Some(option.into()),
            kind: Some(kind.into()),
            other: Other::new(),
        };
        Self { outcome: PermissionOutcome::Members(outcome), ..Self::default() }
    }

    /// The question went away with its turn.
    pub fn cancelled() -> Self {
        let outcome = OutcomeMembers { outcome: Some("cancelled".into()), ..OutcomeMembers::default() };
        Self { outcome: PermissionOutcome::Members(outcome), ..Self::default() }
    }
}

/// Members, or a bare word.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PermissionOutcome {
    Members(OutcomeMembers),
    Word(String),
}

impl Default for PermissionOutcome {
    fn default() -> Self {
        Self::Members(OutcomeMembers::default())
    }
}

/// `other` is there for one more reason: with it a list cannot pass for members in their order.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutcomeMembers {
    /// `selected` or `cancelled`.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub option_id: Option<String>,
    /// `allowed` or `rejected`, of old clients.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(flatten)]
    pub other: Other,
}

open_enum! {
    /// What choosing an option means.
    PermissionOptionKind {
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
    pub kind: Option<PermissionOptionKind>,
    #[serde(flatten)]
    pub other: Other,
}

impl PermissionOption {
    /// Whether choosing it lets the call run. Without a known kind its id and name are read; what stays unclear is no.
    pub fn allows(&self) -> bool {
        match &self.kind {
            Some(PermissionOptionKind::AllowOnce | PermissionOptionKind::AllowAlways) => true,
            Some(PermissionOptionKind::RejectOnce | PermissionOptionKind::RejectAlways) => false,
            Some(PermissionOptionKind::Unknown(_)) | None => {
                self.begins_like(&["allow", "yes", "approve", "once", "always", "accept"])
                    && !self.begins_like(&["deny", "reject", "no", "cancel"])
            }
        }
    }

    /// Whether choosing it could let the call run: only a known kind says that it cannot.
    pub fn may_allow(&self) -> bool {
        !matches!(self.kind, Some(PermissionOptionKind::RejectOnce | PermissionOptionKind::RejectAlways))
    }

    /// Whether it also decides later calls.
    pub fn lasts(&self) -> bool {
        match &self.kind {
            Some(PermissionOptionKind::AllowAlways | PermissionOptionKind::RejectAlways) => true,
            Some(PermissionOptionKind::AllowOnce | PermissionOptionKind::RejectOnce) => false,
            Some(PermissionOptionKind::Unknown(_)) | None => self.option_id.to_lowercase().contains("always"),
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
