//! Records of what is said: parts, blocks, calls and their results, faults, usage.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vocab::Json;

use super::apart::{APART_BYTES_MIN, NamedContent, content_name};
use super::enums::{CallEnd, FaultKind, Finish};

pub(super) fn into_all<From, To: std::convert::From<From>>(items: impl IntoIterator<Item = From>) -> Vec<To> {
    items.into_iter().map(To::from).collect()
}

/// JSON that was carried unparsed is stored as text, so that it comes back byte for byte.
pub(super) fn json_text(json: &Json) -> Arc<str> {
    json.as_str().into()
}

/// Text nearly always; a path may also be bytes that are none, and must still be found again.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PathText {
    Text(String),
    Bytes(Vec<u8>),
}
impl From<&Path> for PathText {
    fn from(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => PathText::Text(text.to_owned()),
            None => PathText::Bytes(path.as_os_str().as_bytes().to_vec()),
        }
    }
}
impl From<PathText> for PathBuf {
    fn from(path: PathText) -> Self {
        match path {
            PathText::Text(text) => text.into(),
            PathText::Bytes(bytes) => OsString::from_vec(bytes).into(),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PartRecord {
    Text(Arc<str>),
    Image { mime: Arc<str>, base64: Arc<str> },
}
impl From<&vocab::Part> for PartRecord {
    fn from(part: &vocab::Part) -> Self {
        match part {
            vocab::Part::Text(text) => PartRecord::Text(text.clone()),
            vocab::Part::Image(image) => PartRecord::Image { mime: image.mime.clone(), base64: image.base64.clone() },
        }
    }
}
impl From<PartRecord> for vocab::Part {
    fn from(part: PartRecord) -> Self {
        match part {
            PartRecord::Text(text) => Self::Text(text),
            PartRecord::Image { mime, base64 } => Self::Image(vocab::Image { mime, base64 }),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum BlockRecord {
    Text(Arc<str>),
    Thinking { text: Arc<str>, opaque: Option<Arc<str>> },
    Redacted(Arc<str>),
    Call(CallRecord),
}
impl From<&vocab::Block> for BlockRecord {
    fn from(block: &vocab::Block) -> Self {
        match block {
            vocab::Block::Text(text) => BlockRecord::Text(text.clone()),
            vocab::Block::Thinking { text, opaque } => {
                BlockRecord::Thinking { text: text.clone(), opaque: opaque.clone() }
            }
            vocab::Block::Redacted(sealed) => BlockRecord::Redacted(sealed.clone()),
            vocab::Block::Call(call) => BlockRecord::Call(call.into()),
        }
    }
}
impl From<BlockRecord> for vocab::Block {
    fn from(block: BlockRecord) -> Self {
        match block {
            BlockRecord::Text(text) => Self::Text(text),
            BlockRecord::Thinking { text, opaque } => Self::Thinking { text, opaque },
            BlockRecord::Redacted(sealed) => Self::Redacted(sealed),
            BlockRecord::Call(call) => Self::Call(call.into()),
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct CallRecord {
    id: Arc<str>,
    name: Arc<str>,
    input: CallInputRecord,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seal: Option<Arc<str>>,
}
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CallInputRecord {
    Object(Arc<str>),
    Broken { text: Arc<str>, detail: Arc<str> },
}
impl From<&vocab::Call> for CallRecord {
    fn from(call: &vocab::Call) -> Self {
        let input = match &call.input {
            vocab::CallInput::Object(json) => CallInputRecord::Object(json_text(json)),
            vocab::CallInput::Broken { text, detail } => {
                CallInputRecord::Broken { text: text.clone(), detail: detail.clone() }
            }
        };
        Self { id: call.id.as_str().into(), name: call.name.clone(), input, seal: call.seal.clone() }
    }
}
impl From<CallRecord> for vocab::Call {
    fn from(call: CallRecord) -> Self {
        let input = match call.input {
            CallInputRecord::Object(text) => vocab::CallInput::Object(Json::trusted(text)),
            CallInputRecord::Broken { text, detail } => vocab::CallInput::Broken { text, detail },
        };
        Self { id: vocab::CallId::new(call.id), name: call.name, input, seal: call.seal }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct UsageRecord {
    input: u64,
    cache_read: u64,
    cache_write: u64,
    output: u64,
    estimated: bool,
}
impl From<&vocab::Usage> for UsageRecord {
    fn from(usage: &vocab::Usage) -> Self {
        let vocab::Usage { input, cache_read, cache_write, output, estimated } = *usage;
        Self { input, cache_read, cache_write, output, estimated }
    }
}
impl From<UsageRecord> for vocab::Usage {
    fn from(usage: UsageRecord) -> Self {
        let UsageRecord { input, cache_read, cache_write, output, estimated } = usage;
        Self { input, cache_read, cache_write, output, estimated }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct FaultRecord {
    kind: FaultKind,
    message: String,
    hints: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
}
impl From<&vocab::Fault> for FaultRecord {
    fn from(fault: &vocab::Fault) -> Self {
        let vocab::Fault { kind, message, hints, status, refused: _ } = fault;
        Self { kind: (*kind).into(), message: message.clone(), hints: hints.clone(), status: *status }
    }
}
impl From<FaultRecord> for vocab::Fault {
    fn from(fault: FaultRecord) -> Self {
        let FaultRecord { kind, message, hints, status } = fault;
        Self { kind: kind.into(), message, hints, status, refused: None }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct MessageRecord {
    blocks: Vec<BlockRecord>,
    model: Arc<str>,
    end: MessageEndRecord,
    usage: UsageRecord,
}
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum MessageEndRecord {
    Finished(Finish),
    Interrupted,
    Failed {
        fault: FaultRecord,
        retryable: bool,
        retry_after_ms: Option<u64>,
        /// Older logs have it here and not in the fault.
        #[serde(default, skip_serializing)]
        status: Option<u16>,
    },
}
impl From<&vocab::AssistantMessage> for MessageRecord {
    fn from(message: &vocab::AssistantMessage) -> Self {
        let end = match &message.end {
            vocab::MessageEnd::Finished(finish) => MessageEndRecord::Finished((*finish).into()),
            vocab::MessageEnd::Interrupted => MessageEndRecord::Interrupted,
            vocab::MessageEnd::Failed(failed) => MessageEndRecord::Failed {
                fault: (&failed.fault).into(),
                retryable: failed.retryable,
                retry_after_ms: failed.retry_after_ms,
                status: None,
            },
        };
        let blocks = into_all(&message.blocks);
        Self { blocks, model: message.model.clone(), end, usage: (&message.usage).into() }
    }
}
impl From<MessageRecord> for vocab::AssistantMessage {
    fn from(message: MessageRecord) -> Self {
        let end = match message.end {
            MessageEndRecord::Finished(finish) => vocab::MessageEnd::Finished(finish.into()),
            MessageEndRecord::Interrupted => vocab::MessageEnd::Interrupted,
            MessageEndRecord::Failed { fault, retryable, retry_after_ms, status } => {
                let mut fault = vocab::Fault::from(fault);
                fault.status = fault.status.or(status);
                vocab::MessageEnd::Failed(vocab::ModelFault { fault, retryable, retry_after_ms })
            }
        };
        Self { blocks: into_all(message.blocks), model: message.model, end, usage: message.usage.into() }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct CallResultRecord {
    call: Arc<str>,
    tool: Arc<str>,
    end: CallEnd,
    parts: Vec<PartRecord>,
    is_error: bool,
    duration_ms: u64,
    mutation: Option<Arc<str>>,
    edits: Vec<FileEditRecord>,
    details: Option<Arc<str>>,
}
impl CallResultRecord {
    fn snapshots(&mut self) -> impl Iterator<Item = &mut SnapshotRecord> {
        self.edits.iter_mut().flat_map(|edit| [&mut edit.before, &mut edit.after])
    }

    /// Names stand for large contents.
    pub(super) fn put_apart(&mut self, apart: &mut Vec<NamedContent>) {
        for snapshot in self.snapshots() {
            if let SnapshotRecord::Text(text) = snapshot
                && text.len() >= APART_BYTES_MIN
            {
                let name = content_name(text);
                apart.push((name.clone(), text.clone()));
                *snapshot = SnapshotRecord::Apart(name);
            }
        }
    }

    pub(super) fn bring_back(&mut self, mut find: impl FnMut(&str) -> Option<Arc<str>>) {
        for snapshot in self.snapshots() {
            if let SnapshotRecord::Apart(name) = snapshot {
                *snapshot = find(name).map_or(SnapshotRecord::NotKept, SnapshotRecord::Text);
            }
        }
    }
}
impl From<&vocab::CallResult> for CallResultRecord {
    fn from(result: &vocab::CallResult) -> Self {
        Self {
            call: result.call.as_str().into(),
            tool: result.tool.clone(),
            end: result.end.into(),
            parts: into_all(&result.parts),
            is_error: result.is_error,
            duration_ms: result.duration_ms,
            mutation: result.mutation.clone(),
            edits: into_all(&result.edits),
            details: result.details.as_ref().map(json_text),
        }
    }
}
impl From<CallResultRecord> for vocab::CallResult {
    fn from(result: CallResultRecord) -> Self {
        Self {
            call: vocab::CallId::new(result.call),
            tool: result.tool,
            end: result.end.into(),
            parts: into_all(result.parts),
            is_error: result.is_error,
            duration_ms: result.duration_ms,
            mutation: result.mutation,
            edits: into_all(result.edits),
            details: result.details.map(Json::trusted),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct FileEditRecord {
    path: Arc<str>,
    before: SnapshotRecord,
    after: SnapshotRecord,
}
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SnapshotRecord {
    Absent,
    Text(Arc<str>),
    NotKept,
    /// The name of a content that is kept beside the record.
    Apart(Arc<str>),
}
impl From<&vocab::FileEdit> for FileEditRecord {
    fn from(edit: &vocab::FileEdit) -> Self {
        Self { path: edit.path.clone(), before: (&edit.before).into(), after: (&edit.after).into() }
    }
}
impl From<FileEditRecord> for vocab::FileEdit {
    fn from(edit: FileEditRecord) -> Self {
        Self { path: edit.path, before: edit.before.into(), after: edit.after.into() }
    }
}
impl From<&vocab::Snapshot> for SnapshotRecord {
    fn from(snapshot: &vocab::Snapshot) -> Self {
        match snapshot {
            vocab::Snapshot::Absent => SnapshotRecord::Absent,
            vocab::Snapshot::Text(text) => SnapshotRecord::Text(text.clone()),
            vocab::Snapshot::NotKept => SnapshotRecord::NotKept,
        }
    }
}
impl From<SnapshotRecord> for vocab::Snapshot {
    fn from(snapshot: SnapshotRecord) -> Self {
        match snapshot {
            SnapshotRecord::Absent => Self::Absent,
            SnapshotRecord::Text(text) => Self::Text(text),
            SnapshotRecord::NotKept | SnapshotRecord::Apart(_) => Self::NotKept,
        }
    }
}
