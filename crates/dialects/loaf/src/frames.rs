//! The lines that we write: responses, and events as notifications. The flow of a running answer is written by hand, because
//! there is one line for every delta; everything else goes through serde.

use serde::Serialize;
use serde_json::value::RawValue;
use vocab::iso8601;
use wire::{FrameBuf, escape_plain_into, jsonrpc};

use crate::faults::RpcFault;
use crate::methods::Method;

/// One request that waits for its response.
#[derive(Clone)]
pub(crate) struct LoafCall {
    /// As it came, to be echoed byte for byte.
    pub(crate) id: Box<RawValue>,
    pub(crate) method: Method,
    /// It came as a slash command: what it yields is the command's output.
    pub(crate) command: bool,
}

/// Writes lines, stamped with one moment.
pub(crate) struct LoafPen<'a> {
    pub(crate) frames: &'a mut FrameBuf,
    pub(crate) now_ms: i64,
    /// Events are over: the other side has closed its end.
    pub(crate) mute: bool,
}

#[derive(Serialize)]
struct Envelope<'a, P> {
    #[serde(rename = "type")]
    kind: &'a str,
    timestamp: String,
    payload: P,
}

#[derive(Serialize)]
struct Handled<R> {
    handled: bool,
    output: R,
}

impl LoafPen<'_> {
    fn write(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut line = Vec::new();
        write(&mut line);
        self.frames.raw(&line);
    }

    pub(crate) fn event(&mut self, kind: &str, payload: impl Serialize) {
        if !self.mute {
            let params = Envelope { kind, timestamp: iso8601(self.now_ms), payload };
            self.write(|out| jsonrpc::notification(out, "event", params));
        }
    }

    pub(crate) fn result(&mut self, call: &LoafCall, result: impl Serialize) {
        match call.command {
            true => self.write(|out| jsonrpc::result(out, &call.id, Handled { handled: true, output: result })),
            false => self.write(|out| jsonrpc::result(out, &call.id, result)),
        }
    }

    /// `None` where no `id` could be read.
    pub(crate) fn refuse(&mut self, id: Option<&RawValue>, problem: &RpcFault) {
        self.write(|out| jsonrpc::error(out, id, &problem.to_wire()));
    }

    pub(crate) fn fail(&mut self, call: &LoafCall, problem: &RpcFault) {
        self.refuse(Some(&call.id), problem);
    }

    pub(crate) fn answer(&mut self, call: &LoafCall, answer: Result<impl Serialize, RpcFault>) {
        match answer {
            Ok(result) => self.result(call, result),
            Err(problem) => self.fail(call, &problem),
        }
    }
}

/// The constant parts of a turn's chunks, made once per turn.
pub(crate) struct Chunks {
    /// From behind the timestamp up to the chunk.
    middle: Vec<u8>,
    /// The stamp of a millisecond, because deltas come many to one.
    stamp: (i64, String),
    escaped: Vec<u8>,
}

const HEAD: &[u8] = br#"{"jsonrpc":"2.0","method":"event","params":{"type":"session.stream.chunk","timestamp":""#;

impl Chunks {
    pub(crate) fn new(session: &str, turn: &str) -> Self {
        let mut middle = br#"","payload":{"session_id":""#.to_vec();
        escape_plain_into(session, &mut middle);
        middle.extend_from_slice(br#"","turn_id":""#);
        escape_plain_into(turn, &mut middle);
        middle.extend_from_slice(br#"","chunk":{"thoughts":["#);
        Self { middle, stamp: (i64::MIN, String::new()), escaped: Vec::new() }
    }

    fn begin(&mut self, pen: &LoafPen<'_>, delta: &str) {
        if self.stamp.0 != pen.now_ms {
            self.stamp = (pen.now_ms, iso8601(pen.now_ms));
        }
        self.escaped.clear();
        escape_plain_into(delta, &mut self.escaped);
    }

    pub(crate) fn answer(&mut self, pen: &mut LoafPen<'_>, delta: &str) {
        self.begin(pen, delta);
        pen.frames.line(|out| {
            for piece in [HEAD, self.stamp.1.as_bytes(), &self.middle, br#"],"answerText":""#, &self.escaped] {
                out.extend_from_slice(piece);
            }
            out.extend_from_slice(br#"","segments":[{"kind":"answer","text":""#);
            out.extend_from_slice(&self.escaped);
            out.extend_from_slice(br#""}]}}}}"#);
        });
    }

    /// `snapshot` is the reasoning part so far, escaped.
    pub(crate) fn thought(&mut self, pen: &mut LoafPen<'_>, delta: &str, snapshot: &[u8]) {
        self.begin(pen, delta);
        pen.frames.line(|out| {
            for piece in [HEAD, self.stamp.1.as_bytes(), &self.middle, b"\"", snapshot, b"\""] {
                out.extend_from_slice(piece);
            }
            out.extend_from_slice(br#"],"answerText":"","segments":[{"kind":"thought","text":""#);
            out.extend_from_slice(&self.escaped);
            out.extend_from_slice(br#""}]}}}}"#);
        });
    }
}
