//! As much of RFC 6455 as two ends need that trust each other: whole text messages, pings, closes. Used by the floor of the
//! gateway rows and by the driver, so neither has an advantage.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest;

const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
pub(crate) const TEXT: u8 = 1;
pub(crate) const CLOSE: u8 = 8;
pub(crate) const PING: u8 = 9;
pub(crate) const PONG: u8 = 10;
const FINAL: u8 = 0x80;
const MASKED: u8 = 0x80;
/// Any mask will do between two programs on one machine; with this one the bytes stay what they are.
const MASK: [u8; 4] = [0; 4];

/// The server's answer to a client's key.
pub(crate) fn accept(key: &str) -> String {
    let mut digest = digest::Context::new(&digest::SHA1_FOR_LEGACY_USE_ONLY);
    digest.update(key.as_bytes());
    digest.update(GUID.as_bytes());
    STANDARD.encode(digest.finish())
}

/// The head of a server's frame.
pub(crate) fn head(into: &mut Vec<u8>, op: u8, length: usize) {
    into.push(FINAL | op);
    lengths(into, length, 0);
}

/// A client's frame.
pub(crate) fn masked(into: &mut Vec<u8>, op: u8, payload: &[u8]) {
    into.push(FINAL | op);
    lengths(into, payload.len(), MASKED);
    into.extend_from_slice(&MASK);
    into.extend_from_slice(payload);
}

fn lengths(into: &mut Vec<u8>, length: usize, masked: u8) {
    match length {
        0..=125 => into.push(masked | length as u8),
        126..=0xffff => {
            into.push(masked | 126);
            into.extend_from_slice(&(length as u16).to_be_bytes());
        }
        _ => {
            into.push(masked | 127);
            into.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
}

/// A whole frame at the front of a buffer.
pub(crate) struct Whole {
    pub(crate) op: u8,
    pub(crate) payload: Range<usize>,
    mask: Option<[u8; 4]>,
}

impl Whole {
    /// `None` until all of it is there.
    pub(crate) fn at_front(buf: &[u8]) -> Option<Self> {
        let (first, second) = (*buf.first()?, *buf.get(1)?);
        let (mut at, length) = match second & !MASKED {
            126 => (4, usize::from(u16::from_be_bytes(buf.get(2..4)?.try_into().ok()?))),
            127 => (10, u64::from_be_bytes(buf.get(2..10)?.try_into().ok()?) as usize),
            length => (2, usize::from(length)),
        };
        let mut mask = None;
        if second & MASKED != 0 {
            mask = Some(buf.get(at..at + 4)?.try_into().ok()?);
            at += 4;
        }
        (buf.len() >= at + length).then_some(Self { op: first & 0x0f, payload: at..at + length, mask })
    }

    /// Takes the mask off.
    pub(crate) fn unmask(&self, buf: &mut [u8]) {
        if let Some(mask) = self.mask.filter(|mask| *mask != MASK) {
            buf[self.payload.clone()].iter_mut().enumerate().for_each(|(at, byte)| *byte ^= mask[at % 4]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_every_length_come_back_and_half_ones_wait() {
        for length in [0, 5, 125, 126, 65_535, 65_536] {
            let payload = vec![b'x'; length];
            let mut buf = Vec::new();
            masked(&mut buf, TEXT, &payload);
            let whole = Whole::at_front(&buf).expect("all is there");
            assert_eq!((whole.op, &buf[whole.payload.clone()]), (TEXT, &payload[..]));
            assert!(Whole::at_front(&buf[..buf.len() - 1]).is_none());
            let mut plain = Vec::new();
            head(&mut plain, TEXT, length);
            plain.extend_from_slice(&payload);
            assert_eq!(Whole::at_front(&plain).map(|whole| whole.payload.end), Some(plain.len()));
        }
        let mut strict = vec![0x81, 0x81, 1, 2, 3, 4, b'a' ^ 1];
        let whole = Whole::at_front(&strict).expect("all is there");
        whole.unmask(&mut strict);
        assert_eq!(strict[whole.payload], *b"a");
    }

    #[test]
    fn the_example_of_the_rfc_is_answered() {
        assert_eq!(accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
