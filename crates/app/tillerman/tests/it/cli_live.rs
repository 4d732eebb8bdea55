//! The live terminal: a sign of life, lines typed ahead, and a terminal that is left as it was found.

use crate::cli::Place;
use crate::typist::{typed, typed_line};

const SCREEN: (u16, u16) = (100, 40);

/// A place whose model plays this script.
fn playing(script: &str) -> Place {
    let place = Place::new().env("TILLERMAN_MODEL", "script:model.script");
    std::fs::write(place.file("model.script"), script).unwrap();
    place
}

/// Says something, then nothing for longer than any test waits.
const STALLS: &str = "turn\nsay \"here I am\"\npause 600000\n\nsay \"again\"\n";
/// Says something, thinks, and wants to run a command.
const ASKS: &str = "turn\nsay \"wait for it\"\npause 700\ncall bash {\"command\":\"touch ALLOWED\"}\n\nsay \"well\"\n";

#[test]
fn whatever_is_waited_for_shows_itself_and_leaves_nothing_behind() {
    for (size, stops) in [((100, 40), "Ctrl-C stops"), ((40, 15), "^C stops")] {
        let steps = [("answering: script", ""), ("1 s", ""), (stops, "\u{3}"), ("interrupting", "")];
        let (code, seen) = typed(&playing(STALLS), size, &["run", "go"], &steps);
        assert_eq!(code, Some(130), "{seen}");
        assert!(seen.contains("here I am") && seen.contains("interrupted"), "{seen}");
        assert!(!seen.contains("answering:") && !seen.contains(stops), "it is gone: {seen}");
    }
}

#[test]
fn a_silent_command_shows_itself() {
    let place = playing("turn\ncall bash {\"command\":\"sleep 600\"}\n\nsay done\n");
    let (code, seen) = typed(&place, SCREEN, &["run", "-y", "go"], &[("running bash sleep 600 ·", "\u{3}")]);
    assert!(code == Some(130) && seen.contains("✗ interrupted"), "{code:?} {seen}");
}

#[test]
fn a_server_that_does_not_list_its_models_shows_itself_and_can_be_stopped() {
    let mute = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", mute.local_addr().unwrap());
    for command in [&["run", "hi"][..], &["repl"]] {
        // No model is named: the server's list has to tell.
        let place = Place::new().env("TILLERMAN_MODEL", "").env("OPENAI_BASE_URL", &url);
        let (code, seen) = typed(&place, SCREEN, command, &[("looking for models ·", "\u{3}")]);
        assert!(code == Some(130) && !seen.contains("looking for models"), "{code:?} {seen}");
    }
}

#[test]
fn a_terminal_that_cannot_be_drawn_on_is_told_once() {
    let place = playing("turn\npause 600000\n").env("TERM", "dumb");
    let (_, seen) =
        typed(&place, SCREEN, &["run", "go"], &[("waiting for script:model.script · Ctrl-C stops", "\u{3}")]);
    assert_eq!(seen.matches("waiting for").count(), 1, "{seen}");
}

#[test]
fn a_pipe_gets_no_sign_of_life() {
    let place = playing("turn\npause 600\nsay \"done\"\n");
    let ran = place.run(&["run", "go"]);
    assert_eq!((ran.out.as_str(), ran.code), ("done\n", Some(0)));
    assert!(!ran.err.contains("waiting"), "{}", ran.err);
    assert!(!ran.err.contains('\u{1b}'), "{}", ran.err);
}

