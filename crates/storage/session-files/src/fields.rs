//! Looking into foreign JSON without a schema: a member of the wrong type is a member that is not there, so that one odd
//! value never costs the whole line.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use vocab::Json;

/// The members of one object in their order; of a key that is there twice the last counts, as in JavaScript.
pub(crate) struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Fields<'a> {
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
    pub(crate) fn raw(&self, key: &str) -> Option<&'a str> {
        self.0.iter().rev().find(|(known, _)| known == key).map(|(_, raw)| raw.get())
    }
    /// The whole object again, with other values where `instead` has some.
    pub(crate) fn write(&self, instead: impl Fn(&str) -> Option<&'static str>) -> Json {
        let mut out = vec![b'{'];
        for (at, (key, raw)) in self.0.iter().enumerate() {
            if self.0[at + 1..].iter().any(|(later, _)| later == key) {
                continue;
            }
            if out.len() > 1 {
                out.push(b',');
            }
            wire::escape_into(key, &mut out);
            out.push(b':');
            out.extend_from_slice(instead(key).unwrap_or(raw.get()).as_bytes());
        }
        out.push(b'}');
        Json::trusted(String::from_utf8(out).expect("text between text is text"))
    }
    fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        serde_json::from_str(self.raw(key)?).ok()
    }
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        self.get(key)
    }
    pub(crate) fn flag(&self, key: &str) -> bool {
        self.get(key).unwrap_or(false)
    }
    pub(crate) fn natural(&self, key: &str) -> Option<u64> {
        self.get::<f64>(key).filter(|it| *it >= 0.0).map(|it| it as u64)
    }
    pub(crate) fn integer(&self, key: &str) -> Option<i64> {
        self.get::<f64>(key).map(|it| it as i64)
    }
    pub(crate) fn object(&self, key: &str) -> Option<Fields<'a>> {
        Fields::parse(self.raw(key)?)
    }
    /// The elements that are objects.
    pub(crate) fn objects(&self, key: &str) -> Option<Vec<Fields<'a>>> {
        let items: Vec<&'a RawValue> = serde_json::from_str(self.raw(key)?).ok()?;
        Some(items.into_iter().filter_map(|item| Fields::parse(item.get())).collect())
    }
    /// As it is written.
    pub(crate) fn json(&self, key: &str) -> Option<Json> {
        self.raw(key).filter(|raw| *raw != "null").map(Json::trusted)
    }
    pub(crate) fn is_null(&self, key: &str) -> bool {
        self.raw(key) == Some("null")
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Fields(members))
            }
        }
        from.deserialize_map(Collect)
    }
}

/// A line as text: bytes that are no UTF-8 and halves of surrogate pairs become U+FFFD.
pub(crate) fn line_text(bytes: &[u8]) -> Cow<'_, str> {
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => wire::replace_lone_surrogates(text),
        Cow::Owned(text) => Cow::Owned(wire::replace_lone_surrogates(&text).into_owned()),
    }
}

/// `2026-11-15T22:31:51.876Z`, with or without a fraction, with `Z` or an offset, as milliseconds since 1970.
pub(crate) fn parse_iso(text: &str) -> Option<i64> {
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<i64>().ok();
    let bytes = text.as_bytes();
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if marks.iter().any(|(at, mark)| bytes.get(*at) != Some(mark)) {
        return None;
    }
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let rest = &text[19..];
    let (fraction, zone) = match rest.strip_prefix('.') {
        None => ("", rest),
        Some(rest) => rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())),
    };
    let ms: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let offset_minutes = match zone {
        "Z" | "" => 0,
        _ => {
            let sign = if zone.starts_with('-') { -1 } else { 1 };
            sign * (zone.get(1..3)?.parse::<i64>().ok()? * 60 + zone.get(4..6)?.parse::<i64>().ok()?)
        }
    };
    // Years begin in March here, so that the leap day is the last of a year.
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    Some((((days * 24 + hour) * 60 + minute - offset_minutes) * 60 + second) * 1000 + ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_back_as_they_were_written() {
        for at in [0, 1_794_781_911_876, 951_782_400_000, 4_102_444_799_999, -86_400_000] {
            assert_eq!(parse_iso(&vocab::iso8601(at)), Some(at));
        }
        assert_eq!(parse_iso("2026-11-15T23:31:51+01:00"), Some(1_794_781_911_000));
        assert_eq!(parse_iso("2026-11-15T22:31:51Z"), Some(1_794_781_911_000));
        for odd in ["", "yesterday", "2026-13-01T00:00:00Z", "2026-11-15 22:31:51Z", "2026-11-15T22:3é:51Z"] {
            assert_eq!(parse_iso(odd), None, "{odd}");
        }
    }
}
