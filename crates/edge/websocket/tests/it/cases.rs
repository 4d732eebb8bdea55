//! The cases of the Autobahn suite (1 sizes, 2 pings, 3 reserved bits, 4 opcodes, 5 fragments, 6 UTF-8, 7 closes, 9 limits, 10
//! fragments by themselves): bytes in, what comes out, which code. Each is fed whole, byte by byte, and in odd pieces.

use crate::bytes::{BINARY, CLOSE, CONTINUATION, FIN, PING, PONG, TEXT, heard, part, raw, whole};

const RSV1: u8 = 0x40;
const RSV2: u8 = 0x20;
const RSV3: u8 = 0x10;

/// What the wire needs for itself, in pieces that end anywhere.
const PIECES: &[usize] = &[usize::MAX, 1, 3, 997];
/// Larger than this, a case is not fed byte by byte.
const BYTE_BY_BYTE_MAX: usize = 300_000;

#[track_caller]
fn case(name: &str, frames: &[Vec<u8>], expected: &[&str]) {
    let bytes = frames.concat();
    for piece in PIECES {
        if *piece < 10 && bytes.len() > BYTE_BY_BYTE_MAX {
            continue;
        }
        assert_eq!(heard(&bytes, *piece), expected, "{name}, in pieces of {piece}");
    }
}

#[test]
fn sizes() {
    for (number, len) in [0, 125, 126, 127, 128, 65_535, 65_536].into_iter().enumerate() {
        let text = "*".repeat(len);
        let shown = if len > 40 { format!("text of {len}") } else { format!("text {text}") };
        case(&format!("1.1.{}", number + 1), &[whole(TEXT, text.as_bytes())], &[&shown]);
        case(&format!("1.2.{}", number + 1), &[whole(BINARY, &vec![0xfe; len])], &[&format!("binary of {len}")]);
    }
}

#[test]
fn pings_and_pongs() {
    case("2.1", &[whole(PING, b"")], &["ping of 0"]);
    case("2.2", &[whole(PING, b"Hello, world!")], &["ping of 13"]);
    case("2.3", &[whole(PING, b"\x00\xff\xfe\xfd\xfc\xfb\x00\xff")], &["ping of 8"]);
    case("2.4", &[whole(PING, &[0xfe; 125])], &["ping of 125"]);
    case("2.5", &[whole(PING, &[0xfe; 126])], &["!1002"]);
    case("2.7", &[whole(PONG, b"")], &["pong of 0"]);
    case("2.8", &[whole(PONG, b"unsolicited")], &["pong of 11"]);
    case("2.9", &[whole(PONG, b"unsolicited"), whole(PING, b"payload")], &["pong of 11", "ping of 7"]);
    let ten: Vec<Vec<u8>> = (0..10).map(|it| whole(PING, format!("payload-{it}").as_bytes())).collect();
    case("2.10", &ten, &["ping of 9"; 10]);
}

#[test]
fn reserved_bits() {
    let hello = || whole(TEXT, b"Hello, world!");
    case("3.1", &[raw(FIN | RSV3 | TEXT, b"Hello")], &["!1002"]);
    case("3.2", &[hello(), raw(FIN | RSV2 | TEXT, b"Hello"), whole(PING, b"")], &["text Hello, world!", "!1002"]);
    let third = [hello(), raw(FIN | RSV2 | RSV3 | TEXT, b"Hello"), whole(PING, b"")];
    case("3.3", &third, &["text Hello, world!", "!1002"]);
    let fourth = [hello(), raw(FIN | RSV1 | TEXT, b"Hello"), whole(PING, b"")];
    case("3.4", &fourth, &["text Hello, world!", "!1002"]);
    case("3.5", &[raw(FIN | RSV1 | RSV3 | BINARY, b"\x00\xff")], &["!1002"]);
    case("3.6", &[raw(FIN | RSV1 | RSV2 | PING, b"Hello")], &["!1002"]);
    case("3.7", &[raw(FIN | RSV1 | RSV2 | RSV3 | CLOSE, b"")], &["!1002"]);
}

#[test]
fn opcodes_that_mean_nothing() {
    for (number, opcode) in [3, 4, 5, 6, 7].into_iter().enumerate() {
        let name = format!("4.1.{}", number + 1);
        case(&name, &[whole(opcode, b"")], &["!1002"]);
        let behind = [whole(TEXT, b"Hello"), whole(opcode, b"Hello"), whole(PING, b"")];
        case(&name, &behind, &["text Hello", "!1002"]);
    }
    for (number, opcode) in [11, 12, 13, 14, 15].into_iter().enumerate() {
        let name = format!("4.2.{}", number + 1);
        case(&name, &[whole(opcode, b"")], &["!1002"]);
        case(&name, &[whole(TEXT, b"Hello"), whole(opcode, b"Hello")], &["text Hello", "!1002"]);
    }
}

