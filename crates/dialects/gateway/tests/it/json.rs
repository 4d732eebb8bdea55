//! J2-J5: JSON at its corners. None of it is a request, so each frame gets one refusal, and what is refused is refused for what
//! it is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dialect_gateway::{AuthState, Gateway, GatewayOptions, GatewayOwn, Scopes};
use serde_json::Value;
use testkit::fakes::{CountedIds, TickingClock};
use testkit::odd::strings;
use wire::{Dialect, Frame, Out};

/// What comes of one frame on a connection of its own: commands, calls, and frames.
fn hear(frame: &[u8]) -> (usize, Vec<Value>) {
    let clock: Arc<TickingClock> = Arc::default();
    let options = Arc::new(GatewayOptions::new("0.1.0", clock, Arc::new(CountedIds::default())));
    let mut gateway = Gateway::new(options, "c1".into(), AuthState::Known { scopes: Scopes::ALL }, None);
    let mut out: Out<GatewayOwn> = Out::new();
    gateway.hear(Frame::Whole(frame), &mut out);
    let frames = out.frames.frames().map(|frame| serde_json::from_slice(frame).expect("JSON")).collect();
    (out.commands.len() + out.own.len(), frames)
}

fn code(frames: &[Value]) -> i64 {
    frames[0]["error"]["code"].as_i64().unwrap_or_default()
}

/// The public suite, looked for beside each directory above this crate.
fn suite() -> Option<PathBuf> {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    above.map(|above| above.join("shared/data/jsontestsuite/test_parsing")).find(|path| path.is_dir())
}

#[test]
#[allow(clippy::print_stderr, reason = "a skipped test must say so")]
fn j2_the_public_suite_as_a_frame_and_as_a_member() {
    let Some(suite) = suite() else { return eprintln!("SKIP: jsontestsuite is not there") };
    let (mut files, mut messages) = (0, 0);
    for file in std::fs::read_dir(suite).expect("the suite") {
        let path = file.expect("a file").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).expect("its bytes");
        files += 1;
        // No file is a request: each gets one refusal.
        let (asked, frames) = hear(&bytes);
        assert_eq!((asked, frames.len(), &frames[0]["id"]), (0, 1, &Value::Null), "{name}: {frames:?}");
        let refused = name.starts_with("n_") || name.starts_with("y_object_duplicated_key");
        if !name.starts_with("i_") {
            assert_eq!(code(&frames) == -1, refused, "{name}: {frames:?}");
        }
        let member = [br#"{"id":1,"method":"agent.send","params":{"message":"#, &bytes[..], b"}}"].concat();
        let (asked, frames) = hear(&member);
        assert!(asked + frames.len() >= 1 && (asked == 0 || frames.is_empty()), "{name}: {frames:?}");
        let is_text = serde_json::from_slice::<String>(&bytes).is_ok_and(|text| !text.trim().is_empty());
        match &name[..2] {
            "n_" => assert!(asked == 0 && code(&frames) == -1, "{name}: {frames:?}"),
            "y_" if refused => assert!(asked == 0 && code(&frames) == -1, "{name}: {frames:?}"),
            "y_" if is_text => {
                assert_eq!(asked, 1, "{name}: {frames:?}");
                messages += 1;
            }
            "y_" => assert_eq!((code(&frames), frames[0]["error"]["data"]["param"].as_str()), (-2, Some("message"))),
            _ => {}
        }
    }
    assert!(files == 318 && messages >= 1, "{files} {messages}");
}

#[test]
fn j3_depth_has_a_limit() {
    for depth in [127, 128, 129, 1_000, 100_000] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let inside = if open == "[" { "" } else { "1" };
            let value = format!("{}{inside}{}", open.repeat(depth), close.repeat(depth));
            let frame = format!(
                r#"{{"id":1,"method":"canvas.put","params":{{"artifactId":"a","type":"t","content":{value}}}}}"#
            );
            let (asked, frames) = hear(frame.as_bytes());
            match depth {
                // The frame and its params are two levels.
                ..=126 => assert_eq!(asked, 1),
                127..=129 => assert_eq!(asked + frames.len(), 1, "{depth}"),
                _ => assert_eq!((asked, code(&frames)), (0, -1), "{depth}"),
            }
        }
    }
}

