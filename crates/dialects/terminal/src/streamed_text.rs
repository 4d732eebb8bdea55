//! Text that arrives in pieces: where its line stands, what was written last, and which colour is on. Words of an answer,
//! thoughts and whole lines beside them meet here, so that each begins where it should.

use wire::FrameBuf;

use crate::paint::{Paint, clean};

/// Where text goes.
pub trait TextSink {
    fn push(&mut self, text: &str);
}

impl TextSink for FrameBuf {
    fn push(&mut self, text: &str) {
        self.raw(text.as_bytes());
    }
}

impl TextSink for String {
    fn push(&mut self, text: &str) {
        self.push_str(text);
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LastWritten {
    Nothing,
    Text,
    Thinking,
    /// Whole lines.
    Block,
}

pub struct StreamedText {
    paint: Paint,
    /// The text is at the start of a line.
    fresh: bool,
    /// What was written last, to put one blank line between text and tools.
    pub last: LastWritten,
}

impl StreamedText {
    pub fn new(paint: Paint) -> Self {
        Self { paint, fresh: true, last: LastWritten::Nothing }
    }

    /// Words of an answer. `parted`: a blank line stands between them and lines above.
    pub fn text(&mut self, words: &str, parted: bool, out: &mut impl TextSink) {
        if self.last != LastWritten::Text {
            self.end_line(out);
            if self.last == LastWritten::Block && parted {
                out.push("\n");
            }
            self.last = LastWritten::Text;
        }
        self.write(words, out);
    }

    pub fn thinking(&mut self, words: &str, out: &mut impl TextSink) {
        if self.last != LastWritten::Thinking {
            self.fresh_line(out);
            if self.paint.on {
                out.push("\x1b[2m");
            }
            self.last = LastWritten::Thinking;
        }
        self.write(words, out);
    }

    fn write(&mut self, words: &str, out: &mut impl TextSink) {
        let words = clean(words);
        out.push(&words);
        if let Some(last) = words.as_bytes().last() {
            self.fresh = *last == b'\n';
        }
    }

    /// Thoughts end with their line and their colour.
    pub fn end_thinking(&mut self, out: &mut impl TextSink) {
        if self.last == LastWritten::Thinking {
            if self.paint.on {
                out.push("\x1b[0m");
            }
            self.fresh_line(out);
            self.last = LastWritten::Block;
        }
    }

    pub fn fresh_line(&mut self, out: &mut impl TextSink) {
        if !std::mem::replace(&mut self.fresh, true) {
            out.push("\n");
        }
    }

    /// Back to the start of a line, in plain colours.
    pub fn end_line(&mut self, out: &mut impl TextSink) {
        self.end_thinking(out);
        self.fresh_line(out);
    }

    /// Whole lines, at the start of one.
    pub fn lines(&mut self, lines: impl IntoIterator<Item = String>, out: &mut impl TextSink) {
        for line in lines {
            out.push(&line);
            out.push("\n");
        }
        self.last = LastWritten::Block;
    }

    /// The person's Enter ended the line on the screen.
    pub fn line_was_ended(&mut self) {
        self.fresh = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_thoughts_and_lines_begin_where_they_should() {
        let mut text = StreamedText::new(Paint { on: true });
        let mut out = String::new();
        text.thinking("hm", &mut out);
        text.text("one", true, &mut out);
        text.text("\u{1b}[2K", true, &mut out);
        text.end_line(&mut out);
        text.lines(["two".to_owned()], &mut out);
        text.text("three\n", true, &mut out);
        text.end_line(&mut out);
        assert_eq!(out, "\x1b[2mhm\x1b[0m\n\none\ntwo\n\nthree\n");
    }
}
