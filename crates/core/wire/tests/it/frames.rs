//! Outgoing frames.

use proptest::prelude::*;
use wire::{FrameBuf, escape_into};

#[test]
fn frames_are_appended_in_place_and_drained_whole() {
    let mut frames = FrameBuf::default();
    frames.line(|bytes| bytes.extend_from_slice(b"{}"));
    frames.line(|bytes| escape_into("a\nb", bytes));
    assert_eq!(frames.as_bytes(), b"{}\n\"a\\nb\"\n");
    let mut into = b"before\n".to_vec();
    frames.drain_into(&mut into);
    assert_eq!(into, b"before\n{}\n\"a\\nb\"\n");
    assert!(frames.is_empty());
    frames.raw(b"x");
    let mut empty = Vec::new();
    frames.drain_into(&mut empty);
    assert_eq!((empty.as_slice(), frames.len()), (&b"x"[..], 0));
}

#[test]
fn frames_keep_their_borders_and_lose_their_line_ends() {
    let shown = |frames: &FrameBuf| -> Vec<String> {
        frames.frames().map(|frame| String::from_utf8_lossy(frame).into_owned()).collect()
    };
    let mut frames = FrameBuf::default();
    frames.line(|bytes| bytes.extend_from_slice(b"one"));
    frames.raw(b"two\n");
    frames.line(|_| {});
    let from = frames.len();
    for text in ["three", "four", "five"] {
        frames.line(|bytes| bytes.extend_from_slice(text.as_bytes()));
    }
    assert_eq!(shown(&frames), ["one", "two", "", "three", "four", "five"]);
    frames.retain_frames(from, |frame| frame != b"four");
    assert_eq!(shown(&frames), ["one", "two", "", "three", "five"]);
    assert_eq!(frames.as_bytes(), b"one\ntwo\n\nthree\nfive\n");
    assert_eq!(frames.ends().last(), Some(&frames.len()));
    frames.drain_into(&mut Vec::new());
    assert_eq!((shown(&frames).len(), frames.ends().len()), (0, 0));
}

proptest! {
    #![proptest_config(crate::cases(500))]

    #[test]
    fn an_escaped_string_reads_back_equal_and_holds_no_line_end(text in any::<String>()) {
        let mut bytes = Vec::new();
        escape_into(&text, &mut bytes);
        prop_assert!(wire::check(&bytes).is_ok());
        prop_assert!(bytes.iter().all(|byte| *byte >= 0x20));
        prop_assert_eq!(serde_json::from_slice::<String>(&bytes).unwrap(), text);
    }
}

#[test]
fn every_control_character_is_escaped() {
    for code in 0..0x20u8 {
        let mut bytes = Vec::new();
        escape_into(&char::from(code).to_string(), &mut bytes);
        assert_eq!(serde_json::from_slice::<String>(&bytes).unwrap(), char::from(code).to_string());
    }
}
