//! How a conversation with an agent looks: to people, or to programs. Pure: events in, text out.

mod card;
mod json;
mod people;
mod question;

use acp_client::{ClientError, ClientEvent, Elicitation, PermissionAsk};
use acp_types::{PermissionOption, PromptResponse};

pub(super) use json::JsonLines;
pub(super) use people::People;

/// What there is to show. `out` is for stdout, `side` for lines beside it.
#[derive(Default)]
pub(super) struct Shown {
    pub(super) out: String,
    pub(super) side: Vec<String>,
}

/// How the conversation began.
pub(super) struct Beginning<'a> {
    pub(super) agent: &'a str,
    pub(super) session: &'a str,
    /// `new`, `resumed` or `loaded`.
    pub(super) how: &'a str,
}

pub(super) trait View: Send {
    fn begun(&mut self, beginning: &Beginning<'_>, shown: &mut Shown);
    /// Everything that needs no answer.
    fn event(&mut self, event: &ClientEvent, shown: &mut Shown);
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
    fn settle(&mut self, _: &mut Shown) {}
    fn question(&mut self, ask: &PermissionAsk, shown: &mut Shown);
    /// Whether all of the question was shown. An allow counts only then.
    fn has_shown_all(&self) -> bool {
        true
    }
    /// More about the question: the rest of it, or all of it once more.
    fn explain(&mut self, ask: &PermissionAsk, shown: &mut Shown);
    /// Answered without anybody being asked.
    fn decided(&mut self, ask: &PermissionAsk, option: Option<&PermissionOption>, shown: &mut Shown);
    fn form(&mut self, ask: &Elicitation, shown: &mut Shown);
    fn turn_ended(&mut self, turn: &Result<PromptResponse, ClientError>, exit_code: u8, shown: &mut Shown);
    fn error(&mut self, error: &ClientError, shown: &mut Shown);
    fn notice(&mut self, text: &str, shown: &mut Shown);
    fn list(&mut self, lines: &[String], shown: &mut Shown);
}
