//! Content blocks (section 5): what a prompt, a message or a tool's output is made of.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Other;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Block {
    Text {
        text: String,
        #[serde(flatten)]
        other: Other,
    },
    Image {
        data: String,
        mime_type: String,
        #[serde(flatten)]
        other: Other,
    },
    Audio {
        data: String,
        mime_type: String,
        #[serde(flatten)]
        other: Other,
    },
    ResourceLink {
        uri: String,
        #[serde(default)]
        name: String,
        #[serde(flatten)]
        other: Other,
    },
    Resource {
        /// `{uri, text}` or `{uri, blob}`.
        resource: Value,
        #[serde(flatten)]
        other: Other,
    },
    #[serde(untagged)]
    Unknown(Value),
}

impl Block {
    pub fn text(text: impl Into<String>) -> Self {
        Block::Text { text: text.into(), other: Other::new() }
    }

    /// What a person can read of it; a picture is named, not shown.
    pub fn shown(&self) -> String {
        match self {
            Block::Text { text, .. } => text.clone(),
            Block::Image { mime_type, .. } => format!("[image {mime_type}]"),
            Block::Audio { mime_type, .. } => format!("[audio {mime_type}]"),
            Block::ResourceLink { uri, .. } => format!("[{uri}]"),
            Block::Resource { resource, .. } => match resource.get("text").and_then(Value::as_str) {
                Some(text) => text.to_owned(),
                None => format!("[{}]", resource.get("uri").and_then(Value::as_str).unwrap_or("resource")),
            },
            Block::Unknown(value) => {
                let kind = value.get("type").and_then(Value::as_str).unwrap_or("something");
                format!("[{kind}]")
            }
        }
    }
}
