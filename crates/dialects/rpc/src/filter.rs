//! `set_event_filter`: which events of the session a host wants to read. What answers a command or asks the host something
//! always comes.

use std::collections::BTreeSet;

use wire::FrameBuf;

/// How every event begins; a response has its id first, where it has one.
const EVENT: &[u8] = b"{\"type\":\"";
/// Frames that no filter keeps back: a host waits for them, or has to answer them.
const ALWAYS: &[&str] = &[
    "ready",
    "response",
    "prompt_result",
    "session_settled",
    "extension_ui_request",
    "extension_error",
    "host_tool_call",
    "host_tool_cancel",
];

/// `None`: everything.
#[derive(Default)]
pub(crate) struct Filter(Option<BTreeSet<Box<str>>>);

impl Filter {
    pub(crate) fn set(&mut self, events: Option<&[String]>) {
        self.0 = events.map(|events| events.iter().map(|event| event.as_str().into()).collect());
    }

    /// The selection as the host is told it; `None` for everything.
    pub(crate) fn events(&self) -> Option<impl Iterator<Item = &str>> {
        self.0.as_ref().map(|wanted| wanted.iter().map(|event| &**event))
    }

    /// Takes away what nobody wants of the frames behind `from`.
    pub(crate) fn apply(&self, from: usize, frames: &mut FrameBuf) {
        let Some(wanted) = &self.0 else { return };
        frames.retain_frames(from, |line| match kind(line) {
            Some(kind) => ALWAYS.contains(&kind) || wanted.contains(kind),
            None => true,
        });
    }
}

fn kind(line: &[u8]) -> Option<&str> {
    let rest = line.strip_prefix(EVENT)?;
    let end = rest.iter().position(|byte| *byte == b'"')?;
    std::str::from_utf8(&rest[..end]).ok()
}
