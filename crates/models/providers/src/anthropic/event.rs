//! The JSON of an answer: events of a stream, and the whole message of servers that do not stream. Typed, strings
//! borrowed from the input; nothing here keeps state.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use vocab::Usage;

use crate::json::{LenientText, count, counts, is_count};

/// Any event. One shape for all of them: what an event does not have is absent, and `kind` may stand anywhere.
#[derive(Deserialize)]
pub(super) struct AnthropicEvent<'a> {
    #[serde(borrow, rename = "type", default)]
    pub(super) kind: LenientText<'a>,
    #[serde(default)]
    pub(super) index: u64,
    #[serde(borrow, default)]
    pub(super) delta: Option<BlockDelta<'a>>,
    #[serde(borrow, default)]
    pub(super) content_block: Option<ContentBlock<'a>>,
    #[serde(borrow, default)]
    pub(super) message: Option<AnthropicMessage<'a>>,
    #[serde(default, deserialize_with = "counts")]
    pub(super) usage: Option<AnthropicUsage>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

/// The events we know.
const KINDS: [&str; 8] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "ping",
    "error",
];

impl<'a> AnthropicEvent<'a> {
    /// The words of an event that is a piece of text, as they stand in it.
    pub(super) fn text_alone(&self) -> Option<&'a str> {
        let delta = self.delta.as_ref().filter(|delta| delta.kind.0 == "text_delta")?;
        match &delta.text {
            Some(LenientText(Cow::Borrowed(words))) if self.kind.0 == "content_block_delta" => Some(words),
            _ => None,
        }
    }
    /// Whether this is an event of a kind that nobody has heard of yet.
    pub(super) fn is_news(data: &[u8]) -> bool {
        #[derive(Deserialize)]
        struct EventTag {
            #[serde(rename = "type")]
            kind: String,
        }
        serde_json::from_slice::<EventTag>(data).is_ok_and(|tag| !KINDS.contains(&&*tag.kind))
    }
}

/// What a block grows by, or how the message ends.
#[derive(Deserialize)]
pub(super) struct BlockDelta<'a> {
    #[serde(borrow, rename = "type", default)]
    pub(super) kind: LenientText<'a>,
    #[serde(borrow, default)]
    pub(super) text: Option<LenientText<'a>>,
    #[serde(borrow, default)]
    pub(super) thinking: Option<LenientText<'a>>,
    #[serde(borrow, default)]
    pub(super) signature: Option<LenientText<'a>>,
    #[serde(borrow, default)]
    pub(super) partial_json: Option<LenientText<'a>>,
    #[serde(borrow, default)]
    pub(super) stop_reason: Option<LenientText<'a>>,
    #[serde(borrow, default)]
    pub(super) stop_details: Option<StopDetails<'a>>,
}

/// A block: the start of one in a stream, all of it in a whole message.
#[derive(Deserialize)]
pub(super) struct ContentBlock<'a> {
    #[serde(borrow, rename = "type", default)]
    pub(super) kind: LenientText<'a>,
    #[serde(borrow, default)]
    pub(super) text: Option<LenientText<'a>>,
    #[serde(borrow, default)]
    pub(super) thinking: Option<LenientText<'a>>,
    #[serde(borrow, default)]
    pub(super) signature: Option<LenientText<'a>>,
    /// Of redacted thinking.
    #[serde(borrow, default)]
    pub(super) data: Option<LenientText<'a>>,
    #[serde(borrow, default)]
    pub(super) id: Option<LenientText<'a>>,
    #[serde(borrow, default)]
    pub(super) name: Option<LenientText<'a>>,
    #[serde(borrow, default)]
    pub(super) input: Option<&'a RawValue>,
}

impl ContentBlock<'_> {
    /// Arguments that came with the block. A stream starts with an empty object and sends the real one in pieces.
    pub(super) fn arguments(&self) -> Option<&str> {
        let input = self.input.map(|raw| raw.get().trim())?;
        let inside = input.strip_prefix('{')?.strip_suffix('}')?;
        (!inside.trim().is_empty()).then_some(input)
    }
}

