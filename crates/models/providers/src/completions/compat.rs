//! How a server differs from OpenAI's, as far as somebody said so: one switch per quirk. What nobody said is found out by
//! asking ([`super::quirks`] learns from refusals); what servers do differently in their answers needs no switch, it is
//! read from everybody ([`super::decode`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::thinking::{AskedThinking, ThinkingFormat};

/// The name of the limit for an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokensField {
    MaxTokens,
    MaxCompletionTokens,
}

/// What becomes of a model's own thinking when its answer goes back to it. That of other models never goes back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningBack {
    /// It is left out.
    Nothing,
    /// As `reasoning_content`. Servers that take it may insist on it, so it is there even when it is empty.
    Content,
    /// As `reasoning`.
    Reasoning,
    /// As `reasoning_details`, byte for byte as they came.
    Details,
    /// As text before the answer's own.
    Text,
}

/// What a server takes as the id of a call. Ids of its own always fit; those of other servers may not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallIds {
    Any,
    /// At most forty characters.
    Forty,
    /// Nine letters and digits.
    Nine,
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
    /// How a level of thinking is asked for; `reasoning_effort` when nobody said.
    pub thinking_format: Option<ThinkingFormat>,
    /// Nothing goes back when nobody said: strict servers refuse members they do not know.
    pub reasoning_back: Option<ReasoningBack>,
    /// `Some(true)`: the server keeps what it is sent unless it is told not to, so it is told.
    pub store: Option<bool>,
    pub call_ids: Option<CallIds>,
    /// `Some(true)`: a result says the name of its tool, too.
    pub tool_result_name: Option<bool>,
    /// `Some(true)`: between results and a user's message the assistant must have said something.
    pub assistant_after_result: Option<bool>,
    /// `Some(false)`: an answer that only calls tools has empty text, because the server takes no `null` there.
    pub null_content: Option<bool>,
    /// `Some(true)`: a history with calls needs a list of tools even when there are none.
    pub empty_tools: Option<bool>,
    /// `Some(true)`: the server passes on to Claude and must be asked to cache; other models need not be asked.
    pub claude_cache: Option<bool>,
    /// `Some(false)`: nothing is marked for the prompt cache, where a format has marks.
    pub caching: Option<bool>,
    /// Features to ask for by name, where a format has a header for them.
    pub betas: Vec<Arc<str>>,
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
        self.thinking_format = self.thinking_format.or(below.thinking_format);
        self.reasoning_back = self.reasoning_back.or(below.reasoning_back);
        self.store = self.store.or(below.store);
        self.call_ids = self.call_ids.or(below.call_ids);
        self.tool_result_name = self.tool_result_name.or(below.tool_result_name);
        self.assistant_after_result = self.assistant_after_result.or(below.assistant_after_result);
        self.null_content = self.null_content.or(below.null_content);
        self.empty_tools = self.empty_tools.or(below.empty_tools);
        self.claude_cache = self.claude_cache.or(below.claude_cache);
        self.caching = self.caching.or(below.caching);
        let more = below.betas.iter().filter(|beta| !self.betas.contains(beta)).cloned().collect::<Vec<_>>();
        self.betas.extend(more);
        for (level, word) in &below.efforts {
            self.efforts.entry(level.clone()).or_insert_with(|| word.clone());
        }
        self
    }

    /// What to ask for; `None` = nothing, the server decides.
    pub(super) fn thinking(&self, level: Option<&Arc<str>>, thinks: bool) -> Option<AskedThinking> {
        let level = level.filter(|level| thinks && !level.is_empty())?;
        let word = self.efforts.get(level);
        if matches!(word, Some(None)) {
            return None;
        }
        let word = word.cloned().flatten();
        Some(if &**level == "off" {
            AskedThinking::Off(word)
        } else {
            AskedThinking::On(word.unwrap_or_else(|| level.clone()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearer_word_wins_and_the_rest_shines_through() {
        let low = |word: &str| BTreeMap::from([("low".into(), Some(word.into()))]);
        let below = Compat {
            developer_role: Some(true),
            reasoning_effort: Some(false),
            usage_in_streaming: Some(false),
            max_tokens_field: Some(TokensField::MaxTokens),
            output_limit: Some(false),
            instructions: Some(true),
            efforts: low("weak"),
            thinking_format: Some(ThinkingFormat::Reasoning),
            reasoning_back: Some(ReasoningBack::Details),
            store: Some(true),
            call_ids: Some(CallIds::Nine),
            tool_result_name: Some(true),
            assistant_after_result: Some(true),
            null_content: Some(false),
            empty_tools: Some(true),
            claude_cache: Some(true),
            caching: Some(false),
            betas: vec!["a-1".into()],
        };
        assert_eq!(Compat::default().over(&below), below);
        assert_eq!(below.clone().over(&Compat::default()), below);
        let above =
            Compat { developer_role: Some(false), efforts: low("low"), betas: vec!["b-2".into()], ..Compat::default() };
        let both = above.over(&below);
        assert_eq!((both.developer_role, both.reasoning_effort), (Some(false), Some(false)));
        assert_eq!(both.efforts, low("low"));
        assert_eq!(both.betas.join(" "), "b-2 a-1", "features add up");
    }

    #[test]
    fn a_level_becomes_the_servers_word_and_only_for_models_that_think() {
        let mut compat = Compat::default();
        compat.efforts.insert("xhigh".into(), Some("max".into()));
        compat.efforts.insert("minimal".into(), None);
        compat.efforts.insert("off".into(), Some("none".into()));
        let on = |word: &str| Some(AskedThinking::On(word.into()));
        for (level, want) in [
            ("low", on("low")),
            ("xhigh", on("max")),
            ("minimal", None),
            ("off", Some(AskedThinking::Off(Some("none".into())))),
            ("", None),
        ] {
            assert_eq!(compat.thinking(Some(&level.into()), true), want, "{level}");
            assert_eq!(compat.thinking(Some(&level.into()), false), None, "{level}");
        }
        assert_eq!(Compat::default().thinking(Some(&"off".into()), true), Some(AskedThinking::Off(None)));
        assert_eq!(compat.thinking(None, true), None);
    }
}
