//! Subscriptions, replays, cursors: no gap, no repeat, whatever the cut.

use serde_json::{Value, json};

use vocab::{Event, Fault};

use crate::play::{Play, paused, shown};
use crate::talk::Talk;

/// The text that a subscriber has, less what was taken back.
fn text(frames: &[Value]) -> String {
    let mut text = String::new();
    for frame in frames {
        match frame["event"].as_str() {
            Some("content") => text += frame["data"]["text"].as_str().unwrap(),
            Some("retract") => {
                let bytes = frame["data"]["bytes"].as_u64().unwrap() as usize;
                text.truncate(text.len() - bytes);
            }
            _ => {}
        }
    }
    text
}

/// Whole entries, each once and in order; parts in order.
fn places(frames: &[Value]) -> Vec<String> {
    let events = frames.iter().filter(|frame| frame.get("event").is_some());
    events.map(|frame| format!("{} {}", frame["event"].as_str().unwrap(), frame["cursor"].as_str().unwrap())).collect()
}

async fn talked(play: &mut Play, messages: &[&str]) {
    let a = play.connect();
    for (at, message) in messages.iter().enumerate() {
        play.ask(a, at as u64, "agent.send", json!({"message": message, "sessionId": "s:1"})).await;
    }
    play.pipes[a] = None;
}

