//! Calls, results and diffs in few lines.

use similar::TextDiff;
use vocab::visible::headline;
use vocab::{FileEdit, Json, Snapshot, Usage};

use crate::paint::{Paint, clean, cut};

/// Lines shown of the beginning and of the end of a result; those between are counted.
const RESULT_LINES_FIRST: usize = 3;
const RESULT_LINES_LAST: usize = 4;
/// Lines of a diff shown; the rest is counted.
pub const DIFF_LINES_MAX: usize = 40;
/// Characters of a line shown.
const LINE_CHARS_MAX: usize = 120;
/// Arguments that say what a call is about, the best first.
const TELLING: [&str; 9] = ["command", "pattern", "path", "file_path", "url", "query", "id", "label", "task"];
/// Arguments that the result shows better.
const TOLD_BY_RESULT: [&str; 2] = ["todos", "phases"];

/// `src/main.rs`, `cargo test`, `TODO in src`: what a call is about.
pub(super) fn about(input: &Json) -> String {
    let Ok(serde_json::Value::Object(map)) = serde_json::from_str(input.as_str()) else {
        return headline(input.as_str());
    };
    let text = |key: &str| map.get(key).and_then(|value| value.as_str()).filter(|text| !text.is_empty());
    if let (Some(pattern), Some(path)) = (text("pattern"), text("path")) {
        return headline(&format!("{pattern} in {path}"));
    }
    match TELLING.iter().find_map(|key| text(key)) {
        Some(text) => headline(text),
        None if map.is_empty() || TOLD_BY_RESULT.iter().any(|key| map.contains_key(*key)) => String::new(),
        None => headline(input.as_str()),
    }
}

/// One line of output, indented and cut.
pub fn line(line: &str) -> String {
    format!("  {}", cut(&clean(line), LINE_CHARS_MAX))
}

/// The first lines of a text, each indented and cut, and how many more there are.
pub(super) fn shortened(text: &str, lines_max: usize) -> Vec<String> {
    let text = clean(text.trim_end());
    let total = text.lines().count();
    let mut shown: Vec<String> =
        text.lines().take(lines_max).map(|line| format!("  {}", cut(line, LINE_CHARS_MAX))).collect();
    if total > lines_max {
        let more = total - lines_max;
        shown.push(format!("  … {more} more line{}", if more == 1 { "" } else { "s" }));
    }
    shown
}

/// How it begins and how it ends: what went wrong is said last.
pub fn result(text: &str) -> Vec<String> {
    let text = clean(text.trim_end());
    let lines: Vec<String> = text.lines().map(|line| format!("  {}", cut(line, LINE_CHARS_MAX))).collect();
    match lines.len().saturating_sub(RESULT_LINES_FIRST + RESULT_LINES_LAST) {
        0 | 1 => lines,
        more => {
            let last = &lines[RESULT_LINES_FIRST + more..];
            [&lines[..RESULT_LINES_FIRST], &[format!("  … {more} more lines")], last].concat()
        }
    }
}

/// `3.2 s`, `2 m 05 s`; `None` for what took no time that anybody would notice.
pub(super) fn took(ms: u64) -> Option<String> {
    match ms {
        0..1_000 => None,
        1_000..60_000 => Some(format!("{:.1} s", ms as f64 / 1000.0)),
        _ => Some(format!("{} m {:02} s", ms / 60_000, ms / 1000 % 60)),
    }
}

/// One changed file: how much, and a small unified diff.
pub(super) struct FileDiff {
    pub(super) added: usize,
    pub(super) removed: usize,
    pub(super) patch: String,
}

/// `None` when the contents were not kept.
pub(super) fn changed(edit: &FileEdit) -> Option<FileDiff> {
    let text = |snapshot: &Snapshot| match snapshot {
        Snapshot::Absent => Some(String::new()),
        Snapshot::Text(text) => Some(text.to_string()),
        Snapshot::NotKept => None,
    };
    let (before, after) = (text(&edit.before)?, text(&edit.after)?);
    let patch = unified(&before, &after);
    let count = |sign: char| patch.lines().filter(|line| line.starts_with(sign)).count();
    Some(FileDiff { added: count('+'), removed: count('-'), patch })
}

/// A small unified diff.
pub fn unified(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    diff.unified_diff().context_radius(2).missing_newline_hint(false).to_string()
}

/// A unified diff in colour.
pub fn diff(patch: &str, paint: Paint, lines_max: usize) -> Vec<String> {
    shortened(patch, lines_max)
        .into_iter()
        .map(|line| match line.strip_prefix("  ").and_then(|line| line.chars().next()) {
            Some('+') => paint.green(&line),
            Some('-') => paint.red(&line),
            Some('@') => paint.cyan(&line),
            _ => paint.dim(&line),
        })
        .collect()
}

/// `1.2k`, `345`.
pub fn count(number: u64) -> String {
    match number {
        0..=999 => number.to_string(),
        1_000..=999_999 => format!("{:.1}k", number as f64 / 1e3),
        _ => format!("{:.1}M", number as f64 / 1e6),
    }
}

/// A unified diff as it is, in colour.
pub(super) fn coloured(line: &str, paint: Paint) -> String {
    match line.chars().next() {
        Some('+') => paint.green(line),
        Some('-') => paint.red(line),
        Some('@') => paint.cyan(line),
        _ => line.to_owned(),
    }
}

pub(super) fn usage(usage: &Usage) -> String {
    let about = if usage.estimated { "about " } else { "" };
    let cached = if usage.cache_read > 0 { format!(" ({} cached)", count(usage.cache_read)) } else { String::new() };
    format!("{about}{} tokens in{cached}, {} out", count(usage.prompt()), count(usage.output))
}
