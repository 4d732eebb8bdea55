//! What a store knows of all sessions together: who did what, and what was used. Kept in step with the logs, and longer than
//! they are: a session that is deleted was still paid for.

use std::sync::Arc;

use crate::{Principal, SessionId, Usage};

/// Milliseconds of a day; days are UTC's.
pub const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The day of a moment, counted from 1970.
pub fn day_of(at_ms: i64) -> i64 {
    at_ms.div_euclid(DAY_MS)
}

/// One thing that somebody did. What they said is in the session's log and not here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuditLine {
    pub number: u64,
    pub at_ms: i64,
    pub by: Arc<str>,
    pub session: SessionId,
    /// The entry that says it, while there is one.
    pub seq: Option<u64>,
    /// `prompt`, `answer`, `mode`, `delete` and the like.
    pub action: Arc<str>,
    /// Such as the mode that was set.
    pub detail: Option<Arc<str>>,
    /// The message on whose behalf it was done, where one was.
    pub request: Option<Arc<str>>,
}

/// Something that somebody did to all sessions together, and that no log says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deed {
    pub by: Principal,
    /// `config.set` and the like.
    pub action: &'static str,
    /// Such as the setting; never a secret.
    pub detail: Option<Arc<str>>,
}

/// Lines of the audit given at once, unless fewer are asked for.
pub const AUDIT_LINES_MAX: usize = 10_000;

/// Which lines, newest first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AuditQuery {
    pub session: Option<SessionId>,
    pub by: Option<Arc<str>>,
    /// Only lines before this one.
    pub before: Option<u64>,
    /// `None`, and more than that: [`AUDIT_LINES_MAX`].
    pub limit: Option<usize>,
}

/// Whether the audit is as it was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AuditVerdict {
    /// `head` stands for all lines up to the newest; who keeps it elsewhere sees later that none of them was changed.
    /// `knows`: whether a head that was given is one of these.
    Whole {
        lines: u64,
        head: String,
        knows: Option<bool>,
    },
    Broken {
        line: u64,
        why: String,
    },
}

/// By what usage is added up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UsageBy {
    Day,
    Model,
    Session,
    Principal,
    Tool,
    /// Messages of people, by session: `calls` counts them, and nothing else is filled.
    Message,
    /// The same by day, and `sessions` says in how many of them.
    MessageDay,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UsageQuery {
    pub by: UsageBy,
    /// Days as [`day_of`] counts them, both included.
    pub from: i64,
    pub to: i64,
    pub session: Option<SessionId>,
}

/// One sum.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UsageSum {
    /// The day as a number, the model, the session, the principal or the tool.
    pub name: Arc<str>,
    /// Answers of models, or calls of the tool.
    pub calls: u64,
    /// Calls of the tool that failed.
    pub failed: u64,
    /// Counted by [`UsageBy::MessageDay`] alone.
    pub sessions: u64,
    pub usage: Usage,
    /// Billionths of a dollar, by the prices of the day on which it was spent.
    pub cost_nanos: u64,
    /// Tokens whose price was not known; where there are some, the cost is not all of it.
    pub unpriced: u64,
}

impl UsageSum {
    pub fn none(name: Arc<str>) -> Self {
        Self { name, calls: 0, failed: 0, sessions: 0, usage: Usage::default(), cost_nanos: 0, unpriced: 0 }
    }
    pub fn add(&mut self, other: &UsageSum) {
        self.calls = self.calls.saturating_add(other.calls);
        self.failed = self.failed.saturating_add(other.failed);
        self.sessions = self.sessions.saturating_add(other.sessions);
        self.usage.add(&other.usage);
        self.cost_nanos = self.cost_nanos.saturating_add(other.cost_nanos);
        self.unpriced = self.unpriced.saturating_add(other.unpriced);
    }
    /// In dollars; `None` where a price was not known.
    pub fn cost(&self) -> Option<f64> {
        (self.unpriced == 0).then_some(self.cost_nanos as f64 / 1e9)
    }
}
