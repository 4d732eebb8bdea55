//! The parts of a content: text, images, calls, results, and the signatures that stand with them.

use bytes::{BufMut, BytesMut};
use vocab::{Call, Image};

use crate::call_pairing::function_name;
use crate::json::string;

/// The result of one call.
pub(super) struct FunctionResponse<'a> {
    pub(super) name: &'a str,
    pub(super) id: &'a str,
    pub(super) key: &'static str,
    pub(super) text: &'a str,
    pub(super) images: &'a [&'a Image],
}

impl FunctionResponse<'_> {
    pub(super) fn put(&self, id: Option<&str>, out: &mut BytesMut) {
        out.put_slice(br#"{"functionResponse":{"#);
        identity(out, self.name, id);
        out.put_slice(format!(r#","response":{{"{}":"#, self.key).as_bytes());
        string(out, self.text);
        out.put_u8(b'}');
        for (number, image) in self.images.iter().enumerate() {
            out.put_slice(if number == 0 { br#","parts":["# } else { b"," });
            image_part(out, image);
        }
        out.put_slice(if self.images.is_empty() { b"}}" } else { b"]}}" });
    }
}

fn identity(out: &mut BytesMut, name: &str, id: Option<&str>) {
    if let Some(id) = id {
        out.put_slice(br#""id":"#);
        string(out, id);
        out.put_u8(b',');
    }
    out.put_slice(br#""name":"#);
    string(out, &function_name(name));
}

pub(super) fn text_part(out: &mut BytesMut, text: &str) {
    out.put_slice(br#"{"text":"#);
    string(out, text);
    out.put_u8(b'}');
}

/// A signature with its thought, or alone in an empty text, as it came behind the text that it signs.
pub(super) fn sealed_part(out: &mut BytesMut, thought: &str, seal: &str) {
    out.put_slice(br#"{"text":"#);
    string(out, thought);
    if !thought.is_empty() {
        out.put_slice(br#","thought":true"#);
    }
    put_seal(out, seal);
    out.put_u8(b'}');
}

pub(super) fn call_part(out: &mut BytesMut, call: &Call, id: Option<&str>, seal: Option<&str>) {
    out.put_slice(br#"{"functionCall":{"#);
    identity(out, &call.name, id);
    out.put_slice(br#","args":"#);
    out.put_slice(call.input.json().as_str().as_bytes());
    out.put_u8(b'}');
    if let Some(seal) = seal {
        put_seal(out, seal);
    }
    out.put_u8(b'}');
}

fn put_seal(out: &mut BytesMut, seal: &str) {
    out.put_slice(br#","thoughtSignature":"#);
    string(out, seal);
}

pub(super) fn image_part(out: &mut BytesMut, image: &Image) {
    out.put_slice(br#"{"inlineData":{"mimeType":"#);
    string(out, &image.mime);
    out.put_slice(br#","data":"#);
    string(out, &image.base64);
    out.put_slice(b"}}");
}
