//! What is said on this wire, in the order of the message table: inbound messages as they mean to us, outbound
//! messages as serde writes them. Member order is the wire's.

use crate::data::Data;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// One inbound message, checked against the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Inbound {
    Say(Say),
    Shutdown,
    /// Protocol 2.
    Open(OpenRequest),
}

/// A message to one session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Say {
    Prompt {
        text: String,
    },
    Slash {
        command: String,
        args: String,
    },
    Interrupt {},
    PermissionResponse {
        request_id: String,
        allow: bool,
        reason: Option<String>,
    },
    /// Protocol 2.
    Close {},
}

/// Which session a label of protocol 2 shall stand for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct OpenRequest {
    pub(crate) workspace: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) resume: Option<String>,
}

/// An outbound message: its members; `type` and, in protocol 2, `session` are put before them.
pub(crate) trait TypedFrame: Serialize {
    const TYPE: &'static str;
}

/// The member `session` of an outbound message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SessionMember<'a> {
    /// Protocol 1 has none.
    Absent,
    /// It belongs to the process: null.
    Process,
    Label(&'a str),
}

impl SessionMember<'_> {
    fn is_absent(&self) -> bool {
        *self == SessionMember::Absent
    }
}

impl Serialize for SessionMember<'_> {
    fn serialize<S: Serializer>(&self, into: S) -> Result<S::Ok, S::Error> {
        match self {
            SessionMember::Absent | SessionMember::Process => into.serialize_none(),
            SessionMember::Label(label) => into.serialize_str(label),
        }
    }
}

#[derive(Serialize)]
pub(crate) struct Framed<'a, F: TypedFrame> {
    pub(crate) r#type: &'static str,
    #[serde(skip_serializing_if = "SessionMember::is_absent")]
    pub(crate) session: SessionMember<'a>,
    #[serde(flatten)]
    pub(crate) frame: &'a F,
}

macro_rules! names {
    ($($frame:ty = $word:literal;)*) => { $(
        impl TypedFrame for $frame {
            const TYPE: &'static str = $word;
        }
    )* };
}
names! {
    Ready<'_> = "ready";
    Hello<'_> = "ready";
    TurnStarted<'_> = "turn_started";
    ToolStart<'_> = "tool_start";
    ToolResultFrame<'_> = "tool_result";
    PermissionRequest<'_> = "permission_request";
    TurnComplete<'_> = "turn_complete";
    SlashResult<'_> = "slash_result";
    StateChanged<'_> = "state_changed";
    Error<'_> = "error";
    Closed = "closed";
}

#[derive(Serialize)]
pub(crate) struct Ready<'a> {
    pub(crate) protocol: u8,
    pub(crate) version: &'a str,
    pub(crate) session_id: &'a str,
    pub(crate) model: &'a str,
    pub(crate) mode: &'static str,
    pub(crate) tools: Vec<&'a str>,
    pub(crate) context_window: u64,
    pub(crate) max_tokens: u64,
    pub(crate) gadgets: Vec<&'a str>,
}

/// The first line of protocol 2.
#[derive(Serialize)]
pub(crate) struct Hello<'a> {
    pub(crate) protocol: u8,
    pub(crate) version: &'a str,
}

#[derive(Serialize)]
pub(crate) struct TurnStarted<'a> {
    pub(crate) turn_id: &'a str,
}

// `text_delta` has no type: it is the delta path and is written by hand in `outbound.rs`.

#[derive(Serialize)]
pub(crate) struct ToolStart<'a> {
    pub(crate) turn_id: &'a str,
    pub(crate) tool_id: &'a str,
    pub(crate) name: &'a str,
    pub(crate) input: &'a RawValue,
}

#[derive(Serialize)]
pub(crate) struct ToolResultFrame<'a> {
    pub(crate) turn_id: &'a str,
    pub(crate) tool_id: &'a str,
    pub(crate) output: &'a str,
    pub(crate) is_error: bool,
    pub(crate) duration_s: f64,
}

#[derive(Serialize)]
pub(crate) struct PermissionRequest<'a> {
    pub(crate) request_id: &'a str,
    pub(crate) tool: &'a str,
    pub(crate) active_mode: &'static str,
    pub(crate) required_mode: &'static str,
    pub(crate) details: Details<'a>,
}

#[derive(Serialize)]
pub(crate) struct Details<'a> {
    pub(crate) tool_input: &'a RawValue,
    /// Always there, null when unset.
    pub(crate) reason: Option<&'a str>,
}

#[derive(Serialize)]
pub(crate) struct TurnComplete<'a> {
    pub(crate) turn_id: &'a str,
    pub(crate) stop_reason: &'static str,
    pub(crate) iterations: u32,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) mutations: Vec<(&'a str, &'a str)>,
}

#[derive(Serialize)]
pub(crate) struct SlashResult<'a> {
    pub(crate) command: &'a str,
    pub(crate) text: &'a str,
    /// Always there, null when there is none.
    pub(crate) data: Tree<'a>,
    pub(crate) clear_session: bool,
    pub(crate) exit: bool,
}

#[derive(Serialize, Default)]
pub(crate) struct StateChanged<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) context_pct: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) context_window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gadgets: Option<Vec<&'a str>>,
}

#[derive(Serialize)]
pub(crate) struct Error<'a> {
    pub(crate) code: &'static str,
    pub(crate) message: &'a str,
    pub(crate) origin: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) turn_id: Option<&'a str>,
}

/// Protocol 2: the label is free again.
#[derive(Serialize)]
pub(crate) struct Closed {}

/// [`Data`] as JSON, keys in their order.
pub(crate) struct Tree<'a>(pub(crate) &'a Data);

impl Serialize for Tree<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Data::Null => to.serialize_unit(),
            Data::Bool(value) => to.serialize_bool(*value),
            Data::Int(value) => to.serialize_i64(*value),
            // JSON has no infinity and no NaN; serde_json writes null for them.
            Data::Float(value) => to.serialize_f64(*value),
            Data::Text(value) => to.serialize_str(value),
            Data::List(items) => {
                let mut list = to.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(&Tree(item))?;
                }
                list.end()
            }
            Data::Map(pairs) => {
                let mut map = to.serialize_map(Some(pairs.len()))?;
                for (key, value) in pairs {
                    map.serialize_entry(key, &Tree(value))?;
                }
                map.end()
            }
        }
    }
}
