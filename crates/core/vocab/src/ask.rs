//! The engine asks, somebody answers once, or it is withdrawn. Questions of permission and of budgets, dialogs and calls of a
//! controller's own tools are the same mechanism. An open ask is in the log and is shown again after a restart.

use std::sync::Arc;

use crate::{AskId, BudgetAsk, CallId, Json, Mode, Part, Required, TurnId};

#[derive(Clone, PartialEq, Debug)]
pub struct Ask {
    pub id: AskId,
    pub turn: Option<TurnId>,
    pub kind: AskKind,
    /// How long an answer is waited for, where there is a limit; then it counts as dismissed.
    pub timeout_ms: Option<u64>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum AskKind {
    /// May this call run?
    Permission(PermissionAsk),
    /// May more be spent?
    Budget(BudgetAsk),
    /// Run this call for us: the tool lives with the controller.
    HostCall {
        call: CallId,
        tool: Arc<str>,
        input: Json,
    },
    Select {
        title: Arc<str>,
        options: Vec<Arc<str>>,
    },
    Confirm {
        title: Arc<str>,
        message: Arc<str>,
    },
    Input {
        title: Arc<str>,
        placeholder: Option<Arc<str>>,
    },
    Editor {
        title: Arc<str>,
        prefill: Option<Arc<str>>,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub struct PermissionAsk {
    pub call: CallId,
    /// Canonical name.
    pub tool: Arc<str>,
    pub input: Json,
    pub active: Mode,
    pub required: Required,
    /// Why the mode does not cover it; `None` when it does or when the mode is `prompt`.
    pub reason: Option<Arc<str>>,
    /// One line for a person: `write src/main.rs (+3 -1)`.
    pub summary: Arc<str>,
    /// All that a person has to see; `None` where the tool does not say it, and then that is the whole input.
    pub preview: Option<Arc<[Fact]>>,
    /// It was begun before, and what came of it is not known: an allow runs it again, anything else leaves it at that.
    pub may_have_run: bool,
}

/// The most of one fact that a question carries. What is longer says how much is missing; the input has it.
pub const FACT_BYTES_MAX: usize = 256 * 1024;

/// One thing about a call that a person sees before they allow it, as the call has it: nothing is cleaned yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fact {
    /// What it is: `command`, `directory`. Of a diff, the file.
    pub label: Arc<str>,
    pub text: Arc<str>,
    pub form: FactForm,
    pub missing: Missing,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FactForm {
    /// A short value.
    Line,
    /// A command, a file's contents: lines that count as they are.
    Text,
    /// What would change in one file: hunks of a unified diff, without the lines that name the file.
    Diff,
}

/// What a bound kept out of a fact.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Missing {
    pub lines: usize,
    pub bytes: usize,
}

impl Fact {
    fn new(label: impl Into<Arc<str>>, text: &str, form: FactForm) -> Self {
        let (text, missing) = match text.len() <= FACT_BYTES_MAX {
            true => (text, Missing::default()),
            false => {
                let start = &text[..text.floor_char_boundary(FACT_BYTES_MAX)];
                let start = start.rfind('\n').map_or(start, |at| &start[..=at]);
                let rest = &text[start.len()..];
                (start, Missing { lines: rest.lines().count(), bytes: rest.len() })
            }
        };
        Self { label: label.into(), text: text.into(), form, missing }
    }
    pub fn line(label: impl Into<Arc<str>>, text: &str) -> Self {
        Self::new(label, text, FactForm::Line)
    }
    pub fn text(label: impl Into<Arc<str>>, text: &str) -> Self {
        Self::new(label, text, FactForm::Text)
    }
    pub fn diff(file: impl Into<Arc<str>>, hunks: &str) -> Self {
        Self::new(file, hunks, FactForm::Diff)
    }
    pub fn is_whole(&self) -> bool {
        self.missing == Missing::default()
    }
}

#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    Allow(Scope),
    /// The reason goes to the model; without one a fixed text does.
    Deny(Option<Arc<str>>),
    Text(Arc<str>),
    Confirmed(bool),
    /// The result of a controller's tool.
    Result {
        parts: Vec<Part>,
        is_error: bool,
        details: Option<Json>,
    },
    /// The dialog was closed.
    Dismissed,
}

/// How far an allow reaches. It never outlives the session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    Once,
    /// The same tool with the same requirement; for commands, the same command. Of a budget, the same limit.
    Session,
}

/// How an ask ended.
#[derive(Clone, PartialEq, Debug)]
pub enum AskEnd {
    Answered {
        answer: Answer,
        /// The controller, in its own word ([`Open::controller`](crate::Open)); `None`: nobody, or one that gave none.
        by: Option<Arc<str>>,
    },
    /// The turn was interrupted, or nobody can answer any more.
    Withdrawn,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_beyond_the_bound_says_how_much_is_missing() {
        assert!(Fact::text("command", &"x".repeat(FACT_BYTES_MAX)).is_whole());
        let lines = Fact::text("contents", &"0123456789abcde\n".repeat(FACT_BYTES_MAX / 16 + 3));
        assert_eq!((lines.text.len(), lines.missing), (FACT_BYTES_MAX, Missing { lines: 3, bytes: 48 }));
        let one = Fact::text("contents", &"ü".repeat(FACT_BYTES_MAX));
        assert_eq!((one.text.len(), one.missing), (FACT_BYTES_MAX, Missing { lines: 1, bytes: FACT_BYTES_MAX }));
    }
}