#[test]
fn a_replay_and_a_subscription_say_the_same() {
    paused(async {
        let mut play = Play::new(|_| {});
        talked(&mut play, &["say 2 words", r#"call paint {}"#]).await;
        let a = play.connect();
        let page = play.result(a, 1, "events.replay", json!({"sessionId": "s:1"})).await;
        let replayed = page["result"]["events"].as_array().unwrap().clone();
        assert_eq!(page["result"]["complete"], true);
        let heard = play.ask(a, 2, "events.subscribe", json!({"topics": ["session:s:1"], "afterSeq": 0})).await;
        assert_eq!(heard[0]["result"]["seq"], 0);
        assert_eq!(places(&replayed), places(&heard[1..]));
        assert_eq!(text(&replayed), text(&heard));
        // Once more while the connection is on the session: it reads what it missed.
        let again = play.ask(a, 3, "events.subscribe", json!({"topics": ["session:s:1"], "afterSeq": 0})).await;
        assert_eq!(places(&replayed), places(&again[1..]));
        // Every entry has an event.
        let mut seqs: Vec<u64> = replayed.iter().map(|frame| frame["seq"].as_u64().unwrap()).collect();
        seqs.dedup();
        assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    });
}

#[test]
fn a_replay_goes_on_from_any_cursor() {
    paused(async {
        let mut play = Play::new(|_| {});
        talked(&mut play, &["say 2 words", r#"call paint {}"#]).await;
        let a = play.connect();
        let whole = play.result(a, 1, "events.replay", json!({"sessionId": "s:1"})).await["result"].clone();
        let whole = whole["events"].as_array().unwrap();
        for (at, event) in whole.iter().enumerate() {
            let after = &event["cursor"];
            let id = 2 + at as u64;
            let rest = play.result(a, id, "events.replay", json!({"sessionId": "s:1", "afterSeq": after})).await;
            assert_eq!(rest["result"]["events"].as_array().unwrap(), &whole[at + 1..], "{after}");
        }
        let mut pages = Vec::new();
        let mut after = json!(0);
        for id in 100.. {
            let page =
                play.result(a, id, "events.replay", json!({"sessionId": "s:1", "afterSeq": after, "limit": 3})).await;
            pages.extend(page["result"]["events"].as_array().unwrap().clone());
            after = page["result"]["nextSeq"].clone();
            if page["result"]["complete"] == true {
                break;
            }
        }
        assert_eq!(&pages, whole);
        let gone = play.result(a, 90, "events.replay", json!({"sessionId": "s:none"})).await;
        assert_eq!(gone["error"]["code"], 1);
    });
}

/// A stream is cut after every event in turn and taken up with its cursor; what was heard together is what the log says.
#[test]
fn a_subscriber_that_is_cut_anywhere_misses_nothing_and_hears_nothing_twice() {
    paused(async {
        for cut in 0..24 {
            let mut play = Play::new(|_| {});
            talked(&mut play, &["say 1 words"]).await;
            let (a, b) = (play.connect(), play.connect());
            let mut heard = play.ask(b, 1, "events.subscribe", json!({"topics": ["session:s:1"], "afterSeq": 0})).await;
            heard.remove(0);
            let message = r#"slow 100 say 4 words call bash {"command":"sleep 300"}"#;
            play.put(a, 1, "agent.send", json!({"message": message, "sessionId": "s:1"})).await;
            let mut last = heard.last().unwrap()["cursor"].clone();
            let mut told = 0;
            while told < cut {
                let more = play.heard_for(b, std::time::Duration::from_millis(20)).await;
                if more.is_empty()
                    && play
                        .heard_for(a, std::time::Duration::from_millis(5))
                        .await
                        .iter()
                        .any(|it| it.get("result").is_some())
                {
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
            let more = play.ask(c, 1, "events.subscribe", json!({"topics": ["session:s:1"], "afterSeq": last})).await;
            heard.extend(more.into_iter().skip(1));
            heard.extend(play.heard_for(c, std::time::Duration::from_secs(2)).await);
            let page = play.result(c, 2, "events.replay", json!({"sessionId": "s:1", "limit": 1000})).await;
            let log = page["result"]["events"].as_array().unwrap();
            assert_eq!(text(&heard), text(log), "cut {cut} at {last}\n{}", shown(&heard));
            let whole = |frames: &[Value]| -> Vec<String> {
                let live = |place: &String| !place.contains('+');
                places(frames).into_iter().filter(live).collect()
            };
            assert_eq!(whole(&heard), whole(log), "cut {cut} at {last}");
        }
    });
}

#[test]
fn subscriptions_have_bounds_and_end() {
    paused(async {
        let mut play = Play::new(|_| {});
        talked(&mut play, &["say 1 words"]).await;
        let a = play.connect();
        let refused = [
            (json!({"topics": []}), -2),
            (json!({"topics": ["nonsense"]}), -2),
            (json!({"topics": ["session:../x"]}), -2),
            (json!({"topics": ["lanes"], "afterSeq": 1}), -2),
            (json!({"topics": ["session:s:none"]}), 1),
            (json!({"topics": ["session:s:1"], "afterSeq": "x"}), -2),
            (json!({"topics": ["session:s:1"], "afterSeq": 100_000}), -2),
        ];
        for (at, (params, code)) in refused.into_iter().enumerate() {
            let answer = play.result(a, at as u64, "events.subscribe", params.clone()).await;
            assert_eq!(answer["error"]["code"], code, "{params}");
        }
        for id in 100..164 {
            let answer = play.result(a, id, "events.subscribe", json!({"topics": ["session:s:1", "lanes"]})).await;
            assert_eq!(answer["result"]["subscriptionId"], id - 99);
        }
        let answer = play.result(a, 200, "events.subscribe", json!({"topics": ["lanes"]})).await;
        assert_eq!(answer["error"]["data"]["reason"], "too_many_subscriptions");
        let answer = play.result(a, 201, "events.unsubscribe", json!({"subscriptionId": 7})).await;
        assert_eq!(answer["result"]["unsubscribed"], true);
        let heard = play.ask(a, 202, "agent.send", json!({"message": "say 1 words", "sessionId": "s:1"})).await;
        let told = |id: u64| heard.iter().filter(|frame| frame["id"] == id).count();
        assert_eq!(told(106), 0, "it has ended");
        assert!(told(105) > 3);
        assert_eq!(play.result(a, 105, "tools.list", json!({})).await["error"]["data"]["reason"], "duplicate_id");
    });
}

#[test]
fn g7_who_reads_too_slowly_is_told_where_to_go_on_and_every_id_is_settled() {
    let mut talk = Talk::on(None);
    talk.ask(7, "events.subscribe", json!({"topics": ["session:s"]}));
    talk.ask(8, "agent.send", json!({"sessionId": "s", "message": "x"}));
    talk.ask(9, "sessions.list", json!({}));
    talk.out.frames.clear();
    talk.tell(Event::Gone { fault: Fault::too_slow() });
    let close = talk.out.close.clone().expect("a close");
    assert_eq!((close.code.number(), &*close.reason), (1013, "resume 0"));
    let frames: Vec<Value> = talk.out.frames.frames().map(|it| serde_json::from_slice(it).unwrap()).collect();
    let of = |id: u64| frames.iter().filter(|frame| frame["id"] == id).collect::<Vec<_>>();
    assert_eq!((of(7).len(), &of(7)[0]["event"]), (1, &json!("lag")));
    for id in [8, 9] {
        let last = of(id).pop().unwrap_or_else(|| panic!("{id}: {frames:?}"));
        assert_eq!(last["error"]["data"]["reason"], "session_lost", "{id}");
        assert_eq!(of(id).iter().filter(|frame| frame.get("error").is_some()).count(), 1);
    }
}
