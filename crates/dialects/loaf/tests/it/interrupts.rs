//! Turns that the controller interrupts, wherever they are.

use expect_test::expect;
use serde_json::json;

use crate::play::{Play, paused};
use crate::turns::with_tools;

#[test]
fn an_interrupt_in_the_stream_keeps_what_was_said() {
    paused(async {
        let mut play = Play::on().await;
        play.interrupt().await.send("say one hold").await.interrupt().await.interrupt().await.get().await;
        play.check(expect![[r#"
            > 2 session.interrupt {"session_id":"s1"}
            2 = {"interrupted":false,"session_id":"s1"}
            > 3 session.send {"session_id":"s1","text":"say one hold"}
            s1 t1 [preparing...]
            3 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            s1 t1 [drafting response...]
            s1 #1 user: say one hold
            s1 t1 answer "one"
            > 4 session.interrupt {"session_id":"s1"}
            s1 [interrupting...]
            4 = {"interrupted":true,"session_id":"s1"}
            s1 #2 assistant: one
            s1 #3 system: response interrupted by user. partial output kept.
            s1 session.interrupted {"partial_output":true,"turn_id":"t1"}
            s1 [ready]
            > 5 session.interrupt {"session_id":"s1"}
            5 = {"interrupted":false,"session_id":"s1"}
            > 6 session.get {"session_id":"s1"}
            6 = s1 [ready] pending false chat "chat1" by "openai" from "history" steers 0
                messages
                  #1 user: say one hold
                  #2 assistant: one
                  #3 system: response interrupted by user. partial output kept.
                history
                  user: say one hold
                  assistant: one
                queue
        "#]]);
    });
}

#[test]
fn an_interrupt_before_the_first_word() {
    paused(async {
        let mut play = Play::on().await;
        play.send("hold").await.interrupt().await.get().await;
        play.check(expect![[r#"
            > 2 session.send {"session_id":"s1","text":"hold"}
            s1 t1 [preparing...]
            2 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            s1 t1 [drafting response...]
            s1 #1 user: hold
            > 3 session.interrupt {"session_id":"s1"}
            s1 [interrupting...]
            3 = {"interrupted":true,"session_id":"s1"}
            s1 #2 system: response interrupted by user.
            s1 session.interrupted {"partial_output":false,"turn_id":"t1"}
            s1 [ready]
            > 4 session.get {"session_id":"s1"}
            4 = s1 [ready] pending false chat "chat1" by null from "history" steers 0
                messages
                  #1 user: hold
                  #2 system: response interrupted by user.
                history
                  user: hold
                queue
        "#]]);
    });
}

#[test]
fn an_interrupt_in_a_tool_ends_the_whole_round() {
    paused(async {
        let mut play = with_tools().await;
        play.send("say a call quick {} and call endless {} and call quick {} then say never").await;
        play.interrupt().await;
        play.check(expect![[r#"
            > 2 session.send {"session_id":"s1","text":"say a call quick {} and call endless {} and call quick {} then say never"}
            s1 t1 [preparing...]
            2 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            s1 t1 [drafting response...]
            s1 #1 user: say a call quick {} and call endless {} and call quick {} then say never
            s1 t1 answer "a"
            s1 session.tool.call.started {"data":{"call":{"callId":"call_0_0","input":{},"name":"quick","providerToolName":"quick"},"toolRound":1},"turn_id":"t1"}
            s1 session.tool.call.completed {"data":{"executed":{"callId":"call_0_0","input":{},"name":"quick","ok":true,"result":"done so"},"toolRound":1},"turn_id":"t1"}
            s1 session.tool.call.started {"data":{"call":{"callId":"call_0_1","input":{},"name":"endless","providerToolName":"endless"},"toolRound":1},"turn_id":"t1"}
            > 3 session.interrupt {"session_id":"s1"}
            s1 [interrupting...]
            3 = {"interrupted":true,"session_id":"s1"}
            s1 session.tool.call.completed {"data":{"executed":{"callId":"call_0_1","error":"interrupted","input":{},"name":"endless","ok":false,"result":"interrupted"},"toolRound":1},"turn_id":"t1"}
            s1 session.tool.call.started {"data":{"call":{"callId":"call_0_2","input":{},"name":"quick","providerToolName":"quick"},"toolRound":1},"turn_id":"t1"}
            s1 session.tool.call.completed {"data":{"executed":{"callId":"call_0_2","error":"interrupted","input":{},"name":"quick","ok":false,"result":"interrupted"},"toolRound":1},"turn_id":"t1"}
            s1 session.tool.results {"data":{"executed":[{"callId":"call_0_0","input":{},"name":"quick","ok":true,"result":"done so"},{"callId":"call_0_1","error":"interrupted","input":{},"name":"endless","ok":false,"result":"interrupted"},{"callId":"call_0_2","error":"interrupted","input":{},"name":"quick","ok":false,"result":"interrupted"}],"toolRound":1},"turn_id":"t1"}
            s1 #2 assistant: a
            s1 #3 system: response interrupted by user. partial output kept.
            s1 session.interrupted {"partial_output":true,"turn_id":"t1"}
            s1 [ready]
        "#]]);
    });
}

#[test]
fn an_interrupt_in_a_retry_wait() {
    paused(async {
        let mut play = Play::on().await;
        play.send("fail 429").await.interrupt().await.get().await;
        play.check(expect![[r#"
            > 2 session.send {"session_id":"s1","text":"fail 429"}
            s1 t1 [preparing...]
            2 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            s1 t1 [drafting response...]
            s1 #1 user: fail 429
            s1 [rate limited; retrying (2/8)...]
            > 3 session.interrupt {"session_id":"s1"}
            s1 [interrupting...]
            3 = {"interrupted":true,"session_id":"s1"}
            s1 #2 system: response interrupted by user.
            s1 session.interrupted {"partial_output":false,"turn_id":"t1"}
            s1 [ready]
            > 4 session.get {"session_id":"s1"}
            4 = s1 [ready] pending false chat "chat1" by null from "history" steers 0
                messages
                  #1 user: fail 429
                  #2 system: response interrupted by user.
                history
                  user: fail 429
                queue
        "#]]);
    });
}

#[test]
fn a_second_interrupt_while_the_first_is_carried_out_is_none() {
    paused(async {
        let mut play = Play::on().await;
        play.send("say one hold").await;
        play.put("session.interrupt", json!({"session_id": "s1"})).await;
        play.put("session.interrupt", json!({"session_id": "s1"})).await;
        play.settle().await;
        play.check(expect![[r#"
            > 2 session.send {"session_id":"s1","text":"say one hold"}
            s1 t1 [preparing...]
            2 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            s1 t1 [drafting response...]
            s1 #1 user: say one hold
            s1 t1 answer "one"
            > 3 session.interrupt {"session_id":"s1"}
            > 4 session.interrupt {"session_id":"s1"}
            s1 [interrupting...]
            3 = {"interrupted":true,"session_id":"s1"}
            4 = {"interrupted":false,"session_id":"s1"}
            s1 #2 assistant: one
            s1 #3 system: response interrupted by user. partial output kept.
            s1 session.interrupted {"partial_output":true,"turn_id":"t1"}
            s1 [ready]
        "#]]);
    });
}
