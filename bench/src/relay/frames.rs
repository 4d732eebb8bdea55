//! The lines of `serve` that the floor speaks, written straight into one buffer.

use std::io::{self, Write};

use serde::Deserialize;

use super::{Call, tools};

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum In {
    Prompt { text: String },
    PermissionResponse { request_id: String, decision: String },
    Interrupt {},
    Shutdown {},
}

#[derive(Default)]
pub(super) struct Out {
    buf: Vec<u8>,
}

impl Out {
    pub(super) fn ready(&mut self, session: &str, model: &str, mode: &str) {
        self.line(format_args!(
            r#"{{"type":"ready","protocol":1,"version":"floor","session_id":{},"model":{},"mode":{},"tools":["read_file","bash"],"context_window":128000,"max_tokens":16384,"gadgets":[]}}"#,
            quoted(session),
            quoted(model),
            quoted(mode)
        ));
    }
    pub(super) fn turn_started(&mut self, turn: &str) {
        self.line(format_args!(r#"{{"type":"turn_started","turn_id":"{turn}"}}"#));
    }
    /// The hot one: no intermediate string.
    pub(super) fn text_delta(&mut self, turn: &str, delta: &str) {
        self.buf.extend_from_slice(br#"{"type":"text_delta","turn_id":""#);
        self.buf.extend_from_slice(turn.as_bytes());
        self.buf.extend_from_slice(br#"","delta":"#);
        serde_json::to_writer(&mut self.buf, delta).expect("a Vec takes everything");
        self.buf.extend_from_slice(b"}\n");
    }
    pub(super) fn tool_start(&mut self, turn: &str, call: &Call) {
        self.line(format_args!(
            r#"{{"type":"tool_start","turn_id":"{turn}","tool_id":{},"name":{},"input":{}}}"#,
            quoted(&call.id),
            quoted(&call.name),
            object(&call.arguments)
        ));
    }
    pub(super) fn permission_request(&mut self, ask: &str, call: &Call, mode: &str) {
        self.line(format_args!(
            r#"{{"type":"permission_request","request_id":"{ask}","tool":{},"active_mode":{},"required_mode":"{}","details":{{"tool_input":{},"reason":null}}}}"#,
            quoted(&call.name),
            quoted(mode),
            tools::required_mode(&call.name),
            object(&call.arguments)
        ));
    }
    pub(super) fn tool_result(&mut self, turn: &str, id: &str, output: &str, is_error: bool, seconds: f64) {
        self.line(format_args!(
            r#"{{"type":"tool_result","turn_id":"{turn}","tool_id":{},"output":{},"is_error":{is_error},"duration_s":{seconds:.6}}}"#,
            quoted(id),
            quoted(output)
        ));
    }
    pub(super) fn turn_complete(&mut self, turn: &str, stop: &str, rounds: u32, input: u64, output: u64) {
        self.line(format_args!(
            r#"{{"type":"turn_complete","turn_id":"{turn}","stop_reason":"{stop}","iterations":{rounds},"input_tokens":{input},"output_tokens":{output},"mutations":[]}}"#
        ));
    }
    pub(super) fn error(&mut self, code: &str, message: &str, turn: Option<&str>) {
        let turn = turn.map_or(String::new(), |turn| format!(r#","turn_id":"{turn}""#));
        self.line(format_args!(
            r#"{{"type":"error","code":"{code}","message":{},"origin":"unknown"{turn}}}"#,
            quoted(message)
        ));
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.buf, "{line}").expect("a Vec takes everything");
    }

    /// One write for everything that is ready.
    pub(super) fn flush(&mut self) -> anyhow::Result<()> {
        if !self.buf.is_empty() {
            io::stdout().write_all(&self.buf)?;
            self.buf.clear();
        }
        Ok(())
    }
}

pub(super) fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("text is always JSON")
}

fn object(arguments: &str) -> &str {
    if arguments.is_empty() { "{}" } else { arguments }
}
