//! What a conversation at a terminal is for: its session, its prompt, who answers, how far a yes goes.

use std::sync::Arc;

use vocab::{Mode, Open, Part, Required};

/// Who answers the engine's questions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnswerPolicy {
    Person,
    /// `--yes`.
    AllowAll,
    Nobody,
    /// Whoever else is on the session; here a question is only told of.
    Others,
}

/// What the conversation is for.
pub struct TerminalOptions {
    pub open: Open,
    /// The one prompt of `run`; `None` means that lines are prompts.
    pub once: Option<Vec<Part>>,
    pub answers: AnswerPolicy,
    /// The command that takes the session up again, with its id behind it. `None`: it cannot be, or who was here for one
    /// prompt does not want to.
    pub way_back: Option<String>,
    /// The mode that a flag names. `--yes` is a yes to what it allows: beside `workspace-write` it does not reach out of
    /// the workspace.
    pub bound: Option<Mode>,
    /// Others may be on the session, so that a turn which is not ours may be theirs. Else it is one that goes on because we came.
    pub is_shared: bool,
    pub builtins: BuiltinCommands,
}

/// Slash commands that the engine carries out itself, as far as a typed line has to know them.
#[derive(Clone, Copy)]
pub struct BuiltinCommands {
    pub is_builtin: fn(&str) -> bool,
    /// The name or alias that is nearest to a wrong one, if any is near.
    pub nearest: fn(&str) -> Option<&'static str>,
}

/// Why a call is denied without a question.
pub struct UnaskedDenial {
    pub why: &'static str,
    /// The flags that would have let it through.
    pub how: String,
}

impl UnaskedDenial {
    /// What the model is told.
    pub(crate) fn told(&self) -> Arc<str> {
        format!("denied: {}. The user can allow it with {}.", self.why, self.how).into()
    }
}

impl TerminalOptions {
    /// Whether a flag says that this is too much, person or `--yes`.
    pub(crate) fn is_bound_below(&self, required: Required) -> bool {
        self.bound == Some(Mode::WorkspaceWrite) && required > Required::WorkspaceWrite
    }

    pub(crate) fn denial(&self, required: Required) -> UnaskedDenial {
        let mode = format!("`--mode {}`", required.as_str());
        let bound = self.is_bound_below(required);
        let why = match self.answers {
            AnswerPolicy::AllowAll if bound => {
                "`--yes` beside `--mode workspace-write` allows nothing that could leave the workspace"
            }
            _ => "nobody can be asked here",
        };
        UnaskedDenial { why, how: if bound { mode } else { format!("`--yes` or {mode}") } }
    }
}
