//! What was used, who did what, who wrote how much.

//! Usage, audit and analytics, from sums and never from logs.

use serde_json::json;

use crate::play::{Play, paused};

#[test]
fn usage_is_added_up_by_what_is_wanted() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        play.run(at, "ws:a", "say 3 words").await;
        play.run(at, "ws:b", "say 2 words").await;
        let days = play.result(at, "usage.report", json!({"from": "2023-01-01", "to": "2026-12-31"})).await;
        let rows = days["rows"].as_array().unwrap();
        assert_eq!((rows.len(), &rows[0]["key"], &rows[0]["calls"]), (1, &json!("2023-11-14"), &json!(2)), "{days}");
        assert!(rows[0]["usage"]["outputTokens"].as_u64().unwrap() > 0);
        let sessions = play
            .result(at, "usage.report", json!({"groupBy": "session", "from": "2023-11-01", "to": "2023-11-30"}))
            .await;
        assert_eq!(sessions["rows"].as_array().unwrap().len(), 2);
        let one = json!({"groupBy": "model", "sessionId": "ws:a", "from": "2023-11-01", "to": "2023-11-30"});
        let models = play.result(at, "usage.report", one).await;
        assert_eq!(
            (&models["rows"][0]["key"], &models["rows"][0]["calls"]),
            (&json!("mock/alpha"), &json!(1)),
            "{models}"
        );
        let none = play.result(at, "usage.report", json!({"from": "2022-01-01", "to": "2022-01-02"})).await;
        assert_eq!(
            none,
            json!({"rows": [], "from": "2022-01-01", "to": "2022-01-02", "since": "2023-11-14"}),
            "before the first day"
        );
        for wrong in [json!({"from": "2023-02-30"}), json!({"to": "yesterday!"}), json!({"groupBy": "mood"})] {
            assert_eq!(play.error(at, "usage.report", wrong).await, (-2, "invalid_params".into()));
        }
    });
}

#[test]
fn the_audit_says_who_did_what_and_whether_it_is_whole() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        play.run(at, "ws:a", "say 1 words").await;
        let said = play.result(at, "audit.query", json!({"sessionId": "ws:a", "verify": true})).await;
        let lines = said["lines"].as_array().unwrap();
        assert!(lines.iter().any(|line| line["action"] == "prompt" && line["by"] == "user:ann"), "{said}");
        assert!(!said.to_string().contains("say 1 words"), "what was said is not there");
        assert_eq!((&said["whole"], said["head"].is_string()), (&json!(true), true));
        let one = play.result(at, "audit.query", json!({"limit": 1})).await;
        assert_eq!((one["lines"].as_array().unwrap().len(), one.get("whole")), (1, None));
        let nobody = play.result(at, "audit.query", json!({"by": "nobody"})).await;
        assert_eq!(nobody["lines"], json!([]));
        assert_eq!(play.error(at, "audit.query", json!({"limit": 1001})).await.0, -2);
    });
}

#[test]
fn a_run_whose_place_a_newer_message_took_is_a_line_that_names_both() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        play.run(at, "ws:a", "/queue interrupt").await;
        let slow = json!({"id": 7, "method": "agent.send", "params": {"sessionId": "ws:a", "message": "hang"}});
        play.send(at, &slow).await;
        play.heard(at, std::time::Duration::from_millis(50)).await;
        let heard = play.ask(at, "agent.send", json!({"sessionId": "ws:a", "message": "say 1 words"})).await;
        let stopped = heard.iter().find(|frame| frame["id"] == 7 && frame.get("error").is_some()).unwrap();
        assert_eq!(stopped["error"]["data"]["reason"], "preempted");
        let said = play.result(at, "audit.query", json!({"sessionId": "ws:a", "verify": true})).await;
        let lines: Vec<&serde_json::Value> =
            said["lines"].as_array().unwrap().iter().filter(|line| line.get("data").is_some()).collect();
        let [line] = lines[..] else { panic!("{said}") };
        assert_eq!((&line["action"], &line["by"]), (&json!("queue.preempt"), &json!("user:ann")));
        let queued = play.result(at, "events.replay", json!({"sessionId": "ws:a"})).await;
        let queued = queued["events"].as_array().unwrap().iter().find(|event| event["event"] == "queued").unwrap();
        let want = json!({
            "laneId": "ws:a", "preemptedRunId": "t1", "byRequest": queued["data"]["itemId"], "ts": line["at"],
        });
        assert_eq!(line["data"], want, "{queued}");
        assert_eq!(said["whole"], true);
    });
}

