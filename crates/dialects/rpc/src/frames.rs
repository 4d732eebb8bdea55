//! Frames that we send, written by hand: most of them repeat messages that are JSON already.

use std::sync::Arc;

use vocab::{CallResult, Part, TodoPhase, TodoTask, open_tasks};
use wire::{FrameBuf, escape_into};

use pi_format::messages;

/// For which of its models a host's user has somebody stand in; here there is one.
const ROLE: &str = "default";

/// `{"type":KIND}`
pub(crate) fn bare(frames: &mut FrameBuf, kind: &str) {
    Writer::event(frames, kind, |_| {});
}

pub(crate) fn message(frames: &mut FrameBuf, kind: &str, json: &str) {
    Writer::event(frames, kind, |w| {
        w.raw("message", json.as_bytes());
    });
}

pub(crate) fn turn_end(frames: &mut FrameBuf, message: &str, results: &[Arc<str>]) {
    Writer::event(frames, "turn_end", |w| {
        w.raw("message", message.as_bytes());
        w.list("toolResults", results.iter(), |json, out| out.extend_from_slice(json.as_bytes()));
    });
}

pub(crate) fn agent_end<'a>(frames: &mut FrameBuf, messages: impl Iterator<Item = &'a Arc<str>>, will_retry: bool) {
    Writer::event(frames, "agent_end", |w| {
        w.list("messages", messages, |json, out| out.extend_from_slice(json.as_bytes()));
        w.flag("willRetry", will_retry);
    });
}

pub(crate) fn agent_settled(frames: &mut FrameBuf, aborted: bool) {
    Writer::event(frames, "agent_settled", |w| {
        w.flag("aborted", aborted);
    });
}

pub(crate) fn tool_start(frames: &mut FrameBuf, id: &str, name: &str, args: &[u8]) {
    Writer::event(frames, "tool_execution_start", |w| {
        w.tool(id, name).raw("args", args);
    });
}

pub(crate) fn tool_update(frames: &mut FrameBuf, id: &str, name: &str, args: &[u8], parts: &[Part]) {
    Writer::event(frames, "tool_execution_update", |w| {
        w.tool(id, name).raw("args", args);
        w.key("partialResult");
        w.out.extend_from_slice(b"{\"content\":");
        messages::content(w.out, parts);
        w.out.extend_from_slice(b",\"details\":{}}");
    });
}

pub(crate) fn tool_end(frames: &mut FrameBuf, id: &str, name: &str, result: &CallResult) {
    Writer::event(frames, "tool_execution_end", |w| {
        w.tool(id, name);
        w.key("result");
        w.out.extend_from_slice(b"{\"content\":");
        messages::result_content(w.out, result);
        messages::result_details(w.out, result);
        w.out.push(b'}');
        w.flag("isError", result.is_error);
    });
}

/// Words that a command of the user's own has said since the last time.
pub(crate) fn bash_update(frames: &mut FrameBuf, id: Option<&str>, delta: &str) {
    if delta.is_empty() {
        return;
    }
    Writer::event(frames, "bash_execution_update", |w| {
        if let Some(id) = id {
            w.raw("id", id.as_bytes());
        }
        w.text("delta", delta);
    });
}

pub(crate) fn auto_retry_start(frames: &mut FrameBuf, attempt: u32, most: u32, delay_ms: u64, error: &str) {
    Writer::event(frames, "auto_retry_start", |w| {
        w.number("attempt", attempt).number("maxAttempts", most).number("delayMs", delay_ms);
        w.text("errorMessage", error);
    });
}

pub(crate) fn auto_retry_end(frames: &mut FrameBuf, ok: bool, attempt: u32, error: Option<&str>) {
    Writer::event(frames, "auto_retry_end", |w| {
        w.flag("success", ok).number("attempt", attempt);
        if let Some(error) = error {
            w.text("finalError", error);
        }
    });
}

pub(crate) fn fallback_applied(frames: &mut FrameBuf, from: &str, to: &str) {
    Writer::event(frames, "retry_fallback_applied", |w| {
        w.text("from", from).text("to", to).text("role", ROLE);
    });
}

