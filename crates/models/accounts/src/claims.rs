//! What a token says about its owner. Signatures are not checked: the token came from the issuer over TLS a moment ago,
//! and what is read here is only shown, sent back to it, or used as a hint when to refresh.

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;
use serde_json::{Map, Value};
use vocab::{Profile, Secret};

/// A longer token has no claims for us; real ones are a few KiB.
const JWT_BYTES_MAX: usize = 32 * 1024;
/// A longer name or id is no name.
const CLAIM_CHARS_MAX: usize = 512;

/// Issuers leave padding away, and some do not.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The members as they came: a claim that is not what it should be is not there.
#[derive(Deserialize)]
pub(crate) struct Claims(Map<String, Value>);

impl Claims {
    /// `None` for what is not a JWT, is too long, or has no JSON object inside.
    pub(crate) fn of(token: &Secret) -> Option<Self> {
        let token = token.expose();
        if token.len() > JWT_BYTES_MAX {
            return None;
        }
        let mut parts = token.split('.');
        let (Some(_), Some(payload), Some(_), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
            return None;
        };
        serde_json::from_slice(&BASE64.decode(payload).ok()?).ok()
    }

    /// The account within ChatGPT, wherever the issuer puts it this year.
    pub(crate) fn account_id(&self) -> Option<String> {
        let own = self.0.get("https://api.openai.com/auth").and_then(|it| it.get("chatgpt_account_id"));
        let organization = self.0.get("organizations").and_then(|it| it.get(0)?.get("id"));
        [own, self.0.get("chatgpt_account_id"), organization].into_iter().find_map(text)
    }

    pub(crate) fn expires_at_ms(&self) -> Option<i64> {
        let seconds = self.0.get("exp")?.as_f64().filter(|it| it.is_finite() && *it > 0.0)?;
        // Saturates, which is late enough.
        Some((seconds * 1000.0) as i64)
    }

    /// Also reads what a userinfo endpoint answers: it has the same members.
    pub(crate) fn profile(&self) -> Option<Profile> {
        let email = text(self.0.get("email"))?;
        let name = text(self.0.get("name")).unwrap_or_else(|| email.clone());
        Some(Profile { email, name, image: text(self.0.get("picture")) })
    }
}

fn text(value: Option<&Value>) -> Option<String> {
    let text = value?.as_str()?.trim();
    let fits = !text.is_empty() && text.chars().count() <= CLAIM_CHARS_MAX && !text.chars().any(char::is_control);
    fits.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{URL_SAFE as PADDED, URL_SAFE_NO_PAD};
    use proptest::prelude::*;

    use super::*;

    fn jwt(payload: &str) -> Secret {
        Secret::new(&format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(payload))).unwrap()
    }

    #[test]
    fn the_account_is_found_in_every_place() {
        for (payload, want) in [
            (r#"{"https://api.openai.com/auth":{"chatgpt_account_id":"a"},"chatgpt_account_id":"b"}"#, Some("a")),
            (r#"{"chatgpt_account_id":"b","organizations":[{"id":"c"}]}"#, Some("b")),
            (r#"{"organizations":[{"id":"c"},{"id":"d"}]}"#, Some("c")),
            (r#"{"chatgpt_account_id":7,"organizations":"x"}"#, None),
            (r#"{"chatgpt_account_id":"  "}"#, None),
            (r#"{"chatgpt_account_id":"a\nb"}"#, None),
            ("{}", None),
        ] {
            assert_eq!(Claims::of(&jwt(payload)).unwrap().account_id().as_deref(), want, "{payload}");
        }
    }

    #[test]
    fn bad_tokens_have_no_claims() {
        let padded = format!("e30.{}.s", PADDED.encode(r#"{"exp":1}"#));
        assert_eq!(Claims::of(&Secret::new(&padded).unwrap()).unwrap().expires_at_ms(), Some(1000));
        let long =
            format!("e30.{}.s", URL_SAFE_NO_PAD.encode(format!(r#"{{"email":"{}"}}"#, "x".repeat(JWT_BYTES_MAX))));
        for bad in ["plain", "a.b", "a.b.c.d", "a.!!.c", "a..c", &long, "a.W10.c", "a.bm8.c"] {
            assert!(Claims::of(&Secret::new(bad).unwrap()).is_none(), "{bad:.40}");
        }
    }

    #[test]
    fn a_profile_needs_an_email_and_gets_a_name() {
        let profile = |payload: &str| Claims::of(&jwt(payload)).unwrap().profile();
        let full = profile(r#"{"email":"a@b","name":"A","picture":"https://p"}"#).unwrap();
        assert_eq!((full.email.as_str(), full.name.as_str(), full.image.as_deref()), ("a@b", "A", Some("https://p")));
        assert_eq!(profile(r#"{"email":"a@b"}"#).unwrap().name, "a@b");
        assert_eq!(profile(r#"{"name":"A"}"#), None);
    }

    proptest! {
        #[test]
        fn no_token_makes_it_panic(token in ".{1,200}", payload in proptest::collection::vec(any::<u8>(), 0..200)) {
            for text in [token, format!("a.{}.b", URL_SAFE_NO_PAD.encode(payload))] {
                if let Some(claims) = Secret::new(&text).and_then(|token| Claims::of(&token)) {
                    let _ = (claims.account_id(), claims.expires_at_ms(), claims.profile());
                }
            }
        }
    }
}
