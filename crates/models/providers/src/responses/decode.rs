//! Events of one answer to model events.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use vocab::{Finish, ModelEvent, Usage};

use super::event::{ResponseObject, ResponsesEvent};
use super::failure;
use super::item::{self, FunctionItem, ItemKind, MessageItem, Reasoning};
use super::open::Items;
use crate::faults;
use crate::format::{DecodeTrouble, Decoder, Flow};
use crate::json;
use crate::tool_calls::{Fragment, ToolCalls};

/// Between parts of a summary, each of which is a paragraph or more.
const PART_BREAK: &str = "\n\n";

type EventQueue = VecDeque<ModelEvent>;

pub(super) struct ResponsesDecoder {
    calls: ToolCalls,
    items: Items,
    /// Where the thinking that came last stands, as long as more of it would follow directly.
    thought: Option<ThinkingParagraph>,
    refused: bool,
    usage: Option<Usage>,
    finish: Option<Finish>,
    /// Base URL, for hints.
    server: Arc<str>,
}

/// A paragraph of thinking.
#[derive(PartialEq)]
struct ThinkingParagraph {
    item: Option<u64>,
    part: Option<u64>,
    is_summary: bool,
}

impl ResponsesDecoder {
    pub(super) fn new(server: Arc<str>) -> Self {
        Self {
            calls: ToolCalls::default(),
            items: Items::default(),
            thought: None,
            refused: false,
            usage: None,
            finish: None,
            server,
        }
    }

