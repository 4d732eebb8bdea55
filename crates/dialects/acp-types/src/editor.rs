//! `fs/*` and `terminal/*` (section 8): files and terminals of the client, for the agent's tools. The session is named in each
//! request; a client that has one workspace does not look at it.

use serde::{Deserialize, Serialize};

use crate::forgiving::{entries, lenient};

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadTextFileRequest {
    #[serde(default, deserialize_with = "lenient")]
    pub session_id: String,
    pub path: String,
    /// The first line wanted, from 1 on.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReadTextFileResponse {
    pub content: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteTextFileRequest {
    #[serde(default, deserialize_with = "lenient")]
    pub session_id: String,
    pub path: String,
    pub content: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateTerminalRequest {
    #[serde(default, deserialize_with = "lenient")]
    pub session_id: String,
    /// A program; some agents put a whole shell line here.
    pub command: String,
    #[serde(default, deserialize_with = "entries")]
    pub args: Vec<String>,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(default, deserialize_with = "entries")]
    pub env: Vec<EnvVariable>,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub output_byte_limit: Option<u64>,
}

/// A value that is no text counts as empty.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EnvVariable {
    pub name: String,
    #[serde(deserialize_with = "lenient")]
    pub value: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateTerminalResponse {
    pub terminal_id: String,
}

/// Of output, wait_for_exit, kill and release.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalRequest {
    #[serde(default, deserialize_with = "lenient")]
    pub session_id: String,
    pub terminal_id: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalOutputResponse {
    #[serde(deserialize_with = "lenient")]
    pub output: String,
    /// Its beginning was dropped.
    #[serde(deserialize_with = "lenient")]
    pub truncated: bool,
    /// Missing while it runs.
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<TerminalExitStatus>,
}

/// Both are written, the one that does not hold as `null`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalExitStatus {
    #[serde(deserialize_with = "lenient")]
    pub exit_code: Option<i64>,
    #[serde(deserialize_with = "lenient")]
    pub signal: Option<String>,
}
