//! Messages in Chat Completions format, each encoded once.
//!
//! Decided here: thinking goes back only where the server is known to take it. Broken arguments go back as `{}`, because
//! servers refuse anything else. Images of results come in a user message behind the batch: a result is text here.

use bytes::{BufMut, Bytes, BytesMut};
use vocab::{AssistantMessage, Block, Call, CallResult, Image, Message, Part, ToolSpec, parts_text};

use super::compat::ReasoningBack;
use super::details;
use super::manner::CompletionsManner;
use crate::call_pairing::{CallPairing, NO_IMAGES, NO_OUTPUT, NO_RESULT, function_name, is_whole, orphan};
use crate::encoded_messages::EncodedMessages;
use crate::json::string;

/// What the assistant is made to say where a server wants it to have said something.
const BRIDGE: &str = "[the results are noted]";

/// The history.
pub(super) struct CompletionsTranscript {
    manner: CompletionsManner,
    encoded: EncodedMessages,
    pairing: CallPairing,
    /// Images of results: they may only follow when the whole batch of results is there.
    images: Vec<Image>,
    /// The last message is a result.
    after_result: bool,
    /// Any answer has called a tool.
    called: bool,
}

impl CompletionsTranscript {
    pub(super) fn new(manner: CompletionsManner) -> Self {
        Self {
            manner,
            encoded: EncodedMessages::default(),
            pairing: CallPairing::default(),
            images: Vec::new(),
            after_result: false,
            called: false,
        }
    }

    pub(super) fn manner(&self) -> &CompletionsManner {
        &self.manner
    }

    pub(super) fn called(&self) -> bool {
        self.called
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(self.manner.clone());
    }

    pub(super) fn bytes(&self) -> usize {
        self.encoded.bytes()
    }

    pub(super) fn push(&mut self, message: &Message) {
        match message {
            Message::User(parts) => {
                self.settle();
                self.user(parts);
            }
            Message::Assistant(message) => {
                self.settle();
                self.assistant(message);
            }
            Message::Result(result) => self.result(result),
        }
    }

    /// Everything so far, as shared pieces.
    pub(super) fn list(&mut self) -> Vec<Bytes> {
        self.settle();
        self.encoded.list()
    }

    /// Ends a batch of results.
    fn settle(&mut self) {
        for (call, name) in self.pairing.give_up() {
            self.tool(call.as_str(), &name, NO_RESULT);
        }
        if !self.images.is_empty() {
            let images: Vec<Part> = self.images.drain(..).map(Part::Image).collect();
            self.user(&images);
        }
    }

