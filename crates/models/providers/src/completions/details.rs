//! `reasoning_details`: reasoning as OpenRouter passes it on from whoever answers, signed or sealed. Gathered from the
//! chunks of an answer and kept as one JSON list, which goes back as it is: to us it is opaque.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use vocab::ModelFault;

use crate::faults;
use crate::json::LenientText;

/// More than this in one answer ends it with an error.
const DETAILS_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Members whose text comes in pieces.
const GROWING: [&str; 2] = ["text", "summary"];

/// Details that have not been told yet.
#[derive(Default)]
pub(super) struct ReasoningDetails {
    list: Vec<ReasoningDetail>,
    bytes: usize,
}

/// One entry: its members in the order they came, each with its JSON.
struct ReasoningDetail {
    members: Vec<(String, MemberValue)>,
}

enum MemberValue {
    Text(String),
    Raw(String),
}

impl ReasoningDetails {
    /// Takes the list of one chunk. Pieces of one text become one entry again.
    pub(super) fn take(&mut self, list: &RawValue) -> Result<(), DetailsTrouble> {
        self.bytes += list.get().len();
        if self.bytes > DETAILS_BYTES_MAX {
            return Err(DetailsTrouble::Large);
        }
        for piece in serde_json::from_str::<Vec<RawMembers<'_>>>(list.get()).map_err(DetailsTrouble::Unreadable)? {
            match self.list.last_mut().filter(|last| last.continues(&piece)) {
                Some(last) => last.grow(piece)?,
                None => {
                    let mut detail = ReasoningDetail { members: Vec::new() };
                    detail.grow(piece)?;
                    self.list.push(detail);
                }
            }
        }
        Ok(())
    }

    /// All of them as a JSON list; `None` when there are none.
    pub(super) fn told(&mut self) -> Option<String> {
        let list = std::mem::take(&mut self.list);
        let entries: Vec<String> = list.iter().map(ReasoningDetail::json).collect();
        (!entries.is_empty()).then(|| format!("[{}]", entries.join(",")))
    }
}

impl ReasoningDetail {
    /// Only words come in pieces; what is sealed is whole.
    fn continues(&self, piece: &RawMembers<'_>) -> bool {
        let ours = |name: &str| match self.members.iter().find(|(key, _)| key == name) {
            Some((_, MemberValue::Raw(raw))) => Some(&**raw),
            _ => None,
        };
        let grows = self.members.iter().any(|(_, value)| matches!(value, MemberValue::Text(_)));
        let signed = ours("signature").is_some_and(|raw| raw != "null");
        grows && !signed && ["type", "index"].iter().all(|name| ours(name) == piece.raw(name))
    }

    fn grow(&mut self, piece: RawMembers<'_>) -> Result<(), DetailsTrouble> {
        for (name, raw) in piece.0 {
            // A null adds nothing to a member that is there, and stands for itself where none is.
            let known = self.members.iter_mut().find(|(key, _)| *key == name).map(|(_, value)| value);
            let text = GROWING.contains(&&*name) && raw.get().starts_with('"');
            match known {
                Some(MemberValue::Text(all)) if text => all.push_str(&words(raw)?),
                Some(_) if raw.get() == "null" => {}
                Some(value) if text => *value = MemberValue::Text(words(raw)?),
                Some(value) => *value = MemberValue::Raw(raw.get().to_owned()),
                None if text => self.members.push((name, MemberValue::Text(words(raw)?))),
                None => self.members.push((name, MemberValue::Raw(raw.get().to_owned()))),
            }
        }
        Ok(())
    }

    fn json(&self) -> String {
        let quoted = |text: &str| serde_json::to_string(text).expect("a string always serialises");
        let member = |(name, value): &(String, MemberValue)| match value {
            MemberValue::Text(text) => format!("{}:{}", quoted(name), quoted(text)),
            MemberValue::Raw(raw) => format!("{}:{raw}", quoted(name)),
        };
        format!("{{{}}}", self.members.iter().map(member).collect::<Vec<_>>().join(","))
    }
}

