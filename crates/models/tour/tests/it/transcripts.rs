//! The prompts that the golden conversations of the dialects rely on, delta by delta.

use crate::support::names;
use vocab::{CallEnd, FaultKind, Finish};

use crate::support::Talk;

#[test]
fn serve_plain_turn() {
    let heard = Talk::new().prompt("say 3 words");
    assert_eq!(heard.texts(), ["w1 ", "w2 ", "w3"]);
    assert_eq!((heard.finish(), heard.calls().len()), (Some(Finish::Stop), 0));
    assert_eq!(Talk::new().prompt("say 1 words").texts(), ["w1"]);
}

#[test]
fn serve_tool_allow() {
    let mut talk = Talk::new();
    let heard = talk.prompt(r#"say "I'll glob." call glob_search {"pattern":"**/*.py"} then say "Found two.""#);
    assert_eq!(heard.texts(), ["I'll ", "glob."]);
    assert_eq!(heard.calls(), [("call_0_0".into(), "glob_search".into(), r#"{"pattern":"**/*.py"}"#.into())]);
    let heard = talk.result("a.py\nb.py\n");
    assert_eq!((heard.texts(), heard.finish()), (vec!["Found ", "two."], Some(Finish::Stop)));
}

#[test]
fn serve_deny_and_mutations() {
    let mut talk = Talk::new();
    let prompt = r#"call write_file {"path":"x.txt","content":"1"} then call write_file {"path":"y.txt","content":"2"} then say done"#;
    let heard = talk.prompt(prompt);
    let input = r#"{"path":"x.txt","content":"1"}"#;
    assert_eq!(heard.calls(), [("call_0_0".into(), "write_file".into(), input.into())]);
    assert!(heard.texts().is_empty());
    let heard = talk.outcome("not x", CallEnd::Denied, true);
    let input = r#"{"path":"y.txt","content":"2"}"#;
    assert_eq!(heard.calls(), [("call_1_0".into(), "write_file".into(), input.into())]);
    assert_eq!(talk.result("ok").texts(), ["done"]);
}

#[test]
fn serve_interrupt_stream() {
    let heard = Talk::new().prompt("stall 2 say 5 words");
    assert_eq!((heard.texts(), heard.silent, heard.ends()), (vec!["w1 ", "w2 "], true, 0));
}

#[test]
fn serve_seed_example_in_plain_words() {
    let mut talk = Talk::new();
    let heard = talk.prompt("list the python files");
    assert_eq!(heard.text(), "I'll glob for *.py.");
    let input = r#"{"pattern":"**/*.py"}"#;
    assert_eq!(heard.calls(), [("call_0_0".into(), "glob_search".into(), input.into())]);
    assert_eq!(talk.result("a.py\nb.py\n").text(), "Found two: a.py and b.py.");
}

#[test]
fn loaf_tool_turn() {
    let mut talk = Talk::spelling(names::LOAF);
    let heard = talk.prompt(r#"think 2 words say 2 words call read_file {"file_path":"/w/a.txt"} then say 2 words"#);
    assert_eq!((heard.thoughts(), heard.texts()), (vec!["t1 ", "t2"], vec!["w1 ", "w2"]));
    let input = r#"{"file_path":"/w/a.txt"}"#;
    assert_eq!(heard.calls(), [("call_0_0".into(), "read_file".into(), input.into())]);
    assert_eq!(talk.result("L1: AAA").texts(), ["w1 ", "w2"]);
}

#[test]
fn gateway_tool_round_ends_with_done() {
    let mut talk = Talk::spelling(names::DOTTED);
    let heard = talk.prompt(r#"call shell.exec {"command":"echo hi"}"#);
    assert_eq!(heard.calls()[0].1, "shell.exec");
    assert_eq!(talk.result("hi\n").text(), "done");
}

#[test]
fn gateway_hang_and_fail401() {
    let heard = Talk::new().prompt("hang");
    assert!(heard.silent && heard.events.is_empty());
    let heard = Talk::new().prompt("fail401");
    assert_eq!(heard.fault().unwrap().fault.kind, FaultKind::Auth);
}
