//! Bytes that nobody meant. Each bad line gets exactly one response, nothing is carried out, the conversation goes on.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use serde_json::Value;
use testkit::odd::{Dice, garbage};

use crate::talk::Talk;

/// What a host writes besides commands.
const ANSWERS: &[&str] = &["extension_ui_response", "host_tool_update", "host_tool_result"];

const GOOD: &[&str] = &[
    r#"{"id":"a","type":"prompt","message":"hello \ud83d\ude00"}"#,
    r#"{"id":7,"type":"get_state"}"#,
    r#"{"type":"abort"}"#,
    r#"{"type":"host_tool_result","id":"x","result":{"content":[{"type":"text","text":"t"}]},"isError":false}"#,
    r#"{"type":"extension_ui_response","id":"x","confirmed":true}"#,
    r#"{"type":"set_todos","phases":[{"name":"P","tasks":[{"content":"c","status":"pending"}]}]}"#,
    r#"{"type":"set_host_tools","tools":[{"name":"t","description":"d","parameters":{}}]}"#,
];
/// Pieces of our own words.
const BITS: &[&str] = &["\"message\":", "\"id\":"];

/// Whether a line names something that we know, judged without the decoder.
fn is_known(line: &[u8]) -> bool {
    let Ok(text) = wire::check(line) else { return false };
    let value = serde_json::from_str::<Value>(&wire::replace_lone_surrogates(text)).unwrap_or_default();
    let kind = value["type"].as_str().unwrap_or_default();
    dialect_rpc::COMMANDS.iter().any(|(name, _)| *name == kind) || ANSWERS.contains(&kind)
}

fn hear_garbage(talk: &mut Talk, line: &[u8]) {
    let (commands, frames) = talk.hear(line);
    let shown = String::from_utf8_lossy(line);
    if line.iter().all(|byte| b" \t\r".contains(byte)) {
        assert_eq!((commands.len(), frames.len()), (0, 0), "{shown}");
    } else if is_known(line) {
        // Done, refused, or an answer that nobody waits for: never both.
        assert!(frames.len() <= 1 && (commands.is_empty() || frames.is_empty()), "{shown}: {commands:?} {frames:?}");
    } else {
        assert_eq!((commands.len(), frames.len()), (0, 1), "{shown}: {frames:?}");
        assert_eq!((&frames[0]["type"], &frames[0]["success"]), (&"response".into(), &false.into()), "{shown}");
        assert!(frames[0]["error"].as_str().is_some_and(|error| !error.is_empty()), "{shown}");
    }
}

#[test]
fn twenty_thousand_lines_of_garbage_get_one_response_each() {
    let mut dice = Dice(42);
    let mut talk = Talk::open();
    for number in 0..20_000 {
        if number % 200 == 0 {
            // Fresh now and then, so that commands without a reply do not pile up.
            talk = Talk::open();
        }
        hear_garbage(&mut talk, &garbage(&mut dice, GOOD, BITS));
        if number % 50 == 0 {
            let (_, frames) = talk.hear(r#"{"id":"g","type":"get_subagents"}"#);
            assert_eq!(frames[0]["id"], "g", "the next good line is obeyed");
        }
    }
}

proptest! {
    #![proptest_config(Config {
        cases: 2000, rng_seed: RngSeed::Fixed(0x7bc), failure_persistence: None, ..Config::default()
    })]

    #[test]
    fn arbitrary_bytes_never_panic(line in proptest::collection::vec(any::<u8>(), 0..80)) {
        let line: Vec<u8> = line.into_iter().filter(|byte| *byte != b'\n').collect();
        hear_garbage(&mut Talk::open(), &line);
    }

    #[test]
    fn arbitrary_text_in_place_of_a_value_never_panics(value in any::<String>(), at in 0..dialect_rpc::COMMANDS.len()) {
        let (name, _) = dialect_rpc::COMMANDS[at];
        let value = value.replace('\n', " ");
        hear_garbage(&mut Talk::open(), format!(r#"{{"type":"{name}","message":{value}}}"#).as_bytes());
    }
}

/// The public suite, looked for beside each directory above this crate.
fn suite() -> Option<PathBuf> {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    above.map(|above| above.join("shared/data/jsontestsuite/test_parsing")).find(|path| path.is_dir())
}

#[test]
#[allow(clippy::print_stderr, reason = "a skipped test must say so")]
fn the_public_suite_as_a_line_and_as_a_member() {
    let Some(suite) = suite() else { return eprintln!("SKIP: jsontestsuite is not there") };
    let mut prompts = 0;
    for file in std::fs::read_dir(suite).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).unwrap();
        // None of the files is a message: one response each, or silence for the blank ones.
        let (commands, frames) = Talk::open().hear(&bytes);
        assert_eq!((commands.len(), frames.len()), (0, usize::from(!bytes.trim_ascii().is_empty())), "{name}");
        let malformed = |frame: &Value| frame["command"] == "parse";
        let refused = name.starts_with("n_") || name.starts_with("y_object_duplicated_key");
        if let Some(frame) = frames.first().filter(|_| !name.starts_with("i_")) {
            assert_eq!(malformed(frame), refused, "{name}: {frame}");
        }
        let line = [br#"{"type":"prompt","message":"#, &bytes[..], b"}"].concat();
        let (commands, frames) = Talk::open().hear(&line);
        assert_eq!(commands.len() + frames.len(), 1, "{name}");
        let is_text = serde_json::from_slice::<String>(&bytes).is_ok();
        match &name[..2] {
            "n_" => assert!(commands.is_empty() && malformed(&frames[0]), "{name}"),
            "y_" if is_text && !refused => prompts += usize::from(commands.len() == 1),
            "y_" if refused => assert!(malformed(&frames[0]), "{name}: {frames:?}"),
            "y_" => assert_eq!(frames[0]["command"], "prompt", "{name}: {frames:?}"),
            _ => {}
        }
    }
    assert!(prompts >= 2, "{prompts}");
}
