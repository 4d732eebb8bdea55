//! The gateway itself: what it is, what it can, who is there, how full and how busy everything is.

use std::sync::Arc;

use serde_json::json;

use super::nodes::NodeName;
use super::{SERVICE_EVENTS, ServiceAnswer, ServiceCall, answer_of, asks, told};
use crate::events::EVENTS;
use crate::methods::{METHODS, OwnPlan};
use crate::own::{GatewayAnswer, GatewayRefusal};
use crate::params::{ATTACHED_BYTES_MAX, ATTACHMENTS_MAX, LaneModeWord, MESSAGE_BYTES_MAX};
use crate::results::Budget;
use crate::services::canvas::{ARTIFACT_BYTES_MAX, ARTIFACTS_MAX};
use crate::shape::*;
use crate::{Gateway, shape, words};

/// Bytes of a frame from a client that is known.
pub const FRAME_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What the service knows of the process.
#[derive(Debug)]
pub struct GatewayInfo {
    pub uptime_s: u64,
    pub connections: u64,
    pub pid: u64,
    pub rss_bytes: Option<u64>,
    pub cpu_pct: Option<f64>,
    /// Of the model that a session has where nothing says otherwise.
    pub model: Arc<str>,
}

/// What is switched on, and who is registered on this connection.
#[derive(Debug)]
pub struct GatewayGates {
    pub gates: Vec<(Arc<str>, bool)>,
    pub nodes: bool,
    pub location: bool,
    pub push: bool,
    pub allowed_roles: Vec<Arc<str>>,
    pub node: Option<NodeName>,
}

shape! { result
    /// What this gateway is.
    InfoResult {
        "version" version: String,
        /// Whole seconds.
        "uptime" uptime: u64,
        "connections" connections: u64,
        "protocol" protocol: u64,
        "connectionId" connection_id: Arc<str>,
        /// The session that is meant where none is named.
        "sessionId" session_id: String,
        "name" name: &'static str,
        "pid" pid: u64,
        /// Another one after a restart.
        "instance" instance: Arc<str>,
        /// Memory in use.
        "rssBytes" rss_bytes: Option<u64>,
        /// Of one processor, since it was last asked for: 150 is one and a half of them.
        "cpuPct" cpu_pct: Option<f64>,
        /// The one that a new session has where nothing says otherwise.
        "model" model: Arc<str>,
    }
}
shape! { result
    /// Of the wire.
    ProtocolVersion { "version" version: u64 }
}
shape! { result
    /// Companions, and the one on this connection.
    NodeGates {
        "enabled" enabled: bool,
        "locationEnabled" location_enabled: bool,
        "pushEnabled" push_enabled: bool,
        "allowedRoles" allowed_roles: Vec<Arc<str>>,
        "registered" registered: bool,
        "role" role: Nullable<Arc<str>>,
        "nodeId" node_id: Nullable<Arc<str>>,
    }
}
shape! { result
    /// What a connection must not exceed.
    GatewayLimits {
        "maxFrameBytes" max_frame_bytes: u64,
        "maxMessageBytes" max_message_bytes: u64,
        "maxAttachments" max_attachments: u64,
        /// Of one message, decoded, together.
        "maxAttachmentBytes" max_attachment_bytes: u64,
        /// Requests without an answer.
        "maxInFlight" max_in_flight: u64,
        "maxSubscriptions" max_subscriptions: u64,
        /// Requests at once, and then so many a second.
        "burst" burst: u64,
        "perSecond" per_second: u64,
        "maxArtifactBytes" max_artifact_bytes: u64,
        "maxArtifacts" max_artifacts: u64,
    }
}
impl GatewayLimits {
    pub fn here() -> Self {
        Self {
            max_frame_bytes: FRAME_BYTES_MAX as u64,
            max_message_bytes: MESSAGE_BYTES_MAX as u64,
            max_attachments: ATTACHMENTS_MAX as u64,
            max_attachment_bytes: ATTACHED_BYTES_MAX as u64,
            max_in_flight: crate::ledger::IN_FLIGHT_MAX as u64,
            max_subscriptions: crate::ledger::SUBSCRIPTIONS_MAX as u64,
            burst: crate::rate::BURST_MAX,
            per_second: crate::rate::PER_SECOND_MAX,
            max_artifact_bytes: ARTIFACT_BYTES_MAX as u64,
            max_artifacts: ARTIFACTS_MAX,
        }
    }
}
shape! { result
    /// Everything that can be asked here.
    CapabilitiesResult {
        "protocol" protocol: ProtocolVersion,
        "nodes" nodes: NodeGates,
        "featureGates" feature_gates: ObjectJson,
        "methods" methods: Vec<&'static str>,
        "events" events: Vec<&'static str>,
        "limits" limits: GatewayLimits,
        /// What this connection may do: scopes of methods.
        "scopes" scopes: Vec<&'static str>,
    }
}