#[test]
fn j4_awkward_text_is_refused_or_made_good_in_every_string_field() {
    let mut tried = 0;
    for text in strings() {
        for field in [
            r#""method":"agent.send","params":{"message":?}"#,
            r#""method":"agent.send","params":{"message":"m","idempotencyKey":?}"#,
            r#""method":"agent.send","params":{"message":"m","modelTier":?}"#,
            r#""method":"agent.send","params":{"message":"m","sessionId":?}"#,
            r#""method":?"#,
            r#""method":"sessions.create","params":{"title":?}"#,
            r#""method":"tools.execute","params":{"tool":?}"#,
            r#""method":"tools.execute","params":{"tool":"shell.exec","args":{"command":?}}"#,
            r#""method":"canvas.put","params":{"artifactId":?,"type":"t","content":1}"#,
            r#""method":"canvas.put","params":{"artifactId":"a","type":"t","content":?}"#,
            r#""method":"events.subscribe","params":{"topics":[?]}"#,
            r#""method":"node.register","params":{"nodeId":?,"role":"r","protocolVersion":1,"capabilities":[]}"#,
        ] {
            let json = serde_json::to_string(&text).expect("JSON");
            let (_, frames) = hear(format!("{{\"id\":1,{}}}", field.replace('?', &json)).as_bytes());
            assert!(frames.len() <= 2, "{field} {text:?}");
            tried += 1;
        }
    }
    // Half a character, as an escape and as bytes.
    for (escaped, asked) in
        [(&br#""a\ud800b""#[..], 1), (b"\"a\xffb\"", 0), (b"\"a\xed\xa0\x80b\"", 0), (b"\"a\x00b\"", 0)]
    {
        let frame = [br#"{"id":1,"method":"agent.send","params":{"message":"#, escaped, b"}}"].concat();
        assert_eq!(hear(&frame).0, asked, "{}", String::from_utf8_lossy(escaped));
    }
    assert!(tried >= 60 * 12, "{tried}");
}

#[test]
fn j5_ids_come_back_as_they_were_or_are_refused() {
    let ask = |id: &str| {
        let frame = format!(r#"{{"id":{id},"method":"events.unsubscribe","params":{{"subscriptionId":1}}}}"#);
        hear(frame.as_bytes()).1.remove(0)
    };
    for good in ["0", "1", "9007199254740991"] {
        assert_eq!(ask(good)["id"].to_string(), good);
    }
    for bad in [
        "9007199254740992",
        "-1",
        "-0.5",
        "1.5",
        "1e3",
        "1e999",
        "\"1\"",
        "null",
        "true",
        "[1]",
        "{}",
        "18446744073709551616",
        "1E400",
        "0.0",
        "\"\"",
    ] {
        let answer = ask(bad);
        assert!(answer["id"].is_null() && answer["error"]["code"] == -2, "{bad}: {answer}");
    }
    for twice in [
        r#"{"id":1,"id":2,"method":"system.info"}"#,
        r#"{"id":1,"method":"system.info","method":"sessions.delete"}"#,
        r#"{"id":1,"method":"sessions.delete","params":{"sessionId":"a:1","sessionId":"a:2"}}"#,
        r#"{"id":1,"method":"canvas.put","params":{"artifactId":"a","type":"t","content":{"x":1,"x":2}}}"#,
        r#"{"id":1,"method":"system.info","params":{"\u0061":1,"a":2}}"#,
    ] {
        let (asked, frames) = hear(twice.as_bytes());
        assert_eq!((asked, code(&frames)), (0, -1), "{twice}: {frames:?}");
    }
}
