//! Lists, histories, lanes and contexts.

//! Sessions listed and read.

use std::time::Duration;

use serde_json::{Value, json};

use crate::play::{Play, paused};

fn ids(list: &Value) -> Vec<&str> {
    list["sessions"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect()
}

#[test]
fn sessions_are_listed_by_their_newest_message_and_in_pages() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        for session in ["tg:2", "plain", "tg:1", "ws:x"] {
            play.result(at, "sessions.create", json!({"sessionId": session})).await;
        }
        play.run(at, "tg:1", "say 1 words").await;
        play.run(at, "plain", "say 1 words").await;
        for persisted in [false, true] {
            let list = play.result(at, "sessions.list", json!({"includePersisted": persisted})).await;
            assert_eq!(ids(&list), ["plain", "tg:1", "tg:2", "ws:x"], "{persisted}");
            assert_eq!(list["total"], 4);
            let first = &list["sessions"][0];
            assert_eq!((&first["frontend"], &first["userId"]), (&json!("ws"), &json!("plain")));
            assert_eq!((&first["messageCount"], first["lastMessageAt"].is_i64()), (&json!(2), true));
            assert_eq!(list["sessions"][2]["lastMessageAt"], json!(null));
            assert_eq!(first["config"]["queue"]["mode"], "collect");
            let page = json!({"includePersisted": persisted, "limit": 2, "offset": 1});
            let page = play.result(at, "sessions.list", page).await;
            assert_eq!((ids(&page), &page["total"]), (vec!["tg:1", "tg:2"], &json!(4)));
            let tg = play.result(at, "sessions.list", json!({"includePersisted": persisted, "frontend": "tg"})).await;
            assert_eq!((ids(&tg), &tg["total"]), (vec!["tg:1", "tg:2"], &json!(2)));
            let ws = play.result(at, "sessions.list", json!({"includePersisted": persisted, "frontend": "ws"})).await;
            assert_eq!(ids(&ws), ["plain", "ws:x"]);
        }
        play.result(at, "sessions.delete", json!({"sessionId": "tg:1"})).await;
        for persisted in [false, true] {
            let list = play.result(at, "sessions.list", json!({"includePersisted": persisted})).await;
            assert_eq!((ids(&list).contains(&"tg:1"), &list["total"]), (false, &json!(3)));
        }
        for wrong in [json!({"limit": 0}), json!({"limit": 501}), json!({"offset": -1}), json!({"frontend": 3})] {
            assert_eq!(play.error(at, "sessions.list", wrong).await, (-2, "invalid_params".into()));
        }
    });
}

#[test]
fn a_session_that_is_deleted_is_told_as_such_in_memory_or_not() {
    paused(async {
        let mut play = Play::new();
        let (one, other, watcher) = (play.connect(), play.connect(), play.connect());
        play.run(one, "ws:away", "say 1 words").await;
        play.hang_up(one).await;
        play.run(other, "ws:here", "say 1 words").await;
        let lanes = play.result(other, "lanes.list", json!({})).await;
        assert_eq!(lanes["lanes"][0]["sessionId"], "ws:here");
        assert_eq!(lanes["total"], 1, "the other one is not in memory");
        play.send(watcher, &json!({"id": 5, "method": "events.subscribe", "params": {"topics": ["sessions"]}})).await;
        play.heard(watcher, Duration::from_millis(50)).await;
        for session in ["ws:away", "ws:here"] {
            play.result(other, "sessions.delete", json!({"sessionId": session})).await;
            let heard = play.heard(watcher, Duration::from_millis(300)).await;
            let gone: Vec<&Value> = heard.iter().filter(|it| it["data"]["deleted"] == true).collect();
            assert_eq!(gone.len(), 1, "{heard:?}");
            assert_eq!(gone[0]["data"], json!({"sessionId": session, "live": false, "deleted": true}));
        }
    });
}

#[test]
fn a_history_has_the_newest_messages_oldest_first() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        for number in 1..=3 {
            play.run(at, "ws:a", &format!("say {number} words")).await;
        }
        let whole = play.result(at, "sessions.get", json!({"sessionId": "ws:a"})).await;
        let history = whole["history"].as_array().unwrap();
        let said: Vec<_> =
            history.iter().map(|row| (row["role"].as_str().unwrap(), row["content"].as_str().unwrap())).collect();
        assert_eq!(
            said[..4],
            [("user", "say 1 words"), ("assistant", "w1"), ("user", "say 2 words"), ("assistant", "w1 w2")]
        );
        assert_eq!((said.len(), &whole["historyTruncated"], &whole["messageCount"]), (6, &json!(false), &json!(6)));
        assert!(whole["createdAt"].as_str().unwrap().ends_with('Z'));
        let newest = play.result(at, "sessions.get", json!({"sessionId": "ws:a", "historyLimit": 2})).await;
        assert_eq!(
            (&newest["history"][0]["content"], &newest["historyTruncated"]),
            (&json!("say 3 words"), &json!(true))
        );
        let before = json!({"sessionId": "ws:a", "historyLimit": 2, "before": newest["history"][0]["seq"]});
        let older = play.result(at, "sessions.get", before).await;
        assert_eq!(older["history"][0]["content"], "say 2 words");
        assert_eq!(play.error(at, "sessions.get", json!({"sessionId": "ws:absent"})).await.0, 1);
        let own = play.result(at, "sessions.get", json!({"sessionId": "ws:c1"})).await;
        assert_eq!(
            (&own["history"], &own["messageCount"]),
            (&json!([]), &json!(0)),
            "it exists, and nothing is written"
        );
    });
}

