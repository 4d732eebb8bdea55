//! Words that come while a turn runs: they join it, or wait in the queue.

use expect_test::expect;
use serde_json::json;

use crate::play::{Play, paused};
use crate::turns::with_tools;

#[test]
fn steering_joins_before_the_next_round() {
    paused(async {
        let mut play = with_tools().await;
        play.send(r#"pause 5000 call quick {} then say after"#).await;
        play.steer("say steered").await.steer("say again").await.get().await.wait(5000).await.get().await;
        play.check(expect![[r#"
            > 2 session.send {"session_id":"s1","text":"pause 5000 call quick {} then say after"}
            s1 t1 [preparing...]
            2 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            s1 t1 [drafting response...]
            s1 #1 user: pause 5000 call quick {} then say after
            > 3 session.steer {"session_id":"s1","text":"say steered"}
            3 = {"accepted":true,"session_id":"s1"}
            > 4 session.steer {"session_id":"s1","text":"say again"}
            4 = {"accepted":true,"session_id":"s1"}
            > 5 session.get {"session_id":"s1"}
            5 = s1 [drafting response...] pending true chat "chat1" by null from "history" steers 2
                messages
                  #1 user: pause 5000 call quick {} then say after
                history
                  user: pause 5000 call quick {} then say after
                queue
            s1 session.tool.call.started {"data":{"call":{"callId":"call_0_0","input":{},"name":"quick","providerToolName":"quick"},"toolRound":1},"turn_id":"t1"}
            s1 session.tool.call.completed {"data":{"executed":{"callId":"call_0_0","input":{},"name":"quick","ok":true,"result":"done so"},"toolRound":1},"turn_id":"t1"}
            s1 session.tool.results {"data":{"executed":[{"callId":"call_0_0","input":{},"name":"quick","ok":true,"result":"done so"}],"toolRound":1},"turn_id":"t1"}
            s1 #2 user: say steered
            s1 #3 user: say again
            s1 [steer applied; continuing...]
            s1 [drafting response...]
            s1 t1 answer "again"
            s1 #4 assistant: again
            s1 session.completed {"answer_length":5,"turn_id":"t1"}
            s1 [ready]
            > 6 session.get {"session_id":"s1"}
            6 = s1 [ready] pending false chat "chat1" by "openai" from "history" steers 0
                messages
                  #1 user: pause 5000 call quick {} then say after
                  #2 user: say steered
                  #3 user: say again
                  #4 assistant: again
                history
                  user: pause 5000 call quick {} then say after
                  user: say steered
                  user: say again
                  assistant: again
                queue
        "#]]);
    });
}

#[test]
fn steering_that_comes_too_late_is_counted_and_the_queue_goes_on() {
    paused(async {
        let mut play = Play::on().await;
        play.steer("nobody runs").await;
        play.send("say one pause 5000 say two").await.steer("a").await.steer("b").await.queue("say next").await;
        play.wait(5000).await.get().await;
        play.check(expect![[r#"
            > 2 session.steer {"session_id":"s1","text":"nobody runs"}
            2 = {"accepted":false,"session_id":"s1"}
            > 3 session.send {"session_id":"s1","text":"say one pause 5000 say two"}
            s1 t1 [preparing...]
            3 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            s1 t1 [drafting response...]
            s1 #1 user: say one pause 5000 say two
            s1 t1 answer "one"
            > 4 session.steer {"session_id":"s1","text":"a"}
            4 = {"accepted":true,"session_id":"s1"}
            > 5 session.steer {"session_id":"s1","text":"b"}
            5 = {"accepted":true,"session_id":"s1"}
            > 6 session.send {"enqueue":true,"session_id":"s1","text":"say next"}
            s1 [queued (1)]
            6 = {"accepted":true,"queued":true,"session_id":"s1","turn_id":"t2"}
            s1 [drafting response...]
            s1 t1 answer "two"
            s1 #2 assistant: onetwo
            s1 session.completed {"answer_length":6,"turn_id":"t1"}
            s1 [ready]
            s1 #3 system: 2 steer message(s) were queued too late and not applied.
            s1 t2 [preparing...]
            s1 t2 [drafting response...]
            s1 #4 user: say next
            s1 t2 answer "next"
            s1 #5 assistant: next
            s1 session.completed {"answer_length":4,"turn_id":"t2"}
            s1 [ready]
            > 7 session.get {"session_id":"s1"}
            7 = s1 [ready] pending false chat "chat1" by "openai" from "history" steers 0
                messages
                  #1 user: say one pause 5000 say two
                  #2 assistant: onetwo
                  #3 system: 2 steer message(s) were queued too late and not applied.
                  #4 user: say next
                  #5 assistant: next
                history
                  user: say one pause 5000 say two
                  assistant: onetwo
                  user: say next
                  assistant: next
                queue
        "#]]);
    });
}

#[test]
fn what_waits_runs_after_a_turn_however_it_ended() {
    paused(async {
        let mut play = Play::on().await;
        play.send("say one pause 5000")
            .await
            .queue("fail 400")
            .await
            .queue("say three hold")
            .await
            .queue("say four")
            .await;
        play.ask("session.queue.list", json!({"session_id": "s1"})).await;
        play.send("say refused").await;
        play.wait(5000).await.interrupt().await.get().await;
        play.check(expect![[r#"
            > 2 session.send {"session_id":"s1","text":"say one pause 5000"}
            s1 t1 [preparing...]
            2 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            s1 t1 [drafting response...]
            s1 #1 user: say one pause 5000
            s1 t1 answer "one"
            > 3 session.send {"enqueue":true,"session_id":"s1","text":"fail 400"}
            s1 [queued (1)]
            3 = {"accepted":true,"queued":true,"session_id":"s1","turn_id":"t2"}
            > 4 session.send {"enqueue":true,"session_id":"s1","text":"say three hold"}
            s1 [queued (2)]
            4 = {"accepted":true,"queued":true,"session_id":"s1","turn_id":"t3"}
            > 5 session.send {"enqueue":true,"session_id":"s1","text":"say four"}
            s1 [queued (3)]
            5 = {"accepted":true,"queued":true,"session_id":"s1","turn_id":"t4"}
            > 6 session.queue.list {"session_id":"s1"}
            6 = {"queue":[{"enqueuedAt":"T","id":"t2","images":[],"text":"fail 400"},{"enqueuedAt":"T","id":"t3","images":[],"text":"say three hold"},{"enqueuedAt":"T","id":"t4","images":[],"text":"say four"}],"session_id":"s1"}
            > 7 session.send {"session_id":"s1","text":"say refused"}
            7 ! -32000 session_busy: session is busy; use enqueue=true to queue the prompt
            s1 #2 assistant: one
            s1 session.completed {"answer_length":3,"turn_id":"t1"}
            s1 [ready]
            s1 t2 [preparing...]
            s1 t2 [drafting response...]
            s1 #3 user: fail 400
            s1 #4 system: inference error: the model answered HTTP 400, as the script asked
            s1 session.error {"message":"the model answered HTTP 400, as the script asked","turn_id":"t2"}
            s1 [ready]
            s1 t3 [preparing...]
            s1 t3 [drafting response...]
            s1 #5 user: say three hold
            s1 t3 answer "three"
            > 8 session.interrupt {"session_id":"s1"}
            s1 [interrupting...]
            8 = {"interrupted":true,"session_id":"s1"}
            s1 #6 assistant: three
            s1 #7 system: response interrupted by user. partial output kept.
            s1 session.interrupted {"partial_output":true,"turn_id":"t3"}
            s1 [ready]
            s1 t4 [preparing...]
            s1 t4 [drafting response...]
            s1 #8 user: say four
            s1 t4 answer "four"
            s1 #9 assistant: four
            s1 session.completed {"answer_length":4,"turn_id":"t4"}
            s1 [ready]
            > 9 session.get {"session_id":"s1"}
            9 = s1 [ready] pending false chat "chat1" by "openai" from "history" steers 0
                messages
                  #1 user: say one pause 5000
                  #2 assistant: one
                  #3 user: fail 400
                  #4 system: inference error: the model answered HTTP 400, as the script asked
                  #5 user: say three hold
                  #6 assistant: three
                  #7 system: response interrupted by user. partial output kept.
                  #8 user: say four
                  #9 assistant: four
                history
                  user: say one pause 5000
                  assistant: one
                  user: say three hold
                  assistant: three
                  user: say four
                  assistant: four
                queue
        "#]]);
    });
}

#[test]
fn to_enqueue_while_nothing_runs_is_to_send() {
    paused(async {
        let mut play = Play::on().await;
        play.queue("say now").await;
        play.check(expect![[r#"
            > 2 session.send {"enqueue":true,"session_id":"s1","text":"say now"}
            s1 t1 [preparing...]
            2 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            s1 t1 [drafting response...]
            s1 #1 user: say now
            s1 t1 answer "now"
            s1 #2 assistant: now
            s1 session.completed {"answer_length":3,"turn_id":"t1"}
            s1 [ready]
        "#]]);
    });
}

#[test]
fn a_queue_that_was_cleared_does_not_run_and_is_counted_anew() {
    paused(async {
        let mut play = Play::on().await;
        play.send("say one pause 5000").await.queue("say two").await.queue("say three").await;
        play.ask("session.queue.clear", json!({"session_id": "s1"})).await;
        play.ask("session.queue.clear", json!({"session_id": "s1"})).await;
        play.queue("say four").await.wait(5000).await;
        play.check(expect![[r#"
            > 2 session.send {"session_id":"s1","text":"say one pause 5000"}
            s1 t1 [preparing...]
            2 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            s1 t1 [drafting response...]
            s1 #1 user: say one pause 5000
            s1 t1 answer "one"
            > 3 session.send {"enqueue":true,"session_id":"s1","text":"say two"}
            s1 [queued (1)]
            3 = {"accepted":true,"queued":true,"session_id":"s1","turn_id":"t2"}
            > 4 session.send {"enqueue":true,"session_id":"s1","text":"say three"}
            s1 [queued (2)]
            4 = {"accepted":true,"queued":true,"session_id":"s1","turn_id":"t3"}
            > 5 session.queue.clear {"session_id":"s1"}
            5 = {"cleared_count":2,"session_id":"s1"}
            > 6 session.queue.clear {"session_id":"s1"}
            6 = {"cleared_count":0,"session_id":"s1"}
            > 7 session.send {"enqueue":true,"session_id":"s1","text":"say four"}
            s1 [queued (1)]
            7 = {"accepted":true,"queued":true,"session_id":"s1","turn_id":"t4"}
            s1 #2 assistant: one
            s1 session.completed {"answer_length":3,"turn_id":"t1"}
            s1 [ready]
            s1 t4 [preparing...]
            s1 t4 [drafting response...]
            s1 #3 user: say four
            s1 t4 answer "four"
            s1 #4 assistant: four
            s1 session.completed {"answer_length":4,"turn_id":"t4"}
            s1 [ready]
        "#]]);
    });
}
