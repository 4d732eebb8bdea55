//! Artifacts, good and bad.

//! Artifacts: kept, replaced, listed, taken away, and refused.

use serde_json::json;

use crate::play::{Play, paused, settings};

#[test]
fn an_artifact_is_put_read_replaced_listed_and_taken_away() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        play.result(at, "sessions.create", json!({"sessionId": "ws:a"})).await;
        let put =
            |id: &str, content| json!({"sessionId": "ws:a", "artifactId": id, "type": "note", "content": content});
        let first = play.result(at, "canvas.put", put("card", json!({"b": [1, null], "a": "ü\n"}))).await;
        assert_eq!(first["created"], true);
        let artifact = &first["artifact"];
        assert_eq!(artifact["content"], json!({"b": [1, null], "a": "ü\n"}));
        assert_eq!(
            (&artifact["version"], &artifact["title"], &artifact["metadata"]),
            (&json!(1), &json!(null), &json!(null))
        );
        play.result(at, "canvas.put", put("other", json!(null))).await;
        // The shelf counts milliseconds of the real clock.
        std::thread::sleep(std::time::Duration::from_millis(2));
        let again = play.result(at, "canvas.put", put("card", json!("plain"))).await;
        assert_eq!((&again["created"], &again["artifact"]["version"]), (&json!(false), &json!(2)));
        assert_eq!(again["artifact"]["createdAt"], artifact["createdAt"]);
        let got = play.result(at, "canvas.get", json!({"sessionId": "ws:a", "artifactId": "card"})).await;
        assert_eq!(got["artifact"], again["artifact"]);
        let list =
            play.result(at, "canvas.list", json!({"sessionId": "ws:a", "limit": 1, "includeContent": false})).await;
        assert_eq!((&list["total"], list["artifacts"].as_array().unwrap().len()), (&json!(2), 1));
        assert_eq!((&list["artifacts"][0]["artifactId"], list["artifacts"][0].get("content")), (&json!("card"), None));
        for deleted in [true, false] {
            let said = play.result(at, "canvas.delete", json!({"sessionId": "ws:a", "artifactId": "other"})).await;
            assert_eq!(said, json!({"deleted": deleted}));
        }
        assert_eq!(play.result(at, "canvas.clear", json!({"sessionId": "ws:a"})).await, json!({"cleared": 1}));
        play.result(at, "canvas.put", put("last", json!(1))).await;
        play.result(at, "sessions.delete", json!({"sessionId": "ws:a"})).await;
        play.result(at, "sessions.create", json!({"sessionId": "ws:a"})).await;
        let after = play.result(at, "canvas.list", json!({"sessionId": "ws:a"})).await;
        assert_eq!(after["total"], 0, "artifacts go with their session");
    });
}

#[test]
fn what_is_wrong_with_an_artifact_is_said_by_a_word() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        let put = |content: &str| json!({"artifactId": "a", "type": "t", "content": content});
        let large = "x".repeat(1024 * 1024);
        assert_eq!(play.error(at, "canvas.put", put(&large)).await, (-2, "limit".into()));
        let missing = json!({"artifactId": "none"});
        assert_eq!(play.error(at, "canvas.get", missing).await, (-2, "artifact_not_found".into()));
        for method in ["canvas.list", "canvas.clear"] {
            assert_eq!(play.error(at, method, json!({"sessionId": "ws:absent"})).await.0, 1, "{method}");
        }
        for wrong in [
            json!({"artifactId": "", "type": "t", "content": 1}),
            json!({"artifactId": "a", "content": 1}),
            json!({"artifactId": "a", "type": "t"}),
        ] {
            assert_eq!(play.error(at, "canvas.put", wrong).await, (-2, "invalid_params".into()));
        }
        *play.shelf.broken.lock().unwrap() = Some(vocab::Fault::new(vocab::FaultKind::Store, "canary: disk full"));
        let frames = play.ask(at, "canvas.put", put("small")).await;
        let error = &frames.last().unwrap()["error"];
        assert_eq!((&error["code"], &error["data"]["reason"]), (&json!(5), &json!("store")));
        assert!(error["data"]["incident"].is_string() && !error.to_string().contains("canary"), "{error}");
    });
}

