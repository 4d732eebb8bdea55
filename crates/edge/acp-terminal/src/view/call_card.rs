//! A tool call of the agent's as far as it was told, and what of it is shown when it ends.

use acp_types::{ToolCall, ToolCallContent, ToolCallStatus};

use dialect_terminal::Paint;
use dialect_terminal::excerpt::{self, DIFF_LINES_MAX};

/// Output of a call's terminal that is kept to be shown; what comes behind it is counted.
const OUTPUT_BYTES_MAX: usize = 64 * 1024;

#[derive(Clone, Default)]
pub(super) struct CallCard {
    pub(super) call: ToolCall,
    /// The beginning of what its terminal showed.
    output: String,
    /// What came behind it.
    bytes_dropped: usize,
    /// `exit code 1`, where its terminal ended otherwise than well.
    ended: Option<String>,
}

impl CallCard {
    pub(super) fn new(id: &str) -> Self {
        Self { call: ToolCall { tool_call_id: id.to_owned(), ..ToolCall::default() }, ..Self::default() }
    }

    pub(super) fn patch(&mut self, patch: &ToolCall) {
        self.call.patch(patch.clone());
        // What it says is taken out below; it would only be kept twice.
        self.call.other.remove("_meta");
        let Some(news) = patch.terminal() else { return };
        let output = news.output.unwrap_or_default();
        let room = OUTPUT_BYTES_MAX.saturating_sub(self.output.len());
        let kept = output.floor_char_boundary(room.min(output.len()));
        self.output.push_str(&output[..kept]);
        self.bytes_dropped += output.len() - kept;
        let code = news.exit_code.filter(|code| *code != 0).map(|code| format!("exit code {code}"));
        self.ended = news.signal.map(|signal| format!("killed by {signal}")).or(code).or(self.ended.take());
    }

    pub(super) fn is_over(&self) -> bool {
        self.call.status.as_ref().is_some_and(ToolCallStatus::is_end)
    }

    pub(super) fn title(&self) -> &str {
        let call = &self.call;
        call.title.as_deref().or(call.name.as_deref()).unwrap_or(&call.tool_call_id)
    }

    /// How it went. Diffs that were seen with the question are left out.
    pub(super) fn result(&self, diffs: bool, paint: Paint) -> Vec<String> {
        let mut lines = Vec::new();
        if self.call.status == Some(ToolCallStatus::Failed) {
            lines.push(paint.red("  failed"));
        }
        let content = || self.call.content.iter().flatten();
        for it in content() {
            match it {
                ToolCallContent::Content { content, .. } => lines.extend(dim(&content.shown(), paint)),
                ToolCallContent::Diff { path, old_text, new_text, .. } if diffs => {
                    lines.extend(diff(path, old_text.as_deref(), new_text, paint));
                }
                ToolCallContent::Diff { .. } | ToolCallContent::Terminal { .. } | ToolCallContent::Unknown(_) => {}
            }
        }
        // Some agents tell the output in both ways.
        if !content().any(|it| matches!(it, ToolCallContent::Content { .. })) {
            lines.extend(dim(&self.output, paint));
            if self.bytes_dropped > 0 {
                lines.push(paint.dim(&format!("  … and {} bytes more", self.bytes_dropped)));
            }
        }
        lines.extend(self.ended.as_ref().map(|how| paint.dim(&excerpt::line(how))));
        lines
    }
}

/// The text of a fence that is all there is: it was for clients that read Markdown.
fn unfenced(text: &str) -> &str {
    let text = text.trim_end_matches('\n');
    let ticks = text.len() - text.trim_start_matches('`').len();
    let (fence, rest) = text.split_at(ticks);
    let inside = rest.split_once('\n').and_then(|(_, inside)| inside.strip_suffix(fence));
    let inside = inside.filter(|inside| ticks >= 3 && (inside.is_empty() || inside.ends_with('\n')));
    inside.filter(|inside| !inside.lines().any(|line| line.starts_with(fence))).unwrap_or(text)
}

fn dim(text: &str, paint: Paint) -> Vec<String> {
    excerpt::result(unfenced(text)).iter().map(|line| paint.dim(line)).collect()
}

fn diff(path: &str, old: Option<&str>, new: &str, paint: Paint) -> Vec<String> {
    let patch = excerpt::unified(old.unwrap_or_default(), new);
    let head = if old.is_some() { excerpt::line(path) } else { format!("{} (new)", excerpt::line(path)) };
    std::iter::once(head).chain(excerpt::diff(&patch, paint, DIFF_LINES_MAX)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn told(patches: &[Value]) -> CallCard {
        let mut card = CallCard::new("c");
        for patch in patches {
            card.patch(&serde_json::from_value(patch.clone()).unwrap());
        }
        card
    }

    fn meta(key: &str, value: Value) -> Value {
        json!({ "toolCallId": "c", "_meta": { key: value } })
    }

    #[test]
    fn output_of_the_agents_own_terminal_is_shown_in_both_spellings() {
        let card = told(&[
            json!({ "toolCallId": "c", "content": [{ "type": "terminal", "terminalId": "t" }],
                    "_meta": { "terminal_info": { "terminal_id": "t", "cwd": "/w" } } }),
            meta("terminal_output", json!({ "terminal_id": "t", "data": "one\ntw" })),
            meta("terminal_output_delta", json!({ "terminal_id": "t", "data": "o\n" })),
            meta("terminal_exit", json!({ "terminal_id": "t", "exit_code": 3, "signal": null })),
            json!({ "toolCallId": "c", "status": "failed" }),
        ]);
        assert_eq!(card.result(true, Paint { on: false }), ["  failed", "  one", "  two", "  exit code 3"]);
        let signal = told(&[meta("terminal_exit", json!({ "exit_code": null, "signal": "SIGTERM" }))]);
        assert_eq!(signal.result(true, Paint { on: false }), ["  killed by SIGTERM"]);
    }

    #[test]
    fn what_is_told_as_content_too_is_shown_once() {
        let content = json!([{ "type": "content", "content": { "type": "text", "text": "one" } }]);
        let card = told(&[
            meta("terminal_output", json!({ "data": "one" })),
            json!({ "toolCallId": "c", "status": "completed", "content": content }),
        ]);
        assert_eq!(card.result(true, Paint { on: false }), ["  one"]);
    }

    #[test]
    fn a_fence_around_all_of_it_is_not_shown() {
        for (text, want) in [
            ("```\none\n```", "one\n"),
            ("````console\n```\n````\n", "```\n"),
            ("```\n```", ""),
            ("```\na\n```\nb\n```\nc\n```", "```\na\n```\nb\n```\nc\n```"),
            ("plain ```", "plain ```"),
            ("```\nopen", "```\nopen"),
            ("``\nx\n``", "``\nx\n``"),
        ] {
            assert_eq!(unfenced(text), want);
        }
    }

    #[test]
    fn a_flood_is_kept_up_to_a_bound_and_counted() {
        let flood = meta("terminal_output_delta", json!({ "data": "ü".repeat(OUTPUT_BYTES_MAX / 2 - 1) }));
        let card = told(&[flood.clone(), flood.clone(), flood]);
        assert_eq!(card.output.len(), OUTPUT_BYTES_MAX);
        assert_eq!(card.bytes_dropped, 3 * (OUTPUT_BYTES_MAX - 2) - OUTPUT_BYTES_MAX);
        assert!(card.call.other.is_empty(), "nothing of it is kept twice");
    }
}
