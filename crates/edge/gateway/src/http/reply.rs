//! Answers: the same headers on all of them.

use bytes::Bytes;
use dialect_gateway::Code;
use hyper::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};

use super::body::{BodyFault, ReplyBody};

const JSON: &str = "application/json";

pub(crate) fn plain(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<ReplyBody> {
    let mut reply = Response::new(ReplyBody::Whole(body.into()));
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    reply
}

pub(crate) fn text(status: StatusCode, body: &'static str) -> Response<ReplyBody> {
    plain(status, "text/plain; charset=utf-8", body)
}

pub(crate) fn json(status: StatusCode, body: impl Into<Bytes>) -> Response<ReplyBody> {
    plain(status, JSON, body)
}

/// The shape of every refusal: the wire's own numbers, and a sentence.
pub(crate) fn refusal(status: StatusCode, code: Code, message: &str) -> Response<ReplyBody> {
    let message = serde_json::Value::from(message);
    json(status, format!("{{\"error\":{{\"code\":{},\"message\":{message}}}}}", code.number()))
}

pub(crate) fn not_found() -> Response<ReplyBody> {
    refusal(StatusCode::NOT_FOUND, Code::MethodNotFound, "there is nothing at this path")
}

pub(crate) fn wrong_method(allowed: &[&str]) -> Response<ReplyBody> {
    let mut reply = refusal(StatusCode::METHOD_NOT_ALLOWED, Code::MethodNotFound, "not with this method");
    if let Ok(allowed) = HeaderValue::from_str(&allowed.join(", ")) {
        reply.headers_mut().insert(ALLOW, allowed);
    }
    reply
}

pub(crate) fn unauthorized(code: Code, message: &str) -> Response<ReplyBody> {
    let mut reply = refusal(StatusCode::UNAUTHORIZED, code, message);
    reply.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    reply
}

pub(crate) fn too_many(wait_ms: u64) -> Response<ReplyBody> {
    let mut reply =
        refusal(StatusCode::TOO_MANY_REQUESTS, Code::AuthFailed, "too many wrong credentials came from there");
    reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from(wait_ms.div_ceil(1000)));
    reply
}

pub(crate) fn bad_body(fault: BodyFault) -> Response<ReplyBody> {
    let (status, message) = match fault {
        BodyFault::TooLong => (StatusCode::PAYLOAD_TOO_LARGE, "the body is too long"),
        BodyFault::InCrumbs => (StatusCode::BAD_REQUEST, "the body comes in too many small pieces"),
        BodyFault::TooSlow => (StatusCode::REQUEST_TIMEOUT, "the body took too long"),
        BodyFault::Broken => (StatusCode::BAD_REQUEST, "the body broke off"),
    };
    closing(refusal(status, Code::InvalidRequest, message))
}

/// Says that the connection ends here: what is left of a body that was not read stands before the next request.
pub(crate) fn closing(mut reply: Response<ReplyBody>) -> Response<ReplyBody> {
    reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    reply
}
