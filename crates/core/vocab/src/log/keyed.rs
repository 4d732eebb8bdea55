//! Answers that are kept for whoever asks twice.

use std::sync::Arc;

use crate::{Item, ItemId, Reply, TurnId};

/// How long an answer is kept for a repeat of its command.
pub const KEY_MS_MAX: i64 = 24 * 60 * 60 * 1000;
/// Answers a session remembers; of more, the oldest are forgotten before their time.
pub const KEPT_ANSWERS_MAX: usize = 4096;
/// Bytes of a key.
pub const KEY_BYTES_MAX: usize = 256;

/// A command with a key was carried out; what it did stands directly before or behind this.
#[derive(Clone, PartialEq, Debug)]
pub struct Keyed {
    pub key: Arc<str>,
    /// A sum over what was asked for: the same key with something else is a mistake, not a repeat.
    pub of: u64,
    pub reply: KeptReply,
}

/// The answers that are kept.
#[derive(Clone, PartialEq, Debug)]
pub enum KeptReply {
    Done,
    Started { turn: TurnId },
    Waiting { item: ItemId, position: usize },
    Interrupted { was_running: bool },
    Queue(Vec<Item>),
}

impl KeptReply {
    pub fn of(reply: &Reply) -> Option<Self> {
        Some(match reply {
            Reply::Done => KeptReply::Done,
            Reply::Started { turn } => KeptReply::Started { turn: turn.clone() },
            Reply::Waiting { item, position } => KeptReply::Waiting { item: item.clone(), position: *position },
            Reply::Interrupted { was_running } => KeptReply::Interrupted { was_running: *was_running },
            Reply::Queue(items) => KeptReply::Queue(items.clone()),
            Reply::Again(first) => return KeptReply::of(first),
            _ => return None,
        })
    }
}

impl From<KeptReply> for Reply {
    fn from(kept: KeptReply) -> Self {
        match kept {
            KeptReply::Done => Reply::Done,
            KeptReply::Started { turn } => Reply::Started { turn },
            KeptReply::Waiting { item, position } => Reply::Waiting { item, position },
            KeptReply::Interrupted { was_running } => Reply::Interrupted { was_running },
            KeptReply::Queue(items) => Reply::Queue(items),
        }
    }
}
