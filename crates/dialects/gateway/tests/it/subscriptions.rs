//! Subscriptions, replays, cursors: no gap, no repeat, whatever the cut.

use serde_json::{Value, json};

use dialect_gateway::{GatewayAnswer, GatewayRefusal};
use vocab::{CutBy, Event, Fault, Position, Stop, Told};
use wire::Dialect as _;

use crate::play::{Play, paused, shown};
use crate::talk::{Talk, ended, entry, started, user};

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
    assert_eq!(of(7)[0]["data"], json!({"from": 1, "to": 0, "cursor": "0"}), "nothing is known to be missing");
    for id in [8, 9] {
        let last = of(id).pop().unwrap_or_else(|| panic!("{id}: {frames:?}"));
        assert_eq!(last["error"]["data"]["reason"], "session_lost", "{id}");
        assert_eq!(of(id).iter().filter(|frame| frame.get("error").is_some()).count(), 1);
    }
}

#[test]
fn a_gap_is_announced_with_where_it_begins_and_how_far_it_goes() {
    for (after, want) in [
        ("3", json!({"from": 4, "to": 51, "cursor": "3"})),
        // The entry itself was not told whole.
        ("7.0", json!({"from": 7, "to": 51, "cursor": "7.0"})),
        ("7+20", json!({"from": 8, "to": 51, "cursor": "7+20"})),
    ] {
        let mut talk = Talk::on(None);
        let mut told = Told::new("s".into(), Event::Logged(entry(51, user("t"))));
        told.at = Position::at(51);
        talk.gateway.tell(&told, &mut talk.out);
        // It reads what is stored, and that does not come any more.
        talk.ask(7, "events.subscribe", json!({"topics": ["session:s"], "afterSeq": after}));
        talk.out.frames.clear();
        talk.tell(Event::Gone { fault: Fault::too_slow() });
        let frames: Vec<Value> = talk.out.frames.frames().map(|it| serde_json::from_slice(it).unwrap()).collect();
        let lags: Vec<&Value> = frames.iter().filter(|frame| frame["event"] == "lag").collect();
        assert_eq!(lags.iter().map(|frame| &frame["data"]).collect::<Vec<_>>(), [&want], "{after}: {frames:?}");
        assert_eq!(lags[0]["cursor"], after);
    }
}

/// Where a session's log ends, and a place before a reply in it.
async fn end_and_reply(play: &mut Play, at: usize) -> (u64, u64) {
    let page = play.result(at, 900, "events.replay", json!({"sessionId": "s:1"})).await;
    let events = page["result"]["events"].as_array().unwrap().clone();
    let reply = events.iter().find(|event| event["event"] == "content").unwrap()["seq"].as_u64().unwrap();
    (events.last().unwrap()["seq"].as_u64().unwrap(), reply)
}

#[test]
fn a_place_that_the_log_has_not_reached_is_refused_and_holds_up_nobody() {
    paused(async {
        let mut play = Play::new(|_| {});
        talked(&mut play, &["say 2 words"]).await;
        let a = play.connect();
        play.ask(a, 1, "agent.send", json!({"message": "say 1 words", "sessionId": "s:1"})).await;
        let (end, _) = end_and_reply(&mut play, a).await;
        let beyond = [
            json!(end + 1),
            json!((end + 1).to_string()),
            json!("4000"),
            json!("4000+7"),
            json!("4000.1"),
            json!(format!("{}.0", end + 1)),
        ];
        for (number, after) in beyond.into_iter().enumerate() {
            // On a connection that is on the session, and on one that is not.
            let b = play.connect();
            for at in [a, b] {
                let params = json!({"topics": ["session:s:1"], "afterSeq": after});
                let id = 10 + number as u64 * 10;
                let replay = json!({"sessionId": "s:1", "afterSeq": after});
                let answers = [
                    play.result(at, id, "events.subscribe", params).await,
                    play.result(at, id + 1, "events.replay", replay).await,
                ];
                for answer in answers {
                    assert_eq!(answer["error"]["code"], -2, "{after}: {answer}");
                    let data = &answer["error"]["data"];
                    assert_eq!(
                        (&data["reason"], &data["param"]),
                        (&json!("invalid_params"), &json!("afterSeq")),
                        "{answer}"
                    );
                    let message = answer["error"]["message"].as_str().unwrap();
                    assert!(message.contains("`afterSeq` is "), "{message}");
                }
            }
            // What was asked behind it, before it was answered, is none the wiser.
            let c = play.connect();
            play.put(c, 1, "events.subscribe", json!({"topics": ["session:s:1"], "afterSeq": after})).await;
            play.put(c, 2, "events.subscribe", json!({"topics": ["session:s:1"], "afterSeq": end})).await;
            play.put(c, 3, "tools.list", json!({"sessionId": "s:1"})).await;
            let heard = play.heard(c).await;
            let answer = |id: u64| heard.iter().find(|frame| frame["id"] == id).unwrap();
            assert_eq!(answer(1)["error"]["code"], -2, "{after}");
            assert!(answer(2).get("result").is_some() && answer(3).get("result").is_some(), "{after}: {heard:?}");
        }
        // The end itself is a place, and so is the last part of the last entry.
        for (id, after) in [(200, json!(end)), (201, json!(format!("{end}.0")))] {
            let heard =
                play.ask(a, id, "events.subscribe", json!({"topics": ["session:s:1"], "afterSeq": after})).await;
            assert!(heard[0].get("result").is_some(), "{heard:?}");
        }
        let heard = play.ask(a, 300, "agent.send", json!({"message": "say 1 words", "sessionId": "s:1"})).await;
        let told = |id: u64| heard.iter().filter(|frame| frame["id"] == id).count();
        assert!(told(200) > 3 && told(201) >= told(200), "{heard:?}");
        assert_eq!(told(10), 0, "one that was refused is told nothing");
    });
}

