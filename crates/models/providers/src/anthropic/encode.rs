//! Messages in Anthropic format, each encoded once.
//!
//! User and assistant strictly take turns: what the user's side says in a row goes into one message, the results of a
//! batch first. The last message stays open and the tail of a request closes it, so that more can follow without moving
//! a byte. Decided here: broken arguments go back as `{}`; thinking goes back only with its signature and only to the
//! model that made it; an answer that was cut short goes back as its text alone.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use vocab::{AssistantMessage, Block, CallId, CallResult, Message, Part, ToolSpec};

use super::blocks::{self, is_blank, is_readable};
use super::ids::AnthropicIds;
use crate::call_pairing::{CallPairing, NO_IMAGES, NO_OUTPUT, NO_RESULT, is_whole, orphan};
use crate::encoded_messages::EncodedMessages;

/// Said for the user where two answers would meet, or where the last word is the model's.
const GO_ON: &str = "Continue.";
/// Said for the user where a conversation begins with an answer.
const BEGINNING: &str = "[earlier messages were left out]";
/// The API takes an error as text only.
const IMAGE_BEHIND: &str = "[an image of this result follows behind the results]";

/// Whose message is open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AnthropicRole {
    User,
    Assistant,
}

/// The history.
pub(super) struct AnthropicTranscript {
    /// Slug of the model that reads it.
    model: Arc<str>,
    images: bool,
    encoded: EncodedMessages,
    pairing: CallPairing,
    ids: AnthropicIds,
    role: Option<AnthropicRole>,
    /// What may only follow when the whole batch of results is there.
    behind: Vec<Part>,
    /// Offset of the end of the newest block of the user's side, and of the last one before the model's newest answer.
    newest: Option<usize>,
    before: Option<usize>,
    /// The newest message of the user's side holds results.
    answers: bool,
    /// A signed thought of this model is in the loop of calls and results that came last.
    sealed: bool,
}

impl AnthropicTranscript {
    pub(super) fn new(model: Arc<str>, images: bool) -> Self {
        Self {
            model,
            images,
            encoded: EncodedMessages::default(),
            pairing: CallPairing::default(),
            ids: AnthropicIds::default(),
            role: None,
            behind: Vec::new(),
            newest: None,
            before: None,
            answers: false,
            sealed: false,
        }
    }