pub(crate) fn fallback_succeeded(frames: &mut FrameBuf, model: &str) {
    Writer::event(frames, "retry_fallback_succeeded", |w| {
        w.text("model", model).text("role", ROLE);
    });
}

pub(crate) fn todo_reminder(frames: &mut FrameBuf, todos: &[TodoPhase], attempt: u32, most: u32) {
    Writer::event(frames, "todo_reminder", |w| {
        w.list("todos", open_tasks(todos), todo_task);
        w.number("attempt", attempt).number("maxAttempts", most);
    });
}

pub(crate) fn todo_phases(phases: &[TodoPhase], out: &mut Vec<u8>) {
    list(phases.iter(), out, |phase, out| {
        let mut w = Writer { out, first: true };
        w.open();
        w.text("id", &phase.id).text("name", &phase.name);
        w.list("tasks", phase.tasks.iter(), todo_task);
        w.close();
    });
}

fn todo_task(task: &TodoTask, out: &mut Vec<u8>) {
    let mut w = Writer { out, first: true };
    w.open();
    w.text("id", &task.id).text("content", &task.content).text("status", task.status.as_str());
    if let Some(notes) = &task.notes {
        w.text("notes", notes);
    }
    w.close();
}

pub(crate) fn list<T>(items: impl Iterator<Item = T>, out: &mut Vec<u8>, mut write: impl FnMut(T, &mut Vec<u8>)) {
    out.push(b'[');
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write(item, out);
    }
    out.push(b']');
}

/// Writes one JSON object, member by member.
pub(crate) struct Writer<'a> {
    pub(crate) out: &'a mut Vec<u8>,
    pub(crate) first: bool,
}

impl<'a> Writer<'a> {
    /// A whole frame without an id.
    pub(crate) fn event(frames: &mut FrameBuf, kind: &str, write: impl FnOnce(&mut Writer<'_>)) {
        frames.line(|out| {
            let mut w = Writer { out, first: true };
            w.open();
            w.text("type", kind);
            write(&mut w);
            w.close();
        });
    }

    /// A whole object somewhere in a frame.
    pub(crate) fn object(out: &mut Vec<u8>, write: impl FnOnce(&mut Writer<'_>)) {
        let mut w = Writer { out, first: true };
        w.open();
        write(&mut w);
        w.close();
    }

    pub(crate) fn open(&mut self) {
        self.out.push(b'{');
    }
    pub(crate) fn close(&mut self) {
        self.out.push(b'}');
    }
    pub(crate) fn key(&mut self, key: &str) {
        if !std::mem::take(&mut self.first) {
            self.out.push(b',');
        }
        self.out.push(b'"');
        // Our own keys need no escaping.
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
    }
    pub(crate) fn raw(&mut self, key: &str, json: &[u8]) -> &mut Self {
        self.key(key);
        self.out.extend_from_slice(json);
        self
    }
    pub(crate) fn text(&mut self, key: &str, text: &str) -> &mut Self {
        self.key(key);
        escape_into(text, self.out);
        self
    }
    pub(crate) fn maybe(&mut self, key: &str, text: Option<&str>) -> &mut Self {
        if let Some(text) = text {
            self.text(key, text);
        }
        self
    }
    pub(crate) fn flag(&mut self, key: &str, value: bool) -> &mut Self {
        self.raw(key, if value { b"true" } else { b"false" })
    }
    pub(crate) fn number(&mut self, key: &str, value: impl Into<u64>) -> &mut Self {
        let value: u64 = value.into();
        self.raw(key, value.to_string().as_bytes())
    }
    /// A number that may have a fraction; what is no number is 0.
    pub(crate) fn float(&mut self, key: &str, value: f64) -> &mut Self {
        self.key(key);
        messages::number(self.out, value);
        self
    }
    pub(crate) fn list<T>(&mut self, key: &str, items: impl Iterator<Item = T>, write: impl FnMut(T, &mut Vec<u8>)) {
        self.key(key);
        list(items, self.out, write);
    }
    fn tool(&mut self, id: &str, name: &str) -> &mut Self {
        self.text("toolCallId", id).text("toolName", name)
    }
}
