//! Gathers the deltas of one model call into one assistant message.

use std::collections::HashSet;
use std::sync::Arc;

use vocab::{
    AssistantMessage, Block, Call, CallId, CallInput, FaultKind, Json, MessageEnd, ModelFault, Sealed, Usage,
    estimate_tokens,
};

/// Parallel calls taken from one reply; more is a broken model, and the turn fails with that reason.
pub const CALLS_MAX: usize = 128;
/// Argument bytes taken for one call; more fails the turn.
pub const CALL_INPUT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Text and thinking kept of one reply. No context window is that large; what a runaway model says beyond it reaches
/// the peers, but not the log, and the message ends with how much that was.
pub const REPLY_BYTES_MAX: usize = 8 * 1024 * 1024;

#[derive(Default)]
pub(crate) struct ReplyBuilder {
    blocks: Vec<GrowingBlock>,
    usage: Option<Usage>,
    prompt_estimate: u64,
    /// The request went out.
    pub(crate) is_sent: bool,
    /// Its server had begun to work for it: it is paid for, whatever came of it.
    pub(crate) is_charged: bool,
    kept_bytes: usize,
    dropped_bytes: usize,
}

enum GrowingBlock {
    Text(String),
    Thinking { text: String, seal: Option<String> },
    Redacted(String),
    Call { index: u32, id: String, name: String, input: String, seal: Option<String> },
}

