//! Content blocks as JSON. Those of the user's side, tools and the system prompt lack their closing brace, so that a
//! breakpoint can be put before it.

use bytes::{BufMut, BytesMut};
use vocab::{Call, Image, Part, ToolSpec};

use crate::call_pairing::function_name;
use crate::json::string;

/// For a call whose name never came: an empty one is refused.
const NAMELESS: &str = "unnamed";
/// What this API reads.
const MEDIA_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// What has nothing but white space in it is refused as empty.
pub(super) fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

pub(super) fn is_readable(image: &Image) -> bool {
    MEDIA_TYPES.contains(&&*image.mime)
}

// ---- open at their end --------------------------------------------------------------------------------------------

pub(super) fn part(out: &mut BytesMut, part: &Part) {
    match part {
        Part::Text(words) => text(out, words),
        Part::Image(image) => {
            out.put_slice(br#"{"type":"image","source":{"type":"base64","media_type":"#);
            string(out, &image.mime);
            out.put_slice(br#","data":"#);
            string(out, &image.base64);
            out.put_u8(b'}');
        }
    }
}

pub(super) fn text(out: &mut BytesMut, text: &str) {
    out.put_slice(br#"{"type":"text","text":"#);
    string(out, text);
}

pub(super) fn result(out: &mut BytesMut, id: &str, parts: &[Part], is_error: bool) {
    out.put_slice(br#"{"type":"tool_result","tool_use_id":"#);
    string(out, id);
    for (number, one) in parts.iter().enumerate() {
        out.put_slice(if number == 0 { br#","content":["# } else { b"," });
        part(out, one);
        out.put_u8(b'}');
    }
    out.put_u8(b']');
    if is_error {
        out.put_slice(br#","is_error":true"#);
    }
}

pub(super) fn tool(out: &mut BytesMut, tool: &ToolSpec) {
    out.put_slice(br#"{"name":"#);
    string(out, &function_name(&tool.name));
    if !is_blank(&tool.description) {
        out.put_slice(br#","description":"#);
        string(out, &tool.description);
    }
    out.put_slice(br#","input_schema":"#);
    out.put_slice(tool.schema.as_str().as_bytes());
}

// ---- of the model's side, complete --------------------------------------------------------------------------------

pub(super) fn said(out: &mut BytesMut, words: &str) {
    text(out, words);
    out.put_u8(b'}');
}

pub(super) fn thinking(out: &mut BytesMut, text: &str, signature: &str) {
    out.put_slice(br#"{"type":"thinking","thinking":"#);
    string(out, text);
    out.put_slice(br#","signature":"#);
    string(out, signature);
    out.put_u8(b'}');
}

pub(super) fn redacted(out: &mut BytesMut, data: &str) {
    out.put_slice(br#"{"type":"redacted_thinking","data":"#);
    string(out, data);
    out.put_u8(b'}');
}

pub(super) fn call(out: &mut BytesMut, id: &str, call: &Call) {
    let name = function_name(&call.name);
    out.put_slice(br#"{"type":"tool_use","id":"#);
    string(out, id);
    out.put_slice(br#","name":"#);
    string(out, if name.is_empty() { NAMELESS } else { &name });
    out.put_slice(br#","input":"#);
    out.put_slice(call.input.json().as_str().as_bytes());
    out.put_u8(b'}');
}