    fn user(&mut self, parts: &[Part]) {
        let out = &mut self.encoded.open;
        if std::mem::take(&mut self.after_result) && self.manner.bridges {
            out.put_slice(br#",{"role":"assistant","content":"#);
            string(out, BRIDGE);
            out.put_u8(b'}');
        }
        out.put_slice(br#",{"role":"user","content":"#);
        if parts.iter().all(|part| matches!(part, Part::Text(_))) {
            // Plain text as a string: small servers know no parts.
            string(out, &parts_text(parts));
        } else {
            for (number, part) in parts.iter().enumerate() {
                out.put_u8(if number == 0 { b'[' } else { b',' });
                match part {
                    Part::Text(text) => text_part(out, text),
                    Part::Image(image) if self.manner.images => image_part(out, image),
                    Part::Image(_) => text_part(out, NO_IMAGES),
                }
            }
            out.put_u8(b']');
        }
        out.put_u8(b'}');
    }

    fn assistant(&mut self, message: &AssistantMessage) {
        let whole = is_whole(message);
        let calls: Vec<&Call> = if whole { message.calls().collect() } else { Vec::new() };
        let ours = whole && self.manner.model.as_ref() == Some(&message.model);
        let thought = if ours { thought(message) } else { String::new() };
        let mut text = message.text();
        if self.manner.reasoning == ReasoningBack::Text && !thought.is_empty() {
            text = if text.is_empty() { thought.clone() } else { format!("{thought}\n\n{text}") };
        }
        if text.is_empty() && calls.is_empty() {
            return;
        }
        self.after_result = false;
        self.called |= !calls.is_empty();
        let out = &mut self.encoded.open;
        out.put_slice(br#",{"role":"assistant","content":"#);
        if text.is_empty() && !self.manner.empty_content {
            out.put_slice(b"null")
        } else {
            string(out, &text)
        }
        match self.manner.reasoning {
            ReasoningBack::Content => {
                out.put_slice(br#","reasoning_content":"#);
                string(out, &thought);
            }
            ReasoningBack::Reasoning if !thought.is_empty() => {
                out.put_slice(br#","reasoning":"#);
                string(out, &thought);
            }
            ReasoningBack::Details if ours => put_details(out, message),
            _ => {}
        }
        for (number, call) in calls.iter().enumerate() {
            out.put_slice(if number == 0 { br#","tool_calls":["# } else { b"," });
            out.put_slice(br#"{"id":"#);
            string(out, &self.manner.ids.fit(call.id.as_str()));
            out.put_slice(br#","type":"function","function":{"name":"#);
            string(out, &function_name(&call.name));
            out.put_slice(br#","arguments":"#);
            string(out, call.input.json().as_str());
            out.put_slice(b"}}");
        }
        if !calls.is_empty() {
            out.put_u8(b']');
        }
        out.put_u8(b'}');
        self.pairing.announce(calls);
    }

    fn result(&mut self, result: &CallResult) {
        let images = result.parts.iter().filter_map(|part| match part {
            Part::Image(image) => Some(image),
            Part::Text(_) => None,
        });
        let mut text = result.text();
        for (number, image) in images.enumerate() {
            let note = if self.manner.images {
                self.images.push(image.clone());
                format!("[image {} of this result ({}) is in the next user message]", number + 1, image.mime)
            } else {
                NO_IMAGES.to_owned()
            };
            text = if text.is_empty() { note } else { format!("{text}\n{note}") };
        }
        if text.is_empty() {
            text.push_str(NO_OUTPUT);
        }
        match self.pairing.answer(result) {
            Some(name) => self.tool(result.call.as_str(), &name, &text),
            None => {
                self.settle();
                self.user(&orphan(result, &text));
            }
        }
        if self.pairing.is_settled() {
            self.settle();
        }
    }

    /// `name` is the one the call was announced under.
    fn tool(&mut self, call: &str, name: &str, text: &str) {
        let out = &mut self.encoded.open;
        out.put_slice(br#",{"role":"tool","tool_call_id":"#);
        string(out, &self.manner.ids.fit(call));
        if self.manner.result_names {
            out.put_slice(br#","name":"#);
            string(out, &function_name(name));
        }
        out.put_slice(br#","content":"#);
        string(out, text);
        out.put_u8(b'}');
        self.after_result = true;
    }
}

/// All the words a model thought before and between what it said.
fn thought(message: &AssistantMessage) -> String {
    let words = message.blocks.iter().filter_map(|block| match block {
        Block::Thinking { text, .. } if !text.is_empty() => Some(&**text),
        _ => None,
    });
    words.collect::<Vec<_>>().join("\n")
}

/// What the server sealed, in the order it came.
fn put_details(out: &mut BytesMut, message: &AssistantMessage) {
    let sealed = message.blocks.iter().filter_map(|block| match block {
        Block::Thinking { opaque, .. } => opaque.as_deref(),
        Block::Call(call) => call.seal.as_deref(),
        _ => None,
    });
    let lists: Vec<&str> = sealed.filter_map(details::entries).collect();
    if !lists.is_empty() {
        out.put_slice(br#","reasoning_details":["#);
        out.put_slice(lists.join(",").as_bytes());
        out.put_u8(b']');
    }
}

/// The list of tools, with a comma behind it; nothing when there are none.
pub(super) fn tools(tools: &[ToolSpec]) -> Bytes {
    let mut out = BytesMut::new();
    for (number, tool) in tools.iter().enumerate() {
        out.put_slice(if number == 0 { br#""tools":["# } else { b"," });
        out.put_slice(br#"{"type":"function","function":{"name":"#);
        string(&mut out, &function_name(&tool.name));
        out.put_slice(br#","description":"#);
        string(&mut out, &tool.description);
        out.put_slice(br#","parameters":"#);
        out.put_slice(tool.schema.as_str().as_bytes());
        out.put_slice(b"}}");
    }
    if !tools.is_empty() {
        out.put_slice(b"],");
    }
    out.freeze()
}

/// The instructions as JSON text; empty when there are none.
pub(super) fn instructions(system: &str) -> Bytes {
    let mut out = BytesMut::new();
    if !system.is_empty() {
        string(&mut out, system);
    }
    out.freeze()
}

fn text_part(out: &mut BytesMut, text: &str) {
    out.put_slice(br#"{"type":"text","text":"#);
    string(out, text);
    out.put_u8(b'}');
}

fn image_part(out: &mut BytesMut, image: &Image) {
    out.put_slice(br#"{"type":"image_url","image_url":{"url":"#);
    string(out, &format!("data:{};base64,{}", image.mime, image.base64));
    out.put_slice(b"}}");
}

#[cfg(test)]
mod tests;
