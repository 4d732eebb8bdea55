//! Saved chats: listed, read, resumed, cleared.

use expect_test::expect;
use serde_json::json;

use crate::play::{Play, paused};

async fn two_chats() -> Play {
    let mut play = Play::on().await;
    play.send("say one").await.command("/clear").await.send("say two").await.send("say three").await.forget();
    play
}

#[test]
fn lists_page_and_chats_are_found_by_name_place_or_age() {
    paused(async {
        let mut play = two_chats().await;
        play.ask("history.list", json!({"limit": 1.9})).await;
        let place = play.result()["sessions"][0]["rolloutPath"].as_str().unwrap().to_owned();
        assert!(place.ends_with("#chat2"), "{place}");
        play.ask("history.list", json!({"limit": -4, "cursor": 1})).await;
        assert_eq!(play.result()["sessions"][0]["id"], "chat1");
        assert_eq!(play.result()["next_cursor"], json!(null));
        play.ask("history.list", json!({"limit": null, "cursor": 7})).await;
        assert_eq!((&play.result()["total"], &play.result()["limit"]), (&json!(2), &json!(100)));
        play.ask("history.get", json!({"rollout_path": place, "id": "chat1"})).await;
        assert_eq!(play.result()["id"], "chat2");
        play.ask("history.get", json!({"id": "nope", "last": true})).await;
        assert_eq!(play.result()["id"], "chat2");
        play.forget();
        play.ask("history.get", json!({"id": "CHAT1"})).await;
        assert_eq!(
            play.result()["messages"],
            json!([{"role": "user", "text": "say one"}, {"role": "assistant", "text": "one"}])
        );
        play.forget();
        for params in [
            json!({}),
            json!({"id": " ", "last": false}),
            json!({"id": "zz"}),
            json!({"id": "chat"}),
            json!({"rollout_path": "/etc/passwd"}),
            json!({"last": "yes"}),
            json!({"id": 7}),
        ] {
            play.ask("history.get", params).await;
        }
        play.ask("history.list", json!({"limit": "ten"})).await.ask("history.list", json!({"cursor": []})).await;
        play.check(expect![[r#"
            > 12 history.get {}
            12 ! -32000 history_selector_missing: history.get requires one of: id, last, rollout_path
            > 13 history.get {"id":" ","last":false}
            13 ! -32000 history_selector_missing: history.get requires one of: id, last, rollout_path
            > 14 history.get {"id":"zz"}
            14 ! -32000 history_not_found: no saved chat matched id: zz
            > 15 history.get {"id":"chat"}
            15 ! -32000 history_not_found: no saved chat matched id: chat
            > 16 history.get {"rollout_path":"/etc/passwd"}
            16 ! -32000 history_not_found: failed to load chat: /etc/passwd
            > 17 history.get {"last":"yes"}
            17 ! -32602 invalid_params {"field":"last"}: invalid params for history.get: `last` must be a boolean
            > 18 history.get {"id":7}
            18 ! -32602 invalid_params {"field":"id"}: invalid params for history.get: `id` must be a string
            > 19 history.list {"limit":"ten"}
            19 ! -32602 invalid_params {"field":"limit"}: invalid params for history.list: `limit` must be a finite number
            > 20 history.list {"cursor":[]}
            20 ! -32602 invalid_params {"field":"cursor"}: invalid params for history.list: `cursor` must be a finite number
        "#]]);
    });
}

#[test]
fn an_empty_store_has_no_last_chat() {
    paused(async {
        let mut play = Play::on().await;
        play.ask("history.get", json!({"last": true})).await.ask("history.list", json!({})).await;
        play.command("/history last").await;
        play.check(expect![[r#"
            > 2 history.get {"last":true}
            2 ! -32000 history_not_found: no saved chat history yet
            > 3 history.list {}
            3 = {"cursor":0,"limit":100,"next_cursor":null,"sessions":[],"total":0}
            > 4 command.execute {"raw_command":"/history last","session_id":"s1"}
            4 ! -32000 history_not_found: no saved chat history yet
        "#]]);
    });
}

#[test]
fn a_chat_is_resumed_with_its_messages_and_goes_on() {
    paused(async {
        let mut play = two_chats().await;
        play.note("its own").command("/history chat2").await;
        play.note("nobody's").command("/history chat1").await.get().await.send("say more").await.get().await;
        play.note("none, and too many").command("/history zz").await.command("/history chat").await;
        play.check(expect![[r##"
            # its own
            > 6 command.execute {"raw_command":"/history chat2","session_id":"s1"}
            state.changed session_resumed
            6 = {"handled":true,"output":{"resumed":"chat2"}}
            # nobody's
            > 7 command.execute {"raw_command":"/history chat1","session_id":"s1"}
            state.changed session_resumed
            7 = {"handled":true,"output":{"resumed":"chat1"}}
            > 8 session.get {"session_id":"s1"}
            8 = s1 [ready] pending false chat "chat1" by "openai" from "history" steers 0
                messages
                  #7 user: say one
                  #8 assistant: one
                history
                  user: say one
                  assistant: one
                queue
            > 9 session.send {"session_id":"s1","text":"say more"}
            s1 t4 [preparing...]
            9 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t4"}
            s1 t4 [drafting response...]
            s1 #9 user: say more
            s1 t4 answer "more"
            s1 #10 assistant: more
            s1 session.completed {"answer_length":4,"turn_id":"t4"}
            s1 [ready]
            > 10 session.get {"session_id":"s1"}
            10 = s1 [ready] pending false chat "chat1" by "openai" from "history" steers 0
                messages
                  #7 user: say one
                  #8 assistant: one
                  #9 user: say more
                  #10 assistant: more
                history
                  user: say one
                  assistant: one
                  user: say more
                  assistant: more
                queue
            # none, and too many
            > 11 command.execute {"raw_command":"/history zz","session_id":"s1"}
            11 ! -32000 history_not_found: no saved chat matched id: zz
            > 12 command.execute {"raw_command":"/history chat","session_id":"s1"}
            12 ! -32000 history_not_found: no saved chat matched id: chat
        "##]]);
        play.ask("session.create", json!({})).await.forget();
        play.note("another session has it: a copy");
        let params = json!({"session_id": "s2", "raw_command": "/history last"});
        play.ask("command.execute", params).await;
        play.ask("session.send", json!({"session_id": "s2", "text": "say copied"})).await.send("say original").await;
        play.ask("session.get", json!({"session_id": "s2"})).await.get().await;
        play.check(expect![[r##"
            # another session has it: a copy
            > 14 command.execute {"raw_command":"/history last","session_id":"s2"}
            state.changed session_resumed
            14 = {"handled":true,"output":{"resumed":"chat1"}}
            > 15 session.send {"session_id":"s2","text":"say copied"}
            s2 t5 [preparing...]
            15 = {"accepted":true,"queued":false,"session_id":"s2","turn_id":"t5"}
            s2 t5 [drafting response...]
            s2 #15 user: say copied
            s2 t5 answer "copied"
            s2 #16 assistant: copied
            s2 session.completed {"answer_length":6,"turn_id":"t5"}
            s2 [ready]
            > 16 session.send {"session_id":"s1","text":"say original"}
            s1 t6 [preparing...]
            16 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t6"}
            s1 t6 [drafting response...]
            s1 #17 user: say original
            s1 t6 answer "original"
            s1 #18 assistant: original
            s1 session.completed {"answer_length":8,"turn_id":"t6"}
            s1 [ready]
            > 17 session.get {"session_id":"s2"}
            17 = s2 [ready] pending false chat "chat4" by "openai" from "history" steers 0
                messages
                  #11 user: say one
                  #12 assistant: one
                  #13 user: say more
                  #14 assistant: more
                  #15 user: say copied
                  #16 assistant: copied
                history
                  user: say one
                  assistant: one
                  user: say more
                  assistant: more
                  user: say copied
                  assistant: copied
                queue
            > 18 session.get {"session_id":"s1"}
            18 = s1 [ready] pending false chat "chat1" by "openai" from "history" steers 0
                messages
                  #7 user: say one
                  #8 assistant: one
                  #9 user: say more
                  #10 assistant: more
                  #17 user: say original
                  #18 assistant: original
                history
                  user: say one
                  assistant: one
                  user: say more
                  assistant: more
                  user: say original
                  assistant: original
                queue
        "##]]);
        play.watch.at_rest();
    });
}

#[test]
fn two_sessions_that_ask_for_one_chat_at_once_get_one_each() {
    paused(async {
        let mut play = two_chats().await;
        play.ask("session.create", json!({})).await.forget();
        for session in ["s1", "s2"] {
            play.put("command.execute", json!({"session_id": session, "raw_command": "/history chat1"})).await;
        }
        play.settle().await.send("say a").await;
        play.ask("session.send", json!({"session_id": "s2", "text": "say b"})).await;
        play.check(expect![[r#"
            > 7 command.execute {"raw_command":"/history chat1","session_id":"s1"}
            > 8 command.execute {"raw_command":"/history chat1","session_id":"s2"}
            state.changed session_resumed
            7 = {"handled":true,"output":{"resumed":"chat1"}}
            state.changed session_resumed
            8 = {"handled":true,"output":{"resumed":"chat1"}}
            > 9 session.send {"session_id":"s1","text":"say a"}
            s1 t4 [preparing...]
            9 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t4"}
            s1 t4 [drafting response...]
            s1 #11 user: say a
            s1 t4 answer "a"
            s1 #12 assistant: a
            s1 session.completed {"answer_length":1,"turn_id":"t4"}
            s1 [ready]
            > 10 session.send {"session_id":"s2","text":"say b"}
            s2 t5 [preparing...]
            10 = {"accepted":true,"queued":false,"session_id":"s2","turn_id":"t5"}
            s2 t5 [drafting response...]
            s2 #13 user: say b
            s2 t5 answer "b"
            s2 #14 assistant: b
            s2 session.completed {"answer_length":1,"turn_id":"t5"}
            s2 [ready]
        "#]]);
        play.watch.at_rest();
    });
}

#[test]
fn clearing_in_a_turn_interrupts_it_and_drops_what_waits() {
    paused(async {
        let mut play = Play::on().await;
        play.send("say one hold").await.queue("say never").await.steer("nor this").await;
        play.put("history.clear_session", json!({"session_id": "s1"})).await;
        play.put("session.get", json!({"session_id": "s1"})).await;
        play.settle().await.send("say fresh").await.get().await;
        play.check(expect![[r#"
            > 2 session.send {"session_id":"s1","text":"say one hold"}
            s1 t1 [preparing...]
            2 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            s1 t1 [drafting response...]
            s1 #1 user: say one hold
            s1 t1 answer "one"
            > 3 session.send {"enqueue":true,"session_id":"s1","text":"say never"}
            s1 [queued (1)]
            3 = {"accepted":true,"queued":true,"session_id":"s1","turn_id":"t2"}
            > 4 session.steer {"session_id":"s1","text":"nor this"}
            4 = {"accepted":true,"session_id":"s1"}
            > 5 history.clear_session {"session_id":"s1"}
            > 6 session.get {"session_id":"s1"}
            s1 [interrupting...]
            s1 #2 assistant: one
            s1 #3 system: response interrupted by user. partial output kept.
            s1 session.interrupted {"partial_output":true,"turn_id":"t1"}
            s1 [ready]
            5 = {"cleared":true,"session_id":"s1"}
            6 = s1 [ready] pending false chat null by null from "history" steers 0
                messages
                history
                queue
            > 7 session.send {"session_id":"s1","text":"say fresh"}
            s1 t3 [preparing...]
            7 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t3"}
            s1 t3 [drafting response...]
            s1 #4 user: say fresh
            s1 t3 answer "fresh"
            s1 #5 assistant: fresh
            s1 session.completed {"answer_length":5,"turn_id":"t3"}
            s1 [ready]
            > 8 session.get {"session_id":"s1"}
            8 = s1 [ready] pending false chat "chat2" by "openai" from "history" steers 0
                messages
                  #4 user: say fresh
                  #5 assistant: fresh
                history
                  user: say fresh
                  assistant: fresh
                queue
        "#]]);
        play.watch.at_rest();
    });
}

#[test]
fn a_copy_shows_every_message_though_its_log_has_other_numbers() {
    paused(async {
        let mut play = Play::on().await;
        play.send("say one pause 3000").await.queue("say two").await.queue("say three").await.wait(3000).await;
        play.ask("session.create", json!({})).await.forget();
        play.ask("command.execute", json!({"session_id": "s2", "raw_command": "/history last"})).await;
        play.ask("session.get", json!({"session_id": "s2"})).await;
        play.check(expect![[r#"
            > 6 command.execute {"raw_command":"/history last","session_id":"s2"}
            state.changed session_resumed
            6 = {"handled":true,"output":{"resumed":"chat1"}}
            > 7 session.get {"session_id":"s2"}
            7 = s2 [ready] pending false chat "chat3" by "openai" from "history" steers 0
                messages
                  #7 user: say one pause 3000
                  #8 assistant: one
                  #9 user: say two
                  #10 assistant: two
                  #11 user: say three
                  #12 assistant: three
                history
                  user: say one pause 3000
                  assistant: one
                  user: say two
                  assistant: two
                  user: say three
                  assistant: three
                queue
        "#]]);
        play.watch.at_rest();
    });
}
