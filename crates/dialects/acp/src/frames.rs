//! The lines that we write: responses, updates, and requests of our own. The flow of a running answer is written by hand,
//! because there is one line for every delta; everything else is one of [`acp_types`].

use acp_types::error::ErrorData;
use acp_types::{EmptyResponse, SessionNotification, SessionUpdate, method, sorted};
use serde::Serialize;
use serde_json::value::RawValue;
use vocab::SessionId;
use wire::jsonrpc::{self, RpcError};
use wire::{FrameBuf, Out, escape_plain_into};

/// The tags of what an answer is made of.
pub(crate) const USER_MESSAGE: &str = "user_message_chunk";
pub(crate) const AGENT_MESSAGE: &str = "agent_message_chunk";
pub(crate) const AGENT_THOUGHT: &str = "agent_thought_chunk";

/// Where in the session an update is, as clients that ask for it read it: a member of its `_meta`.
pub(crate) const PLACE: &str = "tillerman.seq";
/// What such a client has already, in the `_meta` of a request that opens a session.
pub(crate) const AFTER: &str = "tillerman.afterSeq";

/// The id of a request, as it came: it is echoed byte for byte.
pub(crate) type CallId = Box<RawValue>;

/// Writes the lines of one call to the dialect.
pub(crate) struct AcpWriter<'a> {
    frames: &'a mut FrameBuf,
}

pub(crate) fn pen(out: &mut Out) -> AcpWriter<'_> {
    AcpWriter { frames: &mut out.frames }
}

impl AcpWriter<'_> {
    fn write(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut line = Vec::new();
        write(&mut line);
        self.frames.raw(&line);
    }

    pub(crate) fn result(&mut self, call: &RawValue, result: impl Serialize) {
        self.write(|out| jsonrpc::result(out, call, sorted(result)));
    }
    /// It is done, and there is nothing to add.
    pub(crate) fn done(&mut self, call: &RawValue) {
        self.result(call, EmptyResponse {});
    }
    /// `None` where no `id` could be read.
    pub(crate) fn refuse(&mut self, call: Option<&RawValue>, error: &RpcError) {
        self.write(|out| jsonrpc::error(out, call, &detailed(error)));
    }
    pub(crate) fn answer(&mut self, call: &RawValue, answer: Result<impl Serialize, RpcError>) {
        match answer {
            Ok(result) => self.result(call, result),
            Err(error) => self.refuse(Some(call), &error),
        }
    }
    pub(crate) fn update(&mut self, session: &SessionId, update: SessionUpdate) {
        self.notify(method::SESSION_UPDATE, SessionNotification { session_id: session.as_str(), update });
    }
    pub(crate) fn notify(&mut self, method: &str, params: impl Serialize) {
        self.write(|out| jsonrpc::notification(out, method, sorted(params)));
    }
    pub(crate) fn request(&mut self, id: u64, method: &str, params: impl Serialize) {
        self.write(|out| jsonrpc::request(out, id, method, sorted(params)));
    }
}

/// The constant parts of one message's chunks.
pub(crate) struct Chunks {
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Chunks {
    pub(crate) fn new(session: &SessionId, tag: &str, message: &str) -> Self {
        let mut head = br#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":""#.to_vec();
        escape_plain_into(session.as_str(), &mut head);
        head.extend_from_slice(br#"","update":{"sessionUpdate":""#);
        head.extend_from_slice(tag.as_bytes());
        head.extend_from_slice(br#"","content":{"type":"text","text":""#);
        let mut tail = br#""},"messageId":""#.to_vec();
        escape_plain_into(message, &mut tail);
        tail.extend_from_slice(br#""}}}"#);
        Self { head, tail }
    }

    pub(crate) fn write(&self, pen: &mut AcpWriter<'_>, text: &str) {
        pen.frames.line(|out| {
            out.extend_from_slice(&self.head);
            escape_plain_into(text, out);
            out.extend_from_slice(&self.tail);
        });
    }
}

/// A text of the past, in the bytes of its type.
pub(crate) fn past_text(pen: &mut AcpWriter<'_>, session: &SessionId, tag: &str, message: &str, text: &str) {
    pen.frames.line(|out| {
        out.extend_from_slice(br#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":""#);
        escape_plain_into(session.as_str(), out);
        out.extend_from_slice(br#"","update":{"content":{"text":""#);
        escape_plain_into(text, out);
        out.extend_from_slice(br#"","type":"text"},"messageId":""#);
        escape_plain_into(message, out);
        out.extend_from_slice(br#"","sessionUpdate":""#);
        out.extend_from_slice(tag.as_bytes());
        out.extend_from_slice(br#""}}}"#);
    });
}

/// Some clients show `data.details` and not the message.
fn detailed(error: &RpcError) -> RpcError {
    let mut data = error.data.clone().unwrap_or_else(|| sorted(ErrorData::default()));
    data["details"] = error.message.as_str().into();
    RpcError { data: Some(data), ..error.clone() }
}

#[cfg(test)]
mod tests {
    use acp_types::{ContentBlock, MessageChunk, Other};
    use serde_json::Value;

    use super::*;

    /// The bytes that are written by hand are the type's.
    #[test]
    fn a_delta_is_the_update_that_its_type_describes() {
        let mut out = Out::new();
        let chunks = Chunks::new(&SessionId::from("s\"1"), AGENT_MESSAGE, "m-1");
        chunks.write(&mut pen(&mut out), "one \"two\"\n");
        let written: Value = serde_json::from_slice(out.frames.as_bytes()).unwrap();
        let chunk = MessageChunk {
            content: ContentBlock::text("one \"two\"\n"),
            message_id: Some("m-1".into()),
            other: Other::new(),
        };
        let update = SessionUpdate::AgentMessageChunk(chunk);
        assert_eq!(written["params"], sorted(SessionNotification { session_id: "s\"1", update }));
    }

    #[test]
    fn a_text_of_the_past_is_written_byte_for_byte_as_its_type_is() {
        let session = SessionId::from("s\"1");
        // Two control characters have a short spelling, too, which is theirs alone.
        let plain = (0..0x100).filter_map(char::from_u32).filter(|it| !matches!(it, '\u{8}' | '\u{c}'));
        let text: String = plain.chain(['\u{2028}', '\u{1f600}']).collect();
        let updates: [fn(MessageChunk) -> SessionUpdate; 3] =
            [SessionUpdate::UserMessageChunk, SessionUpdate::AgentMessageChunk, SessionUpdate::AgentThoughtChunk];
        for (tag, update) in [USER_MESSAGE, AGENT_MESSAGE, AGENT_THOUGHT].into_iter().zip(updates) {
            let (mut by_hand, mut by_type) = (Out::new(), Out::new());
            past_text(&mut pen(&mut by_hand), &session, tag, "s\"1-7", &text);
            let message_id = Some("s\"1-7".into());
            let chunk = MessageChunk { content: ContentBlock::text(text.as_str()), message_id, other: Other::new() };
            pen(&mut by_type).update(&session, update(chunk));
            assert_eq!(by_hand.frames.as_bytes(), by_type.frames.as_bytes(), "{tag}");
        }
    }
}
