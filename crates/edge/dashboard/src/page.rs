//! The page around the script: its style, its frame, and what it may do. Pure.

use std::collections::BTreeMap;

use crate::join::JoinFault;

/// All sheets, without what only people read.
pub(crate) fn style(sheets: &[String]) -> Result<String, JoinFault> {
    let mut out = String::new();
    for sheet in sheets {
        let mut rest = sheet.as_str();
        while let Some(at) = rest.find("/*") {
            squeeze(&rest[..at], &mut out);
            let end = rest[at..].find("*/").ok_or_else(|| JoinFault("a comment of a style has no end".to_owned()))?;
            rest = &rest[at + end + 2..];
        }
        squeeze(rest, &mut out);
    }
    let out = out.replace(";}", "}");
    if out.contains("</") || out.contains("@import") || out.replace("url(#", "").contains("url(") {
        return Err(JoinFault("a style brings nothing from elsewhere".to_owned()));
    }
    Ok(out)
}

/// Blanks that mean nothing. Those before a colon and around a plus do.
fn squeeze(text: &str, into: &mut String) {
    let mut is_blank = false;
    let mut quote = None;
    for it in text.chars() {
        if let Some(open) = quote {
            into.push(it);
            if it == open {
                quote = None;
            }
            continue;
        }
        if it.is_whitespace() {
            is_blank = true;
            continue;
        }
        let is_close = into.ends_with(['{', '}', ';', ',', ':', '>']) || matches!(it, '{' | '}' | ';' | ',' | '>');
        if std::mem::take(&mut is_blank) && !is_close && !into.is_empty() {
            into.push(' ');
        }
        if matches!(it, '"' | '\'') {
            quote = Some(it);
        }
        into.push(it);
    }
    if is_blank && !into.ends_with(['{', '}', ';', ',', ':', '>']) {
        into.push(' ');
    }
}

/// Our own properties (`--space-3`) by short names. Those that the script writes keep theirs.
pub(crate) fn short_properties(style: &str, script: &str) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in style.match_indices("--").map(|(at, _)| property(&style[at..])) {
        *counts.entry(name).or_default() += 1;
    }
    let is_kept = |name: &str| name.len() < "--xx".len() || script.contains(name);
    let (kept, mut ours): (Vec<_>, Vec<_>) = counts.into_iter().partition(|(name, _)| is_kept(name));
    ours.sort_by(|one, two| two.1.cmp(&one.1).then(one.0.cmp(two.0)));
    let free = (0..).map(short_property).filter(|name| !kept.iter().any(|(it, _)| it == name));
    let given: BTreeMap<&str, String> = ours.into_iter().map(|(name, _)| name).zip(free).collect();
    let (mut out, mut rest) = (String::new(), style);
    while let Some(at) = rest.find("--") {
        let name = property(&rest[at..]);
        out.push_str(&rest[..at]);
        out.push_str(given.get(name).map_or(name, String::as_str));
        rest = &rest[at + name.len()..];
    }
    out + rest
}

/// The name that a text begins with.
fn property(text: &str) -> &str {
    let end = text.find(|it: char| !(it.is_ascii_alphanumeric() || it == '-'));
    &text[..end.unwrap_or(text.len())]
}

fn short_property(number: usize) -> String {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
    let letter = char::from(LETTERS[number % LETTERS.len()]);
    match number / LETTERS.len() {
        0 => format!("--{letter}"),
        round => format!("--{letter}{round}"),
    }
}

const STYLE_PLACE: &str = "<!--style-->";
const SCRIPT_PLACE: &str = "<!--script-->";

pub(crate) fn page(frame: &str, style: &str, script: &str) -> Result<String, JoinFault> {
    let missing = |place: &str| JoinFault(format!("index.html has no {place}"));
    let (head, rest) = frame.split_once(STYLE_PLACE).ok_or_else(|| missing(STYLE_PLACE))?;
    let (middle, tail) = rest.split_once(SCRIPT_PLACE).ok_or_else(|| missing(SCRIPT_PLACE))?;
    let page = [head, style, middle, script, tail].concat();
    if page.contains('\r') {
        // Browsers read it as a line end, and the hashes would not fit.
        return Err(JoinFault("there is a carriage return".to_owned()));
    }
    Ok(page)
}

/// What the page may do: run this script, wear this style, speak with us.
pub(crate) fn policy(script_hash: &str, style_hash: &str) -> String {
    format!(
        "default-src 'none'; script-src 'sha256-{script_hash}'; style-src 'sha256-{style_hash}'; \
         img-src 'self' data: blob:; connect-src 'self'; manifest-src 'self'; worker-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}
