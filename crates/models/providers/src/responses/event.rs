//! The JSON of a stream's events and of whole answers. Typed, strings borrowed from the input; nothing here keeps state.

use serde::Deserialize;
use serde_json::value::RawValue;
use vocab::Usage;

use crate::json::{LenientText, count, counts, is_count};

/// Any event: they share their fields, and of most only a few are there. One flat struct, because telling them apart by
/// type would read each event twice.
#[derive(Deserialize)]
pub(super) struct ResponsesEvent<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: LenientText<'a>,
    #[serde(borrow, default)]
    pub(super) delta: LenientText<'a>,
    #[serde(default)]
    pub(super) output_index: Option<u64>,
    #[serde(default)]
    pub(super) content_index: Option<u64>,
    #[serde(default)]
    pub(super) summary_index: Option<u64>,
    #[serde(borrow, default)]
    pub(super) item: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

/// A whole answer; the last event of a stream has one, too.
#[derive(Deserialize)]
pub(super) struct ResponseObject<'a> {
    #[serde(borrow, default)]
    pub(super) status: LenientText<'a>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) incomplete_details: Option<IncompleteDetails<'a>>,
    #[serde(default, deserialize_with = "counts")]
    pub(super) usage: Option<ResponsesUsage>,
    #[serde(borrow, default)]
    pub(super) output: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct IncompleteDetails<'a> {
    #[serde(borrow, default)]
    pub(super) reason: LenientText<'a>,
}

#[derive(Deserialize)]
pub(super) struct ResponsesUsage {
    #[serde(default)]
    input_tokens: Option<f64>,
    #[serde(default)]
    input_tokens_details: Option<InputDetails>,
    #[serde(default)]
    output_tokens: Option<f64>,
}

#[derive(Deserialize)]
struct InputDetails {
    #[serde(default)]
    cached_tokens: Option<f64>,
    #[serde(default)]
    cache_write_tokens: Option<f64>,
}

impl ResponsesUsage {
    /// On this wire the input includes what was read from the cache or written to it, and the output includes reasoning.
    pub(super) fn usage(&self) -> Usage {
        let details = self.input_tokens_details.as_ref();
        let all = count(self.input_tokens);
        let cache_read = count(details.and_then(|details| details.cached_tokens)).min(all);
        let cache_write = count(details.and_then(|details| details.cache_write_tokens)).min(all - cache_read);
        let input = all - cache_read - cache_write;
        let estimated = !is_count(self.input_tokens) || !is_count(self.output_tokens);
        Usage { input, cache_read, cache_write, output: count(self.output_tokens), estimated }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    #[test]
    fn a_delta_is_borrowed_from_the_input() {
        let data = br#"{"type":"response.output_text.delta","delta":"plain","logprobs":[],"obfuscation":"x"}"#;
        let event: ResponsesEvent<'_> = serde_json::from_slice(data).unwrap();
        assert!(matches!(event.delta.0, Cow::Borrowed("plain")));
        assert!(matches!(event.kind.0, Cow::Borrowed(_)));
    }

    #[test]
    fn cached_tokens_are_not_counted_twice() {
        for (json, want) in [
            (r#"{"input_tokens":10,"output_tokens":3,"output_tokens_details":{"reasoning_tokens":2}}"#, (10, 0, 0, 3)),
            (r#"{"input_tokens":10,"input_tokens_details":{"cached_tokens":4}}"#, (6, 4, 0, 0)),
            (r#"{"input_tokens":10,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":5}}"#, (1, 4, 5, 0)),
            (r#"{"input_tokens":3.0,"input_tokens_details":{"cached_tokens":9},"output_tokens":2.0}"#, (0, 3, 0, 2)),
            (r#"{"input_tokens":null,"input_tokens_details":null}"#, (0, 0, 0, 0)),
        ] {
            let usage = serde_json::from_str::<ResponsesUsage>(json).unwrap().usage();
            assert_eq!(usage.estimated, want.3 == 0, "{json}");
            assert_eq!((usage.input, usage.cache_read, usage.cache_write, usage.output), want, "{json}");
        }
    }
}
