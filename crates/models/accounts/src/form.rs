//! `application/x-www-form-urlencoded`, both ways. Pure.

/// Appends `name=value`, with `&` where needed.
pub(crate) fn push(into: &mut String, name: &str, value: &str) {
    if !into.is_empty() && !into.ends_with(['?', '&']) {
        into.push('&');
    }
    encode(into, name);
    into.push('=');
    encode(into, value);
}

pub(crate) fn of(pairs: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (name, value) in pairs {
        push(&mut text, name, value);
    }
    text
}

fn encode(into: &mut String, text: &str) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => into.push(char::from(byte)),
            _ => {
                into.push('%');
                into.push(char::from(HEX[usize::from(byte >> 4)]));
                into.push(char::from(HEX[usize::from(byte & 15)]));
            }
        }
    }
}

/// The value of the first parameter of this name. `None` also when it is no UTF-8 after decoding.
pub(crate) fn value(query: &str, name: &str) -> Option<String> {
    let mut pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.find(|(key, _)| decode(key).as_deref() == Some(name)).and_then(|(_, value)| decode(value))
}

fn decode(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'+' => decoded.push(b' '),
            b'%' => {
                let digits =
                    text.get(at + 1..at + 3).filter(|digits| digits.bytes().all(|it| it.is_ascii_hexdigit()))?;
                decoded.push(u8::from_str_radix(digits, 16).ok()?);
                at += 2;
            }
            byte => decoded.push(byte),
        }
        at += 1;
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let odd = "a b&c=d+e%f?\u{e9}\u{1f600}\n";
        let text = of(&[("x", "1"), (odd, odd), ("y", "")]);
        assert!(text.is_ascii() && !text.contains(' '));
        assert_eq!(value(&text, odd).as_deref(), Some(odd));
        assert_eq!(value(&text, "y").as_deref(), Some(""));
        assert_eq!(value(&text, "z"), None);
    }

    #[test]
    fn broken_escapes_are_no_value() {
        for bad in ["c=%", "c=%4", "c=%zz", "c=%ff", "c=%+1", "c=%\u{e9}"] {
            assert_eq!(value(bad, "c"), None, "{bad}");
        }
        assert_eq!(value("c=a+b", "c").as_deref(), Some("a b"));
    }
}
