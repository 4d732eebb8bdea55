//! Chunks of one answer to model events.

use std::collections::VecDeque;
use std::sync::Arc;

use vocab::{Finish, ModelEvent, Usage};

use super::INVENTED_ID;
use super::chunk::{self, GeminiChunk, GeminiFunctionCall, GeminiPart};
use super::reasons::{silenced, stopped};
use crate::faults;
use crate::format::{DecodeTrouble, Decoder, Flow};
use crate::json::LenientText;
use crate::tool_calls::{Fragment, ToolCalls};

pub(super) struct GeminiDecoder {
    calls: ToolCalls,
    count: u64,
    last: LastPart,
    /// Something was said or called.
    spoke: bool,
    usage: Option<Usage>,
    finish: Option<Finish>,
    /// Base URL, for hints.
    server: Arc<str>,
}

/// What came last, as far as a signature would be taken for its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastPart {
    Thinking,
    Call,
    Other,
}

impl GeminiDecoder {
    pub(super) fn new(server: Arc<str>) -> Self {
        Self {
            calls: ToolCalls::default(),
            count: 0,
            last: LastPart::Other,
            spoke: false,
            usage: None,
            finish: None,
            server,
        }
    }

    fn take(&mut self, mut chunk: GeminiChunk<'_>, out: &mut VecDeque<ModelEvent>) -> Result<(), DecodeTrouble> {
        if let Some(counts) = &chunk.usage_metadata {
            self.usage = Some(counts.usage());
        }
        if let Some(error) = chunk.error {
            return Err(faults::in_stream(error.get().as_bytes(), &self.server).into());
        }
        if let Some(feedback) = chunk.prompt_feedback.take()
            && let Some(reason) = some(feedback.block_reason)
        {
            let detail = some(feedback.block_reason_message).unwrap_or_default();
            self.refuse("the prompt was blocked", &reason, &detail, out);
        }
        let Some(mut candidate) = chunk.candidate() else { return Ok(()) };
        for part in candidate.parts() {
            self.part(part, out)?;
        }
        if let Some(reason) = some(candidate.finish_reason) {
            let detail = some(candidate.finish_message).unwrap_or_default();
            match stopped(&reason, &detail, self.spoke)? {
                Finish::Refusal => self.refuse("the answer was stopped", &reason, &detail, out),
                finish => self.finish = Some(finish),
            }
        }
        Ok(())
    }

    /// A refusal without a word would leave people guessing.
    fn refuse(&mut self, what: &str, reason: &str, detail: &str, out: &mut VecDeque<ModelEvent>) {
        if !std::mem::replace(&mut self.spoke, true) {
            out.push_back(ModelEvent::Text(silenced(what, reason, detail)));
        }
        self.finish = Some(Finish::Refusal);
    }

    fn part(&mut self, part: GeminiPart<'_>, out: &mut VecDeque<ModelEvent>) -> Result<(), DecodeTrouble> {
        let thought = part.thought == Some(true);
        let text = some(part.text);
        // Whether a signature of this part belongs to what came last.
        let mut joins = thought && self.last == LastPart::Thinking;
        if let Some(function) = part.function_call {
            self.call(&function, out)?;
            self.last = LastPart::Call;
            joins = true;
        } else if let Some(text) = text {
            self.last = if thought { LastPart::Thinking } else { LastPart::Other };
            self.spoke |= !thought;
            joins = true;
            out.push_back(if thought { ModelEvent::Thinking(text) } else { ModelEvent::Text(text) });
        }
        if let Some(seal) = some(part.thought_signature) {
            // In a part of its own behind a call or a thought it is not theirs, and must not be taken for it.
            let alone = !joins && self.last != LastPart::Other;
            out.push_back(if alone { ModelEvent::Redacted(seal) } else { ModelEvent::Seal(seal) });
            self.last = LastPart::Other;
        }
        Ok(())
    }

    fn call(&mut self, function: &GeminiFunctionCall<'_>, out: &mut VecDeque<ModelEvent>) -> Result<(), DecodeTrouble> {
        let invented = format!("{INVENTED_ID}{}", self.count);
        let id = function.id.as_ref().map(|id| &*id.0).filter(|id| !id.is_empty());
        let fragment = Fragment {
            index: Some(self.count),
            id: Some(id.unwrap_or(&invented)),
            name: Some(function.name.as_ref().map_or("", |name| &name.0)),
            input: function.args(),
        };
        self.count += 1;
        self.spoke = true;
        out.extend(self.calls.take(fragment).map_err(faults::provider)?);
        Ok(())
    }
}

fn some(words: Option<LenientText<'_>>) -> Option<String> {
    words.map(|words| words.0.into_owned()).filter(|text| !text.is_empty())
}

impl Decoder for GeminiDecoder {
    fn read(&mut self, data: &[u8], out: &mut VecDeque<ModelEvent>) -> Result<Flow, DecodeTrouble> {
        GeminiChunk::read(data, |chunk| self.take(chunk, out))??;
        Ok(Flow::On)
    }
    fn whole(&mut self, body: &[u8], out: &mut VecDeque<ModelEvent>) -> Result<(), DecodeTrouble> {
        for chunk in chunk::each(body)? {
            self.read(chunk.get().as_bytes(), out)?;
        }
        Ok(())
    }
    fn is_finished(&self) -> bool {
        self.finish.is_some()
    }
    fn finish(&mut self, _: &mut VecDeque<ModelEvent>) -> Option<Finish> {
        match self.finish {
            // The reason is `STOP` for calls, too.
            Some(Finish::Stop) if !self.calls.is_empty() => Some(Finish::ToolUse),
            finish => finish,
        }
    }
    fn usage(&self) -> Option<Usage> {
        self.usage
    }
}
