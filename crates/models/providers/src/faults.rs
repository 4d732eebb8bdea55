//! What a server's refusal or a broken connection means: one table from HTTP and error texts to [`ModelFault`]. Pure.

use std::error::Error;

use net::{HeaderMap, Http, NetFault};
use serde_json::Value;
use vocab::{FaultKind, ModelFault};

use crate::{overflow, waits};

/// How servers say who may not, where no status says so.
const AUTH: &[&str] =
    &["invalid_api_key", "authentication_error", "api_key_invalid", "unauthenticated", "permission_denied"];

/// How servers say that an account has nothing left, and what may help. Waiting a moment fills none.
const EMPTY: [(&str, &str); 3] = [
    ("insufficient_quota", "the account has no credit left"),
    ("usage_limit_reached", "the account has nothing left for now"),
    ("usage_not_included", "the plan of this account does not include this model"),
];
pub(crate) const EXHAUSTED: [&str; 3] = [EMPTY[0].0, EMPTY[1].0, EMPTY[2].0];

/// What a server said about an error, in whatever shape.
#[derive(Default, Debug)]
pub(crate) struct ServerError {
    pub(crate) message: String,
    /// Its machine-readable codes, in lower case.
    pub(crate) codes: String,
    /// An HTTP status in the error object (gateways report the upstream's).
    pub(crate) status: Option<u16>,
    /// What it asks us to wait, where it says that in the body (Google does).
    pub(crate) retry_after_ms: Option<u64>,
    /// When a limit that is used up is reset, where the body says so (ChatGPT does).
    resets_ms: Option<u64>,
}

impl ServerError {
    pub(crate) fn mentions(&self, needle: &str) -> bool {
        self.codes.contains(needle) || self.message.to_lowercase().contains(needle)
    }
    fn overflow(&self) -> bool {
        overflow::is_meant(|word| self.mentions(word))
    }
}

/// Reads an error in any shape that [`net::error_message`] knows.
pub(crate) fn said(body: &[u8]) -> ServerError {
    let message = net::error_message(body);
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        return ServerError { message, ..ServerError::default() };
    };
    let (_, error) = net::error_object(&value);
    let details = || error["details"].as_array().into_iter().flatten();
    let codes = [&error["code"], &error["type"], &error["status"]].into_iter();
    let codes: Vec<&str> = codes.chain(details().map(|it| &it["reason"])).filter_map(Value::as_str).collect();
    let status = error["code"].as_u64().and_then(|code| u16::try_from(code).ok());
    ServerError {
        message,
        codes: codes.join(" ").to_lowercase(),
        status: status.filter(|code| (400..600).contains(code)),
        retry_after_ms: details().find_map(|it| waits::span_ms(it["retryDelay"].as_str()?)),
        resets_ms: [&error["resets_in_seconds"], &error["resets_at"]]
            .into_iter()
            .find_map(|it| waits::reset_ms(&it.as_f64()?.to_string(), now())),
    }
}

/// A response whose status is not 200. `server` is the base URL without credentials.
pub(crate) fn refused(status: u16, headers: &HeaderMap, body: &[u8], server: &str) -> ModelFault {
    if (300..400).contains(&status) {
        return redirected(status, headers, server);
    }
    let said = said(body);
    let mut fault = judge(Some(status), &said, server);
    fault.retry_after_ms = waits::retry_after_ms(headers, now()).or(fault.retry_after_ms);
    if status == 429 && fault.retry_after_ms.is_none() {
        fault.retry_after_ms = waits::budget_reset_ms(headers, now());
    }
    if fault.fault.kind != FaultKind::ContextOverflow {
        // The server knows better than any table; what does not fit will not fit the next time.
        fault.retryable |= waits::invites_retry(headers);
    }
    fault
}

/// An error object inside an answer that began well.
pub(crate) fn in_stream(raw: &[u8], server: &str) -> ModelFault {
    let said = said(raw);
    judge(said.status, &said, server)
}

