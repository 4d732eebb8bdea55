//! What a server refuses becomes a typed fault, in every format.

use providers::{Api, Client, Config};
use testkit::mock_model::{MockModel, Reply, Step};
use vocab::FaultKind::*;
use vocab::Provider;

use crate::support::*;

#[tokio::test]
async fn a_refusal_keeps_status_kind_and_the_time_to_wait() {
    let overflow = "This model's maximum context length is 8192 tokens";
    let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    let exhausted = |budget: &str, reset: &str, until: &str| {
        Reply::error(429, "slow").header("date", date).header(budget, "0").header(reset, until)
    };
    for api in Api::ALL {
        for (reply, kind, retryable, wait) in [
            (Reply::error(429, "slow").header("retry-after", "7"), RateLimited, true, Some(7_000)),
            (Reply::error(429, "slow").header("retry-after-ms", "30"), RateLimited, true, Some(30)),
            (
                Reply::error(429, "slow").header("date", date).header("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT"),
                RateLimited,
                true,
                Some(60_000),
            ),
            (
                exhausted("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens", "6m0s"),
                RateLimited,
                true,
                Some(360_000),
            ),
            (
                exhausted(
                    "anthropic-ratelimit-tokens-remaining",
                    "anthropic-ratelimit-tokens-reset",
                    "1994-11-06T08:50:37Z",
                ),
                RateLimited,
                true,
                Some(60_000),
            ),
            (Reply::error(429, "slow"), RateLimited, true, None),
            (Reply::error(429, "slow").header("x-should-retry", "false"), RateLimited, true, None),
            (Reply::error(503, "busy").header("retry-after", "1"), Provider, true, Some(1_000)),
            (Reply::error(500, "boom"), Provider, true, None),
            (Reply::error(529, "overloaded"), Provider, true, None),
            (Reply::error(408, "late"), Provider, true, None),
            (Reply::error(401, "who"), Auth, false, None),
            (Reply::error(403, "no"), Auth, false, None),
            (Reply::error(400, "bad"), BadRequest, false, None),
            (Reply::error(404, "no such model"), BadRequest, false, None),
            (Reply::error(400, overflow), ContextOverflow, false, None),
            (Reply::plain(413, "text/plain", "too large"), ContextOverflow, false, None),
            (Reply::plain(502, "text/html", "<html>nginx</html>"), Provider, true, None),
        ] {
            let Reply::Plain { status, .. } = reply else { unreachable!() };
            let events = answer_in(api, reply).await;
            let fault = failure(&events);
            let got = (fault.fault.kind, fault.retryable, fault.retry_after_ms);
            assert_eq!(got, (kind, retryable, wait), "{api:?} {fault:?}");
            assert_eq!(fault.fault.status, Some(status), "{api:?}");
            assert!(fault.fault.message.starts_with(&format!("{status} ")), "{api:?} {fault:?}");
        }
    }
}

#[tokio::test]
async fn a_wrong_address_is_told_with_the_end_of_the_right_one() {
    for (api, end) in
        [(Api::Completions, "/v1"), (Api::Responses, "/v1"), (Api::Anthropic, "/v1"), (Api::Gemini, "/v1beta")]
    {
        let mock = MockModel::start().await;
        let server = format!("http://127.0.0.1:{}", mock.port);
        let provider = speaking_with(&mock, api, |config| config.base_url = server.clone());
        let events = ask(&provider, "x").await;
        let fault = failure(&events);
        assert_eq!(fault.fault.status, Some(404), "{api:?}");
        let want = format!("should the base URL {server} end in {end}?");
        assert!(fault.fault.hints.contains(&want), "{api:?} {fault:?}");
        let fault = provider.models().await.unwrap_err();
        assert!(fault.hints.contains(&want), "{api:?} {fault:?}");
    }
}

