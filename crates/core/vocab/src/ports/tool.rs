//! Tools: what a model can have done, and what a user can have run beside it.

use std::path::Path;
use std::sync::Arc;

use super::{Later, ProcessWatch};
use crate::{CallId, Editor, Fact, Fault, FileEdit, Json, Part, Required, SessionId, Shell, Subagents, TodoPhase};

#[derive(Clone, PartialEq, Debug)]
pub struct ToolSpec {
    pub name: Arc<str>,
    pub description: Arc<str>,
    /// JSON Schema of the arguments.
    pub schema: Json,
}

/// Opens the tools of a session.
pub trait Toolbox: Send + Sync {
    /// The tools, bound to this session and workspace. Dropping the last of them ends what they left running.
    fn open(&self, session: &SessionId, workspace: &Path) -> Result<Vec<Arc<dyn Tool>>, Fault>;
    /// Switchable bundles of tools.
    fn gadgets(&self) -> Vec<Gadget> {
        Vec::new()
    }
    /// Puts files back to what they were before these edits (given oldest first); returns the paths restored. A file
    /// that somebody changed since is left alone.
    fn restore(&self, workspace: &Path, edits: &[FileEdit]) -> Vec<Arc<str>>;
    /// Runs a command of the user's own in the workspace; no permission is asked and no time is set. Once `stop` is
    /// ready it is ended, and comes out as cancelled with the output so far. Dropping the future ends it too.
    fn shell(
        &self,
        session: &SessionId,
        workspace: &Path,
        command: &str,
        told: Progress,
        stop: Later<'static, ()>,
    ) -> Later<'static, Shell>;
    /// What these edits (oldest first) changed in all, one entry per file that differs.
    fn diff(&self, edits: &[FileEdit]) -> Vec<FileDiff>;
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileDiff {
    pub path: Arc<str>,
    pub added: u64,
    pub removed: u64,
    /// Unified.
    pub patch: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gadget {
    pub name: Arc<str>,
    pub description: Arc<str>,
    /// Added to the system prompt while the gadget is on.
    pub prompt: Option<Arc<str>>,
}

pub trait Tool: Send + Sync {
    /// Canonical name, description for the model, schema.
    fn spec(&self) -> &ToolSpec;
    /// The gadget this tool belongs to.
    fn gadget(&self) -> Option<&str> {
        None
    }
    /// Whether it has children do its work. It is not offered to them.
    fn has_subagents(&self) -> bool {
        false
    }
    /// Whether something of it goes on between its calls, which would end with it.
    fn is_at_work(&self) -> bool {
        false
    }
    /// The least this tool ever needs; shown in tool lists. [`Tool::plan`] judges a call.
    fn required(&self) -> Required;
    /// The most a call of it can need, as far as it is known beforehand; shown beside the least.
    fn most(&self) -> Required {
        self.required()
    }
    /// Checks the arguments and says what the call would need and do, without doing it. The error is written for
    /// the model that reads it.
    fn plan(&self, input: &Json) -> Result<Plan, String>;
    /// Does it. Dropping the future cancels it: no process and no thread keeps working for it.
    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome>;
}

#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    pub required: Required,
    /// What would be changed: a path relative to the workspace, a command. `None` for reading.
    pub mutation: Option<Arc<str>>,
    /// One line for a person.
    pub summary: Arc<str>,
    /// All that a person has to see before they allow it; `None` where that is the whole input.
    pub preview: Option<Arc<[Fact]>>,
}

#[derive(Clone)]
pub struct CallContext {
    pub session: SessionId,
    pub call: CallId,
    /// What was decided. Below `DangerFullAccess` a tool stays inside the workspace whatever its arguments say.
    pub granted: Required,
    pub progress: Progress,
    /// The session's list of tasks as it is now.
    pub todos: Arc<[TodoPhase]>,
    /// A controller that does things for tools, where there is one.
    pub editor_requests: Option<Arc<dyn Editor>>,
    /// Sessions that work for this call; `None` where this session is one itself.
    pub children: Option<Arc<dyn Subagents>>,
    /// Whoever looks at the processes that the call starts.
    pub processes: Option<Arc<dyn ProcessWatch>>,
}

/// Tells the output so far of a running call. Cheap to call often: only the newest text is kept.
pub type Progress = Arc<dyn Fn(&str) + Send + Sync>;

#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    pub parts: Vec<Part>,
    pub is_error: bool,
    pub edits: Vec<FileEdit>,
    pub details: Option<Json>,
    /// The session's list of tasks from now on.
    pub todos: Option<Vec<TodoPhase>>,
}

impl Outcome {
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self { parts: vec![Part::Text(text.into())], is_error: false, edits: Vec::new(), details: None, todos: None }
    }
    pub fn error(text: impl Into<Arc<str>>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }
}
