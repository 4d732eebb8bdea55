//! Compactions: asked for, needed, and forced by another provider.

use std::sync::Arc;

use expect_test::expect;
use serde_json::json;
use vocab::{CompactReason, CompactionEvent, Event, Fault, FaultKind};

use crate::play::{Cast, Play, paused};
use crate::talk::{Talk, fault};
use crate::tools::Simples;

async fn small() -> Play {
    Play::on_with(Cast { window: 4000, toolbox: Some(Arc::new(Simples)), ..Cast::default() }).await
}

#[test]
fn nothing_to_compress_is_an_answer() {
    paused(async {
        let mut play = Play::on().await;
        play.command("/compress").await;
        play.check(expect![[r#"
            > 2 command.execute {"raw_command":"/compress","session_id":"s1"}
            s1 [compressing context...]
            s1 #1 system: there is nothing to compress yet.
            s1 [ready]
            2 = {"handled":true,"output":"manual, not done: 0 -> 0, 0 -> 0 tokens of 128000, target 94720"}
        "#]]);
    });
}

#[test]
fn a_context_is_compressed_on_demand() {
    paused(async {
        let mut play = small().await;
        play.send("say 900 words").await.send("say 900 words").await.send("say 400 words").await.forget();
        play.command("/compress").await.get().await.command("/compress").await;
        play.check(expect![[r#"
            > 5 command.execute {"raw_command":"/compress","session_id":"s1"}
            s1 [compressing context...]
            s1 compaction.started {"anchor_event_index_before":0,"context_window_tokens":4000,"event_count":13,"reason":"manual"}
            s1 compaction.anchor_selected {"anchor_event_index_after":7,"anchor_event_index_before":0}
            s1 compaction.summary_merged {"summary_length":50}
            s1 compaction.completed "manual, done: 0 -> 7, N -> N tokens of 4000, target 6000, {\"high_watermark_limit\":6000}"
            s1 #7 system: context compressed: N -> N tokens.
            s1 [ready]
            5 = {"handled":true,"output":"manual, done: 0 -> 7, N -> N tokens of 4000, target 6000"}
            > 6 session.get {"session_id":"s1"}
            6 = s1 [ready] pending false chat "chat1" by "openai" from "compaction" steers 0
                messages
                  #1 user: say 900 words
                  #2 assistant: w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20 w21 w22 w23 w24 w25 w26 w27 w...
                  #3 user: say 900 words
                  #4 assistant: w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20 w21 w22 w23 w24 w25 w26 w27 w...
                  #5 user: say 400 words
                  #6 assistant: w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20 w21 w22 w23 w24 w25 w26 w27 w...
                  #7 system: context compressed: N -> N tokens.
                history
                  user: Summary: the user wrote 1 message:
            - say 900 words
                  user: say 900 words
                  assistant: w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20 w21 w22 w23 w24 w25 w26 w27 w...
                  user: say 400 words
                  assistant: w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20 w21 w22 w23 w24 w25 w26 w27 w...
                queue
            > 7 command.execute {"raw_command":"/compress","session_id":"s1"}
            s1 [compressing context...]
            s1 #8 system: there is nothing to compress yet.
            s1 [ready]
            7 = {"handled":true,"output":"manual, not done: 7 -> 7, N -> N tokens of 4000, target 6000"}
        "#]]);
    });
}

#[test]
fn compressing_in_a_turn_stops_the_turn_first_and_then_goes_on_with_the_queue() {
    paused(async {
        let mut play = small().await;
        play.send("say 900 words").await.send("say 900 words").await.send("say 400 words").await.forget();
        play.send("say two hold").await.queue("say queued").await.command("/compress").await;
        play.check(expect![[r#"
            > 5 session.send {"session_id":"s1","text":"say two hold"}
            s1 t4 [preparing...]
            5 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t4"}
            s1 t4 [drafting response...]
            s1 #7 user: say two hold
            s1 t4 answer "two"
            > 6 session.send {"enqueue":true,"session_id":"s1","text":"say queued"}
            s1 [queued (1)]
            6 = {"accepted":true,"queued":true,"session_id":"s1","turn_id":"t5"}
            > 7 command.execute {"raw_command":"/compress","session_id":"s1"}
            s1 [interrupting...]
            s1 #8 assistant: two
            s1 #9 system: response interrupted by user. partial output kept.
            s1 session.interrupted {"partial_output":true,"turn_id":"t4"}
            s1 [ready]
            s1 [compressing context...]
            s1 compaction.started {"anchor_event_index_before":0,"context_window_tokens":4000,"event_count":19,"reason":"manual"}
            s1 compaction.anchor_selected {"anchor_event_index_after":7,"anchor_event_index_before":0}
            s1 compaction.summary_merged {"summary_length":50}
            s1 compaction.completed "manual, done: 0 -> 7, N -> N tokens of 4000, target 6000, {\"high_watermark_limit\":6000}"
            s1 #10 system: context compressed: N -> N tokens.
            s1 [ready]
            7 = {"handled":true,"output":"manual, done: 0 -> 7, N -> N tokens of 4000, target 6000"}
            s1 t5 [preparing...]
            s1 t5 [drafting response...]
            s1 #11 user: say queued
            s1 t5 answer "queued"
            s1 #12 assistant: queued
            s1 session.completed {"answer_length":6,"turn_id":"t5"}
            s1 [ready]
        "#]]);
        play.watch.at_rest();
    });
}

#[test]
fn a_full_context_is_compressed_before_the_first_call_of_a_turn() {
    paused(async {
        let mut play = small().await;
        play.send("say 900 words").await.send("say 1800 words").await.send("say 900 words").await.forget();
        play.send("say next").await;
        play.check(expect![[r#"
            > 5 session.send {"session_id":"s1","text":"say next"}
            s1 t4 [preparing...]
            5 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t4"}
            s1 t4 [compressing context...]
            s1 compaction.started {"anchor_event_index_before":7,"context_window_tokens":4000,"event_count":14,"reason":"auto","turn_id":"t4"}
            s1 compaction.anchor_selected {"anchor_event_index_after":11,"anchor_event_index_before":7,"turn_id":"t4"}
            s1 compaction.summary_merged {"summary_length":115,"turn_id":"t4"}
            s1 compaction.completed "auto, done: 7 -> 11, N -> N tokens of 4000, target 6000, {\"high_watermark_limit\":6000,\"turn_id\":\"t4\"}"
            s1 #8 system: context compressed: N -> N tokens.
            s1 t4 [drafting response...]
            s1 #9 user: say next
            s1 t4 answer "next"
            s1 #10 assistant: next
            s1 session.completed {"answer_length":4,"turn_id":"t4"}
            s1 [ready]
        "#]]);
        play.watch.at_rest();
    });
}

#[test]
fn another_provider_starts_on_a_summary() {
    paused(async {
        let mut play = Play::on().await;
        play.send("say one").await.send("say two").await.forget();
        play.ask("auth.set.openrouter_key", json!({"api_key": "k"})).await;
        play.ask("model.select", json!({"model_id": "gamma", "provider": "openrouter", "thinking_level": "OFF"})).await;
        play.send("say three").await.get().await;
        play.check(expect![[r#"
            > 4 auth.set.openrouter_key {"api_key":"k"}
            state.changed openrouter_key_updated
            4 = {"configured":true,"model_count":0,"source":"fallback"}
            > 5 model.select {"model_id":"gamma","provider":"openrouter","thinking_level":"OFF"}
            state.changed model_selected
            5 = {"selected_model":"gamma","selected_openrouter_provider":"any","selected_provider":"openrouter","selected_thinking":"OFF"}
            > 6 session.send {"session_id":"s1","text":"say three"}
            s1 t3 [preparing...]
            6 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t3"}
            s1 t3 [compressing context...]
            s1 compaction.started {"anchor_event_index_before":0,"context_window_tokens":128000,"event_count":11,"reason":"provider_switch","turn_id":"t3"}
            s1 compaction.anchor_selected {"anchor_event_index_after":13,"anchor_event_index_before":0,"turn_id":"t3"}
            s1 compaction.summary_merged {"summary_length":55,"turn_id":"t3"}
            s1 compaction.completed "provider_switch, done: 0 -> 13, N -> N tokens of 128000, target 94720, {\"high_watermark_limit\":104960,\"turn_id\":\"t3\"}"
            s1 #5 system: provider switched: openai -> openrouter. context compressed: N -> N tokens.
            s1 t3 [drafting response...]
            s1 #6 user: say three
            s1 t3 answer "three"
            s1 #7 assistant: three
            s1 session.completed {"answer_length":5,"turn_id":"t3"}
            s1 [ready]
            > 7 session.get {"session_id":"s1"}
            7 = s1 [ready] pending false chat "chat1" by "openrouter" from "compaction" steers 0
                messages
                  #1 user: say one
                  #2 assistant: one
                  #3 user: say two
                  #4 assistant: two
                  #5 system: provider switched: openai -> openrouter. context compressed: N -> N tokens.
                  #6 user: say three
                  #7 assistant: three
                history
                  user: Summary: the user wrote 2 messages:
            - say one
            - say two
                  user: say three
                  assistant: three
                queue
        "#]]);
    });
}

#[test]
fn a_model_can_be_selected_with_a_compression_at_once() {
    paused(async {
        let mut play = small().await;
        let select = json!({"model_id": "beta", "provider": "openai", "thinking_level": "LOW", "session_id": "s1", "compress_immediately": true});
        play.ask("model.select", select.clone()).await.forget();
        play.send("say 900 words").await.send("say 900 words").await.send("say 400 words").await.forget();
        play.ask("model.select", select.clone()).await;
        play.note("in a turn it waits for its end")
            .send("say long pause 5000")
            .await
            .ask("model.select", select.clone())
            .await;
        play.note("a second one finds it busy").ask("model.select", select).await.wait(5000).await;
        play.check(expect![[r#"
            > 6 model.select {"compress_immediately":true,"model_id":"beta","provider":"openai","session_id":"s1","thinking_level":"LOW"}
            state.changed model_selected
            s1 [compressing context...]
            s1 compaction.started {"anchor_event_index_before":0,"context_window_tokens":4000,"event_count":15,"reason":"manual"}
            s1 compaction.anchor_selected {"anchor_event_index_after":8,"anchor_event_index_before":0}
            s1 compaction.summary_merged {"summary_length":50}
            s1 compaction.completed "manual, done: 0 -> 8, N -> N tokens of 4000, target 6000, {\"high_watermark_limit\":6000}"
            s1 #8 system: context compressed: N -> N tokens.
            s1 [ready]
            6 = {"compression":"auto, done: 0 -> 8, N -> N tokens of 4000, target 6000, {\"requested\":true}","selected_model":"beta","selected_openrouter_provider":"any","selected_provider":"openai","selected_thinking":"LOW"}
            # in a turn it waits for its end
            > 7 session.send {"session_id":"s1","text":"say long pause 5000"}
            s1 t4 [preparing...]
            7 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t4"}
            s1 t4 [thinking...]
            s1 #9 user: say long pause 5000
            s1 [drafting response...]
            s1 t4 answer "long"
            > 8 model.select {"compress_immediately":true,"model_id":"beta","provider":"openai","session_id":"s1","thinking_level":"LOW"}
            state.changed model_selected
            # a second one finds it busy
            > 9 model.select {"compress_immediately":true,"model_id":"beta","provider":"openai","session_id":"s1","thinking_level":"LOW"}
            state.changed model_selected
            9 = {"compression":"none, not done: 8 -> 8, N -> N tokens of 4000, target 6000, {\"requested\":true}","selected_model":"beta","selected_openrouter_provider":"any","selected_provider":"openai","selected_thinking":"LOW"}
            s1 #10 assistant: long
            s1 session.completed {"answer_length":4,"turn_id":"t4"}
            s1 [ready]
            s1 [compressing context...]
            s1 compaction.started {"anchor_event_index_before":8,"context_window_tokens":4000,"event_count":22,"reason":"manual"}
            s1 compaction.anchor_selected {"anchor_event_index_after":23,"anchor_event_index_before":8}
            s1 compaction.summary_merged {"summary_length":170}
            s1 compaction.completed "manual, done: 8 -> 23, N -> N tokens of 4000, target 6000, {\"high_watermark_limit\":6000}"
            s1 #11 system: context compressed: N -> N tokens.
            s1 [ready]
            8 = {"compression":"auto, done: 8 -> 23, N -> N tokens of 4000, target 6000, {\"requested\":true}","selected_model":"beta","selected_openrouter_provider":"any","selected_provider":"openai","selected_thinking":"LOW"}
        "#]]);
        play.watch.at_rest();
    });
}

#[test]
fn a_compaction_that_fails_is_told_and_answered() {
    for (kind, message) in [(FaultKind::Provider, "no"), (FaultKind::Cancelled, "cancelled")] {
        let mut talk = Talk::on(1);
        talk.ask("command.execute", r#"{"session_id":"s1","raw_command":"/compress"}"#);
        talk.tell("c1", Event::Compaction(CompactionEvent::Started { reason: CompactReason::Manual }));
        let failed =
            Event::Compaction(CompactionEvent::Failed { reason: CompactReason::Manual, fault: Fault::new(kind, "no") });
        talk.tell("c1", failed).reply(fault(kind));
        let told =
            format!("s1 compaction.failed {{\"message\":\"{message}\",\"reason\":\"manual\"}}\ns1 [ready]\n2 ! -32000");
        assert!(talk.log.contains(&told), "{}", talk.log);
        assert!(talk.log.ends_with(" compaction_failed: context compaction failed: no\n"), "{}", talk.log);
        talk.watch.at_rest();
    }
}

#[test]
fn an_overflow_ends_its_turn_and_goes_on_under_another_id() {
    paused(async {
        let mut play = small().await;
        play.send("fail overflow").await;
        play.send("say 900 words").await.send("say 900 words").await.send("say 400 words").await.forget();
        play.send("fail overflow 1 say saved").await;
        play.check(expect![[r#"
            > 6 session.send {"session_id":"s1","text":"fail overflow 1 say saved"}
            s1 t5 [preparing...]
            6 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t5"}
            s1 t5 [drafting response...]
            s1 #9 user: fail overflow 1 say saved
            s1 #10 system: the context is too long for the model. it is compressed, and the prompt goes on.
            s1 session.error {"message":"the context is too long for the model.","turn_id":"t5"}
            s1 [ready]
            s1 t6 [preparing...]
            s1 t6 [compressing context...]
            s1 compaction.started {"anchor_event_index_before":0,"context_window_tokens":4000,"event_count":16,"reason":"overflow","turn_id":"t6"}
            s1 compaction.anchor_selected {"anchor_event_index_after":10,"anchor_event_index_before":0,"turn_id":"t6"}
            s1 compaction.summary_merged {"summary_length":67,"turn_id":"t6"}
            s1 compaction.completed "overflow, done: 0 -> 10, N -> N tokens of 4000, target 6000, {\"high_watermark_limit\":6000,\"turn_id\":\"t6\"}"
            s1 #11 system: context compressed: N -> N tokens.
            s1 t6 [drafting response...]
            s1 t6 answer "saved"
            s1 #12 assistant: saved
            s1 session.completed {"answer_length":5,"turn_id":"t6"}
            s1 [ready]
        "#]]);
        play.watch.at_rest();
    });
}