words! { /// Whether somebody was heard of lately.
    Online { Online = "online", Offline = "offline" }
}
shape! { params
    /// Who wrote, newest first.
    PresenceParams {
        "channel" channel: Option<Text<1, 200>>,
        "status" status: Option<Online>,
        "limit" limit: Count<1, 500> = Count(50),
    }
}
shape! { result
    /// Somebody who wrote.
    PresenceRow {
        "channel" channel: Arc<str>,
        "senderId" sender_id: Arc<str>,
        "senderName" sender_name: Nullable<Arc<str>>,
        "firstSeenAt" first_seen_at: i64,
        "lastSeenAt" last_seen_at: i64,
        "messageCount" message_count: u64,
        "status" status: Online,
    }
}
shape! { result
    /// Of the channel, before status and limit.
    PresenceSummary { "total" total: u64, "online" online: u64, "offline" offline: u64 }
}
shape! { result
    /// Who wrote.
    PresenceResult { "presence" presence: Vec<PresenceRow>, "summary" summary: PresenceSummary }
}

shape! { params
    /// The last so many days of UTC, and how many of each list.
    AnalyticsParams { "days" days: Count<1, 365> = Count(30), "topLimit" top_limit: Count<1, 100> = Count(10) }
}
shape! { result
    /// Messages of people on a day, and the sessions they were for.
    AnalyticsDay { "day" day: String, "sessions" sessions: u64, "messages" messages: u64 }
}
shape! { result
    /// `lastActivity`: seconds since 1970.
    TopSession { "sessionId" session_id: String, "messages" messages: u64, "lastActivity" last_activity: Nullable<i64> }
}
shape! { result
    /// How often a tool was called.
    TopTool { "toolName" tool_name: String, "executions" executions: u64 }
}
shape! { result
    /// How many titles have this word.
    TopTopic { "topic" topic: String, "occurrences" occurrences: u64 }
}
shape! { result
    /// From sums that are kept; no history is read. Days on which nobody wrote are left out.
    AnalyticsResult {
        "daily" daily: Vec<AnalyticsDay>,
        "topSessions" top_sessions: Vec<TopSession>,
        "topTools" top_tools: Vec<TopTool>,
        "topTopics" top_topics: Vec<TopTopic>,
        /// Two decimals.
        "averageMessagesPerSession" average_messages_per_session: f64,
        "totalSessions" total_sessions: u64,
        "totalMessages" total_messages: u64,
    }
}

shape! { params
    /// All that are in memory, or one.
    ContextParams { "sessionId" session_id: Option<SessionName> }
}
shape! { result
    /// How full the context of a session is.
    ContextRow {
        "sessionId" session_id: String,
        "budget" budget: Budget,
        "title" title: Option<Arc<str>>,
        "model" model: Option<Arc<str>>,
    }
}
shape! { result
    /// A summary took the place of what was said before.
    CompactionRow { "at" at: i64, "seq" seq: u64, "tokensBefore" tokens_before: u64, "tokensAfter" tokens_after: u64 }
}
shape! { result
    /// Sessions that are in memory. `compactions`: where one is named and kept, its newest 50, in memory or not; newest first.
    ContextResult { "sessions" sessions: Vec<ContextRow>, "compactions" compactions: Option<Vec<CompactionRow>> }
}
impl Budget {
    /// So many tokens of a window, which is summarised from this percentage on.
    pub fn of(used: u64, window: u64, threshold_pct: u64) -> Self {
        let threshold_tokens = (u128::from(window) * u128::from(threshold_pct) / 100) as u64;
        let pct = if window == 0 { 0.0 } else { used as f64 * 100.0 / window as f64 };
        Self {
            estimated_tokens: used,
            context_window: window,
            remaining_tokens: window.saturating_sub(used),
            usage_pct: (pct * 10.0).round() / 10.0,
            threshold_pct,
            threshold_tokens,
            should_compact: window > 0 && used >= threshold_tokens,
        }
    }
}

