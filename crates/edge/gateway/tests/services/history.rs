//! Logs read from their end, and the sub-agents that worked for a call.

use std::time::Duration;

use serde_json::{Value, json};

use crate::play::{Play, paused};

#[test]
fn a_log_is_read_backwards_page_by_page() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        for number in 1..=3 {
            play.run(at, "ws:a", &format!("say {number} words")).await;
        }
        let whole = play.result(at, "events.replay", json!({"sessionId": "ws:a"})).await;
        let (mut pages, mut before) = (Vec::<Value>::new(), json!(i64::MAX));
        for _ in 0..100 {
            let wish = json!({"sessionId": "ws:a", "beforeSeq": before, "limit": 2});
            let page = play.result(at, "events.replay", wish).await;
            pages.splice(0..0, page["events"].as_array().unwrap().clone());
            before = page["prevSeq"].clone();
            if page["complete"] == true {
                break;
            }
        }
        assert_eq!((&json!(pages), &before), (&whole["events"], &json!(1)));
        let own = play.error(at, "events.replay", json!({"sessionId": "ws:none", "beforeSeq": 1})).await;
        assert_eq!(own.0, 1);
    });
}

#[test]
fn a_sub_agent_is_told_with_the_call_that_it_works_for() {
    paused(async {
        let mut play = Play::new();
        let (at, board) = (play.connect(), play.connect());
        play.send(board, &json!({"id": 50, "method": "events.subscribe", "params": {"topics": ["sessions"]}})).await;
        let end = play.run(at, "ws:a", r#"call subagent {"task":"say 1 words"}"#).await;
        assert!(end.get("result").is_some(), "{end}");
        let heard = play.heard(board, Duration::from_secs(1)).await;
        let child = heard.iter().map(|frame| &frame["data"]).find(|data| data.get("parent").is_some());
        let child = child.unwrap_or_else(|| panic!("{heard:?}")).clone();
        assert_eq!(child["parent"]["sessionId"], "ws:a");
        let log = play.result(at, "events.replay", json!({"sessionId": child["sessionId"], "limit": 1})).await;
        assert_eq!(log["events"][0]["data"]["detail"]["parent"], child["parent"], "its log says it for ever");
        let log = play.result(at, "events.replay", json!({"sessionId": "ws:a"})).await;
        let started = log["events"].as_array().unwrap().iter().find(|event| event["event"] == "tool_start").unwrap();
        assert_eq!(started["data"]["callId"], child["parent"]["callId"]);
        let own = heard.iter().find(|frame| frame["data"]["sessionId"] == "ws:a").unwrap();
        assert!(own["data"].get("parent").is_none());
    });
}
