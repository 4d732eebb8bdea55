//! Lines typed before: gone through one by one, or searched.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Lines of history kept.
const LINES_MAX: usize = 1000;
/// In front of the file: lines below have their breaks and backslashes escaped.
const HEADER: &str = "#V2";

#[derive(Default)]
pub(super) struct History {
    lines: Vec<String>,
    /// The line that is shown, and what was typed before it was.
    at: Option<(usize, String)>,
}

impl History {
    pub(super) fn new(lines: Vec<String>) -> Self {
        let skipped = lines.len().saturating_sub(LINES_MAX);
        Self { lines: lines.into_iter().skip(skipped).collect(), at: None }
    }

    pub(super) fn add(&mut self, line: &str) {
        self.at = None;
        if self.lines.last().is_none_or(|last| last != line) {
            self.lines.push(line.to_owned());
        }
        if self.lines.len() > LINES_MAX {
            self.lines.remove(0);
        }
    }

    /// The line before the one that is shown; `typed` comes back when one goes down again.
    pub(super) fn up(&mut self, typed: &str) -> Option<&str> {
        let (at, typed) = match self.at.take() {
            Some((at, typed)) => (at.saturating_sub(1), typed),
            None if self.lines.is_empty() => return None,
            None => (self.lines.len() - 1, typed.to_owned()),
        };
        self.at = Some((at, typed));
        self.lines.get(at).map(String::as_str)
    }

    pub(super) fn down(&mut self) -> Option<String> {
        let (at, typed) = self.at.take()?;
        match self.lines.get(at + 1) {
            Some(line) => {
                let line = line.clone();
                self.at = Some((at + 1, typed));
                Some(line)
            }
            None => Some(typed),
        }
    }

    /// The newest line with `part` in it, `skip` of them left aside.
    pub(super) fn find(&self, part: &str, skip: usize) -> Option<&str> {
        let mut found = self.lines.iter().rev().filter(|line| line.contains(part));
        found.nth(skip).map(String::as_str)
    }
}

/// A first start has no history, and a broken one must not keep anybody from working.
pub(super) fn read(file: &Path) -> Vec<String> {
    let text = std::fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines().filter(|line| !line.is_empty() && *line != HEADER).map(clean).collect()
}

/// One more line, in a file that only its owner reads.
pub(super) fn append(file: &Path, line: &str) -> std::io::Result<()> {
    if let Some(directory) = file.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(file)?;
    let header = if file.metadata()?.len() == 0 { format!("{HEADER}\n") } else { String::new() };
    file.write_all(format!("{header}{}\n", line.replace('\\', "\\\\").replace('\n', "\\n")).as_bytes())
}

/// Nothing that a terminal would obey comes from a file.
fn clean(line: &str) -> String {
    unescape(line).chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}

fn unescape(line: &str) -> String {
    let (mut out, mut chars) = (String::new(), line.chars());
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => out.push('\n'),
                Some(c) => out.push(c),
                None => out.push('\\'),
            },
            (c, _) => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_goes_up_and_comes_back_to_what_was_typed() {
        let mut history = History::new(vec!["one".into(), "two".into()]);
        assert_eq!(history.up("half"), Some("two"));
        assert_eq!(history.up("two"), Some("one"));
        assert_eq!(history.up("one"), Some("one"));
        assert_eq!(history.down().as_deref(), Some("two"));
        assert_eq!(history.down().as_deref(), Some("half"));
        assert_eq!(history.down(), None);
    }

    #[test]
    fn a_file_keeps_lines_with_breaks_and_backslashes() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("deep/history");
        let lines = ["plain", "two\nlines", r"C:\new \\ end\"];
        lines.iter().for_each(|line| append(&file, line).unwrap());
        assert_eq!(read(&file), lines);
        assert!(std::fs::read_to_string(&file).unwrap().starts_with("#V2\nplain\n"));
        assert_eq!(read(&place.path().join("none")), Vec::<String>::new());
    }

    #[test]
    fn the_newest_line_is_found_first() {
        let history = History::new(vec!["cargo build".into(), "ls".into(), "cargo test".into()]);
        assert_eq!(history.find("cargo", 0), Some("cargo test"));
        assert_eq!(history.find("cargo", 1), Some("cargo build"));
        assert_eq!(history.find("cargo", 2), None);
    }
}
