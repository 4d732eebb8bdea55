//! Answers the engine's request to summarise a conversation: a list of what the user wrote. Rules cannot know what
//! mattered, so nothing else is claimed.

use crate::memory::Memory;

/// The fixed first line of a compaction prompt.
const REQUEST: &str = "Summarise this conversation";

pub(crate) fn is_request(prompt: &str) -> bool {
    prompt.starts_with(REQUEST)
}

pub(crate) fn summary(memory: &Memory) -> String {
    // The newest user message is the request itself.
    let earlier = memory.previews.len().saturating_sub(1);
    if earlier == 0 {
        return "Summary: the user has not written anything yet.".to_owned();
    }
    let total = earlier + memory.previews_dropped;
    let mut text = format!("Summary: the user wrote {total} message{}:", if total == 1 { "" } else { "s" });
    if memory.previews_dropped > 0 {
        text.push_str(&format!("\n- ({} older ones)", memory.previews_dropped));
    }
    for preview in memory.previews.iter().take(earlier) {
        text.push_str("\n- ");
        text.push_str(&preview.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    text
}
