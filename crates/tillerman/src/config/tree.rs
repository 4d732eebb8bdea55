//! A configuration file as a plain tree, whatever it was written in. Knows no keys.

use std::path::Path;

use toml::de::{DeTable, DeValue};

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Node {
    pub(super) value: Value,
    /// Where the value starts, for formats that tell us.
    pub(super) line: Option<usize>,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

impl Value {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Int(_) => "a whole number",
            Value::Float(_) => "a number",
            Value::Text(_) => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "a table",
        }
    }
}

/// Reads by the ending of the name; anything but JSON and YAML is TOML.
pub(super) fn parse(path: &Path, text: &str) -> Result<Node, String> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending {
        "json" if text.trim().is_empty() => Ok(Node { value: Value::Map(Vec::new()), line: None }),
        "json" => serde_json::from_str(text).map(from_json).map_err(|error| error.to_string()),
        "yaml" | "yml" => {
            let value: serde_json::Value = serde_yaml_ng::from_str(text).map_err(|error| error.to_string())?;
            Ok(match from_json(value) {
                Node { value: Value::Null, .. } => Node { value: Value::Map(Vec::new()), line: None },
                node => node,
            })
        }
        _ => from_toml(text),
    }
}

fn from_json(value: serde_json::Value) -> Node {
    use serde_json::Value as Json;
    let value = match value {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(value),
        Json::Number(number) => match number.as_i64() {
            Some(int) => Value::Int(int),
            None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::Text(text),
        Json::Array(items) => Value::List(items.into_iter().map(from_json).collect()),
        Json::Object(map) => Value::Map(map.into_iter().map(|(key, value)| (key, from_json(value))).collect()),
    };
    Node { value, line: None }
}

fn from_toml(text: &str) -> Result<Node, String> {
    // Found once: a file of many settings asks for many lines.
    let ends: Vec<usize> = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
    let line_of = |at: usize| ends.partition_point(|&end| end < at) + 1;
    let table = DeTable::parse(text).map_err(|error| match error.span() {
        Some(span) => format!("line {}: {}", line_of(span.start), error.message()),
        None => error.message().to_owned(),
    })?;
    Ok(Node { value: from_table(table.get_ref(), &line_of), line: None })
}

fn from_table(table: &DeTable<'_>, line_of: &impl Fn(usize) -> usize) -> Value {
    let pairs = table.iter().map(|(key, value)| {
        let node = Node { value: from_value(value.get_ref(), line_of), line: Some(line_of(key.span().start)) };
        (key.get_ref().to_string(), node)
    });
    Value::Map(pairs.collect())
}

fn from_value(value: &DeValue<'_>, line_of: &impl Fn(usize) -> usize) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(it) => {
            i64::from_str_radix(it.as_str(), it.radix()).map_or_else(|_| Value::Float(f64::NAN), Value::Int)
        }
        DeValue::Float(it) => Value::Float(it.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(it) => Value::Bool(*it),
        DeValue::Datetime(it) => Value::Text(it.to_string()),
        DeValue::Array(items) => Value::List(
            items
                .iter()
                .map(|item| Node { value: from_value(item.get_ref(), line_of), line: Some(line_of(item.span().start)) })
                .collect(),
        ),
        DeValue::Table(table) => from_table(table, line_of),
    }
}
