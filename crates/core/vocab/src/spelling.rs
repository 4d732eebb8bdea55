//! A key in the spellings in which it travels: as it is, inside of base64 (a `Basic` header has it behind a user's name), and
//! with `%41` for its letters, in whatever mixture. Whoever reads one of them has the key. Pure.

use std::ops::Range;

/// Shorter keys (`none`, `local`) are ordinary words: they are not taken out of texts, in no spelling.
pub const SCRUBBED_BYTES_MIN: usize = 8;
/// What stands in a text instead of a key.
const MASK: &str = "***";

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// One way to write a key: what is looked for.
#[derive(PartialEq)]
pub(crate) struct Spelling {
    text: String,
    /// The characters on either side say something of the key and something of its neighbours, so they are not looked for;
    /// they are hidden all the same.
    before: usize,
    after: usize,
}

/// All of them. A word has itself alone.
pub(crate) fn spellings(key: &str) -> Vec<Spelling> {
    let mut all = vec![Spelling { text: key.to_owned(), before: 0, after: 0 }];
    if key.len() < SCRUBBED_BYTES_MIN {
        return all;
    }
    // Three bytes are four characters, so there are three ways to begin in the middle of a text.
    for ahead in 0..3 {
        let standard = in_base64(key.as_bytes(), ahead);
        let url_safe = standard.text.replace('+', "-").replace('/', "_");
        if url_safe != standard.text {
            all.push(Spelling { text: url_safe, ..standard });
        }
        all.push(standard);
    }
    all
}

/// The characters that are made of the key alone, where so many bytes stand before it.
fn in_base64(key: &[u8], ahead: usize) -> Spelling {
    let (from, to) = (8 * ahead, 8 * (ahead + key.len()));
    let bit = |at: usize| usize::from(key[(at - from) / 8] >> (7 - (at - from) % 8) & 1);
    let character = |at: usize| (6 * at..6 * at + 6).fold(0, |value, at| value << 1 | bit(at));
    let text = (from.div_ceil(6)..to / 6).map(|at| char::from(BASE64[character(at)])).collect();
    Spelling { text, before: usize::from(from % 6 != 0), after: usize::from(to % 6 != 0) }
}

/// Whether one of them is in there.
pub(crate) fn is_in<'s>(text: &[u8], spellings: impl Iterator<Item = &'s Spelling>) -> bool {
    !places(text, spellings).is_empty()
}

/// The text without them; `None`: there are none in it.
pub(crate) fn masked<'s>(text: &str, spellings: impl Iterator<Item = &'s Spelling>) -> Option<String> {
    let places = places(text.as_bytes(), spellings);
    let mut out = String::with_capacity(text.len());
    let mut told = 0;
    for place in &places {
        // A key begins and ends with a whole character, so the text around it does.
        out.push_str(text.get(told..place.start).unwrap_or_default());
        out.push_str(MASK);
        told = place.end;
    }
    (!places.is_empty()).then(|| out + text.get(told..).unwrap_or_default())
}

/// The length of what is certain not to become a key when the text goes on.
pub(crate) fn settled<'s>(text: &str, spellings: impl Iterator<Item = &'s Spelling>) -> usize {
    let whole = text.len() - half_escape(text.as_bytes());
    let escaped = Unescaped::of(&text.as_bytes()[..whole]);
    let mut settled = text.len();
    for Spelling { text: key, .. } in spellings {
        // Where a `%` is about to become a letter, any key may be.
        settled = settled.min(text.len() - begun(text.as_bytes(), key.as_bytes()));
        match &escaped {
            Some(plain) => settled = settled.min(plain.starts[plain.bytes.len() - begun(&plain.bytes, key.as_bytes())]),
            None if whole < text.len() => {
                settled = settled.min(whole - begun(&text.as_bytes()[..whole], key.as_bytes()))
            }
            None => {}
        }
    }
    settled
}

/// How much of a key the text ends with, all of it excepted.
fn begun(text: &[u8], key: &[u8]) -> usize {
    (1..key.len().min(text.len() + 1)).rev().find(|length| text.ends_with(&key[..*length])).unwrap_or(0)
}

/// Where they are, in order; what overlaps is one.
fn places<'s>(text: &[u8], spellings: impl Iterator<Item = &'s Spelling>) -> Vec<Range<usize>> {
    let looked_for = LookedFor::new(spellings);
    let mut found = looked_for.places(text);
    if let Some(plain) = Unescaped::of(text) {
        let places = looked_for.places(&plain.bytes).into_iter();
        found.extend(places.map(|place| plain.starts[place.start]..plain.starts[place.end]));
    }
    found.sort_unstable_by_key(|place| place.start);
    let mut places: Vec<Range<usize>> = Vec::new();
    for place in found {
        match places.last_mut() {
            Some(last) if place.start < last.end => last.end = last.end.max(place.end),
            _ => places.push(place),
        }
    }
    places
}

/// All that is looked for, by its first byte: one pass over a text finds it, however many keys are known.
struct LookedFor<'s>([Vec<&'s Spelling>; 256]);

impl<'s> LookedFor<'s> {
    fn new(spellings: impl Iterator<Item = &'s Spelling>) -> Self {
        let mut by_first = [const { Vec::new() }; 256];
        for spelling in spellings {
            if let Some(first) = spelling.text.as_bytes().first() {
                by_first[usize::from(*first)].push(spelling);
            }
        }
        Self(by_first)
    }

