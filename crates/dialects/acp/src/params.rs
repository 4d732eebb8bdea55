//! What clients send, as the engine wants it: absolute directories, servers of tools that are complete.

use std::path::PathBuf;
use std::sync::Arc;

use acp_types::{McpServerEntry, NameValue};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use vocab::{McpServer, McpTransport, Secret};
use wire::jsonrpc::RpcError;

use crate::faults::invalid;
use crate::flow::Place;

/// A place as a client writes it: the number of an entry, or the text that came with an update.
pub(crate) fn place(value: &serde_json::Value) -> Option<Place> {
    match value {
        serde_json::Value::String(text) => Place::parse(text),
        number => number.as_u64().map(Place::at),
    }
}

/// Absent and null params are an empty object.
pub(crate) fn read<P: DeserializeOwned>(params: Option<&RawValue>) -> Result<P, RpcError> {
    let text = params.map(RawValue::get).filter(|text| *text != "null").unwrap_or("{}");
    serde_json::from_str(text).map_err(|error| invalid(format!("invalid params: {error}")))
}

/// A directory of the machine we run on.
pub(crate) fn absolute(cwd: PathBuf) -> Result<PathBuf, RpcError> {
    match cwd.is_absolute() {
        true => Ok(cwd),
        false => Err(invalid(format!("cwd must be an absolute path, not {:?}", cwd.display().to_string()))),
    }
}

pub(crate) fn servers(entries: Vec<McpServerEntry>) -> Result<Vec<McpServer>, RpcError> {
    entries.into_iter().map(server).collect()
}

/// A server of tools: by its members, because one on stdio has no `type`.
fn server(entry: McpServerEntry) -> Result<McpServer, RpcError> {
    let name: Arc<str> = entry.name.ok_or_else(|| invalid("mcpServers: every server needs a name"))?.into();
    let wrong = |what: &str| invalid(format!("mcpServers: {name}: {what}"));
    let way = match entry.kind.as_deref() {
        None | Some("stdio") => McpTransport::Process {
            command: entry.command.ok_or_else(|| wrong("command is missing"))?.into(),
            args: entry.args.into_iter().map(Into::into).collect(),
            env: pairs(entry.env),
        },
        Some("http") => McpTransport::Http {
            url: entry.url.ok_or_else(|| wrong("url is missing"))?.into(),
            headers: pairs(entry.headers),
        },
        Some(other) => return Err(wrong(&format!("servers of type {other} are not supported"))),
    };
    Ok(McpServer { name, way, trust_hints: false })
}

fn pairs(named: Vec<NameValue>) -> Vec<(Arc<str>, Secret)> {
    named.into_iter().filter_map(|it| Some((it.name.into(), Secret::new(&it.value)?))).collect()
}
