//! The words with which a connection becomes a WebSocket (RFC 6455, 4), for both sides.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest;

/// What every server adds to the client's key.
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const KEY_BYTES: usize = 16;
/// The only version there is.
pub const VERSION: &str = "13";

/// The server's answer to a client's key.
pub fn accept(key: &str) -> String {
    let mut digest = digest::Context::new(&digest::SHA1_FOR_LEGACY_USE_ONLY);
    digest.update(key.as_bytes());
    digest.update(GUID.as_bytes());
    STANDARD.encode(digest.finish())
}

/// Whether a client may have made this key: sixteen bytes.
pub fn is_key(key: &str) -> bool {
    STANDARD.decode(key).is_ok_and(|bytes| bytes.len() == KEY_BYTES)
}

/// A key of our own.
pub(crate) fn new_key() -> String {
    STANDARD.encode(random::<KEY_BYTES>())
}

/// Bytes that nobody can guess.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    use ring::rand::{SecureRandom, SystemRandom};
    let mut bytes = [0; N];
    // The system's source does not fail once it is there; a mask of zeros would harm nobody but proxies.
    let _ = SystemRandom::new().fill(&mut bytes);
    bytes
}

/// Whether a list of words (`Connection: keep-alive, Upgrade`) has this one.
pub fn lists(value: &str, word: &str) -> bool {
    value.split(',').any(|item| item.trim().eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_rfc_is_answered() {
        assert_eq!(accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert!(is_key("dGhlIHNhbXBsZSBub25jZQ==") && is_key(&new_key()));
        for key in ["", "x", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZQ==", "dGhlIHNhbXBsZSBub25jZSBtb3Jl"] {
            assert!(!is_key(key), "{key}");
        }
        assert!(lists("keep-alive, Upgrade", "upgrade") && !lists("upgraded", "upgrade"));
    }
}
