//! A saved session told again, in the order it happened.

use std::sync::Arc;

use serde_json::{Value, json};
use vocab::{Block, Body, BranchEntry, CallEntry, Entry, MessageEnd, SettingEntry, TurnId, UserFrom};

use crate::content;
use crate::events::plan;
use crate::frames::Pen;
use crate::seat::Seat;
use crate::tools::{Cards, Manner};

pub(crate) fn tell(pen: &mut Pen<'_>, seat: &Seat, manner: Manner, entries: &[Arc<Entry>]) {
    for entry in entries {
        updates(seat, manner, entry).into_iter().for_each(|update| pen.update(&seat.session, update));
    }
}

/// How full the context was: what the last whole reply counted, or what a compaction has left of that.
pub(crate) fn context_tokens(entries: &[Arc<Entry>]) -> u64 {
    let count = |entry: &Arc<Entry>| match &entry.body {
        Body::Assistant { message, .. } if matches!(message.end, MessageEnd::Finished(_)) => {
            Some(message.usage.context()).filter(|tokens| *tokens > 0)
        }
        Body::Branch(BranchEntry::Compacted(done)) => Some(done.tokens_after),
        _ => None,
    };
    entries.iter().rev().find_map(count).unwrap_or_default()
}

fn updates(seat: &Seat, manner: Manner, entry: &Entry) -> Vec<Value> {
    let cards = Cards { manner, cwd: &seat.cwd };
    // Messages of the past are named by their places in the log.
    let message = format!("{}-{}", seat.session, entry.seq);
    let chunk = |tag: &str, content| json!({ "sessionUpdate": tag, "content": content, "messageId": message });
    match &entry.body {
        Body::User { parts, from, .. } if !matches!(from, UserFrom::Reminder | UserFrom::Extension) => {
            parts.iter().map(|part| chunk("user_message_chunk", content::block(part))).collect()
        }
        Body::Assistant { turn, message: said } => {
            let block = |block: &Block| match (block, turn) {
                (Block::Redacted(_), _) => None,
                (Block::Thinking { text, .. }, _) if text.is_empty() => None,
                (Block::Thinking { text, .. }, _) => Some(chunk("agent_thought_chunk", content::text(text))),
                (Block::Text(text), _) => Some(chunk("agent_message_chunk", content::text(text))),
                (Block::Call(call), turn) => {
                    let none = TurnId::from("");
                    let turn = turn.as_ref().unwrap_or(&none);
                    Some(cards.announced(turn, call, "in_progress"))
                }
            };
            said.blocks.iter().filter_map(block).collect()
        }
        Body::Call(CallEntry::Ended { turn, result }) => vec![cards.finished(turn, result)],
        Body::Setting(SettingEntry::Todos { phases }) => vec![plan(phases)],
        _ => Vec::new(),
    }
}
