//! What is said on the wire, both ways. Pure: text in, meaning out.

use std::path::Path;
use std::sync::Arc;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use vocab::{Json, TracePlace};
use wire::jsonrpc::{self, Frame, METHOD_NOT_FOUND, RpcError, Version};

/// The version that we ask for.
pub const PROTOCOL: &str = "2025-06-18";
/// The versions that a server may answer with. As far as tools go they differ only in what we do not use.
pub const UNDERSTOOD: [&str; 4] = ["2024-11-05", "2025-03-26", PROTOCOL, "2025-11-25"];

// ---- ours -------------------------------------------------------------------------------------------------------

/// What we ask a server. Its `id` is also the token under which it tells progress.
pub(crate) enum McpRequest {
    Initialize {
        version: String,
    },
    ListTools {
        cursor: Option<String>,
    },
    CallTool {
        name: String,
        arguments: Json,
        /// The call's place in a trace, as [`TracePlace`] has it.
        trace: Option<Arc<str>>,
    },
}

impl McpRequest {
    /// Appends one line.
    pub(crate) fn write(&self, out: &mut Vec<u8>, id: u64) {
        match self {
            McpRequest::Initialize { version } => {
                let params = InitializeParams {
                    protocol_version: PROTOCOL,
                    capabilities: ClientCapabilities { roots: Roots { list_changed: false } },
                    client_info: ClientInfo { name: "tillerman", version },
                };
                jsonrpc::request(out, id, "initialize", params);
            }
            McpRequest::ListTools { cursor } => jsonrpc::request(out, id, "tools/list", ListParams { cursor }),
            McpRequest::CallTool { name, arguments, trace } => {
                let arguments = serde_json::from_str(arguments.as_str()).ok();
                let meta = Meta {
                    progress_token: id,
                    traceparent: self.trace_parent(),
                    tracestate: trace.as_deref().and_then(TracePlace::state),
                };
                let params = CallParams { name, arguments, meta };
                jsonrpc::request(out, id, "tools/call", params);
            }
        }
    }

    /// Where it belongs in a trace, without what else the sender's tracing carries along.
    pub(crate) fn trace_parent(&self) -> Option<&str> {
        let McpRequest::CallTool { trace: Some(trace), .. } = self else { return None };
        trace.split(' ').next()
    }

    /// The first request must not be taken back, says the protocol; and a list costs a server nothing.
    pub(crate) fn can_be_cancelled(&self) -> bool {
        matches!(self, McpRequest::CallTool { .. })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InitializeParams<'a> {
    protocol_version: &'a str,
    capabilities: ClientCapabilities,
    client_info: ClientInfo<'a>,
}

#[derive(Serialize)]
struct ClientCapabilities {
    roots: Roots,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Roots {
    list_changed: bool,
}

#[derive(Serialize)]
struct ClientInfo<'a> {
    name: &'a str,
    version: &'a str,
}

#[derive(Serialize)]
struct ListParams<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: &'a Option<String>,
}

#[derive(Serialize)]
struct CallParams<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a RawValue>,
    #[serde(rename = "_meta")]
    meta: Meta<'a>,
}

/// The members of a trace are spelled as the W3C's headers are.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Meta<'a> {
    progress_token: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    traceparent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tracestate: Option<&'a str>,
}

/// Appends the notification that ends the handshake.
pub(crate) fn initialized(out: &mut Vec<u8>) {
    jsonrpc::notification(out, "notifications/initialized", serde_json::json!({}));
}

/// Appends the notification that nobody waits for this answer any more.
pub(crate) fn cancelled(out: &mut Vec<u8>, id: u64) {
    let params = serde_json::json!({ "requestId": id, "reason": "the call was given up" });
    jsonrpc::notification(out, "notifications/cancelled", params);
}

// ---- theirs -----------------------------------------------------------------------------------------------------

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Welcome {
    pub(crate) protocol_version: String,
    #[serde(default)]
    pub(crate) capabilities: ServerCapabilities,
}

