//! The methods that services beside the engine answer: what each takes and gives, what is asked of the service, and what its
//! answer becomes. One file per family.

pub mod access;
pub mod asks;
pub mod canvas;
pub mod config;
pub mod lane_history;
pub mod latency;
pub mod memory;
pub mod nodes;
pub mod pairing;
pub mod reports;
pub mod runs;
pub mod search;
pub mod sessions;
pub mod system;

use std::sync::Arc;

use vocab::SessionId;

use crate::Gateway;
use crate::events::EventRow;
use crate::ledger::RequestId;
use crate::own::{GatewayAnswer, GatewayOwn, GatewayRefusal, Out};
use crate::shape::{Nothing, Shaped};

/// What a service is asked.
#[derive(Debug)]
pub enum ServiceCall {
    Info,
    Gates,
    Presence(system::PresenceParams),
    Metrics,
    Latency(latency::LatencyParams),
    Nodes,
    /// Only of this session, where one is named.
    Context {
        session: Option<SessionId>,
        is_own: bool,
    },
    Analytics {
        days: i64,
        top: usize,
    },
    Lanes {
        limit: usize,
    },
    LaneHistory(lane_history::LaneHistoryParams),
    /// `is_own`: there is such a session, even where nothing of it is written yet.
    Asks {
        session: Option<SessionId>,
        is_own: bool,
    },
    Sessions(sessions::ListParams),
    Search {
        text: Arc<str>,
        limit: usize,
        after: Option<search::SearchPlace>,
    },
    /// `is_own`: there is such a session, even where nothing of it is written yet.
    Session {
        session: SessionId,
        is_own: bool,
        wish: sessions::HistoryWish,
    },
    Canvas {
        session: SessionId,
        is_own: bool,
        what: canvas::CanvasCall,
    },
    /// `is_own`: as above.
    MemoryOf {
        session: SessionId,
        is_own: bool,
    },
    Memory {
        limit: usize,
    },
    Access(access::AccessCall),
    Node(nodes::NodeCall),
    Pairing(pairing::PairingCall),
    /// `whole`: with what only an operator may see.
    Config {
        path: Option<String>,
        whole: bool,
    },
    ConfigSchema,
    Reload {
        dry_run: bool,
    },
    ConfigSet(config::ConfigSetParams),
    Usage(reports::UsageParams),
    UsageRuns(runs::UsageRunsParams),
    Audit(reports::AuditParams),
}

/// What it says; each to the call of its name.
#[derive(Debug)]
pub enum ServiceAnswer {
    Info(system::GatewayInfo),
    Gates(system::GatewayGates),
    Presence(system::PresenceResult),
    Metrics(system::MetricsResult),
    Latency(Box<latency::LatencyResult>),
    Nodes(nodes::NodesResult),
    Context(system::ContextResult),
    Analytics(system::AnalyticsResult),
    Lanes(system::LanesResult),
    LaneHistory(lane_history::LaneHistoryResult),
    Asks(Vec<asks::AskRow>),
    Sessions(sessions::ListResult),
    Search(search::SearchResult),
    Session(Box<sessions::GetResult>),
    Canvas(canvas::CanvasAnswer),
    Memory(memory::MemoryAnswer),
    Access(access::AccessAnswer),
    Node(nodes::NodeAnswer),
    Pairing(pairing::PairingAnswer),
    Config(crate::shape::AnyJson),
    Reloaded(config::ReloadResult),
    ConfigSet(config::ConfigSetResult),
    Usage(reports::UsageResult),
    UsageRuns(runs::UsageRunsResult),
    Audit(reports::AuditResult),
}

/// Events of topics that services have.
pub static SERVICE_EVENTS: &[EventRow] = &[
    EventRow { name: "lane", doc: "How a lane stands now.", data: system::LaneRow::schema },
    EventRow {
        name: "session",
        doc: "A session is in memory, or is not any more, or was deleted.",
        data: sessions::SessionNews::schema,
    },
    EventRow { name: "ask", doc: "A question, of whatever session.", data: asks::AskRow::schema },
    EventRow { name: "ask_done", doc: "That question has ended.", data: asks::AskDoneData::schema },
    EventRow { name: "node", doc: "A companion came, went or said something.", data: nodes::NodeNews::schema },
    EventRow { name: "metrics", doc: "Counters, now and then.", data: system::MetricsResult::schema },
    EventRow { name: "log", doc: "A line of the log.", data: system::LogLine::schema },
];

fn asks(call: ServiceCall) -> GatewayOwn {
    GatewayOwn::Service(Box::new(call))
}

/// The answer to a call of ours, or a refusal.
fn answer_of(answer: GatewayAnswer) -> Result<ServiceAnswer, GatewayRefusal> {
    match answer {
        GatewayAnswer::Service(answer) => Ok(*answer),
        _ => Err(GatewayRefusal::mixed_up()),
    }
}

/// The document that describes everything.
pub(crate) fn discover(gateway: &mut Gateway, id: RequestId, _: Nothing, out: &mut Out) -> Result<(), GatewayRefusal> {
    let document = crate::openrpc::openrpc(&gateway.options().version);
    gateway.answer(id, &document, out);
    Ok(())
}

/// `told!(name, ServiceAnswer::Pattern(binding) => value, Type)`: what a method makes of its answer.
macro_rules! told {
    ($name:ident, $pattern:pat => $value:expr, $result:ty) => {
        pub(crate) fn $name(
            _: &$crate::Gateway,
            answer: $crate::own::GatewayAnswer,
        ) -> Result<$result, $crate::own::GatewayRefusal> {
            match $crate::services::answer_of(answer)? {
                $pattern => Ok($value),
                _ => Err($crate::own::GatewayRefusal::mixed_up()),
            }
        }
    };
}
pub(crate) use told;
