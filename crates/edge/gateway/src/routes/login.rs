//! `POST /api/login` and `/api/logout`: a browser's cookie for a token.

use dialect_gateway::Code;
use dialect_gateway::services::access::AttemptKind;
use hyper::header::{HeaderValue, SET_COOKIE};
use hyper::{Request, Response, StatusCode};
use serde::Deserialize;
use vocab::Secret;

use super::{Visit, WRONG};
use crate::cookies::set_cookie;
use crate::credentials;
use crate::http::{ReplyBody, RequestBody, reply};
use crate::limits::COOKIE_DAYS;
use crate::login::LoginRefused;

#[derive(Deserialize)]
struct LoginBody {
    token: String,
}

pub(super) async fn login(visit: &Visit, request: Request<RequestBody>) -> Response<ReplyBody> {
    let body = match request.into_body().read(visit.state.access().body_bytes_max).await {
        Ok(body) => body,
        Err(fault) => return reply::bad_body(fault),
    };
    let Ok(LoginBody { token }) = serde_json::from_slice(&body) else {
        return reply::refusal(StatusCode::BAD_REQUEST, Code::InvalidRequest, "the body is {\"token\": \"...\"}");
    };
    let wrong = || reply::unauthorized(Code::AuthFailed, WRONG);
    let Some(token) = Secret::new(&token) else { return wrong() };
    let known = visit.state.token_of(&token, &visit.arrival.guesser, &visit.came, AttemptKind::Login);
    let known = match known {
        Ok(known) => known,
        Err(LoginRefused::Wrong | LoginRefused::Taken) => return wrong(),
        Err(LoginRefused::TooMany { retry_after_ms }) => return reply::too_many(retry_after_ms),
    };
    visit.state.attempted(&visit.came, AttemptKind::Login, true);
    let Ok(value) = visit.state.make_cookie(known).await else {
        return reply::refusal(StatusCode::INTERNAL_SERVER_ERROR, Code::Internal, "no cookie could be made");
    };
    with_cookie(reply::json(StatusCode::OK, "{\"authenticated\":true}"), value.expose(), visit, COOKIE_DAYS)
}

/// What may stand in the body; without one this browser alone is logged out.
#[derive(Deserialize, Default)]
struct LogoutBody {
    /// All browsers that logged in with the same token.
    #[serde(default)]
    everywhere: bool,
}

pub(super) async fn logout(visit: &Visit, request: Request<RequestBody>) -> Response<ReplyBody> {
    let cookies = credentials::cookies(request.headers());
    let body = match request.into_body().read(visit.state.access().body_bytes_max).await {
        Ok(body) => body,
        Err(fault) => return reply::bad_body(fault),
    };
    let wish = match body.trim_ascii() {
        [] => Some(LogoutBody::default()),
        body @ [b'{', ..] => serde_json::from_slice(body).ok(),
        _ => None,
    };
    let Some(LogoutBody { everywhere }) = wish else {
        let message = "the body is empty, or {\"everywhere\": true}";
        return reply::refusal(StatusCode::BAD_REQUEST, Code::InvalidRequest, message);
    };
    // Only a cookie that holds speaks for others; one that does not ends nothing.
    for value in &cookies {
        visit.state.end_cookie(value, everywhere).await;
    }
    with_cookie(reply::json(StatusCode::OK, "{\"authenticated\":false}"), "", visit, 0)
}

fn with_cookie(mut reply: Response<ReplyBody>, value: &str, visit: &Visit, days: u64) -> Response<ReplyBody> {
    if let Ok(header) = HeaderValue::from_str(&set_cookie(value, visit.arrival.secure, days)) {
        reply.headers_mut().insert(SET_COOKIE, header);
    }
    reply
}