fn judge(status: Option<u16>, said: &ServerError, server: &str) -> ModelFault {
    let kind = kind(status, said);
    let text = if said.message.is_empty() { "the server gave no reason" } else { &said.message };
    let message = match status {
        Some(status) => format!("{status} {text}"),
        None => text.to_owned(),
    };
    let mut fault = ModelFault { retry_after_ms: said.retry_after_ms, ..ModelFault::new(kind, message) };
    fault.fault.status = status;
    let empty = EMPTY.iter().find(|(code, _)| said.mentions(code));
    match (kind, status) {
        (FaultKind::RateLimited, _) if empty.is_some() => {
            fault.retryable = false;
            if let Some(ms) = said.resets_ms {
                fault.retry_after_ms = Some(ms);
                fault.fault.message = format!("{}; there is more in {}", fault.fault.message, span(ms));
            }
            empty.into_iter().for_each(|(_, advice)| hint(&mut fault, advice));
        }
        (FaultKind::BadRequest, Some(404)) => hint(&mut fault, &format!("does {server} have this model?")),
        (_, Some(402)) => hint(&mut fault, "the account has no credit left"),
        _ => {}
    }
    fault
}

/// For people, who plan by minutes.
fn span(ms: u64) -> String {
    let minutes = ms.div_ceil(60_000);
    match (minutes / (24 * 60), minutes / 60 % 24, minutes % 60) {
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

fn kind(status: Option<u16>, said: &ServerError) -> FaultKind {
    // Whatever the status: a limit is no wrong key and no wrong request.
    if status.is_none_or(|status| (400..500).contains(&status))
        && EXHAUSTED[1..].iter().any(|code| said.codes.split(' ').any(|one| one == *code))
    {
        return FaultKind::RateLimited;
    }
    match status {
        Some(401 | 403) => FaultKind::Auth,
        // Google's way to say 401.
        Some(400) if said.mentions("api_key_invalid") => FaultKind::Auth,
        Some(429) => FaultKind::RateLimited,
        Some(413) => FaultKind::ContextOverflow,
        // Older llama.cpp says so with 500.
        Some(400 | 422 | 500) | None if said.overflow() => FaultKind::ContextOverflow,
        Some(408 | 409 | 500..) => FaultKind::Provider,
        Some(_) => FaultKind::BadRequest,
        None if EXHAUSTED.iter().any(|code| said.mentions(code)) => FaultKind::RateLimited,
        None if said.mentions("rate_limit") || said.mentions("rate limit") => FaultKind::RateLimited,
        None if said.mentions("resource_exhausted") => FaultKind::RateLimited,
        None if AUTH.iter().any(|code| said.mentions(code)) => FaultKind::Auth,
        None if said.mentions("invalid_argument") || said.mentions("failed_precondition") => FaultKind::BadRequest,
        None => FaultKind::Provider,
    }
}

fn redirected(status: u16, headers: &HeaderMap, server: &str) -> ModelFault {
    let message = net::redirected(status, headers, server);
    let mut fault = ModelFault::new(FaultKind::BadRequest, message);
    fault.fault.status = Some(status);
    hint(&mut fault, "set the base URL to the server's real address");
    fault
}

fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs() as i64)
}

/// There was no answer.
pub(crate) fn of_net(fault: NetFault) -> ModelFault {
    ModelFault { fault: fault.fault, retryable: fault.retryable, retry_after_ms: None }
}

/// The connection broke while the answer came.
pub(crate) fn cut(error: Option<&dyn Error>) -> ModelFault {
    of_net(net::cut(error))
}

/// Fit to be shown: see [`Http::seal`].
pub(crate) fn sealed(fault: ModelFault, http: &Http) -> ModelFault {
    ModelFault { fault: http.seal(fault.fault), ..fault }
}

pub(crate) fn silent(idle_ms: u64) -> ModelFault {
    let message = format!("nothing from the model for {} s", idle_ms as f64 / 1000.0);
    ModelFault::new(FaultKind::Network, message)
}

pub(crate) fn provider(message: impl Into<String>) -> ModelFault {
    ModelFault::new(FaultKind::Provider, message)
}

pub(crate) fn hint(fault: &mut ModelFault, hint: &str) {
    fault.fault.hints.push(hint.to_owned());
}

