//! A list of tasks on disk.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::content::into_all;
use super::enums::TodoStatus;

#[derive(Serialize, Deserialize)]
pub(super) struct TodoPhaseRecord {
    id: Arc<str>,
    name: Arc<str>,
    tasks: Vec<TodoTaskRecord>,
}

#[derive(Serialize, Deserialize)]
struct TodoTaskRecord {
    id: Arc<str>,
    content: Arc<str>,
    status: TodoStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    notes: Option<Arc<str>>,
}

impl From<&vocab::TodoPhase> for TodoPhaseRecord {
    fn from(it: &vocab::TodoPhase) -> Self {
        Self { id: it.id.clone(), name: it.name.clone(), tasks: into_all(&it.tasks) }
    }
}
impl From<TodoPhaseRecord> for vocab::TodoPhase {
    fn from(it: TodoPhaseRecord) -> Self {
        Self { id: it.id, name: it.name, tasks: into_all(it.tasks) }
    }
}
impl From<&vocab::TodoTask> for TodoTaskRecord {
    fn from(it: &vocab::TodoTask) -> Self {
        Self { id: it.id.clone(), content: it.content.clone(), status: it.status.into(), notes: it.notes.clone() }
    }
}
impl From<TodoTaskRecord> for vocab::TodoTask {
    fn from(it: TodoTaskRecord) -> Self {
        Self { id: it.id, content: it.content, status: it.status.into(), notes: it.notes }
    }
}
