//! Bytes arrive in any pieces; what comes of them does not depend on it.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use wire::{Dialect, LINE_BYTES_MAX, Lines, Out};

use crate::talk::Talk;

const CONVERSATION: &str = concat!(
    "{\"id\":1,\"type\":\"prompt\",\"message\":\"hi \u{1f600}\u{2028} there\"}\n",
    "\n  \r\n",
    "{\"id\":\"ä\",\"type\":\"get_subagents\"}\r\n",
    "{not json\n",
    "{\"type\":\"nobody\"}\n",
    "{\"type\":\"steer\",\"message\":\"\\ud800\"}\n",
    "{\"id\":2,\"type\":\"get_available_thinking_levels\"}\n",
    "{\"type\":\"host_tool_result\",\"id\":\"x\"}\n",
    "{\"id\":3,\"type\":\"get_login_providers\"}",
);

/// Everything wanted and said, in order.
fn played(pieces: &[&[u8]]) -> (String, Vec<u8>) {
    let mut talk = Talk::open();
    let mut out = Out::new();
    let mut lines = Lines::new(LINE_BYTES_MAX);
    for piece in pieces {
        lines.feed(piece, |line| talk.rpc.hear(line, &mut out));
    }
    lines.finish(|line| talk.rpc.hear(line, &mut out));
    (format!("{:?}", out.commands), out.frames.as_bytes().to_vec())
}

#[test]
fn any_one_cut_changes_nothing() {
    let bytes = CONVERSATION.as_bytes();
    let whole = played(&[bytes]);
    assert_eq!(crate::talk::lines(&whole.1).len(), 6, "{}", String::from_utf8_lossy(&whole.1));
    for at in 0..=bytes.len() {
        let (before, after) = bytes.split_at(at);
        assert!(played(&[before, after]) == whole, "cut at {at}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert!(played(&single) == whole, "byte by byte");
}

proptest! {
    #![proptest_config(Config {
        cases: 300, rng_seed: RngSeed::Fixed(0x59117), failure_persistence: None, ..Config::default()
    })]

    #[test]
    fn any_cuts_change_nothing(mut cuts in proptest::collection::vec(0..=CONVERSATION.len(), 0..12)) {
        cuts.sort_unstable();
        let mut from = 0;
        let mut pieces = Vec::new();
        for cut in cuts {
            pieces.push(&CONVERSATION.as_bytes()[from..cut]);
            from = cut;
        }
        pieces.push(&CONVERSATION.as_bytes()[from..]);
        prop_assert!(played(&pieces) == played(&[CONVERSATION.as_bytes()]));
    }
}