#[test]
fn lines_typed_while_it_works_all_run_in_order_and_the_half_typed_one_stays() {
    let place = Place::new();
    let steps = [
        ("> ", "slow 150 say 20 words\r"),
        ("w3", "say AAA\rsay BBB\r/version\rsay C"),
        ("queued: /version", ""),
        ("> say AAA", ""),
        ("> say BBB", ""),
        ("> /version", ""),
        ("> say C", "CC\r"),
        ("> say CCC", ""),
        ("tokens in", "/exit\r"),
    ];
    let (code, seen) = typed(&place, SCREEN, &["repl"], &steps);
    assert_eq!(code, Some(0), "{seen}");
    let words: Vec<String> = (1..=20).map(|n| format!("w{n}")).collect();
    assert!(seen.contains(&words.join(" ")), "the answer is as it would be without: {seen}");
    let order = ["w20", "> say AAA", "\nAAA", "> say BBB", "\nBBB", "> /version", "tillerman 0", "> say CCC", "\nCCC"];
    let mut rest = seen.as_str();
    for part in order {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part} is not behind the others: {seen}"));
        rest = &rest[at + part.len()..];
    }
    assert!(!seen.contains("queued:"), "what was drawn is gone: {seen}");
}

#[test]
fn a_paste_of_several_lines_loses_none() {
    let steps = [("> ", "say ONE\rsay TWO\rsay THREE\r"), ("> say THREE", ""), ("tokens in", "\u{4}")];
    let (code, seen) = typed(&Place::new(), SCREEN, &["repl"], &steps);
    assert_eq!(code, Some(0), "{seen}");
    for answer in ["\nONE\n", "\nTWO\n", "\nTHREE\n"] {
        assert!(seen.contains(answer), "{answer:?}: {seen}");
    }
}

#[test]
fn escape_stops_the_turn_and_runs_none_of_the_lines_that_wait() {
    let steps = [
        ("> ", "go\r"),
        ("here I am", "say NEVER\r"),
        ("queued: say NEVER", "\u{1b}"),
        ("the queued line was not run", ""),
        ("interrupted", ""),
        ("> ", "/exit\r"),
    ];
    let (code, seen) = typed(&playing(STALLS), SCREEN, &["repl"], &steps);
    assert_eq!(code, Some(0), "{seen}");
    assert!(!seen.contains("> say NEVER") && !seen.contains("^["), "{seen}");
}

#[test]
fn what_was_typed_before_a_question_of_run_is_no_answer_to_it() {
    let place = playing(ASKS);
    let steps = [("wait for it", "y\ry"), ("[?]", "\r"), ("type y, n, a or ?", ""), ("[?]", "n\r")];
    let (code, seen) = typed(&place, SCREEN, &["run", "go"], &steps);
    assert_eq!(code, Some(0), "{seen}");
    assert!(!place.file("ALLOWED").exists() && seen.contains("denied by the user"), "{seen}");
}

#[test]
fn a_burst_of_answers_allows_nothing_that_was_not_shown() {
    for command in [&["run", "go"][..], &["repl"]] {
        let script = format!(
            "call bash {}\n\nsay done\n",
            serde_json::json!({
            "command": format!("echo first\n{}touch last.txt", "true\n".repeat(300)) })
        );
        let place = playing(&script);
        let mut steps =
            vec![("[?]", "y\ry\r"), ("nothing is allowed yet", ""), ("[?]", "n\r"), ("denied by the user", "")];
        if command[0] == "repl" {
            steps.insert(0, ("> ", "go\r"));
            // The second yes waited for its turn.
            steps.extend([("> y", ""), ("> ", "\u{3}\u{4}")]);
        }
        let (_, seen) = typed(&place, SCREEN, command, &steps);
        assert!(!place.file("last.txt").exists(), "{seen}");
    }
}

#[test]
fn a_question_is_asked_at_the_terminal_also_when_stdin_is_a_pipe() {
    let place = playing(ASKS);
    let (code, seen) = typed_line(&place, SCREEN, "echo piped | $TILLERMAN run go", &[("[?]", "y\r"), ("well", "")]);
    assert!(place.file("ALLOWED").exists() && code == Some(0), "{code:?} {seen}");
}

#[test]
fn in_the_background_nobody_is_asked_and_nothing_stops() {
    let place = playing(ASKS);
    let (_, seen) = typed_line(&place, SCREEN, "$TILLERMAN run go & wait $!; echo ended with $?", &[]);
    assert!(seen.contains("ended with 3") && seen.contains("nobody can be asked here"), "{seen}");
    assert!(!place.file("ALLOWED").exists() && !seen.contains("Stopped"), "{seen}");
}