/// What may be wrong with an address that knows no models. `version` is what base URLs of the format end in.
pub(crate) fn hint_address(fault: &mut ModelFault, server: &str, version: &str) {
    let last = server.rsplit('/').next().unwrap_or_default();
    let versioned = last.strip_prefix('v').is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_digit()));
    if !versioned {
        hint(fault, &format!("should the base URL {server} end in {version}?"));
    } else if fault.fault.hints.is_empty() {
        hint(fault, &format!("is {server} the address of a model's API?"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FaultKind::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn every_refusal_has_a_kind() {
        let error = |message: &str| format!(r#"{{"error":{{"message":"{message}","type":"x","code":null}}}}"#);
        for (status, body, want, retryable) in [
            (401, error("Incorrect API key provided"), Auth, false),
            (403, error("no"), Auth, false),
            (429, error("slow down"), RateLimited, true),
            (429, r#"{"error":{"message":"m","code":"insufficient_quota"}}"#.into(), RateLimited, false),
            (408, error("timeout"), Provider, true),
            (409, error("conflict"), Provider, true),
            (500, error("boom"), Provider, true),
            (502, "<html><body>Bad Gateway</body></html>".into(), Provider, true),
            (503, String::new(), Provider, true),
            (529, error("overloaded"), Provider, true),
            (400, error("bad field"), BadRequest, false),
            (404, error("no model"), BadRequest, false),
            (422, r#"{"detail":"x"}"#.into(), BadRequest, false),
            (413, String::new(), ContextOverflow, false),
        ] {
            let fault = refused(status, &HeaderMap::new(), body.as_bytes(), "http://x/v1");
            assert_eq!(
                (fault.fault.kind, fault.retryable, fault.fault.status),
                (want, retryable, Some(status)),
                "{body}"
            );
            assert!(fault.fault.message.starts_with(&status.to_string()), "{}", fault.fault.message);
        }
    }

    #[test]
    fn a_limit_of_an_account_says_when_there_is_more() {
        let error = |kind: &str, more: &str| {
            format!(r#"{{"error":{{"type":"{kind}","message":"m","plan_type":"plus"{more}}}}}"#)
        };
        for (kind, more, says, wait_ms) in [
            ("usage_limit_reached", r#","resets_in_seconds":5400"#, "m; there is more in 1 h 30 min", Some(5_400_000)),
            ("usage_limit_reached", r#","resets_in_seconds":42"#, "m; there is more in 1 min", Some(42_000)),
            ("usage_limit_reached", r#","resets_in_seconds":180000"#, "m; there is more in 2 d 2 h", Some(180_000_000)),
            ("usage_limit_reached", r#","resets_at":1000000000"#, "m; there is more in 0 min", Some(0)),
            ("usage_limit_reached", r#","resets_at":"soon","resets_in_seconds":-4"#, "m", None),
            ("usage_limit_reached", "", "m", None),
            ("usage_not_included", "", "m", None),
        ] {
            let body = error(kind, more);
            for status in [429, 403] {
                let fault = refused(status, &HeaderMap::new(), body.as_bytes(), "x");
                assert_eq!(
                    (fault.fault.kind, fault.retryable, fault.retry_after_ms),
                    (RateLimited, false, wait_ms),
                    "{body}"
                );
                assert_eq!(fault.fault.message, format!("{status} {says}"));
                assert_eq!(fault.fault.hints.len(), 1, "{body}");
            }
            let fault = in_stream(body.as_bytes(), "x");
            assert_eq!((fault.fault.kind, &*fault.fault.message, fault.retry_after_ms), (RateLimited, says, wait_ms));
        }
    }

    #[test]
    fn google_says_more_in_the_body() {
        let error = |code: u16, status: &str, message: &str, details: &str| {
            format!(r#"{{"error":{{"code":{code},"message":"{message}","status":"{status}","details":[{details}]}}}}"#)
        };
        let info = r#"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}"#;
        let wait = r#"{"@type":"type.googleapis.com/google.rpc.QuotaFailure"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.0741s"}"#;
        let long = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).";
        for (body, want, retryable, wait_ms) in [
            (error(400, "INVALID_ARGUMENT", "API key not valid.", info), Auth, false, None),
            (error(400, "INVALID_ARGUMENT", long, ""), ContextOverflow, false, None),
            (error(400, "INVALID_ARGUMENT", "Invalid value", ""), BadRequest, false, None),
            (error(400, "FAILED_PRECONDITION", "User location is not supported", ""), BadRequest, false, None),
            (error(401, "UNAUTHENTICATED", "no", ""), Auth, false, None),
            (error(403, "PERMISSION_DENIED", "no", ""), Auth, false, None),
            (error(404, "NOT_FOUND", "no such model", ""), BadRequest, false, None),
            (error(429, "RESOURCE_EXHAUSTED", "quota", wait), RateLimited, true, Some(34_075)),
            (
                error(429, "RESOURCE_EXHAUSTED", "quota", r#"{"retryDelay":"soon"},7,{"retryDelay":"-1s"}"#),
                RateLimited,
                true,
                None,
            ),
            (error(500, "INTERNAL", "boom", ""), Provider, true, None),
            (error(503, "UNAVAILABLE", "overloaded", ""), Provider, true, None),
        ] {
            let status = said(body.as_bytes()).status.unwrap();
            let refused = refused(status, &HeaderMap::new(), body.as_bytes(), "http://x/v1beta");
            for fault in [refused, in_stream(body.as_bytes(), "http://x/v1beta")] {
                assert_eq!(
                    (fault.fault.kind, fault.retryable, fault.retry_after_ms),
                    (want, retryable, wait_ms),
                    "{body}"
                );
            }
            // Inside of a stream the number may be missing; the word remains.
            let worded = body.replace(&format!("\"code\":{status},"), "");
            let fault = in_stream(worded.as_bytes(), "http://x/v1beta");
            let want = if status == 404 { Provider } else { want };
            assert_eq!((fault.fault.kind, fault.fault.status), (want, None), "{worded}");
        }
        let both = headers(&[("retry-after", "2")]);
        let fault = refused(429, &both, error(429, "RESOURCE_EXHAUSTED", "quota", wait).as_bytes(), "x");
        assert_eq!(fault.retry_after_ms, Some(2_000), "the header is nearer");
    }

    #[test]
    fn a_refusal_says_whether_and_when_to_ask_again() {
        for (status, pairs, wait, retryable) in [
            (429, &[("retry-after", "7")][..], Some(7_000), true),
            (429, &[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "1s")], Some(1_000), true),
            // What it asks for in plain words counts more.
            (
                429,
                &[("retry-after", "7"), ("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "1s")],
                Some(7_000),
                true,
            ),
            // A budget is no reason of any other refusal.
            (503, &[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "1s")], None, true),
            (429, &[("x-should-retry", "false")], None, true),
            (529, &[("x-should-retry", "false")], None, true),
            (400, &[("x-should-retry", "true")], None, true),
            (413, &[("x-should-retry", "true")], None, false),
            (529, &[], None, true),
        ] {
            let fault = refused(status, &headers(pairs), b"{}", "http://x/v1");
            assert_eq!((fault.retry_after_ms, fault.retryable), (wait, retryable), "{status} {pairs:?}");
        }
    }

    #[test]
    fn hints_name_the_end_of_the_address_only_where_it_is_missing() {
        let model = |server: &str| format!("does {server} have this model?");
        let end = |server: &str, version: &str| format!("should the base URL {server} end in {version}?");
        for (status, server, version, want) in [
            (404, "http://x", "/v1", vec![model("http://x"), end("http://x", "/v1")]),
            (404, "http://x", "/v1beta", vec![model("http://x"), end("http://x", "/v1beta")]),
            (404, "http://x/v1", "/v1", vec![model("http://x/v1")]),
            (404, "http://x/api/paas/v4", "/v1", vec![model("http://x/api/paas/v4")]),
            (500, "http://x/vault", "/v1", vec![end("http://x/vault", "/v1")]),
            (500, "http://x/v1", "/v1", vec!["is http://x/v1 the address of a model's API?".into()]),
        ] {
            let mut fault = refused(status, &HeaderMap::new(), b"", server);
            hint_address(&mut fault, server, version);
            assert_eq!(fault.fault.hints, want, "{status}");
        }
    }

    #[test]
    fn a_redirect_names_the_host_and_is_final() {
        let to = headers(&[("location", "https://evil.example/v1?key=1")]);
        let fault = refused(307, &to, b"", "http://good/v1");
        assert!(fault.fault.message.contains("evil.example"), "{}", fault.fault.message);
        assert!(!fault.retryable);
    }
}
