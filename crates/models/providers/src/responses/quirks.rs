//! What a server or a model turns out not to take, learned from its refusals.

use std::sync::atomic::{AtomicU8, Ordering};

use serde::Deserialize;

use crate::completions::Compat;
use crate::faults;
use crate::json::LenientText;

/// Parts of a request that are left out. What was learned holds for the rest of the conversation.
pub(super) struct ResponsesQuirks(AtomicU8);

/// The name of a parameter, a phrase of refusals that do not name it, and what both teach.
const LESSONS: [(&str, &str, u8); 7] = [
    // Only for organisations that OpenAI has verified.
    ("reasoning.summary", "reasoning summaries", ResponsesQuirks::NO_SUMMARY),
    ("reasoning.effort", "reasoning_effort", ResponsesQuirks::NO_EFFORT),
    ("reasoning", "reasoning is not supported", ResponsesQuirks::NO_EFFORT | ResponsesQuirks::NO_SUMMARY),
    ("include", "encrypted content", ResponsesQuirks::NO_INCLUDE),
    ("reasoning.encrypted_content", "encrypted_content", ResponsesQuirks::NO_INCLUDE),
    ("max_output_tokens", "max_output_tokens", ResponsesQuirks::NO_LIMIT),
    ("store", "parameter: store", ResponsesQuirks::NO_STORE),
];

/// The API says so of an item that it looked for in vain. It names `store`, and does not mind it.
const NOT_STORED: &str = "items are not persisted";

#[derive(Deserialize)]
struct Refusal<'a> {
    #[serde(borrow)]
    error: NamedParameter<'a>,
}
#[derive(Deserialize)]
struct NamedParameter<'a> {
    #[serde(borrow, default)]
    param: LenientText<'a>,
}

impl ResponsesQuirks {
    pub(super) const NO_SUMMARY: u8 = 1;
    pub(super) const NO_EFFORT: u8 = 2;
    pub(super) const NO_INCLUDE: u8 = 4;
    pub(super) const NO_LIMIT: u8 = 8;
    pub(super) const NO_STORE: u8 = 16;

    /// What somebody said about the server needs not be learned.
    pub(super) fn new(compat: &Compat) -> Self {
        let said = [
            (compat.reasoning_effort == Some(false), Self::NO_EFFORT),
            (compat.output_limit == Some(false), Self::NO_LIMIT),
            (compat.store == Some(false), Self::NO_STORE),
        ];
        Self(AtomicU8::new(said.iter().filter(|(said, _)| *said).map(|(_, quirk)| quirk).sum()))
    }

    pub(super) fn has(&self, quirk: u8) -> bool {
        self.0.load(Ordering::Relaxed) & quirk != 0
    }

    /// Whether a refusal taught something new, so that asking again makes sense.
    pub(super) fn learn(&self, status: u16, body: &[u8]) -> bool {
        if !matches!(status, 400 | 422) {
            return false;
        }
        let said = faults::said(body).message.to_lowercase();
        if said.contains(NOT_STORED) {
            return false;
        }
        let param = serde_json::from_slice::<Refusal<'_>>(body).map(|refusal| refusal.error.param.0);
        let lesson = match param {
            Ok(param) if !param.is_empty() => LESSONS.iter().find(|(name, ..)| *name == param),
            _ => LESSONS.iter().find(|(name, phrase, _)| is_quoted(&said, name) || said.contains(phrase)),
        };
        lesson.is_some_and(|(_, _, quirk)| self.0.fetch_or(*quirk, Ordering::Relaxed) & quirk != *quirk)
    }
}

fn is_quoted(said: &str, name: &str) -> bool {
    ['\'', '"', '`'].iter().any(|quote| said.contains(&format!("{quote}{name}{quote}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(message: &str, param: &str) -> String {
        format!(r#"{{"error":{{"message":"{message}","type":"invalid_request_error","param":{param},"code":null}}}}"#)
    }

    #[test]
    fn each_refusal_teaches_its_lesson_once() {
        for (body, quirk) in [
            (
                error("Your organization must be verified to generate reasoning summaries.", r#""reasoning.summary""#),
                ResponsesQuirks::NO_SUMMARY,
            ),
            (
                error("Your organization must be verified to generate reasoning summaries.", "null"),
                ResponsesQuirks::NO_SUMMARY,
            ),
            (error("Unsupported value: 'none' is not supported", r#""reasoning.effort""#), ResponsesQuirks::NO_EFFORT),
            (error("Unsupported parameter: 'reasoning.effort'", "null"), ResponsesQuirks::NO_EFFORT),
            (
                error("Unknown parameter: 'reasoning'", r#""reasoning""#),
                ResponsesQuirks::NO_EFFORT | ResponsesQuirks::NO_SUMMARY,
            ),
            (error("Encrypted content is not supported with this model.", r#""include""#), ResponsesQuirks::NO_INCLUDE),
            (error("Encrypted content is not supported with this model.", "null"), ResponsesQuirks::NO_INCLUDE),
            (error("max_output_tokens is too large: 9.", r#""max_output_tokens""#), ResponsesQuirks::NO_LIMIT),
            (r#"{"detail":"Unsupported parameter: max_output_tokens"}"#.into(), ResponsesQuirks::NO_LIMIT),
            (
                r#"{"detail":[{"loc":["body","store"],"msg":"Extra inputs are not permitted"}]}"#.into(),
                ResponsesQuirks::NO_STORE,
            ),
            (error("Unknown parameter: 'store'.", r#""store""#), ResponsesQuirks::NO_STORE),
        ] {
            let quirks = ResponsesQuirks::new(&Compat::default());
            assert!(!quirks.learn(500, body.as_bytes()));
            assert!(quirks.learn(400, body.as_bytes()), "{body}");
            assert_eq!(quirks.0.load(Ordering::Relaxed), quirk, "{body}");
            assert!(!quirks.learn(400, body.as_bytes()), "{body}");
        }
    }

    #[test]
    fn what_somebody_said_needs_no_refusal() {
        let no = Some(false);
        for (compat, quirk) in [
            (Compat { reasoning_effort: no, ..Compat::default() }, ResponsesQuirks::NO_EFFORT),
            (Compat { output_limit: no, ..Compat::default() }, ResponsesQuirks::NO_LIMIT),
            (Compat { store: no, ..Compat::default() }, ResponsesQuirks::NO_STORE),
            (Compat::default(), 0),
        ] {
            assert_eq!(ResponsesQuirks::new(&compat).0.load(Ordering::Relaxed), quirk, "{compat:?}");
        }
    }

    #[test]
    fn what_is_no_matter_of_parameters_teaches_nothing() {
        for body in [
            error("Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.", "null"),
            error("No tool output found for function call call_1.", r#""input""#),
            error("the include directive of your tool is bad", r#""tools[0].parameters""#),
            "not JSON, and the store is closed".into(),
        ] {
            assert!(!ResponsesQuirks::new(&Compat::default()).learn(400, body.as_bytes()), "{body}");
        }
    }
}
