//! The two forms that are not made of words: patches, coloured by line, and markup, coloured by tag.

use super::super::escape::escape;
use super::{Class, span};

/// A patch: what comes, what goes, where.
pub(super) fn diff(out: &mut String, text: &str) {
    for line in text.split_inclusive('\n') {
        let class = match line.as_bytes().first() {
            _ if line.starts_with("+++") || line.starts_with("---") => "dh",
            Some(b'+') => "da",
            Some(b'-') => "dr",
            _ if line.starts_with("@@") || line.starts_with("***") => "dm",
            _ if line.starts_with("diff ") || line.starts_with("index ") => "dh",
            _ => {
                escape(out, line);
                continue;
            }
        };
        out.push_str("<span class=\"");
        out.push_str(class);
        out.push_str("\">");
        escape(out, line);
        out.push_str("</span>");
    }
}

/// HTML and its kin: tags, the strings in them, comments.
pub(super) fn markup(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        escape(out, &rest[..at]);
        rest = &rest[at..];
        let end = if rest.starts_with("<!--") {
            let end = rest.find("-->").map_or(rest.len(), |end| end + 3);
            span(out, Class::Comment, &rest[..end]);
            end
        } else {
            let end = rest.find('>').map_or(rest.len(), |end| end + 1);
            tag(out, &rest[..end]);
            end
        };
        rest = &rest[end..];
    }
    escape(out, rest);
}

fn tag(out: &mut String, text: &str) {
    let name = text.find(|c: char| c.is_whitespace() || c == '>').unwrap_or(text.len());
    span(out, Class::Keyword, &text[..name]);
    let mut rest = &text[name..];
    while let Some(at) = rest.find(['"', '\'']) {
        escape(out, &rest[..at]);
        let quote = &rest[at..at + 1];
        let end = rest[at + 1..].find(quote).map_or(rest.len(), |end| at + 1 + end + 1);
        span(out, Class::Str, &rest[at..end]);
        rest = &rest[end..];
    }
    match rest.strip_suffix('>') {
        Some(inner) => {
            escape(out, inner);
            span(out, Class::Keyword, ">");
        }
        None => escape(out, rest),
    }
}
