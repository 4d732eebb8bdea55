//! Text of strangers as a person has to see it. What a person allows must not hold anything that does not show: no
//! control character, no character without a glyph, no run of blanks that pushes the rest out of sight.

use std::fmt::Write as _;
use std::path::Path;

/// Columns of blanks in a row that are shown as they are; more are counted.
const BLANKS_MAX: usize = 40;
/// Blanks at the end of a line that are shown one by one; more are counted.
const BLANKS_AT_END_MAX: usize = 8;
/// Empty lines in a row that are shown as they are; more are counted.
const EMPTY_LINES_MAX: usize = 8;
/// Columns that a tab counts for.
const TAB_COLUMNS: usize = 4;
/// The longest headline, in characters.
const HEADLINE_CHARS_MAX: usize = 120;
/// Characters of a text that stand for it in a headline.
const HEADLINE_START_CHARS: usize = 80;
/// Where Unicode keeps its pictures of control characters.
const CONTROL_PICTURES: u32 = 0x2400;

/// Characters that a screen shows as nothing (Unicode's default ignorable ones, marks of annotation and layout,
/// fillers): between
/// letters they make two texts look like one, and a whole message can be written in them.
pub fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffc}' | '\u{13430}'..='\u{13442}' | '\u{16fe4}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether an ignorable character only does what writing needs: it joins or parts letters of a script that joins them,
/// it joins emoji, or it chooses how the character before it looks. Good enough for prose; a command or a path shows it.
pub fn is_of_writing(before: Option<char>, c: char, after: Option<char>) -> bool {
    let joins = |c: char| !c.is_ascii() && (c == '\u{fe0f}' || !is_ignorable(c));
    match c {
        '\u{200c}' | '\u{200d}' => match before {
            Some(before) => joins(before) && !after.is_some_and(|c| c.is_ascii_alphanumeric() || is_ignorable(c)),
            // The start of a piece: what stood before it is not known.
            None => after.is_some_and(joins),
        },
        '\u{fe00}'..='\u{fe0f}' | '\u{180b}'..='\u{180d}' | '\u{180f}' => {
            before.is_none_or(|c| !is_ignorable(c) && !c.is_ascii_alphabetic() && !c.is_whitespace())
        }
        _ => false,
    }
}

/// Blanks that are no space and no tab: a shell takes them for letters, an eye takes them for spaces.
fn is_odd_blank(c: char) -> bool {
    matches!(
        c,
        '\u{a0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200a}' | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{2800}' | '\u{3000}'
    )
}

/// Whether Unicode gives a character no shape of its own: controls, formats, separators, private use, what is not assigned.
/// The standard library's table decides, which goes by these categories and knows the newest version.
fn has_no_glyph(c: char) -> bool {
    if c.is_ascii() {
        return false;
    }
    // Behind a letter, so that a mark that belongs to one is not counted.
    let mut pair = [b'x'; 5];
    let end = 1 + c.encode_utf8(&mut pair[1..]).len();
    std::str::from_utf8(&pair[..end]).is_ok_and(|pair| pair.escape_debug().nth(1) == Some('\\'))
}

/// Something to see for a character that shows nothing, or moves the cursor: `␛`, `<U+200B>`.
pub fn push_picture(out: &mut String, c: char) {
    match u32::from(c) {
        code @ 0..=0x1f => out.extend(char::from_u32(CONTROL_PICTURES + code)),
        0x7f => out.push('\u{2421}'),
        code => _ = write!(out, "<U+{code:04X}>"),
    }
}

/// A name that somebody gave to something: what would move a cursor, turn the writing around or hide is shown; what
/// writing needs stays as it is.
pub fn name(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let hides = is_ignorable(c) && !is_of_writing(before, c, chars.peek().copied());
        match hides || (c.is_control() && !matches!(c, '\n' | '\t')) {
            true => push_picture(&mut out, c),
            false => out.push(c),
        }
        before = Some(c);
    }
    out
}

/// A text whose every character shows. Lines stay lines and tabs stay tabs; blanks at the end of a line, long runs of
/// blanks and many empty lines are marked.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut empty = 0;
    for (at, line) in text.split('\n').enumerate() {
        if line.is_empty() && at > 0 {
            empty += 1;
            continue;
        }
        if at > 0 {
            push_empty_lines(&mut out, std::mem::take(&mut empty));
            out.push('\n');
        }
        push_visible(&mut out, line);
    }
    push_empty_lines(&mut out, empty);
    out
}

