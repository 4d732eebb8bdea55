//! How a session behaves under a host of the pi family, where neither a flag nor our own configuration says otherwise.
//! Order: flag, our environment and configuration, the agent directory's `settings.json`, these defaults.

use std::path::Path;
use std::sync::Arc;

use vocab::names;
use vocab::{CompactionPolicy, Drain, Fault, FaultKind, Gate, LanePolicy, Overflow, RetryPolicy, Settings, SteerPoint};

use config::Configuration;
use config::agent::AgentSettings;
use rpc_flags::Flags;

/// Messages that may wait in a session. The originals have no bound; at this one a new message is refused and its sender
/// is told, because silently losing an older one would be worse.
const LANE_CAP: usize = 1000;
/// How often a run that left tasks open is taken up again.
const REMINDERS_MAX: u32 = 3;
/// Prompts from files larger than this are refused.
const PROMPT_BYTES_MAX: u64 = 1024 * 1024;

/// 2, 4, 8 seconds; a server may ask for a minute.
const RETRY: RetryPolicy =
    RetryPolicy { retries_max: 3, base_ms: 2000, wait_ms_max: 60_000, server_wait_ms_max: 60_000, jitter: false };

/// Lays everything over `settings` that this mode decides. Mode, tokens, sync and tools of our own configuration are in
/// them already.
pub fn settle(settings: &mut Settings, flags: &Flags, config: &Configuration, agent: &AgentSettings) {
    settings.gate = Gate::Ladder;
    settings.tool_names = dialect_rpc::TOOL_NAMES;
    // The originals count no rounds; a host that wants a limit sets one.
    settings.max_iterations = config.max_iterations(u32::MAX);
    settings.reminders_max = REMINDERS_MAX;
    settings.lane = LanePolicy {
        cap: LANE_CAP,
        overflow: Overflow::DropNew,
        steer_drain: agent.steering.unwrap_or(Drain::OneAtATime),
        follow_up_drain: agent.follow_up.unwrap_or(Drain::OneAtATime),
        steer_point: agent.interrupt.unwrap_or(SteerPoint::Wait),
        ..LanePolicy::default()
    };
    let retries_max = match agent.retry {
        Some(false) => 0,
        _ => agent.retries_max.unwrap_or(RETRY.retries_max),
    };
    settings.retry =
        config.retry(RetryPolicy { retries_max, base_ms: agent.retry_base_ms.unwrap_or(RETRY.base_ms), ..RETRY });
    let usual = CompactionPolicy::default();
    settings.compaction = config.compaction(CompactionPolicy { auto: agent.compaction.unwrap_or(usual.auto), ..usual });
    settings.thinking = flags.model.thinking.or(config.thinking()).or(agent.thinking).map(Arc::from);
    if let Some(level) = flags.sync {
        settings.sync = level;
    }
    if let Some(rule) = flags.on_restart {
        settings.on_restart = rule;
    }
    flags.budget.iter().for_each(|(span, unit, limit)| settings.budget.set(*span, *unit, Some(*limit)));
    if flags.tools.none {
        settings.only_tools = Some(Vec::new());
    }
    if let Some(tools) = &flags.tools.only {
        settings.only_tools = Some(tools.iter().map(|name| names::canonical(name).unwrap_or(name).into()).collect());
    }
    settings.without_tools.extend(flags.tools.without.iter().map(|name| names::canonical(name).unwrap_or(name).into()));
    settings.ephemeral = flags.session.none;
}

/// Compaction as the originals measure it, in tokens, where our own configuration does not say it in percent.
pub fn compact_at(config: &Configuration, agent: &AgentSettings) -> crate::CompactAt {
    let ours = |key: &str| config.get(key).is_some();
    crate::CompactAt {
        reserve_tokens: agent.reserve_tokens.filter(|_| !ours("compaction.threshold_pct")),
        keep_tokens: agent.keep_recent_tokens.filter(|_| !ours("compaction.keep_pct")),
    }
}

/// Names in `--tools` that no tool of ours has. They may be tools of the host or of an extension.
pub fn strangers(flags: &Flags) -> Option<String> {
    let strange = |name: &&String| names::canonical(name).is_none();
    let names: Vec<&str> = flags.tools.only.iter().flatten().filter(strange).map(String::as_str).collect();
    (!names.is_empty()).then(|| format!("--tools names tools that are not built in: {}", names.join(", ")))
}

/// Both prompts: each word is the text itself or the name of a file with it.
pub fn prompts(flags: &Flags) -> Result<(Option<String>, Option<String>), Fault> {
    let whole = flags.prompts.system.as_deref().filter(|text| !text.is_empty()).map(text_or_file).transpose()?;
    let more: Vec<String> = flags.prompts.append.iter().map(|text| text_or_file(text)).collect::<Result<_, _>>()?;
    let more = more.join("\n\n");
    Ok((whole, (!more.is_empty()).then_some(more)))
}

fn text_or_file(text: &str) -> Result<String, Fault> {
    let path = Path::new(text);
    let Ok(meta) = std::fs::metadata(path) else { return Ok(text.to_owned()) };
    if !meta.is_file() {
        return Ok(text.to_owned());
    }
    let cannot = |what: String| Fault::new(FaultKind::Invalid, format!("cannot read the prompt file {text}: {what}"));
    safefile::read_regular_text(path, PROMPT_BYTES_MAX).map_err(|error| cannot(error.to_string()))
}