impl ReplyBuilder {
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }
    pub(crate) fn has_usage(&self) -> bool {
        self.usage.is_some_and(|usage| !usage.estimated)
    }
    /// What the provider counted, of a reply that is not kept; where it did not come to that, the input as we count it.
    pub(crate) fn spent(self) -> Option<Usage> {
        let uncounted = || Usage { estimated: true, ..Usage::default() };
        let usage = self.usage.or_else(|| self.is_charged.then(uncounted))?;
        Some(usage.completed(self.prompt_estimate, 0))
    }
    pub(crate) fn usage(&mut self, usage: Usage) {
        self.usage = Some(usage);
    }
    pub(crate) fn estimate(&mut self, prompt_tokens: u64) {
        self.prompt_estimate = prompt_tokens;
    }

    /// Whether there is room for this; once there was none, nothing more is kept, so that no hole is in the middle.
    fn keeps(&mut self, delta: &str) -> bool {
        if self.dropped_bytes > 0 || self.kept_bytes + delta.len() > REPLY_BYTES_MAX {
            self.dropped_bytes += delta.len();
            return false;
        }
        self.kept_bytes += delta.len();
        true
    }

    pub(crate) fn text(&mut self, delta: &str) {
        if !self.keeps(delta) {
            return;
        }
        match self.blocks.last_mut() {
            Some(GrowingBlock::Text(text)) => text.push_str(delta),
            _ => self.blocks.push(GrowingBlock::Text(delta.to_owned())),
        }
    }

    pub(crate) fn thinking(&mut self, delta: &str) {
        if !self.keeps(delta) {
            return;
        }
        match self.blocks.last_mut() {
            Some(GrowingBlock::Thinking { text, seal: None }) => text.push_str(delta),
            _ => self.blocks.push(GrowingBlock::Thinking { text: delta.to_owned(), seal: None }),
        }
    }

    /// `Some` where it ends a block.
    pub(crate) fn seal(&mut self, opaque: String) -> Option<Sealed> {
        match self.blocks.last_mut() {
            Some(GrowingBlock::Thinking { seal: seal @ None, .. }) => {
                *seal = Some(opaque);
                Some(Sealed::Thinking)
            }
            Some(GrowingBlock::Call { seal: seal @ None, .. }) => {
                *seal = Some(opaque);
                None
            }
            _ => {
                self.blocks.push(GrowingBlock::Thinking { text: String::new(), seal: Some(opaque) });
                Some(Sealed::Alone)
            }
        }
    }

    pub(crate) fn redacted(&mut self, sealed: String) {
        self.blocks.push(GrowingBlock::Redacted(sealed));
    }

    pub(crate) fn call(
        &mut self,
        index: u32,
        id: Option<&str>,
        name: Option<&str>,
        fragment: &str,
    ) -> Result<(), ModelFault> {
        let known = self.blocks.iter_mut().rev().find_map(|block| match block {
            GrowingBlock::Call { index: at, id, name, input, .. } if *at == index => Some((id, name, input)),
            _ => None,
        });
        let Some((call_id, call_name, input)) = known else {
            if self.blocks.iter().filter(|block| matches!(block, GrowingBlock::Call { .. })).count() >= CALLS_MAX {
                return Err(too_much(format!("the model made more than {CALLS_MAX} tool calls in one reply")));
            }
            self.blocks.push(GrowingBlock::Call {
                index,
                id: id.unwrap_or_default().to_owned(),
                name: name.unwrap_or_default().to_owned(),
                input: fragment.to_owned(),
                seal: None,
            });
            return Ok(());
        };
        if input.len() + fragment.len() > CALL_INPUT_BYTES_MAX {
            return Err(too_much(format!("the arguments of a tool call are larger than {CALL_INPUT_BYTES_MAX} bytes")));
        }
        if let Some(id) = id.filter(|_| call_id.is_empty()) {
            call_id.push_str(id);
        }
        if let Some(name) = name.filter(|_| call_name.is_empty()) {
            call_name.push_str(name);
        }
        input.push_str(fragment);
        Ok(())
    }

    /// Closes the message. Call ids become unique within the turn: controllers pair starts and results by them.
    pub(crate) fn finish(
        self,
        model: Arc<str>,
        end: MessageEnd,
        taken: &mut HashSet<CallId>,
        read: ReadObject,
    ) -> AssistantMessage {
        let mut said_bytes = self.dropped_bytes;
        let mut blocks: Vec<Block> = self
            .blocks
            .into_iter()
            .map(|block| match block {
                GrowingBlock::Text(text) => {
                    said_bytes += text.len();
                    Block::Text(text.into())
                }
                GrowingBlock::Thinking { text, seal } => {
                    said_bytes += text.len();
                    Block::Thinking { text: text.into(), opaque: seal.map(Arc::from) }
                }
                GrowingBlock::Redacted(sealed) => Block::Redacted(sealed.into()),
                GrowingBlock::Call { id, name, input, seal, .. } => {
                    said_bytes += name.len() + input.len();
                    Block::Call(Call {
                        id: unique(id, taken),
                        name: name.into(),
                        input: read_input(input, read),
                        seal: seal.map(Arc::from),
                    })
                }
            })
            .collect();
        if self.dropped_bytes > 0 {
            blocks.push(Block::Text(format!("\n[{} more bytes were said and not kept]", self.dropped_bytes).into()));
        }
        let uncounted = Usage { estimated: true, ..Usage::default() };
        let usage = self.usage.unwrap_or(uncounted).completed(self.prompt_estimate, estimate_tokens(said_bytes));
        AssistantMessage { blocks, model, end, usage }
    }
}

fn too_much(message: String) -> ModelFault {
    ModelFault { retryable: false, ..ModelFault::new(FaultKind::Provider, message) }
}

fn unique(id: String, taken: &mut HashSet<CallId>) -> CallId {
    let base = if id.is_empty() { "call".to_owned() } else { id };
    let mut candidate = CallId::from(base.as_str());
    let mut n = 2;
    while !taken.insert(candidate.clone()) {
        candidate = CallId::from(format!("{base}_{n}"));
        n += 1;
    }
    candidate
}

/// Says whether a text is one JSON object, and gives it back in the form that every log and wire can carry. A port:
/// the engine itself reads no JSON.
pub type ReadObject = fn(&str) -> Result<Json, String>;

fn read_input(text: String, read: ReadObject) -> CallInput {
    let trimmed = text.trim();
    // Some servers send nothing at all for a call without arguments.
    if trimmed.is_empty() {
        return CallInput::Object(Json::empty_object());
    }
    match read(trimmed) {
        Ok(json) => CallInput::Object(json),
        Err(detail) => CallInput::Broken { text: text.into(), detail: detail.into() },
    }
}
