//! What a vendor would refuse: requests are checked before they are answered, and complaints are worded as the vendor's.
//!
//! Only rules that a vendor enforces with an error are here, and of those the ones that a client breaks by a wrong history:
//! pairs of calls and results, order, empty content, seals that are missing, changed or of somebody else.

mod anthropic;
mod completions;
mod gemini;
mod responses;

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::Request;
use super::answer::Said;
use super::format::{Asked, Format, Speech};
use super::responses::item_id;

const NAME_BYTES_MAX: usize = 64;

/// What the server has said, as far as a later request must repeat it.
#[derive(Default)]
pub(super) struct Known {
    /// Every seal with the words it belongs to; `None` where these are not compared.
    seals: HashMap<String, Option<String>>,
    /// Calls whose answer did not begin with a thought, by id.
    bare: HashSet<String>,
    /// Items that came right behind a reasoning item: their id and its.
    behind: HashMap<String, String>,
}

impl Known {
    /// Accepts this seal although no answer had it.
    pub(super) fn trust(&mut self, seal: &str) {
        self.seals.insert(unified(seal), None);
    }

    pub(super) fn learn(&mut self, speech: &Speech) {
        let (asked, answer) = (&speech.asked, &speech.answer);
        let mut thought = None;
        for (index, block) in answer.blocks.iter().enumerate() {
            let before = thought.take();
            match block {
                Said::Thinking { text, seal } => {
                    if let Some(seal) = seal {
                        self.seals.insert(unified(seal), Some(text.clone()));
                    }
                    thought = Some(index);
                }
                Said::Redacted(sealed) => {
                    self.seals.insert(unified(sealed), None);
                    thought = Some(index);
                }
                Said::Call { id, seal, .. } => {
                    if let Some(seal) = seal {
                        self.seals.insert(unified(seal), None);
                    }
                    let id = id.clone().unwrap_or_default();
                    match answer.blocks[0] {
                        Said::Thinking { .. } | Said::Redacted(_) => self.bare.remove(&id),
                        _ => self.bare.insert(id),
                    };
                }
                Said::Text(_) => {}
            }
            if let Some(before) = before {
                self.behind.insert(item_id(asked, answer, index), item_id(asked, answer, before));
            }
        }
    }

    /// Whether this seal was given for these words.
    fn fits(&self, seal: &str, words: &str) -> bool {
        self.seals.get(&unified(seal)).is_some_and(|given| given.as_ref().is_none_or(|given| given == words))
    }

    fn has(&self, seal: &str) -> bool {
        self.seals.contains_key(&unified(seal))
    }
}

/// Base64 comes in two alphabets, and a vendor that calls a seal bytes reads both.
fn unified(seal: &str) -> String {
    seal.replace('-', "+").replace('_', "/")
}

/// What the vendor would complain about, if anything.
pub(super) fn complaint(asked: &Asked, request: &Request, body: &Value, known: &Known) -> Option<String> {
    let checked = match asked.format {
        Format::Completions => completions::check(body),
        Format::Anthropic => match request.header("anthropic-version") {
            Some(_) => anthropic::check(body, known),
            None => Err("anthropic-version: header is required".into()),
        },
        Format::Responses => responses::check(body, known),
        Format::Gemini => gemini::check(body, &asked.model, known),
    };
    checked.err()
}

type Checked = Result<(), String>;

/// `Err` with these words unless `holds`.
fn ensure(holds: bool, complaint: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(complaint()) }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn good_name(name: &Value) -> bool {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    name.as_str().is_some_and(|name| (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(good))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Change<'a> = (&'a dyn Fn(&mut Value), &'a str);

    /// A good request is taken, and every change to it is refused with these words.
    pub(super) fn table(good: &Value, changes: &[Change], check: impl Fn(&Value) -> Checked) {
        assert_eq!(check(good), Ok(()), "the good request");
        for (change, want) in changes {
            let mut body = good.clone();
            change(&mut body);
            let got = check(&body);
            assert!(got.as_ref().is_err_and(|words| words.contains(want)), "wanted {want:?}, got {got:?} for {body}");
        }
    }

    #[test]
    fn a_request_without_a_version_is_refused_where_one_is_wanted() {
        let body = serde_json::json!({ "max_tokens": 9, "messages": [{ "role": "user", "content": "x" }] });
        let asked = Format::Anthropic.asked("/v1/messages", &body, 0);
        let mut request = Request {
            method: "POST".into(),
            path: "/v1/messages".into(),
            headers: vec![],
            body: vec![],
            connection: 0,
        };
        let heard = |request: &Request| complaint(&asked, request, &body, &Known::default());
        assert!(heard(&request).unwrap().contains("anthropic-version"));
        request.headers.push(("anthropic-version".into(), "2023-06-01".into()));
        assert_eq!(heard(&request), None);
    }

    #[test]
    fn names_are_letters_digits_dashes_of_a_bounded_length() {
        for (name, good) in
            [("a", true), ("mcp__x-1", true), ("", false), ("a.b", false), ("\u{e9}", false), (&"a".repeat(65), false)]
        {
            assert_eq!(good_name(&name.into()), good, "{name}");
        }
    }
}
