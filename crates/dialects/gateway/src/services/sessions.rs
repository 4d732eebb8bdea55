//! Sessions as lists and as a history.

use std::sync::Arc;

use vocab::{Body, CallEntry, CallId, Entry, MessageEnd, SessionId, UserFrom, parts_text};

use super::system::LaneState;
use super::{ServiceAnswer, ServiceCall, asks, told};
use crate::methods::OwnPlan;
use crate::own::GatewayRefusal;
use crate::results::SessionConfig;
use crate::shape::*;
use crate::{Gateway, shape, tool_names, words};

shape! { params
    /// Those with the newest message first.
    ListParams {
        /// Also those that nobody has touched since the process began.
        "includePersisted" include_persisted: bool = false,
        /// What stands before the first colon of their ids; `ws` where there is none.
        "frontend" frontend: Option<Text<1, 200>>,
        "limit" limit: Count<1, 500> = Count(50),
        "offset" offset: Count<0, { i64::MAX }> = Count(0),
        /// Only those whose id or title has this, whatever the case of its letters.
        "query" query: Option<Text<1, 200>>,
        /// Those that work or worked for a call of this session, which are listed only so.
        "childOf" child_of: Option<SessionName>,
    }
}
shape! { params
    /// A session and the newest messages of it.
    GetParams {
        "sessionId" session_id: SessionName,
        "historyLimit" history_limit: Count<1, 5000> = Count(500),
        /// Only messages before this entry of the log.
        "before" before: Option<Count<1, { i64::MAX }>>,
        /// With what tools gave.
        "includeTools" include_tools: bool = false,
    }
}
shape! { result
    /// What its lane does.
    SessionLane { "state" state: LaneState, "depth" depth: u64, "runId" run_id: Option<String> }
}
shape! { result
    /// The call that a session works or worked for, and whose it is.
    SessionParent { "sessionId" session_id: String, "callId" call_id: Option<String> }
}
shape! { result
    /// A session.
    SessionRow {
        "id" id: String,
        "frontend" frontend: String,
        "userId" user_id: String,
        "messageCount" message_count: u64,
        "lastMessageAt" last_message_at: Nullable<i64>,
        "config" config: SessionConfig,
        "title" title: Option<Arc<str>>,
        "lane" lane: SessionLane,
        /// The directory that it works in.
        "cwd" cwd: Option<String>,
        "model" model: Option<Arc<str>>,
        "createdAt" created_at: Option<i64>,
        /// What it has used, by the prices of the day; absent where one was not known. Sub-agents have sessions of their own.
        "costUsd" cost_usd: Option<f64>,
        "parent" parent: Option<SessionParent>,
    }
}
shape! { result
    /// `total`: before limit and offset.
    ListResult { "sessions" sessions: Vec<SessionRow>, "total" total: u64 }
}
words! { /// Who said it.
    HistoryRole { User = "user", Assistant = "assistant", Tool = "tool" }
}
shape! { result
    /// A message.
    HistoryRow {
        "role" role: HistoryRole,
        "content" content: String,
        "at" at: i64,
        /// The entry of the log that it is.
        "seq" seq: u64,
        /// It was cut short.
        "interrupted" interrupted: Option<bool>,
        "tool" tool: Option<String>,
    }
}
shape! { result
    /// A session and what was said in it, oldest first.
    GetResult {
        "id" id: String,
        "createdAt" created_at: String,
        "lastActiveAt" last_active_at: String,
        "history" history: Vec<HistoryRow>,
        "frontend" frontend: String,
        "userId" user_id: String,
        "messageCount" message_count: u64,
        /// There are older ones.
        "historyTruncated" history_truncated: bool,
        "config" config: SessionConfig,
        "lane" lane: SessionLane,
        "title" title: Option<Arc<str>>,
    }
}
shape! { result
    /// `live`: it is in memory.
    SessionNews {
        "sessionId" session_id: String,
        "live" live: bool,
        /// Only where it is true: it is gone for good, and no list has it any more.
        "deleted" deleted: Option<bool>,
        "title" title: Option<Arc<str>>,
        "lastSeq" last_seq: Option<u64>,
        /// It is a sub-agent: for whose call it works.
        "parent" parent: Option<SubagentOf>,
    }
}
shape! { result
    /// The session and the call that a sub-agent works for.
    SubagentOf { "sessionId" session_id: String, "callId" call_id: String }
}
impl From<&(SessionId, CallId)> for SubagentOf {
    fn from((session, call): &(SessionId, CallId)) -> Self {
        Self { session_id: session.to_string(), call_id: call.to_string() }
    }
}

