//! The chunks that most answers are made of, read in one pass over their bytes: a few words, why it stopped, how many tokens.
//! Whatever says more, has an escape or is written in another way is left to the reader of everything ([`super::chunk`]), so
//! that nothing has to be judged here: what is taken means to both the same.

use vocab::Usage;

use super::chunk::CompletionsUsage;

/// How deep objects are that are passed over: counts have details, and those nothing more.
const DEPTH_MAX: usize = 3;

/// A chunk that says nothing else.
#[derive(Default)]
pub(super) struct PlainChunk<'a> {
    pub(super) words: Option<&'a str>,
    pub(super) finish_reason: Option<&'a str>,
    usage: Option<&'a str>,
    /// A bit for each member that means something: one that comes twice is left to the other reader.
    seen: u32,
}

impl<'a> PlainChunk<'a> {
    pub(super) fn read(data: &'a [u8]) -> Option<Self> {
        let mut scan = Scan { text: std::str::from_utf8(data).ok()?, at: 0 };
        let mut chunk = Self::default();
        scan.object(|scan, name| chunk.top(scan, name))?;
        scan.space();
        (scan.at == scan.text.len()).then_some(chunk)
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        serde_json::from_str(self.usage?).ok().map(|counts: CompletionsUsage| counts.usage())
    }

    fn top(&mut self, scan: &mut Scan<'a>, name: &str) -> Option<()> {
        match name {
            "choices" => {
                self.once(0)?;
                scan.eat(b'[')?;
                if scan.peek()? != b']' {
                    scan.object(|scan, name| self.choice(scan, name))?;
                }
                // A second choice is nothing that we asked for.
                scan.eat(b']')
            }
            "usage" => {
                self.once(1)?;
                if scan.peek()? != b'{' {
                    return scan.null();
                }
                let start = scan.at;
                scan.pass(DEPTH_MAX)?;
                self.usage = Some(&scan.text[start..scan.at]);
                Some(())
            }
            "object" => {
                self.once(2)?;
                (scan.string()? != "error").then_some(())
            }
            "error" => self.nothing(3, scan),
            "x_groq" => self.nothing(4, scan),
            _ => scan.scalar().map(|_| ()),
        }
    }

    fn choice(&mut self, scan: &mut Scan<'a>, name: &str) -> Option<()> {
        match name {
            "delta" => {
                self.once(5)?;
                scan.object(|scan, name| self.delta(scan, name))
            }
            "finish_reason" => {
                self.once(6)?;
                self.finish_reason = scan.text_or_null()?;
                Some(())
            }
            "message" => self.nothing(7, scan),
            "native_finish_reason" => self.nothing(8, scan),
            "usage" => self.nothing(9, scan),
            "error" => self.nothing(10, scan),
            _ => scan.scalar().map(|_| ()),
        }
    }

    fn delta(&mut self, scan: &mut Scan<'a>, name: &str) -> Option<()> {
        match name {
            "content" => {
                self.once(11)?;
                self.words = scan.text_or_null()?;
                Some(())
            }
            "reasoning_content" => self.nothing(12, scan),
            "reasoning" => self.nothing(13, scan),
            "reasoning_text" => self.nothing(14, scan),
            "reasoning_details" => self.nothing(15, scan),
            "refusal" => self.nothing(16, scan),
            "tool_calls" => self.nothing(17, scan),
            "function_call" => self.nothing(18, scan),
            _ => scan.scalar().map(|_| ()),
        }
    }

    fn once(&mut self, member: u32) -> Option<()> {
        let bit = 1 << member;
        let is_first = self.seen & bit == 0;
        self.seen |= bit;
        is_first.then_some(())
    }

    /// A member that is there and says nothing.
    fn nothing(&mut self, member: u32, scan: &mut Scan<'a>) -> Option<()> {
        self.once(member)?;
        scan.null()
    }
}

/// Reads JSON in its plainest form. `None`: it is not in that form, or no JSON.
struct Scan<'a> {
    text: &'a str,
    at: usize,
}

