//! Each method with what it is meant for and with what is wrong, to the letter.

use dialect_loaf::account;
use expect_test::expect;
use serde_json::json;
use vocab::{Fault, FaultKind};

use crate::play::{Cast, Play, paused};
use crate::user::ready;

#[test]
fn handshake_ping_and_state() {
    paused(async {
        let mut play = Play::new().await;
        play.ask("rpc.handshake", json!({"client_name": 7, "client_version": [], "protocol_version": "1.0.0"})).await;
        let methods = play.result()["methods"].as_array().unwrap().clone();
        assert_eq!(methods.len(), 29);
        play.ask("rpc.handshake", json!({"protocol_version": "9", "strict": true})).await;
        play.ask("rpc.handshake", json!({"protocol_version": 1})).await;
        play.ask("rpc.handshake", json!({"strict": "yes"})).await;
        play.ask("rpc.handshake", json!({"protocol_version": "9", "strict": null})).await;
        assert_eq!(play.result()["protocol_version"], "1.0.0");
        play.ask("system.ping", json!([1])).await.ask("state.get", json!("x")).await;
        play.check(expect![[r#"
            > 1 rpc.handshake {"client_name":7,"client_version":[],"protocol_version":"1.0.0"}
            1 = {"capabilities":{"command_execute":true,"events":true,"image_inputs":["path","data_url"],"multi_session":true},"methods":"29 of them","protocol_version":"1.0.0","server_name":"loaf","server_version":"tillerman 0.1.0"}
            > 2 rpc.handshake {"protocol_version":"9","strict":true}
            2 ! -32602 unsupported_protocol_version {"supported":"1.0.0"}: unsupported protocol_version: 9
            > 3 rpc.handshake {"protocol_version":1}
            3 ! -32602 invalid_params {"field":"protocol_version"}: invalid params for rpc.handshake: `protocol_version` must be a string
            > 4 rpc.handshake {"strict":"yes"}
            4 ! -32602 invalid_params {"field":"strict"}: invalid params for rpc.handshake: `strict` must be a boolean
            > 5 rpc.handshake {"protocol_version":"9","strict":null}
            5 = {"capabilities":{"command_execute":true,"events":true,"image_inputs":["path","data_url"],"multi_session":true},"methods":"29 of them","protocol_version":"1.0.0","server_name":"loaf","server_version":"tillerman 0.1.0"}
            > 6 system.ping [1]
            6 = {"ok":true,"time":"T"}
            > 7 state.get "x"
            7 = {"auth":{"antigravityProfile":null,"enabledProviders":["openai"],"hasAntigravityToken":false,"hasOpenAiToken":true,"hasOpenRouterKey":false},"model":{"selectedModel":"alpha","selectedOpenRouterProvider":"any","selectedProvider":"openai","selectedThinking":"OFF"},"onboarding":{"completed":false},"sessions":{"count":0,"ids":[]},"skills":{"count":0,"directories":[]}}
        "#]]);
    });
}

#[test]
fn sessions() {
    paused(async {
        let mut play = Play::new().await;
        play.ask("session.create", json!({"title": 7}))
            .await
            .ask("session.create", json!({"title": " my chat "}))
            .await;
        play.ask("state.get", json!({})).await;
        assert_eq!(play.result()["sessions"], json!({"count": 1, "ids": ["s1"]}));
        play.forget();
        for method in
            ["session.get", "session.interrupt", "session.queue.list", "session.queue.clear", "history.clear_session"]
        {
            play.ask(method, json!({})).await.ask(method, json!({"session_id": 7})).await;
            play.ask(method, json!({"session_id": "nope"})).await;
        }
        play.check(expect![[r#"
            > 4 session.get {}
            4 ! -32602 invalid_params {"field":"session_id"}: invalid params for session.get: `session_id` must be a non-empty string
            > 5 session.get {"session_id":7}
            5 ! -32602 invalid_params {"field":"session_id"}: invalid params for session.get: `session_id` must be a non-empty string
            > 6 session.get {"session_id":"nope"}
            6 ! -32000 unknown_session: unknown session: nope
            > 7 session.interrupt {}
            7 ! -32602 invalid_params {"field":"session_id"}: invalid params for session.interrupt: `session_id` must be a non-empty string
            > 8 session.interrupt {"session_id":7}
            8 ! -32602 invalid_params {"field":"session_id"}: invalid params for session.interrupt: `session_id` must be a non-empty string
            > 9 session.interrupt {"session_id":"nope"}
            9 ! -32000 unknown_session: unknown session: nope
            > 10 session.queue.list {}
            10 ! -32602 invalid_params {"field":"session_id"}: invalid params for session.queue.list: `session_id` must be a non-empty string
            > 11 session.queue.list {"session_id":7}
            11 ! -32602 invalid_params {"field":"session_id"}: invalid params for session.queue.list: `session_id` must be a non-empty string
            > 12 session.queue.list {"session_id":"nope"}
            12 ! -32000 unknown_session: unknown session: nope
            > 13 session.queue.clear {}
            13 ! -32602 invalid_params {"field":"session_id"}: invalid params for session.queue.clear: `session_id` must be a non-empty string
            > 14 session.queue.clear {"session_id":7}
            14 ! -32602 invalid_params {"field":"session_id"}: invalid params for session.queue.clear: `session_id` must be a non-empty string
            > 15 session.queue.clear {"session_id":"nope"}
            15 ! -32000 unknown_session: unknown session: nope
            > 16 history.clear_session {}
            16 ! -32602 invalid_params {"field":"session_id"}: invalid params for history.clear_session: `session_id` must be a non-empty string
            > 17 history.clear_session {"session_id":7}
            17 ! -32602 invalid_params {"field":"session_id"}: invalid params for history.clear_session: `session_id` must be a non-empty string
            > 18 history.clear_session {"session_id":"nope"}
            18 ! -32000 unknown_session: unknown session: nope
        "#]]);
        for params in [
            json!({"session_id": "s1"}),
            json!({"session_id": "s1", "text": "  ", "images": [7, {}]}),
            json!({"session_id": "s1", "text": 7}),
            json!({"session_id": "s1", "text": "x", "enqueue": "yes"}),
            json!({"session_id": "nope", "text": "x"}),
            json!({"text": "x"}),
        ] {
            play.ask("session.send", params).await;
        }
        for params in [
            json!({"session_id": "s1"}),
            json!({"session_id": "s1", "text": " "}),
            json!({"session_id": "x", "text": "y"}),
        ] {
            play.ask("session.steer", params).await;
        }
        for params in [
            json!({"session_id": "s1"}),
            json!({"session_id": "s1", "raw_command": 7}),
            json!({"session_id": "x", "raw_command": "/help"}),
        ] {
            play.ask("command.execute", params).await;
        }
        play.ask("session.queue.list", json!({"session_id": " s1 "})).await;
        play.ask("history.clear_session", json!({"session_id": "s1"})).await;
        play.send("say hi").await.ask("history.list", json!({})).await;
        play.check(expect![[r#"
            > 19 session.send {"session_id":"s1"}
            19 ! -32000 empty_prompt: session.send requires non-empty text or at least one image
            > 20 session.send {"images":[7,{}],"session_id":"s1","text":"  "}
            20 ! -32000 empty_prompt: session.send requires non-empty text or at least one image
            > 21 session.send {"session_id":"s1","text":7}
            21 ! -32602 invalid_params {"field":"text"}: invalid params for session.send: `text` must be a string
            > 22 session.send {"enqueue":"yes","session_id":"s1","text":"x"}
            22 ! -32602 invalid_params {"field":"enqueue"}: invalid params for session.send: `enqueue` must be a boolean
            > 23 session.send {"session_id":"nope","text":"x"}
            23 ! -32000 unknown_session: unknown session: nope
            > 24 session.send {"text":"x"}
            24 ! -32602 invalid_params {"field":"session_id"}: invalid params for session.send: `session_id` must be a non-empty string
            > 25 session.steer {"session_id":"s1"}
            25 ! -32602 invalid_params {"field":"text"}: invalid params for session.steer: `text` must be a non-empty string
            > 26 session.steer {"session_id":"s1","text":" "}
            26 ! -32602 invalid_params {"field":"text"}: invalid params for session.steer: `text` must be a non-empty string
            > 27 session.steer {"session_id":"x","text":"y"}
            27 ! -32000 unknown_session: unknown session: x
            > 28 command.execute {"session_id":"s1"}
            28 ! -32602 invalid_params {"field":"raw_command"}: invalid params for command.execute: `raw_command` must be a non-empty string
            > 29 command.execute {"raw_command":7,"session_id":"s1"}
            29 ! -32602 invalid_params {"field":"raw_command"}: invalid params for command.execute: `raw_command` must be a non-empty string
            > 30 command.execute {"raw_command":"/help","session_id":"x"}
            30 ! -32000 unknown_session: unknown session: x
            > 31 session.queue.list {"session_id":" s1 "}
            31 = {"queue":[],"session_id":"s1"}
            > 32 history.clear_session {"session_id":"s1"}
            32 = {"cleared":true,"session_id":"s1"}
            > 33 session.send {"session_id":"s1","text":"say hi"}
            s1 t1 [preparing...]
            33 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            s1 t1 [drafting response...]
            s1 #1 user: say hi
            s1 t1 answer "hi"
            s1 #2 assistant: hi
            s1 session.completed {"answer_length":2,"turn_id":"t1"}
            s1 [ready]
            > 34 history.list {}
            34 = {"cursor":0,"limit":100,"next_cursor":null,"sessions":[{"createdAt":"T","id":"chat2","messageCount":2,"model":"alpha","provider":"openai","rolloutPath":"(memory)#chat2","thinkingLevel":"OFF","title":"my chat","updatedAt":"T"}],"total":1}
        "#]]);
    });
}

#[test]
fn models_are_listed_and_selected_for_all_sessions() {
    paused(async {
        let mut play = Play::on_with(Cast { model: None, ..Cast::default() }).await;
        play.send("say x").await;
        play.command("/compress").await.ask("model.list", json!({})).await;
        play.ask("model.list", json!({"provider": "nobody"})).await.ask("model.list", json!({"provider": 7})).await;
        play.ask("model.list", json!({"provider": "antigravity"})).await;
        let select = |model: &str, provider: &str, level: &str| json!({"model_id": model, "provider": provider, "thinking_level": level});
        play.ask("model.select", json!({})).await.ask("model.select", select("x", "nobody", "OFF")).await;
        play.ask("model.select", select("x", "openai", "OFF")).await;
        play.ask("model.select", select("gamma", "openrouter", "OFF")).await;
        let mut hurry = select("alpha", "openai", "OFF");
        hurry["compress_immediately"] = json!(true);
        play.ask("model.select", hurry.clone()).await;
        hurry["session_id"] = json!("nope");
        play.ask("model.select", hurry).await;
        play.ask("model.select", select("beta", "openai", "XHIGH")).await;
        play.ask("model.select", select("alpha", "openai", "nonsense")).await;
        play.check(expect![[r#"
            > 2 session.send {"session_id":"s1","text":"say x"}
            s1 t1 [preparing...]
            s1 #1 system: select a model first before sending a message
            s1 session.error {"message":"select a model first before sending a message","turn_id":"t1"}
            s1 [ready]
            2 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            > 3 command.execute {"raw_command":"/compress","session_id":"s1"}
            3 ! -32000 no_model: select a model first before running /compress
            > 4 model.list {}
            4 = {"models":["openai alpha 128000 HIGH [\"OFF\",\"LOW\",\"MEDIUM\",\"HIGH\"]","openai beta 128000 LOW [\"OFF\",\"LOW\",\"MEDIUM\"]"],"providers":["openai"],"selected_model":"","selected_openrouter_provider":"any","selected_provider":null,"selected_thinking":"OFF"}
            > 5 model.list {"provider":"nobody"}
            5 ! -32602 invalid_params {"field":"provider"}: provider must be one of: openai, openrouter, antigravity
            > 6 model.list {"provider":7}
            6 ! -32602 invalid_params {"field":"provider"}: invalid params for model.list: `provider` must be a string
            > 7 model.list {"provider":"antigravity"}
            7 = {"models":["antigravity delta 128000 OFF [\"OFF\"]"],"providers":["openai"],"selected_model":"","selected_openrouter_provider":"any","selected_provider":null,"selected_thinking":"OFF"}
            > 8 model.select {}
            8 ! -32602 invalid_params {"field":"model_id"}: invalid params for model.select: `model_id` must be a non-empty string
            > 9 model.select {"model_id":"x","provider":"nobody","thinking_level":"OFF"}
            9 ! -32602 invalid_params {"field":"provider"}: provider must be one of: openai, openrouter, antigravity
            > 10 model.select {"model_id":"x","provider":"openai","thinking_level":"OFF"}
            10 ! -32000 unknown_model: unknown model for provider openai: x
            > 11 model.select {"model_id":"gamma","provider":"openrouter","thinking_level":"OFF"}
            11 ! -32000 missing_credentials: openrouter api key is not configured
            > 12 model.select {"compress_immediately":true,"model_id":"alpha","provider":"openai","thinking_level":"OFF"}
            12 ! -32000 session_required: session_id is required when compress_immediately is true
            > 13 model.select {"compress_immediately":true,"model_id":"alpha","provider":"openai","session_id":"nope","thinking_level":"OFF"}
            13 ! -32000 unknown_session: unknown session: nope
            > 14 model.select {"model_id":"beta","provider":"openai","thinking_level":"XHIGH"}
            state.changed model_selected
            14 = {"selected_model":"beta","selected_openrouter_provider":"any","selected_provider":"openai","selected_thinking":"LOW"}
            > 15 model.select {"model_id":"alpha","provider":"openai","thinking_level":"nonsense"}
            state.changed model_selected
            15 = {"selected_model":"alpha","selected_openrouter_provider":"any","selected_provider":"openai","selected_thinking":"HIGH"}
        "#]]);
        let kept = play.user.kept.lock().unwrap().clone();
        let last: Vec<_> = kept.iter().rev().take(3).map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(last, ["loaf.route=any", "loaf.thinking=HIGH", "loaf.model=openai/alpha"]);
        play.ask("session.create", json!({})).await.forget();
        play.send("think a say x").await;
        play.ask("model.select", select("alpha", "openai", "off")).await;
        play.ask("session.send", json!({"session_id": "s2", "text": "say y"})).await.send("say z").await;
        play.check(expect![[r#"
            > 17 session.send {"session_id":"s1","text":"think a say x"}
            s1 t2 [preparing...]
            17 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t2"}
            s1 t2 [thinking...]
            s1 #2 user: think a say x
            s1 [thinking: a]
            s1 t2 thought "a" of "a"
            s1 [drafting response...]
            s1 t2 answer "x"
            s1 #3 assistant: x
            s1 session.completed {"answer_length":1,"turn_id":"t2"}
            s1 [ready]
            > 18 model.select {"model_id":"alpha","provider":"openai","thinking_level":"off"}
            state.changed model_selected
            18 = {"selected_model":"alpha","selected_openrouter_provider":"any","selected_provider":"openai","selected_thinking":"OFF"}
            > 19 session.send {"session_id":"s2","text":"say y"}
            s2 t3 [preparing...]
            19 = {"accepted":true,"queued":false,"session_id":"s2","turn_id":"t3"}
            s2 t3 [drafting response...]
            s2 #4 user: say y
            s2 t3 answer "y"
            s2 #5 assistant: y
            s2 session.completed {"answer_length":1,"turn_id":"t3"}
            s2 [ready]
            > 20 session.send {"session_id":"s1","text":"say z"}
            s1 t4 [preparing...]
            20 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t4"}
            s1 t4 [drafting response...]
            s1 #6 user: say z
            s1 t4 answer "z"
            s1 #7 assistant: z
            s1 session.completed {"answer_length":1,"turn_id":"t4"}
            s1 [ready]
        "#]]);
    });
}

#[test]
fn commands() {
    paused(async {
        let mut play = Play::on().await;
        for raw in ["help", "/nope", "/NOPE x", " /Help ", "/auth", "/onboarding", "/history", "/history zz", "/model"]
        {
            play.command(raw).await;
        }
        play.check(expect![[r#"
            > 2 command.execute {"raw_command":"help","session_id":"s1"}
            2 = {"handled":false}
            > 3 command.execute {"raw_command":"/nope","session_id":"s1"}
            3 = {"handled":true,"output":{"error":"unknown command: /nope"}}
            > 4 command.execute {"raw_command":"/NOPE x","session_id":"s1"}
            4 = {"handled":true,"output":{"error":"unknown command: /NOPE"}}
            > 5 command.execute {"raw_command":" /Help ","session_id":"s1"}
            5 = {"handled":true,"output":{"commands":["/auth: add auth provider","/onboarding: open setup flow (auth + exa key)","/forgeteverything: wipe local config and restart onboarding","/model: choose model and thinking level","/limits: show oauth usage limits","/history: resume a saved chat (/history, /history last, /history <id>)","/compress: compress conversation context to reduce token usage","/skills: list available skills","/tools: list registered tools","/clear: clear conversation messages","/quit: exit loaf","/help: show available commands","/exit: exit loaf"]}}
            > 6 command.execute {"raw_command":"/auth","session_id":"s1"}
            6 = {"handled":true,"output":{"auth_status":{"antigravity_profile":null,"enabled_providers":["openai"],"has_antigravity_token":false,"has_openai_token":true,"has_openrouter_key":false},"hint":"use auth.connect.* and auth.set.* methods for explicit RPC auth flows"}}
            > 7 command.execute {"raw_command":"/onboarding","session_id":"s1"}
            7 = {"handled":true,"output":{"completed":false}}
            > 8 command.execute {"raw_command":"/history","session_id":"s1"}
            8 = {"handled":true,"output":{"cursor":0,"limit":100,"next_cursor":null,"sessions":[],"total":0}}
            > 9 command.execute {"raw_command":"/history zz","session_id":"s1"}
            9 ! -32000 history_not_found: no saved chat matched id: zz
            > 10 command.execute {"raw_command":"/model","session_id":"s1"}
            10 = {"handled":true,"output":{"available":{"models":["openai alpha 128000 HIGH [\"OFF\",\"LOW\",\"MEDIUM\",\"HIGH\"]","openai beta 128000 LOW [\"OFF\",\"LOW\",\"MEDIUM\"]"],"providers":["openai"],"selected_model":"alpha","selected_openrouter_provider":"any","selected_provider":"openai","selected_thinking":"OFF"},"selected_model":"alpha","selected_openrouter_provider":"any","selected_provider":"openai","selected_thinking":"OFF"}}
        "#]]);
        play.send("say hi hold").await.forget();
        play.command("/clear")
            .await
            .command("/history last")
            .await
            .interrupt()
            .await
            .command("/clear now")
            .await
            .get()
            .await;
        play.check(expect![[r#"
            > 12 command.execute {"raw_command":"/clear","session_id":"s1"}
            12 ! -32000 session_busy: session is busy; interrupt the turn before clearing
            > 13 command.execute {"raw_command":"/history last","session_id":"s1"}
            13 ! -32000 session_busy: session is busy; interrupt the turn before resuming another chat
            > 14 session.interrupt {"session_id":"s1"}
            s1 [interrupting...]
            14 = {"interrupted":true,"session_id":"s1"}
            s1 #2 assistant: hi
            s1 #3 system: response interrupted by user. partial output kept.
            s1 session.interrupted {"partial_output":true,"turn_id":"t1"}
            s1 [ready]
            > 15 command.execute {"raw_command":"/clear now","session_id":"s1"}
            15 = {"handled":true,"output":{"cleared":true}}
            > 16 session.get {"session_id":"s1"}
            16 = s1 [ready] pending false chat null by null from "history" steers 0
                messages
                history
                queue
        "#]]);
        play.send("say old").await.forget();
        play.user.fill(|given| given.accounts = Ok(ready(&[account::OPENROUTER, account::EXA])));
        play.command("/forgeteverything").await.ask("auth.status", json!({})).await.get().await;
        play.user.fill(|given| given.forget = Err(Fault::new(FaultKind::Store, "disk full")));
        play.command("/forgeteverything").await;
        play.check(expect![[r#"
            > 18 command.execute {"raw_command":"/forgeteverything","session_id":"s1"}
            s1 #6 system: all local configuration was cleared. run the setup again to go on.
            state.changed forgeteverything
            18 = {"handled":true,"output":{"cleared":true}}
            > 19 auth.status {}
            19 = {"antigravity_profile":null,"enabled_providers":["openai"],"has_antigravity_token":false,"has_openai_token":false,"has_openrouter_key":false}
            > 20 session.get {"session_id":"s1"}
            20 = s1 [ready] pending false chat null by null from "history" steers 0
                messages
                  #6 system: all local configuration was cleared. run the setup again to go on.
                history
                queue
            > 21 command.execute {"raw_command":"/forgeteverything","session_id":"s1"}
            21 ! -32000 store_error: disk full
        "#]]);
    });
}