    fn places(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        for (at, byte) in text.iter().enumerate() {
            let begin_so = self.0[usize::from(*byte)].iter();
            let here = begin_so.filter(|spelling| text[at..].starts_with(spelling.text.as_bytes()));
            found.extend(here.map(|spelling| spelling.with_sides(text, at)));
        }
        found
    }
}

impl Spelling {
    fn with_sides(&self, text: &[u8], start: usize) -> Range<usize> {
        let end = start + self.text.len();
        let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
        let before = text[..start].iter().rev().take(self.before).take_while(|byte| is_base64(byte)).count();
        let after = text[end..].iter().take(self.after).take_while(|byte| is_base64(byte)).count();
        start - before..end + after
    }
}

/// A text with its `%41` read, and where each byte stood.
struct Unescaped {
    bytes: Vec<u8>,
    /// One more than there are bytes: the last is the end.
    starts: Vec<usize>,
}

impl Unescaped {
    /// `None`: there is nothing to read.
    fn of(text: &[u8]) -> Option<Self> {
        if !text.windows(3).any(|window| escape(window).is_some()) {
            return None;
        }
        let (mut bytes, mut starts, mut at) = (Vec::with_capacity(text.len()), Vec::with_capacity(text.len() + 1), 0);
        while at < text.len() {
            starts.push(at);
            let read = escape(&text[at..]);
            bytes.push(read.unwrap_or(text[at]));
            at += if read.is_some() { 3 } else { 1 };
        }
        starts.push(text.len());
        Some(Self { bytes, starts })
    }
}

fn escape(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = text else { return None };
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? << 4 | digit(low)?)
}

/// The bytes of an escape that the text ends in the middle of.
fn half_escape(text: &[u8]) -> usize {
    match text {
        [.., b'%'] => 1,
        [.., b'%', digit] if digit.is_ascii_hexdigit() => 2,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-canary-?>~0123";

    fn masked_in(text: &str) -> String {
        masked(text, spellings(KEY).iter()).unwrap_or_else(|| text.to_owned())
    }

    /// As every library writes it, with the padding.
    fn base64(text: &str) -> String {
        let whole = in_base64(&[text.as_bytes(), &[0; 2]].concat(), 0).text;
        let length = (8 * text.len()).div_ceil(6);
        format!("{:=<1$}", &whole[..length], length.next_multiple_of(4))
    }

    #[test]
    fn base64_is_told_wherever_the_key_begins_in_it() {
        assert_eq!(base64("user:pw"), "dXNlcjpwdw==");
        for ahead in ["", "u", "us", "user:", "me@example.org:"] {
            for behind in ["", "!", "!!", " and more"] {
                let written = base64(&format!("{ahead}{KEY}{behind}"));
                let url_safe = written.replace('+', "-").replace('/', "_");
                let escaped = written.replace('+', "%2B").replace('/', "%2f").replace('=', "%3D");
                for written in [written.trim_end_matches('='), &written, &url_safe, &escaped] {
                    let said = masked_in(&format!("Basic {written}, then"));
                    assert!(said.contains("***") && said.ends_with(", then"), "{written} -> {said}");
                    // What is left tells nothing of the key.
                    let left = said.replace("***", "");
                    assert!(
                        left.len() <= "Basic , then".len() + base64(ahead).len() + base64(behind).len() + 8,
                        "{said}"
                    );
                }
            }
        }
        assert_eq!(masked_in(&base64(KEY)), "***=", "nothing but the padding");
        let other = base64("user:sk-another-key-0123");
        assert_eq!(masked_in(&other), other);
    }

    #[test]
    fn escapes_are_read_in_whatever_mixture() {
        let all: String = KEY.bytes().map(|byte| format!("%{byte:02x}")).collect();
        for written in [&*all, "sk-canary-%3F%3e~0123", "%73k%2Dcanary-?>%7E0123", "sk-canary-%3F>~012%33"] {
            assert_eq!(
                masked_in(&format!("http://h/%41?k={written}&x=%zz%")),
                "http://h/%41?k=***&x=%zz%",
                "{written}"
            );
        }
        assert_eq!(masked_in("100% of %41"), "100% of %41");
        let foreign = "cl\u{e9}-canary-789";
        let shown = masked("a cl%C3%A9-canary-789\u{e9}", spellings(foreign).iter());
        assert_eq!(shown.as_deref(), Some("a ***\u{e9}"));
    }

    #[test]
    fn a_word_is_looked_for_as_it_is() {
        assert_eq!(spellings("none").len(), 1);
        assert_eq!(masked("none bm9uZQ==", spellings("none").iter()).as_deref(), Some("*** bm9uZQ=="));
    }

    #[test]
    fn what_may_become_a_key_in_any_spelling_is_not_settled() {
        let escaped: String = KEY.bytes().map(|byte| format!("%{byte:02X}")).collect();
        for written in [base64(&format!("user:{KEY}")), escaped, KEY.replace('?', "%3F")] {
            let whole = format!("out: {written} end");
            let all = spellings(KEY);
            for at in 0..whole.len() {
                let told = masked(&whole[..at], all.iter()).unwrap_or_else(|| whole[..at].to_owned());
                let told = &told[..settled(&told, all.iter())];
                // A few characters before the key, and none of it.
                assert!(told.len() <= "out: dXNlcjpz***== end".len(), "{told}");
            }
        }
    }
}
