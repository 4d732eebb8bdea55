//! The methods of the wire, by name.

use crate::params::Kind::{self, Flag, Number, Text};
use crate::params::{Field, Needs};

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

/// One method: its name, whether it can do without params, and the members that it reads, in the order in which they are
/// looked at. All of them are checked before anything is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MethodEntry {
    pub(crate) name: &'static str,
    pub(crate) method: Method,
    pub(crate) needs: Needs,
    pub(crate) fields: &'static [Field],
}

const fn entry(name: &'static str, method: Method, needs: Needs, fields: &'static [Field]) -> MethodEntry {
    MethodEntry { name, method, needs, fields }
}
const fn must(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, required: true }
}
const fn may(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, required: false }
}

const SESSION: Field = must("session_id", Text);
const KEY: &[Field] = &[must("api_key", Text)];

pub(crate) const METHODS: &[MethodEntry] = &[
    entry("auth.connect.antigravity", Method::AuthConnectAntigravity, Needs::Nothing, &[]),
    entry(
        "auth.connect.openai",
        Method::AuthConnectOpenAi,
        Needs::Optional,
        &[may("mode", Text), may("originator", Text)],
    ),
    entry("auth.set.exa_key", Method::AuthSetExaKey, Needs::Object, KEY),
    entry("auth.set.openrouter_key", Method::AuthSetOpenRouterKey, Needs::Object, KEY),
    entry("auth.status", Method::AuthStatus, Needs::Nothing, &[]),
    entry("command.execute", Method::CommandExecute, Needs::Object, &[SESSION, must("raw_command", Text)]),
    entry("debug.set", Method::DebugSet, Needs::Object, &[must("super_debug", Flag)]),
    entry("history.clear_session", Method::HistoryClearSession, Needs::Object, &[SESSION]),
    entry(
        "history.get",
        Method::HistoryGet,
        Needs::Optional,
        &[may("id", Text), may("rollout_path", Text), may("last", Flag)],
    ),
    entry("history.list", Method::HistoryList, Needs::Optional, &[may("limit", Number), may("cursor", Number)]),
    entry("limits.get", Method::LimitsGet, Needs::Nothing, &[]),
    entry("model.list", Method::ModelList, Needs::Optional, &[may("provider", Text)]),
    entry("model.openrouter.providers", Method::ModelOpenRouterProviders, Needs::Object, &[must("model_id", Text)]),
    entry(
        "model.select",
        Method::ModelSelect,
        Needs::Object,
        &[
            must("model_id", Text),
            must("provider", Text),
            must("thinking_level", Text),
            may("openrouter_provider", Text),
            may("session_id", Text),
            may("compress_immediately", Flag),
        ],
    ),
    entry("onboarding.complete", Method::OnboardingComplete, Needs::Nothing, &[]),
    entry("onboarding.status", Method::OnboardingStatus, Needs::Nothing, &[]),
    entry(
        "rpc.handshake",
        Method::RpcHandshake,
        Needs::Optional,
        &[may("protocol_version", Text), may("strict", Flag)],
    ),
    entry("session.create", Method::SessionCreate, Needs::Optional, &[may("title", Text)]),
    entry("session.get", Method::SessionGet, Needs::Object, &[SESSION]),
    entry("session.interrupt", Method::SessionInterrupt, Needs::Object, &[SESSION]),
    entry("session.queue.clear", Method::SessionQueueClear, Needs::Object, &[SESSION]),
    entry("session.queue.list", Method::SessionQueueList, Needs::Object, &[SESSION]),
    entry("session.send", Method::SessionSend, Needs::Object, &[SESSION, may("text", Text), may("enqueue", Flag)]),
    entry("session.steer", Method::SessionSteer, Needs::Object, &[SESSION, must("text", Text)]),
    entry("skills.list", Method::SkillsList, Needs::Nothing, &[]),
    entry("state.get", Method::StateGet, Needs::Nothing, &[]),
    entry("system.ping", Method::SystemPing, Needs::Nothing, &[]),
    entry("system.shutdown", Method::SystemShutdown, Needs::Optional, &[may("reason", Text)]),
    entry("tools.list", Method::ToolsList, Needs::Nothing, &[]),
];

/// What is known of a method.
pub(crate) fn find(name: &str) -> Option<&'static MethodEntry> {
    METHODS.binary_search_by(|entry| entry.name.cmp(name)).ok().map(|at| &METHODS[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_and_they_are_sorted() {
        assert_eq!(METHODS.len(), 29);
        assert!(METHODS.windows(2).all(|pair| pair[0].name < pair[1].name));
        assert!(METHODS.iter().all(|entry| find(entry.name) == Some(entry)));
        assert_eq!((find(" system.ping"), find("")), (None, None));
    }
}
