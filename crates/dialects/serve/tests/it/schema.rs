//! The published schema, and that it is what the dialect does.

use std::sync::LazyLock;

use dialect_serve::schema;
use serde_json::{Value, json};
pub(crate) use testkit::schema::Schema;

pub(crate) fn published() -> &'static Schema {
    static PUBLISHED: LazyLock<Schema> = LazyLock::new(|| Schema::new(&schema()));
    &PUBLISHED
}

#[test]
fn the_schema_accepts_the_first_example_of_the_protocol_and_little_else() {
    let schema = published();
    let fits = |name: &str, text: &str| schema.check(name, &serde_json::from_str(text).unwrap()).is_ok();
    assert!(fits("inbound1", r#"{"type":"prompt","text":"list the python files"}"#));
    assert!(fits("inbound1", r#"{"type":"permission_response","request_id":"r-9","decision":"allow"}"#));
    assert!(fits("inbound1", r#"{"type":"shutdown"}"#));
    assert!(!fits("inbound1", r#"{"type":"prompt","text":"x","foo":1}"#));
    assert!(!fits("inbound1", r#"{"type":"open"}"#));
    assert!(!fits("inbound1", r#"{"type":"prompt","session":"a","text":"x"}"#));
    assert!(!fits("inbound2", r#"{"type":"prompt","text":"x"}"#));
    assert!(fits("inbound2", r#"{"type":"open","session":"a","resume":"latest"}"#));
    assert!(fits(
        "outbound1",
        r#"{"type":"tool_result","turn_id":"abc123","tool_id":"call_1","output":"a.py\nb.py\n","is_error":false,"duration_s":0.04}"#
    ));
    assert!(fits(
        "outbound1",
        r#"{"type":"turn_complete","turn_id":"t","stop_reason":"end_turn","iterations":1,"input_tokens":820,"output_tokens":34,"mutations":[["write_file","y.txt"]]}"#
    ));
    assert!(!fits("outbound1", r#"{"type":"state_changed"}"#));
    assert!(fits("outbound1", r#"{"type":"state_changed","context_pct":0.1}"#));
    assert!(!fits("outbound1", r#"{"type":"closed","session":"a"}"#));
}

/// What the schema says about inbound messages is what the dialect does with them.
#[test]
fn decoder_and_schema_agree_on_generated_messages() {
    let schema = published();
    let types = [
        json!("prompt"),
        json!("slash"),
        json!("interrupt"),
        json!("permission_response"),
        json!("shutdown"),
        json!("open"),
        json!("close"),
        json!("ready"),
        json!(""),
        json!(1),
        json!(null),
    ];
    let members = ["text", "command", "args", "request_id", "decision", "reason", "workspace", "model", "resume", "x"];
    let values =
        [json!("word"), json!("allow"), json!(null), json!(5), json!(["a"]), json!({"allow": null}), json!(true)];
    let right = [
        json!({ "type": "prompt", "text": "word" }),
        json!({ "type": "slash", "command": "word", "args": "word" }),
        json!({ "type": "permission_response", "request_id": "word", "decision": "deny", "reason": null }),
        json!({ "type": "interrupt" }),
        json!({ "type": "shutdown" }),
        json!({ "type": "open", "model": null }),
    ];
    let mut dice = testkit::odd::Dice(7);
    let (mut good, mut bad) = (0, 0);
    for round in 0..6000 {
        let multi = round % 2 == 1;
        let mut message = serde_json::Map::new();
        // Half of them start out right and may be spoiled by what follows.
        let start = if dice.below(2) == 0 { dice.pick(&right).clone() } else { json!({ "type": dice.pick(&types) }) };
        message.extend(start.as_object().expect("an object").clone());
        if multi && dice.below(5) > 0 {
            message.insert("session".into(), dice.pick(&[json!("a"), json!("a"), json!(null), json!(3)]).clone());
        }
        for _ in 0..dice.below(3) {
            message.insert((*dice.pick(&members)).into(), dice.pick(&values).clone());
        }
        let message = Value::Object(message);
        let mut talk = if multi { crate::talk::Talk::multi() } else { crate::talk::Talk::open() };
        let (_, frames) = talk.hear_bytes(message.to_string().as_bytes());
        let refused = frames.iter().any(|frame| frame["code"] == "invalid_message");
        let fits = schema.check(if multi { "inbound2" } else { "inbound1" }, &message).is_ok();
        assert_eq!(fits, !refused, "{message} -> {frames:?}");
        if fits { good += 1 } else { bad += 1 }
    }
    assert!(good > 500 && bad > 500, "{good} good, {bad} bad: the generator lost its balance");
}

/// A member added to a closed schema breaks controllers, so a change shows in review. `UPDATE_EXPECT=1` rewrites it.
#[test]
fn the_schema_changes_only_on_purpose() {
    expect_test::expect_file!["../../schema.json"].assert_eq(&schema());
}
