//! The settings as a JSON Schema, from the one table: for editors, and for whoever makes a form of them.

use serde_json::{Map, Value, json};
use vocab::thinking;

use super::keys::{SettingKey, SettingKind};
use super::slugs::Slugs;
use super::{Configuration, KEYS, TIERS, lanes, outside};

const MODES: [&str; 5] = ["plan", "read-only", "prompt", "workspace-write", "danger-full-access"];

/// `x-settable`: whether it can be set from outside, `x-restartRequired`: whether a gateway that runs cannot take it over,
/// `x-env`: the variable that is laid over it.
pub fn schema() -> Value {
    let mut properties = Map::new();
    for key in KEYS {
        put(&mut properties, key.name, leaf(key));
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of tillerman",
        "type": "object",
        "properties": properties,
    })
}

/// `a.b` below `a`.
fn put(properties: &mut Map<String, Value>, name: &str, leaf: Value) {
    let Some((group, rest)) = name.split_once('.') else {
        properties.insert(name.to_owned(), leaf);
        return;
    };
    let group = properties.entry(group).or_insert_with(|| json!({ "type": "object", "properties": {} }));
    if let Some(Value::Object(inner)) = group.get_mut("properties") {
        put(inner, rest, leaf);
    }
}

fn leaf(key: &SettingKey) -> Value {
    let mut schema = of_kind(key.kind);
    if let Value::Object(members) = &mut schema {
        members.insert("description".to_owned(), json!(key.about));
        members.insert("x-settable".to_owned(), json!(outside::is_settable(key)));
        members.insert("x-restartRequired".to_owned(), json!(Configuration::needs_restart(key.name)));
        members.extend(key.env.map(|name| ("x-env".to_owned(), json!(name))));
    }
    schema
}

fn of_kind(kind: SettingKind) -> Value {
    let texts = || json!({ "type": "array", "items": { "type": "string" } });
    match kind {
        SettingKind::Text => json!({ "type": "string", "minLength": 1 }),
        SettingKind::Secret => json!({ "type": "string", "writeOnly": true }),
        SettingKind::Mode => json!({ "enum": MODES }),
        SettingKind::Level => json!({ "enum": thinking::LEVELS }),
        SettingKind::Sync => json!({ "enum": ["turn", "record", "off"] }),
        SettingKind::OneOf(words) => json!({ "enum": words }),
        SettingKind::Count { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        SettingKind::Limit(_) => json!({ "type": ["number", "string"] }),
        SettingKind::Bool => json!({ "type": "boolean" }),
        SettingKind::Texts => texts(),
        SettingKind::Models => json!({
            "type": "array",
            "items": { "type": "object", "properties": { "slug": { "type": "string" } }, "required": ["slug"] },
        }),
        SettingKind::Servers | SettingKind::Providers => {
            json!({ "type": "object", "additionalProperties": { "type": "object" } })
        }
        SettingKind::Slugs(Slugs::Aliases) => {
            json!({ "type": "object", "additionalProperties": { "type": "string" } })
        }
        SettingKind::Slugs(Slugs::Tiers) => {
            let models = json!({ "anyOf": [{ "type": "string" }, texts()] });
            let tiers: Map<String, Value> = TIERS.iter().map(|tier| ((*tier).to_owned(), models.clone())).collect();
            json!({ "type": "object", "properties": tiers, "additionalProperties": false })
        }
        SettingKind::Lanes => json!({
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "properties": {
                    "mode": { "enum": lanes::MODES },
                    "cap": { "type": "integer", "minimum": 1, "maximum": lanes::CAP_MAX },
                    "overflow": { "enum": lanes::OVERFLOWS },
                    "debounce_ms": { "type": "integer", "minimum": 0, "maximum": lanes::DEBOUNCE_MS_MAX },
                    "summarize_overflow": { "type": "boolean" },
                    "coalesce": { "enum": lanes::COALESCES },
                },
            },
        }),
        SettingKind::Gates => json!({ "type": "object", "additionalProperties": { "type": "boolean" } }),
    }
}
