//! What sessions of a gateway start with, as its configuration says it.

use std::sync::Arc;

use config::ServerConfig;
use vocab::{AskWait, Conduct, Gate, OnRestart, Settings, ToolRules, WaitingOnRestart, names};

/// How long somebody who can answer is waited for.
const ANSWER_MS: u64 = 120_000;

pub fn settle(settings: &mut Settings, server: &ServerConfig) {
    settings.gate = Gate::Ladder;
    settings.tool_names = names::CANONICAL;
    settings.lane = server.queue.usual;
    settings.on_restart = OnRestart::Continue;
    settings.conduct = Arc::new(conduct(server));
}

fn conduct(server: &ServerConfig) -> Conduct {
    let inside = |names: &[String]| names.iter().map(|name| names::canonical(name).unwrap_or(name).into()).collect();
    Conduct {
        rules: ToolRules {
            allow: inside(&server.tools.auto_approve),
            ask: inside(&server.tools.confirm),
            deny: inside(&server.tools.deny),
        },
        ask_wait: AskWait {
            answerable_ms: Some(ANSWER_MS),
            alone_ms: Some(server.tools.ask_keep_s.saturating_mul(1000)),
        },
        stall_ms: server.stall_ms,
        waiting_on_restart: match server.queue.resume_after_restart {
            true => WaitingOnRestart::GoesOn,
            false => WaitingOnRestart::Dropped,
        },
    }
}
