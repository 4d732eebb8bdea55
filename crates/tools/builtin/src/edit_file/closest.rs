//! Where in a file a text that was not found should probably have been, and what differs. Pure; also used for the
//! hunks of a patch.

use std::collections::HashMap;

use similar::TextDiff;

use crate::output::cut_chars;

/// Lines of the file shown around the best place.
const SHOWN_LINES_MAX: usize = 12;
/// Characters of a shown line.
const SHOWN_CHARS_MAX: usize = 200;
/// Lines compared letter by letter when no whole line agrees; the rest of a long file is not looked at.
const COMPARED_LINES_MAX: usize = 2_000;
/// Below this likeness (0 to 1) nothing is shown: a wrong lead is worse than none.
const LIKENESS_MIN: f32 = 0.5;

/// What to tell about `wanted`, which does not occur in `text`.
pub(crate) fn describe(text: &str, wanted: &str) -> String {
    let mut help = Vec::new();
    if text.is_empty() {
        return "The file is empty".to_owned();
    }
    if wanted.contains("\\n") && text.contains(&wanted.replace("\\n", "\n").replace("\\t", "\t")) {
        help.push("It holds \\n or \\t as two characters; write real line breaks and tabs.".to_owned());
    }
    let lines: Vec<&str> = text.lines().collect();
    let wanted_lines: Vec<&str> = wanted.lines().collect();
    match closest(&lines, &wanted_lines) {
        None => help.push("Nothing in the file is similar; read the file again and copy the text exactly.".to_owned()),
        Some(at) => {
            let end = (at + wanted_lines.len().clamp(1, SHOWN_LINES_MAX)).min(lines.len());
            let region = &lines[at..end];
            help.extend(difference(text, region, &wanted_lines));
            help.push(format!("The closest text is at line {}:", at + 1));
            help.push(show(region));
        }
    }
    help.join("\n")
}

/// Lines as a model should copy them, long ones cut.
pub(crate) fn show(lines: &[&str]) -> String {
    let line = |line: &&str| cut_chars(line, SHOWN_CHARS_MAX).map_or((*line).to_owned(), |head| format!("{head}..."));
    lines.iter().take(SHOWN_LINES_MAX).map(line).collect::<Vec<_>>().join("\n")
}

/// The index of the line where a window of the same height agrees most.
pub(crate) fn closest(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    by_whole_lines(lines, wanted).or_else(|| by_letters(lines, wanted))
}

/// Counts the lines that agree but for whitespace, for every window at once: a line of the file that equals wanted
/// line `k` is a vote for the window that starts `k` lines above it.
fn by_whole_lines(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let mut known: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, line) in wanted.iter().enumerate() {
        let bare = squeeze(line);
        // Brackets alone are everywhere and tell nothing.
        if bare.chars().filter(|c| c.is_alphanumeric()).count() > 1 {
            known.entry(bare).or_default().push(index);
        }
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (number, line) in lines.iter().enumerate() {
        for index in known.get(&squeeze(line)).into_iter().flatten() {
            *votes.entry(number.saturating_sub(*index)).or_default() += 1;
        }
    }
    votes.into_iter().max_by_key(|(start, count)| (*count, std::cmp::Reverse(*start))).map(|(start, _)| start)
}

fn by_letters(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let (offset, longest) = wanted.iter().enumerate().max_by_key(|(_, line)| line.trim().len())?;
    let longest = cut_chars(longest.trim(), SHOWN_CHARS_MAX).unwrap_or(longest.trim());
    if longest.is_empty() {
        return None;
    }
    let likeness = |line: &&str| {
        let line = cut_chars(line.trim(), SHOWN_CHARS_MAX).unwrap_or(line.trim());
        // Lengths far apart cannot be alike; the comparison itself is not free.
        let (short, long) = (line.len().min(longest.len()), line.len().max(longest.len()));
        if short * 3 < long { 0.0 } else { TextDiff::from_chars(line, longest).ratio() }
    };
    let scored = lines.iter().take(COMPARED_LINES_MAX).map(likeness).enumerate();
    let (at, score) = scored.max_by(|one, two| one.1.total_cmp(&two.1).then(two.0.cmp(&one.0)))?;
    (score >= LIKENESS_MIN).then(|| at.saturating_sub(offset))
}

/// The text without any whitespace.
fn squeeze(line: &str) -> String {
    line.chars().filter(|c| !c.is_whitespace()).collect()
}

fn difference(text: &str, region: &[&str], wanted: &[&str]) -> Option<String> {
    let bare = |lines: &[&str]| squeeze(&lines.concat());
    if bare(region) != bare(wanted) {
        return None;
    }
    let tabs = |lines: &[&str]| lines.iter().any(|line| line.starts_with('\t'));
    let starts_spaced = |lines: &[&str]| lines.iter().any(|line| line.starts_with(' '));
    let what = if region == wanted && text.contains("\r\n") {
        "line ends: the file mixes CR LF and LF"
    } else if tabs(region) && !tabs(wanted) && starts_spaced(wanted) {
        "whitespace: the file indents with tabs, old_string with spaces"
    } else if !tabs(region) && tabs(wanted) {
        "whitespace: the file indents with spaces, old_string with tabs"
    } else if region.iter().map(|line| line.trim_end()).eq(wanted.iter().map(|line| line.trim_end())) {
        "whitespace at the end of lines"
    } else if region.iter().map(|line| line.trim()).eq(wanted.iter().map(|line| line.trim())) {
        "indentation"
    } else {
        "whitespace"
    };
    Some(format!("It differs from the file only in {what}."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    const FILE: &str = "fn main() {\n\tlet first = 1;\n\tlet second = 2;\n}\n\nfn other() {}\n";

    #[test]
    fn spaces_for_tabs_are_named() {
        expect![[r#"
            It differs from the file only in whitespace: the file indents with tabs, old_string with spaces.
            The closest text is at line 2:
            	let first = 1;
            	let second = 2;"#]]
        .assert_eq(&describe(FILE, "    let first = 1;\n    let second = 2;"));
    }

    #[test]
    fn a_changed_word_finds_its_line() {
        expect![[r#"
            The closest text is at line 3:
            	let second = 2;"#]]
        .assert_eq(&describe(FILE, "let sekond = 2;"));
    }

    #[test]
    fn nothing_similar_is_said_plainly() {
        expect!["Nothing in the file is similar; read the file again and copy the text exactly."]
            .assert_eq(&describe(FILE, "SELECT * FROM somewhere WHERE nothing"));
    }

    #[test]
    fn escaped_line_breaks_are_noticed() {
        assert!(describe("a b\nc d\n", "a b\\nc d").starts_with("It holds \\n"));
    }

    #[test]
    fn mixed_line_ends_are_named() {
        assert!(describe("alpha\r\nbeta\ngamma\n", "alpha\nbeta").contains("CR LF"));
    }
}
