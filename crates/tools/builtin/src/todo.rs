//! `todo`: the session's list of what is left to do. The list lives with the session, because people and controllers
//! change it too: it comes in with the call, and a new one goes out with the outcome.

mod parse;

use std::fmt::Write as _;

use serde_json::{Value, json};
use vocab::{CallContext, Json, Later, Outcome, Plan, Required, TodoPhase, TodoStatus, Tool, ToolSpec, open_tasks};

use crate::output::plural;

const DESCRIPTION: &str = "Replaces the list of things to do in this session, or shows it when called without arguments. \
Give a flat list as todos, or groups as phases. Keep at most one item in_progress; mark what will not be done as abandoned.";

const SCHEMA: &str = r#"{"type":"object","properties":{"todos":{"type":"array","items":{"type":"object","properties":{"content":{"type":"string"},"status":{"type":"string","enum":["pending","in_progress","completed","abandoned"]},"id":{"type":"string"},"activeForm":{"type":"string"}},"required":["content","status"]}},"phases":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"tasks":{"type":"array","items":{"type":"object","properties":{"content":{"type":"string"},"status":{"type":"string","enum":["pending","in_progress","completed","abandoned"]},"id":{"type":"string"},"notes":{"type":"string"}},"required":["content","status"]}}},"required":["name","tasks"]}}}}"#;

pub(crate) struct Todo {
    spec: ToolSpec,
}

impl Todo {
    pub(crate) fn new() -> Self {
        Self { spec: crate::spec("todo", DESCRIPTION, SCHEMA) }
    }
}

fn count(phases: &[TodoPhase]) -> usize {
    phases.iter().map(|phase| phase.tasks.len()).sum()
}

fn show(phases: &[TodoPhase]) -> Outcome {
    let mut text = String::new();
    for phase in phases {
        // A flat list has one group, and its name says nothing.
        let indent = if phases.len() > 1 { "  " } else { "" };
        if phases.len() > 1 {
            let _ = writeln!(text, "{}", phase.name);
        }
        for task in &phase.tasks {
            let _ = writeln!(text, "{indent}{} {}", mark(task.status), task.content);
        }
    }
    let open = open_tasks(phases).count();
    let _ = match count(phases) {
        0 => writeln!(text, "the list is empty"),
        all => writeln!(text, "{open} of {} open", plural(all, "item")),
    };
    let details = json!({ "phases": phases.iter().map(phase_json).collect::<Vec<Value>>() });
    Outcome { details: Some(Json::trusted(details.to_string())), ..Outcome::text(text) }
}

fn mark(status: TodoStatus) -> &'static str {
    match status {
        TodoStatus::Pending => "[ ]",
        TodoStatus::InProgress => "[>]",
        TodoStatus::Completed => "[x]",
        TodoStatus::Abandoned => "[-]",
    }
}

fn phase_json(phase: &TodoPhase) -> Value {
    let task = |task: &vocab::TodoTask| {
        let mut json = json!({ "id": &*task.id, "content": &*task.content, "status": task.status.as_str() });
        if let Some(notes) = &task.notes {
            json["notes"] = Value::from(&**notes);
        }
        json
    };
    json!({ "id": &*phase.id, "name": &*phase.name, "tasks": phase.tasks.iter().map(task).collect::<Vec<Value>>() })
}

impl Tool for Todo {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }
    /// The list is the session's own: nothing outside it changes.
    fn required(&self) -> Required {
        Required::ReadOnly
    }
    fn plan(&self, input: &Json) -> Result<Plan, String> {
        let summary = match parse::phases(input)? {
            None => "show the todo list".to_owned(),
            Some(phases) => format!("set the todo list ({})", plural(count(&phases), "item")),
        };
        Ok(Plan { required: Required::ReadOnly, mutation: None, summary: summary.into(), preview: None })
    }
    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome> {
        Box::pin(async move {
            match parse::phases(&input) {
                Ok(None) => show(&context.todos),
                Ok(Some(phases)) => Outcome { todos: Some(phases.clone()), ..show(&phases) },
                Err(error) => Outcome::error(error),
            }
        })
    }
}