#[test]
fn a_stop_gives_the_terminal_back_and_the_turn_goes_on_afterwards() {
    let line = "$TILLERMAN run go; stty -a | grep -wo echo; fg; stty -a | grep -wo echo; echo the end";
    let steps = [("answering: script", "\u{1a}"), ("echo", ""), ("answering: script", "\u{3}"), ("the end", "")];
    let (code, seen) = typed_line(&playing(STALLS), SCREEN, line, &steps);
    assert_eq!(code, Some(0), "{seen}");
    assert_eq!(seen.lines().filter(|line| line.trim() == "echo").count(), 2, "the terminal echoes again: {seen}");
}

#[test]
fn a_reader_that_leaves_early_ends_it_quietly() {
    let place = playing("turn\nsay \"one\\n\"\npause 100\nsay \"two\\n\"\npause 100\nsay \"three\"\n");
    let (_, seen) = typed_line(&place, SCREEN, "$TILLERMAN run go | head -1; echo the end", &[]);
    assert!(seen.contains("one\n") && seen.contains("the end") && !seen.contains("interrupting"), "{seen}");
}

#[test]
fn a_question_beside_a_pipe_has_its_choices() {
    let place = playing(ASKS);
    let (_, seen) = typed_line(&place, SCREEN, "$TILLERMAN run go | cat", &[("[y]es [n]o", "y\r"), ("well", "")]);
    assert!(place.file("ALLOWED").exists(), "{seen}");
}

#[test]
fn lines_of_both_streams_do_not_run_into_each_other() {
    let place = playing("turn\nsay \"I look\"\ncall list_dir {\"path\":\".\"}\n\nsay \"done\"\n");
    let (_, seen) = typed_line(&place, SCREEN, "$TILLERMAN run go 2>&1 | cat", &[]);
    assert!(seen.contains("I look\ntillerman: ● list_dir .\ndone\n"), "{seen}");
}

#[test]
fn who_comes_back_sees_what_was_said_last() {
    let place = Place::new();
    let (_, left) = typed(&place, SCREEN, &["repl"], &[("> ", "say HELLO\r"), ("tokens in", "\u{4}")]);
    let line =
        left.lines().find(|line| line.contains("resume with: tillerman repl --resume ")).expect("how to come back");
    let id = line.trim().rsplit(' ').next().unwrap();
    let (code, seen) = typed(&place, SCREEN, &["repl", "--resume", id], &[("> say HELLO", ""), ("> ", "/exit\r")]);
    assert!(code == Some(0) && seen.contains("> say HELLO\nHELLO\n"), "{code:?} {seen}");
}

#[test]
fn quiet_prints_the_answer_alone() {
    let place = playing("turn\nsay \"I look\"\ncall list_dir {\"path\":\".\"}\n\nsay \"done\"\n");
    let ran = place.run(&["run", "-q", "go"]);
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.code), ("done\n", "", Some(0)));
    let (_, seen) = typed(&place, SCREEN, &["run", "-q", "go"], &[]);
    assert_eq!(seen.trim_end(), "done");
}

#[test]
fn a_repl_whose_questions_nobody_can_read_takes_no_answers() {
    let place = playing(ASKS);
    let line = "$TILLERMAN repl > out.txt; echo ended";
    let (_, seen) = typed_line(&place, SCREEN, line, &[("", "go\ny\n\u{4}"), ("ended", "")]);
    assert!(!place.file("ALLOWED").exists() && seen.contains("nobody can be asked here"), "{seen}");
}

#[test]
fn a_repl_works_on_a_terminal_that_cannot_be_drawn_on() {
    let place = playing(ASKS).env("TERM", "dumb");
    let steps = [("> ", "go\n"), ("wait for it", "y\n"), ("[?]", "n\n"), ("well", ""), ("> ", "/exit\n")];
    let (code, seen) = typed(&place, SCREEN, &["repl"], &steps);
    assert!(code == Some(0) && seen.contains("denied by the user"), "{code:?} {seen}");
    assert!(!place.file("ALLOWED").exists(), "{seen}");
}
