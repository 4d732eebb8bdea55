//! Whether text that comes in pieces is text so far: a wrong byte is found when it comes, not when the message is whole.

/// The beginning of a character whose rest has not come yet.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Utf8Check {
    begun: [u8; 4],
    len: u8,
}

impl Utf8Check {
    /// `false`: no text can begin like this.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> bool {
        while self.len > 0 {
            let Some((first, rest)) = bytes.split_first() else { return true };
            self.begun[usize::from(self.len)] = *first;
            self.len += 1;
            bytes = rest;
            match std::str::from_utf8(&self.begun[..usize::from(self.len)]) {
                Ok(_) => self.len = 0,
                Err(error) if error.error_len().is_some() => return false,
                Err(_) => {}
            }
        }
        let Err(error) = std::str::from_utf8(bytes) else { return true };
        let rest = &bytes[error.valid_up_to()..];
        if error.error_len().is_some() {
            return false;
        }
        self.begun[..rest.len()].copy_from_slice(rest);
        self.len = rest.len() as u8;
        true
    }

    /// Whether it may end here.
    pub(crate) fn is_whole(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the library judges the whole: `Some(whether it is whole)` where it can be the beginning of text.
    fn judged(bytes: &[u8]) -> Option<bool> {
        match std::str::from_utf8(bytes) {
            Ok(_) => Some(true),
            Err(error) => error.error_len().is_none().then_some(false),
        }
    }

    #[test]
    fn pieces_are_judged_like_the_whole() {
        let edges: &[&[u8]] = &[
            b"",
            b"a",
            "κόσμε".as_bytes(),
            "\u{10ffff}\u{e000}\u{d7ff}\u{fffd}".as_bytes(),
            b"\xf4\x90",
            b"\xf4\x90\x80\x80",
            b"\xed\xa0\x80",
            b"\xc0\xaf",
            b"\xe0\x80\xaf",
            b"\x80",
            b"\xf8\x88\x80\x80\x80",
            b"ab\xce",
            b"ab\xf0\x9f\x98",
            b"\xfe",
            b"\xf5",
        ];
        for bytes in edges {
            for piece in 1..=bytes.len().max(1) {
                let mut check = Utf8Check::default();
                let fed = bytes.chunks(piece).all(|piece| check.feed(piece));
                assert_eq!(fed.then(|| check.is_whole()), judged(bytes), "{bytes:x?} in pieces of {piece}");
            }
        }
    }
}