/// Bytes that stand for themselves in a string.
static IS_PLAIN: [bool; 256] = {
    let mut plain = [true; 256];
    let mut control = 0;
    while control < b' ' {
        plain[control as usize] = false;
        control += 1;
    }
    plain[b'"' as usize] = false;
    plain[b'\\' as usize] = false;
    plain
};

enum Scalar<'a> {
    Null,
    Text(&'a str),
    Other,
}

impl<'a> Scan<'a> {
    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.text.as_bytes().get(self.at) {
            self.at += 1;
        }
    }

    /// The next byte that is no space.
    fn peek(&mut self) -> Option<u8> {
        self.space();
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> Option<()> {
        let is_there = self.peek()? == byte;
        self.at += 1;
        is_there.then_some(())
    }

    fn object(&mut self, mut member: impl FnMut(&mut Self, &'a str) -> Option<()>) -> Option<()> {
        self.eat(b'{')?;
        if self.peek()? == b'}' {
            return self.eat(b'}');
        }
        loop {
            let name = self.string()?;
            self.eat(b':')?;
            member(self, name)?;
            if self.peek()? == b'}' {
                return self.eat(b'}');
            }
            self.eat(b',')?;
        }
    }

    fn string(&mut self) -> Option<&'a str> {
        self.eat(b'"')?;
        let (bytes, start) = (self.text.as_bytes(), self.at);
        let mut end = start;
        while end < bytes.len() && IS_PLAIN[usize::from(bytes[end])] {
            end += 1;
        }
        // An escape ends it, too, and is none.
        self.at = end;
        self.eat(b'"')?;
        self.text.get(start..end)
    }

    fn text_or_null(&mut self) -> Option<Option<&'a str>> {
        match self.scalar()? {
            Scalar::Null => Some(None),
            Scalar::Text(text) => Some(Some(text)),
            Scalar::Other => None,
        }
    }

    fn null(&mut self) -> Option<()> {
        matches!(self.scalar()?, Scalar::Null).then_some(())
    }

    fn scalar(&mut self) -> Option<Scalar<'a>> {
        match self.peek()? {
            b'"' => self.string().map(Scalar::Text),
            b'n' => self.literal("null").map(|()| Scalar::Null),
            b't' => self.literal("true").map(|()| Scalar::Other),
            b'f' => self.literal("false").map(|()| Scalar::Other),
            _ => self.number().map(|()| Scalar::Other),
        }
    }

    fn literal(&mut self, word: &str) -> Option<()> {
        let is_there = self.text.as_bytes()[self.at..].starts_with(word.as_bytes());
        self.at += word.len();
        is_there.then_some(())
    }

    /// Digits, perhaps with a fraction: no sign and no exponent.
    fn number(&mut self) -> Option<()> {
        let whole = self.digits();
        let is_whole = whole.len() == 1 || (whole.len() > 1 && !whole.starts_with('0'));
        if self.text.as_bytes().get(self.at) != Some(&b'.') {
            return is_whole.then_some(());
        }
        self.at += 1;
        (is_whole && !self.digits().is_empty()).then_some(())
    }

    fn digits(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        self.at += length;
        &rest[..length]
    }

    /// Passes over a value.
    fn pass(&mut self, depth: usize) -> Option<()> {
        match self.peek()? {
            b'{' => self.object(|scan, _| scan.pass(depth.checked_sub(1)?)),
            _ => self.scalar().map(|_| ()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::completions::chunk::CompletionsChunk;

    const CHUNKS: [&str; 6] = [
        r#"{"id":"c-1","object":"chat.completion.chunk","created":1,"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
        r#" {"choices":[{"index":0,"delta":{"content":"héllo, you ","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null, "x":0.5}"#,
        r#"{"error":null,"choices":[{"delta":{},"finish_reason":"stop","native_finish_reason":null}],"model":"a"}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2.0,"prompt_tokens_details":{"cached_tokens":4}}}"#,
        r#"{"choices":[{"delta":{"content":null,"reasoning_content":null,"tool_calls":null},"finish_reason":"length"}],"ok":true}"#,
        "{}",
    ];

    /// What both readers make of it.
    fn is_agreed(data: &[u8]) -> bool {
        let Some(plain) = PlainChunk::read(data) else { return true };
        let whole = CompletionsChunk::read(data, |chunk| {
            let is_same_usage = chunk.usage() == plain.usage();
            let is_fault = chunk.error(data).is_some();
            let Some(mut choice) = chunk.choice() else {
                return is_same_usage && !is_fault && plain.words.is_none() && plain.finish_reason.is_none();
            };
            let reason = choice.finish_reason.take().map(|reason| reason.0.into_owned());
            let native = choice.native_finish_reason.take();
            let mut delta = choice.delta();
            let reasoning = delta.as_mut().and_then(|it| it.reasoning());
            let content = delta.as_mut().and_then(|it| it.content.take());
            let words = content.map(|content| (content.text.into_owned(), content.thinking.into_owned()));
            let is_silent = native.is_none() && reasoning.is_none();
            let has_calls = delta.is_some_and(|it| it.tool_calls.is_some() || it.function_call.is_some());
            let is_same_text = words.as_ref().map_or("", |words| &words.0) == plain.words.unwrap_or_default();
            let is_thinking = words.is_some_and(|words| !words.1.is_empty());
            is_same_usage
                && !is_fault
                && is_silent
                && !has_calls
                && is_same_text
                && !is_thinking
                && reason.as_deref() == plain.finish_reason
        });
        whole.is_ok_and(|agrees| agrees)
    }

    #[test]
    fn what_most_answers_are_made_of_is_plain() {
        for chunk in CHUNKS {
            assert!(PlainChunk::read(chunk.as_bytes()).is_some(), "{chunk}");
            assert!(is_agreed(chunk.as_bytes()), "{chunk}");
        }
        let plain = PlainChunk::read(CHUNKS[1].as_bytes()).unwrap();
        assert_eq!((plain.words, plain.finish_reason, plain.usage()), (Some("héllo, you "), None, None));
        let counts = PlainChunk::read(CHUNKS[3].as_bytes()).unwrap().usage().unwrap();
        assert_eq!((counts.input, counts.cache_read, counts.output), (6, 4, 2));
    }

    /// Whatever becomes of a byte: either the other reader is asked, or it would have read the same.
    #[test]
    fn what_is_taken_means_to_both_readers_the_same() {
        for chunk in CHUNKS {
            for at in 0..chunk.len() {
                assert!(is_agreed(&chunk.as_bytes()[..at]), "{chunk} up to {at}");
                for byte in b"\0 \\\"{}[]:,0.-enut\xff" {
                    let mut other = chunk.as_bytes().to_vec();
                    other[at] = *byte;
                    assert!(is_agreed(&other), "{}", String::from_utf8_lossy(&other));
                    other.insert(at, *byte);
                    assert!(is_agreed(&other), "{}", String::from_utf8_lossy(&other));
                    other.drain(at..(at + 2).min(other.len()));
                    assert!(is_agreed(&other), "{}", String::from_utf8_lossy(&other));
                }
            }
        }
    }

    #[test]
    fn what_says_more_is_left_to_the_other_reader() {
        for chunk in [
            r#"{"choices":[{"delta":{"content":"a\n"}}]}"#,
            r#"{"choices":[{"delta":{"content":["a"]}}]}"#,
            r#"{"choices":[{"delta":{"content":"a","tool_calls":[]}}]}"#,
            r#"{"choices":[{"delta":{"reasoning":"a"}}]}"#,
            r#"{"choices":[{"delta":{}},{"delta":{}}]}"#,
            r#"{"choices":[{"message":{"content":"a"}}]}"#,
            r#"{"choices":[],"choices":[]}"#,
            r#"{"error":null,"error":null}"#,
            r#"{"object":"error"}"#,
            r#"{"error":{"message":"a"}}"#,
            r#"{"x_groq":{"usage":{}}}"#,
            r#"{"a":-1}"#,
            r#"{"a":01}"#,
            r#"{} {}"#,
            "[]",
        ] {
            assert!(PlainChunk::read(chunk.as_bytes()).is_none(), "{chunk}");
        }
    }
}