#[test]
fn fragments() {
    let (one, two) = (|| part(TEXT, b"fragment1"), || whole(CONTINUATION, b"fragment2"));
    case("5.1", &[part(PING, b"fragment1"), whole(CONTINUATION, b"fragment2")], &["!1002"]);
    case("5.2", &[part(PONG, b"fragment1"), whole(CONTINUATION, b"fragment2")], &["!1002"]);
    case("5.3", &[one(), two()], &["text fragment1fragment2"]);
    case("5.6", &[one(), whole(PING, b"ping"), two()], &["ping of 4", "text fragment1fragment2"]);
    case("5.9", &[whole(CONTINUATION, b"non-continuation"), whole(TEXT, b"Hello")], &["!1002"]);
    case("5.12", &[part(CONTINUATION, b"non-continuation"), whole(TEXT, b"Hello")], &["!1002"]);
    case("5.15", &[one(), two(), part(CONTINUATION, b"fragment3")], &["text fragment1fragment2", "!1002"]);
    case("5.16", &[part(CONTINUATION, b"fragment1"), part(TEXT, b"fragment2")], &["!1002"]);
    case("5.17", &[whole(CONTINUATION, b"fragment1"), part(TEXT, b"fragment2")], &["!1002"]);
    case("5.18", &[one(), whole(TEXT, b"fragment2")], &["!1002"]);
    let five = |ping: &[u8]| {
        let next = |text: &[u8]| part(CONTINUATION, text);
        let pinged = || whole(PING, ping);
        [one(), next(b"2"), pinged(), next(b"3"), next(b"4"), pinged(), whole(CONTINUATION, b"5")]
    };
    case("5.19", &five(b"pongme"), &["ping of 6", "ping of 6", "text fragment12345"]);
    let empty = [part(TEXT, b""), part(CONTINUATION, b""), whole(CONTINUATION, b"")];
    case("6.1.2", &empty, &["text "]);
    case("6.1.3", &[part(TEXT, b""), part(CONTINUATION, b"middle"), whole(CONTINUATION, b"")], &["text middle"]);
    case("unmasked", &[vec![FIN | TEXT, 2, b'h', b'i']], &["!1002"]);
    let longer_than_it_needs = [vec![FIN | TEXT, 0x80 | 126, 0, 125, 0, 0, 0, 0]];
    case("a length in two bytes", &longer_than_it_needs, &["!1002"]);
    let longest = [vec![FIN | TEXT, 0x80 | 127, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0]];
    case("a length in eight bytes", &longest, &["!1002"]);
    case("a length of 64 bits", &[[&[FIN | TEXT, 0xff][..], &[0xff; 12]].concat()], &["!1002"]);
}

/// Good texts of Autobahn 6.2 to 6.22, cut where characters are not.
#[test]
fn text_in_utf8() {
    let good = [
        "Hello-µ@ßöäüàá-UTF-8!!",
        "\u{0}",
        "\u{80}",
        "\u{800}",
        "\u{10000}",
        "\u{7f}",
        "\u{7ff}",
        "\u{ffff}",
        "\u{10ffff}",
        "\u{d7ff}",
        "\u{e000}",
        "\u{fffd}",
        "\u{fffe}",
        "κόσμε",
    ];
    for text in good {
        let bytes = text.as_bytes();
        case("6.2.1", &[whole(TEXT, bytes)], &[&format!("text {text}")]);
        for cut in 0..=bytes.len() {
            let (first, second) = bytes.split_at(cut);
            case("6.2.2", &[part(TEXT, first), whole(CONTINUATION, second)], &[&format!("text {text}")]);
        }
        let each: Vec<Vec<u8>> = bytes.iter().map(|byte| part(CONTINUATION, &[*byte])).collect();
        let frames = [vec![part(TEXT, b"")], each, vec![whole(CONTINUATION, b"")]].concat();
        case("6.2.3", &frames, &[&format!("text {text}")]);
    }
}