    pub(super) fn model(&self) -> &Arc<str> {
        &self.model
    }
    pub(super) fn images(&self) -> bool {
        self.images
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
                self.user(&self.taken(parts));
            }
            Message::Assistant(message) => {
                self.settle();
                self.assistant(message);
            }
            Message::Result(result) => self.result(result),
        }
    }

    /// Everything so far, as shared pieces, and where breakpoints pay. The last message is open.
    pub(super) fn list(&mut self) -> (Vec<Bytes>, Vec<usize>) {
        self.settle();
        // The list lacks the comma that every element starts with.
        let seams = [self.before, self.newest].into_iter().flatten().map(|seam| seam - 1).collect();
        (self.encoded.list(), seams)
    }

    /// What closes the list. The last word is never the model's: newer models refuse to go on in their own answer.
    pub(super) fn close(&self) -> Bytes {
        let mut out = BytesMut::new();
        match self.role {
            None => {}
            Some(AnthropicRole::User) => out.put_slice(b"]}"),
            Some(AnthropicRole::Assistant) => {
                out.put_slice(br#"]},{"role":"user","content":["#);
                blocks::text(&mut out, GO_ON);
                out.put_slice(b"}]}");
            }
        }
        out.put_slice(b"]}");
        out.freeze()
    }

    /// Whether calls and results came last without a signed thought of this model among them.
    pub(super) fn is_unthought_loop(&self) -> bool {
        self.role == Some(AnthropicRole::User) && self.answers && !self.sealed
    }

    /// Ends a batch of results.
    fn settle(&mut self) {
        for (call, _) in self.pairing.give_up() {
            self.answer(&call, &[Part::text(NO_RESULT)], false);
        }
        let behind = std::mem::take(&mut self.behind);
        self.user(&behind);
    }

    /// What this model takes of these.
    fn taken(&self, parts: &[Part]) -> Vec<Part> {
        let fit = |part: &Part| match part {
            Part::Text(text) if is_blank(text) => None,
            Part::Image(_) if !self.images => Some(Part::text(NO_IMAGES)),
            Part::Image(image) if !is_readable(image) => {
                Some(Part::text(format!("[an image was left out: {} is not taken here]", image.mime)))
            }
            part => Some(part.clone()),
        };
        parts.iter().filter_map(fit).collect()
    }

    fn user(&mut self, parts: &[Part]) {
        for part in parts {
            self.open(AnthropicRole::User);
            blocks::part(&mut self.encoded.open, part);
            self.seam();
        }
    }

    fn assistant(&mut self, message: &AssistantMessage) {
        let whole = is_whole(message);
        let goes_back = |block: &Block| match block {
            Block::Text(text) => !is_blank(text),
            Block::Call(_) => whole,
            Block::Thinking { .. } | Block::Redacted(_) => false,
        };
        // Thinking at the very end led nowhere, and is refused there.
        let Some(last) = message.blocks.iter().rposition(goes_back) else { return };
        match self.role {
            None => self.user(&[Part::text(BEGINNING)]),
            Some(AnthropicRole::Assistant) => self.user(&[Part::text(GO_ON)]),
            Some(AnthropicRole::User) => {}
        }
        let ours = whole && message.model == self.model;
        self.ids.next_batch();
        for (at, block) in message.blocks[..=last].iter().enumerate() {
            match block {
                Block::Text(text) if goes_back(block) => {
                    self.open(AnthropicRole::Assistant);
                    blocks::said(&mut self.encoded.open, text);
                }
                Block::Thinking { text, opaque: Some(signature) } if ours => self.thought(text, signature),
                Block::Redacted(data) if ours => {
                    self.open(AnthropicRole::Assistant);
                    self.sealed = true;
                    blocks::redacted(&mut self.encoded.open, data);
                }
                Block::Call(call) if whole => {
                    self.open(AnthropicRole::Assistant);
                    let id = self.ids.announce(&call.id);
                    blocks::call(&mut self.encoded.open, id, call);
                    // No call is sealed on this wire: it is a thought without words that came behind the call.
                    if let Some(signature) = call.seal.as_ref().filter(|_| ours && at < last) {
                        self.thought("", signature);
                    }
                }
                _ => {}
            }
        }
        // What another model did in the middle of a loop cannot be thought on from.
        self.sealed &= message.model == self.model;
        if whole {
            self.pairing.announce(message.calls());
        }
    }

    fn thought(&mut self, text: &str, signature: &str) {
        self.open(AnthropicRole::Assistant);
        self.sealed = true;
        blocks::thinking(&mut self.encoded.open, text, signature);
    }

    fn result(&mut self, result: &CallResult) {
        let mut parts = self.taken(&result.parts);
        if self.pairing.answer(result).is_none() {
            let text = vocab::parts_text(&parts);
            let mut late = orphan(result, if text.is_empty() { NO_OUTPUT } else { &text });
            late.extend(parts.into_iter().filter(|part| matches!(part, Part::Image(_))));
            self.behind.extend(late);
        } else {
            if result.is_error {
                for part in parts.iter_mut().filter(|part| matches!(part, Part::Image(_))) {
                    self.behind.push(std::mem::replace(part, Part::text(IMAGE_BEHIND)));
                }
            }
            if parts.is_empty() {
                parts.push(Part::text(NO_OUTPUT));
            }
            self.answer(&result.call, &parts, result.is_error);
        }
        if self.pairing.is_settled() {
            self.settle();
        }
    }

    fn answer(&mut self, call: &CallId, parts: &[Part], is_error: bool) {
        self.open(AnthropicRole::User);
        self.answers = true;
        blocks::result(&mut self.encoded.open, &self.ids.of(call), parts, is_error);
        self.seam();
    }

    /// Makes room for a block in a message of this role.
    fn open(&mut self, role: AnthropicRole) {
        let out = &mut self.encoded.open;
        if self.role == Some(role) {
            return out.put_u8(b',');
        }
        if self.role.is_some() {
            out.put_slice(b"]}");
        }
        self.role = Some(role);
        match role {
            AnthropicRole::User => {
                out.put_slice(br#",{"role":"user","content":["#);
                self.before = self.newest;
                self.answers = false;
            }
            AnthropicRole::Assistant => {
                out.put_slice(br#",{"role":"assistant","content":["#);
                self.sealed &= self.answers;
            }
        }
    }

    /// Closes a block of the user's side.
    fn seam(&mut self) {
        self.newest = Some(self.encoded.bytes());
        self.encoded.open.put_u8(b'}');
    }
}

/// Tools and system prompt: what stands before the messages and rarely changes, and where breakpoints pay. Ends inside
/// the list of messages.
pub(super) fn prefix_head(system: &str, tools: &[ToolSpec]) -> (Bytes, Vec<usize>) {
    let mut out = BytesMut::new();
    let mut seams = Vec::new();
    for (number, tool) in tools.iter().enumerate() {
        out.put_slice(if number == 0 { br#""tools":["# } else { b"," });
        blocks::tool(&mut out, tool);
        if number + 1 == tools.len() {
            seams.push(out.len());
        }
        out.put_u8(b'}');
    }
    if !tools.is_empty() {
        out.put_slice(b"],");
    }
    if !is_blank(system) {
        out.put_slice(br#""system":["#);
        blocks::text(&mut out, system);
        seams.push(out.len());
        out.put_slice(b"}],");
    }
    out.put_slice(br#""messages":["#);
    (out.freeze(), seams)
}

#[cfg(test)]
mod tests;
