//! Accounts, keys and what they allow.

use std::sync::Arc;

use dialect_loaf::{KeyTried, Listed, LoafLimits, ModelUse, PlanUse, SkillList, SkillRow, WindowUse};
use expect_test::expect;
use serde_json::json;
use vocab::{Fault, FaultKind, LoginMethod, Profile, SignInStep, SignedIn};

use crate::play::{Cast, Play, paused};

#[test]
fn accounts_and_keys() {
    paused(async {
        let mut play = Play::new().await;
        let wrong = Fault::new(FaultKind::Network, "nobody there").hint("try again");
        for method in ["auth.set.openrouter_key", "auth.set.exa_key"] {
            play.ask(method, json!({})).await.ask(method, json!({"api_key": " "})).await;
        }
        play.ask("auth.set.exa_key", json!({"api_key": "k"})).await;
        play.ask("auth.set.exa_key", json!({"api_key": " SKIP "})).await;
        play.user.fill(|given| given.key_set = Err(wrong.clone()));
        play.ask("auth.set.openrouter_key", json!({"api_key": "k"})).await;
        play.user.fill(|given| given.key_set = Ok(KeyTried { models: 3, listed: Listed::Remote }));
        play.ask("model.openrouter.providers", json!({"model_id": "x"})).await;
        play.ask("auth.set.openrouter_key", json!({"api_key": "k"})).await;
        play.ask("auth.status", json!([])).await;
        play.user.fill(|given| given.routes = Ok(vec!["a".into(), "b".into()]));
        play.ask("model.openrouter.providers", json!({})).await;
        play.ask("model.openrouter.providers", json!({"model_id": "x"})).await;
        play.user.fill(|given| given.routes = Err(wrong));
        play.ask("model.openrouter.providers", json!({"model_id": "x"})).await;
        assert_eq!(
            play.user.take_wanted(),
            ["keep exa", "remove exa", "keep openrouter", "keep openrouter", "routes of x", "routes of x"]
        );
        play.ask("onboarding.status", json!({})).await.ask("onboarding.complete", json!(7)).await;
        play.ask("onboarding.status", json!({})).await;
        play.check(expect![[r#"
            > 1 auth.set.openrouter_key {}
            1 ! -32602 invalid_params {"field":"api_key"}: invalid params for auth.set.openrouter_key: `api_key` must be a non-empty string
            > 2 auth.set.openrouter_key {"api_key":" "}
            2 ! -32602 invalid_params {"field":"api_key"}: invalid params for auth.set.openrouter_key: `api_key` must be a non-empty string
            > 3 auth.set.exa_key {}
            3 ! -32602 invalid_params {"field":"api_key"}: invalid params for auth.set.exa_key: `api_key` must be a non-empty string
            > 4 auth.set.exa_key {"api_key":" "}
            4 ! -32602 invalid_params {"field":"api_key"}: invalid params for auth.set.exa_key: `api_key` must be a non-empty string
            > 5 auth.set.exa_key {"api_key":"k"}
            state.changed exa_key_updated
            5 = {"configured":true,"skipped":false}
            > 6 auth.set.exa_key {"api_key":" SKIP "}
            state.changed exa_key_skipped
            6 = {"configured":false,"skipped":true}
            > 7 auth.set.openrouter_key {"api_key":"k"}
            7 ! -32000 upstream_error: nobody there (try again)
            > 8 model.openrouter.providers {"model_id":"x"}
            8 ! -32000 missing_credentials: openrouter api key is not configured
            > 9 auth.set.openrouter_key {"api_key":"k"}
            state.changed openrouter_key_updated
            9 = {"configured":true,"model_count":3,"source":"remote"}
            > 10 auth.status []
            10 = {"antigravity_profile":null,"enabled_providers":["openai","openrouter"],"has_antigravity_token":false,"has_openai_token":true,"has_openrouter_key":true}
            > 11 model.openrouter.providers {}
            11 ! -32602 invalid_params {"field":"model_id"}: invalid params for model.openrouter.providers: `model_id` must be a non-empty string
            > 12 model.openrouter.providers {"model_id":"x"}
            12 = {"model_id":"x","providers":["a","b"]}
            > 13 model.openrouter.providers {"model_id":"x"}
            13 ! -32000 upstream_error: nobody there (try again)
            > 14 onboarding.status {}
            14 = {"completed":false}
            > 15 onboarding.complete 7
            state.changed onboarding_complete
            15 = {"completed":true}
            > 16 onboarding.status {}
            16 = {"completed":true}
        "#]]);
    });
}

#[test]
fn signing_in_tells_its_steps_and_ends_in_one_answer() {
    paused(async {
        let mut play = Play::new().await;
        for params in [json!({"mode": "pigeon"}), json!({"mode": 7}), json!({"originator": 7}), json!([])] {
            play.ask("auth.connect.openai", params).await;
        }
        let signed_in = SignedIn {
            login_method: LoginMethod::DeviceCode,
            account_id: Some("acct".into()),
            profile: Some(Profile { email: "u@x".into(), name: "U".into(), image: Some("p".into()) }),
        };
        let code = SignInStep::DeviceCode {
            verification_url: "https://v".into(),
            user_code: "AA-BB".into(),
            interval_seconds: 5,
            expires_in_seconds: 900,
        };
        let steps = vec![SignInStep::Started, SignInStep::Url("https://v".into()), code];
        let done = [steps.clone(), vec![SignInStep::Completed(signed_in.clone())]].concat();
        play.user.fill(|given| given.sign_in = (done, Some(Ok(signed_in))));
        play.ask("auth.connect.openai", json!({"mode": "device_code", "originator": "me"})).await;
        play.ask("auth.connect.antigravity", json!([])).await;
        let failed = [steps, vec![SignInStep::Failed { message: "denied".into() }]].concat();
        play.user.fill(|given| given.sign_in = (failed, Some(Err(Fault::new(FaultKind::Auth, "denied")))));
        play.ask("auth.connect.openai", json!(null)).await;
        play.user.fill(|given| given.sign_in = (vec![SignInStep::Started], None));
        play.ask("auth.connect.openai", json!({"mode": "browser"})).await;
        play.note("other requests go on meanwhile").ask("onboarding.status", json!({})).await;
        play.ask("system.shutdown", json!({})).await;
        play.check(expect![[r#"
            > 1 auth.connect.openai {"mode":"pigeon"}
            1 ! -32602 invalid_params {"field":"mode"}: mode must be one of: auto, browser, device_code
            > 2 auth.connect.openai {"mode":7}
            2 ! -32602 invalid_params {"field":"mode"}: invalid params for auth.connect.openai: `mode` must be a string
            > 3 auth.connect.openai {"originator":7}
            3 ! -32602 invalid_params {"field":"originator"}: invalid params for auth.connect.openai: `originator` must be a string
            > 4 auth.connect.openai []
            4 ! -32602 invalid_params: invalid params for auth.connect.openai: expected object
            > 5 auth.connect.openai {"mode":"device_code","originator":"me"}
            auth.flow.started {"provider":"openai"}
            auth.flow.url {"provider":"openai","url":"https://v"}
            auth.flow.device_code {"expires_in_seconds":900,"interval_seconds":5,"provider":"openai","user_code":"AA-BB","verification_url":"https://v"}
            auth.flow.completed {"account_id":"acct","login_method":"device_code","provider":"openai"}
            state.changed auth_openai_connected
            5 = {"account_id":"acct","login_method":"device_code","provider":"openai"}
            > 6 auth.connect.antigravity []
            auth.flow.started {"provider":"antigravity"}
            auth.flow.url {"provider":"antigravity","url":"https://v"}
            auth.flow.device_code {"expires_in_seconds":900,"interval_seconds":5,"provider":"antigravity","user_code":"AA-BB","verification_url":"https://v"}
            auth.flow.completed {"profile":{"email":"u@x","name":"U","picture":"p"},"provider":"antigravity"}
            state.changed auth_antigravity_connected
            6 = {"profile":{"email":"u@x","name":"U","picture":"p"},"provider":"antigravity"}
            > 7 auth.connect.openai null
            auth.flow.started {"provider":"openai"}
            auth.flow.url {"provider":"openai","url":"https://v"}
            auth.flow.device_code {"expires_in_seconds":900,"interval_seconds":5,"provider":"openai","user_code":"AA-BB","verification_url":"https://v"}
            auth.flow.failed {"message":"denied","provider":"openai"}
            7 ! -32000 auth_failed: denied
            > 8 auth.connect.openai {"mode":"browser"}
            auth.flow.started {"provider":"openai"}
            # other requests go on meanwhile
            > 9 onboarding.status {}
            9 = {"completed":false}
            > 10 system.shutdown {}
            state.changed shutdown
            10 = {"accepted":true}
            auth.flow.failed {"message":"the process is shutting down","provider":"openai"}
            8 ! -32000 auth_failed: the process is shutting down
        "#]]);
        assert!(play.ended().await);
        assert_eq!(play.user.take_wanted()[0], r#"sign in openai DeviceCode Some("me")"#);
    });
}

#[test]
fn limits_skills_and_tools() {
    paused(async {
        let cast = Cast { toolbox: Some(Arc::new(crate::tools::Simples)), ..Cast::default() };
        let mut play = Play::on_with(cast).await;
        play.ask("limits.get", json!({})).await;
        let window = WindowUse { used_percent: 120.0, window_seconds: Some(18_000), resets_at: None };
        let openai = PlanUse { plan: None, primary: Some(window), secondary: None };
        let model = ModelUse { name: "m".into(), remaining_percent: 50.0, reset_time: None };
        let failed = Err(Fault::new(FaultKind::Network, "down"));
        play.user.fill(|given| given.limits = Ok(LoafLimits { openai: Some(Ok(openai)), antigravity: Some(failed) }));
        play.ask("limits.get", json!({})).await;
        play.user.fill(|given| given.limits = Ok(LoafLimits { openai: None, antigravity: Some(Ok(vec![model])) }));
        play.command("/limits").await;
        let nobody = Fault::new(FaultKind::Auth, "limits requires at least one oauth provider");
        play.user.fill(|given| given.limits = Err(nobody));
        play.ask("limits.get", json!({})).await.command("/limits").await;
        let skill =
            SkillRow { name: "s".into(), description: "long".into(), preview: "l".into(), source: "/skills/s".into() };
        let directories = vec!["/skills".into()];
        play.user
            .fill(|given| given.skills = SkillList { directories, errors: vec!["bad".into()], skills: vec![skill] });
        play.ask("skills.list", json!({})).await.command("/skills").await;
        play.ask("tools.list", json!({})).await.command("/tools").await;
        play.ask("debug.set", json!({})).await.ask("debug.set", json!({"super_debug": 1})).await;
        play.check(expect![[r#"
            > 2 limits.get {}
            2 ! -32000 no_oauth_provider: limits requires at least one oauth provider
            > 3 limits.get {}
            3 = {"antigravity":{"message":"down","ok":false},"openai":{"ok":true,"snapshot":{"planType":null,"primary":{"limitWindowSeconds":18000,"remainingPercent":0.0,"resetAtEpochSeconds":null,"usedPercent":120.0},"secondary":null}}}
            > 4 command.execute {"raw_command":"/limits","session_id":"s1"}
            4 = {"handled":true,"output":{"antigravity":{"ok":true,"snapshot":{"models":[{"name":"m","remainingPercent":50.0,"resetTime":null}]}},"openai":null}}
            > 5 limits.get {}
            5 ! -32000 no_oauth_provider: limits requires at least one oauth provider
            > 6 command.execute {"raw_command":"/limits","session_id":"s1"}
            6 ! -32000 no_oauth_provider: limits requires at least one oauth provider
            > 7 skills.list {}
            7 = {"directories":["/skills"],"errors":["bad"],"skills":[{"description":"long","description_preview":"l","name":"s","source_path":"/skills/s"}]}
            > 8 command.execute {"raw_command":"/skills","session_id":"s1"}
            8 = {"handled":true,"output":{"directories":["/skills"],"errors":["bad"],"skills":[{"description":"long","description_preview":"l","name":"s","source_path":"/skills/s"}]}}
            > 9 tools.list {}
            9 = {"tools":[{"description":"endless","input_schema":{},"name":"endless"},{"description":"quick","input_schema":{},"name":"quick"}]}
            > 10 command.execute {"raw_command":"/tools","session_id":"s1"}
            10 = {"handled":true,"output":{"tools":[{"description":"endless","input_schema":{},"name":"endless"},{"description":"quick","input_schema":{},"name":"quick"}]}}
            > 11 debug.set {}
            11 ! -32602 invalid_params {"field":"super_debug"}: invalid params for debug.set: `super_debug` must be a boolean
            > 12 debug.set {"super_debug":1}
            12 ! -32602 invalid_params {"field":"super_debug"}: invalid params for debug.set: `super_debug` must be a boolean
        "#]]);
    });
}

#[test]
fn a_key_that_is_gone_fails_the_turn_and_not_the_request() {
    paused(async {
        let mut play = Play::on_with(Cast { model: Some("openrouter/gamma"), ..Cast::default() }).await;
        play.send("say x").await.get().await;
        play.check(expect![[r#"
            > 2 session.send {"session_id":"s1","text":"say x"}
            s1 t1 [preparing...]
            s1 #1 system: openrouter api key is not configured
            s1 session.error {"message":"openrouter api key is not configured","turn_id":"t1"}
            s1 [ready]
            2 = {"accepted":true,"queued":false,"session_id":"s1","turn_id":"t1"}
            > 3 session.get {"session_id":"s1"}
            3 = s1 [ready] pending false chat null by null from "history" steers 0
                messages
                  #1 system: openrouter api key is not configured
                history
                queue
        "#]]);
    });
}
