//! Events of one answer to model events.
//!
//! A block that only a server tool or a later version of this API has is passed over, with all its deltas.

use std::collections::VecDeque;
use std::sync::Arc;

use net::HeaderMap;
use vocab::{FaultKind, Finish, ModelEvent, ModelFault, Usage};

use super::event::{AnthropicEvent, AnthropicMessage, AnthropicUsage, BlockDelta, ContentBlock, StopDetails};
use crate::faults;
use crate::format::{DecodeTrouble, Decoder, Flow};
use crate::json::{self, LenientText};
use crate::pattern::EventPattern;
use crate::tool_calls::{Fragment, ToolCalls};

/// An error in the stream has the name of its kind instead of a status; these are the statuses it would have had.
const STATUSES: [(&str, u16); 10] = [
    ("invalid_request_error", 400),
    ("authentication_error", 401),
    ("billing_error", 402),
    ("permission_error", 403),
    ("not_found_error", 404),
    ("request_too_large", 413),
    ("rate_limit_error", 429),
    ("api_error", 500),
    ("timeout_error", 504),
    ("overloaded_error", 529),
];

pub(super) struct AnthropicDecoder {
    calls: ToolCalls,
    /// Blocks that have begun and not ended. By the book there is one at most.
    open: Vec<OpenBlock>,
    counts: Option<AnthropicUsage>,
    finish: Option<Finish>,
    /// Text has come.
    spoken: bool,
    /// The last event, where it was a piece of text.
    pattern: EventPattern,
    /// Base URL, for hints.
    server: Arc<str>,
}

struct OpenBlock {
    index: u64,
    kind: BlockKind,
}

enum BlockKind {
    /// Its signature so far; told when it is whole.
    Thinking(String),
    /// Arguments that came with the start. Pieces that follow count instead.
    Call(Option<String>),
}

impl AnthropicDecoder {
    pub(super) fn new(server: Arc<str>) -> Self {
        Self {
            calls: ToolCalls::default(),
            open: Vec::new(),
            counts: None,
            finish: None,
            spoken: false,
            pattern: EventPattern::default(),
            server,
        }
    }

    fn take(&mut self, event: AnthropicEvent<'_>, out: &mut VecDeque<ModelEvent>) -> Result<Flow, DecodeTrouble> {
        match &*event.kind.0 {
            "content_block_delta" => {
                if let Some(delta) = event.delta {
                    self.delta(event.index, delta, out)?;
                }
            }
            "content_block_start" => {
                if let Some(block) = event.content_block {
                    self.start(event.index, block, out)?;
                }
            }
            "content_block_stop" => self.stop(event.index, out)?,
            "message_start" => self.count(event.message.and_then(|message| message.usage)),
            "message_delta" => {
                self.count(event.usage);
                if let Some(delta) = event.delta {
                    self.stopped(delta.stop_reason, delta.stop_details, out)?;
                }
            }
            "message_stop" => {
                // The message is complete, even where nobody said why it ends.
                self.finish.get_or_insert(Finish::Stop);
                return Ok(Flow::Done);
            }
            "error" => return Err(self.fault(event.error.map_or("{}", |raw| raw.get())).into()),
            // `ping`, and words nobody has heard yet.
            _ => {}
        }
        Ok(Flow::On)
    }

    fn start(
        &mut self,
        index: u64,
        block: ContentBlock<'_>,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), DecodeTrouble> {
        match &*block.kind.0 {
            "text" => self.text(block.text, out),
            "thinking" => {
                out.extend(some(block.thinking).map(ModelEvent::Thinking));
                let signature = block.signature.map(|words| words.0.into_owned()).unwrap_or_default();
                self.open.push(OpenBlock { index, kind: BlockKind::Thinking(signature) });
            }
            "redacted_thinking" => out.extend(some(block.data).map(ModelEvent::Redacted)),
            "tool_use" => {
                let fragment = Fragment {
                    index: Some(index),
                    id: block.id.as_ref().map(|id| &*id.0).filter(|id| !id.is_empty()),
                    name: block.name.as_ref().map(|name| &*name.0).filter(|name| !name.is_empty()),
                    input: "",
                };
                out.extend(self.calls.take(fragment).map_err(faults::provider)?);
                let arguments = block.arguments().map(str::to_owned);
                self.open.push(OpenBlock { index, kind: BlockKind::Call(arguments) });
            }
            _ => {}
        }
        Ok(())
    }

