//! What hosts of today pass to `rpc` and read from it, through the binary: sessions by a chosen id, levels, models that are
//! not there, output as it grows, files as they changed.

use serde_json::{Value, json};
use testkit::mock_model::MockModel;

use crate::cli::Place;
use crate::cli_rpc::{Host, place};

fn here() -> Place {
    place("", "").env("TILLERMAN_MODEL", "tour")
}

fn found(state: &Value) -> (&str, u64, Option<&str>) {
    let id = state["sessionId"].as_str().unwrap();
    (id, state["messageCount"].as_u64().unwrap(), state["sessionName"].as_str())
}

#[test]
fn a_session_of_a_chosen_id_is_found_again_also_after_a_kill() {
    let place = here();
    let mut host = Host::start(&place, &["rpc", "--session-id", "demo.1", "--name", " My  talk "]);
    assert_eq!(found(&host.state()), ("demo.1", 0, Some("My talk")));
    host.prompt("hello");
    host.child.kill().unwrap();
    host.child.wait().unwrap();
    drop(host);
    let mut host = Host::start(&place, &["--mode", "rpc", "--session-id=demo.1"]);
    assert_eq!(found(&host.state()), ("demo.1", 2, Some("My talk")));
    host.prompt("again");
    host.close();
    // Its file is found, too, where another program knows nothing of our store.
    let file =
        std::fs::read_dir(place.work().with_file_name("agent").join("sessions")).unwrap().next().unwrap().unwrap();
    let file = std::fs::read_dir(file.path()).unwrap().next().unwrap().unwrap().path();
    let head = std::fs::read_to_string(&file).unwrap();
    assert!(head.starts_with(r#"{"type":"session","version":3,"id":"demo.1","#), "{head}");
    std::fs::remove_dir_all(place.home()).unwrap();
    let mut host = Host::start(&place, &["rpc", "--session-id", "demo.1", "-n", "Other"]);
    assert_eq!(found(&host.state()), ("demo.1", 4, Some("Other")));
}

#[test]
fn a_chosen_id_means_a_session_of_this_directory() {
    let place = here();
    let mut host = Host::start(&place, &["rpc", "--session-id", "demo"]);
    host.prompt("hello");
    host.close();
    let other = place.work().with_file_name("other");
    std::fs::create_dir(&other).unwrap();
    let start = || Host::run(place.command(&["rpc", "--session-id", "demo"]).current_dir(&other));
    let mut host = start();
    let state = host.state();
    let (id, count, _) = found(&state);
    assert!(id.starts_with("demo-") && count == 0, "{id}");
    host.prompt("elsewhere");
    let (_, said, _) = host.close();
    assert!(said.contains("the session demo is one of"), "{said}");
    assert_eq!(found(&start().state()), (id, 2, None));
    assert_eq!(found(&Host::start(&place, &["rpc", "--session-id", "demo"]).state()), ("demo", 2, None));
}

#[test]
fn a_wrong_id_or_name_is_said_before_anything_starts() {
    let place = here();
    for id in ["", "-a", "a-", "a/b", "ä", "a b", &"x".repeat(129)] {
        let said =
            "Error: Session id must be non-empty, contain only alphanumeric characters, '-', '_', and '.', start";
        place.run(&["rpc", &format!("--session-id={id}")]).fails(1, said);
    }
    for (args, said) in [
        (&["--name", "  "][..], "Error: --name requires a non-empty value\n"),
        (&["--session-id", "a", "-c"], "Error: --session-id cannot be combined with --continue\n"),
        (&["--session-id", "a", "--session", "b"], "Error: --session-id cannot be combined with --session\n"),
        (&["--session-id", "a", "--fork", "b"], "Error: --session-id cannot be combined with --fork\n"),
    ] {
        place.run(&[&["rpc"], args].concat()).fails(1, said);
    }
    let mut host = Host::start(&place, &["rpc", "--no-session", "--session-id", "a"]);
    assert_eq!(found(&host.state()), ("a", 0, None));
}

#[test]
fn it_goes_on_where_something_was_said_last_whatever_the_clock_of_a_file_says() {
    let place = here();
    let files: Vec<String> = ["first", "second"]
        .iter()
        .map(|text| {
            let mut host = Host::start(&place, &["rpc"]);
            host.prompt(text);
            host.state()["sessionFile"].as_str().unwrap().to_owned()
        })
        .collect();
    let touch = |file: &str, ago: u64| {
        let at = std::time::SystemTime::now() - std::time::Duration::from_secs(ago);
        std::fs::File::options().append(true).open(file).unwrap().set_modified(at).unwrap();
    };
    touch(&files[1], 3600);
    touch(&files[0], 0);
    assert_eq!(Host::start(&place, &["rpc", "-c"]).state()["sessionFile"], json!(files[1]));
    let dir = std::path::Path::new(&files[0]).parent().unwrap().to_str().unwrap();
    let mut host = Host::start(&place, &["rpc"]);
    let opened = host.ask(json!({"type": "open_session", "sessionDir": dir}))["data"].take();
    assert_eq!((&opened["resumed"], &opened["sessionFile"]), (&json!(true), &json!(files[1])), "{opened}");
    let empty = place.work().with_file_name("empty");
    let opened = host.ask(json!({"type": "open_session", "sessionDir": empty}))["data"].take();
    assert_eq!((&opened["resumed"], &opened["cancelled"]), (&json!(false), &json!(false)), "{opened}");
    for (nowhere, why) in [(&*files[0], "File exists"), (&format!("{}/below", files[0]), "Not a directory")] {
        let refused = host.ask(json!({"type": "open_session", "sessionDir": nowhere}));
        let error = refused["error"].as_str().unwrap_or_default();
        assert!(refused["success"] == false && error.contains(why), "{refused}");
    }
    host.prompt("there");
    assert!(std::path::Path::new(opened["sessionFile"].as_str().unwrap()).starts_with(&empty), "{opened}");
    assert_eq!(std::fs::read_dir(&empty).unwrap().count(), 1);
}

#[test]
fn a_model_that_a_server_does_not_list_is_not_found() {
    let model = MockModel::start_blocking();
    let place = place("", "").env("OPENAI_BASE_URL", &model.base_url);
    let mut host = Host::start(&place, &["rpc"]);
    let before = host.state()["model"].take();
    for (provider, id) in [("nope", "x"), ("openai", "x"), ("nope", "mock/beta")] {
        let answer = host.ask(json!({"type": "set_model", "provider": provider, "modelId": id}));
        assert_eq!(
            (&answer["success"], &answer["error"]),
            (&json!(false), &json!(format!("Model not found: {provider}/{id}")))
        );
    }
    assert_eq!(host.state()["model"], before);
    let listed = host.ask(json!({"type": "get_available_models"}))["data"]["models"].take();
    assert!(listed.as_array().unwrap().contains(&before), "{before} is told alike in {listed}");
    let beta = listed.as_array().unwrap().iter().find(|model| model["id"] == "mock/beta").unwrap();
    let answer = host.ask(json!({"type": "set_model", "provider": beta["provider"], "modelId": "mock/beta"}));
    assert_eq!((&answer["success"], &answer["data"]), (&json!(true), beta), "{answer}");
}

#[test]
fn the_level_is_told_whatever_was_set() {
    let mut host = Host::start(&here(), &["rpc"]);
    assert_eq!(host.state()["thinkingLevel"], "off");
    for level in ["low", "off"] {
        host.ask(json!({"type": "set_thinking_level", "level": level}));
        assert_eq!(host.state()["thinkingLevel"], level);
    }
    let cycled = host.ask(json!({"type": "cycle_model"}));
    assert_eq!(cycled["data"]["thinkingLevel"], "off", "{cycled}");
}

#[test]
fn who_starts_it_as_xcsh_reads_errors_as_xcsh_has_them() {
    let place = here();
    let wrong = json!({"type": "branch", "entryId": "nope"});
    let answer = Host::start(&place, &["--mode", "rpc"]).ask(wrong.clone());
    assert_eq!((&answer["command"], &answer["error"]), (&json!("branch"), &json!("Invalid entry ID for branching")));
    let link = place.work().with_file_name("xcsh");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tillerman"), &link).unwrap();
    for (args, command) in [(&["--mode", "rpc"][..], "parse"), (&["--mode", "rpc", "--rpc-errors=pi"], "branch")] {
        let mut named = std::process::Command::new(&link);
        let usual = place.command(args);
        named.env_clear().envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
        named.args(args).current_dir(place.work());
        named
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        assert_eq!(Host::run(&mut named).ask(wrong.clone())["command"], command, "{args:?}");
    }
}

#[test]
fn the_output_of_a_command_is_told_before_it_has_ended() {
    let place = here();
    let mut host = Host::start(&place, &["rpc"]);
    // It ends when the host has read what it said.
    host.say(
        &json!({"id": "b", "type": "bash", "command": "echo one; until [ -e go ]; do sleep 0.05; done; echo two"}),
    );
    let update = host.until("bash_execution_update");
    assert_eq!((&update["id"], &update["delta"]), (&json!("b"), &json!("one\n")));
    std::fs::write(place.file("go"), "").unwrap();
    let update = host.until("bash_execution_update");
    assert_eq!(update["delta"], "two\n");
    let answer = host.until("response");
    assert_eq!((&answer["id"], &answer["data"]["output"]), (&json!("b"), &json!("one\ntwo\n")));
}

#[test]
fn an_edit_shows_what_it_changed() {
    let model = MockModel::start_blocking();
    let place = place("", "").env("OPENAI_BASE_URL", &model.base_url);
    std::fs::write(place.file("a.txt"), "alpha\nbeta\ngamma\n").unwrap();
    let mut host = Host::start(&place, &["rpc"]);
    host.say(&json!({"type": "prompt", "message":
        r#"call edit {"path":"a.txt","old_string":"beta","new_string":"BETA"} then say done"#}));
    let end = host.until("tool_execution_end");
    assert_eq!(
        end["result"]["details"],
        json!({"diff": " 1 alpha\n-2 beta\n+2 BETA\n 3 gamma", "firstChangedLine": 2}),
        "{end}"
    );
    host.until("agent_settled");
    let messages = host.ask(json!({"type": "get_messages"}))["data"]["messages"].take();
    assert_eq!(messages[2]["details"], end["result"]["details"], "the log says the same");
}
