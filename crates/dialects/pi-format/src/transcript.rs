//! A session's log as this family sees it: lines of a session file, of which the messages are the most. Pure: entries in,
//! lines out; used for events, for `get_messages` and its like, and for session files, so that all three agree.

mod json;
mod names;
mod projector;
#[cfg(test)]
mod tests;
mod whole;
mod wording;

use std::sync::Arc;

use vocab::Usage;

pub use names::name_of_bytes;
pub use projector::Projector;
pub use whole::{Stats, Transcript};

/// One line of a session file behind its head: 8 hex digits, unique in the file.
pub type LineName = Arc<str>;

#[derive(Clone, PartialEq, Debug)]
pub struct TranscriptLine {
    /// The entry it stands for.
    pub seq: u64,
    pub at_ms: i64,
    pub name: LineName,
    /// `None` for the first of a branch.
    pub parent: Option<LineName>,
    pub kind: LineKind,
}

impl TranscriptLine {
    pub fn into_message(self) -> Option<TranscriptMessage> {
        match self.kind {
            LineKind::Message(said) => Some(said),
            _ => None,
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub enum LineKind {
    Message(TranscriptMessage),
    ModelChange { provider: Arc<str>, id: Arc<str> },
    ThinkingChange { level: Option<Arc<str>> },
    Compaction { summary: Arc<str>, first_kept: LineName, tokens_before: u64 },
    BranchSummary { from: Option<LineName>, summary: Arc<str> },
    Label { target: LineName, label: Option<Arc<str>> },
    Title { name: Arc<str> },
}

/// A message and what can be said about it without reading its JSON.
#[derive(Clone, PartialEq, Debug)]
pub struct TranscriptMessage {
    pub role: MessageRole,
    /// The whole AgentMessage as one line of JSON.
    pub json: Arc<str>,
    /// Its text blocks joined; for the user messages and `get_last_assistant_text`.
    pub text: Arc<str>,
    /// Tool calls it makes.
    pub calls: u64,
    pub usage: Option<(Usage, f64)>,
    /// In the file, but not in what the model sees (an attempt that failed and was tried again).
    pub only_in_file: bool,
    /// An aborted assistant message without content.
    pub empty: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageRole {
    User,
    /// Our own reminders and an extension's additions.
    Developer,
    Assistant,
    ToolResult,
    BashExecution,
    /// Only in [`Transcript::context`]: in a file these are lines of their own kind.
    CompactionSummary,
    BranchSummary,
}
