//! The published JSON Schema, printed from the message table.

use std::fmt::Write;

use crate::messages::{Belongs, INBOUND, MODES, MessageRow, OUTBOUND, Shape};

/// JSON Schema of every message: `#/$defs/inbound1`, `outbound1`, `inbound2` and `outbound2` are what a controller
/// checks a line against; the root accepts any of them.
pub fn schema() -> String {
    let mut text = String::from(concat!(
        "{\n\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\n",
        "\"title\":\"serve\",\n",
        "\"description\":\"One line of the serve dialect. Protocol 1: one session. Protocol 2 (--multi): many.\",\n",
        "\"anyOf\":[{\"$ref\":\"#/$defs/inbound1\"},{\"$ref\":\"#/$defs/outbound1\"},",
        "{\"$ref\":\"#/$defs/inbound2\"},{\"$ref\":\"#/$defs/outbound2\"}],\n",
        "\"$defs\":{\n"
    ));
    write!(text, "\"mode\":{}", choice(MODES)).expect("writing to a string");
    for protocol in [1, 2] {
        for (direction, messages) in [("inbound", INBOUND), ("outbound", OUTBOUND)] {
            let spoken = messages.iter().filter(|message| message.protocols.contains(&protocol));
            let all: Vec<_> = spoken.map(|message| object(message, protocol)).collect();
            write!(text, ",\n\"{direction}{protocol}\":{{\"oneOf\":[\n{}\n]}}", all.join(",\n"))
                .expect("writing to a string");
        }
    }
    text + "\n}\n}\n"
}

fn object(message: &MessageRow, protocol: u8) -> String {
    let mut members = vec![("type", format!("{{\"const\":\"{}\"}}", message.name), true)];
    if protocol == 2 {
        let session = match message.belongs {
            Belongs::Session => "{\"type\":\"string\"}",
            Belongs::Process => "{\"type\":\"null\"}",
            Belongs::Either => "{\"type\":[\"string\",\"null\"]}",
        };
        members.push(("session", session.into(), true));
    }
    let least = members.len() + message.members_min;
    members.extend(message.members.iter().map(|member| (member.name, shape(member.shape), member.required)));
    let properties: Vec<_> = members.iter().map(|(name, shape, _)| format!("\"{name}\":{shape}")).collect();
    let required: Vec<_> =
        members.iter().filter(|(_, _, required)| *required).map(|(name, _, _)| format!("\"{name}\"")).collect();
    let least = if message.members_min > 0 { format!(",\"minProperties\":{least}") } else { String::new() };
    format!(
        "{{\"type\":\"object\",\"properties\":{{{}}},\"required\":[{}],\"additionalProperties\":false{least}}}",
        properties.join(","),
        required.join(",")
    )
}

fn choice(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
    format!("{{\"enum\":[{}]}}", quoted.join(","))
}

fn shape(shape: Shape) -> String {
    let fixed = match shape {
        Shape::Text => "{\"type\":\"string\"}",
        Shape::TextOrNull => "{\"type\":[\"string\",\"null\"]}",
        Shape::Null => "{\"type\":\"null\"}",
        Shape::Flag => "{\"type\":\"boolean\"}",
        Shape::Count => "{\"type\":\"integer\",\"minimum\":0}",
        Shape::Number => "{\"type\":\"number\",\"minimum\":0}",
        Shape::Percent => "{\"type\":\"number\",\"minimum\":0,\"maximum\":100}",
        Shape::Object => "{\"type\":\"object\"}",
        Shape::ObjectOrNull => "{\"type\":[\"object\",\"null\"]}",
        Shape::Texts => "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}",
        Shape::Pairs => {
            "{\"type\":\"array\",\"items\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"minItems\":2,\"maxItems\":2}}"
        }
        Shape::Details => concat!(
            "{\"type\":\"object\",\"properties\":{\"tool_input\":{\"type\":\"object\"},",
            "\"reason\":{\"type\":[\"string\",\"null\"]}},\"required\":[\"tool_input\",\"reason\"],",
            "\"additionalProperties\":false}"
        ),
        Shape::OneOf(words) if words == MODES => "{\"$ref\":\"#/$defs/mode\"}",
        Shape::OneOf(words) => return choice(words),
        Shape::Exactly(number) => return format!("{{\"const\":{number}}}"),
    };
    fixed.into()
}
