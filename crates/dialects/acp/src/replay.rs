//! A saved session told again, in the order it happened.

use std::sync::Arc;

use acp_types::{MessageChunk, Other, SessionUpdate, ToolCallStatus};
use vocab::{Block, Body, BranchEntry, CallEntry, Entry, MessageEnd, Part, SettingEntry, TurnId, UserFrom};

use crate::content;
use crate::frames::{AGENT_MESSAGE, AGENT_THOUGHT, AcpWriter, USER_MESSAGE, past_text};
use crate::outbound::plan;
use crate::session_view::SessionView;
use crate::tools::{CallStyle, Cards};

pub(crate) fn tell(pen: &mut AcpWriter<'_>, view: &SessionView, style: CallStyle, entries: &[Arc<Entry>]) {
    let cards = Cards { style, cwd: &view.cwd };
    for entry in entries {
        tell_entry(pen, view, &cards, entry);
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

/// Messages of the past are named by their places in the log. Texts are most of it, so they are written by hand.
fn tell_entry(pen: &mut AcpWriter<'_>, view: &SessionView, cards: &Cards<'_>, entry: &Entry) {
    let session = &view.session;
    match &entry.body {
        Body::User { parts, from, .. } if !matches!(from, UserFrom::Reminder | UserFrom::Extension) => {
            for part in parts {
                match part {
                    Part::Text(text) => past_text(pen, session, USER_MESSAGE, entry.seq, text),
                    Part::Image(_) => {
                        let message_id = Some(format!("{session}-{}", entry.seq));
                        let chunk = MessageChunk { content: content::block(part), message_id, other: Other::new() };
                        pen.update(session, SessionUpdate::UserMessageChunk(chunk));
                    }
                }
            }
        }
        Body::Assistant { turn, message } => {
            let none = TurnId::from("");
            for block in &message.blocks {
                match block {
                    Block::Redacted(_) => {}
                    Block::Thinking { text, .. } if text.is_empty() => {}
                    Block::Thinking { text, .. } => past_text(pen, session, AGENT_THOUGHT, entry.seq, text),
                    Block::Text(text) => past_text(pen, session, AGENT_MESSAGE, entry.seq, text),
                    Block::Call(call) => {
                        let turn = turn.as_ref().unwrap_or(&none);
                        pen.update(session, cards.announced(turn, call, ToolCallStatus::InProgress));
                    }
                }
            }
        }
        Body::Call(CallEntry::Ended { turn, result }) => pen.update(session, cards.finished(turn, result)),
        Body::Setting(SettingEntry::Todos { phases }) => pen.update(session, plan(phases)),
        _ => {}
    }
}
