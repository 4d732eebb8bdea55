//! Cutting bytes into lines.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use wire::{Frame, LINE_BYTES_MAX, Lines};

fn cut<'a>(limit: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let mut seen = Vec::new();
    let mut note = |line: Frame<'_>| {
        seen.push(match line {
            Frame::Whole(bytes) => format!("{:?}", bytes.escape_ascii().to_string()),
            Frame::TooLong { limit } => format!("longer than {limit}"),
        });
    };
    let mut lines = Lines::new(limit);
    for chunk in chunks {
        lines.feed(chunk, &mut note);
    }
    lines.finish(&mut note);
    seen
}

fn check(limit: usize, bytes: &[u8], expected: Expect) {
    let whole = cut(limit, [bytes]);
    expected.assert_eq(&whole.join(" | "));
    assert_eq!(cut(limit, bytes.chunks(1)), whole, "byte by byte");
}

#[test]
fn only_lf_ends_a_line() {
    check(99, b"a\nb\n", expect![[r#""a" | "b""#]]);
    check(99, b"a\n\n\nb", expect![[r#""a" | "" | "" | "b""#]]);
    check(
        99,
        "x\u{2028}y\u{2029}\u{85}z\u{b}\u{c}\n".as_bytes(),
        expect![[r#""x\\xe2\\x80\\xa8y\\xe2\\x80\\xa9\\xc2\\x85z\\x0b\\x0c""#]],
    );
    check(99, b"", expect![""]);
}

#[test]
fn one_cr_before_the_lf_is_dropped_and_any_other_is_data() {
    check(99, b"a\r\nb\r\r\nc\rd\n\r\ne\r", expect![[r#""a" | "b\\r" | "c\\rd" | "" | "e""#]]);
}

#[test]
fn a_line_at_the_limit_fits_and_one_byte_more_does_not() {
    check(4, b"1234\nok\n", expect![[r#""1234" | "ok""#]]);
    check(4, b"1234\r\nok\n", expect![[r#""1234" | "ok""#]]);
    check(4, b"12345\nok\n", expect![[r#"longer than 4 | "ok""#]]);
    check(4, b"12345\r\nok\n", expect![[r#"longer than 4 | "ok""#]]);
    check(4, b"1234\r\r\nok\n", expect![[r#"longer than 4 | "ok""#]]);
    check(4, b"123456789\n1\n123456789\n\n", expect![[r#"longer than 4 | "1" | longer than 4 | """#]]);
}

#[test]
fn the_limit_holds_for_an_unfinished_last_line() {
    check(4, b"1234", expect![[r#""1234""#]]);
    check(4, b"1234\r", expect![[r#""1234""#]]);
    check(4, b"12345", expect!["longer than 4"]);
    check(4, b"12345\r", expect!["longer than 4"]);
    check(4, b"ok\n123456789", expect![[r#""ok" | longer than 4"#]]);
}

#[test]
fn an_over_long_line_is_reported_before_it_ends() {
    let mut lines = Lines::new(4);
    let mut reported = 0;
    lines.feed(b"1234567", |line| reported += usize::from(line == Frame::TooLong { limit: 4 }));
    assert_eq!(reported, 1);
    lines.feed(b"more of it", |_| panic!("told once only"));
}

#[test]
fn the_default_limit_is_the_documented_one() {
    let mut lines = Lines::default();
    let line = vec![b'x'; LINE_BYTES_MAX];
    let mut got = Vec::new();
    let mut note = |line: Frame<'_>| got.push(matches!(line, Frame::Whole(bytes) if bytes.len() == LINE_BYTES_MAX));
    lines.feed(&line, &mut note);
    lines.feed(b"\n", &mut note);
    lines.feed(&line, &mut note);
    lines.feed(b"xx\n", &mut note);
    assert_eq!(got, [true, false]);
}

proptest! {
    #![proptest_config(crate::cases(2000))]

    #[test]
    fn any_split_yields_the_same_lines(
        bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'a'), any::<u8>()], 0..60),
        cuts in proptest::collection::vec(0usize..60, 0..8),
        limit in 0usize..9,
    ) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let split = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
        prop_assert_eq!(cut(limit, split), cut(limit, [&bytes[..]]));
    }

    #[test]
    fn without_a_limit_nothing_but_line_ends_is_lost(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut joined = Vec::new();
        let mut lines = Lines::new(1000);
        let mut each = |line: Frame<'_>| {
            let Frame::Whole(line) = line else { panic!("nothing is that long") };
            joined.push(line.to_vec());
        };
        lines.feed(&bytes, &mut each);
        lines.finish(&mut each);
        let mut wanted: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        if wanted.last() == Some(&&b""[..]) {
            wanted.pop();
        }
        let wanted: Vec<_> = wanted.into_iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect();
        prop_assert_eq!(joined, wanted);
    }
}
