//! How a session behaves under a client of loaf, where our own configuration does not say otherwise.

use vocab::{
    CompactionPolicy, Drain, Gate, LanePolicy, LateSteer, Overflow, RetryPolicy, Settings, SteerPoint, Unanswered,
};

use config::Configuration;

/// Prompts that may wait in a session. The original has no bound; at this one a new prompt is refused and its sender is told.
const LANE_CAP: usize = 256;

/// 8 attempts in all: after 1.25, 2.5, 5, 10 and then 20 seconds each.
const RETRY: RetryPolicy = RetryPolicy {
    retries_max: 7,
    base_ms: 1250,
    wait_ms_max: 20_000,
    // A server that asks for more is as good as down for somebody who waits at a screen.
    server_wait_ms_max: 60_000,
    jitter: false,
};

/// How full, in percent of the window, a context may be before a call.
const COMPACT_AT_PCT: u8 = 82;
/// How full it is to be afterwards, all told.
const COMPACT_TO_PCT: u8 = 74;
/// Of that, what the summary, the system prompt and the tools' schemas take. The engine is told only how much is kept word
/// for word, so the target less this is what it keeps.
const COMPACT_ROOM_PCT: u8 = 10;

const COMPACTION: CompactionPolicy = CompactionPolicy {
    auto: true,
    threshold_pct: COMPACT_AT_PCT,
    keep_pct: COMPACT_TO_PCT - COMPACT_ROOM_PCT,
    // Another provider's model starts on a summary instead of on what the first one's calls looked like.
    on_switch: true,
};

/// Lays everything over `settings` that this dialect decides. Mode, tokens, sync and tools of our own configuration are in
/// them already.
pub fn settle(settings: &mut Settings, config: &Configuration) {
    settings.gate = Gate::Ladder;
    settings.tool_names = dialect_loaf::TOOL_NAMES;
    // The original counts no rounds; who wants a limit sets one.
    settings.max_iterations = config.max_iterations(u32::MAX);
    settings.reminders_max = 0;
    // Clients of this dialect are asked nothing: what would wait for an answer would wait for ever.
    settings.unanswered.get_or_insert(Unanswered::Deny);
    settings.lane = LanePolicy {
        cap: LANE_CAP,
        overflow: Overflow::DropNew,
        steer_drain: Drain::All,
        steer_point: SteerPoint::Wait,
        late_steer: LateSteer::Dropped,
        ..LanePolicy::default()
    };
    settings.retry = config.retry(RETRY);
    settings.compaction = config.compaction(COMPACTION);
}
