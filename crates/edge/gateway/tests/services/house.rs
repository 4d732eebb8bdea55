//! The gateway itself: what it is, what it counts, what it is set to, and its news.

use std::time::Duration;

use gateway::Reloaded;
use serde_json::{Value, json};

use crate::play::{Play, paused};

#[test]
fn it_says_what_it_is_and_what_can_be_asked() {
    paused(async {
        let mut play = Play::new();
        let (at, _other) = (play.connect(), play.connect());
        let info = play.result(at, "system.info", json!({})).await;
        assert_eq!(
            (&info["version"], &info["connections"], &info["protocol"]),
            (&json!("0.1.0"), &json!(2), &json!(1))
        );
        assert_eq!((&info["connectionId"], &info["sessionId"]), (&json!("c1"), &json!("ws:c1")));
        assert!(info["instance"].is_string() && info["pid"].is_u64() && info["uptime"].is_u64());
        let can = play.result(at, "system.capabilities", json!({})).await;
        assert_eq!(can["featureGates"], json!({"ui.canvas": true, "notifications": true, "off": false}));
        let methods = can["methods"].as_array().unwrap();
        assert_eq!(methods.len(), dialect_gateway::METHODS.len());
        assert!(can["events"].as_array().unwrap().contains(&json!("lane")));
        assert_eq!(can["scopes"], json!(["read", "chat", "tools", "admin"]));
        assert_eq!(can["limits"]["maxFrameBytes"], 16 * 1024 * 1024);
        let document = play.result(at, "rpc.discover", json!({})).await;
        assert_eq!(document["methods"].as_array().unwrap().len(), methods.len());
        play.hang_up(1).await;
        assert_eq!(play.result(at, "system.info", json!({})).await["connections"], 1);
    });
}

#[test]
fn runs_and_model_calls_are_counted_from_the_log() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        let none = play.result(at, "system.metrics", json!({})).await;
        assert_eq!(
            none["runStates"],
            json!({"start": 0, "complete": 0, "cancel_requested": 0, "cancelled": 0, "error": 0})
        );
        assert_eq!(none["modelCalls"], json!({"total": 0, "avgLatency": 0, "errorRate": 0.0, "recentCalls": []}));
        play.run(at, "ws:a", "say 2 words").await;
        play.run(at, "ws:a", "fail401").await;
        play.send(at, &json!({"id": 7, "method": "agent.send", "params": {"sessionId": "ws:b", "message": "hang"}}))
            .await;
        play.heard(at, Duration::from_millis(50)).await;
        play.ask(at, "agent.cancel", json!({"sessionId": "ws:b"})).await;
        let some = play.result(at, "system.metrics", json!({})).await;
        assert_eq!(
            some["runStates"],
            json!({"start": 3, "complete": 1, "cancel_requested": 1, "cancelled": 1, "error": 1}),
            "{some}"
        );
        assert_eq!((&some["messagesProcessed"], &some["errors"]), (&json!(3), &json!(1)));
        assert_eq!(some["cancelLatencyMs"]["sampleCount"], 1);
        let calls = &some["modelCalls"];
        assert_eq!(calls["recentCalls"][0]["ok"], json!(false), "newest first: {calls}");
        assert_eq!(calls["recentCalls"].as_array().unwrap().last().unwrap()["ok"], json!(true));
        assert_eq!(some["reactions"], json!({"matched": 0, "skipped": 0, "skipReasons": {}}));
        let presence = play.result(at, "system.presence", json!({})).await;
        assert_eq!(presence["summary"], json!({"total": 2, "online": 2, "offline": 0}));
        assert_eq!(
            (&presence["presence"][0]["senderId"], &presence["presence"][1]["messageCount"]),
            (&json!("b"), &json!(2))
        );
    });
}

#[test]
fn settings_are_shown_by_path_without_the_operators_part_to_others_and_read_again() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        assert_eq!(play.result(at, "config.get", json!({})).await["server"]["token"], "***");
        for path in ["server.queue.debounceMs", "server.queue.debounce_ms"] {
            assert_eq!(play.result(at, "config.get", json!({"path": path})).await, json!(7), "{path}");
        }
        assert_eq!(
            play.error(at, "config.get", json!({"path": "server.nothing"})).await,
            (-2, "invalid_params".into())
        );
        let guest = play.connect_as(dialect_gateway::AuthState::Known { scopes: dialect_gateway::Scopes::READ });
        let shown = play.result(guest, "config.get", json!({})).await;
        assert_eq!(shown, json!({"model": "alpha", "maxTokens": 5}));
        assert_eq!(play.error(guest, "config.get", json!({"path": "server.token"})).await.0, -2);
        let changed = vec!["server.port".to_owned(), "tools.deny".to_owned()];
        *play.config.next.lock().unwrap() =
            Some(Ok(Reloaded { changed, restart_required: vec!["server.port".to_owned()], ..Reloaded::default() }));
        let said = play.result(at, "config.reload", json!({})).await;
        assert_eq!(
            said,
            json!({
                "success": true, "changed": ["server.port", "tools.deny"], "restartRequired": ["server.port"],
                "changes": [],
            })
        );
        *play.config.next.lock().unwrap() = Some(Err(vec!["config.toml:3: `server.port` wants a number".to_owned()]));
        let frames = play.ask(at, "config.reload", json!({})).await;
        let error = &frames[0]["error"];
        assert_eq!((&error["code"], &error["data"]["reason"]), (&json!(5), &json!("config_invalid")));
        assert_eq!(error["data"]["errors"][0], "config.toml:3: `server.port` wants a number");
    });
}

