//! A configuration file as a plain tree, whatever it was written in. Knows no keys.

use std::path::Path;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use toml::de::{DeTable, DeValue};

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Node {
    pub(super) value: TreeValue,
    /// Where the value starts, for formats that tell us.
    pub(super) line: Option<usize>,
}

impl Node {
    /// Whether both have the same values, wherever they stand in their files. Members may have another order.
    pub(super) fn says_the_same(&self, other: &Node) -> bool {
        match (&self.value, &other.value) {
            (TreeValue::List(one), TreeValue::List(two)) => {
                one.len() == two.len() && one.iter().zip(two).all(|(one, two)| one.says_the_same(two))
            }
            (TreeValue::Map(one), TreeValue::Map(two)) => {
                let has =
                    |name: &String, node: &Node| two.iter().any(|(it, other)| it == name && node.says_the_same(other));
                one.len() == two.len() && one.iter().all(|(name, node)| has(name, node))
            }
            (one, two) => one == two,
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum TreeValue {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

impl Node {
    /// The value under a key; of several the last, as in JavaScript. Nothing and `null` are the same.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        let TreeValue::Map(pairs) = &self.value else { return None };
        let found = pairs.iter().rev().find(|(name, _)| name == key).map(|(_, node)| node);
        found.filter(|node| node.value != TreeValue::Null)
    }
}

impl TreeValue {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            TreeValue::Null => "nothing",
            TreeValue::Bool(_) => "true or false",
            TreeValue::Int(_) => "a whole number",
            TreeValue::Float(_) => "a number",
            TreeValue::Text(_) => "text",
            TreeValue::List(_) => "a list",
            TreeValue::Map(_) => "a table",
        }
    }
}

/// Reads by the ending of the name; anything but JSON and YAML is TOML.
pub(super) fn parse(path: &Path, text: &str) -> Result<Node, String> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending {
        "json" if text.trim().is_empty() => Ok(Node { value: TreeValue::Map(Vec::new()), line: None }),
        "json" => serde_json::from_str(text).map_err(|error| error.to_string()),
        "yaml" | "yml" => {
            let node: Node = serde_yaml_ng::from_str(text).map_err(|error| error.to_string())?;
            Ok(match node {
                Node { value: TreeValue::Null, .. } => Node { value: TreeValue::Map(Vec::new()), line: None },
                node => node,
            })
        }
        _ => from_toml(text),
    }
}

/// JSON and YAML into the tree; unlike a map of the libraries it keeps the order of the file.
impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Node { value: deserializer.deserialize_any(Builder)?, line: None })
    }
}

struct Builder;

impl<'de> Visitor<'de> for Builder {
    type Value = TreeValue;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a plain value (text that begins with ! needs quotes)")
    }
    fn visit_unit<E>(self) -> Result<TreeValue, E> {
        Ok(TreeValue::Null)
    }
    fn visit_none<E>(self) -> Result<TreeValue, E> {
        Ok(TreeValue::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<TreeValue, E> {
        Ok(TreeValue::Bool(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<TreeValue, E> {
        Ok(TreeValue::Int(value))
    }
    fn visit_u64<E>(self, value: u64) -> Result<TreeValue, E> {
        Ok(i64::try_from(value).map_or(TreeValue::Float(value as f64), TreeValue::Int))
    }
    fn visit_f64<E>(self, value: f64) -> Result<TreeValue, E> {
        Ok(TreeValue::Float(value))
    }
    fn visit_str<E>(self, value: &str) -> Result<TreeValue, E> {
        Ok(TreeValue::Text(value.to_owned()))
    }
    fn visit_string<E>(self, value: String) -> Result<TreeValue, E> {
        Ok(TreeValue::Text(value))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<TreeValue, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(TreeValue::List(list))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<TreeValue, A::Error> {
        let mut map = Vec::new();
        while let Some(pair) = pairs.next_entry()? {
            map.push(pair);
        }
        Ok(TreeValue::Map(map))
    }
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

fn from_table(table: &DeTable<'_>, line_of: &impl Fn(usize) -> usize) -> TreeValue {
    let pairs = table.iter().map(|(key, value)| {
        let node = Node { value: from_value(value.get_ref(), line_of), line: Some(line_of(key.span().start)) };
        (key.get_ref().to_string(), node)
    });
    TreeValue::Map(pairs.collect())
}

fn from_value(value: &DeValue<'_>, line_of: &impl Fn(usize) -> usize) -> TreeValue {
    match value {
        DeValue::String(text) => TreeValue::Text(text.to_string()),
        DeValue::Integer(it) => {
            i64::from_str_radix(it.as_str(), it.radix()).map_or_else(|_| TreeValue::Float(f64::NAN), TreeValue::Int)
        }
        DeValue::Float(it) => TreeValue::Float(it.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(it) => TreeValue::Bool(*it),
        DeValue::Datetime(it) => TreeValue::Text(it.to_string()),
        DeValue::Array(items) => TreeValue::List(
            items
                .iter()
                .map(|item| Node { value: from_value(item.get_ref(), line_of), line: Some(line_of(item.span().start)) })
                .collect(),
        ),
        DeValue::Table(table) => from_table(table, line_of),
    }
}
