//! Reduces HTML to text: headings, paragraphs, lists, links, code. One pass, no tree, no recursion; broken markup
//! gives odd text, never an error.

use net::Url;

/// Elements whose content nobody reads.
const SKIPPED: [&str; 7] = ["script", "style", "noscript", "template", "svg", "iframe", "canvas"];
/// Elements that stand on lines of their own, with an empty line before.
const PARAGRAPHS: [&str; 12] =
    ["p", "ul", "ol", "table", "blockquote", "pre", "article", "section", "header", "footer", "main", "title"];
/// Elements that begin a new line.
const LINES: [&str; 12] =
    ["div", "tr", "dt", "dd", "nav", "form", "figure", "figcaption", "aside", "details", "summary", "option"];
/// Longest entity name we look for.
const ENTITY_BYTES_MAX: usize = 10;

/// The readable text of a page.
pub(super) fn reduce(source: &str, base: &Url) -> String {
    let mut reducer = Reducer::new(base);
    let mut rest = source;
    while let Some(at) = rest.find('<') {
        reducer.text(&rest[..at]);
        rest = reducer.markup(&rest[at..]);
    }
    reducer.text(rest);
    reducer.out.trim().to_owned()
}

struct Reducer<'a> {
    base: &'a Url,
    out: String,
    /// Whitespace waits until text follows: 1 = space, 2 = line, 3 = empty line.
    gap: u8,
    /// Target of the open link and where its text begins.
    link: Option<(String, usize)>,
    preformatted: bool,
    list_depth: usize,
}

impl<'a> Reducer<'a> {
    fn new(base: &'a Url) -> Self {
        Self { base, out: String::new(), gap: 0, link: None, preformatted: false, list_depth: 0 }
    }

    /// Handles what begins with `<`; returns what comes after.
    fn markup<'s>(&mut self, rest: &'s str) -> &'s str {
        if let Some(comment) = rest.strip_prefix("<!--") {
            return comment.find("-->").map_or("", |end| &comment[end + 3..]);
        }
        let follows = rest[1..].chars().next();
        if !follows.is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')) {
            self.text("<");
            return &rest[1..];
        }
        let end = tag_end(rest);
        let tag = &rest[1..end];
        let after = rest.get(end + 1..).unwrap_or_default();
        let (name, closing) = tag_name(tag);
        if !closing && SKIPPED.contains(&name.as_str()) && !tag.ends_with('/') {
            return after_closing(after, &name);
        }
        match closing {
            true => self.close(&name),
            false => self.open(&name, tag),
        }
        after
    }

    fn open(&mut self, name: &str, tag: &str) {
        match name {
            "br" => self.want(2),
            "hr" => {
                self.want(3);
                self.push("---");
                self.want(3);
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.want(3);
                let level = usize::from(name.as_bytes()[1] - b'0');
                self.push(&"#".repeat(level));
                self.want(1);
            }
            "li" => {
                self.want(2);
                let indent = "  ".repeat(self.list_depth.saturating_sub(1));
                self.push(&format!("{indent}-"));
                self.want(1);
            }
            "td" | "th" => {
                if !self.out.ends_with('\n') && self.gap < 2 {
                    self.push(" |");
                }
                self.want(1);
            }
            "a" => {
                let target = attribute(tag, "href").map(|href| decode(&href)).unwrap_or_default();
                let useful = !target.is_empty() && !target.starts_with('#') && !target.starts_with("javascript:");
                // The gap belongs before the link, not into its text.
                self.flush_gap();
                self.link = useful.then(|| (self.base.join(&target), self.out.len()));
            }
            "img" => {
                if let Some(alt) = attribute(tag, "alt").filter(|alt| !alt.trim().is_empty()) {
                    self.text(&format!("[image: {}]", alt.trim()));
                }
            }
            _ => self.block(name, true),
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "a" => {
                if let Some((target, start)) = self.link.take()
                    && self.out.get(start..).is_some_and(|text| !text.trim().is_empty() && text.trim() != target)
                {
                    self.out.push_str(&format!(" ({target})"));
                }
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.want(3),
            "li" => self.want(2),
            _ => self.block(name, false),
        }
    }

    fn block(&mut self, name: &str, opens: bool) {
        match name {
            "ul" | "ol" => {
                let nested = self.list_depth > usize::from(!opens);
                self.list_depth = if opens { self.list_depth + 1 } else { self.list_depth.saturating_sub(1) };
                self.want(if nested { 2 } else { 3 });
            }
            "pre" => {
                self.want(3);
                self.preformatted = opens;
            }
            _ if PARAGRAPHS.contains(&name) => self.want(3),
            _ if LINES.contains(&name) => self.want(2),
            _ => {}
        }
    }

    fn want(&mut self, gap: u8) {
        self.gap = self.gap.max(gap);
    }

    fn flush_gap(&mut self) {
        if !self.out.is_empty() {
            self.out.push_str(match std::mem::take(&mut self.gap) {
                0 => "",
                1 => " ",
                2 => "\n",
                _ => "\n\n",
            });
        }
        self.gap = 0;
    }

    fn push(&mut self, text: &str) {
        self.flush_gap();
        self.out.push_str(text);
    }

    fn text(&mut self, raw: &str) {
        if raw.is_empty() {
            return;
        }
        let text = decode(raw);
        if self.preformatted {
            return self.push(&text);
        }
        let edge = |c: Option<char>| c.is_some_and(char::is_whitespace);
        if edge(text.chars().next()) {
            self.want(1);
        }
        let mut words = text.split_whitespace().peekable();
        while let Some(word) = words.next() {
            self.push(word);
            if words.peek().is_some() {
                self.want(1);
            }
        }
        if edge(text.chars().last()) {
            self.want(1);
        }
    }
}