#[test]
fn news_come_to_who_subscribed_and_to_nobody_else() {
    paused(async {
        let mut play = Play::new();
        let (at, watcher) = (play.connect(), play.connect());
        let topics = json!({"topics": ["lanes", "nodes", "sessions", "logs"]});
        play.send(watcher, &json!({"id": 5, "method": "events.subscribe", "params": topics})).await;
        let first = play.heard(watcher, Duration::from_millis(50)).await;
        assert!(first[0].get("result").is_some(), "{first:?}");
        play.run(at, "ws:a", "say 1 words").await;
        play.send(at, &json!({"id": 7, "method": "agent.send", "params": {"sessionId": "ws:a", "message": "hang"}}))
            .await;
        play.heard(at, Duration::from_millis(50)).await;
        let node = json!({"nodeId": "n1", "role": "companion", "protocolVersion": 1, "capabilities": []});
        play.result(at, "node.register", node).await;
        play.service.log("warn", "something\nhappened");
        let mut heard = play.heard(watcher, Duration::from_millis(300)).await;
        play.ask(at, "agent.cancel", json!({"sessionId": "ws:a"})).await;
        heard.extend(play.heard(watcher, Duration::from_millis(300)).await);
        let of =
            |event: &str| heard.iter().filter(|it| it["event"] == event).map(|it| &it["data"]).collect::<Vec<&Value>>();
        assert!(of("lane").iter().any(|lane| lane["sessionId"] == "ws:a" && lane["state"] == "running"), "{heard:?}");
        assert_eq!(of("lane").last().unwrap()["state"], "idle");
        assert_eq!(of("node")[0]["change"], "registered");
        assert_eq!(
            (&of("log")[0]["level"], of("log")[0]["text"].as_str().unwrap().contains('\n')),
            (&json!("warn"), false)
        );
        assert!(heard.iter().all(|it| it["id"] == 5), "under the id of the subscription");
        play.send(watcher, &json!({"id": 6, "method": "events.subscribe", "params": {"topics": ["metrics"]}})).await;
        tokio::time::sleep(Duration::from_millis(5_100)).await;
        let counters = play.heard(watcher, Duration::from_millis(100)).await;
        let told: Vec<&Value> = counters.iter().filter(|it| it["event"] == "metrics").collect();
        assert_eq!(told[0]["data"]["runStates"]["complete"], 1, "{counters:?}");
        let quiet = play.heard(at, Duration::from_millis(300)).await;
        assert!(quiet.is_empty(), "{quiet:?}");
    });
}

/// Every second something is new, of a topic that is listened to or of another one.
#[test]
fn counters_are_told_on_a_gateway_that_is_never_quiet() {
    for topics in [json!(["metrics"]), json!(["logs", "metrics"])] {
        paused(async {
            let mut play = Play::new();
            let watcher = play.connect();
            play.send(watcher, &json!({"id": 6, "method": "events.subscribe", "params": {"topics": topics}})).await;
            let mut heard = Vec::new();
            for _ in 0..16 {
                play.service.log("info", "busy");
                heard.extend(play.heard(watcher, Duration::from_millis(1_000)).await);
            }
            let told = heard.iter().filter(|it| it["event"] == "metrics").count();
            assert_eq!(told, 3, "{topics}: {heard:?}");
        });
    }
}

#[test]
fn who_logs_in_is_known_and_a_wrong_token_is_not() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect_as(dialect_gateway::AuthState::Unknown);
        assert_eq!(play.error(at, "system.info", json!({})).await.0, -4);
        assert_eq!(play.error(at, "auth.login", json!({"token": "wrong"})).await.0, -5);
        let said = play.result(at, "auth.login", json!({"token": "right"})).await;
        assert_eq!((&said["name"], &said["scopes"]), (&json!("ann"), &json!(["read"])));
        play.result(at, "system.info", json!({})).await;
    });
}
