//! A list of tasks on disk.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::content::into_all;
use super::words::TodoStatus;

#[derive(Serialize, Deserialize)]
pub(super) struct TodoPhase {
    id: Arc<str>,
    name: Arc<str>,
    tasks: Vec<TodoTask>,
}

#[derive(Serialize, Deserialize)]
struct TodoTask {
    id: Arc<str>,
    content: Arc<str>,
    status: TodoStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    notes: Option<Arc<str>>,
}

impl From<&vocab::TodoPhase> for TodoPhase {
    fn from(it: &vocab::TodoPhase) -> Self {
        Self { id: it.id.clone(), name: it.name.clone(), tasks: into_all(&it.tasks) }
    }
}
impl From<TodoPhase> for vocab::TodoPhase {
    fn from(it: TodoPhase) -> Self {
        Self { id: it.id, name: it.name, tasks: into_all(it.tasks) }
    }
}
impl From<&vocab::TodoTask> for TodoTask {
    fn from(it: &vocab::TodoTask) -> Self {
        Self { id: it.id.clone(), content: it.content.clone(), status: it.status.into(), notes: it.notes.clone() }
    }
}
impl From<TodoTask> for vocab::TodoTask {
    fn from(it: TodoTask) -> Self {
        Self { id: it.id, content: it.content, status: it.status.into(), notes: it.notes }
    }
}
