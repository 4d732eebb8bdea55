//! The assistant message that is just being written. Every update repeats the whole message twice, so its text is kept
//! escaped in one growing buffer and copied, never encoded again; deltas that nobody has read yet become one update.

use vocab::{AssistantMessage, Block, Sealed};
use wire::{FrameBuf, escape_into, escape_plain_into};

use crate::partial_json::PartialJson;
use pi_format::messages::{self, Face};

/// Bytes of one block that updates repeat. What a runaway model says beyond them comes as deltas and in `message_end`
/// only, so that neither memory nor a frame grows without end.
pub const PARTIAL_BYTES_MAX: usize = 2 * 1024 * 1024;

/// What an update carries besides its event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Updates {
    /// The whole message so far, twice.
    Full,
    /// The delta alone, with the usage.
    Delta,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BlockKind {
    Text,
    Thinking,
    Call { index: u32 },
}

impl BlockKind {
    fn word(self) -> &'static str {
        match self {
            BlockKind::Text => "text",
            BlockKind::Thinking => "thinking",
            BlockKind::Call { .. } => "toolcall",
        }
    }
}

/// The block that still grows.
struct Growing {
    kind: BlockKind,
    started: bool,
    /// Escaped, without quotes: everything so far.
    text: Vec<u8>,
    /// Escaped, without quotes: not yet sent.
    unsent: Vec<u8>,
    has_unsent: bool,
    /// Of a call.
    id: String,
    name: String,
    arguments: PartialJson,
}

pub(crate) struct Stream {
    updates: Updates,
    /// The message up to `"content":[`, and from `]` on.
    head: Vec<u8>,
    tail: Vec<u8>,
    usage: Vec<u8>,
    /// Finished blocks, separated by commas.
    done: Vec<u8>,
    blocks_done: usize,
    growing: Option<Growing>,
}

impl Stream {
    pub(crate) fn new(updates: Updates, face: &Face, at_ms: i64) -> Self {
        let (mut head, mut tail, mut usage) = (Vec::new(), Vec::new(), Vec::new());
        messages::assistant_head(&mut head);
        messages::assistant_tail(&mut tail, face, &vocab::Usage::default(), "stop", None, at_ms);
        messages::usage(&mut usage, &vocab::Usage::default(), None);
        Self { updates, head, tail, usage, done: Vec::new(), blocks_done: 0, growing: None }
    }

    /// `message_start`: nothing said yet.
    pub(crate) fn begin(&self, frames: &mut FrameBuf) {
        frames.line(|out| {
            out.extend_from_slice(b"{\"type\":\"message_start\",\"message\":");
            out.extend_from_slice(&self.head);
            out.extend_from_slice(&self.tail);
            out.push(b'}');
        });
    }

    pub(crate) fn text(&mut self, delta: &str, frames: &mut FrameBuf) {
        self.grow(BlockKind::Text, None, None, delta, frames);
    }

    pub(crate) fn thinking(&mut self, delta: &str, frames: &mut FrameBuf) {
        self.grow(BlockKind::Thinking, None, None, delta, frames);
    }

    /// See [`vocab::Event::Delta(vocab::Delta::Sealed)`]. A block without words has its place in the count like any other; what a text is
    /// signed with is none, as in [`messages::shown`].
    pub(crate) fn sealed(&mut self, what: Sealed, frames: &mut FrameBuf) {
        let behind_text = self.growing.as_ref().is_some_and(|growing| growing.kind == BlockKind::Text);
        self.end_block(frames);
        match what {
            Sealed::Thinking => return,
            Sealed::Alone if behind_text => return,
            Sealed::Alone => self.thinking("", frames),
            Sealed::Redacted => self.thinking(messages::REDACTED, frames),
        }
        self.end_block(frames);
    }

    pub(crate) fn call(
        &mut self,
        index: u32,
        id: Option<&str>,
        name: Option<&str>,
        delta: &str,
        frames: &mut FrameBuf,
    ) {
        self.grow(BlockKind::Call { index }, id, name, delta, frames);
    }

    fn grow(&mut self, kind: BlockKind, id: Option<&str>, name: Option<&str>, delta: &str, frames: &mut FrameBuf) {
        if self.growing.as_ref().is_none_or(|growing| growing.kind != kind) {
            self.end_block(frames);
            self.growing = Some(Growing {
                kind,
                started: false,
                text: Vec::new(),
                unsent: Vec::new(),
                has_unsent: false,
                id: String::new(),
                name: String::new(),
                arguments: PartialJson::default(),
            });
        }
        let Some(growing) = &mut self.growing else { return };
        if let Some(id) = id {
            growing.id = id.to_owned();
        }
        if let Some(name) = name {
            // In this family's spelling from the first word on, as in the finished message.
            growing.name = messages::tool_name(name).to_owned();
        }
        let from = growing.unsent.len();
        escape_plain_into(delta, &mut growing.unsent);
        growing.has_unsent = true;
        if growing.text.len() < PARTIAL_BYTES_MAX {
            growing.text.extend_from_slice(&growing.unsent[from..]);
            if matches!(kind, BlockKind::Call { .. }) {
                growing.arguments.push(delta);
            }
        }
    }

