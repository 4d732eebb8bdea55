//! An agent driven in `loaf`: it says nothing until it is asked, so it is there when it answers a ping; then a session is
//! made, or the newest chat resumed in it. Of a chunk only the text is read.

use std::borrow::Cow;
use std::time::Instant;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::{Agent, Frame, find, head, ms};

const CHUNK: &[u8] = b"\"type\":\"session.stream.chunk\"";
const ANSWER: &[u8] = b"\"answerText\":\"";
const CALLED: &[u8] = b"\"type\":\"session.tool.call.completed\"";
const HISTORY: &[u8] = b"\"id\":\"history.get\"";
const FAILED: &[u8] = b"\"ok\":false";
const COMPLETED: &[u8] = b"\"type\":\"session.completed\"";
const OVER: [&[u8]; 2] = [b"\"type\":\"session.error\"", b"\"type\":\"session.interrupted\""];
const REFUSED: &[u8] = b"\"error\":{\"code\":";

impl Agent {
    /// The first answer, then a session; with `resume` the newest chat goes on in it.
    pub(super) fn greet_loaf(&mut self, start: Instant, resume: bool) -> anyhow::Result<()> {
        self.ask("system.ping", json!({}))?;
        self.ready_ms = ms(start.elapsed());
        let created = self.ask("session.create", json!({}))?;
        self.wire = text(&created["session_id"])?;
        if resume {
            let params = json!({ "session_id": self.wire, "raw_command": "/history last" });
            let resumed = self.ask("command.execute", params)?;
            self.session = text(&resumed["output"]["resumed"])?;
            self.ready_ms = ms(start.elapsed());
        }
        Ok(())
    }

    /// One more session beside those that there are.
    pub(in crate::run) fn create_session(&mut self) -> anyhow::Result<()> {
        self.ask("session.create", json!({})).map(|_| ())
    }

    /// Asks for a whole saved chat. The answer comes beside what is asked next.
    pub(in crate::run) fn ask_for_history(&mut self, chat: &str) -> anyhow::Result<()> {
        let request =
            json!({ "jsonrpc": "2.0", "id": "history.get", "method": "history.get", "params": { "id": chat } });
        self.send(&format!("{request}\n"))
    }

    /// The chat that the session has become.
    pub(super) fn chat(&mut self) -> anyhow::Result<String> {
        let state = self.ask("session.get", json!({ "session_id": self.wire }))?;
        text(&state["activeSessionId"])
    }

    /// A request and its result; events before it are passed over.
    fn ask(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let request = json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": params });
        self.send(&format!("{request}\n"))?;
        loop {
            let line = self.line()?;
            let mut said: Value = serde_json::from_slice(&self.buf[line]).context("not a line of JSON")?;
            if said["id"] == method {
                ensure!(said["error"].is_null(), "{method} was refused: {}", said["error"]);
                return Ok(said["result"].take());
            }
        }
    }

    pub(super) fn watch_loaf(&mut self, prompt: &str, mut each: impl FnMut(&Frame<'_>, u64)) -> anyhow::Result<f64> {
        let params = json!({ "session_id": self.wire, "text": prompt });
        let request = json!({ "jsonrpc": "2.0", "id": 0, "method": "session.send", "params": params });
        let start = Instant::now();
        self.send(&format!("{request}\n"))?;
        loop {
            let line = self.line()?;
            let line = &self.buf[line];
            if find(line, CHUNK).is_some() {
                each(&Frame::quiet("chunk", answer(line)), self.read_at_ns);
            } else if find(line, COMPLETED).is_some() {
                return Ok(ms(start.elapsed()));
            } else if find(line, CALLED).is_some() {
                let failed = line.windows(FAILED.len()).any(|at| at == FAILED);
                ensure!(!failed, "a tool failed: {}", head(line));
                // As the rows know it.
                each(&Frame::quiet("tool_result", None), self.read_at_ns);
            } else if find(line, HISTORY).is_some() {
                ensure!(find(line, b"\"error\":{").is_none(), "no history came: {}", head(line));
                each(&Frame::quiet("answer", None), self.read_at_ns);
            } else {
                let bad = OVER.iter().chain([&REFUSED]).any(|what| find(line, what).is_some());
                ensure!(!bad, "the turn failed: {}", head(line));
            }
        }
    }
}

fn text(value: &Value) -> anyhow::Result<String> {
    value.as_str().map(str::to_owned).context("an id was expected")
}

/// The text of a chunk, as it stands in the line; the words of the rows need no escapes.
fn answer(line: &[u8]) -> Option<Cow<'_, str>> {
    let from = line.windows(ANSWER.len()).position(|at| at == ANSWER)? + ANSWER.len();
    let end = line[from..].iter().position(|&byte| byte == b'"')?;
    Some(String::from_utf8_lossy(&line[from..from + end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_chunk_is_found_behind_its_ids() {
        let line = br#"{"payload":{"chunk":{"thoughts":[],"answerText":"w1 ","segments":[{"text":"w1 "}]}}}"#;
        assert_eq!(answer(line).as_deref(), Some("w1 "));
        assert_eq!(answer(b"{}"), None);
    }
}
