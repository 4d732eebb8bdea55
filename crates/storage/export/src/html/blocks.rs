//! The pieces every part of a page is built from: code, long output behind its size, images.

use vocab::Image;

use super::colour::{self, Lang};
use super::escape::{cut, escape};
use super::figures::{extent, size};

/// Output longer than either is folded away behind its size.
const OPEN_LINES_MAX: usize = 40;
const OPEN_BYTES_MAX: usize = 8 * 1024;
/// Characters of a fence's word that are shown.
const LANGUAGE_CHARS_MAX: usize = 24;
/// What a page shows as an image. SVG is not among them: it is a document that can act.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

pub(super) fn plain(out: &mut String, text: &str) {
    pre(out, text, None);
}

/// A code block of Markdown, under the name of its language.
pub(super) fn code(out: &mut String, text: &str, language: &str) {
    out.push_str("<div class=\"code\">");
    if !language.is_empty() {
        out.push_str("<span class=\"lang\">");
        escape(out, &cut(language, LANGUAGE_CHARS_MAX));
        out.push_str("</span>");
    }
    pre(out, text, colour::by_name(language));
    out.push_str("</div>\n");
}

pub(super) fn pre(out: &mut String, text: &str, lang: Option<&'static Lang>) {
    // A browser drops a line break right behind `<pre>`; behind `<code>` it is kept.
    out.push_str("<pre><code>");
    colour::write(out, text, lang);
    out.push_str("</code></pre>\n");
}

/// Whether text is short enough to be shown at once.
pub(super) fn is_short(text: &str) -> bool {
    text.len() <= OPEN_BYTES_MAX && text.lines().nth(OPEN_LINES_MAX).is_none()
}

/// Text that is shown when it is short and folded away, with its size, when it is long.
pub(super) fn foldable(out: &mut String, label: &str, text: &str, lang: Option<&'static Lang>) {
    if is_short(text) {
        pre(out, text, lang);
        return;
    }
    fold(out, &format!("{label}: {}", extent(text)), |out| pre(out, text, lang));
}

/// A closed part of the page under `label`.
pub(super) fn fold(out: &mut String, label: &str, inside: impl FnOnce(&mut String)) {
    out.push_str("<details class=\"fold\"><summary>");
    escape(out, label);
    out.push_str("</summary>\n");
    inside(out);
    out.push_str("</details>\n");
}

/// An image inside the page, or its name when it is none that a browser shows without acting on it.
pub(super) fn image(out: &mut String, image: &Image) {
    let bytes = size(image.base64.len() / 4 * 3);
    let known = IMAGES.into_iter().find(|mime| image.mime.eq_ignore_ascii_case(mime));
    match known.filter(|_| is_base64(&image.base64)) {
        Some(mime) => {
            out.push_str(&format!("<figure><img alt=\"picture, {bytes}\" src=\"data:{mime};base64,"));
            out.push_str(&image.base64);
            out.push_str(&format!("\"><figcaption>{mime}, {bytes}</figcaption></figure>\n"));
        }
        None => {
            out.push_str("<p class=\"dim\">[picture not shown: ");
            escape(out, &cut(&image.mime, TYPE_CHARS_MAX));
            out.push_str(&format!(", {bytes}]</p>\n"));
        }
    }
}

/// Characters shown of a media type that is not known.
const TYPE_CHARS_MAX: usize = 60;

/// Nothing but the alphabet: this text goes into an attribute as it is.
fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    !body.is_empty()
        && text.len() - body.len() <= 2
        && body.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(mime: &str, base64: &str) -> String {
        let mut out = String::new();
        image(&mut out, &Image { mime: mime.into(), base64: base64.into() });
        out
    }

    #[test]
    fn only_harmless_images_are_shown() {
        assert!(shown("image/png", "iVBORw0KGgo=").contains("src=\"data:image/png;base64,iVBORw0KGgo=\""));
        for (mime, base64) in [
            ("image/svg+xml", "PHN2Zz4="),
            ("text/html", "PHN2Zz4="),
            ("image/png\" onerror=x", "AAAA"),
            ("image/png", "AA\" onerror=\"x"),
            ("image/png", ""),
            ("image/png", "A==="),
        ] {
            let html = shown(mime, base64);
            assert!(!html.contains("<img") && !html.contains("\" on"), "{html}");
        }
    }

    #[test]
    fn long_output_is_folded_behind_its_size() {
        let mut out = String::new();
        foldable(&mut out, "output", &"line\n".repeat(OPEN_LINES_MAX + 1), None);
        assert!(out.starts_with("<details class=\"fold\"><summary>output: 41 lines, 205 bytes</summary>"), "{out}");
        out.clear();
        foldable(&mut out, "output", &"line\n".repeat(OPEN_LINES_MAX), None);
        assert!(out.starts_with("<pre>"), "{out}");
    }
}
