//! Records of what the user ran beside the conversation: commands, and tools by hand.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vocab::{Body, Shell, ShellEntry};

use super::content::{CallRecord, CallResultRecord};
use super::{Decoded, get, put};

#[derive(Serialize, Deserialize)]
struct ShellStartedRecord {
    command: Arc<str>,
    aside: bool,
}
#[derive(Serialize, Deserialize)]
struct CalledRecord {
    call: CallRecord,
    tool: Arc<str>,
}
#[derive(Serialize, Deserialize)]
struct ReturnedRecord {
    result: CallResultRecord,
}
#[derive(Serialize, Deserialize)]
struct ShellRecord {
    command: Arc<str>,
    output: Arc<str>,
    exit_code: Option<i32>,
    cancelled: bool,
    truncated: bool,
    total_lines: u64,
    total_bytes: u64,
    spilled: Option<Arc<str>>,
    aside: bool,
}

impl From<&Shell> for ShellRecord {
    fn from(it: &Shell) -> Self {
        Self {
            command: it.command.clone(),
            output: it.output.clone(),
            exit_code: it.exit_code,
            cancelled: it.cancelled,
            truncated: it.truncated,
            total_lines: it.total_lines,
            total_bytes: it.total_bytes,
            spilled: it.spilled.clone(),
            aside: it.aside,
        }
    }
}
impl From<ShellRecord> for Shell {
    fn from(it: ShellRecord) -> Self {
        Self {
            command: it.command,
            output: it.output,
            exit_code: it.exit_code,
            cancelled: it.cancelled,
            truncated: it.truncated,
            total_lines: it.total_lines,
            total_bytes: it.total_bytes,
            spilled: it.spilled,
            aside: it.aside,
        }
    }
}

pub(super) fn put_shell(entry: &ShellEntry, out: &mut Vec<u8>) -> &'static str {
    match entry {
        ShellEntry::Started { command, aside } => {
            put("shell_started", &ShellStartedRecord { command: command.clone(), aside: *aside }, out)
        }
        ShellEntry::Called { call, tool } => {
            put("hand_called", &CalledRecord { call: call.into(), tool: tool.clone() }, out)
        }
        ShellEntry::Returned(result) => put("hand_returned", &ReturnedRecord { result: result.into() }, out),
        ShellEntry::Ended(shell) => put("shell", &ShellRecord::from(shell), out),
    }
}

pub(super) fn from_record(kind: &str, payload: &[u8]) -> Option<Decoded> {
    Some(match kind {
        "shell_started" => get(payload, |it: ShellStartedRecord| {
            Body::Shell(ShellEntry::Started { command: it.command, aside: it.aside })
        }),
        "shell" => get(payload, |it: ShellRecord| Body::Shell(ShellEntry::Ended(it.into()))),
        "hand_called" => {
            get(payload, |it: CalledRecord| Body::Shell(ShellEntry::Called { call: it.call.into(), tool: it.tool }))
        }
        "hand_returned" => get(payload, |it: ReturnedRecord| Body::Shell(ShellEntry::Returned(it.result.into()))),
        _ => return None,
    })
}
