//! What is JSON here and what is not.

use std::path::{Path, PathBuf};
use std::time::Instant;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use wire::{DEPTH_MAX, check, replace_lone_surrogates};

fn refused(text: &str, expected: Expect) {
    expected.assert_eq(&check(text.as_bytes()).expect_err(text).to_string());
}

/// The public suite, looked for beside each directory above this crate.
fn suite() -> Option<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|above| above.join("shared/data/jsontestsuite/test_parsing"))
        .find(|path| path.is_dir())
}

#[test]
fn the_public_suite_is_judged_as_it_says() {
    let Some(suite) = suite() else {
        eprintln!("SKIP: jsontestsuite is not there");
        return;
    };
    let (mut seen, mut wrong) = (0, Vec::new());
    for file in std::fs::read_dir(suite).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).unwrap();
        let accepted = check(&bytes).is_ok();
        // The suite allows repeated keys; our one rule for all wires does not.
        let wanted = match &name[..2] {
            "y_" => Some(!name.starts_with("y_object_duplicated_key")),
            "n_" => Some(false),
            _ => None,
        };
        if wanted.is_some_and(|wanted| wanted != accepted) {
            wrong.push(name);
        }
        seen += 1;
        if let (true, Ok(text)) = (accepted, std::str::from_utf8(&bytes)) {
            let text = replace_lone_surrogates(text);
            serde_json::from_str::<serde::de::IgnoredAny>(&text).expect("what we accept, serde_json can read");
        }
    }
    assert_eq!((seen, wrong), (318, Vec::<String>::new()));
}

