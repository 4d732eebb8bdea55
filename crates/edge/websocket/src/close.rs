//! What a close frame may say (RFC 6455, 7.4).

/// Bytes of a reason: what a control frame holds beside the code.
pub(crate) const REASON_BYTES_MAX: usize = 123;

/// Whether a peer may send this code. 1005, 1006 and 1015 are for those who tell of an end, not for the wire.
pub(crate) fn is_code(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}

/// What stands where a reason was cut.
const CUT: &str = "…";

/// The payload of a close frame. A reason that does not fit is cut behind a word, and shows it.
pub(crate) fn payload(code: u16, reason: &str) -> Vec<u8> {
    let mut bytes = code.to_be_bytes().to_vec();
    if reason.len() <= REASON_BYTES_MAX {
        bytes.extend_from_slice(reason.as_bytes());
        return bytes;
    }
    let begins = &reason[..reason.floor_char_boundary(REASON_BYTES_MAX - CUT.len())];
    let words = begins.rsplit_once(' ').map_or(begins, |(words, _)| words);
    bytes.extend_from_slice(words.as_bytes());
    bytes.extend_from_slice(CUT.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_that_does_not_fit_is_cut_behind_a_word() {
        let long = payload(1000, &"ä".repeat(100));
        assert_eq!(std::str::from_utf8(&long[2..]), Ok(&*format!("{}…", "ä".repeat(60))));
        let words = payload(1000, &"word ".repeat(30));
        assert_eq!(std::str::from_utf8(&words[2..]), Ok(&*format!("{}…", ["word"; 24].join(" "))));
        assert_eq!(payload(1000, &"x".repeat(REASON_BYTES_MAX)).len(), 2 + REASON_BYTES_MAX, "it fits");
        assert_eq!(payload(1001, "bye"), b"\x03\xe9bye");
    }
}