fn push_empty_lines(out: &mut String, count: usize) {
    match count {
        0..=EMPTY_LINES_MAX => out.extend(std::iter::repeat_n('\n', count)),
        more => _ = write!(out, "\n<{more} empty lines>"),
    }
}

/// As [`visible`], on one line: line breaks and tabs show, too.
pub fn visible_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            out.push('\u{240a}');
        }
        push_visible(&mut out, line);
    }
    out.replace('\t', "\u{2409}")
}

/// A path on one line of a text that others read, too, with nothing in it that could pose as the next line.
pub fn visible_path(path: &Path) -> String {
    visible_line(&path.to_string_lossy())
}

/// A word of a command that is offered to be typed: whatever it holds, a shell takes it for one word and runs nothing in it.
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./@%+=:,-".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

fn push_visible(out: &mut String, line: &str) {
    let is_blank = |c: char| matches!(c, ' ' | '\t');
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        if is_blank(c) {
            let words = rest.trim_start_matches(is_blank);
            push_blanks(out, &rest[..rest.len() - words.len()], words.is_empty());
            rest = words;
            continue;
        }
        match c.is_control() || is_ignorable(c) || is_odd_blank(c) || has_no_glyph(c) {
            true => push_picture(out, c),
            false => out.push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
}

fn push_blanks(out: &mut String, run: &str, at_end: bool) {
    let columns: usize = run.chars().map(|c| if c == '\t' { TAB_COLUMNS } else { 1 }).sum();
    match at_end {
        true if run.len() <= BLANKS_AT_END_MAX => {
            out.extend(run.chars().map(|c| if c == '\t' { '\u{2409}' } else { '·' }));
        }
        false if columns <= BLANKS_MAX => out.push_str(run),
        _ => _ = write!(out, "<{} blanks>", run.len()),
    }
}

/// One line that stands for a text and never pretends to be all of it: `set -e… (+301 lines)`.
pub fn headline(text: &str) -> String {
    let text = text.trim();
    let line = visible_line(text);
    if line.chars().count() <= HEADLINE_CHARS_MAX {
        return line;
    }
    let first = visible_line(text.lines().next().unwrap_or_default());
    let start: String = first.chars().take(HEADLINE_START_CHARS).collect();
    let lines = text.lines().count().saturating_sub(1);
    let hidden = first.chars().count() - start.chars().count();
    let more = match (hidden, lines) {
        (0, 1) => "+1 line".to_owned(),
        (0, lines) => format!("+{lines} lines"),
        (hidden, 0) => format!("+{hidden} characters"),
        (hidden, lines) => format!("+{hidden} characters, +{lines} lines"),
    };
    format!("{start}… ({more})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_writing_and_shows_the_rest() {
        for (text, shown) in [
            ("Überblick 👩‍💻 ❤️", "Überblick 👩‍💻 ❤️"),
            ("a\x1b[2Jb\u{9b}c\x07", "a␛[2Jb<U+009B>c␇"),
            ("exe\u{202e}gnp", "exe<U+202E>gnp"),
            ("a\u{fffc}b\u{13430}c\u{13441}d\u{16fe4}", "a<U+FFFC>b<U+13430>c<U+13441>d<U+16FE4>"),
        ] {
            assert_eq!(name(text), shown);
        }
    }

    #[test]
    fn nothing_in_a_command_can_hide() {
        for (text, seen) in [
            ("ls -la\nrm x", "ls -la\nrm x"),
            ("a\u{1b}[2Kb\u{7f}\u{9b}c\0", "a\u{241b}[2Kb\u{2421}<U+009B>c\u{2400}"),
            ("rm -rf /\rls", "rm -rf /\u{240d}ls"),
            ("a\r\nb", "a\u{240d}\nb"),
            ("l\u{200b}s \u{202e}x\u{e0041}\u{fe0f}\u{feff}", "l<U+200B>s <U+202E>x<U+E0041><U+FE0F><U+FEFF>"),
            ("a\u{200d}\u{3164}\u{ad}\u{200e}", "a<U+200D><U+3164><U+00AD><U+200E>"),
            ("rm\u{a0}-rf\u{3000}/\u{2028}", "rm<U+00A0>-rf<U+3000>/<U+2028>"),
            ("a  \t", "a··\u{2409}"),
            ("\tindented", "\tindented"),
            ("naïve 日本語 👍", "naïve 日本語 👍"),
        ] {
            assert_eq!(visible(text), seen, "{text:?}");
        }
        let pushed = format!("cargo test{}; rm -rf x", " ".repeat(200));
        assert_eq!(visible(&pushed), "cargo test<200 blanks>; rm -rf x");
        assert_eq!(visible(&format!("a{}b\n", "\n".repeat(300))), "a\n<299 empty lines>\nb\n");
        assert_eq!(visible("a\n\n\nb"), "a\n\n\nb");
        assert_eq!(visible(&format!("a{}", " ".repeat(9))), "a<9 blanks>");
    }

    #[test]
    fn a_character_without_a_shape_is_written_out_whatever_its_block() {
        for hidden in [
            0x378, 0x600, 0x605, 0x6dd, 0x70f, 0x890, 0x8e2, 0xe000, 0xf8ff, 0xfdd0, 0xffff, 0x110bd, 0x110cd, 0x1ffff,
            0x2fe0f, 0xf0000, 0xffffd, 0x100000, 0x10fffd, 0x10ffff,
        ] {
            let c = char::from_u32(hidden).unwrap();
            assert_eq!(visible(&format!("a{c}b")), format!("a<U+{hidden:04X}>b"));
        }
        for shown in ["e\u{301}", "नमस्ते", "שָׁלוֹם", "한국어", "“x” \\ ' \"", "∑ → €", "🦀"]
        {
            assert_eq!(visible(shown), shown);
        }
    }

    #[test]
    fn a_line_shows_its_breaks() {
        assert_eq!(visible_line("a\nb\tc \n"), "a\u{240a}b\u{2409}c·\u{240a}");
    }

    #[test]
    fn a_word_of_an_offered_command_runs_nothing() {
        for (text, word) in [
            ("/srv/me/a-b_c.d", "/srv/me/a-b_c.d"),
            ("", "''"),
            ("a b", "'a b'"),
            ("a; touch x $(id) 'y", r"'a; touch x $(id) '\''y'"),
            ("~/ä", "'~/ä'"),
        ] {
            assert_eq!(shell_word(text), word);
        }
        assert_eq!(visible_path(Path::new("/a\n\nDo: \u{202e}x")), "/a␊␊Do: <U+202E>x");
    }

    #[test]
    fn a_headline_says_what_it_leaves_out() {
        assert_eq!(headline("  ls -la\n"), "ls -la");
        assert_eq!(headline("set -e\nmake"), "set -e\u{240a}make");
        assert_eq!(headline(&"a\n".repeat(302)), "a… (+301 lines)");
        assert_eq!(headline(&format!("a\n{}", "b".repeat(200))), "a… (+1 line)");
        let long = headline(&"ü".repeat(4136));
        assert!(long.ends_with("ü… (+4056 characters)"), "{long}");
        assert_eq!(headline(&long), long, "a headline is its own headline");
        assert_eq!(headline("a\u{1b}b"), "a\u{241b}b");
        let both = headline(&format!("{}\nb\nc", "x".repeat(150)));
        assert!(both.ends_with("x… (+70 characters, +2 lines)"), "{both}");
    }

    #[test]
    fn writing_keeps_its_joiners_and_nothing_else_does() {
        let kept = |text: &str| -> Vec<bool> {
            let all: Vec<char> = text.chars().collect();
            let between = |at: usize| (at.checked_sub(1).map(|at| all[at]), all[at], all.get(at + 1).copied());
            let odd = (0..all.len()).filter(|at| is_ignorable(all[*at]));
            odd.map(between).map(|(before, c, after)| is_of_writing(before, c, after)).collect()
        };
        assert_eq!(kept("👩\u{200d}👩\u{200d}👧 ❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3}"), [true; 5]);
        assert_eq!(kept("می\u{200c}خواهم क\u{94d}\u{200d} "), [true; 2]);
        assert_eq!(kept("a\u{200d}b a\u{fe0f} \u{fe0f}"), [false; 3]);
        assert_eq!(kept("é\u{200d}\u{200d}"), [false, false]);
        assert_eq!(kept("é\u{fe0f}\u{fe0f}\u{200b}\u{200e}\u{e0041}"), [true, false, false, false, false]);
    }
}
