//! Records of what the model sees of a log, and of where its active branch goes on.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vocab::{Body, BranchEntry, Compaction};

use super::content::UsageRecord;
use super::enums::CompactReason;
use super::{Decoded, get, put};

#[derive(Serialize, Deserialize)]
struct CompactedRecord {
    reason: CompactReason,
    summary: Arc<str>,
    first_kept: u64,
    tokens_before: u64,
    tokens_after: u64,
    messages_before: u64,
    messages_after: u64,
    usage: UsageRecord,
    #[serde(default)]
    model: Arc<str>,
}
#[derive(Serialize, Deserialize)]
struct MovedRecord {
    to: u64,
}
#[derive(Serialize, Deserialize)]
struct RestoredRecord {
    files: Vec<Arc<str>>,
}
#[derive(Serialize, Deserialize)]
struct BranchSummaryRecord {
    from: Option<u64>,
    summary: Arc<str>,
}

impl From<&Compaction> for CompactedRecord {
    fn from(it: &Compaction) -> Self {
        Self {
            reason: it.reason.into(),
            summary: it.summary.clone(),
            first_kept: it.first_kept,
            tokens_before: it.tokens_before,
            tokens_after: it.tokens_after,
            messages_before: it.messages_before,
            messages_after: it.messages_after,
            usage: (&it.usage).into(),
            model: it.model.clone(),
        }
    }
}
impl From<CompactedRecord> for Compaction {
    fn from(it: CompactedRecord) -> Self {
        Self {
            reason: it.reason.into(),
            summary: it.summary,
            first_kept: it.first_kept,
            tokens_before: it.tokens_before,
            tokens_after: it.tokens_after,
            messages_before: it.messages_before,
            messages_after: it.messages_after,
            usage: it.usage.into(),
            model: it.model,
        }
    }
}

pub(super) fn put_branch(entry: &BranchEntry, out: &mut Vec<u8>) -> &'static str {
    match entry {
        BranchEntry::Compacted(compaction) => put("compacted", &CompactedRecord::from(compaction), out),
        BranchEntry::Moved { to } => put("moved", &MovedRecord { to: *to }, out),
        BranchEntry::Restored { files } => put("restored", &RestoredRecord { files: files.clone() }, out),
        BranchEntry::Summary { from, summary } => {
            put("branch_summary", &BranchSummaryRecord { from: *from, summary: summary.clone() }, out)
        }
    }
}

pub(super) fn from_record(kind: &str, payload: &[u8]) -> Option<Decoded> {
    Some(match kind {
        "compacted" => get(payload, |it: CompactedRecord| Body::Branch(BranchEntry::Compacted(it.into()))),
        "moved" => get(payload, |it: MovedRecord| Body::Branch(BranchEntry::Moved { to: it.to })),
        "restored" => get(payload, |it: RestoredRecord| Body::Branch(BranchEntry::Restored { files: it.files })),
        "branch_summary" => get(payload, |it: BranchSummaryRecord| {
            Body::Branch(BranchEntry::Summary { from: it.from, summary: it.summary })
        }),
        _ => return None,
    })
}