/// The position of the `>` that ends the tag, quotes respected; the end of the text for a tag that never ends.
fn tag_end(rest: &str) -> usize {
    let mut quote = None;
    for (at, byte) in rest.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at,
            (None, b'"' | b'\'') if rest[..at].trim_end().ends_with('=') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    // An unclosed quote must not swallow the page.
    rest.find('>').unwrap_or(rest.len())
}

fn tag_name(tag: &str) -> (String, bool) {
    let (tag, closing) = tag.strip_prefix('/').map_or((tag, false), |tag| (tag, true));
    let end = tag.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(tag.len());
    (tag[..end].to_ascii_lowercase(), closing)
}

/// What comes after `</name>`; nothing, when it is never closed.
fn after_closing<'s>(rest: &'s str, name: &str) -> &'s str {
    let mut from = 0;
    while let Some(at) = rest[from..].find("</") {
        let inner = &rest[from + at + 2..];
        if inner.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)) {
            return inner.find('>').map_or("", |end| &inner[end + 1..]);
        }
        from += at + 2;
    }
    ""
}

/// The raw value of an attribute.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let mut rest = &tag[tag.find(|c: char| c.is_whitespace() || c == '/')?..];
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
        let key_end = rest.find(|c: char| c.is_whitespace() || matches!(c, '=' | '/')).unwrap_or(rest.len());
        let key = &rest[..key_end];
        rest = rest[key_end..].trim_start();
        let mut value = "";
        if let Some(after) = rest.strip_prefix('=') {
            let after = after.trim_start();
            let (start, end) = match after.chars().next() {
                Some(quote @ ('"' | '\'')) => (1, after[1..].find(quote).map_or(after.len(), |end| end + 1)),
                _ => (0, after.find(char::is_whitespace).unwrap_or(after.len())),
            };
            value = &after[start..end];
            rest = after.get(end + start..).unwrap_or_default();
        } else if key.is_empty() {
            return None;
        }
        if key.eq_ignore_ascii_case(name) {
            return Some(value.to_owned());
        }
    }
}