/// The message: without content at the start of a stream, complete where the server did not stream.
#[derive(Deserialize)]
pub(super) struct AnthropicMessage<'a> {
    #[serde(borrow, default)]
    pub(super) content: Option<Vec<ContentBlock<'a>>>,
    #[serde(borrow, default)]
    pub(super) stop_reason: Option<LenientText<'a>>,
    #[serde(borrow, default)]
    pub(super) stop_details: Option<StopDetails<'a>>,
    #[serde(default, deserialize_with = "counts")]
    pub(super) usage: Option<AnthropicUsage>,
    /// In place of a message.
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

/// Why the model refused, in words.
#[derive(Deserialize)]
pub(super) struct StopDetails<'a> {
    #[serde(borrow, default)]
    pub(super) explanation: Option<LenientText<'a>>,
}

/// Token counts; those of a later event replace the earlier ones, each for itself. On this wire the input does not
/// include what was read from the cache or written to it.
#[derive(Deserialize, Clone, Copy, Default)]
pub(super) struct AnthropicUsage {
    #[serde(default)]
    input_tokens: Option<f64>,
    #[serde(default)]
    cache_read_input_tokens: Option<f64>,
    #[serde(default)]
    cache_creation_input_tokens: Option<f64>,
    #[serde(default)]
    output_tokens: Option<f64>,
}

impl AnthropicUsage {
    pub(super) fn over(self, below: AnthropicUsage) -> AnthropicUsage {
        AnthropicUsage {
            input_tokens: self.input_tokens.or(below.input_tokens),
            cache_read_input_tokens: self.cache_read_input_tokens.or(below.cache_read_input_tokens),
            cache_creation_input_tokens: self.cache_creation_input_tokens.or(below.cache_creation_input_tokens),
            output_tokens: self.output_tokens.or(below.output_tokens),
        }
    }
    pub(super) fn usage(&self) -> Usage {
        Usage {
            input: count(self.input_tokens),
            cache_read: count(self.cache_read_input_tokens),
            cache_write: count(self.cache_creation_input_tokens),
            output: count(self.output_tokens),
            estimated: !is_count(self.input_tokens) || !is_count(self.output_tokens),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    #[test]
    fn plain_text_is_borrowed_from_the_input() {
        let data = br#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"plain"}}"#;
        let event: AnthropicEvent<'_> = serde_json::from_slice(data).unwrap();
        let delta = event.delta.unwrap();
        assert!(matches!(delta.text, Some(LenientText(Cow::Borrowed("plain")))));
        assert!(matches!(event.kind, LenientText(Cow::Borrowed("content_block_delta"))));
    }

    #[test]
    fn later_counts_win_each_for_itself() {
        let read = |json: &str| serde_json::from_str::<AnthropicUsage>(json).unwrap();
        for (first, second, want) in [
            (
                r#"{"input_tokens":9,"cache_read_input_tokens":4,"output_tokens":1}"#,
                r#"{"output_tokens":7}"#,
                [9, 4, 0, 7],
            ),
            (r#"{"input_tokens":9}"#, r#"{"input_tokens":null,"cache_creation_input_tokens":5.0}"#, [9, 0, 5, 0]),
            (r#"{"input_tokens":9,"output_tokens":2}"#, r#"{"input_tokens":3,"output_tokens":0}"#, [3, 0, 0, 0]),
            ("{}", "{}", [0; 4]),
        ] {
            let usage = read(second).over(read(first)).usage();
            assert_eq!([usage.input, usage.cache_read, usage.cache_write, usage.output], want, "{first} {second}");
            let told = format!("{first}{second}");
            assert_eq!(
                usage.estimated,
                !told.contains("\"input_tokens") || !told.contains("\"output_tokens"),
                "{told}"
            );
        }
    }
}
