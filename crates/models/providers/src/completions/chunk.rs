//! The JSON of an answer: streamed chunks, and the whole answer of servers that do not stream. Typed, strings borrowed
//! from the input; nothing here keeps state.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;
use vocab::Usage;

use super::content::LenientContent;
use crate::json::{self, LenientText, count, is_count};

#[derive(Deserialize)]
pub(super) struct CompletionsChunk<'a> {
    #[serde(borrow, default)]
    choices: Option<First<'a>>,
    /// Boxed, as everything that few chunks have: a chunk is moved about often, and most are one word.
    #[serde(default, deserialize_with = "json::counts")]
    usage: Option<Box<CompletionsUsage>>,
    /// Groq's own place for usage.
    #[serde(default)]
    x_groq: Option<Box<Aside>>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    /// `error` where the whole chunk is one.
    #[serde(borrow, default)]
    object: Option<LenientText<'a>>,
}

#[derive(Deserialize)]
struct Aside {
    #[serde(default, deserialize_with = "json::counts")]
    usage: Option<Box<CompletionsUsage>>,
}

impl<'a> CompletionsChunk<'a> {
    pub(super) fn read<T>(data: &[u8], with: impl FnOnce(CompletionsChunk<'_>) -> T) -> Result<T, serde_json::Error> {
        json::read(data, &mut Vec::new()).map(with)
    }
    /// Usage stands at the top, in the choice (Moonshot) or aside (Groq).
    pub(super) fn usage(&self) -> Option<Usage> {
        let choice = self.choices.as_ref().and_then(|first| first.0.as_ref()).and_then(|choice| choice.usage.as_ref());
        let aside = self.x_groq.as_ref().and_then(|aside| aside.usage.as_ref());
        self.usage.as_ref().or(choice).or(aside).map(|counts| counts.usage())
    }
    /// What went wrong is told at the top, in the choice (OpenRouter), or by the whole chunk (vLLM).
    pub(super) fn error<'b>(&self, whole: &'b [u8]) -> Option<&'b [u8]>
    where
        'a: 'b,
    {
        let choice = self.choices.as_ref().and_then(|first| first.0.as_ref()).and_then(|choice| choice.error);
        let told = self.error.or(choice).map(|raw| raw.get().as_bytes());
        told.or_else(|| self.object.as_ref().is_some_and(|object| object.0 == "error").then_some(whole))
    }
    pub(super) fn choice(self) -> Option<ChunkChoice<'a>> {
        self.choices.and_then(|first| first.0)
    }
}

#[derive(Deserialize)]
pub(super) struct ChunkChoice<'a> {
    #[serde(borrow, default)]
    delta: Option<ChoiceDelta<'a>>,
    /// In place of `delta` when the server did not stream.
    #[serde(borrow, default)]
    message: Option<Box<ChoiceDelta<'a>>>,
    #[serde(borrow, default)]
    pub(super) finish_reason: Option<LenientText<'a>>,
    /// The word of the server behind the server.
    #[serde(borrow, default)]
    pub(super) native_finish_reason: Option<LenientText<'a>>,
    #[serde(default, deserialize_with = "json::counts")]
    usage: Option<Box<CompletionsUsage>>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

impl<'a> ChunkChoice<'a> {
    pub(super) fn delta(self) -> Option<ChoiceDelta<'a>> {
        self.delta.or(self.message.map(|message| *message))
    }
}

#[derive(Deserialize)]
pub(super) struct ChoiceDelta<'a> {
    #[serde(borrow, default)]
    pub(super) content: Option<LenientContent<'a>>,
    #[serde(borrow, default)]
    reasoning_content: Option<LenientText<'a>>,
    #[serde(borrow, default)]
    reasoning: Option<LenientText<'a>>,
    #[serde(borrow, default)]
    reasoning_text: Option<LenientText<'a>>,
    #[serde(borrow, default)]
    pub(super) reasoning_details: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) refusal: Option<LenientText<'a>>,
    #[serde(borrow, default)]
    pub(super) tool_calls: Option<Vec<CallDelta<'a>>>,
    /// The shape before parallel calls.
    #[serde(borrow, default)]
    pub(super) function_call: Option<Box<CalledFunction<'a>>>,
}

