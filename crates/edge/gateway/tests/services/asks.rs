//! Questions of all sessions: the list, its news, and what an earlier process has left.

use std::time::Duration;

use serde_json::{Value, json};
use vocab::Mode;

use crate::play::{Play, paused};

const QUIET: Duration = Duration::from_millis(300);

/// Sends a message that leads to a question, on a connection of its own.
async fn asking(play: &mut Play, session: &str, file: &str) -> usize {
    let at = play.connect();
    let message = format!(r#"call write_file {{"path":"{file}","content":"x"}}"#);
    play.ask(at, "agent.send", json!({"sessionId": session, "message": message})).await;
    at
}

fn news(frames: &[Value]) -> Vec<(&str, &Value)> {
    frames.iter().filter_map(|frame| Some((frame["event"].as_str()?, &frame["data"]))).collect()
}

#[test]
fn a_question_is_told_listed_and_answered_by_who_listens_to_all() {
    paused(async {
        let mut play = Play::in_mode(Mode::Prompt);
        let board = play.connect();
        play.send(board, &json!({"id": 50, "method": "events.subscribe", "params": {"topics": ["asks"]}})).await;
        play.heard(board, QUIET).await;
        assert_eq!(play.result(board, "asks.list", json!({})).await, json!({"asks": []}));
        let first = asking(&mut play, "ws:a", "a.txt").await;
        let heard = play.heard(board, QUIET).await;
        let told = news(&heard);
        assert_eq!((told.len(), told[0].0), (1, "ask"), "{heard:?}");
        let row = told[0].1.clone();
        assert_eq!(
            (&row["sessionId"], &row["tool"], &row["risk"]),
            (&json!("ws:a"), &json!("file.write"), &json!("workspace-write"))
        );
        assert_eq!(row["summary"], "write a.txt (+1 -0)");
        assert!(row["askId"].is_string() && row["callId"].is_string() && row["preview"].is_array(), "{row}");
        assert!(row["openedAt"].is_i64() && row["seq"].is_u64() && row["expiresAt"].is_i64(), "{row}");
        assert!(row["cwd"].as_str().is_some_and(|cwd| cwd.starts_with('/')) && row["askedBy"].is_string(), "{row}");
        assert_eq!(play.result(board, "asks.list", json!({})).await, json!({"asks": [row]}));
        let _second = asking(&mut play, "ws:b", "b.txt").await;
        play.heard(board, QUIET).await;
        let both = play.result(board, "asks.list", json!({})).await;
        let sessions: Vec<&Value> = both["asks"].as_array().unwrap().iter().map(|row| &row["sessionId"]).collect();
        assert_eq!(sessions, [&json!("ws:a"), &json!("ws:b")], "oldest first");
        let one = play.result(board, "asks.list", json!({"sessionId": "ws:b"})).await;
        assert_eq!(one["asks"].as_array().unwrap().len(), 1);
        let yes = json!({"sessionId": "ws:a", "askId": row["askId"], "callId": row["callId"], "decision": "allow"});
        play.send(board, &json!({"id": 51, "method": "agent.confirmTool", "params": yes})).await;
        let heard = play.heard(board, QUIET).await;
        assert!(heard.iter().any(|frame| frame["id"] == 51 && frame["result"]["accepted"] == true), "{heard:?}");
        let told = news(&heard);
        let (event, done) = told[0];
        assert_eq!((event, &done["decision"], &done["askId"]), ("ask_done", &json!("allow"), &row["askId"]));
        assert!(done["by"].is_string() && done["callId"] == row["callId"] && done["sessionId"] == "ws:a", "{done}");
        assert!(play.heard(first, QUIET).await.last().unwrap().get("result").is_some());
        assert_eq!(play.result(board, "asks.list", json!({"sessionId": "ws:a"})).await, json!({"asks": []}));
        assert_eq!(play.error(board, "asks.list", json!({"sessionId": "ws:none"})).await.0, 1);
        assert_eq!(play.error(board, "asks.list", json!({"sessionId": "../x"})).await, (-2, "invalid_params".into()));
    });
}

#[test]
fn a_session_that_is_deleted_takes_its_questions_with_it() {
    paused(async {
        let mut play = Play::in_mode(Mode::Prompt);
        let board = play.connect();
        play.send(board, &json!({"id": 50, "method": "events.subscribe", "params": {"topics": ["asks"]}})).await;
        asking(&mut play, "ws:a", "a.txt").await;
        play.heard(board, QUIET).await;
        play.send(board, &json!({"id": 51, "method": "sessions.delete", "params": {"sessionId": "ws:a"}})).await;
        let heard = play.heard(board, QUIET).await;
        let told = news(&heard);
        assert_eq!((told.len(), told[0].0, &told[0].1["decision"]), (1, "ask_done", &json!("withdrawn")), "{heard:?}");
        assert_eq!(play.result(board, "asks.list", json!({})).await, json!({"asks": []}));
    });
}

#[test]
fn what_an_earlier_process_has_asked_is_listed_and_can_be_answered() {
    paused(async {
        let mut play = Play::in_mode(Mode::Prompt);
        let first = asking(&mut play, "ws:a", "a.txt").await;
        play.hang_up(first).await;
        play.forget_counts();
        let board = play.connect();
        play.heard(board, Duration::from_secs(5)).await;
        let listed = play.result(board, "asks.list", json!({})).await;
        let row = &listed["asks"][0];
        assert_eq!((&row["sessionId"], listed["asks"].as_array().unwrap().len()), (&json!("ws:a"), 1), "{listed}");
        let yes = json!({"sessionId": "ws:a", "askId": row["askId"], "callId": row["callId"], "decision": "allow"});
        assert_eq!(play.result(board, "agent.confirmTool", yes).await, json!({"accepted": true}));
        play.heard(board, Duration::from_secs(60)).await;
        assert_eq!(
            play.result(board, "asks.list", json!({})).await,
            json!({"asks": []}),
            "its log says that it has ended"
        );
    });
}
