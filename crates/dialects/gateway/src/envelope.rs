//! One inbound text: a request, or why it is none. None of these refusals ends the connection, unless they come faster than
//! requests may: who debugs a client goes on.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::ledger::WireId;
use crate::own::{Code, GatewayRefusal};
use crate::shape::Members;

/// Characters of a method's name that a refusal repeats.
const NAME_CHARS_SHOWN: usize = 128;

/// A request, as far as its frame goes.
#[derive(Debug)]
pub(crate) struct GatewayRequest<'a> {
    pub(crate) id: WireId,
    /// It said `"jsonrpc":"2.0"`, and so will its answer.
    pub(crate) jsonrpc: bool,
    pub(crate) method: Cow<'a, str>,
    /// An object, or none.
    pub(crate) params: Option<&'a RawValue>,
}

/// Not a request.
#[derive(Debug)]
pub(crate) struct BadFrame {
    /// Where it can be used.
    pub(crate) id: Option<WireId>,
    pub(crate) jsonrpc: bool,
    pub(crate) refusal: GatewayRefusal,
}

/// Reads a frame whose JSON was checked.
pub(crate) fn read(text: &str) -> Result<GatewayRequest<'_>, BadFrame> {
    let bad = |id, jsonrpc, reason, message: &str| BadFrame {
        id,
        jsonrpc,
        refusal: GatewayRefusal::invalid(reason, message),
    };
    if text.trim_start_matches([' ', '\t', '\r', '\n']).starts_with('[') {
        return Err(bad(None, false, "batch_unsupported", "batches are not taken: send one request per frame"));
    }
    let members: Result<Members<'_>, _> = serde_json::from_str(text);
    let members = members.map_err(|_| bad(None, false, "invalid_request", "a request is a JSON object"))?;
    let jsonrpc = members.get("jsonrpc").is_some_and(|version| version.get() == "\"2.0\"");
    let Some(id) = members.get("id").and_then(|id| usable(id.get())) else {
        let message = "`id` must be an integer of 0..9007199254740991";
        return Err(bad(None, jsonrpc, "invalid_id", message));
    };
    let method = members.get("method").and_then(|raw| {
        #[derive(Deserialize)]
        struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
        serde_json::from_str::<Name<'_>>(raw.get()).ok().map(|Name(name)| name)
    });
    let Some(method) = method else {
        return Err(bad(Some(id), jsonrpc, "invalid_request", "`method` must be text"));
    };
    let params = members.get("params").filter(|params| params.get() != "null");
    if params.is_some_and(|params| !params.get().starts_with('{')) {
        return Err(bad(Some(id), jsonrpc, "invalid_params", "`params` must be an object"));
    }
    Ok(GatewayRequest { id, jsonrpc, method, params })
}

/// Digits alone: a string, a fraction, a sign or more than 2^53-1 could not be told apart from another id everywhere.
fn usable(id: &str) -> Option<WireId> {
    let digits = id.bytes().all(|byte| byte.is_ascii_digit());
    id.parse().ok().filter(|_| digits).and_then(WireId::new)
}

pub(crate) fn parse_error(what: &str) -> GatewayRefusal {
    GatewayRefusal::new(Code::Parse, format!("this is not JSON: {what}")).because("parse_error")
}

pub(crate) fn no_text() -> GatewayRefusal {
    GatewayRefusal::new(Code::Parse, "binary frames are not taken; send JSON as text").because("parse_error")
}

pub(crate) fn too_long(limit: usize) -> GatewayRefusal {
    let message = format!("the frame is longer than {limit} bytes; it was skipped");
    GatewayRefusal::new(Code::Parse, message).because("frame_too_long")
}

pub(crate) fn no_method(name: &str) -> GatewayRefusal {
    let shown: String = name.chars().take(NAME_CHARS_SHOWN).collect();
    let message = format!("there is no method {}", vocab::visible::visible_line(&shown));
    GatewayRefusal::new(Code::MethodNotFound, message).with("method", shown)
}

pub(crate) fn duplicate(id: WireId) -> GatewayRefusal {
    let message = format!("a request with the id {} is in flight", id.number());
    GatewayRefusal::invalid("duplicate_id", message).with("id", id.number())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_an_object_with_a_whole_id_and_a_method() {
        let full =
            read(r#" {"jsonrpc":"2.0","id":9007199254740991,"method":"a.b","params":{"x":1},"more":0}"#).unwrap();
        assert_eq!((full.id.number(), full.jsonrpc, &*full.method), (9_007_199_254_740_991, true, "a.b"));
        assert_eq!(full.params.map(RawValue::get), Some(r#"{"x":1}"#));
        let least = read(r#"{"id":0,"method":"\u0061","params":null}"#).unwrap();
        assert_eq!((least.id.number(), least.jsonrpc, &*least.method, least.params.is_none()), (0, false, "a", true));
        assert!(!read(r#"{"id":1,"method":"a","jsonrpc":"1.0"}"#).unwrap().jsonrpc);
    }

    #[test]
    fn what_is_none_says_why_under_its_id_where_that_can_be_used() {
        let cases = [
            ("[]", None, "batch_unsupported"),
            (r#" [{"id":1,"method":"a"}]"#, None, "batch_unsupported"),
            ("7", None, "invalid_request"),
            ("null", None, "invalid_request"),
            (r#""text""#, None, "invalid_request"),
            ("{}", None, "invalid_id"),
            (r#"{"method":"a"}"#, None, "invalid_id"),
            (r#"{"id":null,"method":"a"}"#, None, "invalid_id"),
            (r#"{"id":"1","method":"a"}"#, None, "invalid_id"),
            (r#"{"id":1.0,"method":"a"}"#, None, "invalid_id"),
            (r#"{"id":1e2,"method":"a"}"#, None, "invalid_id"),
            (r#"{"id":-0,"method":"a"}"#, None, "invalid_id"),
            (r#"{"id":-1,"method":"a"}"#, None, "invalid_id"),
            (r#"{"id":9007199254740992,"method":"a"}"#, None, "invalid_id"),
            (r#"{"id":99999999999999999999999,"method":"a"}"#, None, "invalid_id"),
            (r#"{"id":[1],"method":"a"}"#, None, "invalid_id"),
            (r#"{"id":5}"#, Some(5), "invalid_request"),
            (r#"{"id":5,"method":7}"#, Some(5), "invalid_request"),
            (r#"{"id":5,"method":null}"#, Some(5), "invalid_request"),
            (r#"{"id":5,"method":"a","params":[]}"#, Some(5), "invalid_params"),
            (r#"{"id":5,"method":"a","params":3}"#, Some(5), "invalid_params"),
        ];
        for (text, id, reason) in cases {
            let bad = read(text).expect_err(text);
            assert_eq!((bad.id.map(WireId::number), bad.refusal.reason), (id, Some(reason)), "{text}");
            assert_eq!(bad.refusal.code, Code::InvalidRequest, "{text}");
        }
    }
}
