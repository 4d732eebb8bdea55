//! The protocol's frames as serde types, in the order of `docs/extensions.md`. Ours are written from borrowed words;
//! theirs are read leniently: unknown members are ignored, so that a newer extension works with an older host.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use vocab::{Image, Part};
use wire::jsonrpc;
pub(crate) use wire::jsonrpc::{INVALID_PARAMS, METHOD_NOT_FOUND, RpcError, notification, request, result};

// ---- the envelope -----------------------------------------------------------------------------------------------

/// What the engine refused.
pub(crate) const REFUSED: i64 = jsonrpc::SERVER_ERROR;

pub(crate) fn error(out: &mut Vec<u8>, id: &RawValue, code: i64, message: String) {
    jsonrpc::error(out, Some(id), &RpcError::new(code, message));
}

// ---- content ----------------------------------------------------------------------------------------------------

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum ContentPart<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Image {
        #[serde(rename = "mimeType")]
        mime: Cow<'a, str>,
        data: Cow<'a, str>,
    },
}

/// Text, or a list of parts.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Content {
    Text(String),
    Parts(Vec<ContentPart<'static>>),
}

impl Content {
    pub(crate) fn parts(self) -> Vec<Part> {
        match self {
            Content::Text(text) => vec![Part::text(text)],
            Content::Parts(parts) => parts
                .into_iter()
                .map(|part| match part {
                    ContentPart::Text { text } => Part::text(text.into_owned()),
                    ContentPart::Image { mime, data } => {
                        Part::Image(Image { mime: mime.into_owned().into(), base64: data.into_owned().into() })
                    }
                })
                .collect(),
        }
    }
}

pub(crate) fn content(parts: &[Part]) -> Vec<ContentPart<'_>> {
    parts.iter().map(content_part).collect()
}

fn content_part(part: &Part) -> ContentPart<'_> {
    match part {
        Part::Text(text) => ContentPart::Text { text: Cow::Borrowed(text) },
        Part::Image(image) => {
            ContentPart::Image { mime: Cow::Borrowed(&image.mime), data: Cow::Borrowed(&image.base64) }
        }
    }
}

// ---- ours -------------------------------------------------------------------------------------------------------

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Initialize<'a> {
    pub(crate) protocol: u32,
    pub(crate) name: &'a str,
    pub(crate) version: &'a str,
    pub(crate) workspace: &'a str,
    pub(crate) capabilities: Capabilities,
}

/// What can be wanted from us, so that an extension need not try.
#[derive(Serialize)]
pub(crate) struct Capabilities {
    pub(crate) events: &'static [&'static str],
    pub(crate) hooks: &'static [&'static str],
    pub(crate) ui: &'static [&'static str],
}

pub(crate) const HOOKS: &[&str] = &["before_turn", "before_call", "after_call"];
pub(crate) const UI: &[&str] = &[
    "ui/select",
    "ui/confirm",
    "ui/input",
    "ui/editor",
    "ui/notify",
    "ui/setStatus",
    "ui/setWidget",
    "ui/setTitle",
    "ui/setEditorText",
];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolCall<'a> {
    pub(crate) session: &'a str,
    pub(crate) call_id: &'a str,
    pub(crate) tool: &'a str,
    pub(crate) input: &'a RawValue,
}

#[derive(Serialize)]
pub(crate) struct CommandRun<'a> {
    pub(crate) session: &'a str,
    pub(crate) name: &'a str,
    pub(crate) args: &'a str,
}

#[derive(Serialize)]
pub(crate) struct BeforeTurn<'a> {
    pub(crate) session: &'a str,
    pub(crate) prompt: &'a str,
    pub(crate) content: Vec<ContentPart<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AfterCall<'a> {
    pub(crate) session: &'a str,
    pub(crate) call_id: &'a str,
    pub(crate) tool: &'a str,
    pub(crate) content: Vec<ContentPart<'a>>,
    pub(crate) is_error: bool,
}

