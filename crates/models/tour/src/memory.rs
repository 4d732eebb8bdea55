//! What a tour remembers of a conversation: counts, the newest user message, and what came after it. It never keeps
//! more than its answers need.

use std::collections::VecDeque;

use vocab::{Block, CallEnd, CallInput, Message, MessageEnd, Part, names, parts_text};

/// User messages kept for a summary; of older ones only the number is known.
const PREVIEWS_MAX: usize = 200;
/// Characters of a user message that a summary repeats.
const PREVIEW_CHARS: usize = 80;

#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) bytes: usize,
    pub(crate) chars: usize,
    /// The newest user message, whole.
    pub(crate) prompt: String,
    pub(crate) prompt_has_images: bool,
    /// Starts of the user messages, the newest last.
    pub(crate) previews: VecDeque<String>,
    pub(crate) previews_dropped: usize,
    /// Finished replies since the newest user message. Failed and interrupted ones do not count: their step is
    /// played again.
    pub(crate) replies: u64,
    /// Canonical names of the tools called since the newest user message.
    pub(crate) called: Vec<String>,
    /// Results since the newest user message.
    pub(crate) results: Vec<SeenResult>,
}

pub(crate) struct SeenResult {
    /// Canonical name.
    pub(crate) tool: String,
    pub(crate) end: CallEnd,
    pub(crate) is_error: bool,
    parts: Vec<Part>,
}

impl SeenResult {
    pub(crate) fn text(&self) -> String {
        parts_text(&self.parts)
    }
}

impl Memory {
    pub(crate) fn push(&mut self, message: &Message) {
        match message {
            Message::User(parts) => {
                self.count_parts(parts);
                self.prompt = parts_text(parts);
                self.prompt_has_images = parts.iter().any(|part| matches!(part, Part::Image(_)));
                self.remember_preview();
                self.replies = 0;
                self.called.clear();
                self.results.clear();
            }
            Message::Assistant(message) => {
                for block in &message.blocks {
                    self.count_block(block);
                }
                if matches!(message.end, MessageEnd::Finished(_)) {
                    self.replies += 1;
                    self.called.extend(message.calls().map(|call| canonical(&call.name)));
                }
            }
            Message::Result(result) => {
                self.count_parts(&result.parts);
                self.results.push(SeenResult {
                    tool: canonical(&result.tool),
                    end: result.end,
                    is_error: result.is_error,
                    parts: result.parts.clone(),
                });
            }
        }
    }

    pub(crate) fn was_called(&self, tool: &str) -> bool {
        self.called.iter().any(|called| called == tool)
    }

    pub(crate) fn result_of(&self, tool: &str) -> Option<&SeenResult> {
        self.results.iter().rev().find(|result| result.tool == tool)
    }

    fn remember_preview(&mut self) {
        if self.previews.len() == PREVIEWS_MAX {
            self.previews.pop_front();
            self.previews_dropped += 1;
        }
        self.previews.push_back(self.prompt.chars().take(PREVIEW_CHARS).collect());
    }

    fn count(&mut self, text: &str) {
        self.bytes += text.len();
        self.chars += text.chars().count();
    }

    fn count_parts(&mut self, parts: &[Part]) {
        for part in parts {
            match part {
                Part::Text(text) => self.count(text),
                // It cannot see images, so they fill no window of its; they are still bytes.
                Part::Image(image) => self.bytes += image.base64.len(),
            }
        }
    }

    fn count_block(&mut self, block: &Block) {
        match block {
            Block::Text(text) | Block::Thinking { text, .. } => self.count(text),
            Block::Redacted(_) => {}
            Block::Call(call) => {
                self.count(&call.name);
                match &call.input {
                    CallInput::Object(json) => self.count(json.as_str()),
                    CallInput::Broken { text, .. } => self.count(text),
                }
            }
        }
    }
}

fn canonical(name: &str) -> String {
    names::canonical(name).unwrap_or(name).to_owned()
}
