//! What a broken connection or a refusal means, as sentences for people. Pure.

use std::error::Error;

use hyper::HeaderMap;
use hyper::header::LOCATION;
use serde_json::Value;
use vocab::{Fault, FaultKind, Secret};

/// Longer messages are cut: a person reads them, and a log keeps them.
pub const MESSAGE_CHARS_MAX: usize = 500;

/// Why there is no answer, or no whole one.
#[derive(Clone, PartialEq, Debug)]
pub struct NetFault {
    /// Names the server and says what may help.
    pub fault: Fault,
    /// What broke, without the server's name: for whoever names it in words of their own.
    pub cause: String,
    /// Trying again may help.
    pub retryable: bool,
}

impl NetFault {
    fn new(kind: FaultKind, message: String, cause: String) -> Self {
        Self { fault: Fault::new(kind, message), cause, retryable: true }
    }

    /// Nothing was sent, and nothing will change by itself.
    pub(crate) fn lasting(fault: Fault) -> Self {
        Self { cause: fault.message.clone(), fault, retryable: false }
    }

    /// Nothing was sent. A key that is missing will not come by itself; a server that was down may be up again.
    pub(crate) fn unsent(fault: Fault) -> Self {
        let retryable = matches!(fault.kind, FaultKind::Network | FaultKind::RateLimited | FaultKind::Provider);
        Self { retryable, ..Self::lasting(fault) }
    }

    /// The certificate is not to be trusted; the same one will be shown again.
    pub(crate) fn distrusted(server: &str, what: &str, advice: String) -> Self {
        let message = format!("cannot reach {server} safely: its certificate {what}");
        let fault = Fault::new(FaultKind::Network, message).hint(advice);
        Self { fault, cause: format!("its certificate {what}"), retryable: false }
    }

    /// No connection: refused, no such name, TLS, time.
    pub(crate) fn unreachable(server: &str, error: &dyn Error) -> Self {
        let cause = chain(error);
        let mut fault = Self::new(FaultKind::Network, format!("cannot reach {server}: {cause}"), cause);
        match is_near(server) {
            true => fault.hint(format!("is the server at {server} running?")),
            false => fault.hint("is there a network? behind a proxy, HTTPS_PROXY says where it is"),
        }
        fault
    }

    /// The connection was there and broke before an answer began.
    pub(crate) fn unanswered(server: &str, error: &dyn Error) -> Self {
        let cause = chain(error);
        Self::new(FaultKind::Network, format!("{server} closed the connection without an answer: {cause}"), cause)
    }

    pub(crate) fn hint(&mut self, hint: impl Into<String>) {
        self.fault.hints.push(hint.into());
    }
}

/// The connection broke while the answer came.
pub fn cut(error: Option<&dyn Error>) -> NetFault {
    let cause = error.map(chain);
    let detail = cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default();
    let message = format!("the answer ended before it was finished{detail}");
    NetFault::new(FaultKind::StreamCut, message, cause.unwrap_or_else(|| "it ended too early".to_owned()))
}

/// Redirects are never followed: the key belongs to the server it was given for.
pub fn redirected(status: u16, headers: &HeaderMap, server: &str) -> String {
    let location = headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let host = location.parse::<hyper::Uri>().ok().and_then(|uri| uri.host().map(str::to_owned));
    let target = host.as_deref().unwrap_or("another path");
    format!("{status} {server} redirects to {target}; redirects are not followed")
}

/// What a server said in the body of a refusal: `{"error": {..}}`, `{"error": ".."}`, `{"message": ..}`,
/// `{"detail": ..}`, a list of one of them, the error object itself, or plain text.
pub fn error_message(body: &[u8]) -> String {
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        return plain_text(&String::from_utf8_lossy(body));
    };
    let (value, error) = error_object(&value);
    let message = [&error["message"], &error["detail"], error, &value["message"]]
        .into_iter()
        .find_map(Value::as_str)
        .map_or_else(|| error.to_string(), str::to_owned);
    // A gateway says little; the server behind it said more.
    match error["metadata"]["raw"].as_str().filter(|raw| !raw.is_empty()) {
        Some(raw) => format!("{message}: {}", error_message(raw.as_bytes())),
        None => message,
    }
}

