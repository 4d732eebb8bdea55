//! `tillerman acp` as editors use it: what they show of calls and questions, how they get in, and what they read only once.

use serde_json::{Value, json};
use testkit::mock_model::{MockModel, Reply, Step};

use crate::acp_scarf::Scarf as Client;
use crate::cli::Place;

const INITIALIZE: &str = "initialize";

fn hello() -> Value {
    json!({ "protocolVersion": 1, "clientCapabilities": {}, "clientInfo": { "name": "an-editor", "version": "1" } })
}

fn editor(place: &Place) -> Client {
    let mut client = Client::unheard(place);
    client.ask(INITIALIZE, hello());
    client
}

/// Nothing is asked for by name.
fn unset() -> Place {
    Place::new().env("TILLERMAN_MODEL", "")
}

fn served(model: &MockModel) -> Place {
    let place = Place::new().env("OPENAI_BASE_URL", &model.base_url).env("OPENAI_API_KEY", "sk-canary-acp");
    place.env("TILLERMAN_MODEL", "mock/alpha")
}

fn updates(client: &Client, tag: &str) -> Vec<Value> {
    let all = client.kept.iter().map(|frame| frame["params"]["update"].clone());
    all.filter(|update| update["sessionUpdate"] == tag).collect()
}

#[test]
fn raw_output_is_an_object_in_every_update_and_when_told_again() {
    let place = Place::new();
    std::fs::write(place.file("notes.md"), "# not a heading\n").unwrap();
    let mut client = editor(&place);
    let session = client.new_session(&place);
    let calls = r#"call read_file {"path":"notes.md"} then call bash {"command":"ls nowhere"} then call list_dir {} then say done"#;
    let turn = client.prompt(&session, calls);
    assert_eq!(client.stop_reason(turn), "end_turn");
    client.ask("session/close", json!({ "sessionId": session }));
    let check = |client: &Client, about: &str| {
        let titles: Vec<Value> = updates(client, "tool_call").iter().map(|call| call["title"].clone()).collect();
        assert_eq!(titles, ["Read notes.md", "`ls nowhere`", "List the workspace"], "{about}");
        assert_eq!(updates(client, "tool_call")[2]["locations"], json!([{ "path": place.work() }]), "{about}");
        let ended: Vec<Value> =
            updates(client, "tool_call_update").into_iter().filter(|it| it["rawOutput"] != Value::Null).collect();
        assert_eq!(ended.len(), 3, "{about}");
        assert!(ended.iter().all(|it| it["rawOutput"]["output"].is_string()), "{about}: {ended:?}");
        assert_eq!(ended[0]["rawOutput"], json!({ "output": "# not a heading\n" }), "{about}");
        assert_eq!(ended[0]["content"][0]["content"]["text"], "```\n# not a heading\n```", "{about}");
        assert_eq!(ended[1]["status"], "failed", "{about}");
        assert!(ended[1]["rawOutput"]["details"]["exitCode"].is_u64(), "{about}: {}", ended[1]);
    };
    check(&client, "live");
    client.kept.clear();
    client.ask("session/load", json!({ "sessionId": session, "cwd": place.work(), "mcpServers": [] }));
    check(&client, "loaded");
}

#[test]
fn who_can_use_a_model_is_signed_in() {
    let model = MockModel::start_blocking();
    for (name, value) in [
        ("ANTHROPIC_API_KEY", "x"),
        ("GEMINI_API_KEY", "x"),
        ("GROQ_API_KEY", "x"),
        ("OPENROUTER_API_KEY", "x"),
        ("OPENAI_API_KEY", "x"),
        ("OPENAI_BASE_URL", &model.base_url),
        ("TILLERMAN_MODEL", "tour"),
    ] {
        let place = unset().env(name, value);
        let answer = editor(&place).ask("authenticate", json!({ "methodId": "environment" }));
        assert_eq!(answer["result"], json!({}), "{name}: {answer}");
    }
    let refused = editor(&unset()).ask("authenticate", json!({ "methodId": "environment" }))["error"].take();
    assert_eq!(refused["code"], -32000, "{refused}");
    let said = refused["message"].as_str().unwrap();
    for help in ["ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "a model server on this machine", "`tillerman login`"] {
        assert!(said.contains(help), "{help} is not in: {said}");
    }
}

