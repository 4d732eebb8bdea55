//! The page for browsers: bytes that hold no data, so everybody may have them unless the configuration says otherwise.

use dashboard::PageFile;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, ETAG, HeaderName, HeaderValue,
    IF_NONE_MATCH, REFERRER_POLICY, VARY, WWW_AUTHENTICATE, X_FRAME_OPTIONS,
};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};

use super::Visit;
use crate::http::{ReplyBody, RequestBody, header, reply};
use crate::state::ServerState;

/// What a page of ours never needs.
const PERMISSIONS: &str = "camera=(), geolocation=(), microphone=(), payment=(), usb=()";

/// Whether a browser goes to an address, and no script asks.
pub(super) fn is_wanted<B>(request: &Request<B>) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD) && has(request.headers(), &ACCEPT, "text/html")
}

/// The file at a path. Where nothing is, who goes there with a browser gets the page, which knows the way; programs learn that
/// nothing is there.
pub(super) fn find(state: &ServerState, path: &str, wants_page: bool) -> Option<PageFile> {
    if !state.access().dashboard.enabled {
        return None;
    }
    let is_anywhere = wants_page && !["/api", "/webchat", "/webhooks"].iter().any(|it| path.starts_with(it));
    dashboard::find(path).or_else(|| is_anywhere.then_some(dashboard::PAGE))
}

pub(super) async fn page(visit: &Visit, file: PageFile, request: &Request<RequestBody>) -> Response<ReplyBody> {
    let headers = request.headers();
    if !visit.state.access().dashboard.public_shell
        && let Err(mut refused) = visit.known(headers).await
    {
        if refused.status() == StatusCode::UNAUTHORIZED {
            // A browser asks for it by itself.
            let basic = HeaderValue::from_static("Basic realm=\"tillerman\", charset=\"UTF-8\"");
            refused.headers_mut().insert(WWW_AUTHENTICATE, basic);
        }
        return *refused;
    }
    let tag = format!("\"{}\"", file.version);
    let is_known = has_already(headers, &tag);
    let packed = file.packed.filter(|_| has(headers, &ACCEPT_ENCODING, "gzip"));
    let mut answer = match is_known {
        true => reply::plain(StatusCode::NOT_MODIFIED, file.kind, ""),
        false => reply::plain(StatusCode::OK, file.kind, packed.unwrap_or(file.bytes)),
    };
    let into = answer.headers_mut();
    let mut put = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            into.insert(name, value);
        }
    };
    put(CACHE_CONTROL, "no-cache");
    put(ETAG, &tag);
    put(VARY, "Accept-Encoding");
    put(REFERRER_POLICY, "no-referrer");
    put(X_FRAME_OPTIONS, "DENY");
    put(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    put(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    put(HeaderName::from_static("permissions-policy"), PERMISSIONS);
    // Whatever is no document of ours may do nothing.
    put(CONTENT_SECURITY_POLICY, file.policy.unwrap_or("default-src 'none'; frame-ancestors 'none'; sandbox"));
    if packed.is_some() && !is_known {
        put(CONTENT_ENCODING, "gzip");
    }
    answer
}

/// Whether a client has this file, by the tags that it names. A tag that is called weak means the same file, and a star any.
fn has_already(headers: &HeaderMap, tag: &str) -> bool {
    let values = headers.get_all(IF_NONE_MATCH).iter().filter_map(|it| it.to_str().ok());
    let mut tags = values.flat_map(|it| it.split(',')).map(str::trim);
    tags.any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag)
}

fn has(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    header(headers, name.as_str()).is_some_and(|value| {
        let mut words = value.split(',').map(|one| one.split(';').next().unwrap_or_default().trim());
        words.any(|one| one.eq_ignore_ascii_case(word))
    })
}
