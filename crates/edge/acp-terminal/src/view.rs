//! How a conversation with an agent looks: to people, or to programs. Pure: events in, text out.

mod call_card;
mod json;
mod question;
mod text;

use acp_client::{ClientError, ClientEvent, Elicitation, PermissionAsk};
use acp_types::{PermissionOption, PromptResponse};

pub use json::JsonView;
pub use text::TextView;

/// What there is to show. `out` is for stdout, `side` for lines beside it.
#[derive(Default)]
pub struct ViewOutput {
    pub out: String,
    pub side: Vec<String>,
}

/// The text of a whole diff between two texts, as our own tools write it in their questions.
pub type DiffText = fn(&str, &str) -> String;

/// How the conversation began.
pub struct Beginning<'a> {
    pub agent: &'a str,
    pub session: &'a str,
    /// `new`, `resumed` or `loaded`.
    pub how: &'a str,
}

pub trait AgentView: Send {
    fn begun(&mut self, beginning: &Beginning<'_>, shown: &mut ViewOutput);
    /// Everything that needs no answer.
    fn event(&mut self, event: &ClientEvent, shown: &mut ViewOutput);
    /// What was typed is on its way.
    fn prompted(&mut self) {}
    /// Calls of the agent's that have not ended, in words.
    fn running(&self) -> Option<String> {
        None
    }
    /// Something is kept back for a moment, because a better word for it may follow.
    fn holds(&self) -> bool {
        false
    }
    /// Shows what was kept back.
    fn settle(&mut self, _: &mut ViewOutput) {}
    fn question(&mut self, ask: &PermissionAsk, shown: &mut ViewOutput);
    /// Whether all of the question was shown. An allow counts only then.
    fn has_shown_all(&self) -> bool {
        true
    }
    /// More about the question: the rest of it, or all of it once more.
    fn explain(&mut self, ask: &PermissionAsk, shown: &mut ViewOutput);
    /// Answered without anybody being asked.
    fn decided(&mut self, ask: &PermissionAsk, option: Option<&PermissionOption>, shown: &mut ViewOutput);
    fn form(&mut self, ask: &Elicitation, shown: &mut ViewOutput);
    fn turn_ended(&mut self, turn: &Result<PromptResponse, ClientError>, exit_code: u8, shown: &mut ViewOutput);
    fn error(&mut self, error: &ClientError, shown: &mut ViewOutput);
    fn notice(&mut self, text: &str, shown: &mut ViewOutput);
    fn list(&mut self, lines: &[String], shown: &mut ViewOutput);
}