#[test]
fn more_of_a_reply_than_there_is_is_taken_back() {
    paused(async {
        let mut play = Play::new(|_| {});
        talked(&mut play, &["say 2 words"]).await;
        let (a, b) = (play.connect(), play.connect());
        let (end, reply) = end_and_reply(&mut play, a).await;
        let after = format!("{}+999999", reply - 1);
        let whole = play.result(a, 1, "events.replay", json!({"sessionId": "s:1"})).await;
        let whole = text(whole["result"]["events"].as_array().unwrap());
        let taken_back = |heard: &[Value]| {
            let first =
                heard.iter().position(|frame| frame["event"] == "retract").unwrap_or_else(|| panic!("{heard:?}"));
            assert_eq!((&heard[first]["data"]["bytes"], &heard[first]["seq"]), (&json!(999_999), &json!(reply - 1)));
            assert_eq!(text(&heard[first + 1..]), whole);
        };
        let replayed = play.result(a, 2, "events.replay", json!({"sessionId": "s:1", "afterSeq": after})).await;
        taken_back(replayed["result"]["events"].as_array().unwrap());
        for at in [a, b] {
            taken_back(
                &play.ask(at, 3, "events.subscribe", json!({"topics": ["session:s:1"], "afterSeq": after})).await,
            );
        }
        // While a reply is made: who is on the session knows how far it is.
        let c = play.connect();
        play.ask(c, 1, "events.subscribe", json!({"topics": ["session:s:1"]})).await;
        play.put(a, 4, "agent.send", json!({"message": "slow 500 say 4 words", "sessionId": "s:1"})).await;
        let at = loop {
            let heard = play.heard_for(c, std::time::Duration::from_millis(20)).await;
            if let Some(frame) = heard.iter().find(|frame| frame["event"] == "content") {
                break frame["seq"].clone();
            }
        };
        assert!(at.as_u64().unwrap() > end, "{at}");
        let after = format!("{at}+999999");
        let mut late = play.ask(c, 2, "events.subscribe", json!({"topics": ["session:s:1"], "afterSeq": after})).await;
        late.extend(play.heard_for(c, std::time::Duration::from_secs(2)).await);
        late.retain(|frame| frame["id"] == 2);
        assert_eq!(late[1]["event"], "retract", "{late:?}");
        let words: String =
            late.iter().filter(|it| it["event"] == "content").map(|it| it["data"]["text"].as_str().unwrap()).collect();
        assert_eq!(words, "w1 w2 w3 w4", "{late:?}");
    });
}

