//! The published schema, read by a validator that knows just the words it uses.

use std::sync::LazyLock;

use dialect_serve::schema;
use serde_json::{Value, json};

pub(crate) struct Schema(Value);

impl Schema {
    pub(crate) fn published() -> &'static Self {
        static PUBLISHED: LazyLock<Schema> =
            LazyLock::new(|| Schema(serde_json::from_str(&schema()).expect("the schema is JSON")));
        &PUBLISHED
    }

    pub(crate) fn check(&self, definition: &str, value: &Value) -> Result<(), String> {
        self.fits(&self.0["$defs"][definition], value)
    }

    fn fits(&self, schema: &Value, value: &Value) -> Result<(), String> {
        let rules = schema.as_object().ok_or("no such definition")?;
        for (word, rule) in rules {
            let holds = match word.as_str() {
                "$ref" => {
                    let name = rule.as_str().unwrap().strip_prefix("#/$defs/").expect("a local reference");
                    return self.check(name, value);
                }
                "oneOf" => {
                    let tried: Vec<_> =
                        rule.as_array().unwrap().iter().map(|option| self.fits(option, value)).collect();
                    match tried.iter().filter(|one| one.is_ok()).count() {
                        1 => true,
                        count => return Err(format!("{count} of oneOf fit: {tried:?}")),
                    }
                }
                "anyOf" => rule.as_array().unwrap().iter().any(|option| self.fits(option, value).is_ok()),
                "type" => match rule {
                    Value::String(name) => has_type(name, value),
                    names => names.as_array().unwrap().iter().any(|name| has_type(name.as_str().unwrap(), value)),
                },
                "const" => value == rule,
                "enum" => rule.as_array().unwrap().contains(value),
                "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
                "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap()),
                "minItems" => value.as_array().is_none_or(|list| list.len() as u64 >= rule.as_u64().unwrap()),
                "maxItems" => value.as_array().is_none_or(|list| list.len() as u64 <= rule.as_u64().unwrap()),
                "minProperties" => value.as_object().is_none_or(|map| map.len() as u64 >= rule.as_u64().unwrap()),
                "items" => match value.as_array() {
                    Some(list) => list.iter().try_for_each(|item| self.fits(rule, item)).map(|()| true)?,
                    None => true,
                },
                "required" => rule.as_array().unwrap().iter().all(|name| value.get(name.as_str().unwrap()).is_some()),
                "properties" => {
                    for (name, shape) in rule.as_object().unwrap() {
                        if let Some(member) = value.get(name) {
                            self.fits(shape, member).map_err(|why| format!("{name}: {why}"))?;
                        }
                    }
                    true
                }
                "additionalProperties" => {
                    assert_eq!(rule, &json!(false));
                    value.as_object().is_none_or(|map| map.keys().all(|name| schema["properties"].get(name).is_some()))
                }
                unknown => panic!("the validator does not know {unknown}"),
            };
            if !holds {
                return Err(format!("{word} {rule}"));
            }
        }
        Ok(())
    }
}

fn has_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        unknown => panic!("the validator does not know the type {unknown}"),
    }
}

#[test]
fn the_schema_accepts_the_first_example_of_the_protocol_and_little_else() {
    let schema = Schema::published();
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
    let schema = Schema::published();
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
    let mut dice = crate::garbage::Dice(7);
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
