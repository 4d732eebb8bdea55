//! What waits: a list, and taking one back.

use serde_json::{Value, json};

use crate::play::{Play, paused, shown};

#[test]
fn what_waits_is_listed_and_taken_back_by_anybody() {
    paused(async {
        let mut play = Play::new(|_| {});
        let (a, b, c) = (play.connect(), play.connect(), play.connect());
        play.ask(c, 1, "sessions.create", json!({"sessionId": "s:1", "queue": {"mode": "followup"}})).await;
        play.ask(c, 2, "events.subscribe", json!({"topics": ["session:s:1"]})).await;
        play.put(a, 1, "agent.send", json!({"message": "hang", "sessionId": "s:1"})).await;
        play.heard(a).await;
        let long = format!("say 1 words {}", "ä".repeat(3_000));
        play.put(a, 2, "agent.send", json!({"message": long, "sessionId": "s:1"})).await;
        play.put(a, 3, "agent.send", json!({"message": "say 2 words", "sessionId": "s:1"})).await;
        assert!(play.heard(a).await.is_empty());
        let told = play.heard(c).await;
        let queued: Vec<&Value> =
            told.iter().filter(|frame| frame["event"] == "queued").map(|it| &it["data"]).collect();
        assert_eq!((queued.len(), &queued[1]["text"]), (2, &json!("say 2 words")));
        assert!(queued[1]["by"].is_string());
        let list = play.result(b, 1, "queue.list", json!({"sessionId": "s:1"})).await;
        let items = list["result"]["items"].as_array().unwrap();
        assert_eq!(items.len(), 2, "{list}");
        assert_eq!((&items[1]["itemId"], &items[1]["text"]), (&queued[1]["itemId"], &json!("say 2 words")));
        assert_eq!(
            (&items[0]["position"], &items[1]["position"], &items[1]["attachments"]),
            (&json!(0), &json!(1), &json!(0))
        );
        assert_eq!(items[0]["text"].as_str().unwrap().chars().count(), 2_000);
        assert!(items[0]["at"].is_i64() && items[0]["by"].is_string());
        let remove = json!({"sessionId": "s:1", "itemId": items[1]["itemId"]});
        assert_eq!(play.result(b, 2, "queue.remove", remove.clone()).await["result"], json!({"removed": true}));
        let heard = play.heard(a).await;
        assert_eq!(shown(&heard), "3 error 4\n3 ! 4 cancelled_before_start\n");
        assert_eq!(play.result(b, 3, "queue.remove", remove).await["result"], json!({"removed": false}));
        let left = play.result(b, 4, "queue.list", json!({"sessionId": "s:1"})).await;
        assert_eq!(left["result"]["items"].as_array().unwrap().len(), 1);
        for (id, method) in [(5, "queue.list"), (6, "queue.remove")] {
            let gone = play.result(b, id, method, json!({"sessionId": "s:none", "itemId": "i"})).await;
            assert_eq!(gone["error"]["code"], 1, "{method}");
        }
        play.ask(a, 9, "agent.cancel", json!({"sessionId": "s:1"})).await;
    });
}

#[test]
fn the_commands_are_those_of_the_table() {
    paused(async {
        let mut play = Play::new(|_| {});
        let a = play.connect();
        let listed = play.result(a, 1, "commands.list", json!({})).await["result"]["commands"].clone();
        let names: Vec<&Value> = listed.as_array().unwrap().iter().map(|it| &it["name"]).collect();
        let known = dialect_gateway::openrpc("")["x-commands"].clone();
        assert_eq!(names, known.as_array().unwrap().iter().collect::<Vec<_>>());
        assert!(
            listed.as_array().unwrap().iter().all(|it| it["summary"].as_str().is_some_and(|text| text.ends_with('.')))
        );
        assert_eq!(listed[0]["args"], "[set k=v … | MODE | reset]");
    });
}
