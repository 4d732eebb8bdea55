//! The answer to `initialize` (section 3).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Other, entries, lenient};

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    #[serde(default)]
    pub protocol_version: Value,
    #[serde(default)]
    pub agent_capabilities: Capabilities,
    /// Those that can be read; the others are left out.
    #[serde(default, deserialize_with = "entries")]
    pub auth_methods: Vec<AuthMethod>,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub agent_info: Option<Info>,
    #[serde(flatten)]
    pub other: Other,
}

impl Agent {
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

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Info {
    pub name: String,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub version: String,
}

/// What an agent can do. An object marks a thing as there, whatever is in it; `null` and `false` are no.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Capabilities(pub Value);

impl Capabilities {
    /// By the path of its names: `has(&["sessionCapabilities", "resume"])`.
    pub fn has(&self, path: &[&str]) -> bool {
        let found = path.iter().try_fold(&self.0, |value, name| value.get(name));
        matches!(found, Some(Value::Bool(true) | Value::Object(_)))
    }
    pub fn load(&self) -> bool {
        self.has(&["loadSession"])
    }
    /// `list`, `resume`, `close`, `delete`, `fork`, `additionalDirectories`.
    pub fn session(&self, name: &str) -> bool {
        self.has(&["sessionCapabilities", name])
    }
    /// `image`, `audio`, `embeddedContext`.
    pub fn prompt(&self, name: &str) -> bool {
        self.has(&["promptCapabilities", name])
    }
    pub fn logout(&self) -> bool {
        self.has(&["auth", "logout"])
    }
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
