//! What sessions of a gateway start with, as its configuration says it.

use std::sync::Arc;

use config::ServerConfig;
use vocab::{AskWait, Conduct, Gate, OnRestart, Settings, ToolRules, WaitingOnRestart, names};

pub fn settle(settings: &mut Settings, server: &ServerConfig) {
    settings.gate = Gate::Ladder;
    settings.tool_names = names::CANONICAL;
    settings.lane = server.queue.usual;
    settings.on_restart = OnRestart::Continue;
    if server.proactive.enabled {
        let threshold = &mut settings.compaction.threshold_pct;
        *threshold = (*threshold).min(server.proactive.auto_compact_pct);
    }
    settings.only_tools = server.tools.only.as_deref().map(inside);
    settings.conduct = Arc::new(conduct(server));
}

/// Names of tools as sessions have them.
fn inside(names: &[String]) -> Vec<Arc<str>> {
    names.iter().map(|name| names::canonical(name).unwrap_or(name).into()).collect()
}

fn conduct(server: &ServerConfig) -> Conduct {
    Conduct {
        rules: ToolRules {
            allow: inside(&server.tools.auto_approve),
            ask: inside(&server.tools.confirm),
            deny: inside(&server.tools.deny),
        },
        ask_wait: AskWait {
            answerable_ms: Some(dialect_gateway::CONFIRM_MS),
            alone_ms: Some(server.tools.ask_keep_s.saturating_mul(1000)),
        },
        stall_ms: server.stall_ms,
        models_stall: true,
        waiting_on_restart: match server.queue.resume_after_restart {
            true => WaitingOnRestart::GoesOn,
            false => WaitingOnRestart::Dropped,
        },
    }
}

#[cfg(test)]
mod tests {
    use config::{Configuration, ProactiveConfig};

    use super::*;

    #[test]
    fn older_messages_are_summarised_at_the_latest_where_the_warnings_say_so() {
        let usual = Configuration::default().server().expect("nothing is set");
        let threshold = |own: u8, enabled: bool, auto_compact_pct: u8| {
            let proactive = ProactiveConfig { enabled, auto_compact_pct, ..usual.proactive.clone() };
            let mut settings = Settings::new("/", "m");
            settings.compaction.threshold_pct = own;
            settle(&mut settings, &ServerConfig { proactive, ..usual.clone() });
            settings.compaction.threshold_pct
        };
        assert_eq!(usual.proactive.auto_compact_pct, 95);
        assert_eq!([threshold(85, true, 95), threshold(100, true, 95), threshold(100, true, 60)], [85, 95, 60]);
        assert_eq!(threshold(100, false, 60), 100, "it is switched off");
    }
}