#[test]
fn text_that_is_none() {
    let bad: &[&[u8]] = &[
        b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80edited",
        b"\xf8\x88\x80\x80\x80",
        b"\xfc\x84\x80\x80\x80\x80",
        b"\xf7\xbf\xbf\xbf",
        b"\xfb\xbf\xbf\xbf\xbf",
        b"\xf4\x90\x80\x80",
        b"\x80",
        b"\xbf",
        b"\x80\xbf\x80",
        b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce",
        b"\xfe",
        b"\xff",
        b"\xfe\xfe\xff\xff",
        b"\xc0\xaf",
        b"\xe0\x80\xaf",
        b"\xf0\x80\x80\xaf",
        b"\xc1\xbf",
        b"\xe0\x9f\xbf",
        b"\xf0\x8f\xbf\xbf",
        b"\xc0\x80",
        b"\xed\xa0\x80",
        b"\xed\xaf\xbf",
        b"\xed\xb0\x80",
        b"\xed\xa0\x80\xed\xb0\x80",
    ];
    for bytes in bad {
        case("6.3.1", &[whole(TEXT, bytes)], &["!1007"]);
        let each: Vec<Vec<u8>> = bytes.iter().map(|byte| part(CONTINUATION, &[*byte])).collect();
        case("6.3.2", &[vec![part(TEXT, b"")], each, vec![whole(CONTINUATION, b"")]].concat(), &["!1007"]);
        // What a program calls binary may be anything.
        case("binary", &[whole(BINARY, bytes)], &[&format!("binary of {}", bytes.len())]);
    }
}

/// Autobahn 6.4: it is refused when the wrong byte comes, not when the message is whole.
#[test]
fn what_is_no_text_is_refused_at_once() {
    let good = "κόσμε".as_bytes();
    case("6.4.1", &[part(TEXT, good), part(CONTINUATION, b"\xf4\x90\x80\x80")], &["!1007"]);
    case("6.4.2", &[part(TEXT, good), part(CONTINUATION, b"\xf4\x90")], &["!1007"]);
    let inside = [raw(FIN | TEXT, &[good, b"\xf4\x90", &[b'x'; 100]].concat())];
    let until = inside[0].len() - 100;
    assert_eq!(heard(&inside[0][..until], 1), ["!1007"], "6.4.3: inside of a frame");
}

#[test]
fn closes() {
    let close = |code: u16, reason: &str| whole(CLOSE, &[&code.to_be_bytes()[..], reason.as_bytes()].concat());
    case("7.1.1", &[whole(TEXT, b"Hello"), close(1000, "")], &["text Hello", "close 1000 0"]);
    case("7.1.2", &[close(1000, ""), close(1000, "")], &["close 1000 0"]);
    case("7.1.3", &[close(1000, ""), whole(PING, b"")], &["close 1000 0"]);
    case("7.1.4", &[close(1000, ""), whole(TEXT, b"Hello")], &["close 1000 0"]);
    case("7.1.5", &[part(TEXT, b"fragment1"), close(1000, ""), whole(CONTINUATION, b"2")], &["close 1000 0"]);
    case("7.3.1", &[whole(CLOSE, b"")], &["close"]);
    case("7.3.2", &[whole(CLOSE, b"a")], &["!1002"]);
    case("7.3.4", &[close(1000, "Hello World!")], &["close 1000 12"]);
    case("7.3.5", &[close(1000, &"*".repeat(123))], &["close 1000 123"]);
    case("7.3.6", &[close(1000, &"*".repeat(124))], &["!1002"]);
    let not_text = whole(CLOSE, b"\x03\xe8\xce\xba\xe1\xbd\xb9\xed\xa0\x80edited");
    case("7.5.1", &[not_text], &["!1007"]);
    let good = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999];
    for code in good {
        case("7.7", &[close(code, "")], &[&format!("close {code} 0")]);
    }
    for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535] {
        case("7.9", &[close(code, "")], &["!1002"]);
    }
}

#[test]
fn large_messages() {
    for len in [65_536, 262_144, 1 << 20, 4 << 20, 16 << 20] {
        let text = vec![b'*'; len];
        case("9.1", &[whole(TEXT, &text)], &[&format!("text of {len}")]);
        case("9.2", &[whole(BINARY, &text)], &[&format!("binary of {len}")]);
    }
    let four = vec![b'*'; 4 << 20];
    for fragment in [64, 256, 1 << 10, 4 << 10, 64 << 10, 1 << 20, 4 << 20] {
        case("9.3", &[fragmented(&four, fragment)], &[&format!("text of {}", four.len())]);
    }
    case("10.1.1", &[fragmented(&vec![b'*'; 65_536], 1_300)], &["text of 65536"]);
}

fn fragmented(bytes: &[u8], fragment: usize) -> Vec<u8> {
    let mut frames = part(TEXT, b"");
    for piece in bytes.chunks(fragment) {
        frames.extend(part(CONTINUATION, piece));
    }
    frames.extend(whole(CONTINUATION, b""));
    frames
}
