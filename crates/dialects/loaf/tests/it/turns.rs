//! The life of a turn, from `preparing...` to `ready`, as whole sequences.

use std::sync::Arc;

use expect_test::expect;
use serde_json::json;

use crate::play::{Cast, Play, paused};
use crate::tools::Simples;

/// Over a pipe to an engine with simple tools.
pub(crate) async fn with_tools() -> Play {
    Play::on_with(Cast { toolbox: Some(Arc::new(Simples)), ..Cast::default() }).await
}

#[test]
fn a_turn_and_one_with_history() {
    paused(async {
        let mut play = Play::on().await;
        play.get().await.send("  say 2 words ").await.send("say again").await.get().await;
        play.check(expect![[r#"
            > 2 session.get {"session_id":"s1"}
            2 = s1 [ready] pending false chat null by null from "history" steers 0
                messages
                history
                queue
            > 3 session.send {"session_id":"s1","text":"  say 2 words "}
            s1 t1 [preparing...]
            3 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            s1 t1 [drafting response...]
            s1 #1 user: say 2 words
            s1 t1 answer "w1 "
            s1 t1 answer "w2"
            s1 #2 assistant: w1 w2
            s1 session.completed {"answer_length":5,"turn_id":"t1"}
            s1 [ready]
            > 4 session.send {"session_id":"s1","text":"say again"}
            s1 t2 [preparing...]
            4 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t2"}
            s1 t2 [drafting response...]
            s1 #3 user: say again
            s1 t2 answer "again"
            s1 #4 assistant: again
            s1 session.completed {"answer_length":5,"turn_id":"t2"}
            s1 [ready]
            > 5 session.get {"session_id":"s1"}
            5 = s1 [ready] pending false chat "chat1" by "openai" from "history" steers 0
                messages
                  #1 user: say 2 words
                  #2 assistant: w1 w2
                  #3 user: say again
                  #4 assistant: again
                history
                  user: say 2 words
                  assistant: w1 w2
                  user: say again
                  assistant: again
                queue
        "#]]);
        play.watch.at_rest();
    });
}

#[test]
fn thinking_has_a_status_of_its_own_and_snapshots_that_grow() {
    paused(async {
        let mut play = Play::on_with(Cast { thinking: "HIGH", ..Cast::default() }).await;
        play.send(r#"think "**Plan** it now" say ok"#).await;
        play.check(expect![[r#"
            > 2 session.send {"session_id":"s1","text":"think \"**Plan** it now\" say ok"}
            s1 t1 [preparing...]
            2 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            s1 t1 [thinking...]
            s1 #1 user: think "**Plan** it now" say ok
            s1 [thinking: plan]
            s1 t1 thought "**Plan** " of "**Plan**"
            s1 t1 thought "it " of "**Plan** it"
            s1 t1 thought "now" of "**Plan** it now"
            s1 [drafting response...]
            s1 t1 answer "ok"
            s1 #2 assistant: ok
            s1 session.completed {"answer_length":2,"turn_id":"t1"}
            s1 [ready]
        "#]]);
    });
}

#[test]
fn tools_are_told_one_by_one_and_then_as_a_round() {
    paused(async {
        let mut play = with_tools().await;
        play.send(r#"say looking call quick {"a":1} and call nonsense {} then call quick badjson {"b" then say Done."#)
            .await
            .get()
            .await;
        play.check(expect![[r#"
            > 2 session.send {"session_id":"s1","text":"say looking call quick {\"a\":1} and call nonsense {} then call quick badjson {\"b\" then say Done."}
            s1 t1 [preparing...]
            2 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            s1 t1 [drafting response...]
            s1 #1 user: say looking call quick {"a":1} and call nonsense {} then call quick badjson {"b" then say Done.
            s1 t1 answer "looking"
            s1 session.tool.call.started {"data":{"call":{"callId":"call_0_0","input":{"a":1},"name":"quick","providerToolName":"quick"},"toolRound":1},"turn_id":"t1"}
            s1 session.tool.call.completed {"data":{"executed":{"callId":"call_0_0","input":{"a":1},"name":"quick","ok":true,"result":"done so"},"toolRound":1},"turn_id":"t1"}
            s1 session.tool.call.started {"data":{"call":{"callId":"call_0_1","input":{},"name":"nonsense","providerToolName":"nonsense"},"toolRound":1},"turn_id":"t1"}
            s1 session.tool.call.completed {"data":{"executed":{"callId":"call_0_1","error":"unknown tool: nonsense","input":{},"name":"nonsense","ok":false,"result":{"callId":"call_0_1","status":"not_found","tool":"nonsense"}},"toolRound":1},"turn_id":"t1"}
            s1 session.tool.results {"data":{"executed":[{"callId":"call_0_0","input":{"a":1},"name":"quick","ok":true,"result":"done so"},{"callId":"call_0_1","error":"unknown tool: nonsense","input":{},"name":"nonsense","ok":false,"result":{"callId":"call_0_1","status":"not_found","tool":"nonsense"}}],"toolRound":1},"turn_id":"t1"}
            s1 session.tool.call.started {"data":{"call":{"callId":"call_1_0","input":{},"name":"quick","providerToolName":"quick"},"toolRound":2},"turn_id":"t1"}
            s1 session.tool.call.completed {"data":{"executed":{"callId":"call_1_0","error":"invalid tool arguments: expected ':', found the end at byte 4","input":{},"name":"quick","ok":false,"result":{"callId":"call_1_0","status":"invalid_arguments","tool":"quick"}},"toolRound":2},"turn_id":"t1"}
            s1 session.tool.results {"data":{"executed":[{"callId":"call_1_0","error":"invalid tool arguments: expected ':', found the end at byte 4","input":{},"name":"quick","ok":false,"result":{"callId":"call_1_0","status":"invalid_arguments","tool":"quick"}}],"toolRound":2},"turn_id":"t1"}
            s1 t1 answer "Done."
            s1 #2 assistant: lookingDone.
            s1 session.completed {"answer_length":12,"turn_id":"t1"}
            s1 [ready]
            > 3 session.get {"session_id":"s1"}
            3 = s1 [ready] pending false chat "chat1" by "openai" from "history" steers 0
                messages
                  #1 user: say looking call quick {"a":1} and call nonsense {} then call quick badjson {"b" then say Done.
                  #2 assistant: lookingDone.
                history
                  user: say looking call quick {"a":1} and call nonsense {} then call quick badjson {"b" then say Done.
                  assistant: lookingDone.
                queue
        "#]]);
    });
}

#[test]
fn an_answer_without_a_word_has_a_text() {
    paused(async {
        let mut play = Play::on().await;
        play.send("finish stop").await.get().await;
        play.check(expect![[r#"
            > 2 session.send {"session_id":"s1","text":"finish stop"}
            s1 t1 [preparing...]
            2 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            s1 t1 [drafting response...]
            s1 #1 user: finish stop
            s1 #2 assistant: (No response text returned)
            s1 session.completed {"answer_length":27,"turn_id":"t1"}
            s1 [ready]
            > 3 session.get {"session_id":"s1"}
            3 = s1 [ready] pending false chat "chat1" by "openai" from "history" steers 0
                messages
                  #1 user: finish stop
                  #2 assistant: (No response text returned)
                history
                  user: finish stop
                  assistant: (No response text returned)
                queue
        "#]]);
    });
}

#[test]
fn failures_keep_what_was_said_and_only_then_the_prompt() {
    paused(async {
        let mut play = Play::on().await;
        play.send("fail 400").await.get().await.send(r#"say "some words" fail 401"#).await.get().await;
        play.check(expect![[r#"
            > 2 session.send {"session_id":"s1","text":"fail 400"}
            s1 t1 [preparing...]
            2 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            s1 t1 [drafting response...]
            s1 #1 user: fail 400
            s1 #2 system: inference error: the model answered HTTP 400, as the script asked
            s1 session.error {"message":"the model answered HTTP 400, as the script asked","turn_id":"t1"}
            s1 [ready]
            > 3 session.get {"session_id":"s1"}
            3 = s1 [ready] pending false chat "chat1" by null from "history" steers 0
                messages
                  #1 user: fail 400
                  #2 system: inference error: the model answered HTTP 400, as the script asked
                history
                queue
            > 4 session.send {"session_id":"s1","text":"say \"some words\" fail 401"}
            s1 t2 [preparing...]
            4 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t2"}
            s1 t2 [drafting response...]
            s1 #3 user: say "some words" fail 401
            s1 t2 answer "some "
            s1 t2 answer "words"
            s1 #4 assistant: some words
            s1 #5 system: inference error: the model answered HTTP 401, as the script asked
            s1 session.error {"message":"the model answered HTTP 401, as the script asked","turn_id":"t2"}
            s1 [ready]
            > 5 session.get {"session_id":"s1"}
            5 = s1 [ready] pending false chat "chat1" by "openai" from "history" steers 0
                messages
                  #1 user: fail 400
                  #2 system: inference error: the model answered HTTP 400, as the script asked
                  #3 user: say "some words" fail 401
                  #4 assistant: some words
                  #5 system: inference error: the model answered HTTP 401, as the script asked
                history
                  user: say "some words" fail 401
                  assistant: some words
                queue
        "#]]);
    });
}

#[test]
fn retries_have_a_status_with_numbers() {
    paused(async {
        let mut play = Play::on().await;
        play.send("fail 503 2 say fine")
            .await
            .wait(10_000)
            .await
            .send("fail network 1 say back")
            .await
            .wait(10_000)
            .await;
        play.send("fail 429").await.wait(200_000).await;
        play.check(expect![[r#"
            > 2 session.send {"session_id":"s1","text":"fail 503 2 say fine"}
            s1 t1 [preparing...]
            2 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            s1 t1 [drafting response...]
            s1 #1 user: fail 503 2 say fine
            s1 [capacity unavailable; retrying (2/8)...]
            s1 [capacity unavailable; retrying (3/8)...]
            s1 [drafting response...]
            s1 t1 answer "fine"
            s1 #2 assistant: fine
            s1 session.completed {"answer_length":4,"turn_id":"t1"}
            s1 [ready]
            > 3 session.send {"session_id":"s1","text":"fail network 1 say back"}
            s1 t2 [preparing...]
            3 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t2"}
            s1 t2 [drafting response...]
            s1 #3 user: fail network 1 say back
            s1 [connection lost; retrying (2/8)...]
            s1 [drafting response...]
            s1 t2 answer "back"
            s1 #4 assistant: back
            s1 session.completed {"answer_length":4,"turn_id":"t2"}
            s1 [ready]
            > 4 session.send {"session_id":"s1","text":"fail 429"}
            s1 t3 [preparing...]
            4 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t3"}
            s1 t3 [drafting response...]
            s1 #5 user: fail 429
            s1 [rate limited; retrying (2/8)...]
            s1 [rate limited; retrying (3/8)...]
            s1 [rate limited; retrying (4/8)...]
            s1 [rate limited; retrying (5/8)...]
            s1 [rate limited; retrying (6/8)...]
            s1 [rate limited; retrying (7/8)...]
            s1 [rate limited; retrying (8/8)...]
            s1 #6 system: inference error: the model answered HTTP 429, as the script asked
            s1 session.error {"message":"the model answered HTTP 429, as the script asked","turn_id":"t3"}
            s1 [ready]
        "#]]);
    });
}

#[test]
fn answers_cut_short_say_so() {
    paused(async {
        let mut play = Play::on().await;
        play.send("say part length").await.send("refuse").await;
        play.check(expect![[r#"
            > 2 session.send {"session_id":"s1","text":"say part length"}
            s1 t1 [preparing...]
            2 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            s1 t1 [drafting response...]
            s1 #1 user: say part length
            s1 t1 answer "part"
            s1 #2 assistant: part
            s1 #3 system: response cut short: the output limit was reached.
            s1 session.completed {"answer_length":4,"turn_id":"t1"}
            s1 [ready]
            > 3 session.send {"session_id":"s1","text":"refuse"}
            s1 t2 [preparing...]
            3 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t2"}
            s1 t2 [drafting response...]
            s1 #4 user: refuse
            s1 #5 assistant: (No response text returned)
            s1 #6 system: the model declined to answer.
            s1 session.completed {"answer_length":27,"turn_id":"t2"}
            s1 [ready]
        "#]]);
    });
}

#[test]
fn two_sessions_run_beside_each_other() {
    paused(async {
        let mut play = Play::on().await;
        play.ask("session.create", json!({})).await.send("say a pause 500 say b").await;
        play.ask("session.send", json!({"session_id": "s2", "text": "say c pause 200 say d"})).await;
        play.wait(5000).await;
        play.ask("session.get", json!({"session_id": "s2"})).await.get().await;
        play.check(expect![[r#"
            > 2 session.create {}
            state.changed session_created s2
            2 = {"session_id":"s2","state":"..."}
            > 3 session.send {"session_id":"s1","text":"say a pause 500 say b"}
            s1 t1 [preparing...]
            3 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            s1 t1 [drafting response...]
            s1 #1 user: say a pause 500 say b
            s1 t1 answer "a"
            > 4 session.send {"session_id":"s2","text":"say c pause 200 say d"}
            s2 t2 [preparing...]
            4 = {"accepted":true,"queued":false,"session_id":"s2","turn_id":"t2"}
            s2 t2 [drafting response...]
            s2 #2 user: say c pause 200 say d
            s2 t2 answer "c"
            s1 t1 answer "b"
            s1 #3 assistant: ab
            s1 session.completed {"answer_length":2,"turn_id":"t1"}
            s1 [ready]
            s2 t2 answer "d"
            s2 #4 assistant: cd
            s2 session.completed {"answer_length":2,"turn_id":"t2"}
            s2 [ready]
            > 5 session.get {"session_id":"s2"}
            5 = s2 [ready] pending false chat "chat2" by "openai" from "history" steers 0
                messages
                  #2 user: say c pause 200 say d
                  #4 assistant: cd
                history
                  user: say c pause 200 say d
                  assistant: cd
                queue
            > 6 session.get {"session_id":"s1"}
            6 = s1 [ready] pending false chat "chat1" by "openai" from "history" steers 0
                messages
                  #1 user: say a pause 500 say b
                  #3 assistant: ab
                history
                  user: say a pause 500 say b
                  assistant: ab
                queue
        "#]]);
    });
}

#[test]
fn debug_tells_more_of_every_turn_until_it_is_switched_off() {
    paused(async {
        let mut play = Play::on().await;
        play.ask("debug.set", json!({"super_debug": true})).await.send("say hi").await;
        play.ask("debug.set", json!({"super_debug": false})).await.send("say ho").await;
        play.check(expect![[r#"
            > 2 debug.set {"super_debug":true}
            2 = {"super_debug":true}
            > 3 session.send {"session_id":"s1","text":"say hi"}
            s1 t1 [preparing...]
            s1 session.debug {"data":{},"stage":"turn_started","turn_id":"t1"}
            3 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            s1 t1 [drafting response...]
            s1 #1 user: say hi
            s1 session.debug {"data":{"context_tokens":0,"messages":0,"model":"openai/alpha"},"stage":"model_request","turn_id":"t1"}
            s1 t1 answer "hi"
            s1 #2 assistant: hi
            s1 session.debug {"data":{"iterations":0,"usage":"..."},"stage":"turn_ended","turn_id":"t1"}
            s1 session.completed {"answer_length":2,"turn_id":"t1"}
            s1 [ready]
            > 4 debug.set {"super_debug":false}
            4 = {"super_debug":false}
            > 5 session.send {"session_id":"s1","text":"say ho"}
            s1 t2 [preparing...]
            5 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t2"}
            s1 t2 [drafting response...]
            s1 #3 user: say ho
            s1 t2 answer "ho"
            s1 #4 assistant: ho
            s1 session.completed {"answer_length":2,"turn_id":"t2"}
            s1 [ready]
        "#]]);
    });
}
