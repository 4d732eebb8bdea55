//! Reads a list of tasks that a model wrote: a flat one, or one in groups. Pure.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;
use vocab::{Json, TodoPhase, TodoStatus, TodoTask};

use crate::args::{Names, ToolArgs};

/// Tasks in a list; a longer one is refused.
const TASKS_MAX: usize = 200;
/// Groups in a list; more are refused.
const PHASES_MAX: usize = 50;
/// Bytes of a task, its notes or a group's name; a longer text is refused.
const TEXT_BYTES_MAX: usize = 2_000;
/// The one group of a flat list.
const FLAT_NAME: &str = "Tasks";

const CONTENT: Names = &["content"];
const NAME: Names = &["name"];
const NOTES: Names = &["notes"];

/// `None`: no list was given.
pub(super) fn phases(input: &Json) -> Result<Option<Vec<TodoPhase>>, String> {
    let mut args = ToolArgs::parse(input)?;
    let (flat, groups) = (args.list_maybe(&["todos"])?, args.list_maybe(&["phases"])?);
    let mut ids = TodoIds::default();
    let phases = match (flat, groups) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => return Err("give either \"todos\" or \"phases\", not both".to_owned()),
        // No group for no task.
        (Some(list), None) if list.is_empty() => Vec::new(),
        (Some(list), None) => {
            let id = ids.phase(None);
            let tasks = tasks(list, "todos", &mut ids)?;
            vec![TodoPhase { id, name: FLAT_NAME.into(), tasks }]
        }
        (None, Some(list)) if list.len() > PHASES_MAX => {
            return Err(format!("{} phases; at most {PHASES_MAX} are kept", list.len()));
        }
        (None, Some(list)) => {
            let read = list.into_iter().enumerate().map(|(index, value)| phase(index, value, &mut ids));
            read.collect::<Result<_, _>>()?
        }
    };
    let count: usize = phases.iter().map(|phase| phase.tasks.len()).sum();
    if count > TASKS_MAX {
        return Err(format!("{count} items; at most {TASKS_MAX} are kept"));
    }
    Ok(Some(phases))
}

fn phase(index: usize, value: Value, ids: &mut TodoIds) -> Result<TodoPhase, String> {
    let mut args =
        ToolArgs::of(value).ok_or_else(|| format!("phases[{index}] must be an object with \"name\" and \"tasks\""))?;
    let at = |error: String| format!("phases[{index}]: {error}");
    let name = short(args.text(NAME).map_err(at)?, "name").map_err(at)?;
    let id = ids.phase(args.text_maybe(&["id"]).unwrap_or_default());
    let list = args.list_maybe(&["tasks", "todos"]).map_err(at)?.unwrap_or_default();
    Ok(TodoPhase { id, name: name.into(), tasks: tasks(list, &format!("phases[{index}].tasks"), ids)? })
}

fn tasks(list: Vec<Value>, place: &str, ids: &mut TodoIds) -> Result<Vec<TodoTask>, String> {
    list.into_iter().enumerate().map(|(index, value)| task(value, &format!("{place}[{index}]"), ids)).collect()
}

fn task(value: Value, place: &str, ids: &mut TodoIds) -> Result<TodoTask, String> {
    let mut args =
        ToolArgs::of(value).ok_or_else(|| format!("{place} must be an object with \"content\" and \"status\""))?;
    let at = |error: String| format!("{place}: {error}");
    let content = short(args.text(CONTENT).map_err(at)?, "content").map_err(at)?;
    let status = args.text(&["status"]).map_err(at)?;
    let status = TodoStatus::parse(&status).ok_or_else(|| {
        let names = TodoStatus::ALL.map(TodoStatus::as_str).join(", ");
        at(format!("unknown status \"{status}\"; use one of {names}"))
    })?;
    let notes = match args.text_maybe(NOTES).map_err(at)? {
        Some(notes) if !notes.is_empty() => Some(limited(notes, "notes").map_err(at)?.into()),
        _ => None,
    };
    // Some models number their items; such an id is replaced, not refused.
    let id = ids.task(args.text_maybe(&["id"]).unwrap_or_default());
    Ok(TodoTask { id, content: content.into(), status, notes })
}

