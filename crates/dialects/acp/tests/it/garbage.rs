//! Bytes that nobody meant. Each bad line gets exactly one error, nothing is carried out, the conversation goes on.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use serde_json::json;
use testkit::odd::{Dice, garbage, strings};

use crate::talk::AcpTalk;

const PING: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const GOOD: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":"a","method":"session/prompt","params":{"sessionId":"c1","prompt":[{"type":"text","text":"x \ud83d\ude00"}]}}"#,
    r#"{"jsonrpc":"2.0","id":null,"method":"session/cancel","params":{"sessionId":"c1"}}"#,
    r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"c1"}}"#,
    r#"{"id":7,"method":"session/set_mode","params":{"sessionId":"c1","modeId":"plan"}}"#,
    r#"{"jsonrpc":"2.0","id":7,"method":"session/new","params":{"cwd":"/w","mcpServers":[{"name":"x","command":"/x","args":[],"env":[]}]}}"#,
    r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true}}}}"#,
    r#"{"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"selected","optionId":"allow_once"}}}"#,
    r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"no"}}"#,
];
/// Pieces of our own words.
const BITS: &[&str] = &["\"jsonrpc\":\"2.0\"", "\"id\":", "\"method\":", "\"params\":{}", "\"result\":", "\"error\":"];

/// What a line deserves, judged by its JSON and not by the decoder.
enum Deserves {
    Silence,
    /// An error without an id.
    Refusal,
    /// A response with its id, now or later.
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
    let version = value.get("jsonrpc").is_none_or(|version| version == "2.0");
    let id = value.get("id");
    let usable = id.is_none_or(|id| id.is_string() || id.is_number() || id.is_null());
    let named = |method: &serde_json::Value| method.as_str().is_some_and(|name| !name.trim().is_empty());
    match value.get("method").map(named) {
        _ if !version || !usable => Deserves::Refusal,
        Some(false) => Deserves::Refusal,
        Some(true) if id.is_some() => Deserves::Response,
        Some(true) => Deserves::Silence,
        None if id.is_some() && (value.get("result").is_some() || value.get("error").is_some()) => Deserves::Silence,
        None => Deserves::Refusal,
    }
}

fn hear(talk: &mut AcpTalk, line: &[u8]) {
    let (commands, frames) = talk.hear(line);
    let shown = String::from_utf8_lossy(line);
    match judge(line) {
        Deserves::Silence => assert_eq!(frames.len(), 0, "{shown}: {frames:?}"),
        Deserves::Refusal => {
            assert_eq!((commands, frames.len()), (0, 1), "{shown}: {frames:?}");
            assert!(frames[0]["id"].is_null(), "{shown}");
            let code = frames[0]["error"]["code"].as_i64();
            assert!([Some(-32700), Some(-32600)].contains(&code), "{shown}");
        }
        Deserves::Response => {
            let responses = frames.iter().filter(|frame| frame.get("method").is_none()).count();
            assert!(responses == 1 || (responses == 0 && commands > 0), "{shown}: {frames:?}");
        }
    }
    talk.log.clear();
}

#[test]
fn twenty_thousand_lines_of_garbage_get_one_error_each() {
    let mut dice = Dice(43);
    let mut talk = AcpTalk::with(json!({}));
    for number in 0..20_000 {
        // Fresh now and then, so that commands without a reply do not pile up.
        if number % 200 == 0 {
            talk = AcpTalk::with(json!({}));
        }
        hear(&mut talk, &garbage(&mut dice, GOOD, BITS));
        if number % 50 == 0 {
            let (_, frames) = talk.hear(PING);
            assert_eq!(frames.len(), 1, "the next request is answered");
        }
    }
}

proptest! {
    #![proptest_config(Config {
        cases: 2000, rng_seed: RngSeed::Fixed(0xac9), failure_persistence: None, ..Config::default()
    })]

    #[test]
    fn arbitrary_bytes_never_panic(line in proptest::collection::vec(any::<u8>(), 0..80)) {
        let line: Vec<u8> = line.into_iter().filter(|byte| *byte != b'\n').collect();
        hear(&mut AcpTalk::new(), &line);
    }

    #[test]
    fn arbitrary_text_in_place_of_a_value_never_panics(value in any::<String>()) {
        let value = value.replace('\n', " ");
        let params = format!(r#"{{"sessionId":"c1","prompt":{value}}}"#);
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{params}}}"#);
        hear(&mut AcpTalk::with(json!({})), line.as_bytes());
    }
}

#[test]
fn an_id_that_no_text_can_hold_is_refused() {
    for frame in [r#""method":"session/list""#, r#""result":{}"#] {
        let (commands, frames) =
            AcpTalk::new().hear(format!(r#"{{"jsonrpc":"2.0","id":"\ud800",{frame}}}"#).as_bytes());
        assert!(commands == 0 && frames[0]["id"].is_null(), "{frames:?}");
        assert_eq!(frames[0]["error"]["code"], -32600);
    }
}

#[test]
fn awkward_strings_come_back_as_they_were() {
    for text in strings() {
        let id = serde_json::to_string(&text).unwrap();
        let (_, frames) = AcpTalk::new().hear(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{id}}}"#).as_bytes());
        match text.trim().is_empty() {
            true => assert_eq!(frames[0]["error"]["message"], "invalid request"),
            false => {
                assert_eq!((&frames[0]["id"], &frames[0]["error"]["data"]["method"]), (&json!(text), &json!(text)));
            }
        }
        // Said by a model, it arrives whole as well.
        let mut talk = AcpTalk::with(json!({}));
        talk.begin("t1");
        for event in [
            vocab::Event::Delta(vocab::Delta::Text { turn: "t1".into(), delta: text.clone().into() }),
            vocab::Event::Delta(vocab::Delta::Thinking { turn: "t1".into(), delta: text.clone().into() }),
        ] {
            use wire::Dialect;
            talk.acp.tell(&vocab::Told::new("c1".into(), event), &mut talk.out);
            let line: serde_json::Value = serde_json::from_slice(talk.out.frames.as_bytes()).unwrap();
            talk.out.frames.clear();
            assert_eq!(line["params"]["update"]["content"]["text"], text.as_str());
        }
    }
}
