//! A session's log as this family sees it: lines of a session file, of which the messages are the most. Pure: entries in,
//! lines out; used for events, for `get_messages` and its like, and for session files, so that all three agree.

use std::sync::Arc;

use vocab::Entry;

use crate::messages::Faces;

/// One line of a session file behind its head: 8 hex digits, unique in the file.
pub type Name = Arc<str>;

#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// The entry it stands for.
    pub seq: u64,
    pub at_ms: i64,
    pub name: Name,
    /// `None` for the first of a branch.
    pub parent: Option<Name>,
    pub kind: LineKind,
}

#[derive(Clone, PartialEq, Debug)]
pub enum LineKind {
    Message(Said),
    ModelChange { provider: Arc<str>, id: Arc<str> },
    ThinkingChange { level: Option<Arc<str>> },
    Compaction { summary: Arc<str>, first_kept: Name, tokens_before: u64 },
    BranchSummary { from: Option<Name>, summary: Arc<str> },
    Label { target: Name, label: Option<Arc<str>> },
    Title { name: Arc<str> },
}

/// A message and what can be said about it without reading its JSON.
#[derive(Clone, PartialEq, Debug)]
pub struct Said {
    pub role: Role,
    /// The whole AgentMessage as one line of JSON.
    pub json: Arc<str>,
    /// Its text blocks joined; for the user messages and `get_last_assistant_text`.
    pub text: Arc<str>,
    /// Tool calls it makes.
    pub calls: u64,
    pub usage: Option<(vocab::Usage, f64)>,
    /// In the file, but not in what the model sees (an attempt that failed and was tried again).
    pub only_in_file: bool,
    /// An aborted assistant message without content.
    pub empty: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    User,
    /// Our own reminders and a companion's additions.
    Developer,
    Assistant,
    ToolResult,
    BashExecution,
}

/// Turns entries into lines, in order. Fed from the first entry on it also knows every line's name and parent; fed from
/// the middle of a log the messages are still right.
#[derive(Default)]
pub struct Projector {}

impl Projector {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn take(&mut self, _entry: &Entry, _faces: &dyn Faces) -> Vec<Line> {
        Vec::new()
    }
}
