//! The guided tour: look around, read the README, ask to write one file, say how to go on. Which stop comes next is
//! seen from the calls made so far, so a tour that was steered or compacted does not lose its way.

use vocab::ToolSpec;

use super::answer::{describe_file, found, names, trouble};
use super::intent::Intent;
use crate::beat::{Beat, Reply};
use crate::chat::say;
use crate::memory::Memory;
use crate::offer;

/// The file the tour asks to write.
const FILE: &str = "tour.txt";
const CONTENT: &str = "This file was written by the built-in tour, after you allowed it. You can delete it.\n";

pub(super) fn reply(memory: &Memory, tools: &[ToolSpec]) -> Reply {
    let mut text = news(memory);
    let mut go = |lead: &str, call: Beat| {
        text.push_str(lead);
        vec![say(std::mem::take(&mut text)), call]
    };
    let readme = readme(memory);
    if !memory.was_called("glob")
        && let Some(call) = offer::call(tools, "glob", &[("pattern", "*")])
    {
        return go("Welcome to the tour. First I look at which files are here; looking is harmless.", call);
    }
    if !memory.was_called("read_file")
        && let Some(path) = readme
        && let Some(call) = offer::call(tools, "read_file", &[("path", &path)])
    {
        return go(&format!("Next I read {path}."), call);
    }
    if !memory.was_called("write_file")
        && let Some(call) = offer::call(tools, "write_file", &[("path", FILE), ("content", CONTENT)])
    {
        let lead = format!(
            "Now I would like to write {FILE}. Writing changes your files, so you may be asked; say yes or no."
        );
        return go(&lead, call);
    }
    text.push_str(&format!("That was the tour. Next steps: {}", super::NEXT_STEPS));
    vec![say(text)]
}

/// What the newest result brought, with a space behind it.
fn news(memory: &Memory) -> String {
    let Some(result) = memory.results.last() else { return String::new() };
    let text = match trouble(&Intent::Tour, result) {
        Some(trouble) => trouble,
        None => match result.tool.as_str() {
            "glob" => found(&result.text(), "files"),
            "read_file" => describe_file(&readme(memory).unwrap_or_else(|| "README".into()), &result.text()),
            "write_file" => format!("Thank you: {FILE} is written."),
            _ => String::new(),
        },
    };
    if text.is_empty() { text } else { text + " " }
}

fn readme(memory: &Memory) -> Option<String> {
    let listing = memory.result_of("glob").filter(|result| !result.is_error)?.text();
    names(&listing).into_iter().find(|name| name.to_ascii_lowercase().starts_with("readme")).map(str::to_owned)
}
