//! Records of what waits in the queue, and of what became of it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vocab::{Body, Item, ItemId, Principal, QueueEntry};

use super::content::{PartRecord, into_all};
use super::enums::{Delivery, ItemEnd, SettleReason};
use super::{Decoded, get, id, put};

/// Without the sender: a peer does not survive a restart.
#[derive(Serialize, Deserialize)]
pub(super) struct QueuedRecord {
    id: Arc<str>,
    parts: Vec<PartRecord>,
    delivery: Delivery,
    at_ms: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until_ms: Option<i64>,
}
#[derive(Serialize, Deserialize)]
struct SettledRecord {
    item: Arc<str>,
    end: ItemEnd,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<SettleReason>,
}

impl From<&Item> for QueuedRecord {
    fn from(item: &Item) -> Self {
        QueuedRecord {
            id: id(item.id.as_str()),
            parts: into_all(&item.parts),
            delivery: item.delivery.into(),
            at_ms: item.at_ms,
            by: item.by.as_ref().map(|by| id(by.as_str())),
            until_ms: item.until_ms,
        }
    }
}

impl From<QueuedRecord> for Item {
    fn from(it: QueuedRecord) -> Self {
        Item {
            id: ItemId::new(it.id),
            parts: into_all(it.parts),
            delivery: it.delivery.into(),
            at_ms: it.at_ms,
            sender: None,
            by: it.by.as_deref().map(Principal::logged),
            until_ms: it.until_ms,
        }
    }
}

pub(super) fn put_queue(entry: &QueueEntry, out: &mut Vec<u8>) -> &'static str {
    match entry {
        QueueEntry::Queued(item) => put("queued", &QueuedRecord::from(item), out),
        QueueEntry::Settled { item, end, why } => {
            let record = SettledRecord { item: id(item.as_str()), end: (*end).into(), why: why.map(Into::into) };
            put("settled", &record, out)
        }
    }
}

pub(super) fn from_record(kind: &str, payload: &[u8]) -> Option<Decoded> {
    Some(match kind {
        "queued" => get(payload, |it: QueuedRecord| Body::Queue(QueueEntry::Queued(it.into()))),
        "settled" => get(payload, |it: SettledRecord| {
            let why = it.why.map(Into::into);
            Body::Queue(QueueEntry::Settled { item: ItemId::new(it.item), end: it.end.into(), why })
        }),
        _ => return None,
    })
}
