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
    "~root/x",
    "|cat",
    "a\u{a0}b",
    "./..",
    "..\\..\\x",
    "ws:../../../etc/passwd",
    "/../../..",
    "a/..",
    "..a/../b",
    "....//....//x",
    "..%2f..%2fx",
    "..;/x",
    "%252e%252e",
    "%c0%ae%c0%ae",
    "\u{ff0e}\u{ff0e}/x",
    "file:///etc/passwd?",
    "C:\\x",
    "\\\\host\\share",
    "a\rb",
    "a\r\nX-Y: z",
    "\u{1b}[2J",
    "\u{7f}",
    "\u{85}",
    "\u{2028}",
    "\u{2066}a\u{2069}",
    "\u{e0001}",
    "a\u{301}",
    "\u{212a}",
    "\u{0430}bc",
    "' OR '1'='1",
    "'; DROP TABLE sessions; --",
    "\" OR \"\"=\"",
    "a) UNION SELECT 1",
    "a/*",
    "1 AND 1",
    "x' || 'y",
    "`id`",
    "$HOME",
    "a\tOR\t1",
    "a>b",
    "a<b",
    "{{7*7}}",
    "${jndi:ldap://x}",
    "%s%n",
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
        assert!(tried > 1_000, "{tried}");
    });
}

/// Of artifacts and companions any text is a name: it is looked up, and never part of a path or of a statement.
#[test]
fn g9_any_other_name_is_looked_up_as_it_is() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        play.result(at, "sessions.create", json!({"sessionId": "ws:a"})).await;
        let names: Vec<&str> = BAD.iter().copied().filter(|name| !name.is_empty()).collect();
        assert!(names.len() >= 80, "{}", names.len());
        for name in &names {
            let at = play.connect();
            let one = json!({"sessionId": "ws:a", "artifactId": name});
            let put = json!({"sessionId": "ws:a", "artifactId": name, "type": "t", "content": name});
            play.result(at, "canvas.put", put).await;
            let found = play.result(at, "canvas.get", one.clone()).await;
            assert_eq!((&found["artifact"]["artifactId"], &found["artifact"]["content"]), (&json!(name), &json!(name)));
            let list = play.result(at, "canvas.list", json!({"sessionId": "ws:a"})).await;
            assert_eq!(list["total"], 1, "{name:?}");
            assert_eq!(play.result(at, "canvas.delete", one).await, json!({"deleted": true}), "{name:?}");
            let node = json!({"nodeId": name, "role": "companion", "protocolVersion": 1, "capabilities": []});
            assert_eq!(play.result(at, "node.register", node).await["node"]["id"], *name);
        }
    });
}