#[test]
fn the_position_helps() {
    refused("", expect!["expected a value, found the end at byte 0"]);
    refused("{bad", expect!["expected a key in quotes, found 'b' at byte 1"]);
    refused("[1,]", expect!["expected a value, found ']' at byte 3"]);
    refused("{\"a\":1,}", expect!["expected a key in quotes, found '}' at byte 7"]);
    refused("{\"a\" 1}", expect!["expected ':', found '1' at byte 5"]);
    refused("[1}", expect!["expected ',' or ']', found '}' at byte 2"]);
    refused("{\"a\":1]", expect!["expected ',' or '}', found ']' at byte 6"]);
    refused("01", expect!["expected the end, found '1' at byte 1"]);
    refused("-", expect!["expected a digit, found the end at byte 1"]);
    refused("1.e1", expect!["expected a digit, found 'e' at byte 2"]);
    refused("nul", expect!["expected a value, found 'n' at byte 0"]);
    refused("\"a\nb\"", expect![[r#"expected an escape instead of a control character, found '\n' at byte 2"#]]);
    refused("\"\\x\"", expect!["expected an escape character, found 'x' at byte 2"]);
    refused("\"\\u12g4\"", expect!["expected four hex digits, found 'g' at byte 5"]);
    refused("\"abc", expect![[r#"expected '"', found the end at byte 4"#]]);
    refused("1 2", expect!["expected the end, found '2' at byte 2"]);
    refused("\u{feff}{}", expect![[r#"expected a value, found '\u{feff}' at byte 0"#]]);
    refused("é", expect!["expected a value, found 'é' at byte 0"]);
}

#[test]
fn invalid_utf8_is_named_with_its_place() {
    let error = check(b"{\"a\":\"\xff\"}").unwrap_err();
    expect!["invalid UTF-8 (0xff) at byte 6"].assert_eq(&error.to_string());
    // A surrogate encoded as if it were a character, and a character cut off by the end.
    assert_eq!(check(b"\"\xed\xa0\x80\"").unwrap_err().at, 1);
    assert_eq!(check(b"\"a\xe2\x82").unwrap_err().at, 2);
}

#[test]
fn depth_ends_at_the_limit() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let nested = |depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        check(nested(DEPTH_MAX).as_bytes()).expect("the limit itself is fine");
        let error = check(nested(DEPTH_MAX + 1).as_bytes()).unwrap_err();
        assert_eq!(error.what, "nested deeper than 128");
        check(nested(100_000).as_bytes()).unwrap_err();
    }
    let siblings = format!("[{}[]]", "[[]],".repeat(1000));
    check(siblings.as_bytes()).expect("only nesting counts, not how many there are");
}

#[test]
fn a_repeated_key_is_refused_however_it_is_spelled() {
    refused(r#"{"a":1,"a":1}"#, expect![[r#"duplicate key "a" at byte 7"#]]);
    refused(r#"{"a":1,"\u0061":2}"#, expect![[r#"duplicate key "\u0061" at byte 7"#]]);
    refused(r#"{"":1,"":2}"#, expect![[r#"duplicate key "" at byte 6"#]]);
    refused(r#"{"\/":1,"/":2}"#, expect![[r#"duplicate key "/" at byte 8"#]]);
    refused(r#"{"😀":1,"\ud83d\ude00":2}"#, expect![[r#"duplicate key "\ud83d\ude00" at byte 10"#]]);
    // Both become U+FFFD at the border, so they are the same key to whoever reads them.
    refused(r#"{"\ud800":1,"\udbff":2}"#, expect![[r#"duplicate key "\udbff" at byte 12"#]]);
    refused(r#"[{"x":{"b":1,"c":2,"b":3}}]"#, expect![[r#"duplicate key "b" at byte 19"#]]);
    refused(r#"{"a":{"a":[{"a":1}]},"b":2,"a":3}"#, expect![[r#"duplicate key "a" at byte 27"#]]);
    check(br#"{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}],"A":1}"#).expect("other objects may use the same key");
}

/// An object with `count` keys, the nested value in the middle, and the key `last` at its end.
fn wide(count: usize, nested: &str, last: &str) -> String {
    let mut text = String::from("{");
    for key in 0..count {
        text += &format!("\"k{key}\":{},", if key == count / 2 { nested } else { "0" });
    }
    text + &format!("\"{last}\":0}}")
}

#[test]
fn a_repeated_key_is_found_in_objects_of_any_width() {
    for count in [1, 15, 16, 17, 47, 48, 49, 300] {
        for nested in ["1".to_owned(), wide(count, "1", "end"), wide(20, &wide(40, "1", "end"), "end")] {
            check(wide(count, &nested, "end").as_bytes()).expect("all keys differ");
            for repeated in [0, count / 2, count - 1] {
                check(wide(count, &nested, &format!("k{repeated}")).as_bytes()).expect_err("a key is there twice");
                let spelled = format!("\\u006b{repeated}");
                check(wide(count, &nested, &spelled).as_bytes()).expect_err("spelled otherwise, still twice");
            }
        }
        let bad = wide(count, &wide(count, "1", "k0"), "end");
        check(bad.as_bytes()).expect_err("twice in the inner object");
    }
}

/// Doubling the input doubles the time; a quadratic check would take four times as long each step.
#[test]
fn a_hundred_thousand_keys_take_linear_time() {
    let start = Instant::now();
    check(wide(100_000, "1", "end").as_bytes()).unwrap();
    // Pairwise comparison of 100 000 keys would need five billion steps, minutes even when optimised.
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn lone_surrogates_become_the_replacement_character() {
    let meant = |text: &str| serde_json::from_str::<String>(&replace_lone_surrogates(text)).expect(text);
    assert_eq!(meant(r#""\ud800""#), "\u{fffd}");
    assert_eq!(meant(r#""a\uDC00b""#), "a\u{fffd}b");
    assert_eq!(meant(r#""\ud800\ud800""#), "\u{fffd}\u{fffd}");
    assert_eq!(meant(r#""\ud800\ud83d\ude00""#), "\u{fffd}😀");
    assert_eq!(meant(r#""\ude00\ud83d""#), "\u{fffd}\u{fffd}");
    assert_eq!(meant(r#""\ud83dx\ude00""#), "\u{fffd}x\u{fffd}");
    assert_eq!(meant(r#""\ud83d\n""#), "\u{fffd}\n");
    assert_eq!(meant(r#""\\ud800""#), "\\ud800");
    assert_eq!(meant(r#""\\\ud800""#), "\\\u{fffd}");
    for untouched in [r#""plain""#, r#""\ud83d\ude00""#, r#""\\ud800""#, r#""\n\"\u0041""#, "", "\\", "\\u", "\\ud8"] {
        assert!(matches!(replace_lone_surrogates(untouched), std::borrow::Cow::Borrowed(_)), "{untouched}");
    }
}

/// JSON-looking fragments find more than random bytes do.
fn fragments() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{".to_owned()),
        Just("}".into()),
        Just("[".into()),
        Just("]".into()),
        Just(",".into()),
        Just(":".into()),
        Just("\"a\"".into()),
        Just("\"b\":".into()),
        Just("\"\\u0061\"".into()),
        Just("\"\\ud800\"".into()),
        Just("1".into()),
        Just("-0.5e-3".into()),
        Just("true".into()),
        Just("null".into()),
        Just(" ".into()),
        Just("\"\\".into()),
        Just("\"".into()),
        Just("0".into()),
        Just(".".into()),
        Just("é".into()),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// The model: serde_json's tree without its leniency about repeated keys.
fn serde_accepts(text: &str) -> bool {
    struct Strict;
    impl<'de> serde::Deserialize<'de> for Strict {
        fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            from.deserialize_any(Strict)
        }
    }
    impl<'de> serde::de::Visitor<'de> for Strict {
        type Value = Strict;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("JSON")
        }
        fn visit_bool<E>(self, _: bool) -> Result<Strict, E> {
            Ok(Strict)
        }
        fn visit_i64<E>(self, _: i64) -> Result<Strict, E> {
            Ok(Strict)
        }
        fn visit_u64<E>(self, _: u64) -> Result<Strict, E> {
            Ok(Strict)
        }
        fn visit_f64<E>(self, _: f64) -> Result<Strict, E> {
            Ok(Strict)
        }
        fn visit_str<E>(self, _: &str) -> Result<Strict, E> {
            Ok(Strict)
        }
        fn visit_unit<E>(self) -> Result<Strict, E> {
            Ok(Strict)
        }
        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Strict, A::Error> {
            while seq.next_element::<Strict>()?.is_some() {}
            Ok(Strict)
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Strict, A::Error> {
            let mut keys = std::collections::HashSet::new();
            while let Some((key, Strict)) = map.next_entry::<String, Strict>()? {
                if !keys.insert(key) {
                    return Err(serde::de::Error::custom("repeated"));
                }
            }
            Ok(Strict)
        }
    }
    serde_json::from_str::<Strict>(&replace_lone_surrogates(text)).is_ok()
}

proptest! {
    #![proptest_config(crate::cases(4000))]

    #[test]
    fn we_agree_with_serde_json_on_fragments(text in fragments()) {
        prop_assert_eq!(check(text.as_bytes()).is_ok(), serde_accepts(&text), "{}", text);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        if let Err(error) = check(&bytes) {
            prop_assert!(error.at <= bytes.len());
        }
        let _ = replace_lone_surrogates(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_text_survives_replacement_when_written_by_serde(text in any::<String>()) {
        let written = serde_json::to_string(&text).unwrap();
        prop_assert_eq!(check(written.as_bytes()), Ok(&*written));
        prop_assert_eq!(&*replace_lone_surrogates(&written), &*written);
    }
}
