//! Messages in Gemini's format, each encoded once.
//!
//! Decided here: a signature goes back at the part it came with, to the model that made it, and nowhere else. Thinking goes
//! back only where it is signed: Gemini reads nothing from a thought without its signature. All results of a batch stand
//! in one content right behind their calls, as the server demands.

use bytes::{BufMut, Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use vocab::{AssistantMessage, Block, Call, CallResult, Image, Message, Part};

use super::INVENTED_ID;
use super::parts::{FunctionResponse, call_part, image_part, sealed_part, text_part};
use crate::call_pairing::{CallPairing, NO_IMAGES, NO_OUTPUT, NO_RESULT, is_whole, orphan};
use crate::encoded_messages::EncodedMessages;

/// The documented word for a call that this model did not make: no signature exists, and none is asked for.
const SKIP_SIGNATURE: &str = "skip_thought_signature_validator";
/// Between two answers in a row: Gemini refuses a call that does not follow something said to the model.
const GO_ON: &str = "[go on]";
/// A result must say something even where its images say it all.
const SEE_IMAGES: &str = "[see the images of this result]";

/// How messages are written.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct GeminiManner {
    pub(super) images: bool,
    /// The slug of the model that reads: its own signatures go back.
    pub(super) model: String,
    /// Calls need signatures, and results may hold images.
    pub(super) strict: bool,
    /// Calls need ids, made up or not.
    pub(super) ids: bool,
}

/// The history.
pub(super) struct GeminiTranscript {
    manner: GeminiManner,
    encoded: EncodedMessages,
    pairing: CallPairing,
    /// Images of results: they may only follow when the whole batch of results is there.
    images: Vec<Image>,
    /// A content with results is open.
    batch: bool,
    /// Who spoke last.
    last: Option<GeminiRole>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GeminiRole {
    User,
    Model,
}

impl GeminiTranscript {
    pub(super) fn new(manner: GeminiManner) -> Self {
        let (encoded, pairing) = (EncodedMessages::default(), CallPairing::default());
        Self { manner, encoded, pairing, images: Vec::new(), batch: false, last: None }
    }

