//! Frames as bytes, right and wrong ones, and what a codec makes of them.

use websocket::{Codec, Incoming, Role, WsLimits};

pub(crate) const LIMITS: WsLimits =
    WsLimits { message_bytes_max: 16 * 1024 * 1024, fragments_max: 131_072, control_per_s: 50 };
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

pub(crate) const CONTINUATION: u8 = 0;
pub(crate) const TEXT: u8 = 1;
pub(crate) const BINARY: u8 = 2;
pub(crate) const CLOSE: u8 = 8;
pub(crate) const PING: u8 = 9;
pub(crate) const PONG: u8 = 10;
pub(crate) const FIN: u8 = 0x80;

/// A masked frame whose first byte is this.
pub(crate) fn raw(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        len @ 0..126 => bytes.push(0x80 | len as u8),
        len @ 126..0x1_0000 => {
            bytes.push(0x80 | 126);
            bytes.extend((len as u16).to_be_bytes());
        }
        len => {
            bytes.push(0x80 | 127);
            bytes.extend((len as u64).to_be_bytes());
        }
    }
    bytes.extend(MASK);
    bytes.extend(payload.iter().enumerate().map(|(at, byte)| byte ^ MASK[at % 4]));
    bytes
}

/// A whole message or a control frame.
pub(crate) fn whole(opcode: u8, payload: &[u8]) -> Vec<u8> {
    raw(FIN | opcode, payload)
}

/// A frame behind which the message goes on.
pub(crate) fn part(opcode: u8, payload: &[u8]) -> Vec<u8> {
    raw(opcode, payload)
}

/// What came out, a line each; a violation is its code.
pub(crate) fn heard(bytes: &[u8], piece: usize) -> Vec<String> {
    let mut codec = Codec::new(Role::Server, LIMITS);
    heard_by(&mut codec, bytes, piece)
}

pub(crate) fn heard_by(codec: &mut Codec, bytes: &[u8], piece: usize) -> Vec<String> {
    let mut bytes = bytes.to_vec();
    let mut heard = Vec::new();
    for piece in bytes.chunks_mut(piece) {
        let fed = codec.feed(piece, 0, &mut |incoming| heard.push(shown(&incoming)));
        if let Err(violation) = fed {
            heard.push(format!("!{}", violation.code));
            break;
        }
    }
    heard
}

fn shown(incoming: &Incoming<'_>) -> String {
    match incoming {
        Incoming::Message { text: true, bytes } => {
            let text = std::str::from_utf8(bytes).expect("what is called text is text");
            if text.len() > 40 { format!("text of {}", text.len()) } else { format!("text {text}") }
        }
        Incoming::Message { text: false, bytes } => format!("binary of {}", bytes.len()),
        Incoming::Ping(bytes) => format!("ping of {}", bytes.len()),
        Incoming::Pong(bytes) => format!("pong of {}", bytes.len()),
        Incoming::Close(None) => "close".to_owned(),
        Incoming::Close(Some((code, reason))) => format!("close {code} {}", reason.len()),
    }
}