    fn take(&mut self, event: ResponsesEvent<'_>, data: &[u8], out: &mut EventQueue) -> Result<Flow, DecodeTrouble> {
        let item = event.output_index;
        match &*event.kind.0 {
            "response.output_text.delta" => self.said(item, event.delta.0.into_owned(), out)?,
            "response.refusal.delta" => {
                self.refused = true;
                self.said(item, event.delta.0.into_owned(), out)?;
            }
            "response.reasoning_summary_text.delta" => {
                let place = ThinkingParagraph { item, part: event.summary_index, is_summary: true };
                self.thought(place, event.delta.0.into_owned(), out)?;
            }
            "response.reasoning_text.delta" => {
                let place = ThinkingParagraph { item, part: event.content_index, is_summary: false };
                self.thought(place, event.delta.0.into_owned(), out)?;
            }
            "response.function_call_arguments.delta" => {
                self.items.at(item)?.input.push_str(&event.delta.0);
                self.fragment(Fragment { index: item, id: None, name: None, input: &event.delta.0 }, out)?;
            }
            "response.function_call_arguments.done" => {
                let whole = item::arguments(event.arguments)?;
                self.arguments(item, None, None, &whole, out)?;
            }
            "response.output_item.added" => self.begin(item, event.item, out)?,
            "response.output_item.done" => self.end(item, event.item, out)?,
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                let status = event.kind.0.trim_start_matches("response.");
                return self.last(event.response, Some(status), out);
            }
            // ChatGPT's backend leaves the rest to the response.
            "response.done" => return self.last(event.response, None, out),
            "error" => return Err(failure::fault(data, &self.server).into()),
            "" if is_something(event.error) => return Err(failure::fault(data, &self.server).into()),
            // What tools of the server's own would say, and what nobody has heard yet.
            _ => {}
        }
        Ok(Flow::On)
    }

    fn said(&mut self, item: Option<u64>, text: String, out: &mut EventQueue) -> Result<(), DecodeTrouble> {
        if !text.is_empty() {
            self.items.at(item)?.told = true;
            self.thought = None;
            out.push_back(ModelEvent::Text(text));
        }
        Ok(())
    }

    fn thought(&mut self, place: ThinkingParagraph, text: String, out: &mut EventQueue) -> Result<(), DecodeTrouble> {
        if text.is_empty() {
            return Ok(());
        }
        self.items.at(place.item)?.told = true;
        if self.thought.as_ref().is_some_and(|last| *last != place) {
            out.push_back(ModelEvent::Thinking(PART_BREAK.to_owned()));
        }
        self.thought = Some(place);
        out.push_back(ModelEvent::Thinking(text));
        Ok(())
    }

    fn seal(&mut self, seal: String, out: &mut EventQueue) {
        self.thought = None;
        out.push_back(ModelEvent::Seal(seal));
    }

    /// Tells what is new of the whole arguments. When they are not what came before, what came before counts.
    fn arguments(
        &mut self,
        item: Option<u64>,
        id: Option<&str>,
        name: Option<&str>,
        whole: &str,
        out: &mut EventQueue,
    ) -> Result<(), DecodeTrouble> {
        let open = self.items.at(item)?;
        let input = whole.strip_prefix(&*open.input).unwrap_or_default();
        open.input.push_str(input);
        // Told once: a server that rolls a new id for the end of a call means the same call.
        let (id, name) = if open.named { (None, None) } else { (id, name) };
        open.named |= name.is_some();
        self.fragment(Fragment { index: item, id, name, input }, out)
    }

    fn fragment(&mut self, fragment: Fragment<'_>, out: &mut EventQueue) -> Result<(), DecodeTrouble> {
        self.thought = None;
        out.extend(self.calls.take(fragment).map_err(faults::provider)?);
        Ok(())
    }

    fn begin(&mut self, index: Option<u64>, raw: Option<&RawValue>, out: &mut EventQueue) -> Result<(), DecodeTrouble> {
        self.items.forget(index);
        self.items.at(index)?;
        let Some(raw) = raw.filter(|raw| kind(raw) == "function_call") else { return Ok(()) };
        let mut repaired = Vec::new();
        let call: FunctionItem<'_> = nested(raw, &mut repaired)?;
        // Its arguments are left for later: some servers repeat them in deltas.
        self.arguments(index, call.id(), call.name(), "", out)
    }

    fn end(&mut self, index: Option<u64>, raw: Option<&RawValue>, out: &mut EventQueue) -> Result<(), DecodeTrouble> {
        let Some(raw) = raw else { return Ok(()) };
        let mut repaired = Vec::new();
        match &*kind(raw) {
            "reasoning" => self.reasoning(index, nested(raw, &mut repaired)?, raw, out)?,
            "message" => self.message(index, nested(raw, &mut repaired)?, out)?,
            "function_call" => {
                let call: FunctionItem<'_> = nested(raw, &mut repaired)?;
                let whole = item::arguments(call.arguments)?;
                self.arguments(index, call.id(), call.name(), &whole, out)?;
            }
            _ => {}
        }
        self.items.forget(index);
        Ok(())
    }

    fn reasoning(
        &mut self,
        index: Option<u64>,
        item: Reasoning<'_>,
        raw: &RawValue,
        out: &mut EventQueue,
    ) -> Result<(), DecodeTrouble> {
        if !self.items.at(index)?.told {
            for (part, words) in (0..).zip(item.words()) {
                let place = ThinkingParagraph { item: index, part: Some(part), is_summary: true };
                self.thought(place, words.to_owned(), out)?;
            }
        }
        if item.is_sealed() {
            self.seal(raw.get().to_owned(), out);
        }
        Ok(())
    }

    fn message(
        &mut self,
        index: Option<u64>,
        item: MessageItem<'_>,
        out: &mut EventQueue,
    ) -> Result<(), DecodeTrouble> {
        let told = self.items.at(index)?.told;
        for piece in item.content.iter().flatten() {
            self.refused |= !piece.refusal.0.is_empty();
            if !told {
                self.said(index, piece.text.0.clone().into_owned(), out)?;
                self.said(index, piece.refusal.0.clone().into_owned(), out)?;
            }
        }
        if let Some(label) = item.label()
            && self.items.at(index)?.told
        {
            self.seal(label.seal(), out);
        }
        Ok(())
    }

    /// The last event of a stream. `status`: what the event itself says.
    fn last(
        &mut self,
        raw: Option<&RawValue>,
        status: Option<&str>,
        out: &mut EventQueue,
    ) -> Result<Flow, DecodeTrouble> {
        let mut repaired = Vec::new();
        match raw {
            Some(raw) => self.close(nested(raw, &mut repaired)?, status, out)?,
            None => self.stop(status.unwrap_or("completed"), None)?,
        }
        Ok(Flow::Done)
    }

    fn close(
        &mut self,
        response: ResponseObject<'_>,
        status: Option<&str>,
        out: &mut EventQueue,
    ) -> Result<(), DecodeTrouble> {
        if let Some(counts) = &response.usage {
            self.usage = Some(counts.usage());
        }
        if let Some(error) = response.error.filter(|error| is_something(Some(error))) {
            return Err(failure::fault(error.get().as_bytes(), &self.server).into());
        }
        if let Some(output) = response.output.filter(|_| !self.items.heard()) {
            let items: Option<Vec<&RawValue>> = serde_json::from_str(output.get())?;
            for (index, item) in (0..).zip(items.into_iter().flatten()) {
                self.end(Some(index), Some(item), out)?;
            }
        }
        let reason = response.incomplete_details.as_ref().map(|details| &*details.reason.0);
        self.stop(status.unwrap_or(&response.status.0), reason.filter(|reason| !reason.is_empty()))
    }

    fn stop(&mut self, status: &str, reason: Option<&str>) -> Result<(), DecodeTrouble> {
        self.finish = match (status, reason) {
            ("failed" | "cancelled", _) => {
                let why = reason.map_or("gave no reason".to_owned(), |reason| format!("said only: {reason}"));
                return Err(faults::provider(format!("the answer was {status}; the server {why}")).into());
            }
            (_, Some("content_filter")) => Some(Finish::Refusal),
            ("incomplete", _) | (_, Some(_)) => Some(Finish::Length),
            ("completed", None) => Some(Finish::Stop),
            // It is not over, and nobody will say when.
            _ => None,
        };
        Ok(())
    }
}

