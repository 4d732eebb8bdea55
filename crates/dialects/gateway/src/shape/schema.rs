//! The schema of a shape: as data, and as JSON Schema.

use serde_json::{Map, Value, json};

/// What a value may be.
#[derive(Clone, PartialEq, Debug)]
pub enum ShapeSchema {
    Any,
    Bool,
    Integer {
        min: i64,
        max: i64,
    },
    Number {
        min: Option<i64>,
        max: Option<i64>,
    },
    /// Lengths in characters.
    Text {
        min: usize,
        max: Option<usize>,
        pattern: Option<&'static str>,
    },
    /// One of a closed list.
    Words {
        name: &'static str,
        doc: &'static str,
        words: &'static [&'static str],
    },
    List {
        of: Box<ShapeSchema>,
        max: Option<usize>,
    },
    /// An object with members that nobody here knows.
    FreeObject,
    Object {
        name: &'static str,
        doc: &'static str,
        members: Vec<ShapeMember>,
    },
    /// Or null.
    OrNull(Box<ShapeSchema>),
    OneOf {
        name: &'static str,
        doc: &'static str,
        of: Vec<ShapeSchema>,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub struct ShapeMember {
    pub name: &'static str,
    pub doc: &'static str,
    pub schema: ShapeSchema,
    pub is_required: bool,
    /// What it is where it is left out, as JSON.
    pub usual: Option<String>,
}

impl ShapeSchema {
    /// Those of an object; others have none.
    pub fn into_members(self) -> Vec<ShapeMember> {
        match self {
            ShapeSchema::Object { members, .. } => members,
            _ => Vec::new(),
        }
    }

    /// As JSON Schema, whole: nothing refers to something elsewhere.
    pub fn json(&self) -> Value {
        match self {
            ShapeSchema::Any => json!({}),
            ShapeSchema::Bool => json!({"type": "boolean"}),
            ShapeSchema::Integer { min, max } => {
                let mut it = json!({"type": "integer", "minimum": min});
                if *max <= crate::ledger::ID_MAX as i64 {
                    it["maximum"] = json!(max);
                }
                it
            }
            ShapeSchema::Number { min, max } => {
                let mut it = json!({"type": "number"});
                put(&mut it, "minimum", *min);
                put(&mut it, "maximum", *max);
                it
            }
            ShapeSchema::Text { min, max, pattern } => {
                let mut it = json!({"type": "string"});
                put(&mut it, "minLength", (*min > 0).then_some(*min));
                put(&mut it, "maxLength", *max);
                put(&mut it, "pattern", *pattern);
                it
            }
            ShapeSchema::Words { name, doc, words } => named(json!({"enum": words}), name, doc),
            ShapeSchema::List { of, max } => {
                let mut it = json!({"type": "array", "items": of.json()});
                put(&mut it, "maxItems", *max);
                it
            }
            ShapeSchema::FreeObject => json!({"type": "object"}),
            ShapeSchema::Object { name, doc, members } => object(name, doc, members),
            ShapeSchema::OrNull(of) => json!({"anyOf": [of.json(), {"type": "null"}]}),
            ShapeSchema::OneOf { name, doc, of } => {
                named(json!({"anyOf": of.iter().map(ShapeSchema::json).collect::<Vec<_>>()}), name, doc)
            }
        }
    }
}

fn put(into: &mut Value, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        into[name] = value.into();
    }
}

fn object(name: &str, doc: &str, members: &[ShapeMember]) -> Value {
    let mut properties = Map::new();
    for member in members {
        let mut it = member.schema.json();
        put(&mut it, "default", member.usual.as_deref().and_then(|usual| serde_json::from_str::<Value>(usual).ok()));
        put(&mut it, "description", (!member.doc.is_empty()).then_some(member.doc));
        properties.insert(member.name.into(), it);
    }
    let required: Vec<&str> = members.iter().filter(|it| it.is_required).map(|it| it.name).collect();
    let mut it = json!({"type": "object", "properties": properties});
    put(&mut it, "required", (!required.is_empty()).then_some(required));
    named(it, name, doc)
}

/// With the name that client libraries have for it.
fn named(mut it: Value, name: &str, doc: &str) -> Value {
    it["title"] = name.into();
    put(&mut it, "description", (!doc.is_empty()).then_some(doc));
    it
}
