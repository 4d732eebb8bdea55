//! Finds an offered tool under whatever spelling it is offered, and writes arguments under the names its schema has.

use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;

use vocab::{ToolSpec, names};

use crate::beat::{Beat, ScriptedCall};

/// What an argument means to us, and the names that tool families give it; the first is ours.
const ARGUMENTS: &[&[&str]] = &[
    &["path", "file_path", "filePath", "filename", "file"],
    &["content", "contents", "text"],
    &["pattern", "query", "glob", "regex"],
    &["old_string", "old_text", "oldText", "old_str", "old"],
    &["new_string", "new_text", "newText", "new_str", "new"],
    &["command", "cmd", "script"],
];

/// The part of a JSON Schema that says how arguments are called.
#[derive(Deserialize, Default)]
struct Schema {
    #[serde(default)]
    properties: BTreeMap<String, IgnoredAny>,
}

/// A call of the tool with this canonical name, under the spelling that is on offer. `None`: nobody offers it.
pub(crate) fn call(tools: &[ToolSpec], tool: &str, arguments: &[(&str, &str)]) -> Option<Beat> {
    let spec = find(tools, tool)?;
    // A schema we cannot read costs nothing but our guess: the canonical names are used.
    let schema: Schema = serde_json::from_str(spec.schema.as_str()).unwrap_or_default();
    let mut input = String::from("{");
    for (index, (meaning, value)) in arguments.iter().enumerate() {
        if index > 0 {
            input.push(',');
        }
        input.push_str(&quote(schema.spelling(meaning)));
        input.push(':');
        input.push_str(&quote(value));
    }
    input.push('}');
    Some(Beat::Call(ScriptedCall { id: None, name: spec.name.to_string(), input }))
}

pub(crate) fn find<'a>(tools: &'a [ToolSpec], tool: &str) -> Option<&'a ToolSpec> {
    tools.iter().find(|spec| names::canonical(&spec.name) == Some(tool))
}

impl Schema {
    fn spelling<'a>(&self, meaning: &'a str) -> &'a str {
        let known = ARGUMENTS.iter().find(|names| names[0] == meaning);
        known
            .and_then(|names| names.iter().copied().find(|name| self.properties.contains_key(*name)))
            .unwrap_or(meaning)
    }
}

fn quote(text: &str) -> String {
    serde_json::to_string(text).expect("a string is always JSON")
}
