//! `tillerman` without a command, and the project around the directory it is started in.

use crate::cli::{Place, Ran};
use crate::typist::{LARGE, typed};

#[test]
fn on_a_terminal_it_is_a_conversation() {
    let place = Place::new();
    let steps = [("> ", "say one and two\r"), ("one and two", ""), ("> ", "/exit\r")];
    let (code, seen) = typed(&place, LARGE, &[], &steps);
    assert_eq!(code, Some(0), "{seen}");
    let list = place.run(&["sessions", "list"]).ok();
    assert!(list.contains("say one and two"), "{list}");
    // With the flags of a conversation, too.
    let (code, seen) =
        typed(&place, LARGE, &["-c", "--mode", "plan"], &[("> ", "/status\r"), ("plan", ""), ("> ", "/exit\r")]);
    assert_eq!(code, Some(0), "{seen}");
}

#[test]
fn words_are_a_prompt_and_a_pipe_is_added() {
    let place = Place::new();
    for args in [&["list the rust files"][..], &["list", "the", "rust", "files"], &["-p", "list the rust files"]] {
        let answer = place.run(args).ok();
        assert!(answer.contains("one.rs"), "{args:?}: {answer}");
    }
    let piped = place.run_with(&[], "list the rust files\n").ok();
    assert!(piped.contains("two.rs"), "{piped}");
    let resumed = place.run(&["-c", "--json", "say it again"]).ok();
    assert!(resumed.contains("\"resumed\":true"), "{resumed}");
    place.run(&["-y", "-m", "tour", "create new.txt with hello"]).ok();
    assert_eq!(std::fs::read_to_string(place.file("new.txt")).unwrap().trim_end(), "hello");
}

#[test]
fn without_anything_to_say_or_anybody_to_say_it_there_is_help() {
    let place = Place::new();
    let Ran { code, out, err } = place.run(&[]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(err.contains("Usage: tillerman") && err.contains("Examples:"), "{err}");
    place.run(&["-p"]).fails(2, "error: there is no prompt");
}

#[test]
fn a_slip_is_not_sent_to_a_model() {
    let place = Place::new();
    place.run(&["rum"]).fails(2, "a similar subcommand exists: 'run'");
    place.run(&["sesions", "list"]).fails(2, "a similar subcommand exists: 'sessions'");
    place.run(&["run", "--modle", "x", "hi"]).fails(2, "a similar argument exists: '--model'");
    assert_eq!(place.run(&["sessions", "list"]).ok(), "no saved sessions\n");
}

/// A repository with a directory in it, and a command that is started there.
fn below(place: &Place, args: &[&str]) -> Ran {
    let deep = place.file("deep/er");
    std::fs::create_dir_all(place.file(".git")).unwrap();
    std::fs::create_dir_all(&deep).unwrap();
    let mut command = place.command(args);
    let output = command.current_dir(deep).stdin(std::process::Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn the_workspace_is_the_repository_around_us_unless_one_is_named() {
    let place = Place::new();
    let read = below(&place, &["run", "read one.rs"]).ok();
    assert!(read.contains("fn one"), "{read}");
    place.run(&["run", "-c", "say from the root"]).ok();
    let shown = below(&place, &["sessions", "show", "latest"]).ok();
    assert!(shown.contains("read one.rs") && shown.contains("say from the root"), "{shown}");
    assert_eq!(below(&place, &["sessions", "list", "-w", "."]).ok().lines().count(), 2);
    let named = below(&place, &["run", "--json", "-w", ".", "list the rust files"]).ok();
    assert!(named.lines().next().unwrap().contains("/work/deep/er\""), "{named}");
    // What is named on the command line is found from where we stand.
    below(&place, &["sessions", "export", "latest", "talk.jsonl"]).ok();
    assert!(place.file("deep/er/talk.jsonl").exists());
    below(&place, &["run", "--resume", "talk.jsonl", "say once more"]).ok();
}

#[test]
fn the_model_is_told_where_we_stand_and_what_lies_on_the_way_there() {
    let mock = testkit::mock_model::MockModel::start_blocking();
    let place = Place::new().env("TILLERMAN_MODEL", "").env("OPENAI_BASE_URL", &mock.base_url);
    std::fs::create_dir_all(place.file("deep/er")).unwrap();
    std::fs::write(place.file("deep/AGENTS.md"), "Answer in verse.\n").unwrap();
    std::fs::create_dir_all(place.home()).unwrap();
    let trust = format!("trusted_workspaces = ['{}']\n", place.work().display());
    std::fs::write(place.home().join("config.toml"), trust).unwrap();
    below(&place, &["run", "hello"]).ok();
    let sent = mock.last_chat().to_string();
    assert!(sent.contains("The user stands in `deep/er` of the workspace"), "{sent}");
    assert!(sent.contains("Answer in verse."), "{sent}");
    place.run(&["run", "hello"]).ok();
    assert!(!mock.last_chat().to_string().contains("The user stands in"));
}

#[test]
fn the_settings_of_the_repository_count_below_its_root() {
    let place = Place::new();
    std::fs::write(place.file(".tillerman.toml"), "mode = 'read-only'\n").unwrap();
    assert_eq!(below(&place, &["config", "get", "mode"]).ok(), "read-only\n");
    let ran = below(&place, &["run", "create x.txt with y"]);
    assert!(!place.file("x.txt").exists() && !place.file("deep/er/x.txt").exists(), "{}", ran.err);
    let session = below(&place, &["run", "--json", "say hi"]).ok();
    assert!(session.contains("\"mode\":\"read-only\""), "{session}");
}