/// Where a refusal keeps its details: the whole, and the error object in it, which may be the whole itself.
pub fn error_object(body: &Value) -> (&Value, &Value) {
    let value = match body {
        Value::Array(list) => list.first().unwrap_or(&Value::Null),
        value => value,
    };
    (value, if value["error"].is_null() { value } else { &value["error"] })
}

/// A page for people says nothing useful here.
fn plain_text(text: &str) -> String {
    let text = text.trim();
    if looks_like_html(text) { "an HTML page".into() } else { text.into() }
}

pub fn looks_like_html(text: &str) -> bool {
    let start: String = text.trim_start().chars().take(15).collect::<String>().to_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html")
}

/// Whether a server is on this machine or in a network of one's own, where its owner has to start it.
fn is_near(server: &str) -> bool {
    let Some(uri) = server.parse::<hyper::Uri>().ok() else { return true };
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    match host.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V4(it)) => {
            it.is_loopback() || it.is_private() || it.is_link_local() || it.is_unspecified()
        }
        Ok(std::net::IpAddr::V6(it)) => it.is_loopback() || it.is_unique_local() || it.is_unicast_link_local(),
        Err(_) => {
            !host.contains('.') || [".localhost", ".local", ".lan", ".internal"].iter().any(|end| host.ends_with(end))
        }
    }
}

/// Secrets are masked, ours by their value and others' by what they look like, then the text is cut. In this order, or half a
/// key could survive at the cut.
pub fn sealed(text: &str, secrets: &[Secret]) -> String {
    let text = secrets.iter().fold(text.to_owned(), |text, secret| secret.mask(&text));
    let mut text = vocab::masking::mask(&text).into_owned();
    if let Some((at, _)) = text.char_indices().nth(MESSAGE_CHARS_MAX) {
        text.truncate(at);
        text.push('\u{2026}');
    }
    text
}

/// An error and its causes in one line; causes that repeat the text before them are left out.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let said = next.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = next.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_cannot_be_reached_is_asked_to_be_started_here_and_looked_for_elsewhere() {
        for near in [
            "http://127.0.0.1:9/v1",
            "http://localhost:11434/v1",
            "http://[::1]:8080",
            "http://box:80/v1",
            "http://192.168.1.7/v1",
            "http://gpu.lan/v1",
        ] {
            assert!(is_near(near), "{near}");
        }
        for far in ["https://api.anthropic.com/v1", "https://auth.openai.com", "https://8.8.8.8/v1"] {
            assert!(!is_near(far), "{far}");
        }
        let error = std::io::Error::other("no such name");
        let hints = |server: &str| NetFault::unreachable(server, &error).fault.hints;
        assert_eq!(hints("http://localhost:1/v1"), ["is the server at http://localhost:1/v1 running?"]);
        assert!(hints("https://api.anthropic.com/v1")[0].contains("HTTPS_PROXY"));
    }

    #[test]
    fn the_servers_words_are_found_in_every_shape() {
        for (body, want) in [
            (r#"{"error":{"message":"a"}}"#, "a"),
            (r#"{"error":"a"}"#, "a"),
            (r#"{"message":"a"}"#, "a"),
            (r#"{"detail":"a"}"#, "a"),
            (r#"[{"error":{"code":400,"message":"a"}}]"#, "a"),
            (r#""a""#, "a"),
            ("a\n", "a"),
            ("<!DOCTYPE html><p>a", "an HTML page"),
        ] {
            assert_eq!(error_message(body.as_bytes()), want, "{body}");
        }
    }

    #[test]
    fn a_message_is_masked_before_it_is_cut() {
        let key = Secret::new("sk-canary-0123456789").unwrap();
        for before in 470..510 {
            let text = format!("{}{} and more {}", "x".repeat(before), key.expose(), "y".repeat(600));
            let sealed = sealed(&text, std::slice::from_ref(&key));
            assert!(!sealed.contains("sk-c"), "{before}");
            assert!(sealed.chars().count() <= MESSAGE_CHARS_MAX + 1);
        }
    }
}
