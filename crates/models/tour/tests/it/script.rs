//! Recorded turns.

use crate::support::names;
use expect_test::{Expect, expect};
use tour::Script;
use vocab::{FaultKind, Finish, Provider};

use crate::grammar::shown;
use crate::support::Talk;

const SEED: &str = r#"
# the first example of the serve protocol
turn
delta "I'll glob "
delta "for *.py."
id call_1
call glob_search {"pattern":"**/*.py"}
usage 400 20

delta "Found two: a.py and b.py."
usage 420 14
"#;

fn talk(text: &str) -> Talk {
    let script = Script::parse(text).unwrap();
    let model = script.resolve(script.slug()).unwrap();
    Talk::with(script.chat(&model).unwrap(), names::SERVE)
}

#[test]
fn plays_the_seed_example_to_the_letter() {
    let mut talk = talk(SEED);
    let first = talk.prompt("list the python files");
    assert_eq!(first.texts(), ["I'll glob ", "for *.py."]);
    assert_eq!(first.calls(), [("call_1".into(), "glob_search".into(), r#"{"pattern":"**/*.py"}"#.into())]);
    let second = talk.result("a.py\nb.py\n");
    assert_eq!(second.texts(), ["Found two: a.py and b.py."]);
    assert_eq!(second.finish(), Some(Finish::Stop));
    let mut usage = first.usage().unwrap();
    usage.add(&second.usage().unwrap());
    assert_eq!((usage.input, usage.output), (820, 34));
}

#[test]
fn every_line_kind_plays() {
    let mut talk = talk(
        "think \"so\"\nsay \"a b\"\nsay 2 words\ncall x badjson {oops\ncall y {}\nfinish length\n\n\nreply\nturn\nfail 429 retry-after 500\nreply\nsay x\ncut\nreply\nfinish stop\nreply\nhold",
    );
    let mut all: Vec<String> = Vec::new();
    for _ in 0..5 {
        all.push(shown(&talk.prompt("whatever")));
    }
    expect![[r#"
        thinking "so"
        text "a "
        text "b"
        text "w1 "
        text "w2"
        call 0 call_0_0 x 
        call 0 + {oops
        call 1 call_0_1 y 
        call 1 + {}
        usage 2 5
        finished Length

        failed RateLimited Some(429) Some(500)

        text "x"
        failed StreamCut None None

        usage 13 1
        finished Stop

        silent"#]]
    .assert_eq(&all.join("\n\n"));
}

#[test]
fn a_script_that_is_over_says_so_and_how_long_it_was() {
    let mut talk = talk(SEED);
    talk.prompt("a");
    talk.prompt("b");
    for _ in 0..2 {
        let heard = talk.prompt("c");
        let fault = heard.fault().unwrap();
        assert_eq!((fault.fault.kind, fault.retryable, heard.ends()), (FaultKind::BadRequest, false, 1));
        assert_eq!(fault.fault.message, "script:(text) has 2 replies and all of them were played");
    }
}

#[test]
fn compaction_does_not_rewind_it_and_a_new_chat_does() {
    let script = Script::parse("say a\n\nsay b").unwrap();
    let model = script.resolve(script.slug()).unwrap();
    let mut talk = Talk::with(script.chat(&model).unwrap(), names::SERVE);
    assert_eq!(talk.prompt("x").text(), "a");
    talk.clear();
    assert_eq!(talk.prompt("x").text(), "b");
    let mut talk = Talk::with(script.chat(&model).unwrap(), names::SERVE);
    assert_eq!(talk.prompt("x").text(), "a");
}

#[test]
fn a_file_is_its_own_model() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("demo.script");
    std::fs::write(&path, "say hi\r\n\r\nsay ho\r\n").unwrap();
    let script = Script::load(&path).unwrap();
    let slug = format!("script:{}", path.display());
    assert_eq!(script.slug(), slug);
    let fault = script.resolve("tour").unwrap_err();
    assert_eq!(fault.kind, FaultKind::UnknownModel);
    assert!(fault.message.contains(&slug));
    let mut talk = Talk::with(script.chat(&script.resolve(&slug).unwrap()).unwrap(), names::SERVE);
    assert_eq!(talk.prompt("x").text(), "hi");
    assert_eq!(talk.prompt("x").text(), "ho");
    assert!(talk.prompt("x").fault().unwrap().fault.message.contains("demo.script has 2 replies"));
}

#[test]
fn a_missing_or_broken_file_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("demo.script");
    let fault = Script::load(&path).unwrap_err();
    assert_eq!(fault.kind, FaultKind::NotFound);
    assert!(fault.message.contains("demo.script"));
    std::fs::write(&path, "say hi\nsya ho\n").unwrap();
    let fault = Script::load(&path).unwrap_err();
    assert!(fault.message.ends_with("demo.script:2: `sya` is not a word of a script (column 1)"), "{fault}");
    std::fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(Script::load(&path).is_err());
}

fn check_error(text: &str, expected: Expect) {
    let fault = Script::parse(text).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Invalid);
    expected.assert_eq(&fault.message);
}

#[test]
fn errors_name_the_line() {
    check_error("", expect!["(text): the script has no replies"]);
    check_error("# only a comment\n\nreply\n", expect!["(text): the script has no replies"]);
    check_error("say hi\n\nsay \"open", expect!["(text):3: the closing quote is missing (column 5)"]);
    check_error(
        "say hi\ncall x {\"a\":}",
        expect![
            "(text):2: the arguments are not JSON (expected value at line 1 column 6); `badjson` sends any text (column 8)"
        ],
    );
    check_error("say hi\nid call_1\n\ncall x {}", expect!["(text):2: the id `call_1` is followed by no call"]);
    check_error("say hi\nid call_1", expect!["(text):2: the id `call_1` is followed by no call"]);
    check_error(
        "say hi then say ho",
        expect!["(text):1: replies are separated by a blank line or `reply`, not `then` (column 1)"],
    );
    check_error(
        "fail 500 2",
        expect![
            "(text):1: in a file each reply is one try: write the failing reply as often as it is to fail (column 1)"
        ],
    );
    check_error("pause long", expect!["(text):1: expected a number of milliseconds, at most 3600000 (column 7)"]);
    check_error("finish now", expect!["(text):1: `finish` knows stop, length, refusal and tool_use (column 8)"]);
    check_error("delta bare", expect!["(text):1: expected text in double quotes (column 7)"]);
}
