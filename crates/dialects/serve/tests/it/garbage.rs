//! Bytes that nobody meant. Each bad line gets exactly one error, nothing is carried out, the conversation goes on.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use serde_json::Value;
use testkit::odd::{Dice, garbage};

use crate::schema::Schema;
use crate::talk::Talk;

const GOOD: &[&str] = &[
    r#"{"type":"prompt","text":"hello \ud83d\ude00"}"#,
    r#"{"type":"slash","command":"/status","args":"a b"}"#,
    r#"{"type":"interrupt"}"#,
    r#"{"type":"permission_response","request_id":"r1","decision":"deny","reason":null}"#,
    r#"{"type":"prompt","session":"a","text":"x"}"#,
    r#"{"type":"open","session":"a","resume":"latest"}"#,
    r#"{"type":"close","session":"a"}"#,
];
/// Pieces of our own words.
const BITS: &[&str] = &["\"text\":", "\"session\":"];

/// Whether a line means something, judged by the published schema and not by the decoder.
fn means_something(schema: &Schema, definition: &str, line: &[u8]) -> bool {
    let Ok(text) = wire::check(line) else { return false };
    let text = wire::replace_lone_surrogates(text);
    serde_json::from_str::<Value>(&text).is_ok_and(|value| schema.check(definition, &value).is_ok())
}

fn hear_garbage(talk: &mut Talk, schema: &Schema, definition: &str, line: &[u8]) {
    let (commands, frames) = talk.hear_bytes(line);
    let shown = String::from_utf8_lossy(line);
    if line.iter().all(|byte| b" \t\r".contains(byte)) {
        assert_eq!((commands, frames.len()), (0, 0), "{shown}");
    } else if means_something(schema, definition, line) {
        assert!(commands + frames.len() <= 1, "{shown}");
    } else {
        assert_eq!((commands, frames.len()), (0, 1), "{shown}");
        assert_eq!(frames[0]["type"], "error", "{shown}");
        assert_eq!(frames[0]["origin"], "local", "{shown}");
        assert!(["malformed_json", "invalid_message"].contains(&frames[0]["code"].as_str().unwrap()), "{shown}");
    }
    talk.log.clear();
}

#[test]
fn twenty_thousand_lines_of_garbage_get_one_error_each() {
    let schema = crate::schema::published();
    for (definition, good) in
        [("inbound1", r#"{"type":"slash","command":"status"}"#), ("inbound2", r#"{"type":"interrupt","session":"z"}"#)]
    {
        let mut dice = Dice(42);
        let mut talk = Talk::open();
        for number in 0..20_000 {
            if number % 200 == 0 {
                // Fresh now and then, so that commands without a reply do not pile up.
                talk = if definition == "inbound1" { Talk::open() } else { Talk::multi() };
                talk.hear(r#"{"type":"open","session":"z"}"#);
                if definition == "inbound2" {
                    talk.reply(1, Ok(crate::talk::opened("s1")));
                }
            }
            hear_garbage(&mut talk, schema, definition, &garbage(&mut dice, GOOD, BITS));
            if number % 50 == 0 {
                assert_eq!(talk.hear_bytes(good.as_bytes()), (1, vec![]), "the next good line is obeyed");
            }
        }
    }
}

proptest! {
    #![proptest_config(Config {
        cases: 2000, rng_seed: RngSeed::Fixed(0x5e27e), failure_persistence: None, ..Config::default()
    })]

    #[test]
    fn arbitrary_bytes_never_panic(line in proptest::collection::vec(any::<u8>(), 0..80)) {
        let line: Vec<u8> = line.into_iter().filter(|byte| *byte != b'\n').collect();
        hear_garbage(&mut Talk::open(), crate::schema::published(), "inbound1", &line);
    }

    #[test]
    fn arbitrary_text_in_place_of_a_value_never_panics(value in any::<String>()) {
        let line = format!(r#"{{"type":"prompt","text":{}}}"#, value.replace('\n', " "));
        hear_garbage(&mut Talk::open(), crate::schema::published(), "inbound1", line.as_bytes());
    }
}

/// The public suite, looked for beside each directory above this crate.
fn suite() -> Option<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|above| above.join("shared/data/jsontestsuite/test_parsing"))
        .find(|path| path.is_dir())
}

#[test]
fn the_public_suite_as_a_line_and_as_a_member() {
    let Some(suite) = suite() else {
        eprintln!("SKIP: jsontestsuite is not there");
        return;
    };
    let mut prompts = 0;
    for file in std::fs::read_dir(suite).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).unwrap();
        // None of the files is a message: one error each, or silence for the two blank ones.
        let (commands, frames) = Talk::open().hear_bytes(&bytes);
        assert_eq!((commands, frames.len()), (0, usize::from(!bytes.trim_ascii().is_empty())), "{name}");
        let refused = name.starts_with("n_") || name.starts_with("y_object_duplicated_key");
        if let Some(frame) = frames.first()
            && !name.starts_with("i_")
        {
            assert_eq!(frame["code"], if refused { "malformed_json" } else { "invalid_message" }, "{name}");
        }
        let line = [br#"{"type":"prompt","text":"#, &bytes[..], b"}"].concat();
        let (commands, frames) = Talk::open().hear_bytes(&line);
        assert_eq!(commands + frames.len(), 1, "{name}");
        let is_text = serde_json::from_slice::<String>(&bytes).is_ok();
        match &name[..2] {
            "n_" => assert_eq!((commands, frames[0]["code"].as_str()), (0, Some("malformed_json")), "{name}"),
            "y_" if refused => assert_eq!(frames[0]["code"], "malformed_json", "{name}"),
            "y_" if is_text => prompts += usize::from(commands == 1 || frames[0]["code"] == "empty_prompt"),
            "y_" => assert_eq!(frames[0]["message"], "prompt.text: expected a string", "{name}"),
            _ => {}
        }
    }
    assert!(prompts >= 2, "{prompts}");
}
