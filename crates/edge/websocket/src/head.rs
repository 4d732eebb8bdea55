//! The head of a frame (RFC 6455, 5.2), read and written.

/// The longest: two bytes, eight of length, four of mask.
pub(crate) const HEAD_BYTES_MAX: usize = 14;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Opcode {
    Continuation,
    Text,
    Binary,
    Close,
    Ping,
    Pong,
}

impl Opcode {
    fn of(nibble: u8) -> Option<Self> {
        Some(match nibble {
            0 => Opcode::Continuation,
            1 => Opcode::Text,
            2 => Opcode::Binary,
            8 => Opcode::Close,
            9 => Opcode::Ping,
            10 => Opcode::Pong,
            _ => return None,
        })
    }

    fn nibble(self) -> u8 {
        match self {
            Opcode::Continuation => 0,
            Opcode::Text => 1,
            Opcode::Binary => 2,
            Opcode::Close => 8,
            Opcode::Ping => 9,
            Opcode::Pong => 10,
        }
    }

    pub(crate) fn is_control(self) -> bool {
        matches!(self, Opcode::Close | Opcode::Ping | Opcode::Pong)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FrameHead {
    pub(crate) fin: bool,
    pub(crate) opcode: Opcode,
    pub(crate) len: u64,
    pub(crate) mask: Option<[u8; 4]>,
}

/// How many bytes the head has that begins with these two.
pub(crate) fn head_len(second: u8) -> usize {
    let length = match second & 0x7f {
        126 => 2,
        127 => 8,
        _ => 0,
    };
    2 + length + if second & 0x80 == 0 { 0 } else { 4 }
}

/// Reads a whole head. The error says what is wrong.
pub(crate) fn read(bytes: &[u8]) -> Result<FrameHead, &'static str> {
    let (first, second) = (bytes[0], bytes[1]);
    if first & 0x70 != 0 {
        return Err("a reserved bit is set");
    }
    let opcode = Opcode::of(first & 0x0f).ok_or("an opcode that means nothing")?;
    let rest = &bytes[2..];
    let (len, least, rest) = match second & 0x7f {
        126 => (u64::from(u16::from_be_bytes([rest[0], rest[1]])), 126, &rest[2..]),
        127 => (u64::from_be_bytes(rest[..8].try_into().expect("eight bytes")), 0x1_0000, &rest[8..]),
        short => (u64::from(short), 0, rest),
    };
    if len < least {
        return Err("a length in more bytes than it needs");
    }
    if len > i64::MAX as u64 {
        return Err("a length with its highest bit set");
    }
    let mask = (second & 0x80 != 0).then(|| [rest[0], rest[1], rest[2], rest[3]]);
    Ok(FrameHead { fin: first & 0x80 != 0, opcode, len, mask })
}

/// Writes a head; how much of the array it takes.
pub(crate) fn write(head: FrameHead) -> ([u8; HEAD_BYTES_MAX], usize) {
    let mut bytes = [0; HEAD_BYTES_MAX];
    bytes[0] = head.opcode.nibble() | if head.fin { 0x80 } else { 0 };
    let mut at = 2;
    bytes[1] = match head.len {
        0..126 => head.len as u8,
        126..0x1_0000 => {
            bytes[2..4].copy_from_slice(&(head.len as u16).to_be_bytes());
            at = 4;
            126
        }
        _ => {
            bytes[2..10].copy_from_slice(&head.len.to_be_bytes());
            at = 10;
            127
        }
    };
    if let Some(mask) = head.mask {
        bytes[1] |= 0x80;
        bytes[at..at + 4].copy_from_slice(&mask);
        at += 4;
    }
    (bytes, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for len in [0, 1, 125, 126, 127, 128, 65_535, 65_536, 1 << 40] {
            for mask in [None, Some([1, 2, 3, 4])] {
                for opcode in [Opcode::Continuation, Opcode::Text, Opcode::Binary, Opcode::Close, Opcode::Ping] {
                    let head = FrameHead { fin: len % 2 == 0, opcode, len, mask };
                    let (bytes, count) = write(head);
                    assert_eq!(head_len(bytes[1]), count);
                    assert_eq!(read(&bytes[..count]), Ok(head));
                }
            }
        }
    }
}
