//! JSON as people write it: comments and commas behind the last item become blanks, so that every position stays true.

/// Plain JSON of the same length. What is not closed is left to the JSON reader to complain about.
pub(super) fn plain(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    // The comma that nothing but blanks and comments has followed yet.
    let mut comma = None;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                comma = None;
                at = string_end(bytes, at);
                continue;
            }
            b'/' if matches!(bytes.get(at + 1), Some(b'/' | b'*')) => {
                let end = comment_end(bytes, at);
                for byte in &mut out[at..end] {
                    if *byte != b'\n' {
                        *byte = b' ';
                    }
                }
                at = end;
                continue;
            }
            b',' => comma = Some(at),
            b'}' | b']' => {
                if let Some(comma) = comma.take() {
                    out[comma] = b' ';
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        at += 1;
    }
    String::from_utf8(out).expect("whole comments and single commas were blanked")
}

/// Behind the closing quote.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn comment_end(bytes: &[u8], start: usize) -> usize {
    let rest = &bytes[start..];
    let end = match rest[1] {
        b'/' => rest.iter().position(|byte| *byte == b'\n'),
        _ => rest[2..].windows(2).position(|pair| pair == b"*/").map(|at| at + 4),
    };
    end.map_or(bytes.len(), |end| start + end)
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn comments_and_last_commas_go_and_nothing_moves() {
        for (written, want) in [
            ("{} // end", "{}"),
            ("{\"a\":1,}", "{\"a\":1}"),
            ("[1, /* x, */ ]", "[1]"),
            ("{\"a\": [1,\n// no\n], }", "{\"a\":[1]}"),
            (r#"{"a//b":"/* c */, ]","d":"\"//"}"#, r#"{"a//b":"/* c */, ]","d":"\"//"}"#),
            ("{\"\u{fc}\": \"\u{20ac}\" /* \u{20ac} */}", "{\"\u{fc}\":\"\u{20ac}\"}"),
            ("\u{feff}[]", "[]"),
        ] {
            let read: serde_json::Value = serde_json::from_str(&plain(written)).unwrap();
            assert_eq!(read, serde_json::from_str::<serde_json::Value>(want).unwrap(), "{written}");
            assert_eq!(plain(written).len(), written.trim_start_matches('\u{feff}').len());
        }
    }

    #[test]
    fn what_is_broken_stays_broken_at_the_same_place() {
        for broken in ["{,}x", "[1,,2]", "{\"a\"", "\"abc\\", "/* open", "[/", "{\"a\":1,/"] {
            let error = serde_json::from_str::<serde_json::Value>(&plain(broken)).unwrap_err();
            assert_eq!(error.line(), 1, "{broken}");
        }
        let error = serde_json::from_str::<serde_json::Value>(&plain("{\n// x\n  \"a\" 1}")).unwrap_err();
        assert_eq!((error.line(), error.column()), (3, 7));
    }
}
