//! `GET /api/events`: what happens, as server-sent events. The dialect of `/` is asked to tell it, on a pipe that hears one
//! request; `Last-Event-ID` is where it goes on.

use dialect_gateway::Code;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};
use serde::Deserialize;
use serde_json::json;

use super::Visit;
use super::query::unescaped;
use crate::credentials::KnownCaller;
use crate::http::{ReplyBody, header, reply};
use crate::sse;

const TOPICS_BYTES_MAX: usize = 8 * 1024;

/// The beginning of the answer to the subscription.
#[derive(Deserialize)]
struct FirstFrame {
    error: Option<FirstError>,
}

#[derive(Deserialize)]
struct FirstError {
    code: i32,
}

pub(super) async fn events(
    visit: &Visit,
    known: KnownCaller,
    headers: &HeaderMap,
    query: Option<&str>,
) -> Response<ReplyBody> {
    let Some((_, entrance)) = visit.state.entrances.iter().find(|(path, _)| *path == "/") else {
        return reply::not_found();
    };
    let Some(request) = subscription(query.unwrap_or(""), header(headers, "last-event-id")) else {
        let message = "name what to hear of: /api/events?topics=session:ID,sessions";
        return reply::refusal(StatusCode::BAD_REQUEST, Code::InvalidRequest, message);
    };
    let (basis, credential) = (known.basis, known.credential());
    let caller = visit.caller(Some(known), headers);
    let (stream, sink, mut body, end) = sse::pipe(request.into_bytes());
    let entry = visit.state.add_socket(basis, end.into(), caller.facts(credential));
    let serving = entrance.serve(caller, (Box::new(stream), Box::new(sink)), visit.state.ending.clone());
    let connection = visit.connection.clone();
    tokio::spawn(async move {
        serving.await;
        drop((entry, connection));
    });
    match body.first().await.as_deref().map(refused) {
        None => reply::refusal(StatusCode::SERVICE_UNAVAILABLE, Code::Internal, "nothing answered"),
        Some(Some((status, json))) => reply::json(status, json),
        Some(None) => {
            let mut reply = Response::new(ReplyBody::Events(body));
            let headers = reply.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
            headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
            reply
        }
    }
}

/// The request that the dialect hears; `None`: no topic is named.
fn subscription(query: &str, last: Option<&str>) -> Option<String> {
    if query.len() > TOPICS_BYTES_MAX {
        return None;
    }
    let mut topics = Vec::new();
    let mut after = last.map(str::to_owned);
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        let value = unescaped(value)?;
        match name {
            "topics" | "topic" => topics.extend(value.split(',').filter(|it| !it.is_empty()).map(str::to_owned)),
            // A reader that comes back knows better than the address it was given.
            "afterSeq" if after.is_none() => after = Some(value),
            _ => {}
        }
    }
    if topics.is_empty() {
        return None;
    }
    let mut params = json!({ "topics": topics });
    if let Some(after) = after {
        params["afterSeq"] = after.parse::<u64>().map_or_else(|_| json!(after), |number| json!(number));
    }
    Some(json!({ "id": 0, "method": "events.subscribe", "params": params }).to_string())
}

/// What a dialect refused, as an answer of HTTP.
fn refused(event: &[u8]) -> Option<(StatusCode, String)> {
    let text = std::str::from_utf8(event).ok()?;
    let data = text.lines().find_map(|line| line.strip_prefix("data: "))?;
    let code = serde_json::from_str::<FirstFrame>(data).ok()?.error?.code;
    let status = match code {
        -1 | -2 => StatusCode::BAD_REQUEST,
        -5 => StatusCode::FORBIDDEN,
        -4 => StatusCode::UNAUTHORIZED,
        1 | -3 => StatusCode::NOT_FOUND,
        3 => StatusCode::TOO_MANY_REQUESTS,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    Some((status, data.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_a_subscription() {
        let asked = |query, last| {
            subscription(query, last).map(|it| it.replace("\"id\":0,\"method\":\"events.subscribe\",", ""))
        };
        assert_eq!(asked("", None), None);
        assert_eq!(asked("topics=", None), None);
        assert_eq!(asked("topics=%zz", None), None);
        let one = asked("topics=session%3Aws:1,lanes", None).unwrap();
        assert_eq!(one, r#"{"params":{"topics":["session:ws:1","lanes"]}}"#);
        let after = asked("topics=lanes&afterSeq=7", None).unwrap();
        assert_eq!(after, r#"{"params":{"afterSeq":7,"topics":["lanes"]}}"#);
        let last = asked("topics=lanes&afterSeq=7", Some("9+20")).unwrap();
        assert_eq!(last, r#"{"params":{"afterSeq":"9+20","topics":["lanes"]}}"#);
    }

    #[test]
    fn a_refusal_has_a_status() {
        let event = |frame: &str| format!("event: error\ndata: {frame}\n\n").into_bytes();
        let status = |frame: &str| refused(&event(frame)).map(|(status, _)| status.as_u16());
        assert_eq!(status(r#"{"id":0,"result":{}}"#), None);
        assert_eq!(status(r#"{"id":0,"error":{"code":-2,"message":"m"}}"#), Some(400));
        assert_eq!(status(r#"{"id":0,"error":{"code":1,"message":"m"}}"#), Some(404));
        assert_eq!(status(r#"{"id":0,"error":{"code":5,"message":"m"}}"#), Some(500));
    }
}
