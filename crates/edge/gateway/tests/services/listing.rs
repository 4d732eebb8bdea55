//! Lists that are narrowed, and what a row says.

use serde_json::{Value, json};
use store::suite::{entry, new_session, prompt};
use vocab::{Body, Durability, Mode};

use crate::play::{Play, paused};

fn ids(list: &Value) -> Vec<&str> {
    list["sessions"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect()
}

/// A session that worked for a call of another one.
async fn child(play: &Play, id: &str, of: &str) {
    let lease = play.stage.store.create(new_session(id));
    let opened = Body::Opened {
        workspace: "/w".into(),
        model: "m".into(),
        mode: Mode::Prompt,
        forked_from: None,
        child_of: Some((of.into(), "call_7".into())),
    };
    let entries = vec![entry(1, opened), prompt(2, "dig")];
    play.stage.store.append(&lease, entries, Durability::Commit).await.unwrap();
    play.stage.store.release(lease).await.unwrap();
}

#[test]
fn sessions_are_found_by_a_part_of_their_id_or_title() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        for session in ["tg:1", "ws:parse", "ws:x"] {
            play.run(at, session, "say 1 words").await;
        }
        play.result(at, "sessions.patch", json!({"sessionId": "tg:1", "title": "Fix the Parser"})).await;
        for persisted in [false, true] {
            let list = async |play: &mut Play, params: Value| {
                let mut params = params;
                params["includePersisted"] = json!(persisted);
                play.result(at, "sessions.list", params).await
            };
            let found = list(&mut play, json!({"query": "PARSE"})).await;
            assert_eq!((ids(&found), &found["total"]), (vec!["ws:parse", "tg:1"], &json!(2)), "{persisted}");
            let page = list(&mut play, json!({"query": "parse", "limit": 1, "offset": 1})).await;
            assert_eq!((ids(&page), &page["total"]), (vec!["tg:1"], &json!(2)), "{persisted}");
            let of_ws = list(&mut play, json!({"query": "parse", "frontend": "ws"})).await;
            assert_eq!(ids(&of_ws), ["ws:parse"], "{persisted}");
            assert_eq!(list(&mut play, json!({"query": "%"})).await, json!({"sessions": [], "total": 0}));
        }
        for wrong in [json!({"query": ""}), json!({"query": "x".repeat(201)}), json!({"query": 7})] {
            assert_eq!(play.error(at, "sessions.list", wrong).await, (-2, "invalid_params".into()));
        }
    });
}

#[test]
fn a_row_says_where_by_which_model_since_when_and_for_whom() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        play.run(at, "ws:a", "say 1 words").await;
        child(&play, "kid", "ws:a").await;
        let list = play.result(at, "sessions.list", json!({"includePersisted": true})).await;
        assert_eq!(ids(&list), ["ws:a"], "a child is listed when it is asked for");
        let row = &list["sessions"][0];
        assert_eq!((&row["model"], row["createdAt"].is_i64()), (&json!("mock/alpha"), true));
        assert!(row["cwd"].as_str().is_some_and(|cwd| cwd.starts_with('/')), "{row}");
        assert_eq!((row.get("parent"), row.get("costUsd")), (None, None), "no price is known");
        let of = json!({"includePersisted": true, "childOf": "ws:a"});
        let children = play.result(at, "sessions.list", of).await;
        assert_eq!((ids(&children), &children["total"]), (vec!["kid"], &json!(1)));
        let kid = &children["sessions"][0];
        assert_eq!((&kid["parent"], &kid["cwd"]), (&json!({"sessionId": "ws:a", "callId": "call_7"}), &json!("/w")));
        let since = play.result(at, "sessions.list", json!({"childOf": "ws:a"})).await;
        assert_eq!(ids(&since), ["kid"], "it was written to since the start");
        let none = play.result(at, "sessions.list", json!({"includePersisted": true, "childOf": "ws:none"})).await;
        assert_eq!(none, json!({"sessions": [], "total": 0}));
    });
}

#[test]
fn what_a_session_cost_is_in_its_row_where_prices_are_known() {
    paused(async {
        let mut play = Play::priced(vocab::Prices { input: 0.0, cache_read: 0.0, cache_write: 0.0, output: 1e6 });
        let at = play.connect();
        play.run(at, "ws:a", "say 3 words").await;
        play.run(at, "ws:a", "say 2 words").await;
        play.result(at, "sessions.create", json!({"sessionId": "ws:idle"})).await;
        let list = play.result(at, "sessions.list", json!({"includePersisted": true})).await;
        assert_eq!(ids(&list), ["ws:a", "ws:idle"]);
        assert_eq!(list["sessions"][0]["costUsd"], json!(4.0), "a dollar a token");
        assert_eq!(list["sessions"][1].get("costUsd"), None);
    });
}
