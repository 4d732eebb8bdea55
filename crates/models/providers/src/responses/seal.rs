//! What this format seals, as the log keeps it: a whole reasoning item, or what a text is labelled with.
//!
//! A label has no block of its own to stand in, so it comes as a seal behind its text.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// What a sealed text turned out to be. Anything else was sealed by another format.
pub(super) enum Sealed<'a> {
    /// Goes back as it is.
    Reasoning,
    Label(Label<'a>),
}

/// What OpenAI says about a text besides its words. Some models do worse when it does not come back.
#[derive(Serialize, Deserialize)]
pub(super) struct Label<'a> {
    v: u8,
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) phase: Cow<'a, str>,
}

#[derive(Deserialize)]
struct SealedKind<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
}

impl<'a> Label<'a> {
    const VERSION: u8 = 1;

    pub(super) fn new(id: &'a str, phase: &'a str) -> Self {
        Self { v: Self::VERSION, id: id.into(), phase: phase.into() }
    }
    pub(super) fn seal(&self) -> String {
        serde_json::to_string(self).expect("plain fields always serialise")
    }
}

/// `None`: not ours, or damaged. It would spoil the whole request.
pub(super) fn open(seal: &str) -> Option<Sealed<'_>> {
    let object: &RawValue = serde_json::from_str(seal).ok()?;
    if !object.get().starts_with('{') {
        // serde would take a list for the fields in order.
        return None;
    }
    if let Ok(SealedKind { kind }) = serde_json::from_str(object.get()) {
        return (kind == "reasoning").then_some(Sealed::Reasoning);
    }
    let label: Label<'_> = serde_json::from_str(object.get()).ok()?;
    (label.v == Label::VERSION).then_some(Sealed::Label(label))
}
