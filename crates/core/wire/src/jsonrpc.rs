//! The envelope of JSON-RPC 2.0, as far as all who speak it agree: what kind of frame a line is, told by the keys
//! that are there, and how frames are written. What a dialect does with a batch, a notification or an odd `id` is its own
//! business; methods and their params are unknown here.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub const PARSE_ERROR: i64 = -32700;
pub const INVALID_REQUEST: i64 = -32600;
pub const METHOD_NOT_FOUND: i64 = -32601;
pub const INVALID_PARAMS: i64 = -32602;
pub const INTERNAL_ERROR: i64 = -32603;
/// The first code that is free for an application.
pub const SERVER_ERROR: i64 = -32000;

/// One frame of theirs. `id` is the JSON text of a string, a number or null, to be echoed as it came.
#[derive(Debug)]
pub enum Frame<'a> {
    Request {
        id: &'a RawValue,
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    /// Without an `id`: the peer waits for no answer.
    Notification {
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    Response {
        id: &'a RawValue,
        outcome: Result<&'a RawValue, RpcError>,
    },
    /// An array, also an empty one.
    Batch,
    /// No frame at all: a scalar, another version, no or a blank method, an `id` that is none.
    Invalid,
}

/// How strictly a frame is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// `"jsonrpc":"2.0"` must be there.
    Required,
    /// It may be left out; another version is still invalid.
    Optional,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RpcError {
    #[serde(default)]
    pub code: i64,
    #[serde(default)]
    pub message: String,
    /// An object with the reason, where a dialect has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<serde_json::Value>,
}

impl RpcError {
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }
}

#[derive(Deserialize)]
struct EnvelopeKeys<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// A key whose value is `null` is there all the same: `"id":null` is a request, and `"result":null` an answer.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

/// Reads text that [`crate::check`] has accepted.
pub fn read(text: &str, version: Version) -> Frame<'_> {
    match text.trim_start().as_bytes().first() {
        Some(b'[') => return Frame::Batch,
        Some(b'{') => {}
        _ => return Frame::Invalid,
    }
    let Ok(keys) = serde_json::from_str::<EnvelopeKeys<'_>>(text) else { return Frame::Invalid };
    let is_two = match keys.jsonrpc.map(RawValue::get) {
        None => version == Version::Optional,
        Some(said) => said == "\"2.0\"",
    };
    if !is_two {
        return Frame::Invalid;
    }
    match (keys.method, keys.id) {
        (Some(method), id) => {
            let Ok(method) = serde_json::from_str::<Cow<'_, str>>(method.get()) else { return Frame::Invalid };
            // A `Cow` that was read by itself owns its text; a borrowed one needs no copy.
            let method = borrowed(keys.method).map_or(Cow::Owned(method.into_owned()), Cow::Borrowed);
            match id {
                _ if method.trim().is_empty() => Frame::Invalid,
                None => Frame::Notification { method, params: keys.params },
                Some(id) if is_id(id) => Frame::Request { id, method, params: keys.params },
                Some(_) => Frame::Invalid,
            }
        }
        (None, Some(id)) if is_id(id) => match (keys.result, keys.error) {
            (_, Some(error)) => {
                let unread = || RpcError::new(INTERNAL_ERROR, "an error that cannot be read");
                let error = serde_json::from_str(error.get()).unwrap_or_else(|_| unread());
                Frame::Response { id, outcome: Err(error) }
            }
            (Some(result), None) => Frame::Response { id, outcome: Ok(result) },
            (None, None) => Frame::Invalid,
        },
        _ => Frame::Invalid,
    }
}

/// A JSON string without escapes, as it stands.
fn borrowed(raw: Option<&RawValue>) -> Option<&str> {
    raw?.get().strip_prefix('"')?.strip_suffix('"').filter(|text| !text.contains('\\'))
}

fn is_id(raw: &RawValue) -> bool {
    raw.get() == "null" || raw.get().starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit())
}

// ---- ours -------------------------------------------------------------------------------------------------------

#[derive(Serialize)]
struct SentRequest<'a, P> {
    jsonrpc: &'static str,
    id: u64,
    method: &'a str,
    params: P,
}

#[derive(Serialize)]
struct SentNotification<'a, P> {
    jsonrpc: &'static str,
    method: &'a str,
    params: P,
}

#[derive(Serialize)]
struct SentAnswer<'a, R> {
    jsonrpc: &'static str,
    /// Null where no `id` could be read.
    id: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<R>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a RpcError>,
}

const JSONRPC: &str = "2.0";

/// Each of these appends one line with its LF.
pub fn request(out: &mut Vec<u8>, id: u64, method: &str, params: impl Serialize) {
    line(out, &SentRequest { jsonrpc: JSONRPC, id, method, params });
}
pub fn notification(out: &mut Vec<u8>, method: &str, params: impl Serialize) {
    line(out, &SentNotification { jsonrpc: JSONRPC, method, params });
}
pub fn result(out: &mut Vec<u8>, id: &RawValue, result: impl Serialize) {
    line(out, &SentAnswer { jsonrpc: JSONRPC, id: Some(id), result: Some(result), error: None });
}
pub fn error(out: &mut Vec<u8>, id: Option<&RawValue>, error: &RpcError) {
    line(out, &SentAnswer::<()> { jsonrpc: JSONRPC, id, result: None, error: Some(error) });
}

fn line(out: &mut Vec<u8>, frame: &impl Serialize) {
    serde_json::to_writer(&mut *out, frame).expect("frames have text keys and memory takes every write");
    out.push(b'\n');
}
