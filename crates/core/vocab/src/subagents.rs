//! Sessions that work for a running call. A child has a log and a lane of its own, asks nobody anything, and ends before
//! its call does.

use std::sync::Arc;

use crate::{Fault, FileEdit, Later, Progress, SessionId, Stop, Usage};

/// Work for a child.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SubagentTask {
    pub prompt: Arc<str>,
    /// What people call it.
    pub title: Option<Arc<str>>,
    /// `None`: the model of the session that asks.
    pub model: Option<Arc<str>>,
}

/// How a child ended.
#[derive(Clone, PartialEq, Debug)]
pub struct SubagentEnd {
    pub session: SessionId,
    pub model: Arc<str>,
    pub stop: Stop,
    pub fault: Option<Fault>,
    /// What it said last.
    pub text: Arc<str>,
    /// Completed tool rounds.
    pub rounds: u32,
    /// All it spent. The session that asked counts it by itself.
    pub usage: Usage,
    /// Each file that it changed, once.
    pub edits: Vec<FileEdit>,
}

/// The way from a running call to sessions of its own. They are in the same workspace and have the same tools, except
/// those that would need children again; their mode is what was granted to the call.
pub trait Subagents: Send + Sync {
    /// One task in a new session, from its prompt to the end of its turn. Dropping the future interrupts and closes it.
    /// The error says why there is no such session.
    fn run(&self, task: SubagentTask, progress: Progress) -> Later<'static, Result<SubagentEnd, Fault>>;
}
