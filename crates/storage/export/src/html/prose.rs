//! Markdown as a page shows it. Only what is listed here becomes an element; raw HTML stays the text it is, images are
//! named and never fetched, and a link leads to the web or to a mailbox or it is no link.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag};

use super::blocks;
use super::escape::{cut, escape};

/// Longer text is shown as it is written: a log is not formatted.
const PROSE_BYTES_MAX: usize = 1 << 20;
/// Elements inside elements; what is deeper is shown without its own.
const DEPTH_MAX: usize = 40;
/// A page may be this many times longer than the text it shows; text that grows more (a table of empty cells, made to
/// fill a disk) is shown as it is written.
const GROWTH_MAX: usize = 32;
const GROWTH_FREE_BYTES: usize = 64 * 1024;
/// Characters shown of where a refused link wanted to go.
const TARGET_CHARS_MAX: usize = 120;

/// Whether line ends mean something.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Breaks {
    /// A model's lines flow.
    Flow,
    /// Who types a prompt breaks lines on purpose.
    Keep,
}

pub(super) fn write(out: &mut String, text: &str, breaks: Breaks) {
    let start = out.len();
    if text.len() <= PROSE_BYTES_MAX {
        let end_max = start + GROWTH_FREE_BYTES + text.len() * GROWTH_MAX;
        if (Prose { out, breaks, closing: Vec::new(), links: 0, code: None, aligned: Vec::new(), cell: 0 })
            .run(text, end_max)
        {
            return;
        }
        out.truncate(start);
    }
    blocks::plain(out, text);
}

/// What an element needs when it ends.
enum Closing {
    Tag(&'static str),
    Anchor,
    /// Where a refused link or an image is, unless its text says so already; the number is where that text began.
    Target(String, usize),
    Code,
    Nothing,
}

struct Prose<'o> {
    out: &'o mut String,
    breaks: Breaks,
    closing: Vec<Closing>,
    /// Open links; one inside another would end it.
    links: usize,
    /// Language and text of the code block being read.
    code: Option<(String, String)>,
    aligned: Vec<Alignment>,
    cell: usize,
}

