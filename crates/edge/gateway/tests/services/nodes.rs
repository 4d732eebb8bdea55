//! Companions, good and bad.

//! Companions: registered, placed, taken over, with their push tokens masked.

use serde_json::{Value, json};

use crate::play::{Play, paused, settings};

fn register(id: &str, capabilities: &[&str]) -> Value {
    json!({"nodeId": id, "role": "companion", "protocolVersion": 3, "capabilities": capabilities})
}

#[test]
fn a_companion_registers_says_how_it_does_and_is_listed() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        let capabilities = ["push", "ui.canvas", "teleport", "off", "push"];
        let said = play.result(at, "node.register", register("n1", &capabilities)).await;
        assert_eq!(said["protocol"], json!({"serverVersion": 1, "clientVersion": 3, "negotiatedVersion": 1}));
        assert_eq!(
            said["capabilities"],
            json!({"declared": ["push", "ui.canvas", "teleport", "off"], "enabled": ["push", "ui.canvas"]})
        );
        assert_eq!(play.result(at, "node.capabilities.get", json!({})).await["capabilities"], said["capabilities"]);
        assert_eq!(play.result(at, "node.location.get", json!({})).await["location"], json!(null));
        let here = json!({"latitude": 37.5, "longitude": -122.25, "receivedAt": 1});
        let set = play.result(at, "node.location.set", here).await;
        assert!(set["location"]["receivedAt"].as_i64().unwrap() > 1, "ours counts: {set}");
        play.result(at, "node.status.set", json!({"platform": "macos", "batteryPct": 50})).await;
        let status = play.result(at, "node.status.set", json!({"batteryPct": 49.5, "powerSource": "ac"})).await;
        assert_eq!((&status["status"]["platform"], &status["status"]["batteryPct"]), (&json!("macos"), &json!(49.5)));
        let other = play.connect();
        let listed = play.result(other, "system.nodes", json!({})).await;
        assert_eq!(listed["summary"], json!({"total": 1}));
        assert_eq!((&listed["nodes"][0]["id"], &listed["nodes"][0]["push"]), (&json!("n1"), &json!(null)));
        let places = play.result(other, "system.location", json!({})).await;
        assert_eq!(places["locations"][0]["node"], json!({"id": "n1", "role": "companion"}));
        let known = play.result(at, "system.capabilities", json!({})).await;
        assert_eq!((&known["nodes"]["registered"], &known["nodes"]["nodeId"]), (&json!(true), &json!("n1")));
    });
}

#[test]
fn a_push_token_is_kept_where_nobody_can_read_it_and_told_to_nobody() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        play.result(at, "node.register", register("n1", &[])).await;
        let token = "fcm_canarycanarycanary3456";
        let frames = play.ask(at, "node.push_token.set", json!({"provider": "fcm", "token": token})).await;
        assert_eq!(frames[0]["result"]["push"]["tokenPreview"], "fcm_…3456");
        let listed = play.ask(at, "system.nodes", json!({})).await;
        assert!(!format!("{frames:?}{listed:?}").contains("canary"));
        assert!(!play.shelf.bytes.lock().unwrap().windows(6).any(|part| part == b"canary"), "in the store's file");
        let kept = play.service.push_token("n1", "fcm").await.unwrap().unwrap();
        assert_eq!(kept.expose(), token);
        assert_eq!(play.service.push_token("n2", "fcm").await.unwrap(), None);
        play.hang_up(at).await;
        let at = play.connect();
        assert_eq!(play.result(at, "system.nodes", json!({})).await["nodes"], json!([]), "gone with its connection");
        play.result(at, "node.register", register("n1", &[])).await;
        let again = play.result(at, "system.nodes", json!({})).await;
        assert_eq!(again["nodes"][0]["push"]["tokenPreview"], "fcm_…3456", "the token is still there");
        for wrong in [json!({"provider": "fcm", "token": "short"}), json!({"provider": "pigeon", "token": token})] {
            let frames = play.ask(at, "node.push_token.set", wrong).await;
            assert_eq!(frames[0]["error"]["code"], -2);
            assert!(!frames[0].to_string().contains("canary"), "{frames:?}");
        }
    });
}

#[test]
fn a_newer_connection_takes_its_companion_over() {
    paused(async {
        let mut play = Play::new();
        let (old, new) = (play.connect(), play.connect());
        play.result(old, "node.register", register("n1", &[])).await;
        play.result(new, "node.register", register("n1", &[])).await;
        let refused = play.error(old, "node.status.set", json!({"platform": "x"})).await;
        assert_eq!(refused, (-2, "node_not_registered".into()));
        let listed = play.result(new, "system.nodes", json!({})).await;
        assert_eq!((&listed["summary"]["total"], &listed["nodes"][0]["connectionId"]), (&json!(1), &json!("c2")));
        play.hang_up(old).await;
        assert_eq!(play.result(new, "system.nodes", json!({})).await["summary"]["total"], 1, "the new one stays");
    });
}

#[test]
fn what_is_not_allowed_is_refused_by_a_word() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        for method in ["node.capabilities.get", "node.location.get", "node.status.set"] {
            assert_eq!(play.error(at, method, json!({})).await, (-2, "node_not_registered".into()), "{method}");
        }
        let root = json!({"nodeId": "n", "role": "root", "protocolVersion": 1, "capabilities": []});
        assert_eq!(play.error(at, "node.register", root).await, (-2, "role_not_allowed".into()));
        play.result(at, "node.register", register("n1", &[])).await;
        for wrong in [
            json!({"latitude": 91, "longitude": 0}),
            json!({"latitude": 0}),
            json!({"latitude": 0, "longitude": 0, "accuracyMeters": -1}),
        ] {
            assert_eq!(play.error(at, "node.location.set", wrong).await, (-2, "invalid_params".into()));
        }
        let mut none = settings();
        (none.nodes.location, none.nodes.push) = (false, false);
        play.service.settle(none.clone());
        let place = json!({"latitude": 0, "longitude": 0});
        assert_eq!(play.error(at, "node.location.set", place).await, (-2, "location_disabled".into()));
        let token = json!({"provider": "apns", "token": "0123456789abcdef"});
        assert_eq!(play.error(at, "node.push_token.set", token).await, (-2, "push_disabled".into()));
        none.nodes.enabled = false;
        play.service.settle(none);
        assert_eq!(play.error(at, "node.location.get", json!({})).await, (-2, "nodes_disabled".into()));
    });
}
