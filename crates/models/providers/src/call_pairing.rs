//! Calls and their results on the wire. Every announced call has a result there, and no result stands there without its
//! call, whatever came in: model APIs refuse a history in which they do not pair.

use std::sync::Arc;

use vocab::{AssistantMessage, Call, CallId, CallResult, MessageEnd, Part};

/// What a call gets whose result never came.
pub(crate) const NO_RESULT: &str = "[no result was recorded]";
/// Model APIs refuse an empty result.
pub(crate) const NO_OUTPUT: &str = "[no output]";
pub(crate) const NO_IMAGES: &str = "[an image was left out: this model takes none]";

/// Function names must match `[A-Za-z0-9_-]{1,64}`, in every format.
const NAME_CHARS_MAX: usize = 64;

/// Announced calls that have no result yet, in order, each with the name it was announced under.
#[derive(Default)]
pub(crate) struct CallPairing(Vec<(CallId, Arc<str>)>);

impl CallPairing {
    pub(crate) fn announce<'a>(&mut self, calls: impl IntoIterator<Item = &'a Call>) {
        self.0 = calls.into_iter().map(|call| (call.id.clone(), call.name.clone())).collect();
    }
    /// The name of the call that this result answers; `None` when no such call waits.
    pub(crate) fn answer(&mut self, result: &CallResult) -> Option<Arc<str>> {
        let at = self.0.iter().position(|(call, _)| *call == result.call)?;
        Some(self.0.remove(at).1)
    }
    /// The calls that never got one.
    pub(crate) fn give_up(&mut self) -> Vec<(CallId, Arc<str>)> {
        std::mem::take(&mut self.0)
    }
    pub(crate) fn is_settled(&self) -> bool {
        self.0.is_empty()
    }
}

/// An answer that was cut short goes back as its text alone: its calls may be halves, its thinking is unsigned.
pub(crate) fn is_whole(message: &AssistantMessage) -> bool {
    matches!(message.end, MessageEnd::Finished(_))
}

/// A result whose call went back as text goes back as text, too.
pub(crate) fn orphan(result: &CallResult, text: &str) -> Vec<Part> {
    vec![Part::text(format!("[result of {}]\n{text}", result.tool))]
}

/// Model APIs forbid dots and more in names; [`vocab::names`] knows how to read the result back.
pub(crate) fn function_name(name: &str) -> String {
    let fit = |char: char| if char.is_ascii_alphanumeric() || char == '-' { char } else { '_' };
    name.chars().take(NAME_CHARS_MAX).map(fit).collect()
}
