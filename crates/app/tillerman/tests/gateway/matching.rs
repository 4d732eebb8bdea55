//! Whether what came is what was expected. Objects are subsets; scalars are exact; arrays fit one by one; an object with one key that
//! begins with `$` is an operator.

use std::collections::HashMap;

use serde_json::Value;

/// What was captured under a name.
pub(crate) type Captured = HashMap<String, Value>;

/// `Err`: what does not fit, and where.
pub(crate) fn matches(expected: &Value, came: &Value, captured: &mut Captured) -> Result<(), String> {
    at("$", expected, came, captured)
}

fn at(place: &str, expected: &Value, came: &Value, captured: &mut Captured) -> Result<(), String> {
    if let (Value::Array(wanted), Value::Array(have)) = (expected, came) {
        if wanted.len() != have.len() {
            return Err(format!("{place}: expected {} of them, came {came}", wanted.len()));
        }
        let mut pairs = wanted.iter().zip(have).enumerate();
        return pairs.try_for_each(|(nth, (one, found))| at(&format!("{place}[{nth}]"), one, found, captured));
    }
    let Value::Object(wanted) = expected else {
        return if expected == came { Ok(()) } else { Err(format!("{place}: expected {expected}, came {came}")) };
    };
    if let Some((operator, word)) = wanted.iter().next().filter(|(key, _)| wanted.len() == 1 && key.starts_with('$')) {
        return operate(place, operator, word, came, captured);
    }
    let Value::Object(have) = came else { return Err(format!("{place}: expected an object, came {came}")) };
    for (key, value) in wanted {
        let Some(found) = have.get(key) else { return Err(format!("{place}.{key}: missing in {came}")) };
        at(&format!("{place}.{key}"), value, found, captured)?;
    }
    Ok(())
}

fn operate(place: &str, operator: &str, word: &Value, came: &Value, captured: &mut Captured) -> Result<(), String> {
    let fits = match operator {
        "$type" => kind(came) == word.as_str().unwrap_or_default() || (word == "number" && came.is_number()),
        "$gte" => came.as_f64() >= word.as_f64(),
        "$in" => word.as_array().is_some_and(|list| list.contains(came)),
        "$has" => {
            let list = came.as_array().map_or(&[][..], Vec::as_slice);
            let wanted = word.as_array().map_or(&[][..], Vec::as_slice);
            wanted.iter().all(|one| list.iter().any(|have| matches(one, have, captured).is_ok()))
        }
        // Only what conversations use of regular expressions: a fixed beginning.
        "$re" => {
            let beginning = word.as_str().and_then(|text| text.strip_prefix('^')).expect("a beginning");
            came.as_str().is_some_and(|text| text.starts_with(beginning))
        }
        "$capture" => {
            captured.insert(word.as_str().expect("a name").to_owned(), came.clone());
            true
        }
        "$ref" => captured.get(word.as_str().expect("a name")) == Some(came),
        other => panic!("no such operator: {other}"),
    };
    if fits { Ok(()) } else { Err(format!("{place}: expected {operator} {word}, came {came}")) }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() || number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[test]
fn what_fits_and_what_does_not() {
    use serde_json::json;
    let came = json!({"id": 1, "data": {"text": "ws:x", "list": [1, {"a": 2, "b": 3}]}});
    let fits = [
        json!({"id": 1}),
        json!({"data": {"text": {"$re": "^ws:"}}}),
        json!({"data": {"list": {"$has": [{"a": 2}]}}}),
        json!({"id": {"$gte": 1}, "data": {"$type": "object"}}),
    ];
    for expected in fits {
        assert_eq!(matches(&expected, &came, &mut Captured::new()), Ok(()), "{expected}");
    }
    let not = [
        json!({"id": "1"}),
        json!({"data": {"list": [1]}}),
        json!({"data": {"list": {"$has": [{"a": 9}]}}}),
        json!({"id": {"$gte": 2}}),
        json!({"other": {"$type": "null"}}),
    ];
    for expected in not {
        assert!(matches(&expected, &came, &mut Captured::new()).is_err(), "{expected}");
    }
    let mut captured = Captured::new();
    matches(&json!({"id": {"$capture": "one"}}), &came, &mut captured).unwrap();
    assert!(matches(&json!({"id": {"$ref": "one"}}), &json!({"id": 1}), &mut captured).is_ok());
    assert!(matches(&json!({"id": {"$ref": "one"}}), &json!({"id": 2}), &mut captured).is_err());
}
