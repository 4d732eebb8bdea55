//! `initialize` and signing in (section 3): who speaks, and what each side can do.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::forgiving::{Other, entries, flag, lenient};

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResponse {
    #[serde(default)]
    pub protocol_version: Value,
    #[serde(default, deserialize_with = "lenient")]
    pub agent_capabilities: AgentCapabilities,
    /// Those that can be read; the others are left out.
    #[serde(default, deserialize_with = "entries")]
    pub auth_methods: Vec<AuthMethod>,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub agent_info: Option<Implementation>,
    #[serde(flatten)]
    pub other: Other,
}

impl InitializeResponse {
    /// Sloppy agents write `"1"` or `1.0`.
    pub fn version(&self) -> Option<u64> {
        match &self.protocol_version {
            Value::Number(number) => number.as_u64().or_else(|| {
                let float = number.as_f64()?;
                (float.fract() == 0.0 && float >= 0.0).then_some(float as u64)
            }),
            Value::String(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// What it calls itself, for people.
    pub fn name(&self) -> String {
        match &self.agent_info {
            Some(info) => format!("{} {}", info.title.as_deref().unwrap_or(&info.name), info.version),
            None => "the agent".into(),
        }
    }
}

/// A program and its version.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Implementation {
    pub name: String,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub version: String,
}

/// A thing that is there: `{}`, whatever is in it. `null`, `false` and everything else is no.
pub type Marker = Option<Other>;

/// A mark that says yes.
pub fn present() -> Marker {
    Some(Other::new())
}

fn marker<'de, D: Deserializer<'de>>(from: D) -> Result<Marker, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Object(members) => Some(members),
        Value::Bool(true) => present(),
        _ => None,
    })
}

// ---- the agent's side -----------------------------------------------------------------------------------------------

/// What an agent can do.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentCapabilities {
    #[serde(deserialize_with = "flag", skip_serializing_if = "Option::is_none")]
    pub load_session: Option<bool>,
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub prompt_capabilities: Option<PromptCapabilities>,
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub mcp_capabilities: Option<McpCapabilities>,
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub session_capabilities: Option<SessionCapabilities>,
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub auth: Option<AgentAuthCapabilities>,
    #[serde(flatten)]
    pub other: Other,
}

impl AgentCapabilities {
    pub fn can_load(&self) -> bool {
        self.load_session == Some(true)
    }
    /// By the mark of one method: `session(|can| &can.resume)`.
    pub fn session(&self, mark: fn(&SessionCapabilities) -> &Marker) -> bool {
        self.session_capabilities.as_ref().is_some_and(|can| mark(can).is_some())
    }
    pub fn can_logout(&self) -> bool {
        self.auth.as_ref().is_some_and(|auth| auth.logout.is_some())
    }
}

/// What a prompt may be made of.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PromptCapabilities {
    #[serde(deserialize_with = "flag", skip_serializing_if = "Option::is_none")]
    pub image: Option<bool>,
    #[serde(deserialize_with = "flag", skip_serializing_if = "Option::is_none")]
    pub audio: Option<bool>,
    #[serde(deserialize_with = "flag", skip_serializing_if = "Option::is_none")]
    pub embedded_context: Option<bool>,
    #[serde(flatten)]
    pub other: Other,
}

/// Which servers of tools an agent connects to.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct McpCapabilities {
    #[serde(deserialize_with = "flag", skip_serializing_if = "Option::is_none")]
    pub http: Option<bool>,
    #[serde(deserialize_with = "flag", skip_serializing_if = "Option::is_none")]
    pub sse: Option<bool>,
    #[serde(flatten)]
    pub other: Other,
}

/// Which methods of `session/` an agent has beyond the first.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionCapabilities {
    #[serde(deserialize_with = "marker", skip_serializing_if = "Option::is_none")]
    pub list: Marker,
    #[serde(deserialize_with = "marker", skip_serializing_if = "Option::is_none")]
    pub resume: Marker,
    #[serde(deserialize_with = "marker", skip_serializing_if = "Option::is_none")]
    pub close: Marker,
    #[serde(deserialize_with = "marker", skip_serializing_if = "Option::is_none")]
    pub delete: Marker,
    #[serde(deserialize_with = "marker", skip_serializing_if = "Option::is_none")]
    pub fork: Marker,
    #[serde(flatten)]
    pub other: Other,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentAuthCapabilities {
    #[serde(deserialize_with = "marker", skip_serializing_if = "Option::is_none")]
    pub logout: Marker,
    #[serde(flatten)]
    pub other: Other,
}

/// A way to sign in.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AuthMethod {
    pub id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub name: String,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Missing: the agent does it by itself. `terminal`: its own command has to be run in one.
    #[serde(default, rename = "type", deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    #[serde(flatten)]
    pub other: Other,
}

impl AuthMethod {
    pub fn is_terminal(&self) -> bool {
        self.kind.as_deref() == Some("terminal")
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticateRequest {
    pub method_id: String,
}

// ---- the client's side ----------------------------------------------------------------------------------------------

/// The first request.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeRequest {
    #[serde(default)]
    pub protocol_version: Value,
    #[serde(default, deserialize_with = "lenient")]
    pub client_capabilities: ClientCapabilities,
    #[serde(default, deserialize_with = "lenient")]
    pub client_info: Implementation,
}

/// What a client does for an agent.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientCapabilities {
    #[serde(deserialize_with = "lenient")]
    pub fs: FileSystemCapabilities,
    #[serde(deserialize_with = "lenient")]
    pub terminal: bool,
    #[serde(deserialize_with = "lenient")]
    pub session: ClientSessionCapabilities,
    #[serde(deserialize_with = "lenient")]
    pub auth: ClientAuthCapabilities,
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationCapabilities>,
    #[serde(rename = "_meta", deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Other>,
}

impl ClientCapabilities {
    pub fn shows_forms(&self) -> bool {
        self.elicitation.as_ref().is_some_and(|can| can.form.is_some())
    }
    pub fn shows_addresses(&self) -> bool {
        self.elicitation.as_ref().is_some_and(|can| can.url.is_some())
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FileSystemCapabilities {
    pub read_text_file: bool,
    pub write_text_file: bool,
}

/// What a client shows beyond the first updates.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientSessionCapabilities {
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub config_options: Option<ClientConfigOptions>,
    #[serde(deserialize_with = "marker", skip_serializing_if = "Option::is_none")]
    pub notices: Marker,
    #[serde(deserialize_with = "marker", skip_serializing_if = "Option::is_none")]
    pub compaction: Marker,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientConfigOptions {
    #[serde(deserialize_with = "marker", skip_serializing_if = "Option::is_none")]
    pub boolean: Marker,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientAuthCapabilities {
    /// Commands that sign in are run in a terminal.
    pub terminal: bool,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ElicitationCapabilities {
    #[serde(deserialize_with = "marker", skip_serializing_if = "Option::is_none")]
    pub form: Marker,
    #[serde(deserialize_with = "marker", skip_serializing_if = "Option::is_none")]
    pub url: Marker,
}