impl<'a> ChoiceDelta<'a> {
    /// The words of a delta that has nothing else, as they stand in the chunk.
    pub(super) fn words_alone(&self) -> Option<&'a str> {
        let others = [&self.reasoning_content, &self.reasoning, &self.reasoning_text, &self.refusal];
        let nothing_else = others.iter().all(|words| words.as_ref().is_none_or(|words| words.0.is_empty()))
            && self.reasoning_details.is_none()
            && self.tool_calls.is_none()
            && self.function_call.is_none();
        match &self.content {
            Some(LenientContent { text: Cow::Borrowed(words), thinking }) if nothing_else && thinking.is_empty() => {
                Some(words)
            }
            _ => None,
        }
    }
    /// Reasoning has three names. Servers that send more than one repeat themselves: the first that says something counts.
    pub(super) fn reasoning(&mut self) -> Option<Cow<'a, str>> {
        let names = [self.reasoning_content.take(), self.reasoning.take(), self.reasoning_text.take()];
        names.into_iter().flatten().map(|words| words.0).find(|text| !text.is_empty())
    }
}

#[derive(Deserialize)]
pub(super) struct CallDelta<'a> {
    #[serde(default)]
    pub(super) index: Option<u64>,
    #[serde(borrow, default)]
    pub(super) id: Option<LenientText<'a>>,
    #[serde(borrow, default)]
    pub(super) function: Option<CalledFunction<'a>>,
}

#[derive(Deserialize)]
pub(super) struct CalledFunction<'a> {
    #[serde(borrow, default)]
    pub(super) name: Option<LenientText<'a>>,
    /// A string by the book, an object from some servers.
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

impl<'a> CalledFunction<'a> {
    pub(super) fn arguments(&self) -> Result<Cow<'a, str>, serde_json::Error> {
        match self.arguments.map(RawValue::get) {
            None => Ok(Cow::Borrowed("")),
            Some(raw) if raw.starts_with('"') => json::read::<LenientText<'_>>(raw.as_bytes(), &mut Vec::new())
                .map(|words| Cow::Owned(words.0.into_owned())),
            Some(raw) => Ok(Cow::Borrowed(raw)),
        }
    }
}

/// Token counts. Floats, because one server's `12.0` must not cost the whole answer.
#[derive(Deserialize)]
pub(super) struct CompletionsUsage {
    #[serde(default)]
    prompt_tokens: Option<f64>,
    #[serde(default)]
    completion_tokens: Option<f64>,
    #[serde(default)]
    prompt_tokens_details: Option<PromptDetails>,
    /// DeepSeek's name for it.
    #[serde(default)]
    prompt_cache_hit_tokens: Option<f64>,
    /// Moonshot's.
    #[serde(default)]
    cached_tokens: Option<f64>,
}

#[derive(Deserialize)]
struct PromptDetails {
    #[serde(default)]
    cached_tokens: Option<f64>,
    #[serde(default)]
    cache_write_tokens: Option<f64>,
}

impl CompletionsUsage {
    /// On this wire the prompt includes what came from the cache, and the completion includes reasoning.
    pub(super) fn usage(&self) -> Usage {
        let details = self.prompt_tokens_details.as_ref();
        let cached = details.and_then(|details| details.cached_tokens);
        let cached = cached.or(self.prompt_cache_hit_tokens).or(self.cached_tokens);
        let prompt = count(self.prompt_tokens);
        let cache_read = count(cached).min(prompt);
        let cache_write = count(details.and_then(|details| details.cache_write_tokens)).min(prompt - cache_read);
        Usage {
            input: prompt - cache_read - cache_write,
            cache_read,
            cache_write,
            output: count(self.completion_tokens),
            estimated: !is_count(self.prompt_tokens) || !is_count(self.completion_tokens),
        }
    }
}

