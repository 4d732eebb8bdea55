//! The frames of the gateway's dialect that the floor speaks.

use std::borrow::Cow;
use std::time::SystemTime;

use serde::Deserialize;

#[derive(Deserialize)]
pub(super) struct In<'a> {
    pub(super) id: u64,
    #[serde(borrow)]
    pub(super) method: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) params: Params<'a>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Params<'a> {
    #[serde(borrow)]
    pub(super) message: Cow<'a, str>,
    #[serde(borrow)]
    session_id: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) topics: Vec<Cow<'a, str>>,
    pub(super) limit: Option<usize>,
}

impl Params<'_> {
    pub(super) fn session(&self) -> &str {
        &self.session_id
    }
}

pub(super) fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("text is always JSON")
}

pub(super) fn result(id: u64, result: &str) -> String {
    format!(r#"{{"id":{id},"result":{result}}}"#)
}

pub(super) fn error(id: Option<u64>, code: i32, message: &str) -> String {
    let id = id.map_or("null".into(), |id| id.to_string());
    format!(r#"{{"id":{id},"error":{{"code":{code},"message":{}}}}}"#, quoted(message))
}

pub(super) fn event(id: u64, event: &str, data: &str, more: &str) -> String {
    format!(r#"{{"id":{id},"event":"{event}","data":{data}{more}}}"#)
}

pub(super) fn text(text: &str) -> String {
    format!(r#"{{"text":{}}}"#, quoted(text))
}

pub(super) fn state(state: &str) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
    format!(r#"{{"state":"{state}","timestamp":{now}}}"#)
}

/// The answer to `agent.send`; `session` and `content` are JSON already.
pub(super) fn ended(id: u64, session: &str, content: &str) -> String {
    format!(
        r#"{{"id":{id},"result":{{"content":{content},"usage":{{"inputTokens":10,"outputTokens":1}},"sessionId":{session},"response":{content},"runId":"t"}}}}"#
    )
}
