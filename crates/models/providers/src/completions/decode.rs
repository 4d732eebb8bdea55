//! Chunks of one answer to model events. What servers do differently here is read from everybody, whoever the server
//! says it is; [`super::leniency`] has the list, with a recording of each.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use vocab::{Finish, ModelEvent, Usage};

use super::chunk::{ChoiceDelta, CompletionsChunk};
use super::details::ReasoningDetails;
use super::plain::PlainChunk;
use super::stop::{settle, stopped};
use crate::faults;
use crate::format::{DecodeTrouble, Decoder, Flow};
use crate::json::LenientText;
use crate::pattern::EventPattern;
use crate::tool_calls::{Fragment, ToolCalls};

/// Nothing follows. Servers that never say it end the stream instead.
const DONE: &[u8] = b"[DONE]";

pub(super) struct CompletionsDecoder {
    calls: ToolCalls,
    details: ReasoningDetails,
    /// Some servers repeat a running total with every chunk.
    usage: Option<Usage>,
    finish: Option<Finish>,
    refused: bool,
    /// The last chunk, where it had nothing to say but words.
    pattern: EventPattern,
    /// Base URL, for hints.
    server: Arc<str>,
}

impl CompletionsDecoder {
    pub(super) fn new(server: Arc<str>) -> Self {
        Self {
            calls: ToolCalls::default(),
            details: ReasoningDetails::default(),
            usage: None,
            finish: None,
            refused: false,
            pattern: EventPattern::default(),
            server,
        }
    }

    /// As [`CompletionsDecoder::take`], of a chunk that has little to say.
    fn take_plain(
        &mut self,
        chunk: &PlainChunk<'_>,
        whole: &[u8],
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), DecodeTrouble> {
        let usage = chunk.usage();
        self.usage = usage.or(self.usage);
        if let Some(words) = chunk.words.filter(|words| !words.is_empty()) {
            if usage.is_none() && chunk.finish_reason.is_none() {
                self.pattern.learn(whole, words);
            }
            out.extend(self.details.told().map(ModelEvent::Seal));
            out.push_back(ModelEvent::Text(words.to_owned()));
        }
        if let Some(reason) = chunk.finish_reason.filter(|reason| !reason.is_empty()) {
            self.finish = Some(stopped(reason, None)?);
        }
        Ok(())
    }

    fn take(
        &mut self,
        chunk: CompletionsChunk<'_>,
        whole: &[u8],
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), DecodeTrouble> {
        self.usage = chunk.usage().or(self.usage);
        if let Some(error) = chunk.error(whole) {
            return Err(faults::in_stream(error, &self.server).into());
        }
        let plain = chunk.usage().is_none();
        let Some(mut choice) = chunk.choice() else { return Ok(()) };
        let reason = choice.finish_reason.take();
        let native = choice.native_finish_reason.take();
        if let Some(delta) = choice.delta() {
            if plain
                && reason.is_none()
                && let Some(words) = delta.words_alone()
            {
                self.pattern.learn(whole, words);
            }
            self.delta(delta, out)?;
        }
        if let Some(LenientText(reason)) = reason.filter(|reason| !reason.0.is_empty()) {
            self.finish = Some(stopped(&reason, native.as_ref().map(|native| &*native.0))?);
        }
        Ok(())
    }

    fn delta(&mut self, mut delta: ChoiceDelta<'_>, out: &mut VecDeque<ModelEvent>) -> Result<(), DecodeTrouble> {
        let some = |text: Cow<'_, str>| Some(text.into_owned()).filter(|text| !text.is_empty());
        let content = delta.content.take().unwrap_or_default();
        out.extend(delta.reasoning().or(Some(content.thinking)).and_then(some).map(ModelEvent::Thinking));
        if let Some(list) = delta.reasoning_details.filter(|list| list.get() != "null") {
            self.details.take(list)?;
        }
        let refusal = delta.refusal.take().and_then(|words| some(words.0));
        let text = some(content.text);
        if text.is_some() || refusal.is_some() || delta.tool_calls.is_some() {
            // The thinking is over: what seals it belongs to it, not to what follows.
            out.extend(self.details.told().map(ModelEvent::Seal));
        }
        self.refused |= refusal.is_some();
        out.extend(text.into_iter().chain(refusal).map(ModelEvent::Text));
        let old_style = delta.function_call.map(|function| (Some(0), None, *function));
        let fragments = delta.tool_calls.into_iter().flatten();
        let fragments = fragments.filter_map(|call| Some((call.index, call.id, call.function?)));
        for (index, id, function) in fragments.chain(old_style) {
            let input = function.arguments()?;
            let fragment = Fragment {
                index,
                id: id.as_ref().map(|id| &*id.0).filter(|id| !id.is_empty()),
                name: function.name.as_ref().map(|name| &*name.0).filter(|name| !name.is_empty()),
                input: &input,
            };
            out.extend(self.calls.take(fragment).map_err(faults::provider)?);
        }
        Ok(())
    }
}

impl Decoder for CompletionsDecoder {
    fn read(&mut self, data: &[u8], out: &mut VecDeque<ModelEvent>) -> Result<Flow, DecodeTrouble> {
        if data.trim_ascii() == DONE {
            return Ok(Flow::Done);
        }
        if let Some(words) = self.pattern.words(data) {
            out.push_back(ModelEvent::Text(words.to_owned()));
            return Ok(Flow::On);
        }
        self.pattern.forget();
        match PlainChunk::read(data) {
            Some(chunk) => self.take_plain(&chunk, data, out)?,
            None => self.whole(data, out)?,
        }
        Ok(Flow::On)
    }
    fn whole(&mut self, body: &[u8], out: &mut VecDeque<ModelEvent>) -> Result<(), DecodeTrouble> {
        CompletionsChunk::read(body, |chunk| self.take(chunk, body, out))?
    }
    fn is_finished(&self) -> bool {
        self.finish.is_some()
    }
    fn finish(&mut self, out: &mut VecDeque<ModelEvent>) -> Option<Finish> {
        out.extend(self.calls.finish());
        out.extend(self.details.told().map(ModelEvent::Seal));
        self.finish.map(|finish| settle(finish, self.refused, !self.calls.is_empty()))
    }
    fn usage(&self) -> Option<Usage> {
        self.usage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events that repeat the one before are read by their bytes, and nothing that a parser would tell is missed.
    #[test]
    fn words_that_repeat_a_pattern_are_told_as_a_parser_tells_them() {
        let words = |words: &str| format!(r#"{{"choices":[{{"delta":{{"content":"{words}"}}}}],"usage":null}}"#);
        let sealed =
            r#"{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.encrypted","data":"E","id":"c"}]}}]}"#;
        let events = [
            words("one"),
            words(" two"),
            words("\\n\\u00fc"),
            words(""),
            words("three"),
            words("four"),
            sealed.to_owned(),
            words("five"),
            words("six"),
            r#"{"choices":[{"delta":{"content":"six"},"finish_reason":"stop"}],"usage":null}"#.to_owned(),
        ];
        let told = |is_forgetful: bool| {
            let mut decoder = CompletionsDecoder::new("http://server".into());
            let mut out = VecDeque::new();
            for event in &events {
                if is_forgetful {
                    decoder.pattern.forget();
                }
                assert_eq!(decoder.read(event.as_bytes(), &mut out).unwrap(), Flow::On);
            }
            let finish = decoder.finish(&mut out);
            format!("{out:?} {finish:?}")
        };
        assert_eq!(told(false), told(true));
        assert!(told(false).contains("Seal"));
    }
}
