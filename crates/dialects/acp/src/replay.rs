//! A saved session told again, in the order it happened.

use std::sync::Arc;

use acp_types::{ContentBlock, MessageChunk, Other, SessionUpdate, ToolCallStatus};
use vocab::{Block, Body, BranchEntry, CallEntry, Entry, MessageEnd, SettingEntry, TurnId, UserFrom};

use crate::content;
use crate::frames::AcpWriter;
use crate::outbound::plan;
use crate::session_view::SessionView;
use crate::tools::{CallStyle, Cards};

pub(crate) fn tell<'e>(
    pen: &mut AcpWriter<'_>,
    view: &SessionView,
    style: CallStyle,
    entries: impl Iterator<Item = &'e Arc<Entry>>,
) {
    for entry in entries {
        updates(view, style, entry).into_iter().for_each(|update| pen.update(&view.session, update));
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

fn updates(view: &SessionView, style: CallStyle, entry: &Entry) -> Vec<SessionUpdate> {
    let cards = Cards { style, cwd: &view.cwd };
    // Messages of the past are named by their places in the log.
    let message = format!("{}-{}", view.session, entry.seq);
    let chunk = |content| MessageChunk { content, message_id: Some(message.clone()), other: Other::new() };
    match &entry.body {
        Body::User { parts, from, .. } if !matches!(from, UserFrom::Reminder | UserFrom::Extension) => {
            parts.iter().map(|part| SessionUpdate::UserMessageChunk(chunk(content::block(part)))).collect()
        }
        Body::Assistant { turn, message: said } => {
            let block = |block: &Block| match (block, turn) {
                (Block::Redacted(_), _) => None,
                (Block::Thinking { text, .. }, _) if text.is_empty() => None,
                (Block::Thinking { text, .. }, _) => {
                    Some(SessionUpdate::AgentThoughtChunk(chunk(ContentBlock::text(&**text))))
                }
                (Block::Text(text), _) => Some(SessionUpdate::AgentMessageChunk(chunk(ContentBlock::text(&**text)))),
                (Block::Call(call), turn) => {
                    let none = TurnId::from("");
                    let turn = turn.as_ref().unwrap_or(&none);
                    Some(cards.announced(turn, call, ToolCallStatus::InProgress))
                }
            };
            said.blocks.iter().filter_map(block).collect()
        }
        Body::Call(CallEntry::Ended { turn, result }) => vec![cards.finished(turn, result)],
        Body::Setting(SettingEntry::Todos { phases }) => vec![plan(phases)],
        _ => Vec::new(),
    }
}
