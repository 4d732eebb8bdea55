//! Content blocks (section 5): what a prompt, a message or a tool's output is made of.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::forgiving::{Other, lenient};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ContentBlock {
    Text {
        #[serde(default, deserialize_with = "lenient")]
        text: String,
        #[serde(flatten)]
        other: Other,
    },
    Image {
        #[serde(default, deserialize_with = "lenient")]
        data: String,
        #[serde(default, deserialize_with = "lenient")]
        mime_type: String,
        #[serde(flatten)]
        other: Other,
    },
    Audio {
        #[serde(default, deserialize_with = "lenient")]
        data: String,
        #[serde(default, deserialize_with = "lenient")]
        mime_type: String,
        #[serde(flatten)]
        other: Other,
    },
    ResourceLink {
        #[serde(default, deserialize_with = "lenient")]
        uri: String,
        #[serde(default, deserialize_with = "lenient")]
        name: String,
        #[serde(flatten)]
        other: Other,
    },
    Resource {
        #[serde(default, deserialize_with = "lenient")]
        resource: EmbeddedResource,
        #[serde(flatten)]
        other: Other,
    },
    #[serde(untagged)]
    Unknown(Value),
}

/// A file's text, or its bytes as `blob` in `other`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct EmbeddedResource {
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(flatten)]
    pub other: Other,
}

impl ContentBlock {
    pub fn text(text: impl Into<String>) -> Self {
        ContentBlock::Text { text: text.into(), other: Other::new() }
    }

    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        ContentBlock::Image { data: data.into(), mime_type: mime_type.into(), other: Other::new() }
    }

    /// What a person can read of it; an image is named, not shown.
    pub fn shown(&self) -> String {
        match self {
            ContentBlock::Text { text, .. } => text.clone(),
            ContentBlock::Image { mime_type, .. } => format!("[image {mime_type}]"),
            ContentBlock::Audio { mime_type, .. } => format!("[audio {mime_type}]"),
            ContentBlock::ResourceLink { uri, .. } => format!("[{uri}]"),
            ContentBlock::Resource { resource, .. } => match &resource.text {
                Some(text) => text.clone(),
                None => format!("[{}]", resource.uri.as_deref().unwrap_or("resource")),
            },
            ContentBlock::Unknown(value) => {
                let kind = value.get("type").and_then(Value::as_str).unwrap_or("something");
                format!("[{kind}]")
            }
        }
    }
}