    pub(super) fn manner(&self) -> &GeminiManner {
        &self.manner
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

    /// What stands behind the list of a request. Gemini answers what is said to it: half an answer may not come last. This is
    /// no part of the history, for nobody knows yet what will be said there.
    pub(super) fn tail(&self) -> Bytes {
        let mut tail = BytesMut::new();
        if self.last == Some(GeminiRole::Model) {
            tail.put_slice(br#",{"role":"user","parts":["#);
            text_part(&mut tail, GO_ON);
            tail.put_slice(b"]}");
        }
        tail.put_u8(b']');
        tail.freeze()
    }

    /// Ends a batch of results.
    fn settle(&mut self) {
        for (call, name) in self.pairing.give_up() {
            let missing =
                FunctionResponse { name: &name, id: call.as_str(), key: "error", text: NO_RESULT, images: &[] };
            self.response(missing);
        }
        if std::mem::take(&mut self.batch) {
            self.close();
        }
        if !self.images.is_empty() {
            let images: Vec<Part> = self.images.drain(..).map(Part::Image).collect();
            self.user(&images);
        }
    }

    fn open(&mut self, role: GeminiRole) {
        let name = match role {
            GeminiRole::User => "user",
            GeminiRole::Model => "model",
        };
        self.encoded.open.put_slice(format!(r#",{{"role":"{name}","parts":["#).as_bytes());
        self.last = Some(role);
    }
    /// The place of the next part of the open content.
    fn part(&mut self) -> &mut BytesMut {
        let out = &mut self.encoded.open;
        if out.last() != Some(&b'[') {
            out.put_u8(b',');
        }
        out
    }
    fn close(&mut self) {
        self.encoded.open.put_slice(b"]}");
    }

    fn user(&mut self, parts: &[Part]) {
        // Gemini refuses a text without a word, and a content without a part.
        let says = |part: &&Part| !matches!(part, Part::Text(text) if text.is_empty());
        let parts: Vec<&Part> = parts.iter().filter(says).collect();
        if parts.is_empty() {
            return;
        }
        self.open(GeminiRole::User);
        for part in parts {
            match part {
                Part::Text(text) => text_part(self.part(), text),
                Part::Image(image) if self.manner.images => image_part(self.part(), image),
                Part::Image(_) => text_part(self.part(), NO_IMAGES),
            }
        }
        self.close();
    }

    fn assistant(&mut self, message: &AssistantMessage) {
        let whole = is_whole(message);
        let calls: Vec<&Call> = message.calls().filter(|_| whole).collect();
        if calls.is_empty() && message.text().is_empty() {
            return;
        }
        if self.last != Some(GeminiRole::User) {
            self.user(&[Part::text(GO_ON)]);
        }
        self.open(GeminiRole::Model);
        let own = whole && *message.model == *self.manner.model;
        let mut signed = !self.manner.strict;
        for block in &message.blocks {
            match block {
                Block::Text(text) if !text.is_empty() => text_part(self.part(), text),
                Block::Thinking { text, opaque: Some(seal) } if own => sealed_part(self.part(), text, seal),
                Block::Redacted(seal) if own => sealed_part(self.part(), "", seal),
                Block::Call(call) if whole => {
                    let skip = (!std::mem::replace(&mut signed, true)).then_some(SKIP_SIGNATURE);
                    let seal = call.seal.as_deref().filter(|_| own).or(skip);
                    let id = self.known(call.id.as_str());
                    call_part(self.part(), call, id, seal);
                }
                Block::Text(_) | Block::Thinking { .. } | Block::Redacted(_) | Block::Call(_) => {}
            }
        }
        self.close();
        self.pairing.announce(calls);
    }

    fn result(&mut self, result: &CallResult) {
        let images: Vec<&Image> = result.parts.iter().filter_map(image_of).collect();
        let mut text = result.text();
        let mut add = |note: &str| {
            let gap = if text.is_empty() { "" } else { "\n" };
            text = format!("{text}{gap}{note}");
        };
        let Some(name) = self.pairing.answer(result) else {
            if result.parts.is_empty() {
                add(NO_OUTPUT);
            }
            self.settle();
            let images = result.parts.iter().filter(|part| image_of(part).is_some()).cloned();
            return self.user(&orphan(result, &text).into_iter().chain(images).collect::<Vec<_>>());
        };
        let mut inside = &images[..];
        if !self.manner.images {
            images.iter().for_each(|_| add(NO_IMAGES));
            inside = &[];
        } else if !self.manner.strict {
            for (number, image) in images.iter().enumerate() {
                add(&format!("[image {} of this result ({}) is in the next user message]", number + 1, image.mime));
            }
            self.images.extend(images.iter().copied().cloned());
            inside = &[];
        }
        if text.is_empty() {
            text.push_str(if inside.is_empty() { NO_OUTPUT } else { SEE_IMAGES });
        }
        let key = if result.is_error { "error" } else { "output" };
        self.response(FunctionResponse { name: &name, id: result.call.as_str(), key, text: &text, images: inside });
        if self.pairing.is_settled() {
            self.settle();
        }
    }

    fn response(&mut self, response: FunctionResponse<'_>) {
        if !std::mem::replace(&mut self.batch, true) {
            self.open(GeminiRole::User);
        }
        let id = self.known(response.id);
        response.put(id, self.part());
    }

    /// An id goes back only where the server gave one: what we made up means nothing to it.
    fn known<'a>(&self, id: &'a str) -> Option<&'a str> {
        Some(id).filter(|id| self.manner.ids || !id.starts_with(INVENTED_ID))
    }
}

fn image_of(part: &Part) -> Option<&Image> {
    match part {
        Part::Image(image) => Some(image),
        Part::Text(_) => None,
    }
}

#[cfg(test)]
mod tests;
