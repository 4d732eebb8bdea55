//! What a request asks for: the script in its last user message, and how many calls of the model came since.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::format::Format;

pub(super) struct Asked {
    pub(super) script: String,
    pub(super) calls_before: usize,
    pub(super) messages: usize,
}

/// The lists of messages of all formats; each has one of them.
#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow, default)]
    messages: Vec<Message<'a>>,
    #[serde(borrow, default)]
    input: Vec<Message<'a>>,
    #[serde(borrow, default)]
    contents: Vec<Message<'a>>,
    #[serde(default)]
    stream: bool,
}
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    role: Cow<'a, str>,
    #[serde(borrow, default, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default, alias = "parts")]
    content: Option<&'a RawValue>,
}
#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
}

impl Message<'_> {
    /// Its text, whether it is written as a string or as parts.
    fn text(&self) -> Result<String, String> {
        let raw = self.content.map_or("\"\"", RawValue::get);
        if let Ok(text) = serde_json::from_str::<String>(raw) {
            return Ok(text);
        }
        let parts: Vec<Part> =
            serde_json::from_str(raw).map_err(|_| "content is neither text nor parts".to_string())?;
        Ok(parts.into_iter().map(|part| part.text).collect())
    }
    /// Said by the model: a whole answer, or an item of one that is a call.
    fn is_answer(&self) -> bool {
        matches!(&*self.role, "assistant" | "model") || self.kind == "function_call"
    }
}

pub(super) fn read(format: Format, body: &[u8]) -> Result<Asked, String> {
    let body: Body<'_> = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    if !body.stream && format != Format::Gemini {
        return Err("this mock only streams".into());
    }
    let messages = match format {
        Format::Completions | Format::Anthropic => body.messages,
        Format::Responses => body.input,
        Format::Gemini => body.contents,
    };
    // Results come from the user, too, in some formats; they have no text of their own.
    let asks = |message: &Message<'_>| message.role == "user" && message.text().is_ok_and(|text| !text.is_empty());
    let user = messages.iter().rposition(asks).ok_or("no user message")?;
    Ok(Asked {
        script: messages[user].text()?,
        calls_before: messages[user..].iter().filter(|message| message.is_answer()).count(),
        messages: messages.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_found_in_every_format() {
        for (format, body) in [
            (
                Format::Completions,
                r#"{"stream":true,"messages":[{"role":"user","content":"old"},{"role":"assistant","content":"x"},
                   {"role":"user","content":"s"},{"role":"assistant","content":null},{"role":"tool","content":"r"}]}"#,
            ),
            (
                Format::Responses,
                r#"{"stream":true,"input":[{"role":"user","content":[{"type":"input_text","text":"s"}]},
                   {"type":"function_call","name":"f"},{"type":"function_call_output","output":"r"}]}"#,
            ),
            (
                Format::Anthropic,
                r#"{"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"s"}]},
                   {"role":"assistant","content":[]},{"role":"user","content":[{"type":"tool_result"}]}]}"#,
            ),
            (
                Format::Gemini,
                r#"{"contents":[{"role":"user","parts":[{"text":"s"}]},{"role":"model","parts":[{"functionCall":{}}]},
                   {"role":"user","parts":[{"functionResponse":{}}]}]}"#,
            ),
        ] {
            let asked = read(format, body.as_bytes()).unwrap();
            assert_eq!((&*asked.script, asked.calls_before), ("s", 1), "{format:?}");
        }
        assert!(read(Format::Anthropic, br#"{"messages":[]}"#).is_err());
    }
}