/// Replaces entities; unknown ones stay as they are.
fn decode(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(ENTITY_BYTES_MAX + 2).position(|byte| byte == b';');
        match end.and_then(|end| Some((entity(&rest[1..end])?, end))) {
            Some((character, end)) => {
                out.push(character);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn entity(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|c| !c.is_control() || matches!(c, '\n' | '\t'));
    }
    const NAMED: [(&str, char); 38] = [
        ("amp", '&'),
        ("lt", '<'),
        ("gt", '>'),
        ("quot", '"'),
        ("apos", '\''),
        ("nbsp", ' '),
        ("ndash", '–'),
        ("mdash", '—'),
        ("hellip", '…'),
        ("lsquo", '‘'),
        ("rsquo", '’'),
        ("ldquo", '“'),
        ("rdquo", '”'),
        ("laquo", '«'),
        ("raquo", '»'),
        ("bull", '•'),
        ("middot", '·'),
        ("copy", '©'),
        ("reg", '®'),
        ("trade", '™'),
        ("deg", '°'),
        ("plusmn", '±'),
        ("times", '×'),
        ("divide", '÷'),
        ("euro", '€'),
        ("pound", '£'),
        ("sect", '§'),
        ("para", '¶'),
        ("larr", '←'),
        ("rarr", '→'),
        ("uarr", '↑'),
        ("darr", '↓'),
        ("auml", 'ä'),
        ("ouml", 'ö'),
        ("uuml", 'ü'),
        ("szlig", 'ß'),
        ("eacute", 'é'),
        ("egrave", 'è'),
    ];
    NAMED.iter().find(|(known, _)| *known == name).map(|(_, character)| *character)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, want: &str) {
        assert_eq!(reduce(source, &Url::parse("http://h/dir/page").unwrap()), want, "{source}");
    }

    #[test]
    fn a_page_becomes_text() {
        check(
            "<!doctype html><html><head><title>T &amp; U</title><style>a{}</style></head><body>\
             <script>if (a < b) { '</div>' }</script><h1>Head</h1><p>One\n  two <b>three</b>.</p>\
             <ul><li>a</li><li>b <a href='../x?y=1&amp;z=2'>link</a><ul><li>c</ul></ul><hr><p>end",
            "T & U\n\n# Head\n\nOne two three.\n\n- a\n- b link (http://h/x?y=1&z=2)\n  - c\n\n---\n\nend",
        );
    }

    #[test]
    fn links_say_where_they_lead() {
        check("<a href=\"//o/p\">t</a>", "t (http://o/p)");
        check("see <a href=x>this</a>, ok", "see this (http://h/dir/x), ok");
        check("<a href='#top'>t</a> <a href='javascript:x()'>u</a> <a>v</a>", "t u v");
        check("<a href='http://a/b'>http://a/b</a>", "http://a/b");
        check("<a href='x'><img src=y alt='pic'></a>", "[image: pic] (http://h/dir/x)");
    }

    #[test]
    fn code_keeps_its_spaces_and_tables_their_cells() {
        check("<pre>  a\n    b &lt;c&gt;</pre>x", "a\n    b <c>\n\nx");
        check("y<pre>  a\n    b</pre>", "y\n\n  a\n    b");
        check("<table><tr><th>a<th>b<tr><td>1</td><td>2</td></table>", "a | b\n1 | 2");
    }

    #[test]
    fn entities_and_broken_markup_survive() {
        check("&lt;&#65;&#x42;&nbsp;&bogus; & &; &#0; &#xD800;", "<AB &bogus; & &; &#0; &#xD800;");
        check("a < b <- c", "a < b <- c");
        check("x<!-- y > z --><!doctype z>w", "xw");
        check("a <b title='>'>c</b>", "a c");
        check("a <b title='unclosed>c", "a c");
        check("<script>never closed <p>x", "");
        check("a<script/>b", "ab");
        check("<", "<");
        check("a</", "a");
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_text_never_panics(source in "\\PC{0,200}") {
            reduce(&source, &Url::parse("http://h/").unwrap());
        }

        #[test]
        fn arbitrary_markup_never_panics(source in "[<>/a-z='\"&#; x!-]{0,120}") {
            reduce(&source, &Url::parse("http://h/").unwrap());
        }
    }
}
