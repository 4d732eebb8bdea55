//! `run` and `repl`: a turn as people and scripts see it.

use std::io::{BufRead, BufReader, Write};
use std::time::{Duration, Instant};

use expect_test::expect;
use serde_json::Value;

use crate::cli::Place;

#[test]
fn run_gives_the_answer_on_stdout_and_shows_a_real_call_beside_it() {
    let ran = Place::new().run(&["run", "list", "the", "rust", "files"]);
    assert!(ran.err.contains("● glob **/*.rs"), "{}", ran.err);
    expect![[r#"
        I'll glob for *.rs.
        Found two: one.rs and two.rs.
    "#]]
    .assert_eq(&ran.ok());
}

#[test]
fn piped_text_is_the_prompt_or_joins_it() {
    let place = Place::new();
    let alone = place.run_with(&["run", "-"], "list the rust files\n").ok();
    assert!(alone.contains("one.rs and two.rs"), "{alone}");
    assert_eq!(place.run_with(&["run"], "list the rust files\n").ok(), alone);
    place.run_with(&["run", "explain this"], "piped words\n").ok();
    let shown = place.run(&["sessions", "show", "latest"]).ok();
    assert!(shown.contains("user\nexplain this\n\npiped words\n"), "{shown}");
}

#[test]
fn a_pipe_that_is_not_text_is_refused() {
    let place = Place::new();
    let mut child = place.command(&["run", "x"]).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&[0xff, 0xfe, b'\n']).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not UTF-8"));
}

#[test]
fn without_a_person_a_write_is_denied_and_yes_or_the_mode_allow_it() {
    let place = Place::new();
    place.run(&["run", "tour"]).fails(3, "`--yes` or `--mode workspace-write` would allow it");
    assert!(!place.file("tour.txt").exists());
    place.run(&["run", "--mode", "workspace-write", "tour"]).ok();
    assert!(place.file("tour.txt").exists());
    std::fs::remove_file(place.file("tour.txt")).unwrap();
    place.run(&["run", "--yes", "tour"]).ok();
    assert!(place.file("tour.txt").exists());
}

#[test]
fn yes_beside_workspace_write_stays_in_the_workspace() {
    let place = Place::new();
    let outside = place.home().join("outside");
    std::fs::create_dir_all(place.home()).unwrap();
    let touch = format!("run touch {}", outside.display());
    let ran = place.run(&["run", "-y", "--mode", "workspace-write", &touch]);
    ran.fails(3, "allows nothing that could leave the workspace; `--mode danger-full-access` would allow it");
    assert!(!outside.exists());
    let ran = place.run(&["run", "--json", "-y", "--mode", "workspace-write", &touch]);
    assert!(ran.out.contains(r#""decision":"deny""#) && !outside.exists(), "{}", ran.out);
    let typed = place.run_with(&["repl", "-y", "--mode", "workspace-write"], &format!("{touch}\n/exit\n"));
    assert!(typed.err.contains("could leave the workspace") || typed.out.contains("could leave the workspace"));
    assert!(!outside.exists());
    // Without `--yes` the hint names only what would help.
    place
        .run(&["run", "--mode", "workspace-write", &touch])
        .fails(3, "here; `--mode danger-full-access` would allow it");
    // Changes inside are made, and a mode is not needed.
    place.run(&["run", "-y", "--mode", "workspace-write", "tour"]).ok();
    assert!(place.file("tour.txt").exists());
    place.run(&["run", "-y", &touch]).ok();
    assert!(outside.exists());
}

#[test]
fn a_workspace_that_holds_everything_is_warned_about() {
    let place = Place::new();
    let home = std::fs::canonicalize(place.work()).unwrap();
    let place = place.env("HOME", home.to_str().unwrap());
    let warned = "the workspace is your home directory: tools may read all of it";
    for args in [&["run", "hi"] as &[&str], &["repl"], &["serve"], &["loaf"], &["acp"], &["rpc"]] {
        let ran = place.run(args);
        assert_eq!(ran.err.matches(warned).count(), 1, "{args:?}: {}", ran.err);
    }
    let ran = place.run(&["run", "--workspace", "/", "hi"]);
    assert!(ran.err.contains("the workspace is the whole file system"), "{}", ran.err);
    assert!(!Place::new().run(&["run", "hi"]).err.contains("the workspace is"));
}

#[test]
fn a_failing_model_is_exit_1_and_an_unknown_one_exit_2() {
    let place = Place::new();
    place.run(&["run", "fail 401"]).fails(1, "error: ");
    place.run(&["run", "-m", "tour-max", "x"]).fails(2, "error: ");
}

#[test]
fn limits_end_with_exit_3() {
    let ran = Place::new().run(&["run", "--max-iterations", "1", "--yes", "tour"]);
    ran.fails(3, "tool rounds");
}

#[test]
fn json_is_one_object_per_event_and_nothing_else() {
    let ran = Place::new().run(&["run", "--json", "list the rust files"]);
    let lines: Vec<Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
    let kinds: Vec<&str> =
        lines.iter().filter_map(|line| line["type"].as_str()).filter(|kind| *kind != "text").collect();
    assert_eq!(kinds, ["session", "notice", "tool_call", "tool_result", "turn_end"]);
    let text: String = lines.iter().filter_map(|line| line["delta"].as_str()).collect();
    assert_eq!(text, "I'll glob for *.rs.Found two: one.rs and two.rs.");
    assert_eq!(lines.last().unwrap()["stop"], "end_turn");
    ran.ok();
}

#[test]
fn a_session_can_be_continued_resumed_or_left_out() {
    let place = Place::new();
    place.run(&["run", "-c", "x"]).fails(2, "no saved session");
    place.run(&["run", "--no-session", "list the rust files"]).ok();
    assert_eq!(place.run(&["sessions", "list"]).ok(), "no saved sessions\n");
    place.run(&["run", "list the rust files"]).ok();
    let ran = place.run(&["run", "-c", "list the rust files"]);
    assert!(ran.err.contains("resumed ") && ran.err.contains("(3 messages)"), "{}", ran.err);
    let list = place.run(&["sessions", "list", "--json"]).ok();
    let summary: Value = serde_json::from_str(list.trim()).expect("one session");
    assert_eq!(summary["turns"], 2);
    let id = summary["id"].as_str().unwrap();
    place.run(&["run", "--resume", &id[..20], "list the rust files"]).ok();
    place.run(&["run", "--resume", "ffff", "x"]).fails(2, "no session matches `ffff`");
}

#[test]
fn a_resumed_session_does_not_bring_full_access_along() {
    let place = Place::new();
    place.run(&["run", "--mode", "danger-full-access", "list the rust files"]).ok();
    place.run(&["run", "-c", "tour"]).fails(3, "would allow it");
    assert!(!place.file("tour.txt").exists());
}

#[test]
fn resume_inside_a_repl_keeps_the_mode_of_the_person() {
    let place = Place::new();
    place.run(&["run", "--mode", "danger-full-access", "list the rust files"]).ok();
    let ran = place.run_with(&["repl"], "/resume latest\n/mode\ntour\nn\n/exit\n");
    assert!(ran.err.contains("Allow write tour.txt"), "{}", ran.err);
    assert!(!place.file("tour.txt").exists());
    assert!(ran.ok().contains("resumed "));
}

#[test]
fn a_signal_interrupts_the_turn_and_the_exit_code_says_so() {
    let place = Place::new();
    let mut command = place.command(&["run", "--yes", "--json", "run sleep 60"]);
    command.stdin(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let started = Instant::now();
    let call = lines.by_ref().map(Result::unwrap).find(|line| line.contains("\"tool_call\""));
    assert!(call.is_some(), "the tool was called");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(rest.iter().any(|line| line.contains(r#""stop":"interrupted""#)), "{rest:?}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[test]
fn frames_are_logged_for_their_owner_only() {
    let place = Place::new();
    place.run(&["run", "--log-frames", "frames.log", "list the rust files"]).ok();
    let log = std::fs::read_to_string(place.file("frames.log")).unwrap();
    assert!(log.contains(" < ") && log.contains("one.rs"), "{log}");
}

#[test]
fn a_repl_can_be_scripted() {
    let place = Place::new();
    let script = "/mode\n\nlist the rust files\ntour\nn because\\\nnot now\n/nope\n/version\n/exit\nnever read\n";
    let ran = place.run_with(&["repl"], script);
    assert!(ran.err.contains("Allow write tour.txt (+1 -0)?"), "{}", ran.err);
    let out = ran.ok();
    for said in ["prompt", "Found two: one.rs and two.rs.", "unknown command: /nope", "tillerman 0.1.0", "bye\n"] {
        assert!(out.contains(said), "{said:?} is not in: {out}");
    }
    assert!(!place.file("tour.txt").exists());
    let shown = place.run(&["sessions", "show", "latest"]).ok();
    assert!(shown.contains("write_file (denied)\nnot now"), "{shown}");
}

#[test]
fn a_repl_ends_with_its_input_and_an_open_question_is_a_no() {
    let place = Place::new();
    let ran = place.run_with(&["repl"], "tour\n");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(!place.file("tour.txt").exists());
}

#[test]
fn nothing_is_coloured_in_a_pipe() {
    let place = Place::new();
    for ran in [place.run(&["run", "tour"]), place.run(&["doctor"]), place.run(&["--help"]), place.run(&["run"])] {
        assert!(!ran.out.contains('\x1b') && !ran.err.contains('\x1b'), "{}{}", ran.out, ran.err);
    }
}

#[test]
fn the_end_of_a_json_run_has_its_result_its_session_and_what_it_cost() {
    let mock = testkit::mock_model::MockModel::start_blocking();
    let place = Place::new().env("TILLERMAN_MODEL", "").env("ANTHROPIC_API_KEY", "sk-canary-0123456789");
    std::fs::create_dir_all(place.home()).unwrap();
    let config = format!("[providers.anthropic]\nbase_url = '{}'\n", mock.base_url);
    std::fs::write(place.home().join("config.toml"), config).unwrap();
    let last = |place: &Place, prompt: &str| -> (Value, Value) {
        let out = place.run(&["run", "--json", prompt]).ok();
        let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (lines[0].clone(), lines.last().unwrap().clone())
    };
    let (first, end) = last(&place, "hello");
    assert_eq!((&end["type"], &end["session_id"]), (&Value::from("turn_end"), &first["session_id"]));
    assert_eq!(end["result"], "ok");
    // The table's price of the model that answered.
    assert!(end["cost_usd"].as_f64().is_some_and(|cost| cost > 0.0), "{end}");
    let unpriced = Place::new().env("TILLERMAN_MODEL", "").env("OPENAI_BASE_URL", &mock.base_url);
    let (_, end) = last(&unpriced, "hello");
    assert_eq!((&end["result"], &end["cost_usd"]), (&Value::from("ok"), &Value::Null));
}

#[test]
fn the_manuals_script_of_a_bad_day_gets_to_its_answer() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/script.md")).unwrap();
    let script = page.split("```").filter_map(|block| block.strip_prefix("script\n")).nth(1).unwrap();
    let place = Place::new();
    std::fs::write(place.file("day.script"), script).unwrap();
    assert_eq!(place.run(&["run", "-m", "script:day.script", "go"]).ok(), "Here it is.\n");
}

/// Turns of a model that is played from a file.
fn played(place: &Place, script: &str) -> String {
    std::fs::write(place.file("played.script"), script).unwrap();
    "script:played.script".to_owned()
}

#[test]
fn a_list_of_tasks_is_never_asked_about_and_never_shown_raw() {
    let tasks =
        r#"{"todos":[{"content":"Read the code","status":"completed"},{"content":"Write a test","status":"pending"}]}"#;
    for mode in ["plan", "read-only", "prompt", "workspace-write"] {
        let place = Place::new();
        let model = played(&place, &format!("call todo {tasks}\n\nsay \"done\"\n"));
        let ran = place.run(&["run", "-m", &model, "--mode", mode, "go"]);
        assert!(!ran.err.contains("Allow") && !ran.err.contains("\"todos\""), "{mode}: {}", ran.err);
        assert!(ran.err.contains("● todo\n"), "{mode}: {}", ran.err);
        assert_eq!(ran.ok(), "done\n", "{mode}");
    }
}

#[test]
fn a_task_of_many_rounds_is_not_stopped_and_a_limit_says_how_to_go_on() {
    let place = Place::new();
    let rounds = "call list_dir {\"path\":\".\"}\n\n".repeat(45);
    let model = played(&place, &format!("{rounds}say \"done\"\n"));
    assert_eq!(place.run(&["run", "-m", &model, "go"]).ok(), "done\n");
    let ran = place.run(&["run", "-m", &model, "--max-iterations", "2", "go"]);
    ran.fails(3, "stopped: 2 tool rounds are used up; `go on` goes on (--max-iterations sets how many)");
}

#[test]
fn an_answer_without_a_word_is_said_to_be_one() {
    let place = Place::new();
    let model = played(&place, "finish stop\n");
    place.run(&["run", "-m", &model, "go"]).fails(1, "the model sent an empty answer");
    let typed = place.run_with(&["repl", "-m", &model], "go\n/exit\n");
    assert!(typed.out.contains("the model sent an empty answer") || typed.err.contains("empty answer"));
    // One that only calls tools has done something.
    let model = played(&place, "call list_dir {\"path\":\".\"}\n\nfinish stop\n");
    place.run(&["run", "-m", &model, "go"]).ok();
}

#[test]
fn an_undo_says_what_it_removed_and_what_it_cannot_reach() {
    let place = Place::new();
    let script = [
        r#"call write_file {"path":"new.txt","content":"x"}"#,
        r#"call bash {"command":"echo y >> two.rs"}"#,
        r#"call edit_file {"path":"one.rs","old_string":"one","new_string":"eins"}"#,
        r#"call bash {"command":"echo z >> two.rs; false"}"#,
        r#"call bash {"command":"ls"}"#,
        r#"say "done""#,
    ];
    let model = played(&place, &script.join("\n\n"));
    let ran = place.run_with(&["repl", "-y", "-m", &model], "go\n/diff\n/undo\n/exit\n");
    let shown = ran.ok();
    let diff = shown.find("2 commands ran; what they changed is not in here:\n  $ echo y >> two.rs\n  $ echo z");
    assert!(diff.is_some(), "{shown}");
    let undo = &shown[shown.find("took back").unwrap()..];
    for line in ["  removed new.txt", "  restored one.rs", "2 commands ran; what they changed is not taken back:"] {
        assert!(undo.contains(line), "{line}: {undo}");
    }
    assert!(!place.file("new.txt").exists() && !undo.contains("$ ls"), "{undo}");
    assert_eq!(std::fs::read_to_string(place.file("one.rs")).unwrap(), "fn one() {}\n");
}
