//! Questions answered from connections that are not on their sessions.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use vocab::{AskWait, Conduct, Mode};

use crate::play::{Play, paused, shown};

const ASKS: &str = r#"call bash {"command":"echo hi"}"#;
const ASKS_TWICE: &str = r#"call bash {"command":"echo one"} call bash {"command":"echo two"}"#;

/// The newest question of a session, as a replay tells it.
async fn question(play: &mut Play, at: usize, id: u64, session: &str) -> Value {
    let page = play.result(at, id, "events.replay", json!({"sessionId": session})).await;
    let events = page["result"]["events"].as_array().unwrap();
    events.iter().rev().find(|event| event["event"] == "tool_confirm").map(|event| event["data"].clone()).unwrap()
}

fn answer(session: &str, asked: &Value, decision: &str) -> Value {
    json!({"sessionId": session, "askId": asked["askId"], "callId": asked["callId"], "decision": decision})
}

#[test]
fn a_question_is_answered_from_a_connection_that_is_not_on_its_session() {
    paused(async {
        let mut play = Play::new(|settings| settings.mode = Mode::Prompt);
        let (a, b, c) = (play.connect(), play.connect(), play.connect());
        let heard = play.ask(a, 1, "agent.send", json!({"message": ASKS, "sessionId": "s:1"})).await;
        assert_eq!(heard.len(), 1, "it waits: {}", shown(&heard));
        let asked = question(&mut play, b, 1, "s:1").await;
        let wrong = [
            json!({"sessionId": "s:1", "askId": "another", "callId": asked["callId"], "decision": "allow"}),
            json!({"sessionId": "s:1", "askId": asked["askId"], "callId": "another", "decision": "allow"}),
            json!({"sessionId": "s:none", "askId": asked["askId"], "callId": asked["callId"], "decision": "allow"}),
            json!({"askId": asked["askId"], "callId": "another", "decision": "allow"}),
        ];
        for (at, params) in wrong.into_iter().enumerate() {
            let answered = play.result(b, 10 + at as u64, "agent.confirmTool", params.clone()).await;
            assert_eq!(answered["result"], json!({"accepted": false}), "{params}");
        }
        let answered = play.result(b, 2, "agent.confirmTool", answer("s:1", &asked, "allow")).await;
        assert_eq!(answered["result"], json!({"accepted": true}));
        let heard = play.heard(a).await;
        assert!(
            shown(&heard).contains(r#"tool_end shell.exec {"error":null,"output":"hi\n","success":true}"#),
            "{}",
            shown(&heard)
        );
        assert!(heard.last().unwrap().get("result").is_some());
        for (connection, id) in [(b, 3), (c, 3)] {
            let late = play.result(connection, id, "agent.confirmTool", answer("s:1", &asked, "deny")).await;
            assert_eq!(late["result"], json!({"accepted": false}));
        }
    });
}

#[test]
fn of_two_answers_from_elsewhere_the_first_counts() {
    paused(async {
        let mut play = Play::new(|settings| settings.mode = Mode::Prompt);
        let (a, b, c) = (play.connect(), play.connect(), play.connect());
        play.ask(a, 1, "agent.send", json!({"message": ASKS, "sessionId": "s:1"})).await;
        let asked = question(&mut play, b, 1, "s:1").await;
        play.put(b, 2, "agent.confirmTool", answer("s:1", &asked, "deny")).await;
        play.put(c, 2, "agent.confirmTool", answer("s:1", &asked, "allow")).await;
        let accepted = [
            play.heard(b).await[0]["result"]["accepted"].clone(),
            play.heard(c).await[0]["result"]["accepted"].clone(),
        ];
        assert!(accepted == [json!(true), json!(false)] || accepted == [json!(false), json!(true)], "{accepted:?}");
    });
}

/// Whoever answers from elsewhere takes no part: the next question waits as the first one did.
#[test]
fn an_answer_from_elsewhere_is_no_reason_to_deny_the_next_question() {
    paused(async {
        let mut play = Play::new(|settings| {
            settings.mode = Mode::Prompt;
            let ask_wait = AskWait { answerable_ms: Some(120_000), alone_ms: Some(86_400_000) };
            settings.conduct = Arc::new(Conduct { ask_wait, ..Conduct::default() });
        });
        let (a, b) = (play.connect(), play.connect());
        play.ask(a, 1, "agent.setToolUseCallback", json!({"sessionId": "ws:c1", "enabled": true})).await;
        play.ask(a, 2, "agent.send", json!({"message": ASKS_TWICE, "sessionId": "ws:c1"})).await;
        play.ask(b, 1, "events.subscribe", json!({"topics": ["session:ws:c1"]})).await;
        play.pipes[a] = None;
        play.heard_for(b, Duration::from_secs(60)).await;
        for (id, output) in [(10, "one"), (20, "two")] {
            let asked = question(&mut play, b, id, "ws:c1").await;
            let heard = play.ask(b, id + 1, "agent.confirmTool", answer("ws:c1", &asked, "allow")).await;
            assert!(shown(&heard).contains(&format!(r#""output":"{output}\n","success":true"#)), "{}", shown(&heard));
        }
    });
}

/// The process that asked is gone, and so is everything but the log.
#[test]
fn a_question_of_a_session_that_is_not_in_memory_is_answered() {
    paused(async {
        let mut play = Play::new(|settings| settings.mode = Mode::Prompt);
        let a = play.connect();
        play.ask(a, 1, "agent.send", json!({"message": ASKS, "sessionId": "s:1"})).await;
        play.pipes[a] = None;
        let b = play.connect();
        play.heard_for(b, Duration::from_secs(5)).await;
        let asked = question(&mut play, b, 1, "s:1").await;
        let answered = play.result(b, 2, "agent.confirmTool", answer("s:1", &asked, "allow")).await;
        assert_eq!(answered["result"], json!({"accepted": true}));
        play.heard_for(b, Duration::from_secs(5)).await;
        let page = play.result(b, 3, "events.replay", json!({"sessionId": "s:1"})).await;
        let events = page["result"]["events"].as_array().unwrap();
        assert_eq!(events.last().unwrap()["event"], "done", "{}", shown(events));
    });
}