shape! { result
    /// One answer of a model.
    RecentCall {
        "ts" ts: i64,
        "model" model: Arc<str>,
        "latencyMs" latency_ms: u64,
        "ok" ok: bool,
        "inputTokens" input_tokens: u64,
        "outputTokens" output_tokens: u64,
        "sessionId" session_id: String,
        /// `ok`, `retried` or `failed`.
        "status" status: &'static str,
    }
}
shape! { result
    /// Of the last 200.
    ModelCalls {
        "total" total: u64, "avgLatency" avg_latency: u64, "errorRate" error_rate: f64, "recentCalls" recent_calls: Vec<RecentCall>,
    }
}
shape! { result
    /// Each counted once per run.
    RunStates {
        "start" start: u64,
        "complete" complete: u64,
        "cancel_requested" cancel_requested: u64,
        "cancelled" cancelled: u64,
        "error" error: u64,
    }
}
shape! { result
    /// From the word to the end, the last 100.
    CancelLatency { "sampleCount" sample_count: u64, "samples" samples: Vec<u64> }
}
shape! { result
    /// Rules that fired; there are none.
    Reactions { "matched" matched: u64, "skipped" skipped: u64, "skipReasons" skip_reasons: ObjectJson }
}
shape! { result
    /// Since the process began.
    MetricsResult {
        "messagesProcessed" messages_processed: u64,
        "errors" errors: u64,
        /// Runs that are under way.
        "activeRequests" active_requests: u64,
        "uptime" uptime: u64,
        "modelCalls" model_calls: ModelCalls,
        "runStates" run_states: RunStates,
        "cancelLatencyMs" cancel_latency_ms: CancelLatency,
        "reactions" reactions: Reactions,
        /// Messages that wait, over all lanes.
        "queueDepth" queue_depth: u64,
    }
}

