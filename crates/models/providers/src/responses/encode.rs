//! Messages in Responses format, each encoded once.
//!
//! Decided here: reasoning goes back only in front of what followed it in the same answer, because the API refuses it
//! alone. Texts get ids of our own: the server's own would be looked up, and nothing is stored there. Broken arguments
//! go back as `{}`.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use vocab::{AssistantMessage, Block, Call, CallId, CallResult, Image, Message, Part, parts_text};

use super::ids::call_id;
use super::seal::{self, Label, Sealed};
use crate::call_pairing::{CallPairing, NO_IMAGES, NO_OUTPUT, NO_RESULT, function_name, is_whole, orphan};
use crate::encoded_messages::EncodedMessages;
use crate::json::string;

/// The history.
pub(super) struct ResponsesTranscript {
    /// The slug of the model that it is for.
    model: Arc<str>,
    images: bool,
    encoded: EncodedMessages,
    pairing: CallPairing,
    /// Texts of the model so far; their ids must differ.
    texts: u64,
    /// How often a call of this id has come. Some servers begin anew with every answer, and here no id comes twice.
    calls: HashMap<CallId, u32>,
}

impl ResponsesTranscript {
    pub(super) fn new(model: Arc<str>, images: bool) -> Self {
        let (encoded, pairing) = (EncodedMessages::default(), CallPairing::default());
        Self { model, images, encoded, pairing, texts: 0, calls: HashMap::new() }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(self.model.clone(), self.images);
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
        for (call, _) in self.pairing.give_up() {
            self.output(&call, &[Part::text(NO_RESULT)]);
        }
    }

    fn user(&mut self, parts: &[Part]) {
        if parts.is_empty() {
            return;
        }
        let out = &mut self.encoded.open;
        out.put_slice(br#",{"type":"message","role":"user","content":"#);
        content(out, parts, self.images);
        out.put_u8(b'}');
    }

    fn assistant(&mut self, message: &AssistantMessage) {
        if !is_whole(message) {
            return self.text(&message.text(), None);
        }
        let ours = message.model == self.model;
        // Reasoning that still waits for what it led to.
        let mut waiting: Vec<&str> = Vec::new();
        for (at, block) in message.blocks.iter().enumerate() {
            let seal = match block {
                Block::Text(text) if text.is_empty() => None,
                Block::Text(text) => {
                    self.reasoning(&mut waiting);
                    self.text(text, message.blocks.get(at + 1).filter(|_| ours).and_then(label));
                    None
                }
                Block::Call(call) => {
                    self.reasoning(&mut waiting);
                    self.call(call);
                    // Reasoning without words that came behind the call.
                    call.seal.as_deref()
                }
                Block::Thinking { opaque, .. } => opaque.as_deref(),
                Block::Redacted(_) => None,
            };
            waiting.extend(seal.filter(|seal| ours && matches!(seal::open(seal), Some(Sealed::Reasoning))));
        }
        self.pairing.announce(message.calls());
    }

    fn reasoning(&mut self, waiting: &mut Vec<&str>) {
        for item in waiting.drain(..) {
            self.encoded.open.put_u8(b',');
            self.encoded.open.put_slice(item.as_bytes());
        }
    }

    fn text(&mut self, text: &str, label: Option<Label<'_>>) {
        if text.is_empty() {
            return;
        }
        self.texts += 1;
        let out = &mut self.encoded.open;
        out.put_slice(format!(r#",{{"type":"message","id":"msg_{}","role":"assistant""#, self.texts).as_bytes());
        out.put_slice(br#","status":"completed","content":[{"type":"output_text","text":"#);
        string(out, text);
        out.put_slice(br#","annotations":[]}]"#);
        if let Some(label) = label {
            out.put_slice(br#","phase":"#);
            string(out, &label.phase);
        }
        out.put_u8(b'}');
    }

    fn call(&mut self, call: &Call) {
        let times = self.calls.entry(call.id.clone()).or_default();
        *times += 1;
        let out = &mut self.encoded.open;
        out.put_slice(br#",{"type":"function_call","call_id":"#);
        string(out, &call_id(call.id.as_str(), Some(*times)));
        out.put_slice(br#","name":"#);
        string(out, &function_name(&call.name));
        out.put_slice(br#","arguments":"#);
        string(out, call.input.json().as_str());
        out.put_u8(b'}');
    }

    fn result(&mut self, result: &CallResult) {
        match self.pairing.answer(result) {
            Some(_) => self.output(&result.call, &result.parts),
            None => {
                self.settle();
                let mut parts = orphan(result, &result.text());
                parts.extend(result.parts.iter().filter(|part| matches!(part, Part::Image(_))).cloned());
                self.user(&parts);
            }
        }
    }

    fn output(&mut self, call: &CallId, parts: &[Part]) {
        let id = call_id(call.as_str(), self.calls.get(call).copied());
        let out = &mut self.encoded.open;
        out.put_slice(br#",{"type":"function_call_output","call_id":"#);
        string(out, &id);
        out.put_slice(br#","output":"#);
        let text = parts_text(parts);
        if parts.iter().any(|part| matches!(part, Part::Image(_))) {
            content(out, parts, self.images);
        } else {
            string(out, if text.is_empty() { NO_OUTPUT } else { &text });
        }
        out.put_u8(b'}');
    }
}

/// What the block behind a text says about it.
fn label(next: &Block) -> Option<Label<'_>> {
    let Block::Thinking { opaque: Some(opaque), .. } = next else { return None };
    match seal::open(opaque)? {
        Sealed::Label(label) => Some(label),
        Sealed::Reasoning => None,
    }
}

fn content(out: &mut BytesMut, parts: &[Part], images: bool) {
    for (number, part) in parts.iter().enumerate() {
        out.put_u8(if number == 0 { b'[' } else { b',' });
        match part {
            Part::Text(text) => text_part(out, text),
            Part::Image(image) if images => image_part(out, image),
            Part::Image(_) => text_part(out, NO_IMAGES),
        }
    }
    out.put_u8(b']');
}

fn text_part(out: &mut BytesMut, text: &str) {
    out.put_slice(br#"{"type":"input_text","text":"#);
    string(out, text);
    out.put_u8(b'}');
}

fn image_part(out: &mut BytesMut, image: &Image) {
    out.put_slice(br#"{"type":"input_image","detail":"auto","image_url":"#);
    string(out, &format!("data:{};base64,{}", image.mime, image.base64));
    out.put_u8(b'}');
}
