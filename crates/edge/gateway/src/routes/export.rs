//! `GET /api/sessions/export?session=ID&format=html|md|jsonl`: a session as a file to keep.
//!
//! What a log says is not ours, and a page made of it must never be one of our own: it is given to be saved, and a browser that
//! shows it all the same has to take it for a page of nowhere that runs nothing.

use std::sync::Arc;

use dialect_gateway::shape::SessionName;
use dialect_gateway::{Code, Scopes};
use host::DaemonEnding;
use hyper::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::sync::Semaphore;
use vocab::{Fault, FaultKind, Later, SessionId};

use super::query;
use crate::entrance::{Caller, WebRequest, WebRoute};
use crate::http::{ReplyBody, reply};

/// Where it is.
pub const EXPORT_PATH: &str = "/api/sessions/export";
/// Sessions that are written down at the same time; others wait.
const EXPORTS_MAX: usize = 2;
const QUERY_BYTES_MAX: usize = 4 * 1024;
/// Bytes of a file's name, without its ending.
const NAME_BYTES_MAX: usize = 80;

/// Makes the bytes of a file of a session, by the ending that it would have; `None`: there is no such session. `Invalid`: it
/// is too long for that.
pub type ExportPort =
    Arc<dyn Fn(SessionId, &'static str) -> Later<'static, Result<Option<Vec<u8>>, Fault>> + Send + Sync>;

/// Answers [`EXPORT_PATH`].
pub struct ExportRoute {
    port: ExportPort,
    places: Arc<Semaphore>,
}

impl ExportRoute {
    pub fn new(port: ExportPort) -> Self {
        Self { port, places: Arc::new(Semaphore::new(EXPORTS_MAX)) }
    }
}

impl WebRoute for ExportRoute {
    fn methods(&self) -> &'static [&'static str] {
        super::READS
    }
    fn scopes(&self) -> Scopes {
        Scopes::READ
    }
    fn answer(&self, _: Caller, request: WebRequest, _: DaemonEnding) -> Later<'static, Response<ReplyBody>> {
        let (session, format) = match asked(request.query.as_deref().unwrap_or("")) {
            Ok(asked) => asked,
            Err(message) => {
                let refused = reply::refusal(StatusCode::BAD_REQUEST, Code::InvalidRequest, message);
                return Box::pin(std::future::ready(refused));
            }
        };
        let (port, places) = (self.port.clone(), self.places.clone());
        Box::pin(async move {
            let _place = places.acquire_owned().await;
            match port(session.clone(), format.ending).await {
                Ok(Some(bytes)) => file(&session, format, bytes),
                Ok(None) => reply::refusal(
                    StatusCode::NOT_FOUND,
                    Code::SessionNotFound,
                    &format!("there is no session {session}"),
                ),
                Err(fault) if fault.kind == FaultKind::Invalid => {
                    reply::refusal(StatusCode::PAYLOAD_TOO_LARGE, Code::InvalidRequest, &fault.message)
                }
                Err(fault) => {
                    host::note(&format!("a session could not be exported: {}", fault.message));
                    reply::refusal(
                        StatusCode::INTERNAL_SERVER_ERROR,
                        Code::Internal,
                        "the session could not be read; the log says why",
                    )
                }
            }
        })
    }
}

/// A kind of file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ExportKind {
    ending: &'static str,
    media: &'static str,
}

const FORMATS: [ExportKind; 3] = [
    ExportKind { ending: "html", media: "text/html; charset=utf-8" },
    ExportKind { ending: "md", media: "text/markdown; charset=utf-8" },
    ExportKind { ending: "jsonl", media: "application/x-ndjson" },
];

/// What is asked for, or what is wrong with it.
fn asked(text: &str) -> Result<(SessionId, ExportKind), &'static str> {
    const HOW: &str = "ask as /api/sessions/export?session=ID&format=html, md or jsonl";
    if text.len() > QUERY_BYTES_MAX {
        return Err(HOW);
    }
    let (mut session, mut format) = (None, None);
    for (name, value) in text.split('&').filter_map(|pair| pair.split_once('=')) {
        let place = match name {
            "session" => &mut session,
            "format" => &mut format,
            _ => continue,
        };
        if place.replace(query::unescaped(value).ok_or(HOW)?).is_some() {
            return Err("`session` and `format` are named once each");
        }
    }
    let session = session.as_deref().and_then(SessionName::parse).ok_or("`session` must be a session id")?;
    let format = FORMATS.into_iter().find(|it| format.as_deref() == Some(it.ending));
    Ok((session.0, format.ok_or("`format` must be one of html, md, jsonl")?))
}

fn file(session: &SessionId, format: ExportKind, bytes: Vec<u8>) -> Response<ReplyBody> {
    let mut reply = reply::plain(StatusCode::OK, format.media, bytes);
    let headers = reply.headers_mut();
    let named = format!("attachment; filename=\"{}.{}\"", file_name(session), format.ending);
    headers.insert(
        CONTENT_DISPOSITION,
        HeaderValue::from_str(&named).unwrap_or_else(|_| HeaderValue::from_static("attachment")),
    );
    headers.insert(
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("sandbox; default-src 'none'; frame-ancestors 'none'"),
    );
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    reply
}

/// Letters, digits and dashes of its id: what every file system takes, and no header trips over.
fn file_name(session: &SessionId) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    let name: String = session.as_str().chars().map(plain).take(NAME_BYTES_MAX).collect();
    if name.chars().any(|letter| letter != '_') { name } else { "session".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_read_or_refused() {
        let read = |text: &str| asked(text).ok().map(|(session, format)| format!("{session} {}", format.ending));
        assert_eq!(read("session=tg%3A1&format=html").as_deref(), Some("tg:1 html"));
        assert_eq!(read("format=jsonl&x=y&session=ws:a").as_deref(), Some("ws:a jsonl"));
        for wrong in [
            "",
            "session=a",
            "format=md",
            "session=&format=md",
            "session=a&format=pdf",
            "session=a&format=MD",
            "session=..%2Fa&format=md",
            "session=%zz&format=md",
            "session=a&session=b&format=md",
            "session=a&format=md&format=html",
            &"x".repeat(5_000),
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_name_is_safe_wherever_it_is_saved() {
        assert_eq!(file_name(&"tg:1/a.b".into()), "tg_1_a_b");
        assert_eq!(file_name(&"\"\r\n".into()), "session");
        assert_eq!(file_name(&"x".repeat(300).as_str().into()).len(), NAME_BYTES_MAX);
    }
}
