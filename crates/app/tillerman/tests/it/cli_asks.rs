//! A person at a terminal sees all of what they allow, and allows nothing that they have not seen.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::cli::Place;
use crate::typist::{LARGE, typed};

/// A place whose model makes this one call.
fn calling(tool: &str, input: &Value) -> Place {
    let place = Place::new();
    std::fs::write(place.file("model.script"), format!("call {tool} {input}\n\nsay done\n")).unwrap();
    place
}

/// `run` at a screen of this size.
fn run(place: &Place, size: (u16, u16), steps: &[(&str, &str)]) -> (Option<i32>, String) {
    typed(place, size, &["run", "--model", "script:model.script", "go"], steps)
}

fn long_script() -> Value {
    json!({ "command": format!("echo first\n{}touch last.txt", "true\n".repeat(300)) })
}

#[test]
fn a_script_that_does_not_fit_is_not_allowed_before_it_was_shown() {
    for size in [(100, 40), (40, 15)] {
        let place = calling("bash", &long_script());
        let (code, seen) = run(&place, size, &[("[?]", "y\n"), ("nothing is allowed yet", ""), ("[?]", "n\n")]);
        let (before, after) = seen.split_once("▲").expect("a warning");
        assert!(before.contains("│ echo first") && !before.contains("last.txt"), "{seen}");
        let (_, screen) = seen.split_once("● ").expect("the call");
        let screen = screen.split("[?]").next().unwrap_or_default();
        assert!(screen.lines().count() < usize::from(size.1), "it fits on the screen: {seen}");
        assert!(after.contains("bytes not shown") && after.contains("│ touch last.txt"), "{seen}");
        assert!(after.contains("✗ denied by the user"), "{seen}");
        assert!(!place.file("last.txt").exists() && code == Some(0), "{code:?} {seen}");
    }
    for answers in [["y\n", "y\n"], ["?\n", "y\n"], ["a\n", "a\n"]] {
        let place = calling("bash", &long_script());
        let (code, seen) = run(&place, (100, 40), &[("[?]", answers[0]), ("touch last.txt", ""), ("[?]", answers[1])]);
        assert!(place.file("last.txt").exists() && code == Some(0), "{code:?} {seen}");
    }
}

#[test]
fn in_a_repl_too() {
    let place = calling("bash", &long_script());
    let steps = [("> ", "go\n"), ("[?]", "y\n"), ("nothing is allowed yet", ""), ("[?]", "n\n"), ("> ", "/exit\n")];
    let (code, seen) = typed(&place, (100, 40), &["repl", "--model", "script:model.script"], &steps);
    assert!(seen.contains("│ touch last.txt") && seen.contains("denied by the user"), "{seen}");
    assert!(!place.file("last.txt").exists() && code == Some(0), "{code:?} {seen}");
}

#[test]
fn what_was_typed_before_a_question_is_no_answer_to_it() {
    let place = Place::new();
    let script = "turn\nsay \"wait for it\"\npause 700\ncall bash {\"command\":\"touch ALLOWED\"}\n\nsay \"well\"\n";
    std::fs::write(place.file("model.script"), script).unwrap();
    let steps = [("> ", "hi\r"), ("wait for it", "y\r"), ("[y]es", "n\r"), ("denied", ""), ("> ", "\u{4}")];
    let (code, seen) = typed(&place, (100, 40), &["repl", "--model", "script:model.script"], &steps);
    assert_eq!(code, Some(0), "{seen}");
    assert!(!place.file("ALLOWED").exists(), "{seen}");
    assert!(seen.contains("denied by the user"), "{seen}");
}

/// `serve` with a model that makes one call; somebody does something between its question and the yes. All that was said.
fn allowed_after(place: &Place, call: &str, meanwhile: impl Fn()) -> String {
    std::fs::write(place.file("model.script"), format!("call {call}\n\nsay done\n")).unwrap();
    let mut serve = place.command(&["serve", "--model", "script:model.script", "--permission-mode", "prompt"]);
    let mut serve = serve.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = serve.stdin.take().unwrap();
    let mut seen = String::new();
    writeln!(input, "{}", json!({ "type": "prompt", "text": "go" })).unwrap();
    for line in BufReader::new(serve.stdout.take().unwrap()).lines() {
        let frame: Value = serde_json::from_str(&line.unwrap()).unwrap();
        seen.push_str(&format!("{frame}\n"));
        if frame["type"] == "permission_request" {
            meanwhile();
            let id = &frame["request_id"];
            let answer = json!({ "type": "permission_response", "request_id": id, "decision": "allow" });
            writeln!(input, "{answer}").unwrap();
        }
        if frame["type"] == "turn_complete" {
            break;
        }
    }
    drop(input);
    serve.wait().unwrap();
    seen
}

const CHANGED: &str = "has changed since it was asked about";

#[test]
fn a_file_that_is_another_by_the_time_of_the_yes_is_not_written() {
    for swapped in [false, true] {
        let place = Place::new();
        std::fs::write(place.file("a.txt"), "old\n").unwrap();
        std::fs::write(place.file("Makefile"), "all:\n").unwrap();
        let seen = allowed_after(&place, r#"write_file {"path":"a.txt","content":"new\n"}"#, || {
            if swapped {
                std::fs::remove_file(place.file("a.txt")).unwrap();
                std::os::unix::fs::symlink("Makefile", place.file("a.txt")).unwrap();
            }
        });
        assert_eq!(seen.contains(CHANGED), swapped, "{seen}");
        let text = std::fs::read_to_string(place.file("a.txt")).unwrap();
        assert_eq!(text, if swapped { "all:\n" } else { "new\n" }, "{seen}");
    }
}

