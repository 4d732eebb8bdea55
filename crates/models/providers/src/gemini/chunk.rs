//! The JSON of an answer: streamed chunks, and the list of them that a server sends which does not stream. Typed, strings
//! borrowed from the input; nothing here keeps state.

use serde::Deserialize;
use serde_json::value::RawValue;
use vocab::Usage;

use crate::json::{self, LenientText, count, is_count};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiChunk<'a> {
    #[serde(borrow, default)]
    candidates: Option<Vec<Candidate<'a>>>,
    #[serde(borrow, default)]
    pub(super) prompt_feedback: Option<Feedback<'a>>,
    #[serde(default, deserialize_with = "json::counts")]
    pub(super) usage_metadata: Option<GeminiUsage>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
    /// Cloud Code wraps each chunk once.
    #[serde(borrow, default)]
    response: Option<Box<GeminiChunk<'a>>>,
}

impl<'a> GeminiChunk<'a> {
    pub(super) fn read<T>(data: &[u8], with: impl FnOnce(GeminiChunk<'_>) -> T) -> Result<T, serde_json::Error> {
        json::read(data, &mut Vec::new()).map(|chunk: GeminiChunk<'_>| match chunk.response {
            Some(inner) => with(*inner),
            None => with(chunk),
        })
    }
    /// The first: we ask for one and look at no other.
    pub(super) fn candidate(&mut self) -> Option<Candidate<'a>> {
        self.candidates.take()?.into_iter().next()
    }
}

/// The chunks of a whole answer: a list of them, or one alone.
pub(super) fn each(body: &[u8]) -> Result<Vec<&RawValue>, serde_json::Error> {
    match body.trim_ascii_start().first() {
        Some(b'[') => serde_json::from_slice(body),
        _ => serde_json::from_slice(body).map(|one| vec![one]),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate<'a> {
    #[serde(borrow, default)]
    content: Option<GeminiContent<'a>>,
    #[serde(borrow, default)]
    pub(super) finish_reason: Option<LenientText<'a>>,
    #[serde(borrow, default)]
    pub(super) finish_message: Option<LenientText<'a>>,
}

impl<'a> Candidate<'a> {
    pub(super) fn parts(&mut self) -> Vec<GeminiPart<'a>> {
        self.content.take().and_then(|content| content.parts).unwrap_or_default()
    }
}

#[derive(Deserialize)]
struct GeminiContent<'a> {
    #[serde(borrow, default)]
    parts: Option<Vec<GeminiPart<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiPart<'a> {
    #[serde(borrow, default)]
    pub(super) text: Option<LenientText<'a>>,
    /// The text is thinking.
    #[serde(default)]
    pub(super) thought: Option<bool>,
    #[serde(borrow, default)]
    pub(super) thought_signature: Option<LenientText<'a>>,
    #[serde(borrow, default)]
    pub(super) function_call: Option<GeminiFunctionCall<'a>>,
}

/// Always whole: this API does not stream arguments.
#[derive(Deserialize)]
pub(super) struct GeminiFunctionCall<'a> {
    #[serde(borrow, default)]
    pub(super) id: Option<LenientText<'a>>,
    #[serde(borrow, default)]
    pub(super) name: Option<LenientText<'a>>,
    #[serde(borrow, default)]
    args: Option<&'a RawValue>,
}

impl<'a> GeminiFunctionCall<'a> {
    pub(super) fn args(&self) -> &'a str {
        self.args.map_or("{}", RawValue::get)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Feedback<'a> {
    #[serde(borrow, default)]
    pub(super) block_reason: Option<LenientText<'a>>,
    #[serde(borrow, default)]
    pub(super) block_reason_message: Option<LenientText<'a>>,
}

/// Token counts; every chunk repeats a running total.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiUsage {
    #[serde(default)]
    prompt_token_count: Option<f64>,
    #[serde(default)]
    cached_content_token_count: Option<f64>,
    #[serde(default)]
    tool_use_prompt_token_count: Option<f64>,
    #[serde(default)]
    candidates_token_count: Option<f64>,
    #[serde(default)]
    thoughts_token_count: Option<f64>,
}

impl GeminiUsage {
    /// On this wire the prompt includes what came from the cache; candidates do not include thoughts.
    pub(super) fn usage(&self) -> Usage {
        let prompt = count(self.prompt_token_count);
        let cache_read = count(self.cached_content_token_count).min(prompt);
        // One of them is left out where it is nothing.
        let has_output = is_count(self.candidates_token_count) || is_count(self.thoughts_token_count);
        Usage {
            input: prompt - cache_read + count(self.tool_use_prompt_token_count),
            cache_read,
            cache_write: 0,
            output: count(self.candidates_token_count) + count(self.thoughts_token_count),
            estimated: !is_count(self.prompt_token_count) || !has_output,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    #[test]
    fn plain_text_is_borrowed_from_the_input() {
        let data = br#"{"candidates":[{"content":{"parts":[{"text":"plain"}]}},{"content":null}]}"#;
        let borrowed = GeminiChunk::read(data, |mut chunk| {
            let part = chunk.candidate().and_then(|mut candidate| candidate.parts().pop());
            matches!(part.and_then(|part| part.text), Some(LenientText(Cow::Borrowed("plain"))))
        });
        assert!(borrowed.unwrap());
    }

    #[test]
    fn cached_tokens_are_not_counted_twice_and_thoughts_are_output() {
        for (json, want) in [
            (r#"{"promptTokenCount":10,"candidatesTokenCount":3,"totalTokenCount":13}"#, (10, 0, 3)),
            (
                r#"{"promptTokenCount":10,"cachedContentTokenCount":4,"thoughtsTokenCount":7,"candidatesTokenCount":3}"#,
                (6, 4, 10),
            ),
            (r#"{"promptTokenCount":10,"toolUsePromptTokenCount":5.0,"thoughtsTokenCount":2}"#, (15, 0, 2)),
            (r#"{"promptTokenCount":3,"cachedContentTokenCount":9}"#, (0, 3, 0)),
            (r#"{"promptTokenCount":null}"#, (0, 0, 0)),
        ] {
            let usage = serde_json::from_str::<GeminiUsage>(json).unwrap().usage();
            assert_eq!((usage.input, usage.cache_read, usage.output), want, "{json}");
            assert_eq!((usage.cache_write, usage.estimated), (0, want.2 == 0), "{json}");
        }
    }
}
