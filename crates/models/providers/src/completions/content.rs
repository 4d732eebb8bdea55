//! The content of a delta: text, or parts of text and thinking, as Mistral sends them.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor, value};

use crate::json::LenientText;

#[derive(Default)]
pub(super) struct LenientContent<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) thinking: Cow<'a, str>,
}

impl<'de: 'a, 'a> Deserialize<'de> for LenientContent<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyContent)
    }
}

struct AnyContent;

impl<'de> Visitor<'de> for AnyContent {
    type Value = LenientContent<'de>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or parts")
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(LenientContent { text: Cow::Borrowed(text), ..LenientContent::default() })
    }
    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(LenientContent { text: Cow::Owned(text.to_owned()), ..LenientContent::default() })
    }
    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(LenientContent::default())
    }
    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(LenientContent::default())
    }
    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Self::Value, E> {
        words(value::U64Deserializer::new(number))
    }
    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Self::Value, E> {
        words(value::I64Deserializer::new(number))
    }
    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Self::Value, E> {
        words(value::F64Deserializer::new(number))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut all = LenientContent::default();
        while let Some(part) = seq.next_element::<LenientContent<'de>>()? {
            all.text.to_mut().push_str(&part.text);
            all.thinking.to_mut().push_str(&part.thinking);
        }
        Ok(all)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut part = LenientContent::default();
        while let Some(LenientText(key)) = map.next_key()? {
            let LenientText(value) = map.next_value()?;
            match &*key {
                "text" => part.text = value,
                "thinking" => part.thinking = value,
                _ => {}
            }
        }
        Ok(part)
    }
}

fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<LenientContent<'de>, D::Error> {
    LenientText::deserialize(deserializer).map(|words| LenientContent { text: words.0, ..LenientContent::default() })
}