#[derive(Deserialize, Default)]
pub(crate) struct ServerCapabilities {
    pub(crate) tools: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolPage {
    pub(crate) tools: Vec<ToolInfo>,
    pub(crate) next_cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolInfo {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) input_schema: Option<Box<RawValue>>,
    pub(crate) annotations: Option<Annotations>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Annotations {
    pub(crate) read_only_hint: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct McpToolResult {
    #[serde(default)]
    pub(crate) content: Vec<Content>,
    pub(crate) structured_content: Option<Box<RawValue>>,
    #[serde(default)]
    pub(crate) is_error: bool,
}

/// A piece of a result, of any kind: which fields are there depends on `kind`, and new kinds come along.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Content {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) text: Option<String>,
    pub(crate) data: Option<String>,
    pub(crate) mime_type: Option<String>,
    pub(crate) uri: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) resource: Option<Resource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Resource {
    pub(crate) uri: String,
    pub(crate) mime_type: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) blob: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProgressParams {
    progress_token: u64,
    #[serde(default)]
    progress: f64,
    total: Option<f64>,
    message: Option<String>,
}

impl ProgressParams {
    fn text(&self) -> String {
        let count = match self.total {
            Some(total) => format!("{}/{total}", self.progress),
            None => self.progress.to_string(),
        };
        match &self.message {
            Some(message) => format!("{message} ({count})"),
            None => count,
        }
    }
}

/// What a line of theirs means.
#[derive(Debug)]
pub(crate) enum ServerMessage {
    Answer {
        id: u64,
        outcome: Result<Box<RawValue>, RpcError>,
    },
    Progress {
        id: u64,
        text: String,
    },
    /// They asked; this line is the answer.
    Reply(Vec<u8>),
    /// Nothing that needs anything: logging, and lists that changed. A session keeps the tools it began with.
    Nothing,
    /// No frame at all.
    Garbage,
}

/// What a server may ask about us.
pub(crate) struct Us {
    roots: Box<RawValue>,
}

impl Us {
    pub(crate) fn new(workspace: &Path) -> Self {
        let name = workspace.file_name().map(|name| name.to_string_lossy().into_owned());
        let roots = serde_json::json!({ "roots": [{ "uri": file_uri(workspace), "name": name }] });
        Self { roots: serde_json::value::to_raw_value(&roots).expect("a value is JSON") }
    }

    /// Reads one message, or a batch of them.
    pub(crate) fn hear(&self, line: &[u8], mut each: impl FnMut(ServerMessage)) {
        let Ok(text) = wire::check(line) else { return each(ServerMessage::Garbage) };
        match jsonrpc::read(text, Version::Optional) {
            // One version of the protocol had them.
            Frame::Batch => match serde_json::from_str::<Vec<&RawValue>>(text) {
                Ok(frames) => {
                    for frame in frames {
                        each(self.meaning(jsonrpc::read(frame.get(), Version::Optional)));
                    }
                }
                Err(_) => each(ServerMessage::Garbage),
            },
            frame => each(self.meaning(frame)),
        }
    }

    fn meaning(&self, frame: Frame<'_>) -> ServerMessage {
        match frame {
            // Some servers turn every id into text.
            Frame::Response { id, outcome } => match id.get().trim_matches('"').parse() {
                Ok(id) => ServerMessage::Answer { id, outcome: outcome.map(ToOwned::to_owned) },
                Err(_) => ServerMessage::Nothing,
            },
            Frame::Request { id, method, .. } => ServerMessage::Reply(self.reply(id, &method)),
            Frame::Notification { method, params: Some(params) } if method == "notifications/progress" => {
                match serde_json::from_str::<ProgressParams>(params.get()) {
                    Ok(params) => ServerMessage::Progress { id: params.progress_token, text: params.text() },
                    Err(_) => ServerMessage::Nothing,
                }
            }
            Frame::Notification { .. } => ServerMessage::Nothing,
            Frame::Batch | Frame::Invalid => ServerMessage::Garbage,
        }
    }

    fn reply(&self, id: &RawValue, method: &str) -> Vec<u8> {
        let mut out = Vec::new();
        match method {
            "ping" => jsonrpc::result(&mut out, id, serde_json::json!({})),
            "roots/list" => jsonrpc::result(&mut out, id, &self.roots),
            // Sampling and elicitation among them: a server gets no model and no person from us.
            _ => {
                let error = RpcError::new(METHOD_NOT_FOUND, format!("{method} is not supported"));
                jsonrpc::error(&mut out, Some(id), &error);
            }
        }
        out
    }
}

fn file_uri(path: &Path) -> String {
    use std::fmt::Write;
    use std::os::unix::ffi::OsStrExt;
    let mut uri = String::from("file://");
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(byte as char),
            _ => write!(uri, "%{byte:02X}").expect("memory takes every write"),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(line: &str) -> Vec<String> {
        let mut all = Vec::new();
        Us::new(Path::new("/w/a b")).hear(line.as_bytes(), |heard| {
            all.push(match heard {
                ServerMessage::Answer { id, outcome: Ok(result) } => format!("{id} -> {}", result.get()),
                ServerMessage::Answer { id, outcome: Err(error) } => format!("{id} -> error {}", error.code),
                ServerMessage::Progress { id, text } => format!("{id} at {text}"),
                ServerMessage::Reply(line) => String::from_utf8(line).unwrap().trim_end().to_owned(),
                ServerMessage::Nothing => "nothing".into(),
                ServerMessage::Garbage => "garbage".into(),
            });
        });
        all
    }

    #[test]
    fn lines_and_what_they_mean() {
        for (line, want) in [
            (r#"{"jsonrpc":"2.0","id":3,"result":{"a":1}}"#, r#"3 -> {"a":1}"#),
            (r#"{"jsonrpc":"2.0","id":"3","result":{}}"#, "3 -> {}"),
            (r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"x"}}"#, "3 -> error -32602"),
            (r#"{"jsonrpc":"2.0","id":"abc","result":{}}"#, "nothing"),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":3,"progress":2,"total":4,"message":"half"}}"#,
                "3 at half (2/4)",
            ),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":3,"progress":0.5}}"#,
                "3 at 0.5",
            ),
            (r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x"}}"#, "nothing"),
            (r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#, "nothing"),
            (r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#, "nothing"),
            (r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#, r#"{"jsonrpc":"2.0","id":"p","result":{}}"#),
            (
                r#"{"jsonrpc":"2.0","id":9,"method":"roots/list"}"#,
                r#"{"jsonrpc":"2.0","id":9,"result":{"roots":[{"name":"a b","uri":"file:///w/a%20b"}]}}"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":9,"method":"sampling/createMessage","params":{}}"#,
                r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32601,"message":"sampling/createMessage is not supported"}}"#,
            ),
            ("Server listening ...", "garbage"),
            (r#"{"half":"#, "garbage"),
            ("7", "garbage"),
            ("", "garbage"),
        ] {
            assert_eq!(heard(line), [want], "{line}");
        }
        let batch = r#"[{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","id":2,"result":2}]"#;
        assert_eq!(heard(batch), ["1 -> 1", "2 -> 2"]);
    }

    #[test]
    fn what_we_ask() {
        let line = |request: McpRequest| {
            let mut out = Vec::new();
            request.write(&mut out, 7);
            String::from_utf8(out).unwrap()
        };
        expect_test::expect![[r#"
            {"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{"listChanged":false}},"clientInfo":{"name":"tillerman","version":"0.1.0"}}}
        "#]]
        .assert_eq(&line(McpRequest::Initialize { version: "0.1.0".into() }));
        expect_test::expect![[r#"
            {"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}
            {"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":"p2"}}
        "#]]
        .assert_eq(
            &(line(McpRequest::ListTools { cursor: None })
                + &line(McpRequest::ListTools { cursor: Some("p2".into()) })),
        );
        expect_test::expect![[r#"
            {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add","arguments":{"b":2, "a":1},"_meta":{"progressToken":7}}}
            {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add","arguments":{"b":2, "a":1},"_meta":{"progressToken":7,"traceparent":"00-1-2-01"}}}
            {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add","arguments":{"b":2, "a":1},"_meta":{"progressToken":7,"traceparent":"00-1-2-01","tracestate":"a=1,b=2"}}}
        "#]]
        .assert_eq(
            &[None, Some("00-1-2-01"), Some("00-1-2-01 a=1,b=2")]
                .map(|trace| {
                    let arguments = Json::trusted(r#"{"b":2, "a":1}"#);
                    line(McpRequest::CallTool { name: "add".into(), arguments, trace: trace.map(Arc::from) })
                })
                .concat(),
        );
    }
}
