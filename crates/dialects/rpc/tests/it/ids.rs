//! What an id comes back as: exactly what was sent.

use serde_json::json;
use vocab::{Event, Fault, FaultKind, Reply, SessionId, Told};
use wire::{Dialect, Out};

use crate::talk::{Talk, inspected, state};

const IDS: &[&str] = &[
    r#""req_1""#,
    "7",
    "-0.50",
    "1e400",
    "123456789012345678901234567890",
    r#""""#,
    "null",
    "true",
    r#""\u00e4\ud83d\ude00 \"x\"""#,
    "\"ä😀\u{2028}\"",
    r#"{"a":[1,null,{"b":"c"}]}"#,
    "[1,2]",
];

/// The line that answers `get_state`, as bytes.
fn answer(id: &str, result: Result<Reply, Fault>) -> String {
    let mut talk = Talk::open();
    let (commands, _) = talk.hear(format!(r#"{{"id":{id},"type":"get_state"}}"#));
    let mut out = Out::new();
    let event = Event::Reply { tag: commands[0].tag, result };
    talk.rpc.tell(&Told::new(SessionId::from("s1"), event), &mut out);
    String::from_utf8(out.frames.as_bytes().to_vec()).unwrap()
}

#[test]
fn an_id_is_echoed_to_the_letter() {
    for id in IDS {
        let line = answer(id, Ok(inspected(state("s1"))));
        let expected = format!(r#"{{"id":{id},"type":"response","command":"get_state","success":true,"data":"#);
        assert!(line.starts_with(&expected), "{id}: {line}");
    }
}

#[test]
fn an_id_that_no_text_can_hold_is_refused() {
    for id in [r#""\ud800""#, r#""a\udc00""#, r#"["\ud83dx"]"#] {
        let (commands, frames) = Talk::open().hear(format!(r#"{{"id":{id},"type":"get_state"}}"#));
        assert!(commands.is_empty() && frames.len() == 1 && frames[0].get("id").is_none(), "{id}: {frames:?}");
        assert_eq!(frames[0]["success"], false, "{frames:?}");
    }
    // Half a pair elsewhere is no reason.
    let (commands, _) = Talk::open().hear(r#"{"id":"a","type":"set_session_name","name":"\ud800"}"#);
    assert_eq!(commands.len(), 1);
}

#[test]
fn without_an_id_there_is_none() {
    let mut talk = Talk::open();
    let (commands, _) = talk.hear(r#"{"type":"get_state"}"#);
    let (_, frames) = talk.reply(commands[0].tag, Ok(inspected(state("s1"))));
    assert!(frames[0].get("id").is_none(), "{frames:?}");
}

#[test]
fn a_command_that_fails_is_answered_under_its_id() {
    let line = answer("7", Err(Fault::new(FaultKind::Internal, "no")));
    assert!(line.starts_with(r#"{"id":7,"type":"response","command":"get_state","success":false,"#), "{line}");
    let mut older = Talk::with(crate::talk::seed());
    let (commands, _) = older.hear(r#"{"id":7,"type":"get_state"}"#);
    let (_, frames) = older.reply(commands[0].tag, Err(Fault::new(FaultKind::Internal, "no")));
    assert_eq!((&frames[0]["id"], &frames[0]["command"]), (&7.into(), &"parse".into()), "{frames:?}");
}

#[test]
fn an_unknown_command_is_answered_under_its_id_unless_the_host_is_older() {
    for (line, id, command) in [
        (r#"{"id":"a","type":"frobnicate"}"#, json!("a"), json!("frobnicate")),
        (r#"{"id":7,"type":["x"]}"#, json!(7), json!(["x"])),
        (r#"{"id":"h","type":"host_tool_result"}"#, json!("h"), json!("host_tool_result")),
        (r#"{"id":"x"}"#, json!("x"), json!(null)),
        ("42", json!(null), json!(null)),
    ] {
        let (_, frames) = Talk::open().hear(line);
        assert_eq!((frames[0]["id"].clone(), frames[0]["command"].clone()), (id, command.clone()), "{frames:?}");
        assert!(frames[0]["error"].as_str().unwrap().starts_with("Unknown command: "), "{frames:?}");
        let (_, frames) = Talk::with(crate::talk::seed()).hear(line);
        assert_eq!((frames[0].get("id"), frames[0]["command"].clone()), (None, command), "{frames:?}");
    }
}

#[test]
fn a_list_that_nobody_gives_is_answered_with_the_model_that_is_known() {
    let mut talk = Talk::open();
    let (commands, _) = talk.hear(r#"{"id":"m","type":"get_available_models"}"#);
    let fault = Fault::new(FaultKind::Network, "it gave no list of models");
    let (_, frames) = talk.reply(commands[0].tag, Err(fault));
    assert_eq!((&frames[0]["id"], &frames[0]["success"]), (&"m".into(), &true.into()), "{frames:?}");
    assert_eq!(frames[0]["data"]["models"][0]["id"], "mock/alpha", "{frames:?}");
}
