//! Tool arguments while the model still writes them: the longest beginning that can be closed to a JSON object. Pure and
//! incremental; each byte is looked at once.

use std::borrow::Cow;

/// Follows a growing JSON text and can close it at any moment.
#[derive(Default, Debug)]
pub(crate) struct PartialJson {
    text: String,
    /// One closer per open container, the innermost last.
    closers: Vec<u8>,
    state: ScanState,
    /// `text[..safe]` plus `safe_closers` is complete JSON.
    safe: usize,
    safe_depth: usize,
    /// The text is no object, or broken: nothing can be shown.
    broken: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum ScanState {
    #[default]
    Start,
    /// A key or the end of an object may come.
    KeyOrEnd,
    Colon,
    Value,
    /// Right after `[`.
    ItemOrEnd,
    Text {
        key: bool,
    },
    Escape {
        key: bool,
    },
    /// Behind `\u`; so many digits are still to come.
    Unicode {
        key: bool,
        left: u8,
    },
    /// A number, `true`, `false` or `null`.
    Word {
        from: usize,
    },
    CommaOrEnd,
    Done,
}

/// Open containers followed; deeper arguments are shown as far as they went.
const DEPTH_MAX: usize = wire::DEPTH_MAX;

impl PartialJson {
    pub(crate) fn push(&mut self, more: &str) {
        let from = self.text.len();
        self.text.push_str(more);
        for (at, byte) in more.bytes().enumerate() {
            if self.broken {
                return;
            }
            self.step(byte, from + at);
        }
    }

    /// The object so far, closed. `{}` while there is nothing to show.
    pub(crate) fn closed(&self, into: &mut Vec<u8>) {
        if self.safe == 0 {
            return into.extend_from_slice(b"{}");
        }
        // A text value that is still growing is shown up to here, as long as no escape is half-written.
        let mut end = self.safe;
        let growing = self.state == (ScanState::Text { key: false }) && !self.broken;
        if growing {
            end = self.text.len();
        }
        let start = into.len();
        into.extend_from_slice(&self.text.as_bytes()[..end]);
        // Line ends between tokens are legal JSON and would end the frame.
        into[start..].iter_mut().filter(|byte| matches!(**byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
        let depth = if growing {
            into.push(b'"');
            self.closers.len()
        } else {
            self.safe_depth
        };
        into.extend(self.closers[..depth].iter().rev());
        // Half a surrogate pair is no character; a listener may refuse the whole line for it.
        let shown = std::str::from_utf8(&into[start..]).unwrap_or("{}");
        if let Cow::Owned(whole) = wire::replace_lone_surrogates(shown) {
            into.truncate(start);
            into.extend_from_slice(whole.as_bytes());
        }
    }

    fn step(&mut self, byte: u8, at: usize) {
        use ScanState::*;
        let space = matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        match self.state {
            Start if space => {}
            Start if byte == b'{' => self.open(byte, at),
            KeyOrEnd | Value | ItemOrEnd | CommaOrEnd | Colon if space => {}
            KeyOrEnd if byte == b'"' => self.state = Text { key: true },
            Colon if byte == b':' => self.state = Value,
            Value | ItemOrEnd if matches!(byte, b'{' | b'[') => self.open(byte, at),
            Value | ItemOrEnd if byte == b'"' => self.state = Text { key: false },
            Value | ItemOrEnd if byte.is_ascii_alphanumeric() || byte == b'-' => self.state = Word { from: at },
            Text { key } if byte == b'\\' => self.state = Escape { key },
            Text { key: true } if byte == b'"' => self.state = Colon,
            Text { key: false } if byte == b'"' => self.value_done(at + 1),
            Text { .. } if byte >= 0x20 => {}
            Escape { key } if byte == b'u' => self.state = Unicode { key, left: 4 },
            Escape { key } if b"\"\\/bfnrt".contains(&byte) => self.state = Text { key },
            Unicode { key, left: 1 } if byte.is_ascii_hexdigit() => self.state = Text { key },
            Unicode { key, left } if byte.is_ascii_hexdigit() => self.state = Unicode { key, left: left - 1 },
            Word { .. } if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+') => {}
            Word { from } if is_word(&self.text[from..at]) => {
                self.value_done(at);
                self.step(byte, at);
            }
            CommaOrEnd if byte == b',' => {
                self.state = if self.closers.last() == Some(&b'}') { KeyOrEnd } else { Value };
            }
            KeyOrEnd | ItemOrEnd | CommaOrEnd if self.closers.last() == Some(&byte) => {
                self.closers.pop();
                self.value_done(at + 1);
            }
            Done if space => {}
            _ => self.broken = true,
        }
    }

    fn open(&mut self, byte: u8, at: usize) {
        if self.closers.len() == DEPTH_MAX {
            self.broken = true;
            return;
        }
        let is_object = byte == b'{';
        self.closers.push(if is_object { b'}' } else { b']' });
        self.state = if is_object { ScanState::KeyOrEnd } else { ScanState::ItemOrEnd };
        self.mark(at + 1);
    }

    fn value_done(&mut self, end: usize) {
        self.state = if self.closers.is_empty() { ScanState::Done } else { ScanState::CommaOrEnd };
        self.mark(end);
    }

    fn mark(&mut self, end: usize) {
        self.safe = end;
        self.safe_depth = self.closers.len();
    }
}

fn is_word(text: &str) -> bool {
    serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(text: &str) -> String {
        let mut partial = PartialJson::default();
        // One character at a time: how the text is cut must not matter.
        for letter in text.chars() {
            partial.push(letter.encode_utf8(&mut [0; 4]));
        }
        let mut out = Vec::new();
        partial.closed(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_half_written_object_is_closed_where_it_can_be() {
        assert_eq!(closed(""), "{}");
        assert_eq!(closed("{\"messag"), "{}");
        assert_eq!(closed("{\"message\": \"h"), "{\"message\": \"h\"}");
        assert_eq!(closed("{\"a\":[1,{\"b\":true},fal"), "{\"a\":[1,{\"b\":true}]}");
        assert_eq!(closed("{\"a\":1,\"b\":\"x\\u00"), "{\"a\":1}");
        assert_eq!(closed("{\"a\":\"x\\"), "{}");
        assert_eq!(closed("{\"a\":{\n\"b\":\"c\"}\n}"), "{\"a\":{ \"b\":\"c\"} }");
    }

    #[test]
    fn what_is_no_object_shows_nothing_and_breaks_nothing() {
        for text in ["[1]", "nonsense", "}", "\"x\"", "{]", "{\"a\" 1}", "{\"a\":1}}"] {
            let shown = closed(text);
            assert!(
                serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&shown).is_ok(),
                "{text}: {shown}"
            );
        }
        assert_eq!(closed(&"{\"a\":".repeat(200)).matches('{').count(), DEPTH_MAX);
    }

    #[test]
    fn every_beginning_of_a_real_object_closes_to_an_object() {
        let text = r#"{"path":"a \"b\" \\ \u00e9 \ud83d\ude00 ü.txt","n":-1.5e3,"list":[[],{},null,"x"],"o":{"k":[true,false]}}"#;
        for (cut, _) in text.char_indices() {
            let shown = closed(&text[..cut]);
            assert!(
                serde_json::from_str::<serde_json::Value>(&wire::replace_lone_surrogates(&shown)).is_ok(),
                "{shown}"
            );
        }
        assert_eq!(closed(text), text);
    }
}
