//! A line as JSON: what stands in a session file and what `get_entries` answers.

use super::{LineKind, TranscriptLine};
use crate::messages::{member, natural};

/// What `fromId` says where a branch began before the first entry.
pub(super) const ROOT: &str = "root";

impl TranscriptLine {
    /// The whole line without its line end.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"type\":\"");
        out.extend_from_slice(self.kind.type_name().as_bytes());
        out.extend_from_slice(b"\"");
        member(out, "id", &self.name);
        match &self.parent {
            Some(parent) => member(out, "parentId", parent),
            None => out.extend_from_slice(b",\"parentId\":null"),
        }
        member(out, "timestamp", &vocab::iso8601(self.at_ms));
        match &self.kind {
            LineKind::Message(message) => {
                out.extend_from_slice(b",\"message\":");
                out.extend_from_slice(message.json.as_bytes());
            }
            LineKind::ModelChange { provider, id } => {
                member(out, "provider", provider);
                member(out, "modelId", id);
                // The older of the family read this one.
                member(out, "model", &format!("{provider}/{id}"));
            }
            LineKind::ThinkingChange { level } => member(out, "thinkingLevel", level.as_deref().unwrap_or("off")),
            LineKind::Compaction { summary, first_kept, tokens_before } => {
                member(out, "summary", summary);
                member(out, "firstKeptEntryId", first_kept);
                out.extend_from_slice(b",\"tokensBefore\":");
                natural(out, *tokens_before);
            }
            LineKind::BranchSummary { from, summary } => {
                member(out, "fromId", from.as_deref().unwrap_or(ROOT));
                member(out, "summary", summary);
            }
            LineKind::Label { target, label } => {
                member(out, "targetId", target);
                if let Some(label) = label {
                    member(out, "label", label);
                }
            }
            LineKind::Title { name } => member(out, "name", name),
        }
        out.push(b'}');
    }
}

impl LineKind {
    fn type_name(&self) -> &'static str {
        match self {
            LineKind::Message(_) => "message",
            LineKind::ModelChange { .. } => "model_change",
            LineKind::ThinkingChange { .. } => "thinking_level_change",
            LineKind::Compaction { .. } => "compaction",
            LineKind::BranchSummary { .. } => "branch_summary",
            LineKind::Label { .. } => "label",
            LineKind::Title { .. } => "session_info",
        }
    }
}