    /// Sends what is not sent yet.
    pub(crate) fn flush(&mut self, frames: &mut FrameBuf) {
        let Some(growing) = self.growing.as_mut().filter(|growing| growing.has_unsent) else { return };
        let mut unsent = std::mem::take(&mut growing.unsent);
        growing.has_unsent = false;
        if !std::mem::replace(&mut growing.started, true) {
            let is_alone = self.updates == Updates::Delta;
            // Without the message beside it nothing else says which call begins.
            let named = |growing: &Growing, out: &mut Vec<u8>| {
                if is_alone && matches!(growing.kind, BlockKind::Call { .. }) {
                    messages::member(out, "id", &growing.id);
                    messages::member(out, "toolName", &growing.name);
                }
            };
            self.update("_start", named, frames);
        }
        let delta = |_: &Growing, out: &mut Vec<u8>| {
            out.extend_from_slice(b",\"delta\":\"");
            out.extend_from_slice(&unsent);
            out.push(b'"');
        };
        self.update("_delta", delta, frames);
        unsent.clear();
        if let Some(growing) = &mut self.growing {
            // Its memory is used again for the next deltas.
            growing.unsent = unsent;
        }
    }

    /// The block is complete; the next one may begin.
    fn end_block(&mut self, frames: &mut FrameBuf) {
        if self.growing.is_none() {
            return;
        }
        self.flush(frames);
        let whole = |growing: &Growing, out: &mut Vec<u8>| match growing.kind {
            BlockKind::Text | BlockKind::Thinking => {
                out.extend_from_slice(b",\"content\":\"");
                out.extend_from_slice(&growing.text);
                out.push(b'"');
            }
            BlockKind::Call { .. } => {
                out.extend_from_slice(b",\"toolCall\":");
                growing.write(out, false);
            }
        };
        self.update("_end", whole, frames);
        self.keep_block();
    }

    /// The reply was cut. Its words end as any others do; a call that was not said to its end has none.
    pub(crate) fn cut(&mut self, frames: &mut FrameBuf) {
        match self.growing.as_ref().map(|growing| growing.kind) {
            Some(BlockKind::Text | BlockKind::Thinking) => self.end_block(frames),
            Some(BlockKind::Call { .. }) => self.flush(frames),
            None => {}
        }
    }

    fn keep_block(&mut self) {
        if let Some(growing) = self.growing.take() {
            if self.blocks_done > 0 {
                self.done.push(b',');
            }
            growing.write(&mut self.done, false);
            self.blocks_done += 1;
        }
    }

    /// Brings the listener up to the finished message: ends the open block, and tells blocks that came without deltas.
    pub(crate) fn complete(&mut self, message: &AssistantMessage, frames: &mut FrameBuf) {
        self.end_block(frames);
        for (block, _) in messages::shown(&message.blocks).skip(self.blocks_done) {
            match block {
                Block::Text(text) => self.text(text, frames),
                Block::Thinking { text, .. } => self.thinking(text, frames),
                Block::Redacted(_) => self.thinking(messages::REDACTED, frames),
                Block::Call(call) => {
                    let index = self.blocks_done as u32;
                    let input = call.input.json();
                    self.call(index, Some(call.id.as_str()), Some(&call.name), input.as_str(), frames);
                }
            }
            self.end_block(frames);
        }
    }

    /// One `message_update`. The event's own members come from `extra`.
    fn update(&self, suffix: &str, extra: impl FnOnce(&Growing, &mut Vec<u8>), frames: &mut FrameBuf) {
        let Some(growing) = &self.growing else { return };
        frames.line(|out| {
            out.extend_from_slice(b"{\"type\":\"message_update\",\"assistantMessageEvent\":{\"type\":\"");
            out.extend_from_slice(growing.kind.word().as_bytes());
            out.extend_from_slice(suffix.as_bytes());
            out.extend_from_slice(b"\",\"contentIndex\":");
            out.extend_from_slice(self.blocks_done.to_string().as_bytes());
            extra(growing, out);
            match self.updates {
                Updates::Full => {
                    out.extend_from_slice(b",\"partial\":");
                    let from = out.len();
                    self.message(growing, out);
                    let to = out.len();
                    out.extend_from_slice(b"},\"message\":");
                    out.extend_from_within(from..to);
                }
                Updates::Delta => {
                    out.extend_from_slice(b"},\"usage\":");
                    out.extend_from_slice(&self.usage);
                }
            }
            out.push(b'}');
        });
    }

    fn message(&self, growing: &Growing, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
        out.extend_from_slice(&self.done);
        if self.blocks_done > 0 {
            out.push(b',');
        }
        growing.write(out, true);
        out.extend_from_slice(&self.tail);
    }
}

impl Growing {
    /// As a content block.
    fn write(&self, out: &mut Vec<u8>, unfinished: bool) {
        match self.kind {
            BlockKind::Text => out.extend_from_slice(b"{\"type\":\"text\",\"text\":\""),
            BlockKind::Thinking => out.extend_from_slice(b"{\"type\":\"thinking\",\"thinking\":\""),
            BlockKind::Call { .. } => {
                out.extend_from_slice(b"{\"type\":\"toolCall\",\"id\":");
                escape_into(&self.id, out);
                out.extend_from_slice(b",\"name\":");
                escape_into(&self.name, out);
                out.extend_from_slice(b",\"arguments\":");
                self.arguments.closed(out);
                if unfinished {
                    out.extend_from_slice(b",\"partialArgs\":\"");
                    out.extend_from_slice(&self.text);
                    out.push(b'"');
                }
                return out.push(b'}');
            }
        }
        out.extend_from_slice(&self.text);
        out.extend_from_slice(b"\"}");
    }
}
