//! Frames, logins, rates and how a connection ends.

use dialect_gateway::{AuthState, BURST_MAX, Scopes};
use expect_test::expect;
use serde_json::json;

use crate::play::{Play, paused, shown};

#[test]
fn an_id_in_flight_is_not_taken_twice() {
    paused(async {
        let mut play = Play::new(|_| {});
        let a = play.connect();
        play.ask(a, 1, "agent.send", json!({"message": "hang"})).await;
        let heard = play.ask(a, 1, "agent.send", json!({"message": "say 1 words"})).await;
        assert_eq!(heard[0]["error"]["data"], json!({"reason": "duplicate_id", "id": 1}));
        play.pipe(a).send(r#"{"id":1,"method":7}"#).await;
        let more = play.heard(a).await;
        expect![[r#"
            null ! -2 duplicate_id
            null ! -2 invalid_request
        "#]]
        .assert_eq(&shown(&[heard, more].concat()));
    });
}

#[test]
fn nobody_is_let_in_without_a_token_and_a_scope() {
    paused(async {
        let mut play = Play::new(|_| {});
        let a = play.connect_as(AuthState::Unknown);
        let mut heard = play.ask(a, 1, "tools.list", json!({})).await;
        heard.extend(play.ask(a, 2, "no.such", json!({})).await);
        heard.extend(play.ask(a, 3, "auth.login", json!({"token": "wrong"})).await);
        heard.extend(play.ask(a, 4, "auth.login", json!({"token": "right"})).await);
        heard.extend(play.ask(a, 5, "events.unsubscribe", json!({"subscriptionId": 1})).await);
        heard.extend(play.ask(a, 6, "sessions.delete", json!({"sessionId": "x"})).await);
        heard.extend(play.ask(a, 7, "agent.send", json!({"message": "/elevate 5"})).await);
        expect![[r#"
            1 ! -4 auth_required
            2 ! -4 auth_required
            3 ! -5 auth_failed
            4 = {"authenticated":true,"connectionId":"c1","name":"ann","scopes":["read","chat"]}
            5 = {"unsubscribed":false}
            6 ! -5 scope
            7 ! -5 scope
        "#]]
        .assert_eq(&shown(&heard));
    });
}

#[test]
fn who_stays_silent_or_guesses_is_shown_out() {
    paused(async {
        let mut play = Play::new(|_| {});
        let a = play.connect_as(AuthState::Unknown);
        play.heard_for(a, std::time::Duration::from_secs(11)).await;
        let b = play.connect_as(AuthState::Unknown);
        for id in 1..=3 {
            play.ask(b, id, "auth.login", json!({"token": "wrong"})).await;
        }
        for at in [a, b] {
            let ended = play.pipes[at].take().unwrap().ended().await;
            assert!(ended.is_some(), "{at}");
        }
    });
}

#[test]
fn a_disconnect_is_answered_and_leaves_the_run() {
    paused(async {
        let mut play = Play::new(|_| {});
        let a = play.connect();
        play.ask(a, 1, "agent.send", json!({"message": "slow 100 say 9 words", "sessionId": "s:1"})).await;
        play.put(a, 2, "agent.send", json!({"message": "slow 100 say 9 words", "sessionId": "s:1"})).await;
        play.heard_for(a, std::time::Duration::from_millis(50)).await;
        let heard = play.ask(a, 3, "system.disconnect", json!({})).await;
        assert_eq!(shown(&heard), "3 = {\"success\":true}\n");
        let b = play.connect();
        let wait = json!({"sessionId": "s:1", "topics": ["session:s:1"]});
        let heard = play.ask(b, 1, "events.subscribe", wait).await;
        assert!(heard.iter().any(|frame| frame["event"] == "done"), "{}", shown(&heard));
    });
}

#[test]
fn who_asks_too_fast_is_refused_and_then_shown_out() {
    paused(async {
        let mut play = Play::new(|_| {});
        let a = play.connect_as(AuthState::Known { scopes: Scopes::READ });
        for id in 0..BURST_MAX + 6 {
            play.put(a, id, "events.unsubscribe", json!({"subscriptionId": 1})).await;
        }
        let heard = play.heard(a).await;
        let refused: Vec<_> = heard.iter().filter(|frame| frame.get("error").is_some()).collect();
        assert!(refused.len() >= 5, "{}", shown(&heard[BURST_MAX as usize..]));
        assert_eq!(refused[0]["error"]["data"], json!({"reason": "rate_limited", "retryAfterMs": 10}));
        assert!(play.pipes[a].take().unwrap().ended().await.is_some());
    });
}

#[test]
fn an_engine_that_ends_settles_every_id() {
    paused(async {
        let mut play = Play::new(|_| {});
        let a = play.connect();
        play.ask(a, 1, "agent.send", json!({"message": "say 1 words hang", "sessionId": "s:1"})).await;
        play.ask(a, 2, "agent.send", json!({"message": "say 1 words", "sessionId": "s:1"})).await;
        play.stage.engine.shutdown().await;
        let heard = play.heard(a).await;
        expect![[r#"
            1 run_state cancel_requested
            1 run_state cancelled
            1 error 4
            1 ! 4 shutdown
            2 error 4
            2 ! 4 shutdown
        "#]]
        .assert_eq(&shown(&heard));
    });
}
