//! The page around the script: its style, its frame, and what it may do. Pure.

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
