//! JSON that every format writes and reads: strings straight into a body, chunks with borrowed strings, numbers that
//! servers spell as they like.

use std::borrow::Cow;
use std::fmt;
use std::io::Write;

use bytes::{BufMut, BytesMut};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

pub(crate) fn string(out: &mut BytesMut, text: &str) {
    let mut out = out.writer();
    serde_json::to_writer(&mut out, text).expect("a string into memory cannot fail");
    out.flush().expect("memory needs no flush");
}

/// Reads one event. A lone surrogate escape, which no Rust string can hold, is read as U+FFFD.
pub(crate) fn read<'a, T: Deserialize<'a>>(data: &'a [u8], repaired: &'a mut Vec<u8>) -> Result<T, serde_json::Error> {
    if data.trim_ascii_start().first() == Some(&b'[') {
        // serde would take a list for the fields of the struct in order.
        return Err(serde::de::Error::custom("a list where an object should be"));
    }
    // Text that is checked once as a whole needs no check of each string in it.
    let read = match std::str::from_utf8(data) {
        Ok(text) => serde_json::from_str(text),
        Err(_) => serde_json::from_slice(data),
    };
    match read {
        Ok(read) => Ok(read),
        Err(error) => match replace_lone_surrogates(data) {
            Some(better) => {
                *repaired = better;
                serde_json::from_slice(repaired)
            }
            None => Err(error),
        },
    }
}

/// Token counts come as floats, too: one server's `12.0` must not cost the whole answer.
pub(crate) fn count(number: Option<f64>) -> u64 {
    number.map_or(0, |number| number.max(0.0) as u64)
}

/// Whether this is a count: servers write `null` or -1 where they have none.
pub(crate) fn is_count(number: Option<f64>) -> bool {
    number.is_some_and(|number| number >= 0.0)
}

/// Token counts, if there are any. What is no object says nothing, and serde would take a list for the fields in order; counts
/// that cannot be read must not cost the answer.
pub(crate) fn counts<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Option<T>, D::Error> {
    let raw: Option<&'de RawValue> = Deserialize::deserialize(deserializer)?;
    Ok(raw.filter(|raw| raw.get().starts_with('{')).and_then(|raw| serde_json::from_str(raw.get()).ok()))
}

/// Text that some servers wrap: a string, a list of parts, an object with a text. Anything else is no text.
#[derive(Default)]
pub(crate) struct LenientText<'a>(pub(crate) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for LenientText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyText)
    }
}

struct AnyText;

impl<'de> Visitor<'de> for AnyText {
    type Value = LenientText<'de>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(LenientText(Cow::Borrowed(text)))
    }
    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(LenientText(Cow::Owned(text.to_owned())))
    }
    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(LenientText::default())
    }
    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(LenientText::default())
    }
    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(LenientText(Cow::Owned(number.to_string())))
    }
    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(LenientText(Cow::Owned(number.to_string())))
    }
    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(LenientText(Cow::Owned(number.to_string())))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut all = String::new();
        while let Some(LenientText(text)) = seq.next_element()? {
            all.push_str(&text);
        }
        Ok(LenientText(Cow::Owned(all)))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut text = LenientText::default();
        while let Some(LenientText(key)) = map.next_key()? {
            if key == "text" {
                text = map.next_value()?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(text)
    }
}

/// `None` when there is nothing to replace.
fn replace_lone_surrogates(data: &[u8]) -> Option<Vec<u8>> {
    let unit = |at: usize| -> Option<u16> {
        let digits = data.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut repaired = Vec::with_capacity(data.len());
    let mut found = false;
    let mut at = 0;
    while at < data.len() {
        let length = match (data[at], unit(at)) {
            (b'\\', Some(0xD800..0xDC00)) if matches!(unit(at + 6), Some(0xDC00..0xE000)) => 12,
            (b'\\', Some(0xD800..0xE000)) => {
                found = true;
                repaired.extend_from_slice(b"\\ufffd");
                at += 6;
                continue;
            }
            // Any other escape is two bytes at least: `\\` must not lend its second half to what follows.
            (b'\\', _) => 2,
            _ => 1,
        };
        repaired.extend_from_slice(&data[at..(at + length).min(data.len())]);
        at += length;
    }
    found.then_some(repaired)
}