/// A client that was cut off comes back on another connection, which was told less so far.
#[test]
fn a_subscription_from_ahead_begins_when_its_connection_is_there_too() {
    let mut talk = Talk::on(None);
    let place = |after: &str| json!({"topics": ["session:s"], "afterSeq": after});
    talk.ask(1, "events.subscribe", place("2"));
    let read = "Read { session: \"s\", after: 1, limit: 1 }";
    assert_eq!(format!("{:?}", talk.out.own[0].call), read);
    let entries = |entries| Ok(GatewayAnswer::Entries { entries, more: false });
    talk.own(entries(vec![entry(2, user("t"))]));
    assert!(talk.frames().is_empty(), "it is a place, but not one that this connection knows");
    for (seq, body) in [(1, started("t")), (2, user("t")), (3, ended("t", Stop::EndTurn))] {
        let told = Told { at: Position::at(seq), ..Told::new("s".into(), Event::Logged(entry(seq, body))) };
        talk.gateway.tell(&told, &mut talk.out);
    }
    let heard = talk.frames();
    assert_eq!(heard[0], r#"1 = {"cursor":"2","seq":2,"subscriptionId":1}"#);
    assert_eq!(heard[1], "1 run_state complete", "and nothing of what it had");
    assert!(talk.out.own.is_empty(), "{:?}", talk.out.own);
    talk.ask(2, "events.subscribe", place("9")).own(entries(vec![]));
    assert_eq!(talk.frames(), ["2 ! -2 invalid_params"]);
    talk.ask(3, "events.subscribe", place("9")).own(Err(GatewayRefusal::internal("store", "no")));
    assert_eq!(talk.frames(), ["3 ! 5 store"]);
}

/// On a session that is at entry 51, with a subscription that reads what is stored after 3.
fn catching_up() -> Talk {
    let mut talk = Talk::on(None);
    let mut told = Told::new("s".into(), Event::Logged(entry(51, user("t"))));
    told.at = Position::at(51);
    talk.gateway.tell(&told, &mut talk.out);
    talk.ask(7, "events.subscribe", json!({"topics": ["session:s"], "afterSeq": 3}));
    assert_eq!(talk.frames(), [r#"7 = {"cursor":"3","seq":3,"subscriptionId":1}"#]);
    talk
}

#[test]
fn what_cannot_be_read_while_a_subscription_catches_up_is_announced_and_nothing_follows_it() {
    let entries = |list: &[u64]| {
        let entries = list.iter().map(|seq| entry(*seq, user("t"))).collect();
        Ok(GatewayAnswer::Entries { entries, more: false })
    };
    let broken = || Err(GatewayRefusal::internal("store", "no"));
    type Pages = Vec<Result<GatewayAnswer, GatewayRefusal>>;
    let cases: Vec<(&str, Pages, Value)> = vec![
        ("the store failed", vec![broken()], json!({"from": 4, "to": 51, "cursor": "3"})),
        ("it failed later", vec![entries(&[1, 2, 3, 4, 5]), broken()], json!({"from": 6, "to": 51, "cursor": "5"})),
        // Nobody will ever read these: who came back for them would be told the same again.
        ("it has none of them", vec![entries(&[])], json!({"from": 4, "to": 51, "cursor": "51"})),
        ("it has some of them", vec![entries(&[4, 5]), entries(&[])], json!({"from": 6, "to": 51, "cursor": "51"})),
        ("it has only later ones", vec![entries(&[60])], json!({"from": 4, "to": 51, "cursor": "51"})),
    ];
    for (name, pages, want) in cases {
        let mut talk = catching_up();
        for page in pages {
            talk.own(page);
        }
        let frames: Vec<Value> = talk.out.frames.frames().map(|it| serde_json::from_slice(it).unwrap()).collect();
        let last = frames.last().unwrap_or_else(|| panic!("{name}: nothing was told"));
        assert_eq!((&last["event"], &last["data"]), (&json!("lag"), &want), "{name}");
        assert_eq!(last["cursor"], want["cursor"], "{name}");
        assert!(talk.out.own.is_empty(), "{name}: {:?}", talk.out.own);
        talk.out.frames.clear();
        let mut told = Told::new("s".into(), Event::Logged(entry(52, user("t"))));
        told.at = Position::at(52);
        talk.gateway.tell(&told, &mut talk.out);
        talk.tell(Event::Gone { fault: Fault::new(vocab::FaultKind::UnknownSession, "it was deleted") });
        assert_eq!(talk.frames(), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn subscribers_and_replays_are_told_what_cut_a_run_as_its_requests_are() {
    let cases = [
        (CutBy::Asked, "cancelled", "4 cancelled"),
        (CutBy::Newer, "cancelled", "4 preempted"),
        (CutBy::TimedOut, "cancelled", "4 timeout"),
        (CutBy::Deleted, "cancelled", "4 session_deleted"),
        (CutBy::Stalled, "error", "5 stalled"),
    ];
    for (why, state, error) in cases {
        let cut = || vocab::Body::Turn(vocab::TurnEntry::Cut { turn: "t".into(), why, item: None });
        let log = || {
            let bodies =
                [started("t"), cut(), ended("t", Stop::Interrupted), started("u"), ended("u", Stop::Interrupted)];
            bodies.into_iter().zip(1..).map(|(body, seq)| entry(seq, body)).collect::<Vec<_>>()
        };
        let mut talk = Talk::on(None);
        talk.ask(1, "events.subscribe", json!({"topics": ["session:s"]}));
        talk.out.frames.clear();
        log().into_iter().for_each(|entry| _ = talk.tell(Event::Logged(entry)));
        let live: Vec<Value> = talk.out.frames.frames().map(|it| serde_json::from_slice(it).unwrap()).collect();
        talk.out.frames.clear();
        talk.ask(2, "events.replay", json!({"sessionId": "s", "afterSeq": 2}));
        talk.own(Ok(GatewayAnswer::Entries { entries: log(), more: false }));
        let page: Vec<Value> = talk.out.frames.frames().map(|it| serde_json::from_slice(it).unwrap()).collect();
        let replayed = page[0]["result"]["events"].as_array().unwrap();
        for events in [&live[2..], &replayed[..]] {
            let word = |frame: &Value| match frame["data"]["data"]["reason"].as_str() {
                Some(reason) => format!("{} {reason}", frame["data"]["code"]),
                None => frame["data"]["state"].as_str().unwrap().to_owned(),
            };
            let told: Vec<String> = events.iter().map(word).collect();
            assert_eq!(told, [state, error, "start", "cancelled", "4 cancelled"], "{why:?}");
        }
    }
}
