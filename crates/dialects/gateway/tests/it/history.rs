//! Stored events backwards, with their times and senders, and with what the model thought.

use std::time::Duration;

use serde_json::{Value, json};

use crate::play::{Play, paused, shown};

/// One black pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";

async fn replay(play: &mut Play, at: usize, id: u64, more: Value) -> Value {
    let mut params = json!({"sessionId": "s:1"});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    play.result(at, id, "events.replay", params).await["result"].clone()
}

async fn talked(play: &mut Play, messages: &[&str]) -> usize {
    let a = play.connect();
    for (at, message) in messages.iter().enumerate() {
        play.ask(a, at as u64, "agent.send", json!({"message": message, "sessionId": "s:1"})).await;
    }
    play.connect()
}

#[test]
fn pages_backwards_are_the_whole_and_end_at_its_beginning() {
    paused(async {
        let mut play = Play::new(|_| {});
        let messages = ["say 2 words", r#"call paint {}"#, "say 1 words"];
        let a = talked(&mut play, &messages).await;
        let whole = replay(&mut play, a, 1, json!({"limit": 1000})).await["events"].as_array().unwrap().clone();
        assert!(whole.iter().all(|event| event["at"].as_i64().is_some_and(|at| at > 0)), "{}", shown(&whole));
        for limit in [1, 2, 3, 7, 1000] {
            let (mut pages, mut before, mut id) = (Vec::<Value>::new(), json!(i64::MAX), 100 * limit);
            loop {
                id += 1;
                let page = replay(&mut play, a, id, json!({"beforeSeq": before, "limit": limit})).await;
                let events = page["events"].as_array().unwrap().clone();
                let seqs = |events: &[Value]| {
                    events.iter().map(|it| it["seq"].as_u64().unwrap()).collect::<std::collections::BTreeSet<_>>()
                };
                assert!(seqs(&events).len() as u64 <= limit && !events.is_empty(), "{page}");
                assert_eq!(page["nextSeq"], events.last().unwrap()["cursor"], "where it goes on forwards");
                pages.splice(0..0, events);
                before = page["prevSeq"].clone();
                if page["complete"] == true {
                    break;
                }
            }
            assert_eq!((&pages, before), (&whole, json!(1)), "{limit}");
        }
        let first = replay(&mut play, a, 9000, json!({"beforeSeq": 1})).await;
        assert_eq!((&first["events"], &first["complete"], &first["nextSeq"]), (&json!([]), &json!(true), &json!("0")));
        for wrong in [json!({"beforeSeq": 0}), json!({"beforeSeq": 3, "afterSeq": 1}), json!({"beforeSeq": "x"})] {
            let mut params = json!({"sessionId": "s:1"});
            params.as_object_mut().unwrap().extend(wrong.as_object().unwrap().clone());
            let refused = play.result(a, 9001, "events.replay", params).await;
            assert_eq!(refused["error"]["data"]["param"], "beforeSeq", "{refused}");
        }
        let gone = play.result(a, 9002, "events.replay", json!({"sessionId": "s:none", "beforeSeq": 5})).await;
        assert_eq!(gone["error"]["code"], 1);
    });
}

#[test]
fn a_message_says_whose_it_is_and_its_images_follow() {
    paused(async {
        let mut play = Play::new(|_| {});
        let a = play.connect();
        let image = json!([{"mimeType": "image/png", "data": PIXEL}]);
        play.ask(a, 1, "agent.send", json!({"message": "say 1 words", "sessionId": "s:1", "attachments": image})).await;
        let page = replay(&mut play, a, 2, json!({})).await;
        let events = page["events"].as_array().unwrap();
        let at = events.iter().position(|it| it["data"]["kind"] == "message").unwrap();
        assert!(events[at]["data"]["detail"]["by"].as_str().is_some_and(|by| by.contains(':')), "{}", events[at]);
        assert_eq!((&events[at + 1]["event"], &events[at + 1]["seq"]), (&json!("attachment"), &events[at]["seq"]));
        assert_eq!(events[at + 1]["data"]["mimeType"], "image/png");
        assert!(!events[at + 1]["data"]["data"].as_str().unwrap().is_empty());
    });
}

/// The text of one stream, less what was taken back.
fn stream(frames: &[Value], event: &str, taken_back: &str) -> String {
    let mut text = String::new();
    for frame in frames {
        if frame["event"] == event {
            text += frame["data"]["text"].as_str().unwrap();
        }
        if frame["event"] == "retract" {
            text.truncate(text.len() - frame["data"][taken_back].as_u64().unwrap_or(0) as usize);
        }
    }
    text
}

/// A stream with thinking is cut after every event in turn and taken up with its cursor.
#[test]
fn thinking_that_is_cut_anywhere_is_whole_and_said_once() {
    paused(async {
        for cut in 0..20 {
            let mut play = Play::new(|_| {});
            let b = talked(&mut play, &["say 1 words"]).await;
            let a = play.connect();
            let wish = json!({"topics": ["session:s:1"], "afterSeq": 0, "thinking": true});
            let mut heard = play.ask(b, 1, "events.subscribe", wish).await;
            heard.remove(0);
            let message = r#"slow 100 think 4 words say 3 words"#;
            play.put(a, 1, "agent.send", json!({"message": message, "sessionId": "s:1"})).await;
            let (mut last, mut told, mut is_over) = (heard.last().unwrap()["cursor"].clone(), 0, false);
            while told < cut {
                let more = play.heard_for(b, Duration::from_millis(20)).await;
                let answered = play.heard_for(a, Duration::from_millis(5)).await;
                is_over |= answered.iter().any(|it| it.get("result").is_some());
                if more.is_empty() && is_over {
                    break;
                }
                for frame in more {
                    told += 1;
                    if told <= cut {
                        last = frame["cursor"].clone();
                        heard.push(frame);
                    }
                }
            }
            play.pipes[b] = None;
            let c = play.connect();
            let wish = json!({"topics": ["session:s:1"], "afterSeq": last, "thinking": true});
            heard.extend(play.ask(c, 1, "events.subscribe", wish).await.into_iter().skip(1));
            heard.extend(play.heard_for(c, Duration::from_secs(3)).await);
            let log = replay(&mut play, c, 2, json!({"thinking": true, "limit": 1000})).await["events"]
                .as_array()
                .unwrap()
                .clone();
            let thought = stream(&log, "thinking", "thinkingBytes");
            assert_eq!(thought, "t1 t2 t3 t4", "cut {cut}");
            assert_eq!(stream(&heard, "thinking", "thinkingBytes"), thought, "cut {cut} at {last}\n{}", shown(&heard));
            assert_eq!(stream(&heard, "content", "bytes"), stream(&log, "content", "bytes"), "cut {cut} at {last}");
            let whole = |frames: &[Value]| -> Vec<String> {
                let stored = frames.iter().filter(|frame| frame.get("at").is_some());
                stored.map(|frame| format!("{} {}", frame["event"].as_str().unwrap(), frame["seq"])).collect()
            };
            assert_eq!(whole(&heard), whole(&log), "cut {cut} at {last}");
            let plain = replay(&mut play, c, 3, json!({"limit": 1000})).await;
            assert!(!plain["events"].to_string().contains("thinking\""), "only who wants it is told");
        }
    });
}

#[test]
fn the_end_of_a_run_says_its_model_and_time_live_and_in_every_page() {
    paused(async {
        let mut play = Play::new(|_| {});
        let a = talked(&mut play, &["say 1 words"]).await;
        let b = play.connect();
        play.ask(b, 1, "events.subscribe", json!({"topics": ["session:s:1"]})).await;
        play.ask(a, 1, "agent.send", json!({"message": "slow 50 say 3 words", "sessionId": "s:1"})).await;
        let live = play.heard(b).await;
        let live = live.iter().find(|frame| frame["event"] == "done").unwrap().clone();
        assert_eq!((&live["data"]["model"], &live["data"]["usage"]["costUsd"]), (&json!("mock/alpha"), &json!(0.0)));
        assert!(live["data"]["durationMs"].is_u64() && live["at"].is_i64(), "{live}");
        for (id, params) in [
            (2, json!({})),
            (3, json!({"afterSeq": live["seq"].as_u64().unwrap() - 1})),
            (4, json!({"beforeSeq": i64::MAX, "limit": 1})),
        ] {
            let page = replay(&mut play, a, id, params.clone()).await;
            let done = page["events"].as_array().unwrap().last().unwrap().clone();
            assert_eq!(done["data"], live["data"], "{params}");
        }
    });
}
