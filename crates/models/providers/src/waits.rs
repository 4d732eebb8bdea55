//! What a refusal says about trying again: whether, and when. Pure; the clock is given.

use net::header::{DATE, RETRY_AFTER};
use net::{HeaderMap, date};

/// Numbers above these are points in time, in seconds or in milliseconds; below it is a span in seconds.
const EPOCH_S_MIN: f64 = 1e9;
const EPOCH_MS_MIN: f64 = 1e11;

/// What the server asked us to wait: `retry-after-ms`, seconds, or a date. A date is measured against the server's own
/// clock when it tells the time.
pub(crate) fn retry_after_ms(headers: &HeaderMap, now_s: i64) -> Option<u64> {
    if let Some(ms) = text(headers, "retry-after-ms").and_then(number) {
        return Some(ms.ceil() as u64);
    }
    let after = text(headers, RETRY_AFTER.as_str())?;
    if let Some(seconds) = number(after) {
        return Some(ms(seconds));
    }
    Some(until(date::parse(after)?, clock(headers, now_s)))
}

/// When a budget that is used up is full again. A server has several (requests, tokens) and tells of each what remains and
/// when it is reset; only those with nothing left count, and of them the one that takes longest.
pub(crate) fn budget_reset_ms(headers: &HeaderMap, now_s: i64) -> Option<u64> {
    let now_s = clock(headers, now_s);
    let resets = headers.iter().filter_map(|(name, value)| {
        let empty = value.to_str().ok().map(str::trim).and_then(number) == Some(0.0);
        let reset = reset_of(name.as_str()).filter(|_| empty)?;
        reset_ms(text(headers, &reset)?, now_s)
    });
    resets.max()
}

/// The header that says when the budget is full again of which this one says what remains.
fn reset_of(remaining: &str) -> Option<String> {
    if let Some(budget) =
        remaining.strip_prefix("anthropic-ratelimit-").and_then(|rest| rest.strip_suffix("-remaining"))
    {
        return Some(format!("anthropic-ratelimit-{budget}-reset"));
    }
    let budget = remaining.strip_prefix("x-ratelimit-remaining")?;
    Some(format!("x-ratelimit-reset{budget}"))
}

/// `6m0s`, `12ms`, seconds, a point in time as a number or in RFC 3339.
pub(crate) fn reset_ms(text: &str, now_s: i64) -> Option<u64> {
    match number(text) {
        Some(at) if at >= EPOCH_MS_MIN => Some(until((at / 1000.0).ceil() as i64, now_s)),
        Some(at) if at >= EPOCH_S_MIN => Some(until(at.ceil() as i64, now_s)),
        Some(seconds) => Some(ms(seconds)),
        None => span_ms(text).or_else(|| Some(until(date::parse_rfc3339(text)?, now_s))),
    }
}

/// A span as Go and Google write it: numbers, each with a unit.
pub(crate) fn span_ms(text: &str) -> Option<u64> {
    let mut total = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let unit_at = rest.find(|char: char| !char.is_ascii_digit() && char != '.')?;
        let amount = number(&rest[..unit_at])?;
        let after = rest[unit_at..].find(|char: char| char.is_ascii_digit()).map_or(rest.len(), |at| unit_at + at);
        total += amount
            * match &rest[unit_at..after] {
                "h" => 3_600_000.0,
                "m" => 60_000.0,
                "s" => 1_000.0,
                "ms" => 1.0,
                "us" | "\u{b5}s" => 0.001,
                "ns" => 0.000_001,
                _ => return None,
            };
        rest = &rest[after..];
    }
    (!text.is_empty()).then_some(total.ceil() as u64)
}

/// Whether the server says itself that asking again makes sense. Its `false` is meant for client libraries that ask again
/// unseen; our retries are few, visible and can be called off, and people count on them after a 429 or a 5xx.
pub(crate) fn invites_retry(headers: &HeaderMap) -> bool {
    text(headers, "x-should-retry").is_some_and(|word| word.eq_ignore_ascii_case("true"))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}