impl Prose<'_> {
    /// False when the page grew out of proportion.
    fn run(mut self, text: &str, end_max: usize) -> bool {
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
        for event in Parser::new_ext(text, options) {
            self.take(event);
            if self.out.len() > end_max {
                return false;
            }
        }
        true
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.open(tag),
            Event::End(_) => self.close(),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => escape(self.out, &text),
            },
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.out.push_str("<code>");
                escape(self.out, &text);
                self.out.push_str("</code>");
            }
            Event::FootnoteReference(name) => escape(self.out, &name),
            Event::SoftBreak if self.breaks == Breaks::Flow => self.out.push('\n'),
            Event::SoftBreak | Event::HardBreak => self.out.push_str("<br>\n"),
            Event::Rule => self.out.push_str("<hr>\n"),
            Event::TaskListMarker(done) => self.out.push_str(if done { "\u{2611} " } else { "\u{2610} " }),
        }
    }

    fn open(&mut self, tag: Tag<'_>) {
        let closing = match tag {
            Tag::CodeBlock(kind) => {
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language(&info).to_owned(), String::new()));
                Closing::Code
            }
            Tag::Link { dest_url, .. } => self.link(&dest_url),
            Tag::Image { dest_url, .. } => {
                self.out.push_str("<span class=\"pic\">");
                Closing::Target(dest_url.into_string(), self.out.len())
            }
            Tag::Table(aligned) => {
                self.aligned = aligned;
                self.element("<div class=\"scroll\"><table>", "</table></div>\n")
            }
            Tag::TableHead => {
                self.cell = 0;
                self.element("<thead><tr>", "</tr></thead>\n")
            }
            Tag::TableRow => {
                self.cell = 0;
                self.element("<tr>", "</tr>\n")
            }
            Tag::TableCell => self.table_cell(),
            Tag::List(Some(first)) if first != 1 => {
                let open = format!("<ol start=\"{first}\">\n");
                self.element(&open, "</ol>\n")
            }
            other => match plain_element(&other) {
                Some((open, close)) => self.element(open, close),
                None => Closing::Nothing,
            },
        };
        self.closing.push(closing);
    }

    fn element(&mut self, open: &str, close: &'static str) -> Closing {
        if self.closing.len() >= DEPTH_MAX {
            return Closing::Nothing;
        }
        self.out.push_str(open);
        Closing::Tag(close)
    }

    fn table_cell(&mut self) -> Closing {
        let open = match self.aligned.get(self.cell) {
            Some(Alignment::Right) => "<td class=\"ar\">",
            Some(Alignment::Center) => "<td class=\"ac\">",
            _ => "<td>",
        };
        self.cell += 1;
        self.element(open, "</td>")
    }

    fn link(&mut self, target: &str) -> Closing {
        if !is_safe_target(target) || self.links > 0 {
            self.out.push_str("<span>");
            return Closing::Target(target.to_owned(), self.out.len());
        }
        self.links += 1;
        self.out.push_str("<a rel=\"noopener noreferrer\" href=\"");
        escape(self.out, target);
        self.out.push_str("\">");
        Closing::Anchor
    }

    fn close(&mut self) {
        match self.closing.pop() {
            Some(Closing::Tag(close)) => self.out.push_str(close),
            Some(Closing::Anchor) => {
                self.links -= 1;
                self.out.push_str("</a>");
            }
            Some(Closing::Target(target, start)) => {
                let mut shown = String::new();
                escape(&mut shown, &cut(&target, TARGET_CHARS_MAX));
                if self.out[start..] != shown && !shown.is_empty() {
                    self.out.push_str(" <span class=\"dim\">(");
                    self.out.push_str(&shown);
                    self.out.push_str(")</span>");
                }
                self.out.push_str("</span>");
            }
            Some(Closing::Code) => {
                if let Some((language, code)) = self.code.take() {
                    blocks::code(self.out, &code, &language);
                }
            }
            Some(Closing::Nothing) | None => {}
        }
    }
}

/// Elements that need nothing but their tags.
fn plain_element(tag: &Tag<'_>) -> Option<(&'static str, &'static str)> {
    Some(match tag {
        Tag::Paragraph => ("<p>", "</p>\n"),
        // The page's own headings come first.
        Tag::Heading { level: HeadingLevel::H1, .. } => ("<h3>", "</h3>\n"),
        Tag::Heading { level: HeadingLevel::H2, .. } => ("<h4>", "</h4>\n"),
        Tag::Heading { level: HeadingLevel::H3, .. } => ("<h5>", "</h5>\n"),
        Tag::Heading { .. } => ("<h6>", "</h6>\n"),
        Tag::BlockQuote(_) => ("<blockquote>\n", "</blockquote>\n"),
        Tag::HtmlBlock => ("<p class=\"raw\">", "</p>\n"),
        Tag::List(None) => ("<ul>\n", "</ul>\n"),
        Tag::List(Some(_)) => ("<ol>\n", "</ol>\n"),
        Tag::Item => ("<li>", "</li>\n"),
        Tag::Emphasis => ("<em>", "</em>"),
        Tag::Strong => ("<strong>", "</strong>"),
        Tag::Strikethrough => ("<del>", "</del>"),
        _ => return None,
    })
}

/// The web and mail; everything else (`javascript:`, `data:`, `file:`, a path) stays text.
fn is_safe_target(target: &str) -> bool {
    let has = |scheme: &str| target.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    ["https://", "http://", "mailto:"].into_iter().any(has) && !target.contains(char::is_control)
}

