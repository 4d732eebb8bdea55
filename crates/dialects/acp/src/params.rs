//! What clients send, read with patience: unknown members are ignored, and what some clients leave out or spell otherwise is
//! understood.

use std::path::PathBuf;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use vocab::{McpServer, McpTransport, Secret};
use wire::jsonrpc::RpcError;

use crate::frames::invalid;

/// Absent and null params are an empty object.
pub(crate) fn read<P: DeserializeOwned>(params: Option<&RawValue>) -> Result<P, RpcError> {
    let text = params.map(RawValue::get).filter(|text| *text != "null").unwrap_or("{}");
    serde_json::from_str(text).map_err(|error| invalid(format!("invalid params: {error}")))
}

/// Whatever is not of the right type counts as absent.
fn lenient<'de, T: DeserializeOwned + Default, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(from)?).unwrap_or_default())
}

/// An object says yes; missing and null say no.
fn marker<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Ok(!matches!(Value::deserialize(from)?, Value::Null | Value::Bool(false)))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Initialize {
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) client_capabilities: Client,
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) client_info: ClientInfo,
}

/// Who the client is, as far as it says.
#[derive(Deserialize, Default)]
pub(crate) struct ClientInfo {
    #[serde(default)]
    pub(crate) name: String,
}

/// What the client can do for us.
#[derive(Clone, Deserialize, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Client {
    #[serde(deserialize_with = "lenient")]
    pub(crate) fs: Fs,
    #[serde(deserialize_with = "lenient")]
    pub(crate) terminal: bool,
    #[serde(deserialize_with = "lenient")]
    pub(crate) session: SessionSide,
    #[serde(deserialize_with = "lenient")]
    pub(crate) auth: AuthSide,
    #[serde(deserialize_with = "lenient")]
    pub(crate) elicitation: Elicitation,
}

#[derive(Clone, Deserialize, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Fs {
    pub(crate) read_text_file: bool,
    pub(crate) write_text_file: bool,
}

#[derive(Clone, Deserialize, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SessionSide {
    #[serde(deserialize_with = "marker")]
    pub(crate) notices: bool,
    #[serde(deserialize_with = "marker")]
    pub(crate) compaction: bool,
}

#[derive(Clone, Deserialize, Default, Debug)]
#[serde(default)]
pub(crate) struct AuthSide {
    pub(crate) terminal: bool,
}

#[derive(Clone, Deserialize, Default, Debug)]
#[serde(default)]
pub(crate) struct Elicitation {
    #[serde(deserialize_with = "marker")]
    pub(crate) form: bool,
    #[serde(deserialize_with = "marker")]
    pub(crate) url: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NewSession {
    pub(crate) cwd: PathBuf,
    #[serde(default, deserialize_with = "lenient")]
    mcp_servers: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OldSession {
    pub(crate) session_id: String,
    pub(crate) cwd: Option<PathBuf>,
    #[serde(default, deserialize_with = "lenient")]
    mcp_servers: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OneSession {
    pub(crate) session_id: String,
}

#[derive(Deserialize)]
pub(crate) struct List {
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Prompt {
    pub(crate) session_id: String,
    pub(crate) prompt: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetMode {
    pub(crate) session_id: String,
    pub(crate) mode_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetModel {
    pub(crate) session_id: String,
    pub(crate) model_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetOption {
    pub(crate) session_id: String,
    pub(crate) config_id: String,
    pub(crate) value: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Authenticate {
    pub(crate) method_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CancelRequest {
    pub(crate) request_id: Box<RawValue>,
}

/// A directory of the machine we run on.
pub(crate) fn absolute(cwd: PathBuf) -> Result<PathBuf, RpcError> {
    match cwd.is_absolute() {
        true => Ok(cwd),
        false => Err(invalid(format!("cwd must be an absolute path, not {:?}", cwd.display().to_string()))),
    }
}

impl NewSession {
    pub(crate) fn servers(&self) -> Result<Vec<McpServer>, RpcError> {
        self.mcp_servers.iter().map(server).collect()
    }
}
impl OldSession {
    pub(crate) fn servers(&self) -> Result<Vec<McpServer>, RpcError> {
        self.mcp_servers.iter().map(server).collect()
    }
}

/// A server of tools: by its members, because one on stdio has no `type`.
fn server(value: &Value) -> Result<McpServer, RpcError> {
    let text = |name: &str| value[name].as_str().map(Arc::<str>::from);
    let name = text("name").ok_or_else(|| invalid("mcpServers: every server needs a name"))?;
    let wrong = |what: &str| invalid(format!("mcpServers: {name}: {what}"));
    let way = match value["type"].as_str() {
        None | Some("stdio") => McpTransport::Process {
            command: text("command").ok_or_else(|| wrong("command is missing"))?,
            args: value["args"].as_array().into_iter().flatten().filter_map(|it| it.as_str().map(Into::into)).collect(),
            env: pairs(&value["env"]),
        },
        Some("http") => McpTransport::Http {
            url: text("url").ok_or_else(|| wrong("url is missing"))?,
            headers: pairs(&value["headers"]),
        },
        Some(other) => return Err(wrong(&format!("servers of type {other} are not supported"))),
    };
    Ok(McpServer { name, way, trust_hints: false })
}

/// A list of names and values; some clients send a map.
fn pairs(value: &Value) -> Vec<(Arc<str>, Secret)> {
    let pair = |name: &str, value: &Value| Some((Arc::from(name), Secret::new(value.as_str()?)?));
    match value {
        Value::Array(list) => list.iter().filter_map(|it| pair(it["name"].as_str()?, &it["value"])).collect(),
        Value::Object(map) => map.iter().filter_map(|(name, value)| pair(name, value)).collect(),
        _ => Vec::new(),
    }
}
