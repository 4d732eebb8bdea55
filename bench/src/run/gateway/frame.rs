//! What the driver reads of a frame.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

#[derive(Deserialize)]
pub(crate) struct Frame<'a> {
    pub(crate) id: Option<u64>,
    #[serde(borrow)]
    pub(crate) event: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) data: Data<'a>,
    pub(crate) result: Option<IgnoredAny>,
    #[serde(borrow)]
    pub(crate) error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) cursor: Option<Cow<'a, str>>,
}

#[derive(Deserialize, Default)]
pub(crate) struct Data<'a> {
    #[serde(borrow, default)]
    pub(crate) text: Option<Cow<'a, str>>,
}

impl Frame<'_> {
    pub(crate) fn is(&self, event: &str) -> bool {
        self.event.as_deref() == Some(event)
    }
    /// The words of an answer, as they come.
    pub(crate) fn words(&self) -> Option<&str> {
        self.data.text.as_deref().filter(|_| self.is("content"))
    }
}
