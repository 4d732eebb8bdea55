//! `todo`: the model's own list of what is left to do, kept in memory for one session.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::Value;
use vocab::{CallContext, Json, Later, Outcome, Plan, Required, Tool, ToolSpec};

use crate::args::Args;
use crate::output::plural;

/// Items in a list; a longer one is refused.
const TODOS_MAX: usize = 200;
/// Bytes of one item; a longer one is refused.
const TODO_BYTES_MAX: usize = 2_000;

const STATES: [(&str, &str); 4] =
    [("pending", "[ ]"), ("in_progress", "[>]"), ("completed", "[x]"), ("abandoned", "[-]")];

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    content: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    active_form: Option<String>,
}

pub(crate) struct Todo {
    spec: ToolSpec,
    items: Arc<Mutex<Vec<Item>>>,
}

impl Todo {
    pub(crate) fn new() -> Self {
        let spec = crate::spec(
            "todo",
            "Replaces the list of things to do in this session, or shows it when called without arguments. Keep at \
             most one item in_progress.",
            r#"{"type":"object","properties":{"todos":{"type":"array","items":{"type":"object","properties":{"content":{"type":"string"},"status":{"type":"string","enum":["pending","in_progress","completed","abandoned"]},"id":{"type":"string"},"activeForm":{"type":"string"}},"required":["content","status"]}}}}"#,
        );
        Self { spec, items: Arc::default() }
    }
}

/// `None`: only show the list.
fn parse(input: &Json) -> Result<Option<Vec<Item>>, String> {
    let Some(list) = Args::parse(input)?.list_maybe(&["todos"])? else { return Ok(None) };
    if list.len() > TODOS_MAX {
        return Err(format!("{} items; at most {TODOS_MAX} are kept", list.len()));
    }
    list.into_iter().enumerate().map(|(index, value)| parse_item(index, value)).collect::<Result<_, _>>().map(Some)
}

fn parse_item(index: usize, value: Value) -> Result<Item, String> {
    let mut args =
        Args::of(value).ok_or_else(|| format!("todos[{index}] must be an object with \"content\" and \"status\""))?;
    let at = |error: String| format!("todos[{index}]: {error}");
    let content = args.text(&["content"]).map_err(at)?;
    let status = args.text(&["status"]).map_err(at)?;
    let (status, _) = STATES.iter().find(|(name, _)| *name == status).ok_or_else(|| {
        let names = STATES.map(|(name, _)| name).join(", ");
        at(format!("unknown status \"{status}\"; use one of {names}"))
    })?;
    if content.trim().is_empty() {
        return Err(at("\"content\" is empty".to_owned()));
    }
    if content.len() > TODO_BYTES_MAX {
        return Err(at(format!("\"content\" has {} bytes; at most {TODO_BYTES_MAX} are kept", content.len())));
    }
    // Some models number their items; such an id is dropped, not refused.
    let id = args.text_maybe(&["id"]).unwrap_or_default();
    Ok(Item { id, content, status, active_form: args.text_maybe(&["activeForm", "active_form"]).map_err(at)? })
}

fn show(items: &[Item]) -> Outcome {
    let mut text = String::new();
    for item in items {
        let mark = STATES.iter().find(|(name, _)| *name == item.status).map_or("[ ]", |(_, mark)| mark);
        let _ = writeln!(text, "{mark} {}", item.content);
    }
    let open = items.iter().filter(|item| matches!(item.status, "pending" | "in_progress")).count();
    let _ = match items.len() {
        0 => writeln!(text, "the list is empty"),
        all => writeln!(text, "{open} of {} open", plural(all, "item")),
    };
    let details = serde_json::to_string(&serde_json::json!({ "todos": items })).expect("plain strings encode");
    Outcome { details: Some(Json::trusted(details)), ..Outcome::text(text) }
}

impl Tool for Todo {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }
    fn required(&self) -> Required {
        Required::WorkspaceWrite
    }
    fn plan(&self, input: &Json) -> Result<Plan, String> {
        let summary = match parse(input)? {
            None => "show the todo list".to_owned(),
            Some(items) => format!("set the todo list ({})", plural(items.len(), "item")),
        };
        Ok(Plan { required: Required::WorkspaceWrite, mutation: None, summary: summary.into(), preview: None })
    }
    fn run(&self, input: Json, _: CallContext) -> Later<'static, Outcome> {
        let items = self.items.clone();
        Box::pin(async move {
            let new = match parse(&input) {
                Ok(new) => new,
                Err(error) => return Outcome::error(error),
            };
            let mut items = items.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(new) = new {
                *items = new;
            }
            show(&items)
        })
    }
}
