//! Tool arguments for people: the members of an object one by one, and JSON laid out over lines. Works on the text, so
//! that the order of keys and every digit stay as the model wrote them.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Deeper levels are not moved further to the right: a page of blanks tells nobody anything.
const INDENT_LEVELS_MAX: usize = 16;

/// The members of a JSON object in their own order.
pub(super) struct JsonMembers<'a>(pub(super) Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for JsonMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Take;
        impl<'de> Visitor<'de> for Take {
            type Value = JsonMembers<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry::<String, &RawValue>()? {
                    members.push(member);
                }
                Ok(JsonMembers(members))
            }
        }
        from.deserialize_map(Take)
    }
}

/// `None` when the text is no object.
pub(super) fn members(text: &str) -> Option<JsonMembers<'_>> {
    serde_json::from_str(text).ok()
}

/// The text of a JSON string; `None` for any other value.
pub(super) fn string(value: &RawValue) -> Option<String> {
    value.get().starts_with('"').then(|| serde_json::from_str(value.get()).ok()).flatten()
}

/// Well-formed JSON with one member a line. Text that is no JSON comes out with other blanks and nothing else changed.
pub(super) fn laid_out(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut depth = 0usize;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '"' => string_bytes(rest),
            _ => c.len_utf8(),
        };
        let piece = &rest[..taken];
        rest = &rest[taken..];
        match c {
            ' ' | '\t' | '\n' | '\r' => {}
            '{' | '[' => {
                let next = rest.trim_start();
                if next.starts_with(['}', ']']) {
                    out.push_str(piece);
                    out.push_str(&next[..1]);
                    rest = &next[1..];
                } else {
                    depth += 1;
                    out.push_str(piece);
                    line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push_str(piece);
            }
            ',' => {
                out.push_str(piece);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ => out.push_str(piece),
        }
    }
    out
}

fn line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth.min(INDENT_LEVELS_MAX)));
}

/// Bytes of the string literal that `text` begins with, to the end when it has none.
fn string_bytes(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_digits_and_escapes_stay() {
        let text = r#" {"b" : 1e3,"a":{}, "n":[12345678901234567890, "x\"{,:"], "e" : [ ] } "#;
        let wanted = "{\n  \"b\": 1e3,\n  \"a\": {},\n  \"n\": [\n    12345678901234567890,\n    \"x\\\"{,:\"\n  ],\n  \"e\": []\n}";
        assert_eq!(laid_out(text), wanted);
        let found = members(text).unwrap().0;
        assert_eq!(found.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["b", "a", "n", "e"]);
    }

    #[test]
    fn what_is_no_json_is_survived() {
        for text in ["", "{", "}}}", "\"\\", "[[[", "nul", "{\"a\":\"\u{e9}\\", "\u{1f600}", "[\u{a0}]", "{\u{2028}"] {
            laid_out(text);
            assert!(members(text).is_none(), "{text}");
        }
    }

    #[test]
    fn depth_costs_no_more_than_its_levels() {
        let deep = "[".repeat(100_000);
        assert!(laid_out(&deep).len() < deep.len() * (2 + 2 * INDENT_LEVELS_MAX));
    }

    #[test]
    fn only_strings_are_strings() {
        let object = members(r#"{"a":"x\ny","b":1}"#).unwrap().0;
        assert_eq!(object.iter().map(|(_, value)| string(value)).collect::<Vec<_>>(), [Some("x\ny".into()), None]);
    }
}
