//! Random things of a flow: the PKCE verifier with its challenge (RFC 7636, S256), and the state.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use vocab::{Fault, FaultKind, Secret};

/// 256 bits: as many as the challenge has.
const RANDOM_BYTES: usize = 32;

fn random() -> Result<[u8; RANDOM_BYTES], Fault> {
    let mut bytes = [0; RANDOM_BYTES];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Fault::new(FaultKind::Internal, "the operating system gives no random numbers"))?;
    Ok(bytes)
}

pub(crate) struct Pkce {
    pub(crate) verifier: Secret,
    pub(crate) challenge: String,
}

impl Pkce {
    pub(crate) fn new() -> Result<Self, Fault> {
        let verifier = URL_SAFE_NO_PAD.encode(random()?);
        let challenge = challenge(&verifier);
        Ok(Self { verifier: Secret::new(&verifier).expect("base64 of 32 bytes is not blank"), challenge })
    }
}

fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))
}

/// What the browser has to bring back. It is compared by its MAC under a key of this process, so the time that takes
/// tells nothing about where a guess went wrong.
pub(crate) struct OAuthState {
    pub(crate) text: String,
    key: hmac::Key,
    mac: hmac::Tag,
}

impl OAuthState {
    pub(crate) fn new() -> Result<Self, Fault> {
        let text = URL_SAFE_NO_PAD.encode(random()?);
        let key = hmac::Key::new(hmac::HMAC_SHA256, &random()?);
        let mac = hmac::sign(&key, text.as_bytes());
        Ok(Self { text, key, mac })
    }
    pub(crate) fn matches(&self, guess: &str) -> bool {
        hmac::verify(&self.key, guess.as_bytes(), self.mac.as_ref()).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_that_of_the_rfc() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(challenge(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn nothing_is_drawn_twice_and_lengths_fit_the_rfc() {
        let (one, two) = (Pkce::new().unwrap(), Pkce::new().unwrap());
        assert_ne!(one.verifier, two.verifier);
        assert!((43..=128).contains(&one.verifier.expose().len()));
        assert_ne!(OAuthState::new().unwrap().text, OAuthState::new().unwrap().text);
    }

    #[test]
    fn only_the_very_state_matches() {
        let state = OAuthState::new().unwrap();
        let text = state.text.clone();
        assert!(state.matches(&text));
        let mut changed = text.clone().into_bytes();
        changed[7] ^= 1;
        for wrong in ["", &text[1..], &format!("{text}x"), &String::from_utf8(changed).unwrap()] {
            assert!(!state.matches(wrong), "{wrong}");
        }
    }
}