#[test]
fn the_limit_of_an_artifact_does_not_count_how_its_client_spells_json() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        let letters = 300_000;
        for spelling in ["ä", r"\u00e4"] {
            let content = format!(r#"[ "{}" , 1.10, 12345678901234567890123 ]"#, spelling.repeat(letters));
            let frame = format!(
                r#"{{"id":1,"method":"canvas.put","params":{{"artifactId":"a","type":"t","content":{content}}}}}"#
            );
            let said = play.ask_raw(at, &frame).await;
            let told = format!(r#""content":["{}",1.10,12345678901234567890123]"#, "ä".repeat(letters));
            assert!(said.contains(&told), "{spelling}: {}", &said[..200.min(said.len())]);
        }
    });
}

#[test]
fn a_session_has_five_hundred_and_what_is_switched_off_is_refused() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        for number in 0..=500 {
            let frames = play
                .ask(at, "canvas.put", json!({"artifactId": format!("a{number}"), "type": "t", "content": 1}))
                .await;
            let frame = frames.last().unwrap();
            assert_eq!(frame.get("result").is_some(), number < 500, "{number}: {frame}");
        }
        assert_eq!(play.result(at, "canvas.list", json!({})).await["total"], 500);
        let one_more = json!({"artifactId": "a7", "type": "t", "content": 2});
        assert_eq!(play.result(at, "canvas.put", one_more).await["artifact"]["version"], 2, "one that is there");
        play.service.settle(gateway::ServiceSettings { gates: Vec::new(), ..settings() });
        assert_eq!(play.error(at, "canvas.list", json!({})).await, (-2, "feature_disabled".into()));
    });
}

/// Ten artifacts of nearly a megabyte each.
#[test]
fn a_list_has_a_bound_and_says_of_whom_it_leaves_the_content_out() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        play.result(at, "sessions.create", json!({"sessionId": "ws:a"})).await;
        let large = "x".repeat(1_000_000);
        for number in 0..10 {
            let put = json!({"sessionId": "ws:a", "artifactId": format!("a{number}"), "type": "note", "content": large,
                "metadata": {"n": number}});
            play.result(at, "canvas.put", put).await;
        }
        let list = play.result(at, "canvas.list", json!({"sessionId": "ws:a"})).await;
        let rows = list["artifacts"].as_array().unwrap();
        assert_eq!((rows.len(), &list["total"]), (10, &json!(10)));
        let shown: Vec<bool> = rows.iter().map(|row| row.get("content").is_some()).collect();
        assert_eq!(shown, [vec![true; 8], vec![false; 2]].concat(), "the newest have theirs");
        let omitted: Vec<bool> = rows.iter().map(|row| row["contentOmitted"] == true).collect();
        assert_eq!(omitted, [vec![false; 8], vec![true; 2]].concat());
        assert_eq!((&rows[7]["metadata"]["n"], &rows[9]["metadata"]), (&json!(2), &json!(null)));
        let got = play.result(at, "canvas.get", json!({"sessionId": "ws:a", "artifactId": "a0"})).await;
        assert_eq!(got["artifact"]["content"].as_str().map(str::len), Some(large.len()));
        for wish in [json!({"sessionId": "ws:a", "limit": 1}), json!({"sessionId": "ws:a", "includeContent": false})] {
            let list = play.result(at, "canvas.list", wish).await;
            let rows = list["artifacts"].as_array().unwrap();
            assert_eq!(list["total"], 10);
            assert!(rows.iter().all(|row| row.get("contentOmitted").is_none() && !row["metadata"].is_null()), "{list}");
        }
        let given = play.shelf.given_max.load(std::sync::atomic::Ordering::Relaxed);
        assert!(given <= 1_100_000, "{given} bytes of artifacts at once");
    });
}
