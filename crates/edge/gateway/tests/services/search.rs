//! A text in what was said.

use serde_json::{Value, json};

use crate::play::{Play, paused};

fn places(found: &Value) -> Vec<String> {
    let hits = found["hits"].as_array().unwrap().iter();
    hits.map(|hit| format!("{} {} {}", hit["sessionId"].as_str().unwrap(), hit["role"].as_str().unwrap(), hit["seq"]))
        .collect()
}

#[test]
fn messages_are_found_in_the_newest_session_first() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        play.run(at, "ws:old", "say 2 words about Größe").await;
        play.run(at, "ws:new", "say 1 words").await;
        play.run(at, "ws:new", "GRÖSSE or größe?").await;
        play.result(at, "sessions.patch", json!({"sessionId": "ws:new", "title": "größe"})).await;
        let found = play.result(at, "sessions.search", json!({"query": "grÖße"})).await;
        assert_eq!((&found["complete"], found.get("cursor")), (&json!(true), None), "{found}");
        let hits = found["hits"].as_array().unwrap();
        let of = |hit: &Value| (hit["sessionId"].clone(), hit["role"].clone());
        assert_eq!(hits.len(), 2, "{found}");
        assert_eq!(of(&hits[0]), (json!("ws:new"), json!("user")));
        assert_eq!(of(&hits[1]), (json!("ws:old"), json!("user")));
        assert_eq!((&hits[0]["snippet"], &hits[0]["title"]), (&json!("GRÖSSE or größe?"), &json!("größe")));
        assert!(hits[0]["at"].is_i64());
        let said = play.result(at, "sessions.search", json!({"query": "W1"})).await;
        assert_eq!(of(&said["hits"][0]), (json!("ws:new"), json!("assistant")), "{said}");
        let none = play.result(at, "sessions.search", json!({"query": "absent"})).await;
        assert_eq!(none, json!({"hits": [], "complete": true}));
        // One sign can be a word.
        play.run(at, "ws:sign", "水 and 🚢").await;
        for sign in ["水", "🚢", "ö"] {
            let found = play.result(at, "sessions.search", json!({ "query": sign })).await;
            let snippet = found["hits"][0]["snippet"].as_str().unwrap_or_default().to_lowercase();
            assert!(snippet.contains(sign), "{sign}: {found}");
        }
        for wrong in [
            json!({}),
            json!({"query": ""}),
            json!({"query": "x"}),
            json!({"query": "x".repeat(201)}),
            json!({"query": "xx", "limit": 101}),
            json!({"query": "xx", "cursor": "7"}),
        ] {
            assert_eq!(play.error(at, "sessions.search", wrong).await, (-2, "invalid_params".into()));
        }
    });
}

#[test]
fn whoever_goes_on_finds_the_rest_and_nothing_twice() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        for number in 0..6 {
            play.run(at, &format!("ws:{}", number % 3), "say 1 words").await;
        }
        let all = play.result(at, "sessions.search", json!({"query": "words", "limit": 100})).await;
        assert_eq!((places(&all).len(), &all["complete"]), (6, &json!(true)), "{all}");
        for limit in [1, 2, 4] {
            let (mut found, mut cursor, mut rounds) = (Vec::new(), None::<String>, 0);
            loop {
                let mut params = json!({"query": "words", "limit": limit});
                if let Some(cursor) = &cursor {
                    params["cursor"] = json!(cursor);
                }
                let page = play.result(at, "sessions.search", params).await;
                assert!(page["hits"].as_array().unwrap().len() <= limit);
                found.extend(places(&page));
                cursor = page["cursor"].as_str().map(str::to_owned);
                assert_eq!(page["complete"], json!(cursor.is_none()));
                rounds += 1;
                assert!(rounds < 20, "it does not come to an end");
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!(found, places(&all), "{limit} at a time");
        }
        // What is deleted between two answers is passed over.
        let first = play.result(at, "sessions.search", json!({"query": "words", "limit": 1})).await;
        let session = first["hits"][0]["sessionId"].clone();
        play.result(at, "sessions.delete", json!({"sessionId": session})).await;
        let on = json!({"query": "words", "limit": 100, "cursor": first["cursor"]});
        assert_eq!(places(&play.result(at, "sessions.search", on).await).len(), 4);
    });
}

/// A log that is longer than one answer looks at: the search says so, and comes to the end.
#[test]
fn a_long_log_takes_several_answers() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        let lease = play.stage.store.create(store::suite::new_session("ws:long"));
        let text = |seq| if seq == 1 { "the needle" } else { "hay" };
        let entries = (1..30_000).map(|seq| store::suite::prompt(seq, text(seq))).collect();
        play.stage.store.append(&lease, entries, vocab::Durability::Commit).await.unwrap();
        let (mut cursor, mut rounds) = (None::<String>, 0);
        let found = loop {
            let mut params = json!({"query": "needle"});
            if let Some(cursor) = &cursor {
                params["cursor"] = json!(cursor);
            }
            let page = play.result(at, "sessions.search", params).await;
            rounds += 1;
            if page["complete"] == json!(true) {
                break page;
            }
            assert_eq!(page["hits"], json!([]));
            cursor = page["cursor"].as_str().map(str::to_owned);
        };
        assert_eq!((places(&found), rounds > 1), (vec!["ws:long user 1".to_owned()], true), "{rounds}");
    });
}