    fn delta(
        &mut self,
        index: u64,
        delta: BlockDelta<'_>,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), DecodeTrouble> {
        match &*delta.kind.0 {
            "text_delta" => self.text(delta.text, out),
            "thinking_delta" => out.extend(some(delta.thinking).map(ModelEvent::Thinking)),
            "signature_delta" => {
                if let (Some(BlockKind::Thinking(signature)), Some(more)) = (self.kind(index), &delta.signature) {
                    signature.push_str(&more.0);
                }
            }
            "input_json_delta" => {
                let input = delta.partial_json.unwrap_or_default().0;
                if let Some(BlockKind::Call(whole)) = self.kind(index)
                    && !input.is_empty()
                {
                    *whole = None;
                    self.arguments(index, &input, out)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn stop(&mut self, index: u64, out: &mut VecDeque<ModelEvent>) -> Result<(), DecodeTrouble> {
        let Some(at) = self.open.iter().rposition(|open| open.index == index) else { return Ok(()) };
        match self.open.remove(at).kind {
            BlockKind::Thinking(signature) if signature.is_empty() => {}
            BlockKind::Thinking(signature) => out.push_back(ModelEvent::Seal(signature)),
            BlockKind::Call(None) => {}
            BlockKind::Call(Some(whole)) => self.arguments(index, &whole, out)?,
        }
        Ok(())
    }

    /// The whole answer at once.
    fn message(&mut self, message: AnthropicMessage<'_>, out: &mut VecDeque<ModelEvent>) -> Result<(), DecodeTrouble> {
        if let Some(error) = message.error {
            return Err(self.fault(error.get()).into());
        }
        self.count(message.usage);
        for (index, block) in message.content.into_iter().flatten().enumerate() {
            self.start(index as u64, block, out)?;
            self.stop(index as u64, out)?;
        }
        self.stopped(message.stop_reason, message.stop_details, out)
    }

    fn text(&mut self, words: Option<LenientText<'_>>, out: &mut VecDeque<ModelEvent>) {
        if let Some(text) = some(words) {
            self.spoken = true;
            out.push_back(ModelEvent::Text(text));
        }
    }

    fn arguments(&mut self, index: u64, input: &str, out: &mut VecDeque<ModelEvent>) -> Result<(), DecodeTrouble> {
        let fragment = Fragment { index: Some(index), id: None, name: None, input };
        out.extend(self.calls.take(fragment).map_err(faults::provider)?);
        Ok(())
    }

    fn stopped(
        &mut self,
        reason: Option<LenientText<'_>>,
        details: Option<StopDetails<'_>>,
        out: &mut VecDeque<ModelEvent>,
    ) -> Result<(), DecodeTrouble> {
        let Some(reason) = some(reason) else { return Ok(()) };
        let finish = finish(&reason)?;
        if finish == Finish::Refusal
            && let Some(why) = some(details.and_then(|details| details.explanation))
        {
            let apart = if self.spoken { "\n\n" } else { "" };
            out.push_back(ModelEvent::Text(format!("{apart}{why}")));
        }
        self.finish = Some(finish);
        Ok(())
    }

    fn count(&mut self, counts: Option<AnthropicUsage>) {
        if let Some(counts) = counts {
            self.counts = Some(counts.over(self.counts.unwrap_or_default()));
        }
    }

    fn kind(&mut self, index: u64) -> Option<&mut BlockKind> {
        self.open.iter_mut().rev().find(|open| open.index == index).map(|open| &mut open.kind)
    }

    fn fault(&self, raw: &str) -> ModelFault {
        let said = faults::said(raw.as_bytes());
        match STATUSES.iter().find(|(kind, _)| said.codes.contains(kind)) {
            Some((_, status)) => faults::refused(*status, &HeaderMap::new(), raw.as_bytes(), &self.server),
            None => faults::in_stream(raw.as_bytes(), &self.server),
        }
    }
}

impl Decoder for AnthropicDecoder {
    fn read(&mut self, data: &[u8], out: &mut VecDeque<ModelEvent>) -> Result<Flow, DecodeTrouble> {
        if let Some(words) = self.pattern.words(data) {
            out.push_back(ModelEvent::Text(words.to_owned()));
            return Ok(Flow::On);
        }
        self.pattern.forget();
        let mut repaired = Vec::new();
        match json::read::<AnthropicEvent<'_>>(data, &mut repaired) {
            Ok(event) => {
                if let Some(words) = event.text_alone() {
                    self.pattern.learn(data, words);
                }
                self.take(event, out)
            }
            // Events that a later version adds may have any shape.
            Err(_) if AnthropicEvent::is_news(data) => Ok(Flow::On),
            Err(error) => Err(error.into()),
        }
    }
    fn whole(&mut self, body: &[u8], out: &mut VecDeque<ModelEvent>) -> Result<(), DecodeTrouble> {
        self.message(json::read(body, &mut Vec::new())?, out)
    }
    fn is_finished(&self) -> bool {
        self.finish.is_some()
    }
    fn finish(&mut self, out: &mut VecDeque<ModelEvent>) -> Option<Finish> {
        // Blocks whose end never came; at this point arguments beyond the limit change nothing.
        while let Some(index) = self.open.last().map(|open| open.index) {
            let _ = self.stop(index, out);
        }
        out.extend(self.calls.finish());
        // Reasons that servers give wrongly are put right by what really came.
        self.finish.map(|finish| match finish {
            Finish::Stop | Finish::ToolUse if self.calls.is_empty() => Finish::Stop,
            Finish::Stop | Finish::ToolUse => Finish::ToolUse,
            finish => finish,
        })
    }
    fn usage(&self) -> Option<Usage> {
        self.counts.as_ref().map(AnthropicUsage::usage)
    }
}

fn some(words: Option<LenientText<'_>>) -> Option<String> {
    words.map(|words| words.0.into_owned()).filter(|text| !text.is_empty())
}

fn finish(reason: &str) -> Result<Finish, ModelFault> {
    Ok(match reason {
        "max_tokens" => Finish::Length,
        "tool_use" => Finish::ToolUse,
        "refusal" | "sensitive" => Finish::Refusal,
        // What was said is cut in the middle: with a shorter history it can be said to its end.
        "model_context_window_exceeded" => {
            let message = "the answer did not fit into the model's context window";
            return Err(ModelFault::new(FaultKind::ContextOverflow, message));
        }
        // `end_turn`, `stop_sequence`, `pause_turn` (a pause in server tools, of which we have none), and words nobody
        // has heard yet.
        _ => Finish::Stop,
    })
}

#[cfg(test)]
mod tests;
