//! `compat` of a provider or a model: the switches that change what is sent, under the names that pi has for them where it
//! has one. Others of the originals are about things that are never sent from here, and are passed over.

use std::sync::Arc;

use providers::{CallIds, Compat, ReasoningBack, ThinkingFormat, TokensField};

use super::models::{efforts, switch, text, wants};
use crate::tree::{Node, TreeValue};

/// Reads the table of that name; without one nothing is said.
pub(crate) fn compat(node: &Node, at: &str) -> Result<Compat, String> {
    let Some(table) = node.get("compat") else { return Ok(Compat::default()) };
    let at = format!("{at}.compat");
    if !matches!(table.value, TreeValue::Map(_)) {
        return Err(wants(&at, table, "a table"));
    }
    let yes = |key: &str| switch(table, &at, key);
    Ok(Compat {
        developer_role: yes("supportsDeveloperRole")?,
        reasoning_effort: yes("supportsReasoningEffort")?,
        usage_in_streaming: yes("supportsUsageInStreaming")?,
        max_tokens_field: word(table, &at, "maxTokensField", &TOKENS_FIELDS)?,
        output_limit: yes("outputLimit")?,
        instructions: yes("instructions")?,
        efforts: efforts(table, &at, "reasoningEffortMap")?,
        thinking_format: word(table, &at, "thinkingFormat", &THINKING_FORMATS)?,
        reasoning_back: reasoning_back(table, &at)?,
        store: yes("supportsStore")?,
        call_ids: word(table, &at, "callIds", &CALL_IDS)?,
        tool_result_name: yes("requiresToolResultName")?,
        assistant_after_result: yes("requiresAssistantAfterToolResult")?,
        null_content: yes("nullContent")?,
        empty_tools: yes("emptyTools")?,
        claude_cache: word(table, &at, "cacheControlFormat", &[("anthropic", true)])?,
        caching: yes("caching")?,
        betas: betas(table, &at)?,
    })
}

const TOKENS_FIELDS: [(&str, TokensField); 2] =
    [("max_tokens", TokensField::MaxTokens), ("max_completion_tokens", TokensField::MaxCompletionTokens)];

const THINKING_FORMATS: [(&str, ThinkingFormat); 6] = [
    ("openai", ThinkingFormat::Effort),
    ("openrouter", ThinkingFormat::Reasoning),
    ("deepseek", ThinkingFormat::Thinking),
    ("zai", ThinkingFormat::Thinking),
    ("qwen", ThinkingFormat::EnableThinking),
    ("qwen-chat-template", ThinkingFormat::ChatTemplate),
];

const REASONING_BACK: [(&str, ReasoningBack); 5] = [
    ("nothing", ReasoningBack::Nothing),
    ("content", ReasoningBack::Content),
    ("reasoning", ReasoningBack::Reasoning),
    ("details", ReasoningBack::Details),
    ("text", ReasoningBack::Text),
];

const CALL_IDS: [(&str, CallIds); 3] = [("any", CallIds::Any), ("forty", CallIds::Forty), ("nine", CallIds::Nine)];

/// One of these words. What stands there instead is not repeated.
fn word<T: Copy>(table: &Node, at: &str, key: &str, words: &[(&str, T)]) -> Result<Option<T>, String> {
    let Some(said) = text(table, at, key)? else { return Ok(None) };
    let found = words.iter().find(|(word, _)| *word == said).map(|(_, meaning)| *meaning);
    found.map(Some).ok_or_else(|| {
        let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        format!("{at}.{key} wants {}", words.join(" or "))
    })
}

/// pi has a switch for each of two of the answers.
fn reasoning_back(table: &Node, at: &str) -> Result<Option<ReasoningBack>, String> {
    if let Some(back) = word(table, at, "reasoningBack", &REASONING_BACK)? {
        return Ok(Some(back));
    }
    let as_text = switch(table, at, "requiresThinkingAsText")? == Some(true);
    let content = switch(table, at, "requiresReasoningContentOnAssistantMessages")? == Some(true);
    Ok(match (content, as_text) {
        (true, _) => Some(ReasoningBack::Content),
        (false, true) => Some(ReasoningBack::Text),
        (false, false) => None,
    })
}

fn betas(table: &Node, at: &str) -> Result<Vec<Arc<str>>, String> {
    let Some(list) = table.get("betas") else { return Ok(Vec::new()) };
    let wrong = || wants(&format!("{at}.betas"), list, "a list of texts");
    let TreeValue::List(items) = &list.value else { return Err(wrong()) };
    let one = |item: &Node| match &item.value {
        TreeValue::Text(text) if !text.trim().is_empty() => Ok(Arc::from(text.trim())),
        _ => Err(wrong()),
    };
    items.iter().map(one).collect()
}