#[derive(Serialize)]
pub(crate) struct Cancel {
    pub(crate) id: u64,
}

#[derive(Serialize)]
pub(crate) struct Empty {}

/// `event` notifications. `type` is one of [`EVENTS`].
#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventFrame<'a> {
    pub(crate) session: &'a str,
    pub(crate) r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) workspace: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) turn_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stop_reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delta: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) input: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<Vec<ContentPart<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) is_error: Option<bool>,
}

pub(crate) const EVENTS: &[&str] = &[
    "session_start",
    "session_end",
    "turn_start",
    "turn_end",
    "message",
    "tool_call",
    "tool_result",
    "text_delta",
    "thinking_delta",
    "settled",
];

// ---- theirs -----------------------------------------------------------------------------------------------------

/// What an extension answers to `initialize`.
#[derive(Deserialize)]
pub(crate) struct Registration<'a> {
    pub(crate) name: Option<String>,
    #[serde(borrow, default)]
    pub(crate) tools: Vec<ToolDef<'a>>,
    #[serde(default)]
    pub(crate) commands: Vec<CommandDef>,
    #[serde(default)]
    pub(crate) hooks: Vec<String>,
    #[serde(default)]
    pub(crate) events: Vec<String>,
}

#[derive(Deserialize)]
pub(crate) struct ToolDef<'a> {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) description: String,
    #[serde(borrow)]
    pub(crate) parameters: Option<&'a RawValue>,
    /// The rung its calls need; without a word it is the highest.
    pub(crate) required: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct CommandDef {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct ToolResult<'a> {
    pub(crate) content: Content,
    #[serde(rename = "isError", default)]
    pub(crate) is_error: bool,
    #[serde(borrow)]
    pub(crate) details: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
pub(crate) struct TurnVerdict {
    pub(crate) system: Option<String>,
    pub(crate) message: Option<String>,
}

#[derive(Deserialize, Default)]
pub(crate) struct CallVerdict<'a> {
    #[serde(default)]
    pub(crate) block: bool,
    pub(crate) reason: Option<String>,
    #[serde(borrow)]
    pub(crate) input: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
pub(crate) struct ResultVerdict {
    pub(crate) content: Option<Content>,
    #[serde(rename = "isError")]
    pub(crate) is_error: Option<bool>,
}

#[derive(Deserialize)]
pub(crate) struct ToolProgress {
    /// Of the `tool/call` request.
    pub(crate) id: u64,
    pub(crate) content: Content,
}

#[derive(Deserialize)]
pub(crate) struct Tools<'a> {
    #[serde(borrow)]
    pub(crate) tools: Vec<ToolDef<'a>>,
}

#[derive(Deserialize)]
pub(crate) struct Commands {
    pub(crate) commands: Vec<CommandDef>,
}

#[derive(Deserialize)]
pub(crate) struct HookNames {
    pub(crate) hooks: Vec<String>,
}

/// Every `ui/` method in one: which members must be there is said by the method.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ui {
    pub(crate) title: Option<String>,
    pub(crate) options: Option<Vec<String>>,
    pub(crate) message: Option<String>,
    pub(crate) placeholder: Option<String>,
    pub(crate) prefill: Option<String>,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) level: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) lines: Option<Vec<String>>,
    pub(crate) placement: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct Prompt {
    pub(crate) text: String,
    pub(crate) deliver: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct Log {
    pub(crate) message: String,
}

/// The session a frame is about; the last one that was heard of, when it does not say.
#[derive(Deserialize, Default)]
pub(crate) struct About {
    pub(crate) session: Option<String>,
}

/// What a dialog came to.
#[derive(Serialize)]
pub(crate) struct Value<'a> {
    pub(crate) value: Option<&'a str>,
}

#[derive(Serialize)]
pub(crate) struct Confirmed {
    pub(crate) confirmed: bool,
}
