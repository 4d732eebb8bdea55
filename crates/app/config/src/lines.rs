//! On which lines the values of a JSON or YAML file stand. Neither reader tells it of what is right, but both tell it of what is
//! wrong: the file is read once more for every value, by somebody who finds exactly that one wrong. It takes a while, so it is
//! asked for only where there is something to point at.

use std::cell::Cell;
use std::fmt;
use std::path::Path;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::tree::{Node, TreeValue};

/// Bytes that are read for it, all in all; a file that takes more is told of without lines. A workspace may bring any.
const READ_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Fills in the lines of every value; whether there was anything to fill in.
pub(super) fn find(file: &Path, text: &str, node: &mut Node) -> bool {
    let line_of: fn(&str, usize) -> Option<usize> = match file.extension().and_then(|ending| ending.to_str()) {
        Some("json") => json_line,
        Some("yaml" | "yml") => yaml_line,
        _ => return false,
    };
    let is_small = count(node).saturating_mul(text.len()) <= READ_BYTES_MAX;
    if is_small {
        fill(node, &mut 0, &|at| line_of(text, at));
    }
    is_small
}

fn count(node: &Node) -> usize {
    1 + match &node.value {
        TreeValue::List(items) => items.iter().map(count).sum(),
        TreeValue::Map(pairs) => pairs.iter().map(|(_, node)| count(node)).sum(),
        _ => 0,
    }
}

/// In the order in which they are read.
fn fill(node: &mut Node, at: &mut usize, line_of: &impl Fn(usize) -> Option<usize>) {
    node.line = line_of(*at);
    *at += 1;
    match &mut node.value {
        TreeValue::List(items) => items.iter_mut().for_each(|item| fill(item, at, line_of)),
        TreeValue::Map(pairs) => pairs.iter_mut().for_each(|(_, node)| fill(node, at, line_of)),
        _ => {}
    }
}

fn json_line(text: &str, at: usize) -> Option<usize> {
    let mut reader = serde_json::Deserializer::from_str(text);
    Picky(&Cell::new(at)).deserialize(&mut reader).err().map(|error| error.line())
}

fn yaml_line(text: &str, at: usize) -> Option<usize> {
    let reader = serde_yaml_ng::Deserializer::from_str(text);
    Picky(&Cell::new(at)).deserialize(reader).err()?.location().map(|found| found.line())
}

/// Takes so many values, and then none.
struct Picky<'a>(&'a Cell<usize>);

impl Picky<'_> {
    fn take<E: Error>(&self) -> Result<(), E> {
        let left = self.0.get().checked_sub(1).ok_or_else(|| E::custom("this one"))?;
        self.0.set(left);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Picky<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Picky<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plain value")
    }
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.take()
    }
    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.take()
    }
    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.take()
    }
    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.take()
    }
    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.take()
    }
    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.take()
    }
    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        self.take()
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.take()?;
        while items.next_element_seed(Picky(self.0))?.is_some() {}
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<(), A::Error> {
        self.take()?;
        while pairs.next_key::<IgnoredAny>()?.is_some() {
            pairs.next_value_seed(Picky(self.0))?;
        }
        Ok(())
    }
}
