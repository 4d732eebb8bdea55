//! Errors (section 2): the codes beyond those of JSON-RPC, and what their `data` says.

use serde::Serialize;

/// Not signed in.
pub const AUTH_REQUIRED: i64 = -32000;
/// No such session, no such file.
pub const NOT_FOUND: i64 = -32002;
/// Killed by `$/cancel_request`.
pub const REQUEST_CANCELLED: i64 = -32800;

/// What an error is about.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorData {
    /// The message once more: some clients show this and nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
}
