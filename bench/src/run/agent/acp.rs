//! An agent driven in `acp`: it says nothing until it is asked, so it is there when it answers `initialize`; then a session is
//! made, or the newest one loaded. Of a chunk only the text is read.

use std::borrow::Cow;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::{Agent, Frame, find, head, ms};

const CHUNK: &[u8] = b"\"sessionUpdate\":\"agent_message_chunk\"";
const TEXT: &[u8] = b"\"text\":\"";
const CALLED: &[u8] = b"\"status\":\"completed\"";
const FAILED: &[u8] = b"\"status\":\"failed\"";
const RESPONSE: &[u8] = b"\"id\":\"prompt\"";
const ENDED: &[u8] = b"\"stopReason\":\"end_turn\"";

impl Agent {
    /// The first answer, then a session; with `resume` the newest is loaded.
    pub(super) fn greet_acp(&mut self, start: Instant, workspace: &Path, resume: bool) -> anyhow::Result<()> {
        self.call("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} }))?;
        self.ready_ms = ms(start.elapsed());
        if resume {
            let listed = self.call("session/list", json!({}))?;
            self.session = listed["sessions"][0]["sessionId"].as_str().context("a saved session")?.to_owned();
            let params = json!({ "sessionId": self.session, "cwd": workspace, "mcpServers": [] });
            self.call("session/load", params)?;
            self.ready_ms = ms(start.elapsed());
        } else {
            let created = self.call("session/new", json!({ "cwd": workspace, "mcpServers": [] }))?;
            self.session = created["sessionId"].as_str().context("a session has an id")?.to_owned();
        }
        self.opened_ms = ms(start.elapsed());
        Ok(())
    }

    /// A request and its result; what is told before it is passed over.
    fn call(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
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

    pub(super) fn watch_acp(&mut self, prompt: &str, mut each: impl FnMut(&Frame<'_>, u64)) -> anyhow::Result<f64> {
        let params = json!({ "sessionId": self.session, "prompt": [{ "type": "text", "text": prompt }] });
        let request = json!({ "jsonrpc": "2.0", "id": "prompt", "method": "session/prompt", "params": params });
        let start = Instant::now();
        self.send(&format!("{request}\n"))?;
        loop {
            let line = self.line()?;
            let line = &self.buf[line];
            let has = |what: &[u8]| line.windows(what.len()).any(|at| at == what);
            if has(CHUNK) {
                each(&Frame::quiet("chunk", answer(line)), self.read_at_ns);
            } else if find(line, RESPONSE).is_some() {
                ensure!(has(ENDED), "the turn failed: {}", head(line));
                return Ok(ms(start.elapsed()));
            } else if has(CALLED) {
                // As the rows know it.
                each(&Frame::quiet("tool_result", None), self.read_at_ns);
            } else {
                ensure!(!has(FAILED), "a tool failed: {}", head(line));
            }
        }
    }
}

/// The text of a chunk, as it stands in the line; the words of the rows need no escapes.
fn answer(line: &[u8]) -> Option<Cow<'_, str>> {
    let from = line.windows(TEXT.len()).position(|at| at == TEXT)? + TEXT.len();
    let end = line[from..].iter().position(|&byte| byte == b'"')?;
    Some(String::from_utf8_lossy(&line[from..from + end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_chunk_is_found_behind_its_type() {
        let line = br#"{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"w1 "},"messageId":"m"}}"#;
        assert_eq!(answer(line).as_deref(), Some("w1 "));
        assert_eq!(answer(b"{}"), None);
    }
}
