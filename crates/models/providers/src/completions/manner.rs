//! How the messages of a conversation are written.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::compat::{CallIds, Compat, ReasoningBack};

/// How messages are written. It is kept with every request, so that they can be written again: a member that is missing
/// means what it meant before there was one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct CompletionsManner {
    pub(super) images: bool,
    /// Whose thinking goes back: the slug of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<Arc<str>>,
    #[serde(default = "nothing", skip_serializing_if = "is_nothing")]
    pub(super) reasoning: ReasoningBack,
    #[serde(default = "any", skip_serializing_if = "is_any")]
    pub(super) ids: CallIds,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) result_names: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) bridges: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) empty_content: bool,
}

fn nothing() -> ReasoningBack {
    ReasoningBack::Nothing
}
fn is_nothing(back: &ReasoningBack) -> bool {
    *back == ReasoningBack::Nothing
}
fn any() -> CallIds {
    CallIds::Any
}
fn is_any(ids: &CallIds) -> bool {
    *ids == CallIds::Any
}
fn is_false(switch: &bool) -> bool {
    !switch
}

impl CompletionsManner {
    pub(super) fn new(images: bool, slug: &Arc<str>, compat: &Compat) -> Self {
        let reasoning = compat.reasoning_back.unwrap_or_else(nothing);
        Self {
            images,
            model: (!is_nothing(&reasoning)).then(|| slug.clone()),
            reasoning,
            ids: compat.call_ids.unwrap_or_else(any),
            result_names: compat.tool_result_name == Some(true),
            bridges: compat.assistant_after_result == Some(true),
            empty_content: compat.null_content == Some(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manner_from_before_there_were_quirks_is_understood() {
        let old: CompletionsManner = serde_json::from_str(r#"{"images":true}"#).unwrap();
        assert_eq!(old, CompletionsManner::new(true, &"m".into(), &Compat::default()));
        assert_eq!(serde_json::to_string(&old).unwrap(), r#"{"images":true}"#);
    }
}
