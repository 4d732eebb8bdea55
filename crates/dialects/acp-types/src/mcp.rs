//! Servers of tools that a client brings along (section 4).

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::forgiving::{entries, lenient};

/// One server. One on stdio has no `type`; what each needs is told by its members.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct McpServerEntry {
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(rename = "type", deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(deserialize_with = "entries", skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    #[serde(deserialize_with = "pairs", skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<NameValue>,
    #[serde(deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(deserialize_with = "pairs", skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<NameValue>,
}

/// A variable or a header.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NameValue {
    pub name: String,
    pub value: String,
}

/// A list of names and values; some clients send a map.
fn pairs<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<NameValue>, D::Error> {
    let pair = |name: &str, value: &Value| Some(NameValue { name: name.into(), value: value.as_str()?.into() });
    Ok(match Value::deserialize(from)? {
        Value::Array(list) => list.iter().filter_map(|it| pair(it["name"].as_str()?, &it["value"])).collect(),
        Value::Object(map) => map.iter().filter_map(|(name, value)| pair(name, value)).collect(),
        _ => Vec::new(),
    })
}
