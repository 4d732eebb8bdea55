//! What an operator looks at: lanes and what they did, how long models take, settings.

use std::time::Duration;

use dialect_gateway::{AuthState, Scopes};
use serde_json::{Value, json};

use crate::play::{Play, paused};

#[test]
fn a_lane_says_what_it_works_at_and_who_is_on_it() {
    paused(async {
        let mut play = Play::new();
        let (at, watcher) = (play.connect(), play.connect());
        play.send(watcher, &json!({"id": 5, "method": "events.subscribe", "params": {"topics": ["lanes"]}})).await;
        play.heard(watcher, Duration::from_millis(50)).await;
        play.run(at, "ws:a", "ls").await;
        let lanes = play.result(at, "lanes.list", json!({})).await;
        let row = &lanes["lanes"][0];
        assert_eq!((&row["model"], &row["peers"], row.get("tool")), (&json!("mock/alpha"), &json!(1), None), "{lanes}");
        assert!(row["cwd"].as_str().unwrap().starts_with('/'), "{row}");
        let told = play.heard(watcher, Duration::from_millis(300)).await;
        let tools: Vec<&Value> = told.iter().filter_map(|it| it["data"].get("tool")).collect();
        // Of a session that changes faster than somebody reads only the newest is told.
        assert!(tools.iter().all(|tool| **tool == json!("file.list")), "{told:?}");
        assert!(told.last().unwrap()["data"].get("tool").is_none(), "it has been put down: {told:?}");
    });
}

#[test]
fn runs_are_remembered_with_how_they_ended() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        let none = play.result(at, "lanes.history", json!({})).await;
        assert_eq!(none["runs"], json!([]));
        play.run(at, "ws:a", "ls").await;
        play.run(at, "ws:a", "fail401").await;
        play.send(at, &json!({"id": 7, "method": "agent.send", "params": {"sessionId": "ws:b", "message": "hang"}}))
            .await;
        play.heard(at, Duration::from_millis(50)).await;
        let now = play.result(at, "lanes.history", json!({})).await;
        let shown: Vec<_> = now["runs"].as_array().unwrap().iter().map(|it| (&it["sessionId"], &it["state"])).collect();
        let (a, b) = (json!("ws:a"), json!("ws:b"));
        assert_eq!(shown, [(&b, &json!("running")), (&a, &json!("error")), (&a, &json!("complete"))], "{now}");
        let (running, first) = (&now["runs"][0], &now["runs"][2]);
        assert!(running.get("endedAt").is_none() && first["endedAt"].as_i64() >= first["startedAt"].as_i64());
        assert_eq!((&first["tools"], &running["tools"]), (&json!(1), &json!(0)));
        assert!(first["runId"].is_string() && now["since"].as_i64() <= first["startedAt"].as_i64());
        let queued =
            json!({"id": 8, "method": "agent.send", "params": {"sessionId": "ws:b", "message": "say 1 words"}});
        play.send(at, &queued).await;
        play.heard(at, Duration::from_millis(50)).await;
        play.ask(at, "agent.cancel", json!({"requestId": 7})).await;
        let later = play.result(at, "lanes.history", json!({"limit": 2})).await;
        let runs = later["runs"].as_array().unwrap();
        assert_eq!((runs.len(), &runs[1]["state"]), (2, &json!("cancelled")), "{later}");
        assert!(runs[0]["queuedAt"].as_i64().unwrap() <= runs[0]["startedAt"].as_i64().unwrap(), "{later}");
        play.ask(at, "sessions.delete", json!({"sessionId": "ws:a"})).await;
        let left = play.result(at, "lanes.history", json!({})).await;
        assert!(left["runs"].as_array().unwrap().iter().all(|run| run["sessionId"] == "ws:b"), "{left}");
        for wrong in [json!({"windowMinutes": 0}), json!({"windowMinutes": 1441}), json!({"limit": 2001})] {
            assert_eq!(play.error(at, "lanes.history", wrong).await, (-2, "invalid_params".into()));
        }
    });
}