#[test]
fn analytics_say_who_wrote_how_much() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        let none = play.result(at, "system.sessionAnalytics", json!({})).await;
        assert_eq!((&none["daily"], &none["averageMessagesPerSession"]), (&json!([]), &json!(0.0)));
        for session in ["ws:a", "ws:a", "ws:b"] {
            play.run(at, session, "say 1 words").await;
        }
        play.result(at, "sessions.patch", json!({"sessionId": "ws:a", "title": "Fix the parser"})).await;
        let said = play.result(at, "system.sessionAnalytics", json!({"days": 1, "topLimit": 1})).await;
        assert_eq!(said["daily"], json!([{"day": "2023-11-14", "sessions": 2, "messages": 3}]), "{said}");
        let top = &said["topSessions"];
        assert_eq!(
            (top.as_array().unwrap().len(), &top[0]["sessionId"], &top[0]["messages"]),
            (1, &json!("ws:a"), &json!(2))
        );
        assert_eq!(top[0]["lastActivity"], 1_700_000_000);
        assert_eq!(said["topTopics"], json!([{"topic": "parser", "occurrences": 1}]));
        assert_eq!((&said["totalSessions"], &said["totalMessages"]), (&json!(2), &json!(3)));
        assert_eq!(said["averageMessagesPerSession"], 1.5);
        for wrong in [json!({"days": 0}), json!({"days": 366}), json!({"topLimit": 101})] {
            assert_eq!(play.error(at, "system.sessionAnalytics", wrong).await, (-2, "invalid_params".into()));
        }
    });
}

#[test]
fn a_fork_counts_nothing_a_second_time() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        play.run(at, "ws:a", "say 3 words").await;
        play.run(at, "ws:a", "say 2 words").await;
        let day = json!({"from": "2023-01-01", "to": "2026-12-31"});
        let asked = [
            ("system.metrics", json!({})),
            ("system.sessionAnalytics", json!({"days": 1})),
            ("usage.report", day.clone()),
            ("usage.report", json!({"groupBy": "session", "from": day["from"], "to": day["to"]})),
            ("system.presence", json!({})),
        ];
        let mut before = Vec::new();
        for (method, params) in &asked {
            before.push(play.result(at, method, params.clone()).await);
        }
        assert_eq!(before[0]["messagesProcessed"], 2, "{}", before[0]);
        let fork = play.result(at, "sessions.fork", json!({"sessionId": "ws:a"})).await;
        for ((method, params), before) in asked.iter().zip(before) {
            let mut after = play.result(at, method, params.clone()).await;
            if let Some(uptime) = after.get_mut("uptime") {
                *uptime = before["uptime"].clone();
            }
            assert_eq!(after, before, "{method}");
        }
        // What is said in the fork counts, and where it was last spoken in is known.
        play.run(at, fork["sessionId"].as_str().unwrap(), "say 1 words").await;
        let now = play.result(at, "system.metrics", json!({})).await;
        assert_eq!((&now["messagesProcessed"], &now["runStates"]["complete"]), (&json!(3), &json!(3)), "{now}");
    });
}

#[test]
fn tools_have_the_names_of_this_wire_in_reports() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        play.run(at, "ws:a", r#"call glob {"pattern":"*"} then say done"#).await;
        let call = json!({"sessionId": "ws:a", "tool": "file.glob", "args": {"pattern": "*"}});
        play.ask(at, "tools.execute", call).await;
        let days = json!({"groupBy": "tool", "from": "2023-11-01", "to": "2023-11-30"});
        let tools = play.result(at, "usage.report", days).await;
        assert_eq!(tools["rows"][0]["key"], "file.glob", "{tools}");
        let said = play.result(at, "audit.query", json!({"sessionId": "ws:a"})).await;
        let called: Vec<_> = said["lines"].as_array().unwrap().iter().filter(|line| line["action"] == "call").collect();
        assert_eq!((called.len(), &called[0]["detail"]), (1, &json!("file.glob")), "{said}");
    });
}