fn words(raw: &RawValue) -> Result<String, DetailsTrouble> {
    serde_json::from_str::<LenientText<'_>>(raw.get())
        .map(|words| words.0.into_owned())
        .map_err(DetailsTrouble::Unreadable)
}

/// Why a list was not taken.
#[derive(Debug)]
pub(super) enum DetailsTrouble {
    Unreadable(serde_json::Error),
    Large,
}

impl From<DetailsTrouble> for crate::format::DecodeTrouble {
    fn from(trouble: DetailsTrouble) -> Self {
        match trouble {
            DetailsTrouble::Unreadable(error) => error.into(),
            DetailsTrouble::Large => too_large().into(),
        }
    }
}

fn too_large() -> ModelFault {
    faults::provider(format!("the model's reasoning details are larger than {DETAILS_BYTES_MAX} bytes"))
}

/// The entries of a list that was kept, without its brackets; `None` when it is no list of ours.
pub(super) fn entries(kept: &str) -> Option<&str> {
    let list = kept.strip_prefix('[')?.strip_suffix(']')?;
    serde_json::from_str::<Vec<RawMembers<'_>>>(kept).ok().filter(|entries| !entries.is_empty()).map(|_| list)
}

/// An object as it was written.
struct RawMembers<'a>(Vec<(String, &'a RawValue)>);

impl<'a> RawMembers<'a> {
    fn raw(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, raw)| raw.get())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = RawMembers<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawMembers<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry::<String, &RawValue>()? {
                    members.push(member);
                }
                Ok(RawMembers(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(chunks: &[&str]) -> Option<String> {
        let mut details = ReasoningDetails::default();
        for chunk in chunks {
            details.take(serde_json::from_str(chunk).unwrap()).unwrap();
        }
        details.told()
    }

    #[test]
    fn pieces_of_a_text_become_one_and_everything_else_stays_as_it_came() {
        let sealed = r#"[{"type":"reasoning.encrypted","data":"Zm\/v==","id":"r1","format":"x-v1","index":0}]"#;
        assert_eq!(gathered(&[sealed]).as_deref(), Some(sealed), "byte for byte");
        assert_eq!(
            gathered(&[
                r#"[{"type":"reasoning.text","text":"a","signature":null,"index":0}]"#,
                r#"[{"type":"reasoning.text","text":"b\u00e9","index":0,"format":"anthropic"}]"#,
                r#"[{"type":"reasoning.text","signature":"S+/=","index":0}]"#,
            ])
            .as_deref(),
            Some(r#"[{"type":"reasoning.text","text":"abé","signature":"S+/=","index":0,"format":"anthropic"}]"#)
        );
        let apart =
            [r#"{"type":"reasoning.text","text":"a","index":0}"#, r#"{"type":"reasoning.text","text":"b","index":1}"#];
        assert_eq!(gathered(&[&format!("[{}]", apart.join(","))]), Some(format!("[{}]", apart.join(","))));
        let twice = [r#"{"type":"reasoning.encrypted","data":"x","index":0}"#; 2].join(",");
        assert_eq!(gathered(&[&format!("[{twice}]")]), Some(format!("[{twice}]")), "what is sealed is never joined");
        assert_eq!(gathered(&[]), None);
        assert_eq!(gathered(&["[]"]), None);
    }

    #[test]
    fn too_much_is_an_error() {
        let big: Box<RawValue> =
            serde_json::from_str(&format!(r#"[{{"type":"reasoning.text","text":"{}"}}]"#, "x".repeat(1024 * 1024)))
                .unwrap();
        let mut details = ReasoningDetails::default();
        let taken = (0..5).map(|_| details.take(&big)).collect::<Vec<_>>();
        assert!(taken[..3].iter().all(Result::is_ok) && matches!(taken[4], Err(DetailsTrouble::Large)));
    }

    #[test]
    fn only_a_list_of_objects_goes_back() {
        assert_eq!(entries(r#"[{"a":1},{"b":2}]"#), Some(r#"{"a":1},{"b":2}"#));
        for foreign in ["", "[]", "sig==", "[1]", r#"[{"a":1}"#, r#"{"a":1}"#] {
            assert_eq!(entries(foreign), None, "{foreign}");
        }
    }
}
