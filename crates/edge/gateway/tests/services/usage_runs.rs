//! The runs behind a sum, and the compactions of a session.

use serde_json::{Value, json};
use vocab::{Body, BranchEntry, CompactReason, Compaction, Durability, Prices, Usage};

use crate::play::{Play, paused};

const NOVEMBER: (&str, &str) = ("2023-11-01", "2023-11-30");

fn november(more: Value) -> Value {
    let mut params = json!({"from": NOVEMBER.0, "to": NOVEMBER.1});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    params
}

fn outputs(found: &Value) -> Vec<u64> {
    found["runs"].as_array().unwrap().iter().map(|run| run["usage"]["outputTokens"].as_u64().unwrap()).collect()
}

#[test]
fn runs_are_told_with_the_dearest_first_and_add_up_to_the_sum() {
    paused(async {
        let mut play = Play::priced(Prices { input: 0.0, cache_read: 0.0, cache_write: 0.0, output: 1e6 });
        let at = play.connect();
        for (session, words) in [("ws:a", 2), ("ws:b", 4), ("ws:a", 5), ("ws:c", 1)] {
            play.run(at, session, &format!("say {words} words")).await;
        }
        play.result(at, "sessions.patch", json!({"sessionId": "ws:b", "title": "four"})).await;
        let found = play.result(at, "usage.runs", november(json!({}))).await;
        assert_eq!((outputs(&found), &found["truncated"]), (vec![4, 3, 2, 1], &json!(false)), "{found}");
        let first = &found["runs"][0];
        assert_eq!(
            (&first["sessionId"], &first["state"], &first["model"]),
            (&json!("ws:a"), &json!("complete"), &json!("mock/alpha"))
        );
        assert_eq!(
            (&first["usage"]["costUsd"], &first["tools"], &first["by"]),
            (&json!(4.0), &json!(0), &json!("user:ann"))
        );
        assert!(first["runId"].is_string() && first["seq"].is_u64() && first["at"].is_i64(), "{first}");
        assert!(first["durationMs"].is_u64(), "{first}");
        assert_eq!(found["runs"][1]["title"], "four");
        let report = play.result(at, "usage.report", november(json!({"groupBy": "model"}))).await;
        let sum: u64 = outputs(&found).iter().sum();
        assert_eq!(report["rows"][0]["usage"]["outputTokens"], json!(sum));
        assert_eq!((&report["rows"][0]["usage"]["costUsd"], &report["since"]), (&json!(10.0), &json!("2023-11-14")));
        let two = play.result(at, "usage.runs", november(json!({"limit": 2}))).await;
        assert_eq!((outputs(&two), &two["truncated"]), (vec![4, 3], &json!(true)));
        let one = play.result(at, "usage.runs", november(json!({"sessionId": "ws:a"}))).await;
        assert_eq!(outputs(&one), [4, 2]);
        let other = play.result(at, "usage.runs", november(json!({"model": "mock/beta"}))).await;
        assert_eq!(other, json!({"runs": [], "truncated": false}));
        let far = json!({"from": NOVEMBER.0, "to": "9999-12-31"});
        assert!(
            !play.result(at, "usage.runs", far).await["runs"].as_array().unwrap().is_empty(),
            "the last day there is"
        );
        let never = play.result(at, "usage.runs", json!({"from": "2022-01-01", "to": "2022-02-01"})).await;
        assert_eq!(never, json!({"runs": [], "truncated": false}));
        play.result(at, "sessions.delete", json!({"sessionId": "ws:a"})).await;
        let left = play.result(at, "usage.runs", november(json!({}))).await;
        assert_eq!(outputs(&left), [3, 1], "what is deleted is in the sums and in no list");
        for wrong in [json!({"from": "2023-02-30"}), json!({"limit": 0}), json!({"limit": 501}), json!({"model": ""})] {
            assert_eq!(play.error(at, "usage.runs", wrong).await, (-2, "invalid_params".into()));
        }
    });
}

#[test]
fn a_run_says_how_it_stands_and_how_many_tools_it_wanted() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        play.run(at, "ws:a", "list the python files").await;
        play.send(at, &json!({"id": 7, "method": "agent.send", "params": {"sessionId": "ws:b", "message": "hang"}}))
            .await;
        play.heard(at, std::time::Duration::from_millis(300)).await;
        play.ask(at, "agent.cancel", json!({"sessionId": "ws:b"})).await;
        let found = play.result(at, "usage.runs", november(json!({}))).await;
        let runs = found["runs"].as_array().unwrap();
        let of =
            |session: &str| runs.iter().find(|run| run["sessionId"] == session).unwrap_or_else(|| panic!("{found}"));
        assert_eq!(
            (&of("ws:a")["state"], of("ws:a")["tools"].as_u64() > Some(0)),
            (&json!("complete"), true),
            "{found}"
        );
        assert_eq!(of("ws:a")["usage"].get("costUsd"), None, "no price is known");
        assert_eq!(runs.len(), 1, "one that was cancelled before it used anything is behind no sum: {found}");
    });
}

#[test]
fn the_compactions_of_a_session_are_told_newest_first() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        play.run(at, "ws:a", "say 1 words").await;
        let live = play.result(at, "system.contextUsage", json!({"sessionId": "ws:a"})).await;
        assert_eq!((&live["compactions"], &live["sessions"][0]["model"]), (&json!([]), &json!("mock/alpha")), "{live}");
        assert_eq!(play.result(at, "system.contextUsage", json!({})).await.get("compactions"), None);
        let lease = play.stage.store.create(store::suite::new_session("ws:cold"));
        let compacted = |before: u64| {
            Body::Branch(BranchEntry::Compacted(Compaction {
                reason: CompactReason::Manual,
                summary: "s".into(),
                first_kept: 1,
                tokens_before: before,
                tokens_after: 5,
                messages_before: 1,
                messages_after: 1,
                usage: Usage::default(),
                model: "".into(),
            }))
        };
        let entries = (1..=60).map(|seq| store::suite::entry(seq, compacted(seq * 100))).collect();
        play.stage.store.append(&lease, entries, Durability::Commit).await.unwrap();
        let cold = play.result(at, "system.contextUsage", json!({"sessionId": "ws:cold"})).await;
        let rows = cold["compactions"].as_array().unwrap();
        assert_eq!((&cold["sessions"], rows.len()), (&json!([]), 50));
        assert_eq!(rows[0], json!({"at": 1_060, "seq": 60, "tokensBefore": 6_000, "tokensAfter": 5}));
        assert_eq!(rows[49]["seq"], 11);
    });
}
