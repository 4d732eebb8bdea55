//! Who comes back on a connection of its own hears what the log has, in the words of a replay.

use serde_json::{Value, json};
use vocab::Mode;

use crate::play::{Play, paused, shown};

const TWO_CALLS: &str = r#"call bash {"command":"hang"} and call bash {"command":"echo two"} and call paint {"x":1}"#;

async fn replayed(play: &mut Play) -> Vec<Value> {
    let a = play.connect();
    let page = play.result(a, 1, "events.replay", json!({"sessionId": "s:1"})).await;
    page["result"]["events"].as_array().unwrap().clone()
}

/// What an event says and where, without whom it is for.
fn told(frame: &Value) -> Value {
    json!([frame["event"], frame["cursor"], frame["data"]])
}

#[test]
fn a_run_that_ended_meanwhile_is_told_from_every_cursor_as_a_replay_tells_it() {
    paused(async {
        let mut play = Play::new(|settings| settings.mode = Mode::Prompt);
        let a = play.connect();
        play.ask(a, 1, "agent.send", json!({"message": "say 2 words", "sessionId": "s:1"})).await;
        play.ask(
            a,
            2,
            "agent.send",
            json!({"message": r#"call bash {"command":"echo hi"} then say bye"#, "sessionId": "s:1"}),
        )
        .await;
        let asked = replayed(&mut play).await;
        let asked = asked.iter().rev().find(|event| event["event"] == "tool_confirm").unwrap()["data"].clone();
        let answer =
            json!({"sessionId": "s:1", "askId": asked["askId"], "callId": asked["callId"], "decision": "allow"});
        play.ask(a, 3, "agent.confirmTool", answer).await;
        play.pipes[a] = None;
        let whole = replayed(&mut play).await;
        assert!(whole.iter().any(|event| event["event"] == "tool_confirm_done"), "{}", shown(&whole));
        for (at, event) in whole.iter().enumerate() {
            let (b, params) = (play.connect(), json!({"topics": ["session:s:1"], "afterSeq": event["cursor"]}));
            let heard = play.ask(b, 1, "events.subscribe", params).await;
            let heard: Vec<Value> = heard[1..].iter().map(told).collect();
            let rest: Vec<Value> = whole[at + 1..].iter().map(told).collect();
            assert_eq!(heard, rest, "behind {}", event["cursor"]);
            play.pipes[b] = None;
        }
    });
}

#[test]
fn each_call_that_an_interrupt_ends_has_its_start_which_says_what_it_was_to_do() {
    paused(async {
        let mut play = Play::new(|_| {});
        let (a, b, c) = (play.connect(), play.connect(), play.connect());
        play.ask(a, 1, "agent.send", json!({"message": "say 1 words", "sessionId": "s:1"})).await;
        play.ask(b, 1, "events.subscribe", json!({"topics": ["session:s:1"]})).await;
        let send = json!({"message": TWO_CALLS, "sessionId": "s:1", "idempotencyKey": "k"});
        let mut asked = play.ask(a, 2, "agent.send", send.clone()).await;
        // Somebody comes into the run while the first call is under way.
        let mut joined = play.ask(c, 1, "agent.send", send).await;
        asked.extend(play.ask(a, 3, "agent.cancel", json!({"sessionId": "s:1"})).await);
        let heard = play.heard(b).await;
        joined.extend(play.heard(c).await);
        let calls = |frames: &[Value]| -> Vec<String> {
            let of_call = |frame: &&Value| matches!(frame["event"].as_str(), Some("tool_start" | "tool_end"));
            let show = |frame: &Value| match frame["event"] == "tool_start" {
                true => format!("{} {}", frame["data"]["tool"].as_str().unwrap(), frame["data"]["args"]),
                false => format!("{} ends", frame["data"]["tool"].as_str().unwrap()),
            };
            frames.iter().filter(of_call).map(show).collect()
        };
        let pairs = [
            r#"shell.exec {"command":"hang"}"#,
            "shell.exec ends",
            r#"shell.exec {"command":"echo two"}"#,
            "shell.exec ends",
            r#"paint {"x":1}"#,
            "paint ends",
        ];
        assert_eq!(calls(&asked), pairs, "the request: {}", shown(&asked));
        assert_eq!(calls(&joined), pairs, "one that came later: {}", shown(&joined));
        assert_eq!(calls(&heard), pairs, "the subscription: {}", shown(&heard));
        assert_eq!(calls(&replayed(&mut play).await), pairs, "a replay");
    });
}
