//! The friendly layer, with made-up tool results.

use std::sync::Arc;

use crate::support::names;
use vocab::{CallEnd, Finish, Image, Message, Part};

use crate::support::{Talk, hear, tool_spec};

/// The call a prompt leads to, as `name {arguments}`.
fn called(prompt: &str) -> String {
    let heard = Talk::spelling(names::CANONICAL).prompt(prompt);
    match heard.calls().as_slice() {
        [(_, name, input)] => {
            assert!(!heard.text().is_empty(), "{prompt}: says what it does");
            format!("{name} {input}")
        }
        [] => "nothing".into(),
        more => panic!("{prompt}: {more:?}"),
    }
}

#[test]
fn sentences_lead_to_calls() {
    for (prompt, call) in [
        ("list the rust files", r#"glob {"pattern":"**/*.rs"}"#),
        ("Please list all the Python files!", r#"glob {"pattern":"**/*.py"}"#),
        ("show me the js files", r#"glob {"pattern":"**/*.js"}"#),
        ("list files matching src/*.c", r#"glob {"pattern":"src/*.c"}"#),
        ("find *.toml", r#"glob {"pattern":"**/*.toml"}"#),
        ("list the directory", r#"list_dir {"path":"."}"#),
        ("list the directory src", r#"list_dir {"path":"src"}"#),
        ("ls", r#"list_dir {"path":"."}"#),
        ("read README.md", r#"read_file {"path":"README.md"}"#),
        ("Could you summarise the README?", r#"read_file {"path":"README"}"#),
        ("open src/main.rs please", r#"read_file {"path":"src/main.rs"}"#),
        ("show \"Cargo.toml\"", r#"read_file {"path":"Cargo.toml"}"#),
        ("read Cargo.toml and tell me the edition", r#"read_file {"path":"Cargo.toml"}"#),
        ("search for TODO", r#"grep {"pattern":"TODO"}"#),
        ("grep for \"fn main\" in src/main.rs", r#"grep {"pattern":"fn main","path":"src/main.rs"}"#),
        ("search for joy in life", r#"grep {"pattern":"joy in life"}"#),
        ("create notes.txt with Hello there.", r#"write_file {"path":"notes.txt","content":"Hello there."}"#),
        ("write a file called a/b with content \"x with y\"", r#"write_file {"path":"a/b","content":"x with y"}"#),
        ("create empty.txt", r#"write_file {"path":"empty.txt","content":""}"#),
        ("write a hello world in python", r#"write_file {"path":"hello.py","content":"print(\"Hello, world!\")\n"}"#),
        ("replace foo with bar in a.txt", r#"edit_file {"path":"a.txt","old_string":"foo","new_string":"bar"}"#),
        (
            "replace \"a in b\" with \"c\" in d.txt",
            r#"edit_file {"path":"d.txt","old_string":"a in b","new_string":"c"}"#,
        ),
        ("run cargo test --lib", r#"bash {"command":"cargo test --lib"}"#),
        ("run `git status`", r#"bash {"command":"git status"}"#),
        ("$ echo 'a b'", r#"bash {"command":"echo 'a b'"}"#),
        ("$ echo yes please", r#"bash {"command":"echo yes please"}"#),
        ("run the tests", "nothing"),
        ("read my mind", "nothing"),
        ("write a poem", "nothing"),
        ("list the reasons", "nothing"),
        ("replace the engine", "nothing"),
        ("write a hello world in klingon", "nothing"),
    ] {
        assert_eq!(called(prompt), call, "{prompt}");
    }
}

#[test]
fn tools_are_called_by_the_offered_spelling() {
    for (family, name) in [
        (names::CANONICAL, "glob"),
        (names::SERVE, "glob_search"),
        (names::RPC, "find"),
        (names::LOAF, "glob"),
        (names::DOTTED, "file.glob"),
    ] {
        assert_eq!(Talk::spelling(family).prompt("list the rust files").calls()[0].1, name);
    }
    let mut talk = Talk::new();
    talk.spec.tools = Arc::new([tool_spec("file_glob", "{}")]);
    assert_eq!(talk.prompt("list the rust files").calls()[0].1, "file_glob");
}

#[test]
fn arguments_take_the_names_of_the_schema() {
    let mut talk = Talk::new();
    let schema = r#"{"type":"object","properties":{"file_path":{"type":"string"},"oldText":{},"newText":{}}}"#;
    talk.spec.tools = Arc::new([tool_spec("edit", schema)]);
    let heard = talk.prompt("replace a with b in c.txt");
    assert_eq!(heard.calls()[0].2, r#"{"file_path":"c.txt","oldText":"a","newText":"b"}"#);
}

#[test]
fn a_tool_that_is_not_offered_is_missed_in_words() {
    let mut talk = Talk::new();
    talk.spec.tools = Arc::new([]);
    let heard = talk.prompt("read a.txt");
    assert!(heard.text().contains("`read_file`") && heard.text().contains("does not offer"), "{}", heard.text());
    assert_eq!(heard.finish(), Some(Finish::Stop));
}

fn answered(prompt: &str, output: &str) -> String {
    let mut talk = Talk::new();
    talk.prompt(prompt);
    let heard = talk.result(output);
    assert_eq!((heard.finish(), heard.calls().len()), (Some(Finish::Stop), 0), "{prompt}");
    heard.text()
}

#[test]
fn answers_come_from_the_result() {
    let many: String = (1..=23).map(|n| format!("f{n}.rs\n")).collect();
    for (prompt, output, answer) in [
        ("list the rust files", "", "I found no rust files."),
        ("list the rust files", "No files found", "I found no rust files."),
        ("list the rust files", "a.rs\n", "Found one: a.rs."),
        ("find *.rs", "a.rs\nb.rs\nc.rs\n[2 more]\n", "Found three: a.rs, b.rs and c.rs. The tool adds: [2 more]"),
        (
            "list the rust files",
            &many,
            "Found 23: f1.rs, f2.rs, f3.rs, f4.rs, f5.rs, f6.rs, f7.rs, f8.rs, f9.rs, f10.rs and 13 more.",
        ),
        ("list the directory", "src/\nREADME.md\n", ". has 2 entries: src/ and README.md."),
        ("list the directory", "", ". is empty."),
        ("read a.md", "\nintro\n# Title\nmore\n", "a.md has 4 lines. Its first heading is \"Title\"."),
        ("read a.txt", "just this\n", "a.txt has 1 line. It begins with \"just this\"."),
        ("read a.md", "     1\t# Title\n     2\tmore\n", "a.md has 2 lines. Its first heading is \"Title\"."),
        ("read a.txt", "L1: AAA", "a.txt has 1 line. It begins with \"AAA\"."),
        ("read a.txt", "", "a.txt is empty."),
        ("read a.txt", "[the file is empty]", "a.txt is empty."),
        ("read a.json", "[1]", "a.json has 1 line. It begins with \"[1]\"."),
        (
            "read a.txt",
            "x\ny\n[lines 1-2 of 9; read on with offset 3]",
            "I saw 2 lines of a.txt. It begins with \"x\". The tool adds: [lines 1-2 of 9; read on with offset 3]",
        ),
        ("search for x", "", "I found no match for \"x\"."),
        ("search for x", "a.rs:1:x\nb.rs:2:xy\n", "The search for \"x\" gave 2 lines:\n  a.rs:1:x\n  b.rs:2:xy"),
        ("create a.txt with one", "ok", "Done: a.txt now holds 1 line."),
        ("replace a with b in c.txt", "ok", "Done: \"a\" is now \"b\" in c.txt."),
        ("run true", "", "`true` ended with exit 0 and printed nothing."),
        ("run x", "a\n[exit 3 after 2 s]", "`x` ended with exit 3: a"),
        ("run x", "exit 3 doors down", "`x` ended with exit 0: exit 3 doors down"),
        ("run echo hi", "hi\n", "`echo hi` ended with exit 0: hi"),
        (
            "run x",
            "1\n2\n3\n4\n5\n6\n7\n[exit code: 3]\n",
            "`x` ended with exit 3. Its last lines:\n  3\n  4\n  5\n  6\n  7",
        ),
    ] {
        assert_eq!(answered(prompt, output), answer, "{prompt}: {output:?}");
    }
}

#[test]
fn a_no_is_accepted_kindly_and_the_turn_ends() {
    let mut talk = Talk::new();
    talk.prompt("create a.txt with x");
    let heard = talk.outcome("not today", CallEnd::Denied, true);
    assert_eq!(heard.text(), "You said no; I left it alone: not today");
    assert_eq!((heard.finish(), heard.calls().len()), (Some(Finish::Stop), 0));
}

#[test]
fn failures_are_reported_as_they_are() {
    for (prompt, end, text, answer) in [
        ("read a.txt", CallEnd::Ran, "no such file: a.txt", "That did not work: no such file: a.txt"),
        ("read a.txt", CallEnd::Ran, " ", "That did not work: read_file failed without saying why."),
        ("run false", CallEnd::Ran, "exit code 1", "`false` ended with exit 1 and printed nothing."),
        ("run x", CallEnd::Ran, "x: not found\nexited with code 127", "`x` ended with exit 127: x: not found"),
        ("run x", CallEnd::Ran, "timed out", "`x` failed: timed out"),
        ("read a.txt", CallEnd::Unknown, "?", "I asked for read_file, but there is no such tool here: ?"),
        ("read a.txt", CallEnd::Invalid, "path missing", "read_file did not accept my arguments: path missing"),
        ("read a.txt", CallEnd::Interrupted, "", "read_file was interrupted before it was done."),
        ("read a.txt", CallEnd::Skipped, "", "read_file was skipped; nothing was done."),
        ("read a.txt", CallEnd::Lost, "", "The result of read_file was lost; it may or may not have done its work."),
    ] {
        let mut talk = Talk::new();
        talk.prompt(prompt);
        assert_eq!(talk.outcome(text, end, true).text(), answer, "{prompt} {text:?}");
    }
}

#[test]
fn the_tour_looks_reads_asks_to_write_and_says_how_to_go_on() {
    let mut talk = Talk::new();
    let heard = talk.prompt("Tour");
    assert_eq!(heard.calls()[0].1, "glob_search");
    let heard = talk.result("Cargo.toml\nREADME.md\n");
    assert!(
        heard.text().starts_with("Found two: Cargo.toml and README.md. Next I read README.md."),
        "{}",
        heard.text()
    );
    assert_eq!(heard.calls(), [("call_1_0".into(), "read_file".into(), r#"{"path":"README.md"}"#.into())]);
    let heard = talk.result("# Demo\n");
    assert!(heard.text().starts_with("README.md has 1 line. Its first heading is \"Demo\". Now I would like"));
    assert_eq!(heard.calls()[0].1, "write_file");
    assert!(heard.calls()[0].2.starts_with(r#"{"path":"tour.txt","content":""#));
    let heard = talk.outcome("not now", CallEnd::Denied, true);
    assert!(heard.text().starts_with("You said no; I left it alone: not now That was the tour."), "{}", heard.text());
    assert!(heard.text().contains("OPENAI_BASE_URL and OPENAI_API_KEY"));
    assert_eq!((heard.finish(), heard.calls().len()), (Some(Finish::Stop), 0));
}

#[test]
fn a_second_tour_does_not_remember_the_first() {
    let mut talk = Talk::new();
    talk.prompt("tour");
    talk.result("a.c\n");
    talk.result("ok");
    let heard = talk.prompt("tour");
    assert!(heard.text().starts_with("Welcome to the tour."), "{}", heard.text());
    assert_eq!(heard.calls()[0].0, "call_0_0");
}

#[test]
fn a_tour_without_readme_or_tools_is_shorter() {
    let mut talk = Talk::new();
    talk.prompt("tour");
    assert_eq!(talk.result("a.c\n").calls()[0].1, "write_file");
    assert!(talk.result("ok").text().starts_with("Thank you: tour.txt is written. That was the tour."));
    let mut talk = Talk::new();
    talk.spec.tools = Arc::new([]);
    assert!(talk.prompt("tour").text().starts_with("That was the tour."));
}

#[test]
fn it_says_what_it_is_and_how_to_get_a_real_model() {
    for prompt in ["help", "What can you do?", "prove the Riemann hypothesis", "", "fix the bug in main.rs"] {
        let heard = Talk::new().prompt(prompt);
        let text = heard.text();
        for word in ["built-in", "OPENAI_BASE_URL", "OPENAI_API_KEY", "--model"] {
            assert!(text.contains(word), "{prompt}: {word}: {text}");
        }
        assert_eq!((heard.finish(), heard.calls().len()), (Some(Finish::Stop), 0));
    }
    assert!(Talk::new().prompt("Hello there!").text().starts_with("Hello!"));
}

#[test]
fn the_three_prompts_it_recommends_work() {
    let text = Talk::new().prompt("prove the Riemann hypothesis").text();
    let prompts: Vec<&str> = text.split('"').skip(1).step_by(2).collect();
    assert_eq!(prompts.len(), 3, "{text}");
    for prompt in prompts {
        assert_eq!(Talk::new().prompt(prompt).calls().len(), 1, "{prompt}");
    }
}

#[test]
fn images_are_not_pretended_to_be_seen() {
    let mut talk = Talk::new();
    let image = Image { mime: "image/png".into(), base64: "AAAA".into() };
    talk.push(&Message::User(vec![Part::text("what is this"), Part::Image(image)]));
    assert!(hear(talk.stream()).text().starts_with("I cannot see pictures."));
    assert_eq!(talk.bytes(), 12 + 4);
}