#[test]
fn a_session_that_is_opened_at_once_has_all_models_of_a_slow_server() {
    let model = MockModel::start_blocking();
    let list = json!({ "object": "list", "data": [{ "id": "mock/alpha", "object": "model" }, { "id": "mock/beta", "object": "model" }] });
    model.set_models(Reply::Stream {
        content_type: "application/json".into(),
        steps: vec![Step::Pause { ms: 700 }, Step::Raw(list.to_string().into())],
    });
    let place = served(&model);
    let mut client = Client::unheard(&place);
    client.request(INITIALIZE, hello());
    let new = client.request("session/new", json!({ "cwd": place.work(), "mcpServers": [] }));
    let answer = client.answer(new);
    let models = answer["result"]["models"]["availableModels"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let ids: Vec<&str> = models.iter().filter_map(|it| it["modelId"].as_str()).collect();
    assert!(ids.contains(&"mock/alpha") && ids.contains(&"mock/beta"), "{ids:?}");
}

#[test]
fn a_patch_is_asked_about_file_by_file() {
    let place = Place::new();
    std::fs::write(place.file("a.txt"), format!("1\n{}2\n", "same\n".repeat(20))).unwrap();
    let mut client = editor(&place);
    let session = client.new_session(&place);
    let patch =
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-1\n+one\n@@\n-2\n+two\n*** Add File: b.txt\n+new\n*** End Patch";
    let turn = client.prompt(&session, &format!("call apply_patch {} then say done", json!({ "input": patch })));
    let question = client.question();
    let call = &question["params"]["toolCall"];
    assert_eq!(call["title"], "Edit a.txt, b.txt");
    let paths = [place.file("a.txt"), place.file("b.txt")];
    assert_eq!(call["locations"], json!([{ "path": paths[0] }, { "path": paths[1] }]));
    let content = call["content"].as_array().unwrap();
    assert_eq!([&content[0]["type"], &content[1]["type"]], ["diff", "diff"], "{call}");
    assert_eq!([&content[0]["path"], &content[1]["path"]], [&json!(paths[0]), &json!(paths[1])]);
    let (old, new) = (content[0]["oldText"].as_str().unwrap(), content[0]["newText"].as_str().unwrap());
    // All changes of a file are in its one block.
    assert!(old.starts_with("1\n") && old.ends_with("2\n") && old.contains("\n@@ "), "{old}");
    assert!(new.starts_with("one\n") && new.ends_with("two\n"), "{new}");
    assert_eq!((&content[1]["oldText"], &content[1]["newText"]), (&Value::Null, &json!("new\n")));
    let kinds: Vec<&Value> =
        question["params"]["options"].as_array().unwrap().iter().map(|option| &option["kind"]).collect();
    assert_eq!(kinds, ["allow_once", "allow_always", "reject_once"], "one of each kind");
    let outcome = json!({ "outcome": "selected", "optionId": "allow_once" });
    client.say(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "outcome": outcome } }));
    assert_eq!(client.stop_reason(turn), "end_turn");
    let done = updates(&client, "tool_call_update").pop().unwrap();
    let diffs = done["content"].as_array().unwrap().iter().filter(|it| it["type"] == "diff").count();
    assert_eq!((&done["status"], diffs), (&json!("completed"), 2), "{done}");
}

#[test]
fn a_key_that_is_not_taken_is_no_reason_to_try_again() {
    let model = MockModel::start_blocking();
    let place = served(&model);
    let mut client = editor(&place);
    let session = client.new_session(&place);
    for (status, code) in [(401, -32000), (403, -32000), (400, -32602)] {
        model.push(Reply::error(status, "the mock says no"));
        let turn = client.prompt(&session, "hello");
        let error = client.answer(turn)["error"].take();
        assert_eq!(error["code"], code, "{status}: {error}");
        assert!(error["message"].as_str().unwrap().contains("the mock says no"), "{error}");
        assert_eq!(error["data"]["details"], error["message"], "{error}");
    }
}

#[test]
fn a_session_has_its_name_and_its_fill_again_when_it_is_opened_again() {
    let place = Place::new();
    let mut client = editor(&place);
    let session = client.new_session(&place);
    let turn = client.prompt(&session, "\n  say five\n words\n\n");
    assert_eq!(client.stop_reason(turn), "end_turn");
    let used = updates(&client, "usage_update").pop().unwrap()["used"].clone();
    assert!(used.as_u64().unwrap() > 0, "{used}");
    assert_eq!(updates(&client, "session_info_update").pop().unwrap()["title"], "say five words");
    client.ask("session/close", json!({ "sessionId": session }));
    let listed = client.ask("session/list", json!({}));
    assert_eq!(listed["result"]["sessions"][0]["title"], "say five words");
    for method in ["session/load", "session/resume", "session/fork"] {
        client.kept.clear();
        client.ask(method, json!({ "sessionId": session, "cwd": place.work(), "mcpServers": [] }));
        let fill = client.update("usage_update");
        assert_eq!(fill["used"], used, "{method}");
        assert_eq!(client.update("session_info_update")["title"], "say five words", "{method}");
    }
}

#[test]
fn a_good_start_says_nothing_on_stderr() {
    let model = MockModel::start_blocking();
    for dialect in [&["acp"][..], &["serve"], &["loaf"], &["--mode", "rpc"]] {
        let place = served(&model);
        for place in [place.env("TILLERMAN_MODEL", ""), served(&model)] {
            let ran = place.run_with(dialect, "");
            assert_eq!((ran.code, &*ran.err), (Some(0), ""), "{dialect:?}");
        }
        // That only the tour is there is worth a word.
        let ran = unset().run_with(dialect, "");
        assert!(!ran.err.is_empty(), "{dialect:?}");
    }
}
