//! Opening sessions: the greeting, limits of time, capabilities, ways back into a session.

use std::time::Duration;

use acp_client::{ClientEvent, ClientProblem, ConnectOptions, Offers, Reopened};
use acp_types::SessionUpdate;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::agent::{Agent, able, greeted, next, opened, pair, quiet};

#[tokio::test(start_paused = true)]
async fn the_greeting_says_what_we_are_and_only_what_we_offer() {
    let (client, _events, mut agent) = pair(quiet());
    let (hello, request) = tokio::join!(client.initialize(), async {
        let request = agent.hear_method("initialize").await;
        let methods = json!([{ "id": "key", "name": "Key" }, { "name": "no id" }, 7]);
        let hello =
            json!({ "protocolVersion": 1.0, "authMethods": methods, "agentInfo": { "name": "a", "version": "2" } });
        agent.answer(&request, hello).await;
        request
    });
    let hello = hello.unwrap();
    assert_eq!((hello.name().as_str(), hello.auth_methods.len()), ("a 2", 1));
    assert_eq!(request["id"], 0);
    let said = &request["params"];
    assert_eq!(said["protocolVersion"], 1);
    let none = json!({ "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false,
                       "session": { "configOptions": { "boolean": {} }, "notices": {}, "compaction": {} },
                       "auth": { "terminal": true }, "_meta": { "terminal-auth": true } });
    assert_eq!(said["clientCapabilities"], none);
    // Switched on without a workshop behind it, a service is still not offered.
    let offers = Offers { read_files: true, write_files: true, terminals: true, elicitation: true };
    let (client, _events, mut agent) = pair(ConnectOptions { offers, ..quiet() });
    let (_, request) = tokio::join!(client.initialize(), async {
        let request = agent.hear_method("initialize").await;
        agent.answer(&request, json!({ "protocolVersion": 1 })).await;
        request
    });
    assert_eq!(request["params"]["clientCapabilities"]["fs"], none["fs"]);
    assert_eq!(request["params"]["clientCapabilities"]["elicitation"], json!({ "form": {}, "url": {} }));
}

