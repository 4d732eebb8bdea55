//! What is left to do in a session: a list that the model, the user and the controller share.

use std::sync::Arc;

/// A named group of tasks. A model that knows no groups has one of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TodoPhase {
    pub id: Arc<str>,
    pub name: Arc<str>,
    pub tasks: Vec<TodoTask>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TodoTask {
    pub id: Arc<str>,
    pub content: Arc<str>,
    pub status: TodoStatus,
    pub notes: Option<Arc<str>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
    Abandoned,
}

impl TodoStatus {
    pub const ALL: [TodoStatus; 4] =
        [TodoStatus::Pending, TodoStatus::InProgress, TodoStatus::Completed, TodoStatus::Abandoned];

    pub fn as_str(self) -> &'static str {
        match self {
            TodoStatus::Pending => "pending",
            TodoStatus::InProgress => "in_progress",
            TodoStatus::Completed => "completed",
            TodoStatus::Abandoned => "abandoned",
        }
    }
    pub fn parse(text: &str) -> Option<TodoStatus> {
        TodoStatus::ALL.into_iter().find(|status| status.as_str() == text)
    }
    pub fn is_open(self) -> bool {
        matches!(self, TodoStatus::Pending | TodoStatus::InProgress)
    }
}

/// Tasks that are still to be done, in order.
pub fn open_tasks(phases: &[TodoPhase]) -> impl Iterator<Item = &TodoTask> {
    phases.iter().flat_map(|phase| &phase.tasks).filter(|task| task.status.is_open())
}
