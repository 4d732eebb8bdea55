//! A line as JSON: what stands in a session file and what `get_entries` answers.

use super::{Line, LineKind};
use crate::messages::{member, natural};

/// What `fromId` says where a branch began before the first entry.
pub(super) const ROOT: &str = "root";

impl Line {
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
        member(out, "timestamp", &iso8601(self.at_ms));
        match &self.kind {
            LineKind::Message(said) => {
                out.extend_from_slice(b",\"message\":");
                out.extend_from_slice(said.json.as_bytes());
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

/// A time as the family writes it: `2026-11-15T22:31:51.876Z`.
pub fn iso8601(at_ms: i64) -> String {
    const DAY_MS: i64 = 86_400_000;
    let (days, ms) = (at_ms.div_euclid(DAY_MS), at_ms.rem_euclid(DAY_MS));
    // Days are counted in eras of 400 years that begin on the 1st of March, so that a leap day ends a year.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second, ms) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60, ms % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}
