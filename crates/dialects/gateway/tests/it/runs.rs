//! Runs: what the ids of `agent.send` are told, in which order.

use expect_test::expect;
use serde_json::json;

use crate::play::{Play, paused, shown};

#[test]
fn a_plain_answer_streams_and_its_content_is_the_concatenation() {
    paused(async {
        let mut play = Play::new(|_| {});
        let a = play.connect();
        let heard = play.ask(a, 1, "agent.send", json!({"message": "say 3 words"})).await;
        expect![[r#"
            1 run_state start
            1 content "w1 "
            1 content "w2 "
            1 content "w3"
            1 run_state complete
            1 done "w1 w2 w3"
            1 = {"content":"w1 w2 w3","sessionId":"ws:c1","stopReason":"end_turn"}
        "#]]
        .assert_eq(&shown(&heard));
    });
}

#[test]
fn each_call_has_its_pair_and_messages_stand_apart() {
    paused(async {
        let mut play = Play::new(|_| {});
        let a = play.connect();
        let message = r#"say "First." call shell.exec {"command":"echo hi"} say "Then." call paint {}"#;
        let heard = play.ask(a, 1, "agent.send", json!({"message": message})).await;
        expect![[r#"
            1 run_state start
            1 content "First."
            1 content "Then."
            1 tool_start shell.exec {"command":"echo hi"}
            1 tool_end shell.exec {"error":null,"output":"hi\n","success":true}
            1 tool_start paint {}
            1 tool_end paint {"error":null,"output":"painted","success":true}
            1 attachment {"data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==","mimeType":"image/png"}
            1 content "\n\ndone"
            1 run_state complete
            1 done "First.Then.\n\ndone"
            1 = {"content":"First.Then.\n\ndone","sessionId":"ws:c1","stopReason":"end_turn"}
        "#]].assert_eq(&shown(&heard));
    });
}

#[test]
fn a_call_that_fails_or_says_much_says_so() {
    paused(async {
        let mut play = Play::new(|_| {});
        let a = play.connect();
        let heard = play.ask(a, 1, "agent.send", json!({"message": r#"call bash {"command":"fail now"}"#})).await;
        expect![[r#"
            1 run_state start
            1 tool_start shell.exec {"command":"fail now"}
            1 tool_end shell.exec {"error":"failed: now","output":"failed: now","success":false}
        "#]]
        .assert_eq(&shown(&heard[..3]));
        let heard = play.ask(a, 2, "agent.send", json!({"message": r#"call bash {"command":"fill 70000"}"#})).await;
        let end = &heard[2]["data"];
        assert_eq!((&end["truncated"], &end["fullBytes"]), (&json!(true), &json!(70_000)));
        assert_eq!(end["result"]["output"].as_str().map(str::len), Some(65_536));
    });
}

#[test]
fn a_failure_of_the_model_is_told_as_state_event_and_error() {
    paused(async {
        let mut play = Play::new(|_| {});
        let a = play.connect();
        let heard = play.ask(a, 1, "agent.send", json!({"message": "fail401"})).await;
        expect![[r#"
            1 run_state start
            1 run_state error
            1 error 5
            1 ! 5 model_error
        "#]]
        .assert_eq(&shown(&heard));
        assert_eq!(heard[2]["data"]["code"], heard[3]["error"]["code"]);
        assert_eq!(heard[3]["error"]["data"]["retryable"], false);
    });
}
