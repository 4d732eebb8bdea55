//! What is said: by the user, by the model, by tools.

use std::sync::Arc;

use crate::{CallId, Later, ModelFault, Usage};

/// Well-formed JSON text. The engine carries it and never looks inside; edges parse it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Json(Arc<str>);

impl Json {
    /// Wraps text that the caller knows to be well-formed JSON.
    pub fn trusted(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }
    pub fn empty_object() -> Self {
        Self("{}".into())
    }
    pub fn as_str(&self) -> &str {
        &self.0
    }
    /// The same without line breaks: strings have theirs escaped, so a bare one is space between words.
    pub fn on_one_line(&self) -> Self {
        match self.0.contains(['\n', '\r']) {
            true => Self(self.0.replace(['\n', '\r'], "").into()),
            false => self.clone(),
        }
    }
}

/// An image: media type and base64 text, as every wire carries it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Image {
    pub mime: Arc<str>,
    pub base64: Arc<str>,
}

/// Decoded bytes taken for one image; larger ones are refused with their size.
const IMAGE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Media type and how its base64 begins: the first bytes of each format are fixed.
const IMAGE_FORMATS: &[(&str, &str)] =
    &[("image/png", "iVBORw0KGgo"), ("image/jpeg", "/9j/"), ("image/gif", "R0lGOD"), ("image/webp", "UklGR")];

/// Why an image is not taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ImageFlaw {
    /// It is of a kind that nobody reads.
    Type(String),
    /// Its data are too many, or not what its type says.
    Data(String),
}

impl ImageFlaw {
    pub fn into_text(self) -> String {
        match self {
            ImageFlaw::Type(text) | ImageFlaw::Data(text) => text,
        }
    }
}

impl Image {
    /// Whether it is what it says, as far as can be told without decoding it.
    pub fn check(&self) -> Result<(), ImageFlaw> {
        let bytes = self.base64.len() / 4 * 3;
        if bytes > IMAGE_BYTES_MAX {
            let mib = |bytes: usize| bytes as f64 / (1024.0 * 1024.0);
            let (has, most) = (mib(bytes), mib(IMAGE_BYTES_MAX));
            return Err(ImageFlaw::Data(format!("the image is too large: {has:.1} MiB, at most {most:.0} MiB")));
        }
        // Some clients say `image/jpg`.
        let mime = if &*self.mime == "image/jpg" { "image/jpeg" } else { &*self.mime };
        let Some((_, start)) = IMAGE_FORMATS.iter().find(|(known, _)| *known == mime) else {
            let known: Vec<&str> = IMAGE_FORMATS.iter().map(|(known, _)| *known).collect();
            let text = format!("unsupported image type: {} (there is: {})", self.mime, known.join(", "));
            return Err(ImageFlaw::Type(text));
        };
        if !self.base64.starts_with(start) {
            return Err(ImageFlaw::Data(format!("the data is not {mime}")));
        }
        // What decodes an image may look at its beginning alone; a server looks at all of it.
        let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
        if !self.base64.trim_end_matches('=').bytes().all(is_base64) {
            return Err(ImageFlaw::Data("the data is not base64".to_owned()));
        }
        Ok(())
    }
}

/// Makes an image small enough for model APIs, or says in words why that cannot be.
pub type FitImage = fn(Image) -> Later<'static, Result<Image, String>>;

/// A [`FitImage`] that takes everything.
pub fn as_it_is(image: Image) -> Later<'static, Result<Image, String>> {
    Box::pin(std::future::ready(Ok(image)))
}

/// A piece of a user message or a tool result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    Text(Arc<str>),
    Image(Image),
}

impl Part {
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Part::Text(text.into())
    }
}

/// All text parts joined with nothing between them.
pub fn parts_text(parts: &[Part]) -> String {
    parts
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) => Some(&**text),
            Part::Image(_) => None,
        })
        .collect()
}

