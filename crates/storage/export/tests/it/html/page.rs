//! A strict reader of exported pages. It accepts exactly what a page of ours may consist of: known elements, known
//! attributes in double quotes, balanced tags, nothing that loads or runs. Anything a log could smuggle in is a finding.

use std::collections::BTreeMap;

const VOID: [&str; 4] = ["meta", "br", "hr", "img"];
const ELEMENTS: [&str; 45] = [
    "html",
    "head",
    "meta",
    "title",
    "style",
    "script",
    "body",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "dl",
    "dt",
    "dd",
    "div",
    "button",
    "nav",
    "details",
    "summary",
    "ol",
    "ul",
    "li",
    "a",
    "main",
    "section",
    "article",
    "header",
    "span",
    "p",
    "pre",
    "code",
    "em",
    "strong",
    "del",
    "blockquote",
    "table",
    "thead",
    "tr",
    "td",
    "br",
    "hr",
    "figure",
    "img",
];
const MORE_ELEMENTS: [&str; 2] = ["figcaption", "footer"];
const ATTRIBUTES: [&str; 17] = [
    "lang",
    "charset",
    "http-equiv",
    "content",
    "name",
    "class",
    "id",
    "hidden",
    "type",
    "data-act",
    "open",
    "href",
    "rel",
    "alt",
    "src",
    "start",
    "value",
];

pub(crate) struct HtmlTag {
    pub(crate) name: String,
    pub(crate) attributes: BTreeMap<String, String>,
}

#[derive(Default)]
pub(crate) struct ReadPage {
    pub(crate) tags: Vec<HtmlTag>,
    /// What a reader sees, without style and script.
    pub(crate) text: String,
    pub(crate) style: Vec<String>,
    pub(crate) script: Vec<String>,
}

impl ReadPage {
    pub(crate) fn policy(&self) -> &str {
        let has = |tag: &&HtmlTag| tag.attributes.contains_key("http-equiv");
        &self.tags.iter().find(has).unwrap().attributes["content"]
    }
}

/// The page, or what is wrong with it.
pub(crate) fn read(html: &str) -> Result<ReadPage, String> {
    let mut page = ReadPage::default();
    let mut open: Vec<String> = Vec::new();
    let mut rest = html.strip_prefix("<!DOCTYPE html>").ok_or("no doctype")?;
    while let Some(at) = rest.find('<') {
        page.text.push_str(&unescaped(&rest[..at])?);
        rest = &rest[at + 1..];
        let (raw, after) = rest.split_once('>').ok_or("a tag without an end")?;
        rest = after;
        if let Some(name) = raw.strip_prefix('/') {
            let was = open.pop().unwrap_or_default();
            if was != name {
                return Err(format!("</{name}> closes <{was}>"));
            }
            continue;
        }
        let tag = read_tag(raw)?;
        if ["style", "script"].contains(&&*tag.name) {
            let (inside, after) = rest.split_once(&format!("</{}>", tag.name)).ok_or("never closed")?;
            let list = if tag.name == "style" { &mut page.style } else { &mut page.script };
            list.push(inside.to_owned());
            rest = after;
        } else if !VOID.contains(&&*tag.name) {
            open.push(tag.name.clone());
        }
        page.tags.push(tag);
    }
    page.text.push_str(&unescaped(rest)?);
    if !open.is_empty() {
        return Err(format!("never closed: {open:?}"));
    }
    Ok(page)
}

fn read_tag(raw: &str) -> Result<HtmlTag, String> {
    let (name, mut rest) = raw.split_at(raw.find(' ').unwrap_or(raw.len()));
    if !ELEMENTS.contains(&name) && !MORE_ELEMENTS.contains(&name) {
        return Err(format!("an element of nobody's: <{raw}>"));
    }
    let mut attributes = BTreeMap::new();
    while let Some(next) = rest.strip_prefix(' ') {
        let end = next.find(['=', ' ']).unwrap_or(next.len());
        let (key, after) = next.split_at(end);
        if !ATTRIBUTES.contains(&key) {
            return Err(format!("an attribute of nobody's: <{raw}>"));
        }
        let value = match after.strip_prefix("=\"") {
            None => {
                rest = after;
                ""
            }
            Some(quoted) => {
                let (value, after) = quoted.split_once('"').ok_or_else(|| format!("an open quote: <{raw}>"))?;
                rest = after;
                value
            }
        };
        if attributes.insert(key.to_owned(), unescaped(value)?).is_some() {
            return Err(format!("twice the same attribute: <{raw}>"));
        }
    }
    if !rest.is_empty() {
        return Err(format!("not a tag: <{raw}>"));
    }
    let tag = HtmlTag { name: name.to_owned(), attributes };
    check_targets(&tag)?;
    Ok(tag)
}

fn check_targets(tag: &HtmlTag) -> Result<(), String> {
    if let Some(target) = tag.attributes.get("href") {
        let target = target.to_ascii_lowercase();
        let good = ["http://", "https://", "mailto:", "#p"].iter().any(|start| target.starts_with(start));
        if !good || tag.name != "a" {
            return Err(format!("<{}> leads to {target}", tag.name));
        }
    }
    if let Some(source) = tag.attributes.get("src") {
        let good = ["png", "jpeg", "gif", "webp"].iter().any(|kind| {
            source
                .strip_prefix(&format!("data:image/{kind};base64,"))
                .is_some_and(|data| data.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)))
        });
        if !good || tag.name != "img" {
            return Err(format!("<{}> loads {source}", tag.name));
        }
    }
    Ok(())
}

fn unescaped(text: &str) -> Result<String, String> {
    if text.contains(['<', '>', '"', '\'']) && !text.starts_with("default-src") {
        return Err(format!("not escaped: {text}"));
    }
    if let Some(odd) = text.chars().find(|c| c.is_control() && !['\n', '\t', '\r'].contains(c)) {
        return Err(format!("{odd:?} in {text}"));
    }
    let known = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"];
    if let Some((at, _)) = text.match_indices('&').find(|(at, _)| !known.iter().any(|it| text[*at..].starts_with(it))) {
        return Err(format!("not escaped: {}", &text[at..]));
    }
    let plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
    Ok(plain.replace("&amp;", "&"))
}

#[test]
fn the_reader_finds_what_a_page_must_not_have() {
    let wrap = |inside: &str| format!("<!DOCTYPE html><div>{inside}</div>");
    assert!(read(&wrap("<p class=\"x\">a &lt; b</p><br>")).is_ok());
    for bad in [
        "<p>",
        "</p>",
        "<p></div></p>",
        "<iframe></iframe>",
        "<p onclick=\"x\"></p>",
        "<p style=\"x\"></p>",
        "a > b",
        "<a href=\"javascript:x\"></a>",
        "<img src=\"https://x/y.png\">",
        "<p class='x'></p>",
        "<p",
        "&nbsp;",
        "a\0b",
        "<!-- x -->",
        "<p class=\"x></p>",
        "<p/class=\"x\"></p>",
        "<img src=\"data:image/svg+xml;base64,AA\">",
    ] {
        assert!(read(&wrap(bad)).is_err(), "{bad}");
    }
}
