//! What the tools for background processes share: finding one, whether a call may act on it, and telling how it stands. Acting
//! needs what starting the process needed: whoever may run a command may also type into it, and nobody else may.

use std::sync::Arc;

use serde_json::json;
use vocab::{CallContext, Json, Outcome};

use super::SessionShell;
use super::background::BackgroundProcess;
use super::background_state::READ_BYTES_MAX;

/// The process with this id, or a sentence for the model that asked for it.
pub(super) fn find(shell: &SessionShell, tool: &str, id: &str) -> Result<Arc<BackgroundProcess>, String> {
    let registry = shell.background();
    registry.get(id).ok_or_else(|| {
        let known: Vec<&str> = registry.all().iter().map(|process| process.id.as_str()).collect();
        match known.is_empty() {
            true => format!("{tool}: there is no background process {id}; none was started"),
            false => format!("{tool}: there is no background process {id}; known: {}", known.join(", ")),
        }
    })
}

/// What starting it needed may be more than is granted now: another call, another answer.
pub(super) fn granted(tool: &str, process: &BackgroundProcess, context: &CallContext) -> Result<(), String> {
    if process.required <= context.granted {
        return Ok(());
    }
    let needed = process.required.as_str();
    Err(format!("{tool}: {} needs {needed}, as its start did; nothing was done", process.id))
}

/// Output, then the state as the last line.
pub(super) fn tell(process: &BackgroundProcess, bytes_max: usize) -> Outcome {
    let mut state = process.state();
    let dropped = state.dropped();
    let mut text = state.take(bytes_max);
    if text.is_empty() {
        text.push_str("(no new output)");
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&format!("[{}: {}]", process.id, state.describe()));
    let details = json!({
        "id": process.id,
        "running": !state.gone,
        "state": state.describe(),
        "droppedBytes": dropped,
        "unreadBytes": state.unread(),
    });
    Outcome { details: Some(Json::trusted(details.to_string())), ..Outcome::text(text) }
}

/// What a tool that acts tells at its end: everything that fits.
pub(super) fn tell_all(process: &BackgroundProcess) -> Outcome {
    tell(process, READ_BYTES_MAX)
}
