//! Records of a session's opening and of what is said in it.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vocab::{AssistantMessage, Body, CallId, Part, SessionId, TurnId, UserFrom};

use super::content::{MessageRecord, PartRecord, PathText, into_all};
use super::{Decoded, enums, get, put};

#[derive(Serialize, Deserialize)]
pub(super) struct OpenedRecord {
    pub(super) workspace: PathText,
    pub(super) model: Arc<str>,
    pub(super) mode: enums::Mode,
    pub(super) forked_from: Option<(Arc<str>, u64)>,
    /// Session and call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) child_of: Option<(Arc<str>, Arc<str>)>,
}
#[derive(Serialize, Deserialize)]
struct UserRecord {
    turn: Option<Arc<str>>,
    parts: Vec<PartRecord>,
    from: enums::UserFrom,
}
#[derive(Serialize, Deserialize)]
struct AssistantRecord {
    turn: Option<Arc<str>>,
    message: MessageRecord,
}

pub(super) fn put_opened(record: &OpenedRecord, out: &mut Vec<u8>) -> &'static str {
    put("opened", record, out)
}

pub(super) fn put_user(turn: Option<&TurnId>, parts: &[Part], from: UserFrom, out: &mut Vec<u8>) -> &'static str {
    let turn = turn.map(|turn| turn.as_str().into());
    put("user", &UserRecord { turn, parts: into_all(parts), from: from.into() }, out)
}

pub(super) fn put_assistant(turn: Option<&TurnId>, message: &AssistantMessage, out: &mut Vec<u8>) -> &'static str {
    let turn = turn.map(|turn| turn.as_str().into());
    put("assistant", &AssistantRecord { turn, message: message.into() }, out)
}

pub(super) fn from_record(kind: &str, payload: &[u8]) -> Option<Decoded> {
    Some(match kind {
        "opened" => get(payload, |it: OpenedRecord| Body::Opened {
            workspace: PathBuf::from(it.workspace),
            model: it.model,
            mode: it.mode.into(),
            forked_from: it.forked_from.map(|(session, seq)| (SessionId::new(session), seq)),
            child_of: it.child_of.map(|(session, call)| (SessionId::new(session), CallId::new(call))),
        }),
        "user" => get(payload, |it: UserRecord| Body::User {
            turn: it.turn.map(TurnId::new),
            parts: into_all(it.parts),
            from: it.from.into(),
        }),
        "assistant" => get(payload, |it: AssistantRecord| Body::Assistant {
            turn: it.turn.map(TurnId::new),
            message: it.message.into(),
        }),
        _ => return None,
    })
}
