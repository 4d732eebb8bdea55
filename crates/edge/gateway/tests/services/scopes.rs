//! What a token may do: generated from the table of methods, so that a new one cannot be forgotten.

use dialect_gateway::{AuthState, METHODS, Scopes};
use serde_json::json;

use crate::play::{Play, paused};

const EACH: [Scopes; 4] = [Scopes::READ, Scopes::CHAT, Scopes::TOOLS, Scopes::ADMIN];

#[test]
fn a_method_outside_the_scope_is_refused_whatever_its_params_are() {
    paused(async {
        let mut play = Play::new();
        for scopes in EACH.map(|scope| scope.and(Scopes::READ)) {
            for row in METHODS.iter().filter(|row| !scopes.has(row.may_ask.scopes())) {
                let at = play.connect_as(AuthState::Known { scopes });
                let error = play.error(at, row.name, json!({"x": "y"})).await;
                assert_eq!(error, (-5, "scope".into()), "{} {:?}", row.name, scopes.words());
            }
        }
    });
}

#[test]
fn a_stranger_may_log_in_and_leave() {
    paused(async {
        let mut play = Play::new();
        for row in METHODS.iter().filter(|row| !["auth.login", "system.disconnect"].contains(&row.name)) {
            let at = play.connect_as(AuthState::Unknown);
            assert_eq!(play.error(at, row.name, json!({})).await, (-4, "auth_required".into()), "{}", row.name);
        }
    });
}

/// A yes to a call is the call: who may only chat has none to give, or it would run whatever it has the model ask for.
#[test]
fn who_may_chat_cannot_say_yes_to_its_own_calls() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect_as(AuthState::Known { scopes: Scopes::READ.and(Scopes::CHAT) });
        let can = play.result(at, "system.capabilities", json!({})).await;
        assert_eq!(can["scopes"], json!(["read", "chat"]), "a client need not try what it may not do");
        let yes = json!({"callId": "call_0", "decision": "allow"});
        assert_eq!(play.error(at, "agent.confirmTool", yes).await, (-5, "scope".into()));
        let asks = json!({"sessionId": "ws:a", "enabled": true});
        assert_eq!(play.error(at, "agent.setToolUseCallback", asks).await, (-5, "scope".into()));
        for command in ["/elevate 5", "/elevate off", "/pair", "/pair list", "/pair revoke AAAA"] {
            assert_eq!(play.error(at, "agent.send", json!({"message": command})).await, (-5, "scope".into()));
        }
        let logs = json!({"topics": ["lanes", "logs"]});
        assert_eq!(play.error(at, "events.subscribe", logs).await, (-5, "scope".into()));
        let patch = json!({"sessionId": "ws:c1", "elevation": {"minutes": 5}});
        assert_eq!(play.error(at, "sessions.patch", patch).await, (-5, "scope".into()));
    });
}