/// `telegram:4711` is of the frontend `telegram` and the user `4711`; without a colon it is of `ws`.
pub fn frontend_and_user(session: &SessionId) -> (&str, &str) {
    session.as_str().split_once(':').unwrap_or(("ws", session.as_str()))
}

/// What is wanted of a history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HistoryWish {
    pub limit: usize,
    /// Only entries before this one.
    pub before: Option<u64>,
    pub tools: bool,
}

impl HistoryWish {
    /// Whether it is a message that is wanted.
    pub fn takes(&self, entry: &Entry) -> bool {
        self.before.is_none_or(|before| entry.seq < before) && message(entry, self.tools).is_some()
    }
}

/// The newest messages of a conversation, oldest first, and whether there are older ones.
pub fn history(entries: &[Arc<Entry>], wish: HistoryWish) -> (Vec<HistoryRow>, bool) {
    let wanted = entries.iter().rev().filter(|entry| wish.takes(entry));
    let mut rows = wanted.filter_map(|entry| message(entry, wish.tools));
    let mut newest: Vec<HistoryRow> = rows.by_ref().take(wish.limit).collect();
    newest.reverse();
    (newest, rows.next().is_some())
}

fn message(entry: &Entry, tools: bool) -> Option<HistoryRow> {
    let row = |role, content, interrupted: bool, tool| HistoryRow {
        role,
        content,
        at: entry.at_ms,
        seq: entry.seq,
        interrupted: interrupted.then_some(true),
        tool,
    };
    match &entry.body {
        Body::User { parts, from: UserFrom::Prompt | UserFrom::Steer | UserFrom::FollowUp, .. } => {
            Some(row(HistoryRole::User, parts_text(parts), false, None))
        }
        Body::Assistant { message, .. } => {
            let (text, is_cut) = (message.text(), !matches!(message.end, MessageEnd::Finished(_)));
            // One that only calls tools says nothing.
            (!text.is_empty() || is_cut).then(|| row(HistoryRole::Assistant, text, is_cut, None))
        }
        Body::Call(CallEntry::Ended { result, .. }) if tools => {
            let tool = tool_names::TOOL_NAMES.show(&result.tool).to_string();
            Some(row(HistoryRole::Tool, result.text(), false, Some(tool)))
        }
        _ => None,
    }
}

pub(crate) fn list(_: &Gateway, params: ListParams) -> Result<OwnPlan, GatewayRefusal> {
    Ok(OwnPlan::Call(asks(ServiceCall::Sessions(params))))
}
pub(crate) fn get(gateway: &Gateway, params: GetParams) -> Result<OwnPlan, GatewayRefusal> {
    let session = params.session_id.0;
    let is_own = gateway.is_attached_to(&session);
    let (limit, before) = (params.history_limit.size(), params.before.map(|seq| seq.number()));
    let wish = HistoryWish { limit, before, tools: params.include_tools };
    Ok(OwnPlan::Call(asks(ServiceCall::Session { session, is_own, wish })))
}

told!(list_told, ServiceAnswer::Sessions(it) => it, ListResult);
told!(get_told, ServiceAnswer::Session(it) => *it, GetResult);
