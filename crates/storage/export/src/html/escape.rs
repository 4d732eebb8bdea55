//! Text on its way into a page. Whatever stands in a log was written by models, tools and strangers: it goes through
//! [`escape`] and nothing else, in element content and in quoted attributes alike.

use std::borrow::Cow;

use vocab::visible::{is_ignorable, is_of_writing, push_picture};

/// Appends `text` so that a browser shows it and never reads it. Control characters become visible, so that nothing
/// hides in a page; so do those that show nothing or turn the direction of reading, which have made code look like other
/// code.
pub(super) fn escape(out: &mut String, text: &str) {
    let bytes = text.as_bytes();
    out.reserve(bytes.len());
    let (mut at, mut done) = (0, 0);
    while at < bytes.len() {
        let width = match bytes[at] {
            b'&' | b'<' | b'>' | b'"' | b'\'' | 0x7f => 1,
            byte if byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r') => 1,
            // U+0080..U+009F, the control characters nobody sees.
            0xc2 if bytes[at + 1] < 0xa0 => 2,
            // No character that shows nothing is shorter than two bytes.
            0xc2.. if let Some(c) = ignorable_at(text, at) => c.len_utf8(),
            _ => {
                at += 1;
                continue;
            }
        };
        out.push_str(&text[done..at]);
        push_odd(out, &text[at..at + width]);
        at += width;
        done = at;
    }
    out.push_str(&text[done..]);
}

/// The character at `at` where it shows nothing and is not what writing needs.
fn ignorable_at(text: &str, at: usize) -> Option<char> {
    let mut chars = text[at..].chars();
    let c = chars.next().filter(|c| is_ignorable(*c))?;
    (!is_of_writing(text[..at].chars().next_back(), c, chars.next())).then_some(c)
}

fn push_odd(out: &mut String, odd: &str) {
    match odd {
        "&" => out.push_str("&amp;"),
        "<" => out.push_str("&lt;"),
        ">" => out.push_str("&gt;"),
        "\"" => out.push_str("&quot;"),
        "'" => out.push_str("&#39;"),
        other => {
            let mut picture = String::new();
            other.chars().for_each(|c| push_picture(&mut picture, c));
            out.push_str(&picture.replace('<', "&lt;").replace('>', "&gt;"));
        }
    }
}

/// The first line that is not blank, at most `max` characters of it.
pub(super) fn first_line(text: &str, max: usize) -> Cow<'_, str> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    cut(line, max)
}

/// At most `max` characters, with a mark when some are missing.
pub(super) fn cut(text: &str, max: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max) {
        Some((at, _)) => format!("{}\u{2026}", &text[..at]).into(),
        None => text.into(),
    }
}

/// Output of programs that paint terminals: colours and window titles are taken out, text stays.
pub(super) fn without_paint(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = match rest.as_bytes().get(1) {
            Some(b'[') => after_csi(rest),
            Some(b']') => after_title(rest),
            _ => None,
        };
        let end = end.unwrap_or_else(|| {
            out.push('\u{1b}');
            1
        });
        rest = &rest[end..];
    }
    out.push_str(rest);
    out.into()
}

/// Where `ESC [ parameters letter` ends.
fn after_csi(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let letter = 2 + bytes[2..].iter().position(|byte| !(0x20..0x40).contains(byte))?;
    (0x40..0x7f).contains(&bytes[letter]).then_some(letter + 1)
}

/// Where `ESC ] text BEL` (or `ESC \`) ends. Looks no further than the next ESC, so that many beginnings without an end
/// cost no more than their length.
fn after_title(text: &str) -> Option<usize> {
    let at = 2 + text[2..].find(['\u{7}', '\u{1b}'])?;
    match text.as_bytes()[at] {
        0x07 => Some(at + 1),
        _ => text[at..].starts_with("\u{1b}\\").then_some(at + 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(text: &str) -> String {
        let mut out = String::new();
        escape(&mut out, text);
        out
    }

    #[test]
    fn nothing_that_means_something_to_a_browser_survives() {
        assert_eq!(escaped("<a href='x' b=\"y\">&amp;"), "&lt;a href=&#39;x&#39; b=&quot;y&quot;&gt;&amp;amp;");
        assert_eq!(escaped("plain \u{e9} \u{1f600} \u{2028} text\t\n"), "plain \u{e9} \u{1f600} \u{2028} text\t\n");
    }

    #[test]
    fn what_cannot_be_seen_is_made_visible() {
        assert_eq!(escaped("\0\u{1b}[\u{7f}\u{9b}\u{a0}"), "\u{2400}\u{241b}[\u{2421}&lt;U+009B&gt;\u{a0}");
        let seen = "a&lt;U+202E&gt;b&lt;U+2066&gt;c\u{2026}&lt;U+200F&gt;";
        assert_eq!(escaped("a\u{202e}b\u{2066}c\u{2026}\u{200f}"), seen);
        assert_eq!(escaped("x\u{e0041}👩\u{200d}👩"), "x&lt;U+E0041&gt;👩\u{200d}👩");
    }

    #[test]
    fn terminal_paint_goes_and_text_stays() {
        assert_eq!(without_paint("\u{1b}[1;31merror\u{1b}[0m: x"), "error: x");
        assert_eq!(without_paint("\u{1b}]0;title\u{7}a\u{1b}]8;;u\u{1b}\\b"), "ab");
        assert_eq!(without_paint("a\u{1b}[31"), "a\u{1b}[31");
        assert_eq!(without_paint("a\u{1b}]never ends"), "a\u{1b}]never ends");
        assert_eq!(without_paint("\u{1b}[\u{e9}"), "\u{1b}[\u{e9}");
    }

    #[test]
    fn a_cut_counts_characters() {
        assert_eq!(first_line("\n  \u{e9}\u{e9}\u{e9}  \nx", 2), "\u{e9}\u{e9}\u{2026}");
        assert_eq!(first_line("", 2), "");
    }
}