/// A block of an assistant message, in the order the model produced them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Block {
    Text(Arc<str>),
    /// Reasoning. `opaque` is the provider's own signature or sealed form, replayed byte for byte.
    Thinking {
        text: Arc<str>,
        opaque: Option<Arc<str>>,
    },
    /// Reasoning whose words the provider keeps to itself: sealed, and replayed byte for byte.
    Redacted(Arc<str>),
    Call(Call),
}

/// A tool call as the model wrote it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    pub id: CallId,
    /// The name as the model spelled it; [`crate::names`] resolves it.
    pub name: Arc<str>,
    pub input: CallInput,
    /// The provider's own signature of this call, replayed byte for byte.
    pub seal: Option<Arc<str>>,
}

/// Tool arguments: a JSON object, or text that is none (kept to show it to the model again).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallInput {
    Object(Json),
    Broken { text: Arc<str>, detail: Arc<str> },
}

impl CallInput {
    /// The object, or `{}` for broken arguments.
    pub fn json(&self) -> Json {
        match self {
            CallInput::Object(json) => json.clone(),
            CallInput::Broken { .. } => Json::empty_object(),
        }
    }
}

/// Why a model call stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finish {
    Stop,
    Length,
    ToolUse,
    Refusal,
}

/// How an assistant message ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MessageEnd {
    Finished(Finish),
    /// Cut short by an interrupt; the blocks are what had arrived.
    Interrupted,
    /// Cut short by a failure; the blocks are what had arrived.
    Failed(ModelFault),
}

/// One answer of the model: one model call.
#[derive(Clone, PartialEq, Debug)]
pub struct AssistantMessage {
    pub blocks: Vec<Block>,
    pub model: Arc<str>,
    pub end: MessageEnd,
    pub usage: Usage,
}

impl AssistantMessage {
    pub fn text(&self) -> String {
        self.blocks
            .iter()
            .filter_map(|block| match block {
                Block::Text(text) => Some(&**text),
                _ => None,
            })
            .collect()
    }
    /// Reasoning, as far as its words are known.
    pub fn thinking(&self) -> String {
        self.blocks
            .iter()
            .filter_map(|block| match block {
                Block::Thinking { text, .. } => Some(&**text),
                _ => None,
            })
            .collect()
    }
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Call(call) => Some(call),
            _ => None,
        })
    }
}

/// Why a call has the result it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallEnd {
    Ran,
    Denied,
    Unknown,
    Invalid,
    Interrupted,
    Skipped,
    /// The process died between call and result; recorded on resume.
    Lost,
}

/// The one result of a call.
#[derive(Clone, PartialEq, Debug)]
pub struct CallResult {
    pub call: CallId,
    /// Canonical tool name, or the model's spelling when nothing resolved.
    pub tool: Arc<str>,
    pub end: CallEnd,
    pub parts: Vec<Part>,
    pub is_error: bool,
    /// Tool time only; waiting for a permission does not count.
    pub duration_ms: u64,
    /// `(tool, target)` when the call changed something.
    pub mutation: Option<Arc<str>>,
    pub edits: Vec<FileEdit>,
    /// Structured extras for dialects that have a place for them.
    pub details: Option<Json>,
}

impl CallResult {
    pub fn text(&self) -> String {
        parts_text(&self.parts)
    }
}

/// One file as it was before and after a call, kept for `/undo` and `/diff`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileEdit {
    /// Relative to the workspace with `/`, absolute when outside.
    pub path: Arc<str>,
    /// `None`: the file did not exist.
    pub before: Snapshot,
    pub after: Snapshot,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Snapshot {
    Absent,
    Text(Arc<str>),
    /// Binary or larger than [`SNAPSHOT_BYTES_MAX`]: cannot be restored, and `/undo` says so.
    NotKept,
}

/// Files larger than this are not kept for `/undo`.
pub const SNAPSHOT_BYTES_MAX: usize = 256 * 1024;

/// A message as the model sees it: the unit a [`crate::Chat`] encodes once.
#[derive(Clone, PartialEq, Debug)]
pub enum Message {
    User(Vec<Part>),
    Assistant(AssistantMessage),
    Result(CallResult),
}
