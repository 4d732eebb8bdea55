//! The methods of the wire, by name.

use crate::params::Needs;

/// What a controller can call. Sorted by name, as the handshake lists them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Method {
    AuthConnectAntigravity,
    AuthConnectOpenAi,
    AuthSetExaKey,
    AuthSetOpenRouterKey,
    AuthStatus,
    CommandExecute,
    DebugSet,
    HistoryClearSession,
    HistoryGet,
    HistoryList,
    LimitsGet,
    ModelList,
    ModelOpenRouterProviders,
    ModelSelect,
    OnboardingComplete,
    OnboardingStatus,
    RpcHandshake,
    SessionCreate,
    SessionGet,
    SessionInterrupt,
    SessionQueueClear,
    SessionQueueList,
    SessionSend,
    SessionSteer,
    SkillsList,
    StateGet,
    SystemPing,
    SystemShutdown,
    ToolsList,
}

pub(crate) const METHODS: &[(&str, Method, Needs)] = &[
    ("auth.connect.antigravity", Method::AuthConnectAntigravity, Needs::Nothing),
    ("auth.connect.openai", Method::AuthConnectOpenAi, Needs::Optional),
    ("auth.set.exa_key", Method::AuthSetExaKey, Needs::Object),
    ("auth.set.openrouter_key", Method::AuthSetOpenRouterKey, Needs::Object),
    ("auth.status", Method::AuthStatus, Needs::Nothing),
    ("command.execute", Method::CommandExecute, Needs::Object),
    ("debug.set", Method::DebugSet, Needs::Object),
    ("history.clear_session", Method::HistoryClearSession, Needs::Object),
    ("history.get", Method::HistoryGet, Needs::Optional),
    ("history.list", Method::HistoryList, Needs::Optional),
    ("limits.get", Method::LimitsGet, Needs::Nothing),
    ("model.list", Method::ModelList, Needs::Optional),
    ("model.openrouter.providers", Method::ModelOpenRouterProviders, Needs::Object),
    ("model.select", Method::ModelSelect, Needs::Object),
    ("onboarding.complete", Method::OnboardingComplete, Needs::Nothing),
    ("onboarding.status", Method::OnboardingStatus, Needs::Nothing),
    ("rpc.handshake", Method::RpcHandshake, Needs::Optional),
    ("session.create", Method::SessionCreate, Needs::Optional),
    ("session.get", Method::SessionGet, Needs::Object),
    ("session.interrupt", Method::SessionInterrupt, Needs::Object),
    ("session.queue.clear", Method::SessionQueueClear, Needs::Object),
    ("session.queue.list", Method::SessionQueueList, Needs::Object),
    ("session.send", Method::SessionSend, Needs::Object),
    ("session.steer", Method::SessionSteer, Needs::Object),
    ("skills.list", Method::SkillsList, Needs::Nothing),
    ("state.get", Method::StateGet, Needs::Nothing),
    ("system.ping", Method::SystemPing, Needs::Nothing),
    ("system.shutdown", Method::SystemShutdown, Needs::Optional),
    ("tools.list", Method::ToolsList, Needs::Nothing),
];

/// The name as we have it, which outlives the line it came in.
pub(crate) fn find(name: &str) -> Option<(&'static str, Method, Needs)> {
    METHODS.binary_search_by(|(known, ..)| (*known).cmp(name)).ok().map(|at| METHODS[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_and_they_are_sorted() {
        assert_eq!(METHODS.len(), 29);
        assert!(METHODS.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for &(name, method, needs) in METHODS {
            assert_eq!(find(name), Some((name, method, needs)));
        }
        assert_eq!((find(" system.ping"), find("")), (None, None));
    }
}
