//! A JSON Schema in the narrower words that `parameters` takes, for servers that do not know `parametersJsonSchema`.

use serde_json::{Map, Value};

/// What is kept as it is. Anything else is refused there, and only narrows what a tool checks itself anyway.
const KEPT: [&str; 19] = [
    "description",
    "default",
    "enum",
    "example",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "nullable",
    "pattern",
    "propertyOrdering",
    "required",
    "title",
    "type",
];

/// `{}` for text that is no schema.
pub(super) fn plain(schema: &str) -> String {
    let schema = serde_json::from_str(schema).unwrap_or_default();
    narrowed(&schema).to_string()
}

fn narrowed(schema: &Value) -> Value {
    let Value::Object(members) = schema else { return Value::Object(Map::new()) };
    let mut out = Map::new();
    for (key, value) in members {
        match (&**key, value) {
            // A list of types is one type that may be null, as far as these words go.
            ("type", Value::Array(types)) => {
                out.extend(types.iter().find(|one| *one != "null").map(|one| ("type".to_owned(), one.clone())));
                if types.iter().any(|one| one == "null") {
                    out.insert("nullable".into(), true.into());
                }
            }
            ("const", value) => {
                out.insert("enum".into(), Value::Array(vec![value.clone()]));
            }
            ("properties", Value::Object(all)) => {
                let all = all.iter().map(|(name, one)| (name.clone(), narrowed(one))).collect();
                out.insert(key.clone(), Value::Object(all));
            }
            ("items", one) => {
                out.insert(key.clone(), narrowed(one));
            }
            ("anyOf" | "oneOf", Value::Array(all)) => {
                out.insert("anyOf".into(), all.iter().map(narrowed).collect());
            }
            (kept, value) if KEPT.contains(&kept) => {
                out.insert(key.clone(), value.clone());
            }
            _ => {}
        }
    }
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_are_taken_remain() {
        for (schema, want) in [
            (r#"{"type":"object","additionalProperties":false,"$schema":"x"}"#, r#"{"type":"object"}"#),
            (
                r#"{"properties":{"$ref":{"const":"a"},"b":{"type":["string","null"]}}}"#,
                r#"{"properties":{"$ref":{"enum":["a"]},"b":{"nullable":true,"type":"string"}}}"#,
            ),
            (
                r#"{"items":{"oneOf":[{"type":"string","$id":"y"},{"exclusiveMinimum":1}]}}"#,
                r#"{"items":{"anyOf":[{"type":"string"},{}]}}"#,
            ),
            ("nonsense", "{}"),
        ] {
            assert_eq!(
                serde_json::from_str::<Value>(&plain(schema)).unwrap(),
                serde_json::from_str::<Value>(want).unwrap()
            );
        }
    }
}
