//! The format against conversations and recorded streams. The streams are written after the vendor's own types.

mod loops;
mod reading;
mod reasons;
mod writing;

use std::sync::Arc;

use vocab::{
    AssistantMessage, Block, Call, CallEnd, CallInput, CallResult, CallSpec, Image, Json, Message, MessageEnd,
    ModelEvent, ModelFault, ModelInfo, Part, ToolSpec, Usage,
};

use super::ResponsesEncoder;
use crate::completions::Compat;
use crate::format::Encoder;
use crate::reader::AnswerReader;

const MODEL: &str = "gpt-5.1";

fn conversation() -> ResponsesEncoder {
    ResponsesEncoder::new(&ModelInfo::named(MODEL, 1000), Compat::default())
}

fn spec() -> CallSpec {
    let tool = ToolSpec {
        name: "file.read".into(),
        description: "Reads \"it\".".into(),
        schema: Json::trusted(r#"{"type":"object"}"#),
    };
    CallSpec { system: "be\nkind".into(), tools: Arc::from([tool]), max_tokens: 100, thinking: Some("low".into()) }
}

/// The whole body of the next request.
fn body(conversation: &mut ResponsesEncoder, spec: &CallSpec) -> String {
    let written = conversation.draft(spec).write();
    let pieces = [written.head, written.messages, vec![written.tail]].concat().concat();
    let text = String::from_utf8(pieces).unwrap();
    serde_json::from_str::<serde_json::Value>(&text).expect("it is JSON");
    text
}

fn user(text: &str) -> Message {
    Message::User(vec![Part::text(text)])
}
fn image() -> Part {
    Part::Image(Image { mime: "image/png".into(), base64: "AAAA".into() })
}
fn assistant(blocks: Vec<Block>, end: MessageEnd) -> Message {
    Message::Assistant(AssistantMessage { blocks, model: MODEL.into(), end, usage: Usage::default() })
}
fn call(id: &str, input: CallInput) -> Block {
    Block::Call(Call { id: id.into(), name: "file.read".into(), input, seal: None })
}
fn object() -> CallInput {
    CallInput::Object(Json::trusted(r#"{"a":"\"x\""}"#))
}
fn thinking(opaque: &str) -> Block {
    Block::Thinking { text: "hm".into(), opaque: Some(opaque.into()) }
}
fn result(id: &str, parts: Vec<Part>) -> Message {
    Message::Result(CallResult {
        call: id.into(),
        tool: "read_file".into(),
        end: CallEnd::Ran,
        parts,
        is_error: false,
        duration_ms: 0,
        mutation: None,
        edits: Vec::new(),
        details: None,
    })
}

fn reader() -> AnswerReader {
    AnswerReader::new(super::decoder("http://x/v1".into()))
}

/// All events of a stream that comes in these pieces.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<ModelEvent> {
    let mut reader = reader();
    let mut events = Vec::new();
    for piece in pieces {
        reader.feed(piece);
        events.extend(std::iter::from_fn(|| reader.next()));
    }
    reader.end(None);
    events.extend(std::iter::from_fn(|| reader.next()));
    events
}

/// The events of a stream of these data, each an object.
fn read_data(data: &[&str]) -> Vec<ModelEvent> {
    let stream: String = data.iter().map(|data| format!("data: {data}\n\n")).collect();
    read([stream.as_bytes()])
}

fn failure(events: &[ModelEvent]) -> &ModelFault {
    match events.last() {
        Some(ModelEvent::Failed(fault)) => fault,
        _ => panic!("no failure in {events:?}"),
    }
}

/// One line per event, as a person would note it.
fn notes(events: &[ModelEvent]) -> String {
    let note = |event: &ModelEvent| match event {
        ModelEvent::Text(text) => format!("text {text:?}\n"),
        ModelEvent::Thinking(text) => format!("thinking {text:?}\n"),
        ModelEvent::Seal(seal) => format!("seal {seal}\n"),
        ModelEvent::Call { index, id: Some(id), name: Some(name), input } => {
            format!("call {index} {id} {name} {input}\n")
        }
        ModelEvent::Call { index, input, .. } => format!("call {index} + {input}\n"),
        ModelEvent::Usage(usage) => {
            format!("usage {} {} {} {}\n", usage.input, usage.cache_read, usage.cache_write, usage.output)
        }
        ModelEvent::Finished(finish) => format!("finished {finish:?}\n"),
        ModelEvent::Failed(fault) => format!("failed {:?} {}\n", fault.fault.kind, fault.fault.message),
        other => panic!("{other:?}"),
    };
    events.iter().map(note).collect()
}
