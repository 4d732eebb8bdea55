//! What a close frame may say (RFC 6455, 7.4).

/// Bytes of a reason: what a control frame holds beside the code.
pub(crate) const REASON_BYTES_MAX: usize = 123;

/// Whether a peer may send this code. 1005, 1006 and 1015 are for those who tell of an end, not for the wire.
pub fn is_code(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}

/// The payload of a close frame. A reason that does not fit is cut at a character.
pub(crate) fn payload(code: u16, reason: &str) -> Vec<u8> {
    let mut end = reason.len().min(REASON_BYTES_MAX);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    let mut bytes = code.to_be_bytes().to_vec();
    bytes.extend_from_slice(&reason.as_bytes()[..end]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_cut_at_a_character() {
        let long = payload(1000, &"ä".repeat(100));
        assert_eq!(long.len(), 2 + 122, "61 whole characters");
        assert!(std::str::from_utf8(&long[2..]).is_ok());
        assert_eq!(payload(1001, "bye"), b"\x03\xe9bye");
    }
}