/// The first word after a fence: ```` ```rust,ignore ```` is rust.
fn language(info: &str) -> &str {
    info.split([' ', ',', '{', '\t']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn page(text: &str) -> String {
        let mut out = String::new();
        write(&mut out, text, Breaks::Flow);
        out.trim_end().to_owned()
    }

    #[test]
    fn common_markdown_becomes_elements() {
        assert_eq!(
            page("# A *b*\n\nc **d** ~~e~~ `f<`"),
            "<h3>A <em>b</em></h3>\n<p>c <strong>d</strong> <del>e</del> <code>f&lt;</code></p>"
        );
        assert_eq!(page("- a\n- [x] b"), "<ul>\n<li>a</li>\n<li>\u{2611} b</li>\n</ul>");
        assert_eq!(page("3. a"), "<ol start=\"3\">\n<li>a</li>\n</ol>");
        assert_eq!(page("> q"), "<blockquote>\n<p>q</p>\n</blockquote>");
        let table = "<div class=\"scroll\"><table><thead><tr><td>a</td><td class=\"ar\">b</td></tr></thead>\n\
                     <tr><td>1</td><td class=\"ar\">2</td></tr>\n</table></div>";
        assert_eq!(page("| a | b |\n|---|--:|\n| 1 | 2 |"), table);
    }

    #[test]
    fn a_fence_knows_its_language() {
        let html = page("```rust,ignore\nfn x() {}\n```");
        assert!(
            html.contains("<span class=\"lang\">rust</span>") && html.contains("<span class=\"k\">fn</span>"),
            "{html}"
        );
        assert!(page("```<b>\nx\n```").contains("&lt;b&gt;"));
    }

    #[test]
    fn raw_html_is_text() {
        assert_eq!(page("a <b onclick=x>b</b>"), "<p>a &lt;b onclick=x&gt;b&lt;/b&gt;</p>");
        assert_eq!(page("<script>\nx\n</script>"), "<p class=\"raw\">&lt;script&gt;\nx\n&lt;/script&gt;</p>");
    }

    #[test]
    fn only_the_web_and_mail_are_linked() {
        let link = "<p><a rel=\"noopener noreferrer\" href=\"https://x.y/?a=1&amp;b=&quot;\">t</a></p>";
        assert_eq!(page("[t](https://x.y/?a=1&b=\")"), link);
        assert!(page("<MAILTO:a@b.c>").contains("href=\"MAILTO:a@b.c\""));
        for target in [
            "javascript:alert(1)",
            "JaVaScRiPt:x",
            "data:text/html,x",
            "file:///etc",
            "//x.y",
            "src/a.rs",
            "&#106;avascript:x",
        ] {
            let html = page(&format!("[t](<{target}>)"));
            assert!(!html.contains("<a") && html.starts_with("<p><span>t <span class=\"dim\">("), "{html}");
        }
        assert_eq!(page("[src/a.rs](src/a.rs)"), "<p><span>src/a.rs</span></p>");
    }

    #[test]
    fn images_are_named_and_never_fetched() {
        let html = page("![alt](https://x.y/z.png)");
        assert_eq!(html, "<p><span class=\"pic\">alt <span class=\"dim\">(https://x.y/z.png)</span></span></p>");
    }

    #[test]
    fn a_prompt_keeps_its_lines() {
        let mut out = String::new();
        write(&mut out, "a\nb", Breaks::Keep);
        assert_eq!(out, "<p>a<br>\nb</p>\n");
    }

    #[test]
    fn depth_and_growth_have_an_end() {
        assert!(page(&"> ".repeat(5000)).matches("<blockquote>").count() <= DEPTH_MAX);
        let cells = format!("{}\n{}\n{}", "|a".repeat(500), "|-".repeat(500), "|b\n".repeat(500));
        let html = page(&cells);
        assert!(html.len() < GROWTH_FREE_BYTES + cells.len() * (GROWTH_MAX + 1), "{}", html.len());
        assert!(html.starts_with("<pre"), "shown as it is written");
    }

    #[test]
    fn hostile_text_takes_no_longer_than_other_text() {
        let bits = [
            "[", "![", "](", "*a_ ", "**", "`a``", "<a ", "<!--", "&", "> ", "- ", "|", "|-", "~~", "[a](<b", "\\",
            "1. ", "[a]: b\n",
        ];
        for bit in bits {
            let text = bit.repeat(64 * 1024 / bit.len());
            let start = Instant::now();
            page(&text);
            assert!(start.elapsed() < Duration::from_secs(3), "{bit:?}: {:?}", start.elapsed());
        }
    }
}
