//! One connection to a server, whichever way it goes.

use serde_json::value::RawValue;
use vocab::{Later, Progress};
use wire::jsonrpc::RpcError;

use crate::frames::McpRequest;

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum LinkTrouble {
    /// The server said so itself.
    Refused(RpcError),
    /// In words that follow the server's name.
    Failed(String),
    /// The server has forgotten us and has not looked at the request: a new connection may help.
    Forgotten,
}

pub(crate) trait Link: Send + Sync {
    /// Dropping the future tells the server that nobody waits any more.
    fn ask(&self, request: McpRequest, progress: Option<Progress>) -> Later<'_, Result<Box<RawValue>, LinkTrouble>>;
    /// The handshake is over: tells the server so. From here on this version is spoken.
    fn agree(&self, version: &str) -> Later<'_, Result<(), LinkTrouble>>;
    /// Nothing will come through it any more.
    fn is_over(&self) -> bool;
    /// What the server wrote beside the protocol, behind a line break.
    fn last_words(&self) -> String;
}