#[test]
fn a_command_runs_in_the_directory_that_was_shown_or_not_at_all() {
    for swapped in [false, true] {
        let place = Place::new();
        std::fs::create_dir(place.file("d")).unwrap();
        std::fs::create_dir(place.file("e")).unwrap();
        let seen = allowed_after(&place, r#"bash {"command":"touch RAN","cwd":"d"}"#, || {
            if swapped {
                std::fs::rename(place.file("d"), place.file("old")).unwrap();
                std::os::unix::fs::symlink("e", place.file("d")).unwrap();
            }
        });
        assert_eq!(seen.contains(CHANGED), swapped, "{seen}");
        assert_eq!(place.file("d/RAN").exists(), !swapped, "{seen}");
    }
}

#[test]
fn nothing_hides_in_a_command() {
    let command = format!("cargo test{}; rm x\rls \u{1b}[2K l\u{200b}s  ", " ".repeat(200));
    let input = json!({ "command": command, "cwd": "/etc", "pty": true, "run_in_background": true });
    let (_, seen) = run(&calling("bash", &input), LARGE, &[("[?]", "n\n")]);
    for said in [
        "  │ cargo test<200 blanks>; rm x␍ls ␛[2K l<U+200B>s··\n",
        "  directory: /etc\n",
        "  runs: in the background, on a terminal of 80x24\n",
        "  a  allow exactly this call from now on, in this session\n",
    ] {
        assert!(seen.contains(said), "{said} is not in: {seen}");
    }
}

#[test]
fn a_write_is_shown_to_its_last_column_and_its_name_cannot_pose_as_a_question() {
    let content = format!("x = 1{}; evil()\n{}; more()\n", " ".repeat(500), "y".repeat(500));
    let input = json!({ "path": "a\nAllow ls?\u{1b}[2K", "content": content });
    let (_, seen) = run(&calling("write_file", &input), (100, 40), &[("[?]", "n\n")]);
    for said in
        ["  a␊Allow ls?␛[2K:\n", "+x = 1<500 blanks>; evil()\n", "; more()\n", "Allow write a␊Allow ls?␛[2K (+2 -0)?"]
    {
        assert!(seen.contains(said), "{said} is not in: {seen}");
    }
    assert!(
        seen.contains("  a  allow every write_file that needs workspace-write from now on, in this session\n"),
        "{seen}"
    );
}

#[test]
fn what_a_question_cannot_carry_is_in_the_input_and_that_has_to_be_shown_first() {
    let content = format!("{}the end", "0123456789abcde\n".repeat(60_000));
    let place = calling("write_file", &json!({ "path": "big.txt", "content": content }));
    let steps = [
        ("[?]", "?\n"),
        ("lines, 697863 bytes more are not shown here", ""),
        ("not shown: type ? to see the whole input", ""),
        ("[?]", "y\n"),
        ("│ the end", ""),
        ("nothing is allowed yet", ""),
        ("[?]", "y\n"),
    ];
    let (code, seen) = run(&place, (100, 40), &steps);
    assert!(code == Some(0), "{}", &seen[seen.len().saturating_sub(2000)..]);
    assert!(seen.contains("│ the end") && seen.contains("nothing is allowed yet"), "the whole input was shown first");
    assert_eq!(std::fs::read_to_string(place.file("big.txt")).unwrap(), content);
}

#[test]
fn the_list_of_tasks_asks_nobody_in_any_mode() {
    for mode in ["read-only", "plan", "prompt", "workspace-write", "danger-full-access"] {
        let place = calling("todo", &json!({ "todos": [{ "content": "look", "status": "pending" }] }));
        let ran = place.run(&["run", "--json", "--model", "script:model.script", "--mode", mode, "go"]);
        assert!(!ran.out.contains("\"permission\"") && ran.out.contains("[ ] look"), "{mode}: {}", ran.out);
    }
}

#[test]
fn a_plain_no_is_the_users_for_the_model_too() {
    let place = calling("bash", &json!({ "command": "touch x" }));
    let (_, seen) = run(&place, LARGE, &[("[?]", "n\n")]);
    assert!(seen.contains("✗ denied by the user") && !seen.contains("controller"), "{seen}");
    let shown = place.run(&["sessions", "show", "latest"]).ok();
    assert!(shown.contains("bash (denied)\ndenied by the user"), "{shown}");
}

#[test]
fn a_spent_budget_is_asked_about_and_a_yes_to_tools_is_none_to_money() {
    let script = "call glob {\"pattern\":\"*\"}\n\nsay done\n";
    let args = ["run", "--model", "script:model.script", "--budget", "turn.rounds=1", "go"];
    for (key, code, last) in [("y\n", 0, "done"), ("a\n", 0, "done"), ("n\n", 3, "budget of 1 tool round is spent")] {
        let place = Place::new();
        std::fs::write(place.file("model.script"), script).unwrap();
        let steps = [("[?]", "?\n"), ("lift the budget", ""), ("another 1 tool round?", ""), ("[?]", key)];
        let (ended, seen) = typed(&place, (120, 40), &args, &steps);
        assert!(seen.contains("go on with another 1 tool round?") && seen.contains(last), "{seen}");
        assert!(seen.contains("a  lift the budget turn.rounds for this session"), "{seen}");
        assert_eq!(ended, Some(code), "{seen}");
    }
    let place = Place::new();
    std::fs::write(place.file("model.script"), script).unwrap();
    place.run(&args).fails(3, "budget of 1 tool round is spent");
    place.run(&[&args[..], &["--yes"]].concat()).fails(3, "budget of 1 tool round is spent");
    place.run(&["run", "--model", "tour", "--budget", "turn.usd=0", "hi"]).fails(2, "a limit is above 0");
}