#[tokio::test]
async fn refusals_come_with_a_hint_and_short() {
    let events = answer(Reply::error(401, "who are you")).await;
    assert_eq!(failure(&events).fault.message, "401 who are you");
    assert_eq!(failure(&events).fault.hints, ["check MOCK_API_KEY"]);
    let events = answer(Reply::plain(500, "text/plain", "\u{e9}".repeat(200_000))).await;
    assert_eq!(failure(&events).fault.message.chars().count(), net::MESSAGE_CHARS_MAX + 1);
}

#[tokio::test]
async fn what_is_no_model_stream_is_named() {
    for api in Api::ALL {
        for (content_type, body, word) in [
            ("text/html; charset=utf-8", "<html>welcome</html>", "HTML"),
            ("image/png", "x", "image/png"),
            ("application/json", "{\"hello\":", "cannot be read"),
        ] {
            let events = answer_in(api, Reply::plain(200, content_type, body)).await;
            assert_eq!(failure_kind(&events), Provider, "{api:?}");
            assert!(failure(&events).fault.message.contains(word), "{api:?} {events:?}");
        }
        // JSON that is no answer, and HTML that calls itself a stream.
        let events = answer_in(api, Reply::plain(200, "application/json", "{\"hello\":1}")).await;
        assert!(matches!(failure_kind(&events), StreamCut | Provider), "{api:?} {events:?}");
        let html = Step::Raw(b"<!doctype html>\n<p>hi</p>\n".to_vec());
        assert_eq!(failure_kind(&answer_in(api, Reply::stream([html])).await), StreamCut, "{api:?}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_the_key_stays() {
    let elsewhere = MockModel::start().await;
    for api in Api::ALL {
        for status in [301, 302, 303, 307, 308] {
            let mock = MockModel::start().await;
            let location = format!("http://localhost:{}/v1/chat/completions", elsewhere.port);
            mock.push(Reply::plain(status, "text/plain", "").header("location", &location));
            mock.set_models(Reply::plain(status, "text/plain", "").header("location", &location));
            let provider = speaking(&mock, api);
            let events = ask(&provider, "x").await;
            assert!(failure(&events).fault.message.contains("redirects to localhost"), "{api:?} {events:?}");
            assert!(!failure(&events).retryable, "{api:?}");
            assert!(provider.models().await.is_err(), "{api:?}");
        }
    }
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn no_connection_is_a_retryable_network_fault_with_a_hint() {
    let mock = MockModel::start().await;
    let refused = mock.base_url.clone();
    drop(mock);
    let provider = Client::new(Config::new(&refused)).unwrap();
    let events = ask(&provider, "x").await;
    let fault = failure(&events);
    assert_eq!((fault.fault.kind, fault.retryable), (Network, true));
    assert_eq!(fault.fault.hints, [format!("is the server at {refused} running?")]);
    assert!(fault.fault.message.to_lowercase().contains("refused"), "{fault:?}");
}

#[tokio::test]
async fn a_broken_tls_handshake_is_a_network_fault() {
    let mock = MockModel::start().await;
    let provider = Client::new(Config::new(mock.base_url.replace("http:", "https:"))).unwrap();
    let events = ask(&provider, "x").await;
    assert_eq!(failure_kind(&events), Network);
    assert!(failure(&events).retryable);
}

#[test]
fn a_base_url_that_cannot_work_is_refused_at_once() {
    for url in ["", "localhost:11434/v1", "ftp://x/v1", "not a url", "http://", "https://user:hunter2@host/v1"] {
        let Err(fault) = Client::new(Config::new(url)) else { panic!("{url:?} was taken") };
        assert_eq!(fault.kind, Invalid, "{url}");
        assert!(!fault.message.contains("hunter2"));
    }
    for url in ["http://127.0.0.1:1/v1/", "https://api.example/v1", "http://[::1]:8080", "http://h/v1?api-version=1"] {
        assert!(Client::new(Config::new(url)).is_ok(), "{url}");
    }
}
