//! Noise: nothing panics, whatever the pieces, and pieces never change what is heard.

use proptest::prelude::*;
use websocket::{Codec, Role, WsLimits};

use crate::bytes::{heard, heard_by, raw};

const CASES: u32 = 20_000;

/// Mostly frames, so that noise gets behind the first head.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    let frame = (any::<u8>(), proptest::collection::vec(any::<u8>(), 0..40)).prop_map(|(first, payload)| {
        // Reserved bits end it at once; let most frames through.
        raw(first & 0x8f, &payload)
    });
    let text = "[a-zé€😀]{0,12}".prop_map(|text| raw(0x81, text.as_bytes()));
    let wild = proptest::collection::vec(any::<u8>(), 0..24);
    proptest::collection::vec(prop_oneof![4 => frame, 3 => text, 1 => wild], 0..8).prop_map(|frames| frames.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pieces_do_not_matter(bytes in noise(), piece in 1..64usize) {
        let whole = heard(&bytes, usize::MAX);
        prop_assert_eq!(&heard(&bytes, 1), &whole);
        prop_assert_eq!(&heard(&bytes, piece), &whole);
        let small = WsLimits { message_bytes_max: 16, fragments_max: 2, control_per_s: 2 };
        let _ = heard_by(&mut Codec::new(Role::Server, small), &bytes, piece);
        let _ = heard_by(&mut Codec::new(Role::Client, small), &bytes, piece);
    }
}
