//! What requests are answered with, built from what the engine says.

use acp_types::{
    AvailableCommand, CommandInput, ListSessionsResponse, ListedSession, Other, PromptResponse, SessionResponse,
    SessionUpdate, StopReason, TurnUsage,
};
use vocab::{Saved, SavedPage, Stop, Summary, TurnEnd, iso8601};
use wire::jsonrpc::RpcError;

use crate::faults::turn_failed;
use crate::tools::written;
use crate::{Acp, SlashInfo, content};

impl Acp {
    /// What a client learns about a session that it has opened. `known`: the client has named it.
    pub(crate) fn session_answer(&self, at: usize, known: bool) -> SessionResponse {
        let (view, strict) = (&self.views[at], self.options.strict);
        SessionResponse {
            session_id: (!known || !strict).then(|| view.session.to_string()),
            modes: Some(view.chosen.modes()),
            models: (!strict).then(|| view.chosen.legacy_models(&self.models)),
            config_options: Some(view.chosen.options(&self.models)),
            other: Other::new(),
        }
    }

    pub(crate) fn available_commands(&self) -> SessionUpdate {
        let one = |command: &SlashInfo| AvailableCommand {
            name: command.name.to_string(),
            description: command.description.to_string(),
            input: command.hint.as_ref().map(|hint| CommandInput { hint: Some(hint.to_string()), other: Other::new() }),
            other: Other::new(),
        };
        let available_commands = self.options.commands.iter().map(one).collect();
        SessionUpdate::AvailableCommandsUpdate { available_commands, other: Other::new() }
    }
}

/// How a turn ended, as the answer to its prompt.
pub(crate) fn prompt_response(end: &TurnEnd, strict: bool) -> Result<PromptResponse, RpcError> {
    let stop_reason = match end.stop {
        Stop::EndTurn => StopReason::EndTurn,
        Stop::MaxTokens => StopReason::MaxTokens,
        Stop::MaxIterations | Stop::Budget => StopReason::MaxTurnRequests,
        Stop::Refusal => StopReason::Refusal,
        Stop::Interrupted => StopReason::Cancelled,
        Stop::Error => return Err(turn_failed(end.fault.as_ref())),
    };
    let usage = TurnUsage {
        total_tokens: end.usage.context(),
        input_tokens: end.usage.input,
        output_tokens: end.usage.output,
        thought_tokens: None,
        cached_read_tokens: end.usage.cache_read,
        cached_write_tokens: end.usage.cache_write,
    };
    Ok(PromptResponse { stop_reason, usage: (!strict).then_some(usage) })
}

/// The same in a word.
pub(crate) fn stop_word(end: &TurnEnd) -> &'static str {
    match end.stop {
        Stop::EndTurn => "end_turn",
        Stop::MaxTokens => "max_tokens",
        Stop::MaxIterations | Stop::Budget => "max_turn_requests",
        Stop::Refusal => "refusal",
        Stop::Interrupted => "cancelled",
        Stop::Error => "error",
    }
}

/// What a saved session is called.
pub(crate) fn title(summary: &Summary) -> Option<String> {
    let named = summary.title.as_deref().map(content::one_line).filter(|title| !title.is_empty());
    named.or_else(|| content::title_of_prompt(summary.preview.as_deref()?))
}

pub(crate) fn listed(page: &SavedPage, offset: usize) -> ListSessionsResponse {
    let row = |saved: &Saved| ListedSession {
        session_id: saved.summary.id.to_string(),
        cwd: written(&saved.summary.workspace),
        title: title(&saved.summary),
        updated_at: Some(iso8601(saved.summary.updated_ms)),
        other: Other::new(),
    };
    let next = offset.saturating_add(page.list.len());
    let has_more = (next as u64) < page.total && !page.list.is_empty();
    ListSessionsResponse {
        sessions: page.list.iter().map(row).collect(),
        next_cursor: has_more.then(|| next.to_string()),
        other: Other::new(),
    }
}