fn number(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse::<f64>().ok().filter(|number| plain && number.is_finite())
}
fn ms(seconds: f64) -> u64 {
    (seconds * 1000.0).ceil() as u64
}
fn until(at_s: i64, now_s: i64) -> u64 {
    at_s.saturating_sub(now_s).max(0) as u64 * 1000
}
fn clock(headers: &HeaderMap, now_s: i64) -> i64 {
    text(headers, DATE.as_str()).and_then(date::parse).unwrap_or(now_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sun, 06 Nov 1994 08:49:37 GMT.
    const NOW: i64 = 784_111_777;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn the_wait_a_server_asks_for_is_understood() {
        for (pairs, want) in [
            (&[("retry-after", "7")][..], Some(7_000)),
            (&[("retry-after", "1.5")], Some(1_500)),
            (&[("retry-after", "0")], Some(0)),
            (&[("retry-after-ms", "250"), ("retry-after", "7")], Some(250)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], Some(30_000)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT")], Some(0)),
            // The server's clock is an hour ahead of ours: its own `Date` counts.
            (
                &[("retry-after", "Sun, 06 Nov 1994 09:49:47 GMT"), ("date", "Sun, 06 Nov 1994 09:49:37 GMT")],
                Some(10_000),
            ),
            (&[("retry-after", "-3")], None),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "inf")], None),
            (&[], None),
        ] {
            assert_eq!(retry_after_ms(&headers(pairs), NOW), want, "{pairs:?}");
        }
    }

    #[test]
    fn a_budget_that_is_used_up_says_when_it_is_full_again() {
        const REQUESTS: &str = "x-ratelimit-remaining-requests";
        const RESET: &str = "x-ratelimit-reset-requests";
        for (pairs, want) in [
            // OpenAI, Groq
            (&[(REQUESTS, "0"), (RESET, "1s")][..], Some(1_000)),
            (&[(REQUESTS, "0"), (RESET, "6m0s")], Some(360_000)),
            (&[(REQUESTS, "0"), (RESET, "12ms")], Some(12)),
            (&[(REQUESTS, "0"), (RESET, "2m59.56s")], Some(179_560)),
            (&[(REQUESTS, "0"), (RESET, "1h2m3s4ms")], Some(3_723_004)),
            // Something is left, so it is not this budget that refused.
            (&[(REQUESTS, "3"), (RESET, "1s")], None),
            (&[(RESET, "1s")], None),
            (&[(REQUESTS, "0")], None),
            (&[(REQUESTS, "0"), (RESET, "1y")], None),
            (&[(REQUESTS, "0"), (RESET, "soon")], None),
            (&[(REQUESTS, "0"), (RESET, "")], None),
            (
                &[
                    (REQUESTS, "9"),
                    (RESET, "1h0m0s"),
                    ("x-ratelimit-remaining-tokens", "0"),
                    ("x-ratelimit-reset-tokens", "80ms"),
                ],
                Some(80),
            ),
            (
                &[
                    (REQUESTS, "0"),
                    (RESET, "2s"),
                    ("x-ratelimit-remaining-tokens", "0"),
                    ("x-ratelimit-reset-tokens", "9s"),
                ],
                Some(9_000),
            ),
            // Cerebras
            (
                &[("x-ratelimit-remaining-tokens-minute", "0"), ("x-ratelimit-reset-tokens-minute", "11.38")],
                Some(11_380),
            ),
            // OpenRouter, in milliseconds since 1970
            (&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "784111787000")], Some(10_000)),
            (
                &[
                    ("x-ratelimit-remaining", "0"),
                    ("x-ratelimit-reset", "1741305630"),
                    ("date", "Fri, 07 Mar 2025 00:00:00 GMT"),
                ],
                Some(30_000),
            ),
            // Anthropic
            (
                &[
                    ("anthropic-ratelimit-requests-remaining", "0"),
                    ("anthropic-ratelimit-requests-reset", "1994-11-06T08:50:07Z"),
                ],
                Some(30_000),
            ),
            (
                &[
                    ("anthropic-ratelimit-input-tokens-remaining", "0"),
                    ("anthropic-ratelimit-input-tokens-reset", "1994-11-06T09:50:07+01:00"),
                ],
                Some(30_000),
            ),
            (
                &[
                    ("anthropic-ratelimit-output-tokens-remaining", "0"),
                    ("anthropic-ratelimit-output-tokens-reset", "1994-11-06T08:49:00Z"),
                ],
                Some(0),
            ),
            (
                &[
                    ("anthropic-ratelimit-tokens-remaining", "1000"),
                    ("anthropic-ratelimit-tokens-reset", "1994-11-06T08:50:07Z"),
                ],
                None,
            ),
        ] {
            assert_eq!(budget_reset_ms(&headers(pairs), NOW), want, "{pairs:?}");
        }
    }

    #[test]
    fn a_server_may_say_whether_to_ask_again() {
        for (word, want) in [("True", true), ("false", false), ("maybe", false)] {
            assert_eq!(invites_retry(&headers(&[("x-should-retry", word)])), want);
        }
        assert!(!invites_retry(&HeaderMap::new()));
    }
}
