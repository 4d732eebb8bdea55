//! The message table: every message of both directions with its members, in the order of the wire. What is decoded,
//! what is refused and by which name, and the published schema all come from here.
//!
//! serde's derive is not asked about inbound messages: it cannot name the offending member, and it takes arrays for
//! structs and `{"allow":null}` for `"allow"`, which a closed schema must refuse.

/// What a member may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    Text,
    TextOrNull,
    Null,
    Flag,
    /// An integer from 0.
    Count,
    /// A number from 0.
    Number,
    /// 0 to 100.
    Percent,
    Object,
    ObjectOrNull,
    Texts,
    /// `[[tool, target], ...]`
    Pairs,
    OneOf(&'static [&'static str]),
    Exactly(u64),
    /// `permission_request.details`
    Details,
}

pub(crate) const MODES: &[&str] = &["read-only", "workspace-write", "danger-full-access", "prompt", "plan"];
const RUNGS: &[&str] = &["read-only", "workspace-write", "danger-full-access"];
const DECISIONS: &[&str] = &["allow", "deny"];
const ORIGINS: &[&str] = &["local", "remote", "unknown"];
const STOPS: &[&str] = &["end_turn", "max_tokens", "max_iterations", "refusal", "interrupted", "error"];

#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) required: bool,
}

/// The `session` member of protocol 2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Belongs {
    /// To one session: a label.
    Session,
    /// To none: null.
    Process,
    Either,
}

#[derive(Debug)]
pub(crate) struct MessageRow {
    pub(crate) name: &'static str,
    pub(crate) members: &'static [Member],
    pub(crate) belongs: Belongs,
    /// The protocols that have it in this form.
    pub(crate) protocols: &'static [u8],
    /// At least this many members besides `type` and `session`.
    pub(crate) members_min: usize,
}

const fn must(name: &'static str, shape: Shape) -> Member {
    Member { name, shape, required: true }
}
const fn may(name: &'static str, shape: Shape) -> Member {
    Member { name, shape, required: false }
}
const fn both(name: &'static str, members: &'static [Member]) -> MessageRow {
    MessageRow { name, members, belongs: Belongs::Session, protocols: &[1, 2], members_min: 0 }
}
const fn only(protocol: &'static [u8], message: MessageRow) -> MessageRow {
    MessageRow { protocols: protocol, ..message }
}
const fn of(belongs: Belongs, message: MessageRow) -> MessageRow {
    MessageRow { belongs, ..message }
}

pub(crate) const INBOUND: &[MessageRow] = &[
    both("prompt", &[must("text", Shape::Text)]),
    both("slash", &[must("command", Shape::Text), may("args", Shape::Text)]),
    both("interrupt", &[]),
    both(
        "permission_response",
        &[must("request_id", Shape::Text), must("decision", Shape::OneOf(DECISIONS)), may("reason", Shape::TextOrNull)],
    ),
    of(Belongs::Process, both("shutdown", &[])),
    only(
        &[2],
        both(
            "open",
            &[may("workspace", Shape::TextOrNull), may("model", Shape::TextOrNull), may("resume", Shape::TextOrNull)],
        ),
    ),
    only(&[2], both("close", &[])),
];

macro_rules! ready {
    ($protocol:literal) => {
        both(
            "ready",
            &[
                must("protocol", Shape::Exactly($protocol)),
                must("version", Shape::Text),
                must("session_id", Shape::Text),
                must("model", Shape::Text),
                must("mode", Shape::OneOf(MODES)),
                must("tools", Shape::Texts),
                must("context_window", Shape::Count),
                must("max_tokens", Shape::Count),
                must("gadgets", Shape::Texts),
            ],
        )
    };
}

pub(crate) const OUTBOUND: &[MessageRow] = &[
    only(&[1], ready!(1)),
    only(&[2], ready!(2)),
    // The first line of protocol 2: the process is up, no session yet.
    only(
        &[2],
        of(Belongs::Process, both("ready", &[must("protocol", Shape::Exactly(2)), must("version", Shape::Text)])),
    ),
    both("turn_started", &[must("turn_id", Shape::Text)]),
    both("text_delta", &[must("turn_id", Shape::Text), must("delta", Shape::Text)]),
    both(
        "tool_start",
        &[
            must("turn_id", Shape::Text),
            must("tool_id", Shape::Text),
            must("name", Shape::Text),
            must("input", Shape::Object),
        ],
    ),
    both(
        "tool_result",
        &[
            must("turn_id", Shape::Text),
            must("tool_id", Shape::Text),
            must("output", Shape::Text),
            must("is_error", Shape::Flag),
            must("duration_s", Shape::Number),
        ],
    ),
    both(
        "permission_request",
        &[
            must("request_id", Shape::Text),
            must("tool", Shape::Text),
            must("active_mode", Shape::OneOf(MODES)),
            must("required_mode", Shape::OneOf(RUNGS)),
            must("details", Shape::Details),
        ],
    ),
    both(
        "turn_complete",
        &[
            must("turn_id", Shape::Text),
            must("stop_reason", Shape::OneOf(STOPS)),
            must("iterations", Shape::Count),
            must("input_tokens", Shape::Count),
            must("output_tokens", Shape::Count),
            must("mutations", Shape::Pairs),
        ],
    ),
    both(
        "slash_result",
        &[
            must("command", Shape::Text),
            must("text", Shape::Text),
            must("data", Shape::ObjectOrNull),
            must("clear_session", Shape::Flag),
            must("exit", Shape::Flag),
        ],
    ),
    MessageRow {
        members_min: 1,
        ..both(
            "state_changed",
            &[
                may("model", Shape::Text),
                may("mode", Shape::OneOf(MODES)),
                may("context_pct", Shape::Percent),
                may("context_window", Shape::Count),
                may("gadgets", Shape::Texts),
            ],
        )
    },
    of(
        Belongs::Either,
        both(
            "error",
            &[
                must("code", Shape::Text),
                must("message", Shape::Text),
                must("origin", Shape::OneOf(ORIGINS)),
                may("turn_id", Shape::Text),
            ],
        ),
    ),
    only(&[2], both("closed", &[])),
];
