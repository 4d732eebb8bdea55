//! Most events of an answer are the one before with other words. Such an event is recognised by its bytes and needs no
//! parser: what is equal before and behind the words was read already, and meant nothing but them.

use std::ops::Range;

/// An event that said nothing but words, and where they stand in it.
#[derive(Default)]
pub(crate) struct EventPattern {
    event: Vec<u8>,
    /// Empty while there is no such event.
    words: Range<usize>,
}

impl EventPattern {
    /// The caller has read `event` and found that it says `words` and nothing else, and that reading it again, with any
    /// other words, would change nothing but them. Words that are not a piece of `event` teach nothing.
    pub(crate) fn learn(&mut self, event: &[u8], words: &str) {
        let start = (words.as_ptr() as usize).wrapping_sub(event.as_ptr() as usize);
        let end = start.saturating_add(words.len());
        let is_quoted = |end: usize| event.get(end) == Some(&b'"') && start > 0 && event[start - 1] == b'"';
        if words.is_empty() || !is_quoted(end) {
            return;
        }
        self.event.clear();
        self.event.extend_from_slice(event);
        self.words = start..end;
    }

    /// What was read since may have changed what such an event means.
    pub(crate) fn forget(&mut self) {
        self.words = 0..0;
    }

    /// The words of an event that differs from the learnt one in nothing else. Escapes and errors are left to a parser.
    pub(crate) fn words<'a>(&self, event: &'a [u8]) -> Option<&'a str> {
        if self.words.is_empty() {
            return None;
        }
        let (before, behind) = (&self.event[..self.words.start], &self.event[self.words.end..]);
        let words = event.strip_prefix(before)?.strip_suffix(behind)?;
        let is_plain = !words.is_empty() && words.iter().all(|&byte| byte >= b' ' && byte != b'"' && byte != b'\\');
        is_plain.then(|| std::str::from_utf8(words).ok())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: &str = r#"{"a":"one","b":"one"}"#;

    fn learnt(at: Range<usize>) -> EventPattern {
        let mut pattern = EventPattern::default();
        pattern.learn(EVENT.as_bytes(), &EVENT[at]);
        pattern
    }

    #[test]
    fn an_event_that_differs_in_its_words_alone_is_read_by_its_bytes() {
        let pattern = learnt(16..19);
        for (event, words) in [
            (r#"{"a":"one","b":"two"}"#, Some("two")),
            (r#"{"a":"one","b":"gr\u00fcn"}"#, None),
            ("{\"a\":\"one\",\"b\":\"gr\u{fc}n \u{1F600}\"}", Some("gr\u{fc}n \u{1F600}")),
            // A parser is needed, or nothing helps.
            (r#"{"a":"one","b":""}"#, None),
            (r#"{"a":"two","b":"one"}"#, None),
            (r#"{"a":"one","b":"x","c":"one"}"#, None),
            (r#"{"a":"one","b":"x","b":"y"}"#, None),
            ("{\"a\":\"one\",\"b\":\"a\nb\"}", None),
            (r#"{"a":"one","b":"x\"}"#, None),
            (r#"{"a":"one","b":"#, None),
            ("", None),
        ] {
            assert_eq!(pattern.words(event.as_bytes()), words, "{event}");
        }
        assert_eq!(pattern.words(b"{\"a\":\"one\",\"b\":\"\xFF\"}"), None);
    }

    #[test]
    fn nothing_is_taken_for_a_pattern_that_is_none() {
        // Not in the event, no words, not the whole string.
        for mut pattern in [learnt(0..0), learnt(16..18), learnt(2..3)] {
            pattern.forget();
            assert_eq!(pattern.words(EVENT.as_bytes()), None);
        }
        let mut pattern = EventPattern::default();
        pattern.learn(EVENT.as_bytes(), "one");
        assert_eq!(pattern.words(EVENT.as_bytes()), None);
        let mut pattern = learnt(16..19);
        pattern.forget();
        assert_eq!(pattern.words(EVENT.as_bytes()), None);
    }
}
