//! One inbound line -> one message, or the one error that answers it. Nothing is coerced and nothing is ignored; the
//! first thing wrong is named by message and member.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::faults::{INVALID_MESSAGE, MALFORMED_JSON};
use crate::frames::{Inbound, OpenRequest, Say};
use crate::messages::{Belongs, INBOUND, MessageRow, Shape};

/// A message and, in protocol 2, the label of its session.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct HeardMessage {
    pub(crate) session: Option<String>,
    pub(crate) message: Inbound,
}

/// ServePending a line was refused; `session` as far as it could be read.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct RefusedLine {
    pub(crate) session: Option<String>,
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

/// Blank lines keep a connection alive and mean nothing.
pub(crate) fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
}

pub(crate) fn from_wire(line: &[u8], protocol: u8) -> Result<HeardMessage, RefusedLine> {
    let refused = |code, message| RefusedLine { session: None, code, message };
    let text = wire::check(line).map_err(|error| refused(MALFORMED_JSON, error.to_string()))?;
    let text = wire::replace_lone_surrogates(text);
    if !text.trim_start().starts_with('{') {
        return Err(refused(INVALID_MESSAGE, "expected an object".into()));
    }
    // What `check` accepts is an object with distinct keys here; only a bug in it could end in this error.
    let members: LineMembers<'_> =
        serde_json::from_str(&text).map_err(|error| refused(MALFORMED_JSON, error.to_string()))?;
    let session = members.text("session").filter(|_| protocol == 2);
    match read(&members, protocol) {
        Ok(message) => Ok(HeardMessage { session, message }),
        Err(message) => Err(RefusedLine { session, code: INVALID_MESSAGE, message }),
    }
}

fn read(members: &LineMembers<'_>, protocol: u8) -> Result<Inbound, String> {
    let Some(kind) = members.get("type") else { return Err("type: field required".into()) };
    let Some(kind) = as_text(kind) else { return Err("type: expected a string".into()) };
    let known = || INBOUND.iter().filter(|message| message.protocols.contains(&protocol));
    let Some(message) = known().find(|message| message.name == kind) else {
        let names: Vec<_> = known().map(|message| message.name).collect();
        return Err(format!("type: unknown message {:?}, expected one of {}", shown(&kind), names.join(", ")));
    };
    conform(members, message, protocol)?;
    let text = |name| members.text(name);
    let needed = |name| text(name).ok_or_else(|| format!("{}.{name}: expected a string", message.name));
    Ok(match message.name {
        "prompt" => Inbound::Say(Say::Prompt { text: needed("text")? }),
        "slash" => Inbound::Say(Say::Slash { command: needed("command")?, args: text("args").unwrap_or_default() }),
        "interrupt" => Inbound::Say(Say::Interrupt {}),
        "permission_response" => Inbound::Say(Say::PermissionResponse {
            request_id: needed("request_id")?,
            allow: needed("decision")? == "allow",
            reason: text("reason"),
        }),
        "shutdown" => Inbound::Shutdown,
        "open" => {
            Inbound::Open(OpenRequest { workspace: text("workspace"), model: text("model"), resume: text("resume") })
        }
        "close" => Inbound::Say(Say::Close {}),
        other => unreachable!("{other} is in the table and not here; the test of every message would have found it"),
    })
}

/// Compares a message with its row of the table: what it has, in its own order, then what it lacks.
fn conform(members: &LineMembers<'_>, message: &MessageRow, protocol: u8) -> Result<(), String> {
    let name = message.name;
    for (key, value) in &members.0 {
        let shape = match &**key {
            "type" => continue,
            "session" if protocol == 2 => match message.belongs {
                Belongs::Process => Shape::Null,
                Belongs::Session | Belongs::Either => Shape::Text,
            },
            key => match message.members.iter().find(|member| member.name == key) {
                Some(member) => member.shape,
                None => return Err(format!("{name}.{}: unknown field", shown(key))),
            },
        };
        holds(shape, value).map_err(|wanted| format!("{name}.{key}: expected {wanted}"))?;
    }
    let session = (protocol == 2).then_some("session");
    let required = message.members.iter().filter(|member| member.required).map(|member| member.name);
    match session.into_iter().chain(required).find(|needed| members.get(needed).is_none()) {
        Some(missing) => Err(format!("{name}.{missing}: field required")),
        None => Ok(()),
    }
}

/// Whether a value has the shape; else what it should have been.
fn holds(shape: Shape, value: &RawValue) -> Result<(), String> {
    // The text is checked JSON, so the first byte tells; a long prompt is not copied to find out.
    let is_null = value.get() == "null";
    let is_text = value.get().starts_with('"');
    let (fits, wanted) = match shape {
        Shape::Text => (is_text, "a string".into()),
        Shape::TextOrNull => (is_null || is_text, "a string or null".into()),
        Shape::Null => (is_null, "null".into()),
        Shape::OneOf(words) => {
            let quoted: Vec<_> = words.iter().map(|word| format!("{word:?}")).collect();
            (as_text(value).is_some_and(|text| words.contains(&&*text)), quoted.join(" or "))
        }
        Shape::Flag
        | Shape::Count
        | Shape::Number
        | Shape::Percent
        | Shape::Object
        | Shape::ObjectOrNull
        | Shape::Texts
        | Shape::Pairs
        | Shape::Exactly(_)
        | Shape::Details => unreachable!("no inbound member has this shape"),
    };
    if fits { Ok(()) } else { Err(wanted) }
}

fn as_text(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

/// Characters of a foreign name that an error repeats; the rest is cut, so that errors stay small.
const SHOWN_CHARS_MAX: usize = 64;

pub(crate) fn shown(name: &str) -> &str {
    name.char_indices().nth(SHOWN_CHARS_MAX).map_or(name, |(cut, _)| &name[..cut])
}

/// The members of an object in their own order, values unread.
struct LineMembers<'a>(Vec<(String, &'a RawValue)>);

impl<'a> LineMembers<'a> {
    fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| *value)
    }
    fn text(&self, name: &str) -> Option<String> {
        self.get(name).and_then(as_text)
    }
}

impl<'de> Deserialize<'de> for LineMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct CollectMembers;
        impl<'de> Visitor<'de> for CollectMembers {
            type Value = LineMembers<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LineMembers<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(LineMembers(members))
            }
        }
        from.deserialize_map(CollectMembers)
    }
}
