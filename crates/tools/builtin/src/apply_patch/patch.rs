//! A patch as data, and telling the two ways of writing one apart. Pure.

use super::{envelope, unified};

/// One file of a patch.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) path: String,
    pub(super) change: PatchChange,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum PatchChange {
    Add(String),
    Delete,
    Update { move_to: Option<String>, hunks: Vec<Hunk> },
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Hunk {
    /// Lines to find, one after the other, before the hunk itself (`@@ fn main`).
    pub(super) anchors: Vec<String>,
    /// Where the hunk starts in the old file, from 1, when the patch says so; 0 for an empty file.
    pub(super) start: Option<usize>,
    pub(super) lines: Vec<PatchLine>,
    /// The hunk is at the end of the file.
    pub(super) at_end: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Keep,
    Remove,
    Add,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct PatchLine {
    pub(super) sign: Sign,
    pub(super) text: String,
    /// The file ends with this line and without a line end.
    pub(super) bare: bool,
}

impl PatchLine {
    pub(super) fn new(sign: Sign, text: &str) -> Self {
        Self { sign, text: text.to_owned(), bare: false }
    }
}

/// The lines of a patch with a place to stand.
pub(super) struct PatchLines<'a> {
    lines: Vec<&'a str>,
    at: usize,
}

impl<'a> PatchLines<'a> {
    fn new(input: &'a str) -> Self {
        let mut lines: Vec<&str> = input.split('\n').collect();
        if lines.last() == Some(&"") {
            lines.pop();
        }
        // A patch that was carried with CR LF is a patch with LF; one CR among LFs belongs to its line.
        if !lines.is_empty() && lines.iter().all(|line| line.ends_with('\r')) {
            lines = lines.into_iter().map(|line| &line[..line.len() - 1]).collect();
        }
        Self { lines, at: 0 }
    }
    pub(super) fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at).copied()
    }
    /// The line `ahead` lines behind the next one.
    pub(super) fn peek_at(&self, ahead: usize) -> Option<&'a str> {
        self.lines.get(self.at + ahead).copied()
    }
    pub(super) fn take(&mut self) -> Option<&'a str> {
        let line = self.peek()?;
        self.at += 1;
        Some(line)
    }
    /// Number of the next line, from 1, for errors.
    pub(super) fn number(&self) -> usize {
        self.at + 1
    }
}

/// Reads either form.
pub(super) fn parse(input: &str) -> Result<Vec<Section>, String> {
    let mut lines = PatchLines::new(input);
    while let Some(line) = lines.peek() {
        let sections = match line.trim_end() {
            envelope::BEGIN => envelope::parse(&mut lines)?,
            line if line.starts_with("--- ") || line.starts_with("diff --git ") => unified::parse(&mut lines)?,
            // Whatever a model writes before it: a code fence, a here-document, prose.
            _ => {
                lines.take();
                continue;
            }
        };
        return match sections.is_empty() {
            true => Err("the patch changes no file".to_owned()),
            false => Ok(sections),
        };
    }
    Err("no patch found: start with \"*** Begin Patch\", or give a unified diff with ---, +++ and @@ lines".to_owned())
}