words! { /// What a lane does.
    LaneState { Idle = "idle", Running = "running", Waiting = "waiting", Asking = "asking" }
}
shape! { params
    /// At most so many; those that work come first.
    LanesParams { "limit" limit: Count<1, 1000> = Count(200) }
}
shape! { result
    /// A lane that is in memory. Times are milliseconds since 1970.
    LaneRow {
        "sessionId" session_id: String,
        "state" state: LaneState,
        /// Messages that wait.
        "depth" depth: u64,
        "runId" run_id: Option<String>,
        /// When the run began.
        "since" since: Option<i64>,
        /// When something last came of it.
        "movedAt" moved_at: i64,
        /// After so long without anything more it is ended.
        "stallInMs" stall_in_ms: Option<u64>,
        "mode" mode: LaneModeWord,
        /// How long the oldest message has waited.
        "oldestWaitMs" oldest_wait_ms: Option<u64>,
        "title" title: Option<Arc<str>>,
        "model" model: Option<Arc<str>>,
        /// The tool in hand.
        "tool" tool: Option<String>,
        /// The directory it works in.
        "cwd" cwd: Option<String>,
        /// Connections that are on it.
        "peers" peers: u64,
    }
}
shape! { result
    /// Lanes that are in memory.
    LanesResult { "lanes" lanes: Vec<LaneRow>, "total" total: u64 }
}
shape! { result
    /// A line of the log, without secrets.
    LogLine { "ts" ts: i64, "level" level: &'static str, "text" text: String }
}

fn call(call: ServiceCall) -> Result<OwnPlan, GatewayRefusal> {
    Ok(OwnPlan::Call(asks(call)))
}

pub(crate) fn info(_: &Gateway, _: Nothing) -> Result<OwnPlan, GatewayRefusal> {
    call(ServiceCall::Info)
}
pub(crate) fn capabilities(_: &Gateway, _: Nothing) -> Result<OwnPlan, GatewayRefusal> {
    call(ServiceCall::Gates)
}
pub(crate) fn presence(_: &Gateway, params: PresenceParams) -> Result<OwnPlan, GatewayRefusal> {
    call(ServiceCall::Presence(params))
}
pub(crate) fn metrics(_: &Gateway, _: Nothing) -> Result<OwnPlan, GatewayRefusal> {
    call(ServiceCall::Metrics)
}
pub(crate) fn context(gateway: &Gateway, params: ContextParams) -> Result<OwnPlan, GatewayRefusal> {
    let session = params.session_id.map(|name| name.0);
    let is_own = session.as_ref().is_some_and(|session| gateway.is_attached_to(session));
    call(ServiceCall::Context { session, is_own })
}
pub(crate) fn analytics(_: &Gateway, params: AnalyticsParams) -> Result<OwnPlan, GatewayRefusal> {
    call(ServiceCall::Analytics { days: params.days.0, top: params.top_limit.size() })
}
pub(crate) fn lanes(_: &Gateway, params: LanesParams) -> Result<OwnPlan, GatewayRefusal> {
    call(ServiceCall::Lanes { limit: params.limit.size() })
}

pub(crate) fn info_told(gateway: &Gateway, answer: GatewayAnswer) -> Result<InfoResult, GatewayRefusal> {
    let ServiceAnswer::Info(info) = answer_of(answer)? else { return Err(GatewayRefusal::mixed_up()) };
    let options = gateway.options();
    Ok(InfoResult {
        version: options.version.clone(),
        uptime: info.uptime_s,
        connections: info.connections,
        protocol: 1,
        connection_id: gateway.connection().clone(),
        session_id: gateway.attached.to_string(),
        name: "tillerman",
        pid: info.pid,
        instance: options.instance.clone(),
        rss_bytes: info.rss_bytes,
        cpu_pct: info.cpu_pct,
        model: info.model,
    })
}

pub(crate) fn capabilities_told(
    gateway: &Gateway,
    answer: GatewayAnswer,
) -> Result<CapabilitiesResult, GatewayRefusal> {
    let ServiceAnswer::Gates(gates) = answer_of(answer)? else { return Err(GatewayRefusal::mixed_up()) };
    let object = |value: serde_json::Value| ObjectJson(vocab::Json::trusted(value.to_string()));
    let (node_id, role) = gates.node.map(|node| (node.id, node.role)).unzip();
    let named: serde_json::Map<_, _> = gates.gates.iter().map(|(name, on)| (name.to_string(), json!(on))).collect();
    Ok(CapabilitiesResult {
        protocol: ProtocolVersion { version: 1 },
        nodes: NodeGates {
            enabled: gates.nodes,
            location_enabled: gates.location,
            push_enabled: gates.push,
            allowed_roles: gates.allowed_roles,
            registered: node_id.is_some(),
            role: Nullable(role),
            node_id: Nullable(node_id),
        },
        feature_gates: object(named.into()),
        methods: METHODS.iter().map(|row| row.name).collect(),
        events: EVENTS.iter().chain(SERVICE_EVENTS).map(|row| row.name).collect(),
        limits: GatewayLimits::here(),
        scopes: gateway.scopes().words(),
    })
}

told!(presence_told, ServiceAnswer::Presence(it) => it, PresenceResult);
told!(metrics_told, ServiceAnswer::Metrics(it) => it, MetricsResult);
told!(context_told, ServiceAnswer::Context(it) => it, ContextResult);
told!(analytics_told, ServiceAnswer::Analytics(it) => it, AnalyticsResult);
told!(lanes_told, ServiceAnswer::Lanes(it) => it, LanesResult);