#[test]
fn contexts_and_lanes_are_those_of_sessions_in_memory() {
    paused(async {
        let mut play = Play::new();
        let (at, other) = (play.connect(), play.connect());
        play.run(at, "ws:a", "say 5 words").await;
        let full = play.result(other, "system.contextUsage", json!({})).await;
        let row = &full["sessions"][0];
        assert_eq!((&row["sessionId"], &row["budget"]["contextWindow"]), (&json!("ws:a"), &json!(128_000)), "{full}");
        assert_eq!(row["budget"]["thresholdTokens"], 108_800);
        let one = play.result(other, "system.contextUsage", json!({"sessionId": "ws:a"})).await;
        assert_eq!((&one["sessions"], &one["compactions"]), (&full["sessions"], &json!([])));
        assert_eq!(play.error(other, "system.contextUsage", json!({"sessionId": "ws:absent"})).await.0, 1);
        let own = play.result(other, "system.contextUsage", json!({"sessionId": "ws:c2"})).await;
        assert_eq!(own, json!({"sessions": []}));
        play.send(at, &json!({"id": 7, "method": "agent.send", "params": {"sessionId": "ws:b", "message": "hang"}}))
            .await;
        play.send(
            at,
            &json!({"id": 8, "method": "agent.send", "params": {"sessionId": "ws:b", "message": "say 1 words"}}),
        )
        .await;
        play.heard(at, Duration::from_millis(300)).await;
        let lanes = play.result(other, "lanes.list", json!({})).await;
        let first = &lanes["lanes"][0];
        assert_eq!(
            (&first["sessionId"], &first["state"], &first["depth"]),
            (&json!("ws:b"), &json!("running"), &json!(1)),
            "{lanes}"
        );
        assert!(first["runId"].is_string() && first["stallInMs"].is_u64() && first["oldestWaitMs"].is_u64(), "{first}");
        assert_eq!((&lanes["lanes"][1]["state"], &lanes["total"]), (&json!("idle"), &json!(2)));
        let listed = play.result(other, "sessions.list", json!({})).await;
        let row = listed["sessions"].as_array().unwrap().iter().find(|row| row["id"] == "ws:b").unwrap().clone();
        assert_eq!((&row["lane"]["state"], &row["lane"]["depth"]), (&json!("running"), &json!(1)));
        let metrics = play.result(other, "system.metrics", json!({})).await;
        assert_eq!((&metrics["activeRequests"], &metrics["queueDepth"]), (&json!(1), &json!(1)));
        play.ask(at, "agent.cancel", json!({"sessionId": "ws:b"})).await;
    });
}

#[test]
fn whoever_is_attached_to_a_session_that_is_deleted_falls_back_to_a_fresh_one() {
    paused(async {
        let mut play = Play::new();
        let (a, b) = (play.connect(), play.connect());
        for is_left in [true, false, true] {
            play.result(a, "sessions.create", json!({"sessionId": "ws:mine"})).await;
            if is_left {
                tokio::time::sleep(Duration::from_secs(60)).await;
            }
            let attached = play.result(a, "system.info", json!({})).await["sessionId"].clone();
            assert_eq!(attached, "ws:mine");
            play.result(b, "sessions.create", json!({"sessionId": "ws:other"})).await;
            play.result(b, "sessions.delete", json!({"sessionId": "ws:other"})).await;
            assert_eq!(play.result(a, "system.info", json!({})).await["sessionId"], "ws:mine", "another one's end");
            play.result(b, "sessions.delete", json!({"sessionId": "ws:mine"})).await;
            let attached = play.result(a, "system.info", json!({})).await["sessionId"].clone();
            assert_ne!(attached, "ws:mine", "left: {is_left}");
            let told = play.result(b, "sessions.list", json!({})).await;
            assert!(!ids(&told).contains(&"ws:mine"));
        }
    });
}

#[test]
fn a_run_is_waited_for_without_saying_where_it_is() {
    paused(async {
        let mut play = Play::new();
        let (a, b) = (play.connect(), play.connect());
        let send = json!({"message": "say 2 words", "sessionId": "ws:there", "idempotencyKey": "k"});
        let run = play.ask(a, "agent.send", send).await.last().unwrap()["result"]["runId"].clone();
        for at in [a, b] {
            let waited = play.result(at, "agent.wait", json!({"runId": run})).await;
            assert_eq!((&waited["state"], &waited["content"]), (&json!("complete"), &json!("w1 w2")));
            assert_eq!(play.error(at, "agent.wait", json!({"runId": "none"})).await.1, "unknown_run");
        }
        // A key is looked for where the connection is.
        let waited = play.result(a, "agent.wait", json!({"idempotencyKey": "k"})).await;
        assert_eq!(waited["runId"], run);
        let other = play.connect();
        assert_eq!(play.error(other, "agent.wait", json!({"idempotencyKey": "k"})).await.1, "unknown_run");
    });
}
