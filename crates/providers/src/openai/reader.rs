//! Bytes of an answer to model events. Pure: no socket, no clock. One event per delta, never merged, never split;
//! deltas are parsed when they are asked for, so that a burst of them costs no queue.

use std::collections::VecDeque;
use std::sync::Arc;

use vocab::{Finish, ModelEvent, ModelFault, Usage};

use super::calls::{Calls, Fragment};
use super::chunk::{Chunk, Delta, Words};
use crate::faults;
use crate::sse::Sse;

pub(super) struct Reader {
    sse: Sse,
    answer: Answer,
}

/// What is known of the answer so far.
struct Answer {
    /// Events of the chunk read last.
    ready: VecDeque<ModelEvent>,
    calls: Calls,
    /// The newest report. Some servers repeat a running total with every chunk; only the last one is told.
    usage: Option<Usage>,
    finish: Option<Finish>,
    refused: bool,
    over: bool,
    /// Base URL, for hints.
    server: Arc<str>,
}

impl Reader {
    pub(super) fn new(server: Arc<str>) -> Self {
        let answer = Answer {
            ready: VecDeque::new(),
            calls: Calls::default(),
            usage: None,
            finish: None,
            refused: false,
            over: false,
            server,
        };
        Self { sse: Sse::default(), answer }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.sse.feed(bytes);
    }

    /// Takes the whole answer of a server that did not stream.
    pub(super) fn whole(&mut self, body: &[u8]) {
        match self.answer.read(body) {
            Ok(()) => self.answer.close(None),
            Err(fault) => self.answer.fail(fault),
        }
    }

    /// The next event of what was fed.
    pub(super) fn next(&mut self) -> Option<ModelEvent> {
        let answer = &mut self.answer;
        while answer.ready.is_empty() && !answer.over {
            let result = match self.sse.next()? {
                Ok(data) if is_done(data) => {
                    answer.close(None);
                    Ok(())
                }
                Ok(data) => answer.read(data),
                Err(long) => Err(faults::provider(format!("an event of the stream exceeds {} bytes", long.limit))),
            };
            if let Err(fault) = result {
                answer.fail(fault);
            }
        }
        answer.ready.pop_front()
    }

    /// The bytes are over; `cut` says what broke them off. What is left to tell comes from [`Reader::next`].
    pub(super) fn end(&mut self, cut: Option<ModelFault>) {
        // An event at the very end may lack its blank line. Half a chunk is no chunk: the stream was cut there.
        let last = self.sse.finish().filter(|data| cut.is_none() && !self.answer.over && !is_done(data));
        if let Some(data) = last
            && let Ok(Err(fault)) = Chunk::read(data, |chunk| self.answer.take(chunk))
        {
            self.answer.fail(fault);
        }
        self.answer.close(cut);
    }

    /// Ends the answer with this fault.
    pub(super) fn fail(&mut self, fault: ModelFault) {
        self.answer.fail(fault);
    }

    /// Nothing more will be read.
    pub(super) fn is_over(&self) -> bool {
        self.answer.over
    }
    /// The reason to stop has come; usage may follow.
    pub(super) fn is_finished(&self) -> bool {
        self.answer.finish.is_some()
    }
}

fn is_done(data: &[u8]) -> bool {
    data.trim_ascii() == b"[DONE]"
}

fn unreadable(error: &serde_json::Error) -> ModelFault {
    faults::provider(format!("the server sent something that cannot be read: {error}"))
}

impl Answer {
    fn read(&mut self, data: &[u8]) -> Result<(), ModelFault> {
        Chunk::read(data, |chunk| self.take(chunk)).unwrap_or_else(|error| Err(unreadable(&error)))
    }

    fn take(&mut self, chunk: Chunk<'_>) -> Result<(), ModelFault> {
        if let Some(counts) = &chunk.usage {
            self.usage = Some(counts.usage());
        }
        if let Some(error) = chunk.error {
            return Err(faults::in_stream(error.get().as_bytes(), &self.server));
        }
        let Some(mut choice) = chunk.choice() else { return Ok(()) };
        let reason = choice.finish_reason.take();
        if let Some(delta) = choice.delta() {
            self.delta(delta)?;
        }
        if let Some(Words(reason)) = reason.filter(|reason| !reason.0.is_empty()) {
            self.finish = Some(match &*reason {
                "length" | "max_tokens" | "model_length" => Finish::Length,
                "content_filter" | "refusal" => Finish::Refusal,
                "tool_calls" | "function_call" => Finish::ToolUse,
                "error" => return Err(faults::provider("the server ended the answer with an error and no reason")),
                // `stop`, and words nobody has heard yet.
                _ => Finish::Stop,
            });
        }
        Ok(())
    }

    fn delta(&mut self, delta: Delta<'_>) -> Result<(), ModelFault> {
        let some = |words: Option<Words<'_>>| words.map(|words| words.0.into_owned()).filter(|text| !text.is_empty());
        self.ready.extend(some(delta.reasoning_content).or_else(|| some(delta.reasoning)).map(ModelEvent::Thinking));
        self.ready.extend(some(delta.content).map(ModelEvent::Text));
        if let Some(text) = some(delta.refusal) {
            self.refused = true;
            self.ready.push_back(ModelEvent::Text(text));
        }
        let old_style = delta.function_call.map(|function| (Some(0), None, function));
        let fragments = delta.tool_calls.into_iter().flatten();
        let fragments = fragments.filter_map(|call| Some((call.index, call.id, call.function?)));
        for (index, id, function) in fragments.chain(old_style) {
            let input = function.arguments().map_err(|error| unreadable(&error))?;
            let fragment = Fragment {
                index,
                id: id.as_ref().map(|id| &*id.0).filter(|id| !id.is_empty()),
                name: function.name.as_ref().map(|name| &*name.0).filter(|name| !name.is_empty()),
                input: &input,
            };
            self.ready.extend(self.calls.take(fragment).map_err(faults::provider)?);
        }
        Ok(())
    }

    /// Nothing more will come. With a reason to stop the answer is whole, and what broke afterwards changes nothing.
    fn close(&mut self, cut: Option<ModelFault>) {
        let Some(finish) = self.finish else {
            return self.fail(cut.unwrap_or_else(|| faults::cut(None)));
        };
        if !self.over {
            self.ready.extend(self.calls.finish());
            self.ready.extend(self.usage.map(ModelEvent::Usage));
            self.ready.push_back(ModelEvent::Finished(settle(finish, self.refused, !self.calls.is_empty())));
            self.over = true;
        }
    }

    /// Tokens that were reported were spent, so they are told first.
    fn fail(&mut self, fault: ModelFault) {
        if !self.over {
            self.ready.extend(self.usage.map(ModelEvent::Usage));
            self.ready.push_back(ModelEvent::Failed(fault));
            self.over = true;
        }
    }
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