fn short(text: String, name: &str) -> Result<String, String> {
    match text.trim().is_empty() {
        true => Err(format!("\"{name}\" is empty")),
        false => limited(text, name),
    }
}

fn limited(text: String, name: &str) -> Result<String, String> {
    match text.len() {
        0..=TEXT_BYTES_MAX => Ok(text),
        bytes => Err(format!("\"{name}\" has {bytes} bytes; at most {TEXT_BYTES_MAX} are kept")),
    }
}

/// Gives out ids: the wanted one where it is free, else the next `phase-1`, `task-1`.
#[derive(Default)]
struct TodoIds {
    taken: HashSet<Arc<str>>,
    phases: usize,
    tasks: usize,
}

impl TodoIds {
    fn phase(&mut self, wanted: Option<String>) -> Arc<str> {
        pick(&mut self.taken, wanted, "phase", &mut self.phases)
    }
    fn task(&mut self, wanted: Option<String>) -> Arc<str> {
        pick(&mut self.taken, wanted, "task", &mut self.tasks)
    }
}

fn pick(taken: &mut HashSet<Arc<str>>, wanted: Option<String>, word: &str, count: &mut usize) -> Arc<str> {
    if let Some(wanted) = wanted.filter(|id| !id.trim().is_empty() && id.len() <= TEXT_BYTES_MAX) {
        let wanted: Arc<str> = wanted.into();
        if taken.insert(wanted.clone()) {
            return wanted;
        }
    }
    loop {
        *count += 1;
        let id: Arc<str> = format!("{word}-{count}").into();
        if taken.insert(id.clone()) {
            return id;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<TodoPhase> {
        phases(&Json::trusted(text)).unwrap().unwrap()
    }

    fn ids(phases: &[TodoPhase]) -> Vec<&str> {
        phases
            .iter()
            .flat_map(|phase| [&*phase.id].into_iter().chain(phase.tasks.iter().map(|task| &*task.id)))
            .collect()
    }

    #[test]
    fn ids_are_kept_where_given_and_minted_where_not() {
        let list = read(
            r#"{"phases":[{"name":"a","tasks":[{"content":"1","status":"pending"},{"content":"2","status":"pending","id":"mine"}]},
            {"name":"b","id":"second","tasks":[{"content":"3","status":"completed","notes":"why"}]}]}"#,
        );
        assert_eq!(ids(&list), ["phase-1", "task-1", "mine", "second", "task-2"]);
        assert_eq!(list[1].tasks[0].notes.as_deref(), Some("why"));
    }

    #[test]
    fn an_id_given_twice_is_unique_all_the_same() {
        let list = read(
            r#"{"todos":[{"content":"1","status":"pending","id":"task-1"},{"content":"2","status":"pending"},{"content":"3","status":"pending","id":"task-1"}]}"#,
        );
        assert_eq!(ids(&list), ["phase-1", "task-1", "task-2", "task-3"]);
    }

    #[test]
    fn a_list_that_is_too_long_is_refused() {
        let one = r#"{"content":"x","status":"pending"}"#;
        let many = |count: usize| format!(r#"{{"todos":[{}]}}"#, vec![one; count].join(","));
        assert!(phases(&Json::trusted(many(TASKS_MAX))).is_ok());
        assert_eq!(phases(&Json::trusted(many(TASKS_MAX + 1))).unwrap_err(), "201 items; at most 200 are kept");
        let long = format!(r#"{{"todos":[{{"content":"{}","status":"pending"}}]}}"#, "x".repeat(TEXT_BYTES_MAX + 1));
        assert!(phases(&Json::trusted(long)).unwrap_err().starts_with("todos[0]: \"content\" has 2001 bytes"));
    }
}
