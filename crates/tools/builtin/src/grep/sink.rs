//! Collects what the searcher finds into the answer, and knows when the answer is full. No I/O.

use std::fmt::Write as _;
use std::io;

use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

use super::{LINE_CHARS_MAX, OUTPUT_BYTES_MAX};
use crate::output::{cut_chars, plural};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    Content,
    Files,
    Count,
}

pub(super) struct Collector {
    mode: Mode,
    numbers: bool,
    limit: u64,
    grouped: bool,
    text: String,
    /// Lines in `Content`, files otherwise.
    hits: u64,
    path: String,
    in_file: u64,
    /// A line of this file is in the answer.
    touched: bool,
    full: bool,
}

impl Collector {
    pub(super) fn new(mode: Mode, numbers: bool, limit: u64, grouped: bool) -> Self {
        let (text, path) = (String::new(), String::new());
        Self { mode, numbers, limit, grouped, text, hits: 0, path, in_file: 0, touched: false, full: false }
    }

    pub(super) fn begin(&mut self, path: &str) {
        self.path = path.to_owned();
        self.in_file = 0;
        self.touched = false;
    }

    pub(super) fn end(&mut self) {
        if self.in_file == 0 || self.mode == Mode::Content {
            return;
        }
        if self.hits == self.limit {
            self.full = true;
            return;
        }
        self.hits += 1;
        let line = match self.mode {
            Mode::Count => format!("{}:{}\n", self.path, self.in_file),
            Mode::Files | Mode::Content => format!("{}\n", self.path),
        };
        self.push(&line);
    }

    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    pub(super) fn finish(mut self, pattern: &str, skipped: usize, incomplete: bool) -> String {
        if self.text.is_empty() {
            let _ = writeln!(self.text, "no matches for {pattern}");
        }
        if self.full {
            let what = if self.mode == Mode::Content { "match" } else { "file" };
            let ending = if self.hits == 1 {
                ""
            } else if what == "match" {
                "es"
            } else {
                "s"
            };
            let _ = writeln!(
                self.text,
                "[stopped after {} {what}{ending}, there are more; narrow the pattern, the path or the glob]",
                self.hits
            );
        }
        if skipped > 0 {
            let _ = writeln!(self.text, "[{} could not be searched]", plural(skipped, "file"));
        }
        if incomplete {
            self.text.push_str("[the tree is too large; parts of it were not looked at]\n");
        }
        self.text
    }

    fn push(&mut self, line: &str) {
        if self.text.len() + line.len() > OUTPUT_BYTES_MAX {
            self.full = true;
        } else {
            self.text.push_str(line);
        }
    }

    fn push_line(&mut self, number: Option<u64>, mark: char, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        let (text, dots) = cut_chars(text, LINE_CHARS_MAX).map_or((text, ""), |head| (head, "..."));
        let number = match number {
            Some(number) if self.numbers => format!("{number}{mark}"),
            _ => String::new(),
        };
        self.push(&format!("{}{mark}{number}{text}{dots}\n", self.path));
    }

    fn start_of_file(&mut self) {
        if !self.touched {
            self.touched = true;
            self.group();
        }
    }

    fn group(&mut self) {
        if self.grouped && !self.text.is_empty() {
            self.push("--\n");
        }
    }
}

impl Sink for &mut Collector {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.mode != Mode::Content {
            self.in_file += 1;
            return Ok(self.mode == Mode::Count);
        }
        // One more than the limit was found: only now is it certain that something is left out.
        if self.hits == self.limit {
            self.full = true;
            return Ok(false);
        }
        self.start_of_file();
        self.in_file += 1;
        self.hits += 1;
        let first = found.line_number();
        for (offset, line) in (0..).zip(found.lines()) {
            self.push_line(first.map(|first| first + offset), ':', line);
        }
        Ok(!self.full)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        if self.hits == self.limit && *context.kind() == grep_searcher::SinkContextKind::Before {
            return Ok(true);
        }
        self.start_of_file();
        self.push_line(context.line_number(), '-', context.bytes());
        Ok(!self.full)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        if self.hits < self.limit {
            self.group();
        }
        Ok(true)
    }
}
