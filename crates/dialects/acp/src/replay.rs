//! A saved session told again, in the order it happened.

use std::sync::Arc;

use acp_types::{MessageChunk, Other, SessionUpdate, ToolCallStatus};
use vocab::{
    Block, Body, BranchEntry, Call, CallEntry, Entry, MessageEnd, Part, SessionId, SettingEntry, TurnId, UserFrom,
};

use crate::bounded::pieces;
use crate::content;
use crate::frames::{AGENT_MESSAGE, AGENT_THOUGHT, AcpWriter, USER_MESSAGE, past_text};
use crate::outbound::plan;
use crate::session_view::{SessionView, Spoken, reply_id, turn_or_place, user_message_id};
use crate::tools::{CallStyle, Cards};

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

/// One entry; `reply`: which of its turn it is, should it be one; `untold`: the call that ends with it and was not told. Texts
/// are most of it, so they are written by hand.
pub(crate) fn tell_entry(
    pen: &mut AcpWriter<'_>,
    view: &SessionView,
    style: CallStyle,
    entry: &Entry,
    (reply, untold): (u32, Option<&Call>),
) {
    let (session, cards) = (&view.session, Cards { style, cwd: &view.cwd });
    match &entry.body {
        Body::User { parts, from, .. } if !matches!(from, UserFrom::Reminder | UserFrom::Extension) => {
            tell_user(pen, session, entry.seq, parts);
        }
        Body::Assistant { turn, message } => {
            let none = TurnId::from("");
            let named = turn_or_place(turn.as_ref(), session, entry.seq);
            let id = |what| reply_id(&named, reply, what);
            for block in &message.blocks {
                match block {
                    Block::Redacted(_) => {}
                    Block::Thinking { text, .. } if text.is_empty() => {}
                    Block::Thinking { text, .. } => tell_text(pen, session, AGENT_THOUGHT, &id(Spoken::Thought), text),
                    Block::Text(text) => tell_text(pen, session, AGENT_MESSAGE, &id(Spoken::Text), text),
                    Block::Call(call) => {
                        let turn = turn.as_ref().unwrap_or(&none);
                        pen.update(session, cards.announced(turn, call, ToolCallStatus::InProgress));
                    }
                }
            }
        }
        Body::Call(CallEntry::Ended { turn, result }) => {
            if let Some(call) = untold {
                pen.update(session, cards.announced(turn, call, ToolCallStatus::Pending));
            }
            pen.update(session, cards.finished(turn, result));
        }
        Body::Setting(SettingEntry::Todos { phases }) => pen.update(session, plan(phases)),
        _ => {}
    }
}

/// The calls of a reply whose text was told.
pub(crate) fn tell_calls(pen: &mut AcpWriter<'_>, view: &SessionView, style: CallStyle, entry: &Entry) {
    let Body::Assistant { turn, message } = &entry.body else { return };
    let (none, cards) = (TurnId::from(""), Cards { style, cwd: &view.cwd });
    for block in &message.blocks {
        if let Block::Call(call) = block {
            let turn = turn.as_ref().unwrap_or(&none);
            pen.update(&view.session, cards.announced(turn, call, ToolCallStatus::InProgress));
        }
    }
}

fn tell_text(pen: &mut AcpWriter<'_>, session: &SessionId, tag: &str, message: &str, text: &str) {
    pieces(text).for_each(|piece| past_text(pen, session, tag, message, piece));
}

/// What a person said.
pub(crate) fn tell_user(pen: &mut AcpWriter<'_>, session: &SessionId, seq: u64, parts: &[Part]) {
    let id = user_message_id(session, seq);
    for part in parts {
        match part {
            Part::Text(text) => tell_text(pen, session, USER_MESSAGE, &id, text),
            Part::Image(_) => {
                let message_id = Some(id.clone());
                let chunk = MessageChunk { content: content::block(part), message_id, other: Other::new() };
                pen.update(session, SessionUpdate::UserMessageChunk(chunk));
            }
        }
    }
}