impl Decoder for ResponsesDecoder {
    fn read(&mut self, data: &[u8], out: &mut EventQueue) -> Result<Flow, DecodeTrouble> {
        if data.trim_ascii() == b"[DONE]" {
            return Ok(Flow::Done);
        }
        json::read(data, &mut Vec::new()).map(|event| self.take(event, data, out))?
    }
    fn whole(&mut self, body: &[u8], out: &mut EventQueue) -> Result<(), DecodeTrouble> {
        json::read(body, &mut Vec::new()).map(|response| self.close(response, None, out))?
    }
    fn is_finished(&self) -> bool {
        self.finish.is_some()
    }
    fn finish(&mut self, out: &mut EventQueue) -> Option<Finish> {
        out.extend(self.calls.finish());
        Some(match self.finish? {
            Finish::Stop if !self.calls.is_empty() => Finish::ToolUse,
            Finish::Stop if self.refused => Finish::Refusal,
            finish => finish,
        })
    }
    fn usage(&self) -> Option<Usage> {
        self.usage
    }
}

/// Reads a part of an event as patiently as the event.
fn nested<'a, T: Deserialize<'a>>(raw: &'a RawValue, repaired: &'a mut Vec<u8>) -> Result<T, DecodeTrouble> {
    Ok(json::read(raw.get().as_bytes(), repaired)?)
}

/// Empty for what is no item.
fn kind(raw: &RawValue) -> String {
    serde_json::from_str(raw.get()).map_or_else(|_| String::new(), |ItemKind { kind }| kind.0.into_owned())
}

fn is_something(raw: Option<&RawValue>) -> bool {
    raw.is_some_and(|raw| raw.get() != "null")
}
