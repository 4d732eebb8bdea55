//! How a server differs from OpenAI's, as far as somebody said so. What nobody said is found out by asking
//! ([`super::stream`] learns from refusals).

use std::collections::BTreeMap;
use std::sync::Arc;

/// The name of the limit for an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokensField {
    MaxTokens,
    MaxCompletionTokens,
}

/// `None` = nobody said.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Compat {
    /// `Some(true)`: models that think get their instructions under the role `developer`. Otherwise it is `system`,
    /// which every server takes.
    pub developer_role: Option<bool>,
    /// `Some(false)`: `reasoning_effort` is never sent.
    pub reasoning_effort: Option<bool>,
    /// `Some(false)`: usage is not asked for in a stream.
    pub usage_in_streaming: Option<bool>,
    pub max_tokens_field: Option<TokensField>,
    /// `Some(false)`: no limit for an answer is sent. ChatGPT's backend refuses one (Responses only).
    pub output_limit: Option<bool>,
    /// `Some(true)`: instructions are sent even when there are none. ChatGPT's backend demands them (Responses only).
    pub instructions: Option<bool>,
    /// Our word for an effort to the server's; a level without a word is not sent.
    pub efforts: BTreeMap<Arc<str>, Option<Arc<str>>>,
}

impl Compat {
    /// What is said here, and where nothing is said what `below` says.
    pub fn over(mut self, below: &Compat) -> Compat {
        self.developer_role = self.developer_role.or(below.developer_role);
        self.reasoning_effort = self.reasoning_effort.or(below.reasoning_effort);
        self.usage_in_streaming = self.usage_in_streaming.or(below.usage_in_streaming);
        self.max_tokens_field = self.max_tokens_field.or(below.max_tokens_field);
        self.output_limit = self.output_limit.or(below.output_limit);
        self.instructions = self.instructions.or(below.instructions);
        for (level, word) in &below.efforts {
            self.efforts.entry(level.clone()).or_insert_with(|| word.clone());
        }
        self
    }

    /// The role of the instructions.
    pub(super) fn role(&self, thinking: bool) -> &'static str {
        if thinking && self.developer_role == Some(true) { "developer" } else { "system" }
    }

    /// What to send for a level of thinking; `None` = nothing.
    pub(super) fn effort(&self, level: Option<&Arc<str>>, thinking: bool) -> Option<Arc<str>> {
        let level = level.filter(|_| thinking)?;
        match self.efforts.get(level) {
            Some(word) => word.clone(),
            None => Some(level.clone()).filter(|level| !matches!(&**level, "" | "off")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearer_word_wins_and_the_rest_shines_through() {
        let below = Compat { developer_role: Some(true), reasoning_effort: Some(false), ..Compat::default() };
        let above = Compat { developer_role: Some(false), ..Compat::default() };
        let both = above.over(&below);
        assert_eq!((both.developer_role, both.reasoning_effort), (Some(false), Some(false)));
    }

    #[test]
    fn a_level_becomes_the_servers_word_and_only_for_models_that_think() {
        let mut compat = Compat::default();
        compat.efforts.insert("xhigh".into(), Some("max".into()));
        compat.efforts.insert("minimal".into(), None);
        compat.efforts.insert("off".into(), Some("none".into()));
        let effort = |compat: &Compat, level: &str, thinking| compat.effort(Some(&level.into()), thinking);
        for (level, want) in [("low", Some("low")), ("xhigh", Some("max")), ("minimal", None), ("off", Some("none"))] {
            assert_eq!(effort(&compat, level, true).as_deref(), want, "{level}");
            assert_eq!(effort(&compat, level, false), None, "{level}");
        }
        assert_eq!(effort(&Compat::default(), "off", true), None);
        assert_eq!(compat.effort(None, true), None);
    }
}
