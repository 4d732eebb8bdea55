//! Ids of every kind that a client may choose, held against strings that want out: generated from the table of methods, so that
//! a new method cannot be forgotten.

use dialect_gateway::METHODS;
use serde_json::{Map, Value, json};

use crate::play::{Play, paused};

/// Paths, separators, other alphabets, what shells and stores take for something else.
const BAD: &[&str] = &[
    "",
    "..",
    "../x",
    "a/../b",
    "ws:..",
    "/etc/passwd/..",
    "a b",
    "a\tb",
    "a\nb",
    "a\0b",
    "\u{202e}abc",
    "ä",
    "ws:ü",
    "a\\b",
    "%2e%2e",
    "a%00",
    "a;b",
    "a'b",
    "a\"b",
    "a`b",
    "$(id)",
    "${HOME}",
    "a|b",
    "a&b",
    "<script>",
    "a*b",
    "a?b",
    "~",
    "a#b",
    "\u{feff}a",
    "a\u{200b}b",
    "🦀",
    "a,b",
    "[a]",
    "{a}",
    "(a)",
    "a!b",
    "a^b",
];

/// Something that the schema takes.
fn sample(schema: &Value) -> Value {
    match (schema["type"].as_str(), &schema["enum"]) {
        (_, Value::Array(words)) => words[0].clone(),
        (Some("string"), _) => json!("x".repeat(schema["minLength"].as_u64().unwrap_or(1).max(1) as usize)),
        (Some("integer" | "number"), _) => json!(schema["minimum"].as_i64().unwrap_or(0).max(0)),
        (Some("boolean"), _) => json!(true),
        (Some("array"), _) => json!([]),
        _ => json!({}),
    }
}

#[test]
fn g9_no_method_takes_a_session_by_a_name_that_is_none() {
    paused(async {
        let mut play = Play::new();
        let (mut tried, long) = (0, "x".repeat(201));
        for row in METHODS {
            let schema = (row.params)().json();
            let Some(properties) = schema["properties"].as_object() else { continue };
            let required: Vec<&str> =
                schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let names = properties.iter().filter(|(_, schema)| schema["pattern"].is_string());
            for (name, _) in names {
                let mut params: Map<String, Value> =
                    required.iter().map(|it| ((*it).to_owned(), sample(&properties[*it]))).collect();
                for bad in BAD.iter().copied().chain([long.as_str()]) {
                    params.insert(name.clone(), json!(bad));
                    // One connection each: too many at once would be refused for that.
                    let at = play.connect();
                    let frames = play.ask(at, row.name, Value::Object(params.clone())).await;
                    let error = &frames[0]["error"];
                    assert_eq!(
                        (&error["code"], &error["data"]["param"]),
                        (&json!(-2), &json!(name)),
                        "{} {bad:?}: {frames:?}",
                        row.name
                    );
                    tried += 1;
                }
            }
        }
        assert!(tried > 500, "{tried}");
    });
}
