//! The JSON of the items that an answer is made of.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::seal::Label;
use crate::json::{self, LenientText};

#[derive(Deserialize)]
pub(super) struct ItemKind<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: LenientText<'a>,
}

#[derive(Deserialize)]
pub(super) struct Reasoning<'a> {
    #[serde(borrow, default)]
    status: LenientText<'a>,
    #[serde(borrow, default)]
    encrypted_content: LenientText<'a>,
    #[serde(borrow, default)]
    summary: Option<Vec<MessagePiece<'a>>>,
    /// What open models show of their thinking.
    #[serde(borrow, default)]
    content: Option<Vec<MessagePiece<'a>>>,
}

impl Reasoning<'_> {
    /// Whether it can go back: finished, and with something in it. The rest is but a name for what the server has
    /// forgotten.
    pub(super) fn is_sealed(&self) -> bool {
        let whole = !matches!(&*self.status.0, "incomplete" | "in_progress");
        whole && (!self.encrypted_content.0.is_empty() || self.content.as_ref().is_some_and(|it| !it.is_empty()))
    }
    /// What it says in words, part by part.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        let summary = self.summary.as_ref().filter(|parts| !parts.is_empty());
        summary.or(self.content.as_ref()).into_iter().flatten().map(|part| &*part.text.0)
    }
}

#[derive(Deserialize)]
pub(super) struct MessageItem<'a> {
    #[serde(borrow, default)]
    id: LenientText<'a>,
    #[serde(borrow, default)]
    phase: LenientText<'a>,
    #[serde(borrow, default)]
    pub(super) content: Option<Vec<MessagePiece<'a>>>,
}

impl MessageItem<'_> {
    pub(super) fn label(&self) -> Option<Label<'_>> {
        (!self.phase.0.is_empty()).then(|| Label::new(&self.id.0, &self.phase.0))
    }
}

/// A part of any content.
#[derive(Deserialize)]
pub(super) struct MessagePiece<'a> {
    #[serde(borrow, default)]
    pub(super) text: LenientText<'a>,
    #[serde(borrow, default)]
    pub(super) refusal: LenientText<'a>,
}

#[derive(Deserialize)]
pub(super) struct FunctionItem<'a> {
    #[serde(borrow, default)]
    id: LenientText<'a>,
    #[serde(borrow, default)]
    call_id: LenientText<'a>,
    #[serde(borrow, default)]
    name: LenientText<'a>,
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
}

impl FunctionItem<'_> {
    pub(super) fn id(&self) -> Option<&str> {
        [&*self.call_id.0, &*self.id.0].into_iter().find(|id| !id.is_empty())
    }
    pub(super) fn name(&self) -> Option<&str> {
        Some(&*self.name.0).filter(|name| !name.is_empty())
    }
}

/// A string by the book, an object from some servers.
pub(super) fn arguments(raw: Option<&RawValue>) -> Result<Cow<'_, str>, serde_json::Error> {
    match raw.map(RawValue::get) {
        None => Ok(Cow::Borrowed("")),
        Some(raw) if raw.starts_with('"') => {
            json::read(raw.as_bytes(), &mut Vec::new()).map(|words: LenientText<'_>| Cow::Owned(words.0.into_owned()))
        }
        Some(raw) => Ok(Cow::Borrowed(raw)),
    }
}
