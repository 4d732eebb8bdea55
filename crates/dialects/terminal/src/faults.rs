//! A fault as `run --json` spells it.

use serde_json::{Value, json};
use vocab::{Fault, FaultKind};

pub(crate) fn fault_value(fault: &Fault) -> Value {
    json!({ "kind": kind(fault.kind), "message": fault.message, "hints": fault.hints })
}

fn kind(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Invalid => "invalid",
        FaultKind::EmptyPrompt => "empty_prompt",
        FaultKind::TurnInProgress => "turn_in_progress",
        FaultKind::WorksForCall => "works_for_call",
        FaultKind::QueueFull => "queue_full",
        FaultKind::NotFound => "not_found",
        FaultKind::UnknownSession => "unknown_session",
        FaultKind::UnknownAsk => "unknown_ask",
        FaultKind::UnknownModel => "unknown_model",
        FaultKind::UnknownCommand => "unknown_command",
        FaultKind::SessionBusy => "session_busy",
        FaultKind::ShuttingDown => "shutting_down",
        FaultKind::NothingToDo => "nothing_to_do",
        FaultKind::Unsupported => "unsupported",
        FaultKind::KeyTaken => "key_taken",
        FaultKind::Budget => "budget_spent",
        FaultKind::Store => "store",
        FaultKind::Cancelled => "cancelled",
        FaultKind::Internal => "internal",
        FaultKind::Auth => "auth",
        FaultKind::RateLimited => "rate_limited",
        FaultKind::ContextOverflow => "context_overflow",
        FaultKind::BadRequest => "bad_request",
        FaultKind::Provider => "provider",
        FaultKind::StreamCut => "stream_cut",
        FaultKind::Network => "network",
    }
}
