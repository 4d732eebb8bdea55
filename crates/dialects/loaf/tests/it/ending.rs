//! How a conversation ends: by a request, by the end of input, by a signal. What runs is stopped, what was asked is answered.

use std::time::Duration;

use expect_test::expect;
use serde_json::json;
use vocab::{SessionVerb, Stop, Verb};
use wire::Parting;

use crate::play::{Play, paused};
use crate::talk::Talk;

#[test]
fn shutdown_stops_what_runs_and_refuses_what_comes() {
    paused(async {
        let mut play = Play::on().await;
        play.ask("session.create", json!({})).await.send("say a hold").await.queue("say never").await;
        play.ask("session.send", json!({"session_id": "s2", "text": "hold"})).await.forget();
        play.put("system.shutdown", json!({"reason": " done "})).await;
        for method in ["system.ping", "session.create", "state.get", "system.shutdown"] {
            play.put(method, json!({})).await;
        }
        play.put("session.get", json!({"session_id": "s1"})).await;
        play.put("nope", json!({})).await;
        let since = tokio::time::Instant::now();
        play.settle().await;
        assert!(since.elapsed() < Duration::from_secs(1));
        play.check(expect![[r#"
            > 6 system.shutdown {"reason":" done "}
            > 7 system.ping {}
            > 8 session.create {}
            > 9 state.get {}
            > 10 system.shutdown {}
            > 11 session.get {"session_id":"s1"}
            > 12 nope {}
            state.changed done
            6 = {"accepted":true,"reason":"done"}
            7 ! -32000 shutting_down: the server is shutting down
            8 ! -32000 shutting_down: the server is shutting down
            9 ! -32000 shutting_down: the server is shutting down
            10 ! -32000 shutting_down: the server is shutting down
            11 ! -32000 shutting_down: the server is shutting down
            12 ! -32601 method_not_found {"method":"nope"}: method not found: nope
            s1 #3 assistant: a
            s1 #4 system: response interrupted by user. partial output kept.
            s1 session.interrupted {"partial_output":true,"turn_id":"t1"}
            s1 [ready]
            s2 #5 system: response interrupted by user.
            s2 session.interrupted {"partial_output":false,"turn_id":"t3"}
            s2 [ready]
        "#]]);
        assert!(play.ended().await);
        play.watch.at_rest();
    });
}

#[test]
fn shutdown_with_nothing_running() {
    paused(async {
        let mut play = Play::on().await;
        play.ask("system.shutdown", json!({"reason": 7})).await.ask("system.shutdown", json!(null)).await;
        play.check(expect![[r#"
            > 2 system.shutdown {"reason":7}
            2 ! -32602 invalid_params {"field":"reason"}: invalid params for system.shutdown: `reason` must be a string
            > 3 system.shutdown null
            state.changed shutdown
            3 = {"accepted":true}
        "#]]);
        assert!(play.ended().await);
    });
}

#[test]
fn quit_is_a_shutdown() {
    paused(async {
        for raw in ["/quit", "/EXIT now"] {
            let mut play = Play::on().await;
            play.send("say a hold").await.forget();
            play.command(raw).await;
            let log = play.heard.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
            assert!(
                log.contains(r#""reason":"quit_command""#)
                    && log.contains(r#"{"handled":true,"output":{"shutting_down":true}}"#),
                "{log}"
            );
            assert!(log.contains("session.interrupted"), "{log}");
            assert!(play.ended().await);
            play.watch.at_rest();
        }
    });
}

#[test]
fn the_end_of_input_answers_what_was_asked_and_says_nothing_more() {
    paused(async {
        let mut play = Play::on().await;
        play.ask("session.create", json!({})).await.send("say a hold").await;
        play.ask("session.send", json!({"session_id": "s2", "text": "hold"})).await.forget();
        for method in ["system.ping", "tools.list", "model.list", "state.get", "session.create", "history.list"] {
            play.put(method, json!({})).await;
        }
        play.put("session.get", json!({"session_id": "s1"})).await;
        play.put("session.steer", json!({"session_id": "s1", "text": "x"})).await;
        play.eof().await;
        let events = play.heard.iter().filter(|line| line.get("params").is_some()).count();
        let results = play.heard.iter().filter(|line| line.get("result").is_some()).count();
        assert_eq!((events, results), (0, 8), "{:?}", play.heard);
        assert!(play.ended().await);
        // What was said is saved.
        let saved = play.stage.store.list(vocab::Query { non_empty: true, ..vocab::Query::default() }).await.unwrap();
        assert_eq!(saved.iter().map(|chat| chat.messages).sum::<u64>(), 3, "two prompts and a part of an answer");
    });
}

#[test]
fn a_signal_says_so_and_stops_what_runs() {
    for (by, reason) in [("sigint", "sigint"), ("sigterm", "sigterm"), ("sighup", "sigterm")] {
        let mut talk = Talk::on(2);
        talk.ask("session.send", r#"{"session_id":"s1","text":"x"}"#).begin("c1", "e1", "x");
        talk.log.clear();
        talk.part(Parting::Asked { by }).end("c1", "e1", Stop::Interrupted);
        while !talk.open.is_empty() {
            talk.reply(Ok(vocab::Reply::Done));
        }
        assert!(talk.log.contains(&format!("state.changed {reason}\n")), "{}", talk.log);
        assert_eq!(talk.out.close, Some(wire::Close::normal()), "{}", talk.log);
        talk.watch.at_rest();
    }
}

#[test]
fn a_second_signal_and_the_end_of_the_grace_period_wait_for_nothing() {
    for second in [Parting::Asked { by: "sigint" }, Parting::GraceOver] {
        let mut talk = Talk::on(1);
        talk.ask("session.send", r#"{"session_id":"s1","text":"x"}"#).begin("c1", "e1", "x");
        talk.part(Parting::Asked { by: "sigint" });
        assert!(talk.out.close.is_none());
        talk.part(second);
        assert!(talk.out.close.is_some(), "{}", talk.log);
        assert_eq!(talk.log.matches("state.changed sigint").count(), 1, "{}", talk.log);
    }
}

#[test]
fn what_waits_for_a_session_is_refused_at_the_end() {
    let mut talk = Talk::on(1);
    talk.ask("session.send", r#"{"session_id":"s1","text":"x"}"#).ask("session.get", r#"{"session_id":"s1"}"#);
    talk.ask("system.shutdown", "{}").reply_to(
        |verb| matches!(verb, Verb::Session(SessionVerb::Prompt { .. })),
        crate::talk::fault(vocab::FaultKind::Cancelled),
    );
    assert!(talk.log.contains("3 ! -32000 shutting_down: the server is shutting down"), "{}", talk.log);
    while !talk.open.is_empty() {
        talk.reply(Ok(vocab::Reply::Done));
    }
    assert!(talk.out.close.is_some(), "{}", talk.log);
    talk.watch.at_rest();
}