#[tokio::test(start_paused = true)]
async fn another_version_is_reported_and_the_agent_let_go() {
    for version in [json!(2), json!("2024-11-05"), json!(null)] {
        let (client, mut events, mut agent) = pair(quiet());
        let (hello, ()) = tokio::join!(client.initialize(), async {
            let request = agent.hear_method("initialize").await;
            agent.answer(&request, json!({ "protocolVersion": version })).await;
            assert_eq!(agent.hear_or_end().await, None, "its input ends");
            agent.life.exit(acp_client::Exit::default());
        });
        assert_eq!(hello.unwrap_err().problem, ClientProblem::Version(version.to_string()));
        assert_eq!(events.next().await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_program_that_repeats_its_input_is_no_agent() {
    let (client, _events, mut agent) = pair(quiet());
    let (hello, ()) = tokio::join!(client.initialize(), async {
        let request = agent.hear_method("initialize").await;
        agent.say(request).await;
    });
    let error = hello.unwrap_err();
    assert_eq!(error.problem, ClientProblem::Echo);
    assert!(error.hint.is_some_and(|hint| hint.contains("only repeats its input")));
}

#[tokio::test(start_paused = true)]
async fn a_sign_in_that_failed_is_not_advised_again_and_one_for_a_terminal_is_named() {
    let (client, _events, mut agent) = pair(quiet());
    let (hello, ()) = tokio::join!(client.initialize(), async {
        let request = agent.hear_method("initialize").await;
        let login = json!({ "id": "login", "name": "Log in", "description": "Run `agent login`" });
        let setup = json!({ "id": "setup", "name": "Setup", "type": "terminal", "args": ["--setup"] });
        agent.answer(&request, json!({ "protocolVersion": 1, "authMethods": [login, setup] })).await;
    });
    hello.unwrap();
    let (refused, ()) = tokio::join!(client.authenticate("login"), async {
        let request = agent.hear_method("authenticate").await;
        agent.refuse(&request, -32603, "Internal error").await;
    });
    let hint = refused.unwrap_err().hint.unwrap();
    let wanted = "not signed in, also after `--auth login`; there is:\n  Log in: Run `agent login`\n  \
                  Setup: run `memory --setup` in a terminal";
    assert_eq!(hint, wanted);
    let elsewhere = client.authenticate("setup").await.unwrap_err();
    assert_eq!(elsewhere.problem, ClientProblem::SignInElsewhere("setup".into()));
    assert!(elsewhere.hint.is_some_and(|hint| hint.contains("run `memory --setup` in a terminal")));
}

#[tokio::test(start_paused = true)]
async fn each_request_has_its_limit_and_is_taken_back_when_it_is_over() {
    let (client, _events, mut agent) = pair(quiet());
    let (slow, start) = (Duration::from_secs(60), Instant::now());
    let (hello, ()) = tokio::join!(client.initialize(), async {
        let request = agent.hear_method("initialize").await;
        tokio::time::sleep(slow - Duration::from_secs(1)).await;
        agent.answer(&request, json!({ "protocolVersion": 1, "agentCapabilities": able() })).await;
    });
    hello.unwrap();
    assert_eq!(start.elapsed().as_secs(), 59);
    for (limit, first) in [(60, true), (30, false)] {
        let start = Instant::now();
        let (error, taken_back) = tokio::join!(client.new_session("/w".as_ref()), async {
            let request = agent.hear_method("session/new").await;
            assert_eq!(request["params"], json!({ "cwd": "/w", "mcpServers": [] }));
            let cancel = agent.hear_method("$/cancel_request").await;
            // Too late: nobody waits for it.
            agent.answer(&request, json!({ "sessionId": "late" })).await;
            (request["id"].clone(), cancel["params"]["requestId"].clone())
        });
        let error = error.unwrap_err();
        assert_eq!(
            error.problem,
            ClientProblem::TimedOut { method: "session/new".into(), after: Duration::from_secs(limit) }
        );
        assert_eq!((start.elapsed().as_secs(), &taken_back.0), (limit, &taken_back.1));
        if first {
            let (session, ()) = tokio::join!(client.new_session("/w".as_ref()), async {
                let request = agent.hear_method("session/new").await;
                agent.answer(&request, json!({ "sessionId": "s" })).await;
            });
            session.unwrap();
        }
    }
    let (done, ()) = tokio::join!(client.authenticate("browser"), async {
        let request = agent.hear_method("authenticate").await;
        tokio::time::sleep(Duration::from_secs(600)).await;
        agent.answer(&request, json!(null)).await;
    });
    done.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_the_agent_does_not_offer_is_not_asked_for() {
    let (client, _events, mut agent) = greeted(quiet(), json!({ "sessionCapabilities": { "list": null } })).await;
    let here = "/w".as_ref();
    let refused = [
        client.load("s", here).await.unwrap_err(),
        client.resume("s", here).await.unwrap_err(),
        client.fork("s", here).await.unwrap_err(),
        client.list(None, None).await.unwrap_err(),
        client.close("s").await.unwrap_err(),
        client.delete("s").await.unwrap_err(),
        client.logout().await.unwrap_err(),
    ];
    assert!(refused.iter().all(|error| matches!(error.problem, ClientProblem::Unsupported(_))));
    client.notify("_x", json!({})).await;
    agent.hear_method("_x").await;
}

#[tokio::test(start_paused = true)]
async fn gone_is_fine_for_close_and_delete_and_lists_are_read_in_pages() {
    let (client, _events, mut agent) = greeted(quiet(), able()).await;
    let (closed, ()) = tokio::join!(client.close("s"), async {
        let request = agent.hear_method("session/close").await;
        agent.refuse(&request, -32002, "Resource not found").await;
    });
    closed.unwrap();
    let (deleted, ()) = tokio::join!(client.delete("s"), async {
        let request = agent.hear_method("session/delete").await;
        agent.answer(&request, json!({})).await;
    });
    deleted.unwrap();
    let (page, ()) = tokio::join!(client.list(Some("/w".as_ref()), Some("c")), async {
        let request = agent.hear_method("session/list").await;
        assert_eq!(request["params"], json!({ "cwd": "/w", "cursor": "c" }));
        let sessions = json!([{ "sessionId": "a", "cwd": "/w", "title": null }, { "cwd": "no id" }]);
        agent.answer(&request, json!({ "sessions": sessions, "nextCursor": "d" })).await;
    });
    let page = page.unwrap();
    assert_eq!((page.sessions.len(), page.next_cursor.as_deref()), (1, Some("d")));
}

/// The agent's part in coming back to session `old`; returns the methods that were asked for.
async fn play(agent: &mut Agent, answers: &[(&str, Result<Value, i64>)]) -> Vec<String> {
    let mut asked = Vec::new();
    for (method, answer) in answers {
        let request = agent.hear_method(method).await;
        asked.push((*method).to_owned());
        agent.text("old", "from before").await;
        let title = json!({ "sessionUpdate": "session_info_update", "title": "T" });
        agent.update("old", title).await;
        match answer {
            Ok(answer) => agent.answer(&request, answer.clone()).await,
            Err(code) => agent.refuse(&request, *code, "Session not found").await,
        }
    }
    asked
}

#[tokio::test(start_paused = true)]
async fn the_way_back_is_resume_then_load_then_new() {
    let modes = json!({ "modes": { "currentModeId": "a", "availableModes": [] } });
    let elsewhere = json!({ "_meta": { "hermes": { "sessionProvenance": { "acpSessionId": "other" } } } });
    let new = json!({ "sessionId": "fresh" });
    let only_load = json!({ "loadSession": true });
    for (capabilities, answers, how, id) in [
        (able(), vec![("session/resume", Ok(modes.clone()))], Reopened::Resumed, "old"),
        (able(), vec![("session/resume", Ok(json!(null)))], Reopened::Resumed, "old"),
        (only_load, vec![("session/load", Ok(json!(null)))], Reopened::Loaded, "old"),
        (able(), vec![("session/resume", Err(-32603)), ("session/load", Ok(json!({})))], Reopened::Loaded, "old"),
        (
            able(),
            vec![("session/resume", Ok(elsewhere)), ("session/load", Err(-32002)), ("session/new", Ok(new.clone()))],
            Reopened::New,
            "fresh",
        ),
        (json!({}), vec![("session/new", Ok(new))], Reopened::New, "fresh"),
    ] {
        let (client, _events, mut agent) = greeted(quiet(), capabilities).await;
        let (opened, _) = tokio::join!(client.reopen("old", "/w".as_ref(), false), play(&mut agent, &answers));
        let opened = opened.unwrap();
        assert_eq!((opened.how, opened.info.session_id.as_deref()), (how, Some(id)));
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_that_is_not_about_the_session_ends_the_way_back() {
    let (client, _events, mut agent) = greeted(quiet(), able()).await;
    let (opened, ()) = tokio::join!(client.reopen("old", "/w".as_ref(), false), async {
        let request = agent.hear_method("session/resume").await;
        agent.refuse(&request, -32000, "Authentication required").await;
    });
    let error = opened.unwrap_err();
    assert!(error.hint.is_some_and(|hint| hint.contains("not signed in")));
}

#[tokio::test(start_paused = true)]
async fn a_replay_after_resume_is_swallowed_and_one_of_load_is_told() {
    let titled = |event: ClientEvent| match event {
        ClientEvent::Update { update: SessionUpdate::SessionInfoUpdate { title, .. }, .. } => title,
        other => Some(format!("{other:?}")),
    };
    let (client, mut events, mut agent) = greeted(quiet(), able()).await;
    let answers = [("session/resume", Ok(json!({})))];
    let (resumed, _) = tokio::join!(client.resume("old", "/w".as_ref()), play(&mut agent, &answers));
    resumed.unwrap();
    assert_eq!(titled(next(&mut events).await).as_deref(), Some("T"));
    agent.text("old", "new words").await;
    assert!(format!("{:?}", next(&mut events).await).contains("new words"));
    let answers = [("session/load", Ok(json!({})))];
    let (loaded, _) = tokio::join!(client.load("old", "/w".as_ref()), play(&mut agent, &answers));
    loaded.unwrap();
    assert!(format!("{:?}", next(&mut events).await).contains("from before"));
}

#[tokio::test(start_paused = true)]
async fn a_load_that_says_and_replays_nothing_found_nothing() {
    let (client, _events, mut agent) = greeted(quiet(), able()).await;
    let (loaded, ()) = tokio::join!(client.load("nope", "/w".as_ref()), async {
        let request = agent.hear_method("session/load").await;
        agent.answer(&request, json!({})).await;
    });
    assert!(loaded.unwrap_err().is_session_gone());
}

#[tokio::test(start_paused = true)]
async fn settings_are_sent_in_their_forms() {
    let (client, _events, mut agent) = opened(quiet()).await;
    let (set, ()) = tokio::join!(client.set_option("s", "fast", json!(true)), async {
        let request = agent.hear_method("session/set_config_option").await;
        let wanted = json!({ "sessionId": "s", "configId": "fast", "type": "boolean", "value": true });
        assert_eq!(request["params"], wanted);
        let groups =
            json!([{ "group": "g", "name": "G", "options": [{ "value": "x", "name": "X" }] }, { "value": "y" }]);
        let options = json!([{ "id": "model", "type": "select", "currentValue": "x", "options": groups }, 3]);
        agent.answer(&request, json!({ "configOptions": options })).await;
    });
    let options = set.unwrap();
    let choices: Vec<String> = options[0].choices().into_iter().map(|choice| choice.name).collect();
    assert_eq!((options.len(), choices), (1, vec!["X".to_owned(), "y".to_owned()]));
    let ((mode, model), ()) =
        tokio::join!(async { (client.set_mode("s", "plan").await, client.set_model("s", "big").await) }, async {
            let request = agent.hear_method("session/set_mode").await;
            assert_eq!(request["params"], json!({ "sessionId": "s", "modeId": "plan" }));
            agent.answer(&request, json!({})).await;
            let request = agent.hear_method("session/set_model").await;
            assert_eq!(request["params"], json!({ "sessionId": "s", "modelId": "big" }));
            agent.refuse(&request, -32602, "no such model").await;
        });
    mode.unwrap();
    model.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn a_ping_goes_out_every_thirty_seconds_and_none_where_it_is_off() {
    let (client, _events, mut agent) = greeted(ConnectOptions::default(), json!({})).await;
    let start = Instant::now();
    for n in 1..=3 {
        assert_eq!(agent.hear().await, json!({ "jsonrpc": "2.0", "method": "$/ping" }));
        assert_eq!(start.elapsed().as_secs(), 30 * n);
    }
    drop(client);
    let (client, _events, mut agent) = greeted(quiet(), json!({})).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    client.notify("_x", json!({})).await;
    agent.hear_method("_x").await;
}
