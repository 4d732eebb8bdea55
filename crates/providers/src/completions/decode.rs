//! Chunks of one answer to model events.

use std::collections::VecDeque;
use std::sync::Arc;

use vocab::{Finish, ModelEvent, ModelFault, Usage};

use super::chunk::{Chunk, Delta};
use crate::calls::{Calls, Fragment};
use crate::faults;
use crate::format::{Decoder, Flow, Trouble};
use crate::json::Words;

pub(super) struct Answer {
    calls: Calls,
    /// Some servers repeat a running total with every chunk.
    usage: Option<Usage>,
    finish: Option<Finish>,
    refused: bool,
    /// Base URL, for hints.
    server: Arc<str>,
}

impl Answer {
    pub(super) fn new(server: Arc<str>) -> Self {
        Self { calls: Calls::default(), usage: None, finish: None, refused: false, server }
    }

    fn take(&mut self, chunk: Chunk<'_>, out: &mut VecDeque<ModelEvent>) -> Result<(), Trouble> {
        if let Some(counts) = &chunk.usage {
            self.usage = Some(counts.usage());
        }
        if let Some(error) = chunk.error {
            return Err(faults::in_stream(error.get().as_bytes(), &self.server).into());
        }
        let Some(mut choice) = chunk.choice() else { return Ok(()) };
        let reason = choice.finish_reason.take();
        if let Some(delta) = choice.delta() {
            self.delta(delta, out)?;
        }
        if let Some(Words(reason)) = reason.filter(|reason| !reason.0.is_empty()) {
            self.finish = Some(stopped(&reason)?);
        }
        Ok(())
    }

    fn delta(&mut self, delta: Delta<'_>, out: &mut VecDeque<ModelEvent>) -> Result<(), Trouble> {
        let some = |words: Option<Words<'_>>| words.map(|words| words.0.into_owned()).filter(|text| !text.is_empty());
        out.extend(some(delta.reasoning_content).or_else(|| some(delta.reasoning)).map(ModelEvent::Thinking));
        out.extend(some(delta.content).map(ModelEvent::Text));
        if let Some(text) = some(delta.refusal) {
            self.refused = true;
            out.push_back(ModelEvent::Text(text));
        }
        let old_style = delta.function_call.map(|function| (Some(0), None, function));
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

impl Decoder for Answer {
    fn read(&mut self, data: &[u8], out: &mut VecDeque<ModelEvent>) -> Result<Flow, Trouble> {
        if data.trim_ascii() == b"[DONE]" {
            return Ok(Flow::Done);
        }
        self.whole(data, out)?;
        Ok(Flow::On)
    }
    fn whole(&mut self, body: &[u8], out: &mut VecDeque<ModelEvent>) -> Result<(), Trouble> {
        Chunk::read(body, |chunk| self.take(chunk, out))?
    }
    fn is_finished(&self) -> bool {
        self.finish.is_some()
    }
    fn finish(&mut self, out: &mut VecDeque<ModelEvent>) -> Option<Finish> {
        out.extend(self.calls.finish());
        self.finish.map(|finish| settle(finish, self.refused, !self.calls.is_empty()))
    }
    fn usage(&self) -> Option<Usage> {
        self.usage
    }
}

fn stopped(reason: &str) -> Result<Finish, ModelFault> {
    Ok(match reason {
        "length" | "max_tokens" | "model_length" => Finish::Length,
        "content_filter" | "refusal" => Finish::Refusal,
        "tool_calls" | "function_call" => Finish::ToolUse,
        "error" => return Err(faults::provider("the server ended the answer with an error and no reason")),
        // `stop`, and words nobody has heard yet.
        _ => Finish::Stop,
    })
}

/// Reasons that servers give wrongly are put right by what really came.
fn settle(finish: Finish, refused: bool, calls: bool) -> Finish {
    match finish {
        Finish::Stop | Finish::ToolUse if calls => Finish::ToolUse,
        Finish::Stop | Finish::ToolUse if refused => Finish::Refusal,
        Finish::ToolUse => Finish::Stop,
        finish => finish,
    }
}
