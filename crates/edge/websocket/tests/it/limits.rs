//! What is bounded: messages, fragments, control frames; and who may mask.

use websocket::{Codec, Role, WsLimits};

use crate::bytes::{CONTINUATION, LIMITS, PING, TEXT, heard_by, part, whole};

const SMALL: WsLimits = WsLimits { message_bytes_max: 64, fragments_max: 4, control_per_s: 3 };

fn heard(frames: &[Vec<u8>], limits: WsLimits) -> Vec<String> {
    heard_by(&mut Codec::new(Role::Server, limits), &frames.concat(), usize::MAX)
}

#[test]
fn a_message_has_a_length() {
    assert_eq!(heard(&[whole(TEXT, &[b'x'; 64])], SMALL), ["text of 64"]);
    assert_eq!(heard(&[whole(TEXT, &[b'x'; 65])], SMALL), ["!1009"]);
    let together = [part(TEXT, &[b'x'; 60]), whole(CONTINUATION, &[b'x'; 5])];
    assert_eq!(heard(&together, SMALL), ["!1009"], "fragments count together");
    // The head is enough: nothing is kept for a message that will be refused.
    assert_eq!(heard(&[vec![0x81, 0xff, 0, 0, 0, 0, 0, 1, 0, 0, 1, 2, 3, 4]], SMALL), ["!1009"]);
}

#[test]
fn a_message_has_so_many_fragments() {
    let frames = |count: usize| {
        let mut frames = vec![part(TEXT, b"")];
        frames.extend((2..count).map(|_| part(CONTINUATION, b"")));
        frames.push(whole(CONTINUATION, b""));
        frames
    };
    assert_eq!(heard(&frames(4), SMALL), ["text "]);
    assert_eq!(heard(&frames(5), SMALL), ["!1009"]);
}

#[test]
fn a_second_has_so_many_control_frames() {
    let mut codec = Codec::new(Role::Server, SMALL);
    let mut ping = |now_ms: u64| codec.feed(&mut whole(PING, b""), now_ms, &mut |_| ()).map_err(|it| it.code);
    for now_ms in [0, 10, 20, 1_000, 1_100, 1_999, 2_000] {
        assert_eq!(ping(now_ms), Ok(()), "at {now_ms}");
    }
    assert_eq!((ping(2_001), ping(2_002), ping(2_003)), (Ok(()), Ok(()), Err(1008)));
    assert_eq!(ping(9_000), Ok(()), "it is over, and nothing is taken any more");
}

#[test]
fn what_is_known_may_be_larger() {
    let mut codec = Codec::new(Role::Server, SMALL);
    codec.set_limits(LIMITS);
    assert_eq!(heard_by(&mut codec, &whole(TEXT, &[b'x'; 6_500]), 7), ["text of 6500"]);
}

#[test]
fn a_server_does_not_mask() {
    let mut codec = Codec::new(Role::Client, LIMITS);
    assert_eq!(heard_by(&mut codec, &[0x81, 2, b'h', b'i'], 1), ["text hi"]);
    assert_eq!(heard_by(&mut codec, &whole(TEXT, b"hi"), 1), ["!1002"]);
}
