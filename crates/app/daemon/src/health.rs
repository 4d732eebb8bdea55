//! How a gateway is, for whoever asks it.

use std::sync::Arc;
use std::time::Duration;

use gateway::HealthReport;
use serde_json::json;
use tokio::time::timeout;
use vocab::{Shelf, ShelfKind, ShelfPlace};

/// Written to see whether the store can be written to.
const PROBE: ShelfKind = ShelfKind { name: "probe", goes_with_session: false };
/// A store that does not take it by then cannot be written to.
const PROBE_TIME_MAX: Duration = Duration::from_secs(2);

/// What is known without looking.
pub struct HealthFacts {
    pub version: &'static str,
    pub uptime: Duration,
    pub connections: usize,
    pub sessions: usize,
    /// Runs under way, and messages that wait.
    pub load: (u64, u64),
    pub has_model: bool,
}

/// It serves while what it is told can be kept.
pub async fn health(shelf: Arc<dyn Shelf>, facts: HealthFacts) -> HealthReport {
    let place = ShelfPlace { kind: PROBE, owner: "".into(), name: "health".into() };
    let written = timeout(PROBE_TIME_MAX, shelf.put(place, b"1".as_slice().into(), None)).await;
    let is_written = matches!(written, Ok(Ok(_)));
    let json = json!({
        "status": if is_written && facts.has_model { "ok" } else { "degraded" },
        "version": facts.version,
        "uptime": facts.uptime.as_secs(),
        "connections": facts.connections,
        "sessions": facts.sessions,
        "activeRuns": facts.load.0,
        "queueDepth": facts.load.1,
        "checks": {
            "store": if is_written { "ok" } else { "cannot be written" },
            "model": if facts.has_model { "ok" } else { "none is connected" },
        },
    });
    HealthReport { serves: is_written, json: json.to_string() }
}
