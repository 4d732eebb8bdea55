//! What people send and see: blocks of a prompt, and blocks of a message.

use std::sync::Arc;

use acp_types::{ContentBlock, ToolCallContent};
use serde_json::Value;
use vocab::visible::{is_ignorable, is_of_writing, push_picture};
use vocab::{Image, Part};

/// Of a prompt that stands for a title; lists have room for this.
const TITLE_CHARS_MAX: usize = 80;

/// A prompt as the engine takes it, and what was left out of it.
pub(crate) struct PromptParts {
    pub(crate) parts: Vec<Part>,
    pub(crate) left_out: Vec<String>,
}

/// Mentions stand where they stood; what they bring along comes behind the text.
pub(crate) fn read(blocks: Vec<ContentBlock>) -> PromptParts {
    let (mut text, mut context) = (String::new(), String::new());
    let (mut images, mut left_out) = (Vec::new(), Vec::new());
    for block in blocks {
        match block {
            ContentBlock::Text { text: said, .. } => text.push_str(&said),
            ContentBlock::Image { data, mime_type, .. } => {
                images.push(Part::Image(Image { mime: mime_type.into(), base64: data.into() }));
            }
            ContentBlock::ResourceLink { uri, name, .. } => text.push_str(&format!("[@{name}]({uri})")),
            ContentBlock::Resource { resource, .. } => {
                let uri = resource.uri.as_deref().unwrap_or_default();
                match resource.text {
                    Some(inside) => {
                        text.push_str(&format!("[@{}]({uri})", uri.rsplit('/').next().unwrap_or(uri)));
                        context.push_str(&format!("\n\n<context ref=\"{uri}\">\n{inside}\n</context>"));
                    }
                    None => left_out.push(format!("the content of {uri} is not text")),
                }
            }
            ContentBlock::Audio { .. } => left_out.push("a block of type audio".to_owned()),
            ContentBlock::Unknown(block) => left_out.push(match block.get("type").and_then(Value::as_str) {
                None | Some("") => "a block without a type".to_owned(),
                Some(other) => format!("a block of type {other}"),
            }),
        }
    }
    text.push_str(&context);
    let mut parts = Vec::new();
    if !text.trim().is_empty() {
        parts.push(Part::text(text));
    }
    parts.extend(images);
    PromptParts { parts, left_out }
}

/// The longest run of backticks in a text.
fn backticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

/// One line as Markdown's code.
pub(crate) fn code(line: &str) -> String {
    let ticks = "`".repeat(backticks(line) + 1);
    match line.contains('`') {
        true => format!("{ticks} {line} {ticks}"),
        false => format!("{ticks}{line}{ticks}"),
    }
}

/// A text as it is, for clients that would make headings and lists of it; behind a word of ours.
pub(crate) fn fenced(before: &str, inside: &str) -> ToolCallContent {
    let fence = "`".repeat(backticks(inside).max(2) + 1);
    ToolCallContent::block(ContentBlock::text(format!("{before}{fence}\n{inside}\n{fence}")))
}

/// A session's title: one line, whatever it is made of, and nothing in it that hides or moves what a list shows.
pub(crate) fn one_line(text: &str) -> String {
    let line: Vec<char> = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect();
    let mut out = String::with_capacity(line.len());
    for (at, &c) in line.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| line[at]);
        let hides = c.is_control() || is_ignorable(c) && !is_of_writing(before, c, line.get(at + 1).copied());
        match hides {
            true => push_picture(&mut out, c),
            false => out.push(c),
        }
    }
    out
}

/// The title of a session that has none of its own: how its first prompt begins.
pub(crate) fn title_of_prompt(prompt: &str) -> Option<String> {
    let line = one_line(prompt);
    let short = line.char_indices().nth(TITLE_CHARS_MAX).map(|(at, _)| format!("{}…", line[..at].trim_end()));
    Some(short.unwrap_or(line)).filter(|title| !title.is_empty())
}

pub(crate) fn block(part: &Part) -> ContentBlock {
    match part {
        Part::Text(text) => ContentBlock::text(&**text),
        Part::Image(image) => ContentBlock::image(&*image.base64, &*image.mime),
    }
}

/// The first word of a prompt that is a slash command, and the rest.
pub(crate) fn slash(parts: &[Part]) -> Option<(Arc<str>, Arc<str>)> {
    let [Part::Text(text)] = parts else { return None };
    let line = text.trim().strip_prefix('/')?;
    let (name, args) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    Some((name.into(), args.trim().into()))
}
