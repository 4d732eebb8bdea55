//! What an issuer's refusal means, in words that are safe to show: one table. Pure.

use serde_json::Value;
use vocab::{Fault, FaultKind, Secret};

use crate::form;

/// Longer texts of an issuer are cut: a person reads them, and a log keeps them.
const TEXT_CHARS_MAX: usize = 200;

/// What an issuer says about an error: its code and its words.
#[derive(Default)]
pub(crate) struct IssuerError {
    pub(crate) code: String,
    words: String,
}

/// Reads `{"error": "code", "error_description": ..}` (RFC 6749) and `{"error": {"code": .., "message": ..}}`.
pub(crate) fn said(body: &[u8]) -> IssuerError {
    let Ok(value) = serde_json::from_slice::<Value>(body) else { return IssuerError::default() };
    let error = &value["error"];
    let text = |candidates: &[&Value]| candidates.iter().find_map(|it| it.as_str()).unwrap_or_default().to_owned();
    IssuerError {
        code: text(&[error, &error["code"], &error["type"], &value["code"]]),
        words: text(&[&value["error_description"], &error["message"], &value["message"], &value["detail"]]),
    }
}

/// Text from outside, fit for one line: no control characters, no secrets, not long. Masked before it is cut, or half a
/// secret could survive at the cut.
pub(crate) fn clean(text: &str, secrets: &[&Secret]) -> String {
    let mut text: String = text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
    for secret in secrets {
        text = secret.mask(&text);
        // As it was written in the request, which an issuer may quote.
        let encoded = Secret::new(&form::of(&[("", secret.expose())])[1..]);
        text = encoded.map_or(text.clone(), |encoded| encoded.mask(&text));
    }
    let text = text.trim();
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        Some((at, _)) => format!("{}\u{2026}", &text[..at]),
        None => text.to_owned(),
    }
}

/// An answer whose status is not 200. `doing` completes "... was refused".
pub(crate) fn refused(doing: &str, status: u16, body: &[u8], secrets: &[&Secret]) -> Fault {
    let said = said(body);
    let kind = match status {
        408 | 500..=599 => FaultKind::Provider,
        429 => FaultKind::RateLimited,
        400 | 401 | 403 => FaultKind::Auth,
        400..=499 => FaultKind::BadRequest,
        // A redirect is not followed: the secrets belong to the address they were configured for.
        _ => FaultKind::Provider,
    };
    let detail: Vec<String> =
        [&said.code, &said.words].iter().map(|it| clean(it, secrets)).filter(|it| !it.is_empty()).collect();
    let detail = if detail.is_empty() { String::new() } else { format!(": {}", detail.join(": ")) };
    Fault::new(kind, format!("{doing} was refused ({status}){detail}"))
}

/// An answer that makes no sense. What it was is not shown: it may hold tokens.
pub(crate) fn garbled(doing: &str) -> Fault {
    Fault::new(FaultKind::Provider, format!("{doing}: the issuer's answer makes no sense"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_has_a_kind_and_a_text() {
        let none: &[&Secret] = &[];
        for (status, body, kind, text) in [
            (
                400,
                r#"{"error":"invalid_grant","error_description":"gone"}"#,
                FaultKind::Auth,
                "X was refused (400): invalid_grant: gone",
            ),
            (
                401,
                r#"{"error":{"code":"refresh_token_reused","message":"again"}}"#,
                FaultKind::Auth,
                "X was refused (401): refresh_token_reused: again",
            ),
            (403, "<html>", FaultKind::Auth, "X was refused (403)"),
            (429, "", FaultKind::RateLimited, "X was refused (429)"),
            (503, "[1]", FaultKind::Provider, "X was refused (503)"),
            (302, "", FaultKind::Provider, "X was refused (302)"),
        ] {
            let fault = refused("X", status, body.as_bytes(), none);
            assert_eq!((fault.kind, fault.message.as_str()), (kind, text));
        }
    }

    #[test]
    fn a_secret_is_masked_as_it_is_and_as_a_form_has_it() {
        let secret = Secret::new("1//canary+").unwrap();
        assert_eq!(clean("a 1//canary+ b code=1%2F%2Fcanary%2B&c", &[&secret]), "a *** b code=***&c");
    }

    #[test]
    fn an_echoed_secret_is_masked_before_the_text_is_cut() {
        let secret = Secret::new("canary-0123456789").unwrap();
        for before in 170..210 {
            let text = format!("{}{}\n{}", "x".repeat(before), secret.expose(), "y".repeat(300));
            let shown = clean(&text, &[&secret]);
            assert!(!shown.contains("can") && !shown.contains('\n') && shown.chars().count() <= TEXT_CHARS_MAX + 1);
        }
    }
}