/// The first element of a list: we ask for one choice and look at no other.
struct First<'a>(Option<ChunkChoice<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for First<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Seq;
        impl<'de> Visitor<'de> for Seq {
            type Value = First<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of choices")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<First<'de>, A::Error> {
                let first = seq.next_element()?;
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(First(first))
            }
        }
        deserializer.deserialize_seq(Seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(data: &str) -> Result<String, serde_json::Error> {
        CompletionsChunk::read(data.as_bytes(), |chunk| {
            let content = chunk.choice().and_then(ChunkChoice::delta).and_then(|delta| delta.content);
            content.map(|content| content.text.into_owned()).unwrap_or_default()
        })
    }

    #[test]
    fn plain_text_is_borrowed_from_the_input() {
        let data = br#"{"choices":[{"delta":{"content":"plain"}}]}"#;
        let borrowed = CompletionsChunk::read(data, |chunk| {
            let content = chunk.choice().and_then(ChunkChoice::delta).and_then(|delta| delta.content);
            matches!(content, Some(LenientContent { text: Cow::Borrowed("plain"), .. }))
        });
        assert!(borrowed.unwrap());
    }

    #[test]
    fn content_is_read_in_every_shape() {
        for (value, want) in [
            (r#""a""#, "a"),
            ("null", ""),
            (r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#, "ab"),
            (r#""\ud83d\ude00""#, "\u{1F600}"),
            (r#""x\ud83dy""#, "x\u{FFFD}y"),
            (r#""\\ud83d""#, "\\ud83d"),
            (r#""\ude00\ud83d""#, "\u{FFFD}\u{FFFD}"),
        ] {
            let data = format!(r#"{{"choices":[{{"delta":{{"content":{value}}}}},{{"delta":7}}]}}"#);
            assert_eq!(content(&data).unwrap(), want, "{value}");
        }
        assert!(content(r#"{"choices":[{"delta":{"content":"a}}]}"#).is_err());
    }

    #[test]
    fn half_a_pair_in_arguments_costs_one_character() {
        let data = br#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"{\"a\":\"x\ud83dy\"}"}}]}}]}"#;
        let arguments = CompletionsChunk::read(data, |chunk| {
            let calls = chunk.choice().and_then(ChunkChoice::delta).and_then(|delta| delta.tool_calls).unwrap();
            calls[0].function.as_ref().unwrap().arguments().unwrap().into_owned()
        });
        assert_eq!(arguments.unwrap(), "{\"a\":\"x\u{FFFD}y\"}");
    }

    #[test]
    fn cached_tokens_are_not_counted_twice() {
        for (json, want) in [
            (r#"{"prompt_tokens":10,"completion_tokens":3}"#, (10, 0, 0, 3)),
            (r#"{"prompt_tokens":10,"prompt_tokens_details":{"cached_tokens":4}}"#, (6, 4, 0, 0)),
            (
                r#"{"prompt_tokens":10,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":5}}"#,
                (1, 4, 5, 0),
            ),
            (r#"{"prompt_tokens":10,"prompt_cache_hit_tokens":7,"completion_tokens":2.0}"#, (3, 7, 0, 2)),
            (r#"{"prompt_tokens":3,"prompt_tokens_details":{"cached_tokens":9}}"#, (0, 3, 0, 0)),
            (r#"{"prompt_tokens":null,"prompt_tokens_details":null}"#, (0, 0, 0, 0)),
        ] {
            let usage = serde_json::from_str::<CompletionsUsage>(json).unwrap().usage();
            assert_eq!((usage.input, usage.cache_read, usage.cache_write, usage.output), want, "{json}");
        }
    }

    #[test]
    fn a_count_that_was_not_given_is_marked_and_what_is_no_counts_is_none() {
        let read = |usage: &str| {
            let data = format!(r#"{{"choices":[],"usage":{usage}}}"#);
            CompletionsChunk::read(data.as_bytes(), |chunk| chunk.usage()).unwrap().map(|usage| usage.estimated)
        };
        assert_eq!(read(r#"{"prompt_tokens":10,"completion_tokens":0}"#), Some(false));
        for part in [
            "{}",
            r#"{"total_tokens":110}"#,
            r#"{"prompt_tokens":10}"#,
            r#"{"completion_tokens":3}"#,
            r#"{"prompt_tokens":null,"completion_tokens":null}"#,
            r#"{"prompt_tokens":-1,"completion_tokens":-1}"#,
        ] {
            assert_eq!(read(part), Some(true), "{part}");
        }
        for odd in ["null", "[1,2]", "7", r#""10""#, r#"{"prompt_tokens":"ten"}"#] {
            assert_eq!(read(odd), None, "{odd}");
        }
    }
}
