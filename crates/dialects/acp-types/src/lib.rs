//! The Agent Client Protocol, version 1, as types: one set for the agent that writes an update and the client that reads it.
//! No I/O, no state, no envelope: JSON-RPC is `wire`'s.
//!
//! Strict where we write: a message is built from a type, and its members are the protocol's. Forgiving where we read: a
//! member that has no type is passed over or kept in `other`, an unknown word or variant stays as it came, a broken optional
//! member counts as missing, and a broken entry of a list is left out.
//!
//! * `initialize`: who speaks, and what each side can do. `session`: opening, listing, choosing. `prompt`: one turn.
//! * `update`, `tool_call`, `content`: what is told while it runs. `permission`, `elicitation`, `editor`: what an agent asks.
//! * `method`, `error`: names and numbers. `forgiving`: how broken members are read.

mod content;
mod editor;
mod elicitation;
pub mod error;
mod forgiving;
mod initialize;
mod mcp;
pub mod method;
mod open_enum;
mod permission;
mod prompt;
mod session;
mod tool_call;
mod update;

pub use content::{ContentBlock, EmbeddedResource};
pub use editor::{
    CreateTerminalRequest, CreateTerminalResponse, EnvVariable, ReadTextFileRequest, ReadTextFileResponse,
    TerminalExitStatus, TerminalOutputResponse, TerminalRequest, WriteTextFileRequest,
};
pub use elicitation::{
    ElicitationAction, ElicitationField, ElicitationRequest, ElicitationResponse, ElicitationSchema, FormRequest,
    UrlRequest,
};
pub use forgiving::{Other, Readable, read_answer};
pub use initialize::{
    AgentAuthCapabilities, AgentCapabilities, AuthMethod, AuthenticateRequest, ClientAuthCapabilities,
    ClientCapabilities, ClientConfigOptions, ClientSessionCapabilities, ElicitationCapabilities,
    FileSystemCapabilities, Implementation, InitializeRequest, InitializeResponse, Marker, McpCapabilities,
    PromptCapabilities, SessionCapabilities, present,
};
pub use mcp::{McpServerEntry, NameValue};
pub use permission::{
    OutcomeMembers, PermissionOption, PermissionOptionKind, PermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse,
};
pub use prompt::{CancelRequest, PromptMeta, PromptRequest, PromptResponse, StopReason, TurnUsage};
pub use session::{
    ConfigChoice, ConfigEntry, ConfigGroup, ConfigOption, ConfigValue, ListSessionsRequest, ListSessionsResponse,
    ListedSession, ModeChoice, ModeState, ModelChoice, ModelState, NewSessionRequest, SavedSessionRequest,
    SessionRequest, SessionResponse, SetConfigOptionRequest, SetConfigOptionResponse, SetModeRequest, SetModelRequest,
};
pub use tool_call::{TerminalNews, ToolCall, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolKind};
pub use update::{
    AvailableCommand, CommandInput, CompactionStatus, Cost, MessageChunk, PlanEntry, SessionNotification, SessionUpdate,
};

use serde::Serialize;
use serde_json::Value;

/// The version that is spoken here.
pub const PROTOCOL_VERSION: u64 = 1;

/// The answer that says nothing but yes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct EmptyResponse {}

/// A message as it goes out: members in the order of their names, whichever type they come from. Only the deltas of a running
/// answer are written without this tree, by the agent itself.
pub fn sorted(message: impl Serialize) -> Value {
    serde_json::to_value(message).expect("messages have text keys and no type here refuses to be written")
}