#[test]
fn how_long_models_take_is_told_in_steps_by_model_and_by_failure() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        let none = play.result(at, "system.latency", json!({})).await;
        assert_eq!((&none["total"]["calls"], &none["buckets"], &none["byModel"]), (&json!(0), &json!([]), &json!([])));
        assert_eq!(none["cancel"], json!({"samples": []}));
        play.run(at, "ws:a", "say 2 words").await;
        play.run(at, "ws:a", "fail401").await;
        play.send(at, &json!({"id": 7, "method": "agent.send", "params": {"sessionId": "ws:b", "message": "hang"}}))
            .await;
        play.heard(at, Duration::from_millis(50)).await;
        play.ask(at, "agent.cancel", json!({"sessionId": "ws:b"})).await;
        let some = play.result(at, "system.latency", json!({"windowMinutes": 5, "bucketSeconds": 15})).await;
        assert_eq!(
            (&some["total"]["calls"], &some["total"]["errors"]),
            (&json!(2), &json!(1)),
            "a cancelled one is none"
        );
        assert_eq!((&some["byModel"][0]["model"], &some["byModel"][0]["calls"]), (&json!("mock/alpha"), &json!(2)));
        assert_eq!(some["errorsByStatus"], json!([{"status": "401", "count": 1}]));
        assert_eq!(some["cancel"]["samples"].as_array().unwrap().len(), 1);
        assert!(some["total"]["firstTokenP50"].is_u64() && some["cancel"]["p99"].is_u64(), "{some}");
        let steps = some["buckets"].as_array().unwrap();
        assert!(steps.iter().all(|it| it["ts"].as_i64().unwrap() % 15_000 == 0), "{some}");
        assert_eq!(steps.iter().map(|it| it["calls"].as_u64().unwrap()).sum::<u64>(), 2);
        let many = json!({"windowMinutes": 1440});
        assert_eq!(play.error(at, "system.latency", many).await, (-2, "too_many_points".into()));
        play.result(at, "system.latency", json!({"windowMinutes": 1440, "bucketSeconds": 288})).await;
        for wrong in [json!({"bucketSeconds": 14}), json!({"bucketSeconds": 3601}), json!({"windowMinutes": 1441})] {
            assert_eq!(play.error(at, "system.latency", wrong).await, (-2, "invalid_params".into()));
        }
    });
}

#[test]
fn a_setting_is_tried_before_it_is_written_and_stands_in_the_audit() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        let set = json!({"path": "model", "value": "beta"});
        let said = play.result(at, "config.set", set).await;
        let change = json!({"path": "model", "from": null, "to": "beta", "restartRequired": true});
        assert_eq!(said, json!({"success": true, "changes": [change]}));
        let dry: Vec<bool> = play.config.set.lock().unwrap().iter().map(|new| new.dry_run).collect();
        assert_eq!(dry, [true, false]);
        play.result(at, "config.set", json!({"path": "model", "value": "gamma", "dryRun": true})).await;
        assert_eq!(play.error(at, "config.set", json!({"path": "server.token", "value": "x"})).await.1, "not_settable");
        assert_eq!(play.error(at, "config.set", json!({"path": "nothing", "value": "x"})).await.1, "invalid_params");
        assert_eq!(play.error(at, "config.set", json!({"path": "model"})).await.1, "invalid_params");
        assert_eq!(play.error(at, "config.set", json!({"path": "model", "value": 7})).await.1, "config_invalid");
        let written = play.config.set.lock().unwrap().iter().filter(|new| !new.dry_run).count();
        assert_eq!(written, 1, "what is refused is never written");
        let audit = play.result(at, "audit.query", json!({})).await;
        let lines: Vec<_> =
            audit["lines"].as_array().unwrap().iter().map(|it| (&it["action"], &it["detail"])).collect();
        assert_eq!(lines, [(&json!("config.set"), &json!("model = \"beta\""))], "{audit}");
        let reader = play.connect_as(AuthState::Known { scopes: Scopes::READ.and(Scopes::CHAT).and(Scopes::TOOLS) });
        assert_eq!(play.error(reader, "config.set", json!({"path": "model", "value": "x"})).await.1, "scope");
        assert_eq!(play.result(reader, "config.schema", json!({})).await["type"], "object");
    });
}

#[test]
fn without_a_server_nobody_is_connected_to_it() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        for method in ["system.connections", "auth.attempts"] {
            assert_eq!(play.error(at, method, json!({})).await, (5, "unavailable".into()), "{method}");
        }
    });
}
