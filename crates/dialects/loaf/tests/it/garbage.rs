//! Bytes that nobody meant. Each bad line gets exactly one error, nothing is carried out, the conversation goes on.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use testkit::odd::{Dice, garbage, strings};

use crate::talk::Talk;

const GOOD: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"method":"system.ping"}"#,
    r#"{"jsonrpc":"2.0","id":"a","method":"session.steer","params":{"session_id":"s1","text":"x \ud83d\ude00"}}"#,
    r#"{"jsonrpc":"2.0","id":null,"method":"session.interrupt","params":{"session_id":"s1"}}"#,
    r#"{"jsonrpc":"2.0","method":"system.shutdown"}"#,
    r#"{"jsonrpc":"2.0","id":7,"method":"debug.set","params":{"super_debug":true}}"#,
    r#"{"jsonrpc":"2.0","id":7,"method":"command.execute","params":{"session_id":"s1","raw_command":"/help"}}"#,
    r#"{"jsonrpc":"2.0","id":7,"method":"rpc.handshake","params":{"protocol_version":"1.0.0"}}"#,
];
/// Pieces of our own words.
const BITS: &[&str] = &["\"jsonrpc\":\"2.0\"", "\"id\":", "\"method\":", "\"params\":{}"];

/// What a line deserves, judged by its JSON and not by the decoder.
enum Deserves {
    Silence,
    /// An error without an id.
    Refusal,
    /// A response with its id.
    Response,
}

fn judge(line: &[u8]) -> Deserves {
    if line.iter().all(|byte| b" \t\r".contains(byte)) {
        return Deserves::Silence;
    }
    let Ok(text) = wire::check(line) else { return Deserves::Refusal };
    let Ok(value) = serde_json::from_str::<serde_json::Value>(&wire::replace_lone_surrogates(text)) else {
        // A number that is too large for everybody: any one answer will do.
        return Deserves::Response;
    };
    let method = value["method"].as_str().is_some_and(|name| !name.trim().is_empty());
    match value.get("id") {
        _ if value["jsonrpc"] != "2.0" || !method => Deserves::Refusal,
        None => Deserves::Silence,
        Some(id) if id.is_string() || id.is_number() || id.is_null() => Deserves::Response,
        Some(_) => Deserves::Refusal,
    }
}

fn hear(talk: &mut Talk, line: &[u8]) {
    talk.strict = false;
    let (commands, frames) = talk.hear(line);
    let shown = String::from_utf8_lossy(line);
    match judge(line) {
        Deserves::Silence => assert_eq!((commands, frames.len()), (0, 0), "{shown}"),
        Deserves::Refusal => {
            assert_eq!((commands, frames.len()), (0, 1), "{shown}");
            assert!(frames[0]["id"].is_null(), "{shown}");
            let code = frames[0]["error"]["code"].as_i64();
            assert!([Some(-32700), Some(-32600)].contains(&code), "{shown}");
        }
        Deserves::Response => {
            // A damaged request can still mean something, such as a shutdown; it says so in the end.
            let responses = frames.iter().filter(|frame| frame.get("params").is_none()).count();
            assert!(responses == 1 || (responses == 0 && commands > 0), "{shown}");
        }
    }
    talk.log.clear();
}

#[test]
fn twenty_thousand_lines_of_garbage_get_one_error_each() {
    let mut dice = Dice(42);
    let mut talk = Talk::on(1);
    for number in 0..20_000 {
        // Fresh now and then, so that commands without a reply do not pile up.
        if number % 200 == 0 || talk.out.close.is_some() {
            talk = Talk::on(1);
        }
        hear(&mut talk, &garbage(&mut dice, GOOD, BITS));
        if number % 50 == 0 {
            let (_, frames) = talk.hear(br#"{"jsonrpc":"2.0","id":1,"method":"system.ping"}"#);
            assert_eq!(frames.len(), 1, "the next request is answered");
        }
    }
}

proptest! {
    #![proptest_config(Config {
        cases: 2000, rng_seed: RngSeed::Fixed(0x10af), failure_persistence: None, ..Config::default()
    })]

    #[test]
    fn arbitrary_bytes_never_panic(line in proptest::collection::vec(any::<u8>(), 0..80)) {
        let line: Vec<u8> = line.into_iter().filter(|byte| *byte != b'\n').collect();
        hear(&mut Talk::new(), &line);
    }

    #[test]
    fn arbitrary_text_in_place_of_a_value_never_panics(value in any::<String>()) {
        let value = value.replace('\n', " ");
        let params = format!(r#"{{"session_id":"s1","text":{value}}}"#);
        hear(&mut Talk::on(1), format!(r#"{{"jsonrpc":"2.0","id":1,"method":"session.send","params":{params}}}"#).as_bytes());
    }
}

#[test]
fn awkward_strings_come_back_as_they_were() {
    for text in strings() {
        let id = serde_json::to_string(&text).unwrap();
        let mut talk = Talk::new();
        talk.strict = false;
        let (_, frames) = talk.hear(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{id}}}"#).as_bytes());
        if text.trim().is_empty() {
            assert_eq!(frames[0]["error"]["message"], "invalid request");
            continue;
        }
        assert_eq!(frames[0]["id"], text.as_str());
        assert_eq!(frames[0]["error"]["data"]["method"], text.as_str());
        // Said by a model, it arrives whole as well.
        let mut talk = Talk::on(1);
        talk.ask("session.send", r#"{"session_id":"s1","text":"x"}"#).begin("c1", "e1", &text);
        talk.out.frames.clear();
        for event in [
            vocab::Event::Delta(vocab::Delta::Text { turn: "e1".into(), delta: text.clone().into() }),
            vocab::Event::Delta(vocab::Delta::Thinking { turn: "e1".into(), delta: text.clone().into() }),
        ] {
            use wire::Dialect;
            talk.loaf.tell(&vocab::Told::new("c1".into(), event), &mut talk.out);
        }
        let (_, frames) = talk.drain();
        let chunks: Vec<_> = frames.iter().filter(|line| line["params"]["type"] == "session.stream.chunk").collect();
        assert_eq!(chunks.len(), 2);
        for chunk in chunks {
            assert_eq!(chunk["params"]["payload"]["chunk"]["segments"][0]["text"], text.as_str());
        }
    }
}
