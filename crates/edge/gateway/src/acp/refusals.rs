//! Refusals as this protocol's clients show them: every body is an error of JSON-RPC. And what pages of other origins may see.

use hyper::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue,
    RETRY_AFTER, VARY,
};
use hyper::{Response, StatusCode};
use serde::Deserialize;
use serde_json::json;
use wire::jsonrpc::{INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, SERVER_ERROR};

use crate::http::{ReplyBody, reply};

const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static("acp-connection-id, acp-session-id");
/// When one may try again who found no room, in seconds.
const TRY_AGAIN_S: u32 = 30;

/// What the rest of the server says when it refuses.
#[derive(Deserialize)]
struct PlainRefusal {
    /// It is one of ours.
    jsonrpc: Option<String>,
    error: PlainError,
}

#[derive(Deserialize)]
struct PlainError {
    message: String,
}

fn with_code(status: StatusCode, code: i64, message: &str) -> Response<ReplyBody> {
    let body = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": message } });
    reply::json(status, body.to_string())
}

pub(super) fn refusal(status: StatusCode, message: &str) -> Response<ReplyBody> {
    with_code(status, code(status), message)
}

pub(super) fn not_json() -> Response<ReplyBody> {
    with_code(StatusCode::BAD_REQUEST, PARSE_ERROR, "the message is not JSON")
}

pub(super) fn too_many_connections() -> Response<ReplyBody> {
    let mut refused = refusal(StatusCode::SERVICE_UNAVAILABLE, "there are too many connections");
    refused.headers_mut().insert(RETRY_AFTER, HeaderValue::from(TRY_AGAIN_S));
    refused
}

fn code(status: StatusCode) -> i64 {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS => SERVER_ERROR,
        StatusCode::NOT_IMPLEMENTED => INVALID_REQUEST,
        status if status.is_server_error() => INTERNAL_ERROR,
        _ => INVALID_REQUEST,
    }
}

/// An answer of this path, whoever gave it. `origin`: the page that asked, where it may.
pub(crate) fn finished(mut reply: Response<ReplyBody>, origin: Option<&str>) -> Response<ReplyBody> {
    let status = reply.status();
    if status.as_u16() >= 400
        && let ReplyBody::Whole(body) = reply.body()
        && let Ok(plain) = serde_json::from_slice::<PlainRefusal>(body)
        && plain.jsonrpc.is_none()
    {
        *reply.body_mut() = refusal(status, &plain.error.message).into_body();
    }
    if let Some(origin) = origin.and_then(|it| HeaderValue::from_str(it).ok()) {
        let headers = reply.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
        headers.insert(VARY, HeaderValue::from_static("Origin"));
    }
    reply
}
