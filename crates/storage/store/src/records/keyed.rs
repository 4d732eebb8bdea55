//! The record of a command's answer, for a repeat of it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vocab::{Body, ItemId, KeptReply, Keyed, NoteEntry, TurnId};

use super::queue::QueuedRecord;
use super::{Decoded, get, id, put};

#[derive(Serialize, Deserialize)]
struct KeyedRecord {
    key: Arc<str>,
    of: u64,
    reply: KeptReplyRecord,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptReplyRecord {
    Done,
    Started { turn: Arc<str> },
    Waiting { item: Arc<str>, position: usize },
    Interrupted { was_running: bool },
    Queue(Vec<QueuedRecord>),
}

pub(super) fn put_keyed(keyed: &Keyed, out: &mut Vec<u8>) -> &'static str {
    let reply = match &keyed.reply {
        KeptReply::Done => KeptReplyRecord::Done,
        KeptReply::Started { turn } => KeptReplyRecord::Started { turn: id(turn.as_str()) },
        KeptReply::Waiting { item, position } => {
            KeptReplyRecord::Waiting { item: id(item.as_str()), position: *position }
        }
        KeptReply::Interrupted { was_running } => KeptReplyRecord::Interrupted { was_running: *was_running },
        KeptReply::Queue(items) => KeptReplyRecord::Queue(items.iter().map(QueuedRecord::from).collect()),
    };
    put("keyed", &KeyedRecord { key: keyed.key.clone(), of: keyed.of, reply }, out)
}

pub(super) fn from_record(kind: &str, payload: &[u8]) -> Option<Decoded> {
    (kind == "keyed").then(|| {
        get(payload, |it: KeyedRecord| {
            let reply = match it.reply {
                KeptReplyRecord::Done => KeptReply::Done,
                KeptReplyRecord::Started { turn } => KeptReply::Started { turn: TurnId::new(turn) },
                KeptReplyRecord::Waiting { item, position } => KeptReply::Waiting { item: ItemId::new(item), position },
                KeptReplyRecord::Interrupted { was_running } => KeptReply::Interrupted { was_running },
                KeptReplyRecord::Queue(items) => KeptReply::Queue(items.into_iter().map(Into::into).collect()),
            };
            Body::Note(NoteEntry::Keyed(Keyed { key: it.key, of: it.of, reply }))
        })
    })
}
